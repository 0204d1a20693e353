r"""Check that a function is monotone and (k-)submodular, on every pair of sets: the ground set must be tiny.

With :math:`\Delta_{e,i} F(s)` the gain of element e with kind i, F is k-submodular where gains fall as sets grow, and
two gains of one element with different kinds never add up to less than 0 [WZ16]_.
"""

from __future__ import annotations

import itertools
from itertools import product

from discreet.core.certificate import Certificate, Check
from discreet.core.errors import InvalidProblemError
from discreet.core.options import instance_of, whole_number
from discreet.submodular.objectives.objective import Objective


def check(objective: Objective, *, slack: int = 0, max_choices: int = 5000) -> Certificate:
    """Check on all choices whether a function is normalized, monotone and (k-)submodular.

    ``(n_kinds + 1)^n_elements`` evaluations of all gains, and the pairs of elements of each.

    `slack` does not apply to the value of the empty set, which must be 0.

    Parameters
    ----------
    objective
        A function with at most `max_choices` choices, ``(n_kinds + 1) ** n_elements``.
    slack
        Units of ``2^-scale_bits`` by which a gain may rise or be negative, for functions that are rounded as a whole.
    max_choices
        Choices that are evaluated at most, each with all its gains.

    Returns
    -------
    Certificate
        The worst violation of each property, in units of ``2^-scale_bits``, exact. **Private**: it is computed from the
        records.

    Raises
    ------
    InvalidProblemError
        For more choices.

    Examples
    --------
    >>> from discreet.submodular import Coverage, FromFunction
    >>> check(Coverage([[True, True, False], [False, True, True]])).passed
    True
    >>> print(check(FromFunction(lambda chosen: len(chosen) ** 2, sensitivity=1, n_elements=3, scale_bits=1)))
    check                              residual  limit  exact  verdict
    normalized                                0      0    yes  passed   F of nothing is 0
    monotone                                  0      0    yes  passed   12 gains
    gains fall as sets grow                   4      0    yes  FAILED   12 pairs
    kinds of an element do not cancel         0      0    yes  passed   0 pairs
    """
    instance_of(objective, Objective, "objective", "an Objective")
    whole_number(max_choices, "max_choices", "one or more")
    k, n = objective.n_kinds, objective.n_elements
    if (k + 1) ** n > max_choices:
        raise InvalidProblemError("objective", f"at most {max_choices} choices", f"{(k + 1) ** n}")
    everything = {kinds: _gains(objective, kinds) for kinds in product(range(k + 1), repeat=n)}
    gains = [(kinds, e) for kinds in everything for e in range(n) if not kinds[e]]
    sinks = [-gain for kinds, e in gains for gain in everything[kinds][e]]
    # Sets that are larger by one element are enough: a chain leads to all others.
    rises = [
        after - before
        for kinds, e in gains
        for other in range(n)
        if other != e and not kinds[other]
        for kind in range(1, k + 1)
        for before, after in zip(
            everything[kinds][e],
            everything[(*kinds[:other], kind, *kinds[other + 1 :])][e],
            strict=True,
        )
    ]
    cancels = [
        -(a + b) for kinds, e in gains for a, b in itertools.combinations(everything[kinds][e], 2)
    ]
    empty = abs(objective.start().value)
    return Certificate(
        (
            Check("normalized", empty, 0, exact=True, detail="F of nothing is 0"),
            _worst("monotone", sinks, slack, "gains"),
            _worst("gains fall as sets grow", rises, slack, "pairs"),
            _worst("kinds of an element do not cancel", cancels, slack, "pairs"),
        )
    )


def _gains(objective: Objective, kinds: tuple[int, ...]) -> list[list[int]]:
    """Return the gains ``[element][kind]``, where element e has kind ``kinds[e] - 1``, or none for 0."""
    state = objective.start()
    for element, kind in enumerate(kinds):
        if kind:
            state.add(element, kind - 1)
    gains: list[list[int]] = state.gains().tolist()
    return gains


def _worst(name: str, violations: list[int], slack: int, of: str) -> Check:
    """Return the check that no violation exceeds the slack; `of` names what was tried."""
    worst = max(0, *violations, 0)
    return Check(name, worst, slack, exact=True, detail=f"{len(violations)} {of}")
