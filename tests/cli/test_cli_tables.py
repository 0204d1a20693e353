"""``counts --by``, ``query --by`` and ``verify`` on real files: what is charged, written, refused, and where."""

from __future__ import annotations

import hashlib
import json
import shutil
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from cli.commands import Said, say
from discreet import InvalidProblemError
from discreet.artefact import load_table_measurements, load_tables, save_counts, save_measurements
from discreet.artefact.judging import judge
from discreet.artefact.sidecar import sidecar_of
from discreet.core.guarantee import ZeroConcentratedDP
from discreet.hierarchy.contingency import Domain, count_cells, plan
from discreet.hierarchy.contingency import query as ask_library
from discreet.hierarchy.contingency.expected import entry_errors
from discreet.hierarchy.contingency.records import RecordColumns
from discreet.hierarchy.reliability import mark_reliability
from discreet.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS = [
    ("GA", "Fulton", "F", "0-17"),
    ("GA", "Fulton", "M", "18+"),
    ("GA", "Cobb", "F", "18+"),
    ("NY", "Kings", "F", "0-17"),
] * 20
DOMAIN = {"sex": ["F", "M"], "age_band": ["0-17", "18+"]}
BASE = (
    "counts people.parquet --regions state,county --region-list r.csv --by sex,age_band --domain domain.json "
    "--marginals total,sex,age_band,sex:age_band --rho 1 --neighbors add-remove-person"
)


@pytest.fixture
def ask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Said]:
    """Run a command line in a folder that has the tables."""
    names = ["state", "county", "sex", "age_band"]
    pl.DataFrame(ROWS, schema=names, orient="row").write_parquet(tmp_path / "people.parquet")
    (tmp_path / "r.csv").write_text(
        "state,county\nGA,Fulton\nGA,Cobb\nNY,Kings\nDC,\n", encoding="utf-8"
    )
    (tmp_path / "domain.json").write_text(json.dumps(DOMAIN), encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    def run(line: str, *more: object) -> Said:
        return say(capsys, *line.split(), *more)

    return run


def test_the_three_commands_of_the_guide(ask: Callable[..., Said]) -> None:
    said = ask(f"{BASE} --measurements kept.parquet -o tables.parquet --report page.html --json")
    assert (said.status, said.err) == (0, "")
    assert said.data["marginals"] == ["total", "sex", "age_band", "sex:age_band"]
    assert said.data["certificate"]["passed"] is True
    assert [one["level"] for one in said.data["gaps"]] == [1, 2, 3]
    table = pl.read_parquet("tables.parquet")
    assert table.columns == ["level", "region", "marginal", "sex", "age_band", "count"]
    assert table.height == 7 * (1 + 2 + 2 + 4)
    assert int(table["count"].min()) >= 0  # type: ignore[arg-type] # a number
    answers = ask("query kept.parquet --level 2 --by sex --interval 0.95 --report answers.html")
    lines = answers.out.splitlines()
    assert lines[0] == "level,region,sex,value,low,high,reliability"
    assert [line.split(",")[1:3] for line in lines[1:]] == [
        [region, sex] for region in ("GA", "NY", "DC") for sex in ("F", "M")
    ]
    checked = ask("verify tables.parquet --json")
    assert (checked.status, checked.data["kind"]) == (0, "region-tables")
    assert len(checked.data["gaps"]) == 3
    assert ask("verify kept.parquet --json").data["kind"] == "table-measurements"
    page = Path("page.html").read_text(encoding="utf-8")
    assert "Errors by level and marginal" in page
    assert "Kings" in page
    assert "Chernoff" in Path("answers.html").read_text(encoding="utf-8")


PLAN = BASE.replace("--marginals total,sex,age_band,sex:age_band ", "")


def test_a_plan_states_errors_and_a_bound_and_charges_nothing(ask: Callable[..., Said]) -> None:
    wanted = ("--workload", "sex; sex:age_band=0.2", "--workload-levels", "1,2,2", "--plan")
    said = ask(PLAN, *wanted, "--plan-count", "100", "-o", "t.csv")
    assert said.status == 0
    assert not Path("t.csv").exists()
    assert "level 2, sex (2 entries x 3 regions): standard error" in said.out
    assert "coefficient of variation at a count of 100" in said.out
    assert "No unbiased linear mechanism" in said.out
    assert "nothing: this is a plan" in said.out
    data = ask(PLAN, *wanted, "--json").data
    assert [one["level"] for one in data["tables"]] == [1, 1, 2, 2, 3, 3]
    assert all(one["largest"] <= one["naive"] for one in data["tables"])
    assert data["proof"]["any_noise"] < data["proof"]["linear"] <= data["proof"]["most"]
    assert data["charged"] is False


def test_tables_are_drawn_to_the_region_above_or_not(ask: Callable[..., Said]) -> None:
    for more, shrink in (("", "parent"), ("--shrink none", "none")):
        assert f"(shrink {shrink})" in ask(f"{BASE} {more} --plan").out
        said = ask(f"{BASE} {more} -o t.parquet --report page.html")
        assert f"(shrink {shrink})" in said.out
        assert f"(shrink {shrink})" in Path("page.html").read_text(encoding="utf-8")
        assert load_tables("t.parquet").provenance.parameters["method"]["shrink"] == shrink
    refused = ask(f"{BASE} --shrink parents -o t.csv")
    assert (refused.status, "--shrink" in refused.err, "parent" in refused.err) == (2, True, True)


def test_shrunk_estimates_have_no_intervals_and_alike_regions(ask: Callable[..., Said]) -> None:
    ledger = Ledger.create("l.db", "census", ZeroConcentratedDP(1, "add-remove-person"))
    paid = "--ledger l.db --dataset census"
    uneven = ask(f"{BASE} --shrink james-stein {paid} -o t.csv")
    assert (uneven.status, Path("t.csv").exists()) == (2, False)
    assert "--shrink: expected parent or none where regions of one level differ" in uneven.err
    people = "state,county\nGA,Fulton\nGA,Cobb\nNY,Kings\nNY,Erie\n"
    Path("r.csv").write_text(people, encoding="utf-8")
    for more in ("--plan", f"{paid} -o t.csv"):
        marked = ask(f"{BASE} --shrink james-stein --reliability m.csv {more}")
        assert (marked.status, Path("m.csv").exists()) == (2, False)
        assert "--reliability: expected none with shrunk estimates" in marked.err
    assert not any(ledger.account("census").spent)
    words = "published counts have no intervals"
    assert words in ask(f"{BASE} --shrink james-stein --plan").out
    said = ask(f"{BASE} --shrink james-stein -o t.csv --measurements m.parquet --report page.html")
    assert (said.status, words in said.out, "standard errors of the noise" in said.out) == (
        *(0, True),
        False,
    )
    assert words.capitalize() in Path("page.html").read_text(encoding="utf-8")
    assert ask("verify t.csv --json").data["gaps"] == []
    assert ask("query m.parquet --level 2 --by sex").out.startswith("level,region,sex,value,low")


def test_a_plan_is_checked_against_the_columns_of_the_table(ask: Callable[..., Said]) -> None:
    pl.DataFrame({"state": ["GA"], "county": ["Cobb"], "sex": ["F"]}).write_parquet(
        "people.parquet"
    )
    assert "age_band" in ask(PLAN, "--workload", "sex", "--plan").err
    nested = pl.DataFrame(
        {"state": ["GA"], "county": ["Cobb"], "sex": [["F"]], "age_band": ["18+"]}
    )
    nested.write_parquet("people.parquet")
    said = ask(PLAN, "--workload", "sex", "--plan")
    assert (said.status, "sex" in said.err) == (2, True)


def test_what_is_written_is_what_the_library_reads(ask: Callable[..., Said]) -> None:
    assert ask(f"{BASE} --measurements kept.csv -o tables.csv -q").status == 0
    kept, out = load_table_measurements("kept.csv"), load_tables("tables.csv")
    assert kept.frame == out.result.frame
    assert out.certificate.passed
    asked = "query kept.csv --region GA/Cobb --where sex=F --where age_band=18+,0-17 --json"
    said = ask(f"{asked} --unrounded")
    answer = ask_library(kept, regions=[("GA", "Cobb")], where={"sex": ["F"]})
    assert said.data["answers"][0]["value"] == float(answer.values[0, 0])
    rounded = answer.to_frame("dict", rounded=True)
    assert ask(asked).data["answers"][0]["value"] == rounded["value"][0]
    assert said.data["argument"].startswith("the law of the noise")
    assert ask("query kept.csv --level 3 -o answers.csv").out.strip() == "wrote answers.csv"


def test_rows_have_exactly_the_published_tables(ask: Callable[..., Said]) -> None:
    """Counted again without noise, the rows give each published number of each marginal and region."""
    for end in ("csv", "parquet"):
        said = ask(f"{BASE} -o tables.csv --microdata rows.{end}")
        assert said.status == 0
        assert "no row is a person" in said.out
        kept = load_tables("tables.csv").result
        columns = RecordColumns(("state", "county"))
        counted = count_cells(f"rows.{end}", kept.frame, columns)
        assert (counted.of_regions(kept.frame.domain.full) == kept.cells).all()
        assert kept.published is not None
        for q, table in kept.published.items():
            assert (counted.of_regions(q) == table).all()
    rows = pl.read_parquet("rows.parquet")
    assert rows.columns == ["state", "county", "sex", "age_band"]
    assert rows.height == int(kept.cells[0].sum())
    # The table alone decides on them.
    assert rows.equals(kept.to_rows(["state", "county"]))
    assert not Path("rows.parquet.discreet.json").exists()


def test_region_columns_may_hold_commas_and_parentheses(ask: Callable[..., Said]) -> None:
    names = {"state": "state, usps", "county": "(county)"}
    rows = pl.read_parquet("people.parquet").rename(names)
    rows.write_parquet("people.parquet")
    listed = pl.read_csv("r.csv").drop_nulls().rename(names)
    line = BASE.replace("people.parquet --regions state,county", "").replace("--rho 1", "--rho 1e6")
    for regions, of_list in (
        ('"state, usps","(county)"', listed),
        ('(state),"(county)"', listed.rename({"state, usps": "state"})),
    ):
        of_list.write_csv("r.csv")
        said = ask(f"{line} -o t.csv --microdata rows.csv", "people.parquet", "--regions", regions)
        assert said.status == 0, said.err
        assert pl.read_csv("rows.csv").columns[:2] == of_list.columns
        assert load_tables("t.csv").result.cells[0].sum() == rows.height
    said = ask(f"{line} -o t.csv", "people.parquet", "--regions", "(state),(county)")
    assert (said.status, "those in parentheses above" in said.err) == (2, True)


def test_groups_of_regions_are_levels_of_what_is_published(ask: Callable[..., Said]) -> None:
    states = {"A": 9, "B": 1, "C": 1, "D": 1, "E": 2}
    listed = [
        {"state": one, "county": f"{one}{at}"} for one, n in states.items() for at in range(n)
    ]
    pl.DataFrame(listed).write_csv("r.csv")
    people = [{**one, "sex": "F", "age_band": "0-17"} for one in listed]
    pl.DataFrame(people).write_parquet("people.parquet")
    asked = (
        BASE.partition("--marginals")[0]
        + "--rho 1 --neighbors add-remove-person --workload sex --loss worst --groups 4"
    )
    assert "groups=12, or --groups 12" in ask(f"{asked.replace('--groups 4', '')} --plan").out
    assert ask(f"{asked} -o tables.csv").status == 0
    assert ask("verify tables.csv").status == 0
    assert "level 4" in ask(f"{asked} --plan").out
    for last in ("", " --plan"):
        said = ask(f"{asked} -o tables.csv --microdata rows.csv{last}")
        assert (said.status, "--microdata: expected none with groups of" in said.err) == (2, True)


def test_rows_that_are_too_many_leave_the_published_table_in_place(
    ask: Callable[..., Said], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their number follows from noise: it is known after the charge alone, which must not be for nothing."""
    Ledger.create("l.db", "census", ZeroConcentratedDP(1, "add-remove-person"))
    paid = f"{BASE} --ledger l.db --dataset census -o tables.csv --reliability marks.csv"
    with monkeypatch.context() as patched:
        patched.setattr("discreet.hierarchy.contingency.result.MAX_ROWS", 3)
        said = ask(f"{paid} --microdata rows.csv")
    assert said.status != 0
    assert "all other outputs are in place" in said.err
    assert not Path("rows.csv").exists()
    assert ask("verify tables.csv").status == 0
    assert Path("marks.csv").exists()
    assert len(load_tables("tables.csv").result.to_rows(["state", "county"])) > 3


def test_a_public_total_of_too_many_rows_is_refused_before_the_charge(
    ask: Callable[..., Said], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.hierarchy.contingency.result.MAX_ROWS", 79)
    Ledger.create("l.db", "census", ZeroConcentratedDP(1, "replace-person"))
    line = BASE.replace("add-remove-person", "replace-person").replace("total,", "")
    line = f"{line} --exact-total 80 --ledger l.db --dataset census -o tables.csv"
    said = ask(f"{line} --microdata rows.csv")
    assert said.status == 2
    assert "--microdata: expected at most 79 rows, got 80" in said.err
    assert not Path("tables.csv").exists()
    assert not Ledger("l.db").history("census")
    assert ask(line).status == 0


def test_a_report_draws_intervals_without_kept_measurements(ask: Callable[..., Said]) -> None:
    assert ask(f"{BASE} -o tables.csv --report page.html").status == 0
    assert not Path("tables.measurements.parquet").exists()
    assert "estimate, 95 % interval" in Path("page.html").read_text(encoding="utf-8")


def test_rows_without_regions_and_with_blanks_have_the_published_tables() -> None:
    domain = Domain.read(
        {"sex": ["F", "M", ""], "age": ["0-17", "18+"]}, zeros=[{"sex": ["M"], "age": ["18+"]}]
    )
    guarantee = ZeroConcentratedDP(2, "add-remove-person")
    planned = plan(None, guarantee, domain=domain, marginals=["cells"])
    people = pl.DataFrame({"sex": ["F", None, "M"] * 9, "age": ["18+", "18+", "0-17"] * 9})
    made = planned.release(people).result
    rows = made.to_rows([])
    assert rows.columns == ["sex", "age"]
    counted = count_cells(rows, made.frame, RecordColumns(()))
    assert (counted.counts == made.cells[made.frame.tree.leaves]).all()
    marks = made.to_reliability(guarantee, "dict")
    zero = [at for at in range(6) if (marks["sex"][at], marks["age"][at]) == ("M", "18+")]
    assert [
        (marks["count"][at], marks["standard_error"][at], marks["reliability"][at]) for at in zero
    ] == [(0, 0.0, "reliable")]


def test_marks_of_counts_follow_from_published_counts_and_public_errors(
    ask: Callable[..., Said],
) -> None:
    assert ask(f"{BASE} -o tables.csv --reliability marks.csv").status == 0
    table, marks = pl.read_csv("tables.csv"), pl.read_csv("marks.csv")
    assert marks.select(table.columns).equals(table)
    planned = load_tables("tables.csv")
    errors = entry_errors(planned.result.frame, planned.guarantee)  # type: ignore[arg-type] # of these tables
    of_sex = marks.filter((pl.col("marginal") == "sex") & (pl.col("region") == "GA"))
    at = planned.result.frame.marginals.index((0,))
    assert of_sex["standard_error"].to_list() == [errors[1, at]] * 2
    assert marks["reliability"].to_list() == [
        mark_reliability(count, Fraction(error) ** 2)
        for count, error in marks.select("count", "standard_error").rows()
    ]


def test_rows_and_marks_need_the_table_and_by(ask: Callable[..., Said]) -> None:
    said = ask(f"{BASE} --microdata rows.csv")
    assert (said.status, Path("rows.csv").exists()) == (2, False)
    assert "--output: expected the published table" in said.err
    assert "--microdata: expected a file that ends" in ask(f"{BASE} -o t.csv --microdata r.txt").err
    assert (
        "--reliability: expected a file of its own"
        in ask(f"{BASE} -o t.csv --reliability t.csv").err
    )
    by_size = "counts people.parquet --unit sex --regions state,county --region-list r.csv --max-size 3 --rho 1"
    said = ask(f"{by_size} --neighbors add-remove-person --microdata rows.csv -o t.csv")
    assert "--microdata: expected none without --by" in said.err


def test_a_ledger_is_charged_before_records_are_read(ask: Callable[..., Said]) -> None:
    Ledger.create("l.db", "census", ZeroConcentratedDP("3/2", "add-remove-person"))
    with_ledger = f"{BASE} --ledger l.db --dataset census -o tables.csv --json"
    assert ask(with_ledger).data["left"] == ["1/2"]
    assert ask(with_ledger).status == 5
    # A public mistake costs nothing.
    assert (
        ask(with_ledger.replace("--rho 1", "--rho 1/4").replace("sex:age", "sex:rage")).status == 2
    )
    assert str(Ledger("l.db").account("census").left[0]) == "1/2"
    bad = [*ROWS, ("GA", "Cobb", "secret", "18+")]
    pl.DataFrame(bad, schema=["state", "county", "sex", "age_band"], orient="row").write_parquet(
        "people.parquet"
    )
    said = ask(with_ledger.replace("--rho 1", "--rho 1/4"))
    assert said.status == 0
    assert "secret" not in said.err + said.out
    assert "PRIVATE, not for publication: rows of people" in said.err
    assert "PRIVATE" not in said.out
    assert str(Ledger("l.db").account("census").left[0]) == "1/4"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("--unit household", "--unit: expected none with --by"),
        pytest.param("--max-size 3", "--max-size: expected none with --by", marks=pytest.mark.slow),
        pytest.param(
            "--method m-c-dp", "--method: expected none with --by", marks=pytest.mark.slow
        ),
        ("--noise laplace", "--noise: expected gaussian with --rho"),
        pytest.param("--shares 1/2,1/2", "shares: expected 4 numbers", marks=pytest.mark.slow),
        ("--shares 1/4,1/4,1/4,1/3", "shares: expected nonnegative numbers with the sum 1"),
        (
            "--marginals total,height",
            "marginals: expected one of age_band, sex, total, cells, got 'height'",
        ),
        pytest.param(
            "--marginals total;sex",
            "marginals: expected one list for each of 3 levels",
            marks=pytest.mark.slow,
        ),
        (
            "--marginals total,sex --shares 1/2,1/2",
            "marginals: expected a part of the lowest level for the cells",
        ),
        ("--exact-total 80", "--exact-total: expected none: an exact total"),
        ("--domain no.json", "--domain: expected a file that can be read"),
        pytest.param(
            "--by sex,weight",
            "by: expected one of age_band, sex, got 'weight'",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "--levels 1,1,1",
            "levels: expected nonnegative numbers with the sum 1",
            marks=pytest.mark.slow,
        ),
        ("-o people.parquet", "--output: expected a file of its own"),
        pytest.param(
            "-o domain.json.csv --measurements domain.json",
            "--measurements: expected a file",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_bad_options_are_refused_before_the_charge(
    ask: Callable[..., Said], more: str, said: str
) -> None:
    Ledger.create("l.db", "census", ZeroConcentratedDP(5, "add-remove-person"))
    refused = ask(f"{BASE} -o t.csv --ledger l.db --dataset census", *more.split())
    assert refused.status == 2
    assert said in refused.err
    assert str(Ledger("l.db").account("census").left[0]) == "5"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--workload", ""], "--workload: expected at least one table with a weight"),
        (["--workload", "sex,sex"], "--workload: expected each marginal once"),
        (["--workload", "sex=0"], "--workload: expected a weight from 1e-15 to 1e15 for sex"),
        (["--workload", "sex=inf"], "--workload: expected a finite number"),
        (["--workload", "height"], "--workload: expected one of age_band, sex, total, cells"),
        (["--workload-levels", "0,0,0"], "--workload-levels: expected 3 weights"),
        (["--workload-levels", "1,inf,1"], "--workload-levels: expected a finite number"),
        (["--workload-levels", "1,1"], "--workload-levels: expected 3 weights"),
        (
            ["--marginals", ";cells;cells"],
            "--marginals: expected at least one marginal on each level",
        ),
        (["--marginals", "sex,sex"], "--marginals: expected each marginal once"),
        (["--levels", "1/2,1/2"], "--levels: expected 3"),
        (["--levels", "1/2,1/2,0"], "--levels: expected a part above 0 for the lowest level"),
    ],
)
@pytest.mark.parametrize("planned", [True, False])
def test_a_workload_that_makes_no_sense_is_a_sentence_before_the_charge(
    ask: Callable[..., Said], more: list[str], said: str, *, planned: bool
) -> None:
    Ledger.create("l.db", "census", ZeroConcentratedDP(5, "add-remove-person"))
    refused = ask(
        PLAN, "-o", "t.csv", "--ledger", "l.db", "--dataset", "census", *more, *["--plan"] * planned
    )
    assert refused.status == 2
    assert said in refused.err
    assert str(Ledger("l.db").account("census").left[0]) == "5"


def test_options_about_attributes_need_by(ask: Callable[..., Said]) -> None:
    line = "counts people.parquet --unit sex --regions state,county --region-list r.csv --epsilon 1"
    plain = f"{line} --neighbors add-remove-person"
    assert "--domain: expected none without --by" in ask(f"{plain} --domain domain.json").err
    assert "--max-size: expected the largest size" in ask(plain).err


def test_questions_go_to_the_right_measurements(ask: Callable[..., Said]) -> None:
    ask(f"{BASE} --measurements kept.parquet -q")
    assert "--sizes, --people" in ask("query kept.parquet --level 1 --people").err
    assert (
        "by: expected one of sex, age_band" in ask("query kept.parquet --level 1 --by height").err
    )
    assert "--where" in ask("query kept.parquet --level 1 --where sex").err
    assert "--region" in ask("query kept.parquet --region TX").err
    assert "MEASUREMENTS" in ask("query none.parquet --level 1 --by sex").err


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Publish once; each test works on a copy."""
    folder = tmp_path_factory.mktemp("published")
    people = pl.DataFrame(ROWS, schema=["state", "county", "sex", "age_band"], orient="row")
    listed = [("GA", "Fulton"), ("GA", "Cobb"), ("NY", "Kings"), ("DC",)]
    made = plan(
        listed,
        ZeroConcentratedDP(1, "add-remove-person"),
        columns=["state", "county"],
        domain=DOMAIN,
        marginals=["total", "sex", "age_band", "sex:age_band"],
    )
    save_counts(made.release(people), folder / "tables.parquet")
    uneven = plan(
        listed,
        ZeroConcentratedDP(1, "add-remove-person"),
        columns=["state", "county"],
        domain=DOMAIN,
        marginals=[["total"], ["sex"], ["cells"]],
        shares=[["1"], ["1"], ["1"]],
    )
    kept = uneven.release(people, keep_measurements=True).result.measurements
    assert kept is not None
    save_measurements(kept, folder / "kept.parquet")
    return folder


@pytest.fixture
def copied(published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with a copy of what was published."""
    for path in published.iterdir():
        shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def failed(path: str) -> list[str]:
    """Name the checks that fail."""
    return [check.name for check in judge(path)[0].checks if not check.passed]


def altered(change: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
    """Change the table, and its record so that only its meaning is wrong."""
    table = change(pl.read_parquet("tables.parquet"))
    table.write_parquet("tables.parquet")
    record = sidecar_of("tables.parquet")
    stated: dict[str, Any] = json.loads(record.read_text(encoding="utf-8"))
    stated["table"]["sha256"] = hashlib.sha256(Path("tables.parquet").read_bytes()).hexdigest()
    record.write_text(json.dumps(stated), encoding="utf-8")


def more_in(marginal: str, region: str, by: int) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """Add to one entry."""
    here = (pl.col("marginal") == marginal) & (pl.col("region") == region)
    return lambda table: table.with_columns(
        count=pl.when(here & (here.cum_sum() == 1)).then(pl.col("count") + by).otherwise("count")
    )


@pytest.mark.parametrize(
    ("change", "check"),
    [
        (more_in("total", "GA", 1), "marginals that do not hold"),
        (more_in("sex", "all", 1), "marginals that do not hold"),
        (more_in("sex:age_band", "GA/Cobb", 1), "sums over regions that do not hold"),
        (more_in("sex:age_band", "DC", -1000), "numbers below zero"),
    ],
)
def test_tables_that_disagree_are_rejected(
    copied: Path, change: Callable[[pl.DataFrame], pl.DataFrame], check: str
) -> None:
    assert failed("tables.parquet") == []
    altered(change)
    assert check in failed("tables.parquet")
    assert copied.is_dir()


def test_rows_in_another_order_or_place_are_refused(copied: Path) -> None:
    assert copied.is_dir()
    altered(lambda table: table.reverse())
    with pytest.raises(InvalidProblemError, match="in the order of the frame"):
        judge("tables.parquet")


@pytest.mark.parametrize(
    ("path", "value", "status"),
    [
        (("provenance", "parameters", "scales", "total"), ["1"] * 6, 1),
        (("provenance", "parameters", "scales", "sex:age_band"), ["none"] * 6, 1),
        (("provenance", "parameters", "max_rows"), 2, 1),
        (("provenance", "parameters", "neighbors"), "replace-person", 1),
        (("provenance", "parameters", "shares", "sex"), ["1", "1", "1"], 1),
        (("provenance", "seeded"), True, 1),
        (("guarantee", "rho"), "1/2", 1),
        (("frame", "max_rows"), 2, 2),
        (("frame", "domain", "zeros"), [{"sex": ["F"]}], 2),
    ],
)
def test_records_that_disagree_are_rejected(
    copied: Path, path: tuple[str, ...], value: object, status: int
) -> None:
    assert copied.is_dir()
    record = sidecar_of("tables.parquet")
    stated = json.loads(record.read_text(encoding="utf-8"))
    inner = stated
    for name in path[:-1]:
        inner = inner[name]
    assert inner[path[-1]] != value
    inner[path[-1]] = value
    record.write_text(json.dumps(stated), encoding="utf-8")
    if status == 1:
        assert failed("tables.parquet")
        return
    with pytest.raises(InvalidProblemError, match="path: expected a whole discreet artefact"):
        judge("tables.parquet")


def test_values_where_nothing_was_measured_are_rejected(copied: Path) -> None:
    assert failed("kept.parquet") == []
    shutil.move("kept.parquet", "tables.parquet")
    shutil.move(sidecar_of("kept.parquet"), sidecar_of("tables.parquet"))
    noisy = pl.read_parquet("tables.parquet").rename({"noisy": "count"})
    here = (pl.col("marginal") == "sex") & (pl.col("level") == 1)
    assert noisy.filter(here)["count"].to_list() == [0, 0]
    altered(lambda _: more_in("sex", "all", 60)(noisy).rename({"count": "noisy"}))
    assert failed("tables.parquet") == ["values where nothing was measured"]
    assert copied.is_dir()


def test_rho_is_charged_to_an_epsilon_delta_budget_at_a_delta(ask: Callable[..., Said]) -> None:
    ask("budget create l.db --dataset X --epsilon 9 --delta 1e-6 --neighbors add-remove-person")
    paid = f"{BASE.replace('--rho 1', '--rho 0.01')} -o t.csv --ledger l.db --dataset X"
    said = ask(paid)
    assert said.status == 2
    assert "--delta: expected a delta that this release spends" in said.err
    assert ask(f"{paid} --delta 1e-6 --json").data["left"] == ["83783073/10000000", "0"]
    sizes = "--unit household --regions state,county --region-list r.csv --max-size 3"
    people = f"counts people.parquet {sizes} --neighbors add-remove-person -o s.csv --delta 1e-6"
    assert "--delta: expected none" in ask(f"{people} --epsilon 1 --ledger l.db --dataset X").err
    assert "--delta: expected none" in ask(f"{people} --rho 1").err


@pytest.mark.parametrize("kind", ["units", "tables"])
def test_the_record_states_how_the_table_was_read_and_recoded(
    ask: Callable[..., Said], kind: str
) -> None:
    table = pl.read_parquet("people.parquet").with_columns(home=pl.lit("1"))
    table.write_csv("odd.csv", separator="|")
    what = "--by sex --domain domain.json" if kind == "tables" else "--unit home --max-size 2"
    line = f"counts odd.csv --regions state,county --region-list r.csv {what} --epsilon 1"
    line = f"{line} --neighbors add-remove-person -q"
    assert ask(f"{line} --missing NA,sex=? --delimiter | --prefix state=2 -o t.csv").status == 0
    sidecar = Path("t.csv.discreet.json")
    parameters = json.loads(sidecar.read_text(encoding="utf-8"))["provenance"]["parameters"]
    assert parameters["reading"] == {
        "delimiter": "|",
        "missing": ["NA"],
        "missing_by_column": [["sex", "?"]],
    }
    assert parameters["recoding"] == {"prefix": {"state": ["2"]}}
    assert ask("verify t.csv").status == 0
    assert ask(f"{line} --quotes none -o t.csv").status == 0
    parameters = json.loads(sidecar.read_text(encoding="utf-8"))["provenance"]["parameters"]
    assert parameters["quotes"] == "none"
    assert "reading" not in parameters


@pytest.mark.parametrize(
    ("line", "named"),
    [
        (
            BASE.replace("--by sex,age_band", "--by sex,age_band --person sex"),
            "--regions, --by, --person",
        ),
        (
            (
                "counts people.parquet --regions state,county --region-list r.csv --unit sex --quantity sex "
                "--max-size 8 --epsilon 1 --neighbors add-remove-person"
            ),
            "--unit, --size, --quantity, --person",
        ),
    ],
)
def test_a_refusal_of_several_arguments_names_options(
    ask: Callable[..., Said], line: str, named: str
) -> None:
    said = ask(f"{line} -o out.csv")
    assert said.status == 2
    assert f"{named}: expected different columns" in said.err
