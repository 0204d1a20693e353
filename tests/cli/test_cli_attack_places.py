"""``discreet attack lrgeo``: real clients, the real application, and what an attacker makes of their traffic."""

from __future__ import annotations

from typing import Any

import pytest

from cli.commands import say


def attacked(capsys: pytest.CaptureFixture[str], mode: str) -> tuple[int, dict[str, Any]]:
    said = say(capsys, "attack", "lrgeo", "--mode", mode, "--trials", "12", "--json")
    return said.status, said.data


@pytest.mark.slow
def test_the_sound_mode_sends_the_same_bytes_from_everywhere(
    capsys: pytest.CaptureFixture[str],
) -> None:
    status, data = attacked(capsys, "sound")
    assert status == 0
    assert data["kept"] is True
    assert data["facts"]["distinct_sessions"] == 1
    found = {one["attack"]: one for one in data["findings"]}
    assert found["best guess, computed"]["kept"] is True
    anew = found["10 asks, 10 epochs"]["attacker"]["value"]
    assert anew > found["10 asks, 1 epoch"]["attacker"]["value"]


def test_a_mode_is_needed_and_belongs_to_places(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--mode" in say(capsys, "attack", "lrgeo").err
    assert say(capsys, "attack", "lrgeo", "--mode", "hopeful").status == 2
    assert say(capsys, "attack", "metricdp", "--epsilon", "1", "--mode", "sound").status == 2
