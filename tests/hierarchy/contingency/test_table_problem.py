"""Public mistakes are refused before a record is read, private ones after the charge and without values."""

from __future__ import annotations

import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

from discreet import InvalidProblemError, PureDP, ZeroConcentratedDP
from discreet.core.budget import MemoryBudget
from discreet.hierarchy.contingency import CellCounts, Domain, TableFrame, plan, query
from discreet.hierarchy.contingency.groups import read_domain
from hierarchy.contingency.made_tables import ADDED, PAIR, RAGGED, REPLACED, SEX_AGE, frame_of

LISTED: dict[str, Any] = {"sex": ["F", "M"], "age": ["0-17", "18+"]}
REGIONS = [("GA",), ("NY",)]
GUARANTEE = ZeroConcentratedDP(1, ADDED)
PEOPLE = pl.DataFrame(
    {
        "state": ["GA", "GA", "NY"],
        "sex": ["F", "M", "F"],
        "age": ["0-17", "18+", "18+"],
        "who": [1, 2, 2],
    }
)


def planned(**changes: Any) -> Any:
    arguments: dict[str, Any] = {
        "columns": ["state"],
        "domain": LISTED,
        "marginals": ["total", "sex:age"],
    }
    return plan(
        changes.pop("regions", REGIONS),
        changes.pop("guarantee", GUARANTEE),
        **(arguments | changes),
    )


@pytest.mark.parametrize(
    ("change", "field", "said"),
    [
        ({"domain": {"sex": []}}, "domain", "at least one category"),
        ({"domain": {"sex": ["F", "F"]}}, "domain", "'F' twice"),
        ({"domain": {"sex": ["F", " "]}}, "domain", "blank"),
        ({"domain": {"sex": "FM"}}, "domain", "a list of texts"),
        ({"domain": {"level": ["1"]}}, "domain", "other than level"),
        ({"domain": {"a:b": ["1"]}}, "domain", "without any of"),
        ({"domain": {}}, "domain", "lists of categories by attribute"),
        ({"domain": {}, "by": ["sex"]}, "domain", "lists of categories by attribute"),
        (
            {"domain": {"a": list(map(str, range(2000))), "b": list(map(str, range(600)))}},
            "domain",
            "1,200,000",
        ),
        ({"by": ["height"]}, "by", "height"),
        ({"by": ["sex", "sex"]}, "domain", "each attribute once"),
        ({"marginals": ["total", "weight"]}, "marginals", "'weight'"),
        ({"marginals": ["sex:sex", "cells"]}, "marginals", "each attribute once"),
        ({"marginals": ["sex:age", "age:sex"]}, "marginals", "each marginal once"),
        ({"marginals": [[], ["cells"]]}, "marginals", "none on level 1"),
        ({"marginals": []}, "marginals", "a list of names"),
        ({"marginals": "cells"}, "marginals", "a list of names"),
        ({"marginals": [["cells"]]}, "marginals", "one list for each of 2 levels"),
        ({"shares": ["1/2", "1/3"]}, "shares", "sum 1"),
        ({"shares": ["3/2", "-1/2"]}, "shares", "nonnegative"),
        ({"shares": ["1"]}, "shares", "2 numbers"),
        ({"shares": {"sex": "1/2"}}, "shares", "'sex'"),
        ({"shares": ["1", "0"]}, "marginals", "leaves without cells"),
        ({"levels": ["1/2", "1/3"]}, "levels", "sum 1"),
        ({"max_rows": 0}, "max_rows", "positive"),
        ({"max_rows": 10**400}, "max_rows", "at most"),
        ({"columns": None}, "columns", "None"),
        ({"domain": None}, "domain", "None"),
        ({"person": "sex"}, "columns, by, person", "different columns"),
        ({"total": 3}, "total", "an exact total"),
        ({"guarantee": PureDP(1, "add-remove-one")}, "neighbors", "add-remove-person"),
        ({"domain": {"attributes": LISTED, "zeros": [{"sex": ["X"]}]}}, "zeros of sex", "'X'"),
        ({"domain": {"attributes": LISTED, "zeros": [{"sx": ["F"]}]}}, "zeros", "'sx'"),
        ({"domain": {"attributes": LISTED, "zeros": "no"}}, "zeros", "a list, got 'no'"),
        (
            {"domain": {"attributes": LISTED, "zeros": [{"sex": ["F", "M"]}]}},
            "domain",
            "zeros in all",
        ),
        ({"domain": {"attributes": LISTED, "more": 1}}, "domain", "'more'"),
    ],
)
def test_public_mistakes_are_said(change: dict[str, Any], field: str, said: str) -> None:
    with pytest.raises(InvalidProblemError) as caught:
        planned(**change)
    assert caught.value.field == field
    assert said in str(caught.value)


def wrong(**columns: Any) -> pl.DataFrame:
    return PEOPLE.with_columns(**{name: pl.Series(values) for name, values in columns.items()})


STRONG: dict[str, Any] = {"guarantee": ZeroConcentratedDP(10**6, ADDED)}


@pytest.mark.parametrize(
    ("people", "change", "total", "note"),
    [
        (wrong(sex=["F", "secret", "F"]), {}, 2, "1 without a category of sex"),
        (wrong(sex=["F", None, "F"]), {}, 2, "1 without a category of sex"),
        (wrong(state=["GA", "GA", "secret"]), {}, 2, "1 without a lowest region"),
        (PEOPLE, {"person": "who"}, 2, "1 beyond the 1 of a person that count"),
        (
            PEOPLE,
            {"domain": {"attributes": LISTED, "zeros": [{"sex": ["F"], "age": ["18+"]}]}},
            2,
            "1 in a structural zero",
        ),
    ],
)
def test_rows_outside_of_the_rule_are_left_out_with_a_private_note(
    capsys: pytest.CaptureFixture[str], people: Any, change: dict[str, Any], total: int, note: str
) -> None:
    made = planned(**change, **STRONG)
    ledger = MemoryBudget({"census": ZeroConcentratedDP(10**7, ADDED)})
    out = made.release(people, budget=ledger, dataset="census")
    assert out.result.marginal("total")[0, 0] == total
    told = capsys.readouterr()
    assert note in told.err
    assert "secret" not in told.err
    assert not told.out
    spent = ledger.account("census").left[0]
    with pytest.raises(InvalidProblemError, match="none of this name"):
        made.release(people.drop("sex"), budget=ledger, dataset="census")
    with pytest.raises(InvalidProblemError, match="sex: expected a column of text"):
        made.release(people.with_columns(sex=[["F"]] * 3), budget=ledger, dataset="census")
    assert ledger.account("census").left[0] == spent
    with pytest.raises(InvalidProblemError, match=f"refuse_rows.*{note}.*stays charged"):
        planned(**change, **STRONG, refuse_rows=True).release(
            people, budget=ledger, dataset="census"
        )


def test_a_public_total_is_met_whatever_the_number_of_rows() -> None:
    given = planned(
        total=7, guarantee=ZeroConcentratedDP(10**6, REPLACED), marginals=["cells"]
    ).release(PEOPLE)
    assert given.result.cells[0].sum() == 7


def test_of_a_person_as_many_rows_count_as_are_stated() -> None:
    three = pl.concat([PEOPLE, PEOPLE.tail(1)])
    for most, total in ((3, 4), (2, 3)):
        out = planned(person="who", max_rows=most, **STRONG).release(three)
        assert out.result.marginal("total")[0, 0] == total


def test_whole_numbers_are_categories_as_text() -> None:
    listed = {"code": [1, 2]}
    given = pl.DataFrame({"state": ["GA", "NY"], "code": [1, 2]})
    made = planned(domain=listed, marginals=["cells"], **STRONG)
    assert made.release(given).result.cells[1:].tolist() == [[1, 0], [0, 1]]
    codes = given.with_columns(code=pl.Series(["01", "02"]))
    assert made.release(codes).result.cells[1:].tolist() == [[0, 0], [0, 0]]
    with pytest.raises(InvalidProblemError, match="'1' and '1.0'"):
        planned(domain={"code": ["1", "1.0"]}, marginals=["cells"])


@pytest.mark.parametrize("blank", ["", None])
def test_a_domain_may_list_blank_cells_as_a_category(blank: str | None) -> None:
    made = planned(domain={"sex": ["F", "M", blank]}, marginals=["cells"], **STRONG)
    found = made.release(wrong(sex=["F", None, "M"])).result
    assert found.frame.domain.attributes[0].categories == ("F", "M", "(blank)")
    assert found.marginal("total")[0, 0] == 3
    assert found.cells[0].tolist() == [1, 1, 1]


def test_a_domain_may_list_all_other_cells_as_a_category() -> None:
    people = wrong(sex=["F", None, "unheard of"])
    made = planned(domain={"sex": ["F", "M", "(other)"]}, marginals=["cells"], **STRONG)
    assert made.release(people).result.cells[0].tolist() == [1, 0, 2]
    made = planned(domain={"sex": ["(other)", "F", None]}, marginals=["cells"], **STRONG)
    assert made.release(people).result.cells[0].tolist() == [1, 1, 1]
    grouped = {"kind": {"of": "sex", "groups": {"F": ["F"], "else": ["M", "(other)"]}}}
    domain = {"sex": ["F", "M", "(other)"], **grouped}
    made = planned(domain=domain, marginals=["kind"], **STRONG)
    assert made.release(people).result.marginal("kind")[0].tolist() == [1, 2]


def test_without_regions_all_records_are_counted_together() -> None:
    made = planned(regions=None, columns=None, **STRONG).release(PEOPLE)
    assert made.result.marginal("total").tolist() == [[3]]
    assert made.result.cells.tolist() == [[1, 1, 0, 1]]


def test_any_kind_of_frame_gives_the_same_counts(tmp_path: Any) -> None:
    strong = planned(guarantee=ZeroConcentratedDP(10**6, ADDED))
    path = tmp_path / "people.parquet"
    PEOPLE.write_parquet(path)
    PEOPLE.write_csv(tmp_path / "people.csv")
    sources = [
        PEOPLE,
        PEOPLE.lazy(),
        PEOPLE.to_arrow(),
        str(path),
        tmp_path / "people.csv",
    ]
    found = [strong.release(source).result.cells.tolist() for source in sources]
    assert all(one == found[0] for one in found)
    assert found[0][0] == [1, 1, 0, 1]


def test_levels_may_measure_different_marginals() -> None:
    made = planned(
        regions=RAGGED,
        columns=["state", "county"],
        marginals=[["total"], ["total", "sex"], ["sex", "cells"]],
        shares=[["1"], ["1/2", "1/2"], {"cells": "3/4", "sex": "1/4"}],
        levels=["1/10", "2/10", "7/10"],
    )
    frame = made.frame
    assert frame.shares[()] == (Fraction(1, 10), Fraction(1, 10), 0)
    assert frame.shares[0, 1] == (0, 0, Fraction(21, 40))
    # A leaf that ends early has the parts of the levels below it.
    assert frame.share((0, 1), 3) == Fraction(21, 40)
    assert frame.share((0,), 3) == Fraction(1, 10) + Fraction(7, 40)
    assert "level 1, sex (2 entries): not measured" in str(made)


def test_the_total_of_the_root_gets_no_share_where_nobody_moves_it() -> None:
    made = planned(guarantee=PureDP(1, REPLACED))
    assert made.frame.shares[()][0] == 0
    with pytest.raises(InvalidProblemError, match="no part for the total of the root"):
        planned(guarantee=PureDP(1, REPLACED), shares=["1/2", "1/2"])
    exact = planned(guarantee=PureDP(1, REPLACED), total=3)
    assert "who is among the records may change, how many there are may not" in str(exact)
    assert [one.name for one in exact.assumed_public][-1] == "total"


def test_plans_travel() -> None:
    made = planned(domain={"attributes": LISTED, "zeros": [{"sex": ["F"], "age": ["18+"]}]})
    again = pickle.loads(pickle.dumps(made))  # noqa: S301 - made here
    assert again.frame == made.frame
    assert str(again) == str(made)
    assert again.with_guarantee(ZeroConcentratedDP(2, ADDED)).cost == "rho 2"


def test_counts_that_do_not_fit_are_refused_without_values() -> None:
    frame = frame_of(PAIR, SEX_AGE, [(0, 1)])
    given: Any
    for given, said in (
        (np.zeros((2, 5), dtype=int), "shape"),
        (np.zeros((2, 6)), "integers"),
        (np.full((2, 6), -1), "a negative one"),
        (np.full((2, 6), 1 << 44), "at most"),
    ):
        with pytest.raises(InvalidProblemError, match=said):
            CellCounts(frame, given)
    made = plan(frame, GUARANTEE)
    other = CellCounts(frame_of(RAGGED, SEX_AGE, [(0, 1)]), np.zeros((4, 6), dtype=int))
    with pytest.raises(InvalidProblemError, match="counts on the public facts of the plan"):
        made.release(other)
    with pytest.raises(InvalidProblemError, match="CellCounts, or a plan that names"):
        made.release(PEOPLE)
    with pytest.raises(InvalidProblemError, match="dataset"):
        made.release(CellCounts(frame, np.zeros((2, 6), dtype=int)), dataset="x")
    with pytest.raises(
        InvalidProblemError, match="columns: expected its default beside a TableFrame"
    ):
        plan(frame, GUARANTEE, columns=["state"])


def test_shares_of_a_frame_add_up() -> None:
    half = Fraction(1, 2)
    for shares, said in (
        ({(0, 1): (half,)}, "one for each of 2 levels"),
        ({(0, 1): (half, half), (): (half, 0)}, "sum 1"),
        ({(0, 1): (Fraction(3, 2), -half)}, "none below 0"),
        ({(0,): (half, half)}, "leaves without cells"),
    ):
        parts: Any = shares
        with pytest.raises(InvalidProblemError, match=said):
            TableFrame(PAIR, SEX_AGE, parts)
    assert Domain.from_dict(SEX_AGE.to_dict() | {"zeros": []}).shape == (2, 3)


GROWN = {"of": "age", "groups": {"minor": ["0-17"], "adult": ["18-64", "65+"]}}


def test_a_coarsened_attribute_follows_from_another_one() -> None:
    """Records need no column of it, a pickled plan keeps it, and what is published is as with a column and zeros."""
    listed = {"grown": GROWN, "age": ["0-17", "18-64", "65+"]}
    made_plan = plan(
        REGIONS,
        ZeroConcentratedDP(10**8, ADDED),
        columns=["state"],
        domain={"attributes": listed, "zeros": []},
        marginals=["grown", "cells"],
    )
    people = {"state": ["GA", "GA", "NY"], "age": ["0-17", "65+", "18-64"]}
    again_plan = pickle.loads(pickle.dumps(made_plan))  # noqa: S301 - our own
    made = again_plan.release(pl.DataFrame(people), keep_measurements=True)
    answers = query(made.result.measurements, by=["grown"], level=2)
    assert answers.values.tolist() == [[1, 1], [0, 1]]
    zeros = made_plan.frame.domain.to_dict()["zeros"]
    assert zeros[0] == {"grown": ["minor"], "age": ["18-64", "65+"]}
    again = Domain.from_dict(made_plan.frame.domain.to_dict())
    assert again.possible.tolist() == [True, False, False, False, True, True]
    assert again.groups == made_plan.frame.domain.groups == {"grown": ("age", (0, 1, 1))}
    odd = made_plan.release(pl.DataFrame({**people, "age": ["0-17", "secret", "65+"]}))
    assert odd.result.cells[0].tolist() == [1, 0, 0, 0, 0, 1]


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ({"of": "height", "groups": {"a": ["1"]}}, "'height'"),
        ({"of": "grown", "groups": {"a": ["1"]}}, "'grown'"),
        ({"of": "age"}, "or of and groups"),
        ({"of": "age", "groups": {}}, "or of and groups"),
        ({"of": "age", "groups": {"a": "0-17"}}, "or of and groups"),
        ({"of": "age", "groups": {"a": ["0-18"]}}, "0-17"),
        ({"of": "age", "groups": {"a": ["0-17", "18-64"]}}, "'65\\+' in none"),
        ({"of": "age", "groups": {"a": ["0-17"], "b": ["0-17", "18-64", "65+"]}}, "in several"),
    ],
)
def test_groups_that_make_no_sense_are_refused(stated: Any, said: str) -> None:
    with pytest.raises(InvalidProblemError, match=said):
        read_domain({"age": ["0-17", "18-64", "65+"], "grown": stated})


@pytest.mark.parametrize(
    "groups",
    [
        *([["grown", "age", [0, 1, 0]]], [["grown", "age", [0, 1]]], [["grown", "sex", [0, 1, 1]]]),
        *([["age", "grown", [0, 1]]], [["grown", "age", [0, 1, 1.0]]], [["grown", "age"]], "x", 7),
    ],
)
def test_stored_groups_that_the_zeros_do_not_state_are_refused(groups: Any) -> None:
    stated = read_domain({"age": ["0-17", "18-64", "65+"], "grown": GROWN}).to_dict()
    with pytest.raises(InvalidProblemError, match=r"^(groups|domain)\b"):
        Domain.from_dict({**stated, "groups": groups})


def test_the_attribute_that_groups_are_of_has_to_be_there() -> None:
    listed = {"age": ["0-17", "18-64", "65+"], "grown": GROWN}
    with pytest.raises(InvalidProblemError, match=r"^by: expected age too, of which grown has"):
        read_domain(listed, ["grown"])
