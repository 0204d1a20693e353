"""The risk of a lazy frame, grouped where it is, is that of the same rows in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.errors import InvalidProblemError
from discreet.kanonymity.cells import read_problem
from discreet.kanonymity.risk import risk
from discreet.report import make_chapter
from remote_frames import LIBRARIES

ROWS = st.lists(
    st.tuples(
        st.sampled_from([1, 2, 3, None]),
        st.sampled_from(["x", "y", "", None]),
        st.sampled_from(["flu", "gout", "", None]),
        st.integers(0, 3),
    ),
    min_size=1,
    max_size=40,
)
pytestmark = pytest.mark.filterwarnings("ignore:Dask support is moving:FutureWarning")

SCHEMA = {"a": pl.Int64, "b": pl.String, "ill": pl.String, "n": pl.Int64}


@given(ROWS)
def test_the_risk_is_that_of_the_rows_in_memory(rows: list[Any]) -> None:
    table = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    for names in (["a"], ["a", "b"]):
        expected = risk(table, names, sensitive=["ill", "n"])
        assert risk(table.lazy(), names, sensitive=["ill", "n"]) == expected


def test_rows_come_from_several_files_and_other_libraries(tmp_path: Path) -> None:
    table = pl.DataFrame({"a": [1, 1, 2, 2, 2, 3], "b": ["x", "x", "y", "y", "y", None]})
    for at in range(3):
        table[2 * at : 2 * at + 2].write_parquet(tmp_path / f"{at}.parquet")
    expected = risk(table, ["a"], sensitive=["b"])
    assert expected.k == 1
    assert risk(pl.scan_parquet(tmp_path / "*.parquet"), ["a"], sensitive=["b"]) == expected
    duckdb: Any = pytest.importorskip("duckdb")
    assert risk(duckdb.connect().from_arrow(table.to_arrow()), ["a"], sensitive=["b"]) == expected


def test_what_does_not_fit_is_refused_without_a_value() -> None:
    table = pl.DataFrame({"a": ["Mrs Canary", "x"]})
    with pytest.raises(InvalidProblemError, match="b: expected a column"):
        risk(table.lazy(), ["a", "b"])
    with pytest.raises(InvalidProblemError, match="with rows"):
        risk(table.lazy().head(0), ["a"])
    with pytest.raises(InvalidProblemError, match="none beside a lazy table"):
        risk(table.lazy(), ["a"], population=read_problem(table, ["a"], (), "ncp"))

    def fail(one: pl.DataFrame) -> pl.DataFrame:
        raise RuntimeError(one["a"][0])

    with pytest.raises(InvalidProblemError) as caught:
        risk(table.lazy().map_batches(fail, schema=table.schema), ["a"])
    assert "Canary" not in str(caught.value)


@pytest.mark.parametrize("make", LIBRARIES)
def test_missing_cells_and_values_of_any_spelling_are_values_in_every_library(make: Any) -> None:
    """No list says what is known: a missing cell, an empty one and a text that stands once are classes like others."""
    library = make()
    table = pl.DataFrame(
        {
            "a": ["1", "1", "2", None, None, "Mrs Canary", ""],
            "b": ["x", "x", "y", "", "y", None, "x"],
            "ill": ["flu", None, "", "gout", "flu", "flu", "flu"],
        }
    )
    for names in (["a"], ["a", "b"]):
        assert risk(library(table), names, sensitive=["ill"]) == risk(
            table, names, sensitive=["ill"]
        )
    with pytest.raises(InvalidProblemError, match="c: expected a column") as caught:
        risk(library(table), ["a", "c"])
    assert "Canary" not in str(caught.value)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9)), min_size=1, max_size=300))
def test_bands_of_class_sizes_hold_each_class_once(rows: list[tuple[int, int]]) -> None:
    table = {"age": [age for age, _ in rows], "person": [person for _, person in rows]}
    for measured in (risk(table, ["age"]), risk(table, ["age"], person="person")):
        assert measured.sizes[0][0] == measured.k
        assert measured.sizes[-1][0] == measured.largest
        bands = measured.bands()
        assert sum(classes for _, classes, _ in bands) == measured.classes
        assert abs(sum(share for _, _, share in bands) - 1) < 1e-9
    alone = risk(table, ["age"]).bands()[0][2]
    assert alone == float(risk(table, ["age"]).unique)


def test_the_page_of_a_risk_draws_the_distribution_of_class_sizes() -> None:
    before = risk({"age": [20, 20, 30, 31, 32]}, ["age"])
    after = risk({"age": ["[20, 32]"] * 5}, ["age"])
    for tables in ({"risk": before}, {"before": before, "after": after}):
        body = make_chapter("risk", tables, names=["age"]).body
        assert "Shares by class size" in body
        assert body.count("5\N{EN DASH}9<") == 1
        assert ("before</text>" in body) == (len(tables) > 1)
