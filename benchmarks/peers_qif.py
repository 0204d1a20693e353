"""The optimal mechanism of `qif` beside ours: loss, seconds, and the epsilon that each one really has.

Both design for all pairs of a square grid of unit cells with the same uneven prior, one after the other in one run,
each in a process of its own. Both answers are then read as exact numbers and judged by the same verifier: qif's matrix
has its rows divided by their exact sums and is rounded to 248 bits, which keeps every ratio to 50 digits and every
zero. The group ``peers`` must be installed in the environment of ``--python``::

    python -m venv peers && peers/bin/pip install qif==1.6.0
    python benchmarks/peers_qif.py --python peers/bin/python
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray
from run import machine

import discreet as dc
from discreet.metricdp.verify import Claim

PEER = """
import json, sys, time
import numpy as np
from qif import lp, mechanism
size, epsilon, repeats, out = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
lp.defaults.method, lp.defaults.solver = "AUTO", "AUTO"
points = np.array([(x, y) for x in range(size) for y in range(size)], float)
distance = np.linalg.norm(points[:, None] - points[None], axis=2)
prior = np.random.default_rng(0).dirichlet(np.ones(size * size))
seconds = []
for _ in range(repeats):
    start = time.perf_counter()
    found = mechanism.d_privacy.min_loss_given_d(
        prior, size * size, lambda a, b: epsilon * distance[a, b], lambda a, b: distance[a, b]
    )
    seconds.append(time.perf_counter() - start)
np.save(out, np.asarray(found))
print(json.dumps(seconds))
"""


def peer(python: str, size: int, epsilon: float, repeats: int) -> tuple[NDArray[np.float64], float]:
    """Run qif in its own interpreter; return its matrix and the median of its seconds."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "matrix.npy"
        command = [python, "-c", PEER, str(size), str(epsilon), str(repeats), str(out)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        return np.load(out), median(json.loads(done.stdout.splitlines()[-1]))


def read_as_given(matrix: NDArray[np.float64], limbs: int = 4) -> dc.Channel:
    """Read a matrix of floats as a channel, to 248 bits; nothing is repaired and zeros stay zeros."""
    total = 1 << (62 * limbs)
    rows = []
    for row in np.maximum(matrix, 0.0).tolist():
        mass = sum(Fraction(x) for x in row)
        weights = [int(Fraction(x) / mass * total) for x in row]
        weights[int(np.argmax(weights))] += total - sum(weights)
        rows.append(weights)
    return dc.Channel.from_weights(rows)


def audited(channel: dc.Channel, space: dc.MetricSpace, guarantee: dc.MetricDP) -> dict[str, Any]:
    """Let the verifier say what the channel has: epsilon, zeros beside positives, inequalities violated."""
    checks = {check.name: check for check in Claim(space, guarantee).check(channel).checks}
    return {
        "epsilon": float(checks["achieved epsilon"].residual),
        "infinite": int(checks["zeros beside positives"].residual),
        "violated": int(checks["inequalities violated"].residual),
    }


def main() -> None:
    """Print one row for each grid and epsilon."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=sys.executable, help="an interpreter that has qif")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    print(machine())
    print("           | qif                                              | discreet")
    print(
        "grid  eps  | loss             s   achieved  infinite violated | loss             s   achieved  gap"
    )
    for size in (5, 7):
        space = dc.MetricSpace.grid(size, size, cell=1, unit="km")
        prior = np.random.default_rng(0).dirichlet(np.ones(size * size))
        prior /= prior.sum()
        task = dc.metricdp.Problem(space, utility_loss="euclidean", prior=prior)
        for epsilon in ("0.5", "1", "2"):
            guarantee = dc.MetricDP(epsilon, unit="km")
            matrix, theirs = peer(options.python, size, float(epsilon), options.repeats)
            loss = float((task.cost * matrix / matrix.sum(axis=1, keepdims=True)).sum())
            judged = audited(read_as_given(matrix), space, guarantee)
            dc.metricdp.design(task, guarantee, throw=False)  # compiles what is to be compiled
            seconds = []
            for _ in range(options.repeats):
                start = time.perf_counter()
                design = dc.metricdp.design(task, guarantee, gap=1e-6, throw=False)
                seconds.append(time.perf_counter() - start)
            ours = audited(design.channel, space, guarantee)
            assert design.certificate.passed
            assert ours["violated"] == 0
            assert ours["infinite"] == 0
            assert design.lower is not None
            assert design.gap is not None
            assert design.gap <= 1e-4
            # A mechanism that keeps its promise cannot lose less than our bound.
            assert judged["violated"] or loss >= design.lower * (1 - 1e-9)
            print(
                f"{size}x{size}  {epsilon:>4} | {loss:.8f} {theirs:7.2f} {judged['epsilon']:10.6g} "
                f"{judged['infinite']:9d} {judged['violated']:8d} | {design.upper:.8f} {median(seconds):7.2f} "
                f"{ours['epsilon']:10.6g}  {design.gap:.1e}",
                flush=True,
            )


if __name__ == "__main__":
    main()
