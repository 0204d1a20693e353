"""What machines do: loops of links, names in other encodings, pipes, little memory, folders that cannot be written."""

from __future__ import annotations

import os
import re
import resource
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import warm
from warm import COMMAND

ROOT = Path(__file__).parents[2]
FILES = ROOT / "docs" / "files"
STRANGE = "na\udcffme"
"""A name with a byte that is no UTF-8, as Python spells it."""


def run(
    folder: Path, *line: str, memory: int = 0, umask: int = -1
) -> subprocess.CompletedProcess[str]:
    if not memory and umask < 0:
        return warm.run(*line, cwd=folder)

    def limit() -> None:
        if memory:
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        if umask >= 0:
            os.umask(umask)

    return subprocess.run(
        [*COMMAND, *line],
        capture_output=True,
        text=True,
        cwd=folder,
        env=warm.WHERE,
        preexec_fn=limit,
        check=False,
        timeout=300,
    )


def reason(done: subprocess.CompletedProcess[str]) -> str:
    """Give the one line that says why a command ended, without what a slow machine shows: that it runs, and how far."""
    on_its_way = re.compile(r"discreet: (\w+ is running; Ctrl-C ends it|[\d.e-]+ s, \w+)")
    lines = [line for line in done.stderr.splitlines() if not on_its_way.fullmatch(line)]
    assert len(lines) == 1, done.stderr
    return lines[0]


SELECT = ["--epsilon", "1", "--neighbors", "add-remove-one"]


@pytest.mark.parametrize(
    "line",
    [
        ["verify", "loop"],
        ["info", "loop"],
        ["anonymize", str(FILES / "patients.csv"), "-k", "5", "--quasi", "age", "-o", "loop"],
        ["budget", "show", "loop"],
        ["serve", "--mechanism", "loop"],
        ["select", "--coverage", "loop", "--matroid", "uniform:1", "--candidates", "c", *SELECT],
        ["select", "--coverage", "reach.csv", "--matroid", "partition:loop", *SELECT],
    ],
)
def test_a_loop_of_links_is_bad_input(tmp_path: Path, line: list[str]) -> None:
    (tmp_path / "loop").symlink_to("loop")
    done = run(tmp_path, *line)
    assert done.returncode == 2
    assert "loop" in reason(done)


@pytest.mark.parametrize(
    "line",
    [
        ["anonymize", f"{STRANGE}.csv", "-k", "5", "--quasi", "age", "-o", "out.csv"],
        ["anonymize", str(FILES / "patients.csv"), "-k", "5", f"--output={STRANGE}.csv"],
        ["select", "--coverage", f"{STRANGE}.csv", "--matroid", "uniform:1", *SELECT],
    ],
)
def test_a_name_that_is_no_utf8_is_refused_before_anything(tmp_path: Path, line: list[str]) -> None:
    shutil.copy(FILES / "patients.csv", tmp_path / f"{STRANGE}.csv")
    done = run(tmp_path, *line)
    assert done.returncode == 2
    assert "a path: expected a name in UTF-8; rename the file, got '" in reason(done)


def test_the_verifier_that_stands_alone_takes_no_pipe_and_no_device(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.channel")
    for name in ("pipe.channel", "/dev/zero"):
        done = subprocess.run(
            [sys.executable, str(ROOT / "verify_standalone.py"), name],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            check=False,
            timeout=30,
        )
        assert done.returncode == 2
        assert "not a regular file" in done.stderr
        assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("megabytes", [300, 400])
def test_a_library_for_which_there_is_no_memory_is_no_internal_error(
    tmp_path: Path, megabytes: int
) -> None:
    line = "design --grid 5x5 --cell 1 --unit km --epsilon 2 --loss euclidean -o c.channel"
    done = run(tmp_path, *line.split(), memory=megabytes << 20)
    assert done.returncode == 70
    assert "there was not enough memory" in reason(done)


def test_a_home_that_cannot_be_written_stops_nothing_and_is_not_spoken_of(tmp_path: Path) -> None:
    code = "from discreet.cli.app import run;run(['info', 'none']); import matplotlib.pyplot"
    clean = {k: v for k, v in os.environ.items() if k not in {"MPLCONFIGDIR", "XDG_CACHE_HOME"}}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**clean, "PYTHONPATH": str(ROOT / "src"), "HOME": "/proc/1", "TMPDIR": str(tmp_path)},
        check=False,
        timeout=120,
    )
    assert len(done.stderr.splitlines()) == 1, done.stderr


def test_without_a_mask_what_is_private_is_still_for_its_owner_alone(tmp_path: Path) -> None:
    def modes() -> dict[str, str]:
        return {
            path.name: stat.filemode(path.stat().st_mode)[4:]
            for path in tmp_path.iterdir()
            if path.is_file()
        }

    grant = ["budget", "create", "l.ledger", "--dataset", "survey", "--epsilon", "2"]
    done = run(tmp_path, *grant, "--neighbors", "add-remove-person", umask=0)
    assert done.returncode == 0, done.stderr
    assert modes() == {"l.ledger": "------"}
