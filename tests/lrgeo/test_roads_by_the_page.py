"""docs/theory/lrgeo-roads.md in Python, with nothing of the library: the library is held against it, draw by draw."""

from __future__ import annotations

import base64
import json
import math
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pytest

import noises
import roadways
from discreet.artefact import load_roads, save_mechanism
from discreet.core.errors import InvalidProblemError
from discreet.lrgeo import RoadMechanism
from discreet.lrgeo.along_roads.verify import verify

FROZEN = Path(__file__).parents[1] / "data" / "road-1.mechanism"


class Given:
    """A source that gives stated integers, each below a stated bound."""

    def __init__(self, *draws: tuple[int, int]) -> None:
        self.left = [*draws]

    def randrange(self, stop: int) -> int:
        expected, drawn = self.left.pop(0)
        assert stop == expected
        return drawn

    def randranges(self, stop: int, size: int) -> Any:
        raise AssertionError


def numbers(stated: dict[str, Any]) -> list[int]:
    body, wide = base64.b64decode(stated["data"]), stated["bytes"]
    return [
        int.from_bytes(body[at : at + wide], "little") + stated["least"]
        for at in range(0, len(body), wide)
    ]


def nodes_beside(file: dict[str, Any], s: int, w: Fraction) -> tuple[int, int, int, int]:
    """Steps 1 and 2: the two nodes beside a point, and their weights."""
    segments, lengths, parts = (numbers(file[name]) for name in ("segments", "lengths", "parts"))
    length, p = lengths[s], parts[s]
    w = min(w, Fraction(length))
    i = max(i for i in range(p) if i * length // p <= w)
    cuts = len(numbers(file["vertices"])) // 2 + sum(count - 1 for count in parts[:s])
    a = segments[2 * s] if i == 0 else cuts + i - 1
    b = segments[2 * s + 1] if i == p - 1 else cuts + i
    ratio = ((i + 1) * length // p - w, w - i * length // p)
    scale = math.lcm(*(one.denominator for one in ratio))
    x, y = (int(one * scale) for one in ratio)
    return a, b, x // math.gcd(x, y), y // math.gcd(x, y)


def report(file: dict[str, Any], node: int, drawn: int) -> int:
    """Step 3."""
    k, weights = len(file["shown"]), numbers(file["weights"])
    so_far = 0
    for number, weight in enumerate(weights[node * k : node * k + k]):
        so_far += weight
        if so_far > drawn:
            return number
    raise AssertionError("a row of another sum")


@pytest.mark.parametrize("name", roadways.KINDS)
def test_it_draws_what_the_page_says(name: str) -> None:
    small = roadways.KINDS[name]
    file = json.loads(noises.sealed(small.parts_of_file()))
    mechanism, chance = RoadMechanism.from_dict(file), Random(name)  # noqa: S311 - cases of a test
    per = noises.DECIMETERS[small.unit]
    ends = 0
    for _ in range(60):
        s = chance.randrange(len(small.segments))
        length, p = small.lengths[s], small.parts[s]
        cut = Fraction(chance.randrange(p + 1) * length // p)
        w = chance.choice([Fraction(chance.randrange(length * 1000), 1000), cut, cut + length])
        a, b, x, y = nodes_beside(file, s, w)
        ends += 0 in (x, y)
        spot = mechanism.network.find(s, w / per)
        assert (spot.nodes, spot.weights) == ((a, b), (x, y))
        for _ in range(4):
            first, second = chance.randrange(x + y), chance.randrange(1 << small.bits)
            source = Given((x + y, first), (1 << small.bits, second))
            wanted = report(file, a if first < x else b, second)
            assert mechanism.draw(s, w / per, source) == wanted
            assert source.left == []
    assert 0 < ends < 60


def test_the_frozen_file_loads_for_ever_and_is_written_as_it_was(tmp_path: Path) -> None:
    mechanism = load_roads(FROZEN)
    assert verify(mechanism.claimed()).passed
    save_mechanism(mechanism, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == FROZEN.read_bytes()
    assert mechanism.digest == ("0ee05d69f5106ee536d580a7fa838c83810542230908480f6a84efc2f54fb9d3")
    assert mechanism.where(2) == (2.0, 2.5)


def _of(change: dict[str, Any]) -> dict[str, Any]:
    file = {**roadways.KINDS["a square with an arm"].parts_of_file(), **change}
    loaded: dict[str, Any] = json.loads(noises.sealed(file))
    return loaded


@pytest.mark.parametrize(
    "change",
    [
        {"bits": 48.0},
        {"bits": True},
        {"origin": [41.88, 12.46]},
        {"origin": ["41.88"]},
        {"origin": ["41.88 ", "12"]},
        {"shown": [["0", "1"], ["0", "1"], ["2", "2"]]},
        {"shown": [["0", "1"], ["1", "x"], ["2", "2"]]},
        {"shown": [["0", "1"], ["1", "1"]]},
        {"reports": noises.packed([0, 2, 5])},
        {"parts": noises.packed([2, 1, 2, 1, 1, 4])},
        {"parts": noises.packed([2, 1, 2, 1, 1, 2**30])},
        {"lengths": noises.packed([2003, 1500, 1999, 1700, 901, 2**30])},
        {"lengths": noises.packed([2**62, *[2**29] * 5]), "parts": noises.packed([2**29] * 6)},
        {"vertices": noises.packed([2**30, *range(9)])},
        {"segments": noises.packed([0, 1, 1, 2, 2, 3, 3, 0, 2, 4, 1, 5])},
        {"segments": {"count": 0, "bytes": 1, "least": 0, "data": ""}},
        {"lower": "nan"},
        {"upper": None},
        {"upper": "1.50"},
        {"unit": "mile"},
        {"version": 2},
        {"guarantee": {"kind": "k-anonymity"}},
    ],
)
def test_parts_that_do_not_fit_are_refused_in_a_sentence(change: dict[str, Any]) -> None:
    with pytest.raises(InvalidProblemError) as caught:
        RoadMechanism.from_dict(_of(change))
    assert len(str(caught.value)) < 300


def test_a_row_with_one_report_is_written_and_read() -> None:
    """A weight of 2^62 is one more than arrays otherwise hold: designs with a small epsilon have it."""
    file = json.loads(noises.sealed(roadways.KINDS["one report"].parts_of_file()))
    mechanism = RoadMechanism.from_dict(file)
    assert mechanism.weights.max() == 1 << 62
    assert mechanism.to_dict() == file
    file["weights"]["data"] = base64.b64encode(((1 << 62) + 1).to_bytes(8, "little") * 10).decode()
    with pytest.raises(InvalidProblemError, match="2\\^62"):
        RoadMechanism.from_dict(json.loads(noises.sealed(file)))
