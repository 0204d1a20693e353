"""Parts of a run in a file: what a stop leaves, and what continues it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from discreet_reproduction.parts import Parts

if TYPE_CHECKING:
    from pathlib import Path


def test_the_seconds_of_former_runs_count(tmp_path: Path) -> None:
    path = tmp_path / "a.parts"

    def work() -> int:
        return sum(range(10**7))

    first = Parts(path, {"seed": 0})
    assert (first.resumed, first.resumed_seconds) == (0, 0)
    first.once("a", work)
    again = Parts(path, {"seed": 0})
    assert again.resumed == 1
    assert again.resumed_seconds > 0
    assert again.once("a", lambda: pytest.fail("computed twice")) == work()


@pytest.mark.parametrize("value", [float("inf"), None, "text", [1, {"a": 2.5}]])
def test_plain_values_come_back_as_they_were(tmp_path: Path, value: Any) -> None:
    path = tmp_path / "a.parts"
    Parts(path, {}).once("a", lambda: value)
    assert Parts(path, {}).once("a", lambda: "other") == value


def test_a_part_that_fails_leaves_the_former_ones(tmp_path: Path) -> None:
    path = tmp_path / "a.parts"
    parts = Parts(path, {})
    parts.once("a", lambda: 1)
    with pytest.raises(ZeroDivisionError):
        parts.once("b", lambda: 1 // 0)
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [line[0] for line in lines[1:]] == ["a"]
    parts.remove()
    parts.remove()
    assert not path.exists()
