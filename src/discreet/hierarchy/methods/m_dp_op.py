r"""M_dp^OP: the dynamic program of [FVZ21]_ (Section 6) with an optimization problem for each entry of a table.

Nothing is used of the tables but their entries: for each region, size and count v a program chooses one entry of each
child's table such that the counts sum to v (recurrences 4a to 4d). That is :math:`O(|R| N \bar D)` programs (Theorem
2), and the reason for Algorithm 1. It is here to be compared with, on a few regions and sizes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from discreet.hierarchy.cost_tables import CountCosts, by_tables, widths

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.hierarchy.measure import Measured
    from discreet.hierarchy.sensitivity import Kind
    from discreet.hierarchy.survival import Need, Tell


@final
@dataclass(frozen=True)
class MDPOP:
    """Nearest consistent counts inside windows, by a program for each entry of a table (``m-dp-op``).

    Parameters
    ----------
    delta
        Half the width of the windows, as for :class:`~discreet.hierarchy.methods.m_h_dp.MHDP`.

    Notes
    -----
    Deviation from the paper: the table constraints are a mixed-integer program with a 0-1 variable for each entry.

    Examples
    --------
    >>> from discreet import PureDP, Tree
    >>> from discreet.hierarchy.measure import measure
    >>> from discreet.hierarchy.problem import GroupSizes
    >>> tree = Tree.from_paths([("GA",), ("NY",)], root="US")
    >>> data = GroupSizes.from_counts(tree, [[2, 0, 1], [1, 1, 1]], units="private")
    >>> measured = measure(data, "direct", PureDP(100, neighbors="add-remove-person"))
    >>> MDPOP(delta=1).solve(measured).tolist()
    [[3, 1, 2], [2, 0, 1], [1, 1, 1]]
    """

    delta: int | None = None

    kind: ClassVar[Kind] = "direct"
    needs: ClassVar[tuple[Need, ...]] = ("every level",)

    def solve(self, measured: Measured, *, on_progress: Tell | None = None) -> NDArray[np.int64]:
        """Compute consistent counts, int64 ``(nodes, sizes)``, from noisy direct counts.

        Raises
        ------
        InvalidProblemError
            For another kind of measurement, a level without noise, or a negative `delta`.
        InfeasibleError
            When no counts inside the windows add up.

        Complexity
        ----------
        One mixed-integer program for each entry of each table of a region that has children.
        """
        return by_tables(measured, widths(measured, self.delta), _Programs, on_progress, keep=True)


@final
class _Programs:
    """The children of a region, and a program for each sum of their counts."""

    def __init__(self, children: Sequence[CountCosts], lowest: int, highest: int) -> None:
        self._children = children
        low = max(lowest, sum(child.low for child in children))
        high = min(highest, sum(child.high for child in children))
        costs = [self._choose(count)[0] for count in range(low, high + 1)]
        self.table = CountCosts(low, np.array(costs, dtype=np.int64))

    def share(self, count: int) -> NDArray[np.int64]:
        """Return the counts ``(children,)`` of least cost with the sum `count`: solves one integer program."""
        return self._choose(count)[1]

    def _choose(self, count: int) -> tuple[int, NDArray[np.int64]]:
        """Choose one entry of each table so that the counts sum to ``count`` and the costs are least.

        Returns the least cost and the count of each child, ``(children,)``. An integer program with a variable for
        each entry.
        """
        from scipy import sparse

        from discreet.core.lp import LinearProgram, solve

        tables = self._children
        owners = np.repeat(np.arange(len(tables)), [len(table.costs) for table in tables])
        values = np.concatenate([np.arange(table.low, table.high + 1) for table in tables])
        costs = np.concatenate([table.costs for table in tables])
        # Counts from the least on: the same program, with small numbers in it.
        above = values - np.array([table.low for table in tables])[owners]
        one_each = sparse.csr_array(
            (np.ones(len(values)), (owners, np.arange(len(values)))),
            shape=(len(tables), len(values)),
        )
        sides = np.append(np.ones(len(tables)), count - sum(table.low for table in tables))
        program = LinearProgram(
            costs - costs.min(),
            sparse.vstack([one_each, sparse.csr_array(above[None].astype(np.float64))]),
            row_lower=sides,
            row_upper=sides,
            upper=1.0,
            integrality=np.ones(len(values), dtype=bool),
        )
        chosen = solve(program).x > 0.5
        return int(costs[chosen].sum()), values[chosen]
