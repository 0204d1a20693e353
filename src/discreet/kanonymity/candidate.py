"""What methods take and give: a problem, a k and limits; a partition of the rows."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, final

import numpy as np

from discreet.core.certificate import Certificate, Check
from discreet.core.errors import InfeasibleError, InvalidProblemError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from discreet.kanonymity.problem import Problem

__all__ = [
    "Candidate",
    "Interrupted",
    "Limits",
    "Method",
    "audit",
    "labels_of",
    "order_of",
    "require_feasible",
]


@final
@dataclass(frozen=True)
class Limits:
    """When a method should end.

    Parameters
    ----------
    deadline
        Value of :func:`time.monotonic` at which to give what is there; infinite for never.
    gap
        Relative gap at which a method with a bound may stop.
    threads
        Threads of solvers and kernels.
    suppress
        Most rows that may be left out of all classes; methods may use less of it or nothing.
    start
        A partition to start from, for methods that improve one.

    Examples
    --------
    >>> Limits().left
    inf
    >>> Limits.within(60).left > 59
    True
    """

    deadline: float = float("inf")
    gap: float = 0.0
    threads: int = 1
    suppress: int = 0
    start: NDArray[np.int32] | None = field(default=None, compare=False)

    @classmethod
    def within(
        cls, seconds: float | None, *, gap: float = 0.0, start: NDArray[np.int32] | None = None
    ) -> Limits:
        """Count seconds from now; ``None`` for no limit."""
        end = float("inf") if seconds is None else time.monotonic() + seconds
        return cls(end, gap=gap, start=start)

    @property
    def left(self) -> float:
        """Seconds left, not below zero."""
        return max(0.0, self.deadline - time.monotonic())


@final
@dataclass(frozen=True, eq=False)
class Candidate:
    """What a method found. The search audits it and computes its loss anew.

    Parameters
    ----------
    method
        Name of the method.
    labels
        ``(n,)`` classes 0, 1, ...; -1 for suppressed rows.
    lower
        What no k-anonymous partition of the problem without suppression loses less than; 0 where the method proves
        nothing.
    note
        What was done, one sentence, without anything computed from the rows.
    """

    method: str
    labels: NDArray[np.int32]
    lower: float = 0.0
    note: str = ""


@final
class Interrupted(KeyboardInterrupt):
    """Ctrl-C, with what was found by then.

    Parameters
    ----------
    best
        From a method the candidate, from the search what it found, from ``anonymize`` the table; ``None`` for nothing.
    """

    def __init__(self, best: Any) -> None:  # noqa: ANN401 - each caller wraps what the one below it had
        super().__init__()
        self.best = best


class Method(Protocol):
    """A frozen dataclass whose fields are its parameters."""

    def solve(self, problem: Problem, k: int, limits: Limits) -> Candidate:
        """Find a partition into classes of at least k rows."""
        ...


def require_feasible(problem: Problem, k: int) -> None:
    """Refuse what has no answer.

    Raises
    ------
    InvalidProblemError
        When k is not an integer of 1 or more.
    InfeasibleError
        When there are fewer than k rows.
    """
    whole: object = k
    if isinstance(whole, bool) or not isinstance(whole, int) or whole < 1:
        raise InvalidProblemError("k", "an integer of 1 or more", repr(whole))
    if problem.n < k:
        raise InfeasibleError(f"no {k}-anonymous table exists: there are fewer than {k} rows")


def labels_of(order: ArrayLike, sizes: ArrayLike) -> NDArray[np.int32]:
    """Label rows that stand class after class.

    Parameters
    ----------
    order
        All rows, those of the first class first.
    sizes
        Rows in each class.

    Examples
    --------
    >>> labels_of([2, 0, 1, 3], [2, 2]).tolist()
    [0, 1, 0, 1]
    """
    rows, lengths = np.asarray(order, np.int64), np.asarray(sizes, np.int64)
    labels = np.empty(len(rows), dtype=np.int32)
    labels[rows] = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
    return labels


def order_of(problem: Problem, columns: Sequence[int]) -> NDArray[np.int64]:
    """Sort rows by columns, the first one most significant; ties keep their order."""
    return np.lexsort([problem.codes[:, j] for j in reversed(columns)]).astype(np.int64)


def audit(labels: NDArray[np.int32], k: int, *, suppress: int = 0) -> Certificate:
    """Count the classes of a partition that are smaller than k, and the suppressed rows, which belong to none.

    Parameters
    ----------
    labels
        Classes 0, 1, ...; -1 for suppressed rows.
    k
        Least class size.
    suppress
        Most rows that may be suppressed.

    Examples
    --------
    >>> audit(np.array([0, 0, 1], dtype=np.int32), 2).passed
    False
    """
    found = np.asarray(labels)
    sizes = np.bincount(found[found >= 0].astype(np.int64))
    small = int(((sizes > 0) & (sizes < k)).sum())
    excess = max(0, int((found < 0).sum()) - suppress)
    return Certificate(
        (
            Check("classes smaller than k", small, 0, exact=True),
            Check("rows suppressed beyond the limit", excess, 0, exact=True),
        )
    )
