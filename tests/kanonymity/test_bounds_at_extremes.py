"""Lower bounds where weights are far from 1, and where threads write into one array."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from discreet.core.errors import InvalidProblemError
from discreet.core.tree import Tree
from discreet.kanonymity import Categorical, Numeric, Prefixes, Problem, Taxonomy
from discreet.kanonymity.bounds.dual import MultiplierTuning
from discreet.kanonymity.bounds.lower import LowerBound
from discreet.kanonymity.candidate import SearchLimits
from kanonymity.test_lower_bounds import enumerated

TREE = Tree.from_paths([("ab", "a"), ("ab", "b"), ("c",)])


def people(*weights: float) -> Problem:
    """Eight rows that no two of share all values; one column each of numbers, sets and a taxonomy."""
    age, color, place = weights
    columns: dict[str, Any] = {
        "age": [20, 21, 25, 40, 41, 47, None, 80],
        "color": ["r", "g", "b", "r", None, "g", "b", "w"],
        "place": ["a", "b", "c", "a", "c", "c", "b", "a"],
    }
    kinds = (Numeric("age", age), Categorical("color", color), Taxonomy("place", TREE, place))
    return Problem.from_columns(columns, kinds)


@pytest.mark.parametrize("factor", [1e-100, 1e-40, 1e-9, 1e19, 1e40, 1e99])
@pytest.mark.parametrize("way", ["branches", "cells"])
def test_bounds_scale_with_weights(
    way: str, factor: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HiGHS reads 1e20 as infinite, and compares with absolute tolerances."""
    tuning = MultiplierTuning(max_points_of_program=0 if way == "cells" else 6_000)
    monkeypatch.setattr("discreet.kanonymity.bounds.lower.MULTIPLIERS", tuning)
    found = []
    for scale in (1.0, factor):
        problem = people(scale, 2 * scale, 3 * scale)
        truth = enumerated(problem, 2)
        bound = LowerBound(problem, 2, suppressed=True)
        bound.refine(SearchLimits.within(600))
        assert 0 < bound.value <= truth.with_suppression
        found.append(bound.value / scale)
    assert found[1] == pytest.approx(found[0], rel=2e-3)


@pytest.mark.parametrize(
    "weights", [(1e100, 1e-100, 0.0), (1e-100, 1e100, 1.0), (0.0, 1e-100, 1e-50), (0.0, 0.0, 0.0)]
)
@pytest.mark.parametrize("way", ["branches", "cells"])
def test_one_weight_may_be_huge_and_another_nothing(
    way: str, weights: tuple[float, float, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    tuning = MultiplierTuning(max_points_of_program=0 if way == "cells" else 6_000)
    monkeypatch.setattr("discreet.kanonymity.bounds.lower.MULTIPLIERS", tuning)
    problem = people(*weights)
    truth = enumerated(problem, 3)
    bound = LowerBound(problem, 3, suppressed=False)
    bound.refine(SearchLimits.within(600))
    assert 0 <= bound.value <= truth.optimum
    assert bound.value > 0.3 * truth.optimum or truth.optimum == 0


@pytest.mark.parametrize("weight", [5e-324, 1e-101, 1e101, 1e308, np.inf, np.nan, -1.0])
def test_weights_that_leave_no_digits_are_refused(weight: float) -> None:
    for made in (Numeric, Categorical, Prefixes):
        with pytest.raises(InvalidProblemError, match="0, or a number from 1e-100 to 1e"):
            made("age", weight)


WATCHED = """
import numpy as np
from discreet.kanonymity import Numeric, Problem
from discreet.kanonymity.bounds.dual import DualBound
from discreet.kanonymity.bounds.branching import room_for
from discreet.kanonymity.arrays import BranchLimits
from discreet.kanonymity.kernels.branching import branches


class Watched:
    def __init__(self, n):
        self.marks, self.cleared = np.zeros(n, dtype=np.bool_), 0

    def __getitem__(self, at):
        return self.marks[at]

    def __setitem__(self, at, value):
        self.cleared += not value
        self.marks[at] = value


rng = np.random.default_rng(2)
values = rng.integers(0, 9, (30, 3)).astype(float)
columns = {f"c{j}": values[:, j] for j in range(3)}
bound = DualBound(Problem.from_columns(columns, [Numeric(name) for name in columns]), 3, suppressed=False)
n = bound.points.n
u = rng.uniform(0.2, 1.0, n)
order = np.argsort(-u, kind="stable").astype(np.int32)
marks, upper = Watched(n), np.full(n, np.nan)
given = (bound.points.arrays, bound.counts.astype(np.int64), u, order, 3, 0.2, BranchLimits(2))
for rank in range(n):
    branches(*given, rank, room_for(n, 3), upper, marks, np.zeros(1, dtype=np.bool_))
whole = np.isfinite(upper) & (upper > 0)
print(int(np.isinf(upper).sum()), int(whole.sum()), int(marks.marks.sum()), marks.cleared)
"""


def test_a_branch_never_clears_what_another_thread_marked() -> None:
    """Searches in threads mark the rows that nothing was proved of in one array: to read, and write back, loses some.

    Lost marks made multipliers of such rows count as proved. Kernels as plain Python write into an array that is
    watched.
    """
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-c", WATCHED], env=environment, capture_output=True, text=True, check=True
    )
    cut_short, whole, marked, cleared = map(int, done.stdout.split())
    assert min(cut_short, whole, marked) > 0
    assert cleared == 0


PLAIN = """
from discreet.core.tree import Tree
from discreet.kanonymity import Categorical, Numeric, Problem, Taxonomy
from discreet.kanonymity.bounds.shared import Shared
from discreet.kanonymity.candidate import SearchLimits

columns = {
    "age": [20, 21, 25, 40, 41, 47, 66, 80],
    "color": list("rgbrxgbw"),
    "place": list("abcaccba"),
}
tree = Tree.from_paths([("ab", "a"), ("ab", "b"), ("c",)])
kinds = [Numeric("age"), Categorical("color", 2), Taxonomy("place", tree, 3)]
bound = Shared.of(Problem.from_columns(columns, kinds), 2, 16)
bound.refine(SearchLimits())
print(bound.lower)
"""


def test_cells_that_share_no_atom_are_filled_within_their_arrays() -> None:
    """As plain Python, where an index beyond an array and an integer beyond 32 bits are errors."""
    printed = [
        subprocess.run(
            [sys.executable, "-c", PLAIN],
            env={**os.environ, "NUMBA_DISABLE_JIT": disabled},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for disabled in ("0", "1")
    ]
    assert float(printed[0]) == float(printed[1]) > 0
