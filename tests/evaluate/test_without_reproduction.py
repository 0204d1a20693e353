"""Judges and the demo in a process without the other distribution: they work, and say how to install what moved."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import warm
from discreet.core.moved import INSTALL
from discreet.evaluate.registry import PUBLISHED_AUDITS

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

BLOCKED = (
    "import sys\n"
    "class Blocked:\n"
    "    def find_spec(self, name, path=None, target=None):\n"
    "        if name.partition('.')[0] == 'discreet_reproduction':\n"
    "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
    "sys.meta_path.insert(0, Blocked())\n"
    "assert 'discreet_reproduction' not in sys.modules\n"
)
"""A process that begins so has no `discreet_reproduction`."""
RUN = "from discreet.cli.app import run\nsys.exit(run(sys.argv[1:]))\n"
EACH = """
import io, json
from contextlib import redirect_stderr, redirect_stdout
from discreet.cli.app import run
for arguments in json.loads(sys.argv[1]):
    with redirect_stdout(io.StringIO()) as text, redirect_stderr(io.StringIO()) as message:
        status = run(arguments)
    print(json.dumps([status, text.getvalue(), message.getvalue()]))
"""


def blocked(code: str, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run code in a process without the distribution."""
    return warm.run(*arguments, code=BLOCKED + code, cwd=folder)


def told(folder: Path, asked: list[tuple[str, ...]]) -> list[tuple[int, str, str]]:
    """Run commands one after the other in such a process; return their statuses and texts."""
    done = blocked(EACH, json.dumps(asked), folder=folder)
    assert done.returncode == 0, done.stderr
    answers = [tuple(json.loads(line)) for line in done.stdout.splitlines()]
    assert len(answers) == len(asked)
    return answers


def test_published_methods_and_the_published_mode_say_how_to_install_them(tmp_path: Path) -> None:
    asked: list[tuple[str, ...]] = [
        ("audit", target, "--method", method, *claim)
        for target, claim in {
            "hierarchy": ("--epsilon", "1"),
            "kanonymity": ("-k", "3"),
            "lrgeo": ("--epsilon", "1"),
            "metricdp": ("--epsilon", "1"),
            "submodular": ("--epsilon", "1"),
        }.items()
        for method in PUBLISHED_AUDITS.get(target, {"m-c-ch": ""})
    ]
    asked.append(("attack", "lrgeo", "--mode", "published"))
    assert len(asked) == 11
    for arguments, (status, _, message) in zip(asked, told(tmp_path, asked), strict=True):
        option, name = arguments[2:4]
        assert status == 2, arguments
        assert message.startswith(f"discreet: {option}: expected the distribution that has "), (
            message
        )
        assert INSTALL in message
        assert f"'{name}', which is not installed" in message


def test_judges_work_without_the_distribution(tmp_path: Path) -> None:
    asked: list[tuple[str, ...]] = [
        ("audit", "hierarchy", "--method", "m-c-dp", "--epsilon", "1"),
        ("audit", "kanonymity", "-k", "3"),
        ("audit", "lrgeo", "--epsilon", "1"),
        ("audit", "metricdp", "--epsilon", "1"),
        ("audit", "submodular", "--epsilon", "1", "--method", "permute-and-flip"),
        ("audit", "--help"),
        ("attack", "lrgeo", "--mode", "sound", "--trials", "8"),
        ("attack", "metricdp", "--epsilon", "1", "--trials", "40"),
        ("demo", "--help"),
    ]
    for arguments, (status, text, message) in zip(asked, told(tmp_path, asked), strict=True):
        assert status == 0, (arguments, message)
        assert text, arguments


@pytest.mark.slow
def test_the_demo_works_without_the_distribution(tmp_path: Path) -> None:
    done = blocked(RUN, "demo", "-o", "demo", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "demo" / "index.html").read_text(encoding="utf-8")
    assert "Attacked: this service" in page
