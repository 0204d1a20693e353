"""``design``: the commands of the README as they stand there, every refusal, and interrupts."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numba.core import event

from cli.commands import say
from discreet.artefact import load
from discreet.artefact.reader import read
from discreet.cli import design
from discreet.cli.app import run
from discreet.core.jit import kernel
from discreet.metricdp.methods import METHODS as CHANNELS
from discreet.metricdp.methods.baselines import Exponential

if TYPE_CHECKING:
    from collections.abc import Callable

# The module: the package has the function under this name.
_design = import_module("discreet.metricdp.design")

ROOT = Path(__file__).parents[2]
GRID = ["--grid", "3x3", "--cell", "1", "--unit", "km"]
EPSILON = ["--epsilon", "2"]

TOWN = """name,lon,lat,weight,note
inn,12.4769,41.8986,3,old
church,12.4964,41.9028,1,old
mill,12.4823,41.8902,2,new
bridge,12.4663,41.9022,4,new
market,12.4722,41.8955,2,new
"""


@pytest.fixture
def town(tmp_path: Path) -> Path:
    path = tmp_path / "places.csv"
    path.write_text(TOWN)
    return path


def test_a_grid_is_designed_as_the_readme_says(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "c.channel"
    line = "design --grid 7x7 --cell 1 --unit km --epsilon 2 --radius 2 --loss euclidean"
    said = say(capsys, *line.split(), "-o", path, "--json")
    data = said.data
    assert said.status == 0
    assert {
        "loss",
        "lower",
        "upper",
        "gap",
        "method",
        "seconds",
        "guarantee",
        "certificate",
    } <= data.keys()
    assert 0 < data["lower"] <= data["upper"] == data["loss"]
    assert list(data["stages"]) == ["start", "search", "verification", "writing"]
    assert min(data["stages"].values()) >= 0
    assert 0 <= data["gap"] <= 0.01
    assert data["certificate"]["passed"] is True
    assert (data["guarantee"]["epsilon"], data["guarantee"]["radius"]) == ("2", "2")
    assert data["guarantee"]["scope"]["all_pairs_epsilon"] is not None
    assert data["output"] == str(path)
    made = load(path)
    assert (made.upper, made.lower) == (data["upper"], data["lower"])
    assert say(capsys, "verify", path, "--optimality").status == 0
    command = [sys.executable, "-I", "-S", str(ROOT / "verify_standalone.py"), str(path)]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0


def test_places_are_designed_as_the_readme_says(
    capsys: pytest.CaptureFixture[str], town: Path, tmp_path: Path
) -> None:
    path = tmp_path / "c.channel"
    line = "--x lon --y lat --metric haversine --epsilon 1.5/km --radius 2 --prior weight --gap 0.01 --time-limit 60"
    said = say(capsys, "design", town, *line.split(), "--label", "name", "-o", path, "--json")
    assert said.status == 0
    assert said.data["unit"] == "km"
    assert said.data["prior_normalized_from"] == 12
    stored = read(path)
    assert stored.labels == ("inn", "church", "mill", "bridge", "market")
    losses = said.data["loss_by_secret"]
    assert losses == stored.design.loss_by_secret.tolist()
    assert said.data["loss_quantiles"]["worst"] == max(losses)
    worst = stored.labels[losses.index(max(losses))]
    assert f"The worst is {worst}." in " ".join(say(capsys, "info", path).out.split())
    problem = stored.design.problem
    assert problem.prior.tolist() == pytest.approx([3 / 12, 1 / 12, 2 / 12, 4 / 12, 2 / 12])
    # Inn and church are 1.68 km apart if longitude and latitude are where they should be.
    assert float(problem.space.distance(0, 1)) == pytest.approx(1.68, abs=0.01)
    assert say(capsys, "verify", path, "--optimality").status == 0


def test_without_a_radius_all_pairs_are_protected(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    data = say(capsys, "design", *GRID, *EPSILON, "-o", tmp_path / "c", "--json").data
    assert data["guarantee"]["radius"] is None
    assert data["guarantee"]["scope"]["all_pairs_epsilon"] == "2"


def test_people_get_text_and_where_it_was_written(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    said = say(capsys, "design", *GRID, *EPSILON, "-o", tmp_path / "c")
    assert said.status == 0
    assert "expected loss" in said.out
    assert "passed" in said.out
    assert said.err == ""
    nowhere = say(capsys, "design", *GRID, *EPSILON)
    assert nowhere.err == "discreet: nothing was written: no --output\n"
    assert say(capsys, "design", *GRID, *EPSILON, "--quiet").err == ""


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--forbid", "0>4"], "report 4 is forbidden to 1 of 9 secrets: by metric privacy"),
        (["--max-error", "1"], "the least possible maximum is 1.41422 (report 4)"),
    ],
)
def test_what_metric_privacy_rules_out_is_infeasible(
    capsys: pytest.CaptureFixture[str], options: list[str], said: str
) -> None:
    ended = say(capsys, "design", *GRID, *EPSILON, "--loss", "euclidean", *options)
    assert (ended.status, ended.out) == (3, "")
    assert said in ended.err
    assert ended.err.count("\n") == 1


@pytest.mark.parametrize(
    "options",
    [
        ["--loss", "squared-euclidean"],
        ["--loss", "manhattan"],
        ["--reports", "0,4,8"],
        ["--forbid", "0,8"],
        ["--forbid", ",".join(f"{secret}>3" for secret in range(9))],
        ["--max-error", "2.3", "--loss", "euclidean"],
        *(["--method", name] for name in CHANNELS.proven),
        ["--method", "optimal"],
        ["--threads", "2", "--time-limit", "20"],
    ],
    ids=" ".join,
)
def test_options_lead_to_verified_channels(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, options: list[str]
) -> None:
    path = tmp_path / "c.channel"
    assert say(capsys, "design", *GRID, *EPSILON, *options, "-o", path).status == 0
    assert say(capsys, "verify", path, "--optimality").status == 0


def test_reports_and_losses_come_from_files(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    np.save(tmp_path / "loss.npy", np.arange(18.0).reshape(9, 2) % 5)
    path = tmp_path / "c.channel"
    assert (
        say(capsys, "design", *GRID, *EPSILON, "--loss", tmp_path / "loss.npy", "-o", path).status
        == 0
    )
    made = load(path)
    assert made.channel.n_reports == 2
    assert made.problem.reports is None
    drawn = say(capsys, "sample", path, "--secret", 0, "--json").data
    assert (drawn["secrets"], drawn["points"]) == (None, None)


def test_embeddings_take_any_number_of_columns(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "words.csv"
    path.write_text("word,a,b,c\ncat,1,0,0.1\ndog,0.9,0.1,0\ncar,0,1,0.2\n")
    options = ["--columns", "a,b,c", "--metric", "angular", "--epsilon", "4", "--label", "word"]
    said = say(capsys, "design", path, *options, "-o", tmp_path / "c", "--json")
    assert (said.status, said.data["unit"]) == (0, "rad")
    assert say(capsys, "sample", tmp_path / "c", "--secret", "cat").out.strip() in {
        "cat",
        "dog",
        "car",
    }


NEAR = "--x lon --y lat --metric haversine --epsilon 1 --radius 0.9"


def test_isolated_secrets_are_joined_and_it_says_so(
    capsys: pytest.CaptureFixture[str], town: Path, tmp_path: Path
) -> None:
    said = say(capsys, "design", town, *NEAR.split(), "-o", tmp_path / "c", "--json")
    assert said.status == 0
    assert "links beyond the radius" in said.err
    assert (said.data["components"], said.data["isolated_secrets"]) == (1, [])
    assert said.data["joined_links"] > 0
    assert say(capsys, "verify", tmp_path / "c").status == 0


def test_unprotected_secrets_are_allowed_when_asked_for_and_named(
    capsys: pytest.CaptureFixture[str], town: Path, tmp_path: Path
) -> None:
    said = say(
        capsys,
        "design",
        town,
        *NEAR.split(),
        "--label",
        "name",
        "--allow-unprotected",
        "-o",
        tmp_path / "c",
        "--json",
    )
    assert said.status == 0
    isolated = said.data["isolated_secrets"]
    assert 1 in isolated
    assert f"{len(isolated)} secrets are NOT protected: " in said.err
    assert "church" in said.err
    assert said.data["components"] > 1
    assert said.data["guarantee"]["scope"]["all_pairs_epsilon"] is None
    assert say(capsys, "verify", tmp_path / "c").status == 0


def test_a_report_is_written(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    made = tmp_path / "c.channel"
    said = say(capsys, "design", *GRID, *EPSILON, "--output", made, "--report", page)
    assert (said.status, said.err) == (0, "")
    text = page.read_text(encoding="utf-8")
    assert text.lower().startswith("<!doctype html>")
    # A file that is altered after its report was made has another digest than the report states.
    assert f'data-sha256="{hashlib.sha256(made.read_bytes()).hexdigest()}"' in text
    assert str(tmp_path) not in text


def as_file(text: str) -> Callable[[Path], str]:
    def write(folder: Path) -> str:
        path = folder / "given.csv"
        path.write_text(text)
        return str(path)

    return write


def negative_loss(folder: Path) -> str:
    np.save(folder / "loss.npy", np.full((9, 9), -1.0))
    return str(folder / "loss.npy")


def missing_loss(folder: Path) -> str:
    np.save(folder / "loss.npy", np.full((9, 9), np.nan))
    return str(folder / "loss.npy")


def small_loss(folder: Path) -> str:
    np.save(folder / "loss.npy", np.ones((4, 4)))
    return str(folder / "loss.npy")


PLACES = ["--x", "lon", "--y", "lat", "--metric", "haversine", *EPSILON]
BAD: dict[str, tuple[list[Any], str]] = {
    "no epsilon": ([*GRID], "--epsilon: expected a value ("),
    "epsilon of zero": ([*GRID, "--epsilon", "0"], "--epsilon: expected a positive number"),
    "negative epsilon": ([*GRID, "--epsilon", "-2"], "--epsilon: expected a positive number"),
    "another unit": ([*GRID, "--epsilon", "2/m"], "--epsilon: expected a budget per km"),
    "no unit": (
        ["--grid", "3x3", "--cell", "1", *EPSILON],
        "--unit: expected the unit of distance",
    ),
    "no places": ([*EPSILON, "--unit", "km"], "PLACES: expected a file of places, or --grid"),
    "grid text": (
        ["--grid", "3by3", "--cell", "1", "--epsilon", "2/km"],
        "--grid: expected rows x columns",
    ),
    "blocks of another method": (
        [*GRID, *EPSILON, "--method", "direct", "--blocks", "3"],
        "--blocks: expected --method benders with it, got direct",
    ),
    "partitioner without a method": (
        [*GRID, *EPSILON, "--partitioner", "bsc"],
        "--partitioner: expected --method benders with it, got auto",
    ),
    "no blocks": (
        [*GRID, *EPSILON, "--method", "benders", "--blocks", "0"],
        "--blocks: expected at least one block",
    ),
    "unknown partitioner": (
        [*GRID, *EPSILON, "--method", "benders", "--partitioner", "metis"],
        "--partitioner: expected one of k-m-DV, k-m-rec, k-m-adj, BSC, got 'metis'",
    ),
    "cell of zero": (["--grid", "3x3", "--cell", "0", "--epsilon", "2/km"], "--cell: expected"),
    "cell of text": (["--grid", "3x3", "--cell", "big", "--epsilon", "2/km"], "--cell: expected"),
    "x on a grid": ([*GRID, *EPSILON, "--x", "lon"], "--x: expected a file of places with it"),
    "metric on a grid": (
        [*GRID, *EPSILON, "--metric", "angular"],
        "--metric: expected euclidean on a grid",
    ),
    "unknown metric": ([*GRID, *EPSILON, "--metric", "hex"], "--metric: expected one of euclidean"),
    "radius of zero": ([*GRID, *EPSILON, "--radius", "0"], "--radius: expected a positive number"),
    "radius of text": ([*GRID, *EPSILON, "--radius", "near"], "--radius: expected a finite number"),
    "unknown loss": ([*GRID, *EPSILON, "--loss", "regret"], "--loss: expected"),
    "negative loss": (
        [*GRID, *EPSILON, "--loss", negative_loss],
        "--loss: expected finite non-negative",
    ),
    "loss not a number": (
        [*GRID, *EPSILON, "--loss", missing_loss],
        "--loss: expected finite non-negative",
    ),
    "loss of others": (
        [*GRID, *EPSILON, "--loss", small_loss],
        "--loss: expected a table of 9 rows",
    ),
    "no such prior": ([*GRID, *EPSILON, "--prior", "w"], "--prior: expected uniform, or a file"),
    "negative weight": (
        [
            *GRID,
            *EPSILON,
            "--prior",
            as_file("secret,weight\n" + "\n".join(f"{i},{i - 1}" for i in range(9))),
        ],
        "--prior: expected non-negative weights, got -1 at 0",
    ),
    "reports of others": (
        [*GRID, *EPSILON, "--reports", "0,9"],
        "--reports: expected secrets by index from 0 to 8",
    ),
    "reports twice": (
        [*GRID, *EPSILON, "--reports", "0,0"],
        "--reports: expected different secrets",
    ),
    "half a pair": (
        [*GRID, *EPSILON, "--forbid", "0>"],
        "--forbid: expected secrets by index from 0 to 8",
    ),
    "all forbidden": (
        [*GRID, *EPSILON, "--forbid", "0,1,2,3,4,5,6,7,8"],
        "--forbid: expected a report that is left",
    ),
    "negative error": (
        [*GRID, *EPSILON, "--max-error", "-1"],
        "--max-error: expected a loss of 0 or more",
    ),
    "quantile": (
        [*GRID, *EPSILON, "--loss", "median"],
        "--loss: expected a mean: a quantile of the loss is not linear",
    ),
    "gap of one": ([*GRID, *EPSILON, "--gap", "1"], "--gap: expected a relative gap"),
    "gap of text": ([*GRID, *EPSILON, "--gap", "small"], "--gap: expected"),
    "time limit of zero": (
        [*GRID, *EPSILON, "--time-limit", "0"],
        "--time-limit: expected positive seconds",
    ),
    "no threads": ([*GRID, *EPSILON, "--threads", "0"], "--threads: expected at least one"),
    "unknown method": (
        [*GRID, *EPSILON, "--method", "magic"],
        "--method: expected one of auto, ",
    ),
    "output in no folder": (
        [*GRID, *EPSILON, "-o", "missing/c"],
        "--output: expected a file in a folder",
    ),
    "report in no folder": (
        [*GRID, *EPSILON, "--report", "missing/c"],
        "--report: expected a file in a folder",
    ),
    "unknown option": ([*GRID, *EPSILON, "--colour", "3"], "No such option: --colour"),
    "two sources": (
        ["PLACES", *GRID, *EPSILON],
        "PLACES: expected a file of places, or --grid, got both",
    ),
    "no such file": (["missing.csv", *PLACES], "PLACES: expected the path of a file that exists"),
    "cell with places": (["PLACES", *PLACES, "--cell", "1"], "--cell: expected --grid with it"),
    "no x": (
        ["PLACES", "--y", "lat", *EPSILON, "--unit", "km"],
        "--x: expected the name of a column",
    ),
    "no y": (
        ["PLACES", "--x", "lat", *EPSILON, "--unit", "km"],
        "--y: expected the name of a column",
    ),
    "unknown column": (
        ["PLACES", *PLACES, "--x", "long"],
        "--x: expected a column of the table (name, lon, lat",
    ),
    "column of text": (
        ["PLACES", *PLACES, "--x", "note"],
        "--x: expected numbers such as 1.5 in column note",
    ),
    "both kinds of columns": (
        ["PLACES", "--columns", "lon,lat", "--x", "lon", *EPSILON, "--unit", "km"],
        "--columns: expected either this or --x and --y",
    ),
    "unknown label": (
        ["PLACES", *PLACES, "--label", "title"],
        "--label: expected a column of the table",
    ),
    "labels twice": (["PLACES", *PLACES, "--label", "note"], "--label: expected 5 different names"),
    "latitude out of range": (["PLACES", *PLACES, "--y", "big"], "--y: expected a column"),
    "degrees in the plane": (
        ["PLACES", "--x", "lon", "--y", "lat", *EPSILON, "--unit", "km"],
        "--metric: expected haversine for the degrees in 'lon' and 'lat'; type metric='haversine' (--metric",
    ),
    "degrees as columns": (
        ["PLACES", "--columns", "lon,lat", "--metric", "manhattan", *EPSILON, "--unit", "m"],
        "--metric: expected haversine for the degrees in 'lon' and 'lat'; type metric='haversine' (--metric",
    ),
    "longitude as latitude": (
        ["PLACES", "--x", "lat", "--y", "lon", "--metric", "haversine", *EPSILON, "--unit", "km"],
        "--x, --y: expected the latitude before the longitude, which a command reads from --y and --x",
    ),
    "degrees without a metric": (
        ["PLACES", *EPSILON, "--unit", "km"],
        "for longitude and latitude type --x lon --y lat --metric haversine",
    ),
    "haversine in miles": (["PLACES", *PLACES, "--unit", "mi"], "--unit: expected"),
}


@pytest.mark.parametrize(("arguments", "message"), BAD.values(), ids=BAD)
def test_bad_input_is_one_line_that_names_the_argument(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    town: Path,
    arguments: list[Any],
    message: str,
) -> None:
    """Exit status 2, nothing on standard output, nothing written half."""
    folder = town.parent / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    given = [part(town.parent) if callable(part) else part for part in arguments]
    given = [str(town) if part == "PLACES" else part for part in given]
    output = [] if "-o" in given else ["-o", "c.channel"]
    said = say(capsys, "design", *given, *output)
    assert (said.status, said.out) == (2, "")
    assert message in said.err
    assert said.err.startswith("discreet: ")
    assert said.err.count("\n") == 1
    assert list(folder.iterdir()) == []
    as_json = say(capsys, "design", *given, *output, "--json")
    assert (as_json.status, as_json.out) == (2, "")
    error = json.loads(as_json.err)["error"]
    assert message in error["message"]
    assert error["status"] == 2


def test_columns_of_a_plane_may_be_named_like_degrees(
    capsys: pytest.CaptureFixture[str], town: Path
) -> None:
    line = ["design", town, "--x", "lon", "--y", "lat", *EPSILON, "--unit", "km", "--json"]
    assert say(capsys, *line, "--plane", "-o", town.parent / "c.channel").status == 0


@pytest.mark.parametrize("seconds", ["30", "0.001"])
def test_a_decomposition_by_its_own_options_with_cells_of_one_unit(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, seconds: str
) -> None:
    """It ends within the limit with a verified design, whether or not the gap was reached."""
    path = tmp_path / "b.channel"
    line = "design --grid 4x4 --unit km --epsilon 1 --radius 1 --method benders --blocks 3 --partitioner k-m-dv"
    said = say(capsys, *line.split(), "--time-limit", seconds, "--json", "-o", path)
    assert said.status == 0
    assert said.data["certificate"]["passed"]
    assert load(path).certificate.passed
    assert (said.data["status"] == "limit reached") == (seconds != "30")
    assert said.data["sizes"]["secrets"] == 16
    if seconds == "30":
        assert said.data["method"] == "benders"


def test_a_label_must_stand_in_each_row(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("x,y,name\n0,0,a\n1,1,\n")
    said = say(
        capsys,
        "design",
        tmp_path / "p.csv",
        "--x",
        "x",
        "--y",
        "y",
        "--epsilon",
        "2/km",
        "--label",
        "name",
    )
    assert said.status == 2
    assert "--label: expected a label in each row, got none in row 2" in said.err


def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave nothing but the exponential mechanism to try: its gap is wide."""
    monkeypatch.setattr(_design, "_FIRST_METHODS", ())
    monkeypatch.setattr(_design, "_costly_methods", lambda *_, **__: ((Exponential(),), ""))


def test_a_gap_that_was_asked_for_and_missed_is_status_4_and_the_best_is_written(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    slow(monkeypatch)
    path = tmp_path / "c.channel"
    said = say(capsys, "design", *GRID, *EPSILON, "--gap", "0.01", "-o", path, "--json")
    assert said.status == 4
    assert "asked for a gap of 1 %" in said.err
    assert said.data["status"] == "limit reached"
    assert said.data["output"] == str(path)
    assert say(capsys, "verify", path).status == 0


def test_optimal_is_a_target_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    slow(monkeypatch)
    assert (
        say(capsys, "design", *GRID, *EPSILON, "--method", "optimal", "-o", tmp_path / "c").status
        == 4
    )


def test_a_limit_alone_is_no_target(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    slow(monkeypatch)
    for options in ([], ["--time-limit", "1"]):
        said = say(capsys, "design", *GRID, *EPSILON, *options, "-o", tmp_path / "c", "--json")
        assert (said.status, said.data["status"]) == (0, "limit reached")


def test_a_method_that_does_not_apply_is_a_solver_failure(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    options = ["--method", "kernel", "--reports", "0,1", "-o", str(tmp_path / "c")]
    said = say(capsys, "design", *GRID, *EPSILON, *options)
    assert (said.status, said.out) == (70, "")
    assert said.err.count("\n") == 1
    assert not (tmp_path / "c").exists()


def test_a_bug_is_internal_and_shows_where(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise KeyError("oops")

    monkeypatch.setattr(design, "state_any", broken)
    said = say(capsys, "design", *GRID, *EPSILON)
    assert (said.status, said.out) == (70, "")
    # Its words may be a value; its place is none.
    assert re.fullmatch(
        r"discreet: internal error, please report it: KeyError at discreet\.cli\.design:\d+, "
        r"from (cli\.)?test_cli_design:\d+\n",
        said.err,
    )


@pytest.mark.parametrize("has_best", [True, False])
def test_an_interrupt_writes_the_best_that_was_verified(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    *,
    has_best: bool,
) -> None:
    path = tmp_path / "c.channel"
    say(capsys, "design", *GRID, *EPSILON, "-o", path)
    best = load(path) if has_best else None
    path.unlink()

    def interrupted(*_: object, **__: object) -> None:
        raise _design.Interrupted(best)

    monkeypatch.setattr("discreet.metricdp.design", interrupted)
    said = say(capsys, "design", *GRID, *EPSILON, "-o", path, "--json")
    assert said.status == 130
    assert path.exists() is has_best
    if has_best:
        assert said.data["interrupted"] is True
        assert say(capsys, "verify", path).status == 0
    else:
        assert said.out == ""
        assert "interrupted before anything was verified" in said.err


def test_a_design_that_compiles_says_so_on_standard_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    plain = vars(design)["state_any"]

    def compiles(*arguments: Any) -> Any:
        with event.trigger_event("numba:compile"):
            return plain(*arguments)

    monkeypatch.setattr(design, "state_any", compiles)
    kernel(lambda: None)
    arguments = ["design", *GRID, *EPSILON, "-o", str(tmp_path / "c"), "--json"]
    assert run(arguments) == 0
    assert "discreet: compiling, first run only\n" in capsys.readouterr().err
    assert run([*arguments, "--quiet"]) == 0
    assert capsys.readouterr().err == ""


def test_an_interrupt_elsewhere_is_status_130(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(design, "state_any", interrupted)
    said = say(capsys, "design", *GRID, *EPSILON)
    assert (said.status, said.out) == (130, "")


def test_points_by_their_option_have_columns_x_and_y_unless_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "few.csv"
    path.write_text("x,y,weight\n0,0,1\n1,0,2\n0,1,1\n1.5,1,3\n")
    options = ["--unit", "km", "--epsilon", "0.5", "--radius", "2", "--loss", "euclidean"]
    options += ["--prior", "weight", "--gap", "0.01"]
    said = say(capsys, "design", "--points", path, *options, "-o", tmp_path / "c", "--json")
    assert said.status == 0
    assert say(capsys, "verify", tmp_path / "c", "--optimality").status == 0
    named = say(capsys, "design", path, "--x", "y", "--y", "x", *options, "--json")
    assert named.data["loss"] == pytest.approx(said.data["loss"])
    both = say(capsys, "design", path, "--points", path, *options)
    assert both.status == 2
    assert "--points" in both.err
    path.write_text("a,b,weight\n0,0,1\n1,0,2\n")
    assert "--x" in say(capsys, "design", "--points", path, *options).err


def test_an_epsilon_for_another_unit_is_asked_about(capsys: pytest.CaptureFixture[str]) -> None:
    """One per meter, between cells of half a kilometer, reports the true one whenever it is asked."""
    line = "design --grid 2x2 --cell 500 --unit m --loss euclidean --epsilon"
    said = say(capsys, *line.split(), "1")
    assert said.status == 0
    assert "odds of up to e^500 to 1; is epsilon meant to be 1 per m?" in said.err
    assert "meant to be" not in say(capsys, *line.split(), "0.002").err
    assert "meant to be" not in say(capsys, *line.split(), "1", "--quiet").err


def test_places_that_are_given_twice_are_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    places = tmp_path / "twice.csv"
    places.write_text("x,y\n1,1\n1,1\n2,2\n", encoding="utf-8")
    asked = [
        "design",
        "--points",
        places,
        "--unit",
        "km",
        "--epsilon",
        1,
        "--loss",
        "euclidean",
    ]
    said = say(capsys, *asked)
    assert said.status == 0
    assert "2 of 3 secrets are at distance 0 from another" in said.err
    assert "was a place given twice?" in said.err
