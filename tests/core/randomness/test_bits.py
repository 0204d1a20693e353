"""Uniform integers: exact, from as few bytes as is sensible, and private only where they are."""

from __future__ import annotations

import pickle
import random
from collections import Counter
from typing import TYPE_CHECKING, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from discreet.core.errors import InvalidProblemError
from discreet.core.randomness import (
    RandomBits,
    SeededBits,
    SystemBits,
    UniformSource,
    as_bits,
    is_private,
)
from discreet.core.randomness.bits import _uniform

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

SURELY = 1e-9

type_of_width = {1: "<u1", 2: "<u2"}


def every_word(width: int) -> Callable[[int], bytes]:
    """Give every word of ``width`` bytes once, then zeros for those that were refused."""
    words = np.arange(1 << (8 * width), dtype=type_of_width[width]).tobytes()
    given_out = 0

    def take(size: int) -> bytes:
        nonlocal given_out
        given_out += 1
        assert given_out > 1 or size == len(words)
        return words if given_out == 1 else bytes(size)

    return take


@pytest.mark.parametrize(
    ("stop", "width"),
    [(3, 1), (5, 1), (10, 1), (64, 1), (256, 1), (129, 2), (1000, 2), (65_536, 2)],
)
def test_every_value_comes_from_equally_many_words(stop: int, width: int) -> None:
    """Fed with each word once, the draws are equally frequent; the refused words were drawn again, as zeros."""
    words = 1 << (8 * width)
    drawn = Counter(_uniform(stop, words, every_word(width)).tolist())
    drawn[0] -= words % stop
    assert set(drawn) == set(range(stop))
    assert set(drawn.values()) == {words // stop}


@pytest.mark.parametrize(("stop", "in_a_byte"), [(2, 8), (4, 4), (16, 2)])
def test_packed_draws_are_all_combinations(stop: int, in_a_byte: int) -> None:
    drawn = _uniform(stop, 256 * in_a_byte, every_word(1)).reshape(256, in_a_byte)
    assert len({tuple(row) for row in drawn.tolist()}) == stop**in_a_byte == 256


def test_one_value_needs_no_bytes() -> None:
    def none(size: int) -> bytes:
        raise AssertionError

    assert _uniform(1, 3, none).tolist() == [0, 0, 0]


def modulo_without_refusal(
    stop: int, size: int, take: Callable[[int], bytes]
) -> NDArray[np.uint64]:
    """The classic mistake."""
    return np.frombuffer(take(size), dtype="<u1").astype(np.uint64) % np.uint64(stop)


def test_the_test_above_would_see_a_biased_remainder() -> None:
    drawn = Counter(modulo_without_refusal(10, 256, every_word(1)).tolist())
    drawn[0] -= 256 % 10
    assert set(drawn.values()) != {25}


@pytest.mark.parametrize("bits", [SystemBits(), SeededBits(3)], ids=["system", "seeded"])
@pytest.mark.parametrize(
    "stop", [2, 3, 4, 7, 16, 100, 129, 256, 257, 1000, 1 << 17, 3 << 40, (1 << 63) + 5, 1 << 64]
)
def test_frequencies_are_uniform(bits: SystemBits | SeededBits, stop: int) -> None:
    cells = min(stop, 16)
    drawn = bits.randranges(stop, 20_000)
    assert drawn.dtype == np.uint64
    assert int(drawn.max()) < stop
    # Cell i holds the integers from ceil(i stop / cells) on.
    edges = np.array([-(-i * stop // cells) for i in range(1, cells)], dtype=np.uint64)
    seen = np.bincount(np.searchsorted(edges, drawn, side="right"), minlength=cells)
    sizes = np.diff([-(-i * stop // cells) / stop for i in range(cells + 1)])
    assert stats.chisquare(seen, 20_000 * sizes).pvalue > SURELY


@pytest.mark.parametrize("bits", [SystemBits(), SeededBits(3), as_bits(random.Random(1))])  # noqa: S311 - not private, and said so
def test_edges_of_stop_and_size(bits: RandomBits) -> None:
    assert bits.randranges(5, 0).shape == (0,)
    assert bits.randranges(1, 4).tolist() == [0] * 4
    assert int(bits.randranges(1 << 64, 100).max()) >= 1 << 63
    assert bits.randranges(cast("int", np.int64(6)), 2).shape == (2,)
    for stop, size in [(0, 1), (-1, 1), ((1 << 64) + 1, 1), (2, -1)]:
        with pytest.raises(InvalidProblemError):
            bits.randranges(stop, size)
    with pytest.raises(InvalidProblemError, match="stop and size"):
        bits.randranges(cast("int", 2.5), 1)


def test_a_seed_means_the_same_everywhere() -> None:
    """The values are kept, so that a change of the algorithm is seen."""
    bits = SeededBits(2024)
    assert bits.randrange(1000) == 481
    assert bits.randranges(2, 4).tolist() == [0, 1, 1, 1]
    assert bits.randranges(10, 4).tolist() == [2, 5, 1, 6]
    assert bits.randranges(1000, 4).tolist() == [988, 902, 535, 906]
    assert bits.randranges(1 << 40, 2).tolist() == [713_824_431_044, 926_525_441_310]


@given(st.integers() | st.text())
def test_equal_seeds_give_equal_draws(seed: int | str) -> None:
    assert (
        SeededBits(seed).randranges(1000, 5).tolist()
        == SeededBits(seed).randranges(1000, 5).tolist()
    )


@pytest.mark.parametrize("seed", [None, True, 1.5])
def test_a_seed_is_an_integer_or_a_string(seed: object) -> None:
    with pytest.raises(InvalidProblemError, match="seed"):
        SeededBits(cast("int", seed))


class Disguised(random.SystemRandom):
    """Looks like the operating system's source."""

    def randrange(self, *args: int) -> int:  # type: ignore[override] # a disguise
        return 0


def test_only_the_operating_system_is_private() -> None:
    assert is_private(SystemBits())
    assert is_private(random.SystemRandom())
    assert is_private(None)
    assert is_private(as_bits(random.SystemRandom()))
    for other in (SeededBits(1), random.Random(1), Disguised(), as_bits(Disguised())):  # noqa: S311 - what must be refused
        assert not is_private(other)


def test_a_source_of_single_draws_is_adapted() -> None:
    assert type(as_bits(None)) is type(as_bits(random.SystemRandom())) is SystemBits
    seeded = SeededBits(1)
    assert as_bits(seeded) is seeded
    adapted = as_bits(random.Random(5))  # noqa: S311 - not private, and said so
    expected = random.Random(5)  # noqa: S311 - as above
    assert adapted.randranges(7, 3).tolist() == [expected.randrange(7) for _ in range(3)]
    assert adapted.randrange(7) == expected.randrange(7)
    with pytest.raises(InvalidProblemError, match="bits"):
        as_bits(cast("UniformSource", object()))


def test_the_private_source_can_be_sent_to_a_worker() -> None:
    assert type(pickle.loads(pickle.dumps(SystemBits()))) is SystemBits  # noqa: S301 - our own bytes
