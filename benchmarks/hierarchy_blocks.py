"""Ten million blocks by simulation: some counties of a census of five levels, each as one machine of a cluster has it.

``python benchmarks/hierarchy_blocks.py [--counties 2] [--blocks 3182] [--rho 1]`` makes that many of 3,143 counties of
(10^7 / 3,143) blocks each in tracts and block groups, 2,016 cells a region. For each it measures, makes the estimate
from the subtree, sends it up, takes the county's table back and goes down; states and the nation are made of what
counties sent. It prints one JSON line a step with CPU seconds and memory, and what that makes for all counties.
"""

from __future__ import annotations

import argparse
import itertools
import json
import resource
import time
from fractions import Fraction
from typing import Any

import numpy as np
from hierarchy_tables import SHAPE, SHOWN

from discreet import Tree, ZeroConcentratedDP
from discreet.core.randomness import SeededBits
from discreet.hierarchy.contingency.cell_counts import CellCounts
from discreet.hierarchy.contingency.descent import Siblings, solve
from discreet.hierarchy.contingency.estimates import InteractionBasis, combine, upward
from discreet.hierarchy.contingency.measure import measure
from discreet.hierarchy.contingency.problem import Domain, TableFrame
from discreet.hierarchy.contingency.rounding import (
    as_units,
    by_exchanges,
    round_largest,
    round_root,
)
from discreet.hierarchy.contingency.shape import toward_shape
from discreet.hierarchy.contingency.whole import whole

LEVELS = 6
"""Nation, state, county, tract, block group, block."""

BLOCKS, COUNTIES, STATES = 10**7, 3143, 51


def county(blocks: int) -> Tree:
    """Divide a county: 27 tracts, three block groups each, blocks among them."""
    return Tree.from_paths(
        [(f"t{b % 27}", f"g{b % 81}", f"b{b}") for b in range(max(blocks, 81))], root="county"
    )


def part_of(tree: Tree, domain: Domain, rho: Fraction) -> tuple[TableFrame, Any]:
    """Give the frame of a subtree, and the part of the budget that its levels have.

    Equal parts for levels, nine tenths of each for cells: the noise is that of the whole tree.
    """
    levels = tree.depth + 1
    each = Fraction(1, levels)
    shares = dict.fromkeys(SHOWN.values(), (each / 30,) * levels)
    shares[domain.full] = (each * 9 / 10,) * levels
    part = rho * Fraction(levels, LEVELS)
    return TableFrame(tree, domain, shares), ZeroConcentratedDP(part, "add-remove-person")


def say(step: str, begun: float, **more: object) -> float:
    """Print one line; give the CPU seconds."""
    seconds = time.process_time() - begun
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        json.dumps({"step": step, "CPU seconds": round(seconds, 2), "MB": round(peak), **more}),
        flush=True,
    )
    return seconds


def main() -> None:
    """Run some counties, and say what all of them need."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--counties", type=int, default=2)
    parser.add_argument("--blocks", type=int, default=BLOCKS // COUNTIES)
    parser.add_argument("--rho", default="1")
    options = parser.parse_args()
    rho = Fraction(options.rho)
    domain = Domain.read({name: list(map(str, range(n))) for name, n in SHAPE.items()})
    basis = InteractionBasis(domain)
    tree, one = county(options.blocks), Tree(("state",), np.array([-1]))
    frame, guarantee = part_of(tree, domain, rho)
    rng = np.random.default_rng(1)
    law = rng.dirichlet(np.full(domain.size, 0.02), options.counties)
    truth = [rng.multinomial(33, row, len(tree.leaves)) for row in law]
    seconds: dict[str, list[float]] = {"measured": [], "up": [], "down": []}
    kept, sent = [], []
    for at, counts in enumerate(truth):
        begun = time.process_time()
        kept.append(measure(CellCounts(frame, counts), guarantee, bits=SeededBits(at)))
        seconds["measured"].append(say("measured", begun, county=at, regions=tree.n))
        begun = time.process_time()
        made = upward(kept[-1])
        sent.append((made.means[0].copy(), made.weights.precision[0].copy()))
        seconds["up"].append(say("up", begun, county=at, bytes_sent=int(sent[-1][0].nbytes)))
        del made
    # The state and the nation have the same people here, and measurements of their own.
    above = []
    total = np.sum([counts.sum(axis=0) for counts in truth], axis=0, keepdims=True)
    for level in (0, 1):
        alone, promise = part_of(one, domain, rho)
        own = upward(measure(CellCounts(alone, total), promise, bits=SeededBits(99 + level)))
        above.append((own.means[0], own.weights.precision[0]))
    begun = time.process_time()
    state = combine(above[1], sent, basis.subset)
    nation = combine(above[0], [state], basis.subset)
    say("combined", begun, machines=len(sent))
    begun = time.process_time()
    root = Siblings(nation[0][None], nation[1][None], None, None, domain.possible)
    root = toward_shape(root, basis)
    top = round_root(solve(root, basis, rounds=500).tables, domain, [(), (1,), domain.full], None)
    children = Siblings(
        np.stack([mean for mean, _ in sent]),
        np.stack([precision for _, precision in sent]),
        top,
        None,
        domain.possible,
    )
    found = solve(toward_shape(children, basis), basis, rounds=60).tables
    tables = by_exchanges(round_largest(as_units(found, top), top), found, children, basis)
    say("nation and counties", begun)
    for at, measured in enumerate(kept):
        begun = time.process_time()
        out = whole(measured, top=tables[at])
        off = np.abs(out.cells[1:].sum(axis=1) - frame.tree.totals(truth[at]).sum(axis=1)[1:])
        starts = (tree.level_start[1:] - 1).tolist()
        seconds["down"].append(
            say(
                "down",
                begun,
                county=at,
                gaps=[round(gap.gap, 4) for gap in out.gaps],
                totals=[round(float(off[a:b].mean()), 2) for a, b in itertools.pairwise(starts)],
            )
        )
    each = sum(float(np.mean(parts)) for parts in seconds.values())
    numbers = BLOCKS / options.blocks * tree.n * domain.size
    print(
        json.dumps(
            {
                "counties": COUNTIES,
                "CPU hours for all": round(each * COUNTIES / 3600, 1),
                "hours on 64 cores": round(each * COUNTIES / 3600 / 64, 2),
                "numbers": numbers,
                "TB of measurements, 4 bytes each": round(numbers * 4 / 1e12, 3),
                "MB sent up and down in all": round(2 * COUNTIES * domain.size * 8 / 1e6, 1),
            }
        )
    )


if __name__ == "__main__":
    main()
