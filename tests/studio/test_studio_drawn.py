"""Drawings of the studio: points within their panel, at heights that the ticks mean."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core import printed
from discreet.studio.drawn import HEIGHT, WIDTH, draw_frontier

SHARE = st.floats(0, 1)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(SHARE, SHARE, SHARE), min_size=1, max_size=7))
def test_points_are_where_the_ticks_say(shares: list[tuple[float, float, float]]) -> None:
    rows = [
        {"k": k, "loss": loss, "highest": high, "average": average}
        for k, (loss, high, average) in enumerate(shares, start=2)
    ]
    for panel, keys in zip(draw_frontier(rows), (("highest", "average"), ("loss",)), strict=True):
        heights = [y for y, _ in panel.ticks]
        assert 2 <= len(heights) <= 6
        assert all(low > high for low, high in pairwise(heights))
        # The label of the uppermost tick is rounded, its place is not.
        top = max(row[key] for row in rows for key in keys)
        for line, key in zip(panel.lines, keys, strict=True):
            assert [k for k, _, _ in line.points] == [row["k"] for row in rows]
            for (_, x, y), row in zip(line.points, rows, strict=True):
                assert panel.left < x < panel.right
                assert heights[-1] - 1e-6 <= y <= heights[0] + 1e-6
                if row[key] == top and top > 1e-3:
                    assert y == pytest.approx(min(at for _, _, at in line.points))
        assert max(heights) < HEIGHT
        assert panel.right < WIDTH


def test_a_path_is_its_points() -> None:
    risk, loss = draw_frontier([{"k": 2, "loss": 0.0, "highest": 0.5, "average": 0.25}])
    (k, x, y) = loss.lines[0].points[0]
    assert (k, loss.lines[0].path) == (2, f"{printed.position(x)},{printed.position(y)}")
    assert [label for _, label in risk.ticks] == ["0 %", "10 %", "20 %", "30 %", "40 %", "50 %"]
    # Nothing is lost: at the lowest tick.
    assert y == loss.ticks[0][0]
