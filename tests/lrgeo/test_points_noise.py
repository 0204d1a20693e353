"""One noise for every point: the theorem in fractions, the exact draw, tables that are refused, the names."""

from __future__ import annotations

import copy
import itertools
import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from discreet import verify as verify_any
from discreet.artefact import load_points, save_mechanism
from discreet.artefact.judging import judge
from discreet.artefact.mechanism import NOISE_MECHANISM
from discreet.artefact.reader import zip_kind
from discreet.core.calculus import compose
from discreet.core.certificate import Certificate, Check
from discreet.core.errors import CertificateError, InvalidProblemError, LimitReachedError
from discreet.core.exact import exp_floor
from discreet.core.guarantee import MetricDP, PointScope
from discreet.core.outcome import Provenance
from discreet.core.randomness.bits import SeededBits
from discreet.lrgeo import Client, LatticeDesign, PointClient, Region, design
from discreet.lrgeo.mechanism import text_digest
from discreet.lrgeo.messages import mechanism_from
from discreet.lrgeo.points.frame import PointFrame, region_digest
from discreet.lrgeo.points.net import ControlNet
from discreet.lrgeo.points.noise import NoiseMechanism
from discreet.lrgeo.points.noise_design import NoiseDesign
from discreet.lrgeo.points.noise_table import noise_table
from discreet.lrgeo.points.renaming import _around, _everywhere, renamed
from discreet.lrgeo.points.verify import verify
from discreet.metricdp import Problem

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

PASSED = Certificate((Check("made by hand", 0, 0, exact=True),))
PROVENANCE = Provenance("by hand", {}, (), ())


def by_hand(
    noise: Any,
    names: Any,
    *,
    epsilon: Fraction,
    side: int = 10_000,
    cells: tuple[int, int] = (2, 1),
) -> NoiseMechanism:
    """A mechanism over cells of a kilometer; nothing was verified of it."""
    noise, names = np.array(noise, dtype=np.int64), np.array(names, dtype=np.int64)
    frame, net = PointFrame.plain("km"), ControlNet((0, 0), side, cells, reach=5_000)
    reports = np.arange(2 * (int(names.max()) + 1)).reshape(-1, 2) * 1_000
    bits = int(noise.sum()).bit_length() - 1
    claim = MetricDP(epsilon, "km", scope=PointScope(region_digest(frame, net.corners, net.reach)))
    shown = tuple(frame.shown(reports))
    return NoiseMechanism(
        frame=frame,
        net=net,
        noise=noise,
        names=names,
        reports=reports,
        shown=shown,
        bits=bits,
        guarantee=claim,
        certificate=PASSED,
        lower=None,
        upper=None,
        provenance=PROVENANCE,
    )


def summing(table: NDArray[np.int64]) -> NDArray[np.int64]:
    """Scale to a sum of 2^40, what is missing given to all alike."""
    scaled = table.astype(object) * (1 << 40) // int(table.sum())
    each, rest = divmod((1 << 40) - int(scaled.sum()), table.size)
    scaled = scaled + each
    scaled[0, 0] += rest
    return scaled.astype(np.int64)


def steepest(noise: NDArray[np.int64]) -> Fraction:
    """The least square of rho with which the condition holds, by the statement of the theorem, node by node."""
    m, n = noise.shape
    worst = Fraction(0)
    for a, b in itertools.product(range(m), range(n)):
        c = [[int(noise[(a + i) % m, (b + j) % n]) for j in range(3)] for i in range(3)]
        along = [[(row[0] + row[1], 2 * (row[1] - row[0])) for row in c]]
        along.append([(2 * row[1], row[2] - row[0]) for row in c])
        for (v0, s0), (v1, s1), (v2, s2) in along:
            for value, east, north in (
                (v0 + v1, 2 * (v1 - v0), s0 + s1),
                (2 * v1, v2 - v0, 2 * s1),
            ):
                worst = max(worst, Fraction(east**2 + north**2, value**2))
            del s2
    return worst


def root_up(square: Fraction) -> Fraction:
    scale = 10**12
    return Fraction(math.isqrt(int(square * scale * scale)) + 1, scale)


def keeps(
    mechanism: NoiseMechanism, p: tuple[Fraction, Fraction], q: tuple[Fraction, Fraction]
) -> bool:
    """Whether no report is more than e^(epsilon d) times likelier: in rationals, d rounded down."""
    laws = [mechanism.law(tuple(str(float(x)) for x in point)) for point in (p, q)]
    squared = sum((a - b) ** 2 for a, b in zip(p, q, strict=True))
    scale = 10**30
    far = Fraction(math.isqrt(int(squared * scale * scale)), scale)
    most = exp_floor(mechanism.guarantee.epsilon * far, 120) + 1
    return all(max(a, b) * 2**120 <= most * min(a, b) for a, b in zip(*laws, strict=True))


tables = st.lists(st.integers(20, 60), min_size=20, max_size=20).map(
    lambda some: summing(np.array(some).reshape(5, 4))
)
sixteenths = st.integers(0, 32).map(lambda k: Fraction(k, 16))


@settings(max_examples=60, deadline=None)
@given(tables, st.lists(st.tuples(sixteenths, sixteenths), min_size=6, max_size=6))
def test_the_condition_bounds_the_loss_between_any_two_points(
    noise: NDArray[np.int64], points: list[tuple[Fraction, Fraction]]
) -> None:
    """Any table at all, with the epsilon that its own steepest coefficient asks for."""
    square = steepest(noise)
    assume(square > Fraction(1, 10**6))
    epsilon = root_up(square)
    mechanism = by_hand(noise, np.arange(20).reshape(5, 4), epsilon=epsilon)
    assert verify(mechanism.claimed()).passed
    less = by_hand(noise, np.zeros((5, 4)), epsilon=epsilon * Fraction(999, 1000))
    assert [c.name for c in verify(less.claimed()).checks if not c.passed] == [
        "inequalities violated"
    ]
    inside = [(x, min(y, Fraction(1))) for x, y in points]
    for p, q in itertools.pairwise(inside):
        assert keeps(mechanism, p, q)


def test_a_slope_beyond_what_is_claimed_shows_between_two_points() -> None:
    """Along one axis a coefficient in the middle of a cell is nearly a value: too steep a table breaks the promise."""
    steep = np.full((40, 4), 1)
    steep *= (2.0 ** (20 - np.minimum(np.arange(40), 40 - np.arange(40)))).astype(int)[:, None]
    mechanism = by_hand(summing(steep), np.arange(160).reshape(40, 4), epsilon=Fraction(1, 2))
    assert not verify(mechanism.claimed()).passed
    assert not keeps(
        mechanism, (Fraction(9, 10), Fraction(1, 2)), (Fraction(11, 10), Fraction(1, 2))
    )


@pytest.mark.parametrize(
    "rho", [Fraction(1, 64), Fraction(1, 8), Fraction(3, 7), Fraction(1), Fraction(3)]
)
@pytest.mark.parametrize("shape", [(4, 4), (5, 37), (120, 64)])
def test_noise_keeps_its_condition_and_nearly_nothing_is_left(
    rho: Fraction, shape: tuple[int, int]
) -> None:
    noise = noise_table(rho, shape)
    cells = (1, 1)
    made = by_hand(noise, np.zeros(shape), epsilon=rho, cells=cells)
    assert made.bits == 53
    assert verify(made.claimed()).passed
    if min(shape) > 20:
        less = by_hand(noise, np.zeros(shape), epsilon=rho * Fraction(9999, 10000), cells=cells)
        assert not verify(less.claimed()).passed


class Scripted:
    """A source that gives one sequence of draws, and knows what it was asked for."""

    def __init__(self, draws: tuple[int, ...] = ()) -> None:
        self.left = list(draws)
        self.asked: list[int] = []

    def randrange(self, stop: int, /) -> int:
        self.asked.append(stop)
        return self.left.pop(0) if self.left else 0

    def randranges(self, stop: int, size: int) -> Any:
        raise AssertionError


@pytest.mark.parametrize("point", [("0.5", "0.25"), ("1", "0"), ("2", "1"), ("1.25", "0.75")])
def test_the_law_of_the_draw_is_that_which_is_stated(point: tuple[str, str]) -> None:
    """All sequences of draws are run through the client's code."""
    noise = [[2, 1, 1], [1, 0, 1], [1, 1, 0], [3, 2, 3]]
    mechanism = by_hand(noise, np.arange(12).reshape(4, 3) % 5, epsilon=Fraction(9))
    probe = Scripted()
    mechanism.draw(point, probe)
    counts: Counter[int] = Counter()
    for draws in itertools.product(*map(range, probe.asked)):
        counts[mechanism.draw(point, Scripted(draws))] += 1
    whole = math.prod(probe.asked)
    assert [Fraction(counts[k], whole) for k in range(5)] == mechanism.law(point)
    assert sum(mechanism.law(point)) == 1


@given(st.fractions(-1, 4), st.fractions(-1, 3))
def test_weights_are_those_of_the_spline_and_points_outside_are_projected(
    x: Fraction, y: Fraction
) -> None:
    net = ControlNet((0, 0), 1, (3, 2), reach=2)
    spot = net.find((x, y))
    assert spot == net.find(
        (min(max(x, Fraction(0)), Fraction(3)), min(max(y, Fraction(0)), Fraction(2)))
    )
    for at, first, weights, most in (
        (x, spot.column, spot.across, 3),
        (y, spot.row, spot.along, 2),
    ):
        inside = min(max(at, Fraction(0)), Fraction(most))
        assert 0 <= first < most
        assert min(weights) >= 0
        assert math.gcd(*weights) == 1
        # A spline of degree two is right about lines: control point i stands at i - 1/2.
        mean = sum(w * (first + k - Fraction(1, 2)) for k, w in enumerate(weights)) / sum(weights)
        assert mean == inside


def test_a_point_beyond_the_reach_is_refused_and_not_told() -> None:
    mechanism = small()
    with pytest.raises(InvalidProblemError) as refused:
        mechanism.draw(("17.25", "0.3"))
    assert "17" not in str(refused.value)
    assert mechanism.law(("-0.1", "0.5")) == mechanism.law(("0.25", "0.5"))


@cache
def small() -> NoiseMechanism:
    """Nine reports, a quarter nat a cell."""
    region = Region.from_grid(3, 3, cell="0.5", unit="km")
    return design(region, MetricDP(2, "km"), method="noise", spacing="0.125").published()


def test_a_design_keeps_its_promise_between_points() -> None:
    mechanism, chance = small(), np.random.default_rng(8)
    for _ in range(60):
        p = [Fraction(int(k), 1 << 20) for k in chance.integers(1 << 18, 5 << 18, 2)]
        step = int(2 ** chance.uniform(0, 19))
        q = [x + Fraction(int(chance.integers(-step, step + 1)), 1 << 20) for x in p]
        q = [min(max(x, Fraction(1, 4)), Fraction(5, 4)) for x in q]
        if p != q:
            assert keeps(mechanism, (p[0], p[1]), (q[0], q[1]))


def sealed(data: dict[str, Any]) -> dict[str, Any]:
    plain = {name: value for name, value in data.items() if name != "digest"}
    return {**plain, "digest": text_digest(plain)}


def test_a_file_comes_back_and_one_bit_more_does_not(tmp_path: Path) -> None:
    path = tmp_path / "a.mechanism"
    save_mechanism(small(), path)
    assert zip_kind(path) == NOISE_MECHANISM
    again = load_points(path)
    assert isinstance(again, NoiseMechanism)
    assert again.digest == small().digest
    assert again.law(("0.3", "0.4")) == small().law(("0.3", "0.4"))
    assert isinstance(mechanism_from(small().to_dict()), NoiseMechanism)
    certificate, facts = judge(path)
    assert certificate.passed
    assert facts["kind"] == NOISE_MECHANISM
    assert verify_any(small()).passed
    body = bytearray(path.read_bytes())
    body[len(body) // 2] ^= 1
    path.write_bytes(bytes(body))
    with pytest.raises(InvalidProblemError):
        load_points(path)


def moved(by: int, where: tuple[int, int] = (0, 0)) -> Any:
    def change(mechanism: NoiseMechanism) -> NoiseMechanism:
        noise = mechanism.noise.copy()
        noise[where] += by
        noise[-1, -1] -= by
        return replace(mechanism, noise=noise)

    return change


def renamed_to(name: int) -> Any:
    def change(mechanism: NoiseMechanism) -> NoiseMechanism:
        names = mechanism.names.copy()
        names[3, 4] = name
        return replace(mechanism, names=names)

    return change


def with_net(**changes: Any) -> Any:
    return lambda mechanism: replace(mechanism, net=replace(mechanism.net, **changes))


def with_noise(change: Any) -> Any:
    return lambda mechanism: replace(mechanism, noise=change(mechanism.noise.copy()))


def zeroed(noise: NDArray[np.int64]) -> NDArray[np.int64]:
    noise[0, 0] += noise[5, 5]
    noise[5, 5] = 0
    return noise


def turned(mechanism: NoiseMechanism) -> NoiseMechanism:
    """Columns and rows exchanged where they are not alike."""
    return replace(
        mechanism, noise=mechanism.noise[:, :9].copy(), names=mechanism.names[:, :9].copy()
    )


FORGED = {
    "an entry raised": (moved(1 << 42), "inequalities violated"),
    "an entry lowered": (moved(-(1 << 42)), "inequalities violated"),
    "far away": (moved(1 << 34, (30, 30)), "inequalities violated"),
    "a zero beside positive ones": (with_noise(zeroed), "inequalities violated"),
    "the sum off by one": (
        with_noise(lambda w: w + (np.arange(w.size) == 7).reshape(w.shape)),
        "sums off",
    ),
    "a negative entry": (with_noise(lambda w: np.where(w == w.min(), -w, w)), "negative noise"),
    "bits": (lambda made: replace(made, bits=made.bits - 1), "sums off"),
    "a name too many": (renamed_to(9), "names of no report"),
    "a name below zero": (renamed_to(-1), "names of no report"),
    "a finer net": (with_net(side=1_240), "inequalities violated"),
    "another box": (with_net(low=(2_500, 2_501)), "another region than stated"),
    "fewer cells": (with_net(cells=(8, 7)), "another region than stated"),
    "a torus too narrow": (turned, "control points that share a node"),
    "another epsilon": (
        lambda made: replace(made, guarantee=replace(made.guarantee, epsilon=Fraction("1.99"))),
        "inequalities violated",
    ),
    "a reach too far": (with_net(reach=(1 << 30) - 1), "another region than stated"),
}


@pytest.mark.parametrize("name", FORGED)
def test_what_is_forged_is_refused(name: str) -> None:
    forge, said = FORGED[name]
    forged = forge(small())
    failed = [check.name for check in verify(forged.claimed()).checks if not check.passed]
    assert said in failed
    with pytest.raises(CertificateError):
        PointClient(forged)


@pytest.mark.parametrize(
    "change",
    [
        {"bits": True},
        {"side": 1250.0},
        {"cells": [8]},
        {"torus": [148, 147]},
        {"torus": [1 << 12, 1 << 11]},
        {"low": ["2500", 2500]},
        {"version": 2},
        {"east": 1},
        {"lower": "nan"},
        {"shown": [["0.25", "0.25"]] * 9},
    ],
)
def test_what_is_no_mechanism_is_not_read(change: dict[str, Any]) -> None:
    assert NoiseMechanism.from_dict(small().to_dict()).digest == small().digest
    with pytest.raises(InvalidProblemError):
        NoiseMechanism.from_dict(sealed({**small().to_dict(), **change}))


def test_names_are_the_best_whichever_way_they_are_found() -> None:
    """The few candidates of a large torus against all reports at all nodes, with places anywhere in their cells."""
    chance = np.random.default_rng(2)
    noise = noise_table(Fraction(1, 4), (32, 28))
    first = chance.integers(0, 12, (10, 2))
    t = chance.random((10, 2, 1))
    parts = np.concatenate([(1 - t) ** 2 / 2, 0.5 + t - t * t, t * t / 2], axis=2)
    away = np.hypot(*(first[:, None] - first).transpose(2, 0, 1))
    cost = chance.dirichlet(np.ones(10))[:, None] * away
    every = _everywhere(noise.astype(float), first, parts, cost)
    few = _around(noise.astype(float), first, parts, cost, threads=2)
    assert every.loss <= few.loss * (1 + 1e-12)
    assert few.loss < every.loss * 1.002
    slow = 0.0
    for zx, zy in itertools.product(range(32), range(28)):
        likely = [
            sum(
                parts[p, 0, i]
                * parts[p, 1, j]
                * noise[(zx - first[p, 0] - i) % 32, (zy - first[p, 1] - j) % 28]
                for i, j in itertools.product(range(3), range(3))
            )
            for p in range(10)
        ]
        costs = np.array(likely) @ cost
        assert costs[every.names[zx, zy]] == pytest.approx(costs.min())
        slow += costs[few.names[zx, zy]]
    assert few.loss == pytest.approx(slow)
    # Places that lie alike in their cells take another way to the same numbers.
    alike = np.broadcast_to(parts[:1], parts.shape)
    assert renamed(noise, first, alike, cost).loss == pytest.approx(
        _everywhere(noise.astype(float), first, alike, cost).loss
    )


def test_what_is_lost_is_what_is_stated() -> None:
    """The expected loss by the exact laws of all places."""
    region = Region.from_grid(3, 3, cell="0.5", unit="km")
    prior = np.arange(1, 10) / 45
    made = design(region, MetricDP(2, "km"), method="noise", prior=prior, targets=[0, 5])
    problem = Problem(region.space, utility_loss=_travel(region), prior=prior)
    mechanism = made.published()
    lost = sum(
        float(prior[p]) * float(q) * problem.loss[p, k]
        for p in range(9)
        for k, q in enumerate(mechanism.law(mechanism.shown[p]))
    )
    assert made.upper == pytest.approx(lost, rel=1e-9)
    assert made.upper is not None
    assert made.upper >= lost * (1 - 1e-12)


def _travel(region: Region) -> NDArray[np.float64]:
    from discreet.lrgeo.problem import travel_loss

    return travel_loss(region.travel, [0, 5], None)


def test_the_default_takes_whichever_loses_less() -> None:
    tiny = Region.from_grid(2, 2, cell="0.5", unit="km")
    noise = design(tiny, MetricDP(2, "km"), method="noise")
    table = design(tiny, MetricDP(2, "km"), method="table")
    made = design(tiny, MetricDP(2, "km"))
    assert isinstance(made, LatticeDesign)
    losses = [one.upper or 0.0 for one in (made, table, noise)]
    assert losses[0] == losses[1] < losses[2]
    some = design(Region.from_grid(8, 8, cell="0.5", unit="km"), MetricDP(1, "km"))
    assert isinstance(some, LatticeDesign)
    # 1.163 of noise, 1.209 of the mesh, 1.2545 of the first prototype, 1.139 of places alone.
    assert some.upper is not None
    assert some.upper < 1.15
    # A table of more weights than are tried.
    wide = design(Region.from_grid(24, 24, cell="0.5", unit="km"), MetricDP(1, "km"))
    assert isinstance(wide, NoiseDesign)
    assert wide.provenance.method == "noise, reports renamed"


def test_the_gap_is_to_all_mechanisms() -> None:
    region = Region.from_grid(4, 4, cell="0.5", unit="km")
    made = design(region, MetricDP(1, "km"), method="noise", gap=0.2)
    assert made.status == "gap reached"
    assert made.lower is not None
    alone = design(region, MetricDP(1, "km"), scope="places", gap=0.01)
    assert alone.upper is not None
    assert made.upper is not None
    assert made.lower <= alone.upper <= made.upper
    with pytest.raises(LimitReachedError) as missed:
        design(region, MetricDP(1, "km"), method="noise", gap=1e-4)
    best: Any = missed.value.best
    assert best.status == "limit reached"
    # Meshes are read and no longer designed.
    for wrong in ("nosie", "mesh"):
        stated: Any = wrong
        with pytest.raises(InvalidProblemError, match="noise, table"):
            design(region, MetricDP(1, "km"), method=stated)


def test_the_same_input_gives_the_same_noise() -> None:
    region = Region.from_grid(3, 3, cell="0.5", unit="km")
    again = design(region, MetricDP(2, "km"), method="noise", spacing="0.125", threads=2)
    assert again.published().digest == small().digest
    assert small().draw((0.3, 0.4), SeededBits(3)) == small().draw(("0.3", "0.4"), SeededBits(3))
    assert compose(again.guarantee, small().guarantee).epsilon == 4


@pytest.mark.parametrize(
    ("region", "spacing", "said"),
    [
        (Region.from_grid(1, 5, cell="0.5", unit="km"), None, "places on a line"),
        (Region.from_grid(3, 3, cell="0.5", unit="km"), "0.00001", "a decimeter"),
        (Region.from_grid(3, 3, cell="0.5", unit="km"), "0.001", "nodes"),
        (Region.from_grid(3, 3, cell="1000", unit="km"), None, "nodes"),
    ],
)
def test_regions_that_have_no_net_are_refused(
    region: Region, spacing: str | None, said: str
) -> None:
    with pytest.raises(InvalidProblemError, match=said):
        design(region, MetricDP(2, "km"), method="noise", spacing=spacing)


def test_the_client_of_a_design_is_that_of_its_promise() -> None:
    region = Region.from_grid(3, 3, cell="0.5", unit="km")
    made = design(region, MetricDP(2, "km"))
    client: Any = Client(made, accepts=MetricDP(2, "km"))
    assert isinstance(client, PointClient)
    assert client.report(("0.3", "0.7")) in [region.where(k) for k in range(9)]
    with pytest.raises(CertificateError, match="between any two points"):
        Client(made, accepts=MetricDP(1, "km"))
    with pytest.raises(InvalidProblemError, match="the one that was verified"):
        Client(made.published(), verified_digest="0" * 64)
    places = Client(design(region, MetricDP(2, "km"), gap=0.5, scope="places"))
    assert type(places) is Client
    assert repr(copy.copy(places)) == repr(places)


def test_a_region_on_the_sphere_and_one_that_is_long_and_thin() -> None:
    globe = Region.from_grid(3, 4, cell="2", unit="km", origin=(62.0, 179.98))
    made = design(globe, MetricDP("0.5", "km"), method="noise")
    assert verify(made.claimed()).passed
    client = PointClient(made, accepts=MetricDP("0.5", "km"))
    found = client.report(globe.where(5))
    assert any(found == pytest.approx(globe.where(k), abs=1e-6) for k in range(12))
    thin = design(Region.from_grid(2, 60, cell="0.5", unit="km"), MetricDP(1, "km"), method="noise")
    assert verify(thin.claimed()).passed
    assert thin.noise.shape[0] != thin.noise.shape[1]
