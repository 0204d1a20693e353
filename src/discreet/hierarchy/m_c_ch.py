r"""M_c^ch: one chain of cumulative counts through all regions and sizes, fitted at once.

Section 9.2 of [FVZ21]_: on each level the counts are added up along all sizes and, within a size, along all regions;
the nearest monotone chain gives consistent counts without a second step. It is one of the most accurate mechanisms of
the paper, and **not differentially private as it is calibrated there**: one person changes as many entries of a level's
chain as the level has regions, not one. With noise for that, it is of no use. Both are here.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Literal, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import PureDP, ZeroConcentratedDP
from discreet.hierarchy.isotonic import isotonic_sums
from discreet.hierarchy.survival import check_kind, check_needs

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from discreet.core.tree import Tree
    from discreet.hierarchy.measure import Measured
    from discreet.hierarchy.problem import Frame
    from discreet.hierarchy.sensitivity import Kind
    from discreet.hierarchy.survival import Need

__all__ = ["MCChain", "calibrated_chain"]

_LARGEST_TABLE = 50_000_000

_REASON = (
    "the paper takes the sensitivity of one region's cumulative counts, 1, for that of a whole level's chain, which is "
    "the number of its regions: a group that grows by one lowers every entry of the chain between its old and its new "
    "place, one for each region"
)


@final
@dataclass(frozen=True)
class MCChain:
    """The chain of cumulative counts (``m_c_ch``; ``m_c_ch_calibrated``).

    Parameters
    ----------
    calibrated
        Whether the noise is for the sensitivity that the chain has. Without it the outcome is
        :class:`~discreet.Unproven`, with the reason, and only ``reproduce`` gives it.
    solver
        ``"pooling"``: each leaf with the regions that it closes is one weighted point, and the chain is fitted by
        pooling, in time linear in its length. ``"recurrence"``: the paper's dynamic program (8), with the table of all
        values from 0 to G, for small problems. They cost the same.

    Notes
    -----
    Deviations from the paper. Its constraint (C8) lacks the case in which a region is followed by one of a deeper
    level, without which counts may be negative; its recurrence (8b) has it, and so does this. The number of groups,
    public, ends the chain. Trees whose branches end at different depths are refused: their levels are no partitions.

    Examples
    --------
    >>> MCChain().unproven[:53]
    "the paper takes the sensitivity of one region's cumul"
    """

    calibrated: bool = False
    solver: Literal["pooling", "recurrence"] = "pooling"

    kind: ClassVar[Kind] = "chain"
    integral: ClassVar[bool] = True
    needs: ClassVar[tuple[Need, ...]] = ("every level", "public units", "equal depth")

    def __post_init__(self) -> None:
        if self.solver not in ("pooling", "recurrence"):
            raise InvalidProblemError("solver", "'pooling' or 'recurrence'", repr(self.solver))

    @property
    def unproven(self) -> str:
        """Why there is no guarantee; empty where the noise is calibrated."""
        return "" if self.calibrated else _REASON

    def as_published(
        self, frame: Frame, guarantee: PureDP | ZeroConcentratedDP, shares: tuple[Fraction, ...]
    ) -> tuple[PureDP | ZeroConcentratedDP, tuple[Fraction, ...]]:
        r"""Find what the paper's noise really satisfies.

        A level whose noise is meant for the share :math:`f` of the budget spends :math:`f |R|` of it.

        Returns
        -------
        guarantee
            The one that holds.
        shares
            The part of it that each level spends.
        """
        if self.calibrated:
            return guarantee, shares
        spent = [
            share * width
            for share, width in zip(shares, np.diff(frame.tree.level_start).tolist(), strict=True)
        ]
        total = sum(spent, Fraction(0))
        true: PureDP | ZeroConcentratedDP
        if isinstance(guarantee, PureDP):
            true = PureDP(guarantee.epsilon * total, guarantee.neighbors)
        else:
            true = ZeroConcentratedDP(guarantee.rho * total, guarantee.neighbors)
        return true, tuple(part / total for part in spent)

    def solve(
        self, measured: Measured, *, on_progress: Callable[[str], None] | None = None
    ) -> NDArray[np.int64]:
        """Fit the chain and take differences; post-processing.

        Returns
        -------
        ndarray
            ``(n_nodes, n_sizes)`` counts: whole, not negative, and those of a region the sum of those below it.

        Raises
        ------
        InvalidProblemError
            For a tree whose branches end at different depths, or a table of the recurrence that is too large.
        """
        check_kind(measured, "chain")
        frame = measured.frame
        tree, total = frame.tree, frame.total
        check_needs(frame, measured.scales, self.needs)
        if total is None:
            raise InvalidProblemError("units", "public", "private")
        if on_progress is not None:
            on_progress("one chain")
        solve = _pooled if self.solver == "pooling" else _recurrence
        chain = solve(tree, measured.values, total)
        counts = np.diff(chain, prepend=0).reshape(frame.n_sizes, len(tree.leaves)).T
        return tree.totals(counts)


def calibrated_chain() -> MCChain:
    """Give the chain with noise for its sensitivity, for the table of methods."""
    return MCChain(calibrated=True)


def _pooled(tree: Tree, values: NDArray[np.int64], total: int) -> NDArray[np.int64]:
    # Where the chain goes up the values are equal: the regions closed by a leaf are one point with it.
    leaves = tree.leaves
    sums = values[leaves].T.copy()
    weights = np.ones_like(sums)
    last = _last_leaf(tree)
    for node in range(int(leaves[0])):
        place = int(last[node] - leaves[0])
        sums[:, place] += values[node]
        weights[:, place] += 1
    fit = isotonic_sums(sums.reshape(1, -1)[:, :-1], weights.reshape(1, -1)[:, :-1])[0]
    return np.append(np.clip(fit, 0, total), total)


def _last_leaf(tree: Tree) -> NDArray[np.int64]:
    last = np.arange(tree.n)
    for node in range(tree.n - 1, -1, -1):
        below = tree.children(node)
        if below:
            last[node] = last[below[-1]]
    return last


def _recurrence(tree: Tree, values: NDArray[np.int64], total: int) -> NDArray[np.int64]:
    r"""Run recurrence (8): :math:`\tau_{i+1}(v) = (v - \tilde c_{i+1})^2 + \phi_{i+1}(v)`."""
    order = _post_order(tree)
    levels = tree.levels
    steps = [(s, node) for s in range(values.shape[1]) for node in order]
    if len(steps) * (total + 1) > _LARGEST_TABLE:
        raise InvalidProblemError(
            "solver", f"a table of at most {_LARGEST_TABLE} entries", len(steps) * (total + 1)
        )
    domain = np.arange(total + 1)
    tables: list[NDArray[np.int64]] = []
    before = None
    for s, node in steps:
        cost = (domain - values[node, s]) ** 2
        if before is not None:
            up = levels[before] > levels[node]
            cost = cost + (tables[-1] if up else np.minimum.accumulate(tables[-1]))
        tables.append(cost)
        before = node
    chain = np.empty(len(steps), dtype=np.int64)
    chain[-1] = total
    for i in range(len(steps) - 2, -1, -1):
        up = levels[steps[i][1]] > levels[steps[i + 1][1]]
        bound = int(chain[i + 1])
        chain[i] = bound if up else int(np.argmin(tables[i][: bound + 1]))
    deepest = levels[[node for _, node in steps]] == tree.depth
    return np.asarray(chain[deepest])


def _post_order(tree: Tree) -> list[int]:
    order: list[int] = []
    stack = [0]
    while stack:
        node = stack.pop()
        order.append(node)
        stack.extend(tree.children(node))
    return order[::-1]
