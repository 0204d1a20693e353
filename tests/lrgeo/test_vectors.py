"""Test vectors for clients in other languages: made anew here, and equal to the file that they read."""

from __future__ import annotations

import json
import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from discreet.core.certificate import Certificate, Check
from discreet.core.channels.implicit import AnchoredChannel, Ball
from discreet.core.guarantee import MetricDP
from discreet.core.outcome import Provenance
from discreet.lrgeo import Mechanism, Region

FILE = Path(__file__).parents[1] / "data" / "lrgeo-vectors.json"

WORDS = (0, 1, 2**31, 2**53 + 1, 2**61 - 1, 2**63 + 12_345, 2**64 - 1)
"""Words of 64 random bits; the last may be refused."""

PARTS = (0, 1, 3, 7, 13, 29)
"""Targets of draws, in 31st parts of the total."""


def lattice() -> Mechanism:
    """A grid on the sphere, two explicit weights, one report under another name."""
    region = Region.from_grid(3, 4, cell="0.5", unit="km", origin=(41.88, 12.46))
    ball = Ball(np.array([0, 5]), np.array([1, 5]), np.array([2**33, 2**38 + 17]))
    names = np.arange(12)
    names[11] = 10
    anchors = 2**38 + 1_000_003 * np.arange(12)
    return published(region, "0.9996", anchors, lift=24_001, ball=ball, names=names)


def plane() -> Mechanism:
    """Places that are no grid, in meters, with tails alone."""
    places = np.array([(0, 0), (1003, 17), (-530, 2041), (2999, 3001), (7, 4100), (5012, 40)])
    region = Region(places, None, "m")
    return published(
        region, "0.0049", 2**40 - 1 - 77 * np.arange(6), lift=30_011, ball=Ball.empty(), names=None
    )


def published(
    region: Region,
    rate: str,
    anchors: np.ndarray[Any, Any],
    *,
    lift: int,
    ball: Ball,
    names: np.ndarray[Any, Any] | None,
) -> Mechanism:
    """What no verifier looked at: the vectors are about bits, not about privacy."""
    places = np.arange(region.K)
    channel = AnchoredChannel(
        region.space, rate, places, anchors, lift=lift, ball=ball, names=names
    )
    return Mechanism(
        region,
        channel,
        MetricDP(2, region.unit),
        Fraction(1, 5000),
        Certificate((Check("made by hand", 0, 0, exact=True),)),
        None,
        1.0,
        Provenance("by hand", versions={}),
    )


def vectors(mechanism: Mechanism) -> dict[str, Any]:
    """All that another client must find; large integers are texts."""
    channel, region = mechanism.channel, mechanism.region
    n = region.K
    lengths = [
        [str(x) for x in channel.lengths.between(np.full(n, i), np.arange(n)).tolist()]
        for i in range(n)
    ]
    decayed = {
        length: str(int(channel.decay(np.array([int(length)]))[0]))
        for length in sorted({"0", "1", "255", "256", *lengths[0], str(2**46 - 1)}, key=int)
    }
    rows = [channel.row(i).tolist() for i in range(n)]
    totals = [sum(row) for row in rows]
    factors = channel.decay.tables
    return {
        "mechanism": mechanism.to_dict(),
        "coordinates": [[repr(x) for x in region.where(i)] for i in range(n)],
        "reach_decimeters": repr(region.reach * (10_000 if region.unit == "km" else 10)),
        "lengths": lengths,
        "factors": [[str(factors[j, g]) for g in (0, 1, 2, 128, 255)] for j in range(7)],
        "decay": decayed,
        "rows": [[str(weight) for weight in row] for row in rows],
        "totals": [str(total) for total in totals],
        "draws": [
            {
                "place": i,
                "target": str(totals[i] * part // 31),
                "report": drawn(channel, i, totals[i] * part // 31),
            }
            for i in range(n)
            for part in PARTS
        ],
        "words": [
            {"word": str(word), "total": str(totals[0]), "target": below(word, totals[0])}
            for word in WORDS
        ],
    }


class Fixed:
    """Gives the integer that it was told."""

    def __init__(self, target: int) -> None:
        self.target = target

    def randrange(self, stop: int, /) -> int:
        assert 0 <= self.target < stop
        return self.target

    def randranges(self, stop: int, size: int) -> np.ndarray[Any, Any]:
        return np.full(size, self.randrange(stop), dtype=np.uint64)


def drawn(channel: AnchoredChannel, place: int, target: int) -> int:
    return channel.report(place, Fixed(target))


def below(word: int, total: int) -> str | None:
    """A word of 64 bits as a target: refused where remainders would not be equally likely."""
    return None if word >= 2**64 - 2**64 % total else str(word % total)


def made() -> dict[str, Any]:
    return {"lattice": vectors(lattice()), "plane": vectors(plane())}


def test_the_vectors_are_those_of_the_file() -> None:
    """Set DISCREET_WRITE_VECTORS=1 to write the file anew after a change of the form on purpose."""
    if os.environ.get("DISCREET_WRITE_VECTORS") == "1":
        FILE.write_text(json.dumps(made(), indent=1, sort_keys=True) + "\n", encoding="utf-8")
    assert json.loads(FILE.read_text(encoding="utf-8")) == json.loads(json.dumps(made()))


def test_a_row_follows_from_the_published_text_by_the_specification_alone() -> None:
    """docs/theory/lrgeo-mechanism.md in Python integers, with nothing of the library."""
    import base64
    import math

    def unpack(packed: dict[str, Any]) -> list[int]:
        body, wide = base64.b64decode(packed["data"]), packed["bytes"]
        return [
            packed["least"] + int.from_bytes(body[at * wide : (at + 1) * wide], "little")
            for at in range(packed["count"])
        ]

    for found in json.loads(FILE.read_text(encoding="utf-8")).values():
        text = found["mechanism"]
        flat, rule = unpack(text["places"]), text["lengths"]
        places = list(zip(flat[::2], flat[1::2], strict=True))
        bits, per = rule["scale_bits"], {"km": 10_000, "m": 10}[text["unit"]]

        def length(i: int, j: int) -> int:
            a, b = (abs(x - y) for x, y in zip(places[i], places[j], strict=True))  # noqa: B023 - called at once
            if a == b == 0:
                return 0
            if rule["rule"] == "plane":  # noqa: B023 - called at once
                step = (2**bits // per) - 1  # noqa: B023 - called at once
                return 1 + math.isqrt(step * step * (a * a + b * b))
            cell = rule["cell"]  # noqa: B023 - called at once
            a, b = a // cell, b // cell
            g = math.gcd(a, b)
            squares = (a // g) ** 2 + (b // g) ** 2
            return g * math.isqrt(squares * (cell << bits) ** 2 // per**2)  # noqa: B023 - called at once

        assert [[str(length(i, j)) for j in range(len(places))] for i in range(len(places))] == (
            found["lengths"]
        )
        centers, anchors = unpack(text["centers"]), unpack(text["anchors"])
        keys = zip(unpack(text["ball_secrets"]), unpack(text["ball_reports"]), strict=True)
        ball = dict(zip(keys, unpack(text["ball_weights"]), strict=True))
        rows = [
            [
                ball.get(
                    (i, k),
                    text["lift"]
                    + (anchors[k] * int(found["decay"].get(str(length(i, o)), -1)) >> 62),
                )
                for k, o in enumerate(centers)
            ]
            for i in range(1)
        ]
        assert [str(weight) for weight in rows[0]] == found["rows"][0]
