"""Files that are no tables, dropped on the page: one sentence that says what to do, and never a value."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

from cli.hostile import on_mars, swollen
from cli.test_cli_bad_tables import NAME, TEXT, WHOLE, _parquet
from discreet.studio.reading import LIMITS
from discreet.tables import parsing
from studio.asking import Browser, opened

if TYPE_CHECKING:
    from collections.abc import Iterator

LATE = pl.Series([2**31 - 1], dtype=pl.Int32).cast(pl.Date)

BAD: dict[str, tuple[bytes, str]] = {
    "empty.csv": (b"", "got empty.csv, which is empty"),
    "blank.csv": (b"\xef\xbb\xbf \n\n", "got blank.csv, which is empty"),
    "names.csv": (b"age,zip\n", "a table with rows, got names.csv without rows"),
    "first-line-blank.csv": (
        f"\n{TEXT}".encode(),
        "whose first line holds a name for each column",
    ),
    "names-twice.csv": (TEXT.replace("zip", "sex", 1).encode(), "columns 2 and 3 have the same"),
    "names-twice.csv&delimiter=%3B": (b"a;a;b,c,d,e\n1;2;3\n", "columns 1 and 2 have the same"),
    "more-cells.csv": (f"{TEXT}1,F,1000,{NAME},x\n".encode(), "5 instead of 4 cells in line 32"),
    "fewer-cells.csv": (f"{TEXT}1,{NAME}\n".encode(), "2 instead of 4 cells in line 32"),
    "open-quote.csv": (f'{TEXT}1,"F,1000,{NAME}\n'.encode(), "close each quote"),
    "last-quote.csv": (f'{TEXT}1,F,1000,"{NAME}\n'.encode(), "in line 32"),
    "long-cell.csv": (f"{TEXT}1,F,{'x' * 200_000},y,z\n".encode(), "in line 32"),
    "zero.csv": (TEXT.replace(NAME, "a\0b", 1).encode(), "zero.csv, which holds zero bytes"),
    "utf-16-bare.csv": (TEXT.encode("utf-16-le"), "if the file is text in UTF-16, save it as"),
    "returns.csv": (TEXT.replace("\n", "\r").encode(), "lines that end in a line feed"),
    "binary.csv": (b"a,b\n\x81\x8d,1\n", "save the table as CSV in UTF-8"),
    "sheet.csv": (b"PK\x03\x04" + bytes(99), "save the sheet as “CSV UTF-8”"),
    "sheet.xlsx": (b"PK\x03\x04" + bytes(99), "a complete file that its program can open"),
    "packed.csv": (b"\x1f\x8b" + bytes(99), "unpack it first"),
    "document.csv": (b"%PDF-1.7", "take the table out"),
    "cut.parquet": (WHOLE[:-300], "a complete Parquet file"),
    "text.parquet": (TEXT.encode(), "if the file is text, let its name end in .csv"),
    "zone.parquet": (on_mars(), "write the file again with the program that made it"),
    "late.parquet": (_parquet(pl.DataFrame({"day": LATE, "a": [NAME]})), "the years 1 to 9999"),
    "rows.csv": (b"a\n" + b"1\n" * 1_000_002, "--memory 4GB"),
    "columns.csv": (
        f"{','.join(map(str, range(201)))}\n1{',1' * 200}\n".encode(),
        "200 columns or fewer",
    ),
}
"""What is dropped -> what is said."""


@pytest.fixture
def browser() -> Iterator[Browser]:
    with opened() as made:
        yield made


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_one_sentence(browser: Browser, name: str) -> None:
    data, words = BAD[name]
    said = browser.at(f"table?name={name}", data)
    assert said.status_code == 400
    assert words in said.text
    assert said.json()["message"].startswith("The file: expected ")
    assert said.json()["message"].count("\n") == 0
    assert not any(secret in said.text for secret in (NAME, "Traceback", "arriving", "\0"))
    assert not list(browser.workspaces.get(browser.workspace).folder.iterdir())


def test_a_file_that_kills_its_reader_leaves_the_studio_alive(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The child that tries it is aborted by its allocator, which no ``except`` meets."""
    monkeypatch.setattr(parsing, "free_memory", lambda: 100 << 20)
    monkeypatch.setattr("discreet.studio.reading.LIMITS", LIMITS._replace(rows=10_000_000))
    said = browser.at("table?name=a.parquet", swollen())
    assert said.status_code == 400
    assert (
        "leave out rows and columns that are not needed, got a.parquet, which takes more"
        in said.text
    )
    assert browser.at("table?name=b.parquet", WHOLE).status_code == 200


@pytest.mark.parametrize(
    ("name", "query", "words"),
    [
        ("parquet.csv", "", "30 rows and 4 columns, Parquet."),
        ("utf-16.csv", "", "in UTF-16, separated by comma"),
        ("utf-16-bare.csv", "&encoding=utf-16-le", "in utf-16-le, separated by comma"),
        ("latin-1.csv", "", "it was read as Windows-1252 (Western)"),
        ("latin-1.csv", "&encoding=iso-8859-2", "in ISO 8859-2 (Central European)"),
        ("semicolons.csv", "", "separated by semicolon"),
        ("semicolons.csv", "&delimiter=%2C", "Only one column was found with comma"),
        ("bars.csv", "", "separated by bar"),
        ("last-lines-blank.csv", "", "30 rows and 4 columns"),
        ("notes.csv", "&delimiter=%3B", "2 rows and 2 columns, in UTF-8, separated by semicolon"),
    ],
)
def test_what_can_be_read_is_read_and_said(
    browser: Browser, name: str, query: str, words: str
) -> None:
    data = {
        "parquet.csv": WHOLE,
        "utf-16.csv": TEXT.encode("utf-16"),
        "utf-16-bare.csv": TEXT.encode("utf-16-le"),
        "latin-1.csv": TEXT.replace(NAME, "Müller").encode("latin-1"),
        "semicolons.csv": TEXT.replace(",", ";").encode(),
        # By commas, two of its names would be the same.
        "notes.csv": b"id;x, x, x\n1;2\n2;3\n",
        "last-lines-blank.csv": f"{TEXT}\n\n".encode(),
        "bars.csv": TEXT.replace(",", "|").encode("utf-8-sig"),
    }[name]
    assert words in browser.at(f"table?name={name}{query}", data).text


def test_a_bad_file_after_a_good_one_leaves_no_table(browser: Browser) -> None:
    """What is shown and what would be published must not differ."""
    assert browser.at("table?name=a.csv", TEXT.encode()).status_code == 200
    assert browser.at("table?name=b.csv", b"").status_code == 400
    said = browser.at("risk", {"role-0": "quasi", "kind-0": "numeric"})
    assert "a table; choose a file first" in said.text
