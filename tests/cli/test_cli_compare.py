"""``compare``: the command of the documentation, its table, its page, its refusals, and interrupts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from cli.commands import say
from discreet import metricdp
from discreet.evaluate import comparison
from discreet.evaluate.registry import COMPARED
from discreet.metricdp.methods import METHODS

GRID = ["compare", "--grid", "3x3", "--unit", "km"]


def test_methods_are_compared_as_the_manual_says(capsys: pytest.CaptureFixture[str]) -> None:
    said = say(
        capsys,
        *GRID,
        *[
            "--epsilon",
            "0.5,1,2",
            "--methods",
            "optimal,exponential,planar-laplace,kernel",
            "--json",
        ],
    )
    assert said.status == 0
    entries = said.data["entries"]
    assert len(entries) == 12
    assert [bound["epsilon"] for bound in said.data["bounds"]] == [0.5, 1.0, 2.0]
    assert said.data["loss_without_privacy"] == 0
    for entry in entries:
        assert entry.keys() >= {"loss", "lower", "seconds", "peak_memory_bytes", "found_by"}
        if entry["certified"]:
            assert entry["epsilon_within_radius"] <= entry["epsilon"] * (1 + 1e-9)
            assert entry["epsilon_all_pairs"] <= entry["epsilon"] * (1 + 1e-9)
    best = {entry["epsilon"]: entry["loss"] for entry in entries if entry["method"] == "optimal"}
    for entry in entries:
        assert entry["loss"] is None or entry["loss"] >= best[entry["epsilon"]] * 0.99
    assert re.search("kernel at epsilon 0.5: .*does not apply", said.err)


def test_people_get_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    said = say(capsys, *GRID, "--epsilon", "0.1/km", "--methods", "optimal,kernel", "--quiet")
    assert said.status == 0
    assert said.err == ""
    lines = said.out.splitlines()
    assert lines[0].startswith("9 secrets, 9 reports, epsilon per km")
    assert "lower bound" in lines[3]
    assert lines[4].split()[:2] == ["0.1", "optimal"]
    assert lines[5].split()[:4] == ["0.1", "kernel", "no", "channel"]


def test_a_page_shows_the_frontier(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    page = tmp_path / "frontier.html"
    said = say(
        capsys,
        *GRID,
        *["--epsilon", "0.5,2", "--methods", "optimal,exponential,kernel", "--report", page],
    )
    assert said.status == 0
    text = page.read_text(encoding="utf-8")
    assert text.count('class="plot"') == 1
    assert text.count("<tr>") == 7
    assert "kernel at 0.5" in text
    assert not re.search(r"(?:src|href)=\"(?!#)", text)


def test_every_method_of_the_library_can_be_compared() -> None:
    assert set(COMPARED) == {*METHODS.proven, "optimal"}


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--methods", "magic"], "--methods: expected one of "),
        (["--methods", "kernel,kernel"], "--methods: expected different names"),
        (["--epsilon", "1,1"], "--epsilon: expected different budgets in one unit"),
        (["--epsilon", "1/km,2"], "--epsilon: expected different budgets in one unit"),
        (["--epsilon", "1,,2"], "--epsilon: expected"),
        (["--gap", "2"], "--gap: expected a relative gap"),
        (["--report", "missing/page.html"], "--report: expected a file in a folder"),
        (["--cell", "0"], "--cell: expected"),
    ],
)
def test_bad_input_is_refused_by_name(
    capsys: pytest.CaptureFixture[str], options: list[Any], complaint: str
) -> None:
    budget = [] if "--epsilon" in options else ["--epsilon", "1"]
    said = say(capsys, *GRID, *budget, *options)
    assert said.status == 2
    assert complaint in said.err
    assert said.out == ""


@pytest.mark.parametrize(
    "option",
    [
        *(["--gap", "0.2"], ["--threads", "2"], ["--allow-unprotected"], ["--time-limit", "9"]),
        *(["--radius", "2"], ["--cell", "2"], ["--loss", "squared"], ["--reports", "x.csv"]),
    ],
)
def test_options_of_a_design_are_refused_with_a_mechanism(
    capsys: pytest.CaptureFixture[str], option: list[str]
) -> None:
    said = say(capsys, "compare", "hierarchy", "--epsilon", "1", *option)
    assert said.status == 2
    assert f"{option[0]}: expected none with hierarchy" in said.err


def test_an_interrupt_leaves_what_was_compared(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = metricdp.design, []

    def design(*given: Any, **options: Any) -> Any:
        calls.append(options["method"])
        if len(calls) == 4:
            raise KeyboardInterrupt
        return real(*given, **options)

    monkeypatch.setattr(comparison, "design", design)
    options = ["--epsilon", "1", "--methods", "exponential,uniform", "--json"]
    said = say(capsys, *GRID, *options)
    assert said.status == 130
    assert "interrupted after 1 of 2 designs" in said.err
    assert said.data["interrupted"] is True
    assert [entry["method"] for entry in said.data["entries"]] == ["exponential"]
