"""Anchored channels of very many secrets: tails alone, designed, verified and sampled without a table.

python benchmarks/metricdp_anchored.py [--full]
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np

from discreet.core.guarantee import MetricDP
from discreet.core.spaces.metric import MetricSpace
from discreet.metricdp import tail_channel


def memory() -> str:
    """Say how much memory the process has taken at most."""
    return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GB"


def tails(space: MetricSpace, radius: str, rounds: int) -> None:
    """Design, verify, sample, print; the loss is that of 40 secrets, exactly."""
    begun = time.process_time()
    made = tail_channel(space, MetricDP("0.5", "km", radius), rounds=rounds)
    designed = time.process_time()
    channel = made.channel
    some = np.random.default_rng(0).choice(space.n, 40, replace=False).tolist()
    channel.report_many(some)
    drawn = time.process_time()
    points, losses = np.asarray(space.points), []
    for i in some:
        weights = channel.row(i)
        away = np.hypot(*(points - points[i]).T)
        losses.append(float((weights * away).sum() / weights.sum()))
    error = np.std(losses) / len(losses) ** 0.5
    assert made.certificate.passed
    print(
        f"{space.metric} N=K={space.n} {made.rounds} rounds: share of totals {made.totals_share},"
        f" loss {np.mean(losses):.3f} +- {error:.3f}, designed and verified in {designed - begun:.1f} s,"
        f" a draw {1000 * (drawn - designed) / len(some):.1f} ms, {memory()}",
        flush=True,
    )


def main() -> None:
    """Run all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="10^6 cells as well")
    chosen = parser.parse_args()
    grid = MetricSpace.grid(316, 317, cell=1, unit="km")
    tails(grid, "1.5", 150)
    tails(grid, "1.5", 0)
    points = np.random.default_rng(0).random((100_000, 2)) * 316
    tails(MetricSpace.from_points(points, unit="km"), "4", 0)
    if chosen.full:
        tails(MetricSpace.grid(1000, 1000, cell=1, unit="km"), "1.5", 100)


if __name__ == "__main__":
    main()
