"""The lower bound of a run: which of the bounds fits a table, and refining it while time is left."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.jit import clock
from discreet.kanonymity.bound import nearest_bound
from discreet.kanonymity.bounds.dual import MULTIPLIERS, DualBound
from discreet.kanonymity.bounds.shared import Shared
from discreet.kanonymity.candidate import SearchLimits, require_feasible
from discreet.kanonymity.problem import Numeric, Taxonomy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.kanonymity.problem import Problem


@final
@dataclass(frozen=True)
class LowerBoundTuning:
    """Measured limits by which the bounds of a table are chosen.

    Parameters
    ----------
    rows_sampled_for_duplicates
        Rows among which different ones are counted at first.
    untimed_nearest_seconds
        Seconds for the bound by near rows, by default, where there is no time limit.
    packing_seconds_per_cell
        Seconds for a cell that is made ready for the search for shared cells.
    max_columns_searched_fully, share_of_time_for_many_columns
        Columns beyond which k rows share few cells but those of all values, and part of a time limit for these.
        Thirty columns of 20,000 rows gained .2 to 2 % of the loss in the first tenth of a second, and nothing
        in a second more (2026-11).
    """

    rows_sampled_for_duplicates: int = 20_000
    untimed_nearest_seconds: float = 20.0
    packing_seconds_per_cell: float = 1e-7
    max_columns_searched_fully: int = 16
    share_of_time_for_many_columns: float = 0.1


LOWER = LowerBoundTuning()


@final
class LowerBound:
    """What no k-anonymous table loses less than, rounded down.

    A table of up to 6,000 different rows has multipliers by cutting planes
    (:class:`~discreet.kanonymity.bounds.dual.DualBound`); a larger one the cheapest cells of each row that k rows share
    (:class:`~discreet.kanonymity.bounds.shared.Shared`) and the nearest rows.

    Parameters
    ----------
    problem
        The problem.
    k
        Least class size.
    suppressed
        Whether rows may be suppressed, each at the cost of all weights.
    nearest
        Seconds for the bound by near rows, where there is no time limit.

    Examples
    --------
    >>> from discreet.kanonymity.problem import Numeric, Problem
    >>> problem = Problem.from_columns({"age": [20, 21, 40, 50, 60]}, [Numeric("age")])
    >>> bound = LowerBound(problem, 2)
    >>> bound.refine(SearchLimits())
    >>> round(bound.value, 6), round(problem.loss_of([0, 0, 1, 1, 1]), 6)
    (1.05, 1.55)
    """

    def __init__(
        self,
        problem: Problem,
        k: int,
        *,
        suppressed: bool = False,
        nearest: float = LOWER.untimed_nearest_seconds,
    ) -> None:
        require_feasible(problem.n, k)
        self.problem, self.k, self.value, self.nearest = problem, k, 0.0, nearest
        self.suppressed, self.aimed = suppressed, False

    @cached_property
    def stages(self) -> tuple[DualBound | Shared | _Nearest, ...]:
        """What raises the bound of this table, in order."""
        problem, k = self.problem, self.k
        if k == 1:
            return ()
        # The first rows tell of most large tables that they have too many different ones.
        if (
            len(np.unique(problem.codes[: LOWER.rows_sampled_for_duplicates], axis=0))
            <= MULTIPLIERS.max_points_of_program
        ):
            dual = DualBound(problem, k, suppressed=self.suppressed)
            if dual.points.n <= MULTIPLIERS.max_points_of_program:
                return (dual,)
        shared = Shared.of(problem, k)
        near = _Nearest(problem, k, shared, self.nearest)
        # A search for shared intervals may take all the time, and prove less than the nearest rows do in a second.
        numeric = any(isinstance(column.attribute, Numeric) for column in problem.columns)
        return (near, shared) if numeric else (shared, near)

    @property
    def is_branching(self) -> bool:
        """Whether the bound rises by branching over many boxes, which takes longer than others do."""
        return any(isinstance(stage, DualBound) and not stage.few_boxes for stage in self.stages)

    def refine(self, limits: SearchLimits, labels: NDArray[np.int32] | None = None) -> None:
        """Raise ``self.value`` until the time is over or no stage can raise it.

        Parameters
        ----------
        limits
            When to end. Without a time limit it ends by itself, and gives the same number each time.
        labels
            ``(n,)``: the best partition so far, which helps the search.
        """
        for stage in self.stages:
            if stage.done:
                continue
            stage_limits = limits
            if isinstance(stage, Shared):
                stage_limits = self._briefly(limits)
                if not self.aimed and stage_limits.left > 0 and labels is not None:
                    self._aim(stage, labels, timed=limits.left < math.inf)
            # Where there is no bound yet, the first rows are looked at in any case.
            if stage_limits.left <= 0 < self.value:
                continue
            try:
                stage.refine(stage_limits, labels)
            finally:
                self.value = max(self.value, stage.lower)

    def _briefly(self, limits: SearchLimits) -> SearchLimits:
        """Return the limits of the search for shared cells: a small part of the time if there are many columns.

        The deadline is now if packing the rows would take longer than that part; few columns leave `limits` as they
        are.
        """
        problem = self.problem
        if problem.m <= LOWER.max_columns_searched_fully:
            return limits
        seconds = LOWER.share_of_time_for_many_columns * min(limits.left, self.nearest)
        if LOWER.packing_seconds_per_cell * problem.n * problem.m > seconds:
            return replace(limits, deadline=clock())
        return limits if limits.left == math.inf else replace(limits, deadline=clock() + seconds)

    def _aim(self, stage: Shared, labels: NDArray[np.int32], *, timed: bool) -> None:
        """Set the cost ceilings of the search from the mean loss per row of `labels` ``(n,)``, its work from n m."""
        self.aimed = True
        problem = self.problem
        weights = sum(column.attribute.weight for column in problem.columns)
        if weights > 0 and stage.prepare():
            mean = problem.loss_of(labels) / problem.n / weights
            sets = any(column.is_set for column in problem.columns)
            stage.aim(min(1.0, mean), problem.n * problem.m, sets=sets, timed=timed)


@final
class _Nearest:
    """The bound by nearest rows, useless if the search of taxonomies was complete."""

    def __init__(self, problem: Problem, k: int, shared: Shared, seconds: float) -> None:
        self.problem, self.k, self.shared, self.seconds = problem, k, shared, seconds
        self.lower, self.done = 0.0, False

    def refine(self, limits: SearchLimits, _labels: NDArray[np.int32] | None = None) -> None:
        """Compute the bound by nearest rows once; `_labels` is not used. Half of the time left at most."""
        nodes = all(isinstance(column.attribute, Taxonomy) for column in self.problem.columns)
        if not (nodes and self.shared.done):
            seconds = self.seconds if limits.left == math.inf else limits.left / 2
            limits = replace(limits, deadline=clock() + seconds)
            self.lower = nearest_bound(self.problem, self.k, limits)
        self.done = True
