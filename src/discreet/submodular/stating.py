"""Read the public inputs of a plan, the candidates and the facts, and choose the method."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.exact import to_fraction
from discreet.core.guarantee import ApproxDP, PureDP, ZeroConcentratedDP
from discreet.core.options import instance_of
from discreet.core.printed import estimate
from discreet.submodular.matroids.base import Matroid
from discreet.submodular.methods.algorithm_3 import Algorithm3
from discreet.submodular.methods.subsampled import Subsampled
from discreet.submodular.objectives.objective import Objective, ObjectiveSpec
from discreet.submodular.problem import ChoiceFacts

if TYPE_CHECKING:
    from discreet.core.guarantee import DPGuarantee
    from discreet.submodular.method import Method


def read_candidates(candidates: object) -> tuple[Any, ...] | None:
    """Return the names of candidates as a tuple, or ``None`` if only their number is given.

    Raises
    ------
    InvalidProblemError
        For a number below 1, a text or a mapping, no names, names that are not texts or integers, or a name twice.
    """
    expected = "names of the candidates in a list or tuple, or their number"
    if isinstance(candidates, int | np.integer) and not isinstance(candidates, bool):
        if candidates < 1:
            raise InvalidProblemError("candidates", "at least 1", candidates)
        return None
    if isinstance(candidates, str | bytes):
        raise InvalidProblemError("candidates", expected, f"the text {candidates!r}")
    if not isinstance(candidates, Iterable) or isinstance(candidates, Mapping):
        raise InvalidProblemError("candidates", expected, type(candidates).__name__)
    names = tuple(name.item() if isinstance(name, np.generic) else name for name in candidates)
    odd = [name for name in names if not isinstance(name, str | int) or isinstance(name, bool)]
    if odd or not names:
        got = f"a {type(odd[0]).__name__} among them" if odd else "no candidate"
        raise InvalidProblemError("candidates", expected, got)
    seen: set[str] = set()
    for name in names:
        if str(name) in seen:
            raise InvalidProblemError("candidates", "different names", f"{name!r} twice")
        seen.add(str(name))
    return names


def state_choice(
    objective: Objective, matroid: Matroid, guarantee: DPGuarantee | None
) -> ChoiceFacts:
    """State the public facts of a choice, and refuse inputs that do not fit together.

    `guarantee` ``None``, for a method that has none, gives the relation ``"add-remove-one"``. InvalidProblemError for
    another type than an Objective, and as :func:`facts_of`.
    """
    instance_of(objective, Objective, "objective", "an Objective")
    return facts_of(ObjectiveSpec.of(objective), objective.n_elements, matroid, guarantee)


def facts_of(
    spec: ObjectiveSpec, n_elements: int, matroid: Matroid, guarantee: DPGuarantee | None
) -> ChoiceFacts:
    """State the public facts of a choice whose records come later.

    `spec` holds the public facts of the objective, `n_elements` its ground set. `guarantee` ``None`` gives the
    relation ``"add-remove-one"``. A function counts as decomposable here only if it is monotone too.

    Raises
    ------
    InvalidProblemError
        For another type of matroid or guarantee, other numbers of elements, or a rank of 0.
    """
    allowed: Any = matroid
    if not isinstance(allowed, Matroid):
        raise InvalidProblemError("matroid", "a Matroid", typed(allowed))
    claim: Any = guarantee
    if claim is not None and not isinstance(claim, PureDP | ApproxDP | ZeroConcentratedDP):
        raise InvalidProblemError(
            "guarantee", "PureDP, ApproxDP or ZeroConcentratedDP", typed(claim)
        )
    if matroid.n_elements != n_elements:
        raise InvalidProblemError(
            "matroid", f"{n_elements} elements", f"{matroid.n_elements} elements"
        )
    if matroid.rank < 1:
        raise InvalidProblemError("matroid", "a rank of at least 1", matroid.rank)
    neighbors = "add-remove-one" if guarantee is None else guarantee.neighbors
    return ChoiceFacts(
        n_elements,
        spec.n_kinds,
        matroid.rank,
        # Gains of a sum of functions that are not monotone may rise and fall: only the wider bound holds for them.
        spec.decomposable and spec.monotone,
        spec.sensitivity,
        neighbors,
    )


def typed(value: object) -> str:
    """Return the name of a value's type, or of the class that stands in the place of an instance."""
    return f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__


def choose_method(
    statement: ChoiceFacts, matroid: Matroid, guarantee: DPGuarantee
) -> tuple[Method, str]:
    """Choose between greedy on all records and on a secret subsample, from public facts alone.

    The share of records that is kept, times the coefficient of a draw, is the signal of one record. The number of
    records would say more; it is private.

    Returns the method and a sentence that says why. A function that is no sum over records gets greedy. Plans both
    methods; InvalidProblemError as their ``plan`` raises it.
    """
    greedy = Algorithm3()
    if not statement.decomposable:
        return greedy, "The function is not a sum over records: greedy draws on all of them."
    direct = greedy.plan(statement, matroid, guarantee).coefficient or Fraction(0)
    sampled = Subsampled()
    draws = sampled.plan(statement, matroid, guarantee)
    epsilon = to_fraction(draws.parameters["epsilon_of_subsample"], "epsilon_of_subsample")
    signal = -math.expm1(-float(epsilon)) * float(draws.coefficient or 0)
    facts = f"{estimate(signal, 3)} a record on a secret subsample, {estimate(direct, 3)} on all records"
    if signal > float(direct):
        return sampled, f"Signal of a draw: {facts}; the subsample's does not shrink with the rank."
    return greedy, f"Signal of a draw: {facts}."
