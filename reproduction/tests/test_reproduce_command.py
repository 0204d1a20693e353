"""``reproduce``: what it lists, runs, writes and refuses, with an item made for the test."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli.commands import say
from discreet_reproduction import Experiment, Run
from discreet_reproduction.kept import digest_of
from discreet_reproduction.registry import ITEMS
from discreet_reproduction.scales import HEADLINES

calls: list[dict[str, Any]] = []
counted: list[int] = []
stops: list[bool] = []


def item(run: Run) -> Experiment:
    """Count to one.

    The rest is not listed.
    """
    calls.append({"quick": run.quick, "seed": run.seed, "data": run.data})
    run.say("counting")
    rows = [{"count": 1, "count (paper)": 2}]
    return Experiment("made/table1", "Counts", rows, notes=("E1: it counts twice.",))


def limited(run: Run) -> Experiment:
    """Run no longer than it may."""
    calls.append({"limit": run.limit})
    return Experiment("made/figure1", "Limits", [{"limit": run.limit}])


def interrupted(run: Run) -> Experiment:
    """Never end."""
    raise KeyboardInterrupt


def stopped(run: Run) -> Experiment:
    """Count in two parts, and stop in the second as often as the test says."""

    def second() -> int:
        if stops:
            stops.pop()
            raise KeyboardInterrupt
        counted.append(2)
        return 2

    def first() -> int:
        counted.append(1)
        return 1

    parts = run.once("first", first), run.once("second", second)
    return Experiment("made/figure2", "Parts", [{"part": part} for part in parts])


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register items; one takes a limit, the last is interrupted."""
    calls.clear()
    counted.clear()
    stops.clear()
    monkeypatch.setitem(ITEMS, "made/table1", f"{__name__}:item")
    monkeypatch.setitem(ITEMS, "made/figure1", f"{__name__}:limited")
    monkeypatch.setitem(ITEMS, "made/table2", f"{__name__}:interrupted")
    monkeypatch.setattr("discreet_reproduction.command.LIMITED", {"made/figure1"})


def test_items_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    (line,) = (
        line for line in say(capsys, "reproduce").out.splitlines() if line.startswith("made/table1")
    )
    assert line.split(maxsplit=1)[1] == "not run (no result is kept): Count to one."
    listed = say(capsys, "reproduce", "made", "--json").data["items"]
    assert {name: item["what"] for name, item in listed.items()} == {
        "made/table1": "Count to one.",
        "made/figure1": "Run no longer than it may.",
        "made/table2": "Never end.",
    }
    assert calls == []
    assert say(capsys, "reproduce", "list", "made", "--json").data["items"] == listed
    everything = say(capsys, "reproduce", "list").out
    assert everything == say(capsys, "reproduce", "LIST").out == say(capsys, "reproduce").out


def test_a_list_has_status_and_time_of_kept_runs(capsys: pytest.CaptureFixture[str]) -> None:
    kept = say(capsys, "reproduce", "list", "hierarchy", "--json").data["items"]
    assert kept["hierarchy/table5"]["status"] == "full"
    assert kept["hierarchy/table5"]["command"] == "discreet reproduce hierarchy table5"
    assert kept["hierarchy/table5"]["time"].endswith(" s")


def test_a_stopped_item_is_continued_and_not_counted(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ITEMS, "made/figure2", f"{__name__}:stopped")
    monkeypatch.setitem(HEADLINES, "made", ("made/figure2",))
    stops.append(True)
    command = ["reproduce", "made", "headline", "--json", "-o", tmp_path]
    said = say(capsys, *command)
    assert (said.status, said.data["finished"], said.data["experiments"]) == (130, False, [])
    assert not list(tmp_path.glob("*.json"))
    said = say(capsys, *command)
    assert (said.status, counted) == (0, [1, 2])
    assert "made/figure2: continues after 1 parts" in said.err
    assert said.data["experiments"][0]["rows"] == [{"part": 1}, {"part": 2}]
    assert not list(tmp_path.glob("*.parts"))
    stops.append(True)
    say(capsys, *command)
    say(capsys, *command, "--seed", "1")
    assert counted == [1, 2, 1, 1, 2]


def test_what_is_written_says_how_it_was_run(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    say(capsys, "reproduce", "made", "figure1", "--limit", "2.5", "-q", "-o", tmp_path)
    written = json.loads((tmp_path / "made-figure1.json").read_text(encoding="utf-8"))["run"]
    assert written["command"] == "discreet reproduce made figure1 --limit 2.5"
    assert written["digest"] == digest_of(tmp_path / "made-figure1.csv")
    assert written["seconds"] >= 0


def test_an_item_is_run_and_written(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    said = say(
        capsys,
        *["reproduce", "made", "table1", "--quick", "--seed", "7", "--json"],
        *["--data", tmp_path, "-o", tmp_path / "out"],
    )
    assert said.status == 0
    assert calls == [{"quick": True, "seed": 7, "data": tmp_path}]
    (found,) = said.data["experiments"]
    assert found["rows"] == [{"count": 1, "count (paper)": 2}]
    assert all(Path(path).is_file() for path in found["files"])
    assert said.err == "discreet: made/table1: counting\n"


def test_people_get_table_and_notes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    said = say(capsys, "reproduce", "made", "table1", "-q", "-o", tmp_path)
    assert said.err == ""
    assert "count  count (paper)\n    1              2" in said.out
    assert "- E1: it counts twice." in said.out
    assert "made-table1.html" in said.out


def test_an_interrupt_keeps_what_is_done(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    said = say(capsys, "reproduce", "made", "all", "--json", "-o", tmp_path)
    assert said.status == 130
    assert [found["name"] for found in said.data["experiments"]] == [
        *("made/table1", "made/figure1")
    ]
    assert not said.data["finished"]
    assert "interrupted after 2 of 3 items" in said.err


def test_a_limit_goes_to_the_items_that_have_one(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    say(capsys, "reproduce", "made", "all", "--limit", "2.5", "-o", tmp_path)
    assert calls == [{"quick": False, "seed": 0, "data": None}, {"limit": 2.5}]
    calls.clear()
    said = say(capsys, "reproduce", "made", "figure1", "--json", "-o", tmp_path)
    assert calls == [{"limit": None}]
    assert said.data["limit"] is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["astrology"], "PAPER: expected one of"),
        (
            ["made", "table3"],
            "ITEM: expected headline, all, or one of table1, figure1, table2, got 'table3'",
        ),
        (["made", "table1", "--limit", "9"], "--limit: expected an item with runs of limited time"),
        (["made", "figure1", "--limit", "0"], "--limit: expected seconds, more than 0"),
        (["made", "figure1", "--limit", "inf"], "--limit: expected seconds, more than 0"),
        (["made", "table1", "--data", "nowhere"], "--data: expected a folder that is there"),
        (["made", "table1", "-o", "{file}/below"], "--output: expected a folder"),
        (["made", "table1", "--seed", "-1"], "--seed"),
        (["made", "table1", "--draws", "3"], "--draws: expected one of hierarchy/table7"),
        (["list", "astrology"], "PAPER: expected one of"),
    ],
)
def test_bad_input_is_refused_before_any_work(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: list[str], message: str
) -> None:
    (tmp_path / "file").touch()
    said = say(capsys, "reproduce", *(a.format(file=tmp_path / "file") for a in arguments))
    assert said.status == 2
    assert message in said.err
    assert calls == []
