"""Location, features and topics: small runs give sane tables, and figures that can be checked are right."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from matplotlib.figure import Figure
from numpy.typing import NDArray

from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import PureDP
from discreet.submodular import Coverage, UniformMatroid
from discreet.submodular.methods.baselines import Greedy, RandomBase
from discreet.submodular.objectives.checker import check
from discreet_reproduction import Experiment
from discreet_reproduction.record import Run
from discreet_reproduction.submodular import features, location, topics
from discreet_reproduction.submodular.leanings import made_features
from discreet_reproduction.submodular.running import Mean, mean_value


def drawn(found: Experiment) -> None:
    """Draw every panel."""
    for panel in found.panels.values():
        axes = Figure().add_subplot()
        panel(axes)
        assert axes.lines


def shrink(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave two rows of each table of the location experiments, and no continuous method."""
    monkeypatch.setattr(location, "_RANKS", {10: location._RANKS[10]})
    monkeypatch.setattr(location, "_SIZES", {1_000: location._SIZES[1_000]})


def test_places_for_pickups_from_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """All pick-ups lie where a candidate does, so that greedy choice serves every one fully."""
    shrink(monkeypatch)
    corner = "40.700000, -73.991970\n"
    (tmp_path / "uber-data-small.csv").write_text(corner * 120)
    found = location.cardinality(Run(quick=True, data=tmp_path))
    (row,) = found.rows
    assert row["greedy"] == "100.0 ± 0.0"
    assert row["greedy (paper)"] == "88.9 ± 0.0"
    assert found.settings["data"] == "uber-data-small.csv"
    assert not any("made" in note for note in found.notes)
    drawn(found)


def test_made_pickups_are_said_to_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    shrink(monkeypatch)
    found = location.cardinality(Run(quick=True))
    assert any("made" in note for note in found.notes)
    (row,) = found.rows
    private, random = (float(str(row[name]).split()[0]) for name in ("subsampled", "random"))
    assert random < private + 5


def test_greedy_falls_into_the_trap_of_two_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    shrink(monkeypatch)
    found = location.two_parts(Run(quick=True))
    (row,) = found.rows
    greedy, random = (float(str(row[name]).split()[0]) for name in ("greedy", "random"))
    assert greedy < random < 1_000


def test_pickups_need_their_file(tmp_path: Path) -> None:
    with pytest.raises(InvalidProblemError, match="data: expected a folder with uber-data-small"):
        location.pickups(tmp_path, 5, 0)
    (tmp_path / "uber-data-small.csv").write_text("40.7, -74.0\n40.8, -73.9\n")
    with pytest.raises(InvalidProblemError, match="data: expected 5 lines of latitude"):
        location.pickups(tmp_path, 5, 0)
    read = location.pickups(tmp_path, 2, 0)
    assert sorted(read[:, 0].tolist()) == [40.7, 40.8]
    made = location.pickups(None, 50, 0)
    assert np.abs(made - [40.762, -73.977]).max() < 0.12


def test_made_features_are_independent_given_the_label() -> None:
    table, label = made_features(40_000, 10, seed=1)
    assert table.mean() == pytest.approx(0.5, abs=0.02)
    for value in (0, 1):
        inside = np.corrcoef(table[label == value].T)
        assert np.abs(inside - np.eye(10)).max() < 0.03
    apart = np.abs(table[label == 1].mean(axis=0) - table[label == 0].mean(axis=0))
    assert apart[:2].min() > 0.3
    assert apart[2:].max() < 0.06


def test_bundled_tables_are_used_where_there_are_some(monkeypatch: pytest.MonkeyPatch) -> None:
    bundled = ModuleType("sklearn.datasets")

    def load(*, return_X_y: bool) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        assert return_X_y
        rng = np.random.default_rng(0)
        return rng.random((60, 5)), rng.integers(0, 3, 60)

    for name in ("load_breast_cancer", "load_wine"):
        setattr(bundled, name, load)
    monkeypatch.setitem(sys.modules, "sklearn", ModuleType("sklearn"))
    monkeypatch.setitem(sys.modules, "sklearn.datasets", bundled)
    monkeypatch.setattr(features, "find_spec", lambda _: object())
    monkeypatch.setattr(features, "_EPSILONS", (1.0, 1000.0))
    found = features.features(Run(quick=True))
    assert set(found.column("table")) == {"made", "breast_cancer", "wine"}
    best = [row for row in found.rows if row["epsilon"] == 1000.0]
    for row in best:
        assert row["private greedy"] == pytest.approx(1, abs=0.02)
    assert min(float(str(row["random"])) for row in best) < 0.5
    drawn(found)


def test_features_of_made_tables_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(features, "find_spec", lambda _: None)
    monkeypatch.setattr(features, "_EPSILONS", (1.0,))
    found = features.features(Run(quick=True))
    assert set(found.column("table")) == {"made"}


def test_made_spread_is_k_submodular() -> None:
    f = topics.spread(12, 4, seed=3)
    assert check(f).passed
    assert f.value([(e, 0) for e in range(4)]) <= 12 * 2**f.scale_bits


def test_topics_count_gains_and_approach_greedy(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = topics.spread
    monkeypatch.setattr(topics, "spread", lambda n, m, *, seed: plain(n // 4, m, seed=seed))
    found = topics.topics(Run(quick=True))
    gains = {(row["epsilon"], row["method"]): row["gains in a run"] for row in found.rows}
    assert gains[0.1, "Algorithm 3"] == sum(3 * (150 - t) for t in range(15))
    assert gains[0.1, "random"] == 0
    lazy, eager, sampled = (
        float(str(gains[4.0, name]))
        for name in ("Algorithm 3, lazily", "Algorithm 3", "Algorithm 4")
    )
    assert lazy < sampled < eager
    shares = [
        float(str(row["share of greedy"])) for row in found.rows if row["method"] == "subsampled"
    ]
    assert shares[0] < shares[-1] <= 1.02
    drawn(found)


def test_means_are_of_true_values() -> None:
    f = Coverage([[True, False]] * 3)
    assert mean_value(f, UniformMatroid(2, 1), Greedy(), None, runs=2, seed=1) == Mean(3, 0)
    blind = mean_value(
        f, UniformMatroid(2, 1), RandomBase(), PureDP(1, "add-remove-one"), runs=60, seed=1
    )
    assert 0.8 < blind.value < 2.2
    assert blind.error == pytest.approx((blind.value * (3 - blind.value) / 60) ** 0.5)
