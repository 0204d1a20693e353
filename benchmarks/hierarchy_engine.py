"""The exact engine on a made census: how long, how much memory, and how both grow with regions and sizes.

The first table is the counts of 3,197 regions by 1,000 sizes with noise of the direct counts at epsilon 0.1, 0.5 and 1:
seconds of projection with its proof, of the check of optimality by itself, and the error by level. ``--scaling``
doubles the regions and the sizes; ``--tables`` times merged tables
over the paper's windows on a few sizes and says what all sizes would take; ``--taxi`` is 270 regions by 13,282 sizes.
Times are processor seconds of one thread after a first call, which is printed apart; ``--threads`` prints wall-clock
seconds, too.

    python benchmarks/hierarchy_engine.py [--scaling] [--tables] [--taxi] [--threads 2]
"""

from __future__ import annotations

import argparse
import resource
import statistics
import time
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.guarantee import PureDP
from discreet.core.randomness import SeededBits
from discreet.datasets import MadeCounts, made_census
from discreet.hierarchy.laminar import optimal, project
from discreet.hierarchy.measure import Measured, measure
from discreet.hierarchy.methods.m_h_dp import MHDP
from discreet.hierarchy.problem import GroupSizes
from discreet_reproduction.hierarchy.taxi import made_taxi


def seconds(work: Callable[[], Any], repeat: int) -> tuple[float, Any]:
    """Give the median of processor seconds, and what came of the last run."""
    found, times = None, []
    for _ in range(repeat):
        begun = time.process_time()
        found = work()
        times.append(time.process_time() - begun)
    return statistics.median(times), found


def memory() -> str:
    """Say how much memory the process has taken at most."""
    return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GB"


def noisy(made: MadeCounts, epsilon: str) -> tuple[NDArray[np.int64], Measured]:
    """Measure direct counts with exact noise, units public as in the paper."""
    data = GroupSizes.from_counts(made.tree, made.with_size_zero(), units="public")
    guarantee = PureDP(epsilon, neighbors="add-remove-person")
    return data.node_counts(), measure(data, "direct", guarantee, bits=SeededBits(1))


def errors(made: MadeCounts, found: NDArray[np.int64], true: NDArray[np.int64]) -> str:
    """Print the L1 error of each level in thousands."""
    starts = made.tree.level_start
    levels = [np.abs(found[a:b] - true[a:b]).sum() for a, b in pairwise(starts)]
    return "/".join(f"{error / 1000:.1f}" for error in levels)


def solve(made: MadeCounts, epsilon: str, repeat: int) -> None:
    """Project, check, print."""
    true, measured = noisy(made, epsilon)
    y, total = measured.values, made.groups
    took, found = seconds(lambda: project(made.tree, y, total=total), repeat)
    check, certificate = seconds(lambda: optimal(made.tree, found, y, total=total), repeat)
    assert certificate.passed
    print(
        f"{made.tree.n} regions x {y.shape[1]} sizes, epsilon {epsilon:4s}: "
        f"{took:.2f} s with its proof, {check:.2f} s to check, "
        f"L1 {errors(made, found, true)} thousand, {memory()}",
        flush=True,
    )


def tables(made: MadeCounts, epsilon: str, sizes: int) -> None:
    """Time merged tables over the paper's windows on a few sizes, without the coupling of sizes."""
    _, measured = noisy(made, epsilon)
    few = GroupSizes.from_counts(made.tree, made.counts[:, :sizes], units="private")
    part = Measured(
        few.frame,
        "direct",
        np.ascontiguousarray(measured.values[:, 1 : sizes + 1]),
        measured.scales,
        "laplace",
        measured.guarantee,
        (Fraction(1, 3),) * 3,
        seeded=True,
    )
    took, _ = seconds(lambda: MHDP().solve(part), 1)
    whole = took * made.counts.shape[1] / sizes
    print(
        f"merged tables, epsilon {epsilon}: {took:.1f} s for {sizes} sizes, so about {whole:.0f} s "
        f"for {made.counts.shape[1]}, {memory()}",
        flush=True,
    )


def on_the_wall(made: MadeCounts, most: int) -> None:
    """Time the projection with one thread and with more."""
    _, measured = noisy(made, "1")
    for threads in (1, most):
        begun = time.perf_counter()
        project(made.tree, measured.values, total=made.groups, threads=threads)
        print(f"{threads} threads: {time.perf_counter() - begun:.2f} s on the wall")


def main() -> None:
    """Run the tables that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("scaling", "tables", "taxi"):
        parser.add_argument(f"--{name}", action="store_true")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    small = made_census(states=2, counties=4, groups=1000, max_size=12)
    first, _ = seconds(lambda: project(small.tree, small.tree.totals(small.counts), total=1000), 1)
    print(f"the first call, which compiles or loads: {first:.1f} s")
    made = made_census()
    for epsilon in ("0.1", "0.5", "1"):
        solve(made, epsilon, options.repeat)
    if options.threads > 1:
        on_the_wall(made, options.threads)
    if options.scaling:
        for counties, sizes in ((393, 1000), (786, 1000), (1572, 1000), (3144, 250), (3144, 500)):
            part = made_census(counties=counties, max_size=sizes)
            solve(part, "1", options.repeat)
    if options.tables:
        tables(made, "1", 5)
    if options.taxi:
        solve(made_taxi(), "1", 1)


if __name__ == "__main__":
    main()
