"""Mechanisms for grids: seconds to a verified mechanism, loss, bytes, seconds of a client's row.

Times are processor seconds of one thread: set ``OPENBLAS_NUM_THREADS=1``. Losses are in cells, since the cell is 1 km.
With ``--gap`` a lower bound is proved as well. ``--points`` makes mechanisms for every point, beside those for
places. ``--data`` takes a folder with ``nodes_rome.csv`` and ``roma_edges.csv``, as OSMnx writes them, and
``rome_cell_node_40x40.csv``, a junction in each cell of a larger part (``y,x``); none of them is held here.

    python benchmarks/lrgeo_design.py [--full] [--gap 0.05] [--city] [--points] [--data FOLDER]
"""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.guarantee import MetricDP
from discreet.datasets.city import made_city
from discreet.lrgeo import Client, Mechanism, PointClient, Region, design, verify
from discreet.lrgeo.mechanism import canonical
from discreet.lrgeo.places.plane import cosine_for, sphere_to_plane
from discreet.lrgeo.points.verify import verify as verify_points

if TYPE_CHECKING:
    from numpy.typing import NDArray

LOSSES = {(10, "0.5"): 2.5940, (10, "1"): 1.5628, (20, "0.5"): 3.2961, (20, "1"): 1.7286}
"""What must not grow, in km."""


def one(size: int, epsilon: str, gap: float | None) -> None:
    """Design, verify again, publish, read, draw, print."""
    region = Region.from_grid(size, size, cell=1, unit="km", origin=(41.8, 12.4))
    guarantee = MetricDP(epsilon, "km")
    begun = time.process_time()
    made = design(region, guarantee, gap=gap, throw=False, scope="places")
    designed = time.process_time()
    assert made.upper is not None
    assert verify(made.channel, guarantee).passed
    assert made.upper <= 1.001 * LOSSES.get((size, epsilon), np.inf)
    mechanism = Mechanism.from_design(made, region)
    text = canonical(mechanism.to_dict())
    assert len(text) <= 200_000
    client = Client(Mechanism.from_dict(mechanism.to_dict()), verified_digest=mechanism.digest)
    client.report(region.where(0))
    drawn = []
    for place in range(0, region.K, max(1, region.K // 50)):
        start = time.process_time()
        client.report(region.where(place))
        drawn.append(time.process_time() - start)
    bound = "" if made.gap is None else f", gap {made.gap:.1%}"
    print(
        f"K={region.K:5d} epsilon {epsilon:4s}: loss {made.upper:.4f}{bound}, {designed - begun:.1f} s,"
        f" {len(text) / 1000:.0f} kB, a report {1000 * np.median(drawn):.2f} ms",
        flush=True,
    )


def city() -> None:
    """Tails for 10^5 cells: one set of scales for all pairs."""
    region = Region.from_grid(316, 317, cell=1, unit="km")
    begun = time.process_time()
    made = design(region, MetricDP("0.5", "km"), scope="places")
    designed = time.process_time()
    assert made.certificate.passed
    made.channel.report(50_000)
    drawn = time.process_time()
    print(
        f"K={region.K} tails: share of totals {made.totals_share}, {designed - begun:.1f} s,"
        f" first report {1000 * (drawn - designed):.0f} ms",
        flush=True,
    )


def drawn_ms(client: Client | PointClient, region: Region, count: int = 1_000) -> float:
    """Milliseconds a report, over points anywhere between the places, after one that makes what all use."""
    rng = np.random.default_rng(11)
    shown = np.array([region.where(place) for place in range(region.K)])
    low, high = shown.min(axis=0), shown.max(axis=0)
    points = [
        (float(x), float(y)) for x, y in np.round(rng.uniform(low, high, (count, 2)), 7).tolist()
    ]
    client.report(points[0])
    begun = time.process_time()
    for point in points:
        client.report(point)
    return 1_000 * (time.process_time() - begun) / count


def every_point(
    name: str,
    region: Region,
    epsilon: str,
    limit: float | None,
    *,
    spacing: str | None = None,
    prior: NDArray[np.float64] | None = None,
    beside: bool = False,
) -> None:
    """Design for every point, verify again, publish, draw, maybe beside one for places, and print."""
    guarantee = MetricDP(epsilon, region.unit)
    begun = time.process_time()
    made = design(region, guarantee, time_limit=limit, spacing=spacing, prior=prior)
    designed = time.process_time()
    mechanism = made.published()
    assert verify_points(mechanism.claimed()).passed
    verified = time.process_time()
    size = len(canonical(mechanism.to_dict()))
    assert made.upper is not None
    assert size < 6_000_000
    parts = ", ".join(f"{count} {what}" for what, count in mechanism.sizes.items())
    drawn = drawn_ms(PointClient(mechanism, verified_digest=mechanism.digest), region)
    # A draw from a table of 100,000 control points may take ten milliseconds.
    assert drawn < 10
    print(
        f"{name}: {parts}, epsilon {epsilon}: loss {made.upper:.4f}, {designed - begun:.1f} s, verified again in"
        f" {verified - designed:.2f} s, {size / 1e6:.2f} MB, a report {drawn:.3f} ms",
        flush=True,
    )
    if not beside:
        return
    begun = time.process_time()
    alone = design(region, guarantee, prior=prior, scope="places")
    assert alone.upper is not None
    print(
        f"{name}: places alone lose {alone.upper:.4f}, so that every point costs {made.upper / alone.upper:.3f} times"
        f" as much; {time.process_time() - begun:.1f} s",
        flush=True,
    )


def points(limit: float | None, *, full: bool) -> None:
    """Grids, and what designs were not tuned on: skewed priors, thin regions, clustered places, roads."""
    for size, cell, epsilon in (
        (8, "0.5", "1"),
        (14, "0.7", "1.5"),
        (20, "0.5", "1"),
        *([(40, "0.5", "2")] if full else []),
    ):
        region = Region.from_grid(size, size, cell=cell, unit="km")
        every_point(f"grid of {size} x {size}", region, epsilon, limit, beside=True)
    chance = np.random.default_rng(77)
    for size, epsilon, spread in ((12, "1", 0.5), (10, "2", 0.1), (16, "0.7", 0.2)):
        region = Region.from_grid(size, size, cell="0.5", unit="km")
        prior = chance.dirichlet(np.full(size * size, spread))
        name = f"people in few of {size} x {size}"
        every_point(name, region, epsilon, limit, prior=prior, beside=True)
    thin = Region.from_grid(3, 90, cell="0.4", unit="km")
    every_point("long and thin", thin, "1.5", limit, beside=True)
    middles = chance.uniform(0, 120_000, (6, 2))
    spots = np.concatenate([middle + chance.normal(0, 4_000, (40, 2)) for middle in middles])
    clusters = Region(np.unique(np.rint(spots).astype(np.int64), axis=0), None, "km")
    every_point("six clusters of places", clusters, "1", limit, beside=True)
    roads = Region.from_roads(*made_city(seed=4).tables(), spacing="0.25", planar=True)
    every_point("roads of a made city", roads, "2", limit, beside=True)
    wide = Region.from_grid(4, 4, cell="9.9", unit="km")
    every_point("100,000 control points", wide, "1", limit, spacing="0.095")


def rome(data: Path, limit: float | None) -> None:
    """Roads of central Rome, 4 km wide, and 1,331 junctions over 19 km, at 2 per km."""
    nodes, edges, cells = (
        columns(data / name)
        for name in ("nodes_rome.csv", "roma_edges.csv", "rome_cell_node_40x40.csv")
    )
    roads = Region.from_roads(nodes, edges, spacing="0.0938", unit="km")
    every_point("roads of central Rome", roads, "2", limit, beside=True)
    sphere = np.array([cells["y"], cells["x"]], dtype=np.float64).T
    origin = (float(sphere[:, 0].min()), float(sphere[:, 1].min()))
    cosine = cosine_for(sphere[:, 0], float(np.ptp(sphere[:, 1])), unrounded=True)
    plane = np.rint(sphere_to_plane(sphere, origin, cosine)).astype(np.int64)
    wide = Region(plane, origin, "km", None, cosine)
    every_point("junctions of Rome", wide, "2", limit, beside=True)


def columns(path: Path) -> dict[str, list[str]]:
    """Read a table by its header."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {name: [row[name] for row in rows] for name in rows[0]}


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="900 and 1600 places as well")
    parser.add_argument("--city", action="store_true", help="10^5 places")
    parser.add_argument("--gap", type=float, help="prove this relative gap")
    parser.add_argument("--points", action="store_true", help="mechanisms for every point instead")
    parser.add_argument("--data", type=Path, help="a folder of Rome's roads: for every point, too")
    parser.add_argument("--limit", type=float, help="seconds of the clock for each of these")
    chosen = parser.parse_args()
    if chosen.points:
        points(chosen.limit, full=chosen.full)
    if chosen.data is not None:
        rome(chosen.data, chosen.limit)
    if chosen.points or chosen.data is not None:
        return
    for size in (10, 20, 30, 40) if chosen.full else (10, 20):
        for epsilon in ("0.5", "1"):
            one(size, epsilon, chosen.gap)
    if chosen.city:
        city()


if __name__ == "__main__":
    main()
