"""Known optima at full size: what is proven, what is reached, and how long it takes.

Each row designs a channel on a grid of 1 km cells (uniform prior, Euclidean loss, every secret may be reported) and
asserts that the known optimum lies between the proven lower bound and the verified loss, that these two are close, and
that not one inequality is violated. ``--full`` adds the rows that take minutes; ``--phases`` times the steps of the
closed form on 500 and 1000 secrets.

    python benchmarks/metricdp_golden.py [--full] [--phases] [--repeat N]
"""

from __future__ import annotations

import argparse
import itertools
import os
import platform
import statistics
import time
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.core.guarantee import MetricDP
from discreet.core.outcome import versions
from discreet.core.spaces.metric import MetricSpace
from discreet.metricdp import Kernel, Problem, design, verify
from discreet.metricdp.bounds.bound import lower_bound
from discreet.metricdp.bounds.repair import repair
from discreet.metricdp.part import PartLimits, WholeProblem
from discreet.metricdp.verify import Claim

if TYPE_CHECKING:
    from discreet.core.certificate import Certificate


class Row(NamedTuple):
    """A grid, a budget, a radius, an interval that holds the optimum, and the gap to reach."""

    rows: int
    columns: int
    epsilon: str
    radius: int | None
    optimum: tuple[float, float]
    gap: float = 1e-4


QUICK = [
    Row(5, 5, "10", 2, (1.47878725081e-4,) * 2),
    Row(7, 7, "2", None, (0.562578751687,) * 2),
    Row(10, 10, "10", 2, (1.66730300177e-4,) * 2),
    Row(10, 10, "2", 2, (0.5765774,) * 2),
    Row(10, 10, "1", 2, (1.47090492,) * 2),
    Row(10, 20, "1", 2, (1.5443547, 1.5443551)),
    Row(20, 25, "10", 2, (1.77133205e-4,) * 2),
    Row(20, 25, "10", None, (1.7713572e-4,) * 2),
    Row(20, 25, "2", None, (0.6545247,) * 2),
    Row(25, 40, "10", 2, (1.79500826e-4,) * 2),
    Row(25, 40, "10", None, (1.7950344e-4,) * 2),
]
FULL = [
    Row(15, 20, "1", 2, (1.5964562, 1.5964570)),
    Row(20, 25, "1", 2, (1.6381438, 1.6381464)),
]
_DIGITS = 5e-8
"""Relative error of a golden value that is given to eight digits."""


def counted(certificate: Certificate, name: str) -> int:
    """Look up how often something was found."""
    return sum(int(check.residual) for check in certificate.checks if check.name == name)


def bench(row: Row, repeat: int) -> None:
    """Design, verify anew, assert, print."""
    problem = Problem(
        MetricSpace.grid(row.rows, row.columns, cell=1, unit="km"), utility_loss="euclidean"
    )
    guarantee = MetricDP(row.epsilon, "km", row.radius)
    walls, cpus = [], []
    for _ in range(repeat):
        wall, cpu = time.perf_counter(), time.process_time()
        made = design(problem, guarantee, gap=row.gap)
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    certificate = verify(made, optimality=True)
    violations = counted(certificate, "inequalities violated")
    zeros = counted(certificate, "zeros beside positives")
    assert made.lower is not None
    assert made.gap is not None
    print(
        f"{row.rows:3}x{row.columns:<3} {row.epsilon:>4} {row.radius or 'all':>4}  {made.lower:.10g}  "
        f"{row.optimum[0]:.10g}  {made.upper:.10g}  {made.gap:.1e}  {statistics.median(walls):7.2f}  "
        f"{statistics.median(cpus):7.2f}  {violations}  {zeros}  {made.provenance.method}",
        flush=True,
    )
    assert certificate.passed, certificate
    assert (violations, zeros) == (0, 0)
    assert made.lower <= row.optimum[1] * (1 + _DIGITS)
    assert made.upper >= row.optimum[0] * (1 - _DIGITS)
    assert made.upper <= row.optimum[1] * (1 + 1e-4)
    assert made.gap <= row.gap


def phases(rows: int, columns: int, radius: int | None) -> None:
    """Time the steps of the closed form at epsilon 10, compiled code warm."""
    for warm in (False, True):
        space = MetricSpace.grid(rows, columns, cell=1, unit="km")
        laps = [("", time.process_time())]

        def lap(name: str, laps: list[tuple[str, float]] = laps) -> None:
            laps.append((name, time.process_time()))

        _ = space.distances
        lap("distances")
        problem = Problem(space, utility_loss="euclidean")
        lap("problem")
        graph = space.adjacency(radius)
        lap("adjacency")
        whole = WholeProblem(problem, graph, Fraction(10))
        part = whole.parts[0]
        lap("parts")
        _ = whole.binding
        lap("prune")
        _ = part.paths
        lap("paths")
        found = Kernel().solve(part, PartLimits())
        lap("kernel")
        assert found is not None
        assert found.matrix is not None
        assert found.multipliers is not None
        lower_bound(problem.cost, graph, whole.epsilon, found.multipliers)
        lap("bound")
        repaired = repair(found.matrix, whole.binding, whole.epsilon, cost=whole.cost)
        lap("repair, rounding")
        certificate = Claim(space, MetricDP(10, "km", radius)).check(repaired.channel)
        lap("verify")
        assert certificate.passed
        spent = {name: end - start for (_, start), (name, end) in itertools.pairwise(laps)}
        if warm:
            shown = "  ".join(f"{name} {seconds:.3f}" for name, seconds in spent.items())
            near = "all pairs" if radius is None else f"within {radius} km"
            print(f"{rows * columns} secrets, {near}: {sum(spent.values()):.2f} s CPU = {shown}")


def main() -> None:
    """Print the machine, then a row for each instance."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="add what takes minutes")
    parser.add_argument("--phases", action="store_true", help="time the steps of the closed form")
    parser.add_argument("--repeat", type=int, default=3, help="runs of which the median is shown")
    options = parser.parse_args()
    print(f"{platform.machine()}, {os.cpu_count()} cores, {platform.platform()}")
    print(", ".join(f"{name} {number}" for name, number in versions().items()))
    warm = Problem(MetricSpace.grid(3, 3, cell=1, unit="km"), utility_loss=np.ones((9, 9)))
    design(warm, MetricDP(1, "km"), throw=False)
    if options.phases:
        for rows, columns in ((20, 25), (25, 40)):
            for radius in (2, None):
                phases(rows, columns, radius)
        return
    print("grid    eps  near  lower  golden  upper  gap  wall s  CPU s  violations  zeros  method")
    for row in QUICK + (FULL if options.full else []):
        bench(row, 1 if row in FULL else options.repeat)


if __name__ == "__main__":
    main()
