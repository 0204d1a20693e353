"""Forms of the pages that publish: columns, public facts, the promise of a release, the limit of a ledger."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import ApproxDP, PureDP, ZeroConcentratedDP
from discreet.tables.options import QuotedName

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = [
    "MAX_REGION_COLUMNS",
    "NEIGHBORS",
    "Promise",
    "TableLayout",
    "choice_of",
    "column_of",
    "parts_of",
    "read_limit",
    "read_promise",
    "regions_of",
    "titled",
]

MAX_REGION_COLUMNS = 5
"""Columns of a region path, for which the form has fields."""

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


@final
@dataclass(frozen=True)
class TableLayout:
    """Columns and public facts of a table, as a form states them.

    Parameters
    ----------
    neighbors
        A key of :data:`NEIGHBORS`.
    arguments
        Arguments of the plan of the library.
    public
        Source of the public regions: ``"list"``, ``"units"``, or ``"table"`` for declared ones.
    """

    neighbors: Any
    arguments: Mapping[str, Any]
    public: str = "list"


@final
@dataclass(frozen=True)
class Promise:
    """The guarantee of a release, and the arguments of its plan that state the method.

    Parameters
    ----------
    guarantee
        The guarantee.
    arguments
        Further arguments of the plan.
    """

    guarantee: PureDP | ZeroConcentratedDP
    arguments: Mapping[str, Any] = field(default_factory=dict)


def choice_of(form: Mapping[str, str], name: str, title: str, known: Mapping[str, str]) -> str:
    """Return a form's value of field `name`; raise InvalidProblemError, about `title`, unless it is in `known`."""
    value = form.get(name, "")
    if value not in known:
        raise InvalidProblemError(title, "a choice", "another" if value else "none")
    return value


def column_of(form: Mapping[str, str], name: str, title: str, columns: Sequence[str]) -> str | None:
    """Read a column of the table from field `name`, or ``None``; raise InvalidProblemError for another column."""
    value = form.get(name, "")
    if value and value not in columns:
        raise InvalidProblemError(title, "a column of the table", "another")
    return value or None


def regions_of(form: Mapping[str, str], columns: Sequence[str]) -> tuple[str, ...]:
    """Return the columns named by the fields ``region-0`` to ``region-4``, in this order; empty fields are skipped.

    Raises
    ------
    InvalidProblemError
        If all fields are empty, or one names no column of the table.
    """
    fields = [f"region-{at}" for at in range(MAX_REGION_COLUMNS)]
    names = [column_of(form, name, "Regions", columns) for name in fields]
    if not any(names):
        expected = "at least one column, the largest regions first"
        raise InvalidProblemError("Regions", expected, "none")
    # A name in parentheses is that of a column of the table.
    return tuple(QuotedName(name) for name in names if name)


def parts_of(form: Mapping[str, str]) -> tuple[str, ...] | None:
    """Read the parts of the budget of each level, or `None` for equal parts."""
    text = form.get("levels", "").strip()
    return tuple(part.strip() for part in text.split(",")) if text else None


def read_promise(form: Mapping[str, str], neighbors: str) -> Promise:
    """Read the guarantee of a release: ``notion`` and ``amount``.

    Examples
    --------
    >>> read_promise({"notion": "epsilon", "amount": "0.5"}, "replace-person").guarantee.epsilon
    Fraction(1, 2)
    """
    return Promise(_promised(form, "notion", "amount", neighbors))


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
    """Rename arguments of the library to fields of the page in errors.

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
    """Return the guarantee of a form; refuse no choice, or an amount that is no positive number."""
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
