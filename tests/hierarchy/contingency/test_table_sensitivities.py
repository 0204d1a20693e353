"""How far a person moves a marginal of a level: all neighbors enumerated, each bound reached and never passed."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest

from discreet import ApproxDP, InvalidProblemError, PureDP, Tree, ZeroConcentratedDP
from discreet.hierarchy.contingency.cell_counts import CellCounts
from discreet.hierarchy.contingency.measure import marginal_scales, measure, moved_by_person
from discreet.hierarchy.contingency.problem import Domain, TableFrame
from discreet.hierarchy.contingency.verify import verify_measured
from hierarchy.contingency.made_tables import ADDED, PAIR, RAGGED, REPLACED, frame_of

TREES = {"pair": PAIR, "ragged": RAGGED}
DOMAIN = Domain.read({"sex": ["F", "M"], "age": ["0", "1"]})
MARGINALS: list[Any] = [(), (0,), (1,), (0, 1)]


def persons(leaves: int, most: int) -> list[tuple[tuple[int, int], ...]]:
    """List what one person may be: exactly one row, or up to so many, each in a cell of a leaf."""
    places = list(product(range(leaves), range(DOMAIN.size)))
    counts = [1] if most == 1 else range(most + 1)
    return [rows for many in counts for rows in combinations_with_replacement(places, many)]


def counted(rows: tuple[tuple[int, int], ...], leaves: int) -> np.ndarray[Any, Any]:
    table = np.zeros((leaves, DOMAIN.size), dtype=np.int64)
    for leaf, cell in rows:
        table[leaf, cell] += 1
    return table


@pytest.mark.parametrize("tree", TREES.values(), ids=TREES)
@pytest.mark.parametrize("relation", [ADDED, REPLACED])
@pytest.mark.parametrize("most", [1, 2])
def test_every_sensitivity_is_reached_and_not_passed(tree: Tree, relation: str, most: int) -> None:
    leaves = len(tree.leaves)
    tables = [counted(rows, leaves) for rows in persons(leaves, most)]
    stacked = np.stack(tables)
    above = np.stack([tree.totals(table) for table in tables])
    if relation == REPLACED and len(stacked) > 60:
        # Every pair of the ragged tree with two rows is half a million: each second person is enough to reach it.
        above = above[::3]
    for q in MARGINALS:
        of_all = np.stack([DOMAIN.project(one, q) for one in above])
        for level in range(tree.depth + 1):
            nodes = slice(int(tree.level_start[level]), int(tree.level_start[level + 1]))
            part = of_all[:, nodes].reshape(len(of_all), -1)
            moved = part
            if relation == REPLACED:
                moved = (part[:, None] - part[None]).reshape(-1, part.shape[1])
            single = level == 0 and not q
            assert int(np.abs(moved).sum(axis=1).max()) == moved_by_person(
                relation, most, norm=1, single=single
            )
            assert int((moved**2).sum(axis=1).max()) == moved_by_person(
                relation, most, norm=2, single=single
            )


@pytest.mark.parametrize("relation", [ADDED, REPLACED])
@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("kind", [PureDP, ZeroConcentratedDP])
def test_no_neighbor_costs_more_than_the_budget(kind: Any, most: int, relation: Any) -> None:
    """All measurements of a ragged tree together, with the noise that each entry has: the cost itself, enumerated."""
    marginals = [(0,), (0, 1)] if relation == REPLACED and most == 1 else MARGINALS
    frame = frame_of(RAGGED, DOMAIN, marginals, max_rows=most)
    scales = marginal_scales(frame, kind(1, relation))
    leaves = len(RAGGED.leaves)
    people = persons(leaves, most)
    vectors = []
    weights = []
    above = [RAGGED.totals(counted(rows, leaves)) for rows in people]
    for q in marginals:
        for node in range(RAGGED.n):
            scale = scales[q][int(frame.strata[node])]
            if scale is not None:
                vectors.append(np.stack([DOMAIN.project(one, q)[node] for one in above]))
                cost = 1 / scale if kind is PureDP else 1 / (2 * scale)
                weights += [float(cost)] * DOMAIN.size_of(q)
    every = np.concatenate(vectors, axis=1)
    if relation == ADDED:
        moved = every
    else:
        kept = every if most == 1 else every[::3]
        moved = (kept[:, None] - kept[None]).reshape(-1, every.shape[1])
    size = np.abs(moved) if kind is PureDP else moved**2
    worst = float((size @ np.array(weights)).max())
    assert worst <= 1 + 1e-12
    assert worst > 0.6


def test_noise_has_the_stated_law_by_relation_and_rows() -> None:
    frame = frame_of(PAIR, DOMAIN, [(0, 1)])
    rows = frame_of(PAIR, DOMAIN, [(0, 1)], max_rows=3)
    half = Fraction(1, 2)
    for given, guarantee, expected in (
        (frame, PureDP(1, ADDED), 2),
        (frame, PureDP(1, REPLACED), 4),
        (frame, ZeroConcentratedDP(1, ADDED), 1),
        # Twice as large, not four times.
        (frame, ZeroConcentratedDP(1, REPLACED), 2),
        (rows, PureDP(1, ADDED), 6),
        (rows, ZeroConcentratedDP(1, REPLACED), 18),
    ):
        scales = marginal_scales(given, guarantee)[0, 1]
        assert scales[0] == scales[3] == expected
        kept = measure(CellCounts(given, np.ones((2, 4), dtype=np.int64)), guarantee)
        assert verify_measured(kept).passed
    assert half == frame.shares[0, 1][0]


def test_what_has_no_sensitivity_is_refused() -> None:
    for wrong in ("replace-one", "people"):
        with pytest.raises(InvalidProblemError, match="neighbors"):
            moved_by_person(wrong)
    with pytest.raises(InvalidProblemError, match="norm"):
        moved_by_person(ADDED, norm=3)
    frame = frame_of(PAIR, DOMAIN, [(), (0, 1)])
    with pytest.raises(
        InvalidProblemError, match="shares: expected no part for the total of the root"
    ):
        marginal_scales(frame, PureDP(1, REPLACED))
    given: Any = ApproxDP(1, "1e-6", ADDED)
    with pytest.raises(InvalidProblemError, match="guarantee"):
        marginal_scales(frame, given)


def test_an_exact_total_leaves_some_guarantees_without_neighbors() -> None:
    shares: dict[Any, Any] = {(0, 1): (Fraction(1, 2),) * 2}
    for most, guarantee in ((1, PureDP(1, ADDED)), (2, PureDP(1, REPLACED))):
        frame = TableFrame(PAIR, DOMAIN, shares, most, total=8)
        with pytest.raises(InvalidProblemError, match="total: expected none: an exact total"):
            marginal_scales(frame, guarantee)
    marginal_scales(TableFrame(PAIR, DOMAIN, shares, total=8), PureDP(1, REPLACED))
