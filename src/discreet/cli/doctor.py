"""``doctor``: what this installation can do, and what cures what it lacks."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Literal, final

from discreet.cli.calls import from_options
from discreet.cli.options import JsonOption
from discreet.cli.output import Status, emit
from discreet.core.extras import install_command, missing_packages
from discreet.core.jit import has_compiler, user_cache
from discreet.core.printed import in_columns

if TYPE_CHECKING:
    from collections.abc import Iterator


_EXTRAS = {
    "cli": "this command line",
    "tables": "CSV and Parquet files",
    "plot": "figures, and pages with --report",
    "service": "serve and locate",
    "studio": "pages in the browser",
    "files": "workbooks, and files of SPSS, Stata and SAS",
    "streaming": "tables larger than memory",
    "dask": "tables on many machines",
}
"""Extra -> its use."""

_ENGINES = ("numpy", "scipy", "highspy", "numba", "narwhals")


@final
@dataclass(frozen=True)
class Symptom:
    """One line of the report.

    Parameters
    ----------
    name
        What was looked at.
    state
        ``"ok"``; ``"missing"``, which some commands need; or ``"broken"``, which all need.
    found
        Description of the state.
    cure
        A command, or a setting, after which it is ``"ok"``; empty where it is.
    """

    name: str
    state: Literal["ok", "missing", "broken"]
    found: str
    cure: str = ""


@from_options(JsonOption, examples=("discreet doctor",))
def doctor(options: JsonOption) -> Status:
    """Check this installation, and print a cure for each part that is missing or broken.

    Exit status 1 means that something is broken which every command needs. Nothing is sent or changed.
    """
    symptoms = list(findings())
    rows: list[tuple[str, str, str]] = []
    for one in symptoms:
        rows.append((one.state, one.name, one.found))
        if one.cure:
            rows.append(("", "", f"cure: {one.cure}"))
    broken = [one.name for one in symptoms if one.state == "broken"]
    lines = [
        in_columns(rows),
        "",
        f"broken: {', '.join(broken)}" if broken else "All that every command needs is there.",
    ]
    data = {"findings": [asdict(one) for one in symptoms], "broken": broken}
    emit("doctor", options, data, "\n".join(lines))
    return Status.CHECK_FAILED if broken else Status.DONE


def findings() -> Iterator[Symptom]:
    """Yield the state of each part of the installation.

    Nothing is written, no kernel is loaded.
    """
    yield Symptom("discreet", "ok", f"{_version('discreet')} in {Path(__file__).parents[1]}")
    yield Symptom("Python", "ok", f"{platform.python_version()} on {platform.platform()}")
    for name in _ENGINES:
        version = _version(name)
        broken = Symptom(name, "broken", "not installed", f"pip install {name}")
        yield Symptom(name, "ok", version) if version else broken
    yield _cache()
    yield _folder()
    yield Symptom(
        "processors", "ok", f"{_processors()} for this process; --threads uses more than one"
    )
    yield _files()
    yield _words()
    for extra, use in _EXTRAS.items():
        name, lacking = f"for {use}", ", ".join(missing_packages(extra))
        missing = Symptom(name, "missing", f"not {lacking}", install_command(extra))
        yield missing if lacking else Symptom(name, "ok", f"extra {extra}")


def _version(package: str) -> str:
    """Return the version of an installed package, or ""."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _cache() -> Symptom:
    """Return the symptom "compiled code": missing without a compiler, a folder to cache in, or cached functions.

    Searches the first of the folders where numba may cache that can be written.
    """
    name = "compiled code"
    if not has_compiler():
        cure = "pip install numba; without it, small inputs alone"
        return Symptom(name, "missing", "there is no compiler", cure)
    stated = os.environ.get("NUMBA_CACHE_DIR")
    folders = [Path(stated)] if stated else [Path(__file__).parents[1], Path(user_cache())]
    folder = next(filter(_can_write, folders), None)
    if folder is None:
        state = f"no folder keeps it ({stated or 'none found'})"
        return Symptom(
            name, "missing", state, "export NUMBA_CACHE_DIR=FOLDER, one that you can write"
        )
    # Numba has a folder for each folder of source files.
    count = sum(1 for _ in folder.rglob("*.nbi"))
    if not count:
        cure = "discreet demo, which compiles what all five tasks use"
        return Symptom(name, "missing", f"none yet in {folder}; a first run takes longer", cure)
    return Symptom(name, "ok", f"{count} functions in {folder}")


def _folder() -> Symptom:
    """Return the symptom "temporary files": missing if no folder can be written."""
    try:
        folder = tempfile.gettempdir()
    except OSError:
        return Symptom(
            "temporary files", "missing", "no folder can be written", "export TMPDIR=FOLDER"
        )
    return Symptom("temporary files", "ok", folder)


def _processors() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _files(*, min_files: int = 256) -> Symptom:
    """Return the symptom "open files": missing if fewer than `min_files` may be open at once.

    With fewer, a command that sorts a large table on disk may fail.
    """
    try:
        import resource

        most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    except (ImportError, OSError):
        return Symptom("open files", "ok", "no limit is known")
    if most != resource.RLIM_INFINITY and most < min_files:
        return Symptom("open files", "missing", f"{most} at once", "ulimit -n 1024")
    return Symptom("open files", "ok", "no limit" if most < 0 else f"{most} at once")


def _words() -> Symptom:
    """Return the symptom "letters": missing unless standard output is in UTF-8."""
    coding = (sys.stdout.encoding or "").lower().replace("-", "")
    if coding != "utf8":
        return Symptom("letters", "missing", f"{coding or 'unknown'}", "export PYTHONUTF8=1")
    return Symptom("letters", "ok", "UTF-8")


def _can_write(folder: Path) -> bool:
    """Return whether files can be made in a folder, or the folder itself if it is not there; nothing is made."""
    above = next(one for one in (folder, *folder.parents) if one.exists())
    return above.is_dir() and os.access(above, os.W_OK | os.X_OK)
