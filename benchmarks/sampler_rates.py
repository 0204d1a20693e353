"""Exact draws per CPU second: discrete Laplace batches, single draws, and the exponential mechanism.

Each figure is the median of repeated batches from the operating system's source, in CPU time of this process. The
variance of what was drawn is checked, so that nothing but the right law is timed.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import sys
import time
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.randomness import (
    SystemBits,
    discrete_laplace,
    discrete_laplaces,
    exponential_mechanism,
)

if TYPE_CHECKING:
    from collections.abc import Callable

SCALES = ("1", "10/3", "10", "100", "1000")
LEAST_RATE = 2_000_000
"""Draws per CPU second that a batch must reach for the library to be of use on tables of counts."""


def median_seconds(work: Callable[[], object], repeats: int) -> float:
    """Time a piece of work in CPU seconds, after one call that fills the tables."""
    work()
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return statistics.median(seconds)


def check_variance(noise: np.ndarray[tuple[int], np.dtype[np.int64]], scale: Fraction) -> None:
    """Refuse noise whose variance is off by a tenth, some fifteen standard errors and more."""
    q = float(np.exp(-1 / float(scale)))
    expected = 2 * q / (1 - q) ** 2
    assert 0.9 * expected < float(noise.var()) < 1.1 * expected


def main(size: int = 1_000_000, repeats: int = 5) -> dict[str, object]:
    """Measure, print and return the rates."""
    bits = SystemBits()
    machine = {
        "machine": platform.machine(),
        "system": platform.system(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }
    print(json.dumps(machine))
    print(f"discrete Laplace, batches of {size:,}")
    rates = {}
    for scale in SCALES:
        check_variance(discrete_laplaces(scale, size, bits), Fraction(scale))
        seconds = median_seconds(partial(discrete_laplaces, scale, size, bits), repeats)
        rates[scale] = size / seconds
        print(f"  scale {scale:>5}  {rates[scale] / 1e6:6.1f} million draws per CPU second")
    few = max(1, size // 500)
    seconds = median_seconds(lambda: [discrete_laplace(10, bits) for _ in range(few)], repeats)
    print(f"one by one  scale    10  {few / seconds:,.0f} draws per CPU second")
    milliseconds = {}
    for n in (1000, max(1000, size // 10)):
        scores = np.arange(n) % 1000
        seconds = median_seconds(
            partial(exponential_mechanism, scores, "0.1", 1, bits=bits), repeats
        )
        milliseconds[n] = 1000 * seconds
        print(f"exponential mechanism, {n:,} scores  {milliseconds[n]:.2f} CPU ms a choice")
    return {**machine, "laplace_per_second": rates, "choice_milliseconds": milliseconds}


if __name__ == "__main__":
    measured = main(*map(int, sys.argv[1:3]))["laplace_per_second"]
    assert isinstance(measured, dict)
    assert min(measured.values()) > LEAST_RATE, "slower than a table of counts needs"
