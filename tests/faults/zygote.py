"""A process that has loaded everything and forks a child for each fault point, and one for its judgement.

Usage: ``python zygote.py FOLDER``. A line of standard input is ``COMMAND NUMBER FAULT``, or ``crowd`` and several of
these between semicolons, which run at once on one ledger; a line of standard output is the result, as JSON. Tables are
only read in the children, since threads of their reader do not survive a fork.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import traceback
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet import PureDP
from discreet.artefact import load_choice, load_counts, load_tables
from discreet.cli.app import run
from discreet.core.errors import DiscreetError
from discreet.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Callable

sys.path.insert(0, str(Path(__file__).parent))
from injector import Injector  # type: ignore[import-not-found]

_PAID = "--neighbors {} --epsilon 1 --ledger l.db --dataset d"
_PERSON = _PAID.format("add-remove-person")

COMMANDS = {
    "sizes": f"counts people.csv --unit home --regions state --region-list regions.csv --max-size 3 {_PERSON} "
    "-o out.csv --measurements nm.parquet",
    "categories": f"counts people.csv --by sex --domain domain.json --regions state --region-list regions.csv "
    f"{_PERSON} -o out.csv --report out.html",
    "select": f"select --coverage edges.csv --candidates candidates.csv --matroid uniform:1 "
    f"{_PAID.format('add-remove-one')} -o out.choice",
}
"""Name -> the command line that is broken off."""


def files_of(name: str) -> list[str]:
    """Name the outputs of a command, the main one first."""
    words = COMMANDS[name].split()
    return [
        words[words.index(one) + 1] for one in ("-o", "--report", "--measurements") if one in words
    ]


def make(folder: Path, name: str) -> None:
    """Write the inputs and a ledger."""
    folder.mkdir()
    (folder / "people.csv").write_text("home,state,sex\n1,GA,F\n1,GA,M\n2,NY,F\n", encoding="utf-8")
    (folder / "regions.csv").write_text("state\nGA\nNY\n", encoding="utf-8")
    (folder / "domain.json").write_text('{"sex": ["F", "M"]}', encoding="utf-8")
    (folder / "edges.csv").write_text("client,candidate\n1,n\n2,s\n", encoding="utf-8")
    (folder / "candidates.csv").write_text("candidate\nn\ns\n", encoding="utf-8")
    neighbors: Any = "add-remove-one" if name == "select" else "add-remove-person"
    Ledger.create(folder / "l.db", "d", PureDP(1000, neighbors))


def broken(folder: Path, line: str, injector: Injector) -> dict[str, Any]:
    """Run a command in a child with a fault; return its status and what it said."""
    _, code = os.waitpid(started(folder, line, injector), 0)
    said = (folder / "err.txt").read_text(encoding="utf-8", errors="replace")
    return {"status": os.waitstatus_to_exitcode(code), "err": said}


def started(folder: Path, line: str, injector: Injector, suffix: str = "") -> int:
    """Start a command in a child with a fault; return the number of the child."""
    child = os.fork()
    if not child:
        os.chdir(folder)
        for number, name in ((1, f"out{suffix}.txt"), (2, f"err{suffix}.txt")):
            os.dup2(os.open(name, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), number)
        try:
            injector.install()
            status = run(line.split())
            sys.stdout.flush()
            Path(f"events{suffix}.json").write_text(json.dumps(injector.events), encoding="utf-8")
        except BaseException:  # noqa: BLE001 - nothing may return into the parent
            traceback.print_exc()
            status = 99
        os._exit(status)
    return child


def crowd(folder: Path, points: list[list[str]]) -> dict[str, Any]:
    """Run commands at once on one ledger, each with a fault and with outputs of its own; then recover what is open."""
    make(folder, "sizes")
    children = []
    for at, (name, number, fault) in enumerate(points):
        line = COMMANDS[name]
        for word in files_of(name):
            line = line.replace(word, f"{at}-{word}")
        children.append(started(folder, line, Injector(int(number), fault), f"-{at}"))
    statuses = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    said = [(folder / f"err-{at}.txt").read_text(errors="replace") for at in range(len(points))]
    return {"statuses": statuses, "err": said, **in_child(lambda: _judge_crowd(folder, points))}


def _judge_crowd(folder: Path, points: list[list[str]]) -> dict[str, Any]:
    os.chdir(folder)
    ledger = Ledger(folder / "l.db")
    before = [one.state for one in ledger.history("d")]
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        for number in (1, 2):
            os.dup2(nowhere.fileno(), number)
    for one in ledger.history("d"):
        if one.state in {"reserved", "reading"}:
            run(["budget", "recover", "l.db", one.release_id])
    _touch(ledger)
    whole = [
        all(_is_whole(name, f"{at}-{file}") for file in files_of(name))
        for at, (name, _, _) in enumerate(points)
    ]
    there = [Path(f"{at}-{files_of(name)[0]}").exists() for at, (name, _, _) in enumerate(points)]
    return {
        "before": before,
        "after": [one.state for one in ledger.history("d")],
        "whole": whole,
        "there": there,
        "spent": str(ledger.account("d").spent[0]),
        "rest": sorted(path.name for path in folder.glob("l.db.*")),
    }


def judged(folder: Path, name: str) -> dict[str, Any]:
    """Judge in a child what a broken command left, before and after `budget recover`."""

    def judge() -> dict[str, Any]:
        os.chdir(folder)
        return _judge(folder, name)

    return in_child(judge)


def in_child(judge: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Call a function in a child; return its result, or its error under "crashed"."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            found = judge()
        except BaseException:  # noqa: BLE001 - as above
            found = {"crashed": traceback.format_exc()}
        os.write(writer, json.dumps(found).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        data = pipe.read()
    os.waitpid(child, 0)
    result: dict[str, Any] = json.loads(data)
    return result


def _judge(folder: Path, name: str) -> dict[str, Any]:
    ledger = Ledger(folder / "l.db")
    before = [(one.release_id, one.state) for one in ledger.history("d")]
    spools = [oct(path.stat().st_mode & 0o777) for path in folder.glob("*.spool")]
    kept = [one for one, _ in before if ledger.spooled(one) is not None]
    there = [file for file in files_of(name) if (folder / file).exists()]
    whole = [file for file in there if _is_whole(name, file)]
    recoveries = []
    for one, state in before:
        if state in {"reserved", "reading"}:
            with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
                os.dup2(nowhere.fileno(), 1)
                os.dup2(nowhere.fileno(), 2)
                recoveries.append(run(["budget", "recover", "l.db", one]))
    _touch(ledger)
    after = ledger.history("d")
    digests_fit = all(
        hashlib.sha256(Path(path).read_bytes()).hexdigest() == digest
        for one in after
        for path, digest in one.outputs.items()
    )
    return {
        "before": before,
        "spool modes": spools,
        "kept": kept,
        "there": there,
        "whole": whole,
        "recoveries": recoveries,
        "after": [(one.release_id, one.state) for one in after],
        "digests fit": digests_fit,
        "outputs": [sorted(Path(path).name for path in one.outputs) for one in after],
        "whole after": [file for file in files_of(name) if _is_whole(name, file)],
        "spent": str(ledger.account("d").spent[0]),
        "rest": sorted(path.name for path in folder.glob("l.db.*")),
    }


def _touch(ledger: Ledger) -> None:
    """Open the ledger for writing, as the next release does."""
    assert not ledger.free("0" * 20)


def _is_whole(name: str, file: str) -> bool:
    if not Path(file).exists():
        return False
    if file.endswith(".html"):
        return Path(file).read_text(encoding="utf-8").rstrip().endswith("</html>")
    try:
        if "nm.parquet" in file:
            from discreet.artefact import load_measurements

            load_measurements(file)
        else:
            {"sizes": load_counts, "categories": load_tables, "select": load_choice}[name](file)
    except DiscreetError:
        return False
    return True


_LOADED = (
    "polars",
    "discreet.artefact.outputs",
    "discreet.hierarchy.records",
    "discreet.hierarchy.refusals",
    "discreet.submodular.kernels.gains",
    "discreet.tables.frames",
    "discreet.tables.parsing",
    "discreet.tables.writing",
    "discreet.submodular.objectives.facility",
    "encodings.utf_8_sig",
    "narwhals._polars.dataframe",
    "narwhals._polars.expr",
    "narwhals._polars.group_by",
    "narwhals._polars.namespace",
    "polars._utils.parquet",
    "pyarrow.parquet",
    "typer._adapters",
)
"""Modules that a command loads; importing them starts no thread, as a table that is read would."""


def _warm() -> None:
    """Load what is loaded on first use; nothing here starts a thread, as a table that is read would."""
    from discreet import submodular
    from discreet.cli.commands import command_named
    from discreet.core.tree import Tree
    from discreet.hierarchy import GroupSizes, contingency, plan
    from discreet.report import make_chapter, render_report
    from discreet.submodular import Coverage, UniformMatroid

    for command in ("counts", "select", "budget"):
        command_named(command)
    tree = Tree.from_paths([("GA",), ("NY",)])
    data = GroupSizes.from_counts(tree, [[1, 0], [1, 1]], units="private")
    plan(data.frame, PureDP(1, "add-remove-person")).release(data)
    domain = contingency.Domain.from_dict({"sex": ["F", "M"]})
    cells = contingency.plan(tree, PureDP(1, "add-remove-person"), columns=["state"], domain=domain)
    counted = contingency.CellCounts(cells.frame, np.array([[1, 1], [1, 0]]))
    render_report([make_chapter("tables", cells.release(counted))])
    spec, one = Coverage.spec(), PureDP(1, "add-remove-one")
    submodular.plan(2, UniformMatroid(2, 1), one, objective=spec).release([[True, False]])
    for module in _LOADED:
        import_module(module)


def main() -> None:
    """Answer the points of standard input."""
    root = Path(sys.argv[1])
    _warm()
    for count, line in enumerate(sys.stdin):
        name, number, fault = line.strip().split(" ", 2)
        folder = root / f"point-{count}"
        if name == "crowd":
            found = crowd(folder, [one.split(" ", 2) for one in f"{number} {fault}".split(";")])
        else:
            make(folder, name)
            found = broken(folder, COMMANDS[name], Injector(int(number), fault))
            found |= judged(folder, name)
            events = folder / "events.json"
            found["events"] = (
                json.loads(events.read_text(encoding="utf-8")) if events.exists() else []
            )
        shutil.rmtree(folder)
        sys.stdout.write(json.dumps(found) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
