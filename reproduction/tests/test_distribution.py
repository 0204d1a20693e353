"""The distribution: what it may import of the library, that nothing there imports it, and its version."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import entry_points
from pathlib import Path

import discreet
import discreet_reproduction
from meta.layering import imports

ROOT = Path(__file__).parents[2]
HERE = Path(discreet_reproduction.__file__).parent
LIBRARY = Path(discreet.__file__).parent


def named(folder: Path, package: str) -> list[tuple[str, str]]:
    """List file and name of everything that the modules below a folder import."""
    found = []
    for path in sorted(folder.rglob("*.py")):
        parts = (package, *path.relative_to(folder).with_suffix("").parts)
        source = path.read_text(encoding="utf-8")
        found += [(path.name, name) for _, name in imports(source, parts)]
    return found


def hidden(found: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Keep the imports from the library of a module or a name that begins with an underscore."""
    inside = [(file, name) for file, name in found if name.split(".")[0] == "discreet"]
    return [(file, name) for file, name in inside if re.search(r"\._(?!_)", name)]


def test_only_public_names_of_the_library_are_imported() -> None:
    found = named(HERE, "discreet_reproduction")
    assert any(name.startswith("discreet.metricdp") for _, name in found)
    assert hidden(found) == []


def test_an_underscore_name_would_be_seen() -> None:
    assert hidden([("a.py", "discreet.core.exact._log"), ("a.py", "math._x")]) == [
        ("a.py", "discreet.core.exact._log")
    ]
    assert hidden([("a.py", "discreet.core._hidden.name")])


def test_nothing_in_the_library_imports_the_distribution() -> None:
    found = named(LIBRARY, "discreet")
    assert [one for one in found if one[1].split(".")[0] == "discreet_reproduction"] == []


def test_the_versions_are_one() -> None:
    library, mine = (
        tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        for folder in (ROOT, ROOT / "reproduction")
    )
    assert mine["version"] == library["version"]
    assert mine["dependencies"] == [f"discreet[cli,plot]=={library['version']}"]
    extras = mine["optional-dependencies"]
    assert extras == {"service": [f"discreet[service]=={library['version']}"]}


def test_the_command_is_added_by_an_entry_point() -> None:
    (found,) = entry_points(group="discreet.commands", name="reproduce")
    assert found.dist is not None
    assert found.dist.name == "discreet-reproduction"


def test_help_lists_the_command_and_imports_nothing_of_it() -> None:
    """A run of another command does not even look for it."""
    script = (
        "import importlib.metadata, json, sys; seen = []; real = importlib.metadata.entry_points\n"
        "importlib.metadata.entry_points = lambda **k: seen.append(k) or real(**k)\n"
        "from discreet.cli.app import run\n"
        "run(sys.argv[1:]); loaded = [m for m in sys.modules if m.startswith('discreet_reproduction')]\n"
        "sys.stderr.write(json.dumps([seen, loaded]))"
    )

    def ran(*arguments: str) -> tuple[str, list[object]]:
        done = subprocess.run(
            [sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True
        )
        return done.stdout, json.loads(done.stderr.splitlines()[-1])

    out, (looked, loaded) = ran("--help")
    assert "reproduce" in out
    assert "Compute the tables and figures of the papers anew." in " ".join(out.split())
    assert looked
    assert loaded == []
    out, (looked, loaded) = ran("verify", "--help")
    assert "verify" in out
    assert (looked, loaded) == ([], [])
    _, (_, loaded) = ran("reproduce")
    assert "discreet_reproduction.command" in loaded  # type: ignore[operator] # a list
