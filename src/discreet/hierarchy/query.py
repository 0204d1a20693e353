r"""Questions to kept measurements: unbiased answers with intervals from the exact law of the noise.

A published count is post-processed, hence biased: what cannot be negative is pushed up where it is small. The noisy
counts are not. A statistic :math:`\sum_s w_s n_s` of one region is a sum of them,

.. math::

    \sum_s w_s n_s = \sum_{s \ge 1} (w_s - w_{s-1})\, t_s + w_0 G

with survival counts :math:`t_s`, where :math:`w_0 = 0` and :math:`G` is unknown for private units; the noisy value of
the right side is unbiased, and its noise is a sum of independent ones whose law is public.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.options import instance_of, items_of, name_of
from discreet.core.printed import count
from discreet.hierarchy.answers import Answers, coverage_of, places_of
from discreet.hierarchy.measure import Measured, variance_of
from discreet.hierarchy.noise_sum import Term, half_width
from discreet.hierarchy.problem import MAX_QUESTION_WEIGHT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from discreet.core.exact import Exact
    from discreet.core.tree import Tree
    from discreet.hierarchy.measure import Noise
    from discreet.hierarchy.problem import Frame

COUNTED_KINDS = ("survival", "direct")
"""Kinds of measurements that answer how many units of a size there are."""

_INT64_LIMIT = 1 << 63
"""Answers and the ends of their intervals are 64-bit integers; they are computed without that limit."""


def query(
    measured: Measured,
    *,
    sizes: Iterable[int] | Mapping[int, int],
    level: int | None = None,
    regions: Sequence[Sequence[Any]] | None = None,
    interval: Exact = "0.95",
) -> Answers:
    r"""Answer a linear question about sizes from noisy counts: without bias, and with an interval.

    Parameters
    ----------
    measured
        Kept measurements: survival or direct counts.
    sizes
        The sizes whose groups are counted, or a whole-number weight for each size: ``{1: 1, 2: 2, ...}`` counts people.
        The largest size stands for all larger ones too.
    level
        Answer for all regions of this level; the root's is 1. A leaf above it counts as well.
    regions
        Answer for these regions instead, each by its path.
    interval
        Probability, over the noise, with which each interval holds the true value.

    Returns
    -------
    Answers
        One answer a region.

    Raises
    ------
    InvalidProblemError
        For sorted sizes or chains, sizes that were not counted, no weight but 0, neither or both of `level` and
        `regions`, a region that does not exist, an interval not strictly between 0 and 1, or weights with which the
        answer is no 64-bit integer.

    Notes
    -----
    A region is answered from its own measurement or from the sum over the regions below it, whichever has less noise;
    that choice depends on public scales alone. Intervals hold each by itself, not all at once. They are not cut at 0:
    that would keep the probability, but an interval that is wholly negative would vanish.

    Complexity
    ----------
    A pass over the values and the regions, and some 100,000 operations for each different composition of noise.

    Examples
    --------
    >>> from discreet import PureDP, Tree
    >>> from discreet.hierarchy.measure import measure
    >>> from discreet.hierarchy.problem import GroupSizes
    >>> tree = Tree.from_paths([("GA",), ("NY",)], root="US")
    >>> data = GroupSizes.from_counts(tree, [[2, 0, 1], [1, 1, 1]], units="private")
    >>> kept = measure(data, "survival", PureDP(200, neighbors="add-remove-person"))
    >>> query(kept, level=2, sizes=[2, 3]).to_frame("dict")
    {'level': [2, 2], 'region': ['GA', 'NY'], 'value': [1, 2], 'low': [1, 2], 'high': [1, 2], 'reliability': [...]}
    """
    instance_of(measured, Measured, "measured", "Measured")
    frame = measured.frame
    if measured.kind not in COUNTED_KINDS:
        raise InvalidProblemError("measured", "survival or direct counts", repr(measured.kind))
    chance = coverage_of(interval)
    weights = _weights(frame, sizes)
    factors, constant = _factors(measured, weights)
    nodes = frame.tree.select(level=level, paths=regions)
    sources = _sources(measured)
    own = _products(measured, factors, constant)
    # One noisy value of each size and node is one noise; equal factors are equal terms.
    shape = Counter(abs(int(factor)) for factor in factors if factor)
    widths: dict[tuple[tuple[Fraction, int], ...], tuple[int, Fraction]] = {}
    answers: list[tuple[int, int, Fraction]] = []
    for node in nodes.tolist():
        used = sources(node)
        value = sum(int(own[at]) for at in used)
        scales = Counter(scale for at in used if (scale := measured.scales[at]) is not None)
        key = tuple(sorted(scales.items()))
        if key not in widths:
            terms = {
                Term(factor, scale): count * many
                for scale, many in key
                for factor, count in shape.items()
            }
            noise = measured.noise
            widths[key] = half_width(terms, noise, chance), _variance(terms, noise)
        if abs(value) + widths[key][0] >= _INT64_LIMIT:
            expected = "weights so small that each answer and its interval are below 2^63"
            raise InvalidProblemError("sizes", expected, "larger ones")
        answers.append((value, *widths[key]))
    values, halves, variances = np.array(answers, dtype=object).reshape(-1, 3).T
    middles, halves = values.astype(np.int64), halves.astype(np.int64)
    ends = middles - halves, middles + halves
    places = places_of(frame.tree, nodes)
    return Answers(*places, middles, *ends, variances, chance, _question(frame, weights))


def _question(frame: Frame, weights: Mapping[int, int]) -> str:
    """Return the question as a phrase: units of which sizes, people, or a weighted sum; `weights` are by size."""
    weight_of = {size: weight for size, weight in weights.items() if weight}
    people = all(weight == size for size, weight in weight_of.items()) and max(weight_of) > 1
    rest = set(frame.sizes.tolist()) - set(weight_of) - ({0} if people else set())
    sizes = _in_words(frame, weight_of)
    if people:
        phrase = f"How many people there are{f' in units of {sizes}' if rest else ''}"
    elif set(weight_of.values()) == {1}:
        phrase = f"How many units{f' of {sizes}' if rest else ''} there are"
    else:
        phrase = f"The sum of the weights of units of {sizes}"
    larger = people and frame.max_size in weight_of
    most = count(frame.max_size)
    return phrase + (f" (a unit of more than {most} counts as {most})" if larger else "")


def _variance(terms: Mapping[Term, int], noise: Noise) -> Fraction:
    """Return at least the variance of a sum of independent noises, exact.

    `terms` has how many there are of each kind.
    """
    parts = [one.factor**2 * many * variance_of(one.scale, noise) for one, many in terms.items()]
    return sum(parts, Fraction(0))


def _in_words(frame: Frame, sizes: Iterable[int]) -> str:
    """Return sizes as text, runs of them by their ends; the largest size stands for all larger ones."""
    runs: list[list[int]] = []
    for size in sorted(sizes):
        if runs and runs[-1][-1] == size - 1:
            runs[-1].append(size)
        else:
            runs.append([size])
    parts = [
        str(run[0]) if len(run) == 1 else f"{count(run[0])} to {count(run[-1])}" for run in runs
    ]
    if runs and runs[-1][-1] == frame.max_size:
        parts[-1] = f"{count(runs[-1][0])} or more"
    several = len(parts) > 1 or not parts[0].isdigit()
    return f"size{'s' * several} {', '.join(parts)}"


def _products(measured: Measured, factors: NDArray[np.int64], constant: int) -> NDArray[Any]:
    """Weight the noisy values of each region by `factors` ``(numbers,)`` and add them up: ``(nodes,)``, exact.

    `constant` times the public number of groups is added. Linear in the values; Python integers where int64 might
    wrap around.
    """
    values, totals = measured.values, measured.frame.group_totals
    most = max(abs(int(values.max())), abs(int(values.min())))
    bound = most * sum(abs(factor) for factor in factors.tolist())
    if totals is not None:
        bound += abs(constant) * int(totals[0])
    exact = np.int64 if bound < _INT64_LIMIT else object
    own: NDArray[Any] = values.astype(exact) @ factors.astype(exact)
    return own if totals is None else own + constant * totals.astype(exact)


def _once(sizes: tuple[Any, ...]) -> dict[Any, int]:
    """Return sizes with the weight 1 each; refuse values that cannot be names."""
    for size in sizes:
        name_of(size, "sizes")
    return dict.fromkeys(sizes, 1)


def _weights(frame: Frame, sizes: Iterable[int] | Mapping[int, int]) -> dict[int, int]:
    """Return the integer weight of each size in the question.

    Raises InvalidProblemError for sizes that are not counted, weights out of range, or zeros only.
    """
    question: Any = sizes
    expected = "sizes, or their weights by size"
    weights = dict(
        question if hasattr(question, "keys") else _once(items_of(question, "sizes", expected))
    )
    known = set(frame.sizes.tolist())
    for size, weight in weights.items():
        if size not in known:
            expected = f"sizes from {frame.first_size} to {frame.max_size}"
            raise InvalidProblemError("sizes", expected, repr(size))
        is_integer = isinstance(weight, int | np.integer) and not isinstance(weight, bool)
        if not is_integer or abs(weight) > MAX_QUESTION_WEIGHT:
            raise InvalidProblemError(
                "sizes", f"whole-number weights up to {MAX_QUESTION_WEIGHT}", repr(weight)
            )
    if not any(weights.values()):
        raise InvalidProblemError("sizes", "a size that counts", "none")
    return {int(size): int(weight) for size, weight in weights.items()}


def _factors(measured: Measured, weights: dict[int, int]) -> tuple[NDArray[np.int64], int]:
    """Return the integer factor of each noisy value of a region, ``(numbers,)``, and that of its public total.

    `weights` holds the weight of each size that counts; the others have none.
    """
    frame = measured.frame
    by_size = np.array([weights.get(size, 0) for size in frame.sizes.tolist()], dtype=np.int64)
    if measured.kind == "direct":
        return by_size, 0
    if frame.first_size == 0:
        return np.diff(by_size), int(by_size[0])
    return np.diff(by_size, prepend=0), 0


def least_variances(
    tree: Tree, variances: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return for each region the least variance of its own measurement or of a sum below it, and whether it is a sum.

    `variances` and both new arrays are ``(n_nodes,)``. Linear.
    """
    best = variances.copy()
    divided = np.zeros(tree.n, dtype=bool)
    for node in range(tree.n - 1, -1, -1):
        below = tree.children(node)
        if below:
            total = float(best[below.start : below.stop].sum())
            divided[node] = total < variances[node]
            best[node] = min(total, float(variances[node]))
    return best, divided


def _sources(measured: Measured) -> Callable[[int], list[int]]:
    """Return a function from a node to the measured nodes whose sum estimates it with the least noise.

    It raises InvalidProblemError for a region that was not measured.
    """
    tree = measured.frame.tree
    best, divided = least_variances(tree, measured.variances())

    def sources(node: int) -> list[int]:
        if not np.isfinite(best[node]):
            raise InvalidProblemError("regions", "regions that were measured", "another")
        nodes, pending = [], [node]
        while pending:
            at = pending.pop()
            if divided[at]:
                pending.extend(tree.children(at))
            else:
                nodes.append(at)
        return nodes

    return sources
