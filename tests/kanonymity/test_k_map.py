"""k-map: each class covers k people of a population, found by a search and counted by brute force."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.artefact import save_anonymous
from discreet.core.errors import InfeasibleError, InvalidProblemError
from discreet.core.guarantee import KAnonymity
from discreet.evaluate.risk import risk
from discreet.kanonymity import anonymize, verify
from discreet.kanonymity.models import KMap
from discreet.kanonymity.problem import Categorical, Numeric, Problem
from discreet.kanonymity.search.mapped import Population, cover, search_mapped
from discreet.kanonymity.search.search import search

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

KINDS = (Numeric("age"), Categorical("sex"))
PERSONS = st.tuples(st.integers(20, 29), st.sampled_from("FMX"))


@st.composite
def sampled(draw: st.DrawFn) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
    """Draw a table, and a population that it is a part of."""
    rows = draw(st.lists(PERSONS, min_size=2, max_size=9))
    return rows, rows + draw(st.lists(PERSONS, max_size=14))


def columns(rows: Sequence[tuple[int, str]]) -> dict[str, list[object]]:
    return {"age": [age for age, _ in rows], "sex": [sex for _, sex in rows]}


def coded(rows: Sequence[tuple[int, str]]) -> Problem:
    return Problem.from_columns(columns(rows), KINDS)


def fits(cell_age: str, cell_sex: str, person: tuple[int, str]) -> bool:
    """Read a published cell by hand."""
    ends = [int(end) for end in cell_age.strip("[]").split(", ")]
    return ends[0] <= person[0] <= ends[-1] and person[1] in cell_sex.split("|")


@settings(max_examples=25, deadline=None)
@given(sampled(), st.integers(2, 6))
def test_every_published_row_covers_k_people_counted_by_hand(
    drawn: tuple[list[tuple[int, str]], list[tuple[int, str]]], least: int
) -> None:
    rows, everybody = drawn
    table, population = pl.DataFrame(columns(rows)), pl.DataFrame(columns(everybody))
    promise = KAnonymity(2, ("age", "sex"))
    ages, sexes = [age for age, _ in rows], sorted({sex for _, sex in rows})
    widest = (f"[{min(ages)}, {max(ages)}]", "|".join(sexes))
    if sum(fits(*widest, person) for person in everybody) < least:
        with pytest.raises(InfeasibleError):
            anonymize(table, promise, population=population, k_map=least)
        return
    made = anonymize(table, promise, population=population, k_map=least)
    for age, sex in made.table.rows():
        assert sum(fits(age, sex, person) for person in everybody) >= least
    assert any(check.name == f"classes that fail {least}-map" for check in made.certificate.checks)
    assert [one.name for one in made.provenance.assumed_public] == ["population"]


@settings(max_examples=15, deadline=None)
@given(sampled(), st.integers(2, 5))
def test_no_partition_loses_less_than_the_bound_and_the_best_is_rarely_far(
    drawn: tuple[list[tuple[int, str]], list[tuple[int, str]]], least: int
) -> None:
    """All partitions of up to six rows into classes that hold, by brute force."""
    rows, everybody = drawn[0][:6], drawn[1]
    problem, people = coded(rows), Population.of(coded(everybody))
    if (cover(problem, np.zeros(len(rows), np.int32), people) < least).any():
        with pytest.raises(InfeasibleError):
            search_mapped(problem, 2, people, least)
        return
    found = search_mapped(problem, 2, people, least)
    best = float("inf")
    for labels in product(range(3), repeat=len(rows)):
        used = sorted(set(labels))
        if used != list(range(len(used))) or min(labels.count(one) for one in used) < 2:
            continue
        given_labels = found.labels.copy()
        given_labels[:] = labels
        if (cover(problem, given_labels, people) >= least).all():
            best = min(best, problem.loss_of(given_labels))
    assert found.lower <= best + 1e-9
    assert best <= found.loss + 1e-9
    assert (cover(problem, found.labels, people) >= least).all()


def test_a_large_population_asks_for_nothing_more_than_k() -> None:
    rows = [(20, "F"), (21, "F"), (28, "M"), (29, "M")]
    problem, people = coded(rows), Population.of(coded(rows * 10))
    assert search_mapped(problem, 2, people, 4).loss == search(problem, 2).loss


def test_a_class_that_covers_too_few_is_rejected_and_so_is_a_population_without_the_rows() -> None:
    published = {"age": ["[20, 21]", "[20, 21]", "29", "29"], "sex": ["F", "F", "M", "M"]}
    town = {"age": [20, 21, 20, 29, 29], "sex": ["F", "F", "F", "M", "M"]}
    promise = KAnonymity(2, ("age", "sex"))
    assert verify(published, promise, population=town, mapped=KMap(2), attributes=KINDS).passed
    found = verify(published, promise, population=town, mapped=KMap(3), attributes=KINDS)
    assert [(check.name, check.residual) for check in found.checks if not check.passed] == [
        ("classes that fail 3-map", 1)
    ]
    elsewhere = {"age": [50, 51], "sex": ["F", "F"]}
    with pytest.raises(InvalidProblemError, match="population"):
        verify(published, promise, population=elsewhere, mapped=KMap(2), attributes=KINDS)
    with pytest.raises(InvalidProblemError, match="population: expected a table of all people"):
        verify(published, promise, mapped=KMap(2))


@pytest.mark.parametrize("options", [{"k_map": 5}, {"population": pl.DataFrame({"age": [1, 2]})}])
def test_one_without_the_other_is_refused(options: dict[str, object]) -> None:
    with pytest.raises(InvalidProblemError, match="k_map"):
        anonymize(pl.DataFrame({"age": [1, 2]}), KAnonymity(2, ("age",)), **options)  # type: ignore[arg-type]


def test_a_population_that_lacks_the_rows_or_a_column_is_refused() -> None:
    table = pl.DataFrame({"age": [20, 21, 22]})
    promise = KAnonymity(2, ("age",))
    with pytest.raises(InvalidProblemError, match="fewer people"):
        anonymize(table, promise, population=pl.DataFrame({"age": [60, 61, 62]}), k_map=2)
    with pytest.raises(InvalidProblemError, match="none named 'age'"):
        anonymize(table, promise, population=pl.DataFrame({"old": [60]}), k_map=2)
    with pytest.raises(InvalidProblemError, match="k_map: expected an integer of 2 or more"):
        anonymize(table, promise, population=table, k_map=1)


def test_dates_and_codes_of_a_population_are_read_as_those_of_the_table() -> None:
    from discreet.kanonymity.problem import Dates, Prefixes

    table = pl.DataFrame(
        {"born": ["1980-01-02", "1980-03-04", "1991-05-06"], "zip": ["00101", "00102", "00901"]}
    )
    others = pl.DataFrame(
        {"born": ["1980-02-02", "1991-05-07", "1999-01-01"], "zip": ["00103", "00999", "99999"]}
    )
    made = anonymize(
        table,
        KAnonymity(2, ("born", "zip")),
        attributes=[Dates("born"), Prefixes("zip")],
        population=pl.concat([table, others]),
        k_map=5,
    )
    assert made.certificate.passed


def test_an_option_on_a_population_wins_over_the_record_of_the_table(tmp_path: Path) -> None:
    rows = {"age": [20, 20, 21, 21] * 3, "zip": ["a", "b"] * 6}
    made = anonymize(pl.DataFrame(rows), KAnonymity(3, ("age", "zip")))
    save_anonymous(made, tmp_path / "out.csv")
    judge = partial(risk, tmp_path / "out.csv", ("age", "zip"), population=pl.DataFrame(rows))
    assert judge(numeric=("age",)) == judge()
    with pytest.raises(InvalidProblemError, match="zip: expected numbers"):
        judge(numeric=("zip",))
