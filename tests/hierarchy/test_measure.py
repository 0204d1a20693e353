"""Measurements: budgets add up along every path, noise has its scale, sensitivities are those of all neighbors."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import ApproxDP, InvalidProblemError, PureDP, Tree, ZeroConcentratedDP
from discreet.core.randomness import SeededBits
from discreet.hierarchy.levels import expected_error
from discreet.hierarchy.measure import Measured, level_shares, measure, node_scales, truth
from discreet.hierarchy.plan import level_parts
from discreet.hierarchy.problem import Frame, GroupSizes
from discreet.hierarchy.sensitivity import KINDS, sensitivity
from discreet.hierarchy.verify import verify_measurements

if TYPE_CHECKING:
    from discreet.core.guarantee import Neighbors
    from discreet.hierarchy.sensitivity import Kind

PERSON: Neighbors = "add-remove-person"
REPLACED: Neighbors = "replace-person"
PAIR = Tree.from_paths([("a",), ("b",)])
RAGGED = Tree.from_paths([("a", "x", "p"), ("a", "x", "q"), ("a", "y"), ("b",)])


def frame_of(tree: Tree, max_size: int, units: str = "private", quantity: int = 1) -> Frame:
    totals = tree.totals(np.full(len(tree.leaves), 2)) if units == "public" else None
    return Frame(tree, max_size, units, quantity, totals)  # type: ignore[arg-type] # public or private


def table(groups: tuple[tuple[int, ...], ...], max_size: int, units: str) -> GroupSizes:
    """Count the sizes of units, top-coded; private units of size 0 do not exist."""
    first = 0 if units == "public" else 1
    counts = np.zeros((2, max_size + 1 - first), dtype=np.int64)
    for leaf, sizes in enumerate(groups):
        for size in sizes:
            if size >= first:
                counts[leaf, min(size, max_size) - first] += 1
    return GroupSizes.from_counts(PAIR, counts, units=units)  # type: ignore[arg-type] # public or private


def neighbors(
    groups: tuple[tuple[int, ...], ...], quantity: int, relation: str
) -> set[tuple[tuple[int, ...], ...]]:
    """All data that differ in one person with a quantity up to the given one, in one of the units."""

    def added(base: tuple[tuple[int, ...], ...]) -> set[tuple[tuple[int, ...], ...]]:
        grown = set()
        for leaf, unit, z in product(range(2), range(2), range(1, quantity + 1)):
            rows = [list(row) for row in base]
            rows[leaf][unit] += z
            grown.add(tuple(map(tuple, rows)))
        return grown

    if relation == PERSON:
        return added(groups)
    fewer = set()
    for leaf, unit, z in product(range(2), range(2), range(1, quantity + 1)):
        rows = [list(row) for row in groups]
        rows[leaf][unit] -= z
        if rows[leaf][unit] >= 0:
            fewer.add(tuple(map(tuple, rows)))
    return {other for base in fewer for other in added(base)}


@pytest.mark.parametrize("max_size", [3, pytest.param(4, marks=pytest.mark.slow)])
@pytest.mark.parametrize("relation", [PERSON, REPLACED])
@pytest.mark.parametrize("quantity", [1, 2])
@pytest.mark.parametrize(
    ("kind", "units"),
    [
        *product(["survival", "direct"], ["public", "private"]),
        ("sorted", "public"),
        ("chain", "public"),
    ],
)
def test_sensitivities_are_those_of_all_neighbors(
    kind: Kind, units: str, quantity: int, relation: str, max_size: int
) -> None:
    """Two regions of two units, sizes beyond the top code too: no neighbor moves a level further, some do as far."""
    worst = np.zeros((2, 2), dtype=np.int64)
    # Most tables are neighbors of many others.
    true = cache(lambda groups: truth(table(groups, max_size, units), kind))
    for sizes in product(range(max_size + 1), repeat=4):
        groups = (sizes[:2], sizes[2:])
        for other in neighbors(groups, quantity, relation):
            if other < groups and relation == REPLACED:
                continue
            moved = true(other) - true(groups)
            cut = 4 if kind == "sorted" else 1
            levels = [moved[:cut], moved[cut:]]
            for level, part in enumerate(levels):
                worst[level, 0] = max(worst[level, 0], np.abs(part).sum())
                worst[level, 1] = max(worst[level, 1], (part**2).sum())
    frame = table(((0, 0), (0, 0)), max_size, units).frame
    wide = Frame(frame.tree, frame.max_size, frame.units, quantity, frame.group_totals)
    stated = [
        [sensitivity(wide, kind, relation, level, norm=norm) for norm in (1, 2)]
        for level in range(2)
    ]
    assert (worst <= np.array(stated)).all()
    # Two persons of quantity 2 at worst move four sizes.
    if relation == PERSON or max_size >= 2 * quantity:
        assert worst.tolist() == stated


def test_sensitivity_follows_the_largest_size_where_that_is_smaller() -> None:
    frame = frame_of(PAIR, 2, quantity=7)
    assert sensitivity(frame, "survival", PERSON, 0) == 2


@pytest.mark.parametrize(
    ("kind", "relation", "norm", "field"),
    [
        ("cumulative", PERSON, 1, "kind"),
        ("survival", "replace-one", 1, "neighbors"),
        ("survival", PERSON, 3, "norm"),
        ("sorted", PERSON, 1, "kind"),
        ("chain", PERSON, 1, "kind"),
    ],
)
def test_what_has_no_sensitivity_is_refused(
    kind: Any, relation: str, norm: int, field: str
) -> None:
    with pytest.raises(InvalidProblemError, match=field):
        sensitivity(frame_of(PAIR, 2), kind, relation, 0, norm=norm)


SHARES = st.lists(st.integers(1, 9), min_size=4, max_size=4).map(
    lambda parts: tuple(Fraction(part, sum(parts)) for part in parts)
)


@given(
    SHARES,
    st.sampled_from(["survival", "direct"]),
    st.sampled_from([PERSON, REPLACED]),
    st.fractions("1/10", 5, max_denominator=20),
)
def test_every_path_of_a_ragged_tree_spends_exactly_the_budget(
    shares: tuple[Fraction, ...], kind: Kind, relation: Any, amount: Fraction
) -> None:
    frame = frame_of(RAGGED, 5)
    for guarantee in (PureDP(amount, relation), ZeroConcentratedDP(amount, relation)):
        norm = 1 if isinstance(guarantee, PureDP) else 2
        for inherit in (True, False):
            scales = node_scales(frame, kind, guarantee, shares, leaves_inherit=inherit)
            spent = []
            for leaf in RAGGED.leaves.tolist():
                total = Fraction(0)
                for node in RAGGED.ancestors(leaf).tolist():
                    bound = sensitivity(frame, kind, relation, int(RAGGED.levels[node]), norm=norm)
                    scale = scales[node]
                    assert scale is not None
                    total += bound / scale / norm
                spent.append(total)
            assert max(spent) == amount
            assert (min(spent) == amount) is inherit


def test_a_level_without_a_share_is_not_measured() -> None:
    data = GroupSizes.from_counts(RAGGED, np.full((4, 3), 10**9), units="private")
    made = measure(data, "survival", PureDP(1, PERSON), levels=[0, 0, 0, 1])
    assert made.measured.tolist() == [False, False, True, False, True, True, True]
    assert (made.values[~made.measured] == 0).all()
    assert (made.values[made.measured] > 10**8).all()
    assert np.isinf(made.variances()[0])


@pytest.mark.parametrize("guarantee", [PureDP("1/2", PERSON), ZeroConcentratedDP("1/2", PERSON)])
@pytest.mark.parametrize("kind", KINDS)
def test_noise_has_the_stated_variance(guarantee: PureDP | ZeroConcentratedDP, kind: Kind) -> None:
    """A wide table; six standard errors of the mean square on either side, of noise with a seed."""
    counts = np.full((2, 2000), 3)
    data = GroupSizes.from_counts(PAIR, counts, units="public")
    made = measure(data, kind, guarantee, levels=["1/4", "3/4"], bits=SeededBits(5))
    moved = (made.values - truth(data, kind)).astype(np.float64)
    first, rest = (moved[:12000], moved[12000:]) if kind == "sorted" else (moved[0], moved[1:])
    variances = made.variances()
    # The kurtosis of Laplace noise is 6, or less.
    for part, variance in ((first, variances[0]), (rest, variances[1])):
        assert abs((part**2).mean() / variance - 1) < 6 * np.sqrt(6 / part.size) + 0.03
        assert abs(part.mean()) < 6 * np.sqrt(variance / part.size)
    assert made.seeded
    assert not measure(data, "direct", guarantee).seeded


def test_variances_of_laplace_noise_are_rounded_up() -> None:
    data = GroupSizes.from_counts(PAIR, [[1], [1]], units="private")
    for epsilon in ("1/1000", "2", "100"):
        made = measure(data, "survival", PureDP(epsilon, PERSON))
        q = np.exp(-float(Fraction(epsilon)) / 2)
        assert made.variances()[0] == pytest.approx(2 * q / (1 - q) ** 2, rel=1e-9)


def test_parameters_let_the_guarantee_be_computed_anew() -> None:
    made = measure(
        GroupSizes.from_counts(RAGGED, np.ones((4, 2), dtype=int), units="private"),
        "direct",
        PureDP("1/2", PERSON),
    )
    stated = made.parameters()
    assert stated["epsilon_by_level"] == ["1/8"] * 4
    assert stated["sensitivity"] == [2] * 4
    assert stated["scale_by_level"] == ["16", "16", "16", "none"]
    assert stated["scale_of_leaves_by_level"] == ["none", "16/3", "8", "16"]


@pytest.mark.parametrize(
    "levels", [["1/2"], ["1/2", "1/2", "0"], ["1/2", "1/3"], ["3/2", "-1/2"], ["x", "y"]]
)
def test_shares_that_do_not_add_up_are_refused(levels: list[str]) -> None:
    with pytest.raises(InvalidProblemError, match="levels"):
        level_shares(1, levels)


def test_guarantees_without_a_mechanism_are_refused() -> None:
    data = GroupSizes.from_counts(PAIR, [[1], [1]], units="private")
    with pytest.raises(InvalidProblemError, match="guarantee"):
        measure(data, "direct", ApproxDP(1, "1e-6", PERSON))  # type: ignore[arg-type] # wrong on purpose
    with pytest.raises(InvalidProblemError, match="neighbors"):
        measure(data, "direct", PureDP(1, "add-remove-one"))


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"kind": "other"}, "kind"),
        ({"noise": "uniform"}, "noise"),
        ({"values": np.zeros((3, 2))}, "values"),
        ({"values": np.zeros((3, 1), dtype=np.int64)}, "values"),
        ({"scales": (Fraction(1),)}, "scales"),
        ({"scales": (Fraction(1), Fraction(1), Fraction(0))}, "scales"),
        ({"shares": (Fraction(1),)}, "shares"),
    ],
)
def test_records_that_contradict_themselves_are_refused(change: dict[str, Any], field: str) -> None:
    fields: dict[str, Any] = {
        "frame": frame_of(PAIR, 2),
        "kind": "survival",
        "values": np.zeros((3, 2), dtype=np.int64),
        "scales": (Fraction(1), None, Fraction(1)),
        "noise": "laplace",
        "guarantee": PureDP(1, PERSON),
        "shares": (Fraction(1, 2),) * 2,
    }
    made = Measured(**fields)
    assert "survival" in repr(made)
    assert not made.values.flags.writeable
    with pytest.raises(InvalidProblemError, match=field):
        Measured(**(fields | change))


@pytest.mark.parametrize("guarantee", [PureDP(1, PERSON), ZeroConcentratedDP(1, REPLACED)])
def test_leaves_of_a_chain_inherit_nothing(guarantee: PureDP | ZeroConcentratedDP) -> None:
    """A person moves the entries of a leaf that is not hers, too, and has spent the levels below it elsewhere."""
    data = GroupSizes.from_counts(RAGGED, np.ones((4, 3), dtype=int), units="public")
    with pytest.raises(InvalidProblemError, match="leaves_inherit: expected False for a chain"):
        measure(data, "chain", guarantee)
    for levels in (None, [0, 0, 0, 1], [1, 0, 0, 0]):
        kept = measure(data, "chain", guarantee, levels=levels, leaves_inherit=False)
        checked = verify_measurements(kept)
        assert checked.passed
        assert checked.checks[1].residual == 1
    # Where all leaves are equally deep there is nothing to inherit.
    even = GroupSizes.from_counts(PAIR, [[1, 1], [1, 1]], units="public")
    assert verify_measurements(measure(even, "chain", guarantee)).passed


def test_a_method_with_a_chain_is_refused_before_it_is_paid_for() -> None:
    class Chained:
        """Measures a chain and asks nothing of the tree."""

        kind = "chain"
        integral = True

        def solve(self, measured: Any, *, on_progress: Any = None) -> None: ...

    data = GroupSizes.from_counts(RAGGED, np.ones((4, 3), dtype=int), units="public")
    wrong: Any = Chained()
    with pytest.raises(InvalidProblemError, match="leaves_inherit"):
        level_parts(data.frame, PureDP(1, PERSON), method=wrong)
    level_parts(data.frame, PureDP(1, PERSON), method=wrong, leaves_inherit=False)


def test_errors_of_a_chain_are_predicted_for_what_can_be_measured() -> None:
    frame = frame_of(RAGGED, 2, "public")
    errors = expected_error(frame, "chain", PureDP(1, PERSON), level_shares(3, None))
    assert (errors > 0).all()
