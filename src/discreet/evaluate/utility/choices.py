"""Value of a private choice, as a share of an upper bound on the value of any choice."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.core.errors import InvalidProblemError
from discreet.core.randomness import as_bits
from discreet.evaluate.intervals import student_mean
from discreet.evaluate.utility.measure import Measure
from discreet.submodular.methods.baselines import Greedy, RandomBase
from discreet.submodular.methods.optimal import upper_bound

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from discreet.core.randomness import UniformSource
    from discreet.submodular.matroids.base import Matroid
    from discreet.submodular.objectives.objective import Objective

_NOTE = "Intervals are Student's over choices, and approximate."


def choice_utility(
    run: Callable[[UniformSource | None], Iterable[tuple[int, int]]],
    objective: Objective,
    matroid: Matroid,
    *,
    trials: int = 20,
    failure: float = 0.05,
    bits: UniformSource | None = None,
) -> Measure:
    """Choose several times, and compare the values with a bound that no choice exceeds. Private.

    A function of several kinds, or one not known to be submodular, is refused too.

    Parameters
    ----------
    run
        ``run(bits)``: one choice, pairs of an element and its kind.
    objective
        Value of choices; one kind, monotone and submodular. Of public or synthetic records, if the result decides
        about a parameter.
    matroid
        The matroid of the choice.
    trials
        Number of choices.
    failure
        Probability with which the interval would miss if means of choices were normally distributed.
    bits
        Source of chance.

    Returns
    -------
    Measure
        The mean value ratio; `best` is that of the greedy choice without privacy, `worst` the mean of random bases.

    Raises
    ------
    InvalidProblemError
        For fewer than two trials, or if every choice has value 0.

    Complexity
    ----------
    ``2 trials`` choices.

    Examples
    --------
    >>> from discreet.submodular import Coverage, UniformMatroid
    >>> reach = Coverage([[True, False, False]] * 6 + [[False, True, False]] * 4)
    >>> found = choice_utility(lambda bits: [(0, 0), (2, 0)], reach, UniformMatroid(3, 2), trials=2)
    >>> found.estimate.value, found.best
    (0.6, 1.0)
    """
    if trials < 2:
        raise InvalidProblemError("trials", "2 or more", trials)
    source, best = as_bits(bits), Greedy().choose(objective, matroid)
    # The least of the bounds from the empty set and from the greedy one holds for every choice.
    upper = min(upper_bound(objective, matroid, chosen) for chosen in ((), best))
    if not upper:
        raise InvalidProblemError("objective", "records for which something is worth much", "none")

    def ratio(chosen: Iterable[tuple[int, int]]) -> float:
        return float(Fraction(objective.value(chosen), upper))

    reached = [ratio(run(bits)) for _ in range(trials)]
    blind = [ratio(RandomBase().choose(objective, matroid, bits=source)) for _ in range(trials)]
    return Measure(
        "share of the best value",
        student_mean(reached, failure=failure),
        ratio(best),
        sum(blind) / trials,
        _NOTE,
    )
