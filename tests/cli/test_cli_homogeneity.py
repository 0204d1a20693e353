"""Rows whose class has one sensitive value are counted by the command, on the curator's page and in ``risk``."""

from __future__ import annotations

import html
import re
from collections import defaultdict
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from cli.commands import say

WORDS = re.compile(r"([\d,]+) of ([\d,]+) rows are in ([\d,]+) equivalence class(?:es)? with one")


@pytest.mark.jit
@pytest.mark.parametrize(
    ("seed", "kinds"), [(0, ["flu", "gout"]), (1, ["flu", "gout", "cold"]), (2, ["flu"])]
)
def test_the_command_and_the_curator_s_page_say_how_many_rows_have_one_diagnosis(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    seed: int,
    kinds: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(seed)
    rows = {"age": rng.integers(20, 60, 40), "ill": rng.choice(kinds, 40)}
    pl.DataFrame(rows).write_csv("p.csv")
    line = "anonymize p.csv -k 3 --quasi age --sensitive ill -o out.csv --curator-report c.html"
    said = say(capsys, *line.split())
    assert said.status == 0
    classes = defaultdict(list)
    for cell, ill in pl.read_csv("out.csv", infer_schema=False).select("age", "ill").iter_rows():
        classes[cell].append(ill)
    alike = [len(values) for values in classes.values() if len(set(values)) == 1]
    page = html.unescape(re.sub(r"<[^>]+>", " ", Path("c.html").read_text(encoding="utf-8")))
    for text in (said.out, " ".join(page.split())):
        found = [tuple(map(int, one)) for one in WORDS.findall(text)]
        assert found == ([(sum(alike), 40, len(alike))] if alike else [])
    assert alike or seed == 1


@pytest.mark.jit
@pytest.mark.parametrize("seed", range(2))
def test_the_curator_s_page_counts_persons_where_persons_were_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], seed: int
) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(seed)
    rows = pl.DataFrame({"who": np.arange(60) // 3, "age": rng.integers(20, 24, 20).repeat(3)})
    rows.write_csv("p.csv")
    line = "anonymize p.csv -k 4 --quasi age --person who -o out.csv --curator-report c.html"
    assert say(capsys, *line.split()).status == 0
    persons = pl.read_csv("out.csv.persons.private.csv")["who"]
    published = pl.read_csv("out.csv", infer_schema=False).with_columns(persons)
    before, after = (
        min(table.group_by("age").agg(pl.col("who").n_unique())["who"].to_list())
        for table in (rows, published)
    )
    page = html.unescape(re.sub(r"<[^>]+>", " ", Path("c.html").read_text(encoding="utf-8")))
    page = " ".join(page.split())
    assert f"Persons in the smallest class {before} {after}" in page
    assert re.search(r"All \d+ classes have 4 persons or more", page)
    assert "Persons that are alone" in page
