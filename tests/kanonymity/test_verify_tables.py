"""The checker of published tables: what it accepts, and each kind of table that it rejects."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import KAnonymity
from discreet.core.randomness import SeededBits
from discreet.kanonymity.candidate import SearchLimits
from discreet.kanonymity.cells import publish, read_problem
from discreet.kanonymity.methods.initial import Initial
from discreet.kanonymity.models import (
    AlphaFrequency,
    Closeness,
    DeltaPresence,
    EntropyDiversity,
    RecursiveDiversity,
)
from discreet.kanonymity.problem import Attribute, Categorical, Numeric, Taxonomy
from discreet.kanonymity.problem import published as published_cells
from discreet.kanonymity.risk import risk
from discreet.kanonymity.verify import classes_of, closeness, diversity, verify
from discreet.tables.taxonomies import taxonomy_of

if TYPE_CHECKING:
    from collections.abc import Mapping

HOME = taxonomy_of({"Europe": ["FR", "DE"], "Asia": {"South": ["IN", "PK"], "East": ["JP"]}})
KINDS: tuple[Attribute, ...] = (Numeric("age"), Categorical("job"), Taxonomy("home", HOME))
NAMES = ("age", "job", "home")

Table = dict[str, list[Any]]


def people(n: int, seed: int, *, missing: bool = False) -> Table:
    rng = np.random.default_rng(seed)
    made: Table = {
        "age": rng.integers(18, 40, n).tolist(),
        "job": rng.choice(["cook", "a|b", "back\\slash", "pilot"], n).tolist(),
        "home": rng.choice(["FR", "DE", "IN", "PK", "JP"], n).tolist(),
        "ill": rng.choice(["yes", "no"], n).tolist(),
    }
    if missing:
        made["age"][0], made["job"][1], made["home"][2] = None, None, None
    return made


def published(original: Table, k: int) -> Table:
    """Anonymize by the plainest method."""
    frame = pl.DataFrame(original)
    problem = read_problem(frame, NAMES, KINDS, "ncp")
    labels = Initial().solve(problem, k, SearchLimits()).labels
    table = publish(frame, problem, labels, SeededBits(1))
    return {name: table[name].to_list() for name in table.columns}


def residuals(table: Table, k: int, **options: Any) -> Mapping[str, int | Fraction | float]:
    certificate = verify(table, KAnonymity(k, NAMES), **options)
    return {check.name: check.residual for check in certificate.checks}


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("k", [2, 3, 7])
def test_what_is_published_is_accepted_alone_and_beside_its_original(k: int, missing: bool) -> None:  # noqa: FBT001 - a case
    original = people(40, k, missing=missing)
    table = published(original, k)
    certificate = verify(
        table, KAnonymity(k, NAMES), against=original, attributes=KINDS, suppressed=0
    )
    assert certificate.passed, str(certificate)
    assert len(certificate.checks) == 4


def test_one_altered_cell_is_rejected() -> None:
    """Every cell in turn, quasi-identifier or not, against the original."""
    original = people(12, 1)
    table = published(original, 3)
    for name in table:
        for row in range(12):
            other = "maybe" if name == "ill" else "17"
            altered = {**table, name: [*table[name][:row], other, *table[name][row + 1 :]]}
            found = verify(altered, KAnonymity(3, NAMES), against=original, attributes=KINDS)
            assert not found.passed, (name, row)
            if name in NAMES:
                assert residuals(altered, 3)["classes smaller than k"] >= 1


def test_a_cell_that_covers_too_little_is_rejected_although_classes_are_large() -> None:
    """All rows of a class altered alike: k holds, but the cells are no longer true."""
    original = {"age": [20, 30, 40, 50]}
    guarantee = KAnonymity(2, ("age",))
    true = {"age": ["[20, 30]", "[20, 30]", "[40, 50]", "[40, 50]"]}
    false = {"age": ["[20, 29]", "[20, 29]", "[40, 50]", "[40, 50]"]}
    assert verify(true, guarantee, against=original).passed
    found = verify(false, guarantee, against=original)
    assert [check.residual for check in found.checks] == [0, 1, 0]


def test_no_original_stands_for_two_published_rows() -> None:
    original = {"age": [20, 30, 40, 50]}
    table = {"age": ["[20, 30]"] * 4}
    found = verify(table, KAnonymity(2, ("age",)), against=original)
    assert [check.residual for check in found.checks] == [0, 2, 0]


def test_other_columns_must_be_as_they_were() -> None:
    original = {"age": [20, 30, 40, 50], "ill": ["yes", "no", "no", "yes"], "n": [1.5, None, 2, 3]}
    ages = ["[20, 30]", "[20, 30]", "[40, 50]", "[40, 50]"]
    guarantee = KAnonymity(2, ("age",))
    swapped = {"age": ages, "ill": ["no", "yes", "no", "yes"], "n": [None, 1.5, 2, 3]}
    assert verify(swapped, guarantee, against=original).passed
    mixed = {"age": ages, "ill": ["yes", "yes", "no", "no"], "n": [1.5, None, 2, 3]}
    assert verify(mixed, guarantee, against=original).checks[1].residual == 2


def test_columns_that_were_not_published_are_not_compared_and_that_is_said() -> None:
    """What is left out tells nothing; each published row still stands for a row of its own."""
    original = {"name": ["Ann", "Bo", "Cy", "Di"], "age": [20, 30, 40, 50], "ill": [1, 0, 0, 1]}
    ages = ["[20, 30]", "[20, 30]", "[40, 50]", "[40, 50]"]
    guarantee = KAnonymity(2, ("age",))
    found = verify({"age": ages, "ill": [1, 0, 0, 1]}, guarantee, against=original)
    assert found.passed
    assert found.checks[1].detail == "columns not published, not compared: 1"
    found = verify({"age": ages}, guarantee, against=original)
    assert found.checks[1].detail == "columns not published, not compared: 2"
    assert not verify({"age": ages, "ill": [1, 1, 0, 1]}, guarantee, against=original).passed
    assert not verify({"age": ["[20, 30]"] * 4}, guarantee, against=original).passed


@pytest.mark.parametrize("frame", [dict, pl.DataFrame])
def test_a_published_column_that_the_original_lacks_is_rejected(frame: Any) -> None:
    """Nobody can say where it comes from: it may number the persons."""
    original = frame({"age": [20, 30, 40, 50]})
    ages = ["[20, 30]", "[20, 30]", "[40, 50]", "[40, 50]"]
    table = frame({"age": ages, "number": [1, 2, 3, 4]})
    found = verify(table, KAnonymity(2, ("age",)), against=original)
    assert [check.residual for check in found.checks] == [0, 0, 1]
    assert found.checks[2].detail == "number"


def test_suppressed_rows_are_a_class_like_others() -> None:
    kept = {"age": ["[20, 30]", "[20, 30]", "*"]}
    guarantee = KAnonymity(2, ("age",))
    assert not verify(kept, guarantee).passed
    assert verify({"age": [*kept["age"], "*"]}, guarantee).passed
    original = {"age": [20, 30, 90, 80]}
    left_out = {"age": ["[20, 30]", "[20, 30]"]}
    assert verify(left_out, guarantee, against=original, suppressed=2).passed
    assert not verify(left_out, guarantee, against=original, suppressed=1).passed


def test_stars_cover_everything_in_each_kind_of_column() -> None:
    original = people(6, 4, missing=True)
    table = {**original, **{name: ["*"] * 6 for name in NAMES}}
    assert verify(table, KAnonymity(6, NAMES), against=original, attributes=KINDS).passed


def test_diversity_and_closeness_are_checked() -> None:
    table = {"age": ["a", "a", "b", "b"], "ill": ["yes", "no", "no", "no"]}
    guarantee = KAnonymity(2, ("age",))
    assert not verify(table, guarantee, diverse={"ill": 2}).passed
    assert verify(table, guarantee, diverse={"ill": 1}).passed
    found = verify(table, guarantee, close={"ill": "0.25"})
    assert found.passed
    assert found.checks[1].residual == Fraction(1, 4)
    assert not verify(table, guarantee, close={"ill": "0.24"}).passed


def test_models_beyond_k_are_checked_on_counts() -> None:
    """Entropy, recursion and frequency by class; ordered distances in the order of numbers, not of text."""
    table = {"age": ["a"] * 4 + ["b"] * 4, "pay": [9, 9, 10, 100, 9, 10, 10, 100]}
    guarantee = KAnonymity(2, ("age",))
    good: list[Any] = [EntropyDiversity(2), RecursiveDiversity(3, 2), AlphaFrequency("1/2")]
    assert verify(table, guarantee, models={"pay": good}).passed
    bad: list[Any] = [EntropyDiversity(3), RecursiveDiversity(1, 2), AlphaFrequency("1/3")]
    found = verify(table, guarantee, models={"pay": bad})
    assert [check.residual for check in found.checks[1:]] == [2, 2, 2]
    assert found.checks[1].name.endswith("in pay")
    # 9, 10, 100: a class differs from the table by an eighth of its rows moved one step of two.
    assert verify(table, guarantee, models={"pay": [Closeness("1/16", ordered=True)]}).passed
    assert not verify(table, guarantee, models={"pay": [Closeness("0.0624", ordered=True)]}).passed
    words = {"age": ["a", "a", "b", "b"], "ill": ["yes", "no", "no", "no"]}
    assert not verify(words, guarantee, models={"ill": [AlphaFrequency("0.9")]}).passed


def test_presence_in_a_public_table() -> None:
    """Two of three people in their twenties are published, and both of forty."""
    table = {"age": ["[20, 29]", "[20, 29]", "40", "40"]}
    guarantee = KAnonymity(2, ("age",))
    public = {"age": [20, 25, 29, 40, 40, 70]}
    assert verify(table, guarantee, population=public, presence=DeltaPresence(0, 1)).passed
    found = verify(table, guarantee, population=public, presence=DeltaPresence(0, "2/3"))
    assert [check.residual for check in found.checks] == [0, 1]
    with pytest.raises(InvalidProblemError, match="population"):
        verify(table, guarantee, population={"age": [20, 40]}, presence=DeltaPresence(0, 1))


def test_persons_are_counted_not_rows() -> None:
    table = {"age": ["a", "a", "b", "b"], "id": [1, 1, 2, 3]}
    guarantee = KAnonymity(2, ("age",))
    assert verify(table, guarantee).passed
    found = verify(table, guarantee, person="id")
    assert [check.residual for check in found.checks] == [0, 1]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from("xyz")), min_size=1, max_size=25))
def test_counts_are_those_of_the_definitions(rows: list[tuple[int, str]]) -> None:
    secret = [s for _, s in rows]
    classes = classes_of({"a": [a for a, _ in rows]}, ["a"])
    labels = classes.labels.tolist()
    variety, far = diversity(classes, secret), closeness(classes, secret)
    for label in set(labels):
        inside = [s for (_, s), at in zip(rows, labels, strict=True) if at == label]
        assert len(inside) == classes.sizes[label]
        assert variety[label] == len(set(inside))
        shares = [
            Fraction(inside.count(v), len(inside)) - Fraction(secret.count(v), len(rows))
            for v in "xyz"
        ]
        total = sum((abs(share) for share in shares), Fraction(0))
        assert far[label] == total / 2
    assert all(
        (x == y) == (labels[i] == labels[j])
        for i, (x, _) in enumerate(rows)
        for j, (y, _) in enumerate(rows)
    )


def arrow(columns: Table) -> Any:
    return pl.DataFrame(columns).to_arrow()


@pytest.mark.parametrize("make", [dict, pl.DataFrame, arrow])
def test_tables_of_any_kind_are_read(make: Any) -> None:
    original = people(12, 2)
    table = make(published(original, 3))
    found = verify(table, KAnonymity(3, NAMES), against=make(original), attributes=KINDS)
    assert found.passed, str(found)


def test_columns_may_be_arrays() -> None:
    table = {"age": np.array([1.0, 1.0, np.nan, np.nan])}
    assert verify(table, KAnonymity(2, ("age",))).passed
    assert verify({"age": (1, 1)}, KAnonymity(2, ("age",))).passed


class NAType:
    """What pandas puts where a value is missing: it compares with nothing."""

    def __eq__(self, other: object) -> bool:
        raise TypeError("boolean value of NA is ambiguous")

    __hash__ = None  # type: ignore[assignment]  # as in a value that cannot be compared


def test_missing_values_of_all_libraries_are_the_same() -> None:
    nothing = NAType()
    published = {"age": ["1", "1", "", ""], "note": ["a", "", "", "b"]}
    original = {
        "age": [np.int64(1), np.float64(1), None, float("nan")],
        "note": ["a", nothing, None, "b"],
    }
    assert verify(published, KAnonymity(2, ("age",)), against=original).passed
    assert verify({"age": [nothing, None]}, KAnonymity(2, ("age",))).passed


def test_bad_tables_are_refused() -> None:
    guarantee = KAnonymity(2, ("age",))
    bad: list[Any] = [{"sex": [1, 1]}, pl.DataFrame({"sex": [1, 1]}), {"age": []}]
    for table in bad:
        with pytest.raises(InvalidProblemError, match="table"):
            verify(table, guarantee)
    with pytest.raises(InvalidProblemError, match="one length"):
        verify({"age": [1, 1], "sex": [1]}, KAnonymity(2, ("age", "sex")))
    with pytest.raises(InvalidProblemError, match="quasi|table"):
        classes_of({"age": [1]}, [])
    with pytest.raises(InvalidProblemError, match="age"):
        verify({"age": [1, 1]}, guarantee, against={"ill": [2, 2]})


def test_a_missing_cell_is_not_an_empty_one() -> None:
    """A Parquet file shows which of them a cell is, and a CSV file by its quotes."""
    table = pl.DataFrame({"age": [None, None, "", ""]})
    assert classes_of(table, ["age"]).sizes.tolist() == [2, 2]
    assert not verify(table, KAnonymity(4, ("age",))).passed


def test_models_are_asked_of_values_as_stored_and_as_meant() -> None:
    """Nothing and NaN are two cells, and no two values: the worse of both counts, for any model."""
    table = {"age": [1, 1, 2, 2], "ill": [None, float("nan"), "a", "b"]}
    guarantee = KAnonymity(2, ("age",))
    assert not verify(table, guarantee, models={"ill": [AlphaFrequency("1/2")]}).passed
    apart = {"age": [1, 1, 2, 2], "ill": [None, None, float("nan"), float("nan")]}
    assert not verify(apart, guarantee, models={"ill": [Closeness("1/4")]}).passed
    assert verify(apart, guarantee, models={"ill": [Closeness("1/2")]}).passed


def test_very_many_different_rows_are_numbered_within_64_bits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(2)
    table = {f"c{j}": rng.integers(0, 2, 50).tolist() for j in range(4)}
    whole = classes_of(table, list(table)).labels
    monkeypatch.setattr(published_cells, "LARGEST_INTEGER", 5)
    assert classes_of(table, list(table)).labels.tolist() == whole.tolist()
    # Ten columns of a million values each.
    wide = {f"c{j}": [*range(2000), *range(2000)] for j in range(10)}
    assert classes_of(wide, list(wide)).sizes.tolist() == [2] * 2000


def test_rows_without_a_person_make_no_class_safer() -> None:
    """They may be rows of a person who is there: the risk has the k that the verifier has."""
    table = {"age": [1, 1, 1, 2, 2, 2], "who": ["a", "b", None, "c", None, ""]}
    assert risk(table, ["age"], person="who").k == 1
    assert not verify(table, KAnonymity(2, ("age",)), person="who").passed
    named = {"age": table["age"], "who": ["a", "b", None, "c", "d", ""]}
    assert risk(named, ["age"], person="who").k == 2
    assert verify(named, KAnonymity(2, ("age",)), person="who").passed
