"""Split the parts of a table top-down, in threads and within a time limit: something whole first, then a better one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from threading import Event
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.jit import clock
from discreet.kanonymity.arrays import columns_as_arrays

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.kanonymity.candidate import SearchLimits
    from discreet.kanonymity.demand import Wanted
    from discreet.kanonymity.kernels.splitting import Rules, SplitRoom
    from discreet.kanonymity.packed import RowLayout
    from discreet.kanonymity.problem import CodedColumn


@final
@dataclass(frozen=True)
class SplittingTuning:
    """Measured limits of splitting within a time limit, in seconds and rows.

    Parameters
    ----------
    rows_between_clock_reads
        Rows that are looked at between two looks at the clock: about a tenth of a second.
    max_rows_with_four_trials
        Rows up to which many splits are tried.
    reserve_factor
        Safety factor on the estimated seconds for the remaining rows.
    grace_seconds
        Seconds after Ctrl-C, or after a limit, in which what was begun may end.
    strong_seconds_per_fast_second
        Times the seconds of fast splitting that strong splitting takes in most tables: 16 to 140, 30 for Adult
        (2026-11).
    max_trial_rows_in_haste
        Rows of a node up to which splits are tried with greedy runs where there is less time: 20 times, and 1.3
        % more loss (Adult, nine columns, k = 5, 2026-11).
    """

    rows_between_clock_reads: int = 2_000_000
    max_rows_with_four_trials: int = 100_000
    reserve_factor: float = 1.5
    grace_seconds: float = 0.5
    strong_seconds_per_fast_second: float = 60.0
    max_trial_rows_in_haste: int = 2_000


SPLITTING = SplittingTuning()


def rules_for(effort: str, k: int, n: int) -> Rules:
    """Choose how much is tried, by the size of the table.

    Two splits in nodes of up to 5 k rows take the CPU time of all trees of two splits in nodes of 6 k, and lose within
    .8 % of them; 12 k rows take half as long again and lose .3 to 2 % less (eleven tables of 800 to 150,000 rows,
    2026-11).
    """
    from discreet.kanonymity.kernels.splitting import Rules

    if effort == "fast":
        return Rules(k, 2, 5 * k)
    return Rules(k, 4 if n <= SPLITTING.max_rows_with_four_trials else 3, 50_000)


@final
@dataclass(frozen=True, eq=False)
class Rows:
    """Packed rows, which are moved about, and what must hold for their classes.

    Parameters
    ----------
    words
        ``(n, words)`` rows.
    bound
        ``(n,)``: 1 for the first row of each class.
    columns, layout
        What the words hold.
    wanted
        What each class must hold besides k rows; it has scratch space, which is written to.
    """

    words: NDArray[np.int64]
    bound: NDArray[np.uint8]
    columns: Sequence[CodedColumn]
    layout: RowLayout
    wanted: Wanted

    def part(self, begin: int, end: int) -> Rows:
        """Return the rows from `begin` to ``end - 1``, as views of these rows, with scratch space of their own."""
        wanted = self.wanted._replace(tally=self.wanted.tally.copy(), seen=self.wanted.seen.copy())
        return replace(
            self, words=self.words[begin:end], bound=self.bound[begin:end], wanted=wanted
        )


def split_parts(
    rows: Rows,
    parts: Sequence[tuple[int, int]],
    effort: str,
    k: int,
    limits: SearchLimits,
    *,
    whole: int | None = None,
) -> bool:
    """Split parts of a table, and mark the first row of each class.

    Parameters
    ----------
    rows
        All rows; each part is a class until it is split.
    parts
        Where each begins and ends.
    effort
        ``"fast"`` or ``"strong"``. Within a time limit all parts are split fast before more is tried.
    k
        Least size of a class.
    limits
        When to end, and in how many threads it is done.
    whole
        Rows of the whole table, by which it is chosen how much is tried; default: those of `rows`.

    Returns
    -------
    bool
        Whether Ctrl-C ended it.
    """
    stop = Event()
    n = len(rows.words)
    longest_first = sorted(parts, key=lambda part: part[0] - part[1])
    rules, no_paces = rules_for(effort, k, whole or n), [None] * len(parts)
    paces: list[float | None] = [*no_paces]
    if limits.left < np.inf:
        fast = rules_for("fast", k, whole or n)
        paces = _split_in_threads(rows, longest_first, fast, limits, no_paces, stop)
        if effort == "fast" or None in paces or stop.is_set():
            return stop.is_set()
        rows_and_paces = zip(longest_first, paces, strict=True)
        took = sum((end - begin) * (pace or 0.0) for (begin, end), pace in rows_and_paces)
        if SPLITTING.strong_seconds_per_fast_second * took > limits.left * limits.threads:
            rules = rules._replace(
                trial_rows=min(rules.trial_rows, SPLITTING.max_trial_rows_in_haste)
            )
    _split_in_threads(rows, longest_first, rules, limits, paces, stop)
    return stop.is_set()


def _split_in_threads(  # noqa: PLR0917 - the parts of one run
    rows: Rows,
    parts: Sequence[tuple[int, int]],
    rules: Rules,
    limits: SearchLimits,
    paces: Sequence[float | None],
    stop: Event,
) -> list[float | None]:
    """Split parts by the rules, each in its share of the time; give the seconds that each took for a row.

    With a pace, what the fast rules found is kept where nodes would be left.

    `parts` are (begin, end) of rows, `paces` the seconds that a fast run took for a row of each, or ``None``.
    """
    waiting = [sum(end - begin for begin, end in parts)]

    def one(part: tuple[int, int], pace: float | None) -> float | None:
        size = part[1] - part[0]
        mine = replace(limits, deadline=limits.share(size / max(size, waiting[0])))
        waiting[0] -= size
        part_rows = rows.part(*part)
        if pace is None:
            return split_part(part_rows, rules, mine, stop)
        former = part_rows.words.copy(), part_rows.bound.copy()
        new_pace = split_part(part_rows, rules, mine, stop, pace)
        if new_pace is None:
            part_rows.words[:], part_rows.bound[:] = former
        return new_pace

    with ThreadPoolExecutor(limits.threads) as pool:
        splitting = [pool.submit(one, part, pace) for part, pace in zip(parts, paces, strict=True)]
        try:
            wait(splitting)
        except KeyboardInterrupt:
            stop.set()
    new_paces: list[float | None] = []
    for part in splitting:
        try:
            new_paces.append(part.result())
        except KeyboardInterrupt:
            stop.set()
    return new_paces


def split_part(
    rows: Rows,
    rules: Rules,
    limits: SearchLimits,
    stop: Event | None = None,
    pace: float | None = None,
) -> float | None:
    """Split rows, and mark the first row of each class.

    Parameters
    ----------
    rows
        The rows.
    rules
        How much is tried.
    limits
        Within a time limit the largest nodes are split first, so that those which are left as classes in the end are
        the ones that lose least by it.
    stop
        Set where it should end soon; it ends within about a second.
    pace
        Seconds that the fast rules took for a row of the same part. Then nodes are split by the rules as long as there
        is time for the fast ones to split what is left, as they then do.

    Returns
    -------
    float or None
        Seconds for each row; ``None`` where nodes were left.
    """
    work = _Work(rows, rules, stop or Event())
    try:
        began = clock()
        if pace is None and limits.left < np.inf:
            work.largest_first(rules, limits.deadline)
        else:
            work.by_depth(rules, limits, pace or 0.0)
            fast = rules_for("fast", rules.k, len(rows.words))
            work.largest_first(fast, max(clock(), limits.deadline) + SPLITTING.grace_seconds)
        took = clock() - began
    finally:
        finished = work.close()
    return took / max(1, len(rows.words)) if finished else None


@final
class _Work:
    """Nodes of one part that are still to be split."""

    def __init__(self, rows: Rows, rules: Rules, stop: Event) -> None:
        from discreet.kanonymity.kernels.splitting import PackedTable, room_for_rows

        self.rows, self.stop = rows, stop
        arrays = columns_as_arrays(rows.columns)
        self.table = PackedTable(
            arrays, rows.layout, rows.wanted, rows.words, np.empty_like(rows.words), rows.bound
        )
        n = len(rows.words)
        self.room: SplitRoom = room_for_rows(arrays, rows.wanted, n, rules)
        self.room.stack[0] = 0, n
        self.room.numbers[0] = 1

    @property
    def nodes(self) -> NDArray[np.int64]:
        """Where nodes on the stack begin and end."""
        return self.room.stack[: self.room.numbers[0]]

    @property
    def aside(self) -> NDArray[np.int64]:
        """Where those begin and end that were put aside."""
        return self.room.stack[len(self.room.stack) - self.room.numbers[1] :]

    def split(self, rules: Rules, least: int) -> None:
        """Split nodes of at least so many rows, for about a tenth of a second."""
        from discreet.kanonymity.kernels.top_down import split_nodes

        split_nodes(self.table, rules, self.room, least, SPLITTING.rows_between_clock_reads)

    def by_depth(self, rules: Rules, limits: SearchLimits, pace: float) -> None:
        """Split nodes, those that lie in the cache first, while there is time for the fast rules to split what is left.

        `pace` is the seconds that the fast rules take for a row.
        """
        while len(self.nodes) and not self.stop.is_set():
            if limits.left <= SPLITTING.reserve_factor * pace * int(np.diff(self.nodes).sum()):
                return
            self.split(rules, 0)

    def largest_first(self, rules: Rules, end: float) -> None:
        """Split the largest nodes first, by sizes that fall fourfold, in place.

        Ends at time `end` of the clock, or soon after a stop.
        """
        least = len(self.rows.words)
        while len(self.nodes) + len(self.aside):
            least = 0 if least <= rules.trial_rows else least // 4
            again, first = self.aside.copy(), len(self.nodes)
            self.room.numbers[:] = first + len(again), 0
            self.room.stack[first : first + len(again)] = again
            while len(self.nodes):
                if clock() >= end:
                    return
                self.split(rules, least)
                if self.stop.is_set():
                    end = min(end, clock() + SPLITTING.grace_seconds)

    def close(self) -> bool:
        """Mark the remaining nodes as classes; return whether there were none."""
        left = [*self.nodes.tolist(), *self.aside.tolist()]
        for begin, stop in left:
            # Marks within it are of splits that were tried.
            self.rows.bound[begin:stop] = 0
            self.rows.bound[begin] = 1
        return not left
