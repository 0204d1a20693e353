"""How long ``import discreet`` takes, beyond the interpreter and beyond NumPy. The design asks for less than 0.25 s.

Times are medians over fresh processes; the least is printed too, since a busy machine only ever adds.
"""

from __future__ import annotations

import json
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"
REPEATS = 15
STATEMENTS = {
    "nothing": "pass",
    "numpy": "import numpy",
    "discreet": "import discreet",
    "discreet, a guarantee": "import discreet; discreet.PureDP",
    "discreet, every name": "from discreet import *",
}


def seconds(statement: str) -> float:
    """Time one fresh interpreter that runs a statement."""
    script = f"import sys; sys.path.insert(0, {str(SOURCE)!r}); {statement}"
    start = time.perf_counter()
    subprocess.run([sys.executable, "-I", "-c", script], check=True)
    return time.perf_counter() - start


def main() -> None:
    """Print a table, and the same as one line of JSON."""
    taken = {
        name: sorted(seconds(text) for _ in range(REPEATS)) for name, text in STATEMENTS.items()
    }
    idle = statistics.median(taken["nothing"])
    for name, runs in taken.items():
        median = statistics.median(runs)
        print(
            f"{name:24} {median:7.3f} s   least {runs[0]:7.3f} s   beyond the interpreter {median - idle:7.3f} s"
        )
    print(
        json.dumps(
            {
                "machine": platform.machine(),
                "python": platform.python_version(),
                "seconds": {name: statistics.median(runs) for name, runs in taken.items()},
            }
        )
    )


if __name__ == "__main__":
    main()
