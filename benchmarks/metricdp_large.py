"""Very many secrets: what a channel on demand loses, and the lower bound, with CPU seconds and memory.

Square grids of 1 km cells with eight neighbors each, and uniformly random points of unit density, radius 2 km (wider
where that leaves some apart), half a nat a kilometer, a prior of six bumps. The bound is asserted to be positive and
below the loss.

    python benchmarks/metricdp_large.py [--n 10000] [--limit 150] [--kinds grid points] [--seed 1] [--threads 2]
"""

from __future__ import annotations

import argparse
import math
import resource
import secrets
import time

import numpy as np
from run import machine

from discreet.core.guarantee import MetricDP
from discreet.core.spaces.metric import MetricSpace
from discreet.metricdp import tail_channel


def bumpy(points: np.ndarray, seed: int) -> np.ndarray:
    """Make a prior of six bumps with multiplicative noise."""
    rng = np.random.default_rng(seed)
    width = 0.12 * math.sqrt(len(points))
    prior = np.full(len(points), 0.1)
    for _ in range(6):
        square = ((points - points[rng.integers(len(points))]) ** 2).sum(axis=1)
        prior += rng.random() * np.exp(-square / (2 * width**2))
    prior *= rng.gamma(2.0, 0.5, len(points))
    return np.asarray(prior / prior.sum())


def measure(kind: str, n: int, seed: int, limit: float, threads: int) -> str:
    """Design, bound, and say how it went."""
    side = round(math.sqrt(n))
    if kind == "grid":
        space, radius = MetricSpace.grid(side, side, cell=1, unit="km"), 1.5
    else:
        points = np.random.default_rng(seed).random((n, 2)) * math.sqrt(n)
        space, radius = MetricSpace.from_points(points, unit="km"), 2.0
        while int(space.adjacency(str(radius)).components.max()):
            radius += 0.5
    prior = bumpy(np.asarray(space.points), seed)
    wall, processor = time.perf_counter(), time.process_time()
    made = tail_channel(
        space,
        MetricDP("0.5", "km", str(radius)),
        utility_loss="euclidean",
        prior=prior,
        time_limit=limit,
        threads=threads,
    )
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    assert made.bound is not None
    assert made.lower is not None
    assert made.upper is not None
    assert 0 < made.lower <= made.upper
    taken = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    found = made.bound
    return (
        f"{kind:7} {space.n:6d} radius {radius:g}: loss {made.upper:.4f} (share of totals {made.totals_share}), bound"
        f" {made.lower:.4f}, gap {made.gap:.1%}, least loss thought {found.estimate:.4f}, {found.steps} steps on"
        f" tiles of {found.reach:g} nats,"
        f" {wall:.0f} s, {processor:.0f} CPU s, {taken:.1f} GB so far"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=10_000)
    parser.add_argument("--limit", type=float, default=150.0, help="seconds for channel and steps")
    parser.add_argument(
        "--kinds", nargs="+", choices=["grid", "points"], default=["grid", "points"]
    )
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6))
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    print(machine())
    print(f"seed {options.seed}")
    for kind in options.kinds:
        print(measure(kind, options.n, options.seed, options.limit, options.threads), flush=True)


if __name__ == "__main__":
    main()
