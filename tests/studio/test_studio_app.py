"""The studio's application, asked by ASGI: the whole way of a table, refusals in words, and who may not ask."""

from __future__ import annotations

import asyncio
import contextlib
import io
import re
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.artefact import load_anonymous
from discreet.cli.app import run
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import KAnonymity
from discreet.datasets import made_patients
from discreet.kanonymity import Numeric
from discreet.kanonymity.risk import risk
from discreet.studio.forms import read_roles
from discreet.studio.reading import describe
from discreet.studio.tasks import KS, LossBySize, attack
from discreet.studio.workspaces import LIMITS, OpenWorkspaces
from discreet.web import Limits
from studio.asking import HOST, Browser, opened

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENTS = pl.DataFrame(made_patients(120)).write_csv().encode()
DEMANDED = {"distinct-3": "2", "alpha-3": "2/3"}
ROLES = {
    "role-0": "quasi",
    "kind-0": "numeric",
    "role-1": "quasi",
    "kind-1": "categorical",
    "role-2": "drop",
    "role-3": "sensitive",
}


@pytest.fixture
def browser() -> Iterator[Browser]:
    with opened(anew=True) as made:
        yield made


@pytest.mark.jit
def test_a_table_goes_all_the_way(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.studio.app.LossBySize", partial(LossBySize, seconds=7.0))
    said = browser.at("table?name=patients.csv", PATIENTS)
    assert "120 rows and 4 columns, in UTF-8, separated by comma." in said.text
    before = browser.at("risk", ROLES)
    assert "age, sex" in before.text
    assert browser.at("frontier").status_code == 204
    assert browser.at("frontier", ROLES).status_code == 202
    events = browser.events()
    assert events[-1] == {"type": "done"}
    costs_are_refined([event["rows"] for event in events if "rows" in event])
    assert "by the search" in browser.at("frontier").text
    drawn = browser.at("result").text
    assert 'value="5" class="choice"' in drawn
    assert drawn.count("<polyline") == 5
    assert browser.at("download/table").status_code == 400
    assert browser.at("run", {**ROLES, "k": "5", **DEMANDED, "seconds": "1"}).status_code == 202
    steps = browser.events()
    assert steps[-1] == {"type": "done"}
    assert any("loss" in step for step in steps)
    said = browser.at("result")
    assert "5-anonymous in age, sex" in said.text
    assert "verify anonymized.csv --against YOUR-FILE" in said.text
    for words in ("Before", "After", "prosecutor", "homogeneity", "Greatest distance of disease"):
        assert words in said.text
    file = tmp_path / "anonymized.csv"
    for part, path in (("table", file), ("certificate", Path(f"{file}.discreet.json"))):
        path.write_bytes(browser.at(f"download/{part}").content)
    kept = load_anonymous(file)
    assert (kept.guarantee.k, kept.altered, kept.certificate.passed) == (5, False, True)
    table = pl.read_csv(file, infer_schema=False)
    assert table.columns == ["age", "sex", "disease"]
    found = risk(table, ["age", "sex"], sensitive=["disease"])
    assert found.k >= 5
    assert found.diversity["disease"] >= 2
    # The record states what was demanded, so that the command checks it, too.
    assert kept.provenance.parameters["models"] == ["disease=distinct:2", "disease=alpha:2/3"]
    original = tmp_path / "patients.csv"
    original.write_bytes(PATIENTS)
    assert run(["verify", str(file), "--against", str(original)]) == 0


def costs_are_refined(told: list[list[dict[str, Any]]]) -> None:
    """Fast splits from the largest k down, each drawn by itself; then the search, which makes no loss larger."""
    most = max(len(rows) for rows in told)
    first, refined = told[:most], told[most - 1 :]
    assert [[row["k"] for row in rows] for rows in first] == [
        [*KS[:most]][-at:] for at in range(1, most + 1)
    ]
    assert not any(row["searched"] for rows in first for row in rows)
    assert len(refined) > 1
    assert [sum(row["searched"] for row in rows) for rows in refined] == [*range(len(refined))]
    for before, after in pairwise(refined):
        assert [row["k"] for row in before] == [row["k"] for row in after]
        assert all(b["loss"] <= a["loss"] for a, b in zip(before, after, strict=True))
    assert sum(row["loss"] for row in refined[-1]) < sum(row["loss"] for row in first[-1])


def test_a_page_that_is_left_leaves_nothing(browser: Browser) -> None:
    browser.at("table?name=a.csv", PATIENTS)
    folder = browser.workspaces.get(browser.workspace).folder
    (folder / "table.parquet").write_bytes(b"private")
    assert folder.stat().st_mode & 0o777 == 0o700
    assert browser.at("leave", b"").status_code == 204
    assert not folder.exists()
    assert "reload it" in browser.at("risk", ROLES).text


def test_a_silent_page_is_left() -> None:
    now = [0.0]
    workspaces = OpenWorkspaces(lambda: now[0])
    with contextlib.closing(workspaces):
        silent, heard = workspaces.open(), workspaces.open()
        folder = workspaces.get(silent).folder
        now[0] = LIMITS.silent_seconds
        workspaces.get(heard)
        now[0] = LIMITS.silent_seconds + 1
        workspaces.sweep()
        assert not folder.exists()
        assert workspaces.get(heard).folder.exists()


def test_pages_are_bounded(browser: Browser) -> None:
    for _ in range(LIMITS.open_pages - 1):
        assert browser.ask("").status_code == 200
    assert browser.ask("").status_code == 400


@pytest.mark.parametrize(
    ("data", "query", "words"),
    [
        (b"", "", "got a.csv, which is empty"),
        (b"  \n", "", "got a.csv, which is empty"),
        (b"age,zip\n", "", "a table with rows, got a.csv without rows"),
        (b"age,zip\n1,2\n1,2,3\n", "", "got a.csv with 3 instead of 2 cells in line 3"),
        (b"PAR1nothing", "", "a complete Parquet file"),
        ("é;1\n".encode("cp1252"), "&encoding=utf-8-sig", "with invalid bytes in line 1"),
        (b"a,b\n\x81\x8d,1\n", "", "save the table as CSV in UTF-8"),
        (b"a\n" + b"1\n" * 1_000_002, "", "--memory 4GB"),
        (b"a,b\n1,2\n", "&delimiter=xy", "one character that separates cells"),
    ],
    ids=["empty", "blank", "names only", "ragged", "no parquet", "wrong", "binary", "huge", "mark"],
)
def test_a_bad_file_is_refused_in_words(
    browser: Browser, data: bytes, query: str, words: str
) -> None:
    said = browser.at(f"table?name=a.csv{query}", data)
    assert said.status_code == 400
    assert words in said.text


@pytest.mark.parametrize(
    ("data", "how"),
    [
        ("a;b\n1;2\n".encode("utf-16"), "in UTF-16, separated by semicolon"),
        ("a\tb\nä\t2\n".encode("cp1252"), "in Windows-1252 (Western), separated by tab"),
        (b'\xef\xbb\xbfa|"b, c"\n1|2\n', "in UTF-8, separated by bar"),
        (b"only\n1\n", "Only one column was found"),
    ],
    ids=["UTF-16", "Windows", "mark of bytes", "one column"],
)
def test_encoding_and_delimiter_are_recognized(browser: Browser, data: bytes, how: str) -> None:
    assert how in browser.at("table?name=a.csv", data).text


def test_parquet_is_read(browser: Browser) -> None:
    file = io.BytesIO()
    pl.DataFrame({"age": [30, 40]}).write_parquet(file)
    assert "2 rows and 1 column, Parquet." in browser.at("table?name=a", file.getvalue()).text
    nested = io.BytesIO()
    pl.DataFrame({"ages": [[1], [2]]}).write_parquet(nested)
    assert "one value in each cell" in browser.at("table?name=a", nested.getvalue()).text


def test_free_text_is_no_quasi_identifier(browser: Browser) -> None:
    notes = "\n".join(f"note number {n} of the day" for n in range(9))
    browser.at("table?name=a.csv", f"note\n{notes}\n".encode())
    said = browser.at("risk", {"role-0": "quasi", "kind-0": "categorical"})
    assert said.status_code == 400
    assert "free text" in said.text
    assert "note number" not in said.text


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({"role-0": ""}, "Age: expected a role: identifier, quasi-identifier, sensitive or kept"),
        ({"role-3": ""}, "Disease: expected a role"),
        ({f"role-{at}": "keep" for at in range(4)}, "at least one marked"),
        ({"kind-0": "stars"}, "a kind from the list"),
        ({"role-1": "king"}, "a role from the list"),
        ({"weight-0": "-1"}, "a positive number"),
        ({"kind-1": "taxonomy", "outline-1": ""}, "a nested list"),
        ({"kind-1": "taxonomy", "outline-1": "person\n  F"}, "values of its taxonomy"),
        ({"k": "1"}, "K: expected a whole number of 2 or more"),
        ({"k": "999"}, "fewer than 999 rows"),
        ({"k": "5", "seconds": "1e9"}, "up to 3,600"),
        ({"k": "5", "distinct-3": "2", "role-3": "keep"}, "a column marked"),
        ({"k": "5", "distinct-3": "1"}, "a whole number of 2 or more"),
        ({"k": "5", "entropy-3": "x"}, "a number above 1, such as 2.5"),
        ({"k": "5", "recursive-3": "3"}, "such as 3,2"),
        ({"k": "5", "alpha-3": "1=2"}, "such as 1/2"),
    ],
)
def test_wrong_entries_are_named(browser: Browser, form: dict[str, str], words: str) -> None:
    browser.at("table?name=a.csv", PATIENTS)
    base = ROLES if "role-0" not in form else {}
    said = browser.at("run", {**base, **form})
    assert said.status_code == 400
    assert words in said.text


def test_taxonomies_are_drawn_and_loaded(browser: Browser) -> None:
    browser.at("table?name=a.csv", PATIENTS)
    assert browser.at("outline", {"column": "1", "how": "values"}).text == "F\nM"
    tens = browser.at("outline", {"column": "0", "how": "intervals", "width": "10"}).text
    assert "[20, 30)\n  2" in tens
    both = browser.at("outline", {"column": "0", "how": "intervals", "width": "10, 20"}).text
    assert "[20, 40)\n  [20, 30)\n    2" in both
    for width, words in (("10, 15", "a multiple"), ("0", "positive widths"), ("x", "Width")):
        asked = {"column": "0", "how": "intervals", "width": width}
        said = browser.at("outline", asked)
        assert said.status_code == 400
        assert words in said.text
    file = "F;person;*\nM;person;*\n"
    loaded = browser.at("outline", {"column": "1", "how": "file", "text": file})
    assert loaded.text == "person\n  F\n  M"
    broken = browser.at("outline", {"column": "1", "how": "file", "text": "F;a\nF;b\n"})
    assert broken.status_code == 400
    assert "each value once" in broken.text
    form = {**ROLES, "kind-1": "taxonomy", "outline-1": loaded.text}
    assert browser.at("risk", form).status_code == 200


@pytest.mark.jit
def test_a_drawn_and_a_loaded_taxonomy_are_what_is_published(
    browser: Browser, tmp_path: Path
) -> None:
    browser.at("table?name=a.csv", PATIENTS)
    decades = browser.at("outline", {"column": "0", "how": "intervals", "width": "10, 50"}).text
    loaded = browser.at("outline", {"column": "1", "how": "file", "text": "F;all\nM;all\n"}).text
    kinds = {"kind-0": "taxonomy", "kind-1": "taxonomy", "outline-0": decades, "outline-1": loaded}
    form = {**ROLES, **kinds, "k": "5", "seconds": "5"}
    assert browser.at("run", form).status_code == 202
    assert browser.events()[-1] == {"type": "done"}
    file = tmp_path / "anonymized.csv"
    for part, path in (("table", file), ("certificate", Path(f"{file}.discreet.json"))):
        path.write_bytes(browser.at(f"download/{part}").content)
    table = pl.read_csv(file, infer_schema=False)
    groups = {line.strip() for line in f"{decades}\n{loaded}".splitlines()} | {"*"}
    assert set(table["age"]) <= groups
    # A search that a busy machine cuts short may leave single cells suppressed.
    assert set(table["sex"]) <= {"F", "M", "all", "*"}
    assert any(cell.startswith("[") for cell in table["age"])
    assert run(["verify", str(file)]) == 0


def test_a_table_that_is_too_large_is_not_attacked() -> None:
    before = pl.DataFrame({"age": ["20", "21"]})
    after = pl.DataFrame({"age": ["[20, 21]", "[20, 21]"]})
    kinds = (Numeric("age"),)
    found = attack(before, after, KAnonymity(2, ("age",)), kinds, ())
    assert [one.attack for one in found][:2] == ["prosecutor, worst case", "prosecutor"]
    assert attack(before, after, KAnonymity(2, ("age",)), kinds, (), max_pairs=1) == []


def test_a_job_is_cancelled(browser: Browser) -> None:
    browser.at("table?name=a.csv", PATIENTS)
    browser.at("run", {**ROLES, "k": "5", "seconds": "60"})
    assert browser.at("cancel", b"").status_code == 204
    assert browser.events()[-1]["type"] == "failed"
    assert browser.at("result").status_code == 400


def test_only_the_page_may_ask(browser: Browser) -> None:
    other = browser.ask("", host="evil.example:8090")
    assert (other.status_code, "data-workspace" in other.text) == (421, False)
    assert (
        browser.ask(f"{browser.workspace}/leave", b"", origin="http://evil.example").status_code
        == 403
    )
    assert browser.workspaces.get(browser.workspace).folder.exists()

    async def without_token() -> int:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=browser.app)) as client:
            return (await client.get(f"http://{HOST}/{'u' * 43}/")).status_code

    assert asyncio.run(without_token()) == 404
    page = browser.ask("")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert page.headers["cache-control"] == "no-store"
    assert "http://" not in page.text


def test_a_file_that_is_too_large_is_refused() -> None:
    small = Browser(limits=Limits(body=100))
    with contextlib.closing(small.workspaces):
        small.open()
        assert small.at("table?name=a.csv", b"x" * 101).status_code == 413


def test_the_sample_is_synthetic_and_its_roles_are_suggested(browser: Browser) -> None:
    said = browser.at("sample", {})
    assert said.status_code == 200, said.text
    assert "synthetic patients, of nobody" in said.text
    roles = re.findall(r'data-shown="\d" data-role="(\w*)"', said.text)
    assert roles == ["drop", "drop", "quasi", "quasi", "quasi", "sensitive"]
    for words in ("Numbers of records", "Cells look like names of people"):
        assert words in said.text


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.sampled_from(["", "drop", "quasi", "sensitive", "keep"]), min_size=4, max_size=4)
)
def test_no_form_publishes_a_column_without_a_role(chosen: list[str]) -> None:
    """What the form leaves open is refused; what it says is what is published."""
    table = pl.DataFrame(made_patients(12))
    form = {f"role-{at}": role for at, role in enumerate(chosen)}
    form |= {f"kind-{at}": "categorical" for at in range(4)}
    try:
        roles = read_roles(form, describe(table), table)
    except InvalidProblemError:
        assert "" in chosen or "quasi" not in chosen
        return
    assert "" not in chosen
    held = [*roles.names, *roles.sensitive, *roles.kept, *roles.dropped]
    assert sorted(held) == sorted(table.columns)
    assert list(roles.kept) == [
        n for n, r in zip(table.columns, chosen, strict=True) if r == "keep"
    ]
