"""Files of mechanisms along roads: what ``verify``, ``info`` and the stand-alone program say, and what is refused."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import discreet as dc
import noises
import roadways
from cli.commands import say
from discreet import MetricDP
from discreet.artefact import load_roads
from discreet.core.errors import InvalidProblemError
from forger.kinds import standalone
from noises import packed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SCRIPT = Path(__file__).parents[2] / "verify_standalone.py"
SQUARE = roadways.KINDS["a square with an arm"]


def alone(path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT), str(path)], capture_output=True, text=True, check=False
    )


def written(parts: dict[str, Any], folder: Path) -> Path:
    path = folder / "a.mechanism"
    path.write_bytes(noises.sealed(parts))
    return path


@pytest.mark.parametrize("name", ["a square with an arm", "two networks"])
def test_all_who_read_a_file_say_one_thing_of_it(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = roadways.KINDS[name]
    path = written(small.parts_of_file(), tmp_path)
    digest = json.loads(path.read_bytes())["digest"]
    told = say(capsys, "verify", path, "--json")
    assert (told.status, told.data["kind"], told.data["digest"]) == (0, "road-mechanism", digest)
    facts = say(capsys, "info", path, "--json")
    assert (facts.status, facts.data["kind"], facts.data["digest"]) == (0, "road-mechanism", digest)
    assert facts.data["sizes"] == {
        "reports": len(small.reports),
        "nodes": small.vertices + sum(small.parts) - len(small.parts),
        "pieces": len(small.segments),
        "networks": 2 if name == "two networks" else 1,
        "length": sum(small.lengths) / 10_000,
        "bits": small.bits,
    }
    assert dc.verify(path).passed
    other = alone(path)
    assert (other.returncode, other.stderr) == (0, "")
    assert f"{small.epsilon} per km, any two points on its roads, by the way along" in other.stdout


def test_info_promises_ways_and_never_distances_in_the_plane(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = say(capsys, "info", written(SQUARE.parts_of_file(), tmp_path)).out
    assert "points on these roads alone, at the length of the way along them" in told
    assert "not about   distances in the plane, nor points that are moved to the nearest" in told
    assert "any two points of the region" not in told
    assert "all of them" in told
    two = written(roadways.KINDS["two networks"].parts_of_file(), tmp_path)
    assert "in 2 networks: nothing is promised between" in say(capsys, "info", two).out
    assert "what it is  a mechanism along roads" in say(capsys, "verify", two).out


def test_a_bound_without_proof_is_said_to_be_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = SQUARE.parts_of_file()
    assert say(capsys, "verify", written(parts, tmp_path), "--optimality", "--json").status == 1
    path = written({**parts, "lower": None}, tmp_path)
    assert say(capsys, "verify", path, "--optimality", "--json").status == 0


def test_what_moves_points_to_roads_does_not_take_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(SQUARE.parts_of_file(), tmp_path)
    said = say(capsys, "serve", "--mechanism", path)
    assert said.status == 2
    assert "no service publishes roads" in said.err
    from discreet.lrgeo.messages import mechanism_from

    with pytest.raises(InvalidProblemError):
        mechanism_from(json.loads(path.read_bytes()))
    design: Any = load_roads(path)
    with pytest.raises(InvalidProblemError, match="every point"):
        dc.lrgeo.PointClient(design, accepts=MetricDP(9, "km"))


def _damages(whole: dict[str, Any], chance: random.Random) -> Iterator[dict[str, Any]]:
    weights, k = standalone().unpack(whole["weights"], 1), len(whole["shown"])
    for power in range(60):
        moved, node = list(weights), chance.randrange(len(weights) // k)
        i, j = (node * k + report for report in chance.sample(range(k), 2))
        part = moved[i] >> power % 40
        moved[i], moved[j] = moved[i] - part, moved[j] + part
        yield {**whole, "weights": packed(moved)}
    for at, value in ((0, 0), (len(weights) - 1, weights[-1] + 1)):
        moved = [value if here == at else one for here, one in enumerate(weights)]
        yield {**whole, "weights": packed(moved)}
    rate = noises.DECIMETERS[whole["unit"]]
    cut = roadways.pieces(SQUARE.vertices, SQUARE.segments, SQUARE.lengths, SQUARE.parts)
    for more in (-1, 0, 1, 2):
        exact = roadways.limit(weights, k, cut, 20) + Fraction(more, 10**20)
        yield {**whole, "guarantee": {**whole["guarantee"], "epsilon": str(exact * rate)}}
    longer = [length * 4 for length in SQUARE.lengths]
    ends = [end for pair in SQUARE.segments for end in pair]
    scope = {"roads": roadways.roads_digest("km", ends, longer)}
    yield {**whole, "lengths": packed(longer), "guarantee": {**whole["guarantee"], "scope": scope}}
    shorter = [max(9, length // 4) for length in SQUARE.lengths]
    scope = {"roads": roadways.roads_digest("km", ends, shorter)}
    yield {**whole, "lengths": packed(shorter), "guarantee": {**whole["guarantee"], "scope": scope}}
    for change in (
        {"lengths": packed(longer)},
        {"unit": "m"},
        {"bits": whole["bits"] - 1},
        {"bits": 63},
        {"version": True},
        {"parts": packed([1, 2, *SQUARE.parts[2:]])},
        {"parts": packed([3, *SQUARE.parts[1:]])},
        {"segments": packed([*ends[2:], *ends[:2]])},
        {"reports": packed([0, 2, 9])},
        {"reports": packed([0, 2])},
        {"shown": [whole["shown"][1], *whole["shown"][1:]]},
        {"weights": packed(weights[k:])},
        {"east": 1},
        {"upper": None},
        {"lower": "inf"},
        {"origin": ["1", "2"]},
        {"guarantee": {**whole["guarantee"], "epsilon": "1/100000"}},
        {"guarantee": {**whole["guarantee"], "epsilon": str(10**300)}},
        {"guarantee": {**whole["guarantee"], "radius": "1"}},
        {"guarantee": {**whole["guarantee"], "scope": {"region": "0" * 64}}},
        {"provenance": {**whole["provenance"], "seeded": True}},
    ):
        yield {**whole, **change}


def test_two_verifiers_that_share_no_code_say_the_same(tmp_path: Path) -> None:
    whole, found = SQUARE.parts_of_file(), []
    for damaged in [whole, *_damages(whole, random.Random(3))]:  # noqa: S311 - cases of a test
        path = written(damaged, tmp_path)
        try:
            checks = {one.name: one.residual for one in dc.verify(path).checks}
            ours = 1 if any(checks.values()) else 0
        except InvalidProblemError:
            ours = 2
        status = standalone().main([str(path)])
        assert (ours == 0) == (status == 0), damaged
        if {ours, status} <= {0, 1}:
            theirs = {
                name: wrong for name, wrong, _ in standalone().verify(standalone().everywhere(path))
            }
            both = checks.keys() & theirs.keys() - {"reports that are told alike"}
            assert {name: checks[name] for name in both} == {name: theirs[name] for name in both}
        found.append((ours, status))
    assert {(0, 0), (1, 1), (2, 2)} <= {*found}


def _stronger(parts: dict[str, Any]) -> None:
    parts["guarantee"]["epsilon"] = "2"


def _elsewhere(parts: dict[str, Any]) -> None:
    parts["guarantee"]["scope"]["roads"] = "0" * 64


def _seeded(parts: dict[str, Any]) -> None:
    parts["provenance"]["seeded"] = True


FORGED: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "a stronger claim": (_stronger, "inequalities violated"),
    "other roads": (_elsewhere, "other roads than stated"),
    "a seed": (_seeded, "seed"),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_file_fails_by_name(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change, check = FORGED[name]
    parts = SQUARE.parts_of_file()
    change(parts)
    path = written(parts, tmp_path)
    said = say(capsys, "verify", path)
    assert said.status == 1
    assert check in said.out
    assert alone(path).returncode == 1
