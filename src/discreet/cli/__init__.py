"""The command line. It is an extra: without it, one line says how to install it."""

from __future__ import annotations

import os
import sys

__all__ = ["main"]

_EXTRA = frozenset({"typer", "rich", "polars", "jinja2", "matplotlib"})


def main() -> None:
    """Run ``discreet`` with the arguments of the process, and exit with its status."""
    # Matrices are small, and threads of BLAS wait for each other in loops: on two shared cores the anchored program
    # for 900 secrets took 7 to 45 CPU seconds with them, 1.8 without. It counts only before NumPy is loaded.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        from discreet.cli.app import run
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in _EXTRA:
            raise
        sys.stderr.write(
            f'discreet: {missing} is not installed; the command line needs: pip install "discreet[cli]"\n'
        )
        sys.exit(2)
    sys.exit(run(sys.argv[1:]))
