"""Files that are no tables, given to every command that reads rows: one sentence that says what to do, and no more."""

from __future__ import annotations

import hashlib
import io
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

from cli.commands import say
from discreet.core.errors import InvalidProblemError
from discreet.tables.columns import is_prose, unclear_columns
from discreet.tables.dialect import look, refuse_rows, why_unreadable
from discreet.tables.reading import read_rows

if TYPE_CHECKING:
    from collections.abc import Callable

NAME = "Schmidt"
"""Stands in the rows; no message may hold it."""

ROWS = [(20 + i % 40, "FM"[i % 2], f"{1000 + i % 7}", NAME) for i in range(30)]
TEXT = "age,sex,zip,disease\n" + "".join(",".join(map(str, row)) + "\n" for row in ROWS)


def _parquet(table: pl.DataFrame) -> bytes:
    file = io.BytesIO()
    table.write_parquet(file)
    return file.getvalue()


WHOLE = _parquet(pl.read_csv(io.StringIO(TEXT)))

NESTED = _parquet(
    pl.DataFrame({"age": [[1], [2]], "sex": ["F", "M"], "zip": ["a", "b"], "disease": ["", ""]})
)

BAD: dict[str, tuple[bytes, str]] = {
    "empty.csv": (b"", "which is empty"),
    "blank.csv": (b"\n\n  \n", "which is empty"),
    "first-line-blank.csv": (f"\n{TEXT}".encode(), "an empty first line"),
    "names-twice.csv": (TEXT.replace("zip", "sex", 1).encode(), "columns 2 and 3 have the same"),
    "colons.csv": (TEXT.replace(",", ":").encode(), "separate its cells by commas"),
    "more-cells.csv": (f"{TEXT}1,F,1000,{NAME},x\n".encode(), "5 instead of 4 cells in line 32"),
    "fewer-cells.csv": (f"{TEXT}1,{NAME}\n".encode(), "2 instead of 4 cells in line 32"),
    "blank-line.csv": (TEXT.replace("\n", "\n\n", 3).encode(), "an empty first line|cells in line"),
    "open-quote.csv": (f'{TEXT}1,"F,1000,{NAME}\n'.encode(), "in line 32"),
    "last-quote.csv": (f'{TEXT}1,F,1000,"{NAME}\n'.encode(), "in line 32"),
    "bare-quote.csv": (f'{TEXT}1,F,1000,5" {NAME}\n'.encode(), "double the quote"),
    "latin-1.csv": (TEXT.replace(NAME, "Müller", 9).encode("latin-1"), "invalid bytes in line 2"),
    "latin-1-names.csv": (TEXT.replace("age", "größe").encode("latin-1"), "bytes in line 1"),
    "utf-16-bare.csv": (TEXT.encode("utf-16-le"), "zero bytes"),
    "zero.csv": (TEXT.replace(NAME, "a\0b", 1).encode(), "zero bytes"),
    "returns.csv": (TEXT.replace("\n", "\r").encode(), "only carriage returns"),
    "long-line.csv": (b"x" * (1 << 20) + b",1\n1,2\n", "a longer first line"),
    "long-cell.csv": (f"{TEXT}1,F,{'x' * 200_000},y,z\n".encode(), "in line 32"),
    "parquet.csv": (WHOLE, "let its name end in .parquet"),
    "sheet.csv": (b"PK\x03\x04" + bytes(99), "save the sheet as “CSV UTF-8”"),
    "old-sheet.csv": (b"\xd0\xcf\x11\xe0" + bytes(99), "save the sheet as “CSV UTF-8”"),
    "packed.csv": (b"\x1f\x8b" + bytes(99), "unpack it first"),
    "document.csv": (b"%PDF-1.7", "take the table out"),
    "sheet.xlsx": (b"PK\x03\x04" + bytes(99), "that its program can open|the packages that tables"),
    "text.parquet": (TEXT.encode(), "if the file is text, let its name end in .csv"),
    "empty.parquet": (b"", "which is empty"),
    "folder.csv": (b"", "which is a folder|expected a folder of parts"),
    "missing.csv": (b"", "a file that exists"),
}
"""What is in a file -> what is said of it, by every command."""

FEW = ("empty.csv", "more-cells.csv", "latin-1.csv", "zero.csv", "parquet.csv", "folder.csv")

ROW_BY_ROW = {
    *("more-cells.csv", "fewer-cells.csv", "blank-line.csv"),
    *("latin-1.csv", "zero.csv", "long-cell.csv"),
}
"""Files whose rows a command that spends budget reads by the rule of `discreet.tables.keys`, and does not refuse."""

OUT_OF_PLACE = {"open-quote.csv", "last-quote.csv", "bare-quote.csv"}
"""Files with a quote out of place, of which it says that alone."""

COMMANDS: dict[str, Callable[[str], list[str]]] = {
    "anonymize": lambda file: [
        "anonymize",
        file,
        "-k",
        "3",
        "--quasi",
        "age,sex",
        "--unassigned",
        "keep",
        "-o",
        "out.csv",
    ],
    "anonymize --memory": lambda file: [
        *("anonymize", file, "-k", "3", "--quasi", "age,sex", "--unassigned", "keep"),
        *("--memory", "1GB", "-o", "out.csv"),
    ],
    "risk": lambda file: ["risk", file, "--quasi", "age,sex"],
    "risk --against": lambda file: ["risk", "fine.csv", "--quasi", "age,sex", "--against", file],
    "verify": lambda file: ["verify", file, "-k", "3", "--quasi", "age,sex"],
    "verify --against": lambda file: [
        *("verify", "published.csv", "--against", file),
    ],
    "attack --against": lambda file: ["attack", "published.csv", "--against", file],
    "counts": lambda file: _counts(file, "regions.csv"),
    "counts --region-list": lambda file: _counts("fine.csv", file),
}


def _counts(people: str, regions: str) -> list[str]:
    return [
        *("counts", people, "--unit", "zip", "--regions", "sex", "--region-list", regions),
        *("--max-size", "9", "--epsilon", "1", "--neighbors", "add-remove-person", "-o", "out.csv"),
    ]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("fine.csv").write_text(TEXT, encoding="utf-8")
    Path("regions.csv").write_text("sex\nF\nM\n", encoding="utf-8")


@pytest.fixture
def published(capsys: pytest.CaptureFixture[str]) -> None:
    made = say(
        capsys,
        "anonymize",
        "fine.csv",
        "-k",
        3,
        "--quasi",
        "age,sex",
        "--unassigned",
        "keep",
        "-o",
        "published.csv",
        "--method",
        "mondrian",
    )
    assert made.status == 0, made.err


def put(name: str) -> None:
    """Write the file of the table above, or make what it is instead."""
    if name == "folder.csv":
        Path(name).mkdir()
    elif name != "missing.csv":
        Path(name).write_bytes(BAD[name][0])


def held() -> dict[str, str]:
    """Hash every file that is there."""
    found = [path for path in Path().iterdir() if path.is_file()]
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in found}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_bad_file_is_one_sentence(
    capsys: pytest.CaptureFixture[str], published: None, command: str
) -> None:
    # All share one reader, which is tried whole on two.
    for name in BAD if command in ("risk", "counts") else FEW:
        if command == "counts" and name in ROW_BY_ROW:
            continue
        quotes = command == "counts" and name in OUT_OF_PLACE
        words = "a quote out of place in line 32" if quotes else BAD[name][1]
        put(name)
        before = held()
        said = say(capsys, *COMMANDS[command](name))
        assert said.status == 2, (name, said.err)
        assert said.out == ""
        (line,) = said.err.splitlines()
        assert line.startswith("discreet: "), line
        assert "expected " in line
        assert not any(secret in line for secret in (NAME, "M\u00fcller", "Traceback", "\0")), line
        if name != "colons.csv" or command in ("anonymize", "risk", "verify"):
            assert any(one in line for one in words.split("|")), (name, line)
        assert held() == before


@pytest.mark.parametrize("command", COMMANDS)
def test_names_alone_are_no_table_but_may_be_counted(
    capsys: pytest.CaptureFixture[str], published: None, command: str
) -> None:
    """A count of nobody is a count: refusing it would say that there is nobody."""
    Path("names.csv").write_text(TEXT.partition("\n")[0], encoding="utf-8")
    said = say(capsys, *COMMANDS[command]("names.csv"))
    assert said.status == (0 if command == "counts" else 2)
    assert command.startswith("counts") or "a table with rows" in said.err


@pytest.mark.parametrize("command", COMMANDS)
def test_a_cut_off_or_nested_parquet_file(
    capsys: pytest.CaptureFixture[str], published: None, command: str
) -> None:
    Path("cut.parquet").write_bytes(WHOLE[:-300])
    said = say(capsys, *COMMANDS[command]("cut.parquet"))
    assert said.status == 2
    assert "which is cut off, damaged or of other types" in said.err
    if command.startswith("counts"):
        # Columns that are not asked for are not looked at there.
        return
    Path("nested.parquet").write_bytes(NESTED)
    said = say(capsys, *COMMANDS[command]("nested.parquet"))
    assert said.status == 2
    assert "one value in each cell" in said.err


def test_nothing_is_charged_for_a_file_that_cannot_be_read(
    capsys: pytest.CaptureFixture[str],
) -> None:
    neighbors = ("--neighbors", "add-remove-person")
    granted = ("budget", "create", "l.db", "--dataset", "d", "--epsilon", 1, *neighbors)
    assert say(capsys, *granted).status == 0
    Path("people.csv").write_text("home,sex\n1,F\n2,M\n", encoding="utf-8")
    for name in ("bare-quote.csv", "last-quote.csv", "latin-1-names.csv", "sheet.xlsx"):
        put(name)
        said = say(capsys, *_counts(name, "regions.csv"), "--ledger", "l.db", "--dataset", "d")
        assert said.status == 2
        history = say(capsys, "budget", "history", "l.db", "--dataset", "d", "--json")
        assert history.data["charges"] == []
    asked = [one.replace("zip", "home") for one in _counts("people.csv", "regions.csv")]
    said = say(capsys, *asked, "--ledger", "l.db", "--dataset", "d")
    assert said.status == 0, said.err


def test_an_original_without_the_columns_is_named(
    capsys: pytest.CaptureFixture[str], published: None
) -> None:
    put("colons.csv")
    for command in ("attack --against", "verify --against"):
        said = say(capsys, *COMMANDS[command]("colons.csv"))
        assert said.status == 2
        assert command.partition(" ")[2] in said.err
        assert NAME not in said.err


@pytest.mark.parametrize("mark", [";", "\t", "|"])
def test_other_marks_are_recognized(capsys: pytest.CaptureFixture[str], mark: str) -> None:
    Path("other.csv").write_text(TEXT.replace(",", mark), encoding="utf-8-sig")
    Path("regions.txt").write_text(f"sex{mark}name\nF{mark}a\nM{mark}b\n", encoding="utf-8")
    assert read_rows("other.csv", "TABLE").width == 4
    assert say(capsys, "risk", "other.csv", "--quasi", "age,zip").status == 0
    Path("people.csv").write_text(f"home{mark}sex\n1{mark}F\n2{mark}M\n", encoding="utf-8")
    said = say(
        capsys, *[one.replace("zip", "home") for one in _counts("people.csv", "regions.txt")]
    )
    assert said.status == 0, said.err


def test_empty_last_cells_are_no_short_rows() -> None:
    Path("last.csv").write_text('a,b\n1,\n2,""\n"x\ny",3\n', encoding="utf-8")
    assert read_rows("last.csv", "TABLE").height == 3
    Path("one.csv").write_text("a\n1\n\n2\n", encoding="utf-8")
    assert read_rows("one.csv", "TABLE")["a"].to_list() == ["1", None, "2"]


def test_the_mark_is_that_of_most_names() -> None:
    Path("names.csv").write_text('"a;b;c",d\n1,2\n', encoding="utf-8")
    assert look("names.csv", "TABLE") == ","


def test_a_reason_is_found_or_not_made_up() -> None:
    assert "complete Parquet" in str(why_unreadable("fine.csv", "", "TABLE"))
    unquoted = "double the quote, or state that the file has no quoting (quotes none), got fine.csv"
    assert unquoted in str(why_unreadable("fine.csv", ",", "TABLE"))
    refuse_rows("fine.csv", ";", "TABLE")
    Path("some.csv").write_text("a\nb;c\n", encoding="utf-8")
    with pytest.raises(InvalidProblemError, match="semicolons between them.*2 instead of 1 cells"):
        refuse_rows("some.csv", ";", "TABLE")


def notes() -> None:
    Path("notes.csv").write_text(
        "age,note\n" + "".join(f"{i},Mrs {NAME} came at {i}\n" for i in range(30)),
        encoding="utf-8",
    )


def test_free_text_is_warned_of_where_nothing_is_made_of_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    notes()
    said = say(capsys, "risk", "notes.csv", "--quasi", "age,note")
    assert said.status == 0
    assert "free text in note" in said.err


def test_what_prose_is() -> None:
    assert not is_prose(pl.Series([""] * 9, dtype=pl.String))
    assert not is_prose(pl.Series([f"number {i}" for i in range(9)]))
    assert not list(unclear_columns(pl.DataFrame({"age": range(9)}), ["age", "none"]))


def test_more_rows_than_are_searched_at_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    module = sys.modules["discreet.cli.anonymize"]
    monkeypatch.setattr(module, "_read_table", partial(module._read_table, max_rows=20))
    asked = ["anonymize", "fine.csv", "-k", 3, "--quasi", "age,sex", "-o", "out.csv"]
    asked += ["--unassigned", "keep"]
    said = say(capsys, *asked)
    assert said.status == 2
    assert "--memory" in said.err
    assert say(capsys, *asked, "--time-limit", 1).status == 0


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "a row for each value"),
        ("F,Käse\n".encode("latin-1"), "save the file as “CSV UTF-8”"),
        (b"F\0,*\n", "save the file as “CSV UTF-8”"),
        (b"F," + b"x" * 200_000 + b"\n", "a value and then its more general labels"),
    ],
    ids=["empty", "latin-1", "zero", "long"],
)
def test_a_bad_taxonomy_is_one_sentence(
    capsys: pytest.CaptureFixture[str], data: bytes, words: str
) -> None:
    Path("groups.csv").write_bytes(data)
    asked = ["anonymize", "fine.csv", "-k", 3, "--quasi", "sex"]
    asked += ["--keep", "age,zip,disease"]
    asked += ["--taxonomy", "sex=groups.csv"]
    said = say(capsys, *asked)
    assert said.status == 2
    assert words in said.err
    assert len(said.err.splitlines()) == 1
    missing = say(capsys, *asked[:-1], "sex=none.csv")
    assert "--taxonomy: " in missing.err
    assert "No such file" in missing.err
