"""Run the command in this process, and look at what it said and where."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.cli.app import run

if TYPE_CHECKING:
    import pytest


@dataclass(frozen=True)
class Said:
    """What a run gave."""

    status: int
    out: str
    err: str

    @property
    def data(self) -> dict[str, Any]:
        """The JSON object that standard output is, and nothing else."""
        data: dict[str, Any] = json.loads(self.out)
        return data


def say(capsys: pytest.CaptureFixture[str], *arguments: object) -> Said:
    """Run ``discreet`` with some arguments."""
    capsys.readouterr()
    status = run([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    # Only the first run on a machine says so.
    return Said(status, out, err.replace("discreet: compiling, first run only\n", ""))
