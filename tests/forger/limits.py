"""How much memory a mutant or a command took at its worst, in this process, as the system counts it.

A look from outside misses what is taken and given back between two looks; the high-water mark of the process does not.
It is set back before each mutant, so that what earlier ones left in caches counts for none.
"""

from __future__ import annotations

from pathlib import Path

MOST_OF_A_MUTANT = 1 << 30
MOST_OF_A_COMMAND = 2 << 30
"""Bytes, beyond what the process had before."""

STATUS, MARKS = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def _stated(name: str) -> int:
    """Read a number of kilobytes from what the system says of this process."""
    lines = STATUS.read_text(encoding="ascii").splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


class Watch:
    """From here on: how many bytes more than now the process had at its worst; 0 where the system does not say."""

    def __init__(self) -> None:
        self._before: int | None = None
        if MARKS.exists():
            # 5 sets the high-water mark back to what is resident now.
            MARKS.write_text("5", encoding="ascii")
            self._before = _stated("VmRSS")

    def taken(self) -> int:
        """Give the bytes."""
        return 0 if self._before is None else max(0, _stated("VmHWM") - self._before)
