"""Anchored channels: the program of balls and tails for moderate numbers of secrets, tails alone for very many.

The first table solves the anchored program on grids of unit cells with 8 neighbors and a skewed prior of six bumps,
repairs and verifies its answer, and prints the loss; ``--bounds`` sets the proven optimum of the small ones beside it.
The second designs, verifies and samples channels that are never written down.

Times are processor seconds of one thread: set ``OPENBLAS_NUM_THREADS=1``.

    python benchmarks/metricdp_anchored.py [--full] [--bounds]
"""

from __future__ import annotations

import argparse
import resource
import time
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.core.guarantee import MetricDP
from discreet.core.spaces.metric import MetricSpace
from discreet.metricdp import Problem, design
from discreet.metricdp.bounds.repair import repair
from discreet.metricdp.bounds.tails import tail_channel
from discreet.metricdp.methods.anchored import Anchored
from discreet.metricdp.part import PartLimits, WholeProblem
from discreet.metricdp.verify import verify_channel


def lumpy(size: int, seed: int = 0) -> NDArray[np.float64]:
    """Make a prior of six bumps with multiplicative noise: neighbors differ a hundredfold."""
    rng = np.random.default_rng(seed)
    cells = np.array([(row, column) for row in range(size) for column in range(size)], dtype=float)
    prior = np.full(len(cells), 0.1)
    for _ in range(6):
        center = cells[rng.integers(len(cells))]
        square = ((cells - center) ** 2).sum(axis=1)
        prior += rng.random() * np.exp(-square / (2 * (0.12 * (size - 1)) ** 2))
    prior *= rng.gamma(2.0, 0.5, len(cells))
    return np.asarray(prior / prior.sum())


def memory() -> str:
    """Say how much memory the process has taken at most."""
    return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GB"


def program(size: int, epsilon: str, radius: float, *, bounds: bool) -> None:
    """Solve, repair, verify, print."""
    problem = Problem(
        MetricSpace.grid(size, size, cell=1, unit="km"),
        utility_loss="euclidean",
        prior=lumpy(size),
    )
    guarantee = MetricDP(epsilon, "km", "1.5")
    begun = time.process_time()
    part = WholeProblem(
        problem, problem.space.adjacency(guarantee.radius), Fraction(epsilon)
    ).parts[0]
    _ = part.binding, part.paths
    prepared = time.process_time()
    found = Anchored(radius=radius).solve(part, PartLimits())
    solved = time.process_time()
    assert found is not None
    assert found.matrix is not None
    line = f"N=K={part.n:5d} epsilon {epsilon:4s} radius {radius:g}:"
    line += f" loss {float((part.cost * found.matrix).sum()):.5f},"
    line += f" {found.parameters['iterations']} iterations,"
    line += f" {prepared - begun:.1f} + {solved - prepared:.2f} s"
    if part.n <= 900:
        repaired = repair(found.matrix, part.binding, part.epsilon, cost=part.cost)
        certificate = verify_channel(repaired.channel, problem.space, guarantee)
        assert all(c.passed for c in certificate.checks if c.name == "inequalities violated")
        line += f", verified {repaired.upper:.5f}"
    if bounds and part.n <= 100:
        best = design(problem, guarantee, gap=1e-3, throw=False)
        line += f", optimum {best.lower:.5f} to {best.upper:.5f}"
    print(f"{line}, {memory()}", flush=True)


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
    """Run both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="2500 secrets and 10^6 cells as well")
    parser.add_argument("--bounds", action="store_true", help="prove the optimum of small ones")
    chosen = parser.parse_args()
    rows = [(10, "0.5", 1.0), (10, "0.5", 2.0), (15, "0.5", 1.0), (15, "0.5", 2.0), (15, "1", 2.0)]
    rows += [(20, "0.5", 2.0), (30, "0.5", 1.0), (30, "0.5", 2.0)]
    for size, epsilon, radius in rows + ([(50, "0.5", 1.0)] if chosen.full else []):
        program(size, epsilon, radius, bounds=chosen.bounds)
    grid = MetricSpace.grid(316, 317, cell=1, unit="km")
    tails(grid, "1.5", 150)
    tails(grid, "1.5", 0)
    points = np.random.default_rng(0).random((100_000, 2)) * 316
    tails(MetricSpace.from_points(points, unit="km"), "4", 0)
    if chosen.full:
        tails(MetricSpace.grid(1000, 1000, cell=1, unit="km"), "1.5", 100)


if __name__ == "__main__":
    main()
