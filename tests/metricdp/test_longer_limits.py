"""A longer time limit never gives a higher loss or a lower bound, by a clock that each look at it moves on."""

from __future__ import annotations

from importlib import import_module
from itertools import count, pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from discreet.core import jit
from discreet.core.guarantee import MetricDP
from discreet.core.spaces.metric import MetricSpace
from discreet.metricdp import Problem, design, verify
from discreet.metricdp.methods.baselines import Exponential, PlanarLaplace
from discreet.metricdp.methods.primal_dual import PrimalDual
from discreet.metricdp.part import (
    Candidate,
    Method,
    Part,
    PartLimits,
    WholeProblem,
    solve_part,
)

_design = import_module("discreet.metricdp.design")
_search = import_module("discreet.metricdp.search")
_primal_dual = import_module("discreet.metricdp.methods.primal_dual")

SECONDS_OF_A_LOOK = 0.004


def plane(n: int, seed: int) -> Problem:
    rng = np.random.default_rng(seed)
    space = MetricSpace.from_points(rng.random((n, 2)) * np.sqrt(n), unit="km")
    return Problem(space, utility_loss="euclidean", prior=rng.dirichlet(np.full(n, 2.0)))


def words(n: int, seed: int) -> Problem:
    """Unit vectors of high dimension: no pair is implied by others."""
    points = np.random.default_rng(seed).normal(size=(n, 40))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    return Problem(MetricSpace.from_points(points, unit="km"), utility_loss="euclidean")


def start_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = count()
    monkeypatch.setattr(
        jit, "time", SimpleNamespace(perf_counter=lambda: SECONDS_OF_A_LOOK * next(looks))
    )


@pytest.mark.parametrize(
    ("problem", "claim"),
    [
        (plane(36, 1), MetricDP("0.7", "km")),
        pytest.param(plane(100, 2), MetricDP("0.7", "km", 2), marks=pytest.mark.slow),
        (words(36, 3), MetricDP(3, "km")),
    ],
    ids=["small", "medium", "words"],
)
def test_longer_limits_give_no_higher_loss_and_no_lower_bound(
    problem: Problem, claim: MetricDP, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_design, "MAX_ROWS_FOR_DIRECT", 0)
    # The program of tails and a hub is stopped by the clock of the system.
    monkeypatch.setattr(_search, "_CHEAP_METHODS", (Exponential(), PlanarLaplace()))
    cheap = design(problem, claim, method=Exponential(), throw=False).upper
    found = []
    for limit in (0.5, 0.7, 0.9, 1, 1.2, 1.4, 1.7, 2, 2.5, 3, 4, 5, 10):
        start_clock(monkeypatch)
        found.append(design(problem, claim, gap=0.0, time_limit=limit, throw=False))
    assert verify(found[-1], optimality=True).passed
    assert found[0].upper <= cheap
    for short, long in pairwise(found):
        assert short.lower is not None
        assert long.lower is not None
        assert long.upper <= short.upper
        assert long.lower >= short.lower
    assert found[-1].upper < cheap


@pytest.mark.parametrize("n", [36, 100])
def test_steps_offer_the_same_whatever_the_limit(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two limits, the offers of the shorter one are the first of the longer one, bit by bit."""
    problem, claim = plane(n, 4), MetricDP("0.6", "km", 2)
    edges, _ = problem.space.adjacency(claim.radius).join(problem.space)
    part = WholeProblem(problem, edges, claim.epsilon).parts[0]

    def offers(limit: float) -> list[Candidate]:
        start_clock(monkeypatch)
        made: list[Candidate] = []

        def keep(candidate: Candidate) -> bool:
            made.append(candidate)
            return False

        last = PrimalDual().solve(part, PartLimits(limit, 1, 0.0, keep))
        assert last is not None
        assert last.matrix is None
        return made

    short, long = offers(2.0), offers(8.0)
    assert 0 < len(short) < len(long)
    assert any(one.matrix is not None for one in short)
    for one, other in zip(short, long, strict=False):
        assert one.parameters == other.parameters
        assert (one.matrix is None) == (other.matrix is None)
        if one.matrix is not None and other.matrix is not None:
            assert (one.matrix == other.matrix).all()
        if one.multipliers is not None and other.multipliers is not None:
            assert (one.multipliers.value == other.multipliers.value).all()


def test_the_first_channel_does_not_wait_for_the_steps_between_offers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where mending takes long, one channel is offered early all the same, and no second one."""
    problem, claim = plane(100, 4), MetricDP("0.6", "km", 2)
    edges, _ = problem.space.adjacency(claim.radius).join(problem.space)
    part = WholeProblem(problem, edges, claim.epsilon).parts[0]
    monkeypatch.setattr(_primal_dual._Run, "_work_of_mending", lambda _: 1e9)
    channels: list[Candidate] = []

    def keep(candidate: Candidate) -> bool:
        if candidate.matrix is not None:
            channels.append(candidate)
        return False

    PrimalDual(iterations=600).solve(part, PartLimits(None, 1, 0.0, keep))
    early, *rest = (one.parameters["iterations"] for one in channels)
    assert early < 200
    assert set(rest) <= {600}


def test_a_cheap_method_runs_once(monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[str] = []

    def note(method: Method, part: Part, limits: PartLimits) -> Candidate | str | None:
        runs.append(type(method).__name__)
        return solve_part(method, part, limits)

    monkeypatch.setattr(_search, "solve_part", note)
    design(plane(36, 4), MetricDP("0.6", "km", 2), gap=0.05)
    assert runs.count("Exponential") == 1
