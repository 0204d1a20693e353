"""The experiments on k-anonymity: goldens of the paper's examples, extracts where they are there, and small runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from discreet.core.errors import InvalidProblemError
from discreet.kanonymity.candidate import SearchLimits
from discreet.kanonymity.methods import METHODS
from discreet_reproduction import Experiment
from discreet_reproduction.kanonymity import examples, statistics, utility
from discreet_reproduction.kanonymity.instances import (
    EIGHT,
    FARS,
    census,
    crashes,
    fars,
    health_insurance,
)
from discreet_reproduction.kanonymity.persons import NAMES, TABLE_10, made_wide
from discreet_reproduction.kanonymity.published import SORTED, TABLE_7, TABLE_8
from discreet_reproduction.kanonymity.running import FREEFORM, PAPER, measured, warm
from discreet_reproduction.record import Run
from discreet_reproduction.registry import ITEMS, find

if TYPE_CHECKING:
    from pathlib import Path

OF_THE_PAPER = [name for name in ITEMS if name.startswith("kanonymity/")]


def run(item: Any, data: Path | None = None) -> Experiment:
    found: Experiment = item(Run(quick=True, data=data))
    return found


def test_health_records_are_published_as_in_table_1() -> None:
    found = run(examples.table1)
    assert found.column("cells") == found.column("cells (paper)")


def test_rows_sort_as_in_table_2_and_its_misprint_is_not_ours() -> None:
    found = run(examples.table2)
    assert tuple(found.column("row")) == SORTED
    ours = {str(text) for text in found.column("initial set")}
    assert ours >= {"8 2 15", "17 0 4 18 3"}
    assert sorted(int(row) for text in ours for row in text.split()) == list(range(20))


def test_optima_publish_the_cells_of_table_4_for_both_weights() -> None:
    found = run(examples.table4)
    assert found.column("equal weights") == found.column("equal (paper)")
    assert found.column("unequal weights") == found.column("unequal (paper)")
    assert "19.266129032, proved" in found.notes[0]
    assert "4.114516129, proved" in found.notes[0]


def test_sub_problems_are_those_of_tables_5_and_6() -> None:
    found = run(examples.tables5to6)
    assert found.column("rows") == found.column("rows (paper)")
    assert found.column("carried") == found.column("carried (paper)")
    assert found.column("loss") == pytest.approx([5.298387, 17.814516], abs=1e-6)
    assert "19.266129" in found.notes[0]


def test_greedy_search_ends_as_in_table_7() -> None:
    found = run(examples.table7)
    assert len(found.rows) == len(TABLE_7)
    assert found.column("class") == found.column("class (paper)")
    assert found.column("class, least increase") != found.column("class (paper)")


def test_printed_sizes_add_up_to_the_number_of_sub_problems() -> None:
    """5,000 rows have 1,666 initial classes."""
    for s, pairs in TABLE_8.items():
        assert sum(count for _, count in pairs) == -(-1666 // s)


def test_sub_problems_keep_to_the_bound_of_lemma_2() -> None:
    found = run(statistics.table8)
    for row in found.rows:
        if row["sub-problems"]:
            assert int(str(row["rows"])) <= int(str(row["at most"]))


def test_mondrian_loses_about_as_much_as_the_initial_solution() -> None:
    """E17: on synthetic rows, and on the twenty of the example."""
    for problem, ratio in ((census(2_000, 4, seed=0, data=None).numeric(), 0.62), (fars(), 1.04)):
        loss, initial = (
            problem.loss_of(METHODS.resolve(name).solve(problem, 3, SearchLimits()).labels)
            for name in ("mondrian", "initial")
        )
        assert loss / initial == pytest.approx(ratio, abs=0.01)


def test_made_columns_have_the_ranges_and_nearly_the_variances_of_table_10() -> None:
    made = made_wide(20_000, 35, seed=3)
    for values, (name, (variance, low, high)) in zip(made.T, TABLE_10.items(), strict=True):
        assert low <= values.min() <= values.max() <= high, name
        # Rounding to integers adds up to a quarter.
        assert abs(values.var() - variance) < 0.3 * variance + 0.26, name


def test_extracts_are_read_where_they_are_there(tmp_path: Path) -> None:
    """The file of that size, or the first rows of a larger one; what has too few rows is refused."""
    rows = np.arange(80).reshape(20, 4)
    (tmp_path / "1k_4attr.txt").write_text(
        "\ufeffSEX,AGE,MARST,RACE\r\n" + "\r\n".join(",".join(map(str, row)) for row in rows)
    )
    found = census(20, 4, seed=0, data=tmp_path)
    assert found.source == "1k_4attr.txt"
    np.testing.assert_array_equal(found.values, rows)
    assert census(5, 4, seed=0, data=tmp_path).source == "first rows of 1k_4attr.txt"
    assert census(5, 8, seed=0, data=tmp_path).source == "made, 8 columns"
    with pytest.raises(InvalidProblemError, match="30 rows and 4 columns"):
        census(30, 4, seed=0, data=tmp_path)
    (tmp_path / "1k_4attr.txt").write_text("1 2\n3 4 5\n")
    with pytest.raises(InvalidProblemError, match="rows of numbers"):
        census(2, 4, seed=0, data=tmp_path)


def test_public_tables_are_read_where_they_are_there(tmp_path: Path) -> None:
    (tmp_path / "person.csv").write_text(
        "MONTH,AGE,SEX,INJ_SEV,X\n1,30,1,4,a\n2,998,1,4,a\n3,40,2,0,a\n4,50,9,1,a\n5,60,1,2,a\n"
    )
    found = crashes(3, seed=0, data=tmp_path)
    assert found.values[:, 0].tolist() == [1, 3, 5]
    assert crashes(9, seed=0, data=tmp_path).source == "made"
    (tmp_path / "randhie.csv").write_text(
        "female,child,site,num,disea,educdec,xage,income\n1,0,2,3,4.6,11.5,39.9,8234\n0,0,1,1,1,NA,3,1\n"
    )
    table = health_insurance(8, data=tmp_path)
    assert table.values.tolist() == [[1, 0, 2, 3, 5, 12, 39, 8]]


def test_codes_are_sets_for_gcp_and_numbers_else() -> None:
    table = census(30, 8, seed=0, data=None)
    assert table.names == EIGHT
    kinds = [column.is_set for column in table.mixed().columns]
    assert kinds == [True, False, True, True, True, False, True, True]
    assert not any(column.is_set for column in table.numeric().columns)
    assert census(3, 15, seed=0, data=None).names == NAMES[:15]


def test_every_method_of_the_figures_is_audited_or_called_freeform() -> None:
    table = census(40, 4, seed=1, data=None).numeric()
    names = (*PAPER, *FREEFORM, "segmentation", "discreet")
    # Else the second that a busy machine takes to compile is the second that the search has.
    warm(names)
    found = {name: measured(table, 3, name, 3.0) for name in names}
    assert {row["guarantee"] for name, row in found.items() if name in FREEFORM} == {"freeform"}
    assert {row["guarantee"] for name, row in found.items() if name in PAPER} == {"3-anonymous"}
    best = found["discreet"]
    assert float(str(best["at least"])) <= float(str(best["loss"]))
    assert all(
        float(str(best["loss"])) <= float(str(row["loss"])) + 1e-9
        for name, row in found.items()
        if name not in FREEFORM
    )


def test_appendix_b_publishes_a_set() -> None:
    found = run(utility.appendix_b)
    text = str(found.rows[0]["published"]).split("|")
    assert text == sorted(set(text))


def test_twenty_rows_are_those_that_the_tests_know() -> None:
    assert fars().n == len(FARS) == 20


def test_an_item_without_its_public_data_says_where_they_come_from(tmp_path: Path) -> None:
    with pytest.raises(InvalidProblemError, match=r"public domain.*pip install statsmodels"):
        health_insurance(4, data=tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in OF_THE_PAPER if name != "kanonymity/rand"])
def test_every_item_runs_in_its_small_form(name: str) -> None:
    found = run(find(name))
    assert found.name == name
    assert found.rows
