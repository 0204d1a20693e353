"""Small domains and trees at random, and generalized least squares on them by elimination in fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from discreet import InvalidProblemError, PureDP, Tree, ZeroConcentratedDP
from discreet.core.randomness import SeededBits
from discreet.hierarchy.contingency import systems
from discreet.hierarchy.contingency.cell_counts import CellCounts
from discreet.hierarchy.contingency.estimates import estimate
from discreet.hierarchy.contingency.exact import ExactFit
from discreet.hierarchy.contingency.measure import measure
from discreet.hierarchy.contingency.problem import Domain, TableFrame
from trees import tree_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.core.guarantee import Neighbors
    from discreet.hierarchy.contingency.measure import MeasuredTables

ADDED: Neighbors = "add-remove-person"
REPLACED: Neighbors = "replace-person"
RAGGED = Tree.from_paths([("GA", "a"), ("GA", "b"), ("NY", "c"), ("DC",)])
PAIR = Tree.from_paths([("GA",), ("NY",)])
SEX_AGE = Domain.read({"sex": ["F", "M"], "age": ["0-17", "18-64", "65+"]})


def frame_of(tree: Tree, domain: Domain, marginals: list[Any], **more: Any) -> TableFrame:
    """Give every marginal of every level the same part."""
    part = Fraction(1, len(marginals) * (tree.depth + 1))
    return TableFrame(tree, domain, dict.fromkeys(marginals, (part,) * (tree.depth + 1)), **more)


def random_case(generator: np.random.Generator) -> MeasuredTables:
    """Make a tree, a domain, marginals with shares of their own on each level, and noisy values."""
    shape = [int(n) for n in generator.integers(1, 4, size=generator.integers(1, 4))]
    while int(np.prod(shape)) > 8:
        shape.pop()
    names = "pqr"
    domain = Domain.read({names[k]: list(map(str, range(n))) for k, n in enumerate(shape)})
    n = int(generator.integers(1, 6))
    above = [int(generator.integers(0, i)) for i in range(1, n)]
    tree = tree_of([str(i) for i in range(n)], [None, *map(str, above)])
    subsets = [q for size in range(len(shape) + 1) for q in combinations(range(len(shape)), size)]
    kept = [q for q in subsets if q == domain.full or generator.random() < 0.5]
    raw = {q: [int(generator.integers(0, 5)) for _ in range(tree.depth + 1)] for q in kept}
    raw[domain.full][-1] += 1
    whole = sum(map(sum, raw.values()))
    shares = {q: tuple(Fraction(part, whole) for part in parts) for q, parts in raw.items()}
    frame = TableFrame(tree, domain, shares)
    counts = generator.integers(0, 9, (len(tree.leaves), domain.size))
    guarantee = PureDP(1, ADDED) if generator.random() < 0.3 else ZeroConcentratedDP("1/3", ADDED)
    return measure(
        CellCounts(frame, counts), guarantee, bits=SeededBits(int(generator.integers(1 << 30)))
    )


def random_zeros(generator: np.random.Generator, domain: Domain) -> Domain:
    """Rule out cells at random, by one attribute or several, and leave at least one."""
    while True:
        zeros = []
        for _ in range(int(generator.integers(1, 3))):
            many = int(generator.integers(1, len(domain.shape) + 1))
            places = generator.choice(len(domain.shape), many, replace=False).tolist()
            listed = {
                one.name: tuple(c for c in one.categories if generator.random() < 0.5)
                for one in (domain.attributes[at] for at in places)
            }
            zeros.append({name: kept for name, kept in listed.items() if kept})
        try:
            return Domain(domain.attributes, tuple(one for one in zeros if one))
        except InvalidProblemError:
            continue


def design(measured: MeasuredTables) -> tuple[list[list[int]], list[int], list[Fraction]]:
    """Write every noisy entry as a sum of cells of leaves: rows of whole numbers, values, and variances."""
    frame = measured.frame
    tree, domain = frame.tree, frame.domain
    below = tree.totals(np.eye(len(tree.leaves), dtype=np.int64))
    rows, values, variances = [], [], []
    for q in frame.marginals:
        measures = np.eye(domain.size_of(q), dtype=np.int64)
        if frame.is_residual(q):
            measures = np.ones((1, 1), dtype=np.int64)
            for size in domain.shape_of(q):
                measures = np.kron(measures, size * np.eye(size, dtype=np.int64) - 1)
        measures = measures[:, domain.entries(q)]
        for node in range(tree.n):
            variance = measured.variance(q, int(frame.strata[node]))
            if variance is None:
                continue
            for entry in range(domain.size_of(q)):
                rows.append(np.kron(below[node], measures[entry]).tolist())
                values.append(int(measured.values[q][node, entry]))
                variances.append(variance)
    return rows, values, variances


def dense(measured: MeasuredTables) -> tuple[list[Fraction], list[list[Fraction]]]:
    """Solve generalized least squares by elimination: the cells of the leaves, and the inverse of the normal matrix.

    Columns of structural zeros are removed first; they come back as zeros.
    """
    rows, values, variances = design(measured)
    allowed = np.tile(measured.frame.domain.possible, len(measured.frame.tree.leaves))
    columns = np.flatnonzero(allowed).tolist()
    size = len(columns)
    system = [[Fraction(0)] * (2 * size + 1) for _ in range(size)]
    for row, value, variance in zip(rows, values, variances, strict=True):
        used = [k for k, column in enumerate(columns) if row[column]]
        for i in used:
            for j in used:
                system[i][j] += row[columns[i]] * row[columns[j]] / variance
            system[i][-1] += row[columns[i]] * value / variance
    for i in range(size):
        system[i][size + i] = Fraction(1)
    for i in range(size):
        pivot = next(k for k in range(i, size) if system[k][i])
        system[i], system[pivot] = system[pivot], system[i]
        head = system[i][i]
        system[i] = [one / head for one in system[i]]
        for k in range(size):
            if k != i and system[k][i]:
                factor = system[k][i]
                system[k] = [a - factor * b for a, b in zip(system[k], system[i], strict=True)]
    solved = [Fraction(0)] * len(allowed)
    inverse = [[Fraction(0)] * len(allowed) for _ in allowed]
    for at, column in enumerate(columns):
        solved[column] = system[at][-1]
        for other, place in enumerate(columns):
            inverse[column][place] = system[at][size + other]
    return solved, inverse


class _FractionSystems(systems._Systems):
    """The same systems with the best weights, in fractions: nothing is rounded."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.one = self.one.astype(np.int64).astype(object) * Fraction(1)
        self.sums = {q: one.astype(np.int64).astype(object) for q, one in self.sums.items()}

    def _gains(self, stratum: int, prior: Any) -> tuple[NDArray[Any], dict[Any, NDArray[Any]]]:
        listed = self.variances[stratum]
        if prior is not None and not listed:
            return prior, {}
        precision = 0 * self.one if prior is None else self._inverse(prior)
        for q, variance in listed.items():
            precision = precision + self.sums[q].T @ self.sums[q] / variance
        spread = self._inverse(precision)
        return spread, {q: spread @ self.sums[q].T / one for q, one in listed.items()}

    def _to_integers(self, matrix: NDArray[Any]) -> NDArray[Any]:
        return matrix.copy()

    def _inverse(self, matrix: NDArray[Any]) -> NDArray[Any]:
        size = len(matrix)
        system = np.concatenate([matrix, self.one], axis=1)
        for i in range(size):
            pivot = next(k for k in range(i, size) if system[k, i])
            system[[i, pivot]] = system[[pivot, i]]
            system[i] = system[i] / system[i, i]
            for k in range(size):
                if k != i and system[k, i]:
                    system[k] = system[k] - system[k, i] * system[i]
        return system[:, size:]


def fraction_fit(measured: MeasuredTables, marginal: Any) -> ExactFit:
    """Return the fit of a marginal with the best weights, which the library rounds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(systems, "_Systems", _FractionSystems)
        patch.setattr(systems, "UNIT", 1)
        return ExactFit(measured, marginal)


def unit_questions(domain: Domain, marginal: Any) -> NDArray[Any]:
    """Ask for every entry of a marginal."""
    return np.eye(domain.size_of(marginal), dtype=np.int64).astype(object)


def compare_with_dense(measured: MeasuredTables, variance: Any, *, with_noise: bool) -> None:
    """Compare values, and by ``variance(fit, question, weights)`` noise, of each cell of each region, exactly."""
    tree, domain = measured.frame.tree, measured.frame.domain
    cells, inverse = dense(measured)
    fit, rounded = fraction_fit(measured, domain.full), ExactFit(measured, domain.full)
    questions, nodes = unit_questions(domain, domain.full), np.arange(tree.n)
    found, near = fit.answers(questions, nodes), rounded.answers(questions, nodes)
    below = tree.totals(np.eye(len(tree.leaves), dtype=np.int64)).astype(bool)
    for node in range(tree.n):
        leaves = np.flatnonzero(below[node]).tolist()
        for cell in range(domain.size):
            held = [leaf * domain.size + cell for leaf in leaves]
            assert found[node, cell] == sum(cells[one] for one in held)
            if with_noise:
                expected = sum(inverse[a][b] for a in held for b in held)
                assert variance(fit, questions[cell], {node: 1}) == expected
                # Weights that were rounded are no longer the best.
                more = variance(rounded, questions[cell], {node: 1})
                assert expected <= more <= expected * (1 + Fraction(1, 10**9))
    assert max(abs(float(one)) for one in (near - found).reshape(-1)) < 1e-7
    assert np.abs(estimate(measured) - found.astype(np.float64)).max() < 1e-7
