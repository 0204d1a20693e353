"""Schemathesis against the description that the server gives of itself, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from discreet.web import Limits
from service.running import in_thread, sound_app

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.peers

CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,"
    "response_schema_conformance,negative_data_rejection,unsupported_method"
)


def python_with_schemathesis() -> str:
    """The interpreter that has the group `peers`: this one, or the one that DISCREET_PEERS names."""
    python = os.environ.get("DISCREET_PEERS", sys.executable)
    done = subprocess.run([python, "-c", "import schemathesis"], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("schemathesis is not installed; install the group `peers`")
    return python


def test_the_server_does_what_it_says_of_itself(tmp_path: Path) -> None:
    python = python_with_schemathesis()
    app = sound_app(limits=Limits(burst=10**6))
    with in_thread(app) as url:
        command = [python, "-m", "schemathesis.cli", "run", f"{url}/openapi.json"]
        options = [
            "--checks",
            CHECKS,
            "--max-examples",
            "20",
            "--phases",
            "examples,coverage,fuzzing",
        ]
        done = subprocess.run(
            [*command, *options, "--no-color"],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            timeout=600,
        )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert "tested" in done.stdout.lower()
