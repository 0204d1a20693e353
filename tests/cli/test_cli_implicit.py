"""``design`` beyond the secrets that have a table: a channel on demand, never without its loss and a lower bound."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cli.commands import say
from discreet.artefact import load_anchored, load_points
from discreet.core.guarantee import MetricDP
from discreet.core.spaces import lengths as measures
from discreet.core.spaces.metric import MetricSpace
from discreet.metricdp import Problem, design

GRID = ["design", "--grid", "5x6", "--unit", "km", "--epsilon", "1", "--radius", "1.5"]


@pytest.fixture
def _large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measures, "DENSE_LIMIT", 0)


@pytest.fixture
def optimum() -> tuple[float, float]:
    """Bounds of the least loss on the grid, by the methods for tables."""
    space = MetricSpace.grid(5, 6, cell=1, unit="km")
    made = design(Problem(space, utility_loss="distance"), MetricDP(1, "km", "1.5"), gap=1e-4)
    assert made.lower is not None
    return made.lower, made.upper


def test_loss_and_bound_are_said_and_written(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    optimum: tuple[float, float],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(measures, "DENSE_LIMIT", 0)
    path = tmp_path / "large.channel"
    said = say(capsys, *GRID, "-o", path, "--json", "--quiet")
    assert (said.status, said.err) == (0, "")
    data = said.data
    assert data["kind"] == "anchored"
    assert 0.97 * optimum[0] < data["lower"] <= optimum[1]
    assert optimum[0] <= data["upper"] == data["loss"]
    assert data["gap"] == pytest.approx(1 - data["lower"] / data["upper"])
    assert data["certificate"]["passed"] is True
    stored = load_anchored(path)
    assert stored.provenance.parameters["lower"] == data["lower"]
    assert [one.name for one in stored.provenance.assumed_public] == [
        "space",
        "utility_loss",
        "prior",
    ]
    assert say(capsys, "verify", path).status == 0
    told = say(capsys, "info", path)
    assert f"{data['lower']!r}" in told.out


def test_a_bound_in_a_file_is_not_proved_by_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measures, "DENSE_LIMIT", 0)
    path = tmp_path / "large.channel"
    assert say(capsys, *GRID, "-o", path, "--quiet").status == 0
    said = say(capsys, "verify", path, "--optimality")
    assert said.status == 1
    assert "lower bound not proved" in said.out + said.err


@pytest.mark.usefixtures("_large")
def test_people_are_told_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    said = say(capsys, *GRID)
    assert said.status == 0
    assert "lower bound" in said.out
    assert "tails, computed on demand" in said.out
    assert "nothing was written" in said.err


@pytest.mark.usefixtures("_large")
def test_a_gap_that_is_demanded_and_missed_is_a_status(capsys: pytest.CaptureFixture[str]) -> None:
    said = say(capsys, *GRID, "--gap", "0.0001", "--time-limit", "0.001", "--json")
    assert said.status == 4
    assert "reached" in said.err
    assert said.data["status"] == "limit reached"
    assert said.data["lower"] > 0


@pytest.mark.usefixtures("_large")
def test_priors_and_labels_of_a_table_are_read(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    rng = np.random.default_rng(2)
    rows = [f"p{i},{x:.4f},{y:.4f},{i + 1}" for i, (x, y) in enumerate(5 * rng.random((25, 2)))]
    places, path = tmp_path / "places.csv", tmp_path / "places.channel"
    places.write_text("\n".join(["name,x,y,weight", *rows]) + "\n", encoding="utf-8")
    asked = ["design", places, "--label", "name", "--prior", "weight", "--loss", "euclidean"]
    more = ["--unit", "km", "--epsilon", "0.8", "--radius", "3", "-o", path, "--json", "--quiet"]
    said = say(capsys, *asked, *more)
    assert said.status == 0
    assert said.data["prior_normalized_from"] == 325
    assert 0 < said.data["lower"] <= said.data["upper"]
    stored = load_anchored(path)
    assert stored.labels is not None
    assert stored.labels[0] == "p0"


@pytest.mark.usefixtures("_large")
def test_groups_apart_widen_the_radius(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    places, path = tmp_path / "towns.csv", tmp_path / "towns.channel"
    rows = [f"{x},{y}" for x in (0, 1, 5, 6) for y in (0, 1)]
    places.write_text("\n".join(["x,y", *rows]) + "\n", encoding="utf-8")
    asked = ["design", places, "--unit", "km", "--epsilon", "0.5", "--radius", "1.5", "-o", path]
    said = say(capsys, *asked, "--json")
    assert said.status == 0
    assert "2 separate groups" in said.err
    assert "all pairs within 4" in said.err
    assert said.data["guarantee"]["radius"] == "4"
    assert 0 < said.data["lower"] <= said.data["upper"]
    assert say(capsys, "verify", path).status == 0


@pytest.mark.usefixtures("_large")
@pytest.mark.parametrize(
    ("more", "named"),
    [
        (["--method", "kernel"], "--method"),
        (["--method", "optimal"], "--method"),
        (["--blocks", "3"], "--blocks"),
        (["--partitioner", "bsc"], "--partitioner"),
        (["--report", "page.html"], "--report"),
        (["--allow-unprotected"], "--allow-unprotected"),
        (["--reports", "1,2"], "--reports"),
        (["--priors", "uniform"], "--priors"),
        (["--loss", "table.npy"], "--loss"),
        (["--loss", "miles"], "--loss"),
        (["--time-limit", "0"], "--time-limit"),
    ],
)
def test_what_needs_a_table_is_refused(
    capsys: pytest.CaptureFixture[str],
    more: list[str],
    named: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("table.npy", np.ones((30, 30)))
    said = say(capsys, *GRID, *more)
    assert said.status == 2
    assert named in said.err


@pytest.mark.usefixtures("_large")
def test_all_pairs_of_places_have_noise_with_both_bounds(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "large.mechanism"
    said = say(capsys, *GRID[:-2], "-o", path, "--json", "--quiet")
    assert (said.status, said.err) == (0, "")
    data = said.data
    assert data["kind"] == "noise-mechanism"
    assert 0 < data["lower"] < data["upper"] == data["loss"] < 1.6
    assert data["guarantee"]["radius"] is None
    assert say(capsys, "verify", path).status == 0
    judged = subprocess.run(
        [sys.executable, "-I", Path(__file__).parents[2] / "verify_standalone.py", path],
        check=False,
        capture_output=True,
    )
    assert judged.returncode == 0
    stored = load_points(path)
    assert (stored.upper, stored.lower) == (data["upper"], data["lower"])
    assert "serve --mechanism" in say(capsys, *GRID[:-2]).out


@pytest.mark.usefixtures("_large")
@pytest.mark.parametrize(
    ("more", "named"),
    [(["--loss", "squared-euclidean"], "--radius"), (["--unit", "mile"], "--radius")],
)
def test_all_pairs_without_noise_need_a_radius(
    capsys: pytest.CaptureFixture[str], more: list[str], named: str
) -> None:
    said = say(capsys, *GRID[:-2], *more)
    assert said.status == 2
    assert named in said.err


@pytest.mark.usefixtures("_large")
def test_noise_has_no_labels(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    places = tmp_path / "towns.csv"
    places.write_text("name,x,y\na,0,0\nb,1,0\nc,0,1\n", encoding="utf-8")
    said = say(capsys, "design", places, "--label", "name", "--unit", "km", "--epsilon", "1")
    assert said.status == 2
    assert "--label: expected none" in said.err
