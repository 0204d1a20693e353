"""Mechanisms for grids: seconds to a verified mechanism, loss, bytes, seconds of a client's row.

Times are processor seconds of one thread: set ``OPENBLAS_NUM_THREADS=1``. Losses are in cells, since the cell is 1 km.
With ``--gap`` a lower bound is proved as well.

    python benchmarks/lrgeo_design.py [--full] [--gap 0.05] [--city]
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from discreet.core.guarantee import MetricDP
from discreet.lrgeo import Client, Mechanism, Region, design, verify
from discreet.lrgeo.mechanism import canonical

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


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="900 and 1600 places as well")
    parser.add_argument("--city", action="store_true", help="10^5 places")
    parser.add_argument("--gap", type=float, help="prove this relative gap")
    chosen = parser.parse_args()
    for size in (10, 20, 30, 40) if chosen.full else (10, 20):
        for epsilon in ("0.5", "1"):
            one(size, epsilon, chosen.gap)
    if chosen.city:
        city()


if __name__ == "__main__":
    main()
