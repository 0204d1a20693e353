"""Seconds of the oracles of `submodular`: gains of facility location and coverage, and greedy choices at full size.

Every result is compared with plain NumPy before its time is printed. ``--full`` adds a million records. CPU seconds of
one process, the median of three; the first call, which compiles or loads the kernels, is left out.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray
from run import machine

from discreet.core.guarantee import PureDP
from discreet.submodular import Coverage, FacilityLocation, Objective, UniformMatroid, release
from discreet.submodular.methods.baselines import Greedy, LazyGreedy

QUANTUM = 2.0**15


def timed(work: Callable[[], Any], repeats: int = 3) -> tuple[Any, float]:
    """Return the last result, and the median of the CPU seconds."""
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        result = work()
        seconds.append(time.process_time() - start)
    return result, median(seconds)


def row(work: str, seconds: float, must: float | None = None) -> None:
    """Print one figure."""
    bound = "" if must is None else f"   must {must:g} s"
    print(f"{work:72s} {seconds:9.4f} s{bound}", flush=True)


def warm() -> None:
    """Load every kernel."""
    for f in (FacilityLocation([[0.5, 1.0]]), Coverage([[True, False]])):
        Greedy().choose(f, UniformMatroid(2, 1))
        f.multilinear_marginals([0.5, 0.0])


def facility(rng: np.random.Generator) -> None:
    """20,000 records and 1,000 elements: 50 choices, all gains at each step."""
    S = rng.random((20_000, 1_000))
    f, seconds = timed(lambda: FacilityLocation(S), 1)
    row("facility location 20,000 x 1,000: read and round", seconds)
    matroid = UniformMatroid(1_000, 50)
    state = f.start()
    state.add(0)
    gains, seconds = timed(state.gains)
    rounded = np.floor(S * QUANTUM)
    assert (gains[:, 0] == np.maximum(rounded - rounded[:, :1], 0).sum(axis=0)).all()
    row("  all gains once", seconds, 0.0277)
    chosen, seconds = timed(lambda: Greedy().choose(f, matroid))
    row("  greedy, r = 50", seconds, 1.4)
    lazy, seconds = timed(lambda: LazyGreedy().choose(f, matroid))
    row("  lazy greedy, r = 50", seconds, 1.4)
    assert lazy == chosen
    best = np.zeros(len(S))
    for element, _ in chosen[:4]:
        steps = np.maximum(rounded - best[:, None], 0).sum(axis=0)
        assert element == int(np.argmax(steps))
        best = np.maximum(best, rounded[:, element])
    assert f.value(chosen) == rounded[:, [e for e, _ in chosen]].max(axis=1).sum()
    x = np.zeros(1_000)
    x[rng.choice(1_000, 50, replace=False)] = 0.25
    _, seconds = timed(lambda: f.multilinear_marginals(x), 1)
    row("  multilinear marginals at 50 fractional elements", seconds)


def coverage(rng: np.random.Generator) -> None:
    """A universe of 131,072 and 1,000 sets: all gains at one step."""
    table = rng.random((131_072, 1_000)) < 0.01
    f, seconds = timed(lambda: Coverage(table), 1)
    row("coverage 131,072 x 1,000: pack", seconds)
    state = f.start()
    state.add(0)
    gains, seconds = timed(state.gains)
    assert (gains[:, 0] == (table & ~table[:, :1]).sum(axis=0)).all()
    row("  all gains once", seconds, 0.024)
    x = np.full(1_000, 0.05)
    marginals, seconds = timed(lambda: f.multilinear_marginals(x))
    missed = 0.95 ** table.sum(axis=1)
    assert np.abs(marginals - missed @ table).max() < 0.01
    row("  multilinear marginals, exact", seconds)


def million(rng: np.random.Generator) -> None:
    """A million records as points and a public grid of 1,000: from points to 50 choices."""
    people = clustered(rng, 1_000_000)
    side = np.linspace(0, 1, 32)[:, None]
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)[:1_000]
    start = time.perf_counter()
    f, seconds = timed(lambda: FacilityLocation.from_points(people, grid, farthest=0.5), 1)
    row("facility location 1,000,000 x 1,000: from points", seconds)
    matroid = UniformMatroid(1_000, 50)
    chosen, seconds = timed(lambda: LazyGreedy().choose(f, matroid), 1)
    row(f"  lazy greedy, r = 50, {f.evaluations} gains", seconds)
    eager, seconds = timed(lambda: Greedy().choose(f, matroid), 1)
    row("  greedy, r = 50", seconds)
    assert eager == chosen
    assert f.value(chosen) == served(f, [e for e, _ in chosen])
    made, seconds = timed(lambda: release(f, matroid, PureDP(1, "add-remove-one")), 1)
    row(f"  private choice by {made.provenance.method}, epsilon 1", seconds)
    assert made.certificate.passed
    assert f.value(made.result.chosen) > 0.99 * f.value(chosen)
    row("  wall seconds of all this", time.perf_counter() - start, 180)
    kibibytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"  peak memory {kibibytes / 2**20:.2f} GiB   must 8")
    assert kibibytes < 8 * 2**20


def clustered(rng: np.random.Generator, n: int) -> NDArray[np.float64]:
    """Points around 30 centers of a square."""
    centers = rng.random((30, 2))
    spots = centers[rng.integers(0, 30, n)] + rng.normal(0, 0.05, (n, 2))
    return np.asarray(np.clip(spots, 0, 1))


def served(f: Objective, chosen: list[int]) -> int:
    """Compute F anew, by NumPy."""
    table = f.served()
    assert table is not None
    return int(table[chosen].max(axis=0).sum(dtype=np.int64))


def main() -> int:
    """Time and assert."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="add a million records, about 3 GiB")
    options = parser.parse_args()
    print(machine())
    rng = np.random.default_rng(0)
    warm()
    facility(rng)
    coverage(rng)
    if options.full:
        million(rng)
    return 0


if __name__ == "__main__":
    sys.exit(main())
