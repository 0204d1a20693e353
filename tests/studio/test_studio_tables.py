"""The page of tables, asked by ASGI: the plan before the charge, what is charged when, files that verify accepts."""

from __future__ import annotations

import gzip
import json
import re
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from discreet import PureDP, ZeroConcentratedDP
from discreet.artefact import load_table_measurements, load_tables
from discreet.cli.app import run
from discreet.core import printed
from discreet.core.errors import InvalidProblemError
from discreet.hierarchy import contingency
from discreet.ledger import Ledger
from discreet.studio.forms import Promise
from discreet.studio.jobs import Job
from discreet.studio.publishing import Publish
from discreet.studio.tables import TABLES, read_categories, read_tables_form
from discreet.tables.writing import bytes_of
from studio.asking import Browser, fetched_again, left, opened
from studio.waiting import Waits

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PEOPLE = pl.DataFrame(
    [
        {"who": f"p{at}", "state": state, "county": county, "sex": "FM"[at % 2], "age": age}
        for at in range(240)
        for state, county in ([("GA", "Fulton"), ("GA", "Cobb"), ("NY", "Kings")][at % 3],)
        for age in (("0-17", "18+")[at % 5 < 2],)
    ]
)
REGIONS = b"state,county\nGA,Fulton\nGA,Cobb\nNY,Kings\nVT,Essex\n"
FORM = {
    "name": "people.csv",
    "region-0": "state",
    "region-1": "county",
    "categories": "sex: F, M\nage: 0-17, 18+\n",
    "marginals": "total, sex, cells",
    "max_rows": "1",
    "neighbors": "add-remove-person",
    "notion": "rho",
    "amount": "1/2",
    "dataset": "people",
}


def csv(table: pl.DataFrame) -> bytes:
    return table.write_csv().encode()


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    (tmp_path / "kept").mkdir()
    return tmp_path / "kept" / "ledger.db"


@pytest.fixture
def browser(ledger: Path) -> Iterator[Browser]:
    with opened("tables", ledger=ledger) as made:
        yield made


def loaded(browser: Browser, table: pl.DataFrame = PEOPLE) -> None:
    assert browser.at("tables/table?name=people.csv", csv(table)).status_code == 200
    assert browser.at("tables/list?which=list&name=regions.csv", REGIONS).status_code == 200


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".xlsx", ".sav", ".parquet", ".csv.gz"])
def test_public_lists_come_in_every_kind_of_file(browser: Browser, suffix: str) -> None:
    listed = pl.DataFrame(
        {"attribute": ["sex", "sex", "age", "age"], "category": ["F", "M", "01", "2"]}
    )
    regions = pl.read_csv(REGIONS)

    def data(table: pl.DataFrame) -> bytes:
        if suffix == ".tsv":
            return table.write_csv(separator="\t").encode()
        plain = bytes_of(table, ".csv" if suffix == ".csv.gz" else suffix)
        return gzip.compress(plain) if suffix == ".csv.gz" else plain

    if suffix in {".xlsx", ".sav"}:
        pytest.importorskip("openpyxl")
        pytest.importorskip("pyreadstat")
    text = browser.at("tables/table?name=people.csv", csv(PEOPLE)).text
    assert text.count(".sas7bdat") == 2
    read = browser.at(f"tables/list?which=list&name=regions{suffix}", data(regions))
    assert "4 rows and 2 columns" in read.text
    stored = pl.read_parquet(browser.workspaces.get(browser.workspace).folder / "regions.parquet")
    assert stored.rows() == regions.rows()
    read = browser.at(f"tables/categories?name=c{suffix}", data(listed))
    assert read_categories(read.text) == {"sex": ["F", "M"], "age": ["01", "2"]}
    # A table of persons is no list of categories.
    refused = browser.at(f"tables/categories?name=c{suffix}", data(PEOPLE))
    assert (refused.status_code, "two columns" in refused.json()["message"]) == (400, True)


@pytest.mark.jit
def test_tables_are_published_all_the_way(browser: Browser, ledger: Path, tmp_path: Path) -> None:
    loaded(browser)
    said = browser.at("tables/public", FORM)
    assert "8 regions on 3 levels, 4 cells each" in said.text
    form = {**FORM, "ledger": str(ledger)}
    # The plan is seen before a budget is granted, and charges nothing.
    plan = browser.at("tables/plan", form).text
    assert "rho 1/2" in plan
    assert plan.count('<th scope="row">sex:age</th>') == 3
    assert "sex 2 x age 2, 4 cells" in plan
    assert "At a count of" not in plan
    assert not ledger.exists()
    assert "has no budget" in browser.at("tables/run", form).text
    granted = browser.at("tables/grant", {**form, "limit-notion": "rho", "limit-amount": "0.75"})
    assert "<strong>0.75</strong> left for people; 0 spent" in granted.text
    assert browser.at("tables/run", form).status_code == 202
    assert browser.events()[-1] == {"type": "done"}
    shown = browser.at("tables/result").text
    assert "Budget left for people: <strong>0.25</strong>" in shown
    assert "FAILED" not in shown
    out = tmp_path / "out"
    out.mkdir()
    for link, name in re.findall(r'href="(released/[^"]+)" download="([^"]+)"', shown):
        (out / name).write_bytes(browser.ask(link).content)
    assert sorted(path.name for path in out.iterdir()) == sorted(TABLES.downloads)
    assert [run(["verify", str(out / f"tables.{end}")]) for end in ("csv", "parquet")] == [0, 0]
    kept = load_tables(out / "tables.csv")
    assert kept.guarantee == ZeroConcentratedDP("1/2", neighbors="add-remove-person")
    assert not kept.provenance.seeded
    measured = load_table_measurements(out / "table-measurements.parquet")
    assert measured.frame == kept.result.frame
    assert "Tables by region" in (out / "tables.html").read_text(encoding="utf-8")
    beyond = browser.at("tables/run", {**form, "form": "another"})
    assert (beyond.status_code, beyond.json()["message"]) == (400, "Rho: 0.5 asked, 0.25 left.")
    assert left(ledger) == ["1/4"]
    fetched_again(browser, ledger, out, TABLES.downloads, "Tables, ")
    assert left(ledger) == ["1/4"]


def test_a_workload_is_planned_as_by_the_command(browser: Browser, ledger: Path) -> None:
    loaded(browser)
    asked = {"marginals": "", "workload": "sex, age=2", "workload_levels": "1, 2, 0"}
    form = {**FORM, **asked, "loss": "variance", "shrink": "none", "ledger": str(ledger)}
    said = browser.at("tables/public", form)
    assert "4 regions on 2 levels" in said.text
    plan = browser.at("tables/plan", {**form, "plan_count": "250"}).text
    assert plan.count('<th scope="row">age</th>') == 2
    assert "At a count of 250" in plan
    assert 'src="data:image/svg+xml;base64,' in plan
    assert "Loss: weighted sum of the variances of all entries" in plan
    assert "not drawn to any other region (shrink none)" in plan
    workload = read_tables_form(form, PEOPLE.columns).arguments
    guarantee = ZeroConcentratedDP("1/2", neighbors="add-remove-person")
    regions = [("GA", "Fulton"), ("GA", "Cobb"), ("NY", "Kings"), ("VT", "Essex")]
    planned = contingency.plan(regions, guarantee, **workload)
    for one in planned.expected_errors():
        assert f'<td class="n">{printed.at_most(one.together, 3)}</td>' in plan
        assert printed.share_at_most(one.worst / 250, 1) in plan
    assert "Count: expected" in browser.at("tables/plan", {**form, "plan_count": "0"}).text
    assert not ledger.exists()


def test_shrunk_estimates_are_shown_without_intervals(browser: Browser, ledger: Path) -> None:
    loaded(browser)
    form = {**FORM, "shrink": "james-stein", "ledger": str(ledger)}
    refused = "Published tables: expected parent or none where regions of one level differ"
    assert refused in browser.at("tables/public", form).text
    form["region-1"] = ""
    browser.at("tables/list?which=list&name=states.csv", b"state\nGA\nNY\nVT\n")
    assert "4 regions on 2 levels" in browser.at("tables/public", form).text
    assert "noise is Gaussian" in browser.at("tables/plan", {**form, "notion": "epsilon"}).text
    assert "(shrink james-stein)" in browser.at("tables/plan", form).text
    assert not ledger.exists()
    browser.at("tables/grant", {**form, "limit-notion": "rho", "limit-amount": "0.75"})
    assert browser.at("tables/run", form).status_code == 202
    assert browser.events()[-1] == {"type": "done"}
    shown = browser.at("tables/result").text
    assert "Published counts have no intervals, standard errors or classes" in shown
    for absent in ("Estimate without bias", "use with caution", "whiskers", "FAILED"):
        assert absent not in shown


def test_groups_of_regions_are_planned_as_by_the_command(browser: Browser, ledger: Path) -> None:
    shown = browser.at("tables/table?name=people.csv", csv(PEOPLE)).text
    assert '<input id="groups" name="groups" type="number" min="1" max="16">' in shown
    loaded(browser)
    form = {**FORM, "marginals": "", "workload": "sex", "loss": "worst", "ledger": str(ledger)}
    assert "8 regions on 3 levels" in browser.at("tables/public", {**form, "groups": " "}).text
    form["groups"] = "4"
    # Before a guarantee is chosen: groups need rho, and the page has no use for another stand-in.
    assert "10 regions on 4 levels" in browser.at("tables/public", form).text
    assert (
        "expected none, or up to 16 with rho"
        in browser.at("tables/plan", {**form, "notion": "epsilon"}).text
    )
    layout = read_tables_form(form, PEOPLE.columns)
    guarantee = ZeroConcentratedDP("1/2", neighbors="add-remove-person")
    regions = [("GA", "Fulton"), ("GA", "Cobb"), ("NY", "Kings"), ("VT", "Essex")]
    planned = contingency.plan(regions, guarantee, **layout.arguments)
    plan = browser.at("tables/plan", form).text
    assert plan.count('<th scope="row">sex</th>') == planned.frame.tree.depth + 1
    with pytest.raises(InvalidProblemError, match="rows: expected none with groups of regions"):
        planned.check_rows()
    assert not ledger.exists()


@pytest.mark.jit
def test_odd_rows_are_on_no_page_and_in_no_file_but_on_the_terminal(
    browser: Browser, ledger: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loaded(browser, PEOPLE.with_columns(sex=pl.lit("secret-sex")))
    Ledger.create(ledger, "people", PureDP(3, neighbors="replace-person"))
    columns = PEOPLE.columns
    form = read_tables_form({**FORM, "neighbors": "replace-person"}, columns)
    folder = browser.workspaces.get(browser.workspace).folder
    promise = Promise(PureDP(1, neighbors="replace-person"))
    root = ledger.with_name("discreet-released")
    task = Publish(TABLES, str(folder), form, promise, str(ledger), "people", str(root))
    told: list[dict[str, Any]] = []
    shown = task.run(told.append)
    noted = capsys.readouterr().err
    assert "PRIVATE, not for publication" in noted
    assert left(ledger) == ["2"]
    assert not any((folder / name).exists() for name in TABLES.downloads)
    written = {path.name: path.read_bytes() for path in (root / shown["release"]).iterdir()}
    assert set(written) == set(TABLES.downloads)
    for value in ("secret-sex", "PRIVATE", "left out or mapped"):
        assert value not in f"{shown}{told}"
        assert not [name for name, data in written.items() if value.encode() in data]
    assert "secret-sex" not in noted


def test_nothing_is_shown_of_the_private_table_but_its_columns(browser: Browser) -> None:
    said = browser.at("tables/table?name=people.csv", csv(PEOPLE)).text
    assert "county" in said
    assert not any(word in said for word in ("Fulton", "p17", "240", "0-17"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"region-0": ""}, "Regions: expected at least one column, the largest regions first"),
        ({"region-0": "planet"}, "Columns: expected columns of the table"),
        ({"person": "planet"}, "Columns: expected columns of the table"),
        ({"person": "sex"}, "Columns: expected different columns"),
        ({"categories": " "}, "Categories: expected a line for each attribute"),
        ({"categories": "sex F M"}, "Categories: expected a line for each attribute"),
        ({"categories": "sex: F, M\nsex: X"}, "Categories: expected a line for each attribute"),
        ({"categories": '{"sex": ["F"], "sex": ["M"]}'}, "Categories: expected JSON"),
        ({"categories": '{"sex": '}, "Categories: expected JSON"),
        ({"categories": "sex: F, F"}, "Categories: expected each category of sex once"),
        ({"categories": "height: 1, 2"}, "height"),
        ({"marginals": "total, weight"}, "Marginals: expected one of age, sex"),
        ({"marginals": "total, total"}, "Marginals: expected each marginal once"),
        (
            {"marginals": "total, sex", "shares": "1/2, 1/2"},
            "Marginals: expected a part of the lowest level",
        ),
        ({"shares": "1/2, 1/2"}, "Parts of the budget for the marginals: expected 3 numbers"),
        ({"levels": "1/2, 1/3, 1/3"}, "Parts of the budget for the levels"),
        (
            {"levels": "1, 0, 0"},
            "Parts of the budget for the levels: expected a part above 0 for the lowest level",
        ),
        ({"workload": ",", "marginals": ""}, "Tables that you need: expected at least one table"),
        (
            {"workload": "sex, sex", "marginals": ""},
            "Tables that you need: expected each marginal once",
        ),
        ({"workload": "sex=0", "marginals": ""}, "Tables that you need: expected a weight from"),
        (
            {"workload": "sex=inf", "marginals": ""},
            "Tables that you need: expected a finite number",
        ),
        ({"workload": "height", "marginals": ""}, "Tables that you need: expected one of age, sex"),
        ({"workload": "sex"}, "Marginals: expected none with a workload"),
        ({"workload_levels": "1, 2"}, "Weights of the levels: expected 3 weights"),
        ({"workload_levels": "0, 0, 0"}, "Weights of the levels: expected 3 weights"),
        ({"workload_levels": "1, inf, 1"}, "Weights of the levels: expected a finite number"),
        ({"loss": "least"}, "What is small: expected one of deviations"),
        ({"shrink": "child"}, "Published tables: expected one of parent, none"),
        ({"marginals": ";cells;cells"}, "Marginals: expected at least one marginal on each level"),
        ({"marginals": "cells;cells"}, "Marginals: expected one list for each of 3 levels"),
        (
            {"groups": "4"},
            "Groups of regions: expected none, or up to 16 with rho and a loss among",
        ),
        ({"groups": "many"}, "Groups of regions: expected a whole number of 1 or more"),
        ({"max_rows": "0"}, "Rows of a person: expected a whole number of 1 or more"),
        ({"neighbors": ""}, "Neighbors: expected a choice"),
    ],
)
def test_public_mistakes_are_said_before_a_budget(
    browser: Browser, change: dict[str, str], said: str
) -> None:
    loaded(browser)
    refused = browser.at("tables/public", {**FORM, **change})
    assert refused.status_code == 400
    assert said in refused.text


def test_a_list_and_a_table_are_needed(browser: Browser) -> None:
    assert "File: expected a table; choose a file first" in browser.at("tables/public", FORM).text
    browser.at("tables/table?name=people.csv", csv(PEOPLE))
    assert "The list of regions: expected a file" in browser.at("tables/public", FORM).text
    loaded(browser)
    promise = {**FORM, "notion": "", "ledger": "l.db"}
    assert "Privacy: expected a choice" in browser.at("tables/plan", promise).text
    assert browser.at("tables/result").status_code == 400
    for path in ("tables/download", "download"):
        assert browser.at(f"{path}/private.parquet").status_code in (400, 404)


def test_a_release_that_is_paid_for_is_not_ended_by_another(browser: Browser, ledger: Path) -> None:
    loaded(browser)
    Ledger.create(ledger, "people", ZeroConcentratedDP(3, neighbors="add-remove-person"))
    at = browser.workspaces.get(browser.workspace)
    at.job = Job(Waits(), "tables", release="r")
    form = {**FORM, "ledger": str(ledger)}
    assert "nothing else while tables are published" in browser.at("tables/run", form).text
    assert "nothing else while" in browser.at("tables/table?name=people.csv", csv(PEOPLE)).text
    at.job.end()
    assert left(ledger) == ["3"]


def test_categories_are_lines_or_json() -> None:
    listed: dict[str, Any] = {"sex": ["F", "M"], "age": ["0-17", "18+"]}
    assert read_categories(FORM["categories"]) == listed
    assert read_categories(json.dumps(listed)) == listed
    whole = {"attributes": listed, "zeros": [{"sex": ["F"], "age": ["0-17"]}]}
    assert read_categories(json.dumps(whole)) == whole
