"""The verifier of channels that are never written down agrees with a table, and rejects what is forged."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet.core.certificate import Certificate
from discreet.core.channels.check_implicit import least_lift, triangle_defect, verify_anchored
from discreet.core.channels.implicit import AnchoredChannel, Ball
from discreet.core.errors import InvalidProblemError
from discreet.core.exact import exp_ceil, exp_floor
from discreet.core.guarantee import MetricDP
from discreet.core.spaces import lengths as measures
from discreet.core.spaces.metric import MetricSpace
from discreet.core.spaces.points import PointLengths

GRID = MetricSpace.grid(4, 5, cell=1, unit="km")
ALL = MetricDP(1, "km")
EIGHT = MetricDP(1, "km", "1.5")


def failed(certificate: Certificate) -> set[str]:
    return {check.name for check in certificate.checks if not check.passed}


def tails(rate: str = "0.4999", lift: int = 2**16, **more: object) -> AnchoredChannel:
    return AnchoredChannel(GRID, rate, np.arange(20), [2**40] * 20, lift=lift, **more)  # type: ignore[arg-type]


def holds(channel: AnchoredChannel, guarantee: MetricDP) -> bool:
    """Brute force: exact probabilities of every constrained pair and report, by a table."""
    rows = [channel.row(i).tolist() for i in range(channel.n_secrets)]
    sums = [sum(row) for row in rows]
    edges = channel.space.adjacency(guarantee.radius)
    for (i, j), length in zip(edges.pairs.tolist(), edges.lengths.tolist(), strict=True):
        growth = exp_floor(guarantee.epsilon * Fraction(length, 2**edges.scale_bits), 128)
        for p, q in zip(rows[i], rows[j], strict=True):
            for (a, s), (b, t) in (((p, sums[i]), (q, sums[j])), ((q, sums[j]), (p, sums[i]))):
                if a * t << 128 > b * s * growth:
                    return False
    return True


@pytest.mark.parametrize("guarantee", [ALL, EIGHT])
def test_an_exponential_mechanism_passes_and_is_private(guarantee: MetricDP) -> None:
    certificate = verify_anchored(tails(), guarantee, totals_share="0.5")
    assert certificate.passed
    assert all(check.exact for check in certificate.checks)
    assert holds(tails(), guarantee)


def with_ball(weights: dict[tuple[int, int], int]) -> AnchoredChannel:
    secrets, reports = np.array(list(weights)).T
    return tails(rate="0.4", ball=Ball(secrets, reports, np.array(list(weights.values()))))


def test_explicit_weights_are_compared_in_both_directions_and_to_the_unit() -> None:
    """The largest and the least weight that its neighbors allow pass; one unit beyond is rejected."""
    plain = tails(rate="0.4")
    edges = GRID.adjacency(EIGHT.radius)
    near = {
        j: int(length)
        for (a, b), length in zip(edges.pairs.tolist(), edges.lengths.tolist(), strict=True)
        for i, j in ((a, b), (b, a))
        if i == 7
    }

    def bound(j: int, bits: int = 200) -> int:
        return exp_floor(Fraction(1, 2) * Fraction(near[j], 2**edges.scale_bits), bits)

    most = min(int(plain.row(j)[7]) * bound(j) >> 200 for j in near)
    least = max(-(-(int(plain.row(j)[7]) << 200) // bound(j)) for j in near)
    for weight, sound in [(most, True), (most + 1, False), (least, True), (least - 1, False)]:
        ball = Ball(np.array([7]), np.array([7]), np.array([weight]))
        found = verify_anchored(tails(rate="0.4", ball=ball), EIGHT, totals_share="0.5")
        assert failed(found) == (set() if sound else {"column inequalities violated"})


def test_totals_are_not_computed_where_they_follow_from_the_columns() -> None:
    channel = tails()
    assert verify_anchored(channel, EIGHT, totals_share="0.5").passed
    assert "totals" not in vars(channel)
    assert not verify_anchored(channel, EIGHT, totals_share="0.1").passed
    assert "totals" in vars(channel)


def test_two_explicit_neighbors_are_compared_with_each_other() -> None:
    center = int(tails(rate="0.4").row(7)[7])
    assert verify_anchored(
        with_ball({(7, 7): center, (8, 7): center * 68 // 100}), EIGHT, totals_share="0.5"
    ).passed
    forged = with_ball({(7, 7): center, (8, 7): center // 2})
    assert "column inequalities violated" in failed(
        verify_anchored(forged, EIGHT, totals_share="0.5")
    )
    assert not holds(forged, MetricDP("0.6", "km", "1.5"))


def test_a_forged_anchor_is_rejected_by_the_totals() -> None:
    """One anchor that dwarfs the others makes every total follow its tail, faster than the share allows."""
    anchors = np.full(20, 2**40)
    anchors[3] = 2**52
    forged = AnchoredChannel(GRID, "0.4999", np.arange(20), anchors, lift=2**16)
    assert failed(verify_anchored(forged, EIGHT, totals_share="0.3")) >= {
        "total inequalities violated"
    }
    # Not so with a share as large as the rate of the tails.
    assert verify_anchored(forged, EIGHT, totals_share="0.5").passed


@pytest.mark.parametrize("change", [{"rate": "0.5"}, {"rate": "0.7"}, {"lift": 100}])
def test_tails_that_fall_too_fast_for_their_lift_are_rejected(change: dict[str, object]) -> None:
    assert "lift that tails need" in failed(
        verify_anchored(tails(**change), ALL, totals_share="0.5")  # type: ignore[arg-type]
    )


def test_a_lift_that_is_too_small_is_rejected_for_a_reason() -> None:
    """With less lift than the theorem asks for there are channels whose rounding breaks an inequality."""
    weak = AnchoredChannel(GRID, "0.4999", np.arange(20), [3] * 20, lift=1)
    assert not verify_anchored(weak, EIGHT, totals_share="0.5").passed
    assert not holds(weak, MetricDP("0.5", "km", "1.5"))


def test_a_forged_factor_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    """A unit too many, three too few, and a digit of zero that is not one."""
    for place, digit, change in [(0, 5, 1), (5, 3, -3), (2, 0, -1)]:
        channel = tails()
        forged = channel.decay.tables.copy()
        forged[place, digit] += change
        monkeypatch.setitem(channel.decay.__dict__, "tables", forged)
        assert "factors of the exponential off" in failed(
            verify_anchored(channel, ALL, totals_share="0.5")
        )


def test_a_table_that_is_not_a_metric_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stored table whose triangles are open asks for more slack than there is."""
    space = MetricSpace.grid(4, 5, cell=1, unit="km")
    channel = AnchoredChannel(space, "0.4999", np.arange(20), [2**40] * 20, lift=2**16)
    forged = space.distances.copy()
    forged[0, 19] = forged[19, 0] = int(forged[0, 19] * 3 // 2)
    monkeypatch.setitem(space.__dict__, "distances", forged)
    assert "lift that tails need" in failed(verify_anchored(channel, EIGHT, totals_share="0.5"))


def test_secrets_that_are_not_connected_or_not_apart_are_rejected() -> None:
    apart = MetricSpace.from_points([[0.0], [1.0], [9.0], [9.0]], unit="km")
    channel = AnchoredChannel(apart, "0.4", [0, 2], [2**40] * 2, lift=2**16)
    assert failed(verify_anchored(channel, MetricDP(1, "km", 2), totals_share="0.5")) >= {
        "groups of secrets",
        "pairs at distance 0",
    }


def test_without_a_table_the_verdicts_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the size of a table, lengths are not closed and the lift covers the defect."""
    monkeypatch.setattr(measures, "DENSE_LIMIT", 0)
    rng = np.random.default_rng(0)
    for space in (
        MetricSpace.grid(30, 30, cell=1, unit="km"),
        MetricSpace.from_points(rng.random((30, 2)) * 4, unit="km"),
    ):
        for rate, sound in (("0.4999", True), ("0.7", False)):
            channel = AnchoredChannel(
                space, rate, np.arange(space.n), [2**40] * space.n, lift=2**20
            )
            found = verify_anchored(channel, MetricDP(1, "km", 3), totals_share="0.5")
            assert found.passed == sound


DEFECTS = {
    "grid": (MetricSpace.grid(30, 20, cell=1, unit="km"), 0),
    "long grid": (MetricSpace.grid(2000, 3, cell=1, unit="km"), 3998),
    "plane": (MetricSpace.from_points(np.random.default_rng(1).normal(size=(40, 2)), unit="m"), 1),
    "blocks": (
        MetricSpace.from_points(
            np.random.default_rng(2).normal(size=(40, 3)), metric="manhattan", unit="m"
        ),
        1,
    ),
    "sphere": (
        MetricSpace.from_points(
            np.random.default_rng(3).uniform(-60, 60, size=(40, 2)), metric="haversine", unit="m"
        ),
        10,
    ),
    "ball": (
        MetricSpace.from_points(
            np.random.default_rng(6).uniform(-0.57, 0.57, size=(40, 3)),
            metric="hyperbolic",
            unit="1",
        ),
        6,
    ),
    "angles": (
        MetricSpace.from_points(
            np.random.default_rng(4).normal(size=(40, 5)), metric="angular", unit="rad"
        ),
        None,
    ),
}


@pytest.mark.parametrize("name", DEFECTS)
def test_triangles_of_lengths_that_are_not_closed_open_by_no_more_than_stated(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    space, stated = DEFECTS[name]
    assert (triangle_defect(space) == 0) == space.has_matrix
    monkeypatch.setattr(measures, "DENSE_LIMIT", 0)
    defect = triangle_defect(space)
    assert stated in {defect, None}
    some = np.random.default_rng(5).integers(0, space.n, size=(3, 20_000))
    i, j, k = some
    ij, jk, ik = (space.source.between(*pair) for pair in ((i, j), (j, k), (i, k)))
    assert int((ik - ij - jk).max()) <= defect


def test_a_space_of_a_table_has_no_defect(monkeypatch: pytest.MonkeyPatch) -> None:
    path = MetricSpace.from_graph(3, [(0, 1), (1, 2)], [1.0, 2.0], unit="hop")
    monkeypatch.setattr(measures, "DENSE_LIMIT", 0)
    assert triangle_defect(path) == 0


def test_a_metric_that_is_not_listed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measures, "DENSE_LIMIT", 0)
    source = PointLengths(np.zeros((2, 2)), "chebyshev", 40)
    with pytest.raises(InvalidProblemError, match="chebyshev"):
        triangle_defect(MetricSpace("km", "chebyshev", 40, source))


@pytest.mark.parametrize("slack", [Fraction(1, 10**6), Fraction(1, 7), Fraction(1), Fraction(30)])
def test_the_lift_covers_two_units(slack: Fraction) -> None:
    """``c / (c - 2) <= e^a``, with e^a rounded down."""
    c = least_lift(slack)
    assert c << 100 <= (c - 2) * exp_floor(min(slack, Fraction(1)), 100)
    assert (c // 2) << 100 > (c // 2 - 2) * exp_ceil(min(slack, Fraction(1)), 100)


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(InvalidProblemError, match="unit"):
        verify_anchored(tails(), MetricDP(1, "m"), totals_share="0.5")
    for share in (0, 1):
        with pytest.raises(InvalidProblemError, match="totals_share"):
            verify_anchored(tails(), ALL, totals_share=share)
