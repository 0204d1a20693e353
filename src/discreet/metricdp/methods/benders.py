r"""Benders decomposition along a partition of the secrets, as [Qiu24]_ proposes it, with changes for convergence.

The variables of the master are the rows of the boundary records, those of a block's subproblem the rows of its
internal records (Equations (9) to (20) of the paper). Deviations from the paper, with reasons in the errata:

- the boundary's cost is in the master alone: with the published cut the lower bound passes the optimum (E1);
- the cost of a block is bounded below before the first iteration, and gaps are relative (E4);
- the initial cuts H_0 are without those implied by others, which does not change the feasible set (E7);
- subproblems are evaluated between the exponential mechanism and the master's point: without that no point was feasible
  on problems of 200 secrets;
- internal records give feasibility cuts in closed form, before any subproblem is solved;
- the lower bound is proved by prices of stated constraints, since cuts are numerically fragile.

Linear programming without decomposition was faster whenever both finished; see ``benchmarks/metricdp_benders.py``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.jit import clock
from discreet.core.printed import at_least
from discreet.metricdp.blocks import Partition, choose_blocks, partition, partitioner_name
from discreet.metricdp.bounds.alone import prices_of_blocks
from discreet.metricdp.bounds.bound import lower_bound
from discreet.metricdp.methods.baselines import Exponential
from discreet.metricdp.methods.direct import priced_edges
from discreet.metricdp.methods.primal_dual import PrimalDual
from discreet.metricdp.part import Candidate

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from numpy.typing import NDArray

    from discreet.core.lp.benders import BendersResult
    from discreet.core.spaces.metric import MetricSpace
    from discreet.metricdp.boundary import Chains, Layout
    from discreet.metricdp.part import Part, PartLimits


class _Limits(NamedTuple):
    """Fixed numbers, so that the same input gives the same design."""

    rows: int = 400_000
    """Rows of the master or a subproblem beyond which none is built: the first solve would take minutes."""

    primal_dual_steps: int = 6_000
    """Primal-dual steps if no master is built."""


_LIMITS = _Limits()


@final
@dataclass(frozen=True)
class Benders:
    """The linear program by Benders decomposition: a master on the boundary records, a subproblem for each block.

    Parameters
    ----------
    blocks
        Largest number of blocks M; ``None`` minimizes the paper's model of the work of an iteration.
    partitioner
        ``"k-m-DV"``, ``"k-m-rec"``, ``"k-m-adj"`` or ``"BSC"``, in any case; see :mod:`discreet.metricdp.blocks`.
    iterations
        Limit on the solves of the master.
    seed
        Seed of the partition.
    executor
        Pool of threads of this process that solves subproblems in parallel.

    Examples
    --------
    >>> from discreet.core.guarantee import MetricDP
    >>> from discreet.core.spaces.metric import MetricSpace
    >>> from discreet.metricdp import Problem, design
    >>> problem = Problem(MetricSpace.grid(2, 6, cell=1, unit="km"), utility_loss="euclidean")
    >>> within = MetricDP(1, unit="km", radius=1)
    >>> result = design(problem, within, method=Benders(blocks=2), gap=1e-4)
    >>> result.certificate.passed, result.gap < 1e-4
    (True, True)
    """

    blocks: int | None = None
    partitioner: str = "k-m-DV"
    iterations: int = 500
    seed: int = 0
    executor: Executor | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.blocks is not None and self.blocks < 1:
            raise InvalidProblemError("blocks", "at least one block, or None", self.blocks)
        partitioner_name(self.partitioner)

    def solve(self, part: Part, limits: PartLimits) -> Candidate:
        """Partition the part and decompose its program, within the gap, seconds and threads of `limits`.

        Returns
        -------
        Candidate
            The incumbent, at worst the exponential mechanism, from which the decomposition starts. If the master would
            be too large, the candidate of primal-dual steps on the complete program, under their name, with the better
            of their bound and that of separate blocks; if these give no matrix, the exponential mechanism with renamed
            reports.

        Raises
        ------
        InvalidProblemError
            If the partitioner needs coordinates and the space has none.
        SolverError
            If the master cannot be solved.

        Complexity
        ----------
        An iteration solves a program of ``K |Y|`` variables, Y the boundary records, and one of ``K |X_l|`` for each
        block; there is no bound on the number of iterations.
        """
        from discreet.core.lp.benders import BendersOptions, benders
        from discreet.metricdp.boundary import Envelopes, inner_pairs

        anchor = _anchor(part, limits)
        layout = self._layout(part, anchor)
        rows = _largest_program(layout, None)
        if rows > _LIMITS.rows:
            return self._without_master(layout, anchor, rows, limits)
        chains = inner_pairs(layout)
        rows = _largest_program(layout, chains)
        if rows > _LIMITS.rows:
            return self._without_master(layout, anchor, rows, limits)
        result = benders(
            layout.program(),
            layout.columns,
            options=BendersOptions(
                gap=0.4 * limits.gap,
                iterations=self.iterations,
                time_limit=limits.solving,
                threads=limits.threads,
                executor=self.executor,
            ),
            implied=chains.rows(),
            anchor=anchor.ravel(),
            separate=Envelopes(layout),
        )
        return self._candidate(layout, chains, result, anchor)

    def _layout(self, part: Part, anchor: NDArray[np.float64]) -> Layout:
        """Return the blocks and boundary of a part; the loss of `anchor` ``(n, k)`` scales the program.

        The number of blocks is the stated one, at most n, or chosen. Costs one partition, or one for each candidate
        number.
        """
        from discreet.metricdp.boundary import Layout

        edges = priced_edges(part)
        if self.blocks is None:
            split = choose_blocks(
                _space(part), part.constraints, self.partitioner, edges=edges, seed=self.seed
            )
        else:
            count = min(self.blocks, part.n)
            labels = partition(
                _space(part), part.constraints, count, self.partitioner, seed=self.seed
            )
            split = Partition(labels, edges)
        return Layout(part, split, float((part.cost * anchor).sum()) or 1.0)

    def _without_master(
        self, layout: Layout, anchor: NDArray[np.float64], rows: int, limits: PartLimits
    ) -> Candidate:
        """Return the result of steps on the complete program, with the better of their bound and that of the blocks.

        `anchor` ``(n, k)`` is a private channel, taken where steps give none; `rows` are those of the program that
        was too large. Half of the time of `limits` is for the blocks of `layout`.
        """
        part, start = layout.part, clock()
        half = None if limits.seconds is None else limits.seconds / 2
        prices = prices_of_blocks(part, layout.split.labels, replace(limits, seconds=half))
        block_bound = lower_bound(part.cost, part.constraints, part.epsilon, prices)
        note = (
            f"The largest program would have {rows} rows and was not built. {layout.split.n_blocks} separate "
            f"blocks bound the loss by {at_least(block_bound)}"
        )
        facts = {
            "blocks": layout.split.n_blocks,
            "partitioner": partitioner_name(self.partitioner),
            "boundary": len(layout.boundary),
        }
        remaining = None
        if limits.seconds is not None:
            remaining = max(0.0, limits.seconds - (clock() - start))
        steps = PrimalDual(iterations=_LIMITS.primal_dual_steps).solve(
            part, replace(limits, seconds=remaining, offer=None)
        )
        if steps is None or steps.matrix is None:
            best = (anchor.T @ part.cost).argmin(axis=1)
            matrix = np.zeros_like(anchor)
            np.add.at(matrix.T, best, anchor.T)
            note += ". The channel is the exponential mechanism with renamed reports."
            return Candidate("benders", matrix, prices, note, facts)
        step_bound = 0.0
        if steps.multipliers is not None:
            step_bound = lower_bound(part.cost, part.constraints, part.epsilon, steps.multipliers)
        note += (
            f"; steps, which are not Benders decomposition, by {at_least(step_bound)}: {steps.note}"
        )
        better = steps.multipliers if step_bound > block_bound else prices
        facts |= steps.parameters
        return replace(steps, multipliers=better, note=note, parameters=facts)

    def _candidate(
        self, layout: Layout, chains: Chains, result: BendersResult, anchor: NDArray[np.float64]
    ) -> Candidate:
        """Return the channel and the prices of `result`, the decomposition's, with its facts.

        Prices go back to stated constraints by `layout` and `chains`. Without a solution the channel is `anchor`
        ``(n, k)``.
        """
        split, last_iteration = layout.split, result.history[-1] if result.history else None
        matrix = anchor if result.x is None else np.maximum(result.x, 0.0).reshape(anchor.shape)
        iterations = 0 if last_iteration is None else last_iteration.iteration
        facts = {
            "blocks": split.n_blocks,
            "partitioner": partitioner_name(self.partitioner),
            "boundary": len(layout.boundary),
            "iterations": iterations,
            "cuts": len(result.cuts),
        }
        note = (
            f"{iterations} iterations of Benders decomposition on {split.n_blocks} blocks, {len(layout.boundary)} of "
            f"{layout.part.n} secrets on the boundary, {len(result.cuts)} cuts: {result.status}."
        )
        return Candidate("benders", matrix, layout.prices(result, chains), note, facts)


def _space(part: Part) -> MetricSpace:
    """Return the part's space; refuse a part without one."""
    if part.space is None:
        raise InvalidProblemError("part", "one that knows its metric space", "one made by hand")
    return part.space


def _anchor(part: Part, limits: PartLimits) -> NDArray[np.float64]:
    """Return the exponential mechanism: private with positive entries, in the interior of the feasible set."""
    return np.asarray(Exponential().solve(part, limits).matrix, dtype=np.float64)


def _largest_program(layout: Layout, chains: Chains | None) -> int:
    """Count the rows of the largest of the programs, master or block; without `chains` a lower bound."""
    k, edges, boundary = layout.part.n_reports, layout.edges, layout.split.boundary
    inside = boundary[edges.pairs].all(axis=1)
    i = edges.pairs[:, 0]
    # A constraint of an internal record has both ends in its block.
    blocks = np.bincount(layout.split.labels[i[~inside]], minlength=1)
    return 2 * k * max(int(inside.sum()) + len(chains or ()), int(blocks.max())) + layout.part.n
