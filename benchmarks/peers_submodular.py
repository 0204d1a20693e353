"""Non-private greedy choices of `apricot` and `submodlib` beside ours: the same set, and CPU seconds of one run.

Facility location on the same similarities of 3,000 points, 50 choices. Each package runs in an interpreter of its own,
after a warm-up; only the optimizer is timed, and for ours, apart, the reading and rounding of the similarities. The
peers must be installed in the environment of ``--python``::

    python -m venv peers && peers/bin/pip install apricot-select submodlib-py
    python benchmarks/peers_submodular.py --python peers/bin/python
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray
from run import machine

from discreet.submodular import FacilityLocation, UniformMatroid
from discreet.submodular.methods.baselines import Greedy, LazyGreedy

SIMILARITIES = """
import numpy as np
def similarities(n):
    X = np.random.default_rng(0).normal(size=(n, 16))
    return np.exp(-((X[:, None, :] - X[None]) ** 2).sum(-1) / 32)
"""

PEER = (
    SIMILARITIES
    + """
import json, os, statistics, sys, time
from apricot import FacilityLocationSelection
from submodlib import FacilityLocationFunction
n, k, repeats = map(int, sys.argv[1:4])
S, found = similarities(n), {}
out = os.dup(1)
os.dup2(2, 1)  # submodlib prints
def run(name, work):
    chosen, seconds = None, []
    for _ in range(repeats):
        start = time.process_time()
        chosen = work()
        seconds.append(time.process_time() - start)
    found[name] = {"chosen": chosen, "seconds": statistics.median(seconds)}
FacilityLocationSelection(2, metric="precomputed", optimizer="lazy").fit(np.eye(10) + 0.1)
def apricot(optimizer):
    fitted = FacilityLocationSelection(k, metric="precomputed", optimizer=optimizer).fit(S)
    return [int(e) for e in fitted.ranking]
F = FacilityLocationFunction(n=n, mode="dense", sijs=S.astype(np.float32), separate_rep=False)
def submodlib(optimizer):
    pairs = F.maximize(budget=k, optimizer=optimizer, stopIfZeroGain=False,
                       stopIfNegativeGain=False, verbose=False)
    return [int(e) for e, _ in pairs]
run("apricot lazy", lambda: apricot("lazy"))
run("submodlib naive", lambda: submodlib("NaiveGreedy"))
run("submodlib lazy", lambda: submodlib("LazyGreedy"))
os.write(out, json.dumps(found).encode())
"""
)


def similarities(n: int) -> NDArray[np.float64]:
    """Make the same numbers as the peers do."""
    space: dict[str, Any] = {}
    exec(SIMILARITIES, space)  # noqa: S102 - one text for both interpreters
    made: NDArray[np.float64] = space["similarities"](n)
    return made


def timed(work: Callable[[], Any], repeats: int) -> tuple[Any, float]:
    """Return the last result, and the median of the CPU seconds."""
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        result = work()
        seconds.append(time.process_time() - start)
    return result, median(seconds)


def main() -> int:
    """Run the peers and us, assert that all chose the same set, and print the seconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", required=True, help="an interpreter with the peers")
    parser.add_argument("--size", type=int, default=3_000)
    parser.add_argument("--choices", type=int, default=50)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    print(machine())
    numbers = [str(options.size), str(options.choices), str(options.repeats)]
    done = subprocess.run(
        [options.python, "-c", PEER, *numbers], check=True, capture_output=True, text=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    S = similarities(options.size)
    LazyGreedy().choose(FacilityLocation(S[:10, :10]), UniformMatroid(10, 2))
    f, reading = timed(lambda: FacilityLocation(S), options.repeats)
    matroid = UniformMatroid(options.size, options.choices)
    for name, method in (("discreet greedy", Greedy()), ("discreet lazy", LazyGreedy())):
        pairs, seconds = timed(lambda method=method: method.choose(f, matroid), options.repeats)  # type: ignore[misc]  # mypy reads no default of a lambda
        found[name] = {"chosen": [e for e, _ in pairs], "seconds": seconds}
    ours = found["discreet lazy"]["chosen"]
    for name, run in found.items():
        same = "same order" if run["chosen"] == ours else "same set"
        assert set(run["chosen"]) == set(ours), name
        print(f"{name:18s} {run['seconds']:8.4f} s   {same}")
    print(f"{'read and round':18s} {reading:8.4f} s")
    peers = [run["seconds"] for name, run in found.items() if not name.startswith("discreet")]
    assert found["discreet lazy"]["seconds"] <= min(peers)
    return 0


if __name__ == "__main__":
    sys.exit(main())
