"""A process that looks at mutants of one kind, in portions; it may be killed at any time, and another one goes on.

``python tests/forger/worker.py KIND`` reads lines ``FIRST LAST`` from standard input and prints a line of JSON for each
mutant. Who started it looks at its memory.
"""
# ruff: noqa: E402 - as in campaign.py

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1])]

from discreet.testing import look
from forger.kinds import kind


def main() -> None:
    made = kind(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        # What is compiled or loaded on first use is no business of the first mutant.
        for number in range(3):
            look(made, number, Path(folder))
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        for line in sys.stdin:
            first, last = map(int, line.split())
            for number in range(first, last):
                seen = look(made, number, Path(folder))
                hole = None if seen.hole is None else [seen.hole.changes, seen.hole.why]
                sys.stdout.write(json.dumps([number, seen.outcome, hole]) + "\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
