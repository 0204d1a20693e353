"""Tasks that wait, fail or end at once, for jobs in processes of their own."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from discreet.core.errors import InvalidProblemError


@dataclass(frozen=True)
class Waits:
    """Waits until it is asked to stop."""

    seconds: float = 100.0

    def run(self, tell: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
        """Say that it waits, and wait."""
        try:
            tell({"text": "waiting"})
            time.sleep(self.seconds)
        except KeyboardInterrupt:
            return {"stopped": True}
        return {"stopped": False}


@dataclass(frozen=True)
class Breaks:
    """Fails with a value in its words."""

    seconds: float = 1.0

    def run(self, tell: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
        """Fail."""
        raise ValueError("age 47")


@dataclass(frozen=True)
class Dies:
    """Ends its process."""

    seconds: float = 1.0

    def run(self, tell: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
        """End."""
        os._exit(1)


class Panic(BaseException):
    """What a library in Rust raises is no ``Exception``."""


@dataclass(frozen=True)
class Panics:
    """Panics with a value in its words."""

    seconds: float = 1.0

    def run(self, tell: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
        """Panic."""
        raise Panic("age 47")


@dataclass(frozen=True)
class Pays:
    """Reports how far a charge came, and fails: by a refusal, by another error, or with its process."""

    stage: str
    end: str
    seconds: float = 1.0

    def run(self, tell: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
        """Report, and fail."""
        for stage in ("begun", "made")[: ("", "begun", "made").index(self.stage)]:
            tell({"text": stage, "charge": stage})
        if self.end == "refused":
            raise InvalidProblemError("rows", "others", "these")
        if self.end == "broken":
            raise ValueError("age 47")
        os._exit(1)
