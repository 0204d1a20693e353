"""Mutants: the library broken on purpose, one place at a time, in a copy; tests that stay green there prove nothing.

A mutant is a frozen record of one replacement. It is planted in a copy of the project, never in the working tree; the
tests that it names are run there, and must fail. A run in which nothing could be collected, or that broke off for
another reason than a failed test, does not count as noticing.
"""

from __future__ import annotations

import ast
import os
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).parents[2]
LIMIT = 300.0
"""Seconds for the tests of one mutant: tens of times what they need."""
NOT_COPIED = shutil.ignore_patterns("__pycache__", ".*", "browser")


@final
@dataclass(frozen=True)
class Mutant:
    """One replacement in one file.

    Parameters
    ----------
    name
        Its own, in a few words.
    file
        Under ``src/discreet``.
    find
        Text that stands there exactly once.
    replace
        What stands there instead.
    breaks
        What is then wrong.
    tests
        Node identifiers of the tests that notice it, relative to the root.
    hangs
        Whether it is noticed by never ending: then the time limit is short, and running out of it counts.
    """

    name: str
    file: str
    find: str
    replace: str
    breaks: str
    tests: tuple[str, ...]
    hangs: bool = False

    @property
    def is_kernel(self) -> bool:
        """Whether compiled code is broken: it is then run as plain Python, so that no cache can hide it."""
        return "/kernels/" in self.file


def mutated(source: str, find: str, replace: str) -> str:
    """Replace a text that stands in a source once, and make sure that Python still reads it.

    Raises
    ------
    ValueError
        When the text is not there, or more than once, or nothing changes.
    SyntaxError
        When what comes out is not Python.
    """
    times = source.count(find)
    if times != 1 or find == replace:
        raise ValueError(f"the text to replace stands {times} times in the file")
    made = source.replace(find, replace)
    if _program(made) == _program(source):
        raise ValueError("the mutant is the same program")
    return made


@lru_cache(maxsize=256)
def _program(source: str) -> str:
    """What a source says, without its comments and its form."""
    return ast.dump(ast.parse(source))


def copy_project(folder: Path) -> Path:
    """Copy what tests need into a folder: sources, tests, their configuration."""
    for part in ("src", "tests"):
        shutil.copytree(ROOT / part, folder / part, ignore=NOT_COPIED)
    for name in ("conftest.py", "pyproject.toml", "verify_standalone.py"):
        shutil.copy2(ROOT / name, folder / name)
    return folder


@contextmanager
def planted(copy: Path, file: str, source: str) -> Iterator[None]:
    """Put another source in the place of one file of a copy, for a while."""
    if copy.resolve() == ROOT.resolve():
        raise ValueError("mutants are planted in copies only")
    path = copy / "src" / "discreet" / file
    before = path.read_text(encoding="utf-8")
    try:
        _write(path, source)
        yield
    finally:
        _write(path, before)


def _write(path: Path, source: str) -> None:
    """Write a file and forget what was compiled of it: a file of the same size and second would pass for it."""
    path.write_text(source, encoding="utf-8")
    for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
        compiled.unlink()


def run_tests(
    copy: Path, tests: Sequence[str], *, plain: bool = False, limit: float = LIMIT
) -> tuple[int | None, str]:
    """Run tests in a copy up to the first that fails.

    Returns
    -------
    tuple of int or None and str
        pytest's exit status, ``None`` where the time was not enough, and what it printed.
    """
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST")}
    environment["PYTHONPATH"] = os.pathsep.join([str(copy / "src"), str(copy / "tests")])
    environment["NUMBA_CACHE_DIR"] = str(copy / "kernels")
    environment["NUMBA_DISABLE_JIT"] = "1" if plain else "0"
    options = ["-q", "-x", "--tb=short", "--hypothesis-seed=0"]
    without = ["-p", "no:randomly", "-p", "no:xdist", "-p", "no:cacheprovider"]
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", *options, *without, *tests],
        cwd=copy,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        printed, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        # Its whole session: tests start processes of their own.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        printed, _ = process.communicate()
        return None, printed
    return process.returncode, printed


def notices(copy: Path, mutant: Mutant) -> tuple[bool, str]:
    """Tell whether the tests that a mutant names fail on it, and what they print."""
    path = copy / "src" / "discreet" / mutant.file
    source = mutated(path.read_text(encoding="utf-8"), mutant.find, mutant.replace)
    with planted(copy, mutant.file, source):
        status, printed = run_tests(
            copy, mutant.tests, plain=mutant.is_kernel, limit=60.0 if mutant.hangs else LIMIT
        )
    return status == PYTEST_FAILED or (status is None and mutant.hangs), printed


PYTEST_FAILED = 1
"""pytest's status when tests were run and some failed; 2 to 5 mean that none of them decided anything."""
