"""What a message says of a missing package: its own name, and a command that installs it and nothing else."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError
from importlib.util import find_spec
from pathlib import Path

import pytest

from discreet.core import extras
from discreet.core.errors import InvalidProblemError
from discreet.report.figures import drawn

ROOT = Path(__file__).parents[2]

WITHOUT = """
import sys
sys.modules.update({"pyarrow": None, "matplotlib": None})
sys.argv = ["discreet", *sys.argv[1:]]
from discreet.cli import main
main()
"""


def hide(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Let these packages be missing."""
    monkeypatch.setattr(
        extras, "find_spec", lambda name: None if name in names else find_spec(name)
    )


def run_without(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a process that has neither PyArrow nor Matplotlib."""
    command = [sys.executable, "-c", WITHOUT, *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_an_extra_has_the_packages_of_those_that_it_names() -> None:
    assert {"polars", "pyarrow", "distributed"} <= set(extras.packages_of("dask"))
    assert "matplotlib" not in extras.packages_of("cli")
    assert extras.packages_of("nothing of this name") == {}


def test_without_metadata_nothing_is_known_to_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(_: str) -> list[str]:
        raise PackageNotFoundError

    monkeypatch.setattr(extras, "requires", absent)
    extras.packages_of.cache_clear()
    assert extras.missing_packages("cli") == []
    extras.packages_of.cache_clear()


def test_the_command_names_what_is_missing_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    hide(monkeypatch, "rich", "prometheus_client")
    versions = extras.packages_of("service")
    expected = {f'"{name}{versions[name]}"' for name in ("rich", "prometheus-client")}
    assert (
        set(extras.install_command("service").removeprefix("pip install ").split(" ")) == expected
    )
    with pytest.raises(InvalidProblemError, match=r"^serve: .*pip install .*, got no (rich|prom)"):
        extras.require("service", "serve")
    extras.require("tables", "table")


def test_a_report_says_where_a_figure_would_be(monkeypatch: pytest.MonkeyPatch) -> None:
    hide(monkeypatch, "matplotlib")
    text = drawn(lambda _: pytest.fail("was drawn"), 2, 1, label="a < b", salt="s")
    assert "No figure (a &lt; b)" in text
    assert "pip install &quot;matplotlib&gt;=" in text


@pytest.mark.jit
def test_tables_in_memory_need_neither_pyarrow_nor_matplotlib(tmp_path: Path) -> None:
    rows = "".join(f"{20 + at % 5},{'MF'[at % 2]}\n" for at in range(40))
    (tmp_path / "people.csv").write_text(f"age,sex\n{rows}", encoding="utf-8")
    line = "anonymize people.csv -k 4 --quasi age,sex -o out.parquet"
    done = run_without(tmp_path, *line.split())
    assert done.returncode == 0, done.stderr
    line = "anonymize out.parquet -k 4 --quasi sex --drop age -o b.csv"
    again = run_without(tmp_path, *line.split())
    assert again.returncode == 0, again.stderr
    risk = run_without(tmp_path, "risk", "people.csv", "--quasi", "age", "--report", "risk.html")
    assert risk.returncode == 0, risk.stderr
    piecewise = run_without(tmp_path, "risk", "people.csv", "--quasi", "age", "--memory", "1GB")
    assert (piecewise.returncode, piecewise.stdout) == (2, "")
    assert re.search(r'TABLE: .*pip install "pyarrow>=', piecewise.stderr)


def test_nothing_asks_an_index_for_the_name_of_the_library() -> None:
    kept = [*(ROOT / "src").rglob("*.py"), *(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
    asks = re.compile(r"pip install (-\S+ )*[\"']?discreet")
    assert [str(path) for path in kept if asks.search(path.read_text(encoding="utf-8"))] == [
        str(ROOT / "src/discreet/core/extras.py")
    ]
