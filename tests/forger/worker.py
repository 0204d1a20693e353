"""A process that looks at mutants of one kind, in portions; it may be killed at any time, and another one goes on.

``python tests/forger/worker.py KIND`` reads lines ``FIRST LAST`` from standard input and prints a line of JSON for each
mutant. A mutant that takes more memory than it may is a hole; who started the process ends it where that does not stop.
"""
# ruff: noqa: E402 - as in campaign.py

from __future__ import annotations

import json
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

sys.path[:0] = [str(Path(__file__).parents[1])]

from forger.engine import Hole, Looked, look
from forger.kinds import kind
from forger.limits import MOST_OF_A_MUTANT, Watch

if TYPE_CHECKING:
    from collections.abc import Callable

    from forger.engine import Format


def watched(seen_at: Callable[[int], Looked], number: int, most: int) -> Looked:
    """Look at a mutant, and say so where it took more bytes than it may."""
    watch = Watch()
    seen = seen_at(number)
    taken = watch.taken()
    if taken <= most:
        return seen
    changes = ("see its number",) if seen.hole is None else seen.hole.changes
    why = f"it takes {taken >> 20} MB, and {most >> 20} are allowed"
    return Looked(number, "hole", Hole(number, changes, why))


def _looked(made: Format, folder: Path, number: int) -> Looked:
    return look(made, number, folder)


def main() -> None:
    made = kind(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        # What is compiled or loaded on first use is no business of the first mutant.
        seen_at = partial(_looked, made, Path(folder))
        for number in range(3):
            seen_at(number)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        for line in sys.stdin:
            first, last = map(int, line.split())
            for number in range(first, last):
                seen = watched(seen_at, number, MOST_OF_A_MUTANT)
                hole = None if seen.hole is None else [seen.hole.changes, seen.hole.why]
                sys.stdout.write(json.dumps([number, seen.outcome, hole]) + "\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
