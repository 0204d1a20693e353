"""Every point: AIPO, planar Laplace noise with renamed reports, and our designs, on one instance."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.guarantee import MetricDP
from discreet.core.randomness import SeededBits
from discreet.core.spaces.metric import MetricSpace
from discreet.datasets.city import made_city
from discreet.evaluate.audit.nets import edge_net_pairs, random_net_pairs
from discreet.evaluate.audit.points import count_broken
from discreet.evaluate.simulate.borders import laws_of
from discreet.lrgeo.design import design as region_design
from discreet.lrgeo.places.region import Region
from discreet.metricdp import Problem, design
from discreet_reproduction.drawing import lines_of
from discreet_reproduction.lrgeo.as_published.aipo import aipo as interpolated
from discreet_reproduction.lrgeo.as_published.remapped_laplace import remapped_laplace
from discreet_reproduction.lrgeo.instances import road_tables
from discreet_reproduction.record import Experiment, numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from discreet.lrgeo.points.published import PublishedPoints
    from discreet_reproduction.record import Cell, Run

    Law = Callable[[NDArray[np.float64]], NDArray[np.float64]]

_PAPER = {0.2: 5.64 / 2.32, 0.6: 3.90 / 1.74, 1.0: 3.18 / 1.73, 1.6: 2.71 / 1.73}
"""AIPO's loss by its own lower bound, Rome: Table 3 of the paper and its Proposition 5."""

_NEAR = 0.001
"""Kilometers between points that are nearly the same: a meter."""

_ROUNDING = 1e-9
"""What floats may err in the log-ratio of a peer."""


@final
@dataclass(frozen=True, eq=False)
class _Instance:
    """Where users are, what may be reported, and what it loses: kilometers."""

    label: str
    points: NDArray[np.float64]
    prior: NDArray[np.float64]

    @property
    def loss(self) -> NDArray[np.float64]:
        """``(P, P)``: how far the report is from the user."""
        return _apart(self.points, self.points)


def aipo(run: Run) -> Experiment:
    """Loss, violations and seconds of AIPO and its rivals between any two points, at equal epsilon."""
    made = _instance(run)
    sample = _pairs(made, 500 if run.quick else 5_000, SeededBits(run.seed + 2))
    rows = [
        row
        for epsilon in ((0.2, 0.6, 1.0, 1.6) if run.quick else np.arange(1, 9) / 5)
        for row in _at(made, round(float(epsilon), 1), sample, run)
    ]
    methods = dict.fromkeys(str(row["method"]) for row in rows)
    return Experiment(
        "lrgeo/aipo",
        "Every point: loss and violations at equal epsilon",
        columns=tuple(rows[0]),
        published=("over the bound (paper)",),
        rows=rows,
        notes=(
            (
                f"{made.label}: {len(made.points)} junctions, each as likely, and each a report, "
                "the straight distance as loss, epsilon per km. The paper's Rome, with losses along roads, is not here."
            ),
            (
                "The bound is for all mechanisms with these reports that are private between junctions: "
                "what is private at every point loses no less."
            ),
            (
                f"Pairs: {len(sample[0]):,} of the rectangle, a third anywhere, a third a meter apart, a third a "
                "meter apart across the middle between two junctions. Violated: a log-ratio above epsilon times the "
                "distance. The paper grants an absolute .01 of probability."
            ),
            (
                "A design on places snaps a point to its nearest junction first: within its promise, which is for "
                "junctions, and without any for points."
            ),
            (
                "Violated, exact: of our own design also pairs across edges of its cells, at corners and on the "
                "outline, in fractions."
            ),
            "Seconds of the processor: for AIPO four programs, without the choice among grids.",
        ),
        settings={"seed": run.seed, "quick": run.quick, "points": len(made.points)},
        panels={
            "Loss by epsilon": partial(_draw, rows, list(methods), "loss"),
            "Largest log-ratio, times what is promised": partial(
                _draw, rows, list(methods), "worst, times"
            ),
        },
    )


def _at(
    made: _Instance,
    epsilon: float,
    sample: tuple[NDArray[np.float64], NDArray[np.float64]],
    run: Run,
) -> Iterator[dict[str, Cell]]:
    """Run all methods at one epsilon."""
    run.say(f"epsilon {epsilon:g} per km")
    loss, begun = made.loss, time.process_time()
    space = MetricSpace.from_points(made.points, metric="euclidean", unit="km")
    problem = Problem(space, utility_loss=loss, prior=made.prior)
    places = design(
        problem,
        MetricDP(str(epsilon), "km"),
        gap=0.02,
        time_limit=60.0 if run.quick else 300.0,
        throw=False,
    )
    seconds = time.process_time() - begun
    laws = places.channel.probabilities
    lower = places.lower or 0.0

    def row(name: str, law: Law, lost: float, seconds: float) -> dict[str, Cell]:
        share, worst = _violations(law, sample, epsilon)
        return {
            "epsilon": epsilon,
            "method": name,
            "loss": lost,
            "over the bound": lost / lower if lower else None,
            "pairs violated": share,
            "worst, times": worst,
            "violated, exact": None,
            "seconds": seconds,
            "over the bound (paper)": _PAPER.get(epsilon) if name == "AIPO" else None,
        }

    yield row(
        "design on places, points snapped",
        lambda spots: laws[_apart(spots, made.points).argmin(axis=1)],
        places.upper,
        seconds,
    )
    begun = time.process_time()
    spots = np.round(made.points * 10_000).astype(np.int64)
    ours = region_design(
        Region(spots, None, "km"),
        MetricDP(str(epsilon), "km"),
        prior=made.prior,
        time_limit=run.limit,
    ).published()
    seconds = time.process_time() - begun
    yield row("design for every point", _law_of(ours), ours.upper or 0.0, seconds) | {
        "violated, exact": _counted(ours, 20_000 if run.quick else 550_000)
    }
    for name, relaxed in (("AIPO", False), ("AIPO-R", True)):
        grids = ((3, 3), (6, 6)) if run.quick else ((3, 3), (6, 6), (10, 10))
        best = min(
            (
                interpolated(made.points, made.prior, loss, epsilon, cells=cells, relaxed=relaxed)
                for cells in grids
            ),
            key=lambda one: one.utility_loss,
        )
        yield row(name, best.law, best.utility_loss, best.seconds)
    begun = time.process_time()
    noise = remapped_laplace(
        made.points, made.prior, loss, epsilon, squares=96 if run.quick else 160
    )
    yield row("planar Laplace, renamed", noise.law, noise.utility_loss, time.process_time() - begun)
    begun = time.process_time()
    law = partial(_exponential, made.points, epsilon)
    lost = float((made.prior[:, None] * loss * law(made.points)).sum())
    yield row("exponential mechanism", law, lost, time.process_time() - begun)


def _law_of(mechanism: PublishedPoints) -> Law:
    """Give the law of points as floats, by the published integers and the client's own location."""
    rows = laws_of(mechanism).weights / 2.0**mechanism.bits

    def law(spots: NDArray[np.float64]) -> NDArray[np.float64]:
        found = [_mixed(mechanism, (repr(x), repr(y))) for x, y in spots.tolist()]
        # The integers of a net have no bound: each is divided as such before it becomes a float.
        shares = [np.array([part / sum(parts) for part in parts]) for _, parts in found]
        laws = [share @ rows[numbers] for share, (numbers, _) in zip(shares, found, strict=True)]
        return np.array(laws)

    return law


def _mixed(mechanism: PublishedPoints, point: tuple[str, str]) -> tuple[list[int], list[int]]:
    """Give the rows that a point mixes, and by which integers."""
    held = mechanism.find(point)
    _, rows = mechanism.net.points
    near = [(i, j) for i in range(3) for j in range(3)]
    return (
        [(held.column + i) * rows + held.row + j for i, j in near],
        [held.across[i] * held.along[j] for i, j in near],
    )


def _counted(mechanism: PublishedPoints, count: int) -> int:
    """Count violations exactly: ten random pairs of points for each one across an edge."""
    laws, near = laws_of(mechanism), count // 11
    return sum(
        count_broken(laws, pairs).violated
        for pairs in (random_net_pairs(laws, count - near), edge_net_pairs(laws, near))
    )


def _exponential(
    reports: NDArray[np.float64], epsilon: float, spots: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Give the exponential mechanism with half the distance as score, at any point."""
    weights = np.exp(-epsilon / 2 * _apart(spots, reports))
    laws: NDArray[np.float64] = weights / weights.sum(axis=1, keepdims=True)
    return laws


def _violations(
    law: Law, sample: tuple[NDArray[np.float64], NDArray[np.float64]], epsilon: float
) -> tuple[float, float]:
    """Give the share of pairs that break the promise, and the largest log-ratio by epsilon times the distance."""
    with np.errstate(divide="ignore", invalid="ignore"):
        nats = np.abs(np.log(law(sample[0])) - np.log(law(sample[1])))
    # Impossible at both points tells nothing.
    most = np.where(np.isnan(nats), 0.0, nats).max(axis=1)
    allowed = epsilon * np.hypot(*(sample[0] - sample[1]).T)
    return float((most > allowed + _ROUNDING).mean()), float((most / allowed).max())


def _pairs(
    made: _Instance, count: int, bits: SeededBits
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Draw pairs of points of the rectangle of the users, a third each: anywhere, near, near across a border."""
    low, high = made.points.min(axis=0), made.points.max(axis=0)

    def anywhere(size: int) -> NDArray[np.float64]:
        drawn = bits.randranges(1 << 40, 2 * size).reshape(size, 2) / 2.0**40
        spots: NDArray[np.float64] = low + (high - low) * drawn
        return spots

    def turned(size: int) -> NDArray[np.float64]:
        angles = 2 * np.pi * bits.randranges(1 << 20, size) / 2.0**20
        return np.stack([np.cos(angles), np.sin(angles)], axis=1)

    spots = anywhere(count)
    # The border of two junctions, near the point where a way from one to a neighbor crosses it.
    order = np.argsort(_apart(made.points, made.points), axis=1)[:, 1:4]
    one = bits.randranges(len(made.points), count).astype(np.int64)
    other = order[one, bits.randranges(3, count).astype(np.int64)]
    middle = (made.points[one] + made.points[other]) / 2
    towards = made.points[other] - made.points[one]
    towards /= np.hypot(*towards.T)[:, None]
    first = np.concatenate([spots, spots, middle - _NEAR / 2 * towards])
    second = np.concatenate(
        [anywhere(count), spots + _NEAR * turned(count), middle + _NEAR / 2 * towards]
    )
    return np.clip(first, low, high), np.clip(second, low, high)


def _instance(run: Run) -> _Instance:
    if run.data is None:
        city = made_city(60 if run.quick else 150, seed=run.seed)
        label, points = "A made city", city.points
    else:
        region = Region.from_roads(
            *road_tables(run.data), spacing="0.5" if run.quick else "0.3", unit="km"
        )
        label, points = "Rome", region.points
    # Spread evenly, as in the paper.
    prior = np.full(len(points), 1 / len(points))
    # To the decimeter, as places are.
    return _Instance(label, np.round(points, 4), prior)


def _apart(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    apart: NDArray[np.float64] = np.hypot(*(one[:, None] - other).transpose(2, 0, 1))
    return apart


def _draw(rows: list[dict[str, Cell]], names: list[str], what: str, axes: Axes) -> None:
    held = {name: [row for row in rows if row["method"] == name] for name in names}
    lines_of(
        {name: (numbers(some, "epsilon"), numbers(some, what)) for name, some in held.items()},
        "epsilon, per km",
        what,
        axes,
    )
