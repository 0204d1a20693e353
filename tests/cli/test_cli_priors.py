"""``--priors``: the worst of several priors, from files, columns and by name; and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cli.commands import say
from discreet.artefact import load

GRID = ["design", "--grid", "3x3", "--cell", "1", "--unit", "km", "--epsilon", "1"]


def prior_file(path: Path, weights: list[float]) -> Path:
    path.write_text("secret,weight\n" + "".join(f"{i},{w}\n" for i, w in enumerate(weights)))
    return path


@pytest.fixture
def priors(tmp_path: Path) -> str:
    left = prior_file(tmp_path / "a.csv", [5, 1, 1, 5, 1, 1, 5, 1, 1])
    right = prior_file(tmp_path / "b.csv", [1, 1, 4, 1, 1, 4, 1, 1, 4])
    return f"{left},{right}"


def test_the_worst_loss_is_designed_for_and_verified(
    capsys: pytest.CaptureFixture[str], priors: str, tmp_path: Path
) -> None:
    path = tmp_path / "c.channel"
    said = say(capsys, *GRID, "--priors", priors, "-o", path, "--json")
    assert (said.status, [*said.data["stages"]]) == (0, ["start", "search", "writing"])
    worst = said.data["worst_case"]
    assert worst["loss"] == max(worst["losses"].values())
    assert 0 < worst["lower"] <= worst["loss"]
    assert worst["gap"] < 1e-5
    assert sum(worst["weights"].values()) == pytest.approx(1)
    assert list(worst["losses"]) == priors.split(",")
    assert say(capsys, "verify", path, "--optimality").status == 0
    made = load(path)
    left = np.array([5, 1, 1] * 3) / 21
    assert made.channel.expected_loss(left[:, None] * made.problem.loss) == pytest.approx(
        worst["losses"][priors.split(",", maxsplit=1)[0]], rel=1e-12
    )


def test_each_secret_is_a_prior(capsys: pytest.CaptureFixture[str]) -> None:
    said = say(capsys, *GRID, "--priors", "each", "--json", "--quiet")
    worst = said.data["worst_case"]
    assert list(worst["losses"]) == [str(place) for place in range(9)]
    assert list(worst["losses"].values()) == pytest.approx(said.data["loss_by_secret"])
    assert worst["loss"] == pytest.approx(said.data["loss_quantiles"]["worst"])


def test_people_read_the_loss_under_each_prior(
    capsys: pytest.CaptureFixture[str], priors: str
) -> None:
    said = say(capsys, *GRID, "--priors", f"{priors},uniform", "--quiet", "--gap", "0.001")
    assert said.status == 0
    assert said.out.startswith("worst expected loss  ")
    assert "  under uniform: " in said.out
    assert "For the worst mixture of the priors:" in said.out


def test_columns_of_the_places_are_priors(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    places = tmp_path / "places.csv"
    places.write_text("x,y,day,night\n0,0,3,1\n1,0,1,1\n2,0,1,3\n")
    options = ["--x", "x", "--y", "y", "--epsilon", "1/km", "--priors", "day,night"]
    said = say(capsys, "design", places, *options, "--json")
    assert said.status == 0
    assert said.data["worst_case"]["losses"].keys() == {"day", "night"}


def test_a_gap_that_was_missed_is_status_4(
    capsys: pytest.CaptureFixture[str], priors: str, tmp_path: Path
) -> None:
    path = tmp_path / "c.channel"
    said = say(capsys, *GRID, "--priors", priors, "--gap", "0", "-o", path)
    assert said.status == 4
    assert "asked for a gap of 0 %, reached " in said.err
    assert path.is_file()


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--priors", "uniform,uniform"], "--priors: expected different priors"),
        (["--priors", "missing.csv"], "--priors: expected uniform, or a file"),
        (["--priors", "uniform", "--method", "kernel"], "--method: expected auto or optimal"),
        (["--priors", "uniform", "--prior", "A"], "--priors: expected no --prior beside it"),
    ],
)
def test_what_does_not_go_together_is_refused(
    capsys: pytest.CaptureFixture[str], priors: str, options: list[Any], complaint: str
) -> None:
    given = [priors.split(",", maxsplit=1)[0] if option == "A" else option for option in options]
    said = say(capsys, *GRID, *given)
    assert (said.status, said.out) == (2, "")
    assert complaint in said.err
