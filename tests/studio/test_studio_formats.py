"""Uploads of every kind, options of reading and recoding, persons, and the kind of file that comes back."""

from __future__ import annotations

import io
import json
import re
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import polars as pl
import pytest

from cli.commands import say
from discreet.core.option_groups import rows_of
from discreet.studio.reading import PrivateUploadOptions, UploadOptions
from discreet.tables.foreign_files import Labels
from discreet.tables.writing import bytes_of
from refusals.entrances import Fields
from studio.asking import Browser, opened

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytest.importorskip("openpyxl")
pytest.importorskip("pyreadstat")

VISITS = pl.DataFrame(
    {
        "patient_id": [at // 2 for at in range(40)],
        "age": [20 + at // 2 % 10 for at in range(40)],
        "sex": ["FM"[at // 2 % 2] for at in range(40)],
        "illness": [("flu", "cold", "gout")[at % 3] for at in range(40)],
    }
)
LABELS = Labels({"illness": "Diagnosis"}, {"sex": {1.0: "F", 2.0: "M"}})


@pytest.fixture
def browser() -> Iterator[Browser]:
    with opened() as started:
        yield started


def upload(browser: Browser, name: str, data: bytes, **options: str) -> str:
    answered = browser.at(f"table?{urlencode({'name': name, **options})}", data)
    assert answered.status_code == 200, answered.text
    return answered.text


@pytest.mark.parametrize(
    ("page", "group"),
    [("", UploadOptions), ("counts", PrivateUploadOptions), ("tables", PrivateUploadOptions)],
)
def test_each_option_of_the_table_is_a_field_of_the_form(
    browser: Browser, page: str, group: type[UploadOptions]
) -> None:
    form = Fields(text := browser.ask(page).text)
    for row in rows_of(group):
        assert form.values[row.name] == ("doubled" if row.name == "quotes" else "")
        assert text.count(f'<label for="{row.name}">') == 1
    assert group.from_form(form.values) == group()


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".xlsx", ".sav"])
def test_the_same_table_shows_the_same_risk_whatever_its_file_is(
    browser: Browser, suffix: str
) -> None:
    page = upload(browser, f"a{suffix}", bytes_of(VISITS, suffix, labels=LABELS))
    form = {**Fields(page).values, "role-0": "drop", "role-1": "quasi", "role-2": "quasi"}
    shown = browser.at("risk", {**form, "kind-1": "numeric", "role-3": "sensitive"})
    assert shown.status_code == 200
    assert "<dt>Smallest class: k</dt><dd>4</dd>" in shown.text
    assert (
        "column 1 repeats in 20 of 40 rows: if it identifies persons, state so, and" in shown.text
    )
    assert f'<option value="{suffix}" selected>' in shown.text


def test_options_of_reading_and_recoding_are_those_of_the_command(browser: Browser) -> None:
    text = "age;town;cm\n17;K\xf6ln;1,5\n95;K\xf6ln;2,5\n-9;Bonn;3,5\n"
    options = {"encoding": "cp1252", "decimal": ",", "missing": "-9", "top": "age=90"}
    page = upload(browser, "a.csv", text.encode("cp1252"), **options)
    assert "in Windows-1252 (Western), separated by semicolon" in page
    assert "<code>Köln</code>" in page
    assert "1 empty" in page
    read = browser.workspaces.get(browser.workspace).upload
    assert read is not None
    assert read.table.rows() == [
        ("17", "Köln", "1.5"),
        ("90", "Köln", "2.5"),
        (None, "Bonn", "3.5"),
    ]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"bins": "age=40,18"}, "Bins: expected"),
        ({"bins": "aeg=18"}, "did you mean 'age'?"),
        ({"top": "age"}, "Top: expected"),
        ({"decimal": "x"}, "Decimal: expected a point or a comma"),
        ({"encoding": "latin-17"}, "the name of a text encoding"),
        ({"encoding": "zlib"}, "the name of a text encoding"),
        ({"delimiter": "xy"}, "one character that separates cells"),
        ({"bins": "age=18,40\nage=5"}, "Bins: expected"),
    ],
)
def test_wrong_options_are_one_sentence_and_leave_no_table(
    browser: Browser, options: dict[str, str], words: str
) -> None:
    asked = urlencode({"name": "a.csv", **options})
    refused = browser.at(f"table?{asked}", b"age,zip\n30,1\n40,2\n")
    assert refused.status_code == 400, refused.text
    assert words in refused.json()["message"]
    assert not list(browser.workspaces.get(browser.workspace).folder.iterdir())


def test_the_page_says_which_columns_cause_the_risk(browser: Browser) -> None:
    page = upload(browser, "a.csv", csv_of_unique_ages())
    form = {**Fields(page).values, "role-0": "quasi", "kind-0": "numeric"}
    shown = browser.at("risk", {**form, "role-1": "quasi", "kind-1": "categorical"}).text
    assert "age: 100 % of the risk by minimal sample uniques; without it 0 of 20 rows" in shown
    assert "sex:" not in shown


def csv_of_unique_ages() -> bytes:
    return bytes_of(pl.DataFrame({"age": range(20, 40), "sex": ["F", "M"] * 10}), ".csv")


def test_marks_of_missing_values_and_repeated_persons_are_pointed_out(browser: Browser) -> None:
    table = VISITS.with_columns(
        age=pl.when(pl.col("age") == 21).then(pl.lit("n/a")).otherwise("age")
    )
    page = upload(browser, "a.csv", bytes_of(table, ".csv"))
    form = {**Fields(page).values, "role-0": "drop", "role-1": "quasi", "kind-1": "numeric"}
    shown = browser.at("risk", {**form, "role-2": "drop", "role-3": "drop"}).text
    assert "4 cells of age that say n/a are read as missing" in shown
    assert "column 1 repeats in 20 of 40 rows" in shown
    form["role-0"] = "person"
    shown = browser.at("risk", {**form, "role-2": "drop", "role-3": "drop"}).text
    assert "repeats" not in shown
    assert "<dt>Persons</dt><dd>20</dd>" in shown
    both = browser.at("risk", {**form, "role-2": "person", "role-3": "drop"})
    assert "at most" in both.json()["message"]


def test_what_comes_back_is_a_file_of_the_same_kind_that_the_command_verifies(
    browser: Browser,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    original = bytes_of(VISITS, ".sav", labels=LABELS)
    (tmp_path / "a.sav").write_bytes(original)
    page = upload(browser, "a.sav", original, top="age=28")
    form = {**Fields(page).values, "role-0": "person", "role-1": "quasi", "kind-1": "numeric"}
    form |= {"role-2": "quasi", "kind-2": "categorical", "role-3": "sensitive"}
    form |= Fields(browser.at("risk", form).text).values
    form |= {"k": "3", "seconds": "5", "ordered-closeness-3": "1,cold<flu<gout"}
    assert form["ending"] == ".sav"
    assert browser.at("run", {**form, "ending": ".dta"}).json()["message"].startswith("File:")
    assert browser.at("run", form).status_code == 202
    assert browser.events()[-1]["type"] == "done"
    result = browser.at("result").text
    assert "shared by 3 persons or more" in result
    for link in re.findall(r'href="(download/\w+)"', result):
        answered = browser.at(link)
        name = answered.headers["content-disposition"].partition('filename="')[2].strip('"')
        (tmp_path / name).write_bytes(answered.content)
    record = json.loads((tmp_path / "anonymized.sav.discreet.json").read_text())
    stated = record["provenance"]["parameters"]
    assert stated["recoding"] == {"top": {"age": ["28"]}}
    assert stated["models"] == ["illness=ordered-closeness:1,cold<flu<gout"]
    words = ("verify", "anonymized.sav", "--against", "a.sav", "--person", "patient_id")
    verified = say(capsys, *words)
    assert verified.status == 0, verified.out + verified.err


def test_a_workbook_that_is_a_bomb_or_has_formulas_is_refused(browser: Browser) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    book.active.append(["age", "zip"])
    book.active.append([30, "=A2"])
    file = io.BytesIO()
    book.save(file)
    refused = browser.at("table?name=a.xlsx", file.getvalue())
    assert refused.status_code == 400
    assert "paste values over formulas" in refused.json()["message"]
    assert "upload-" not in refused.text
