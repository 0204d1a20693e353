"""Time limits: by how much a search overruns its own, and how long Ctrl-C takes to end one.

A limit is for the search. It counts from after compilation, and may be overrun by a tenth and two seconds on a machine
that does nothing else; Ctrl-C ends a search within two. Asserted, for each row: that, the certificate, and a loss that
is no more than that of the plainest method. Where the machine is not free, ``--slack 3`` allows three times as much.

Each row is one function of :data:`ROWS`; a row of another mechanism is one function more.

    python benchmarks/time_limits.py [--seconds 5] [--rows NAME ...] [--slack 1]
"""

from __future__ import annotations

import argparse
import os
import signal
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl
from run import machine

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.core.outcome import Anonymization

SHARE, MORE = 0.1, 2.0
"""By how much a limit may be overrun: a part of it, and seconds."""

CTRL_C = 2.0
"""Seconds that Ctrl-C may take."""

K = 5


@dataclass(frozen=True)
class Row:
    """What one search took: seconds allowed and taken, those of Ctrl-C if it was pressed, and what was found."""

    limit: float
    took: float
    after_ctrl_c: float | None
    objective: float
    lower: float
    certified: bool
    at_most: float
    """What the plainest method reaches."""

    @property
    def allowed(self) -> float:
        """Seconds that it may take."""
        return CTRL_C if self.after_ctrl_c is not None else self.limit * (1 + SHARE) + MORE


class Pressed:
    """Press Ctrl-C some seconds after a search has told of its first step."""

    def __init__(self, after: float) -> None:
        self.after = after
        self.at = float("inf")
        self._timer: threading.Timer | None = None

    def __call__(self, step: object) -> None:
        """Be told of a step."""
        del step
        if self._timer is None:
            self._timer = threading.Timer(self.after, self._press)
            self._timer.start()

    def _press(self) -> None:
        self.at = time.monotonic()
        os.kill(os.getpid(), signal.SIGINT)


def anonymize_row(rows: int, *, press: bool = False) -> Callable[[float], Row]:
    """Make a row: synthetic people of a census, eight numeric columns, k = 5."""

    def measure(seconds: float) -> Row:
        from discreet.core.guarantee import KAnonymity
        from discreet.datasets.microdata import made_people
        from discreet.kanonymity import anonymize
        from discreet.kanonymity.candidate import SearchInterrupted, SearchLimits
        from discreet.kanonymity.cells import read_problem
        from discreet.kanonymity.methods.initial import Initial

        table = pl.DataFrame(made_people(rows, seed=1))
        promise = KAnonymity(K, tuple(table.columns))
        problem = read_problem(table, table.columns, None, "ncp")
        plain = problem.loss_of(Initial().solve(problem, K, SearchLimits()).labels)
        # Compiles, so that the seconds below are those of the search.
        anonymize(table.head(1000), promise, time_limit=0.1)
        pressed = Pressed(1.0)
        made: Anonymization[Any, Any]
        try:
            made = anonymize(
                table,
                promise,
                # With Ctrl-C, a limit that it comes long before.
                time_limit=1000 * seconds if press else seconds,
                on_progress=pressed if press else None,
            )
        except SearchInterrupted as interrupt:
            made = interrupt.best
        ended = time.monotonic() - made.diagnostics.seconds_after
        found = made.diagnostics
        return Row(
            seconds,
            found.seconds,
            max(0.0, ended - pressed.at) if press else None,
            found.information_loss,
            found.lower,
            made.certificate.passed,
            plain,
        )

    return measure


ROWS: dict[str, Callable[[float], Row]] = {
    "anonymize-200000": anonymize_row(200_000),
    "anonymize-200000-ctrl-c": anonymize_row(200_000, press=True),
    "anonymize-2000000": anonymize_row(2_000_000),
    "anonymize-2000000-ctrl-c": anonymize_row(2_000_000, press=True),
}
"""Names of rows, and what measures them under a limit in seconds."""


def main() -> None:
    """Measure the rows and print them; fail where one overran or found what it should not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--rows", nargs="*", choices=list(ROWS), default=list(ROWS))
    parser.add_argument("--slack", type=float, default=1.0)
    options = parser.parse_args()
    print(machine())
    print(
        f"{'search':<28}{'limit':>8}{'took':>8}{'Ctrl-C':>8}{'allowed':>9}{'objective':>16}{'at least':>14}"
    )
    for name in options.rows:
        row = ROWS[name](options.seconds)
        limit = "" if row.after_ctrl_c is not None else f"{row.limit:.1f}"
        pressed = "" if row.after_ctrl_c is None else f"{row.after_ctrl_c:.2f}"
        print(
            f"{name:<28}{limit:>8}{row.took:>8.2f}{pressed:>8}{row.allowed:>9.2f}"
            f"{row.objective:>16.1f}{row.lower:>14.1f}",
            flush=True,
        )
        assert row.certified, name
        assert row.lower <= row.objective <= row.at_most, name
        spent = row.took if row.after_ctrl_c is None else row.after_ctrl_c
        assert spent <= options.slack * row.allowed, name


if __name__ == "__main__":
    main()
