"""Cost against the number of secrets: CPU seconds until a proven gap, and the exponent that fits them.

Square grids of 1 km cells, eight neighbors each, every secret a report, the prior of ``metricdp_engine.py``. Each
row designs from nothing, asserts that certificate and bound hold, and prints CPU seconds of this process. The exponent
is the slope of the least-squares line through the logarithms.

    python benchmarks/metricdp_scaling.py [--sizes 49,100,225,400] [--epsilon 0.5] [--gap 0.01]
"""

from __future__ import annotations

import argparse
import math
import time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from metricdp_engine import skewed
from run import machine

from discreet.core.guarantee import MetricDP
from discreet.core.spaces.metric import MetricSpace
from discreet.metricdp import Problem, design, verify

if TYPE_CHECKING:
    from collections.abc import Sequence


class Measured(NamedTuple):
    """Secrets, CPU seconds, the gap that was proven, and the method that found the channel."""

    n: int
    seconds: float
    gap: float
    method: str


def measure(sizes: Sequence[int], *, epsilon: str = "0.5", gap: float = 0.01) -> list[Measured]:
    """Design for grids of about the given numbers of secrets, the smallest once more before, to compile."""
    rows = []
    for n in [min(sizes), *sizes]:
        side = round(math.sqrt(n))
        space = MetricSpace.grid(side, side, cell=1, unit="km")
        prior = skewed(np.asarray(space.points))
        problem = Problem(space, utility_loss="euclidean", prior=prior)
        start = time.process_time()
        made = design(problem, MetricDP(epsilon, "km", "1.5"), gap=gap)
        seconds = time.process_time() - start
        if made.gap is None or made.gap > gap or not verify(made).passed:
            message = f"{side} x {side}: gap {made.gap}"
            raise AssertionError(message)
        rows.append(Measured(side * side, seconds, made.gap, made.provenance.method))
    return rows[1:]


def exponent(rows: Sequence[Measured]) -> float:
    """Fit ``seconds = a n^b`` to the logarithms, and give b."""
    logs = np.log([(row.n, row.seconds) for row in rows])
    return float(np.polyfit(logs[:, 0], logs[:, 1], 1)[0])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="49,100,225,400")
    parser.add_argument("--epsilon", default="0.5")
    parser.add_argument("--gap", type=float, default=0.01)
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    print(machine())
    rows = measure(sizes, epsilon=options.epsilon, gap=options.gap)
    for row in rows:
        print(f"{row.n:6d} secrets {row.seconds:9.2f} s  gap {row.gap:.2e}  {row.method}")
    print(f"seconds grow with the power {exponent(rows):.2f} of the number of secrets")


if __name__ == "__main__":
    main()
