"""Noise for a stated workload: the loss over its lower bound, and the CPU seconds of the choice.

``python benchmarks/hierarchy_workloads.py [--trees lopsided,...] [--groups 12]`` prints one JSON line for each tree,
workload and loss; with ``--groups`` also that with groups of siblings, for the losses that are the largest of numbers.
Nothing is drawn: all of it follows from public facts.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from typing import Any

import numpy as np

from discreet import Tree, ZeroConcentratedDP
from discreet.hierarchy.contingency.optimum import best_frame, pruned
from discreet.hierarchy.contingency.problem import Domain
from discreet.hierarchy.contingency.region_groups import grouped_regions
from discreet.hierarchy.contingency.verify_loss import proved_loss
from discreet.hierarchy.contingency.workload import LOSSES, OF_LARGEST, read_workload

WORKLOADS: dict[str, tuple[tuple[int, ...], Any, Any]] = {
    "one-way, 2 binary": ((2, 2), "a0, a1", None),
    "one-way, 10 binary": ((2,) * 10, [f"a{at}" for at in range(10)], None),
    "two-way, 8 binary": ((2,) * 8, [f"a{i}:a{k}" for k in range(8) for i in range(k)], None),
    "one- and two-way, 6 of 2 to 4": (
        (2, 3, 4, 2, 3, 4),
        [f"a{at}" for at in range(6)] + [f"a{i}:a{k}" for k in range(6) for i in range(k)],
        None,
    ),
    "one of 100 categories": ((2, 100, 3), "a0, a1, a0:a1", None),
    "cells alone": ((2, 9, 4), "cells", None),
    "leaves alone": ((2, 5, 3), "a0, a1, a2", (0, 0, 1)),
    "root alone": ((2, 5, 3), "a0, a1, a2", (1, 0, 0)),
    "weights by level": ((2, 9, 4), "a0, a1, a0:a1, cells=0.2", (1, 2, 4)),
    "total, one-way, cells": ((2, 63), "total, a0, a1, cells", None),
    # Two that nothing was tuned to.
    "another list a level": ((2, 9, 4), [["a0:a1", "a2"], ["a0", "a1"], ["total", "cells"]], None),
    "three-way beside total": ((2, 2, 6, 4), "total=50, a0:a1:a2, a1:a2:a3, a3", (1, 1, 1)),
}


def of_states(sizes: list[int]) -> Tree:
    """Make a tree of states with so many counties; with 0 a state is a lowest region."""
    return Tree.from_paths(
        (f"s{at}", f"c{k}") if many else (f"s{at}",)
        for at, many in enumerate(sizes)
        for k in range(many or 1)
    )


def trees() -> dict[str, Tree]:
    """Make the trees, of two levels below the root."""
    rng = np.random.default_rng(20261130)
    rest = rng.multinomial(251, rng.dirichlet(np.ones(49))) + 1
    drawn = np.rint(rng.lognormal(2.5, 1.2, 50)).astype(int).clip(1)
    return {
        "balanced": of_states([60] * 50),
        "ragged": of_states([*drawn.tolist(), *[0] * 10]),
        "single-child": of_states([1] * 30 + rng.integers(2, 90, 10).tolist()),
        "lopsided": of_states([2700, *rest.tolist()]),
    }


def ratio(tree: Tree, name: str, loss: str, groups: int | None) -> dict[str, Any]:
    """Choose shares, and compute their loss over the bound anew."""
    shape, tables, levels = WORKLOADS[name]
    domain = Domain.read({f"a{at}": list(map(str, range(n))) for at, n in enumerate(shape)})
    workload = read_workload(domain, tree.depth + 1, tables, levels, loss)
    if workload.depth < tree.depth:
        tree = pruned(tree, workload.depth)
        asked = {q: each[: tree.depth + 1] for q, each in workload.tables.items()}
        workload = replace(workload, tables=asked)
    guarantee = ZeroConcentratedDP(1, neighbors="add-remove-person")
    start = time.process_time()
    if groups is not None:
        made = grouped_regions(tree, groups)
        tree, workload = made.tree, made.spread(workload)
    frame, record = best_frame(tree, domain, workload, guarantee)
    seconds = time.process_time() - start
    if record is None:
        return {"ratio": None}
    proved = proved_loss(frame, guarantee, record)
    found = {"ratio": round(proved.most / proved.linear, 4), "seconds": round(seconds, 1)}
    return found | {"residuals": frame.residuals, "regions": tree.n, "levels": tree.depth + 1}


def main() -> None:
    """Print the ratios."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--trees", default="")
    parser.add_argument("--groups", type=int)
    options = parser.parse_args()
    for kind, tree in trees().items():
        if options.trees and kind not in options.trees.split(","):
            continue
        for name in WORKLOADS:
            for loss in LOSSES:
                several = options.groups is not None and loss in OF_LARGEST
                for groups in (None, options.groups)[: 1 + several]:
                    line = {"tree": kind, "workload": name, "loss": loss, "groups": groups}
                    print(json.dumps(line | ratio(tree, name, loss, groups)), flush=True)


if __name__ == "__main__":
    main()
