"""The experiments on hierarchical counts: goldens of the paper's examples, and what a small run must show."""

from __future__ import annotations

import itertools
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pytest
from matplotlib.figure import Figure

from discreet.datasets.census import made_census
from discreet.hierarchy.methods.m_h import MH
from discreet_reproduction.hierarchy import errors, examples, times
from discreet_reproduction.hierarchy.published import TABLE_7
from discreet_reproduction.hierarchy.running import Errors, counted, errors_of
from discreet_reproduction.record import Run
from discreet_reproduction.writing import write_experiment

if TYPE_CHECKING:
    from pathlib import Path

    from discreet_reproduction.record import Experiment


def of(item: object) -> Experiment:
    """Run an item in its small form."""
    made: Experiment = item(Run(quick=True, seed=1))  # type: ignore[operator] # a function
    return made


def test_merged_tables_are_those_of_the_examples() -> None:
    found = of(examples.table5)
    assert found.column("phi") == [9, 4, 1, 0, 1]
    assert found.column("tau") == [13, 5, 1, 1, 5]


def test_tables_of_the_chain_are_those_of_the_paper() -> None:
    found = of(examples.table6)
    assert found.column("tau NY") == [18, 8, 2, 0, 1]
    assert found.column("tau US") == [22, 9, 2, 1, 5]
    # What the paper prints as sums adds up to the same.
    for row in found.rows:
        for ours, printed in (("tau NY", "NY (paper)"), ("tau US", "US (paper)")):
            assert row[ours] == sum(int(part) for part in str(row[printed]).split("+"))


def test_printed_errors_are_in_thousands_for_both_data_sets() -> None:
    assert len(TABLE_7) == 36
    assert TABLE_7["census", "1", "m-c-dp"] == (0.1, 3.2, 91.0, 0)
    assert TABLE_7["taxi", "0.1", "m-h-r"] == (254.0, 1587.0, 9044.0, 18206)


def test_printed_taxi_errors_are_impossible() -> None:
    """Two tables of G groups differ by at most 2 G."""
    most = 2 * 13_282 / 1000
    assert all(TABLE_7["taxi", "0.1", name][2] > most for name in errors.PRINTED.values())


def test_sentences_of_section_11_beside_table_7() -> None:
    census = {key[1:]: row for key, row in TABLE_7.items() if key[0] == "census"}
    for name, ends in {"m-h-r": (40.3, 40.7), "m-c-r": (23.1, 24.1)}.items():
        assert (census["0.1", name][0], census["1", name][0]) == ends
    for column, epsilon in itertools.product(("taxi", "census"), ("0.1", "0.5", "1")):
        for exact, relaxed in (("m-h-dp", "m-h-r"), ("m-c-dp", "m-c-r")):
            rows = [TABLE_7[column, epsilon, name] for name in (exact, relaxed)]
            assert sum(rows[0][:3]) < sum(rows[1][:3])
        assert TABLE_7["taxi", epsilon, "m-h-dp"][2] > TABLE_7["taxi", epsilon, "m-h-r"][2]
    for epsilon in ("0.1", "0.5"):
        assert sum(census[epsilon, "m-c-dp"][:3]) < sum(census[epsilon, "m-c-ch"][:3])


@pytest.fixture(scope="module")
def small() -> object:
    return counted(made_census(states=3, counties=12, groups=50_000, max_size=20, seed=3))


def test_methods_see_the_same_noise_and_order_as_published(small: object) -> None:
    """Consistent methods have no violations; cumulative counts win at the leaves; the chain has no guarantee."""
    found = {
        name: errors_of(small, name, "0.5", range(3))  # type: ignore[arg-type] # made by the fixture
        for name in ("m-h-r", "m-h", "m-c-dp", "m-c-ch", "m-c-ch-calibrated")
    }
    assert found["m-h-r"].inconsistent > 0
    assert not any(found[name].inconsistent for name in ("m-h", "m-c-dp", "m-c-ch"))
    assert found["m-c-dp"].l1[-1] < found["m-h"].l1[-1]
    assert "sensitivity" in found["m-c-ch"].reason
    assert found["m-c-ch-calibrated"].l1[-1] > 2 * found["m-c-ch"].l1[-1]
    assert not found["m-c-ch-calibrated"].reason


def test_windows_that_prove_themselves_cost_least() -> None:
    found = of(times.windows)
    assert {row["window"] for row in found.rows} >= {"proves itself", "2", "8"}
    for row in found.rows:
        excess = str(row["above the least"])
        assert excess.startswith("nothing found") or int(excess) >= 0
    # Windows of two counts to either side miss the optimum where noise is large, or hold nothing.
    missed = [row for row in found.rows if row["window"] == "2" and row["epsilon"] == 0.5]
    assert missed[0]["above the least"] != "0"


def test_a_table_of_methods_without_error_is_drawn(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A panel of nothing but zeros, and every point at its epsilon: text in that column once left all panels empty."""
    made = made_census(states=2, counties=4, groups=500, max_size=12, outliers=1, seed=3)
    exact = Errors((0.0, 0.0, 4.0), (0.0, 0.0, 4.0), (0.0, 0.0, 0.0), 0.0, 0.0, 0.1, "")
    monkeypatch.setattr(errors, "_census", lambda _: made)
    monkeypatch.setattr(errors, "errors_of", lambda *_: exact)
    found = of(errors.table7)
    for caption, panel in found.panels.items():
        ax = Figure().add_subplot()
        panel(ax)
        assert len(ax.lines) == 14
        for line in ax.lines:
            if "paper" in str(line.get_label()):
                continue
            assert np.asarray(line.get_xdata()).tolist() == [0.1, 0.5, 1.0]
        assert ax.get_yscale() == ("symlog" if caption.endswith("level 1") else "log")
    names = [path.name for path in write_experiment(found, tmp_path)]
    assert names == [f"hierarchy-table7.{end}" for end in ("csv", "json", "png", "svg", "html")]


def test_draws_are_the_papers_or_as_many_as_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    made = made_census(states=2, counties=4, groups=500, max_size=12, outliers=1, seed=3)
    seen: dict[str, int] = {}

    def counting(_: object, name: str, __: str, seeds: range) -> Errors:
        seen[name] = len(seeds)
        return Errors((1.0, 1.0, 1.0), (1.0, 1.0, 1.0), (0.0, 0.0, 0.0), 0.0, 0.0, 0.1, "")

    monkeypatch.setattr(errors, "_census", lambda _: made)
    monkeypatch.setattr(errors, "errors_of", counting)
    errors.table7(Run())
    assert (seen["m-c-dp"], seen["m-c-dp-weighted"], seen["bottom-up-cumulative"]) == (30, 30, 3)
    errors.table7_relaxed(Run(draws=4))
    assert seen["m-c-r"] == 4


@pytest.mark.slow
def test_small_table_has_every_row_and_is_drawn(tmp_path: Path) -> None:
    found = of(errors.table7)
    assert len(write_experiment(found, tmp_path)) == 5
    assert len(found.rows) == 3 * 9
    assert {row["guarantee"] for row in found.rows if row["method"] == "m-c-ch"} == {"none"}
    assert found.panels


@pytest.mark.slow
def test_seconds_are_measured_for_every_method() -> None:
    for item in (times.figure7, times.figure8):
        found = of(item)
        assert len({row["method"] for row in found.rows}) >= 7
        late = [row for row in found.rows if row["error"]]
        assert all(str(row["error"]).startswith("not ended in ") for row in late)
        assert {row["method"] for row in late} <= times._ENDLESS


def test_a_run_that_does_not_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """M_dp^OP has a program for each of thousands of entries, also in the windows of the small form."""
    monkeypatch.setattr(times, "_ENDLESS", frozenset({"m-dp-op"}))
    engine = MH()
    monkeypatch.setattr(times, "MH", lambda *_: engine)
    found = times.figure7(Run(quick=True, limit=0.5))
    (late,) = [row for row in found.rows if row["error"]]
    assert (late["method"], late["seconds"]) == ("m-dp-op", None)
    assert late["error"] == "not ended in 0.5 s"
    (panel,) = found.panels.values()
    assert isinstance(panel, partial)
    assert late not in panel.args[0]
