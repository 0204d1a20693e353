"""Seconds to a proved optimum, or the gap reached: the paper's twenty rows, made tables of 100 and of 1,000 rows.

``--csv FILE`` reads numbers with a header instead of made rows, and takes samples of it. CPU seconds of one process
beside those of the clock; the first call, which compiles or loads the kernels, is left out.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from numpy.typing import NDArray
from run import machine

from discreet.kanonymity.candidate import SearchLimits, audit
from discreet.kanonymity.methods.partitioning import SetPartitioning
from discreet.kanonymity.problem import Numeric, Problem

FARS = """64,2,4,0 29,1,0,0 42,2,0,0 41,2,4,1 53,1,2,1 59,1,4,0 49,1,4,0 59,1,2,0 80,1,4,0 50,1,4,0
64,1,3,0 55,1,0,0 25,1,0,0 42,1,4,0 33,1,2,0 31,2,2,0 68,1,3,0 20,2,4,0 40,1,4,1 18,1,4,0"""


def made(n: int, seed: int) -> NDArray[np.float64]:
    """Eight columns of few and of many values, some of them related."""
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 66, n)
    schooling = np.clip(np.rint(rng.normal(11, 3, n)), 0, 25)
    income = np.rint(np.exp(rng.normal(1.9, 0.6, n)) + 0.4 * schooling)
    small = [rng.integers(0, size, n) for size in (2, 2, 6)]
    family = 1 + rng.poisson(2.5, n)
    illness = np.rint(rng.gamma(2.2, 5.0, n) * (0.5 + age / 66))
    return np.stack([*small, family, illness, schooling, age, income], axis=1).astype(float)


def problem_of(rows: NDArray[np.float64]) -> Problem:
    """State rows of numbers."""
    names = [f"column {j}" for j in range(rows.shape[1])]
    columns = dict(zip(names, rows.T, strict=True))
    return Problem.from_columns(columns, [Numeric(name) for name in names])


def row(work: str, problem: Problem, k: int, seconds: float) -> None:
    """Print one figure."""
    cpu, wall = time.process_time(), time.monotonic()
    found = SetPartitioning().solve(problem, k, SearchLimits.within(seconds))
    cpu, wall = time.process_time() - cpu, time.monotonic() - wall
    audit(found.labels, k).raise_for_failure()
    loss = problem.loss_of(found.labels)
    gap = (loss - found.lower) / loss
    print(
        f"{work:36s} loss {loss:12.6f}  lower {found.lower:12.6f}  gap {gap:9.2e}  cpu {cpu:7.2f} s"
        f"  wall {wall:7.2f} s",
        flush=True,
    )


def main() -> None:
    """Run all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--csv", help="file of numbers with a header")
    parser.add_argument("--seconds", type=float, default=60.0, help="limit for 100 rows")
    parser.add_argument("--long", type=float, default=180.0, help="limit for 1,000 rows; 0: none")
    asked = parser.parse_args()
    print(machine())
    whole = None if asked.csv is None else np.loadtxt(asked.csv, delimiter=",", skiprows=1)

    def rows(n: int, seed: int) -> NDArray[np.float64]:
        if whole is None:
            return made(n, seed)
        return whole[np.random.default_rng(seed).permutation(len(whole))[:n]]

    fars = problem_of(np.array([line.split(",") for line in FARS.split()], dtype=float))
    SetPartitioning().solve(fars, 3, SearchLimits())
    row("FARS, 20 rows x 4, k = 3", fars, 3, asked.seconds)
    for seed in range(3):
        row(f"100 rows x 8, k = 3, sample {seed}", problem_of(rows(100, seed)), 3, asked.seconds)
    if asked.long > 0:
        row("1,000 rows x 8, k = 3", problem_of(rows(1000, 0)), 3, asked.long)


if __name__ == "__main__":
    main()
