r"""M_c: the joint cumulative problem in whole numbers, by a solver. Small problems only.

Model 2 of [FVZ21]_, a quadratic program in integers. Each square is written as the sum of its increments, which grow,
so that a solver of mixed-integer *linear* programs fills them in order:

.. math:: (t - y)^2 = y^2 + \sum_{k=0}^{t-1} (2k + 1 - 2y) .

On two levels its matrix is totally unimodular and the linear relaxation is exact. On three it is not, and the
relaxation may cost less than any whole solution: the theory page has an instance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.hierarchy.survival import Need, Tell, Weights, check_kind, counts_of, node_weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.core.lp import LinearProgram
    from discreet.hierarchy.measure import Measured
    from discreet.hierarchy.sensitivity import Kind


@final
@dataclass(frozen=True)
class MC:
    """The exact optimum of the joint cumulative problem (``m-c``).

    Parameters
    ----------
    weights
        The weight of each node; equal ones as published.
    time_limit
        Seconds for the solver.
    """

    weights: Weights = "equal"
    time_limit: float | None = None

    kind: ClassVar[Kind] = "survival"
    needs: ClassVar[tuple[Need, ...]] = ("every level",)

    def solve(self, measured: Measured, *, on_progress: Tell | None = None) -> NDArray[np.int64]:
        """Solve the integer program of :func:`_program`; return int64 ``(nodes, sizes)``.

        Exponential in the worst case.

        Raises
        ------
        InvalidProblemError
            When the squares have too many increments.
        LimitReachedError
            When the time was not enough.
        """
        from discreet.core.lp import solve

        check_kind(measured, "survival")
        program = _program(measured, node_weights(measured, self.weights))
        solution = solve(program, time_limit=self.time_limit, log=on_progress)
        frame = measured.frame
        leaves = len(frame.tree.leaves)
        survival = np.rint(solution.x[: leaves * frame.max_size]).astype(np.int64)
        rows = frame.tree.totals(survival.reshape(leaves, frame.max_size))
        return counts_of(frame, rows)


def _program(
    measured: Measured, weights: NDArray[np.int64], *, max_increments: int = 200_000
) -> LinearProgram:
    """Write the program: first the counts of leaves, then for each node and size the increments.

    `weights` are ``(nodes,)``. It has one variable for each unit that a count may have: InvalidProblemError beyond
    `max_increments`.
    """
    from scipy.sparse import coo_array

    from discreet.core.lp import LinearProgram

    frame, values = measured.frame, measured.values
    tree, n = frame.tree, frame.max_size
    leaves = tree.leaves
    # A leaf above every value it is compared with can be lowered, at no cost.
    most = np.maximum(0, values.max(initial=0)) * tree.leaf_counts
    if frame.group_totals is not None:
        most = np.minimum(most, frame.group_totals)
    increments = int(most.sum()) * n
    if increments > max_increments:
        raise InvalidProblemError("measured", f"at most {max_increments} increments", increments)
    below: list[list[int]] = [[] for _ in range(tree.n)]
    for number, leaf in enumerate(leaves.tolist()):
        for above in tree.ancestors(leaf).tolist():
            below[above].append(number)
    base = len(leaves) * n
    cost: list[NDArray[np.floating]] = [np.zeros(base)]
    rows: list[NDArray[np.int64]] = []
    columns: list[NDArray[np.int64]] = []
    entries: list[NDArray[np.float64]] = []
    at, row = base, 0
    for node in range(tree.n):
        for s in range(n):
            pieces = np.arange(int(most[node]))
            cost.append((2.0 * pieces + 1 - 2 * float(values[node, s])) * int(weights[node]))
            own = np.array(below[node]) * n + s
            columns += [own, at + pieces]
            rows += [np.full(len(own) + len(pieces), row)]
            entries += [np.ones(len(own)), np.full(len(pieces), -1.0)]
            at, row = at + len(pieces), row + 1
    equal = row
    for leaf in range(len(leaves)):
        for s in range(n - 1):
            rows.append(np.array([row, row]))
            columns.append(np.array([leaf * n + s, leaf * n + s + 1]))
            entries.append(np.array([1.0, -1.0]))
            row += 1
    place = (np.concatenate(rows), np.concatenate(columns))
    upper = np.ones(at)
    upper[:base] = np.repeat(most[leaves], n)
    return LinearProgram(
        np.concatenate(cost),
        coo_array((np.concatenate(entries), place), shape=(row, at)),
        row_lower=np.zeros(row),
        row_upper=np.where(np.arange(row) < equal, 0.0, np.inf),
        upper=upper,
        integrality=np.arange(at) < base,
    )
