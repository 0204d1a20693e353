"""Workloads on tiny domains, written as matrices over all cells of all lowest regions: the oracle of their losses."""

from __future__ import annotations

import functools
import itertools
import math
from fractions import Fraction
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet import Tree
from discreet.hierarchy.contingency.problem import Domain

if TYPE_CHECKING:
    from discreet.hierarchy.contingency.problem import TableFrame
    from discreet.hierarchy.contingency.workload import Workload

TREES = (
    [("a",), ("b",)],
    [("a", "x"), ("a", "y"), ("b", "x")],
    [("a", "x"), ("b",), ("c",)],
    [("a", "x", "u"), ("a", "x", "v"), ("a", "y", "u")],
    [("a", str(at)) for at in range(4)] + [("b", "x")],
)
DOMAINS = ((2,), (3,), (2, 2), (2, 3))


def domain_of(shape: tuple[int, ...]) -> Domain:
    """Return attributes a0, a1, ... of these sizes."""
    return Domain.read({f"a{at}": list(map(str, range(n))) for at, n in enumerate(shape)})


def drawn(rng: Random) -> tuple[Tree, Domain, dict[str, Fraction], list[Fraction]]:
    """Return a tree, a domain, weights of marginals and of levels."""
    tree = Tree.from_paths(rng.choice(TREES))
    domain = domain_of(rng.choice(DOMAINS))
    names = [
        domain.name(q)
        for count in range(len(domain.shape) + 1)
        for q in itertools.combinations(domain.full, count)
    ]
    chosen = rng.sample(names, rng.randint(1, len(names)))
    tables = {name: Fraction(rng.randint(1, 9), 3) for name in chosen}
    levels = [Fraction(rng.randint(0, 3)) for _ in range(tree.depth)] + [Fraction(1)]
    return tree, domain, tables, levels


def region_rows(tree: Tree) -> Any:
    """Return ``(n_nodes, n_leaves)``: which leaves are in a region."""
    return np.array(
        [[node in tree.ancestors(leaf) for leaf in tree.leaves.tolist()] for node in range(tree.n)],
        dtype=float,
    )


def entry_rows(domain: Domain, q: tuple[int, ...]) -> Any:
    """Return ``(entries, cells)``: which cells are in an entry."""
    made: Any = np.ones((1, 1))
    for at, size in enumerate(domain.shape):
        made = np.kron(made, np.eye(size) if at in q else np.ones((1, size)))
    return made


def _kron(one: Any, other: Any) -> Any:
    return np.kron(one, other)


def information(frame: TableFrame, neighbors: str = "add-remove-person") -> Any:
    """Return the information of independent noise with the shares of a frame, for a unit budget."""
    rows = region_rows(frame.tree)
    size = rows.shape[1] * frame.domain.size
    made = np.zeros((size, size))
    for node, stratum in enumerate(frame.strata.tolist()):
        for q in frame.marginals:
            share = float(frame.share(q, stratum))
            entries = entry_rows(frame.domain, q)
            if frame.is_residual(q):
                sizes = [frame.domain.shape[at] for at in q]
                contrasts: list[Any] = [n * np.eye(n) - 1 for n in sizes]
                for_all: Any = functools.reduce(_kron, contrasts)
                entries = for_all @ entries
                share /= math.prod(n * (n - 1) for n in sizes)
                if neighbors == "replace-person":
                    share *= 1 - 1 / min(sizes)
            made += share * np.kron(np.outer(rows[node], rows[node]), entries.T @ entries)
    return made


def loss_of(workload: Workload, tree: Tree, domain: Domain, info: Any) -> float:
    """Return the loss of a linear mechanism by its information; dense."""
    covariance = np.linalg.inv(info)
    rows, parts = region_rows(tree), []
    many = sum(weight > 0 for each in workload.tables.values() for weight in each)
    for q, weights in workload.tables.items():
        entries = entry_rows(domain, q)
        for level, weight in enumerate(map(float, weights)):
            nodes = np.flatnonzero(tree.levels == level)
            asked = np.concatenate([np.kron(rows[node], entries) for node in nodes])
            variances = np.einsum("ij,jk,ik->i", asked, covariance, asked)
            if not weight:
                continue
            parts.append(
                {
                    "deviations": weight * np.sqrt(variances).sum() / np.sqrt(len(variances)),
                    "variance": weight * variances.sum(),
                    "worst": weight * variances.max(),
                    "against-naive": variances.max() / many,
                }[workload.loss]
            )
    return float(max(parts) if workload.loss in ("worst", "against-naive") else sum(parts))


def cost_of(info: Any, neighbors: str) -> float:
    """Return what one person costs, in units of the budget."""
    one = np.diag(info)
    if neighbors == "add-remove-person":
        return float(one.max())
    return float((one[:, None] + one[None] - 2 * info).max() / 2)
