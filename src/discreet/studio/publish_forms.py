"""What the forms of all pages that publish share: neighbors, the promise of a release, the limit of a ledger."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import ApproxDP, PureDP, ZeroConcentratedDP

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["DEPTH", "NEIGHBORS", "read_guarantee", "read_limit", "titled"]

DEPTH = 5
"""Columns that a region path may have."""

NEIGHBORS = {
    "add-remove-person": "whether a person is in the table at all",
    "replace-person": "which data a person has, and in which region or unit; that they are in the table may be known",
}

_TITLES = {
    "budget_delta": "Delta of this release",
    "columns": "Regions",
    "epsilon": "Epsilon",
    "guarantee": "The promise",
    "levels": "Parts of the budget",
    "neighbors": "Neighbors",
    "people": "The table",
    "regions": "The list of regions",
    "rho": "Rho",
    "tree": "Regions",
}
"""Arguments of the library -> what every page calls them."""


def read_guarantee(form: Mapping[str, str], neighbors: str) -> PureDP | ZeroConcentratedDP:
    """Read what a release promises: ``notion`` and ``amount``.

    Examples
    --------
    >>> read_guarantee({"notion": "epsilon", "amount": "0.5"}, "replace-person").epsilon
    Fraction(1, 2)
    """
    return _promised(form, "notion", "amount", neighbors)


def read_limit(form: Mapping[str, str], neighbors: str) -> PureDP | ApproxDP | ZeroConcentratedDP:
    """Read what all releases together may spend: ``limit-notion``, ``limit-amount`` and ``limit-delta``."""
    promised = _promised(form, "limit-notion", "limit-amount", neighbors)
    delta = form.get("limit-delta", "").strip()
    if not delta:
        return promised
    if isinstance(promised, ZeroConcentratedDP):
        raise InvalidProblemError("Delta", "none beside rho", "one")
    with titled():
        return ApproxDP(promised.epsilon, delta, promised.neighbors)


@contextmanager
def titled(titles: Mapping[str, str] | None = None) -> Iterator[None]:
    """Let errors name what is wrong as the page does, not as the library does.

    Parameters
    ----------
    titles
        What one page calls otherwise, or besides.
    """
    try:
        yield
    except InvalidProblemError as error:
        field = {**_TITLES, **(titles or {})}.get(error.field, error.field)
        raise error.renamed(field) from None


def _promised(
    form: Mapping[str, str], notion: str, amount: str, neighbors: str
) -> PureDP | ZeroConcentratedDP:
    relation: Any = neighbors
    text = form.get(amount, "").strip()
    if form.get(notion) not in ("epsilon", "rho"):
        raise InvalidProblemError("Privacy", "a choice of epsilon or rho", "none")
    if not text or len(text) > 40:
        raise InvalidProblemError(form[notion].capitalize(), "a positive number", repr(text[:40]))
    with titled():
        if form[notion] == "rho":
            return ZeroConcentratedDP(text, relation)
        return PureDP(text, relation)
