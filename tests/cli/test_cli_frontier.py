"""``discreet compare`` with the name of a mechanism: what methods lose on synthetic data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cli.commands import say
from discreet.core.errors import InvalidProblemError
from discreet.plot import plot_points
from discreet.report import make_chapter


def values(data: dict[str, Any], method: str) -> list[float]:
    return [one["estimate"]["value"] for one in data["points"] if one["method"] == method]


def test_more_budget_loses_less(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    said = say(
        capsys,
        *("compare", "hierarchy", "--epsilon", "0.05,2", "--methods", "m-c-dp", "--json"),
        *("--report", page),
    )
    assert said.status == 0, said.err
    assert said.data["parameter"] == "epsilon"
    lost = values(said.data, "m-c-dp")
    assert lost[0] > lost[1]
    assert "m-c-dp" in page.read_text(encoding="utf-8")


def test_more_anonymity_loses_more(capsys: pytest.CaptureFixture[str]) -> None:
    said = say(capsys, "compare", "kanonymity", "-k", "2,20", "--methods", "mondrian", "--json")
    assert said.status == 0, said.err
    lost = values(said.data, "mondrian")
    assert 0 < lost[0] < lost[1] < 1


def test_choices_keep_a_share_of_the_best(capsys: pytest.CaptureFixture[str]) -> None:
    said = say(
        capsys, "compare", "submodular", "--epsilon", "0.01,8", "--methods", "permute-and-flip"
    )
    assert said.status == 0, said.err
    assert "share of the best value" in said.out
    assert "On synthetic data" in said.out


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("hierarchy",), "--epsilon"),
        (("hierarchy", "-k", "2"), "--epsilon"),
        (("hierarchy", "--epsilon", "1", "-k", "2"), "-k"),
        (("kanonymity", "--epsilon", "1"), "-k"),
        (("kanonymity", "-k", "2.5"), "-k"),
        (("kanonymity", "-k", "2", "--methods", "mondrian,mondrian"), "--methods"),
        (("submodular", "--epsilon", "1", "--methods", "magic"), "--methods"),
        (("--grid", "2x2", "--unit", "km", "--epsilon", "1", "-k", "2"), "-k"),
        (("--grid", "2x2", "--unit", "km"), "--epsilon"),
    ],
)
def test_what_makes_no_sense_is_refused(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], word: str
) -> None:
    said = say(capsys, "compare", *arguments)
    assert said.status == 2
    assert word in said.err


def test_nothing_is_drawn_without_points() -> None:
    with pytest.raises(InvalidProblemError):
        plot_points([])
    with pytest.raises(InvalidProblemError):
        make_chapter("frontier", [])
