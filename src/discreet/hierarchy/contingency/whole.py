"""Whole tables from noisy marginals: non-negative, integral, consistent over regions and marginals, with a proved gap.

Up the tree generalized least squares; down it, for one parent after the other, non-negative tables that add up to the
parent's (:mod:`discreet.hierarchy.contingency.descent`) and by default take its shape where siblings are alike
(:mod:`discreet.hierarchy.contingency.shape`), made whole (:mod:`discreet.hierarchy.contingency.rounding`). All of it is
post-processing of the measurements.

What cannot be negative is pushed up where it is small: true zeros go up and small cells go down. Where tables are drawn
to the shape of the region above, what is peculiar to a region is understated. Signed estimates stay the answer to
questions (:func:`discreet.hierarchy.contingency.query`); intervals are never put around whole tables.

Proposes; checked by `discreet.hierarchy.contingency.verify.verify`.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, final

import numpy as np

from discreet.core.errors import InvalidProblemError, unknown_name
from discreet.core.progress import Reporter
from discreet.core.spaces.inputs import positive_count
from discreet.hierarchy.contingency.descent import Siblings, proved, solve
from discreet.hierarchy.contingency.estimates import upward
from discreet.hierarchy.contingency.result import LevelGap, RegionTables
from discreet.hierarchy.contingency.rounding import (
    as_units,
    by_exchanges,
    chain_of,
    round_largest,
    round_root,
)
from discreet.hierarchy.contingency.shape import toward_shape
from discreet.hierarchy.contingency.shrink import check_blocks, shrink_blocks
from discreet.hierarchy.contingency.workload import JAMES_STEIN, SHRINKS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from discreet.core.progress import Progress
    from discreet.hierarchy.contingency.estimates import Upward
    from discreet.hierarchy.contingency.measure import MeasuredTables
    from discreet.hierarchy.contingency.problem import TableFrame


class TableMethod(Protocol):
    """What a method is: frozen parameters, and post-processing of noisy marginals into whole tables."""

    def solve(
        self,
        measured: MeasuredTables,
        *,
        threads: int = 1,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> RegionTables:
        """Compute whole tables that add up from noisy values and public facts alone.

        Post-processing, which costs no budget. `threads` solve the parents of a level, on which the result must not
        depend; `on_progress` is called with each stage.
        """
        ...


def method_name(method: TableMethod) -> str:
    """Return the name of a method.

    Examples
    --------
    >>> method_name(Descent())
    'descent'
    """
    names = {"Descent": "descent", "TopDownPasses": "top-down-passes"}
    return names.get(type(method).__name__, type(method).__name__)


@final
@dataclass(frozen=True)
class Descent:
    """The default method: least squares up, non-negative whole tables down.

    Parameters
    ----------
    rounds
        Rounds of the search for each parent, at most; ten times as many for the root. At 1 + 50 + 3,000 regions and
        2,016 cells more than 60 change the bound by less than the rounding.
    shrink
        A name of :data:`~discreet.hierarchy.contingency.workload.SHRINKS`: ``"parent"`` draws each region's table to
        the shape of the region above, ``"none"`` leaves that out, and ``"james-stein"`` shrinks the estimates instead
        (:mod:`discreet.hierarchy.contingency.shrink`).

    Raises
    ------
    InvalidProblemError
        For another name.

    Examples
    --------
    >>> Descent()
    Descent(rounds=60, shrink='parent')
    """

    rounds: int = 60
    shrink: str = "parent"

    def __post_init__(self) -> None:
        if self.shrink not in [*SHRINKS]:
            raise unknown_name("shrink", self.shrink, SHRINKS)

    def solve(
        self,
        measured: MeasuredTables,
        *,
        threads: int = 1,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> RegionTables:
        """Compute whole tables that add up, with a proved gap for each level; see :func:`whole`.

        `threads` solve the parents of a level; the result does not depend on them. `on_progress` is called with each
        level. At most `rounds` transforms of all regions, forward and back. InvalidProblemError for `threads` or
        `rounds` below 1, and for measurements that ``"james-stein"`` does not shrink.
        """
        check_blocks(measured.frame, measured.noise, self.shrink)
        made = whole(
            measured,
            rounds=self.rounds,
            threads=threads,
            shaped=self.shrink == "parent",
            by_blocks=self.shrink == JAMES_STEIN,
            on_progress=on_progress,
        )
        return replace(made, shrink=self.shrink)


def whole(
    measured: MeasuredTables,
    *,
    rounds: int = 60,
    threads: int = 1,
    look_below: bool = True,
    shaped: bool = True,
    by_blocks: bool = False,
    top: NDArray[np.int64] | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> RegionTables:
    """Compute non-negative whole tables of all regions, with a proved gap for each level.

    Parameters
    ----------
    measured
        Noisy marginals.
    rounds
        Rounds of the search for each parent, at most.
    threads
        Among how many threads parents are dealt out; the result does not depend on it.
    look_below
        Whether a region's estimate uses the measurements of the regions below it; TopDown's does not.
    shaped
        Whether its table is drawn to the shape of the region above (:mod:`discreet.hierarchy.contingency.shape`).
    by_blocks
        Whether the estimates are shrunk, for what :func:`~discreet.hierarchy.contingency.shrink.check_blocks` lets
        pass; levels have no gap then.
    top
        ``(n_cells,)`` whole numbers: the root's table, where it was made before: `measured` is then a subtree, the part
        of one machine of a cluster, and its own level has no gap.
    on_progress
        Called with each level; its arguments depend on the noisy values alone.

    Returns
    -------
    RegionTables
        The tables, and a :class:`~discreet.hierarchy.contingency.result.LevelGap` for each level.

    Raises
    ------
    InvalidProblemError
        For `threads` or `rounds` below 1; without `look_below` where a level does not measure its cells; for a `top` of
        another shape, that is negative, or not 0 where no record may be.

    Notes
    -----
    The gap of a level compares with all tables that are not negative and add up to the published tables of the level
    above, whole or not. So it also holds what rounding costs, which no whole tables could avoid entirely.

    A region's estimate from its subtree needs nothing of the rest of the tree, and its descent the table of its parent
    alone: tables that are made subtree by subtree are those of one run over the whole tree, up to rounding of floats.

    Complexity
    ----------
    ``rounds`` transforms of all regions, forward and back, and one pass of rounding.
    """
    positive_count(threads, "threads")
    positive_count(rounds, "rounds")
    frame = measured.frame
    domain = frame.domain
    gaps: tuple[LevelGap, ...] = ()
    if top is not None:
        table = np.asarray(top)
        fits = table.shape == (domain.size,) and np.issubdtype(table.dtype, np.integer)
        if not fits or table.min(initial=0) < 0 or table[~domain.possible].any():
            expected = f"{domain.size} whole numbers, none negative, 0 where no record may be"
            raise InvalidProblemError("top", expected, f"{table.dtype} of shape {table.shape}")
    report = Reporter(on_progress, clock=None)
    report("estimates")
    made = upward(measured, look_below=look_below)
    if by_blocks:
        shrink_blocks(made, frame.tree)
    if top is None:
        means, precision = made.means[:1], made.weights.precision[:1]
        root = Siblings(means, precision, None, frame.total, domain.possible)
        root = toward_shape(root, made.basis) if shaped else root
        solved = solve(root, made.basis, rounds=10 * rounds)
        chain = chain_of(list(frame.marginals), domain)
        table = round_root(solved.tables, domain, chain, frame.total)
        gaps = (_gap(1, proved(root, solved, table[None], made.basis), shaped=shaped),)
    many = {"rounds": rounds, "threads": threads}
    cells, below = _descend(
        frame, made, table.astype(np.int64), **many, shaped=shaped, report=report
    )
    # A gap is a distance from unbiased estimates.
    return RegionTables(frame, cells, () if by_blocks else (*gaps, *below))


def _descend(
    frame: TableFrame,
    made: Upward,
    top: NDArray[np.int64],
    *,
    rounds: int,
    threads: int,
    shaped: bool,
    report: Reporter,
) -> tuple[NDArray[np.int64], tuple[LevelGap, ...]]:
    """Round level by level from the root's table `top` ``(cells,)``.

    Return ``(nodes, cells)`` int64 and the gaps by level. `made` has the estimates. The parents of a level know
    nothing of one another, and are solved in threads, at most `rounds` rounds each, of linear cost in the cells of
    their children, which are drawn to the shape of their parent's where `shaped`.
    """
    domain, tree = frame.domain, frame.tree
    basis, means, precision = made.basis, made.means, made.weights.precision
    out = np.zeros((tree.n, domain.size), dtype=np.int64)
    out[0] = top
    gaps = []

    def settle(node: int) -> tuple[float, float, float, float]:
        children = tree.children(node)
        rows = slice(children.start, children.stop)
        task = Siblings(means[rows], precision[rows], out[node], None, domain.possible)
        task = toward_shape(task, basis) if shaped else task
        fit = solve(task, basis, rounds=rounds)
        start = round_largest(as_units(fit.tables, out[node]), out[node])
        # Without a model the objective is the distance from the estimates, which moves lower directly.
        wanted = fit.tables if shaped else np.asarray(basis.backward(task.targets))
        out[rows] = by_exchanges(start, wanted, task, basis)
        return proved(task, fit, out[rows], basis)

    for level in range(tree.depth):
        report("whole tables by level", done=level + 1, total=tree.depth + 1)
        nodes = [
            node
            for node in range(int(tree.level_start[level]), int(tree.level_start[level + 1]))
            if tree.children(node)
        ]
        if threads == 1:
            bounds = [settle(node) for node in nodes]
        else:
            with ThreadPoolExecutor(threads) as executor:
                bounds = list(executor.map(settle, nodes))
        sums = tuple(map(sum, zip(*bounds, strict=True)))
        gaps.append(_gap(level + 2, sums, shaped=shaped))
    return out, tuple(gaps)


def _gap(level: int, bounds: Sequence[float], *, shaped: bool) -> LevelGap:
    """Round outwards once more what :func:`proved` returned: a sum of bounds has errors of its own.

    Where tables are `shaped` the distance from the estimates is only a part of the objective.
    """
    least, most, apart, moved = bounds
    lower = max(0.0, least * (1 - 1e-9) - apart * (1 + 1e-9))
    return LevelGap(level, lower, most * (1 + 1e-9), moved * (1 + 1e-9) if shaped else None)
