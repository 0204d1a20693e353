"""Designs for regions: verified, near the optimum, between bounds; what the public rule tries."""

from __future__ import annotations

from dataclasses import fields
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from discreet.core.errors import (
    CertificateError,
    InvalidProblemError,
    LimitReachedError,
    SolverError,
)
from discreet.core.guarantee import MetricDP, Scope
from discreet.core.progress import Progress
from discreet.lrgeo import Mechanism, Region, RegionDesign, design, travel_loss, verify
from discreet.lrgeo.methods.tails import Tails
from discreet.metricdp import Problem
from discreet.metricdp import design as metric_design

GRID = Region.from_grid(5, 5, cell="0.5", unit="km")


@pytest.mark.parametrize("epsilon", ["1", "2", "4"])
def test_a_design_lies_between_the_bounds_of_the_whole_problem(epsilon: str) -> None:
    made = design(GRID, MetricDP(epsilon, "km"), gap=0.1, scope="places")
    problem = Problem(GRID.space, utility_loss="distance")
    best = metric_design(problem, MetricDP(epsilon, "km"), gap=0.005)
    assert best.lower is not None
    assert made.lower is not None
    assert made.upper is not None
    assert best.lower <= made.upper <= 1.05 * best.upper
    assert made.lower <= best.upper
    assert verify(made.channel, made.guarantee).passed
    assert made.guarantee.radius is None
    assert made.status == "gap reached"


@pytest.mark.parametrize("way", [np.inf, np.nan, -1.0])
def test_travel_that_is_no_distance_is_refused(way: float) -> None:
    with pytest.raises(InvalidProblemError, match=r"travel: expected finite.*at \(0, 1\)"):
        travel_loss(np.array([[0.0, way], [1.0, 0.0]]), [0])


def test_targets_make_another_mechanism_and_the_prior_counts() -> None:
    guarantee = MetricDP(2, "km")
    plain = design(GRID, guarantee, method="tails-and-hub", scope="places")
    aimed = design(
        GRID,
        guarantee,
        targets=[0, 24],
        weights=[0.25, 0.75],
        method="tails-and-hub",
        scope="places",
    )
    assert aimed.problem is not None
    assert np.allclose(aimed.problem.loss, travel_loss(GRID.travel, [0, 24], [0.25, 0.75]))
    assert aimed.channel.digest != plain.channel.digest
    prior = np.zeros(25)
    prior[7] = 1
    sure = design(GRID, guarantee, prior=prior, scope="places")
    assert sure.upper is not None
    assert sure.upper < 1e-6
    assert set(sure.channel.names.tolist()) == {7}


def test_places_on_the_sphere_that_are_no_grid() -> None:
    rng = np.random.default_rng(1)
    places = np.unique(rng.integers(0, 20_000, size=(30, 2)), axis=0)
    region = Region(places, (41.88, 12.46), "km", None, 0.74)
    made = design(region, MetricDP(2, "km"), gap=0.1, scope="places")
    assert verify(made.channel, MetricDP(2, "km")).passed
    assert len(places) == Mechanism.from_design(made, region).region.K


def test_steps_are_told_and_named() -> None:
    told: list[Progress] = []
    made = design(GRID, MetricDP(4, "km"), gap=0.2, on_progress=told.append, scope="places")
    assert [step.stage for step in told] == ["closed-form", "tails", "tails-and-hub", "bound"]
    assert made.provenance.method in {"closed-form", "tails-and-hub"}
    assert len(made.provenance.method_trace) == 4
    assert "25 places" in repr(made)


def test_very_little_time_gives_what_is_verified_by_then() -> None:
    made = design(GRID, MetricDP(4, "km"), time_limit=1e-6, scope="places")
    assert made.certificate.passed
    assert made.provenance.method == "closed-form"


def test_a_gap_that_is_not_reached_comes_with_the_design() -> None:
    with pytest.raises(LimitReachedError) as caught:
        design(GRID, MetricDP(1, "km"), gap=1e-9, time_limit=0.5, scope="places")
    assert isinstance(caught.value.best, RegionDesign)
    assert caught.value.best.certificate.passed
    made = design(GRID, MetricDP(1, "km"), gap=1e-9, time_limit=0.5, throw=False, scope="places")
    assert made.status == "limit reached"


def test_tails_alone_always_work() -> None:
    made = design(GRID, MetricDP(1, "km"), method="tails", scope="places")
    assert made.certificate.passed
    assert len(made.channel.ball) == 0


def test_a_radius_binds_near_pairs_and_says_what_follows_for_all() -> None:
    made = design(GRID, MetricDP(2, "km", "0.5"), method="tails-and-hub", scope="places")
    scope = made.guarantee.scope
    assert isinstance(scope, Scope)
    assert scope.all_pairs_epsilon is not None
    assert scope.all_pairs_epsilon >= 2
    assert verify(made.channel, made.guarantee).passed


def test_very_many_places_have_tails_that_bind_all_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    from discreet.core.spaces import lengths

    monkeypatch.setattr(lengths, "DENSE_LIMIT", 30)
    monkeypatch.setattr(sys.modules["discreet.lrgeo.design"], "MAX_PLACES_FOR_TRIPLES", 30)
    monkeypatch.setattr(sys.modules["discreet.lrgeo.verify"], "MAX_PLACES_FOR_TRIPLES", 30)
    region = Region.from_grid(8, 8, cell="0.5", unit="km")
    made = design(region, MetricDP(1, "km"), scope="places")
    assert made.problem is None
    assert made.upper is None
    assert made.gap is None
    with pytest.raises(LimitReachedError):
        design(region, MetricDP(1, "km"), gap=0.1, scope="places")
    with pytest.raises(InvalidProblemError, match="tails"):
        design(region, MetricDP(1, "km"), method="tails-and-hub", scope="places")
    with pytest.raises(InvalidProblemError, match="5120"):
        design(region, MetricDP(1, "km"), targets=[0], scope="places")
    mechanism = Mechanism.from_design(made)
    assert Mechanism.from_dict(mechanism.to_dict()).digest == mechanism.digest
    assert "64 places" in repr(mechanism)


@pytest.mark.parametrize(
    "more",
    [
        {"guarantee": MetricDP(1, "m")},
        {"guarantee": 1},
        {"gap": 1.0},
        {"time_limit": 0},
        {"method": "magic"},
        {"targets": [25]},
        {"targets": []},
        {"targets": [0.5]},
        {"targets": [0], "weights": [0.5]},
        {"weights": [1.0]},
        {"method": "closed-form", "guarantee": MetricDP("0.5", "km")},
    ],
)
def test_what_makes_no_sense_is_refused(more: dict[str, object]) -> None:
    with pytest.raises(InvalidProblemError):
        design(GRID, **{"guarantee": MetricDP(2, "km"), **more}, scope="places")  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("method", "told"),
    [
        ("closed-from", "got 'closed-from'; the nearest is 'closed-form'"),
        ("magic", "one of closed-form, tails, tails-and-hub, got 'magic'$"),
        (Tails, "got the class Tails; write Tails"),
        (3.5, "got float$"),
    ],
)
def test_another_method_is_refused_with_the_names_that_are_there(method: Any, told: str) -> None:
    with pytest.raises(InvalidProblemError, match=told):
        design(GRID, MetricDP(2, "km"), method=method, scope="places")


def test_names_of_methods_that_earlier_versions_wrote_are_read() -> None:
    for name in ("closed form", "closed_form"):
        assert (
            design(GRID, MetricDP(4, "km"), method=name, scope="places").provenance.method
            == "closed-form"
        )


def test_a_design_and_its_mechanism_have_the_same_fields_and_gap() -> None:
    made = design(GRID, MetricDP(2, "km"), gap=0.5, scope="places")
    mechanism = Mechanism.from_design(made)
    for part in fields(Mechanism):
        assert getattr(mechanism, part.name) is getattr(made, part.name)
    assert mechanism.gap == made.gap is not None


def test_a_method_whose_answer_is_not_private_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug in a candidate is caught by the verifier, never returned."""
    module = import_module("discreet.lrgeo.methods.closed_form")
    honest = module.column_rate
    monkeypatch.setattr(module, "column_rate", lambda guarantee: honest(guarantee) * 2)
    with pytest.raises((CertificateError, InvalidProblemError)):
        design(GRID, MetricDP(4, "km"), method="closed-form", scope="places")


def test_a_solver_that_fails_leaves_the_other_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise SolverError("simplex", "unknown", "")

    monkeypatch.setattr(import_module("discreet.lrgeo.methods.hub"), "best_heights", fails)
    made = design(GRID, MetricDP(1, "km"), scope="places")
    assert made.provenance.method in {"closed-form", "tails"}
    assert any(
        line.startswith("tails-and-hub: there is no") for line in made.provenance.method_trace
    )
