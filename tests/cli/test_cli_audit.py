"""``audit``: the commands of the manual, exit statuses, files, pages, refusals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cli.commands import say
from discreet import Channel
from discreet.artefact import load, save

DATA = Path(__file__).parents[1] / "data"


def test_a_choice_without_noise_is_refused_without_accepting_anything(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The command of the manual: status 1, no ``--accept-no-guarantee``, and a page that says so."""
    page = tmp_path / "page.html"
    options = ("--method", "lazy-greedy", "--epsilon", "1", "--json", "--report", page)
    said = say(capsys, "audit", "submodular", *options)
    assert said.status == 1
    assert said.data["rejected"]
    assert said.data["claimed"] == 1
    assert "<strong>rejected" in page.read_text(encoding="utf-8")


def test_the_sound_method_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    said = say(capsys, "audit", "hierarchy", "--method", "m-c-dp", "--epsilon", "1")
    assert said.status == 0
    assert "not rejected" in said.out
    assert "proves nothing" in said.out


@pytest.mark.parametrize("strength", ["certified", "sampled"])
def test_a_channel_is_audited_by_its_file(
    capsys: pytest.CaptureFixture[str], strength: str
) -> None:
    file = DATA / "channel-1.channel"
    said = say(capsys, "audit", file, "--strength", strength, "--samples", 2000, "--json")
    assert said.status == 0
    assert said.data["strength"] == strength
    assert said.data["lower"] <= said.data["claimed"]


@pytest.mark.parametrize("name", ["anonymous-1.csv", "counts-1.csv"])
def test_other_files_are_judged_by_their_verifier(
    capsys: pytest.CaptureFixture[str], name: str
) -> None:
    said = say(capsys, "audit", DATA / name, "--json")
    assert said.data["strength"] == "certified"
    assert said.status == int(said.data["rejected"])
    assert say(capsys, "audit", DATA / name, "--strength", "sampled").status == 2


def test_a_channel_with_an_infinite_ratio_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Weights that rule a secret out, under a guarantee that does not allow it."""
    import dataclasses

    design = load(DATA / "channel-1.channel")
    weights = np.array(design.channel.weights, dtype=np.uint64)
    rare = int(weights[0].argmin())
    weights[0, int(weights[0].argmax())] += weights[0, rare]
    weights[0, rare] = 0
    broken = dataclasses.replace(design, channel=Channel.from_weights(weights))
    file = tmp_path / "broken.channel"
    save(broken, file)
    said = say(capsys, "audit", file, "--json")
    assert said.status == 1
    assert said.data["unbounded"]
    assert said.data["lower"] is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["hierarchy"], "--epsilon"),
        (["hierarchy", "--epsilon", "1", "--method", "guess"], "--method"),
        (["hierarchy", "--epsilon", "1", "-k", "3"], "-k"),
        (["hierarchy", "--epsilon", "1", "--neighbors", "friends"], "--neighbors"),
        (["hierarchy", "--epsilon", "1", "--strength", "weak"], "--strength"),
        (["astrology"], "MECHANISM|FILE"),
        ([str(DATA / "channel-1.channel"), "--epsilon", "1"], "--epsilon"),
        ([str(DATA / "channel-1.channel"), "--strength", "sampled", "--samples", "5"], "--samples"),
        ([str(DATA / "channel-1.channel"), "--strength", "sampled", "--failure", "2"], "--failure"),
        (["hierarchy", "--epsilon", "1", "--report", "/nowhere/at/all.html"], "--report"),
    ],
)
def test_what_makes_no_sense_is_refused(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    said = say(capsys, "audit", *arguments)
    assert said.status == 2
    assert said.out == ""
    assert message in said.err
