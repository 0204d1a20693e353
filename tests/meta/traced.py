"""Trace three commands: which files and folders a run enters, and how often it goes back to one that it has left.

Arrows are the calls from a function of one file, or folder, to a function of another, each pair counted once, at its
first call; imports do not count. An arrow to what was entered before is a return: a reader who follows the run opens
it again. ``python tests/meta/traced.py`` prints the table, with ``--path`` the arrows between folders, too.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

PACKAGE = "discreet"

COMMANDS = {
    "counts": (
        "counts people.csv --regions state --unit home --max-size 3 --region-list regions.csv "
        "--epsilon 1 --neighbors add-remove-person -o counts.csv"
    ),
    "select": (
        "select --coverage edges.csv --candidates candidates.csv --matroid uniform:2 "
        "--epsilon 1 --neighbors add-remove-one -o team.choice"
    ),
    "anonymize": "anonymize patients.csv -k 2 --quasi age,sex --sensitive ill -o out.csv",
}
"""What is run, on tables of a few rows."""

TABLES = {
    "people.csv": "home,state\n1,GA\n1,GA\n2,GA\n3,NY\n",
    "regions.csv": "state\nGA\nNY\n",
    "edges.csv": "client,candidate\na,north\nb,north\nc,south\n",
    "candidates.csv": "candidate\nnorth\nsouth\neast\n",
    "patients.csv": "age,sex,ill\n30,F,flu\n31,F,cold\n50,M,flu\n52,M,cold\n",
}


class Trace(NamedTuple):
    """The arrows of a run, in the order of their first calls."""

    arrows: list[tuple[str, str]]

    @property
    def entered(self) -> list[str]:
        """What the run enters, in order."""
        return list(dict.fromkeys(place for arrow in self.arrows for place in arrow))

    @property
    def returns(self) -> list[tuple[str, str]]:
        """The arrows to what was entered before."""
        known: set[str] = set()
        back = []
        for start, to in self.arrows:
            known.add(start)
            if to in known:
                back.append((start, to))
            known.add(to)
        return back

    @property
    def folders(self) -> Trace:
        """The same between folders."""
        pairs = ((folder_of(start), folder_of(to)) for start, to in self.arrows)
        return Trace(list(dict.fromkeys(pair for pair in pairs if pair[0] != pair[1])))


def _is_ours(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).startswith(PACKAGE + ".")


def module_of(frame: FrameType | None) -> str | None:
    """Name the file of a frame's function; ``None`` for what is not the package's, or runs while it is imported."""
    if frame is None or frame.f_code.co_name == "<module>":
        return None
    if not _is_ours(frame):
        return None
    name = str(frame.f_globals["__name__"])
    return f"{name}.__init__" if "__path__" in frame.f_globals else name


def folder_of(module: str) -> str:
    """Name the folder of a file."""
    return module.rpartition(".")[0].removeprefix(PACKAGE).strip(".")


def trace(run: Callable[[], object]) -> Trace:
    """Run something and record the files that it enters."""
    arrows: dict[tuple[str, str], None] = {}

    def look(frame: FrameType, event: str, _: object) -> None:
        to = module_of(frame) if event == "call" else None
        caller, start = frame.f_back, None
        # What runs while a module is imported belongs to no path.
        while to is not None and caller is not None and start is None:
            if caller.f_code.co_name == "<module>":
                return
            start, caller = module_of(caller), caller.f_back
        arrow = (start, to)
        if to is None or start is None or start == to or arrow in arrows:
            return
        while caller is not None:
            if caller.f_code.co_name == "<module>" and _is_ours(caller):
                return
            caller = caller.f_back
        arrows[start, to] = None

    sys.setprofile(look)
    try:
        run()
    finally:
        sys.setprofile(None)
    return Trace(list(arrows))


def traced(command: str, folder: Path) -> Trace:
    """Run a command in a folder of small tables.

    Raises
    ------
    RuntimeError
        When it does not end with status 0, with what it said.
    """
    from discreet.cli.app import run

    for name, text in TABLES.items():
        (folder / name).write_text(text, encoding="utf-8")
    said, statuses = io.StringIO(), list[int]()
    before = Path.cwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            found = trace(lambda: statuses.append(run(COMMANDS[command].split())))
    finally:
        os.chdir(before)
    if statuses != [0]:
        raise RuntimeError(said.getvalue())
    return found


def main() -> None:
    """Print rooms and returns of each command, and its arrows where they are wanted."""
    for command in COMMANDS:
        with tempfile.TemporaryDirectory() as folder:
            found = traced(command, Path(folder))
        wide = found.folders
        lines = [
            f"{command:10}"
            + ", ".join(
                f"{len(one.entered):3} {name}, {len(one.returns):3} returns"
                for name, one in (("files", found), ("folders", wide))
            )
        ]
        if "--path" in sys.argv:
            lines += [
                f"    {start} -> {to}{'  (again)' * ((start, to) in wide.returns)}"
                for start, to in wide.arrows
            ]
        sys.stdout.write("\n".join([*lines, ""]))


if __name__ == "__main__":
    main()
