"""Mechanisms for grids: seconds to a verified mechanism, loss, bytes, seconds of a client's row.

Times are processor seconds of one thread: set ``OPENBLAS_NUM_THREADS=1``. Losses are in cells, since the cell is 1 km.
With ``--gap`` a lower bound is proved as well. ``--points`` makes mechanisms for every point, and draws from them
beside those for places. ``--data`` takes a folder with ``nodes_rome.csv`` and ``roma_edges.csv``, as OSMnx writes them,
and ``rome_cell_node_40x40.csv``, a junction in each cell of a larger part (``y,x``); none of them is held here.

    python benchmarks/lrgeo_design.py [--full] [--gap 0.05] [--city] [--points] [--data FOLDER]
"""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path

import numpy as np

from discreet.core.guarantee import MetricDP
from discreet.lrgeo import Client, Mechanism, PointClient, PointMechanism, Region, design, verify
from discreet.lrgeo.mechanism import canonical
from discreet.lrgeo.places.plane import cosine_for, sphere_to_plane
from discreet.lrgeo.points.verify import verify as verify_points

LOSSES = {(10, "0.5"): 2.5672, (10, "1"): 1.5487, (20, "0.5"): 3.2411, (20, "1"): 1.7203}
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
    beside: bool = False,
) -> None:
    """Design for every point, verify again, publish, draw, maybe beside a mechanism for places, and print."""
    guarantee = MetricDP(epsilon, region.unit)
    begun = time.process_time()
    made = design(region, guarantee, time_limit=limit, spacing=spacing, throw=False)
    designed = time.process_time()
    mechanism = PointMechanism.from_design(made)
    assert verify_points(mechanism.claimed()).passed
    verified = time.process_time()
    size = len(canonical(mechanism.to_dict()))
    print(
        f"{name}: {region.K} places, {made.K} reports, {len(made.mesh.vertices)} vertices, epsilon {epsilon}:"
        f" loss {made.upper:.4f}, gap of the mesh {made.mesh_gap:.1%}, {designed - begun:.1f} s,"
        f" verified again in {verified - designed:.1f} s, {size / 1e6:.1f} MB",
        flush=True,
    )
    drawn = drawn_ms(PointClient(mechanism, verified_digest=mechanism.digest), region)
    if not beside:
        print(f"{name}: a report {drawn:.3f} ms", flush=True)
        return
    # The time of a draw does not depend on what the rows lose: any table for places will do.
    places = Mechanism.from_design(
        design(region, guarantee, method="closed-form", scope="places"), region
    )
    snapped = drawn_ms(Client(places, verified_digest=places.digest), region)
    # A corner is drawn as well: that must cost less than a millisecond more.
    assert drawn < snapped + 1
    print(f"{name}: a report {drawn:.3f} ms, of places only {snapped:.3f} ms", flush=True)


def rome(data: Path, limit: float | None) -> None:
    """Roads of central Rome, 4 km wide, and 1,331 junctions over 19 km, at 2 per km."""
    nodes, edges, cells = (
        columns(data / name)
        for name in ("nodes_rome.csv", "roma_edges.csv", "rome_cell_node_40x40.csv")
    )
    roads = Region.from_roads(nodes, edges, spacing="0.0938", unit="km")
    every_point("roads of central Rome", roads, "2", limit)
    sphere = np.array([cells["y"], cells["x"]], dtype=np.float64).T
    origin = (float(sphere[:, 0].min()), float(sphere[:, 1].min()))
    cosine = cosine_for(sphere[:, 0], float(np.ptp(sphere[:, 1])), margin=1e-5)
    plane = np.rint(sphere_to_plane(sphere, origin, cosine)).astype(np.int64)
    wide = Region(plane, origin, "km", None, cosine)
    every_point("junctions of Rome, spacing .5", wide, "2", limit, spacing="0.5")
    every_point("junctions of Rome, default mesh", wide, "2", limit)


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
        for size in (8, 20) if chosen.full else (8,):
            region = Region.from_grid(size, size, cell="0.5", unit="km", origin=(41.8, 12.4))
            every_point(f"grid of {size} by {size}", region, "2", chosen.limit, beside=True)
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
