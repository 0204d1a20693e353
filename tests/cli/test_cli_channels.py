"""``info``, ``sample`` and ``verify`` on channels that were made by hand."""

from __future__ import annotations

import io
import json
import re
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from cli.commands import say
from discreet.artefact import save
from discreet.cli.design import unprotected
from discreet.cli.files import write_channel
from discreet.cli.options import JsonOption
from discreet.cli.output import emit
from discreet.core.errors import InvalidProblemError
from discreet.core.spaces.metric import MetricSpace
from discreet.metricdp.problem import Problem
from forging import forge
from handmade import exponential, grid

if TYPE_CHECKING:
    from discreet.core.outcome import Design
    from discreet.metricdp.bounds.bound import Multipliers


def towns(*, joined: bool = True) -> Design[Problem, Multipliers]:
    """Make two towns and a farm; reports name the towns' first places."""
    points = [[0.0, 0.0], [0.5, 0.0], [9.0, 0.0], [9.5, 0.0], [30.0, 0.0]]
    space = MetricSpace.from_points(points, unit="km")
    problem = Problem(space, utility_loss="euclidean", reports=[0, 2])
    return exponential(problem, radius=1, joined=joined)


@pytest.fixture
def channel(tmp_path: Path) -> Path:
    path = tmp_path / "c.channel"
    save(grid(3, 3, radius="1.5"), path)
    return path


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    path = tmp_path / "towns.channel"
    save(towns(), path, labels=["inn", "church", "mill", "bridge", "farm"])
    return path


def test_info_says_everything_in_json(capsys: pytest.CaptureFixture[str], channel: Path) -> None:
    said = say(capsys, "info", channel, "--json")
    assert (said.status, said.err) == (0, "")
    data = said.data
    assert data["command"] == "info"
    assert data["unit"] == "km"
    assert data["sizes"] == {"secrets": 9, "reports": 9, "bits": 62}
    assert data["guarantee"]["epsilon"] == "2"
    assert data["guarantee"]["radius"] == "3/2"
    assert data["guarantee"]["sentence"].startswith("metric differential privacy at 2 per km")
    assert 0 < data["lower"] < data["upper"] == data["loss"]
    assert data["gap"] == pytest.approx((data["upper"] - data["lower"]) / data["upper"], rel=1e-12)
    assert data["method"] == "exponential"
    assert data["isolated_secrets"] == []
    assert [public["name"] for public in data["assumed_public"]] == [
        "space",
        "utility_loss",
        "prior",
        "reports",
    ]
    assert all(len(public["digest"]) == 64 for public in data["assumed_public"])
    assert data["provenance"]["parameters"] == {"delta": "1/1000"}
    assert data["certificate"]["passed"] is True


def test_info_tells_people_the_same(capsys: pytest.CaptureFixture[str], labelled: Path) -> None:
    said = say(capsys, "info", labelled)
    assert said.status == 0
    for words in (
        "metric differential privacy at 2 per km",
        "joined links",
        "assumed public",
        "passed",
    ):
        assert words in said.out
    assert "\x1b" not in said.out


def test_info_of_a_table_says_what_is_for_tables(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_text("age\n30\n", encoding="utf-8")
    said = say(capsys, "info", tmp_path / "a.csv")
    assert said.status == 2
    assert "`discreet verify` says what holds of a table" in said.err


def test_info_lists_checks_where_details_are_wanted(
    capsys: pytest.CaptureFixture[str], channel: Path
) -> None:
    short = say(capsys, "info", channel).out
    assert short.rstrip().endswith("-v lists them.")
    listed = say(capsys, "info", channel, "-v").out
    assert "made by hand" in listed
    assert "verdict" in listed
    assert "verdict" not in short


def test_info_names_the_isolated(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    save(towns(joined=False), tmp_path / "a", labels=["inn", "church", "mill", "bridge", "farm"])
    assert "isolated secrets  farm" in say(capsys, "info", tmp_path / "a").out
    data = say(capsys, "info", tmp_path / "a", "--json").data
    assert (data["isolated_secrets"], data["components"], data["joined_links"]) == ([4], 3, 0)
    assert data["labels"][4] == "farm"


def test_a_warning_names_ten_of_many_isolated() -> None:
    space = MetricSpace.from_points([[float(3 * i)] for i in range(15)], unit="km")
    made = exponential(Problem(space, utility_loss="euclidean"), radius=1, joined=False)
    assert unprotected(made, None) == [
        "nothing is promised between 15 separate groups of secrets",
        "15 secrets are NOT protected: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 5 more",
    ]


def test_a_folder_that_vanished_is_refused_under_the_option_s_name(tmp_path: Path) -> None:
    """It was there when the design began."""
    with pytest.raises(InvalidProblemError, match="--output: expected a file that can be written"):
        write_channel(grid(2, 2), str(tmp_path / "gone" / "c"), None)


def test_json_takes_what_the_library_holds(capsys: pytest.CaptureFixture[str]) -> None:
    held = {"a": Fraction(1, 3), "b": np.arange(2), "c": np.float64(0.5)}
    emit("test", JsonOption(as_json=True), held, "")
    printed = json.loads(capsys.readouterr().out)
    assert printed == {"command": "test", "a": "1/3", "b": [0, 1], "c": 0.5}
    for refused in (object(), float("nan")):
        with pytest.raises((TypeError, ValueError)):
            emit("test", JsonOption(as_json=True), {"a": refused}, "")


def test_sample_prints_one_report_a_line(capsys: pytest.CaptureFixture[str], channel: Path) -> None:
    said = say(capsys, "sample", channel, "--secret", 4, "-n", 40)
    drawn = [int(line) for line in said.out.splitlines()]
    assert said.status == 0
    assert len(drawn) == 40
    assert set(drawn) <= set(range(9))
    assert len(set(drawn)) > 1


def test_sample_warns_that_reports_compose(
    capsys: pytest.CaptureFixture[str], channel: Path
) -> None:
    several = say(capsys, "sample", channel, "--secret", 4, "-n", 5, "--json")
    assert several.err == "discreet: 5 reports of one secret cost 5 times epsilon: 10 per km\n"
    assert len(several.data["reports"]) == 5
    assert say(capsys, "sample", channel, "--secret", 4).err == ""


def test_sample_names_the_place_that_a_report_names(
    capsys: pytest.CaptureFixture[str], labelled: Path
) -> None:
    data = say(capsys, "sample", labelled, "--secret", "church", "-n", 20, "--json").data
    assert set(data["labels"]) <= {"inn", "mill"}
    for report, place, label, point in zip(
        data["reports"], data["secrets"], data["labels"], data["points"], strict=True
    ):
        assert (place, label, point) == ((0, "inn", [0, 0]), (2, "mill", [9, 0]))[report]
    assert say(capsys, "sample", labelled, "--secret", "1").out.strip() in {"inn", "mill"}


def test_sample_reads_the_secret_from_standard_input(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, labelled: Path
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("farm\n"))
    assert say(capsys, "sample", labelled, "--secret", "-").status == 0


@pytest.mark.parametrize("secret", ["hospital", "5", "-1", "1.0", ""])
@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_a_secret_that_is_none_is_refused_and_not_repeated(
    capsys: pytest.CaptureFixture[str], labelled: Path, secret: str, flags: list[str]
) -> None:
    said = say(capsys, "sample", labelled, "--secret", secret, *flags)
    assert (said.status, said.out) == (2, "")
    assert "--secret: expected an index from 0 to 4, or a label, got another text" in said.err
    assert "hospital" not in said.err


@pytest.mark.parametrize("arguments", [["-n", "0"], ["-n", "-3"], ["-n", "many"], ["--seed", "1"]])
def test_sample_takes_a_positive_number_and_no_seed(
    capsys: pytest.CaptureFixture[str], channel: Path, arguments: list[str]
) -> None:
    said = say(capsys, "sample", channel, "--secret", 0, *arguments)
    assert (said.status, said.out) == (2, "")
    assert said.err.count("\n") == 1
    assert arguments[0] in said.err


def test_verify_passes_what_is_right(capsys: pytest.CaptureFixture[str], channel: Path) -> None:
    said = say(capsys, "verify", channel, "--json")
    assert (said.status, said.err) == (0, "")
    assert said.data["passed"] is True
    assert 1 < said.data["achieved_epsilon"] <= 2
    assert all(check["passed"] for check in said.data["checks"])
    with_bound = say(capsys, "verify", channel, "--json", "--optimality")
    assert with_bound.status == 0
    assert len(with_bound.data["checks"]) > len(said.data["checks"])


def test_verify_prints_a_table_for_people(
    capsys: pytest.CaptureFixture[str], labelled: Path
) -> None:
    short = say(capsys, "verify", labelled)
    assert "privacy inequalities hold exactly" in short.out
    assert "made with a seed" not in short.out
    said = say(capsys, "verify", labelled, "-v")
    assert said.status == 0
    assert "achieved epsilon" in said.out
    assert "made with a seed" in said.out
    assert "distances above the true ones" in said.out


def move_weight(_: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
    row = arrays["limbs"][0, 0]
    most = row[0] - row[0] // np.uint64(100)
    row[0] -= most
    row[1] += most


def test_verify_fails_what_is_not_private(
    capsys: pytest.CaptureFixture[str], channel: Path
) -> None:
    forge(channel, move_weight)
    said = say(capsys, "verify", channel, "--json")
    assert said.status == 1
    assert said.data["passed"] is False
    assert said.data["achieved_epsilon"] > 2
    assert say(capsys, "verify", channel).status == 1


def test_verify_says_where_nothing_is_achieved(
    capsys: pytest.CaptureFixture[str], channel: Path
) -> None:
    def zero(_: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
        arrays["limbs"][0, 0, 1] += arrays["limbs"][0, 0, 0]
        arrays["limbs"][0, 0, 0] = 0

    forge(channel, zero)
    said = say(capsys, "verify", channel, "--json")
    assert (said.status, said.data["achieved_epsilon"]) == (1, None)


def test_verify_fails_what_was_made_with_a_seed(
    capsys: pytest.CaptureFixture[str], channel: Path
) -> None:
    forge(channel, lambda meta, _: meta["provenance"].update(seeded=True))
    said = say(capsys, "verify", channel, "--json")
    assert said.status == 1
    assert [check["name"] for check in said.data["checks"] if not check["passed"]] == [
        "made with a seed, hence not private"
    ]
    assert "no: made with a seed" in say(capsys, "info", channel).out


def test_verify_fails_an_inflated_bound(capsys: pytest.CaptureFixture[str], channel: Path) -> None:
    forge(channel, lambda meta, _: meta.update(lower=meta["upper"]))
    said = say(capsys, "verify", channel)
    assert said.status == 0
    assert re.search("not checked +the loss that is stated", said.out)
    said = say(capsys, "verify", channel, "--optimality")
    assert said.status == 1
    assert "not checked" not in said.out


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "haversine"])
def test_verify_compares_distances_with_points(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, metric: str
) -> None:
    points = np.array([[0.0, 0.0], [0.01, 0.0], [0.0, 0.02]])
    space = MetricSpace.from_points(points, metric=metric, unit="km")
    made = exponential(Problem(space, utility_loss="distance"))
    path = tmp_path / "a.channel"
    save(made, path)
    assert say(capsys, "verify", path).status == 0
    forge(path, lambda _, arrays: arrays.update(points=arrays["points"] * 0.99))
    failed = say(capsys, "verify", path, "--json")
    names = [check["name"] for check in failed.data["checks"] if not check["passed"]]
    assert (failed.status, names) == (1, ["distances above the true ones"])


@pytest.mark.parametrize("command", [["info"], ["verify"], ["sample", "--secret", "0"]])
@pytest.mark.parametrize("content", [None, b"", b"text"], ids=["gone", "empty", "text"])
def test_files_that_are_no_channels_are_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, command: list[str], content: bytes | None
) -> None:
    path = tmp_path / "spoiled.channel"
    if content is not None:
        path.write_bytes(content)
    said = say(capsys, *command, path)
    assert (said.status, said.out) == (2, "")
    assert said.err.startswith("discreet: CHANNEL: expected")
    assert "spoiled.channel" in said.err
    assert said.err.count("\n") == 1
    as_json = say(capsys, *command, path, "--json")
    assert (as_json.status, as_json.out) == (2, "")
    assert json.loads(as_json.err)["error"]["argument"] == "CHANNEL"


def test_info_passes_on_what_a_file_states_and_says_that_it_does(
    capsys: pytest.CaptureFixture[str], channel: Path
) -> None:
    """The weights of another channel under the certificate of this one: nothing of it may be told as a fact."""

    def reveal(_: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
        limbs = arrays["limbs"]
        limbs[...] = 0
        limbs[0][np.diag_indices(limbs.shape[1])] = 2**62

    forge(channel, reveal)
    assert say(capsys, "verify", channel).status == 1
    said = say(capsys, "info", channel).out
    assert "Not checked here; discreet verify does. The file states: " in said
    assert say(capsys, "info", channel, "--json").data["checked"] is False
