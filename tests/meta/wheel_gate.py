"""Test what people install: the built wheels, without extras, in a fresh environment, from another directory."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
VENV = ROOT / ".wheel-venv"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
# Python compiles what it imports: most modules of what the library needs are never loaded here.
OPTIONS = ["--quiet", "--disable-pip-version-check", "--no-compile"]
PIP = [sys.executable, "-m", "pip", "--python", str(BIN / "python"), "install", *OPTIONS]
HINT = 'the command line needs: pip install "'

IMPORTS = """
import sys
import discreet
heavy = {"numba", "highspy", "matplotlib", "polars", "typer", "rich"} & set(sys.modules)
assert not heavy, heavy
from discreet import *
assert not {"matplotlib", "polars", "pyarrow", "typer", "rich", "jinja2"} & set(sys.modules)
print(discreet.__file__)
print(discreet.__version__)
"""

DESIGNS = """
import math
import discreet as dc
space = dc.MetricSpace.from_points([[0.0], [1.0]], unit="km")
task = dc.metricdp.Problem(space, utility_loss=[[0.0, 1.0], [1.0, 0.0]])
design = dc.metricdp.design(task, dc.MetricDP(1, unit="km"))
design.certificate.raise_for_failure()
q = math.exp(-1)
optimum = q / (1 + q)
assert design.lower <= optimum * (1 + 1e-9), (design.lower, optimum)
assert optimum * (1 - 1e-9) <= design.upper <= optimum * 1.02, (design.upper, optimum)
assert design.channel.report(0) in (0, 1)
"""


ADDS = """
from importlib.metadata import entry_points
(found,) = entry_points(group="discreet.commands")
print(found.name, found.value)
"""

NEEDED = {
    "discreet": ("discreet/__init__.py", "discreet/py.typed", "discreet/core/exact.py"),
    "discreet_reproduction": (
        "discreet_reproduction/__init__.py",
        "discreet_reproduction/py.typed",
        "discreet_reproduction/command.py",
        "discreet_reproduction/templates/experiment.html",
    ),
}
"""Package -> some of what its wheel must hold."""


def complaints(names: list[str], package: str = "discreet") -> list[str]:
    """Say what the contents of a wheel lack, or hold too much.

    Parameters
    ----------
    names
        The paths inside the wheel.
    package
        A key of ``NEEDED``.
    """
    found = [
        f"{name} does not belong" for name in names if name.split("/")[0].split("-")[0] != package
    ]
    needed = NEEDED[package]
    found += [f"{name} is missing" for name in needed if name not in names]
    if not any(name.endswith("licenses/LICENSE") for name in names):
        found.append("the licence is missing")
    return found


def main() -> None:
    """Build, install, use; the first thing that is wrong ends it."""
    with tempfile.TemporaryDirectory() as folder:
        wheel = build(ROOT, Path(folder) / "library")
        names = zipfile.ZipFile(wheel).namelist()
        papers = build(ROOT / "reproduction", Path(folder) / "papers")
        found = complaints(names)
        found += complaints(zipfile.ZipFile(papers).namelist(), "discreet_reproduction")
        if found:
            sys.exit("wheel: " + "; ".join(found))
        install(wheel)
        told = run(IMPORTS, folder).split()
        expected = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
            "version"
        ]
        if not Path(told[0]).is_relative_to(VENV) or told[1] != expected:
            sys.exit(f"wheel: imported {told[0]} {told[1]}, expected {expected} from {VENV.name}")
        done = ["imports"]
        if "discreet/metricdp/__init__.py" in names:
            run(DESIGNS, folder)
            done.append("designs")
        if "discreet/cli/__init__.py" in names:
            ask_for_the_extra(folder)
            done.append("names the missing extra")
        # Without what it depends on: the library is here, and its extra was just shown to be asked for.
        subprocess.run([*PIP, "--no-deps", str(papers)], check=True)
        if run(ADDS, folder).split() != ["reproduce", "discreet_reproduction.command:app"]:
            sys.exit(f"wheel: {papers.name} does not add the command reproduce")
    print(f"wheel: {wheel.name} without extras {', '.join(done)}; {papers.name} adds reproduce")  # noqa: T201 - a gate says what it saw


def build(source: Path, folder: Path) -> Path:
    """Build the wheel of a project with what is installed here."""
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder)]
    done = subprocess.run([*command, str(source)], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"wheel: it does not build\n{done.stdout}{done.stderr}")
    (wheel,) = folder.glob("*.whl")
    return wheel


def install(wheel: Path) -> None:
    """Make the environment anew and install the wheel alone."""
    shutil.rmtree(VENV, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(VENV)], check=True)
    subprocess.run([*PIP, "-c", str(ROOT / "constraints.txt"), str(wheel)], check=True)


def run(script: str, folder: str) -> str:
    """Run a script in the new environment, isolated from this directory."""
    command = [str(BIN / "python"), "-I", "-W", "error", "-c", script]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"wheel: the installed library fails\n{done.stderr}")
    return done.stdout


def ask_for_the_extra(folder: str) -> None:
    """Check that the command without its extra says in one line what to install, and ends as bad input."""
    done = subprocess.run(
        [str(BIN / "discreet")], cwd=folder, capture_output=True, text=True, check=False
    )
    if (
        done.returncode != 2
        or HINT not in done.stderr
        or len(done.stderr.strip().splitlines()) != 1
    ):
        sys.exit(
            f"wheel: discreet ended with {done.returncode} and said {done.stderr!r}, expected 2 and {HINT}"
        )


if __name__ == "__main__":
    main()
