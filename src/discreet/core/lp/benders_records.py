"""What goes into a decomposition of :mod:`discreet.core.lp.benders` and what comes out of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, final

from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from concurrent.futures import Executor

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from discreet.core.lp.angular import Cut

__all__ = ["BendersOptions", "BendersResult", "BendersStep", "Rows", "Separator"]


@final
@dataclass(frozen=True, eq=False)
class Rows:
    """Further rows for the master.

    Parameters
    ----------
    matrix
        ``(rows, master's variables)``, dense or sparse.
    lower, upper
        Sides, one for each row or one for all.
    tags
        What the caller wants to have back beside the multiplier of each row.
    """

    matrix: Any
    lower: ArrayLike
    upper: ArrayLike
    tags: Sequence[object]


class Separator(Protocol):
    """Finds valid rows that a point violates."""

    def __call__(self, block: int, x: NDArray[np.float64], /) -> Rows | None:
        """Rows that every feasible point keeps and `x` does not, or ``None``; the block is not solved at x then."""
        ...


@final
@dataclass(frozen=True)
class BendersStep:
    """Where the decomposition stands after an iteration.

    Parameters
    ----------
    iteration
        From 1; 0 for the anchor.
    lower, upper
        Best bounds so far.
    optimality, feasibility, separated
        Numbers of cuts of each kind so far, and of rows that the separator found.
    step
        How far from the inner point to the master's point the blocks were asked; 1 is at the master's.
    """

    iteration: int
    lower: float
    upper: float
    optimality: int
    feasibility: int
    separated: int
    step: float


@final
@dataclass(frozen=True)
class BendersOptions:
    """When to stop, and how to solve.

    Parameters
    ----------
    gap
        Stop when ``upper - lower <= gap * abs(upper)``.
    absolute_gap
        Stop when ``upper - lower`` is at most this.
    iterations
        Most solves of the master.
    time_limit
        Seconds.
    threads
        Threads of a solver.
    tolerance
        Of all programs, see :func:`~discreet.core.lp.solve`.
    master
        ``"simplex"`` goes on from the last basis; ``"ipm"`` starts anew and ends inside, for large masters.
    executor
        Solves the blocks side by side: anything whose ``map`` stays in this process, such as a pool of threads.
    """

    gap: float = 1e-6
    absolute_gap: float = 0.0
    iterations: int = 500
    time_limit: float | None = None
    threads: int = 1
    tolerance: float = 1e-9
    master: Literal["simplex", "ipm"] = "simplex"
    executor: Executor | None = None

    def __post_init__(self) -> None:
        for field in ("gap", "absolute_gap"):
            if not 0 <= getattr(self, field) < math.inf:
                raise InvalidProblemError(field, "a nonnegative gap", getattr(self, field))
        if self.iterations < 1:
            raise InvalidProblemError("iterations", "at least one iteration", self.iterations)


@final
@dataclass(frozen=True, eq=False)
class BendersResult:
    """What the decomposition found.

    Parameters
    ----------
    x
        The best point of the whole program, feasible up to tolerances; ``None`` where none was found.
    upper
        Its cost; infinite without one.
    lower
        No point costs less: the value of multipliers of the master's program at its best iterate, rounded down. It
        rests on the cuts, which are proved, on the rows that the caller added, and on nothing the solver said.
    row_duals
        Multipliers of the rows of the whole program that give `lower`, shape (m,), those of cuts added up.
    added, added_duals
        Tags and multipliers of the rows that the caller added: implied ones first, then those of the separator. There
        are fewer multipliers where rows came after the iteration with the best `lower`.
    cuts
        All cuts, in order.
    history
        One entry for each iteration.
    status
        ``"gap reached"``, ``"no cut left"``, ``"iteration limit"``, ``"time limit"`` or ``"master failed"``.
    """

    x: NDArray[np.float64] | None
    upper: float
    lower: float
    row_duals: NDArray[np.float64]
    added: tuple[object, ...]
    added_duals: NDArray[np.float64]
    cuts: tuple[Cut, ...]
    history: tuple[BendersStep, ...]
    status: str
