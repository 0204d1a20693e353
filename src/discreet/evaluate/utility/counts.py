"""Errors of released counts: absolute errors, earth mover's distances, relative errors by size of the count."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.evaluate.intervals import student_mean
from discreet.evaluate.utility.measure import Measure
from discreet.hierarchy import diagnose
from discreet.hierarchy.result import RegionCounts

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.core.outcome import Release, Unproven
    from discreet.core.randomness import UniformSource
    from discreet.hierarchy.problem import GroupSizes

    Run = Callable[[UniformSource | None], Release[RegionCounts] | Unproven[RegionCounts]]

BINS = ((1, 9), (10, 99), (100, 999), (1000, None))
"""Ranges of true counts, both ends included, with a relative error each."""

_NOTE = "Intervals are Student's over releases, and approximate."


def count_utility(
    run: Run,
    data: GroupSizes,
    *,
    trials: int = 8,
    failure: float = 0.05,
    bits: UniformSource | None = None,
) -> list[Measure]:
    r"""Release counts several times, and measure how far they are from the true ones. Private.

    A range that no true count lies in has no measure. One release for each trial.

    Parameters
    ----------
    run
        ``run(bits)``: one release of the data.
    data
        The data: public or made ones, where the result decides about a parameter.
    trials
        Releases.
    failure
        The probability with which an interval would miss if means of releases were normally distributed.
    bits
        Source of chance.

    Returns
    -------
    list of Measure
        By level from the root down: mean absolute error of a count, and earth mover's distance of a region, in persons;
        then the mean relative error :math:`|\hat n - n| / n` of true counts of 1 to 9, 10 to 99, ... The worst is what
        counts of zero everywhere would lose.

    Raises
    ------
    InvalidProblemError
        For fewer than two trials.

    Examples
    --------
    >>> from discreet import PureDP, Tree, hierarchy
    >>> tree = Tree.from_paths([("a",), ("b",)], root="all")
    >>> data = hierarchy.GroupSizes.from_counts(tree, [[40, 10], [5, 20]], units="private")
    >>> claim = PureDP(2, "add-remove-person")
    >>> found = count_utility(lambda bits: hierarchy.release(data, claim, bits=bits), data, trials=3)
    >>> [one.name for one in found][:3]
    ['absolute error of a count, level 1', 'absolute error of a count, level 2', 'persons to move in a region, level 1']
    """
    if trials < 2:
        raise InvalidProblemError("trials", "2 or more", trials)
    true = data.node_counts()
    regions = np.bincount(data.frame.tree.levels)
    rows = [_errors(run(bits).result, data) for _ in range(trials)]
    zeros = _errors(RegionCounts(data.frame, np.zeros_like(true)), data)
    levels = [f"level {at + 1}" for at in range(len(regions))]
    names = [f"absolute error of a count, {level}" for level in levels]
    names += [f"persons to move in a region, {level}" for level in levels]
    names += [f"relative error of counts {_bin(*ends)}" for ends in BINS]
    measures = []
    for at, name in enumerate(names):
        values = [row[at] for row in rows]
        if not any(np.isnan(values)):
            estimate = student_mean(values, failure=failure)
            measures.append(Measure(name, estimate, 0.0, zeros[at], _NOTE))
    return measures


def _errors(given: RegionCounts, data: GroupSizes) -> list[float]:
    """Return mean errors per level, absolute and earth mover's, then relative ones by size of the true count.

    There are as many of the first two as levels, and one of the last for each of :data:`BINS`, NaN where no true
    count lies in it. All in persons, but the last.
    """
    true = data.node_counts()
    regions = np.bincount(data.frame.tree.levels)
    distances = diagnose(data, given)
    cells = regions * true.shape[1]
    errors: list[Any] = [
        *(np.array(distances.l1) / cells),
        *(np.array(distances.earth_mover) / regions),
    ]
    for least, most in BINS:
        inside = (true >= least) & (true <= (np.inf if most is None else most))
        off = np.abs(given.counts[inside] - true[inside]) / true[inside]
        errors.append(off.mean() if inside.any() else np.nan)
    return [float(error) for error in errors]


def _bin(least: int, most: int | None) -> str:
    """Return the name of a range of true counts."""
    return f"of {least} or more" if most is None else f"of {least} to {most}"
