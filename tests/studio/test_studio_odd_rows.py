"""Private tables of the pages that spend budget: no value of a row changes an answer or how others are read."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import PureDP
from discreet.hierarchy.refusals import check_shape
from discreet.ledger import Ledger
from discreet.studio.counts import COUNTS, read_promise, read_table_form
from discreet.studio.publishing import PRIVATE, Publish
from discreet.studio.reading import PrivateUploadOptions, read_upload
from few import few_of
from studio.asking import Browser, opened

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

NAMES = "home,state,county\n"
BEFORE = [(f"h{at}", "CH", ("Zürich", "Genève")[at % 2]) for at in range(8)]
AFTER = [(f"i{at}", "CH", "Zürich") for at in range(5)]
LAYOUT = {
    "kind": "persons",
    "name": "people.csv",
    "unit": "home",
    "region-0": "state",
    "region-1": "county",
    "public": "list",
    "max_size": "3",
    "neighbors": "add-remove-person",
    "notion": "epsilon",
    "amount": "900",
    "dataset": "people",
}
REGIONS = "state,county\nCH,Zürich\nCH,Genève\n".encode()

ODD = {
    "a byte that is no UTF-8": b"h,CH,Z\xffrich\n",
    "a letter in Windows-1252": b"h,CH,Z\xfcrich\n",
    "a letter cut off": b"h,CH,Z\xc3\n",
    "a zero byte": b"h,CH,Z\0rich\n",
    "too few cells": b"h\n",
    "too many cells": b"h,FR,Paris,x,y\n",
    "an empty line": b"\n",
    "an empty cell": b",,\n",
    "marks of an encoding": b"\xff\xfe,\xef\xbb\xbf,\xfe\xff\n",
    "a cell of several lines": b'h,CH,"Z\n\n""\xff""\n"\n',
}


def lines(rows: Sequence[tuple[str, ...]]) -> str:
    return "".join(",".join(row) + "\n" for row in rows)


def file_with(odd: bytes) -> bytes:
    return f"{NAMES}{lines(BEFORE)}".encode() + odd + lines(AFTER).encode()


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    (tmp_path / "kept").mkdir()
    return tmp_path / "kept" / "ledger.db"


@pytest.fixture
def browser(ledger: Path) -> Iterator[Browser]:
    with opened(None, ledger=ledger) as started:
        yield started


def rows_of_others(table: pl.DataFrame) -> None:
    """All rows but the odd one, which is read or left out, are those of the file, in their order."""
    rows = [tuple(cell or "" for cell in row) for row in table.rows()]
    assert rows[: len(BEFORE)] == BEFORE
    assert rows[-len(AFTER) :] == AFTER
    assert len(rows) - len(BEFORE) - len(AFTER) in (0, 1)


@pytest.mark.parametrize("page", ["counts", "tables"])
def test_no_row_changes_what_a_page_answers_or_reads_of_others(browser: Browser, page: str) -> None:
    browser.open(page)
    path = f"{page}/table?kind=persons&name=people.csv"
    expected = browser.at(path, file_with(b""))
    assert expected.status_code == 200
    assert "in UTF-8, separated by comma" in expected.text
    private = browser.workspaces.get(browser.workspace).folder / PRIVATE
    for name, odd in ODD.items():
        answered = browser.at(path, file_with(odd))
        assert (answered.status_code, answered.text) == (200, expected.text), name
        rows_of_others(pl.read_parquet(private))


def test_no_row_changes_what_a_page_answers_under_options(browser: Browser) -> None:
    browser.open("counts")
    options = {"missing": "h,x", "decimal": ",", "prefix": "county=2", "bins": "home=1,2"}
    path = f"counts/table?{urlencode({'kind': 'persons', 'name': 'people.csv', **options})}"
    private = browser.workspaces.get(browser.workspace).folder / PRIVATE
    expected = browser.at(path, file_with(b""))
    assert expected.status_code == 200
    for name, odd in {**ODD, "numbers": b'1e999,"1.000,5",-\n'}.items():
        answered = browser.at(path, file_with(odd))
        assert (answered.status_code, answered.text) == (200, expected.text), name
        assert pl.read_parquet(private)["county"][:2].to_list() == ["Zü", "Ge"]


def test_rows_are_as_odd_in_other_encodings(browser: Browser) -> None:
    browser.open("counts")
    private = browser.workspaces.get(browser.workspace).folder / PRIVATE
    start, end = f"{NAMES}{lines(BEFORE)}", lines(AFTER)
    western = start.encode("cp1252"), end.encode("cp1252")
    wide = start.encode("utf-16"), end.encode("utf-16-le")
    cases = [
        ("&encoding=cp1252", western, b"h,CH,\x81\x9d\n"),
        ("&encoding=cp1252", western, b"h\n"),
        ("", wide, "h,CH,Z\n".encode("utf-16-le").replace(b"Z\0", b"\0\xd8")),
        ("", wide, "h\0\n".encode("utf-16-le")),
        ("&encoding=utf-16", wide, "\n".encode("utf-16-le")),
    ]
    for query, (first, last), odd in cases:
        path = f"counts/table?kind=persons&name=people.csv{query}"
        plain, other = (browser.at(path, first + row + last) for row in (b"", odd))
        assert (plain.status_code, plain.text) == (other.status_code, other.text)
        assert other.status_code == 200
        rows_of_others(pl.read_parquet(private))


def quoted(data: bytes) -> bytes:
    return b'"' + data.replace(b'"', b'""') + b'"'


PLAIN_BYTES = st.binary(max_size=12).map(lambda data: data.translate(None, b'"\n\r'))
ROWS = st.lists(st.one_of(PLAIN_BYTES, st.binary(max_size=12).map(quoted)), max_size=5)


@settings(max_examples=60, deadline=None)
@given(cells=ROWS, encoding=st.sampled_from(["", "utf-8-sig", "cp1252", "cp1251"]))
def test_others_are_read_alike_beside_any_row(
    tmp_path_factory: pytest.TempPathFactory, cells: list[bytes], encoding: str
) -> None:
    path = tmp_path_factory.mktemp("any") / "a"
    code = encoding if encoding.startswith("cp") else "utf-8"
    start, end = f"{NAMES}{lines(BEFORE)}", lines(AFTER).replace("Zürich", "Bern")
    start = start.replace("Zürich", "Bern").replace("Genève", "Chur")
    path.write_bytes(start.encode(code) + b",".join(cells) + b"\n" + end.encode(code))
    read = read_upload(path, "a.csv", PrivateUploadOptions(encoding=encoding or None)).table
    plain = [(home, state, {"Zürich": "Bern"}.get(name, "Chur")) for home, state, name in BEFORE]
    assert read.rows()[: len(BEFORE)] == plain
    assert read.rows()[-len(AFTER) :] == [(home, state, "Bern") for home, state, _ in AFTER]


def test_only_the_first_line_and_quotes_are_refused(browser: Browser, tmp_path: Path) -> None:
    """With the codes of the command; an encoding that is chosen reads names, too."""
    browser.open("counts")
    path = "counts/table?kind=persons&name=people.csv"
    names = "home,state,größe\nh,CH,Zürich\n".encode("cp1252")
    cases = {
        "encoding": names,
        "zero-bytes": f"ho\0me,state,county\n{lines(BEFORE)}".encode(),
        "names-repeated": f"home,home,county\n{lines(BEFORE)}".encode(),
        "quotes": file_with(b'h,CH,x"y\n'),
    }
    for code, data in cases.items():
        refused = browser.at(path, data)
        assert (refused.status_code, refused.json()["code"]) == (400, code)
        file = tmp_path / "people.csv"
        file.write_bytes(data)
        with pytest.raises(InvalidProblemError) as by_library:
            check_shape(str(file), "people", [])
        assert by_library.value.code == code
    assert browser.at(f"{path}&encoding=cp1252", names).status_code == 200
    # UTF-16 has no mark here.
    refused = browser.at(f"{path}&encoding=utf-16", names)
    assert (refused.status_code, refused.json()["code"]) == (400, "encoding-other")


def test_public_lists_and_tables_without_budget_stay_strict(browser: Browser) -> None:
    browser.open("counts")
    path = "counts/table?kind=persons&name=people.csv"
    assert browser.at(path, file_with(b"")).status_code == 200
    listed = "counts/list?which=list&name=regions.csv"
    assert browser.at(listed, REGIONS + b"CH\n").json()["code"] == "rows-ragged"
    assert browser.at(listed, REGIONS + b"CH,\0\n").json()["code"] == "zero-bytes"
    western = REGIONS.decode().encode("cp1252")
    assert "Windows-1252" in browser.at(listed, western).text
    browser.open()
    assert browser.at("table?name=a.csv", file_with(b"h\n")).json()["code"] == "rows-ragged"
    western = file_with(b"h,CH,Z\xfcrich\n").decode(errors="replace").encode("cp1252", "replace")
    assert "Windows-1252" in browser.at("table?name=a.csv", western).text
    mixed = browser.at("table?name=a.csv", file_with(b"h,CH,Z\xfcrich\n"))
    assert mixed.json()["code"] == "encoding-mixed"


def test_a_file_without_quoting_is_refused_for_no_quote(browser: Browser) -> None:
    """The page asks how the file quotes, and says that bytes are read as UTF-8, whatever they are."""
    browser.open("counts")
    assert 'id="quotes"' in browser.ask("counts").text
    path = "counts/table?kind=persons&name=people.csv&quotes=none"
    plain = browser.at(path, file_with(b""))
    assert "Cells are read as UTF-8, whatever their bytes are" in plain.text
    private = browser.workspaces.get(browser.workspace).folder / PRIVATE
    for odd in (b'h,CH,x"y\n', b'h,CH,"Z\n', b'h,CH,"Z\xfcrich"\n', b'"\n'):
        answered = browser.at(path, file_with(odd))
        assert (answered.status_code, answered.text) == (200, plain.text)
        rows_of_others(pl.read_parquet(private))
    chosen = browser.at(f"{path}&encoding=utf-8-sig", file_with(b""))
    assert "whatever their bytes are" not in chosen.text


@pytest.mark.jit
@pytest.mark.parametrize("step", few_of(1, [4, 1]))
def test_neighbors_by_one_odd_row_are_counted_alike(
    browser: Browser, ledger: Path, capsys: pytest.CaptureFixture[str], step: int
) -> None:
    """With so much budget that there is hardly noise, the tables are the same; one of nobody has the same rows."""
    Ledger.create(ledger, "people", PureDP(900 * (len(ODD) + 2), neighbors="add-remove-person"))
    kept = ledger.with_name("discreet-released")
    browser.open("counts")
    folder = browser.workspaces.get(browser.workspace).folder
    tables = []
    for data in [file_with(b""), *map(file_with, [*ODD.values()][::step]), NAMES.encode()]:
        assert browser.at("counts/table?kind=persons&name=people.csv", data).status_code == 200
        listed = browser.at("counts/list?which=list&name=regions.csv", REGIONS)
        assert listed.status_code == 200
        layout = read_table_form(LAYOUT, pl.read_parquet(folder / PRIVATE).columns)
        promise = read_promise(LAYOUT, layout.neighbors)
        task = Publish(COUNTS, str(folder), layout, promise, str(ledger), "people", str(kept))
        shown = task.run(lambda _: None)
        assert "FFFD" not in str(shown)
        tables.append((kept / shown["release"] / "counts.csv").read_bytes())
    nobody, counted = (pl.read_csv(io.BytesIO(tables[at])) for at in (-1, 0))
    assert nobody.drop("count").equals(counted.drop("count"))
    assert (nobody["count"].sum(), counted["count"].max()) == (0, 13)
    assert set(tables[:-1]) == {tables[0]}
    assert "PRIVATE, not for publication" in capsys.readouterr().err
