"""Instances that no solver of programs finishes: proven gap, and processor seconds until it is reached.

Grids of 1 km cells, eight neighbors each (a radius of 1.5 km), Euclidean loss. A skewed prior is six bumps of random
height times Gamma noise, so that neighbors may differ a hundredfold; seeds are fixed. Each row designs from nothing,
asserts that the certificate holds (verified anew, the bound recomputed) and that the gap is what was asked for, and
prints medians. ``--full`` adds what takes minutes, ``--beside`` puts HiGHS next to it where HiGHS finishes.

    python benchmarks/metricdp_engine.py [--full] [--beside] [--only NAME] [--repeat N] [--threads N]
"""

from __future__ import annotations

import argparse
import statistics
import time
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from run import machine

from discreet.core.guarantee import MetricDP
from discreet.core.spaces.metric import MetricSpace
from discreet.metricdp import Direct, PrimalDual, Problem, design, verify

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.metricdp.part import Method


class Instance(NamedTuple):
    """A grid, a budget, a prior, how many random reports there are (0 for all secrets), and the gap to reach."""

    rows: int
    columns: int
    epsilon: str
    prior: str
    reports: int = 0
    gap: float = 0.005
    full: bool = False

    def problem(self) -> Problem:
        """Make the problem."""
        n = self.rows * self.columns
        space = MetricSpace.grid(self.rows, self.columns, cell=1, unit="km")
        chosen = None
        if self.reports:
            chosen = np.sort(np.random.default_rng(1).choice(n, self.reports, replace=False))
        prior = skewed(np.asarray(space.points)) if self.prior == "skewed" else None
        return Problem(space, utility_loss="euclidean", prior=prior, reports=chosen)


INSTANCES: dict[str, Instance] = {
    "49": Instance(7, 7, "0.5", "skewed"),
    "100": Instance(10, 10, "0.5", "skewed"),
    "225": Instance(15, 15, "0.5", "skewed"),
    "225-steep": Instance(15, 15, "1", "skewed"),
    "225-uniform": Instance(15, 15, "1", "uniform"),
    "225-flat": Instance(15, 15, "0.2", "skewed"),
    "500x100": Instance(20, 25, "1", "uniform", 100),
    "400": Instance(20, 20, "0.5", "skewed"),
    "400-steep": Instance(20, 20, "1", "skewed"),
    "1000": Instance(25, 40, "0.5", "skewed", gap=0.01, full=True),
    "1000-steep": Instance(25, 40, "1", "skewed", gap=0.01, full=True),
}
BESIDE = ("49", "100")
SOLVERS: dict[str, Method] = {"simplex": Direct("simplex"), "ipm": Direct("ipm")}


def skewed(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give a prior of six bumps on a floor, each place's share multiplied by Gamma(2) noise."""
    rng = np.random.default_rng(0)
    prior = np.full(len(points), 0.1)
    width = 0.12 * float(np.ptp(points, axis=0).max())
    for _ in range(6):
        center = points[rng.integers(len(points))]
        distance = np.linalg.norm(points - center, axis=1)
        prior += rng.random() * np.exp(-0.5 * (distance / width) ** 2)
    prior *= rng.gamma(2.0, 0.5, len(points))
    return np.asarray(prior / prior.sum())


def bench(
    name: str, instance: Instance, method: Method | None, repeat: int, threads: int
) -> tuple[float, float]:
    """Design, verify anew, assert, print; return the proven interval."""
    problem, guarantee = instance.problem(), MetricDP(instance.epsilon, "km", Fraction(3, 2))
    walls, cpus = [], []
    for _ in range(repeat):
        wall, cpu = time.perf_counter(), time.process_time()
        made = design(problem, guarantee, method=method, gap=instance.gap, threads=threads)
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    certificate = verify(made, optimality=True)
    assert certificate.passed, certificate
    assert made.lower is not None
    assert made.gap is not None
    assert made.gap <= instance.gap
    used = made.provenance.method
    if used == "direct":
        used = f"HiGHS {made.provenance.parameters['solver']}"
    print(
        f"{name:12} {problem.n_secrets:5} {problem.n_reports:5} {instance.epsilon:>5} {instance.prior:8}"
        f" {made.lower:10.6f} {made.upper:10.6f} {made.gap:8.2%} {statistics.median(walls):8.2f}"
        f" {statistics.median(cpus):8.2f}  {used}",
        flush=True,
    )
    return made.lower, made.upper


def main() -> None:
    """Print the machine, then a row for each instance."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="add what takes minutes")
    parser.add_argument("--beside", action="store_true", help="HiGHS on the same instances")
    parser.add_argument("--only", choices=list(INSTANCES), help="one instance")
    parser.add_argument("--repeat", type=int, default=3, help="runs of which the median is shown")
    parser.add_argument("--threads", type=int, default=1, help="threads")
    options = parser.parse_args()
    print(machine())
    # Compiled code is loaded, or made, before anything is timed.
    warm = Instance(3, 3, "0.5", "skewed")
    design(warm.problem(), MetricDP("0.5", "km", 1), method=PrimalDual(), gap=0.05, throw=False)
    print(
        "name       secrets reports eps prior      lower      upper      gap   wall s    CPU s  method"
    )
    for name, instance in INSTANCES.items():
        if name != options.only and (options.only or (instance.full and not options.full)):
            continue
        repeat = 1 if instance.full else options.repeat
        intervals = [bench(name, instance, PrimalDual(), repeat, options.threads)]
        if options.beside and name in BESIDE:
            intervals += [
                bench(name, instance, solver, 1, options.threads) for solver in SOLVERS.values()
            ]
        # Whoever proved what: all of it is about one optimum.
        assert max(lower for lower, _ in intervals) <= min(upper for _, upper in intervals)


if __name__ == "__main__":
    main()
