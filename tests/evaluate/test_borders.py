"""Borders: laws that jump are told apart however near two points are, and laws that slope are not."""

from __future__ import annotations

import math
from contextlib import nullcontext
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

import pytest

from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import MetricDP
from discreet.evaluate.attack.borders import (
    Straddle,
    attack_bisecting,
    attack_republished,
    attack_straddling,
    exact_decimal,
    told_apart,
)
from discreet.evaluate.attack.request import AttackRequest
from discreet.evaluate.audit.borders import audit_laws_of_points, audit_snapped_points
from discreet.evaluate.audit.request import AuditRequest
from discreet.evaluate.simulate import borders
from discreet.evaluate.simulate.borders import (
    attack_borders,
    audit_points,
    audit_service_points,
    laws_of,
)
from discreet.lrgeo import LatticeMechanism, NoiseMechanism, Region, design

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.evaluate.attack.borders import Law

EPSILON = Fraction(2)


def sloping(border: Fraction = Fraction(0)) -> Law:
    """Two reports whose odds change as slowly as epsilon 2 asks for: a line between 1/4 and 3/4, a kilometer long."""

    def law(point: tuple[str, str]) -> Sequence[Fraction]:
        along = min(max(Fraction(point[0]) - border, Fraction(-1, 2)), Fraction(1, 2))
        west = Fraction(1, 2) - along / 2
        return [west, 1 - west]

    return law


def jumping(border: Fraction = Fraction(0)) -> Law:
    def law(point: tuple[str, str]) -> Sequence[Fraction]:
        west = Fraction(9, 10) if Fraction(point[0]) < border else Fraction(1, 10)
        return [west, 1 - west]

    return law


def beside(distance: str) -> Straddle:
    half = Fraction(distance) / 2
    ends = [(exact_decimal(end), "0") for end in (-half, half)]
    return Straddle(ends[0], ends[1], Fraction(distance))


@pytest.mark.parametrize("distance", ["0.001", "1e-12"])
def test_two_points_across_a_border_are_told_apart_only_where_laws_jump(distance: str) -> None:
    pairs = [beside(distance)]
    kept = attack_straddling(sloping(), pairs, EPSILON, attack="slope")
    assert kept.kept is True
    assert kept.limit == pytest.approx(1 / (1 + math.exp(-2 * float(distance))))
    broken = attack_straddling(jumping(), pairs, EPSILON, attack="jump")
    assert (broken.kept, broken.attacker.value) == (False, 0.9)


def test_regions_that_are_republished_add_up_and_no_more() -> None:
    borders = [Fraction(at, 1000) for at in range(-3, 4)]
    pair = beside("0.016")
    kept = attack_republished([sloping(border) for border in borders], pair, EPSILON)
    broken = attack_republished([jumping(border) for border in borders], pair, EPSILON)
    assert (kept.kept, broken.kept) == (True, False)
    # One region is the plain game, and several tell more.
    one = attack_republished([sloping()], pair, EPSILON)
    both = [sloping()(end) for end in (pair.first, pair.second)]
    assert one.attacker.value == pytest.approx(float(told_apart(*both)))
    assert kept.attacker.value > one.attacker.value


def test_bisecting_follows_a_user_whom_borders_give_away() -> None:
    def certain(border: Fraction) -> Law:
        return lambda point: [
            Fraction(int(Fraction(point[0]) < border)),
            Fraction(int(Fraction(point[0]) >= border)),
        ]

    users = [Fraction(at, 16) + Fraction(1, 800) for at in (1, 9, 30)]
    found = attack_bisecting(certain, Fraction(2), users, 10)
    assert found.attacker.value <= 2 / 2**10 / 2
    even = attack_bisecting(lambda _: lambda _: [Fraction(1, 2)] * 2, Fraction(2), users, 6)
    assert even.attacker.value > 0.4
    assert found.baseline.value == 0.5


def test_places_alone_fail_and_the_command_says_so() -> None:
    found = attack_borders(AttackRequest("lrgeo", mode="places-only"))
    assert found.kept is False
    assert [one.kept for one in found.findings] == [False, False, False, None]
    # A server that moves its two places finds a user in two hundred kilometers to some meters.
    assert found.findings[3].attacker.value < 0.01
    audited = audit_points(AuditRequest("places-only", points=400))
    assert audited.rejected
    assert audited.pairs == 400
    assert audited.strength == "exact"
    assert "break the promise" in audited.event


@pytest.mark.slow
def test_every_point_passes_what_places_alone_fail() -> None:
    found = attack_borders(AttackRequest("lrgeo", mode="every-point"))
    assert [one.kept for one in found.findings] == [True, True, True, None]
    # Bisecting learns something, as any report does, and does not arrive.
    assert found.findings[3].attacker.value > 0.2
    audited = audit_points(AuditRequest("every-point", points=1_100_000))
    assert not audited.rejected
    assert 1.9 < audited.lower <= 2


def test_what_a_client_of_the_service_draws_from_is_audited_by_points(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The real application and a real client pass; one that holds a mechanism with too large a claim does not."""
    from discreet.service.recorded import record

    # Both audits are of the same design, which takes most of the time.
    made: list[Any] = []

    def design_once(*given: Any) -> Any:
        if not made:
            made.append(design(*given))
        return made[0]

    monkeypatch.setattr(borders, "design", design_once)
    request = AuditRequest("service", points=500)
    audited = audit_service_points(request, record)
    assert not audited.rejected
    assert audited.strength == "exact"
    assert audited.pairs == 500
    assert 1.5 < audited.lower <= 2

    class Altered:
        """Says that a mechanism keeps less than it keeps."""

        def __init__(self, held: NoiseMechanism | LatticeMechanism) -> None:
            self.held = held

        def fetched(self) -> NoiseMechanism | LatticeMechanism:
            return replace(
                self.held, guarantee=replace(self.held.guarantee, epsilon=Fraction(3, 2))
            )

    def altered(mechanism: Any, _region: Region) -> Any:
        return nullcontext(Altered(mechanism))

    assert audit_service_points(request, cast("Any", altered)).rejected


def test_a_net_keeps_its_promise_for_a_judge_that_shares_nothing_with_its_design() -> None:
    """And with a little less epsilon than it was made for it does not."""
    region = Region.from_grid(3, 3, cell="0.5", unit="km")
    made = design(region, MetricDP(2, "km"), method="table", spacing="0.25").published()
    laws = laws_of(made)
    assert not audit_laws_of_points(laws, made.guarantee, 20_000).rejected
    less = replace(laws, epsilon=laws.epsilon * Fraction(95, 100))
    assert audit_laws_of_points(less, MetricDP("1.9", "km"), 4_000).rejected


def test_rows_that_are_alike_are_not_told_apart_even_when_snapped() -> None:
    region = Region.from_grid(2, 3, cell=1, unit="km")
    claim = MetricDP(2, "km")
    assert not audit_snapped_points(region, lambda _: [1, 2, 3], claim, 200).rejected
    ruled_out = audit_snapped_points(region, lambda place: [1, int(place > 0)], claim, 200)
    assert ruled_out.rejected
    assert math.isinf(ruled_out.lower)


def test_options_without_meaning_are_refused() -> None:
    with pytest.raises(InvalidProblemError, match="points"):
        audit_points(AuditRequest("places-only"))
    with pytest.raises(InvalidProblemError, match="delta"):
        audit_points(AuditRequest("every-point", delta="0.1", points=10))
    with pytest.raises(InvalidProblemError, match="method"):
        attack_borders(AttackRequest("lrgeo", mode="places-only", method="x"))
