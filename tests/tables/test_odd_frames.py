"""Frames that their libraries allow and that no table of people should be: a sentence, and nothing of another kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import KAnonymity
from discreet.kanonymity import anonymize
from discreet.kanonymity.models import DistinctDiversity
from discreet.tables.frames import frame_of, open_table
from discreet.tables.roles import look_of

if TYPE_CHECKING:
    from collections.abc import Callable

AGES = [30, 31, 32, 40, 41, 42]
PAIRS = KAnonymity(3, ("age",))


def objects(values: list[Any]) -> pl.Series:
    return pl.Series("x", values, dtype=pl.Object)


@pytest.mark.parametrize(
    "cells",
    [
        pl.Series("x", [[4711], [2]] * 3),
        pl.Series("x", [{"a": 4711}] * 6),
        objects([{4711, 2}] * 6),
        objects([[4711], 2] * 3),
    ],
    ids=["lists", "records", "sets", "some lists"],
)
@pytest.mark.parametrize("role", ["quasi", "keep", "sensitive"])
def test_cells_of_several_values_are_refused_by_their_column(cells: pl.Series, role: str) -> None:
    table = pl.DataFrame({"age": AGES}).with_columns(cells)
    known = ("age", "x") if role == "quasi" else ("age",)
    with pytest.raises(InvalidProblemError, match="unpack or drop") as caught:
        anonymize(
            table,
            KAnonymity(3, known),
            keep=("x",) if role == "keep" else (),
            sensitive=("x",) if role == "sensitive" else (),
        )
    assert caught.value.got == "column 2"
    assert look_of(table, "x").kind == "nested"
    assert anonymize(table, PAIRS, drop=("x",)).certificate.passed


def test_a_name_that_holds_a_zero_character_is_refused() -> None:
    table = pl.DataFrame({"age": AGES, "a\0": AGES})
    with pytest.raises(InvalidProblemError, match="a zero character for column 2"):
        anonymize(table, PAIRS, drop=("a\0",))
    with pytest.raises(InvalidProblemError, match="a zero character for column 2"):
        open_table(table, "people", ["age"])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda pd: pd.DataFrame([[1, 2]] * 6, columns=["age", "age"]), "of different names"),
        (lambda pd: pd.DataFrame({"age": AGES, 0: AGES}), "got int for column 2"),
    ],
    ids=["twice", "number"],
)
def test_names_of_pandas_that_are_not_different_text(
    make: Callable[[Any], Any], message: str
) -> None:
    table = make(pytest.importorskip("pandas"))
    for take in (frame_of, lambda given, name: open_table(given, name, ["age"])):
        with pytest.raises(InvalidProblemError, match=message):
            take(table, "people")


def test_categories_of_pandas_may_be_numbers() -> None:
    pandas: Any = pytest.importorskip("pandas")
    table = pandas.DataFrame({"age": pandas.Categorical([1, 2] * 3), "x": AGES})
    assert anonymize(table, PAIRS, keep=("x",)).certificate.passed


def test_integers_of_128_bits_are_too_large_and_said_to_be() -> None:
    table = pl.DataFrame({"age": pl.Series([2**100, 1] * 3, dtype=pl.Int128)})
    with pytest.raises(InvalidProblemError, match="age: expected one number a row, at most"):
        anonymize(table, PAIRS)


@pytest.mark.parametrize(
    ("stated", "field"),
    [
        ({"models": {"x": DistinctDiversity(2)}}, "models"),
        ({"models": {"x": [2]}}, "models"),
        ({"models": {"x": [DistinctDiversity]}}, "models"),
        ({"models": {"x": "l"}}, "models"),
        ({"sensitive": "disease"}, "sensitive"),
        ({"keep": b"x"}, "keep"),
    ],
    ids=str,
)
def test_one_in_place_of_a_list_is_named(stated: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidProblemError) as caught:
        anonymize(pl.DataFrame({"age": AGES, "x": AGES}), PAIRS, **stated)
    assert caught.value.field == field
