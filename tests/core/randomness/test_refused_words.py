"""Words beyond the last multiple of a bound are refused, the first of them too, and as often as they come."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest

from discreet.core.randomness.bits import _uniform

if TYPE_CHECKING:
    from collections.abc import Callable


def in_turn(answers: list[list[int]], width: int) -> Callable[[int], bytes]:
    """Give lists of words one after another, each of the length that is asked for."""
    left = iter(answers)

    def take(size: int) -> bytes:
        words = next(left)
        assert size == width * len(words)
        return np.array(words, dtype=f"<u{width}").tobytes()

    return take


@pytest.mark.parametrize(("stop", "width"), [(3, 1), (5, 1), (10, 1), (129, 2), (1000, 2)])
def test_a_word_is_refused_as_often_as_it_comes(stop: int, width: int) -> None:
    """The first word beyond has remainder 0: kept at first, or when it comes again, it makes 0 likelier than 2."""
    words = 1 << (8 * width)
    beyond = words % stop
    answers = [list(range(words)), [words - beyond] * beyond, [2] * beyond]
    drawn = Counter(_uniform(stop, words, in_turn(answers, width)).tolist())
    drawn[2] -= beyond
    assert set(drawn) == set(range(stop))
    assert set(drawn.values()) == {words // stop}
