"""What is printed of an outcome says "certified" only of what was verified as it stands."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet import MetricDP, MetricSpace, PureDP
from discreet.artefact import load, save
from discreet.core.verified import CLAIMED
from discreet.kanonymity import Numeric
from discreet.report import make_chapter
from discreet.streaming import anonymize_files
from discreet.tables.contents import contents


def _design() -> Any:
    line = MetricSpace.grid(1, 3, cell=1, unit="km")
    return dc.metricdp.design(
        dc.metricdp.Problem(line, utility_loss="euclidean"), MetricDP(1, "km")
    )


def _table() -> Any:
    rows = pl.DataFrame({"age": [20, 21, 40, 50], "zip": ["1", "1", "2", "2"]})
    return dc.kanonymity.anonymize(rows, dc.KAnonymity(2, ("age", "zip")))


def _region(**options: Any) -> Any:
    region = dc.lrgeo.Region.from_grid(2, 2, cell="0.5", unit="km")
    return dc.lrgeo.design(region, MetricDP(2, "km"), **options)


MADE: dict[str, Any] = {
    "metricdp": (_design, {"guarantee": MetricDP("0.01", "km")}),
    "kanonymity": (_table, {"guarantee": dc.KAnonymity(100, ("age", "zip"))}),
    "places": (lambda: _region(scope="places"), {"guarantee": MetricDP("0.01", "km")}),
    "points": (_region, {"upper": 0.0}),
    "a table for points": (lambda: _region(method="table"), {"upper": 0.0}),
}


@pytest.mark.parametrize("name", MADE)
def test_a_copy_with_another_claim_is_not_printed_as_certified(name: str) -> None:
    make, change = MADE[name]
    made = make()
    assert ", certified)" in repr(made)
    assert "Verified: " in made._repr_html_()
    for other in (
        replace(made, **change),
        copy.copy(made),
        pickle.loads(pickle.dumps(made)),  # noqa: S301 - made above
    ):
        assert "certified" not in repr(other)
        assert CLAIMED in repr(other)
        assert "Verified: " not in other._repr_html_()


def test_what_verify_passed_is_certified_again_and_what_it_refused_is_not() -> None:
    made = _design()
    whole, forged = replace(made), replace(made, guarantee=MetricDP("0.01", "km"))
    assert not dc.verify(forged).passed
    assert CLAIMED in repr(forged)
    assert dc.verify(whole).passed
    # The loss and its bound are printed, too, and were not looked at.
    assert CLAIMED in repr(whole)
    assert dc.verify(whole, optimality=True).passed
    assert ", certified)" in repr(whole)
    lighter = replace(made, upper=made.upper / 2, lower=0.0)
    assert not dc.verify(lighter, optimality=True).passed
    assert CLAIMED in repr(lighter)


def test_a_design_from_a_file_is_a_claim(tmp_path: Any) -> None:
    save(_design(), tmp_path / "a.channel")
    assert CLAIMED in repr(load(tmp_path / "a.channel"))


def test_a_release_with_another_guarantee_is_shown_as_a_claim() -> None:
    matroid = dc.submodular.UniformMatroid(3, 1)
    worth = dc.submodular.Coverage([[True, False, False], [True, True, False]])
    made = dc.submodular.release(worth, matroid, PureDP(1, "add-remove-one"))
    assert "Verified: " in made._repr_html_()
    forged = replace(made, guarantee=PureDP("0.001", "add-remove-one"))
    assert "Verified: " not in forged._repr_html_()
    assert not dc.verify(forged).passed
    assert "Verified: " not in forged._repr_html_()
    again = replace(made)
    assert dc.verify(again).passed
    assert "Verified: " in again._repr_html_()


def test_a_report_of_a_forged_outcome_shows_that_it_fails() -> None:
    made = _design()
    assert "Not certified" not in make_chapter("metricdp", made).body
    for forged in (
        replace(made, guarantee=replace(made.guarantee, epsilon=Fraction(1, 100))),
        replace(made, upper=made.upper / 2, lower=0.0),
    ):
        assert "Not certified" in make_chapter("metricdp", forged).body
    table = _table()
    other = replace(table, guarantee=dc.KAnonymity(3, ("age", "zip")))
    assert "Not certified" in make_chapter("kanonymity", other).body


def test_a_table_that_was_changed_in_place_is_not_printed_as_certified() -> None:
    """A frozen outcome holds a frame that is not."""
    made = _table()
    made.table[0, "age"] = "99"
    assert CLAIMED in repr(made)
    assert "Verified: " not in made._repr_html_()
    assert not dc.verify(made).passed
    assert CLAIMED in repr(made)
    again = _table()
    made.table[0, "age"] = again.table[0, "age"]
    # What failed is certified once it passes.
    assert CLAIMED in repr(made)
    assert dc.verify(again).passed
    assert ", certified)" in repr(again)


def test_an_outcome_that_failed_its_verifier_is_no_longer_printed_as_certified() -> None:
    made = _design()
    assert ", certified)" in repr(made)
    object.__setattr__(made, "guarantee", MetricDP("0.01", "km"))
    assert not dc.verify(made).passed
    assert CLAIMED in repr(made)


def test_files_that_were_written_again_are_not_printed_as_certified(tmp_path: Path) -> None:
    rows = pl.DataFrame({"age": [20 + i % 40 for i in range(200)]})
    rows.write_parquet(tmp_path / "in.parquet")
    source, claim = tmp_path / "in.parquet", dc.KAnonymity(5, ("age",))
    made = anonymize_files(source, tmp_path / "out", claim, attributes=[Numeric("age")])
    assert ", certified)" in repr(made)
    # A folder of parts is judged as a file is.
    assert dc.verify(made).passed
    assert dc.verify(tmp_path / "out").passed
    (part,) = (tmp_path / "out").glob("*.parquet")
    rows.head(3).write_parquet(part)
    assert CLAIMED in repr(made)
    assert not dc.verify(made).passed


@pytest.mark.parametrize("library", ["polars", "pandas", "pyarrow", "dict", "list"])
def test_contents_of_any_table_tell_a_change(library: str) -> None:
    cells: dict[str, list[Any]] = {"age": [30, 31, None], "job": ["a", "b", "c"]}

    def table(given: dict[str, list[Any]]) -> Any:
        if library == "dict":
            return given
        if library == "list":
            return list(zip(*given.values(), strict=True))
        maker = pytest.importorskip(library)
        return maker.table(given) if library == "pyarrow" else maker.DataFrame(given)

    before = contents(table(cells))
    assert contents(table(dict(cells))) == before
    assert contents(table({**cells, "age": [30, 31, 0]})) != before
    assert (
        contents(table({"age": cells["age"], "work": cells["job"]})) != before or library == "list"
    )


def test_a_change_in_the_middle_of_a_long_array_is_seen() -> None:
    cells = np.arange(5_000)
    before = contents({"age": cells}), contents(cells)
    cells[2_500] = 0
    assert contents({"age": cells}) != before[0]
    assert contents(cells) != before[1]
