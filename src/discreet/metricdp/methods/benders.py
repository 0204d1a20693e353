r"""Benders decomposition along a partition of the secrets, as [Qiu24]_ proposes it, with changes for convergence.

The variables of the master are the rows of the boundary records, those of a block's subproblem the rows of its
internal records (Equations (9) to (20) of the paper). Deviations from the paper, with reasons in the errata:

- the boundary's cost is in the master alone: with the published cut the lower bound passes the optimum (E1);
- the cost of a block is bounded below before the first iteration, and gaps are relative (E4);
- the initial cuts H_0 are without those implied by others, which does not change the feasible set (E7);
- subproblems are evaluated between the exponential mechanism and the master's point: without that no point was feasible
  on problems of 200 secrets;
- the lower bound is proved by prices of stated constraints, since cuts are numerically fragile.

Linear programming without decomposition was faster whenever both finished; see ``benchmarks/metricdp_benders.py``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.metricdp.blocks import Partition, partition, partitioner_name
from discreet.metricdp.methods.baselines import Exponential
from discreet.metricdp.methods.direct import priced_edges
from discreet.metricdp.part import Candidate

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from numpy.typing import NDArray

    from discreet.metricdp.boundary import Layout
    from discreet.metricdp.part import Part, PartLimits


@final
@dataclass(frozen=True)
class Benders:
    """The linear program by Benders decomposition: a master on the boundary records, a subproblem for each block.

    Parameters
    ----------
    blocks
        Largest number of blocks M; ``None`` for one of each ten secrets.
    partitioner
        ``"k-m-DV"``, ``"k-m-rec"``, ``"k-m-adj"`` or ``"BSC"``, in any case; see :mod:`discreet.metricdp.blocks`.
    iterations
        Limit on the solves of the master.
    seed
        Seed of the partition.
    executor
        Pool of threads of this process that solves subproblems in parallel.
    max_rows
        Rows of the master or a subproblem beyond which none is built: the first solve would take minutes.

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
    max_rows: int = 400_000

    def __post_init__(self) -> None:
        if self.blocks is not None and self.blocks < 1:
            raise InvalidProblemError("blocks", "at least one block, or None", self.blocks)
        partitioner_name(self.partitioner)

    def solve(self, part: Part, limits: PartLimits) -> Candidate:
        """Partition the part and decompose its program, within the gap, seconds and threads of `limits`.

        Returns
        -------
        Candidate
            The incumbent, at worst the exponential mechanism, from which the decomposition starts. Neither a matrix nor
            prices if the master or a block would have more rows than `max_rows`.

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
        from discreet.metricdp.boundary import implied_rows, inner_pairs

        anchor = np.asarray(Exponential().solve(part, limits).matrix, dtype=float)
        layout = self._layout(part, anchor)
        pairs = inner_pairs(layout)
        rows = _largest_program(layout, len(pairs))
        if rows > self.max_rows:
            note = f"The largest program would have {rows} rows and was not built; PrimalDual() needs less."
            return Candidate("benders", None, None, note)
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
            implied=implied_rows(layout, pairs),
            anchor=anchor.ravel(),
        )
        # The anchor is feasible, so that there is a solution.
        matrix = np.maximum(np.asarray(result.x), 0.0).reshape(anchor.shape)
        iterations = result.history[-1].iteration if result.history else 0
        facts = {
            "blocks": layout.split.n_blocks,
            "partitioner": partitioner_name(self.partitioner),
            "boundary": len(layout.boundary),
            "iterations": iterations,
            "cuts": len(result.cuts),
        }
        note = (
            f"{iterations} iterations of Benders decomposition on {facts['blocks']} blocks, {facts['boundary']} of "
            f"{part.n} secrets on the boundary, {len(result.cuts)} cuts: {result.status}."
        )
        return Candidate("benders", matrix, layout.prices(result), note, facts)

    def _layout(
        self, part: Part, anchor: NDArray[np.float64], *, secrets_per_block: int = 10
    ) -> Layout:
        """Return the blocks and boundary of a part; the loss of `anchor` ``(n, k)`` scales the program.

        The number of blocks is the stated one, at most n, or follows from `secrets_per_block`: grids of 49 to 80
        secrets, roads and points of 60 and 100 took less CPU time to a smaller gap than with the number of least work
        by the paper's model; November 2026. Costs one partition.
        """
        from discreet.metricdp.boundary import Layout

        if part.space is None:
            raise InvalidProblemError("part", "one that knows its metric space", "one made by hand")
        stated = part.n // secrets_per_block if self.blocks is None else self.blocks
        blocks = min(max(stated, 1), part.n)
        labels = partition(part.space, part.constraints, blocks, self.partitioner, seed=self.seed)
        split = Partition(labels, priced_edges(part))
        return Layout(part, split, float((part.cost * anchor).sum()) or 1.0)


def _largest_program(layout: Layout, added: int) -> int:
    """Count the rows of the largest of the programs: the master with its `added` pairs, or a block."""
    k, edges, boundary = layout.part.n_reports, layout.edges, layout.split.boundary
    inside = boundary[edges.pairs].all(axis=1)
    i = edges.pairs[:, 0]
    # A constraint of an internal record has both ends in its block.
    blocks = np.bincount(layout.split.labels[i[~inside]], minlength=1)
    return 2 * k * max(int(inside.sum()) + added, int(blocks.max())) + layout.part.n
