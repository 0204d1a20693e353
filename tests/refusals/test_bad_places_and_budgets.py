"""Places that are none and budgets that protect nobody: a sentence with what to do, by the command and in Python."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import discreet as dc
from cli.commands import say
from crs_frames import SITE, Converting
from discreet import ApproxDP, MetricSpace, PureDP, ZeroConcentratedDP
from discreet.core.errors import InvalidProblemError
from discreet.lrgeo import Region
from discreet.report.words import promise_about_a_person

if TYPE_CHECKING:
    from collections.abc import Callable

MIXED = "type longitude % 360"
DESIGN = "design places.csv --x lon --y lat --metric haversine --epsilon 1/km --method exponential"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("p.csv").write_text("state,sex\nGA,F\nGA,M\nNY,F\n", encoding="utf-8")
    Path("r.csv").write_text("state\nGA\nNY\n", encoding="utf-8")
    Path("d.json").write_text('{"sex": ["F", "M"]}', encoding="utf-8")
    Path("e.csv").write_text("client,candidate\n1,a\n2,b\n", encoding="utf-8")
    Path("k.csv").write_text("candidate\na\nb\n", encoding="utf-8")
    return tmp_path


def write_places(*places: tuple[float, float]) -> None:
    rows = "".join(f"{latitude},{longitude}\n" for latitude, longitude in places)
    Path("places.csv").write_text(f"lat,lon\n{rows}", encoding="utf-8")


def test_a_system_that_pyproj_cannot_convert_is_told_what_to_type() -> None:
    """Commands read columns, which have no coordinate system."""
    with pytest.raises(InvalidProblemError, match=r"pyproj converts .*type frame\.set_crs"):
        MetricSpace.from_points(Converting([(12.5, 41.9), (12.6, 41.9)], SITE), unit="km")


def test_longitudes_of_both_ranges_are_told_what_to_type(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    places = [(10.0, -170.0), (10.0, 190.0), (11.0, 185.0)]
    write_places(*places)
    said = say(capsys, *DESIGN.split())
    assert (said.status, said.out) == (2, "")
    assert MIXED in said.err
    with pytest.raises(InvalidProblemError, match=MIXED):
        MetricSpace.from_points(places, metric="haversine", unit="km")


def test_a_pole_is_one_place_and_no_region(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    places = [(90.0, 0.0), (90.0, 50.0), (89.9, 10.0)]
    write_places(*places)
    assert say(capsys, *DESIGN.split()).status == 0
    space = MetricSpace.from_points(places, metric="haversine", unit="km")
    assert space.distance(0, 1) == 0
    refused = say(
        capsys,
        *["serve", "--grid", "3x3", "--cell", "0.5", "--origin", "89.99,0", "--epsilon", "2/km"],
    )
    assert refused.status == 2
    words = "MetricSpace.from_points(points, metric='haversine', unit='km') takes places anywhere"
    assert words in refused.err
    assert " 0 degrees" not in refused.err
    with pytest.raises(InvalidProblemError, match="takes places anywhere"):
        Region.from_grid(3, 3, cell="0.5", unit="km", origin=(89.99, 0.0))


COUNTS = (
    "counts p.csv --regions state --region-list r.csv --by sex --domain d.json --neighbors "
    "add-remove-person -o counts.csv"
)
SELECT = (
    "select --coverage e.csv --matroid uniform:1 --candidates k.csv --neighbors add-remove-one "
    "-o s.choice"
)
NOBODY = "protects nobody: it allows a guesser"
RECORDS = "Choose a delta far below 1 over the number of people."


def choose(guarantee: Any) -> dc.Release[Any]:
    worth = dc.submodular.Coverage([[True, False], [False, True]])
    return dc.submodular.release(worth, dc.submodular.UniformMatroid(2, 1), guarantee)


@pytest.mark.jit
@pytest.mark.parametrize(
    ("line", "guarantee", "words"),
    [
        (f"{COUNTS} --epsilon 50", PureDP(50, "add-remove-one"), f"Epsilon 50 {NOBODY}"),
        (f"{COUNTS} --rho 20", ZeroConcentratedDP(20, "add-remove-one"), f"Rho 20 {NOBODY}"),
        (
            f"{SELECT} --epsilon 1 --delta 0.5",
            ApproxDP(1, "0.5", "add-remove-one"),
            f"with 2 people or more some may be published. {RECORDS}",
        ),
        (f"{SELECT} --epsilon 50 --delta 1e-9", ApproxDP(50, "1e-9", "add-remove-one"), NOBODY),
    ],
)
def test_a_budget_that_protects_nobody_says_so(
    line: str,
    guarantee: Any,
    words: str,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = say(capsys, *line.split())
    assert said.status == 0
    assert words in said.err
    made = choose(guarantee)
    assert words in str(made)
    assert words in made._repr_html_()
    assert words in " ".join(promise_about_a_person(guarantee)["cautions"])


@pytest.mark.parametrize(
    ("amount", "words"),
    [
        ("--epsilon 60", f"Epsilon 60 {NOBODY}"),
        ("--rho 30", f"Rho 30 {NOBODY}"),
        ("--epsilon 1 --delta 0.01", "with 100 people or more some may be published"),
        ("--epsilon 2", ""),
    ],
)
def test_a_ledger_for_a_budget_that_protects_nobody_says_so(
    amount: str, words: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = f"budget create l.db --dataset d --neighbors add-remove-person {amount}"
    said = say(capsys, *line.split())
    assert said.status == 0
    assert words in said.err
    assert bool(said.err) is bool(words)


@pytest.mark.parametrize("make", [lambda: PureDP(1, "add-remove-one")])
def test_a_usual_budget_says_nothing(make: Callable[[], Any]) -> None:
    made = choose(make())
    assert "protects nobody" not in str(made)
    assert "warning" not in str(made)
