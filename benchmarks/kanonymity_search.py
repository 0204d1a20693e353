"""Heuristics of k-anonymity and the search side by side on made tables: information loss, and processor seconds.

``few`` has four columns of numbers, with far fewer different rows than rows; ``many`` has eight, nearly all rows
different; ``trees`` has six taxonomies. Each method's partition is audited before it is printed. Another table is read
from a CSV file of numbers with ``--csv FILE --quasi a,b,c``. First calls compile and are not counted.

    python benchmarks/kanonymity_search.py [--rows 20000] [--k 3,10] [--seconds 20] [--csv FILE --quasi a,b]
"""

from __future__ import annotations

import argparse
import csv
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from run import machine

from discreet.core.tree import Tree
from discreet.kanonymity.bounds.lower import LowerBound
from discreet.kanonymity.candidate import Method, SearchLimits, audit
from discreet.kanonymity.methods.greedy_search import GreedySearch
from discreet.kanonymity.methods.initial import Initial
from discreet.kanonymity.methods.k_member import KMember
from discreet.kanonymity.methods.mondrian import Mondrian
from discreet.kanonymity.methods.segmentation import Segmentation
from discreet.kanonymity.methods.split_carry import SplitCarry
from discreet.kanonymity.problem import Numeric, Problem, Taxonomy
from discreet.kanonymity.search.search import search


def few(n: int, seed: int = 0) -> Problem:
    """Sex, age, marital status and race by numbers, as in a census."""
    rng = np.random.default_rng(seed)
    age = np.clip(rng.gamma(6, 6.2, n) + 16, 16, 90).astype(int)
    marital = np.where(age < 25, 6, rng.choice([1, 1, 1, 1, 2, 3, 4, 5, 6], n))
    columns = {
        "sex": rng.integers(1, 3, n),
        "age": age,
        "marital": marital,
        "race": rng.choice(7, n, p=[0.84, 0.11, 0.01, 0.01, 0.01, 0.01, 0.01]),
    }
    return Problem.from_columns(columns, [Numeric(name) for name in columns])


def many(n: int, seed: int = 0) -> Problem:
    """Four more columns, so that few rows are equal."""
    rng = np.random.default_rng(seed)
    base = few(n, seed)
    columns = {
        column.name: np.array(column.domain, dtype=float)[base.codes[:, j]]
        for j, column in enumerate(base.columns)
    }
    columns |= {
        "birthplace": np.where(
            rng.random(n) < 0.85, rng.zipf(1.4, n) % 56, rng.integers(60, 426, n)
        ),
        "education": np.clip(rng.normal(12, 2.7, n), 4, 20).astype(int),
        "work": rng.choice([13, 22, 23, 24, 25, 26, 29], n),
        "occupation": np.clip(rng.normal(30, 9, n), 4, 79).astype(int),
    }
    return Problem.from_columns(columns, [Numeric(name) for name in columns])


def trees(n: int, seed: int = 0) -> Problem:
    """Six columns of leaves of regular trees, some leaves far more frequent."""
    rng = np.random.default_rng(seed)
    columns: dict[str, Any] = {}
    kinds = []
    for j, shape in enumerate([(2,), (2, 3), (3, 2, 2), (4, 4), (5, 8), (4, 3, 6)]):
        paths = [
            tuple(f"{j}:{'.'.join(map(str, index[: d + 1]))}" for d in range(len(shape)))
            for index in np.ndindex(*shape)
        ]
        weight = 1 / (1 + rng.permutation(len(paths)))
        drawn = rng.choice(len(paths), n, p=weight / weight.sum())
        columns[f"t{j}"] = [paths[leaf][-1] for leaf in drawn]
        kinds.append(Taxonomy(f"t{j}", Tree.from_paths(paths)))
    return Problem.from_columns(columns, kinds, loss="taxonomy")


def from_file(path: str, quasi: list[str]) -> Problem:
    """Read columns of numbers."""
    with open(path, encoding="utf-8-sig", newline="") as file:  # noqa: PTH123 - one file, read once
        rows = list(csv.DictReader(file))
    columns = {name: [float(row[name]) for row in rows] for name in quasi}
    return Problem.from_columns(columns, [Numeric(name) for name in quasi])


def show(name: str, problem: Problem, k: int, seconds: float) -> None:
    """Print one line for each method."""
    counts = np.unique(problem.codes, axis=0, return_counts=True)[1]
    few_alike = int(counts[counts < k].sum())
    print(f"{name}: {problem.n} rows, {len(counts)} different, {few_alike} in groups below {k}")
    methods: list[Method] = [Initial(), Mondrian(), Segmentation(8)]
    if problem.n <= 40_000:
        methods += [GreedySearch(), KMember()]
    if k == 3:
        methods.append(SplitCarry(2))
    for method in methods:
        begun = time.process_time()
        found = method.solve(problem, k, SearchLimits.within(seconds))
        line(problem, k, found.method, found.labels, time.process_time() - begun)
    begun = time.process_time()
    best = search(problem, k, time_limit=seconds)
    line(problem, k, f"search ({best.method})", best.labels, time.process_time() - begun)
    begun = time.process_time()
    bound = LowerBound(problem, k)
    bound.refine(SearchLimits.within(seconds), best.labels)
    gap = 1 - max(bound.value, best.lower) / best.loss
    took = time.process_time() - begun
    print(f"  {'lower bound':28s} {bound.value:12.3f} {took:8.2f} s   gap {gap:.4f}")


def line(problem: Problem, k: int, name: str, labels: NDArray[np.int32], seconds: float) -> None:
    """Print what one method lost, after an audit."""
    audit(labels, k).raise_for_failure()
    loss = problem.loss_of(labels)
    mean = loss / problem.n / problem.suppressed_cost
    print(f"  {name:28s} {loss:12.3f} {seconds:8.2f} s   mean {mean:.5f}")


def main() -> None:
    """Compile on small tables, then measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--k", default="3,10")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--csv")
    parser.add_argument("--quasi", default="")
    options = parser.parse_args()
    print(machine())
    if options.csv:
        tables = {options.csv: from_file(options.csv, options.quasi.split(","))}
    else:
        tables = {made.__name__: made(options.rows) for made in (few, many, trees)}
    for k in map(int, options.k.split(",")):
        for made in (few, trees):
            search(made(300), k, time_limit=5)
            KMember().solve(made(50), k, SearchLimits())
            Mondrian().solve(made(50), k, SearchLimits())
        for name, problem in tables.items():
            show(name, problem, k, options.seconds)


if __name__ == "__main__":
    main()
