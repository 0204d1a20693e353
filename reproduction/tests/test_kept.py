"""Kept results: digests are those of the tables, and the pages state what was run and nothing else."""

from __future__ import annotations

import csv
import json
import re
import shlex
from pathlib import Path

import pytest

from discreet_reproduction import Experiment, write_experiment
from discreet_reproduction.kept import Result, digest_of, keep, results, state
from discreet_reproduction.record import Cell, Run
from discreet_reproduction.registry import ITEMS
from discreet_reproduction.scales import HEADLINES, Status, status_of

ROOT = Path(__file__).parents[2]
TABLES = ROOT / "reproduction" / "results"
PAGES = ROOT / "docs" / "reproduction"
KEPT = results()
PAPERS = tuple(HEADLINES)
NUMBER = re.compile(r"(?<![\w.])-?(?:\d[\d,]*(?:\.\d+)?|\.\d+)(?:e[-+]?\d+)?(?![\w.]*\d)")


def table_of(name: str) -> list[dict[str, str]]:
    """Read the kept table of an item."""
    path = TABLES / f"{name.replace('/', '-')}.csv"
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def arguments_of(command: str) -> tuple[str, Run]:
    """Read an item and its run from a command."""
    words = shlex.split(command)
    assert words[:2] == ["discreet", "reproduce"]

    def value(flag: str) -> str | None:
        return words[words.index(flag) + 1] if flag in words else None

    limit, draws = value("--limit"), value("--draws")
    run = Run(
        "--quick" in words,
        limit=None if limit is None else float(limit),
        draws=None if draws is None else int(draws),
    )
    return "/".join(words[2:4]), run


@pytest.mark.parametrize("name", KEPT)
def test_a_digest_is_that_of_the_kept_table(name: str) -> None:
    assert digest_of(TABLES / f"{name.replace('/', '-')}.csv") == KEPT[name].digest


@pytest.mark.parametrize("name", KEPT)
def test_a_status_is_that_of_its_command(name: str) -> None:
    item, run = arguments_of(KEPT[name].command)
    assert item == name
    word, detail = status_of(name, run)
    assert (KEPT[name].status, KEPT[name].detail) == (word.value, detail)


def test_no_table_is_kept_without_a_record() -> None:
    assert {path.stem for path in TABLES.glob("*.csv")} == {name.replace("/", "-") for name in KEPT}


def rows_of(page: str) -> list[list[str]]:
    """Read the table of status on a page: item, status, seconds, and what follows."""
    text = (PAGES / f"{page}.md").read_text(encoding="utf-8")
    block = text.split("| item | status |", 1)[1].split("\n\n", 1)[0]
    lines = [line for line in block.splitlines()[2:] if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.mark.parametrize("paper", PAPERS)
def test_a_page_has_the_status_and_the_seconds_of_each_item(paper: str) -> None:
    stated = {}
    for item, status, seconds, *_ in rows_of(paper):
        stated[f"{paper}/{item.strip('`')}"] = status, seconds
    expected = {}
    for name in ITEMS:
        if name.startswith(f"{paper}/"):
            word, seconds, detail = state(name, KEPT)
            size = f"{word}: {detail}" if detail and word != "not run" else word
            expected[name] = size, seconds.removesuffix(" s") if name in KEPT else ""
    assert stated == expected


def shown(text: str, value: str) -> bool:
    """Whether a printed number is a value of a table, rounded to its digits; bounds are rounded outward, up or down."""
    try:
        exact = float(value)
    except ValueError:
        return value == text
    plain = text.replace(",", "")
    mantissa, _, exponent = plain.partition("e")
    digits = len(mantissa.partition(".")[2])
    scale = 10.0 ** int(exponent or 0)
    step = scale * 10.0**-digits
    return any(abs(float(plain) - factor * exact) < step for factor in (1.0, 100.0))


def unfounded(cell: str, rows: list[dict[str, str]]) -> list[str]:
    """List the numbers of a cell that are in no row."""
    values = {
        part for row in rows for value in row.values() if value for part in value.split(" ± ")
    }
    return [
        text for text in NUMBER.findall(cell) if not any(shown(text, value) for value in values)
    ]


@pytest.mark.parametrize("paper", PAPERS)
def test_our_numbers_beside_the_papers_are_those_of_the_kept_table(paper: str) -> None:
    wrong = {}
    for item, status, _, ours, *_ in rows_of(paper):
        name = f"{paper}/{item.strip('`')}"
        if status == "not run":
            assert not ours, name
        elif ours:
            wrong[name] = unfounded(ours, table_of(name))
    assert not {name: numbers for name, numbers in wrong.items() if numbers}


@pytest.mark.parametrize("paper", PAPERS)
def test_numbers_of_marked_tables_are_those_of_the_kept_table(paper: str) -> None:
    """A table below ``% kept: item`` holds nothing else, except in its first column and in columns of the paper."""
    text = (PAGES / f"{paper}.md").read_text(encoding="utf-8")
    for item, block in re.findall(r"^% kept: (\S+)\n\n(\|.*?)\n\n", text, re.DOTALL | re.MULTILINE):
        lines = [
            [cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines()
        ]
        rows = table_of(f"{paper}/{item}")
        ours = [at for at, name in enumerate(lines[0]) if at and "paper" not in name]
        wrong = [unfounded(line[at], rows) for line in lines[2:] for at in ours]
        assert not [numbers for numbers in wrong if numbers], item
    assert text.count("\n% kept: ") == len(re.findall(r"^% kept: \S+\n\n\|", text, re.MULTILINE))


def test_the_headlines_are_those_of_kept_runs() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    block = text.split("| mechanism, paper |", 1)[1].split("\n\n", 1)[0]
    papers = []
    for line in block.splitlines()[2:]:
        first, _, *ours, command = (cell.strip() for cell in line.strip("|").split("|"))
        paper, item, *flags = command.strip("`").split()
        name = HEADLINES[paper][0] if item == "headline" else f"{paper}/{item}"
        papers.append(paper)
        assert f"`{paper}`" in first
        known = " ".join(["discreet reproduce", *name.split("/"), *flags])
        kept = name in KEPT and KEPT[name].command == known
        assert kept or ours == ["not run"] * 2, name
        if kept:
            assert [unfounded(cell, table_of(name)) for cell in ours] == [[], []], name
    assert sorted(papers) == sorted(PAPERS)


def test_the_index_counts_the_statuses() -> None:
    text = (PAGES / "index.md").read_text(encoding="utf-8")
    block = text.split("| paper | items |", 1)[1].split("\n\n", 1)[0]
    stated = {}
    for line in block.splitlines()[2:]:
        paper, *counts = (cell.strip() for cell in line.strip("|").split("|"))
        stated[re.sub(r".*\((\w+)\.md\)", r"\1", paper)] = [int(count) for count in counts]
    for paper in PAPERS:
        words = [state(name, KEPT)[0] for name in ITEMS if name.startswith(f"{paper}/")]
        assert stated[paper] == [len(words), *(words.count(word.value) for word in Status)]


@pytest.mark.parametrize("paper", PAPERS)
def test_a_ratio_is_ours_over_the_papers(paper: str) -> None:
    for item, _, _, ours, printed, ratio, *_ in rows_of(paper):
        if ratio:
            one, other, stated = (
                float(NUMBER.findall(cell)[0].replace(",", "")) for cell in (ours, printed, ratio)
            )
            assert stated == pytest.approx(one / other, rel=0.05), item


def test_a_number_that_was_not_found_is_seen() -> None:
    rows = [{"a": "0.4952", "b": "12345.6", "c": "", "d": "3.2e-05"}]
    assert unfounded("0.50, .495, 49.5 %, 12,346 and 3.2e-05", rows) == []
    assert unfounded("0.51", rows) == ["0.51"]


def test_only_what_a_run_wrote_is_kept(tmp_path: Path) -> None:
    source, tables, record = tmp_path / "papers", tmp_path / "results", tmp_path / "results.json"
    run: dict[str, Cell] = {
        "command": "discreet reproduce x",
        "status": "full",
        "detail": "",
        "seconds": 1.5,
    }
    experiment = Experiment("hierarchy/table5", "Sums", [{"a": 1}])
    write_experiment(experiment, source, run=run)
    assert keep(source, tables, record) == ["hierarchy/table5"]
    kept = {name: Result(**one) for name, one in json.loads(record.read_text()).items()}
    assert state("hierarchy/table5", kept) == ("full", "1.5 s", "")
    # Without a run, nothing is kept; with an altered table, it is refused.
    write_experiment(experiment, source)
    assert keep(source, tables, record) == []
    write_experiment(experiment, source, run=run)
    (source / "hierarchy-table5.csv").write_text("a\n2\n", encoding="utf-8")
    with pytest.raises(ValueError, match="is not the table that the run wrote"):
        keep(source, tables, record)
