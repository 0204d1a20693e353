"""Tables of attributes by region: a synthetic census of 2,016 cells on 1 + 50 + 3,000 regions.

``python benchmarks/hierarchy_tables.py [--rho 1] [--seed 1] [--counties 3000] [--beside] [--threads 2]`` prints one
JSON line a method: mean L1 error a region by marginal and level, seconds, and memory. ``--beside`` adds the
whole budget on cells, each cell a tree of its own. Noise is seeded: only for this.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import Tree, ZeroConcentratedDP
from discreet.core.randomness import SeededBits
from discreet.hierarchy.contingency.cell_counts import CellCounts
from discreet.hierarchy.contingency.estimates import estimate
from discreet.hierarchy.contingency.measure import measure
from discreet.hierarchy.contingency.problem import Domain, TableFrame
from discreet.hierarchy.contingency.whole import whole
from discreet.hierarchy.laminar import project

SHAPE = {"quarters": 8, "voting": 2, "ethnicity": 2, "race": 63}
SHOWN = {"total": (), "voting age": (1,), "race": (3,), "cells": (0, 1, 2, 3)}


def population(seed: int, n_states: int, n_counties: int) -> tuple[Tree, Domain, NDArray[np.int64]]:
    """Make persons: counties of median 26,000, skewed attributes that vary by county."""
    rng = np.random.default_rng(seed)
    sizes = rng.multinomial(n_counties - n_states, rng.dirichlet(np.full(n_states, 3.0))) + 1
    people = np.maximum(rng.lognormal(np.log(26000), 1.4, n_counties), 60).astype(int)
    quarters = np.array([0.972, 0.004, 0.001, 0.003, 0.001, 0.010, 0.002, 0.007])
    quarters /= quarters.sum()
    tail = np.arange(1, 58.0) ** -1.6
    race = np.concatenate([[0.66, 0.12, 0.01, 0.06, 0.003, 0.08], 0.067 * tail / tail.sum()])
    race /= race.sum()
    counts = np.zeros((n_counties, 2016), np.int64)
    for county in range(n_counties):
        own, kind = rng.dirichlet(race * 40 + 1e-3), rng.dirichlet(quarters * 300 + 1e-3)
        grown, ethnic = rng.beta(78, 22), rng.beta(2, 10)
        other = own.copy()
        other[5] += 0.5
        other /= other.sum()
        adults = np.array([grown if k in (0, 7) else 0.05 if k == 2 else 0.98 for k in range(8)])
        by_age = np.stack([1 - adults, adults], axis=1)
        by_race = np.stack([(1 - ethnic) * own, ethnic * other])
        law = kind[:, None, None, None] * by_age[:, :, None, None] * by_race[None, None]
        counts[county] = rng.multinomial(people[county], law.ravel() / law.sum())
    paths = [(f"s{s:02d}", f"c{c:04d}") for s in range(n_states) for c in range(sizes[s])]
    tree = Tree.from_paths(paths)
    domain = Domain.read({name: list(map(str, range(n))) for name, n in SHAPE.items()})
    return tree, domain, counts


def errors(
    tree: Tree, domain: Domain, made: NDArray[Any], truth: NDArray[np.int64]
) -> dict[str, list[float]]:
    """Mean L1 error a region, by marginal, for each level from the root down."""
    found = {}
    for name, q in SHOWN.items():
        off = np.abs(domain.project(made, q) - domain.project(truth, q)).sum(axis=1)
        edges = tree.level_start.tolist()
        found[name] = [
            round(float(off[edges[k] : edges[k + 1]].mean()), 2) for k in range(tree.depth + 1)
        ]
    return found


def say(method: str, seconds: float, **more: object) -> None:
    """Print one line."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        json.dumps({"method": method, "seconds": round(seconds, 2), "MB": round(peak), **more}),
        flush=True,
    )


def main() -> None:
    """Make the census, measure it, and print what each way gives."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rho", default="1")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--states", type=int, default=50)
    parser.add_argument("--counties", type=int, default=3000)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--cells", default="9/10")
    parser.add_argument("--beside", action="store_true")
    options = parser.parse_args()
    tree, domain, counts = population(options.seed, options.states, options.counties)
    truth = tree.totals(counts)
    third, cells = Fraction(1, 3), Fraction(options.cells)
    guarantee = ZeroConcentratedDP(options.rho, "add-remove-person")
    shares = dict.fromkeys(SHOWN.values(), ((1 - cells) / 3 * third,) * 3)
    shares[domain.full] = (cells * third,) * 3
    frame = TableFrame(tree, domain, shares)
    bits = SeededBits(options.seed)
    # Compiled apart, on something small.
    small = TableFrame(Tree.from_paths([("a", "b")]), domain, shares)
    whole(measure(CellCounts(small, counts[:1]), guarantee, bits=bits), rounds=20)
    begun = time.perf_counter()
    kept = measure(CellCounts(frame, counts), guarantee, bits=bits)
    say("measured", time.perf_counter() - begun)
    begun = time.perf_counter()
    signed = estimate(kept)
    say("estimates", time.perf_counter() - begun, **errors(tree, domain, signed, truth))
    leaves = slice(int(tree.level_start[-2]), tree.n)
    del signed
    begun = time.perf_counter()
    made = whole(kept, rounds=options.rounds, threads=options.threads)
    seconds = time.perf_counter() - begun
    zero = truth[leaves] == 0
    off = made.cells[leaves] - truth[leaves]
    say(
        "whole tables",
        seconds,
        **errors(tree, domain, made.cells, truth),
        gaps=[round(one.gap, 4) for one in made.gaps],
        zeros_up=round(float(off[zero].mean()), 4),
        others_down=round(float(off[~zero].mean()), 4),
    )
    if options.beside:
        alone = TableFrame(tree, domain, {domain.full: (third,) * 3})
        noisy = measure(CellCounts(alone, counts), guarantee, bits=bits)
        begun = time.perf_counter()
        today = project(
            tree, np.array(noisy.values[domain.full]), total=None, threads=options.threads
        )
        say("cells alone", time.perf_counter() - begun, **errors(tree, domain, today, truth))


if __name__ == "__main__":
    main()
