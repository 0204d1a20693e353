"""Algorithms as they were published, where that is not k-anonymous: to be looked at, not to be used.

What they return is :class:`~discreet.core.outcome.Unproven`, with the reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.outcome import Provenance, Unproven
from discreet.kanonymity.candidate import SearchLimits, require_feasible
from discreet.kanonymity.methods import UNPROVEN
from discreet.kanonymity.methods.initial import initial_sizes, variance_order
from discreet.kanonymity.methods.local_search import LocalSearch
from discreet.kanonymity.methods.split_carry import solve_rows
from discreet_reproduction.kanonymity.as_published.recoded import Recoded, covers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.kanonymity.problem import Problem


class PublishedRecoding(Protocol):
    """A published algorithm without a guarantee."""

    @property
    def reason(self) -> str:
        """Why there is none."""
        ...

    def recode(self, problem: Problem, k: int, limits: SearchLimits) -> Recoded:
        """Run it."""
        ...


def reproduce(
    problem: Problem, k: int, method: PublishedRecoding | str, limits: SearchLimits | None = None
) -> Unproven[Recoded]:
    """Run an algorithm as published that does not guarantee k-anonymity.

    Parameters
    ----------
    problem
        The problem.
    k
        What the algorithm was meant to achieve.
    method
        ``PublishedSplitCarry()``, ``DokaGreedy()``, ``DokaSortGreedy()``, ``DokaHungarian()``, or a name of
        :data:`~discreet.kanonymity.methods.UNPROVEN`.
    limits
        When to end.

    Returns
    -------
    Unproven
        The recoded rows and the reason why nothing is guaranteed for them.

    Examples
    --------
    >>> from discreet.kanonymity.problem import Numeric, Problem
    >>> problem = Problem.from_columns({"age": [50, 20, 40, 21, 60, 22]}, [Numeric("age")])
    >>> reproduce(problem, 2, PublishedSplitCarry()).result.smallest_class
    2
    """
    require_feasible(problem.n, k)
    chosen: PublishedRecoding = UNPROVEN.resolve(method, accept_no_guarantee=True)
    result = chosen.recode(problem, k, SearchLimits() if limits is None else limits)
    return Unproven(result, chosen.reason, Provenance(repr(chosen), {"k": k}))


@final
@dataclass(frozen=True)
class PublishedSplitCarry:
    """Algorithm 1 of [LS20]_ with the carry rule that is printed and released.

    The program of a block links rows by binary variables, k - 1 for each row (Equation 8); linked rows have equal
    cells. A row at the end of a block takes the rows linked to it along, and the rows linked to those if they are fewer
    than k; otherwise they stay and are published with the cells that they have.

    Parameters
    ----------
    blocks
        S, two or more: initial classes in a block.

    Notes
    -----
    A row need not be linked to all of its class: nine equal rows in a ring are an optimum for k = 3. Seven of them are
    carried, two stay; once the seven are published with wider cells, two rows stand alone (E3). The links here are the
    ring of :func:`links`, which is an optimum of the printed program wherever it has one with these classes.

    Examples
    --------
    >>> PublishedSplitCarry().blocks
    3
    """

    blocks: int = 3

    def __post_init__(self) -> None:
        if self.blocks < 2:
            raise InvalidProblemError("blocks", "two or more", self.blocks)

    @property
    def reason(self) -> str:
        """Why nothing is guaranteed."""
        return UNPROVEN["split-carry-as-published"].why_none

    def recode(self, problem: Problem, k: int, limits: SearchLimits) -> Recoded:
        """Solve block after block."""
        if any(column.is_set for column in problem.columns):
            raise InvalidProblemError("problem", "numbers and taxonomies", "a column of sets")
        order = variance_order(problem)
        classes = np.split(order, np.cumsum(initial_sizes(problem.n, k))[:-1])
        place = np.empty(problem.n, dtype=np.int64)
        place[order] = np.arange(problem.n)
        lo, hi = problem.codes.astype(np.int64), problem.codes.astype(np.int64)
        carried = np.empty(0, dtype=np.int64)
        for at in range(0, len(classes), self.blocks):
            block = np.concatenate([carried, *classes[at : at + self.blocks]])
            block = block[np.argsort(place[block])]
            start = np.split(block, np.cumsum(initial_sizes(len(block), k))[:-1])
            solved = _merged(problem, solve_rows(problem, start, k, limits, LocalSearch()))
            for rows in solved:
                lo[rows] = problem.codes[rows].min(axis=0)
                hi[rows] = problem.codes[rows].max(axis=0)
            if at + self.blocks < len(classes):
                carried = block[carried_rows(links(block, solved, k, place), k)]
        return covers(problem, lo, hi, {})


def _merged(problem: Problem, classes: list[NDArray[np.int64]]) -> list[NDArray[np.int64]]:
    """Join classes that are published with equal cells: to the printed program they are one."""
    joined: dict[bytes, list[NDArray[np.int64]]] = {}
    for rows in classes:
        codes = problem.codes[rows]
        cells = np.concatenate([codes.min(axis=0), codes.max(axis=0)]).tobytes()
        joined.setdefault(cells, []).append(rows)
    return [np.concatenate(parts) for parts in joined.values()]


def links(
    block: NDArray[np.int64], classes: list[NDArray[np.int64]], k: int, place: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Link each row of a block to k - 1 of its class, as Equation 8 demands, where that can be.

    Rows of a class stand in a ring by their place in the order; each is linked to the next ``(k - 1) // 2`` on both
    sides, and for an even k to the one opposite. A class of odd size with an even k has no such links (E1): all of it
    is linked.

    Parameters
    ----------
    block
        The rows.
    classes
        Their partition.
    k
        Least class size.
    place
        Place of each row of the table in the order.

    Returns
    -------
    ndarray
        ``(len(block), len(block))`` symmetric.
    """
    index = {int(row): i for i, row in enumerate(block)}
    linked = np.zeros((len(block), len(block)), dtype=bool)
    for rows in classes:
        ring = [index[int(row)] for row in rows[np.argsort(place[rows])]]
        size = len(ring)
        steps = set(range(1, (k - 1) // 2 + 1))
        if k % 2 == 0:
            steps |= {size // 2} if size % 2 == 0 else set(range(1, size))
        if size == k:
            steps = set(range(1, size))
        for at, i in enumerate(ring):
            for step in steps:
                j = ring[(at + step) % size]
                linked[i, j] = linked[j, i] = True
    return linked


def carried_rows(linked: NDArray[np.bool_], k: int) -> NDArray[np.int64]:
    """Apply the printed rule: which rows of a block, in order, are carried, by their links.

    Parameters
    ----------
    linked
        Links among the rows of the block, in order.
    k
        Least class size; the last k rows are the boundary.

    Returns
    -------
    ndarray
        Their numbers in the block.
    """
    n = len(linked)
    inner = np.arange(n) < n - k
    carried = ~inner
    for row in range(max(0, n - k), n):
        direct = inner & linked[row]
        further = inner & ~linked[row] & linked[direct].any(axis=0)
        carried |= direct | (further if further.sum() < k else False)
    return np.flatnonzero(carried)
