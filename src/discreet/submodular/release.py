"""Plan a private choice from public facts; release it: check names and shape, charge, and only then read the records.

What has no guarantee runs through :func:`reproduce`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from operator import index
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core.calls import explained
from discreet.core.errors import DiscreetError, InvalidProblemError
from discreet.core.options import callback, instance_of
from discreet.core.outcome import Provenance, PublicInput, Release, Unproven
from discreet.core.progress import Reporter
from discreet.core.randomness import as_bits, is_private
from discreet.core.release import run_release
from discreet.core.views import plan_view
from discreet.submodular.methods import METHODS, WITHOUT_GUARANTEE
from discreet.submodular.objectives.objective import Objective, ObjectiveSpec
from discreet.submodular.problem import ChoiceFacts, Selection, account_bars
from discreet.submodular.stating import (
    choose_method,
    facts_of,
    read_candidates,
    state_choice,
    typed,
)
from discreet.submodular.verify import verify_selection

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from discreet.core.budget import Budget
    from discreet.core.exact import Exact
    from discreet.core.guarantee import DPGuarantee
    from discreet.core.progress import Progress
    from discreet.core.randomness.bits import UniformSource
    from discreet.core.release import ReleaseOutputs
    from discreet.submodular.matroids.base import Matroid
    from discreet.submodular.method import DrawPlan, Method


@explained("plan(candidates, matroid, dc.PureDP(1, neighbors='add-remove-one'), objective=spec)")
def plan(
    candidates: int | Sequence[Any],
    matroid: Matroid,
    guarantee: DPGuarantee,
    *,
    objective: ObjectiveSpec,
    method: Method | str | None = None,
) -> Plan:
    """Plan a private choice from public inputs alone: the method, the law of each draw, and what it costs.

    Parameters
    ----------
    candidates
        The public ground set: names of the candidates, all different, or their number.
    matroid
        What may be chosen; public.
    guarantee
        What must hold: ``PureDP``, ``ApproxDP`` or ``ZeroConcentratedDP``, for ``add-remove-one`` or ``replace-one``.
    objective
        The public facts of the objective, such as ``FacilityLocation.spec()``.
    method
        A method, such as ``Subsampled()``, or its name, such as ``"algorithm-3"``. ``None`` chooses.

    Returns
    -------
    Plan
        Frozen and picklable; it has seen no record.

    Raises
    ------
    InvalidProblemError
        When the arguments make no sense together, or the method has no such guarantee.

    Examples
    --------
    >>> from discreet import PureDP
    >>> from discreet.submodular import FacilityLocation, UniformMatroid
    >>> planned = plan(
    ...     ("north", "east", "south"),
    ...     UniformMatroid(3, 2),
    ...     PureDP(1, "add-remove-one"),
    ...     objective=FacilityLocation.spec(),
    ... )
    >>> planned
    Plan(2 of 3 candidates, subsampled, 1-differentially private (neighbors: one record added or removed))
    >>> team = planned.release([[1.0, 0.0, 0.2]] * 300 + [[0.0, 0.1, 1.0]] * 300)
    >>> sorted(team.result.names)
    ['north', 'south']
    """
    names = read_candidates(candidates)
    size = len(names) if names is not None else index(candidates)  # type: ignore[arg-type] # it read a number
    spec: Any = objective
    if not isinstance(spec, ObjectiveSpec):
        expected = "the public facts of an objective, such as FacilityLocation.spec()"
        raise InvalidProblemError("objective", expected, typed(spec))
    statement = facts_of(spec, size, matroid, guarantee)
    chosen: Method | None = METHODS.resolve(method, optional=True)
    why = "The method was given."
    if chosen is None:
        chosen, why = choose_method(statement, matroid, guarantee)
    draws = chosen.plan(statement, matroid, guarantee)
    return Plan(names, matroid, guarantee, spec, chosen, why, draws, statement, method is None)


@final
@dataclass(frozen=True)
class Plan:
    """A private choice without its records; :func:`plan` makes it.

    Parameters
    ----------
    candidates
        Names of the candidates; ``None`` where they are numbers from 0.
    matroid, guarantee, objective
        As in :func:`plan`.
    method
        The method.
    why
        Why this method, in a sentence; from public facts.
    draws
        The law and the number of the draws, and what the accountant proves for them.
    statement
        The public facts that the proof uses.
    chosen_for_you
        Whether the library chose the method.
    """

    candidates: tuple[Any, ...] | None
    matroid: Matroid
    guarantee: DPGuarantee
    objective: ObjectiveSpec
    method: Method
    why: str
    draws: DrawPlan
    statement: ChoiceFacts
    chosen_for_you: bool = True

    @property
    def assumed_public(self) -> tuple[PublicInput, ...]:
        """Public inputs: the ground set, its names, and the matroid."""
        ground = self.objective.assumed_public(self.statement.n_elements)
        matroid = PublicInput("matroid", self.matroid.digest, repr(self.matroid))
        if self.candidates is None:
            return (*ground, matroid)
        names = json.dumps([str(name) for name in self.candidates]).encode()
        digest = hashlib.sha256(b"discreet.submodular.candidates/1 " + names).hexdigest()
        return (
            *ground,
            PublicInput("candidates", digest, f"{len(self.candidates)} names"),
            matroid,
        )

    def check(self, source: object) -> None:
        """Check the names and the shape of a source; no value is read, and nothing is charged.

        Parameters
        ----------
        source
            The records, as :meth:`release` takes them.

        Raises
        ------
        InvalidProblemError
            When the source has other public sizes, or lacks a column or an argument; and for a table whose columns
            have the names of candidates in another order.
        """
        self.objective.check(source, self.statement.n_elements)
        for table in source.values() if isinstance(source, Mapping) else (source,):
            _refuse_other_order(table, self.candidates)

    def release(
        self,
        source: object,
        *,
        budget: Budget | None = None,
        dataset: str | None = None,
        budget_delta: Exact | None = None,
        bits: UniformSource | None = None,
        on_progress: Callable[[Progress], None] | None = None,
        watch: Callable[[Objective], Objective] | None = None,
        outputs: ReleaseOutputs | None = None,
    ) -> Release[Selection]:
        """Check the source, charge the budget, and only then read the records and choose; each call charges anew.

        Parameters
        ----------
        source
            The records: an objective, its parts (see its ``spec``), or a frame of edges whose columns are text.
        budget, dataset
            A ledger, and the dataset to charge in it.
        budget_delta
            Delta at which rho is charged to an (epsilon, delta) budget; see :func:`~discreet.core.budget.charge_of`.
        bits
            Source of chance; the operating system's by default. With another one the release says that it was seeded.
        on_progress
            Called after each draw with its number and the number of draws, both public, and without a time.
        watch
            **Private**, for the curator: called with the objective once its records are read, such as to read its
            `evaluations` afterwards; the objective that it returns is used.
        outputs
            Files that receive the choice, as for :meth:`discreet.hierarchy.Plan.release`.

        Returns
        -------
        Release
            See :func:`release`.

        Raises
        ------
        InvalidProblemError
            Before the charge: when :meth:`check` refuses the source, or one of `budget` and `dataset` is missing. After
            it, and the charge stays: when values make no sense.
        BudgetError
            When the budget does not cover the guarantee.

        Examples
        --------
        >>> from discreet import PureDP
        >>> from discreet.core.budget import MemoryBudget
        >>> from discreet.submodular import Coverage, UniformMatroid
        >>> planned = plan(2, UniformMatroid(2, 1), PureDP(1, "add-remove-one"), objective=Coverage.spec())
        >>> ledger = MemoryBudget({"trips": PureDP(2, "add-remove-one")})
        >>> for _ in range(2):
        ...     made = planned.release([[True, False]] * 90, budget=ledger, dataset="trips")
        >>> ledger.account("trips").left
        (Fraction(0, 1),)
        """
        callback(on_progress)
        callback(watch, "watch")
        as_bits(bits)

        def prepare() -> None:
            self.check(source)
            _load_kernels(self.objective, self.statement.n_elements)

        def draw() -> Release[Selection]:
            objective = self.objective.open(source, self.statement.n_elements, self.candidates)
            selection = _choose(
                objective if watch is None else watch(objective),
                self.matroid,
                self.method,
                self.draws,
                statement=self.statement,
                bits=bits,
                on_progress=on_progress,
            )
            selection = replace(selection, matroid=self.matroid, candidates=self.candidates)
            provenance = _provenance(
                self.objective,
                self.method,
                self.draws,
                public=self.assumed_public,
                bits=bits,
                trace=(self.why,) if self.chosen_for_you else (),
            )
            certificate = verify_selection(selection, self.matroid, self.guarantee)
            return Release(selection, self.guarantee, certificate, provenance)

        return run_release(
            self,
            self.method.name,
            budget=budget,
            dataset=dataset,
            budget_delta=budget_delta,
            prepare=prepare,
            draw=draw,
            outputs=outputs,
        )

    def with_guarantee(self, guarantee: DPGuarantee) -> Plan:
        """Plan the same choice for another guarantee, by the stated method or one chosen anew; :func:`plan` may refuse.

        Examples
        --------
        >>> from discreet import PureDP
        >>> from discreet.submodular import Coverage, UniformMatroid
        >>> planned = plan(2, UniformMatroid(2, 1), PureDP(1, "add-remove-one"), objective=Coverage.spec())
        >>> planned.with_guarantee(PureDP(2, "add-remove-one")).guarantee.epsilon
        Fraction(2, 1)
        """
        return plan(
            self.statement.n_elements if self.candidates is None else self.candidates,
            self.matroid,
            guarantee,
            objective=self.objective,
            method=None if self.chosen_for_you else self.method,
        )

    def diagnose(self, source: object, outcome: Release[Selection]) -> ChoiceDiagnostics:
        """Compute the true value of a choice, for the curator. **Private**: no guarantee covers it.

        Parameters
        ----------
        source
            The records, as :meth:`release` took them.
        outcome
            The release.
        """
        self.check(source)
        objective = self.objective.open(source, self.statement.n_elements, self.candidates)
        return diagnose(objective, outcome.result)

    def __str__(self) -> str:
        lines = [
            f"method          {self.method.name}: {self.why}",
            f"guarantee       {self.guarantee}",
            f"draws           {self.draws.draws}",
            *(
                f"accountant      {line.rule}: {_short(line.guarantee)}"
                for line in self.draws.accounting
            ),
            *(
                f"assumed public  {public.name}: {public.description}"
                for public in self.assumed_public
            ),
            "each release is charged by itself",
        ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        size = f"{self.statement.rank} of {self.statement.n_elements} candidates"
        return f"Plan({size}, {self.method.name}, {_short(self.guarantee)})"

    def _repr_html_(self) -> str:
        return plan_view(self.guarantee, str(self), account_bars(self.draws.accounting))


def _short(guarantee: DPGuarantee) -> str:
    """Return the claim without its explanation."""
    return str(guarantee).partition("):")[0] + ")"


@explained("release(objective, matroid, dc.PureDP(1, neighbors='add-remove-one'))")
def release(
    objective: Objective,
    matroid: Matroid,
    guarantee: DPGuarantee,
    *,
    method: Method | str | None = None,
    bits: UniformSource | None = None,
    budget: Budget | None = None,
    dataset: str | None = None,
    budget_delta: Exact | None = None,
    on_progress: Callable[[Progress], None] | None = None,
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
        A method, such as ``Subsampled()``, or its name; ``None`` chooses from public facts.
    bits, budget, dataset, budget_delta, on_progress
        As for :meth:`Plan.release`.

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
    `guarantee`, by the first of the accountant's lines. Draws are made with integers. The time, at most that of all
    gains for each draw of a greedy method, depends on the records.

    References
    ----------
    [RY20]_

    Examples
    --------
    >>> from discreet import PureDP
    >>> from discreet.submodular import Coverage, UniformMatroid
    >>> reach = Coverage([[True, False, False]] * 500 + [[False, True, False]] * 400)
    >>> made = release(reach, UniformMatroid(3, 2), PureDP(1, "add-remove-one"))
    >>> sorted(made.result.elements), made.certificate.passed, made.provenance.method
    ([0, 1], True, 'subsampled')
    """
    instance_of(objective, Objective, "objective", "an Objective")
    planned = plan(
        objective.n_elements,
        matroid,
        guarantee,
        objective=ObjectiveSpec.of(objective),
        method=method,
    )
    return planned.release(
        objective,
        budget=budget,
        dataset=dataset,
        budget_delta=budget_delta,
        bits=bits,
        on_progress=on_progress,
    )


def reproduce(
    objective: Objective,
    matroid: Matroid,
    method: Any,  # noqa: ANN401 - a name, or a method with a reason, of which there are several kinds
    *,
    bits: UniformSource | None = None,
) -> Unproven[Selection]:
    """Run a method that has no valid guarantee: as published, or without any noise.

    Parameters
    ----------
    objective, matroid
        As in :func:`release`.
    method
        A method that says what is wrong with it, such as ``Algorithm2()``, or a name of
        :data:`discreet.submodular.methods.WITHOUT_GUARANTEE`.
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
    >>> from discreet.submodular.methods.baselines import Greedy
    >>> reach = Coverage([[True, False]] * 3 + [[False, True]] * 5)
    >>> made = reproduce(reach, UniformMatroid(2, 1), Greedy())
    >>> made.result.elements, made.guarantee
    ((1,), None)
    """
    chosen: Any = WITHOUT_GUARANTEE.resolve(method, accept_no_guarantee=True)
    ask = getattr(chosen, "unproven", None)
    reason = None if ask is None else ask(matroid)
    if reason is None:
        raise InvalidProblemError(
            "method", "one without a guarantee; release runs the others", METHODS.name_of(chosen)
        )
    statement = state_choice(objective, matroid, None)
    draws = chosen.literal_plan(statement, matroid)
    selection = _choose(objective, matroid, chosen, draws, statement=statement, bits=bits)
    spec = ObjectiveSpec.of(objective)
    public = (
        *spec.assumed_public(objective.n_elements),
        PublicInput("matroid", matroid.digest, repr(matroid)),
    )
    provenance = _provenance(spec, chosen, draws, public=public, bits=bits)
    return Unproven(replace(selection, matroid=matroid), reason, provenance)


@final
@dataclass(frozen=True)
class ChoiceDiagnostics:
    """True values, for the curator; they must not be published.

    Parameters
    ----------
    value
        F of the chosen set, in units of 1.
    elements
        How many elements were chosen.
    clipped
        Number of values beyond their public range, which count as its nearer end, and of NaN, which count as 0.
    """

    value: Fraction
    elements: int
    clipped: int = 0


def diagnose(objective: Objective, selection: Selection) -> ChoiceDiagnostics:
    """Compute the true value of a choice, in units of 1 and exactly. **Private**: no guarantee covers it.

    Examples
    --------
    >>> from discreet import PureDP
    >>> from discreet.submodular import Coverage, UniformMatroid
    >>> reach = Coverage([[True, False]] * 3 + [[False, True]] * 5)
    >>> made = release(reach, UniformMatroid(2, 2), PureDP(1, "add-remove-one"))
    >>> diagnose(reach, made.result).value
    Fraction(8, 1)
    """
    instance_of(objective, Objective, "objective", "an Objective")
    instance_of(selection, Selection, "selection", "a Selection")
    value = objective.value(selection.chosen)
    exact = Fraction(value, 1 << objective.scale_bits)
    return ChoiceDiagnostics(exact, len(selection.chosen), objective.clipped)


def _load_kernels(spec: ObjectiveSpec, n_elements: int) -> None:
    """Evaluate an objective of one made-up record: compiled code is loaded before a budget is charged."""
    sizes = {"record": 1, "element": n_elements, "kind": spec.n_kinds}
    with suppress(DiscreetError, LookupError, TypeError, ValueError):
        source = {
            one.name: np.zeros(
                [sizes[axis] for axis in one.axes], float if "f" in one.types else bool
            )
            for one in spec.private
        }
        objective = replace(spec, edges=None).open(source, n_elements, None)
        objective.start().add(0)
        if spec.n_kinds == 1:
            objective.multilinear_marginals(np.full(n_elements, 0.5))


def _choose(
    objective: Objective,
    matroid: Matroid,
    method: Method,
    draws: DrawPlan,
    *,
    statement: ChoiceFacts,
    bits: UniformSource | None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Selection:
    report = Reporter(on_progress, clock=None)

    def on_draw(number: int) -> None:
        report("draws", done=number, total=draws.draws)

    chosen = method.choose(objective, matroid, draws, as_bits(bits), on_draw)
    return Selection(
        chosen, statement, draws.coefficient, draws.per_draw, draws.mechanism, draws.accounting
    )


def _provenance(
    spec: ObjectiveSpec,
    method: Method,
    draws: DrawPlan,
    *,
    public: tuple[PublicInput, ...],
    bits: UniformSource | None,
    trace: tuple[str, ...] = (),
) -> Provenance:
    parameters = {
        **draws.parameters,
        "coefficient": None if draws.coefficient is None else str(draws.coefficient),
        "draws": draws.draws,
        "scale_bits": spec.scale_bits,
        "sensitivity": str(spec.sensitivity),
        "decomposable": spec.decomposable,
    }
    return Provenance(method.name, parameters, public, trace, seeded=not is_private(bits))


def _refuse_other_order(table: Any, candidates: tuple[Any, ...] | None) -> None:  # noqa: ANN401 - anything
    """Refuse a dataframe that names the candidates and has them elsewhere: a table is read by position."""
    # What becomes an array and names its columns; those of PyArrow have their names apart.
    if candidates is None or not hasattr(table, "__array__"):
        return
    named = getattr(table, "column_names", None) or getattr(table, "columns", None)
    if named is None:
        return
    columns = [str(name) for name in named]
    wanted = [str(name) for name in candidates]
    if columns != wanted and set(columns) & set(wanted):
        expected = "a column for each candidate, in their order, as with table[list(candidates)]"
        raise InvalidProblemError("source", expected, "candidates in another order")
