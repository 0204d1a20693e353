"""What a private choice is worth: its value as a share of what the best choice could be worth."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.core.errors import InvalidProblemError
from discreet.core.randomness import as_bits
from discreet.evaluate.intervals import student_mean
from discreet.evaluate.utility.measure import Measure
from discreet.submodular.methods.baselines import Greedy
from discreet.submodular.methods.optimal import upper_bound
from discreet.submodular.stating import state_choice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from discreet.core.randomness import UniformSource
    from discreet.submodular.matroids.base import Matroid
    from discreet.submodular.objectives.objective import Objective

__all__ = ["choice_utility", "random_choice"]

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

    Parameters
    ----------
    run
        ``run(bits)``: one choice, pairs of an element and its kind.
    objective
        What choices are worth; one kind, monotone and submodular. Public or made records, where the result decides
        about a parameter.
    matroid
        What may be chosen.
    trials
        Choices.
    failure
        The probability with which the interval would miss if means of choices were normally distributed.
    bits
        Source of chance.

    Returns
    -------
    Measure
        The mean value ratio; `best` is that of the greedy choice without privacy, `worst` the mean of random bases.

    Raises
    ------
    InvalidProblemError
        For fewer than two trials, or records for which nothing is worth anything.

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
    source = as_bits(bits)
    greedy = Greedy()
    plan = greedy.literal_plan(state_choice(objective, matroid, None), matroid)
    best = greedy.choose(objective, matroid, plan, source)
    # The least of the bounds from the empty set and from the greedy one holds for every choice.
    upper = min(upper_bound(objective, matroid, chosen) for chosen in ((), best))
    if not upper:
        raise InvalidProblemError("objective", "records for which something is worth much", "none")

    def ratio(chosen: Iterable[tuple[int, int]]) -> float:
        return float(Fraction(objective.value(chosen), upper))

    reached = [ratio(run(bits)) for _ in range(trials)]
    blind = [ratio(random_choice(matroid, bits)) for _ in range(trials)]
    return Measure(
        "share of the best value",
        student_mean(reached, failure=failure),
        ratio(best),
        sum(blind) / trials,
        _NOTE,
    )


def random_choice(matroid: Matroid, bits: UniformSource | None) -> list[tuple[int, int]]:
    """Take elements in random order as long as they may be taken, without looking at any record."""
    source = as_bits(bits)
    left, chosen = list(range(matroid.n_elements)), []
    grown = matroid.start()
    while left:
        element = left.pop(source.randrange(len(left)))
        if grown.feasible()[element]:
            grown.add(element)
            chosen.append((element, 0))
    return chosen
