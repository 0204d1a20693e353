r"""Audits of private choices: every method of :mod:`discreet.submodular`, on tiny records and all their neighbors.

Algorithm 2 of [RY20]_ has an instance of its own, on which its Theorem 4.5 fails: two elements whose scores straddle
the boundary of a layer, and one record that moves from one to the other. Its claim for one step is
:math:`2 \epsilon_0`; a draw loses :math:`\epsilon_0^2 n / 2`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core.errors import InvalidProblemError, unknown_name
from discreet.core.guarantee import PureDP
from discreet.evaluate.audit.audit import Audit, Pair, audit
from discreet.submodular.matroids.capacities import UniformMatroid
from discreet.submodular.methods import METHODS
from discreet.submodular.objectives.coverage import Coverage
from discreet.submodular.stating import state_choice
from discreet_reproduction.submodular.as_published.algorithm_2 import Algorithm2

if TYPE_CHECKING:
    from discreet.core.guarantee import DPGuarantee
    from discreet.core.randomness import RandomBits
    from discreet.evaluate.audit.request import AuditRequest

    Records = tuple[frozenset[int], ...]

__all__ = ["audit_choices", "choice_pairs", "chosen_set"]

DEFAULT = "subsampled"
_ELEMENTS = 3
_REPLAYS = 500
_SMALL: dict[str, dict[str, int]] = {
    "algorithm-1": {"rho": 1},
    "badanidiyuru-vondrak": {"rounds": 1, "samples": 1},
    "base-continuous-greedy": {"steps": 1, "samples": 1},
    "measured-continuous-greedy": {"steps": 1, "samples": 1},
    "subsampled-rounds": {"rounds": 1},
}
"""Parameters of the methods that make many draws: as few as there can be, since all are replayed."""
_LARGEST = 200_000
"""Records of the instance for Algorithm 2 beyond which nothing is tried."""


@final
@dataclass(frozen=True, eq=False)
class _Choice:
    """A choice that is about to be made: records, what may be chosen, and the plan."""

    objective: Coverage
    matroid: UniformMatroid
    method: Any
    plan: Any


def audit_choices(request: AuditRequest) -> Audit:
    """Audit a method by its name.

    Parameters
    ----------
    request
        A name of :data:`discreet.submodular.methods.METHODS`; epsilon, with delta, or rho;
        neighbors, default ``"add-remove-one"``.

    Returns
    -------
    Audit
        Default: exact.

    Raises
    ------
    InvalidProblemError
        For an unknown method, or one that does not have that kind of guarantee.

    Examples
    --------
    >>> from discreet.evaluate.audit.request import AuditRequest
    >>> audit_choices(AuditRequest("algorithm-2", epsilon="1", strength="sampled")).rejected
    True
    >>> audit_choices(AuditRequest("permute-and-flip", epsilon="1")).rejected
    False
    """
    name = request.method or DEFAULT
    # Its points are averages of many sampled sets: there is nothing to replay, and it claims nothing.
    allowed = [known for known in METHODS if known != "continuous-greedy"]
    record = METHODS.find(name, allowed=allowed)
    if record.name not in allowed:
        raise unknown_name("method", name, allowed)
    strength = request.choose("exact", "sampled")
    if record.name == "algorithm-2":
        claim: DPGuarantee = request.pure("replace-one", "for Algorithm 2")
        pairs = _straddling(claim)
    else:
        claim = request.dp("add-remove-one")
        method = record.make(**_SMALL.get(record.name, {}))
        pairs = [
            Pair(
                _choice(both[0], method, claim, rank),
                _choice(both[1], method, claim, rank),
                _label(both, rank),
            )
            for rank in (1, 2)
            for both in choice_pairs(claim.neighbors)
        ]
    return audit(
        chosen_set,
        pairs,
        claim,
        strength="exact" if strength == "exact" else "sampled",
        failure=request.failure,
        samples=request.samples,
        max_runs=_REPLAYS,
        executor=request.executor,
        bits=request.bits,
        on_stage=request.on_stage,
    )


def chosen_set(case: _Choice, bits: RandomBits) -> tuple[tuple[int, int], ...]:
    """Choose, with the production code, and forget the order."""
    return tuple(sorted(case.method.choose(case.objective, case.matroid, case.plan, bits)))


def choice_pairs(neighbors: str) -> list[tuple[Records, Records]]:
    """List pairs of small sets of records, each the elements that it is worth something for.

    Examples
    --------
    >>> choice_pairs("replace-one")[0]
    ((frozenset({0}), frozenset({1})), (frozenset({0}), frozenset({2})))
    """
    zero, one, two = (frozenset({element}) for element in range(_ELEMENTS))
    if neighbors == "replace-one":
        return [((zero, one), (zero, two)), ((zero,), (frozenset({1, 2}),))]
    if neighbors != "add-remove-one":
        raise InvalidProblemError("neighbors", "add-remove-one or replace-one", repr(neighbors))
    return [
        ((), (zero,)),
        ((one,), (one, frozenset({0, 2}))),
        # A tie that the next record breaks: what adds no noise shows it.
        ((one, two), (one, two, two)),
    ]


def _label(both: tuple[Records, Records], rank: int) -> str:
    told = [
        "{" + ", ".join("".join(map(str, sorted(record))) for record in records) + "}"
        for records in both
    ]
    return f"records {told[0]} and {told[1]}, {rank} to choose"


def _choice(records: Records, method: Any, claim: DPGuarantee, rank: int) -> _Choice:  # noqa: ANN401 - any method
    table = np.zeros((len(records), _ELEMENTS), dtype=np.bool_)
    for row, record in enumerate(records):
        table[row, sorted(record)] = True
    objective, matroid = Coverage(table), UniformMatroid(_ELEMENTS, rank)
    ask = getattr(method, "unproven", None)
    if callable(ask) and ask(matroid):
        plan = method.literal_plan(state_choice(objective, matroid, None), matroid)
    else:
        plan = method.plan(state_choice(objective, matroid, claim), matroid, claim)
    return _Choice(objective, matroid, method, plan)


def _straddling(claim: DPGuarantee) -> list[Pair]:
    """Make the two data sets on which layers lose most, with the least number of records that shows it."""
    if not isinstance(claim, PureDP):
        raise InvalidProblemError("epsilon", "an epsilon alone for Algorithm 2", "another claim")
    step = claim.epsilon / 2
    n = math.ceil(2 * (3 * claim.epsilon + 3) / step**2)
    # The boundary of the first layer is to fall between two numbers of records, not on one.
    while not 1 <= 4 * (step * n % 1) <= 3:
        n += 1
        if n > _LARGEST:
            raise InvalidProblemError("epsilon", "one for which few records suffice", claim.epsilon)
    above = min(math.floor(step * n) + 1, n)
    cases = []
    for favored in (0, 1):
        table = np.zeros((n, 2), dtype=np.bool_)
        table[: above - 1] = True
        table[above - 1, favored] = True
        objective, matroid = Coverage(table), UniformMatroid(2, 1)
        method = Algorithm2(step)
        plan = method.literal_plan(state_choice(objective, matroid, None), matroid)
        cases.append(_Choice(objective, matroid, method, plan))
    label = f"{n} records, {above - 1} for both elements, and one for this or that element"
    return [Pair(cases[0], cases[1], label)]
