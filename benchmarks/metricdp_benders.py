"""Benders decomposition beside the plain linear program: iterations, seconds of processor time, bounds.

Each row solves one instance by the plain program (``Direct``: constraints that no others imply, interior point or
simplex by HiGHS) and by variants of the decomposition, to a gap of 1 percent. Made road-like instances: uniform points,
0.64 per square kilometer, a radius of 2 km, Euclidean loss, random reports; and a grid with all cells as reports. The
lower bounds are those that prices of stated constraints prove. It is asserted that they lie below the optimum of the
plain program and the losses above it.

    python benchmarks/metricdp_benders.py [--full] [--seconds N]

``--full`` adds the variants that do not converge on the larger instance, and the paper's size.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.core.outcome import versions
from discreet.core.spaces.metric import MetricSpace
from discreet.metricdp import Benders, Direct, Problem
from discreet.metricdp.bounds.bound import lower_bound
from discreet.metricdp.part import Method, Part, PartLimits, WholeProblem

if TYPE_CHECKING:
    from collections.abc import Callable

GAP = 0.01
DENSITY = 0.64
"""Points per square kilometer."""


class Result(NamedTuple):
    """What one method reached on one instance."""

    seconds: float
    loss: float
    lower: float
    note: str


def road(n: int, k: int, epsilon: str) -> Part:
    """Scatter points, take some as reports, and join what a radius of 2 km leaves apart."""
    rng = np.random.default_rng(0)
    space = MetricSpace.from_points(rng.uniform(0, (n / DENSITY) ** 0.5, (n, 2)), unit="km")
    reports = rng.choice(n, k, replace=False).tolist()
    problem = Problem(space, utility_loss="euclidean", reports=reports)
    return WholeProblem(problem, space.adjacency(2).join(space)[0], Fraction(epsilon)).parts[0]


def grid(side: int, epsilon: str) -> Part:
    """Take the cells of a square of 1 km cells, all of them as reports."""
    space = MetricSpace.grid(side, side, cell=1, unit="km")
    problem = Problem(space, utility_loss="euclidean")
    return WholeProblem(problem, space.adjacency(2), Fraction(epsilon)).parts[0]


INSTANCES: list[tuple[str, Callable[[], Part], int]] = [
    ("road-like, N=80, K=16, epsilon 1", lambda: road(80, 16, "1"), 5),
    ("road-like, N=200, K=40, epsilon 1", lambda: road(200, 40, "1"), 10),
    ("road-like, N=200, K=40, epsilon 4", lambda: road(200, 40, "4"), 10),
    ("road-like, N=200, K=40, epsilon 10", lambda: road(200, 40, "10"), 10),
    ("grid 10x10, K=N, epsilon 1", lambda: grid(10, "1"), 4),
]
PAPER: list[tuple[str, Callable[[], Part], int]] = [
    ("road-like, N=500, K=100, epsilon 10", lambda: road(500, 100, "10"), 25),
    ("road-like, N=500, K=100, epsilon 1", lambda: road(500, 100, "1"), 25),
]


def variants(blocks: int, *, full: bool) -> list[tuple[str, Method]]:
    """List what is compared."""
    found: list[tuple[str, Method]] = [
        ("plain program", Direct()),
        ("Benders, k-m-DV", Benders(blocks)),
        ("Benders, k-m-rec", Benders(blocks, "k-m-rec")),
    ]
    if full:
        found += [
            ("Benders, k-m-adj", Benders(blocks, "k-m-adj")),
            ("Benders, BSC", Benders(blocks, "BSC")),
        ]
    return found


def measure(method: Method, part: Part, seconds: float) -> Result:
    """Run a method; processor time of this process."""
    start = time.process_time()
    found = method.solve(part, PartLimits(seconds=seconds, gap=GAP / 0.4))
    spent = time.process_time() - start
    assert found is not None
    loss, lower = float("inf"), 0.0
    if found.matrix is not None:
        sums = found.matrix.sum(axis=1, keepdims=True)
        loss = float((part.cost * (found.matrix / sums)).sum())
    if found.multipliers is not None:
        lower = lower_bound(part.cost, part.constraints, part.epsilon, found.multipliers)
    return Result(spent, loss, lower, found.note)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--seconds", type=float, default=120.0)
    asked = parser.parse_args()
    found = versions()
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, highspy {found['highspy']}")
    for name, make, blocks in INSTANCES + (PAPER if asked.full else []):
        part, optimum = make(), None
        print(f"\n{name}, M={blocks}")
        for label, method in variants(blocks, full=asked.full):
            result = measure(method, part, asked.seconds)
            print(
                f"  {label:32}{result.seconds:8.2f} s  lower {result.lower:.5f}  loss {result.loss:.5f}  "
                f"{result.note}",
                flush=True,
            )
            if optimum is None:
                optimum = result.loss
            # Solvers' matrices are private up to tolerances only, hence the millionths.
            assert result.lower <= optimum * (1 + 1e-6)
            assert result.loss >= optimum * (1 - 1e-5)


if __name__ == "__main__":
    main()
