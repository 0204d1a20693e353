"""OpenDP's b-ary tree beside ours: error by level, counts below zero, counts that are not whole, seconds.

One number for each of 65,536 leaves of a tree with 16 children a node, four levels below the root, all made: most
leaves are empty, some are large. The same epsilon for everybody, neighbors that add or remove a person, and each level
with a fifth of it, but for the methods from the bottom up. OpenDP's tree is measured and made consistent by its own
functions, in a process of its own; ours are units of size 1 of which nobody knows whether they exist, so that one
person moves one number a level by one, as there. The group ``peers`` must be installed in the environment of
``--python``::

    python -m venv peers && peers/bin/pip install opendp==0.16.0 numpy
    python benchmarks/peers_hierarchy.py --python peers/bin/python
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from run import machine

from discreet import PureDP, Tree
from discreet.hierarchy import GroupSizes, release

WIDTH, DEPTH = 16, 4
PEER = """
import json, sys, time
import numpy as np
import opendp.prelude as dp
dp.enable_features("contrib")
given, out, epsilon, width = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4])
counts = np.load(given).tolist()
space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
tree = dp.t.make_b_ary_tree(*space, leaf_count=len(counts), branching_factor=width)
noisy = tree >> dp.m.then_laplace(scale=tree.map(1) / epsilon)
fit = dp.t.make_consistent_b_ary_tree(branching_factor=width)
start = time.process_time()
made = noisy(counts)
middle = time.process_time()
leaves = np.asarray(fit(made), float)
seconds = [middle - start, time.process_time() - middle]
np.save(out, leaves)
print(json.dumps({"seconds": seconds, "epsilon": noisy.map(1), "raw below zero": int((np.asarray(made) < 0).sum())}))
"""
OURS = (
    "m-c-dp-weighted",
    "top-down-cumulative",
    "bottom-up-cumulative",
    "hay-tree",
    "m-h",
    "top-down-a",
    "bottom-up",
)


def made_leaves() -> NDArray[np.int64]:
    """Make counts of leaves: most are 0, the others geometric, a few in thousands."""
    rng = np.random.default_rng(16)
    counts = rng.geometric(1 / 12, WIDTH**DEPTH) * (rng.random(WIDTH**DEPTH) < 0.3)
    counts[rng.choice(len(counts), 200, replace=False)] += rng.integers(1000, 5000, 200)
    return np.asarray(counts, dtype=np.int64)


def full_tree() -> Tree:
    """Make the tree, in level order."""
    nodes = sum(WIDTH**level for level in range(DEPTH + 1))
    return Tree(tuple(range(nodes)), (np.arange(nodes) - 1) // WIDTH)


def errors(tree: Tree, found: NDArray[np.float64], true: NDArray[np.int64]) -> str:
    """Give the L1 error of each level, the root's first."""
    apart = np.abs(found - true)
    return " ".join(f"{apart[a:b].sum():9.1f}" for a, b in pairwise(tree.level_start.tolist()))


def line(name: str, found: NDArray[np.float64], tree: Tree, true: NDArray[np.int64]) -> str:
    """Describe counts of all nodes."""
    negative, broken = int((found < 0).sum()), int((found != np.rint(found)).sum())
    return f"{name:28s} {errors(tree, found, true)} {negative:9d} {broken:9d}"


def peer(python: str, leaves: NDArray[np.int64], epsilon: str) -> tuple[NDArray[np.float64], str]:
    """Run OpenDP in its own interpreter; return its consistent leaves and what it says of itself."""
    with tempfile.TemporaryDirectory() as folder:
        given, out = Path(folder) / "given.npy", Path(folder) / "out.npy"
        np.save(given, leaves)
        command = [python, "-c", PEER, str(given), str(out), epsilon, str(WIDTH)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        said = json.loads(done.stdout.splitlines()[-1])
        assert said["epsilon"] <= float(epsilon) * (1 + 1e-9)
        times = "{:.2f} + {:.2f}".format(*said["seconds"])
        return np.load(out), f"{times}; {said['raw below zero']} below zero as measured"


def main() -> None:
    """Print one row for each method and epsilon."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=sys.executable, help="an interpreter that has opendp")
    parser.add_argument("--repeats", type=int, default=1)
    options = parser.parse_args()
    print(machine())
    tree, leaves = full_tree(), made_leaves()
    true = tree.totals(leaves)
    data = GroupSizes.from_counts(tree, leaves[:, None], units="private")
    print(f"{tree.n} nodes, {len(leaves)} leaves, {int((leaves == 0).sum())} of them empty")
    release(data, PureDP(1, "add-remove-person"))  # compiles what is to be compiled
    for epsilon in ("0.1", "1"):
        print(f"\nepsilon {epsilon:20s} L1 by level, the root first" + " " * 27, end="")
        print("negative fractional  seconds")
        for _ in range(options.repeats):
            theirs, said = peer(options.python, leaves, epsilon)
            print(line("OpenDP, b-ary tree", tree.totals(theirs), tree, true), f"  {said}")
            for name in OURS:
                begun = time.process_time()
                made = release(data, PureDP(epsilon, "add-remove-person"), method=name)
                took = time.process_time() - begun
                assert made.certificate.passed
                found = np.asarray(made.result.counts[:, 0], dtype=np.float64)
                print(line(name, found, tree, true), f"  {took:.2f}", flush=True)
                if name != "hay-tree":
                    assert (found >= 0).all()
                    assert (found == np.rint(found)).all()


if __name__ == "__main__":
    main()
