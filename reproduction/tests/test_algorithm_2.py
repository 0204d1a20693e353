"""Algorithm 2 as published: it says why it has no guarantee, and needs a matroid with a cheap uniform base."""

from __future__ import annotations

import numpy as np
import pytest

from discreet import InvalidProblemError, PureDP, Unproven
from discreet.core.randomness import SeededBits
from discreet.submodular import (
    Coverage,
    GraphicMatroid,
    PartitionMatroid,
    UniformMatroid,
    release,
    reproduce,
)
from discreet_reproduction.submodular.as_published.algorithm_2 import Algorithm2

REACH = Coverage(np.random.default_rng(4).random((9, 6)) < 0.4)


@pytest.mark.parametrize("method", [Algorithm2(), Algorithm2("1", samples=9)])
def test_it_has_no_guarantee_and_says_why(method: Algorithm2) -> None:
    made = reproduce(REACH, UniformMatroid(6, 3), method, bits=SeededBits(1))
    assert isinstance(made, Unproven)
    assert made.guarantee is None
    assert len(made.result.chosen) == 3
    assert made.reason.endswith(".")
    with pytest.raises(InvalidProblemError, match="which has none"):
        release(REACH, UniformMatroid(6, 3), PureDP(1, "add-remove-one"), method=method)  # type: ignore[arg-type]


def test_it_needs_a_matroid_with_a_cheap_uniform_base() -> None:
    parts = PartitionMatroid([0, 0, 0, 1, 1, 1], 1)
    assert len(reproduce(REACH, parts, Algorithm2(), bits=SeededBits(1)).result.chosen) == 2
    graph = GraphicMatroid(4, [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]])
    with pytest.raises(InvalidProblemError, match="a partition or uniform matroid for algorithm-2"):
        reproduce(REACH, graph, Algorithm2())
