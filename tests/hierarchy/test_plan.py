"""A plan: decided from public inputs, checked against a source by names and shape, charged before values are read."""

from __future__ import annotations

import pickle
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from discreet.core.budget import MemoryBudget
from discreet.core.errors import BudgetError, InvalidProblemError
from discreet.core.guarantee import ApproxDP, PureDP, ZeroConcentratedDP
from discreet.core.progress import Progress
from discreet.core.tree import Tree
from discreet.hierarchy import GroupSizes, Plan, diagnose, from_records, plan, release
from discreet.hierarchy.expected import expected_lines, expected_rows
from discreet.hierarchy.methods.m_c_dp import MCDP
from discreet.tables.parsing import UnquotedFile

if TYPE_CHECKING:
    from pathlib import Path

PERSON = PureDP(1, neighbors="add-remove-person")
HUGE = PureDP(900, neighbors="add-remove-person")
LISTED = [("GA", "Fulton"), ("GA", "Cobb"), ("DC",)]
PEOPLE = pl.DataFrame(
    {
        "home": [1, 1, 2, 3, 3, 3, 4],
        "state": ["GA"] * 6 + ["DC"],
        "county": ["Fulton", "Fulton", "Fulton", "Cobb", "Cobb", "Cobb", None],
    }
)
TABLE: dict[str, Any] = {"columns": ["state", "county"], "unit": "home", "max_size": 2}
COUNTS = [[2, 2], [1, 2], [1, 0], [1, 1], [0, 1]]


def ledger(amount: int = 3) -> MemoryBudget:
    return MemoryBudget({"census": PureDP(amount, neighbors="add-remove-person")})


def spent(budget: MemoryBudget) -> list[Fraction]:
    return list(budget.account("census").spent)


def test_a_plan_says_what_is_decided() -> None:
    planned = plan(LISTED, PERSON, **TABLE)
    said = str(planned)
    for part in (
        "m-c-dp-weighted, the default, whatever the data",
        "neighbors: all records of one person added or removed",
        "epsilon 1, charged again by each release",
        "5 regions on 3 levels, sizes 1 to 2, private units",
        "level 2         Laplace noise of scale 3 (lowest regions: 3/2), 1/3 of the budget",
        "assumed public  regions: 5 regions on 3 levels",
    ):
        assert part in said
    assert repr(planned) == "Plan(m-c-dp-weighted, 5 regions, epsilon 1, add-remove-person)"
    gaussian = plan(
        LISTED, ZeroConcentratedDP("1/2", "replace-person"), **TABLE, method="bottom-up"
    )
    assert "bottom-up, chosen by the caller" in str(gaussian)
    assert gaussian.noise[0] == "not measured, 0 of the budget"
    assert gaussian.cost == "rho 1/2"


@pytest.mark.parametrize("kind", ["frame", "lazy", "arrow", "path", "counts"])
def test_any_source_is_released_by_the_same_plan(kind: str, tmp_path: Path) -> None:
    planned, source = plan(LISTED, HUGE, **TABLE), PEOPLE
    made: Any = source
    if kind == "lazy":
        made = source.lazy()
    elif kind == "arrow":
        made = source.to_arrow()
    elif kind == "path":
        made = tmp_path / "people.csv"
        source.write_csv(made)
    elif kind == "counts":
        made = from_records(source, regions=LISTED, **TABLE)
    out = planned.release(made)
    assert out.result.counts.tolist() == COUNTS
    assert out.certificate.passed
    assert planned.diagnose(made, out) == diagnose(
        from_records(PEOPLE, regions=LISTED, **TABLE), out
    )


def test_release_is_a_plan_and_its_release() -> None:
    out = release(PEOPLE, HUGE, regions=LISTED, **TABLE)
    assert out.result.counts.tolist() == COUNTS
    assert out.provenance.method == "m-c-dp-weighted"


def test_a_plan_released_twice_is_charged_twice() -> None:
    planned, budget = plan(LISTED, PERSON, **TABLE), ledger(2)
    for charged in (1, 2):
        planned.release(PEOPLE, budget=budget, dataset="census")
        assert spent(budget) == [charged]
    with pytest.raises(BudgetError, match="1 asked, 0 left"):
        planned.release(PEOPLE, budget=budget, dataset="census")


def test_a_plan_given_another_table_is_refused_before_the_charge() -> None:
    planned, budget = plan(LISTED, PERSON, **TABLE), ledger()
    for other in (PEOPLE.rename({"home": "house"}), PEOPLE.lazy().drop("home")):
        with pytest.raises(InvalidProblemError, match="home: expected a column of people"):
            planned.release(other, budget=budget, dataset="census")
    with pytest.raises(InvalidProblemError, match=r"source: .*got None"):
        planned.release(None, budget=budget, dataset="census")
    with pytest.raises(InvalidProblemError, match="people: expected a table or a path, got int"):
        planned.release(3, budget=budget, dataset="census")
    assert spent(budget) == [0]


def test_rows_of_other_regions_are_left_out_or_refused_after_the_charge_by_choice(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """That its regions are others is in the values: by default no refusal tells so."""
    planned, budget = plan(LISTED, PERSON, **TABLE), ledger()
    other = PEOPLE.with_columns(county=pl.lit("Secret"))
    planned.release(other, budget=budget, dataset="census")
    assert "PRIVATE" in capsys.readouterr().err
    assert spent(budget) == [1]
    refusing = plan(LISTED, PERSON, **TABLE, refuse_rows=True)
    with pytest.raises(InvalidProblemError) as caught:
        refusing.release(other, budget=budget, dataset="census")
    said = str(caught.value)
    assert said.endswith("may depend on the data")
    assert "Secret" not in said
    assert spent(budget) == [2]
    with pytest.raises(InvalidProblemError) as caught:
        refusing.release(other)
    assert "charged" not in str(caught.value)


def test_a_file_with_a_quote_out_of_place_costs_nothing(tmp_path: Path) -> None:
    path, budget = tmp_path / "people.csv", ledger()
    path.write_text(f'{PEOPLE.write_csv()}9,GA,F"x\n', encoding="utf-8")
    with pytest.raises(InvalidProblemError, match="people: .*a quote out of place in line 9"):
        plan(LISTED, PERSON, **TABLE).release(path, budget=budget, dataset="census")
    assert spent(budget) == [0]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_file_without_quoting_is_refused_for_no_quote(tmp_path: Path, encoding: str) -> None:
    """How its writer quotes is public; what stands in a row is not."""
    path, budget = tmp_path / "people.csv", ledger()
    counted = []
    for row in ("", '9,GA,F"x\n', '9,GA,"Fulton\n', '"9",GA,Fulton\n'):
        path.write_text(f"{PEOPLE.write_csv()}{row}", encoding=encoding)
        made = plan(LISTED, PERSON, **TABLE).release(UnquotedFile(path))
        counted.append(made.certificate.passed)
    assert counted == [True] * 4
    other = plan(LISTED, PERSON, **{**TABLE, "columns": ("state", "village")})
    with pytest.raises(InvalidProblemError, match="names in its first line") as caught:
        other.release(UnquotedFile(path), budget=budget, dataset="census")
    assert "county" not in str(caught.value)
    assert spent(budget) == [0]


@pytest.mark.parametrize("row", [b"9,GA\n", b"9,GA,Fulton,1\n", b"9,GA,\xff\n", b"\n"])
def test_a_row_of_other_cells_or_bytes_is_no_reason_to_refuse(tmp_path: Path, row: bytes) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(PEOPLE.write_csv().encode() + row)
    plan(LISTED, PERSON, **TABLE).check(path)


def test_a_lazy_source_that_fails_in_the_middle_is_charged_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def broken(_: pl.DataFrame) -> pl.DataFrame:
        message = "Fulton is secret"
        raise ValueError(message)

    lazy = PEOPLE.lazy().map_batches(broken, schema=PEOPLE.schema)
    planned, budget = plan(LISTED, PERSON, **TABLE), ledger()
    planned.check(lazy)
    with pytest.raises(InvalidProblemError) as caught:
        planned.release(lazy, budget=budget, dataset="census")
    said = str(caught.value)
    assert said.startswith("people: expected a table that its library can read; ")
    assert ". The budget stays charged" in said
    assert "Fulton" not in said
    assert spent(budget) == [1]
    printed = capsys.readouterr()
    assert "Fulton" not in printed.out


def test_what_breaks_after_the_charge_says_that_it_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise MemoryError

    data, budget = from_records(PEOPLE, regions=LISTED, **TABLE), ledger()
    planned = plan(data.frame, PERSON)
    # Compiled code is loaded with made-up counts, once, and calls `survival`, too.
    planned.release(data)
    monkeypatch.setattr(GroupSizes, "survival", broken)
    with pytest.raises(MemoryError) as caught:
        planned.release(data, budget=budget, dataset="census")
    assert caught.value.__notes__ == [
        "The budget stays charged: a failure after reading began may depend on the data"
    ]
    assert spent(budget) == [1]
    with pytest.raises(MemoryError) as caught:
        planned.release(data)
    assert not hasattr(caught.value, "__notes__")


@pytest.mark.parametrize("public", ["frame", "path"])
def test_a_plan_pickles_and_releases_the_same(public: str, tmp_path: Path) -> None:
    homes: Any = PEOPLE.unique("home")
    if public == "path":
        homes.write_parquet(tmp_path / "homes.parquet")
        homes = tmp_path / "homes.parquet"
    planned = plan(None, HUGE, public_units=homes, **TABLE)
    again = pickle.loads(pickle.dumps(planned))  # noqa: S301 - our own bytes
    assert str(again) == str(planned)
    assert not again.frame.tree.child_start.flags.writeable
    assert "units: which units exist" in str(planned)
    seen = [one.release(PEOPLE).result.counts.tolist() for one in (planned, again)]
    assert seen[0] == seen[1]
    assert seen[0][0] == [0, 2, 2]


def test_with_guarantee_changes_the_noise_and_nothing_else() -> None:
    planned = plan(LISTED, PERSON, **TABLE, levels=["1/2", "1/4", "1/4"])
    dear = planned.with_guarantee(PureDP(2, neighbors="add-remove-person"))
    assert (dear.levels, dear.frame) == (planned.levels, planned.frame)
    assert dear.scales[0] == Fraction(1, 1)
    assert planned.scales[0] == 2
    wrong: Any = ApproxDP(1, "1e-6", "add-remove-person")
    with pytest.raises(InvalidProblemError, match="PureDP or ZeroConcentratedDP"):
        planned.with_guarantee(wrong)


def test_a_plan_refuses_counts_on_other_public_facts() -> None:
    data = from_records(PEOPLE, regions=LISTED, **TABLE)
    budget = ledger()
    other = plan(LISTED, PERSON, **{**TABLE, "max_size": 3})
    with pytest.raises(InvalidProblemError, match=r"sizes=1\.\.3.*sizes=1\.\.2"):
        other.release(data, budget=budget, dataset="census")
    bare = plan(data.frame, PERSON)
    with pytest.raises(InvalidProblemError, match="a plan that names the columns"):
        bare.release(PEOPLE, budget=budget, dataset="census")
    assert spent(budget) == [0]


def test_declared_regions_stand_in_plan_and_release() -> None:
    planned = plan(PEOPLE, HUGE, declare_regions=True, **TABLE)
    assert planned.frame.tree == Tree.from_paths(sorted(LISTED))
    assert "declaration about regions: declared by the publisher" in str(planned)
    stated = planned.release(PEOPLE).provenance.assumed_public
    assert [one.name for one in stated][-1] == "declaration about regions"
    listed = plan(LISTED, HUGE, **TABLE).release(PEOPLE).provenance.assumed_public
    assert "declaration about regions" not in [one.name for one in listed]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"columns": "state"}, r"columns: expected a list of names, such as \['state'\]"),
        ({"columns": None}, "columns: expected the columns"),
        ({"max_size": None}, "max_size: expected the largest size"),
        ({"unit": None}, "unit: expected the column of the unit"),
        ({"unit": 3}, "unit: expected the name of a column, got int"),
        ({"unit": None, "size": "n", "person": "p"}, "person: expected no such column"),
        ({"quantity": "home"}, "different columns"),
        ({"method": "m-c-dpp"}, "got 'm-c-dpp'; the nearest is 'm-c-dp'"),
        ({"method": "zzz"}, "method: expected one of bottom-up, "),
        ({"method": MCDP}, r"method: expected an instance or a name \(bottom-up, .* got the class MCDP"),
        ({"method": 3}, r"method: expected an instance or a name \(.* got int"),
        ({"method": "m-c-ch"}, "a method with a guarantee .* got 'm-c-ch', which has none: Section 9.2.2 adds noise"),
        ({"guarantee": None}, "guarantee: expected PureDP or ZeroConcentratedDP, got NoneType"),
        ({"guarantee": PureDP(1, "replace-one")}, "neighbors"),
        ({"levels": [1]}, "levels"),
        ({"regions": None}, "regions: expected the public list of regions"),
    ],
)  # fmt: skip
def test_a_plan_without_sense_is_refused_in_a_sentence(change: dict[str, Any], said: str) -> None:
    given: dict[str, Any] = {"regions": LISTED, "guarantee": PERSON, **TABLE, **change}
    with pytest.raises(InvalidProblemError, match=said):
        plan(given.pop("regions"), given.pop("guarantee"), **given)


def test_a_frame_has_no_table_beside_it() -> None:
    data = from_records(PEOPLE, regions=LISTED, **TABLE)
    for given in ({"unit": "home"}, {"max_quantity": 2}, {"refuse_rows": True}):
        (name,) = given
        with pytest.raises(
            InvalidProblemError, match=f"{name}: expected its default beside a Frame"
        ):
            plan(data.frame, PERSON, **given)
    with pytest.raises(InvalidProblemError, match="regions: expected None beside GroupSizes"):
        release(data, PERSON, regions=LISTED)
    with pytest.raises(InvalidProblemError, match=r"source: .*got None"):
        release(None, PERSON, regions=LISTED, **TABLE)


def test_a_name_and_its_instance_are_one_method() -> None:
    named = [plan(LISTED, PERSON, **TABLE, method=given) for given in ("m-c-dp", "m_c_dp", MCDP())]
    assert {str(one) for one in named} == {str(named[0])}
    assert all(isinstance(one, Plan) for one in named)


def test_progress_of_a_release_names_stages_and_tells_no_time() -> None:
    told: list[Progress] = []
    tree = Tree.from_paths([("GA",), ("NY",)])
    data = GroupSizes.from_counts(tree, [[2, 0, 1], [1, 1, 1]], units="private")
    plan(data.frame, PERSON).release(data, on_progress=told.append)
    assert [step.stage for step in told][:2] == [
        "reading the table",
        "isotonic regression of each region",
    ]
    assert all(step.elapsed is None and step.total is None for step in told)


def test_counts_that_no_memory_holds_are_refused_before_a_charge(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A plan for sizes up to a thousand million was made, and its release charged, before memory ran out."""
    monkeypatch.setattr("discreet.tables.sizes.allowed", lambda: 1 << 20)
    guarantee = PureDP(1, neighbors="add-remove-person")
    few = plan([("GA",), ("NY",)], guarantee, columns=["state"], unit="home", max_size=100)
    assert few.frame.n_sizes == 100
    with pytest.raises(
        InvalidProblemError, match="max_size: expected at most 10,922 for 3 regions, in half"
    ):
        plan([("GA",), ("NY",)], guarantee, columns=["state"], unit="home", max_size=10**9)


def test_a_method_that_measures_no_counts_states_no_standard_error() -> None:
    tree = Tree.from_paths([("GA",), ("NY",)])
    frame = GroupSizes.from_counts(tree, [[1, 1, 0], [1, 2, 0]], units="public").frame
    planned = plan(frame, PureDP(1, neighbors="add-remove-person"), method="m-c-ch-calibrated")
    rows = expected_rows(planned, 100)
    assert [row["standard_error"] for row in rows] == [None, None]
    assert all("coefficient_of_variation" not in row for row in rows)
    assert all("not stated" in line for line in expected_lines(rows, 100))
