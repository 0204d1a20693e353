"""Attacks on a location service, on traffic made by hand: what names the place is found, what does not is not."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import MetricDP
from discreet.evaluate.attack.bayes import distances_of
from discreet.evaluate.attack.location import (
    Request,
    Session,
    attack_repeats,
    attack_traffic,
    count_guesses,
    distinct_sessions,
)
from discreet.lrgeo.places.region import Region

REGION = Region.from_grid(5, 5, cell=1, unit="km")
PRIOR = np.full(25, 1 / 25)
PLACES = [int(place) for place in np.random.default_rng(2).integers(25, size=60)]
SAME = Request("GET /v1/mechanism", b"accept: it\n", b"")


def test_equal_bytes_tell_nothing_and_one_byte_tells_the_place() -> None:
    silent = [Session(place, (SAME, SAME)) for place in PLACES]
    found = attack_traffic(silent, [Session(p, (SAME, SAME)) for p in range(25)], PRIOR)
    assert found.kept
    assert found.attacker.value == PLACES.count(0) / 60
    assert distinct_sessions(silent) == 1

    def leaks(place: int) -> Session:
        return Session(place, (SAME, Request("POST /v1/x", b"", bytes([place]))))

    found = attack_traffic([leaks(p) for p in PLACES], [leaks(p) for p in range(25)], PRIOR)
    assert found.kept is False
    assert found.attacker.value == 1.0
    assert found.control is not None
    assert found.control.value < 0.3


def test_a_length_is_enough() -> None:
    def padded(place: int, salt: int) -> Session:
        body = np.random.default_rng([place, salt]).bytes(10 + place)
        return Session(place, (Request("POST /v1/x", b"", body),))

    own = [padded(p, 1) for p in range(25)]
    assert attack_traffic([padded(p, 2) for p in PLACES], own, PRIOR).attacker.value == 1.0


def test_repeats_within_an_epoch_are_one_report_and_fresh_ones_are_many() -> None:
    rng = np.random.default_rng(3)
    laws = np.exp(-distances_of(REGION.space))
    laws /= laws.sum(axis=1, keepdims=True)
    claim = MetricDP(2, "km")

    def stay(place: int, epochs: int) -> Session:
        drawn = rng.choice(25, size=epochs, p=laws[place]).tolist()
        reports = [(at * epochs // 10, drawn[at * epochs // 10]) for at in range(10)]
        return Session(place, (), reports=tuple(reports))

    def attacked(epochs: int, allowed: int) -> tuple[float, bool | None]:
        watched = [stay(place, epochs) for place in PLACES * 10]
        found = attack_repeats(
            watched, laws, REGION.space, claim, PRIOR, allowed=allowed, label="asks"
        )
        return found.attacker.value, found.kept

    one, many = attacked(1, 1), attacked(10, 10)
    assert one[1]
    assert many[1]
    assert many[0] > one[0] + 0.1
    # What says that it draws once and draws ten times is found out, at an epsilon that is true for one.
    tight = MetricDP("0.2", "km")
    watched = [stay(place, 10) for place in PLACES * 10]
    found = attack_repeats(watched, laws, REGION.space, tight, PRIOR, allowed=1, label="asks")
    assert found.kept is False


def test_one_session_is_no_experiment() -> None:
    with pytest.raises(InvalidProblemError, match="sessions"):
        count_guesses("x", [Session(0, (SAME,))], lambda _: 0, PRIOR)
