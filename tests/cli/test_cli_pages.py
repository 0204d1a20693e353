"""``--report`` of commands that read private data: the page is written, stands alone, and holds no private value."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from cli.commands import say

CANARY = "87654.25"
"""In the data, and in nothing that may leave."""

PURE = ["--epsilon", "1", "--neighbors", "add-remove-one"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def page_of(path: str) -> str:
    """Read a page, and check that it refers to nothing outside itself."""
    page = Path(path).read_text(encoding="utf-8")
    assert not re.search(r"(?:src|href)=\"(?!#)", page)
    assert "FAILED" not in page
    assert CANARY not in page
    return page


def edges() -> None:
    pl.DataFrame(
        {"client": [CANARY, "1", "2", "3"], "candidate": ["north", "north", "south", "east"]}
    ).write_csv("edges.csv")
    pl.DataFrame({"candidate": ["north", "south", "east"]}).write_csv("candidates.csv")


CHOOSE = ["select", "--coverage", "edges.csv", "--candidates", "candidates.csv"]


def test_a_choice_has_a_page(capsys: pytest.CaptureFixture[str]) -> None:
    edges()
    said = say(
        capsys, *CHOOSE, "--matroid", "uniform:2", *PURE, "--report", "choice.html", "--json"
    )
    assert said.status == 0
    page = page_of("choice.html")
    for name in said.data["chosen"]:
        assert name in page
    assert "Attacked" not in page
    panel = page.partition("Audited</h3>")[2].partition("</section>")[0]
    assert "the verifier" in panel
    assert "every draw replayed" in panel
    assert panel.count("epsilon 1<") == 2
    assert "<strong>" not in panel


def test_a_choice_without_a_guarantee_has_no_page(capsys: pytest.CaptureFixture[str]) -> None:
    edges()
    bare = ["--matroid", "uniform:2", "--method", "lazy-greedy", "--accept-no-guarantee"]
    said = say(capsys, *CHOOSE, *bare, "--report", "choice.html")
    assert said.status == 2
    assert "--report" in said.err
    assert not Path("choice.html").exists()


def test_a_page_that_cannot_be_written_is_refused_before_the_records_are_read(
    capsys: pytest.CaptureFixture[str],
) -> None:
    np.save("sim.npy", np.ones((3, 4)))
    pl.DataFrame({"age": [1, 2]}).write_csv("rows.csv")
    for command in (
        ["select", "--similarity", "sim.npy", "--matroid", "uniform:2", *PURE],
        ["risk", "rows.csv", "--quasi", "age"],
        ["query", "none.parquet"],
    ):
        said = say(capsys, *command, "--report", "nowhere/page.html")
        assert said.status == 2
        assert "--report" in said.err


def test_a_page_does_not_replace_what_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    edges()
    before = Path("edges.csv").read_bytes()
    said = say(capsys, *CHOOSE, "--matroid", "uniform:2", *PURE, "--report", "edges.csv")
    assert said.status == 2
    said = say(capsys, "risk", "edges.csv", "--quasi", "candidate", "--report", "./edges.csv")
    assert said.status == 2
    assert "a file of its own" in said.err
    assert Path("edges.csv").read_bytes() == before


def test_a_risk_has_a_page_without_cells(capsys: pytest.CaptureFixture[str]) -> None:
    before = {"age": ["31", "32", "40", "41"], "ill": [CANARY, "no", "no", "yes"]}
    pl.DataFrame(before).write_csv("before.csv")
    after = {"age": ["30-39", "30-39", "40-49", "40-49"], "ill": before["ill"]}
    pl.DataFrame(after).write_csv("after.csv")
    command = ["risk", "after.csv", "--quasi", "age", "--sensitive", "ill"]
    said = say(capsys, *command, "--against", "before.csv", "--report", "risk.html", "--json")
    assert said.status == 0
    page = page_of("risk.html")
    row = re.search(r"prosecutor, worst case</td>(.*?)</tr>", page)
    assert row is not None
    assert re.findall(r">([\d.]+)\s%<", row[1]) == ["100", "50"]
    assert "for the curator alone" in page
    assert "30-39" not in page


def test_answers_have_a_page(capsys: pytest.CaptureFixture[str]) -> None:
    people = [f"{CANARY},GA,Fulton", "h1,GA,Cobb", "h1,GA,Cobb", "h2,NY,Kings"]
    Path("people.csv").write_text("\n".join(["household,state,county", *people]), encoding="utf-8")
    Path("regions.csv").write_text("state,county\nGA,Fulton\nGA,Cobb\nNY,Kings\n", encoding="utf-8")
    asked = "--unit household --regions state,county --region-list regions.csv --max-size 4"
    kept = ["--method", "m-c-dp", "--measurements", "nm.parquet"]
    promised = ["--epsilon", "1", "--neighbors", "add-remove-person"]
    said = say(capsys, "counts", "people.csv", *asked.split(), *promised, *kept)
    assert said.status == 0, said.err
    said = say(capsys, "query", "nm.parquet", "--level", "2", "--report", "page.html", "--json")
    assert said.status == 0
    page = page_of("page.html")
    for answer in said.data["answers"]:
        assert f">{answer['region']}</td>" in page
        assert f">{answer['value']:,.6g}</td>" in page
    assert "95 %" in page
    assert "1-differentially private" in page


def test_a_page_of_answers_says_what_was_counted(capsys: pytest.CaptureFixture[str]) -> None:
    """Women are not all people, households of two are not all, and a household of nine counts as one of four."""
    pl.DataFrame(
        [{"unit": f"h{at // 2}", "state": "GA", "sex": "FM"[at % 2]} for at in range(40)]
    ).write_csv("p.csv")
    Path("r.csv").write_text("state\nGA\n", encoding="utf-8")
    Path("d.json").write_text('{"sex": ["F", "M"]}', encoding="utf-8")
    shared = ["counts", "p.csv", "--regions", "state", "--region-list", "r.csv", "--epsilon", "9"]
    shared += ["--neighbors", "add-remove-person", "--measurements"]
    sizes = ["units.parquet", "--unit", "unit", "--max-size", "4", "-o", "u.csv"]
    attributes = ["--by", "sex", "--domain", "d.json", "-o"]
    rows = ["rows.parquet", *attributes, "r2.csv", "--max-rows", "3", "--report", "rows.html"]
    for more in (sizes, ["tables.parquet", *attributes, "t.csv"], rows):
        said = say(capsys, *shared, *more)
        assert said.status == 0, said.err
    for name, options, phrase in (
        ("units", ["--sizes", "1-4"], "How many units there are, from"),
        ("units", ["--sizes", "2"], "How many units of size 2 there are, from"),
        ("units", ["--sizes", "1,3-4"], "How many units of sizes 1, 3 or more there are, from"),
        (
            "units",
            ["--people"],
            "How many people there are (a unit of more than 4 counts as 4), from",
        ),
        ("tables", ["--by", "sex"], "How many people there are, from"),
        ("tables", ["--where", "sex=F"], "How many people there are with sex F, from"),
        ("rows", ["--where", "sex=F,M"], "How many records there are with sex F or M, from"),
    ):
        line = ["query", f"{name}.parquet", "--level", "1", "--report", "q.html", *options]
        said = say(capsys, *line)
        assert said.status == 0, said.err
        assert phrase in page_of("q.html"), phrase
    assert "How many records of each category" in page_of("rows.html")
