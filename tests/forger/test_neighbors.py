"""All neighbors on tiny domains: every registered kind of measurement, choice and channel against what it claims.

Nothing here knows a sensitivity. Kinds, relations and methods come from the registries, so that what is registered
tomorrow is enumerated tomorrow.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import ApproxDP, MetricDP, PureDP, Scope, ZeroConcentratedDP
from discreet.core.spaces.metric import MetricSpace
from discreet.core.tree import Tree
from discreet.hierarchy.contingency.cell_counts import CellCounts
from discreet.hierarchy.contingency.measure import MeasuredTables, marginal_scales
from discreet.hierarchy.contingency.problem import Domain, TableFrame
from discreet.hierarchy.contingency.verify import verify_measured
from discreet.hierarchy.measure import level_shares, node_scales, truth
from discreet.hierarchy.methods import METHODS as COUNT_METHODS
from discreet.hierarchy.methods import quick_methods
from discreet.hierarchy.problem import GroupSizes
from discreet.hierarchy.release import release as release_counts
from discreet.hierarchy.sensitivity import KINDS, NEIGHBORS, sensitivity
from discreet.hierarchy.verify import verify_guarantee
from discreet.metricdp import design
from discreet.metricdp.methods import METHODS as CHANNEL_METHODS
from discreet.metricdp.problem import Problem
from discreet.submodular import Coverage, UniformMatroid
from discreet.submodular import release as release_choice
from discreet.submodular.methods import METHODS as CHOICE_METHODS
from discreet.submodular.problem import RELATIONS as CHOICE_RELATIONS
from discreet.testing import (
    assert_pure_dp,
    enumerate_law,
    most_moved,
    neighboring_pairs,
    small_data_sets,
)
from few import each_once
from forger.exactly import as_decimal, broken_pair, common
from forger.oracles.counting import measured
from forger.oracles.regions import table_costs, table_moves
from forger.originals import TREES

UNITS = ("public", "private")
MOST = 2
"""The largest size; two persons of quantity 2 in one unit are beyond it."""


@cache
def enumerated(
    kind: str, shape: str, units: Any, quantity: int, relation: str
) -> tuple[Any, frozenset[Any]]:
    """Give a frame, and for each pair of neighbors the change of every region: sums of changes and of squares.

    A person is a unit and a quantity. Each lowest region has a unit, the first one two; so every pair of data sets of
    up to three persons, added, removed or replaced, is looked at.
    """
    tree = TREES[shape]
    leaves = tree.leaves.tolist()
    homes = [0, *range(len(leaves))]
    people = [(unit, q) for unit in range(len(homes)) for q in range(1, quantity + 1)]

    def of(persons: tuple[tuple[int, int], ...]) -> GroupSizes:
        rows = np.zeros((len(leaves), MOST + 1), dtype=np.int64)
        for unit, leaf in enumerate(homes):
            size = min(MOST, sum(q for at, q in persons if at == unit))
            rows[leaf, size] += 1
        counts = rows if units == "public" else rows[:, 1:]
        return GroupSizes.from_counts(tree, counts, units=units, max_quantity=quantity)

    def regions(data: GroupSizes) -> list[np.ndarray[Any, Any]]:
        values = truth(data, kind)  # type: ignore[arg-type] # from the registry
        if values.ndim == 2:
            return list(values)
        totals = data.frame.group_totals
        assert totals is not None
        return list(np.split(values, np.cumsum(totals)[:-1]))

    known = {persons: regions(of(persons)) for persons in small_data_sets(people, 3)}
    found = set()
    for one, other in neighboring_pairs(people, 3, relation):
        off = [b - a for a, b in zip(known[one], known[other], strict=True)]
        found.add(tuple((int(np.abs(x).sum()), int((x * x).sum())) for x in off))
    return of(()).frame, frozenset(found)


def needs_public_units(kind: Any) -> bool:
    """Tell whether a kind is refused where units are private."""
    data = GroupSizes.from_counts(TREES["even"], [[1, 0], [0, 1]], units="private")
    try:
        sensitivity(data.frame, kind, NEIGHBORS[0], 0)
    except InvalidProblemError:
        return True
    return False


def cost(changes: frozenset[Any], scales: Any, noise: str) -> Fraction:
    """Add up what the worst neighbor costs."""
    return max(
        sum(
            (
                Fraction(absolute) / scale
                if noise == "laplace"
                else Fraction(squared) / (2 * scale)
                for (absolute, squared), scale in zip(change, scales, strict=True)
                if scale is not None
            ),
            Fraction(0),
        )
        for change in changes
    )


def shares(depth: int) -> list[list[Fraction]]:
    """Split a budget evenly, without some levels, and unevenly."""
    even = [Fraction(1, depth + 1)] * (depth + 1)
    last = [Fraction(0)] * depth + [Fraction(1)]
    mixed = [Fraction(2 + at, 1) for at in range(depth + 1)]
    mixed[1] = Fraction(0) if depth > 1 else mixed[1]
    return [even, last, [part / sum(mixed) for part in mixed]]


def record(frame: Any, kind: str, noise: str, relation: str, scales: Any) -> dict[str, Any]:
    """State what a release of such measurements states."""
    tree = frame.tree
    inner, leaf = (["none"] * (tree.depth + 1) for _ in range(2))
    divided = {*tree.parents.tolist()}
    for node, (level, scale) in enumerate(zip(tree.levels.tolist(), scales, strict=True)):
        if scale is not None:
            (inner if node in divided else leaf)[level] = str(scale)
    return {
        "kind": kind,
        "noise": noise,
        "neighbors": relation,
        "max_size": frame.max_size,
        "units": frame.units,
        "max_quantity": frame.max_quantity,
        "scale_by_level": inner,
        "scale_of_leaves_by_level": leaf,
    }


@pytest.mark.parametrize(("kind", "shape"), each_once(KINDS, TREES))
def test_no_neighbor_costs_more_than_a_measurement_claims(kind: Any, shape: str) -> None:
    """Every relation, noise, units, quantity, share, and leaves with or without what is below them."""
    looked = 0
    relations: Any = NEIGHBORS
    for relation, units, quantity in product(relations, UNITS, (1, 2)):
        if needs_public_units(kind) and units == "private":
            continue
        frame, changes = enumerated(kind, shape, units, quantity, relation)
        claims: list[Any] = [PureDP("1/2", relation), ZeroConcentratedDP("1/2", relation)]
        for claim, inherit, parts in product(claims, (True, False), shares(frame.tree.depth)):
            try:
                level = level_shares(frame.tree.depth, parts)
                scales = node_scales(frame, kind, claim, level, leaves_inherit=inherit)
            except InvalidProblemError:
                assert kind == "chain"
                assert inherit
                continue
            noise = "laplace" if isinstance(claim, PureDP) else "gaussian"
            spent = cost(changes, scales, noise)
            assert spent <= Fraction(1, 2), (relation, units, quantity, noise, inherit, parts)
            # The verifier finds no less, also with scales that no plan would make.
            for factor in (1, 3):
                mixed = [
                    s if s is None else s * factor ** (node % 2)
                    for node, s in enumerate(_by_level(frame, scales))
                ]
                stated = record(frame, kind, noise, relation, _by_level(frame, mixed))
                found = verify_guarantee(frame, claim, stated).checks[1].residual
                assert cost(changes, _by_level(frame, mixed), noise) <= Fraction(found)
            looked += 1
    assert looked > 10


def _by_level(frame: Any, scales: Any) -> list[Fraction | None]:
    """Give all regions of a level that are divided, and all that are not, the scale of the last of them."""
    divided = {*frame.tree.parents.tolist()}
    last = {
        (node in divided, level): scale
        for node, (level, scale) in enumerate(zip(frame.tree.levels.tolist(), scales, strict=True))
    }
    return [last[node in divided, level] for node, level in enumerate(frame.tree.levels.tolist())]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_measured_is_what_its_definition_says(kind: Any) -> None:
    """The oracle has definitions of its own; a kind that it does not have fails here."""
    tree = TREES["ragged"]
    groups = {int(leaf): [0, 1 + at % 2, 2] for at, leaf in enumerate(tree.leaves)}
    rows = [[groups[leaf].count(size) for size in range(3)] for leaf in tree.leaves.tolist()]
    data = GroupSizes.from_counts(tree, rows, units="public")
    by_definition = measured(kind, tuple(tree.parents.tolist()), groups, 2, "public")
    assert truth(data, kind).reshape(-1).tolist() == [x for row in by_definition for x in row]


def table_shares(depth: int, marginals: list[Any], full: Any) -> list[dict[Any, Any]]:
    """Split a budget of tables evenly, with the cells on the last level alone, and unevenly with zeros."""
    levels, one = depth + 1, Fraction(1)
    even = dict.fromkeys(marginals, (one / (levels * len(marginals)),) * levels)
    last: dict[Any, Any] = {q: (Fraction(0),) * levels for q in marginals}
    last[full] = (*last[full][:-1], one)
    weights = {
        q: [Fraction((2 + at + 3 * k) % 4) for at in range(levels)] for k, q in enumerate(marginals)
    }
    weights[full][-1] += 1
    whole = sum(map(sum, weights.values()), Fraction(0))
    return [even, last, {q: tuple(x / whole for x in each) for q, each in weights.items()}]


@pytest.mark.parametrize("shape", TREES)
def test_no_neighbor_costs_more_than_marginals_claim(shape: str) -> None:
    """Tables by region: every relation, noise, number of rows, public total, split of the budget, structural zeros."""
    tree, looked = TREES[shape], 0
    zeros: Any = [{"sex": ["F"], "age": ["1"]}]
    relations: Any = NEIGHBORS
    for relation, rows, ruled in product(relations, (1, 2), ([], zeros)):
        domain = Domain.read({"sex": ["F", "M"], "age": ["0", "1"]}, zeros=ruled)
        for marginals in ([(), (0,), (0, 1)], [(1,), (0, 1)]):
            changes = table_moves(
                tuple(tree.parents.tolist()),
                domain.shape,
                frozenset(np.flatnonzero(~domain.possible).tolist()),
                tuple(marginals),
                rows,
                relation,
            )
            claims: list[Any] = [PureDP("1/2", relation), ZeroConcentratedDP("1/2", relation)]
            parts = table_shares(tree.depth, marginals, domain.full)
            for claim, shares_of, total in product(claims, parts, (None, 9)):
                try:
                    frame = TableFrame(tree, domain, shares_of, rows, total)
                    scales = marginal_scales(frame, claim)
                except InvalidProblemError:
                    # A public total that neighbors do not share, or a share for one that nobody moves.
                    assert total is not None or (relation, rows) == ("replace-person", 1)
                    continue
                noise: Any = "laplace" if isinstance(claim, PureDP) else "gaussian"
                values = {
                    q: np.zeros((tree.n, domain.size_of(q)), dtype=np.int64) for q in marginals
                }
                for factor in (1, 3):
                    # The verifier finds no less, also with scales that no plan would make.
                    mixed = {
                        q: tuple(
                            b if b is None else b * factor ** ((at + k) % 2)
                            for at, b in enumerate(each)
                        )
                        for k, (q, each) in enumerate(scales.items())
                    }
                    kept = MeasuredTables(frame, values, mixed, noise, claim)
                    found = verify_measured(kept)
                    spent = table_costs(changes, noise, by_stratum(mixed))
                    assert spent <= Fraction(found.checks[1].residual)
                    assert found.passed
                    assert spent <= Fraction(1, 2), (relation, rows, noise, factor)
                looked += 1
    assert looked > 20


def by_stratum(scales: Any) -> dict[Any, Any]:
    """Name strata as the oracle does: a level, and whether its regions are lowest ones."""
    return {
        q: {(at // 2, bool(at % 2)): scale for at, scale in enumerate(each)}
        for q, each in scales.items()
    }


def test_what_is_counted_of_a_person_is_what_the_oracle_counts() -> None:
    """One more record, wherever it is, moves what the library measures as the oracle says."""
    tree, domain = TREES["ragged"], Domain.read({"sex": ["F", "M"], "age": ["0", "1"]})
    marginals: list[Any] = [(), (1,), (0, 1)]
    shares_of = table_shares(tree.depth, marginals, domain.full)[0]
    frame = TableFrame(tree, domain, shares_of)
    strata = frame.strata.tolist()
    moved = set()
    for at in range(len(tree.leaves) * domain.size):
        counts = np.zeros((len(tree.leaves), domain.size), dtype=np.int64)
        counts.reshape(-1)[at] = 1
        sums: dict[Any, Any] = {}
        for q in marginals:
            for stratum, row in zip(strata, CellCounts(frame, counts).of_regions(q), strict=True):
                key = (q, (stratum // 2, bool(stratum % 2)))
                sums[key] = sums.get(key, 0) + int(row.sum())
        moved.add(frozenset((*key, x, x) for key, x in sums.items() if x))
    parents = tuple(tree.parents.tolist())
    assert moved == table_moves(
        parents, domain.shape, frozenset(), tuple(marginals), 1, "add-remove-person"
    )


@pytest.mark.parametrize("relation", NEIGHBORS)
def test_every_method_of_counts_spends_what_it_claims(relation: Any) -> None:
    """What a release states of its noise is compared with all neighbors: new methods by themselves."""
    tried = set()
    quick = quick_methods()
    for name, (shape, units) in product(COUNT_METHODS, [("even", "public"), ("ragged", "private")]):
        if name not in quick:
            # The exact references solve for minutes; what they measure is of a kind that is enumerated above.
            assert COUNT_METHODS[name].make().kind in KINDS
            continue
        tree = TREES[shape]
        rows = [[1, 1, 1] if units == "public" else [1, 1] for _ in tree.leaves]
        data = GroupSizes.from_counts(tree, rows, units=units)  # type: ignore[arg-type] # one of the two
        try:
            made = release_counts(data, PureDP("1/2", relation), method=name)
        except InvalidProblemError:
            # Without a guarantee, or for public units, or for leaves of one depth alone.
            continue
        stated: Any = made.provenance.parameters
        frame, changes = enumerated(stated["kind"], shape, units, 1, relation)
        divided = {*tree.parents.tolist()}
        scales = [
            None if text == "none" else Fraction(text)
            for node, level in enumerate(tree.levels.tolist())
            for text in [
                stated["scale_by_level" if node in divided else "scale_of_leaves_by_level"][level]
            ]
        ]
        claimed: Any = made.guarantee
        amount = claimed.epsilon if isinstance(claimed, PureDP) else claimed.rho
        assert cost(changes, scales, stated["noise"]) <= amount, (name, relation, units)
        assert frame.tree == tree
        tried.add(name)
    assert len(tried) >= len(quick) - 2


@pytest.mark.slow
def test_every_method_of_channels_keeps_all_pairs() -> None:
    """On a space where shortest paths, ties and a far point occur, with a radius and without."""
    space = MetricSpace.from_points([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [3.0, 1.0]], unit="km")
    task, tried = Problem(space, utility_loss="euclidean"), 0
    with common():
        scale = as_decimal(Fraction(2**space.scale_bits))
        lengths = {
            (i, j): as_decimal(Fraction(int(space.distances[i, j]))) / scale
            for i, j in combinations(range(4), 2)
        }
        for name, radius in product(CHANNEL_METHODS.proven, (None, "1.5")):
            try:
                made = design(task, MetricDP(1, "km", radius), method=name, throw=False)
            except InvalidProblemError:
                continue
            rows = [[int(x) for x in row] for row in made.channel.weights.tolist()]
            bound = [
                pair
                for pair, d in lengths.items()
                if radius is None or d <= as_decimal(Fraction(radius))
            ]
            assert not broken_pair(rows, lengths, Fraction(1), bound), (name, radius)
            scope = made.guarantee.scope
            assert isinstance(scope, Scope)
            assert scope.all_pairs_epsilon is not None
            assert not broken_pair(rows, lengths, scope.all_pairs_epsilon, lengths), (name, radius)
            tried += 1
    assert tried > len(CHANNEL_METHODS.proven)


@pytest.mark.slow
@pytest.mark.parametrize("name", CHOICE_METHODS.proven)
@pytest.mark.parametrize("relation", CHOICE_RELATIONS)
def test_no_neighbor_of_a_choice_is_told_apart(name: str, relation: Any) -> None:
    """The law of what is chosen, on all pairs of neighbors of one or two records, as far as few draws tell it."""
    votes = [(True, False), (False, True)]
    laws: dict[Any, Any] = {}

    def law(records: tuple[tuple[bool, bool], ...]) -> Any:
        if records not in laws:
            reach = Coverage(np.array(records, dtype=bool).reshape(-1, 2))
            matroid, claim = UniformMatroid(2, 1), PureDP(1, relation)
            laws[records] = enumerate_law(
                lambda bits: (
                    release_choice(reach, matroid, claim, method=name, bits=bits).result.elements
                ),
                max_runs=100,
            )
        return laws[records]

    try:
        for one, other in neighboring_pairs(votes, 2, relation):
            if one and other:
                assert_pure_dp(law(one), law(other), 1)
    except InvalidProblemError:
        # A method may ask for another guarantee, and then makes none of this kind.
        made = release_choice(
            Coverage([[True, False]]),
            UniformMatroid(2, 1),
            ApproxDP(1, "1e-6", relation),
            method=name,
        )
        assert made.certificate.passed
    else:
        assert laws


def test_the_enumerator_finds_a_sensitivity_that_is_halved() -> None:
    """A count of pairs, of which somebody says that a person changes one."""

    def pairs_of(data: tuple[str, ...]) -> list[int]:
        return [len(data) * (len(data) - 1) // 2]

    assert most_moved(pairs_of, "a", 4, "add-remove-person").absolute == 3


def test_ragged_trees_are_ragged() -> None:
    """The shapes are what their names say."""
    depths = {name: {*tree.levels[tree.leaves].tolist()} for name, tree in TREES.items()}
    assert depths == {"even": {1}, "ragged": {1, 2}, "caterpillar": {1, 2, 3}}
    assert all(isinstance(tree, Tree) for tree in TREES.values())
