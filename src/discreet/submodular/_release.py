"""Release: a plan from public facts, the charge, then the records; and what has no guarantee, by another door."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import ApproxDP, PureDP, ZeroConcentratedDP
from discreet.core.outcome import Provenance, PublicInput, Release, Unproven
from discreet.core.randomness import as_bits, is_private
from discreet.submodular.algorithm_3 import Algorithm3
from discreet.submodular.matroids.base import Matroid
from discreet.submodular.objective import Objective
from discreet.submodular.problem import Selection, Statement
from discreet.submodular.subsampled import Subsampled
from discreet.submodular.verify import verify_selection

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.core.budget import Budget
    from discreet.core.guarantee import DPGuarantee
    from discreet.core.randomness.bits import UniformSource
    from discreet.submodular._method import Method, Plan

__all__ = ["Diagnostics", "choose_method", "diagnose", "release", "reproduce", "state_choice"]


def release(
    objective: Objective,
    matroid: Matroid,
    guarantee: DPGuarantee,
    *,
    method: Method | None = None,
    bits: UniformSource | None = None,
    budget: Budget | None = None,
    dataset: str | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Release[Selection]:
    r"""Choose a base of a matroid that is worth much to private records, differentially privately.

    .. math:: \max_{S \in \mathcal I} F(S), \qquad F(S) = \sum_x F_x(S) \text{ or any function of the records.}

    Parameters
    ----------
    objective
        What a set, or k disjoint ones, is worth. Its ground set is public; its records are private.
    matroid
        What may be chosen; public.
    guarantee
        What must hold: ``PureDP``, ``ApproxDP`` or ``ZeroConcentratedDP``, for ``add-remove-one`` or ``replace-one``.
    method
        One method, such as ``Subsampled()`` or ``Algorithm3()``. ``None`` chooses from public facts, never from the
        number of records, and says why in the provenance.
    bits
        Source of chance; the operating system's by default. With another one the release says that it was seeded.
    budget, dataset
        A ledger, and the dataset to charge in it; charged before the records are read.
    on_progress
        Called after each draw with its number and the number of draws, both public. When it is called depends on the
        records.

    Returns
    -------
    Release
        Its result is a :class:`~discreet.submodular.problem.Selection`: the chosen pairs and the accountant's lines.
        Values and numbers of evaluations are not in it; see :func:`diagnose`.

    Raises
    ------
    InvalidProblemError
        When the arguments make no sense together, or the method has no such guarantee.
    BudgetError
        When the budget does not cover the guarantee.

    Guarantee
    ---------
    `guarantee`, by the first of the accountant's lines. Every draw is made with integers. How long the call takes
    depends on the records.

    References
    ----------
    [RY20]_

    Examples
    --------
    >>> from discreet.submodular import Coverage, UniformMatroid
    >>> reach = Coverage([[True, False, False]] * 500 + [[False, True, False]] * 400)
    >>> made = release(reach, UniformMatroid(3, 2), PureDP(1, "add-remove-one"))
    >>> sorted(made.result.elements), made.certificate.passed, made.provenance.method
    ([0, 1], True, 'subsampled')
    """
    statement = state_choice(objective, matroid, guarantee)
    trace: tuple[str, ...] = ()
    if method is None:
        method, why = choose_method(statement, matroid, guarantee)
        trace = (why,)
    plan = method.plan(statement, matroid, guarantee)
    _charge(budget, dataset, guarantee)
    selection = _choose(
        objective, matroid, method, plan, statement=statement, bits=bits, on_progress=on_progress
    )
    certificate = verify_selection(selection, matroid, guarantee)
    certificate.raise_for_failure()
    provenance = _provenance(objective, matroid, method, plan, bits=bits, trace=trace)
    return Release(selection, guarantee, certificate, provenance)


def reproduce(
    objective: Objective,
    matroid: Matroid,
    method: Any,  # noqa: ANN401 - a method with a reason, of which there are several kinds
    *,
    bits: UniformSource | None = None,
) -> Unproven[Selection]:
    """Run a method that has no valid guarantee: as published, or without any noise.

    Parameters
    ----------
    objective, matroid
        As in :func:`release`.
    method
        A method that says what is wrong with it, such as ``Algorithm2()`` or ``NonPrivate()``.
    bits
        Source of chance.

    Returns
    -------
    Unproven
        The chosen set, and why it must not be published as private.

    Raises
    ------
    InvalidProblemError
        For a method that has a guarantee; that is :func:`release`'s.

    Examples
    --------
    >>> from discreet.submodular import Coverage, UniformMatroid
    >>> from discreet.submodular.reference import NonPrivate
    >>> reach = Coverage([[True, False]] * 3 + [[False, True]] * 5)
    >>> made = reproduce(reach, UniformMatroid(2, 1), NonPrivate())
    >>> made.result.elements, made.guarantee
    ((1,), None)
    """
    ask = getattr(method, "unproven", None)
    reason = ask(matroid) if callable(ask) else None
    if reason is None:
        raise InvalidProblemError(
            "method", "one without a guarantee; release runs the others", _name(method)
        )
    statement = state_choice(objective, matroid, None)
    plan = method.literal_plan(statement, matroid)
    selection = _choose(objective, matroid, method, plan, statement=statement, bits=bits)
    return Unproven(selection, reason, _provenance(objective, matroid, method, plan, bits=bits))


@final
@dataclass(frozen=True)
class Diagnostics:
    """What the curator may look at and must not publish: true values.

    Parameters
    ----------
    value
        F of the chosen set, in units of 1.
    elements
        How many elements were chosen.
    """

    value: Fraction
    elements: int


def diagnose(objective: Objective, selection: Selection) -> Diagnostics:
    """Compute the true value of a choice. **Private**: no guarantee covers it.

    Examples
    --------
    >>> from discreet.submodular import Coverage, UniformMatroid
    >>> reach = Coverage([[True, False]] * 3 + [[False, True]] * 5)
    >>> made = release(reach, UniformMatroid(2, 2), PureDP(1, "add-remove-one"))
    >>> diagnose(reach, made.result).value
    Fraction(8, 1)
    """
    value = objective.value(selection.chosen)
    return Diagnostics(Fraction(value, 1 << objective.scale_bits), len(selection.chosen))


def state_choice(
    objective: Objective, matroid: Matroid, guarantee: DPGuarantee | None
) -> Statement:
    """State what is public, and refuse what does not fit together."""
    stated: Any = objective
    if not isinstance(stated, Objective):
        raise InvalidProblemError("objective", "an Objective", type(stated).__name__)
    allowed: Any = matroid
    if not isinstance(allowed, Matroid):
        raise InvalidProblemError("matroid", "a Matroid", type(allowed).__name__)
    claim: Any = guarantee
    if claim is not None and not isinstance(claim, PureDP | ApproxDP | ZeroConcentratedDP):
        raise InvalidProblemError(
            "guarantee", "PureDP, ApproxDP or ZeroConcentratedDP", type(claim).__name__
        )
    if matroid.n_elements != objective.n_elements:
        raise InvalidProblemError(
            "matroid", f"{objective.n_elements} elements", f"{matroid.n_elements} elements"
        )
    if matroid.rank < 1:
        raise InvalidProblemError("matroid", "a rank of at least 1", matroid.rank)
    neighbors = "add-remove-one" if guarantee is None else guarantee.neighbors
    return Statement(
        objective.n_elements,
        objective.n_kinds,
        matroid.rank,
        # Gains of a sum of functions that are not monotone may rise and fall: only the wider bound holds for them.
        objective.decomposable and objective.monotone,
        objective.sensitivity,
        neighbors,
    )


def choose_method(
    statement: Statement, matroid: Matroid, guarantee: DPGuarantee
) -> tuple[Method, str]:
    """Choose between greedy on all records and on a secret subsample, from public facts alone.

    The share of records that is kept, times the coefficient of a draw, is the signal of one record. The number of
    records would say more, and is not asked.
    """
    greedy = Algorithm3()
    if not statement.decomposable:
        return greedy, "The function is not a sum over records: greedy draws on all of them."
    direct = greedy.plan(statement, matroid, guarantee).coefficient or Fraction(0)
    sampled = Subsampled()
    plan = sampled.plan(statement, matroid, guarantee)
    share = -math.expm1(-float(Fraction(plan.parameters["epsilon_of_subsample"])))
    signal = share * float(plan.coefficient or 0)
    facts = f"{signal:.3g} a record on a secret subsample, {float(direct):.3g} on all records"
    if signal > float(direct):
        return sampled, f"Signal of a draw: {facts}; the subsample's does not shrink with the rank."
    return greedy, f"Signal of a draw: {facts}."


def _charge(budget: Budget | None, dataset: str | None, guarantee: DPGuarantee) -> None:
    if budget is None:
        if dataset is not None:
            raise InvalidProblemError("dataset", "a budget with it", repr(dataset))
        return
    if dataset is None:
        raise InvalidProblemError("dataset", "the name of the dataset to charge", "none")
    budget.reserve(dataset, guarantee)


def _choose(
    objective: Objective,
    matroid: Matroid,
    method: Method,
    plan: Plan,
    *,
    statement: Statement,
    bits: UniformSource | None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Selection:
    def on_draw(number: int) -> None:
        if on_progress is not None:
            on_progress(number, plan.draws)

    chosen = method.choose(objective, matroid, plan, as_bits(bits), on_draw)
    return Selection(
        chosen, statement, plan.coefficient, plan.per_draw, plan.mechanism, plan.accounting
    )


def _provenance(
    objective: Objective,
    matroid: Matroid,
    method: Method,
    plan: Plan,
    *,
    bits: UniformSource | None,
    trace: tuple[str, ...] = (),
) -> Provenance:
    parameters = {
        **plan.parameters,
        "coefficient": None if plan.coefficient is None else str(plan.coefficient),
        "draws": plan.draws,
        "scale_bits": objective.scale_bits,
        "sensitivity": str(objective.sensitivity),
        "decomposable": objective.decomposable,
    }
    public = (
        *objective.assumed_public(),
        PublicInput("matroid", matroid.digest, repr(matroid)),
    )
    return Provenance(method.name, parameters, public, trace, seeded=not is_private(bits))


def _name(method: object) -> str:
    return str(getattr(method, "name", type(method).__name__))
