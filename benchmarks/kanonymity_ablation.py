"""Remove one part of k-anonymity at a time, and measure the loss and the lower bound in equal CPU time.

Time limits count CPU seconds, so that other processes on the machine change nothing; the solver of linear programs has
none, since it counts by the wall. ``bound`` raises the bound from one partition, ``cells`` searches shared cells alone,
``search`` runs the default methods with and without a time limit, ``split`` splits top-down, ``local`` improves one
partition, ``exact`` looks for the optimum, and ``demands`` holds demands on sensitive values. A part earns its lines if
its removal costs 5 % of the loss or of the bound on a family. No family has chosen a threshold.

    python benchmarks/kanonymity_ablation.py bound [--seconds 10] [--only uniform,zipf] [--csv FILE --columns a,b]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np

from discreet.core import jit
from discreet.core.lp import LinearModel
from discreet.core.tree import Tree
from discreet.kanonymity.bounds.dual import MultiplierTuning
from discreet.kanonymity.bounds.lower import LowerBound
from discreet.kanonymity.bounds.shared import Shared
from discreet.kanonymity.candidate import CandidateClasses, Method, SearchLimits
from discreet.kanonymity.demand import Demand
from discreet.kanonymity.exact.cuts import NO_CUTS
from discreet.kanonymity.methods.local_search import LocalSearch
from discreet.kanonymity.methods.partitioning import SetPartitioning
from discreet.kanonymity.methods.top_down import TopDown
from discreet.kanonymity.models import AlphaFrequency, Closeness, DistinctDiversity, PrivacyModel
from discreet.kanonymity.problem import Attribute, Categorical, Numeric, Problem, Taxonomy
from discreet.kanonymity.search import search as module
from discreet.kanonymity.search.local import Union, unions_for
from discreet.kanonymity.search.parts import rules_for
from discreet.kanonymity.search.search import search

K = "discreet.kanonymity"
Family = tuple[Problem, int]
Change = Callable[[ExitStack], object]


def numbers(rows: np.ndarray) -> Problem:
    """Take each column as numbers."""
    names = [f"c{j}" for j in range(rows.shape[1])]
    return Problem.from_columns(dict(zip(names, rows.T, strict=True)), [Numeric(n) for n in names])


def from_csv(file: str, names: list[str], n: int, seed: int) -> Problem:
    """Read a sample of a table; columns of numbers are numeric, and others sets of values."""
    import polars as pl

    table = pl.read_csv(file)
    table = table.select(names or table.columns).sample(min(n, len(table)), seed=seed)
    kinds: list[Attribute] = [
        Numeric(name) if table[name].dtype.is_numeric() else Categorical(name)
        for name in table.columns
    ]
    return Problem.from_columns({name: table[name].to_list() for name in table.columns}, kinds)


def taxonomies(n: int, seed: int) -> Problem:
    """Draw four taxonomies of 27 leaves by Zipf's law, and a number."""
    rng = np.random.default_rng(seed)
    leaves = np.array([f"{a}{b}{c}" for a in "xyz" for b in "xyz" for c in "xyz"], dtype=object)
    tree = Tree.from_paths([(leaf[0], leaf[:2], leaf) for leaf in leaves])
    share = 1 / np.arange(1, 28)
    columns = {f"t{j}": rng.choice(leaves, n, p=share / share.sum()) for j in range(4)}
    kinds: list[Attribute] = [*(Taxonomy(name, tree) for name in columns), Numeric("age")]
    return Problem.from_columns({**columns, "age": rng.integers(18, 90, n)}, kinds)


def clustered(n: int, m: int, centers: int, spread: float, seed: int) -> Problem:
    """Draw numbers around some centers."""
    rng = np.random.default_rng(seed)
    places = rng.uniform(0, 1000, (centers, m))
    return numbers(np.round(places[rng.integers(0, centers, n)] + rng.normal(0, spread, (n, m))))


def zipf(n: int, m: int, seed: int) -> Problem:
    """Draw sets of 25 values by Zipf's law."""
    rng = np.random.default_rng(seed)
    words = {f"w{j}": rng.zipf(1.4, n) % 25 for j in range(m)}
    return Problem.from_columns(words, [Categorical(name) for name in words])


def mixed(n: int, seed: int) -> Problem:
    """Draw an age, a day, a set of nine values by Zipf's law, and a number of 60 values."""
    rng = np.random.default_rng(seed)
    columns = {
        "age": np.clip(rng.normal(50, 18, n), 0, 99).astype(int),
        "day": rng.integers(0, 3000, n),
        "set": rng.zipf(1.6, n) % 9,
        "few": rng.integers(0, 60, n),
    }
    kinds = [Categorical(name) if name == "set" else Numeric(name) for name in columns]
    return Problem.from_columns(columns, kinds)


def uniform(n: int, m: int, values: int, seed: int) -> Problem:
    """Draw numbers uniformly."""
    return numbers(np.random.default_rng(seed).integers(0, values, (n, m)))


def families(file: str | None, names: list[str]) -> Iterator[tuple[str, Callable[[], Family]]]:
    """Yield names and makers of tables."""
    if file:
        yield "csv-1300-k4", lambda: (from_csv(file, names, 1300, 101), 4)
        yield "csv-12k-k15", lambda: (from_csv(file, names, 12_000, 112), 15)
    yield "clustered4-1500-k7", lambda: (clustered(1500, 4, 23, 55, 105), 7)
    yield "uniform5-800-k6", lambda: (uniform(800, 5, 60, 106), 6)
    yield "uniform3-1300-k4", lambda: (uniform(1300, 3, 400, 107), 4)
    yield "zipf4-1600-k8", lambda: (zipf(1600, 4, 108), 8)
    yield "trees-1500-k6", lambda: (taxonomies(1500, 109), 6)
    yield "mixed-1200-k9", lambda: (mixed(1200, 110), 9)
    yield "uniform4-80-k3", lambda: (uniform(80, 4, 80, 132), 3)
    yield "mixed-100-k4", lambda: (mixed(100, 133), 4)
    yield "uniform4-300-k3", lambda: (uniform(300, 4, 80, 121), 3)
    yield "mixed-20k-k8", lambda: (mixed(20_000, 114), 8)
    yield "clustered6-15k-k6", lambda: (clustered(15_000, 6, 60, 30, 115), 6)
    yield "trees-25k-k20", lambda: (taxonomies(25_000, 116), 20)
    yield "zipf5-18k-k9", lambda: (zipf(18_000, 5, 118), 9)


def replaced(path: str, value: object) -> Change:
    """Replace a function or a constant."""
    return lambda stack: stack.enter_context(patch(path, value))


def without(name: str) -> Change:
    """Leave a method out of the search, by its class and effort."""
    original = module._by_cost  # noqa: SLF001 - the list of methods is what is changed

    def fewer(run: Any) -> Iterator[Any]:  # noqa: ANN401 - the state of a search is private
        for method in original(run):
            if type(method).__name__ + getattr(method, "effort", "") != name:
                yield method

    return lambda stack: stack.enter_context(patch.object(module, "_by_cost", fewer))


def rules(**changes: Any) -> Change:  # noqa: ANN401 - fields of the rules
    """Change how much splitting tries."""
    return replaced(
        f"{K}.search.parts.rules_for", lambda *given: rules_for(*given)._replace(**changes)
    )


def kinds_of_unions(keep: Callable[[Union], bool]) -> Change:
    """Leave out kinds of unions."""
    path = f"{K}.methods.local_search.unions_for"
    return replaced(path, lambda k: tuple(union for union in unions_for(k) if keep(union)))


BOUNDS: dict[str, Change | None] = {
    "everything": None,
    "no multipliers": replaced(
        f"{K}.bounds.lower.MULTIPLIERS", MultiplierTuning(max_points_of_program=0)
    ),
    "no branches": replaced(f"{K}.bounds.dual.DualBound._round", lambda *_: None),
    "no nearest rows": replaced(f"{K}.bounds.lower.nearest_bound", lambda *_: 0.0),
}
CELLS: dict[str, Change | None] = {
    "everything": None,
    "all columns listed": replaced(f"{K}.bounds.shared._last_column", lambda *_: None),
}
SPLITS: dict[str, Change | None] = {
    "everything": None,
    "no trials": rules(trials=1),
    "two trials": rules(trials=2),
    "trials of 2,000 rows": rules(trial_rows=2_000),
}
LOCAL: dict[str, Change | None] = {
    "everything": None,
    "two classes": kinds_of_unions(lambda union: union.classes == 2),
    "four classes": kinds_of_unions(lambda union: union.classes == 4),
}
EXACT: dict[str, Change | None] = {
    "everything": None,
    "no cuts": replaced(f"{K}.exact.tree.violated", lambda *_: NO_CUTS),
}
METHODS = ("TopDownfast", "TopDownstrong", "Segmentation", "GreedySearch", "SetPartitioning")
SEARCHES: dict[str, Change | None] = {
    "everything": None,
    **{f"no {name}": without(name) for name in (*METHODS, "LocalSearch")},
}
MODELS: list[PrivacyModel] = [DistinctDiversity(3), AlphaFrequency("1/2"), Closeness("2/5")]
Row = tuple[str, float, float, float]


def variants(changes: dict[str, Change | None], job: Callable[[], Any]) -> Iterator[Any]:
    """Run a job under each change; yield the name, the result and CPU seconds."""
    for name, change in changes.items():
        with ExitStack() as stack:
            if change is not None:
                change(stack)
            began = time.process_time()
            result = job()
            yield name, result, time.process_time() - began


def bound_rows(problem: Problem, k: int, seconds: float) -> Iterator[Row]:
    """Raise the bound from one partition, without each part."""
    found = search(problem, k, effort="fast")

    def job() -> float:
        bound = LowerBound(problem, k)
        bound.refine(SearchLimits.within(seconds), found.labels)
        return bound.value

    for name, value, cpu in variants(BOUNDS, job):
        yield name, found.loss, value, cpu


def cell_rows(problem: Problem, k: int, _seconds: float) -> Iterator[Row]:
    """Search shared cells up to a quarter of all weights, without a time limit."""

    def job() -> float:
        bound = Shared.of(problem, k)
        bound.prepare()
        sets = any(column.is_set for column in problem.columns)
        bound.aim(0.25, problem.n * problem.m, sets=sets, timed=False)
        bound.refine(SearchLimits())
        return bound.lower

    for name, value, cpu in variants(CELLS, job):
        yield name, np.nan, value, cpu


def partition_rows(
    changes: dict[str, Change | None], method: Method, problem: Problem, k: int, seconds: float
) -> Iterator[Row]:
    """Run one method from a fast partition."""
    start = search(problem, k, effort="fast").labels

    def job() -> CandidateClasses:
        return method.solve(problem, k, SearchLimits.within(seconds or None, start=start))

    for name, found, cpu in variants(changes, job):
        yield name, problem.loss_of(found.labels), found.lower, cpu


def search_rows(problem: Problem, k: int, seconds: float) -> Iterator[Row]:
    """Search without each method."""
    for limit in (None, seconds):
        job = partial(search, problem, k, time_limit=limit)
        for name, found, cpu in variants(SEARCHES, job):
            yield f"{name}, {limit or 'untimed'}", found.loss, found.lower, cpu


def demand_rows(problem: Problem, k: int, seconds: float) -> Iterator[Row]:
    """Hold demands from the default start, and from other methods."""
    values = np.random.default_rng(3).zipf(1.6, problem.n) % 8
    for model in MODELS:
        demands = (Demand("ill", model, values),)
        for method in (None, "segmentation", "greedy-search"):
            began = time.process_time()
            found = search(problem, k, demands=demands, method=method, time_limit=seconds or None)
            cpu = time.process_time() - began
            yield f"{type(model).__name__} {method}", found.loss, found.lower, cpu


def main() -> None:
    """Measure, and print a row for each variant."""
    parser = argparse.ArgumentParser(description=__doc__)
    rows_of: dict[str, Callable[..., Iterator[Row]]] = {
        "bound": bound_rows,
        "cells": cell_rows,
        "search": search_rows,
        "split": partial(partition_rows, SPLITS, TopDown("strong")),
        "local": partial(partition_rows, LOCAL, LocalSearch()),
        "exact": partial(partition_rows, EXACT, SetPartitioning()),
        "demands": demand_rows,
    }
    parser.add_argument("what", choices=[*rows_of])
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--only", default="")
    parser.add_argument("--csv", help="a table")
    parser.add_argument("--columns", default="", help="its columns; default: all")
    given = parser.parse_args()
    only = [name for name in given.only.split(",") if name]
    cpu_clock = lambda self: time.process_time() - self.seconds  # noqa: E731
    solve = LinearModel.solve
    untimed = lambda self, **options: solve(self, **{**options, "time_limit": None})  # noqa: E731
    with (
        patch.object(jit._Compilation, "now", cpu_clock),  # noqa: SLF001
        patch.object(LinearModel, "solve", untimed),
    ):
        for family, make in families(given.csv, [one for one in given.columns.split(",") if one]):
            if only and not any(name in family for name in only):
                continue
            for name, loss, lower, cpu in rows_of[given.what](*make(), given.seconds):
                line = f"{family:18} {name:32} loss {loss:11.3f} bound {lower:11.3f} CPU {cpu:6.1f}"
                sys.stdout.write(line + "\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
