"""Time: whether a report is fresh never depends on the place, and no budget is exceeded."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.channels.implicit import AnchoredChannel
from discreet.core.errors import BudgetError, InvalidProblemError
from discreet.core.guarantee import MetricDP, PureDP
from discreet.core.outcome import Provenance
from discreet.core.randomness import SeededBits
from discreet.lrgeo import Client, Epochs, Mechanism, Region, State, design, locate, pin, verify
from discreet.lrgeo.client import held_everywhere
from discreet.lrgeo.epochs import keep, reserve
from discreet.lrgeo.state import Source
from discreet.testing import enumerate_law
from meta.canary import leaks

if TYPE_CHECKING:
    from discreet.core.randomness import RandomBits

DAY = 86_400


def small(rows: int = 2, columns: int = 3) -> Mechanism:
    region = Region.from_grid(rows, columns, cell=1, unit="km")
    n = region.K
    channel = AnchoredChannel(region.space, "0.9", np.arange(n), np.full(n, 40), lift=20)
    guarantee = MetricDP(2, "km")
    certificate = verify(channel, guarantee)
    made = Provenance("by hand")
    return Mechanism(region, channel, guarantee, Fraction(1, 2), certificate, None, 1.0, made)


MECHANISM = small()
CLIENT = Client(MECHANISM, verified_digest=MECHANISM.digest)
points = st.tuples(st.floats(0, 3), st.floats(0, 2))
times = st.lists(st.integers(0, 4 * DAY), min_size=1, max_size=12)
budgets = st.sampled_from([None, 2, 3, 6, 1000])


def run(
    moments: list[int], ways: list[tuple[float, float]], epochs: Epochs
) -> list[tuple[bool, State]]:
    """Say of each moment whether the report was a fresh one, and what is remembered then."""
    state, told = State(), []
    for moment, point in zip(moments, ways, strict=True):
        before = state.spent_in_all
        try:
            report, state = locate(
                CLIENT, state, point, moment, epochs=epochs, bits=SeededBits(moment)
            )
        except BudgetError:
            assert state.report is None
            continue
        assert report == state.report
        told.append((state.spent_in_all > before, state))
    return told


@settings(max_examples=60)
@given(times, st.data(), budgets, budgets)
def test_when_a_report_is_fresh_does_not_depend_on_the_places(
    moments: list[int], data: st.DataObject, per_day: int | None, for_life: int | None
) -> None:
    some = st.lists(points, min_size=len(moments), max_size=len(moments))
    epochs = Epochs(3600, per_day=per_day, for_life=for_life)
    here, there = (run(moments, data.draw(some), epochs) for _ in range(2))
    assert [fresh for fresh, _ in here] == [fresh for fresh, _ in there]
    public = ("epoch", "day", "spent_today", "spent_in_all")
    for (_, a), (_, b) in zip(here, there, strict=True):
        assert [getattr(a, name) for name in public] == [getattr(b, name) for name in public]


@settings(max_examples=60)
@given(times, budgets, budgets)
def test_no_budget_is_exceeded_whatever_the_clock_does(
    moments: list[int], per_day: int | None, for_life: int | None
) -> None:
    epochs = Epochs(3600, per_day=per_day, for_life=for_life)
    days: dict[int, Fraction] = {}
    for fresh, state in run(moments, [(1.0, 1.0)] * len(moments), epochs):
        assert state.day is not None
        days[state.day] = days.get(state.day, Fraction(0)) + (2 if fresh else 0)
    assert per_day is None or all(spent <= per_day for spent in days.values())
    assert for_life is None or sum(days.values()) <= for_life


def test_within_an_epoch_the_report_is_repeated_whatever_the_place_is() -> None:
    epochs = Epochs(3600)
    first, state = locate(CLIENT, State(), (0.2, 0.2), 7200, epochs=epochs)
    for point in [(2.9, 1.9), (0.2, 0.2), (500.0, 500.0)]:
        again, state = locate(CLIENT, state, point, 7300, epochs=epochs)
        assert again == first
    assert state.spent_in_all == 2


def test_a_clock_that_was_set_back_repeats_and_opens_no_new_day() -> None:
    epochs = Epochs(3600, per_day=2)
    first, state = locate(CLIENT, State(), (0.2, 0.2), 3 * DAY, epochs=epochs)
    again, same = locate(CLIENT, state, (2.9, 1.9), DAY, epochs=epochs)
    assert again == first
    assert same == state
    later, after = locate(CLIENT, state, (2.9, 1.9), 3 * DAY + 7200, epochs=epochs)
    assert later == first
    assert after == state


def test_without_budget_and_without_a_report_there_is_an_error_and_no_place() -> None:
    with pytest.raises(BudgetError):
        locate(CLIENT, State(), (0.2, 0.2), 0, epochs=Epochs(3600, per_day=1))


def test_a_pinned_place_shows_its_report_and_spends_nothing_more() -> None:
    epochs = Epochs(3600)
    state = pin(CLIENT, State(), (0.2, 0.2), 0, epochs=epochs)
    assert state.spent_in_all == 2
    assert state.report is None
    home = state.pinned[0]
    for hour in range(1, 4):
        report, state = locate(CLIENT, state, (0.3, 0.1), 3600 * hour, epochs=epochs)
        assert report == home
    assert state.spent_in_all == 2
    _, state = locate(CLIENT, state, (2.9, 1.9), 3600 * 5, epochs=epochs)
    assert state.spent_in_all == 4
    with pytest.raises(BudgetError):
        pin(CLIENT, state, (2.9, 1.9), 3600 * 5, epochs=Epochs(3600, for_life=4))


def test_a_place_that_is_pinned_again_keeps_its_report_and_costs_nothing() -> None:
    """Drawn once is drawn once: whoever pins at each call would be averaged."""
    epochs = Epochs(3600, for_life=2)
    state = pin(CLIENT, State(), (0.2, 0.2), 0, epochs=epochs)
    for hour in range(20):
        assert pin(CLIENT, state, (0.3, 0.1), 3600 * hour, epochs=epochs) is state


def other_client(epsilon: int = 1, cell: str = "1") -> Client:
    """Make a client of another mechanism, for the same places or for others."""
    region = Region.from_grid(2, 3, cell=cell, unit="km")
    return Client(
        Mechanism.from_design(design(region, MetricDP(epsilon, "km"), gap=0.5, scope="places"))
    )


def test_a_repeated_report_is_of_the_mechanism_that_drew_it() -> None:
    """The server has published a stronger mechanism since: what was drawn before is as weak as it was."""
    epochs, later = Epochs(3600), other_client()
    assert later.mechanism.region.digest == CLIENT.mechanism.region.digest
    first, state = locate(CLIENT, State(), (0.2, 0.2), 0, epochs=epochs)
    again, state = locate(later, state, (0.2, 0.2), 100, epochs=epochs)
    assert again == first
    assert state.source == Source(CLIENT.mechanism.digest, CLIENT.mechanism.guarantee)
    _, state = locate(later, state, (0.2, 0.2), 3600, epochs=epochs)
    assert state.source == Source(later.mechanism.digest, later.mechanism.guarantee)
    assert state.spent_in_all == 3


def test_a_pinned_report_is_of_the_mechanism_that_drew_it() -> None:
    epochs, later = Epochs(3600), other_client()
    state = pin(CLIENT, State(), (0.2, 0.2), 0, epochs=epochs)
    _, state = locate(later, state, (2.9, 1.9), 0, epochs=epochs)
    assert state.source.guarantee == later.mechanism.guarantee
    shown, state = locate(later, state, (0.2, 0.2), 3600, epochs=epochs)
    assert shown == state.pinned[0]
    assert state.source.guarantee == CLIENT.mechanism.guarantee


def test_what_was_drawn_elsewhere_is_said_to_be_of_a_mechanism_only_where_that_is_known() -> None:
    epochs, later = Epochs(3600), other_client()
    state = pin(CLIENT, State(), (0.2, 0.2), 0, epochs=epochs)
    charged = reserve(later, state, 0, epochs=epochs)
    assert charged is not None
    assert keep(later, charged, state.pinned[0], 0).source == Source()
    assert keep(later, charged, (9.0, 9.0), 0).source.guarantee == later.mechanism.guarantee
    same = reserve(CLIENT, state, 0, epochs=epochs)
    assert same is not None
    kept = keep(CLIENT, same, state.pinned[0], 0)
    assert kept.source.guarantee == CLIENT.mechanism.guarantee


def test_places_that_were_pinned_in_another_region_are_no_places_here() -> None:
    """Place 0 is a corner of both; what was pinned at the one must not be shown at the other."""
    epochs, elsewhere = Epochs(3600), other_client(cell="2")
    state = pin(CLIENT, State(), (0.2, 0.2), 0, epochs=epochs)
    for point in ((0.2, 0.2), (5.0, 3.0), (99.0, 99.0)):
        with pytest.raises(InvalidProblemError, match="pinned places of this server's region"):
            locate(elsewhere, state, point, 0, epochs=epochs)
    with pytest.raises(InvalidProblemError, match="pin them anew"):
        reserve(elsewhere, state, 0, epochs=epochs)
    state = pin(elsewhere, state, (5.0, 3.0), 0, epochs=epochs)
    place = elsewhere.snap((5.0, 3.0))
    assert set(state.pinned) == {place}
    assert locate(elsewhere, state, (5.0, 3.0), 0, epochs=epochs)[0] == state.pinned[place]


def test_a_radius_costs_what_it_gives_away_between_places_far_apart() -> None:
    """Between neighbors it claims 2 per km; a diagonal of a grid is protected by longer chains."""
    region = Region.from_grid(4, 4, cell="0.5", unit="km")
    near = Client(
        Mechanism.from_design(design(region, MetricDP(2, "km", "0.5"), gap=0.5, scope="places"))
    )
    held = held_everywhere(near.mechanism)
    assert held is not None
    assert near.cost == held.epsilon > Fraction("2.8")
    _, state = locate(near, State(), (0.2, 0.2), 0, epochs=Epochs(3600))
    assert state.spent_in_all == held.epsilon
    with pytest.raises(BudgetError):
        locate(near, State(), (0.2, 0.2), 0, epochs=Epochs(3600, for_life=2))


def test_a_mechanism_that_protects_some_places_by_nothing_is_never_within_a_budget() -> None:
    scope = CLIENT.mechanism.guarantee.scope
    apart = dataclasses.replace(CLIENT.mechanism, guarantee=MetricDP(2, "km", "0.1", scope=scope))
    client = Client(apart, verified_digest=apart.digest)
    for ask in (locate, pin):
        with pytest.raises(BudgetError, match="no budget covers it"):
            ask(client, State(), (0.2, 0.2), 0, epochs=Epochs(3600))


def test_the_law_of_two_epochs_is_the_product_of_two_rows() -> None:
    """Every draw of the production code is replayed; movement changes the second factor only."""
    region = Region.from_grid(1, 2, cell=1, unit="km")
    channel = AnchoredChannel(region.space, "0.9", [0, 1], [4, 4], lift=1)
    made = Provenance("by hand")
    certificate = verify(channel, MetricDP(3, "km"))
    mechanism = Mechanism(
        region, channel, MetricDP(3, "km"), Fraction(1, 2), certificate, None, 1.0, made
    )
    client = Client(mechanism)

    def two(bits: RandomBits) -> tuple[tuple[float, float], tuple[float, float]]:
        first, state = locate(client, State(), (0.4, 0.5), 0, epochs=Epochs(3600), bits=bits)
        second, _ = locate(client, state, (1.6, 0.5), 3600, epochs=Epochs(3600), bits=bits)
        return first, second

    law = enumerate_law(two)
    rows = [channel.row(place).tolist() for place in range(2)]
    for i in range(2):
        for k in range(2):
            share = Fraction(rows[0][i], sum(rows[0])) * Fraction(rows[1][k], sum(rows[1]))
            assert law.masses[region.where(i), region.where(k)] == share


def test_nothing_but_the_report_shows_the_place() -> None:
    """Neither errors nor texts hold coordinates of the point."""
    secret = 1.817_263_549
    inside, outside = (secret, 0.5), (secret + 500, 0.5)
    for point in (inside, outside):
        assert not leaks(partial(CLIENT.report, point), "817263549")
        ask = partial(locate, CLIENT, State(), point, 0, epochs=Epochs())
        assert not leaks(ask, "817263549")
    with pytest.raises(InvalidProblemError):
        CLIENT.report(outside)
    assert "1.8" not in repr(CLIENT)
    state = pin(CLIENT, State(), inside, 0, epochs=Epochs())
    assert "pinned" not in repr(state)


@pytest.mark.parametrize("seconds", [0, -5, 7, True, 3600.5, 100_000])
def test_epochs_of_no_use_are_refused(seconds: int) -> None:
    with pytest.raises(InvalidProblemError):
        Epochs(seconds)


@pytest.mark.parametrize("now", [-1, float("nan"), float("inf"), "noon", True])
def test_a_time_that_is_none_is_refused(now: float) -> None:
    with pytest.raises(InvalidProblemError):
        locate(CLIENT, State(), (0.2, 0.2), now, epochs=Epochs())


def test_states_and_rules_come_back_from_json() -> None:
    import json

    epochs = Epochs(7200, per_day="2.5", for_life=100)
    assert Epochs.from_dict(json.loads(json.dumps(epochs.to_dict()))) == epochs
    state = pin(CLIENT, State(), (0.2, 0.2), 0, epochs=epochs)
    assert State.from_dict(json.loads(json.dumps(state.to_dict()))) == state
    assert State.from_dict(json.loads(json.dumps(State().to_dict()))) == State()


OLD = {
    "mechanism": "7f",
    "epoch": 4,
    "day": 0,
    "report": [1.5, 0.5],
    "spent_today": "2",
    "spent_in_all": "2",
}
"""As version 1 wrote a state."""


def test_a_state_of_an_earlier_version_is_read_and_says_what_it_does_not_know() -> None:
    state = State.from_dict({**OLD, "pinned": []})
    assert state.report == (1.5, 0.5)
    assert state.spent_in_all == 2
    assert state.source == Source()
    again, state = locate(CLIENT, state, (0.2, 0.2), 3600 * 4, epochs=Epochs(3600))
    assert (again, state.source) == ((1.5, 0.5), Source())
    _, state = locate(CLIENT, state, (0.2, 0.2), 3600 * 5, epochs=Epochs(3600))
    assert state.spent_in_all == 4
    assert state.source.guarantee == CLIENT.mechanism.guarantee
    pinned = State.from_dict({**OLD, "pinned": [[0, [1.5, 0.5]]]})
    with pytest.raises(InvalidProblemError, match="or of an old version"):
        locate(CLIENT, pinned, (0.2, 0.2), 3600 * 5, epochs=Epochs(3600))
    assert pin(CLIENT, pinned, (0.2, 0.2), 3600 * 5, epochs=Epochs(3600)).spent_in_all == 4


def test_states_that_make_no_sense_are_refused() -> None:
    with pytest.raises(InvalidProblemError):
        State(spent_today=Fraction(2), spent_in_all=Fraction(1))
    with pytest.raises(InvalidProblemError):
        State(epoch=3)
    with pytest.raises(InvalidProblemError):
        State.from_dict({**State().to_dict(), "epoch": "3"})
    with pytest.raises(InvalidProblemError):
        State.from_dict({**State().to_dict(), "spent_in_all": "1e300000000"})
    with pytest.raises(InvalidProblemError):
        State(pinned={0: (1.0, 2.0)})
    with pytest.raises(InvalidProblemError):
        State(region="here")
    private = PureDP(1, neighbors="replace-one").to_dict()
    with pytest.raises(InvalidProblemError, match="metric privacy"):
        Source.from_dict({"mechanism": "", "guarantee": private})
    with pytest.raises(InvalidProblemError):
        Epochs(per_day=0)


def test_only_the_mechanism_that_was_verified_is_used_unseen() -> None:
    with pytest.raises(InvalidProblemError, match="verified"):
        Client(MECHANISM, verified_digest="0" * 64)
