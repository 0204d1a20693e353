"""The command line. It is an extra: without it, one line says how to install it."""

from __future__ import annotations

import sys

__all__ = ["main"]

_EXTRA = frozenset({"typer", "rich", "polars", "jinja2", "matplotlib"})


def main() -> None:
    """Run ``discreet`` with the arguments of the process, and exit with its status."""
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
