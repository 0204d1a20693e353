"""No value may be too frequent, whichever it is, unless only some are named."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.kanonymity.models import AlphaFrequency

CLASSES = np.array([[3, 1, 0], [1, 3, 0], [0, 1, 3], [2, 1, 1], [2, 2, 0]])


@pytest.mark.parametrize(
    ("values", "failing"),
    [
        (None, [True, True, True, False, False]),
        ((0,), [True, False, False, False, False]),
        ((2,), [False, False, True, False, False]),
        ((0, 1), [True, True, False, False, False]),
    ],
)
def test_each_value_is_compared(values: tuple[int, ...] | None, failing: list[bool]) -> None:
    assert AlphaFrequency("0.5", values).failing(CLASSES).tolist() == failing
