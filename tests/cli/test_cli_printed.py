"""Nothing that a file holds prints a line of its own, moves the cursor, or fills the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from cli.commands import say
from discreet.artefact import save, save_anchored
from discreet.cli.options import JsonOption
from discreet.cli.output import emit, fail, warn
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import PureDP
from discreet.core.spaces.metric import MetricSpace
from discreet.ledger import Ledger
from discreet.metricdp.problem import Problem
from forging import forge, restate
from handmade import exponential
from test_anchored_artefact import small

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FORGED = "km\nok  all of it\r\x1b[2J\u202e"
ESCAPED = r"km\nok  all of it\r\x1b[2J\u202e"


def is_harmless(text: str) -> bool:
    """Tell whether a terminal only shows a text, and no line of it is the forged one."""
    lines = text.split("\n")
    return all(line.isprintable() and not line.startswith("ok") for line in lines)


@pytest.fixture
def channel(tmp_path: Path) -> Path:
    """Make a channel of which whatever is printed but its unit, which is one word, would forge a line."""
    space = MetricSpace.from_matrix([[0.0, 1.0], [1.0, 0.0]], unit="edit")
    path = tmp_path / "c.channel"
    save(exponential(Problem(space, utility_loss="distance")), path)

    def change(meta: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
        meta["status"] = FORGED
        meta["labels"] = [FORGED, "x" * 5000]
        meta["provenance"] |= {"method": FORGED, "parameters": {FORGED: {FORGED: FORGED}}}
        meta["provenance"] |= {"method_trace": [FORGED], "versions": {FORGED: FORGED}}
        meta["provenance"]["assumed_public"].append(
            {"name": FORGED, "digest": FORGED, "description": FORGED * 1000}
        )
        meta["certificate"]["checks"][0] |= {"name": FORGED, "detail": FORGED}
        restate(meta, arrays)

    return forge(path, change)


def test_info_and_verify_and_sample_print_lines_of_their_own(
    channel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in (("info",), ("verify", "--optimality"), ("sample", "--secret", "0", "-n", "9")):
        said = say(capsys, command[0], channel, *command[1:])
        assert said.status == 0
        assert is_harmless(said.out)
        assert is_harmless(said.err)
        assert max(map(len, said.out.split("\n"))) < 4100
    told = say(capsys, "info", channel).out
    assert told.count(ESCAPED) >= 7
    assert "characters)" in told
    drawn = set(say(capsys, "sample", channel, "--secret", "0", "-n", "40").out.splitlines())
    assert drawn <= {ESCAPED, "x" * 1000 + "... (5000 characters)"}


def test_an_error_that_quotes_a_file_is_one_line(
    channel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changes: list[Callable[[dict[str, Any], Any], object]] = [
        lambda meta, _: meta["space"].update(metric=FORGED * 1000),
        lambda meta, _: meta["guarantee"].update(epsilon=FORGED * 1000),
        lambda meta, _: meta.update(kind=FORGED),
        lambda meta, _: meta["guarantee"].update(kind=FORGED * 1000),
    ]
    for change in changes:
        forge(channel, change)
        said = say(capsys, "verify", channel)
        assert said.status == 2
        assert said.err.count("\n") == 1
        assert is_harmless(said.err)
        assert len(said.err) < 1100


def test_info_of_a_channel_without_a_table_prints_lines_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.channel"
    save_anchored(small(), path)

    def change(meta: dict[str, Any], _: object) -> None:
        meta["labels"] = [f"{FORGED}{i}" for i in range(20)]
        meta["provenance"] |= {"method": FORGED, "parameters": {FORGED: FORGED}}

    forge(path, change)
    for command in (("info",), ("sample", "--secret", "0", "-n", "9")):
        said = say(capsys, command[0], path, *command[1:])
        assert said.status == 0
        assert is_harmless(said.out)
        assert ESCAPED in said.out


def test_budget_prints_lines_of_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "ledger.db"
    ledger = Ledger.create(path, FORGED, PureDP(4, "replace-one"))
    ledger.reserve(FORGED, PureDP(1, "replace-one"))
    said = say(capsys, "budget", "show", path)
    assert said.status == 0
    assert is_harmless(said.out)
    assert ESCAPED in said.out
    assert len(said.out.rstrip("\n").split("\n")) == 4
    said = say(capsys, "budget", "history", path, "--dataset", FORGED)
    assert said.status == 0
    assert is_harmless(said.out)
    assert said.out.count("\n") == 1
    refused = say(capsys, "budget", "show", path, "--dataset", FORGED + "2")
    assert refused.status in {2, 5}
    assert is_harmless(refused.err)


def test_whatever_is_printed_is_fit_for_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """The last net: also what a command forgot is escaped and cut, and an internal error too."""
    emit("c", JsonOption(as_json=False), {}, f"one {FORGED}\n{'x' * 5000}")
    warn(FORGED)
    out, err = capsys.readouterr()
    assert all(line.isprintable() for line in (out + err).split("\n"))
    assert out.endswith("... (5000 characters)\n")
    assert err == f"discreet: {ESCAPED}\n"
    fail(RuntimeError(FORGED), as_json=False)
    assert all(line.isprintable() for line in capsys.readouterr().err.split("\n"))
    fail(InvalidProblemError("a", "b", FORGED * 1000), as_json=False)
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    assert len(line) < 1100
    assert line.rstrip("\n").isprintable()
