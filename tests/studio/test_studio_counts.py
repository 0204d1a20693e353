"""The counts page, asked by ASGI: from the table to the record, what is charged when, and refusals in words."""

from __future__ import annotations

import html
import re
from dataclasses import fields
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.artefact import load_counts, load_measurements
from discreet.cli.app import run
from discreet.core.errors import BudgetError, InvalidProblemError
from discreet.core.guarantee import ApproxDP, PureDP
from discreet.core.tree import Tree
from discreet.hierarchy import Frame, Plan, plan
from discreet.ledger import Ledger
from discreet.studio.counts import (
    AMOUNTS,
    COUNTS,
    KINDS,
    PUBLIC,
    Costs,
    read_promise,
    read_table_form,
    synthetic_sizes,
)
from discreet.studio.forms import NEIGHBORS
from discreet.studio.jobs import Job
from discreet.studio.publishing import Publish
from studio.asking import Browser, fetched_again, left, opened
from studio.waiting import Waits

if TYPE_CHECKING:
    from collections.abc import Iterator

PLACES = [("GA", "Fulton"), ("GA", "Cobb"), ("DC", "")]
PEOPLE = pl.DataFrame(
    [
        {"who": f"p{at}-{one}", "home": f"home-{at}", "state": state, "county": county}
        for at in range(90)
        for state, county in (PLACES[at % 3],)
        for one in range(1 + at % 4)
    ]
)
REGIONS = b"state;county\nGA;Fulton\nGA;Cobb\nDC;\nVT;Essex\n"
LAYOUT = {
    "kind": "persons",
    "name": "people.csv",
    "unit": "home",
    "region-0": "state",
    "region-1": "county",
    "public": "list",
    "max_size": "6",
    "neighbors": "add-remove-person",
}
ASKED = {"notion": "epsilon", "amount": "1", "each": "50", "dataset": "people"}


def csv(table: pl.DataFrame) -> bytes:
    return table.write_csv().encode()


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "kept" / "ledger.db"


@pytest.fixture
def browser(ledger: Path) -> Iterator[Browser]:
    ledger.parent.mkdir()
    with opened("counts", ledger=ledger) as made:
        yield made


def loaded(browser: Browser, table: pl.DataFrame = PEOPLE, kind: str = "persons") -> None:
    """Load a private table and the list of regions."""
    assert browser.at(f"counts/table?kind={kind}&name=people.csv", csv(table)).status_code == 200
    assert browser.at("counts/list?which=list&name=regions.csv", REGIONS).status_code == 200


def released(browser: Browser, ledger: Path, **form: str) -> dict[str, Any]:
    """Grant a budget and publish, in this process; give what is shown."""
    given = {**LAYOUT, **ASKED, **form}
    Ledger.create(ledger, "people", PureDP(1000, neighbors="add-remove-person"))
    folder = browser.workspaces.get(browser.workspace).folder
    layout = read_table_form(given, list(pl.read_parquet_schema(folder / "private.parquet")))
    asked = read_promise(given, layout.neighbors)
    kept = str(ledger.with_name("discreet-released"))
    return Publish(COUNTS, str(folder), layout, asked, str(ledger), "people", kept).run(
        lambda _: None
    )


def place(ledger: Path, shown: dict[str, Any]) -> Path:
    """Find the folder of a release."""
    return ledger.with_name("discreet-released") / str(shown["release"])


@pytest.mark.jit
def test_a_table_is_counted_all_the_way(browser: Browser, ledger: Path, tmp_path: Path) -> None:
    loaded(browser)
    said = browser.at("counts/public", LAYOUT)
    assert "7 regions on 3 levels, sizes 1 to 6; units are private" in said.text
    assert f'value="{html.escape(str(ledger))}"' in said.text
    assert "people has no budget" in said.text
    form = {**LAYOUT, **ASKED, "ledger": str(ledger)}
    assert "has no budget" in browser.at("counts/run", form).text
    granted = browser.at("counts/grant", {**form, "limit-notion": "epsilon", "limit-amount": "1.5"})
    assert "<strong>1.5</strong> left for people; 0 spent" in granted.text
    assert "None yet." in browser.ask("released").text
    assert browser.at("counts/run", form).status_code == 202
    assert browser.events()[-1] == {"type": "done"}
    shown = browser.at("counts/result").text
    assert "is right at most 74 times in 100" in shown
    assert "Budget left for people: <strong>0.5</strong>" in shown
    assert "each region has exactly the sum of the regions below it" in shown
    assert shown.count("<img") == 3
    out = tmp_path / "out"
    out.mkdir()
    for link, name in re.findall(r'href="(released/[^"]+)" download="([^"]+)"', shown):
        (out / name).write_bytes(browser.ask(link).content)
    assert sorted(path.name for path in out.iterdir()) == sorted(COUNTS.downloads)
    assert [run(["verify", str(out / f"counts.{end}")]) for end in ("csv", "parquet")] == [0, 0]
    kept = load_counts(out / "counts.csv")
    assert kept.guarantee == PureDP(1, neighbors="add-remove-person")
    assert not kept.provenance.seeded
    assert load_measurements(out / "measurements.parquet").frame == kept.result.frame
    assert "What it does not protect against" in (out / "report.html").read_text(encoding="utf-8")
    assert browser.at("counts/run", form).status_code == 202
    assert browser.at("counts/result").text == shown
    beyond = browser.at("counts/run", {**form, "form": "another"})
    assert (beyond.status_code, beyond.json()["message"]) == (400, "Epsilon: 1 asked, 0.5 left.")
    book = browser.at("counts/budget", form).text
    assert "1 release charged" in book
    assert left(ledger) == ["1/2"]
    fetched_again(browser, ledger, out, COUNTS.downloads, "1-differentially private")
    assert left(ledger) == ["1/2"]


def test_what_is_no_release_is_not_sent(browser: Browser, ledger: Path) -> None:
    root = ledger.with_name("discreet-released")
    name = "a" * 22
    (root / name).mkdir(parents=True)
    for stray in ("private.parquet", "counts.csv"):
        (root / name / stray).write_text("x", encoding="utf-8")
    (root / "notes.txt").write_text("x", encoding="utf-8")
    assert browser.ask(f"released/{name}/counts.csv").content == b"x"
    assert "Its record cannot be read." in browser.ask("released").text
    for path in (
        f"{name}/private.parquet",
        "..%2F/counts.csv",
        f"{'b' * 22}/counts.csv",
        "./counts.csv",
    ):
        assert browser.ask(f"released/{path}").status_code in (400, 404)


def test_a_page_that_is_closed_does_not_end_a_release_that_is_being_paid_for(
    browser: Browser,
) -> None:
    workspace = browser.workspaces.get(browser.workspace)
    workspace.job = Job(Waits(), "counts", release="r")
    assert browser.at("leave", b"").status_code == 204
    browser.workspaces.sweep()
    assert workspace.folder.is_dir()
    assert not workspace.job.over
    workspace.job.end()
    browser.workspaces.sweep()
    assert not workspace.folder.exists()


@pytest.mark.jit
def test_what_a_budget_costs_is_told_of_a_made_table(browser: Browser) -> None:
    loaded(browser)
    form = {**LAYOUT, **ASKED}
    assert browser.at("counts/costs", form).status_code == 202
    assert browser.events()[-1] == {"type": "done"}
    shown = browser.at("counts/costs").text
    assert browser.at("counts/result").status_code == 400
    assert "Not from your table" in shown
    assert re.findall(r'class="choice"|value="([^"]+)"', shown)[::2] == list(AMOUNTS["epsilon"])


def bare(frame: Frame) -> Plan:
    return plan(frame, PureDP(1, neighbors="add-remove-person"), method="m-c-dp")


def test_the_comparison_has_nothing_private_to_read() -> None:
    """What goes to its process is a plan from the public facts and a few choices: no folder, no table, no ledger."""
    assert {field.name for field in fields(Costs)} == {"plan", "notion", "each", "seconds"}
    frame = Frame(Tree.from_paths([("GA",), ("NY",)]), 5, "private")
    for notion, last in (("epsilon", -1), ("rho", -1)):
        told = Costs(bare(frame), notion, 500).run(lambda _: None)
        assert [row["amount"] for row in told["rows"]] == list(AMOUNTS[notion])
        assert told["rows"][0]["wrong"][1] > told["rows"][last]["wrong"][1]
        assert told["rows"][0]["moved"][1] > told["rows"][last]["moved"][1]


def test_a_comparison_that_takes_long_ends_with_what_it_has() -> None:
    frame = Frame(Tree.from_paths([("GA",), ("NY",)]), 5, "private")
    asked = Costs(bare(frame), "epsilon", 5, seconds=-1.0)
    assert [row["amount"] for row in asked.run(lambda _: None)["rows"]] == ["0.03"]


def test_a_made_table_has_the_public_number_of_units() -> None:
    tree = Tree.from_paths([("GA",), ("NY",)])
    frame = Frame(tree, 3, "public", group_totals=tree.totals([7, 0]))
    assert synthetic_sizes(frame, 99).counts.tolist() == [[6, 1, 0, 0], [0, 0, 0, 0]]
    with pytest.raises(InvalidProblemError, match="a smaller number"):
        synthetic_sizes(Frame(tree, 3, "private"), 2**45)


@settings(max_examples=40, deadline=None)
@given(
    units=st.lists(st.integers(0, 10**6), min_size=1, max_size=4),
    max_size=st.integers(1, 40),
    public=st.booleans(),
)
def test_a_made_table_counts_every_unit_once(
    *, units: list[int], max_size: int, public: bool
) -> None:
    tree = Tree.from_paths([(str(at),) for at in range(len(units))])
    totals = tree.totals(units) if public else None
    frame = Frame(tree, max_size, "public" if public else "private", group_totals=totals)
    made = synthetic_sizes(frame, units[0]).counts
    assert made.sum(axis=1).tolist() == (units if public else [units[0]] * len(units))
    assert (np.diff(made, axis=1) <= 0).all()


def test_of_the_private_table_only_names_of_columns_are_shown(browser: Browser) -> None:
    said = browser.at("counts/table?kind=persons&name=people.csv", csv(PEOPLE))
    assert "<strong>people.csv</strong>, in UTF-8, separated by comma." in said.text
    assert str(PEOPLE.height) not in said.text
    assert "home-1" not in said.text
    assert "Fulton" not in said.text
    assert '<option value="county">county</option>' in said.text


def test_declared_regions_stand_in_the_record(browser: Browser, ledger: Path) -> None:
    loaded(browser)
    said = browser.at("counts/public", {**LAYOUT, "public": "table"})
    assert "5 regions on 3 levels" in said.text
    assert "You declare" in said.text
    shown = released(browser, ledger, public="table")
    assert shown["declared"]
    folder = place(ledger, shown)
    stated = {
        entry.name: entry for entry in load_counts(folder / "counts.csv").provenance.assumed_public
    }
    assert "declared by the publisher" in stated["declaration about regions"].description
    assert stated["declaration about regions"].digest == stated["regions"].digest
    assert "declared by the publisher" in (folder / "report.html").read_text(encoding="utf-8")
    assert run(["verify", str(folder / "counts.csv")]) == 0


def test_declared_regions_say_nothing_of_the_order_and_number_of_rows(browser: Browser) -> None:
    form = {**LAYOUT, "public": "table"}
    layout, seen = read_table_form(form, PEOPLE.columns), set()
    for table in (PEOPLE, PEOPLE.reverse(), PEOPLE.head(9), PEOPLE.vstack(PEOPLE)):
        loaded(browser, table)
        folder = browser.workspaces.get(browser.workspace).folder
        seen.add(COUNTS.plan(folder, layout).frame.digest)
    assert len(seen) == 1


def test_a_list_needs_no_declaration(browser: Browser, ledger: Path) -> None:
    loaded(browser)
    shown = released(browser, ledger)
    assert not shown["declared"]
    stated = load_counts(place(ledger, shown) / "counts.csv").provenance.assumed_public
    assert [entry.name for entry in stated] == ["regions", "max_size, max_quantity"]


def test_declared_regions_must_end_at_one_column(browser: Browser) -> None:
    rows = PEOPLE.vstack(PEOPLE.head(1).with_columns(county=pl.lit("")))
    loaded(browser, rows)
    said = browser.at("counts/public", {**LAYOUT, "public": "table"})
    assert (said.status_code, "give a public list of regions" in said.text) == (400, True)
    assert "Fulton" not in said.text
    loaded(browser, PEOPLE.with_columns(state=pl.lit("")))
    said = browser.at("counts/public", {**LAYOUT, "public": "table"})
    assert "columns that name a region" in said.text


def test_a_row_without_a_region_is_left_out_where_regions_are_declared(
    browser: Browser, ledger: Path
) -> None:
    gone = PEOPLE.vstack(PEOPLE.head(1).with_columns(state=pl.lit(""), home=pl.lit("new")))
    loaded(browser, gone)
    assert browser.at("counts/public", {**LAYOUT, "public": "table"}).status_code == 200
    released(browser, ledger, public="table")
    assert left(ledger) == ["999"]


UNITS = pl.DataFrame(
    [
        {"home": f"h{at}", "state": state, "county": county, "size": at % 9}
        for at in range(60)
        for state, county in (PLACES[at % 3],)
    ]
)


def test_a_register_of_units_makes_their_number_exact(browser: Browser, ledger: Path) -> None:
    loaded(browser, UNITS, "units")
    register = csv(UNITS.drop("size"))
    assert "60 rows" in browser.at("counts/list?which=units&name=units.csv", register).text
    form = {"kind": "units", "size": "size", "public": "units", "max_size": "5"}
    assert (
        "how many units each region has is public"
        in browser.at("counts/public", {**LAYOUT, **form}).text
    )
    shown = released(browser, ledger, **form, amount="900")
    out = load_counts(place(ledger, shown) / "counts.csv").result
    assert out.counts.sum(axis=1).tolist() == [60, 20, 40, 20, 20]
    # Sizes above the largest count as the largest: 5, 6, 7 and 8 of 0 to 8.
    assert out.counts[0].tolist() == [7, 7, 7, 7, 7, 28 - 3]
    assert shown["public_units"]
    assert shown["levels"][0]["rows"] == [("all", 53, "53 to 53", "reliable")]


@pytest.mark.parametrize("method", ["hay-sorted", "m-c-ch-calibrated"])
def test_a_method_without_counts_by_size_has_no_intervals(
    browser: Browser, ledger: Path, method: str
) -> None:
    deep = UNITS.filter(pl.col("county") != "")
    loaded(browser, deep, "units")
    browser.at("counts/list?which=units&name=units.csv", csv(deep))
    form = {"kind": "units", "size": "size", "public": "units", "method": method}
    shown = released(browser, ledger, **form)
    assert not shown["measured"]
    assert [name for name, _ in shown["files"]] == [
        n for n in COUNTS.downloads if "measure" not in n
    ]
    # Bars are drawn all the same, where there are several regions.
    assert [level["picture"] is None for level in shown["levels"]] == [True, True, False]
    assert all(row[2:] == ("", "") for level in shown["levels"] for row in level["rows"])


def test_fractional_counts_are_shown_as_they_are(browser: Browser, ledger: Path) -> None:
    loaded(browser)
    shown = released(browser, ledger, method="hay-tree")
    assert any(row[1] != int(row[1]) for row in shown["sizes"]["rows"])
    assert not shown["adds_up"]


def test_many_regions_are_shown_in_part(browser: Browser, ledger: Path) -> None:
    names = [f"r{at:02d}" for at in range(50)]
    table = pl.DataFrame({"home": names, "state": names, "who": names})
    loaded(browser, table)
    browser.at("counts/list?which=list&name=a", "\n".join(["state", *names]).encode())
    shown = released(browser, ledger, **{"region-1": "", "amount": "900"})
    assert [(level["regions"], len(level["rows"])) for level in shown["levels"]] == [
        (1, 1),
        (50, 40),
    ]


def changed(**columns: str) -> pl.DataFrame:
    """Give the people with one row changed."""
    row = PEOPLE.row(5, named=True) | columns
    return PEOPLE.clear().vstack(PEOPLE.head(5)).vstack(pl.DataFrame([row])).vstack(PEOPLE[6:])


@pytest.mark.parametrize(
    ("table", "form"),
    [
        (changed(state="secret-land"), {}),
        (changed(home="home-4"), {}),
        (changed(home=""), {}),
        (changed(who="p0-0"), {"person": "who"}),
        (PEOPLE.with_columns(much=pl.lit("-3")), {"quantity": "much"}),
    ],
    ids=["region", "two regions", "no unit", "person again", "negative"],
)
def test_odd_rows_are_on_no_page_and_in_no_file_but_on_the_terminal(
    browser: Browser,
    ledger: Path,
    capsys: pytest.CaptureFixture[str],
    table: pl.DataFrame,
    form: dict[str, str],
) -> None:
    loaded(browser, table)
    asked = {**LAYOUT, **form, "max_quantity": "2"}
    assert browser.at("counts/public", asked).status_code == 200
    shown = released(browser, ledger, **form, max_quantity="2")
    assert "PRIVATE, not for publication" in capsys.readouterr().err
    written = {path.name: path.read_bytes() for path in place(ledger, shown).iterdir()}
    assert set(written) == set(COUNTS.downloads)
    for value in ("secret-land", "PRIVATE", "left out or mapped"):
        assert value not in str(shown)
        assert not [name for name, data in written.items() if value.encode() in data]
    assert left(ledger) == ["999"]


def test_without_a_budget_no_row_is_read(browser: Browser, ledger: Path) -> None:
    """The rows are bad, and that is not what is said: another process spent the budget in the meantime."""
    loaded(browser, changed(state="secret-land"))
    folder = browser.workspaces.get(browser.workspace).folder
    Ledger.create(ledger, "people", PureDP("0.5", neighbors="add-remove-person"))
    layout = read_table_form(LAYOUT, PEOPLE.columns)
    told: list[dict[str, Any]] = []
    asked, kept = read_promise(ASKED, layout.neighbors), ledger.with_name("discreet-released")
    task = Publish(COUNTS, str(folder), layout, asked, str(ledger), "people", str(kept))
    with pytest.raises(BudgetError, match="1 asked, 0.5 left"):
        task.run(told.append)
    assert [step.get("charge") for step in told] == [None, "begun"]
    assert not kept.exists()


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({"kind": ""}, "Rows: expected a choice"),
        ({"public": ""}, "What is public: expected a choice"),
        ({"public": "units"}, "The register of units: expected a file; choose one first"),
        ({"neighbors": ""}, "Neighbors: expected a choice"),
        ({"neighbors": "friends"}, "Neighbors: expected a choice from the list, got another"),
        ({"region-0": "", "region-1": ""}, "at least one column"),
        ({"region-1": "state"}, "another column for each use"),
        ({"region-1": "province"}, "a column of the table"),
        ({"unit": ""}, "the column that names the household"),
        ({"kind": "units"}, "the column of the sizes"),
        ({"max_size": "0"}, "Largest size: expected a whole number of 1 or more"),
        ({"max_size": "10001"}, "10,000 or less"),
        ({"quantity": "who", "max_quantity": ""}, "Largest quantity"),
        ({"amount": "much"}, "Epsilon: expected a finite number"),
        ({"amount": "0"}, "Epsilon: expected a positive number"),
        ({"amount": ""}, "Epsilon: expected a positive number"),
        ({"notion": ""}, "a choice of epsilon or rho"),
        ({"notion": "rho"}, "The promise: expected one that adds up to PureDP"),
        ({"neighbors": "replace-person"}, "The promise: expected neighbors"),
        ({"method": "raw_truth"}, "Method: expected one of the list"),
        ({"levels": "1/2,1/2"}, "Parts of the budget: expected 3 numbers"),
        ({"levels": "1/2,1/2,1/2"}, "with the sum 1"),
        ({"method": "kuo-h-c"}, "public"),
        ({"dataset": ""}, "Data set: expected a name"),
        ({"dataset": "x" * 201}, "a longer one"),
        ({"dataset": "others"}, "has no budget"),
        ({"ledger": ""}, "Ledger: expected the path of a file"),
        ({"ledger": "nowhere.db"}, "has no budget"),
        ({"amount": "2.1"}, "Epsilon: 2.1 asked, 2 left."),
    ],
)
def test_what_needs_no_records_is_refused_before_anything_is_charged(
    browser: Browser, ledger: Path, form: dict[str, str], words: str
) -> None:
    loaded(browser)
    Ledger.create(ledger, "people", PureDP(2, neighbors="add-remove-person"))
    said = browser.at("counts/run", {**LAYOUT, **ASKED, "ledger": str(ledger), **form})
    assert said.status_code == 400
    assert words in said.text
    assert left(ledger) == ["2"]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "got regions.csv, which is empty"),
        (
            b"land;place\nGA;Fulton\n",
            "expected the columns state, county, as in the table, got land, place",
        ),
        (b"state;county\nGA;Fulton\nGA;Fulton\n", "The list of regions"),
        (b"state;county\n;Fulton\n", "The list of regions"),
    ],
    ids=["empty", "other columns", "twice", "gap"],
)
def test_a_bad_list_of_regions_is_refused_in_words(
    browser: Browser, data: bytes, words: str
) -> None:
    assert browser.at("counts/table?kind=persons&name=a.csv", csv(PEOPLE)).status_code == 200
    first = browser.at("counts/list?which=list&name=regions.csv", data)
    said = first if first.status_code == 400 else browser.at("counts/public", LAYOUT)
    assert said.status_code == 400
    assert words in said.text


@pytest.mark.parametrize(
    ("data", "query", "words"),
    [
        (b"", "", "got a.csv, which is empty"),
        (b'home,state\n1,GA\n1,G"A\n', "", "got a.csv with a quote out of place in line 3"),
        ("é;1\n".encode("cp1252"), "&encoding=utf-8-sig", "with invalid bytes in line 1"),
        (b"a\n" + b"1\n" * 1_000_002, "", "`discreet counts`"),
        (b"a,b\n1,2\n", "&kind=dogs", "a person, or a unit with its size"),
    ],
    ids=["empty", "quote", "encoding", "huge", "kind"],
)
def test_a_bad_table_is_refused_in_words(
    browser: Browser, data: bytes, query: str, words: str
) -> None:
    kind = "" if "kind" in query else "&kind=persons"
    said = browser.at(f"counts/table?name=a.csv{kind}{query}", data)
    assert said.status_code == 400
    assert words in said.text


def test_only_one_column_is_noticed(browser: Browser) -> None:
    said = browser.at("counts/table?kind=persons&name=a.csv", b"home/state\n1/GA\n")
    assert "Only one column was found" in said.text


def test_a_list_is_not_loaded_before_a_table_nor_as_something_else(browser: Browser) -> None:
    assert "choose a file first" in browser.at("counts/list?which=list&name=a", REGIONS).text
    loaded(browser)
    assert browser.at("counts/list?which=private&name=a", REGIONS).status_code == 400


def test_budgets_of_other_kinds_are_granted(browser: Browser, ledger: Path) -> None:
    loaded(browser)
    form = {**LAYOUT, **ASKED, "ledger": str(ledger)}
    for name, limit, words in (
        ("a", {"limit-notion": "rho", "limit-amount": "1/2"}, "<strong>0.5</strong> left for a"),
        (
            "b",
            {"limit-notion": "epsilon", "limit-amount": "3", "limit-delta": "1e-6"},
            "<strong>3, 1e-06</strong> left for b",
        ),
    ):
        said = browser.at("counts/grant", {**form, **limit, "dataset": name})
        assert words in said.text
    assert "Also in this ledger: a, b." in browser.at("counts/budget", form).text
    again = browser.at(
        "counts/grant", {**form, "dataset": "a", "limit-notion": "rho", "limit-amount": "9"}
    )
    assert "one without a budget" in again.text
    both = {"limit-notion": "rho", "limit-amount": "1", "limit-delta": "1e-6"}
    assert "none beside rho" in browser.at("counts/grant", {**form, **both}).text


def test_the_ledger_stays_and_is_no_other_file(
    browser: Browser, ledger: Path, tmp_path: Path
) -> None:
    loaded(browser)
    folder = browser.workspaces.get(browser.workspace).folder
    grant = {**LAYOUT, **ASKED, "limit-notion": "epsilon", "limit-amount": "1"}
    inside = browser.at("counts/grant", {**grant, "ledger": str(folder / "l.db")})
    assert "a file that stays" in inside.text
    letter = tmp_path / "letter.txt"
    letter.write_text("Dear all,\n" * 300, encoding="utf-8")
    said = browser.at("counts/grant", {**grant, "ledger": str(letter)})
    assert said.status_code == 400
    assert letter.read_text(encoding="utf-8") == "Dear all,\n" * 300
    assert browser.at("counts/grant", {**grant, "ledger": str(ledger)}).status_code == 200
    assert browser.at("leave", b"").status_code == 204
    assert not folder.exists()
    assert left(ledger) == ["1"]


def test_a_proposed_ledger_that_is_none_is_said_and_another_may_be_named(
    browser: Browser, ledger: Path, tmp_path: Path
) -> None:
    loaded(browser)
    ledger.write_text("not a ledger at all\n" * 100, encoding="utf-8")
    said = browser.at("counts/public", LAYOUT)
    assert said.status_code == 200
    assert "a whole ledger" in said.text
    assert "Name another file" in said.text
    form = {**LAYOUT, **ASKED}
    assert browser.at("counts/budget", {**form, "ledger": str(ledger)}).status_code == 400
    other = browser.at("counts/budget", {**form, "ledger": str(tmp_path / "other.db")})
    assert "people has no budget in this ledger" in other.text


@pytest.mark.parametrize("name", ["a\0b", "~nobody-of-this-name/l.db", "x" * 5000])
def test_a_name_that_can_be_no_ledger_is_refused(browser: Browser, name: str) -> None:
    loaded(browser)
    grant = {**LAYOUT, **ASKED, "limit-notion": "epsilon", "limit-amount": "1", "ledger": name}
    for path in ("counts/grant", "counts/budget", "counts/run"):
        assert browser.at(path, grant).status_code == 400


def test_a_release_that_is_paid_for_is_not_ended_by_another_job(
    browser: Browser, ledger: Path
) -> None:
    loaded(browser)
    Ledger.create(ledger, "people", PureDP(2, neighbors="add-remove-person"))
    workspace, form = (
        browser.workspaces.get(browser.workspace),
        {**LAYOUT, **ASKED, "ledger": str(ledger)},
    )
    workspace.job = Job(Waits(), "counts", release="r")
    for path in ("counts/costs", "counts/run", "tables/run", "run", "frontier", "sample"):
        assert "wait, or cancel that" in browser.at(path, form).text
    for path in ("counts/table?kind=persons&name=a.csv", "tables/table?name=a.csv", "table?name=a"):
        assert "wait" in browser.at(path, csv(PEOPLE)).text
    assert not workspace.job.over
    assert browser.at("cancel", b"").status_code == 204
    assert browser.at("counts/table?kind=persons&name=a.csv", csv(PEOPLE)).status_code == 200


def test_only_the_page_may_publish(browser: Browser, ledger: Path) -> None:
    loaded(browser)
    for path in ("run", "grant", "table", "list", "public", "budget", "costs"):
        asked = browser.ask(
            f"{browser.workspace}/counts/{path}", b"{}", origin="http://evil.example"
        )
        assert asked.status_code == 403
    assert not ledger.exists()


def test_results_and_downloads_are_those_of_this_page(browser: Browser) -> None:
    assert browser.at("counts/result").status_code == 400
    loaded(browser)
    for name in ("private.parquet", "regions.parquet", "..%2Fkept"):
        assert browser.at(f"counts/download/{name}").status_code in (400, 404)
        assert browser.at(f"download/{name}").status_code in (400, 404)


def test_the_pages_know_each_other(browser: Browser) -> None:
    assert 'href="counts"' in browser.ask("").text
    page = browser.ask("counts").text
    assert 'href="./"' in page
    for title in KINDS.values():
        assert html.escape(title) in page
    said = browser.at("counts/table?kind=units&name=people.csv", csv(UNITS)).text
    for title in (*PUBLIC.values(), *NEIGHBORS.values()):
        assert html.escape(title) in said


@pytest.mark.jit
def test_rho_is_charged_to_an_epsilon_delta_budget_at_a_delta(
    browser: Browser, ledger: Path
) -> None:
    loaded(browser)
    Ledger.create(ledger, "people", ApproxDP(9, "1e-6", neighbors="add-remove-person"))
    form = {**LAYOUT, **ASKED, "notion": "rho", "amount": "0.01", "ledger": str(ledger)}
    assert 'name="budget-delta"' in browser.at("counts/public", LAYOUT).text
    assert "Delta of this release: expected a delta" in browser.at("counts/run", form).text
    for wrong in ({"budget-delta": "2"}, {"budget-delta": "1e-6", "notion": "epsilon"}):
        assert "Delta of this release" in browser.at("counts/run", {**form, **wrong}).text
    assert browser.at("counts/run", {**form, "budget-delta": "1e-6"}).status_code == 202
    assert browser.events()[-1] == {"type": "done"}
    assert Ledger(ledger).account("people").spent == (Fraction("0.6216927"), Fraction(1, 10**6))
