"""Attacks on published tables: who is found, whose value is learned, and what the control group gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import KAnonymity
from discreet.core.tree import Tree
from discreet.datasets import made_patients
from discreet.datasets.microdata import zip_paths
from discreet.evaluate.attack.finding import Finding
from discreet.evaluate.attack.inference import attack_inference
from discreet.evaluate.attack.intersection import attack_intersection
from discreet.evaluate.attack.linkage import attack_linkage
from discreet.evaluate.attack.people import look_up, people_of
from discreet.kanonymity import Categorical, Numeric, Taxonomy
from discreet.kanonymity.risk import risk
from kanonymity.tables import anonymize_kept as anonymize

QUASI = ("age", "sex", "zip")
ATTRIBUTES = (
    Numeric("age", low=0, high=99),
    Categorical("sex"),
    Taxonomy("zip", Tree.from_paths(zip_paths(), root="*")),
)
Table = dict[str, list[Any]]


def part_of(table: Table, rows: slice) -> Table:
    return {name: column[rows] for name, column in table.items()}


@pytest.fixture(scope="module")
def patients() -> tuple[Table, Table]:
    """People who are published, and others like them."""
    everybody = made_patients(700, seed=5)
    return part_of(everybody, slice(400)), part_of(everybody, slice(400, None))


@pytest.fixture(scope="module")
def published(patients: tuple[Table, Table]) -> Table:
    import polars as pl

    frame = pl.DataFrame(patients[0])
    made = anonymize(frame, KAnonymity(5, QUASI), attributes=ATTRIBUTES, method="mondrian")
    return made.table.to_dict(as_series=False)  # type: ignore[no-any-return]


def test_people_are_found_no_more_often_than_k_allows(
    patients: tuple[Table, Table], published: Table
) -> None:
    people, others = (people_of(table, ATTRIBUTES) for table in patients)
    found = attack_linkage(published, KAnonymity(5, QUASI), people, others=others)
    assert [one.kept for one in found] == [True, True, True, True, None]
    worst, mean, journalist, marketer, presence = found
    told = risk(published, QUASI)
    # Cells overlap: whoever fits several classes is harder to find than class sizes say.
    assert worst.attacker.value <= float(told.prosecutor_highest)
    assert mean.attacker.value <= float(told.prosecutor_average)
    assert marketer.attacker.value <= float(told.marketer)
    assert journalist.attacker.value <= 0.2
    assert presence.attacker.low <= 1
    assert presence.attacker.value > 0.5


def test_disjoint_classes_give_the_risks_of_their_sizes() -> None:
    before: Table = {"age": [20, 21, 30, 31, 32, 50]}
    after: Table = {"age": ["[20, 21]"] * 2 + ["[30, 32]"] * 3 + ["50"]}
    people = people_of(before, [Numeric("age")])
    found = attack_linkage(after, KAnonymity(2, ("age",)), people)
    told = risk(after, ["age"])
    assert found[0].attacker.value == told.prosecutor_highest == 1
    assert found[1].attacker.value == pytest.approx(float(told.prosecutor_average))
    assert found[3].attacker.value == pytest.approx(float(told.marketer))
    # Somebody stands alone: the promise of 2 is broken, and is seen to be.
    assert [one.kept for one in found] == [False, True, False, True]


def test_a_population_protects_whoever_is_alone_in_the_table() -> None:
    before: Table = {"age": [20, 50]}
    all_people = people_of({"age": [20, 20, 20, 50, 51]}, [Numeric("age")])
    people = people_of(before, [Numeric("age")])
    after: Table = {"age": ["20", "[50, 60]"]}
    found = attack_linkage(after, KAnonymity(2, ("age",)), people, population=all_people)
    assert found[0].attacker.value == 1
    assert found[2].attacker.value == 0.5
    assert found[3].attacker.value == pytest.approx((1 / 3 + 1 / 2) / 2)
    with pytest.raises(InvalidProblemError, match="every row of the table"):
        attack_linkage(
            after,
            KAnonymity(2, ("age",)),
            people,
            population=people_of({"age": [20]}, [Numeric("age")]),
        )


def test_suppressed_people_are_not_found() -> None:
    people = people_of({"age": [20, 21, 90]}, [Numeric("age")])
    found = attack_linkage({"age": ["[20, 21]"] * 2}, KAnonymity(2, ("age",)), people)
    assert found[1].attacker.value == pytest.approx(1 / 3)
    with pytest.raises(InvalidProblemError, match="no such person"):
        attack_linkage({"age": ["1"]}, KAnonymity(2, ("age",)), people)
    with pytest.raises(InvalidProblemError, match="people with all quasi-identifiers"):
        attack_linkage({"age": ["1"]}, KAnonymity(2, ("age", "sex")), people)


@given(
    st.lists(st.tuples(st.integers(0, 5), st.sampled_from("xyz")), min_size=1, max_size=12),
    st.integers(1, 3),
)
@settings(max_examples=50)
def test_guesses_are_the_best_that_the_classes_allow(
    rows: list[tuple[int, str]], width: int
) -> None:
    """No rule from a class to a value is right more often than the commonest value is."""
    before: Table = {"age": [age for age, _ in rows], "ill": [ill for _, ill in rows]}
    cells = [f"[{age // width * width}, {age // width * width + width - 1}]" for age, _ in rows]
    after: Table = {"age": cells, "ill": before["ill"]}
    (guess, sure) = attack_inference(after, "ill", people_of(before, [Numeric("age")], "ill"))
    best = certain = 0
    for cell in set(cells):
        inside = [ill for (_, ill), of in zip(rows, cells, strict=True) if of == cell]
        best += max(inside.count(value) for value in "xyz")
        certain += len(inside) if len(set(inside)) == 1 else 0
    assert guess.attacker.value == pytest.approx(best / len(rows))
    assert sure.attacker.value == pytest.approx(certain / len(rows))
    assert guess.attacker.value >= guess.baseline.value


def test_what_people_have_in_common_is_no_betrayal(
    patients: tuple[Table, Table], published: Table
) -> None:
    """Ages say something about diseases: the control group shows how much of the success is that."""
    people, others = (people_of(table, ATTRIBUTES, "disease") for table in patients)
    guess, sure = attack_inference(published, "disease", people, others=others)
    assert guess.control is not None
    assert sure.control is not None
    assert guess.attacker.value > guess.control.value > guess.baseline.value - 0.1
    assert guess.advantage is not None
    assert 0 < guess.advantage < guess.attacker.value
    # Certain values are rare in classes of five, and a table is another one each time.
    assert sure.attacker.high >= sure.control.low


def test_rows_that_share_a_value_betray_everybody_among_them() -> None:
    before: Table = {"age": [20, 21, 40, 41], "ill": ["flu", "flu", "gout", "cold"]}
    after: Table = {"age": ["[20, 21]"] * 2 + ["[40, 41]"] * 2, "ill": before["ill"]}
    others = people_of({"age": [20, 70], "ill": ["gout", "measles"]}, [Numeric("age")], "ill")
    guess, sure = attack_inference(
        after, "ill", people_of(before, [Numeric("age")], "ill"), others=others
    )
    assert (sure.attacker.value, sure.baseline.value) == (0.5, 0)
    assert sure.control is not None
    assert sure.control.value == 0
    assert guess.attacker.value == 0.75


def test_two_tables_tell_more_than_either() -> None:
    """Each table is 2-anonymous and 2-diverse; together they give people away."""
    before: Table = {"age": [1, 2, 3, 4], "ill": list("abcd")}
    first: Table = {"age": ["[1, 2]"] * 2 + ["[3, 4]"] * 2, "ill": list("abcd")}
    second: Table = {"age": ["2", "3", "1", "4"], "ill": list("bcad")}
    known = people_of(before, [Numeric("age")], "ill")
    pairs: Table = {"age": ["[2, 3]", "[2, 3]", "*", "*"], "ill": list("bcad")}
    guess, sure = attack_intersection((first, pairs), "ill", (known, known))
    alone = [attack_inference(table, "ill", known)[1].attacker.value for table in (first, pairs)]
    assert sure.baseline.value == max(alone) == 0
    assert sure.attacker.value > 0
    assert guess.attacker.value > guess.baseline.value
    # The second table alone gives all away; the first adds nothing.
    told = attack_intersection((first, second), "ill", (known, known), others=(known, known))
    assert [one.attacker.value for one in told] == [one.baseline.value for one in told] == [1, 1]
    assert told[0].control is not None


def test_a_table_that_covers_nobody_leaves_what_the_other_says() -> None:
    before: Table = {"age": [1, 2], "ill": ["a", "b"]}
    known = people_of(before, [Numeric("age")], "ill")
    first: Table = {"age": ["1", "2"], "ill": ["a", "b"]}
    empty: Table = {"age": ["9", "9"], "ill": ["z", "a"]}
    _, sure = attack_intersection((first, empty), "ill", (known, known))
    assert sure.attacker.value == 1
    _, none = attack_intersection((empty, empty), "ill", (known, known))
    assert none.attacker.value == 0


def test_people_are_read_as_their_columns_are_meant() -> None:
    people = people_of({"age": ["20", " ", "30"]}, [Numeric("age")])
    assert people.n == 3
    assert look_up({"age": ["[20, 30]", "", "20"]}, people).rows.tolist() == [2, 1, 1]
    with pytest.raises(InvalidProblemError, match="numbers"):
        people_of({"age": ["old"]}, [Numeric("age")])
    with pytest.raises(InvalidProblemError, match="sensitive value is known"):
        attack_inference({"age": ["20"], "ill": ["a"]}, "ill", people)
    twin = people_of({"age": [20]}, [Numeric("age")])
    with pytest.raises(InvalidProblemError, match="the same people"):
        attack_intersection(({}, {}), "ill", (people, twin))


def test_intervals_hold_the_share_in_the_population() -> None:
    """Samples of people from a large made population: the interval misses as rarely as it says."""
    generator = np.random.default_rng(6)
    after: Table = {"age": ["[0, 9]"] * 3, "ill": ["a", "a", "b"]}
    missed = 0
    for _ in range(300):
        ills = np.where(generator.random(40) < 0.6, "a", "b").tolist()
        people = people_of({"age": [5] * 40, "ill": ills}, [Numeric("age")], "ill")
        found: Finding = attack_inference(after, "ill", people, failure=0.2)[0]
        missed += not found.attacker.low <= 0.6 <= found.attacker.high
    assert missed <= 85
