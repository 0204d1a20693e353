"""Mechanisms for every point with a row for each control point: verifier, exact laws, files, and their design."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from discreet.core.errors import DiscreetError, InvalidProblemError, LimitReachedError
from discreet.core.guarantee import MetricDP, PointScope
from discreet.core.randomness.bits import SeededBits
from discreet.evaluate.audit.nets import edge_net_pairs, random_net_pairs
from discreet.evaluate.audit.points import count_broken
from discreet.evaluate.simulate.borders import laws_of
from discreet.lrgeo import Region
from discreet.lrgeo.mechanism import packed, text_digest
from discreet.lrgeo.messages import mechanism_from
from discreet.lrgeo.points.noise_design import design_noise
from discreet.lrgeo.points.table import LatticeMechanism
from discreet.lrgeo.points.table_design import LatticeDesign, design_table
from discreet.lrgeo.points.verify import verify
from discreet.metricdp import Problem
from few import few_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from discreet.core.certificate import Certificate
    from discreet.lrgeo.points.verify_table import ClaimedTable

EPSILON = 2
GRID = Region.from_grid(4, 3, cell="0.5", unit="km")


def designed(region: Region = GRID, **options: Any) -> LatticeDesign:
    problem = Problem(region.space, utility_loss="distance")
    return design_table(region, MetricDP(EPSILON, region.unit), problem, **options)


@pytest.fixture(scope="module")
def made() -> LatticeDesign:
    return designed(spacing="0.25")


def broken(certificate: Certificate) -> set[str]:
    return {check.name for check in certificate.checks if not check.passed}


def test_the_design_is_certified_and_within_its_bounds(made: LatticeDesign) -> None:
    assert verify(made.claimed()).passed
    assert made.upper is not None
    assert made.mesh_lower is not None
    assert made.mesh_lower <= made.upper
    assert made.mesh_gap is not None
    assert made.mesh_gap < 0.01
    published = made.published()
    per, expected = 10_000, Fraction(0)
    for x, y in made.reports.tolist():
        law = published.law((str(Fraction(x, per).__float__()), str(Fraction(y, per).__float__())))
        assert sum(law) == 1
        away = [math.hypot(x - u, y - v) / per for u, v in made.reports.tolist()]
        each = (one * Fraction(d) for one, d in zip(law, away, strict=True))
        expected += sum(each, Fraction(0)) / made.K
    assert float(expected) == pytest.approx(made.upper, rel=1e-9)


def test_probabilities_keep_the_promise_between_any_two_points(made: LatticeDesign) -> None:
    """In exact arithmetic, on points far apart and close together, across cells and outside of the box."""
    published, rng = made.published(), np.random.default_rng(2)
    for _ in range(60):
        x = rng.uniform(-0.1, (1.6, 1.1))
        y = x + 10.0 ** rng.uniform(-6, -0.3) * rng.normal(size=2)
        y = np.clip(y, -0.1, (1.6, 1.1))
        first, second = (published.law((f"{a:.9f}", f"{b:.9f}")) for a, b in (x, y))
        apart = math.hypot(*(np.round(x, 9) - np.round(y, 9)))
        limit = Fraction(math.exp(EPSILON * apart)) * (1 + Fraction(1, 10**12))
        for one, other in zip(first, second, strict=True):
            assert one <= limit * other
            assert other <= limit * one


def test_the_promise_is_used_up(made: LatticeDesign) -> None:
    """Half of epsilon, or cells twice as wide, would not be kept: the verifier finds it, and nothing else."""
    claimed = made.claimed()
    half = MetricDP(Fraction(EPSILON, 2), "km", scope=made.guarantee.scope)
    assert broken(verify(replace(claimed, guarantee=half))) == {"inequalities violated"}
    tight = MetricDP(EPSILON * Fraction(999, 1000), "km", scope=made.guarantee.scope)
    assert broken(verify(replace(claimed, guarantee=tight))) == {"inequalities violated"}


def count(claimed: ClaimedTable) -> int:
    """Count violations in plain integers, by the definition, one node and report after the other."""
    (wide, tall), found = claimed.cells, 0
    k = claimed.weights.shape[1]
    table = claimed.weights.reshape(wide + 2, tall + 2, k).tolist()
    rho = claimed.guarantee.epsilon * claimed.side / {"km": 10_000, "m": 10}[claimed.unit]
    kinds = [(0, a) for a in range(wide + 1)] + [(1, a) for a in range(wide)]
    lines = [(0, b) for b in range(tall + 1)] + [(1, b) for b in range(tall)]
    value, slope = ({0: 1, 1: 1}, {1: 2}), ({0: -2, 1: 2}, {0: -1, 2: 1})
    for (p, a), (q, b), r in itertools.product(kinds, lines, range(k)):
        parts = [
            sum(
                u * v * table[a + i][b + j][r]
                for i, u in across[p].items()
                for j, v in along[q].items()
            )
            for across, along in ((value, value), (slope, value), (value, slope))
        ]
        found += parts[1] ** 2 + parts[2] ** 2 > (rho * parts[0]) ** 2
    return found


@pytest.mark.parametrize("seed", range(8))
def test_the_verifier_counts_as_plain_integers_do(made: LatticeDesign, seed: int) -> None:
    rng = np.random.default_rng(seed)
    claimed = made.claimed()
    weights = claimed.weights.copy()
    for _ in range(3):
        row = int(rng.integers(len(weights)))
        k, other = rng.choice(weights.shape[1], 2, replace=False)
        moved = int(weights[row, k] * 10.0 ** -rng.integers(0, 9))
        weights[row, k] -= moved
        weights[row, other] += moved
    altered = replace(claimed, weights=weights)
    found = {check.name: check for check in verify(altered).checks}["inequalities violated"]
    assert found.residual == count(altered)
    assert count(claimed) == 0


def forgeries(claimed: ClaimedTable) -> Iterator[tuple[str, ClaimedTable, str]]:
    weights = claimed.weights

    def moved(by: int, *, kept: bool) -> Any:
        other = weights.copy()
        other[0, 0] += by
        other[0, 1] -= by * kept
        return other

    largest = int(weights[0].max())
    yield "raised", replace(claimed, weights=moved(largest // 50, kept=True)), "inequalities"
    yield "sum off by one", replace(claimed, weights=moved(1, kept=False)), "row sums off"
    yield "negative", replace(claimed, weights=moved(-(1 << 47), kept=True)), "negative"
    zero = weights.copy()
    zero[0, 1] += zero[0, 0]
    zero[0, 0] = 0
    yield "zero beside positive", replace(claimed, weights=zero), "inequalities"
    yield "other bits", replace(claimed, bits=claimed.bits - 1), "row sums off"
    yield "no bits", replace(claimed, bits=0), "numbers out of range"
    yield "wider cells", replace(claimed, side=claimed.side * 2), "another region"
    yield "moved", replace(claimed, low=(0, 1)), "another region"
    yield "cells", replace(claimed, cells=claimed.cells[::-1]), "another region"
    yield "fewer cells", replace(claimed, cells=(1, 1)), "numbers out of range"
    yield "far", replace(claimed, low=(1 << 30, 0)), "numbers out of range"
    yield "reach", replace(claimed, reach=-1), "numbers out of range"
    yield "floats", replace(claimed, weights=weights.astype(float)), "numbers out of range"
    east, north = claimed.factors
    yield "longer", replace(claimed, factors=(east + 1, north)), "distances longer"
    unit = MetricDP(claimed.guarantee.epsilon, "m", scope=claimed.guarantee.scope)
    yield "unit", replace(claimed, guarantee=unit), "facts misstated"
    other = MetricDP(claimed.guarantee.epsilon, "km", scope=PointScope("0" * 64))
    yield "region", replace(claimed, guarantee=other), "another region"


def test_forgeries_are_refused(made: LatticeDesign) -> None:
    seen = set()
    for name, claimed, expected in forgeries(made.claimed()):
        found = broken(verify(claimed))
        assert any(one.startswith(expected) for one in found), (name, found)
        seen.add(name)
    assert len(seen) == 16


def test_draws_follow_the_law_exactly(made: LatticeDesign) -> None:
    """The column first, the row next, then the report of that row: each by the integers that are stated."""

    class Told:
        def __init__(self, answers: list[int]) -> None:
            self.answers, self.asked = answers, list[int]()

        def randrange(self, n: int) -> int:
            self.asked.append(n)
            return self.answers.pop(0)

    published = made.published()
    spot = published.find(("0.31", "0.77"))
    columns, rows = sum(spot.across), sum(spot.along)
    for column in range(3):
        for row in range(3):
            before = sum(spot.across[:column]), sum(spot.along[:row])
            weights = published.row_at(spot.column + column, spot.row + row).tolist()
            for report in (0, 3, made.K - 1):
                for at in (sum(weights[:report]), sum(weights[: report + 1]) - 1):
                    bits: Any = Told([*before, at])
                    assert published.draw(("0.31", "0.77"), bits) == report
                    assert bits.asked == [columns, rows, 1 << made.bits]
    drawn = [published.draw(("0.31", "0.77"), SeededBits(seed)) for seed in range(300)]
    law = published.law(("0.31", "0.77"))
    assert drawn.count(law.index(max(law))) / 300 == pytest.approx(float(max(law)), abs=0.12)


def test_files_are_read_whole_or_not_at_all(made: LatticeDesign) -> None:
    published = made.published()
    data = published.to_dict()
    again = mechanism_from(data)
    assert isinstance(again, LatticeMechanism)
    assert again.digest == published.digest
    assert verify(again.claimed()).passed
    assert again.draw(("1", "1"), SeededBits(4)) == published.draw(("1", "1"), SeededBits(4))

    def sealed(**changes: object) -> dict[str, Any]:
        plain = {name: value for name, value in data.items() if name != "digest"} | changes
        return {**plain, "digest": text_digest(plain)}

    assert mechanism_from(sealed()).digest == published.digest
    refused: list[dict[str, Any]] = [
        {**data, "side": data["side"] + 1},
        sealed(version=2),
        sealed(cells=[1]),
        sealed(cells=[1, 1]),
        sealed(side=True),
        sealed(bits=54),
        sealed(bits=47),
        sealed(upper="nan"),
        sealed(shown=data["shown"][:-1]),
        sealed(weights=packed(made.weights.ravel()[:-1])),
        sealed(guarantee=MetricDP(EPSILON, "km").to_dict()),
        {name: value for name, value in data.items() if name != "low"},
    ]
    for one in refused:
        with pytest.raises(InvalidProblemError):
            LatticeMechanism.from_dict(one)


def test_nets_are_finer_where_tables_are_small_and_coarser_where_they_are_large() -> None:
    small = designed(Region.from_grid(3, 3, cell="0.5", unit="km"))
    assert small.net.side * EPSILON == 2_500
    large = designed(Region.from_grid(10, 10, cell="0.5", unit="km"), effort=1)
    assert large.net.side * EPSILON == 5_000
    rng = np.random.default_rng(1)
    with pytest.raises(InvalidProblemError, match="weights"):
        designed(Region(rng.integers(0, 2_000_000, (300, 2)), None, "km"))
    with pytest.raises(InvalidProblemError, match="decimeter"):
        designed(spacing="0.00001")


def test_limits_are_told_and_what_is_there_is_handed_in() -> None:
    with pytest.raises(LimitReachedError) as caught:
        designed(gap=1e-7, time_limit=0.3)
    best: Any = caught.value.best
    assert best.status == "limit reached"
    assert verify(best.claimed()).passed
    reached = designed(gap=0.05, time_limit=60)
    assert reached.status == "gap reached"
    assert reached.mesh_gap is not None
    assert reached.mesh_gap <= 0.05
    assert isinstance(caught.value, DiscreetError)


@pytest.mark.parametrize("seed", few_of(1, [2, 0, 1, 3]))
def test_a_table_loses_less_than_one_noise_where_people_are_in_few_places(seed: int) -> None:
    rng = np.random.default_rng(40 + seed)
    region = Region.from_grid(6, 5, cell="0.4", unit="km")
    problem = Problem(
        region.space, utility_loss="distance", prior=rng.dirichlet(np.full(30, (0.1, 2)[seed % 2]))
    )
    table = design_table(region, MetricDP(EPSILON, "km"), problem)
    noise = design_noise(region, MetricDP(EPSILON, "km"), problem)
    assert table.upper is not None
    assert noise.upper is not None
    assert table.upper < noise.upper


def test_pairs_of_points_keep_the_promise_by_a_judge_that_shares_nothing(
    made: LatticeDesign,
) -> None:
    """And break it where an entry was moved."""
    laws = laws_of(made.published())
    for pairs in (random_net_pairs(laws, 3_000), edge_net_pairs(laws, 300)):
        assert count_broken(laws, pairs).violated == 0
    weights = laws.weights.copy()
    columns, rows = made.net.points
    row = columns // 2 * rows + rows // 2
    k = int(weights[row].argmax())
    taken = int(weights[row, k]) * 9 // 10
    weights[row, k - 1] += taken
    weights[row, k] -= taken
    moved = replace(laws, weights=weights)
    assert count_broken(moved, random_net_pairs(moved, 3_000)).violated > 0
    with pytest.raises(InvalidProblemError):
        replace(laws, weights=weights[:-1])
