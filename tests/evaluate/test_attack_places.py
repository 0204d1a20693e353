"""Attacks on a location service, on traffic made by hand: what names the place is found, what does not is not."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import MetricDP
from discreet.evaluate.attack.location import CostPart, Request, Session, World, count_guesses
from discreet.evaluate.attack.location_messages import (
    attack_center,
    attack_discs,
    attack_targets,
    attack_traffic,
    attack_uploads,
    distinct_sessions,
)
from discreet.evaluate.attack.location_reports import attack_repeats, score_tiles
from discreet.lrgeo.places.region import Region
from discreet_reproduction.lrgeo.as_published.geo_ind_graph import GeoIndGraph, lr_set
from discreet_reproduction.lrgeo.as_published.instance import Instance

REGION = Region.from_grid(5, 5, cell=1, unit="km")
TARGETS = np.array([2, 11, 23])
INSTANCE = Instance.from_region(REGION, targets=TARGETS)
WORLD = World(INSTANCE, GeoIndGraph(INSTANCE.distances, 1.5), reach=1.5, r_obf=2.0)
PLACES = [int(place) for place in np.random.default_rng(2).integers(25, size=60)]
SAME = Request("GET /v1/mechanism", b"accept: it\n", b"")


def discs(place: int, count: int, *, keep: bool, rng: np.random.Generator) -> Session:
    rows = lr_set(WORLD.graph, place, WORLD.reach)
    centers = rng.choice(rows, size=count)
    chosen = [int(centers[0])] * count if keep else centers.tolist()
    return Session(place, (), centers=tuple(chosen))


def test_equal_bytes_tell_nothing_and_one_byte_tells_the_place() -> None:
    silent = [Session(place, (SAME, SAME)) for place in PLACES]
    found = attack_traffic(silent, [Session(p, (SAME, SAME)) for p in range(25)], WORLD)
    assert found.kept
    assert found.attacker.value == PLACES.count(0) / 60
    assert distinct_sessions(silent) == 1

    def leaks(place: int) -> Session:
        return Session(place, (SAME, Request("POST /v1/x", b"", bytes([place]))))

    found = attack_traffic([leaks(p) for p in PLACES], [leaks(p) for p in range(25)], WORLD)
    assert found.kept is False
    assert found.attacker.value == 1.0
    assert found.control is not None
    assert found.control.value < 0.3


def test_a_length_is_enough() -> None:
    def padded(place: int, salt: int) -> Session:
        body = np.random.default_rng([place, salt]).bytes(10 + place)
        return Session(place, (Request("POST /v1/x", b"", body),))

    own = [padded(p, 1) for p in range(25)]
    assert attack_traffic([padded(p, 2) for p in PLACES], own, WORLD).attacker.value == 1.0


def test_uploads_name_the_place_even_without_columns() -> None:
    sessions = [Session(place, (SAME,), (WORLD.upload(place),)) for place in PLACES]
    whole, blurred, shapes = attack_uploads(sessions, WORLD)
    assert whole.attacker.value == blurred.attacker.value == 1.0
    assert whole.kept is blurred.kept is False
    assert 0.04 < shapes.attacker.value < 0.5
    without = attack_uploads([Session(place, (SAME,)) for place in PLACES], WORLD)
    assert all(found.kept for found in without)


def test_the_middle_row_is_found_in_any_order() -> None:
    sessions = [Session(place, (), (WORLD.upload(place),)) for place in PLACES]
    (found,) = attack_center(sessions, WORLD)
    assert found.kept is False
    assert found.attacker.value > 0.8
    assert attack_center([Session(0, (SAME,))], WORLD) == []


def test_discs_drawn_anew_are_intersected_and_kept_ones_are_not() -> None:
    rng = np.random.default_rng(5)
    fresh = [discs(place, 12, keep=False, rng=rng) for place in PLACES * 4]
    kept = [discs(place, 12, keep=True, rng=rng) for place in PLACES * 4]
    first, last, error = attack_discs(fresh, WORLD, requests=(1, 12))
    once, still, same = attack_discs(kept, WORLD, requests=(1, 12), label=", kept")
    assert last.attacker.value > 0.9 > first.attacker.value
    assert last.kept is False
    assert still.attacker == once.attacker
    assert error.attacker.value < 0.2 < same.attacker.value
    none = [Session(place, (SAME,)) for place in PLACES]
    assert all(found.kept is not False for found in attack_discs(none, WORLD))


def test_the_cost_table_gives_the_targets_back_and_noise_does_not_help_much() -> None:
    shares = np.zeros(25)
    shares[TARGETS] = 1 / 3
    everything = np.arange(25)

    def told(noise: float) -> list[Session]:
        jitter = np.random.default_rng(1).uniform(0, noise, size=(25, 25))
        table = CostPart(everything, INSTANCE.beta + jitter)
        return [Session(0, (SAME,), tables=(table,))]

    (exact,) = attack_targets(told(0.0), REGION.travel, shares)
    assert exact.attacker.value < 1e-9
    assert exact.kept is False
    (noisy,) = attack_targets(told(0.02), REGION.travel, shares)
    assert 1e-9 < noisy.attacker.value < 0.2
    assert attack_targets([Session(0, (SAME,))], REGION.travel, shares) == []


def test_repeats_within_an_epoch_are_one_report_and_fresh_ones_are_many() -> None:
    rng = np.random.default_rng(3)
    laws = np.exp(-INSTANCE.distances)
    laws /= laws.sum(axis=1, keepdims=True)
    claim = MetricDP(2, "km")

    def stay(place: int, epochs: int) -> Session:
        drawn = rng.choice(25, size=epochs, p=laws[place]).tolist()
        reports = [(at * epochs // 10, drawn[at * epochs // 10]) for at in range(10)]
        return Session(place, (), reports=tuple(reports))

    def attacked(epochs: int, allowed: int) -> tuple[float, bool | None]:
        watched = [stay(place, epochs) for place in PLACES * 10]
        found = attack_repeats(
            watched, laws, REGION.space, claim, WORLD, allowed=allowed, label="asks"
        )
        return found.attacker.value, found.kept

    one, many = attacked(1, 1), attacked(10, 10)
    assert one[1]
    assert many[1]
    assert many[0] > one[0] + 0.1
    # What says that it draws once and draws ten times is found out, at an epsilon that is true for one.
    tight = MetricDP("0.2", "km")
    watched = [stay(place, 10) for place in PLACES * 10]
    found = attack_repeats(watched, laws, REGION.space, tight, WORLD, allowed=1, label="asks")
    assert found.kept is False


def test_tiles_are_scored_and_limit_nothing_only_where_they_are_disclosed() -> None:
    tiles = np.arange(25) // 5
    told = score_tiles(tiles, WORLD, disclosed=True)
    assert told.attacker.value == pytest.approx(0.2)
    assert told.kept is None
    assert score_tiles(tiles, WORLD, disclosed=False).kept is False
    with pytest.raises(InvalidProblemError, match="tiles"):
        score_tiles(tiles[:3], WORLD, disclosed=True)


def test_one_session_is_no_experiment() -> None:
    with pytest.raises(InvalidProblemError, match="sessions"):
        count_guesses("x", [Session(0, (SAME,))], lambda _: 0, WORLD)
