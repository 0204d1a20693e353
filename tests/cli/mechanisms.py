"""Files of mechanisms for every point of a box, and who reads them: the command, the stand-alone program, the page."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import noises
from cli.commands import say
from node import NODE, Verifier

if TYPE_CHECKING:
    import pytest

PROGRAM = Path(__file__).parents[2] / "verify_standalone.py"


def alone(path: Path) -> subprocess.CompletedProcess[str]:
    """Ask the stand-alone program, in a Python without packages."""
    command = [sys.executable, "-I", "-S", str(PROGRAM), str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def written(parts: dict[str, Any], folder: Path) -> Path:
    path = folder / "a.mechanism"
    path.write_bytes(noises.sealed(parts))
    return path


def status_of_the_page(path: Path, otherwise: int) -> int:
    """Ask the page, where there is a Node."""
    if NODE is None:
        return otherwise
    with Verifier() as third:
        status: int = third.judge(path)["status"]
    return status


def refused_by_all(
    path: Path, capsys: pytest.CaptureFixture[str], found: str, printed: str
) -> None:
    """See that all refuse a file that is whole for one reason, which the library and the other programs name."""
    told = say(capsys, "verify", path, "--json")
    assert told.status == 1
    assert found in [check["name"] for check in told.data["checks"] if not check["passed"]]
    # It is whole, and says of itself what it claims; only its checks fail.
    assert say(capsys, "info", path).status == 0
    other = alone(path)
    assert other.returncode == 1
    assert f"FAILED       {printed}" in other.stdout
    if NODE is not None:
        with Verifier() as third:
            said = third.judge(path)
        assert said["status"] == 1
        assert printed in [claim for claim, wrong, _ in said["checks"] if wrong]
