"""How much memory a piece of work takes at its peak, solvers written in other languages included."""

from __future__ import annotations

from pathlib import Path
from typing import final

__all__ = ["PeakMemory"]

_STATUS = Path("/proc/self/status")
_RESET = Path("/proc/self/clear_refs")


@final
class PeakMemory:
    """Resident memory that the process needed at most since this was made, beyond what it held then.

    Linux keeps a high-water mark that can be set back; elsewhere nothing is measured, and :attr:`extra` is ``None``.

    Examples
    --------
    >>> peak = PeakMemory()
    >>> peak.extra is None or peak.extra >= 0
    True
    """

    def __init__(self) -> None:
        self._before: int | None = None
        try:
            _RESET.write_text("5", encoding="ascii")
        except OSError:
            # A mark that cannot be set back would tell of earlier work.
            return
        self._before = _read("VmRSS")

    @property
    def extra(self) -> int | None:
        """Bytes, or ``None`` where the system does not say."""
        peak = _read("VmHWM")
        if self._before is None or peak is None:
            return None
        return max(0, peak - self._before)


def _read(name: str) -> int | None:
    """Read one line of the kernel's account of this process, in bytes."""
    try:
        text = _STATUS.read_text(encoding="ascii")
    except OSError:
        return None
    for line in text.splitlines():
        field, _, value = line.partition(":")
        if field == name:
            return int(value.split()[0]) * 1024
    return None
