"""The optimum by set partitioning: column generation, listing of classes by reduced cost, cuts, branch and bound.

The paper's mixed-integer program leaves a relaxation that is far from its optimum, and no solver gets far with it.
Covering rows by whole classes leaves a few percent. Every bound here is a formula, evaluated for multipliers and
rounded down; what a solver says is not believed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.kanonymity.candidate import (
    CandidateClasses,
    SearchInterrupted,
    SearchLimits,
    require_feasible,
)
from discreet.kanonymity.exact.columns import Pool, relax
from discreet.kanonymity.exact.cuts import NO_CUTS
from discreet.kanonymity.exact.pricing import Pricer
from discreet.kanonymity.exact.tree import RELATIVE_TOLERANCE, Listed, settle
from discreet.kanonymity.methods.greedy_search import GreedySearch
from discreet.kanonymity.methods.local_search import LocalSearch, split_large

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.kanonymity.exact.columns import Relaxed
    from discreet.kanonymity.exact.pricing import Pricing
    from discreet.kanonymity.problem import Problem


@final
@dataclass(frozen=True)
class PartitioningTuning:
    """Measured limits of the search for an optimum.

    Parameters
    ----------
    max_classes_listed
        Classes of one linear program, at most; if more are within a distance, the distance is halved.
    first_width_share
        Distance from the relaxation, as a part of it, in which a partition is looked for first.
    width_factor
        By how much that distance grows when nothing was found.
    """

    max_classes_listed: int = 200_000
    first_width_share: float = 0.004
    width_factor: float = 1.25


PARTITIONING = PartitioningTuning()


@final
@dataclass(frozen=True)
class SetPartitioning:
    r"""Find the optimum and prove it, or give the best partition and bound that the time allows.

    Column generation gives multipliers and a bound L. A partition that loses less than :math:`L + \delta` has no class
    of reduced cost above :math:`\delta`. These are listed; branch and bound with cuts finds the best partition of them
    or proves that there is none. Then :math:`L + \delta` is a bound itself, and :math:`\delta` grows.

    Parameters
    ----------
    polish
        Rounds of local search for each class of the start.
    max_rows
        Rows of the largest table: the costs of all pairs are in memory, 200 megabytes for 5,000 rows.

    Complexity
    ----------
    Exponential at worst. Some seconds for 100 rows of eight columns and k = 3.

    References
    ----------
    [BJN98]_ for branch and price; [JPS08]_ for the cuts.

    Examples
    --------
    >>> from discreet.kanonymity.problem import Numeric, Problem
    >>> problem = Problem.from_columns({"age": [50, 20, 40, 21, 60]}, [Numeric("age")])
    >>> found = SetPartitioning().solve(problem, 2, SearchLimits())
    >>> round(found.lower, 6), round(problem.loss_of(found.labels), 6)
    (1.55, 1.55)
    """

    polish: int = 60
    max_rows: int = 5_000

    def solve(self, problem: Problem, k: int, limits: SearchLimits) -> CandidateClasses:
        """Search until the loss is proved to be the least, or within the gap, or the time is over.

        Each round prices classes, solves linear programs, and branches; exponential in the worst case. Also
        InfeasibleError for fewer than k rows.

        Raises
        ------
        InvalidProblemError
            For more than `max_rows` rows.
        SearchInterrupted
            On Ctrl-C, with the best partition and bound by then.
        """
        require_feasible(problem.n, k)
        if problem.n > self.max_rows:
            raise InvalidProblemError("problem", f"at most {self.max_rows} rows", "more")
        search = _Search(self, problem, k, limits)
        try:
            return search.run()
        except KeyboardInterrupt:
            raise SearchInterrupted(search.candidate()) from None


@final
class _Search:
    """One problem's best partition and bound so far."""

    def __init__(
        self, method: SetPartitioning, problem: Problem, k: int, limits: SearchLimits
    ) -> None:
        self.method, self.problem, self.k, self.limits = method, problem, k, limits
        self.lower = 0.0
        self.cuts = NO_CUTS
        start = limits.start
        if start is None or (start < 0).any():
            start = GreedySearch().solve(problem, k, limits).labels
        self.labels = split_large(problem, start, k)
        self.loss = problem.loss_of(self.labels)
        self.pricer = Pricer(problem, k)

    @property
    def done(self) -> bool:
        """Whether bound and loss are close enough, or the time is over."""
        near = self.loss - self.lower <= max(self.limits.gap, RELATIVE_TOLERANCE) * self.loss
        return near or self.limits.left <= 0

    def run(self) -> CandidateClasses:
        """Relax, then look for partitions at a growing distance.

        With k of 1 each row is a class; fewer than 2 k rows are one class, of which the loss is the bound. Ends when
        the time is over, no partition can lose less, or not all classes could be listed.
        """
        if self.k > 1 and self.problem.n >= 2 * self.k:
            self._polish()
            relaxed = self._relax()
            self.lower = max(self.lower, relaxed.lower)
            width = PARTITIONING.first_width_share * relaxed.lower
            while width > 0 and not self.done:
                width = self._look(relaxed, width)
        else:
            # Fewer than 2k rows are one class, and alone rows lose nothing.
            rows = np.arange(self.problem.n, dtype=np.int32)
            self.labels = rows if self.k == 1 else np.zeros_like(rows)
            self.loss = self.problem.loss_of(self.labels)
            self.lower = self.loss * (1 - 1e-12)
        return self.candidate()

    def candidate(self) -> CandidateClasses:
        """Return the best partition and bound so far."""
        return CandidateClasses("optimal", self.labels, max(0.0, min(self.lower, self.loss)))

    def _relax(self) -> Relaxed:
        """Solve the relaxed partition by column generation, from the classes of the incumbent."""
        k, boxes = self.k, self.problem.boxes(self.labels)
        costs = boxes.costs.sum(axis=1)
        pool = Pool(2 * k - 1)
        pool.add(self._classes(self.labels), boxes.sizes * costs)
        return relax(self.pricer, pool, costs[self.labels], self.loss, self.limits)

    def _look(self, relaxed: Relaxed, width: float) -> float:
        """Search the partitions within `width` of the bound; return the next width, 0 at the end.

        Halves `width` while the classes cannot all be listed in time; updates the incumbent, the lower bound and the
        cuts. 0 also if a halved width was searched or the listing failed.
        """
        open_gap = max(self.loss - relaxed.lower, 0.0)
        wanted = min(width, open_gap)
        listed = self._listed(relaxed, wanted)
        while not listed.complete and self.limits.left > 0:
            wanted /= 2
            listed = self._listed(relaxed, wanted)
        if not listed.complete:
            return 0.0
        n, k = self.problem.n, self.k
        reached = relaxed.lower + wanted
        capped = wanted < min(width, open_gap)
        settled = settle(
            Listed(listed.classes, listed.costs, n, k, self.pricer.scale),
            self.loss if capped else min(self.loss, reached),
            self.limits,
            reach=reached,
            cuts=self.cuts,
        )
        self.cuts = settled.cuts
        if settled.chosen is not None:
            self._take(self._labels(listed.classes[settled.chosen]))
        self.lower = max(self.lower, min(settled.lower, reached))
        if capped or wanted >= open_gap:
            return 0.0
        return PARTITIONING.width_factor * width

    def _listed(self, relaxed: Relaxed, width: float) -> Pricing:
        # One class of a partition takes the place of a root that the bound counts, which is no more than -mu. A little
        # more, so that rounding leaves no class of such a partition out.
        """List the classes that a partition losing at most `width` more than the relaxed bound can have.

        Those with a reduced cost of at most `width` less the relaxation's ``mu``. Takes a quarter of the time that is
        left; the result is not complete if time or room ended first.
        """
        below = width - relaxed.mu + 1e-9 * self.loss
        seconds = self.limits.left / 4
        return self.pricer.price(
            relaxed.pi,
            below=below,
            most=PARTITIONING.max_classes_listed,
            seconds=seconds,
            limits=self.limits,
        )

    def _classes(self, labels: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the rows of each class, int32 ``(classes, 2 k - 1)``, with -1 behind them; `labels` is ``(n,)``.

        A sort.
        """
        order = np.argsort(labels, kind="stable")
        sizes = np.bincount(labels)
        first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        classes = np.full((len(sizes), 2 * self.k - 1), -1, dtype=np.int32)
        classes[labels[order], np.arange(len(order)) - first[labels[order]]] = order
        return classes

    def _labels(self, classes: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the class of each row, int32 ``(n,)``, from `classes` ``(classes, 2 k - 1)``; -1 for rows in none."""
        labels = np.full(self.problem.n, -1, dtype=np.int32)
        member = classes >= 0
        labels[classes[member]] = np.repeat(np.arange(len(classes)), member.sum(axis=1))
        return labels

    def _take(self, labels: NDArray[np.int32]) -> None:
        """Replace the incumbent by these labels ``(n,)`` if they lose less."""
        loss = self.problem.loss_of(labels)
        if loss < self.loss:
            self.labels, self.loss = labels, loss

    def _polish(self) -> None:
        """Improve the start by local search."""
        rounds = self.method.polish * (self.problem.n // self.k)
        limits = replace(self.limits, start=self.labels, suppress=0)
        self._take(LocalSearch(rounds=rounds).solve(self.problem, self.k, limits).labels)
