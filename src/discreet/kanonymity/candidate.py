"""What methods take and give, a problem, a k and limits and a partition of the rows; and what they share."""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Real
from typing import TYPE_CHECKING, Any, Protocol, final

import numpy as np

from discreet.core.certificate import Certificate, Check
from discreet.core.errors import InfeasibleError, InvalidProblemError
from discreet.core.jit import clock
from discreet.core.options import positive_seconds, whole_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from discreet.kanonymity.problem import Problem

EFFORTS = ("fast", "strong")
"""How much a search tries."""


@final
@dataclass(frozen=True)
class SearchLimits:
    """When a method should end.

    Parameters
    ----------
    deadline
        Value of :func:`~discreet.core.jit.clock` at which to give what is there; infinite for never.
    gap
        Relative gap at which a method with a bound may stop.
    threads
        Threads of solvers and kernels.
    suppress
        Most rows that may be left out of all classes; methods may use less of it or nothing.
    start
        A partition to start from, for methods that improve one.
    clock_interval
        Seconds of work between two reads of the clock, and so between Ctrl-C and its effect.

    Examples
    --------
    >>> SearchLimits().left
    inf
    >>> SearchLimits.within(60).left > 59
    True
    """

    deadline: float = float("inf")
    gap: float = 0.0
    threads: int = 1
    suppress: int = 0
    start: NDArray[np.int32] | None = field(default=None, compare=False)
    clock_interval: float = 0.1

    @classmethod
    def within(
        cls, seconds: float | None, *, gap: float = 0.0, start: NDArray[np.int32] | None = None
    ) -> SearchLimits:
        """Return limits that end `seconds` from now, never for ``None``.

        `gap` and `start`, a partition ``(n,)``, as in the class.
        """
        end = float("inf") if seconds is None else clock() + seconds
        return cls(end, gap=gap, start=start)

    @property
    def left(self) -> float:
        """Seconds until the deadline, 0 or more; infinite without a limit."""
        return max(0.0, self.deadline - clock())

    @property
    def seconds(self) -> float | None:
        """Seconds until the deadline as solvers take them: ``None`` without a limit."""
        return None if self.deadline == float("inf") else self.left

    def share(self, part: float) -> float:
        """Return the deadline for a part of the remaining work, if all threads work.

        The value of the clock at now plus `part`, from 0 to 1, of the remaining seconds times `threads`, but not
        later than `deadline`; infinite without a limit.

        Examples
        --------
        >>> SearchLimits().share(0.5)
        inf
        """
        return min(self.deadline, clock() + part * self.threads * self.left)


def portions(total: int, limits: SearchLimits, *, first: int = 1) -> Iterator[tuple[int, int]]:
    """Divide work into portions of about ``limits.clock_interval`` seconds, until all is done or the time is over.

    Kernels are called on a portion at a time, since the interpreter hears Ctrl-C between two calls alone. What they
    give must not depend on where portions end.

    Parameters
    ----------
    total
        Pieces of work.
    limits
        When to end; the first portion is always given.
    first
        Pieces in the first portion, before it is known how long they take.

    Yields
    ------
    begin, stop : int
        The pieces from `begin` to ``stop - 1``.

    Examples
    --------
    >>> list(portions(3, SearchLimits.within(0)))
    [(0, 1)]
    >>> list(portions(3, SearchLimits(), first=9))
    [(0, 3)]
    """
    begin, step = 0, max(1, first)
    while begin < total:
        stop = min(begin + step, total)
        started = clock()
        yield begin, stop
        took = max(clock() - started, 1e-6)
        begin, step = stop, max(1, min(4 * step, int(step * limits.clock_interval / took)))
        if limits.left <= 0:
            return


@final
@dataclass(frozen=True, eq=False)
class CandidateClasses:
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
    """

    method: str
    labels: NDArray[np.int32]
    lower: float = 0.0


@final
class SearchInterrupted(KeyboardInterrupt):
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

    def solve(self, problem: Problem, k: int, limits: SearchLimits) -> CandidateClasses:
        """Find a partition into classes of at least k rows."""
        ...


def check_search(
    time_limit: float | None,
    suppress: float,
    threads: int,
    effort: str | None,
) -> None:
    """Raise InvalidProblemError for a share, time limit, number of threads or effort out of range.

    `suppress` is a share in [0, 1), booleans refused; `effort` and `time_limit` may be ``None``.
    """
    positive_seconds(time_limit)
    whole_number(threads, "threads", "at least one thread")
    share: object = suppress
    if isinstance(share, bool) or not isinstance(share, Real):
        raise InvalidProblemError("suppress", "a share in [0, 1)", type(suppress).__name__)
    if not 0 <= suppress < 1:
        raise InvalidProblemError("suppress", "a share in [0, 1)", suppress)
    if effort is not None and effort not in EFFORTS:
        raise InvalidProblemError("effort", f"one of {', '.join(EFFORTS)}", repr(effort))


def require_feasible(n: int, k: int) -> None:
    """Raise if no table of n rows can be k-anonymous.

    Raises
    ------
    InvalidProblemError
        When k is not an integer of 1 or more.
    InfeasibleError
        When there are fewer than k rows.
    """
    value: object = k
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidProblemError("k", "an integer of 1 or more", repr(value))
    if n < k:
        raise InfeasibleError(f"no {k}-anonymous table exists with fewer than {k} rows; lower k")


def labels_of(order: ArrayLike, sizes: ArrayLike) -> NDArray[np.int32]:
    """Label rows that stand class after class: int32 ``(n,)``, from 0.

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


def without_gaps(labels: ArrayLike) -> NDArray[np.int64]:
    """Return the labels renumbered from 0 without gaps, in the order of their values: ``(n,)`` int64.

    Labels are integers, however large. A sort: ``O(n log n)`` time, ``O(n)`` memory.

    Examples
    --------
    >>> without_gaps([5, 2, 5]).tolist()
    [1, 0, 1]
    """
    return np.unique(np.asarray(labels, np.int64), return_inverse=True)[1].astype(np.int64)


def order_of(problem: Problem, columns: Sequence[int]) -> NDArray[np.int64]:
    """Return the permutation ``(n,)`` int64 that sorts rows by columns, the first most significant.

    Ties keep their order.

    `columns` are column numbers, at least one. A sort for each column.
    """
    keys = [problem.narrow(j) for j in reversed(columns)]
    return np.lexsort(keys).astype(np.int64)


def assign_leftovers(
    problem: Problem, labels: NDArray[np.int32], rows: Iterable[int], *, rule: str
) -> NDArray[np.int32]:
    """Add rows that are left over, one after another, each to the class where it costs least.

    ``labels`` is ``(n,)`` and not changed. Each row costs ``O(classes m)``, and for a set column ``O(n)``.

    Parameters
    ----------
    problem
        The problem.
    labels
        Classes; -1 for the rows that are left over.
    rows
        Those, in the order in which they choose.
    rule
        ``"range"``: the class whose cells are least wide with the row in it, as in Table 7 and the released code of
        [LS20]_. ``"increase"``: the class whose loss grows least, as its text says. Ties go to the first class.

    Returns
    -------
    ndarray
        Labels without -1 for these rows.
    """
    labels = labels.copy()
    labelled = labels >= 0
    boxes = problem.boxes(np.where(labelled, labels, -1))
    sizes, lo, hi = boxes.sizes.copy(), boxes.lo.copy(), boxes.hi.copy()
    counts, costs = boxes.counts.copy(), boxes.costs.copy()
    for row in rows:
        codes = problem.codes[row]
        wide = np.empty_like(costs)
        has = np.ones(costs.shape, dtype=bool)
        for j, column in enumerate(problem.columns):
            if column.is_set:
                has[:, j] = False
                has[labels[(problem.codes[:, j] == codes[j]) & (labels >= 0)], j] = True
                wide[:, j] = column.set_cost(counts[:, j] + ~has[:, j])
            else:
                low, high = np.minimum(lo[:, j], codes[j]), np.maximum(hi[:, j], codes[j])
                wide[:, j] = column.span_cost(low, high)
        widths = wide.sum(axis=1)
        score = widths if rule == "range" else (sizes + 1) * widths - sizes * costs.sum(axis=1)
        best = int(np.argmin(score))
        labels[row] = best
        sizes[best] += 1
        costs[best], counts[best] = wide[best], counts[best] + ~has[best]
        lo[best], hi[best] = np.minimum(lo[best], codes), np.maximum(hi[best], codes)
    return labels


def audit(labels: NDArray[np.int32], k: int, *, suppress: int = 0) -> Certificate:
    """Count the classes of a partition that are smaller than k, and the suppressed rows, which belong to none.

    Returns two exact checks: classes smaller than k, and suppressed rows beyond `suppress`. Failures are in the
    certificate, not raised. Linear; numbers of classes without rows are not counted.

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
    classes = np.asarray(labels)
    sizes = np.bincount(classes[classes >= 0].astype(np.int64))
    small = int(((sizes > 0) & (sizes < k)).sum())
    excess = max(0, int((classes < 0).sum()) - suppress)
    return Certificate(
        (
            Check("classes smaller than k", small, 0, exact=True),
            Check("rows suppressed beyond the limit", excess, 0, exact=True),
        )
    )
