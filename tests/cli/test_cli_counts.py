"""``counts``, ``query`` and ``verify`` on real files: what is charged, what is written, what is refused, and where."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from cli.commands import Said, say
from discreet.artefact import load_counts, load_measurements, save_counts, save_measurements
from discreet.artefact.counts import load_by_region
from discreet.artefact.judging import JUDGES
from discreet.artefact.sidecar import sidecar_of
from discreet.core.guarantee import PureDP, ZeroConcentratedDP
from discreet.core.tree import Tree
from discreet.hierarchy import query
from discreet.hierarchy.measure import measure
from discreet.hierarchy.methods import METHODS
from discreet.hierarchy.problem import GroupSizes
from discreet.ledger import Ledger
from discreet.tables.reading import read_rows
from discreet.tables.validate import _FOREIGN
from ledgers import by_force

if TYPE_CHECKING:
    from collections.abc import Callable

HEAD = "household,state,county\n"
PEOPLE = HEAD + "".join(
    f'h{unit},{state},"{county}"\n'
    for unit, (state, county, size) in enumerate(
        [("GA", "Fulton", 3), ("GA", "Cobb", 1), ("GA", "Cobb", 2), ("NY", 'Kings, "BK"', 9)] * 5
    )
    for _ in range(size)
)
REGIONS = 'state,county\nGA,Fulton\nGA,Cobb\nNY,"Kings, ""BK"""\nDC,\n'
SIZES = "household,state,county,size\n" + "".join(
    f"h{unit},{state},{county},{size}\n"
    for unit, (state, county, size) in enumerate(
        [("GA", "Fulton", 3), ("GA", "Cobb", 1), ("DC", "", 0), ("DC", "", 2000)] * 5
    )
)
BASE = (
    "--unit household --regions state,county --max-size 4 --epsilon 1 --neighbors add-remove-person"
)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder that has the tables."""
    (tmp_path / "people.csv").write_text(
        PEOPLE.replace('"Kings, "BK""', '"Kings, ""BK"""'), encoding="utf-8-sig"
    )
    (tmp_path / "regions.csv").write_text(REGIONS, encoding="utf-8")
    (tmp_path / "units.csv").write_text(SIZES, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def ask(files: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    """Run a command line there."""
    assert files.is_dir()

    def run(line: str, *more: object) -> Said:
        return say(capsys, *line.split(), *more)

    return run


def test_people_become_a_table_that_verifies(ask: Callable[..., Said]) -> None:
    said = ask(f"counts people.csv {BASE} --region-list regions.csv -o out.parquet --json")
    assert (said.status, said.err) == (0, "")
    assert said.data["guarantee"]["epsilon"] == "1"
    assert said.data["regions"] == 7
    assert said.data["certificate"]["passed"] is True
    table = pl.read_parquet("out.parquet")
    assert table.columns == ["level", "region", "size", "count"]
    assert table.height == 7 * 4
    assert table["region"].unique(maintain_order=True).to_list() == [
        "all", "GA", "NY", "DC", "GA/Fulton", "GA/Cobb", 'NY/Kings, "BK"',
    ]  # fmt: skip
    checked = ask("verify out.parquet --json")
    assert checked.status == 0
    assert checked.data["passed"] is True
    assert checked.data["kind"] == "region-counts"


def test_public_units_fix_every_level_s_total(ask: Callable[..., Said]) -> None:
    line = "--units units.csv --public-units units.csv --size size --regions state,county --max-size 1000"
    said = ask(
        f"counts {line} --epsilon 0.1 --neighbors add-remove-person --method m-c-dp "
        "--measurements nm.parquet -o out.csv"
    )
    assert said.status == 0, said.err
    assert "units: which units exist, and where: 20 groups" in said.out
    table = pl.read_csv("out.csv")
    assert table.filter(level=1)["count"].sum() == 20
    assert table["size"].min() == 0
    answers = ask("query nm.parquet --level 2 --sizes 1-7 --interval 0.95")
    assert answers.status == 0
    assert answers.out.splitlines()[0] == "level,region,value,low,high,reliability"
    assert [line.split(",")[1] for line in answers.out.splitlines()[1:]] == ["DC", "GA"]
    assert ask("verify nm.parquet").status == 0


def test_with_hardly_any_noise_the_table_is_the_truth(ask: Callable[..., Said]) -> None:
    line = BASE.replace("--epsilon 1 ", "--epsilon 500 ")
    assert ask(f"counts people.csv {line} --region-list regions.csv -o out.csv").status == 0
    table = pl.read_csv("out.csv").filter(region="all")
    assert table["count"].to_list() == [5, 5, 5, 5]


@pytest.mark.parametrize("more", ["", "--method m-h-dp --rho 1/2", "--levels 1/4,1/4,1/2"])
def test_a_plan_states_the_errors_of_the_query_and_charges_nothing(
    ask: Callable[..., Said], more: str
) -> None:
    line = f"counts people.csv {BASE} --region-list regions.csv {more}"
    if "--rho" in more:
        line = line.replace("--epsilon 1 ", "")
    said = ask(f"{line} --plan --plan-count 200 --json")
    assert (said.status, said.data["charged"]) == (0, False)
    assert ask(f"{line} -o out.csv --measurements nm.parquet").status == 0
    kept = load_measurements("nm.parquet")
    for level, row in enumerate(said.data["tables"], start=1):
        nodes = [
            kept.frame.tree.path(node)
            for node in np.flatnonzero(kept.frame.tree.levels == level - 1).tolist()
        ]
        variances = query(kept, sizes=[2], regions=nodes).variances
        assert variances is not None
        assert row["regions"] == len(nodes)
        assert row["standard_error"] == pytest.approx(float(max(variances)) ** 0.5)
        assert row["coefficient_of_variation"] == row["standard_error"] / 200
        assert row["naive"] > 0
    text = ask(f"{line} --plan").out
    assert "nothing: this is a plan" in text
    assert "level 2 (3 regions), units of one size: standard error" in text


def test_a_plan_of_sizes_is_checked_against_the_table(ask: Callable[..., Said]) -> None:
    plan = f"counts people.csv {BASE} --region-list regions.csv --plan"
    assert "--unit: expected" in ask(plan.replace("--unit household", "")).err
    assert "home" in ask(plan.replace("--unit household", "--unit home")).err
    assert "--plan-count: expected" in ask(f"{plan} --plan-count 0").err
    unproven = f"{plan} --method m-c-ch --accept-no-guarantee"
    assert "--plan: expected none with --accept-no-guarantee" in ask(unproven).err


def test_quantities_and_persons_have_columns(ask: Callable[..., Said], files: Path) -> None:
    text = "name,household,state,county,cars\n" + "".join(f"p{i},h{i},DC,,{i}\n" for i in range(6))
    (files / "cars.csv").write_text(text, encoding="utf-8")
    line = BASE.replace("--epsilon 1 ", "--epsilon 900 ")
    said = ask(
        f"counts cars.csv {line} --region-list regions.csv --quantity cars --max-quantity 3 "
        "--person name -o out.csv"
    )
    assert said.status == 0, said.err
    assert pl.read_csv("out.csv").filter(region="all")["count"].to_list() == [1, 1, 3, 0]


def test_gaussian_noise_has_its_own_budget(ask: Callable[..., Said]) -> None:
    line = BASE.replace("--epsilon 1 ", "--rho 1/2 --noise gaussian ")
    said = ask(
        f"counts people.csv {line} --region-list regions.csv --levels 1/4,1/4,1/2 -o out.csv "
        "--measurements nm.parquet --json"
    )
    assert said.status == 0, said.err
    assert said.data["guarantee"]["kind"] == "zero-concentrated-dp"
    assert load_measurements("nm.parquet").noise == "gaussian"
    assert ask("verify out.csv").status == 0
    assert ask("query nm.parquet --level 1").status == 0


EVEN = (
    "counts --units even.csv --public-units even.csv --size size --regions state --max-size 3 "
    "--epsilon 1 --neighbors add-remove-person -o out.csv"
)


@pytest.mark.parametrize("method", ["m-c-dp", "raw", "bottom-up-cumulative", "top-down-a"])
def test_methods_are_chosen_by_name(ask: Callable[..., Said], files: Path, method: str) -> None:
    assert method in METHODS
    (files / "even.csv").write_text("state,size\nGA,1\nGA,3\nNY,0\n", encoding="utf-8")
    said = ask(f"{EVEN} --method {method} --json")
    assert said.status == 0, said.err
    assert said.data["method"] == method
    assert ask("verify out.csv").status == 0


def test_sorted_sizes_can_not_be_kept(ask: Callable[..., Said], files: Path) -> None:
    """Their table would have another form; this is known before anything is charged."""
    (files / "even.csv").write_text("state,size\nGA,1\nGA,3\nNY,0\n", encoding="utf-8")
    Ledger.create("ledger.db", "d", PureDP(4, neighbors="add-remove-person"))
    line = f"{EVEN} --method hay-sorted --ledger ledger.db --dataset d"
    assert ask(line).status == 0
    said = ask(f"{line} --measurements nm.parquet")
    assert said.status == 2
    assert "--measurements: expected a method that measures counts" in said.err
    assert charged() == 1


def test_a_method_without_a_guarantee_is_asked_for_twice(
    ask: Callable[..., Said], files: Path
) -> None:
    pytest.importorskip("discreet_reproduction", reason="it has the only such method of counts")
    (files / "even.csv").write_text("state,size\nGA,1\nGA,3\nNY,0\n", encoding="utf-8")
    said = ask(f"{EVEN} --method m-c-ch")
    assert said.status == 2
    assert "--accept-no-guarantee" in said.err
    assert not Path("out.csv").exists()
    accepted = ask(f"{EVEN} --method m-c-ch --accept-no-guarantee --json")
    assert accepted.status == 0, accepted.err
    assert accepted.data["guarantee"] is None
    assert accepted.data["reason"]
    assert "NOT PRIVATE" in accepted.err
    assert Path("out.csv").is_file()
    assert not sidecar_of("out.csv").exists()
    assert ask("verify out.csv").status == 2


def test_diagnostics_go_to_standard_error_and_are_marked(ask: Callable[..., Said]) -> None:
    said = ask(
        f"counts people.csv {BASE} --region-list regions.csv -o out.csv --diagnostics --json"
    )
    assert said.status == 0
    assert said.err.startswith("discreet: PRIVATE, for the curator only: ")
    assert "l1" not in said.data


def test_a_report_explains_the_release(ask: Callable[..., Said], files: Path) -> None:
    said = ask(f"counts people.csv {BASE} --region-list regions.csv --report out.html")
    assert (said.status, said.err) == (0, "")
    page = (files / "out.html").read_text(encoding="utf-8")
    assert "whether one person is in the data" in page
    assert "rings" not in page


def test_standard_output_does_not_tell_the_time(ask: Callable[..., Said]) -> None:
    """How long reading took depends on the records."""
    said = ask(f"counts people.csv {BASE} --region-list regions.csv -o out.csv --json")
    assert set(said.data) == {
        "command", "guarantee", "method", "regions", "levels", "sizes", "units", "parameters",
        "assumed_public", "certificate", "output", "measurements", "left", "charge",
    }  # fmt: skip


def test_the_ledger_is_charged(ask: Callable[..., Said]) -> None:
    assert (
        ask(
            "budget create ledger.db --dataset census-2030 --epsilon 4 --neighbors add-remove-person"
        ).status
        == 0
    )
    line = f"counts people.csv {BASE} --region-list regions.csv -o out.csv --ledger ledger.db"
    for left in ("3", "2", "1", "0"):
        said = ask(f"{line} --dataset census-2030 --json")
        assert said.data["left"] == [left]
    Path("out.csv").unlink()
    refused = ask(f"{line} --dataset census-2030 --json")
    assert refused.status == 5
    assert refused.out == ""
    assert "1 asked, 0 left" in json.loads(refused.err)["error"]["message"]
    assert not Path("out.csv").exists()


def charged() -> int:
    return len(Ledger("ledger.db").history("d"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--method kuo-naive", "units: expected public"),
        ("--method top-down-a --levels 1/2,0,1/2", "levels: expected a share"),
        ("--method m-c-ch-calibrated --public-units units.csv", "tree: expected branches of equal"),
    ],
)
def test_what_a_method_lacks_is_not_charged(
    ask: Callable[..., Said], options: str, message: str
) -> None:
    Ledger.create("ledger.db", "d", PureDP(4, neighbors="add-remove-person"))
    public = "" if "--public-units" in options else "--region-list regions.csv"
    said = ask(
        f"counts people.csv {BASE} {public} -o out.csv --ledger ledger.db --dataset d {options}"
    )
    assert (said.status, said.out) == (2, "")
    assert message in said.err
    assert charged() == 0


def test_high_leaves_may_be_left_their_own_part(ask: Callable[..., Said]) -> None:
    line = f"counts people.csv {BASE} --region-list regions.csv -o out.csv --json"
    for option, scale in (("", "3/2"), ("--no-leaves-inherit", "3")):
        stated = ask(f"{line} {option}").data["parameters"]["scale_of_leaves_by_level"]
        assert stated == ["none", scale, "3"]


ODD = ["h1,GA,Secret\n", "h1,GA,Fulton\nh1,DC,\n", "h1,,\n", "h1,GA,\n", "h1,DC,x\n", ""]
BY = "--regions state,county --by sex --domain d.json --epsilon 1 --neighbors add-remove-person"


BY_HOME = "--regions state,county --by household --domain d.json --epsilon 1 --neighbors add-remove-person"


@pytest.mark.parametrize("options", [BASE, BY_HOME], ids=["sizes", "categories"])
def test_a_workbook_holds_the_published_table(ask: Callable[..., Said], options: str) -> None:
    pytest.importorskip("openpyxl")
    Path("d.json").write_text('{"household": ["h0", "h1"]}', encoding="utf-8")
    Path("regions.csv").write_text(f"{REGIONS}=1+1,020\n", encoding="utf-8")
    Ledger.create("ledger.db", "d", PureDP(4, neighbors="add-remove-person"))
    line = f"counts people.csv {options} --region-list regions.csv --ledger ledger.db --dataset d"
    assert ask(f"{line} -o out.xlsx --measurements kept.csv --report page.html").status == 0
    assert ask("verify out.xlsx --json").data["passed"]
    made = load_by_region("out.xlsx")
    assert ("=1+1", "020") in {
        made.result.frame.tree.path(leaf) for leaf in made.result.frame.tree.leaves
    }
    table = made.result.to_frame("polars")
    save_counts(made, "again.xlsx")
    assert Path("again.xlsx").read_bytes() == Path("out.xlsx").read_bytes()
    assert read_rows("out.xlsx", "table")["count"].to_list() == table["count"].to_list()
    Path("again.xlsx").rename("bare.xlsx").write_bytes(b"another workbook")
    said = ask("budget reconcile ledger.db . --json")
    assert "bare.xlsx" in {Path(one).name for one in said.data["uncharged"]}
    assert not said.data["altered"]
    altered = bytearray(Path("out.xlsx").read_bytes())
    altered[-1] ^= 1
    Path("out.xlsx").write_bytes(altered)
    assert ask("verify out.xlsx").status == 2
    assert "out.xlsx" in str(ask("budget reconcile ledger.db . --json").data["altered"])


@pytest.mark.parametrize("options", [BASE, BY_HOME], ids=["sizes", "categories"])
def test_what_a_workbook_can_not_hold_is_refused_before_the_charge(
    ask: Callable[..., Said], monkeypatch: pytest.MonkeyPatch, options: str
) -> None:
    pytest.importorskip("openpyxl")
    Path("d.json").write_text('{"household": ["h0", "h1"]}', encoding="utf-8")
    Ledger.create("ledger.db", "d", PureDP(4, neighbors="add-remove-person"))
    line = f"counts people.csv {options} --region-list regions.csv --ledger ledger.db --dataset d"
    for end, message in ((".sav", ".csv, .parquet or .xlsx"), (".ods", ".csv, .parquet or .xlsx")):
        said = ask(f"{line} -o out{end}")
        assert (said.status, message in said.err) == (2, True)
    for label, message in (("_x0041_", "without control characters"), ("x" * 40_000, "32,767")):
        Path("regions.csv").write_text(f"{REGIONS}{label},y\n", encoding="utf-8")
        said = ask(f"{line} -o out.xlsx")
        assert (said.status, "--output: " in said.err, message in said.err) == (2, True, True), (
            said.err
        )
        assert ask(f"{line} -o out.csv --plan").status == 0
    Path("regions.csv").write_text(REGIONS, encoding="utf-8")
    monkeypatch.setitem(_FOREIGN, ".xlsx", replace(_FOREIGN[".xlsx"], rows=3))
    said = ask(f"{line} -o out.xlsx")
    assert (said.status, "--output: " in said.err, "at most 3 rows" in said.err) == (2, True, True)
    assert charged() == 0
    assert not Path("out.xlsx").exists()


@pytest.mark.parametrize("options", [BASE, BY], ids=["sizes", "categories"])
def test_neighboring_tables_have_one_status_one_output_and_one_set_of_files(
    ask: Callable[..., Said], files: Path, options: str
) -> None:
    """One odd row is told on standard error alone, and the charge is that of a table without it."""
    Ledger.create("ledger.db", "d", PureDP(20, neighbors="add-remove-person"))
    Path("d.json").write_text('{"sex": ["F", "M"]}', encoding="utf-8")
    outputs, notes = [], []
    for at, rows in enumerate(
        ["h9,DC,,F\n", *(row.replace("\n", ",F\n") for row in ODD), "h9,DC,,Secret\n"]
    ):
        (files / "odd.csv").write_text(HEAD.replace("\n", ",sex\n") + rows, encoding="utf-8")
        said = ask(
            f"counts odd.csv {options} --region-list regions.csv -o out.csv --json "
            "--ledger ledger.db --dataset d"
        )
        assert charged() == at + 1
        told = said.data
        assert told.pop("charge").startswith("release ")
        for name in ("gaps", "left"):
            told.pop(name, None)
        told["parameters"].pop("gaps", None)
        outputs.append((said.status, told, sorted(path.name for path in Path().iterdir())))
        notes.append(said.err)
        assert "Secret" not in said.err
    assert outputs == [outputs[0]] * len(outputs)
    assert "out.csv" in outputs[0][2]
    assert outputs[0][0] == 0
    assert "PRIVATE" not in notes[0] + notes[-2]
    assert "PRIVATE, not for publication" in notes[1]


def test_rows_are_refused_after_the_charge_where_that_is_chosen(
    ask: Callable[..., Said], files: Path
) -> None:
    Ledger.create("ledger.db", "d", PureDP(4, neighbors="add-remove-person"))
    (files / "bad.csv").write_text(HEAD + ODD[0], encoding="utf-8")
    said = ask(
        f"counts bad.csv {BASE} --region-list regions.csv -o out.csv --ledger ledger.db --dataset d "
        "--refuse-rows"
    )
    assert (said.status, said.out, charged()) == (2, "", 1)
    assert "1 without a lowest region of the list (private" in said.err
    assert "Secret" not in said.err
    assert not Path("out.csv").exists()


def test_a_refused_budget_reads_nothing(ask: Callable[..., Said], files: Path) -> None:
    Ledger.create("ledger.db", "d", PureDP("0.5", neighbors="add-remove-person"))
    (files / "bad.csv").write_text(HEAD + "h1,GA,Secret\n", encoding="utf-8")
    said = ask(
        f"counts bad.csv {BASE} --region-list regions.csv -o out.csv --ledger ledger.db --dataset d"
    )
    assert said.status == 5
    assert "1 asked, 0.5 left" in said.err


LIST = "--region-list regions.csv"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (f"people.csv {BASE}", "--region-list: expected the public list of regions, or public units"),
        (f"people.csv {BASE} --region-list no.csv", "--region-list: expected the path of a file that exists"),
        (f"no.csv {BASE} {LIST}", "PEOPLE: expected the path of a file that exists"),
        (f"{BASE} {LIST}", "PEOPLE: expected a file here, or with --units, got neither"),
        (f"people.csv --units units.csv {BASE} {LIST}", "got both"),
        (f"people.csv {BASE.replace('--unit household', '')} {LIST}", "--unit: expected a column"),
        (f"--units units.csv {BASE} {LIST}", "--size: expected the column of sizes"),
        (f"people.csv {BASE} {LIST} --size size", "--size: expected no such column"),
        (f"--units units.csv --size size --quantity x {BASE} {LIST}", "--quantity: expected no such"),
        (f"people.csv {BASE.replace('household', 'home')} {LIST}", "home: expected a column of"),
        (f"people.csv {BASE.replace('state,county', 'state')} {LIST}", "--region-list: expected"),
        (f"people.csv {BASE.replace('--epsilon 1', '--epsilon 0')} {LIST}", "--epsilon: expected a positive"),
        (f"people.csv {BASE.replace('--epsilon 1', '')} {LIST}", "--epsilon: expected a budget here"),
        (f"people.csv {BASE} --rho 1 {LIST}", "got both"),
        (f"people.csv {BASE} --noise gaussian {LIST}", "--noise: expected laplace with --epsilon"),
        (f"people.csv {BASE.replace('--epsilon', '--rho')} --noise laplace {LIST}", "--noise: expected gaussian"),
        (f"people.csv {BASE.replace('add-remove-person', 'add-remove-one')} {LIST}", "--neighbors: expected one of"),
        (f"people.csv {BASE.replace('add-remove-person', 'friends')} {LIST}", "--neighbors: expected one of"),
        (f"people.csv {BASE.replace('--neighbors add-remove-person', '')} {LIST}", "--neighbors: expected a value"),
        (f"people.csv {BASE.replace('--max-size 4', '--max-size 0')} {LIST}", "--max-size"),
        (f"people.csv {BASE} --max-quantity 0 {LIST}", "--max-quantity"),
        (f"people.csv {BASE} --levels 1/2,1/2 {LIST}", "--levels: expected 3 numbers"),
        (f"people.csv {BASE} --levels 1/2,1/2,1/2 {LIST}", "--levels: expected nonnegative"),
        (f"people.csv {BASE} --method magic {LIST}", "--method: expected one of"),
        (f"people.csv {BASE} {LIST} --ledger ledger.db", "--dataset: expected both"),
        (f"people.csv {BASE} {LIST} --dataset d", "--ledger: expected both"),
        (f"people.csv {BASE} {LIST} --ledger no.db --dataset d", "LEDGER: expected a ledger that exists"),
        (f"people.csv {BASE} {LIST} -o out.ods", "--output: expected a file that ends in"),
        (f"people.csv {BASE} {LIST} -o people.csv", "--output: expected a file of its own"),
        (f"people.csv {BASE} {LIST} -o regions.csv", "--output: expected a file of its own"),
        (f"people.csv {BASE} {LIST} -o a.csv --measurements ./a.csv", "--measurements: expected a file of its own"),
        (f"people.csv {BASE} {LIST} -o no/out.csv", "--output: expected a file in a folder"),
        (f"people.csv {BASE} {LIST} --measurements nm.txt", "--measurements: expected a file that ends in"),
        (f"people.csv {BASE} {LIST} --accept-no-guarantee --measurements nm.csv", "none for what has no guarantee"),
    ],
)  # fmt: skip
def test_what_is_wrong_without_the_data_costs_nothing(
    ask: Callable[..., Said], line: str, message: str
) -> None:
    Ledger.create("ledger.db", "d", PureDP(4, neighbors="add-remove-person"))
    if "--ledger" not in line and "--dataset" not in line and "--accept" not in line:
        line += " --ledger ledger.db --dataset d"
    said = ask(f"counts {line}")
    assert (said.status, said.out) == (2, "")
    assert message in said.err
    assert "private" not in said.err
    assert charged() == 0


def test_nothing_without_a_guarantee_is_charged(ask: Callable[..., Said]) -> None:
    Ledger.create("ledger.db", "d", PureDP(4, neighbors="add-remove-person"))
    said = ask(
        f"counts people.csv {BASE} {LIST} --accept-no-guarantee --ledger ledger.db --dataset d"
    )
    assert said.status == 2
    assert charged() == 0


def test_a_damaged_ledger_stops_the_release(ask: Callable[..., Said], files: Path) -> None:
    Ledger.create("ledger.db", "d", PureDP(4, neighbors="add-remove-person"))
    by_force(files / "ledger.db", "UPDATE lines SET guarantee = replace(guarantee, '4', '9')")
    said = ask(f"counts people.csv {BASE} {LIST} -o out.csv --ledger ledger.db --dataset d")
    assert said.status == 2
    assert "was changed" in said.err
    assert not (files / "out.csv").exists()


@pytest.mark.parametrize("more", ["", "-q", "--json", "--by county --domain domain.json"])
def test_without_an_output_nothing_is_charged(ask: Callable[..., Said], more: str) -> None:
    Path("domain.json").write_text('{"county": ["a", "b"]}', encoding="utf-8")
    Path("states.csv").write_text("state\nGA\nNY\n", encoding="utf-8")
    ledger = Ledger.create("ledger.db", "d", PureDP(4, neighbors="add-remove-person"))
    line = f"counts people.csv {BASE} {LIST} --ledger ledger.db --dataset d {more}"
    if "--by" in more:
        line = re.sub(r"--(unit|max-size) \S+", "", line).replace("state,county", "state")
        line = line.replace("regions.csv", "states.csv")
    said = ask(line)
    assert (said.status, said.out) == (2, "")
    assert "--output: expected a file for the result" in said.err
    assert ledger.history("d") == ()


def test_a_sidecar_and_the_text_state_the_charge(ask: Callable[..., Said]) -> None:
    Ledger.create("ledger.db", "d", PureDP(4, neighbors="add-remove-person"))
    line = f"counts people.csv {BASE} {LIST} -o out.csv --report out.html --measurements nm.csv"
    assert "charged to no ledger" in ask(line).out
    for name in ("out.csv.discreet.json", "nm.csv.discreet.json", "out.html"):
        assert "charged to no ledger" in Path(name).read_text(encoding="utf-8")
    ask(f"{line} --ledger ledger.db --dataset d")
    (charge,) = Ledger("ledger.db").history("d")
    assert (charge.state, charge.command) == ("done", "counts")
    for name in ("out.csv.discreet.json", "nm.csv.discreet.json", "out.html"):
        assert charge.release_id in Path(name).read_text(encoding="utf-8")
    digests = {Path(path).name: digest for path, digest in charge.outputs.items()}
    assert digests["out.csv"] == hashlib.sha256(Path("out.csv").read_bytes()).hexdigest()


def keep(ask: Callable[..., Said]) -> None:
    line = BASE.replace("--epsilon 1 ", "--epsilon 900 ")
    said = ask(f"counts people.csv {line} {LIST} --measurements nm.parquet -q --root US")
    assert said.status == 0, said.err


def test_questions_have_answers(ask: Callable[..., Said], files: Path) -> None:
    keep(ask)
    said = ask("query nm.parquet --level 2 --sizes 1-2,4 --json")
    assert [(a["region"], a["value"]) for a in said.data["answers"]] == [
        ("GA", 10),
        ("NY", 5),
        ("DC", 0),
    ]
    assert said.data["sizes"] == [1, 2, 4]
    people = ask("query nm.parquet --region GA/Cobb --region US --people --json")
    assert [a["value"] for a in people.data["answers"]] == [15, 50]
    assert ask("query nm.parquet --level 1 -o answers.csv").out == "wrote answers.csv\n"
    assert pl.read_csv(files / "answers.csv")["value"].to_list() == [20]
    assert ask("query nm.parquet --level 1 -o answers.parquet").status == 0
    assert pl.read_parquet(files / "answers.parquet")["value"].to_list() == [20]
    said = ask("query nm.parquet --level 1 -o answers.txt")
    assert (said.status, "--output: expected a file that ends in .csv or .parquet" in said.err) == (
        2,
        True,
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("nm.parquet", "--level or --region: expected one of the two"),
        ("nm.parquet --level 9", "--level: expected a level from 1 to 3"),
        ("nm.parquet --level 1 --sizes 0-3", "--sizes: expected sizes from 1 to 4"),
        ("nm.parquet --level 1 --sizes x", "--sizes: expected sizes such as"),
        ("nm.parquet --level 1 --sizes 1,1-2", "--sizes: expected each size once"),
        ("nm.parquet --level 1 --sizes 1-9999999999", "--sizes: expected sizes such as"),
        ("nm.parquet --region TX", "--region: expected a region of the measurements"),
        ("nm.parquet --level 1 --interval 2", "--interval: expected a probability"),
        (
            "people.csv --level 1",
            "MEASUREMENTS: expected a file that `counts --measurements` wrote",
        ),
        (
            "no.parquet --level 1",
            "MEASUREMENTS: expected a file that `counts --measurements` wrote",
        ),
    ],
)
def test_questions_without_sense_are_refused(
    ask: Callable[..., Said], line: str, message: str
) -> None:
    keep(ask)
    said = ask(f"query {line}")
    assert (said.status, said.out) == (2, "")
    assert message in said.err


def forge(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    beside = sidecar_of(path)
    meta = json.loads(beside.read_text(encoding="utf-8"))
    change(meta)
    beside.write_text(json.dumps(meta), encoding="utf-8")


def test_verify_fails_for_what_claims_too_much(ask: Callable[..., Said], files: Path) -> None:
    said = ask(f"counts people.csv {BASE} {LIST} -o out.csv --measurements nm.parquet")
    assert said.status == 0
    for name in ("out.csv", "nm.parquet"):
        forge(files / name, lambda meta: meta["guarantee"].update(epsilon="1/2"))
        said = ask(f"verify {name}")
        assert said.status == 1
        assert "NO" in said.out


def test_verify_looks_at_the_noise_of_every_region(ask: Callable[..., Said], files: Path) -> None:
    """One region with less noise than its level would give its people away; no other speaks for it."""
    said = ask(f"counts people.csv {BASE} {LIST} --measurements nm.parquet -q")
    assert said.status == 0
    assert ask("verify nm.parquet").status == 0
    forge(files / "nm.parquet", lambda meta: meta["measurement"]["scales"].__setitem__(1, "1/100"))
    said = ask("verify nm.parquet --json")
    assert said.status == 1
    failed = [check["name"] for check in said.data["checks"] if not check["passed"]]
    assert failed == ["regions with other noise than their level"]


def test_verify_fails_for_what_was_made_with_a_seed(ask: Callable[..., Said], files: Path) -> None:
    assert ask(f"counts people.csv {BASE} {LIST} -o out.csv").status == 0
    assert load_counts("out.csv").provenance.seeded is False
    forge(files / "out.csv", lambda meta: meta["provenance"].update(seeded=True))
    assert ask("verify out.csv").status == 1


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("verify people.csv", "FILE: expected a table with its .discreet.json beside it"),
        ("verify no.parquet", "FILE: expected a table with its .discreet.json beside it"),
        ("verify out.csv --optimality", "--optimality: expected a channel"),
    ],
)
def test_verify_says_what_it_can_not_judge(
    ask: Callable[..., Said], line: str, message: str
) -> None:
    assert ask(f"counts people.csv {BASE} {LIST} -o out.csv").status == 0
    said = ask(line)
    assert said.status == 2
    assert message in said.err


def test_an_unknown_kind_of_table_is_refused(ask: Callable[..., Said], files: Path) -> None:
    assert ask(f"counts people.csv {BASE} {LIST} -o out.csv").status == 0
    forge(files / "out.csv", lambda meta: meta.update(kind="riddle"))
    said = ask("verify out.csv")
    assert said.status == 2
    assert ", ".join(sorted(JUDGES)) in said.err


@pytest.mark.parametrize("command", ["counts", "query", "budget", "budget create", "verify"])
def test_help_is_there(ask: Callable[..., Said], command: str) -> None:
    said = ask(f"{command} --help")
    assert said.status == 0
    assert "Usage" in said.out


PUBLISH = (
    "counts people.csv --unit household --regions state,county --region-list regions.csv --max-size 1000 "
    "--epsilon 1 --neighbors add-remove-person -o out.parquet"
)
MEASURE = (
    "counts --units units.csv --public-units units.csv --size size --regions state,county --max-size 1000 "
    "--epsilon 0.1 --neighbors add-remove-person --method m-c-dp --measurements nm.parquet -o out.csv"
)
ISSUE = [
    f"{PUBLISH} --json",
    MEASURE,
    "query nm.parquet --level 2 --sizes 1-7 --interval 0.95",
    "verify out.parquet --json",
    "budget create ledger.db --dataset census-2030 --epsilon 4 --neighbors add-remove-person",
    f"{PUBLISH} --ledger ledger.db --dataset census-2030",
]


def test_the_documented_commands_work_one_after_the_other(ask: Callable[..., Said]) -> None:
    for line in ISSUE:
        said = ask(line)
        assert said.status == 0, (line, said.err)
        # What takes longer than a second and a half says that it runs.
        assert [one for one in said.err.splitlines() if "is running" not in one] == []
        assert "--json" not in line or said.data


CHAIN = Tree.from_paths([("DC",), ("GA", "Cobb"), ("GA", "Fulton")])


@pytest.mark.parametrize("notion", [PureDP, ZeroConcentratedDP])
def test_verify_fails_for_a_chain_whose_leaves_inherit(
    ask: Callable[..., Said], files: Path, notion: Any
) -> None:
    """What was measured by earlier versions, all budget at the counties: a person in GA moves DC as well."""
    data = GroupSizes.from_counts(CHAIN, [[1, 2], [2, 0], [0, 1]], units="public")
    claim = notion(1, neighbors="add-remove-person")
    right = measure(data, "chain", claim, levels=[0, 0, 1], leaves_inherit=False)
    save_measurements(right, files / "right.parquet")
    assert ask("verify right.parquet").status == 0
    part = Fraction(1 if notion is PureDP else 2)
    scales = (None, 2 / part, None, 2 / part, 2 / part)
    values = right.values.copy()
    values[1] = [1, 2]
    wrong = replace(right, scales=scales, values=values, leaves_inherit=True)
    save_measurements(wrong, files / "wrong.parquet")
    said = ask("verify wrong.parquet --json")
    assert said.status == 1
    failed = {check["name"]: check for check in said.data["checks"] if not check["passed"]}
    (name,) = [name for name in failed if "worst path" in name]
    assert failed[name]["residual"] == "3/2"


def forge_table(path: Path, change: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
    """Change the table and its hash."""
    change(pl.read_parquet(path)).write_parquet(path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    forge(path, lambda meta: meta["table"].update(sha256=digest))


def names_of_failed(said: Said) -> list[str]:
    return [check["name"] for check in said.data["checks"] if not check["passed"]]


def test_verify_fails_for_values_where_nothing_was_measured(
    ask: Callable[..., Said], files: Path
) -> None:
    """The true counts of all regions together, in a file of measurements of the counties."""
    line = f"counts people.csv {BASE} {LIST} --method bottom-up-cumulative --levels 0,0,1"
    assert ask(f"{line} --measurements nm.parquet -q").status == 0
    assert ask("verify nm.parquet").status == 0
    forge_table(
        files / "nm.parquet",
        lambda table: table.with_columns(noisy=pl.when(level=1).then(20).otherwise("noisy")),
    )
    said = ask("verify nm.parquet --json")
    assert (said.status, names_of_failed(said)) == (1, ["values where nothing was measured"])


def test_verify_fails_for_records_in_which_nothing_was_measured(
    ask: Callable[..., Said], files: Path
) -> None:
    assert ask(f"counts people.csv {BASE} {LIST} -o out.csv --measurements nm.parquet").status == 0

    def bare(meta: dict[str, Any]) -> None:
        stated = meta["provenance"]["parameters"]
        for kind in ("scale_by_level", "scale_of_leaves_by_level"):
            stated[kind] = ["none"] * 3
        meta["guarantee"].update(epsilon="1/1000000")

    forge(files / "out.csv", bare)
    said = ask("verify out.csv --json")
    assert said.status == 1
    assert "claims without a measurement" in names_of_failed(said)
    assert "counts that nothing measured" in names_of_failed(said)
    forge(files / "nm.parquet", lambda meta: meta["measurement"].update(scales=[None] * 7))
    said = ask("verify nm.parquet --json")
    assert said.status == 1
    assert "claims without a measurement" in names_of_failed(said)


def test_verify_fails_for_a_record_without_promises(ask: Callable[..., Said], files: Path) -> None:
    assert ask(f"counts people.csv {BASE} {LIST} -o out.csv").status == 0
    for promises, status in (([], 1), (["integral"], 0), (None, 2), (3, 2)):
        forge(
            files / "out.csv",
            lambda meta, told=promises: meta["provenance"]["parameters"].update(promises=told),  # type: ignore[misc]
        )
        assert ask("verify out.csv").status == status


def test_a_verdict_names_what_it_did_not_check_and_what_no_file_can_show(
    ask: Callable[..., Said],
) -> None:
    line = f"counts people.csv {BASE} {LIST} --method raw -o out.csv --measurements nm.parquet"
    assert ask(line).status == 0
    for name, missed in (("out.csv", 3), ("nm.parquet", 0)):
        said = ask(f"verify {name} --json")
        assert said.status == 0
        assert len(said.data["not_checked"]) == missed
        assert any("that noise was drawn" in told for told in said.data["not_shown"])
        printed = ask(f"verify {name}").out
        gap = " " * (len("no file can show") - len("not checked"))
        for told in said.data["not_checked"]:
            assert f"not checked{gap}  {told}\n" in printed
        for told in said.data["not_shown"]:
            assert f"no file can show  {told}\n" in printed
        assert printed.endswith("passed  yes\n")
