r"""True counts from noisy ones: by the average of repeated releases, and by levels that add up.

Noise protects one release. Anyone who sees n of them, each with fresh noise, sees noise of variance
:math:`\sigma^2 / n`; that is why releases cost their epsilon each time. And anyone who sees noisy counts of regions and
of their parts knows that the true ones add up: least squares on the tree uses that, costs no privacy, and is what a
release that was made consistent has done already.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.evaluate.attack.finding import DEFAULT_FAILURE, Finding
from discreet.evaluate.intervals import Estimate, student_mean
from discreet.hierarchy.treefit import TreeFit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from discreet.core.randomness import UniformSource
    from discreet.hierarchy.measure import Measured

_NOTE = "Intervals are Student's over runs, and approximate."


def attack_repeated_counts(
    run: Callable[[UniformSource | None], ArrayLike],
    truth: ArrayLike,
    *,
    releases: Sequence[int] = (1, 4, 16),
    others: ArrayLike | None = None,
    trials: int = 8,
    failure: float = DEFAULT_FAILURE,
    bits: UniformSource | None = None,
) -> list[Finding]:
    """Average repeated releases of the same counts, and round.

    Each number of `releases` is at least 1; the longest run gives the averages of all. A guess is right where the
    rounded mean equals the true count.

    Parameters
    ----------
    run
        ``run(bits)``: one release, an array of counts.
    truth
        The true counts, of the same shape. Private.
    releases
        Numbers of releases that the attacker averages.
    others
        The control group: true counts of other people, of the same shape, which the releases say nothing about.
    trials
        How often the attack is repeated with fresh releases; the intervals are over these.
    failure
        The probability with which an interval would miss if means of runs were normally distributed.
    bits
        Source of chance.

    Returns
    -------
    list of Finding
        For each number of releases the share of counts that are found exactly. The naive attacker knows how counts are
        distributed and guesses the commonest for each.

    Raises
    ------
    InvalidProblemError
        For shapes that differ, or fewer than two trials.

    Complexity
    ----------
    ``trials max(releases)`` runs.

    Examples
    --------
    >>> import random
    >>> from discreet.core.randomness import discrete_laplaces
    >>> truth = np.arange(50)
    >>> found = attack_repeated_counts(
    ...     lambda bits: truth + discrete_laplaces(2, 50, bits), truth, trials=4, bits=random.Random(1)
    ... )
    >>> found[0].attacker.value < found[1].attacker.value < found[2].attacker.value
    True
    """
    true = np.asarray(truth)
    strange = None if others is None else np.asarray(others)
    counts = sorted(set(releases))
    if strange is not None and strange.shape != true.shape:
        raise InvalidProblemError("others", f"shape {true.shape}", f"shape {strange.shape}")
    if trials < 2 or not counts or counts[0] < 1:
        raise InvalidProblemError("releases", "1 or more, and 2 trials or more", list(releases))
    own = {n: np.zeros(trials) for n in counts}
    other = {n: np.zeros(trials) for n in counts}
    for trial in range(trials):
        total = np.zeros(true.shape)
        for n in range(1, counts[-1] + 1):
            released = np.asarray(run(bits), dtype=np.float64)
            if released.shape != true.shape:
                raise InvalidProblemError("truth", f"shape {released.shape}", f"shape {true.shape}")
            total += released
            if n in own:
                guess = np.rint(total / n)
                own[n][trial] = (guess == true).mean()
                other[n][trial] = 0.0 if strange is None else (guess == strange).mean()
    commonest = np.unique(true, return_counts=True)[1].max() / true.size
    return [
        Finding(
            "one release" if n == 1 else f"average of {n} releases",
            "counts found exactly",
            student_mean(own[n], failure=failure),
            Estimate.computed(float(commonest)),
            None if strange is None else student_mean(other[n], failure=failure),
            note=_NOTE,
        )
        for n in counts
    ]


def attack_levels(
    run: Callable[[UniformSource | None], Measured],
    truth: ArrayLike,
    *,
    trials: int = 8,
    failure: float = DEFAULT_FAILURE,
    bits: UniformSource | None = None,
) -> list[Finding]:
    """Improve counts by the fact that those of regions add up, level by level.

    One run and one fit for each trial; fewer than two trials are refused.

    Parameters
    ----------
    run
        ``run(bits)``: one set of noisy measurements, direct or survival counts.
    truth
        What was measured, ``(n_nodes, width)``. Private.
    trials, failure, bits
        As in :func:`attack_repeated_counts`.

    Returns
    -------
    list of Finding
        For each level from the root down the mean absolute error of a count after the fit. The naive attacker takes
        each noisy count as it is.

    Raises
    ------
    InvalidProblemError
        As :func:`fit_levels`, or for shapes that differ.

    Examples
    --------
    >>> from discreet import PureDP, Tree
    >>> from discreet.core.randomness import SeededBits
    >>> from discreet.hierarchy.measure import measure, truth
    >>> from discreet.hierarchy.problem import GroupSizes
    >>> tree = Tree.from_paths([(name,) for name in "abcd"], root="all")
    >>> data = GroupSizes.from_counts(tree, [[5, 1]] * 4, units="private")
    >>> claim = PureDP(1, "add-remove-person")
    >>> run = lambda bits: measure(data, "direct", claim, bits=bits)
    >>> found = attack_levels(run, truth(data, "direct"), trials=200, bits=SeededBits(3))
    >>> [one.attack for one in found], found[0].attacker.value < found[0].baseline.value
    (['levels that add up, level 1', 'levels that add up, level 2'], True)
    """
    true = np.asarray(truth, dtype=np.float64)
    if trials < 2:
        raise InvalidProblemError("trials", "2 or more", trials)
    rows: list[tuple[NDArray[np.float64], ...]] = []
    levels: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
    for _ in range(trials):
        measured = run(bits)
        levels = measured.frame.tree.levels
        if true.shape != measured.values.shape:
            expected = f"shape {measured.values.shape}"
            raise InvalidProblemError("truth", expected, f"shape {true.shape}")
        guesses = (fit_levels(measured), measured.values)
        rows.append(tuple(np.abs(guess - true).mean(axis=1) for guess in guesses))

    def mean(kind: int, level: int) -> Estimate:
        at_level = levels == level
        return student_mean([float(row[kind][at_level].mean()) for row in rows], failure=failure)

    return [
        Finding(
            f"levels that add up, level {level + 1}",
            "error of a count",
            mean(0, level),
            mean(1, level),
            error=True,
            note=_NOTE,
        )
        for level in range(int(levels.max()) + 1)
    ]


def fit_levels(measured: Measured) -> NDArray[np.float64]:
    """Find the nearest values that add up, weighted by the precision of each measurement.

    Parameters
    ----------
    measured
        Noisy direct or survival counts; both add up over the parts of a region.

    Returns
    -------
    ndarray
        ``(n_nodes, width)``: the best linear unbiased estimates of the true values.

    Raises
    ------
    InvalidProblemError
        For measurements of another kind, or leaves that were not measured.
    """
    if measured.kind not in ("direct", "survival"):
        raise InvalidProblemError("measured", "direct or survival counts", measured.kind)
    variances = measured.variances()
    if not np.isfinite(variances[measured.frame.tree.leaves]).all():
        raise InvalidProblemError("measured", "leaves that were measured", "others")
    # What was not measured weighs nothing.
    weights = np.divide(1, variances, out=np.zeros_like(variances), where=np.isfinite(variances))
    return TreeFit(measured.frame.tree, weights).solve(measured.values.astype(np.float64))
