"""Remove one part of k-anonymity at a time, and measure the loss and the lower bound in equal CPU time.

Time limits count CPU seconds, so that other processes on the machine change nothing. ``bound`` raises the bound from
one partition, ``search`` runs the default methods with and without a time limit, and ``demands`` compares ways to hold
demands on sensitive values. A part earns its lines if its removal costs 5 % of the loss or of the bound on a family.

    python benchmarks/kanonymity_ablation.py bound [--seconds 10] [--only uniform,zipf] [--adult FILE]
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
from discreet.core.tree import Tree
from discreet.kanonymity.bounds.lower import LowerBound
from discreet.kanonymity.candidate import SearchLimits
from discreet.kanonymity.demand import Demand
from discreet.kanonymity.models import AlphaFrequency, Closeness, DistinctDiversity, PrivacyModel
from discreet.kanonymity.problem import Attribute, Categorical, Numeric, Problem, Taxonomy
from discreet.kanonymity.search import search as module
from discreet.kanonymity.search.search import search

K = "discreet.kanonymity"
Family = tuple[Problem, int]
Change = Callable[[ExitStack], object]


def numbers(rows: np.ndarray) -> Problem:
    """Take each column as numbers."""
    names = [f"c{j}" for j in range(rows.shape[1])]
    return Problem.from_columns(dict(zip(names, rows.T, strict=True)), [Numeric(n) for n in names])


def adult(file: str, n: int, seed: int, *, more: bool = False) -> Problem:
    """Read a sample of Adult's six columns, and draw hours, gains and a region where nine columns are wanted."""
    import polars as pl

    rng = np.random.default_rng(seed)
    table = pl.read_csv(file).sample(n, seed=seed)
    columns: dict[str, Any] = {name: table[name].to_list() for name in table.columns}
    kinds: list[Attribute] = [
        Numeric(name) if name == "age" else Categorical(name) for name in table.columns
    ]
    if more:
        columns["hours"] = np.clip(rng.normal(40, 12, n), 1, 99).astype(int)
        columns["gain"] = np.where(rng.random(n) < 0.9, 0, rng.zipf(1.3, n) % 9000)
        columns["region"] = rng.integers(0, 120, n)
        kinds += [Numeric("hours"), Numeric("gain"), Numeric("region")]
    return Problem.from_columns(columns, kinds)


def taxonomies(n: int, seed: int) -> Problem:
    """Draw four taxonomies of 27 leaves by Zipf's law, and a number."""
    rng = np.random.default_rng(seed)
    leaves = np.array([f"{a}{b}{c}" for a in "xyz" for b in "xyz" for c in "xyz"], dtype=object)
    tree = Tree.from_paths([(leaf[0], leaf[:2], leaf) for leaf in leaves])
    share = 1 / np.arange(1, 28)
    columns = {f"t{j}": rng.choice(leaves, n, p=share / share.sum()) for j in range(4)}
    kinds: list[Attribute] = [*(Taxonomy(name, tree) for name in columns), Numeric("age")]
    return Problem.from_columns({**columns, "age": rng.integers(18, 90, n)}, kinds)


def clustered(n: int, seed: int) -> Problem:
    """Draw five numbers around 40 centers."""
    rng = np.random.default_rng(seed)
    centers = rng.uniform(0, 1000, (40, 5))
    return numbers(np.round(centers[rng.integers(0, 40, n)] + rng.normal(0, 40, (n, 5))))


def zipf(n: int, seed: int) -> Problem:
    """Draw five sets of 30 values by Zipf's law."""
    rng = np.random.default_rng(seed)
    words = {f"w{j}": rng.zipf(1.5, n) % 30 for j in range(5)}
    return Problem.from_columns(words, [Categorical(name) for name in words])


def dates(n: int, seed: int) -> Problem:
    """Draw two days of fifty years, and a number."""
    rng = np.random.default_rng(seed)
    return numbers(np.column_stack([rng.integers(0, 18_000, (n, 2)), rng.integers(0, 50, n)]))


def uniform(n: int, m: int, values: int, seed: int) -> Problem:
    """Draw numbers uniformly."""
    return numbers(np.random.default_rng(seed).integers(0, values, (n, m)))


def families(file: str | None) -> Iterator[tuple[str, Callable[[], Family]]]:
    """Yield names and makers of tables, none of which chose a threshold."""
    if file:
        yield "adult6-2k-k5", lambda: (adult(file, 2000, 5), 5)
        yield "adult9-2k-k10", lambda: (adult(file, 2000, 6, more=True), 10)
        yield "adult6-30k-k50", lambda: (adult(file, 30_000, 7), 50)
    yield "uniform4-1k-k5", lambda: (uniform(1000, 4, 100, 11), 5)
    yield "uniform8-1k-k10", lambda: (uniform(1000, 8, 1000, 12), 10)
    yield "clustered-2k-k5", lambda: (clustered(2000, 13), 5)
    yield "zipf-2k-k3", lambda: (zipf(2000, 14), 3)
    yield "distinct-1k-k3", lambda: (uniform(1000, 6, 10**9, 15), 3)
    yield "trees-2k-k5", lambda: (taxonomies(2000, 16), 5)
    yield "dates-2k-k50", lambda: (dates(2000, 17), 50)
    yield "uniform2-2k-k3", lambda: (uniform(2000, 2, 60, 18), 3)
    yield "distinct-10k-k10", lambda: (uniform(10_000, 5, 10**9, 19), 10)


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


def always_prove(self: Any, *_values: float) -> bool:  # noqa: ANN401 - a bound's state
    """Branch in every round, at a slack that falls."""
    self.proves, self.at = True, min(self.at + 1, 7)
    return True


BOUNDS: dict[str, Change | None] = {
    "everything": None,
    "no multipliers": replaced(f"{K}.bounds.lower.MOST_POINTS", 0),
    "no sweep of all boxes": replaced(f"{K}.bounds.dual.MOST_BOXES", 0),
    "no swaps": replaced(f"{K}.bounds.branching.Branching.refine", always_prove),
    "no scaling": replaced(f"{K}.bounds.branching.MAX_SCALING_ROUNDS", 0),
    "no nearest rows": replaced(f"{K}.bounds.lower.nearest_bound", lambda *_: 0.0),
    "no columns alone": replaced(f"{K}.bounds.lower.alone_bound", lambda *_: 0.0),
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
    rows_of = {"bound": bound_rows, "search": search_rows, "demands": demand_rows}
    parser.add_argument("what", choices=[*rows_of])
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--only", default="")
    parser.add_argument("--adult", help="the CSV file of Adult's six columns")
    given = parser.parse_args()
    only = [name for name in given.only.split(",") if name]
    cpu_clock = lambda self: time.process_time() - self.seconds  # noqa: E731
    with patch.object(jit._Compilation, "now", cpu_clock):  # noqa: SLF001
        for family, make in families(given.adult):
            if only and not any(name in family for name in only):
                continue
            for name, loss, lower, cpu in rows_of[given.what](*make(), given.seconds):
                line = f"{family:18} {name:32} loss {loss:11.3f} bound {lower:11.3f} CPU {cpu:6.1f}"
                sys.stdout.write(line + "\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
