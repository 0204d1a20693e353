"""What neighbors spend of a budget is enumerated, for every kind of measurement there is: never more than there is.

Trees are even, ragged, and a caterpillar. The verifier has to charge at least as much as any pair of neighbors spends,
for noise that is right and for noise that is not.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from discreet import InvalidProblemError, PureDP, Tree, ZeroConcentratedDP
from discreet.hierarchy.measure import Measured, measure, node_scales, truth, width
from discreet.hierarchy.problem import Frame, GroupSizes
from discreet.hierarchy.sensitivity import KINDS, NEIGHBORS, sensitivity
from discreet.hierarchy.verify import verify_guarantee, verify_measurements

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.core.guarantee import Neighbors
    from discreet.hierarchy.sensitivity import Kind

    Claim = PureDP | ZeroConcentratedDP
    Scales = Sequence[Fraction | None]

TREES = {
    "even": Tree.from_paths([("a", "p"), ("a", "q"), ("b", "r"), ("b", "s")]),
    "ragged": Tree.from_paths([("a",), ("b", "p"), ("b", "q")]),
    "caterpillar": Tree.from_paths([("a", "x", "p"), ("a", "x", "q"), ("a", "y"), ("b",)]),
}
"""With one unit in each leaf."""

MAX_SIZE = 2
CLAIMS: dict[str, Any] = {"laplace": PureDP, "gaussian": ZeroConcentratedDP}
PERSON: Neighbors = "add-remove-person"


def works(kind: Kind, units: str) -> bool:
    """Tell whether a kind of measurement works with such units; only what has no sensitivity does not."""
    totals = [2, 1, 1] if units == "public" else None
    frame = Frame(Tree.from_paths([("a",), ("b",)]), 2, units, 1, totals)  # type: ignore[arg-type] # public or private
    try:
        sensitivity(frame, kind, NEIGHBORS[0], 0)
    except InvalidProblemError:
        return False
    return True


MEASURED = [pair for pair in product(KINDS, ["public", "private"]) if works(*pair)]
"""All kinds of the registry, each with the kinds of units that it works with."""


def shares_of(depth: int) -> list[tuple[Fraction, ...]]:
    """Give equal parts, uneven ones, and parts of which some are 0."""
    levels = depth + 1
    return [
        (Fraction(1, levels),) * levels,
        tuple(Fraction(part, levels * (levels + 1) // 2) for part in range(1, levels + 1)),
        (*[Fraction(0)] * depth, Fraction(1)),
        (Fraction(1), *[Fraction(0)] * depth),
        (Fraction(1, 4), *[Fraction(0)] * (depth - 1), Fraction(3, 4)),
    ]


@cache
def frame_of(tree: str, units: str, quantity: int) -> Frame:
    totals = TREES[tree].leaf_counts if units == "public" else None
    return Frame(TREES[tree], MAX_SIZE, units, quantity, totals)  # type: ignore[arg-type] # public or private


@cache
def measured_of(tree: str, kind: Kind, units: str) -> dict[tuple[int, ...], NDArray[np.int64]]:
    """Count exactly, for all sizes of the units: numbers in the order of the regions."""
    first, leaves = (0 if units == "public" else 1), len(TREES[tree].leaves)
    made = {}
    for sizes in product(range(MAX_SIZE + 1), repeat=leaves):
        rows = np.zeros((leaves, MAX_SIZE + 1 - first), dtype=np.int64)
        for leaf, size in enumerate(sizes):
            if size >= first:
                rows[leaf, size - first] = 1
        data = GroupSizes(frame_of(tree, units, 1), rows)
        made[sizes] = truth(data, kind).reshape(-1)
    return made


@cache
def moves(tree: str, kind: Kind, units: str, relation: str, quantity: int) -> NDArray[np.int64]:
    """Find by how much neighbors differ: a row for each difference that there is, none twice."""
    made = measured_of(tree, kind, units)
    leaves = range(len(TREES[tree].leaves))

    def more(sizes: tuple[int, ...]) -> list[tuple[int, ...]]:
        grown = []
        for leaf, z in product(leaves, range(1, quantity + 1)):
            # Who is more than the largest size lets see moves no further.
            size = min(sizes[leaf] + z, MAX_SIZE)
            grown.append((*sizes[:leaf], size, *sizes[leaf + 1 :]))
        return grown

    found = set()
    for sizes in made:
        after = more(sizes)
        pairs = (
            [(sizes, one) for one in after] if relation == NEIGHBORS[0] else product(after, after)
        )
        found |= {tuple((made[b] - made[a]).tolist()) for a, b in pairs}
    return np.abs(np.array(sorted(found), dtype=np.int64))


def numbers_of(frame: Frame, kind: Kind) -> NDArray[np.int64]:
    """Count the numbers that are measured of each region."""
    if kind == "sorted" and frame.group_totals is not None:
        return frame.group_totals
    return np.full(frame.tree.n, width(frame, kind))


def spent_at_worst(
    moved: NDArray[np.int64], each: NDArray[np.int64], scales: Scales, norm: int
) -> Fraction:
    """Add up what each number loses, |moved| / b or moved^2 / (2 sigma^2), for the pair that loses most; exactly."""
    rates = [Fraction(0) if scale is None else 1 / (norm * scale) for scale in scales]
    common = math.lcm(*(rate.denominator for rate in rates))
    whole = np.repeat([int(rate * common) for rate in rates], each)
    return Fraction(int((moved**norm @ whole).max()), common)


@pytest.mark.parametrize("relation", NEIGHBORS)
@pytest.mark.parametrize(("kind", "units"), MEASURED)
@pytest.mark.parametrize("tree", TREES)
def test_no_neighbor_spends_more_than_the_budget(
    tree: str, kind: Kind, units: str, relation: Any
) -> None:
    """Also a person who is replaced by one in another branch, which may end earlier; the verifier charges no less."""
    for quantity, noise in product((1, 2), CLAIMS):
        frame, claim = frame_of(tree, units, quantity), CLAIMS[noise](1, relation)
        moved = moves(tree, kind, units, relation, quantity)
        for shares in shares_of(frame.tree.depth):
            inherit = kind != "chain"
            scales = node_scales(frame, kind, claim, shares, leaves_inherit=inherit)
            kept = stated(frame, kind, claim, scales, shares, inherit=inherit)
            spent = spent_at_worst(
                moved, numbers_of(frame, kind), scales, 1 if noise == "laplace" else 2
            )
            charged = verify_measurements(kept)
            assert spent <= charged.checks[1].residual <= 1
            assert charged.passed
            attained = kind == "chain" or (noise == "laplace" and min(shares) > 0)
            # Where units vanish with their last person two of them seldom change four counts of a region.
            if (
                attained
                and quantity == 1
                and (kind, units, relation) != ("direct", "private", NEIGHBORS[1])
            ):
                assert spent == 1


def stated(
    frame: Frame,
    kind: Kind,
    claim: Claim,
    scales: Scales,
    shares: Sequence[Fraction],
    *,
    inherit: bool,
) -> Measured:
    """Give measurements of nobody, with noise of these scales."""
    count = int(numbers_of(frame, kind).sum())
    values = np.zeros(
        count if kind == "sorted" else (frame.tree.n, count // frame.tree.n), dtype=np.int64
    )
    noise: Any = "laplace" if isinstance(claim, PureDP) else "gaussian"
    return Measured(frame, kind, values, tuple(scales), noise, claim, tuple(shares), inherit)


def inherited(frame: Frame, claim: Claim, shares: Sequence[Fraction]) -> Scales:
    """Give the scales of a chain whose leaves have what the levels below them have: what used to be measured."""
    tree, norm = frame.tree, 1 if isinstance(claim, PureDP) else 2
    scales: list[Fraction | None] = []
    for node, level in enumerate(tree.levels.tolist()):
        part = sum(shares[level:], Fraction(0)) if node in tree.leaves else shares[level]
        bound = sensitivity(frame, "chain", claim.neighbors, level, norm=norm)
        scales.append(bound / (norm * part) if part else None)
    return scales


@pytest.mark.parametrize("relation", NEIGHBORS)
@pytest.mark.parametrize("noise", CLAIMS)
@pytest.mark.parametrize("tree", ["ragged", "caterpillar"])
def test_leaves_of_a_chain_that_inherit_are_charged_what_they_cost(
    tree: str, noise: str, relation: Any
) -> None:
    """On the ragged tree up to 1.5 times the budget, found by enumeration and by the verifier alike."""
    frame, claim = frame_of(tree, "public", 1), CLAIMS[noise](1, relation)
    moved = moves(tree, "chain", "public", relation, 1)
    found = []
    for shares in shares_of(frame.tree.depth):
        scales = inherited(frame, claim, shares)
        kept = stated(frame, "chain", claim, scales, shares, inherit=True)
        spent = spent_at_worst(
            moved, numbers_of(frame, "chain"), scales, 1 if noise == "laplace" else 2
        )
        checked = verify_measurements(kept)
        assert checked.checks[1].residual == spent
        assert checked.passed == (spent <= 1)
        # It is also what the record of a release would say.
        assert verify_guarantee(frame, claim, kept.parameters()).checks[1].residual == spent
        found.append(spent)
    if tree == "ragged":
        assert [str(spent) for spent in found] == ["7/6", "5/4", "3/2", "1", "11/8"]
    assert max(found) > 1


@pytest.mark.parametrize("noise", CLAIMS)
def test_a_long_caterpillar_spends_more_than_three_times_its_budget(noise: str) -> None:
    """Thirteen leaves on twelve levels below the root, with equal parts."""
    trunk = [("t",) * above for above in range(12)]
    paths = [*((*above, "leaf") for above in trunk), ("t",) * 12]
    tree = Tree.from_paths(paths)
    assert len(tree.leaves) == 13
    frame = Frame(tree, 1, "public", 1, tree.leaf_counts)
    claim: Claim = CLAIMS[noise](1, PERSON)
    shares = (Fraction(1, 13),) * 13
    kept = stated(frame, "chain", claim, inherited(frame, claim, shares), shares, inherit=True)
    checked = verify_measurements(kept)
    assert checked.checks[1].residual == Fraction(46, 13)
    assert not checked.passed
    data = GroupSizes(frame, np.eye(2, dtype=np.int64)[[0] * 13])
    assert verify_measurements(measure(data, "chain", claim, leaves_inherit=False)).passed


def test_a_record_may_not_say_less_than_a_level_of_a_chain_costs() -> None:
    """Its parts add up to the whole, and the noise is for them; what is said of the levels is not."""
    frame, claim = frame_of("ragged", "public", 1), PureDP(1, PERSON)
    shares = (Fraction(1, 2), Fraction(1, 4), Fraction(1, 4))
    scales = node_scales(frame, "chain", claim, shares, leaves_inherit=False)
    record = stated(frame, "chain", claim, scales, shares, inherit=False).parameters()
    assert record["sensitivity"] == [1, 2, 2]
    assert verify_guarantee(frame, claim, record).passed
    for first, second in pairwise(range(3)):
        told = list(record["epsilon_by_level"])
        told[first], told[second] = "1", "1/8"
        assert (
            verify_guarantee(frame, claim, record | {"epsilon_by_level": told}).checks[0].residual
            == 1
        )
