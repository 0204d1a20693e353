"""Channels that are never written down: rows, totals and draws against a table computed in Python integers."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.channels import implicit as module
from discreet.core.channels.implicit import AnchoredChannel, Ball
from discreet.core.errors import InvalidProblemError
from discreet.core.exact import exp_floor
from discreet.core.randomness import SeededBits
from discreet.core.spaces import lengths as measures
from discreet.core.spaces.lattice import LatticeLengths
from discreet.core.spaces.metric import MetricSpace

GRID = MetricSpace.grid(3, 4, cell=1, unit="km")
RATE = Fraction(1, 4)


def by_specification(rate: Fraction, length: int) -> int:
    """The integer exponential, in integers of any size."""
    value = 2**62
    for place in range(7):
        digit = (length >> 8 * place) % 256
        value = value * exp_floor(-rate * digit * 256**place, 62) // 2**62
    return value


def table_of(channel: AnchoredChannel) -> list[list[int]]:
    """The table by its definition, in Python integers."""
    rate = channel.rate / 2**channel.space.scale_bits
    ball = channel.ball
    explicit = {
        (i, k): w
        for i, k, w in zip(
            ball.secrets.tolist(), ball.reports.tolist(), ball.weights.tolist(), strict=True
        )
    }
    rows = []
    for i in range(channel.n_secrets):
        row = []
        for k, (center, anchor) in enumerate(
            zip(channel.centers.tolist(), channel.anchors.tolist(), strict=True)
        ):
            length = int(channel.lengths.between(np.array([i]), np.array([center]))[0])
            tail = channel.lift + (anchor * by_specification(rate, length) >> 62)
            row.append(explicit.get((i, k), tail))
        rows.append(row)
    return rows


def some_ball() -> Ball:
    return Ball(np.array([5, 0, 5]), np.array([2, 0, 1]), np.array([10**9, 7, 12345]))


SPACES = {
    "grid": GRID,
    "points": MetricSpace.from_points(
        np.random.default_rng(3).normal(size=(9, 3)), metric="euclidean", unit="m"
    ),
    "sphere": MetricSpace.from_points(
        [(41.9, 12.5), (41.95, 12.4), (42.0, 12.6), (41.8, 12.45), (41.85, 12.7), (42.1, 12.5)],
        metric="haversine",
        unit="km",
    ),
    "path": MetricSpace.from_graph(6, [(i, i + 1) for i in range(5)], [1.0] * 5, unit="hop"),
    "one cell": MetricSpace.grid(1, 6, cell="0.3", unit="km"),
}


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("kept", ["with a table", "without"])
def test_rows_and_totals_are_those_of_the_definition(
    name: str, kept: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a table of distances or without one, rows on the fly equal the materialized integers, and so do totals."""
    tables = kept == "with a table"
    if not tables and name == "path":
        pytest.skip("a graph has no lengths but its table")
    if not tables:
        monkeypatch.setattr(measures, "DENSE_LIMIT", 0)
        monkeypatch.setattr(module, "_SLICE", 7)
    space = SPACES[name]
    centers = [5, 0, 2, 2]
    channel = AnchoredChannel(
        space, RATE, centers, [2**40, 3, 0, 2**56], lift=1000, ball=some_ball()
    )
    assert space.has_matrix == tables
    table = table_of(channel)
    assert [channel.row(i).tolist() for i in range(space.n)] == table
    assert channel.totals.tolist() == [sum(row) for row in table]
    i, k = (side.ravel() for side in np.indices((space.n, 4)))
    assert channel.weights_at(i, k).reshape(space.n, 4).tolist() == table


def test_a_lattice_with_gaps_adds_up_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports need not fill the rows of a grid, and far rows may be out of reach of every anchor."""
    monkeypatch.setattr(measures, "DENSE_LIMIT", 0)
    space = MetricSpace.grid(9, 7, cell=1, unit="km")
    rng = np.random.default_rng(1)
    centers = rng.choice(63, size=20, replace=False)
    channel = AnchoredChannel(space, "3.5", centers, rng.integers(0, 2**20, 20), lift=5)
    assert channel.totals.tolist() == [int(channel.row(i).sum()) for i in range(63)]
    assert int((channel.row(0) == 5).sum()) > 5
    assert channel.weights_at(np.full(20, 7), np.arange(20)).tolist() == channel.row(7).tolist()


class Fixed:
    """A source whose draw is given."""

    def __init__(self, target: int) -> None:
        self.target, self.stop = target, 0

    def randrange(self, stop: int, /) -> int:
        self.stop = stop
        return self.target

    def randranges(self, stop: int, size: int) -> np.ndarray:
        raise NotImplementedError


def test_each_report_has_exactly_its_weight_of_draws() -> None:
    """At the first and the last draw that belongs to a report, that report comes out, under its name."""
    channel = AnchoredChannel(
        GRID, RATE, [5, 0, 2], [2**40, 3, 0], lift=10, ball=some_ball(), names=[7, 8, 9]
    )
    for secret in range(12):
        below = 0
        for name, weight in zip([7, 8, 9], channel.row(secret).tolist(), strict=True):
            for target in (below, below + weight - 1):
                bits = Fixed(target)
                assert channel.report(secret, bits) == name
                assert bits.stop == int(channel.totals[secret])
            below += weight


def test_many_draws_have_the_law_of_the_row() -> None:
    channel = AnchoredChannel(GRID, "2", np.arange(12), [1000] * 12, lift=1)
    assert repr(channel) == "AnchoredChannel(n_secrets=12, n_reports=12, ball=0 entries)"
    drawn = channel.report_many([4] * 3000, SeededBits(11))
    law = channel.row(4) / channel.totals[4]
    counts = np.bincount(drawn, minlength=12)
    assert ((counts - 3000 * law) ** 2 / (3000 * law)).sum() < 31.3  # 11 degrees, 1 in 1000
    assert channel.report(4) in range(12)


@given(st.integers(1, 2**56), st.integers(0, 11), st.integers(0, 11))
@settings(deadline=None, max_examples=30)
def test_a_tail_is_less_than_two_units_below_what_it_stands_for(a: int, i: int, k: int) -> None:
    from discreet.core.exact import exp_ceil, exp_floor

    channel = AnchoredChannel(GRID, "1.7", [k], [a], lift=1)
    x = -channel.rate * GRID.distance(i, k)
    weight = int(channel.row(i)[0]) - 1
    assert weight << 100 <= a * exp_ceil(x, 100)
    assert (weight + 2) << 100 > a * exp_floor(x, 100)


def test_the_digest_sees_every_integer() -> None:
    def made(**change: object) -> str:
        given: dict[str, object] = {
            "space": GRID,
            "rate": "0.25",
            "centers": [0, 1],
            "anchors": [5, 6],
            "lift": 3,
            "ball": Ball(np.array([4]), np.array([1]), np.array([9])),
            "names": [0, 1],
        }
        return AnchoredChannel(**(given | change)).digest  # type: ignore[arg-type]

    others = [
        made(rate="0.26"),
        made(centers=[0, 2]),
        made(anchors=[5, 7]),
        made(lift=4),
        made(ball=Ball(np.array([4]), np.array([1]), np.array([8]))),
        made(names=[1, 0]),
        made(space=MetricSpace.grid(4, 3, cell=1, unit="km")),
    ]
    assert len({made(), *others}) == 8
    assert made() == made()


def test_arrays_are_copied_and_read_only() -> None:
    anchors = np.array([5, 6])
    channel = AnchoredChannel(GRID, 1, [0, 1], anchors, lift=1)
    anchors[0] = 99
    assert channel.anchors.tolist() == [5, 6]
    with pytest.raises(ValueError, match="read-only"):
        channel.anchors[0] = 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        channel.lift = 2  # type: ignore[misc]


WRONG: dict[str, tuple[dict[str, object], str]] = {
    "rate": ({"rate": 0}, "rate"),
    "centers beyond": ({"centers": [0, 12]}, "centers"),
    "fractions": ({"anchors": [1.5, 2.0]}, "anchors"),
    "too large": ({"anchors": [2**56 + 1, 1]}, "anchors"),
    "negative": ({"anchors": [-1, 1]}, "anchors"),
    "lengths": ({"anchors": [1]}, "one for each report"),
    "no report": ({"centers": np.zeros(0, int), "anchors": np.zeros(0, int)}, "one for each"),
    "names": ({"names": [0, -1]}, "names"),
    "lift": ({"lift": 0}, "lift"),
    "lift is a boolean": ({"lift": True}, "lift"),
    "ball of another space": (
        {"ball": Ball(np.array([12]), np.array([0]), np.array([1]))},
        "ball",
    ),
    "ball of another report": (
        {"ball": Ball(np.array([0]), np.array([2]), np.array([1]))},
        "ball",
    ),
    "sums": ({"centers": [0] * 70, "anchors": [2**56] * 70}, "sums below"),
}


@pytest.mark.parametrize("name", WRONG)
def test_nonsense_is_refused_by_name(name: str) -> None:
    change, field = WRONG[name]
    sound: dict[str, object] = {
        "space": GRID,
        "rate": 1,
        "centers": [0, 1],
        "anchors": [2, 2],
        "lift": 1,
    }
    with pytest.raises(InvalidProblemError, match=field):
        AnchoredChannel(**(sound | change))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("secrets", "reports", "weights"),
    [([0], [0, 1], [1, 1]), ([0], [0], [0]), ([-1], [0], [1]), ([3, 3], [2, 2], [1, 2])],
)
def test_a_ball_of_nonsense_is_refused(
    secrets: list[int], reports: list[int], weights: list[int]
) -> None:
    with pytest.raises(InvalidProblemError):
        Ball(np.array(secrets), np.array(reports), np.array(weights))


@pytest.mark.parametrize("secret", [-1, 12])
def test_a_secret_outside_is_refused_and_not_named(secret: int) -> None:
    channel = AnchoredChannel(GRID, 1, [0], [1], lift=1)
    with pytest.raises(InvalidProblemError, match="one outside"):
        channel.report(secret)


def test_the_table_of_a_lattice_holds_its_lengths() -> None:
    source = MetricSpace.grid(3, 4, cell="0.7", unit="km").source
    assert isinstance(source, LatticeLengths)
    table = source.table()
    assert table.shape == (3, 4)
    for b in range(12):
        row, column = divmod(b, 4)
        assert table[row, column] == source.between(np.array([0]), np.array([b]))[0]
