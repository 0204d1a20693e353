r"""Questions to kept measurements of tables: unbiased answers, exact as fractions, with intervals that always cover.

A published table is post-processed, hence biased where cells are small. The generalized least squares estimate of the
noisy marginals is not, and uses all of them: a county's number of women is estimated from its total, its cells, its
state and its neighbors, each with its best weight. What is answered is that estimate for the stored weights, exactly;
:mod:`discreet.hierarchy.contingency.intervals` says why the intervals cover.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from discreet.core.errors import InvalidProblemError, unknown_name
from discreet.core.options import array_of, instance_of, items_of, mapping
from discreet.core.printed import one_line
from discreet.hierarchy.answers import Answers, coverage_of, places_of
from discreet.hierarchy.contingency.exact import ExactFit
from discreet.hierarchy.contingency.measure import MeasuredTables
from discreet.hierarchy.contingency.widths import Widths
from discreet.hierarchy.problem import MAX_QUESTION_WEIGHT
from discreet.hierarchy.result import region_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

    from numpy.typing import ArrayLike, NDArray

    from discreet.core.exact import Exact
    from discreet.hierarchy.contingency.problem import Domain, Marginal, TableFrame

    Zeros = Literal["held", "free"]

BOUND = (
    "the law of the noise of all measurements, from its characteristic function, or Chernoff's bound where that is "
    "shorter; rounded up"
)


def query(
    measured: MeasuredTables,
    *,
    by: Sequence[str] = (),
    where: Mapping[str, Sequence[str]] | None = None,
    weights: ArrayLike | None = None,
    level: int | None = None,
    regions: Sequence[Sequence[Any]] | None = None,
    combine: Mapping[tuple[Any, ...], int] | None = None,
    interval: Exact = "0.95",
    zeros: Zeros = "held",
) -> Answers:
    """Answer a linear question on regions and cells: without bias, and with intervals that always cover.

    Parameters
    ----------
    measured
        Kept measurements.
    by
        Attributes: one answer for each combination of their categories. None at all asks for the total.
    where
        Categories by attribute: only records of these are counted.
    weights
        Instead of `where`: one whole number for each combination of the categories of `by`, the last attribute
        fastest; the answer is the weighted sum of the entries.
    level
        Answer for all regions of this level; the root's is 1. A leaf above it counts as well.
    regions
        Answer for these regions instead, each by its path.
    combine
        Instead: one answer for a combination of regions, a whole number for each path.
    interval
        Probability, over the noise, with which each interval holds the true number.
    zeros
        ``"held"`` for least squares among tables that are 0 in structural zeros, ``"free"`` for the closed form, which
        leaves them out of the fit: less precise, and for domains of any size. Alike where there are none.

    Returns
    -------
    Answers
        One answer for each region and entry.

    Raises
    ------
    InvalidProblemError
        For attributes, categories or regions that are not there, weights that are no whole numbers or all 0, an
        interval not strictly between 0 and 1, more numbers than are computed exactly, or systems that are too large to
        hold structural zeros at zero.

    Notes
    -----
    Answers are exact for weights that are multiples of ``2^-40`` and follow from public facts alone; they add up over
    regions and categories. Each interval holds by itself, and is not cut at 0. Cost: ``exact.ExactFit``, big integers
    for all regions, and a law of some 100,000 operations for each different composition of noise.

    Examples
    --------
    >>> from discreet import PureDP, Tree
    >>> from discreet.hierarchy.contingency import CellCounts, Domain, TableFrame
    >>> from discreet.hierarchy.contingency.measure import measure
    >>> domain = Domain.read({"sex": ["F", "M"], "age": ["0-17", "18+"]})
    >>> shares = {(): ("1/20", "1/20"), (0, 1): ("9/20", "9/20")}
    >>> frame = TableFrame(Tree.from_paths([("GA",), ("NY",)]), domain, shares)
    >>> data = CellCounts(frame, np.array([[3, 1, 2, 2], [5, 0, 0, 7]]))
    >>> kept = measure(data, PureDP(900, neighbors="add-remove-person"))
    >>> query(kept, level=2, by=["sex"], where={"age": ["18+"]}).to_frame("dict")["value"]
    [1.0, 2.0, 0.0, 7.0]
    """
    instance_of(measured, MeasuredTables, "measured", "MeasuredTables")
    mapping(where, "where", "categories by attribute")
    frame = measured.frame
    chance = coverage_of(interval)
    domain = frame.domain
    names = (by,) if isinstance(by, str) else items_of(by, "by", "a list of attributes")
    marginal, cells, categories = _questions(domain, names, where or {}, weights)
    shown_by = names if weights is None else ()
    question = _in_words(frame, where or {})
    if weights is not None:
        question = f"A weighted sum of the entries of {one_line(', '.join(names) or 'the total')}"
    fit = ExactFit(measured, marginal, zeros=holds_zeros(domain, zeros))
    places: tuple[tuple[str, ...], tuple[int, ...]]
    if combine is not None:
        chosen = [_combined(frame, combine, level, regions)]
        places = (_sum(frame, chosen[0]),), (0,)
    else:
        nodes = frame.tree.select(level=level, paths=regions)
        chosen = [{node: 1} for node in nodes.tolist()]
        places = places_of(frame.tree, nodes)
    answered = _answered(fit, cells, chosen, chance)
    return Answers(*places, *answered, chance, question, shown_by, categories, argument=BOUND)


def _in_words(frame: TableFrame, where: Mapping[str, Sequence[str]]) -> str:
    """Return the question in words: people, or their records, with the categories of `where`."""
    unit = "people" if frame.max_rows == 1 else "records"
    conditions = [
        f"{name} {' or '.join((categories,) if isinstance(categories, str) else categories)}"
        for name, categories in where.items()
    ]
    return one_line(
        f"How many {unit} there are{' with ' * bool(conditions)}{' and '.join(conditions)}"
    )


def holds_zeros(domain: Domain, zeros: Zeros) -> bool:
    """Read whether structural zeros are held at zero, and whether there are any.

    Raises
    ------
    InvalidProblemError
        For anything but "held" and "free".

    Examples
    --------
    >>> from discreet.hierarchy.contingency.problem import Domain
    >>> holds_zeros(Domain.read({"sex": ["F", "M"]}), "held")
    False
    """
    choice: Any = zeros
    if not isinstance(choice, str) or choice not in ("held", "free"):
        raise InvalidProblemError("zeros", "'held' or 'free'", repr(choice))
    return choice == "held" and not domain.possible.all()


def _answered(
    fit: ExactFit,
    cells: NDArray[Any],
    chosen: Sequence[Mapping[int, int]],
    chance: Fraction,
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Answer each question for each combination of regions: values, lower and upper ends, variances; exact objects.

    `cells` are ``(questions, entries)`` weights, `chosen` the weight of each node in each combination, `chance` the
    probability with which an interval covers. Each result is ``(combinations, questions)``; one width for each of
    them.
    """
    nodes = sorted({node for regions in chosen for node in regions})
    each = dict(zip(nodes, fit.answers(cells, np.array(nodes, dtype=np.int64)), strict=True))
    values = np.array(
        [sum(each[node] * weight for node, weight in regions.items()) for regions in chosen],
        dtype=object,
    )
    low, high, variances = (np.empty(values.shape, dtype=object) for _ in range(3))
    widths = Widths(fit, chance)
    for column, question in enumerate(cells):
        for row, regions in enumerate(chosen):
            variances[row, column], half = widths.of(question, regions)
            low[row, column], high[row, column] = _ends(values[row, column], half)
    return values, low, high, variances


def _questions(
    domain: Domain,
    by: tuple[str, ...],
    where: Mapping[str, Sequence[str]],
    weights: ArrayLike | None,
) -> tuple[Marginal, NDArray[Any], tuple[tuple[str, ...], ...]]:
    """Write the questions as whole-number weights on the entries of one marginal.

    Returns the marginal, the weights ``(questions, entries)``, and the categories of each question. Refuses unknown or
    repeated attributes, and `where` beside `weights`.

    `by` are attributes with an answer for each category, `where` the categories that count of an attribute.
    ``O(questions entries)``.
    """
    known = [one.name for one in domain.attributes]
    for name in (*by, *where):
        if name not in known:
            raise unknown_name("by" if name in by else "where", str(name), known)
    if len(set(by)) < len(by):
        raise InvalidProblemError("by", "each attribute once", repr(list(by)))
    grouped = tuple(domain.place(name) for name in by)
    if weights is not None:
        if where:
            raise InvalidProblemError("where", "none beside weights", "one")
        return _weighted(domain, grouped, weights)
    marginal = tuple(sorted({*grouped, *(domain.place(name) for name in where)}))
    allowed = [_allowed(domain, at, where) for at in marginal]
    at = [marginal.index(one) for one in grouped]
    # A category that `where` leaves out has no answer.
    lists = [
        [one for one in domain.attributes[marginal[k]].categories if one in allowed[k]] for k in at
    ]
    shown = tuple(itertools.product(*lists))
    place = {one: row for row, one in enumerate(shown)}
    cells = np.zeros((len(shown), domain.size_of(marginal)), dtype=object)
    for entry, labels in enumerate(domain.labels(marginal)):
        if all(map(set.__contains__, allowed, labels)):
            cells[place[tuple(labels[k] for k in at)], entry] = 1
    return marginal, cells, shown


def _allowed(domain: Domain, at: int, where: Mapping[str, Sequence[str]]) -> set[str]:
    """Return the categories of attribute number `at` that `where` counts, all by default.

    Refuse unknown ones, or none.
    """
    attribute = domain.attributes[at]
    categories = where.get(attribute.name, attribute.categories)
    listed = (categories,) if isinstance(categories, str) else tuple(categories)
    for one in listed:
        if one not in attribute.categories:
            raise unknown_name(f"where {attribute.name}", str(one), attribute.categories)
    if not listed:
        raise InvalidProblemError("where", f"categories of {attribute.name}", "none")
    return set(listed)


def _weighted(
    domain: Domain, grouped: tuple[int, ...], weights: ArrayLike
) -> tuple[Marginal, NDArray[Any], tuple[tuple[str, ...], ...]]:
    """Read `weights`, one for each entry of the attributes `grouped`.

    Results are as of :func:`_questions`, one question. They are reordered as the domain is, ``(1, entries)``. Refuses
    other than integers of limited size, not all 0.
    """
    array = array_of(weights, "weights", "whole numbers")
    size = domain.size_of(tuple(sorted(grouped)))
    if array.dtype.kind not in "iu" or array.size != size:
        expected = f"{size} whole numbers, one for each entry of by"
        raise InvalidProblemError("weights", expected, f"{array.size} of {array.dtype}")
    if not array.any() or int(np.abs(array.astype(np.float64)).max()) > MAX_QUESTION_WEIGHT:
        expected = f"whole numbers up to {MAX_QUESTION_WEIGHT}, not all of them 0"
        raise InvalidProblemError("weights", expected, "others")
    shaped = array.reshape([domain.shape[at] for at in grouped])
    ordered = (
        shaped.transpose(np.argsort(grouped)).reshape(1, -1) if grouped else array.reshape(1, 1)
    )
    return tuple(sorted(grouped)), ordered.astype(np.int64).astype(object), ((),)


def _combined(
    frame: TableFrame,
    combine: Mapping[tuple[Any, ...], int],
    level: int | None,
    regions: Sequence[Sequence[Any]] | None,
) -> dict[int, int]:
    """Return the weight of each region's node in the combination `combine`, region paths with weights.

    Equal nodes added. Raises InvalidProblemError beside a level or regions, for weights that are no bounded integers,
    or zeros only.
    """
    if level is not None or regions is not None:
        raise InvalidProblemError("level, regions", "none beside combine", "one")
    combination: dict[int, int] = {}
    weight: Any
    for path, weight in combine.items():
        is_integer = isinstance(weight, int | np.integer) and not isinstance(weight, bool)
        if not is_integer or abs(weight) > MAX_QUESTION_WEIGHT:
            expected = f"whole numbers up to {MAX_QUESTION_WEIGHT}"
            raise InvalidProblemError("combine", expected, repr(weight))
        node = frame.tree.find(path)
        combination[node] = combination.get(node, 0) + int(weight)
    if not any(combination.values()):
        raise InvalidProblemError("combine", "a region with a weight other than 0", "none")
    return combination


def _sum(frame: TableFrame, regions: dict[int, int]) -> str:
    """Return a combination of regions in words; `regions` has the weight of each node."""
    names = region_names(frame.tree)
    return " + ".join(f"{weight} x {names[node]}" for node, weight in regions.items())


def _ends(value: Fraction, half: Fraction) -> tuple[int, int]:
    """Return the least and largest whole number within `half` of `value`, or `value` rounded if there is none."""
    low, high = -((half - value) // 1), (value + half) // 1
    if low > high:
        low = high = round(value)
    return int(low), int(high)
