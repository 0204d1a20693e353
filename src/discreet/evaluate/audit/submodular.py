"""Audits of private choices: every method of :mod:`discreet.submodular`, on tiny records and all their neighbors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core.errors import InvalidProblemError, unknown_name
from discreet.evaluate.audit.audit import Audit, Pair, audit
from discreet.submodular.matroids.capacities import UniformMatroid
from discreet.submodular.methods import METHODS
from discreet.submodular.objectives.coverage import Coverage
from discreet.submodular.stating import state_choice

if TYPE_CHECKING:
    from discreet.core.guarantee import DPGuarantee
    from discreet.core.randomness import RandomBits
    from discreet.evaluate.audit.request import AuditRequest

    Records = tuple[frozenset[int], ...]

DEFAULT = "subsampled"
_ELEMENTS = tuple(frozenset({element}) for element in range(3))
"""The elements of the ground set, each as a record that it is worth something for."""
_NOT_AUDITED = frozenset({"algorithm-2", "continuous-greedy"})
"""Continuous greedy averages too many sampled sets to replay; Algorithm 2 has an audit beside its code."""
_SMALL: dict[str, dict[str, int]] = {
    "algorithm-1": {"rho": 1},
    "badanidiyuru-vondrak": {"rounds": 1, "samples": 1},
    "base-continuous-greedy": {"steps": 1, "samples": 1},
    "measured-continuous-greedy": {"steps": 1, "samples": 1},
    "subsampled-rounds": {"rounds": 1},
}
"""Parameters of the methods that make many draws: as few as there can be, since all are replayed."""


@final
@dataclass(frozen=True, eq=False)
class PlannedChoice:
    """A planned choice: the objective of its records, the matroid, the method and the plan."""

    objective: Coverage
    matroid: UniformMatroid
    method: Any
    plan: Any


def audit_choices(request: AuditRequest) -> Audit:
    """Audit a method by its name.

    Choices of 1 and of 2 of three elements, from up to three records; each is replayed up to 500 times, or sampled.

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
    >>> audit_choices(AuditRequest("permute-and-flip", epsilon="1")).rejected
    False
    """
    name = request.method or DEFAULT
    allowed = [known for known in METHODS if known not in _NOT_AUDITED]
    record = METHODS.find(name, allowed=allowed)
    if record.name not in allowed:
        raise unknown_name("method", name, allowed)
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
    return judge_choices(pairs, claim, request)


def judge_choices(
    pairs: list[Pair], claim: DPGuarantee, request: AuditRequest, *, max_runs: int = 500
) -> Audit:
    """Audit pairs of neighboring choices, by replay of every draw or by samples.

    Returns the audit. Up to `max_runs` replays, or the samples of the request, for each input.

    Parameters
    ----------
    pairs
        Pairs of :class:`PlannedChoice`.
    claim
        The claimed guarantee.
    request
        The strength, the number of samples, and the error probability.
    max_runs
        Limit on the replays for the law of one choice.
    """
    strength = request.choose("exact", "sampled")
    return audit(
        chosen_set,
        pairs,
        claim,
        strength="exact" if strength == "exact" else "sampled",
        max_runs=max_runs,
        **request.sampling,
    )


def chosen_set(case: PlannedChoice, bits: RandomBits) -> tuple[tuple[int, int], ...]:
    """Choose with the production code.

    Return the pairs of an element and its kind, sorted, so that their order is hidden.
    """
    return tuple(sorted(case.method.choose(case.objective, case.matroid, case.plan, bits)))


def choice_pairs(neighbors: str) -> list[tuple[Records, Records]]:
    """List pairs of small sets of records, each the elements that it is worth something for.

    Raises
    ------
    InvalidProblemError
        For unknown neighbors.

    Examples
    --------
    >>> choice_pairs("replace-one")[0]
    ((frozenset({0}), frozenset({1})), (frozenset({0}), frozenset({2})))
    """
    zero, one, two = _ELEMENTS
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
    """Return the name of a pair of data sets and the number to choose."""
    sets = [
        "{" + ", ".join("".join(map(str, sorted(record))) for record in records) + "}"
        for records in both
    ]
    return f"records {sets[0]} and {sets[1]}, {rank} to choose"


def _choice(records: Records, method: Any, claim: DPGuarantee, rank: int) -> PlannedChoice:  # noqa: ANN401 - any method
    """Plan a method on the coverage of `records`, sets of elements, under a uniform matroid of rank `rank`.

    For `claim`; a method that is unproven for the matroid is planned without a guarantee, as published.
    """
    table = np.zeros((len(records), len(_ELEMENTS)), dtype=np.bool_)
    for row, record in enumerate(records):
        table[row, sorted(record)] = True
    objective, matroid = Coverage(table), UniformMatroid(len(_ELEMENTS), rank)
    ask = getattr(method, "unproven", None)
    if callable(ask) and ask(matroid):
        plan = method.literal_plan(state_choice(objective, matroid, None), matroid)
    else:
        plan = method.plan(state_choice(objective, matroid, claim), matroid, claim)
    return PlannedChoice(objective, matroid, method, plan)
