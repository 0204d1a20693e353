"""A stated public workload: which tables are asked for, how much each matters, and what is to be small."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

from discreet.core.errors import InvalidProblemError, unknown_name
from discreet.core.exact import to_fraction
from discreet.core.options import items_of

if TYPE_CHECKING:
    from discreet.core.exact import Exact
    from discreet.hierarchy.contingency.problem import Domain, Marginal

LOSSES: dict[str, str] = {
    "deviations": "weighted sum over tables, each the standard errors of its entries over the root of their number",
    "variance": "weighted sum of the variances of all entries",
    "worst": "largest weighted variance of an entry",
    "against-naive": "largest variance of an entry beside that of independent noise with equal parts",
}
"""What can be small, in words."""

OF_LARGEST = ("worst", "against-naive")
"""Losses that are the largest of numbers."""

JAMES_STEIN = "james-stein"
"""Choice of :data:`SHRINKS` by which estimates are shrunk block by block: no intervals are stated for tables then."""

SHRINKS: dict[str, str] = {
    "parent": "drawn to the shape of the region above, where siblings are alike",
    "none": "not drawn to any other region",
    JAMES_STEIN: "made of estimates that are shrunk to what the region above and smaller marginals imply",
}
"""What shrinks whole tables, with what is said of each region's; the first one by default."""

MOST_WEIGHT = Fraction(10) ** 15
"""Largest weight; its inverse is the least one above 0."""


@final
@dataclass(frozen=True)
class Workload:
    """Tables with their weights; public, and not to be chosen by looking at the data.

    Parameters
    ----------
    tables
        For each asked marginal its weight on each level, the root first; 0 where nobody asks.
    loss
        A name of :data:`LOSSES`.
    capped
        Whether no asked entry may have a larger standard error than with independent noise of equal parts.

    Examples
    --------
    >>> Workload({(0,): (Fraction(1), Fraction(0))}, "variance").depth
    0
    """

    tables: Mapping[Marginal, tuple[Fraction, ...]]
    loss: str
    capped: bool = False

    @property
    def depth(self) -> int:
        """Deepest level that is asked for, 0 for the root."""
        return max(at for one in self.tables.values() for at, weight in enumerate(one) if weight)


def read_lists(text: str | None) -> Any:  # noqa: ANN401 - a list, a list of lists, or nothing
    """Read `text`, words between commas, as a list; with semicolons a list for each level. ``None`` for ``None``."""
    if text is None:
        return None
    lists = [[word.strip() for word in part.split(",") if part.strip()] for part in text.split(";")]
    return lists[0] if len(lists) == 1 else lists


def unrepeated(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return attributes and their categories as a mapping; a repeated name would lose its first list in silence.

    Raises
    ------
    ValueError
        For a repeated name.
    """
    read: dict[str, Any] = {}
    for name, value in pairs:
        if name in read:
            message = f"{name!r} comes twice"
            raise ValueError(message)
        read[name] = value
    return read


def read_workload(
    domain: Domain,
    n_levels: int,
    tables: str | Mapping[str, Exact] | Sequence[str] | Sequence[Any],
    levels: Sequence[Exact] | str | None = None,
    loss: str | None = None,
) -> Workload:
    """Read a workload.

    The weight of an asked table is from 1e-15 to 1e15, never 0: leave the table out; a level may have 0. Without
    `loss` no asked entry may be less precise than with independent noise: the workload is then `capped`.

    Parameters
    ----------
    domain
        The attributes.
    n_levels
        Levels of regions, the root's among them.
    tables
        Marginals with commas or semicolons between them, each with ``=weight`` or with the weight 1; or weights by
        name; or a list of names, or of lists of names, one a level.
    levels
        Weight of each level, the root first; 1 where it is ``None``.
    loss
        A name of :data:`LOSSES`. Default: ``"deviations"``, where no entry of an asked table is less precise than with
        independent noise of equal parts, but for a thousandth of the budget of cells and for rounding. Not with stated
        parts of levels.

    Raises
    ------
    InvalidProblemError
        For no table, a marginal twice, an unknown attribute, or weights that are negative, infinite or all 0.

    Examples
    --------
    >>> from discreet.hierarchy.contingency.problem import Domain
    >>> domain = Domain.read({"sex": ["F", "M"], "age": ["0-17", "18+"]})
    >>> made = read_workload(domain, 2, "sex; cells=0.2", ["1", "2"], "variance")
    >>> {domain.name(q): list(map(str, weights)) for q, weights in made.tables.items()}
    {'sex': ['1', '2'], 'sex:age': ['1/5', '2/5']}
    """
    named: Any = loss
    if named is not None and (not isinstance(named, str) or named not in LOSSES):
        raise unknown_name("loss", str(loss), list(LOSSES))
    each = _level_weights(levels, n_levels)
    weights_of: dict[Marginal, list[Fraction]] = {}
    for level, listed in enumerate(_by_level(tables, n_levels)):
        seen: set[Marginal] = set()
        for name, weight_text in listed:
            marginal = domain.marginal(name, "workload")
            if marginal in seen:
                raise InvalidProblemError("workload", "each marginal once", f"{name!r} twice")
            seen.add(marginal)
            weight = to_fraction(weight_text, "workload")
            if not 1 / MOST_WEIGHT <= weight <= MOST_WEIGHT:
                expected = f"a weight from 1e-15 to 1e15 for {name}, or no such marginal"
                raise InvalidProblemError("workload", expected, str(weight_text))
            weights_of.setdefault(marginal, [Fraction(0)] * n_levels)[level] = weight * each[level]
    if not any(weight for weights in weights_of.values() for weight in weights):
        raise InvalidProblemError("workload", "at least one table with a weight", "none")
    return Workload(
        {q: tuple(weights) for q, weights in weights_of.items()}, loss or "deviations", loss is None
    )


def _level_weights(levels: Any, n_levels: int) -> list[Fraction]:  # noqa: ANN401 - as for read_workload
    """Read the weight of each of `n_levels` levels, 1 by default, from a text with commas or numbers.

    Raises InvalidProblemError for another number of them, any but 0 or from 1e-15 to 1e15, or zeros only.
    """
    if levels is None:
        return [Fraction(1)] * n_levels
    expected = f"{n_levels} weights, the root first, each 0 or from 1e-15 to 1e15, not all 0"
    listing = levels.split(",") if isinstance(levels, str) else levels
    each = [
        to_fraction(one, "workload_levels")
        for one in items_of(listing, "workload_levels", expected)
    ]
    odd = any(one and not 1 / MOST_WEIGHT <= one <= MOST_WEIGHT for one in each)
    if len(each) != n_levels or odd or not any(each):
        raise InvalidProblemError("workload_levels", expected, [str(one) for one in each])
    return each


def _by_level(tables: Any, n_levels: int) -> list[list[tuple[str, Any]]]:  # noqa: ANN401 - as for read_workload
    """Return names with weights for each of `n_levels` levels.

    `tables` is a text, a mapping, names, or one of these for each level; InvalidProblemError for another number of
    levels.
    """
    expected = "names such as sex, sex:age=2 or cells, or a list of them for each level"
    if isinstance(tables, str):
        words = [word.strip() for word in tables.replace(";", ",").split(",")]
        return [[_weighted(word) for word in words if word]] * n_levels
    if isinstance(tables, Mapping):
        return [[(str(name), weight) for name, weight in tables.items()]] * n_levels
    listed = list(items_of(tables, "workload", expected))
    if all(isinstance(one, str) for one in listed):
        return [[_weighted(one) for one in listed]] * n_levels
    if len(listed) != n_levels:
        raise InvalidProblemError(
            "workload", f"one list for each of {n_levels} levels", len(listed)
        )
    return [[_weighted(word) for word in items_of(one, "workload", expected)] for one in listed]


def _weighted(word: Any) -> tuple[str, Any]:  # noqa: ANN401 - as typed
    """Return name and weight of ``name=weight``, 1 by default; refuse no text."""
    if not isinstance(word, str):
        raise InvalidProblemError("workload", "names of marginals", repr(word))
    name, mark, weight = word.partition("=")
    return name.strip(), weight.strip() if mark else 1
