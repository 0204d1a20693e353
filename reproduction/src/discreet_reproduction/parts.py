"""Parts of a long run, kept in a file as they end, so that the same command continues after a stop."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

T = TypeVar("T")


def processor_seconds() -> float:
    """Return the processor seconds of this process and of its ended children."""
    return sum(os.times()[:4])


@final
class Parts:
    """Results of the parts of one run, in a file with one line of JSON each.

    Parameters
    ----------
    path
        The file. It is read if its first line holds the same `settings`, and replaced otherwise.
    settings
        Everything that a result depends on, as plain values.

    Attributes
    ----------
    resumed
        Number of parts that the file held.
    resumed_seconds
        Processor seconds that these parts took.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     first = Parts(Path(folder) / "parts", {"seed": 0}).once("a", lambda: [1, 2])
    ...     again = Parts(Path(folder) / "parts", {"seed": 0}).once("a", lambda: [3])
    ...     other = Parts(Path(folder) / "parts", {"seed": 1}).once("a", lambda: [3])
    >>> first, again, other
    ([1, 2], [1, 2], [3])
    """

    def __init__(self, path: str | os.PathLike[str], settings: Mapping[str, Any]) -> None:
        self.path = Path(path)
        self._head = json.dumps({"settings": dict(settings)}, sort_keys=True)
        self._results: dict[str, tuple[Any, float]] = {}
        lines = self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else []
        if lines and lines[0] == self._head:
            for line in lines[1:]:
                name, result, seconds = json.loads(line)
                self._results[name] = result, seconds
        self.resumed = len(self._results)
        self.resumed_seconds = sum(seconds for _, seconds in self._results.values())

    def once(self, name: str, compute: Callable[[], T]) -> T:
        """Return the result of a part, from the file or computed and written to it.

        Parameters
        ----------
        name
            Of the part, different for each.
        compute
            A function without arguments; its result must be plain values that JSON holds.
        """
        if name not in self._results:
            before = processor_seconds()
            computed = compute()
            self._results[name] = computed, round(processor_seconds() - before, 3)
            self._write()
        result: T = self._results[name][0]
        return result

    def remove(self) -> None:
        """Delete the file."""
        self.path.unlink(missing_ok=True)

    def _write(self) -> None:
        """Replace the file as a whole: a stop in between leaves the former one."""
        parts = (json.dumps([name, *part]) for name, part in self._results.items())
        lines = [self._head, *parts]
        fresh = self.path.with_name(f"{self.path.name}.new")
        fresh.write_text("\n".join(lines) + "\n", encoding="utf-8")
        fresh.replace(self.path)
