"""A process that runs commands on broken files, in portions: :mod:`forger.worker` for the canary at the door."""

# ruff: noqa: E402 - as in campaign.py

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1])]

from forger.doors import prepared, tried
from forger.limits import MOST_OF_A_COMMAND
from forger.worker import watched


def main() -> None:
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        prepared(Path(folder))
        for number in range(3):
            tried(number)
        out.write("ready\n")
        out.flush()
        for line in sys.stdin:
            first, last = map(int, line.split())
            for number in range(first, last):
                seen = watched(tried, number, MOST_OF_A_COMMAND)
                hole = None if seen.hole is None else [seen.hole.changes, seen.hole.why]
                out.write(json.dumps([number, seen.outcome, hole]) + "\n")
                out.flush()


if __name__ == "__main__":
    main()
