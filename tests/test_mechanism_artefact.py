"""Mechanisms as files: whole or refused, bit by bit; a frozen example; what the commands say of them."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from discreet.artefact import load_mechanism, save_mechanism
from discreet.artefact.mechanism import MECHANISM
from discreet.artefact.reader import zip_kind
from discreet.cli.app import app
from discreet.core.errors import CertificateError, InvalidProblemError
from discreet.core.guarantee import MetricDP, Scope
from discreet.lrgeo import Client, Mechanism, Region, design, verify

if TYPE_CHECKING:
    from collections.abc import Callable

FROZEN = Path(__file__).parent / "data" / "frozen.mechanism"
"""A 5 by 5 grid in Rome, 2 per km, written by the first version."""


def test_a_file_of_the_first_version_is_read_and_verified() -> None:
    mechanism = load_mechanism(FROZEN)
    assert mechanism.region.K == 25
    assert verify(mechanism.channel, mechanism.guarantee).passed
    assert zip_kind(FROZEN) == MECHANISM
    assert Client(mechanism, verified_digest=mechanism.digest).row(0).min() >= 1


def test_the_same_mechanism_gives_the_same_bytes(tmp_path: Path) -> None:
    save_mechanism(load_mechanism(FROZEN), tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == FROZEN.read_bytes()


def test_one_altered_bit_anywhere_is_found(tmp_path: Path) -> None:
    data = FROZEN.read_bytes()
    path = tmp_path / "altered"
    for at in range(0, len(data), 97):
        altered = bytearray(data)
        altered[at] ^= 1 << at % 8
        path.write_bytes(altered)
        with pytest.raises(InvalidProblemError):
            load_mechanism(path)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: text[:-40],
        lambda text: text + " ",
        lambda text: "[" + text + "]",
        lambda text: text.replace('"version":1', '"version":2'),
        lambda text: text.replace('"lift":', '"other":'),
        lambda text: json.dumps(json.loads(text)),
    ],
    ids=["truncated", "longer", "a list", "later version", "a part missing", "other spaces"],
)
def test_what_is_no_whole_mechanism_is_refused(tmp_path: Path, spoil: Callable[[str], str]) -> None:
    path = tmp_path / "spoiled"
    path.write_text(spoil(FROZEN.read_text(encoding="utf-8")), encoding="utf-8")
    with pytest.raises(InvalidProblemError):
        load_mechanism(path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidProblemError, match="gone"):
        load_mechanism(tmp_path / "gone")


def test_the_commands_verify_and_describe_it() -> None:
    runner = CliRunner()
    told = runner.invoke(app, ["verify", str(FROZEN), "--json"])
    assert told.exit_code == 0
    assert json.loads(told.stdout)["passed"]
    told = runner.invoke(app, ["info", str(FROZEN), "--json"])
    assert json.loads(told.stdout)["sizes"]["places"] == 25
    told = runner.invoke(app, ["info", str(FROZEN)])
    assert "2 per km" in told.stdout


def test_a_claim_that_is_not_kept_is_found(tmp_path: Path) -> None:
    """The file is whole, its digest right: only the verifier notices."""
    from dataclasses import replace

    mechanism = load_mechanism(FROZEN)
    less = replace(mechanism, guarantee=MetricDP("1.9", "km"))
    save_mechanism(less, tmp_path / "less")
    told = CliRunner().invoke(app, ["verify", str(tmp_path / "less"), "--json"])
    assert not json.loads(told.stdout)["passed"]
    failed = [c["name"] for c in json.loads(told.stdout)["checks"] if not c["passed"]]
    assert failed == ["inequalities violated", "facts misstated in the scope"]
    with pytest.raises(Exception, match="inequalities violated"):
        Client(load_mechanism(tmp_path / "less"))


def test_a_mechanism_of_another_region_is_refused() -> None:
    region = Region.from_grid(3, 3, cell="0.5", unit="km")
    made = design(region, MetricDP(4, "km"), method="closed-form", scope="places")
    assert Mechanism.from_design(made, region).region.K == 9
    with pytest.raises(InvalidProblemError, match="region"):
        Mechanism.from_design(made, Region.from_grid(3, 4, cell="0.5", unit="km"))


def test_what_is_told_of_places_far_apart_is_checked_before_it_is_shown(tmp_path: Path) -> None:
    """Each pair keeps its inequality; what the sentence says of all of them is a lie."""
    from dataclasses import replace

    region = Region.from_grid(3, 3, cell="0.5", unit="km")
    mechanism = Mechanism.from_design(
        design(region, MetricDP(2, "km", "0.5"), gap=0.5, scope="places")
    )
    scope = mechanism.guarantee.scope
    assert isinstance(scope, Scope)
    for lie in (
        replace(scope, all_pairs_epsilon=Fraction(2)),
        replace(scope, all_pairs_epsilon=None),
        replace(scope, n_secrets=10**6),
        replace(scope, joined=3),
        replace(scope, space="0" * 64),
    ):
        told = replace(mechanism, guarantee=MetricDP(2, "km", "0.5", scope=lie))
        save_mechanism(told, tmp_path / "told")
        with pytest.raises(CertificateError, match="facts misstated in the scope"):
            Client(load_mechanism(tmp_path / "told"))
        said = CliRunner().invoke(app, ["verify", str(tmp_path / "told"), "--json"])
        assert not json.loads(said.stdout)["passed"]
    silent = replace(mechanism, guarantee=MetricDP(2, "km", "0.5"))
    assert Client(silent).mechanism is silent
