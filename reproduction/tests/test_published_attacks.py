"""Attacks on the published protocol: on traffic made by hand, and on that of a real server."""

from __future__ import annotations

import numpy as np
import pytest

from cli.commands import say
from discreet.evaluate.attack.location import Request
from discreet.lrgeo.places.region import Region
from discreet_reproduction.lrgeo.as_published.geo_ind_graph import GeoIndGraph, lr_set
from discreet_reproduction.lrgeo.as_published.instance import Instance
from discreet_reproduction.lrgeo.attack_messages import (
    CostPart,
    PublishedSession,
    World,
    attack_center,
    attack_discs,
    attack_targets,
    attack_uploads,
)

REGION = Region.from_grid(5, 5, cell=1, unit="km")
TARGETS = np.array([2, 11, 23])
INSTANCE = Instance.from_region(REGION, targets=TARGETS)
WORLD = World(INSTANCE, GeoIndGraph(INSTANCE.distances, 1.5), reach=1.5, r_obf=2.0)
PLACES = [int(place) for place in np.random.default_rng(2).integers(25, size=60)]
SAME = Request("GET /v1/mechanism", b"accept: it\n", b"")


def discs(place: int, count: int, *, keep: bool, rng: np.random.Generator) -> PublishedSession:
    rows = lr_set(WORLD.graph, place, WORLD.reach)
    centers = rng.choice(rows, size=count)
    chosen = [int(centers[0])] * count if keep else centers.tolist()
    return PublishedSession(place, (), centers=tuple(chosen))


def test_uploads_name_the_place_even_without_columns() -> None:
    sessions = [PublishedSession(place, (SAME,), (WORLD.upload(place),)) for place in PLACES]
    whole, blurred, shapes = attack_uploads(sessions, WORLD)
    assert whole.attacker.value == blurred.attacker.value == 1.0
    assert whole.kept is blurred.kept is False
    assert 0.04 < shapes.attacker.value < 0.5
    without = attack_uploads([PublishedSession(place, (SAME,)) for place in PLACES], WORLD)
    assert all(found.kept for found in without)


def test_the_middle_row_is_found_in_any_order() -> None:
    sessions = [PublishedSession(place, (), (WORLD.upload(place),)) for place in PLACES]
    (found,) = attack_center(sessions, WORLD)
    assert found.kept is False
    assert found.attacker.value > 0.8
    assert attack_center([PublishedSession(0, (SAME,))], WORLD) == []


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
    none = [PublishedSession(place, (SAME,)) for place in PLACES]
    assert all(found.kept is not False for found in attack_discs(none, WORLD))


def test_the_cost_table_gives_the_targets_back_and_noise_does_not_help_much() -> None:
    shares = np.zeros(25)
    shares[TARGETS] = 1 / 3
    everything = np.arange(25)

    def told(noise: float) -> list[PublishedSession]:
        jitter = np.random.default_rng(1).uniform(0, noise, size=(25, 25))
        table = CostPart(everything, INSTANCE.beta + jitter)
        return [PublishedSession(0, (SAME,), tables=(table,))]

    (exact,) = attack_targets(told(0.0), REGION.travel, shares)
    assert exact.attacker.value < 1e-9
    assert exact.kept is False
    (noisy,) = attack_targets(told(0.02), REGION.travel, shares)
    assert 1e-9 < noisy.attacker.value < 0.2
    assert attack_targets([PublishedSession(0, (SAME,))], REGION.travel, shares) == []


@pytest.mark.slow
def test_the_published_mode_is_broken_by_what_it_uploads(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = say(capsys, "attack", "lrgeo", "--mode", "published", "--trials", "12", "--json")
    status, data = said.status, said.data
    assert status == 1
    assert data["kept"] is False
    found = {one["attack"]: one for one in data["findings"]}
    for name in (
        "bytes of the traffic, compared with one's own",
        "uploads, all places tried",
        "uploads, rounded, sorted, without columns",
    ):
        assert found[name]["attacker"]["value"] == 1.0
        assert found[name]["kept"] is False
    assert found["discs asked for, 10"]["error"] is True
    assert found["targets from the cost table"]["attacker"]["value"] < 1e-9
