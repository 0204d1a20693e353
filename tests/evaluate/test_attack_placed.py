"""Channels without a table and mechanisms of services, as files: attacked, audited, and refused where they must be."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from cli.commands import say
from discreet.artefact import load_anchored, load_mechanism, save_mechanism
from discreet.core.certificate import Certificate, Check
from discreet.core.channels.implicit import AnchoredChannel, Ball
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import MetricDP
from discreet.core.randomness import SeededBits
from discreet.core.spaces.metric import MetricSpace
from discreet.evaluate.attack.bayes import infer, success_limit
from discreet.evaluate.attack.rows import ShownRows
from discreet.evaluate.audit.channels import (
    audit_channel,
    find_steps,
    law_of_secret,
    telling_pairs,
)
from discreet.evaluate.audit.request import AuditRequest

DATA = Path(__file__).parents[1] / "data"
ANCHORED, MECHANISM = DATA / "anchored-1.channel", DATA / "frozen.mechanism"
PASSED = Certificate((Check("believed", 0, 0, exact=True),))


def renamed() -> AnchoredChannel:
    """Make tails with an explicit weight, and six reports of which two and two have one name."""
    space = MetricSpace.grid(2, 3, cell=1, unit="km")
    ball = Ball(*(np.array([x]) for x in (0, 0, 2**39)))
    names = [7, 1, 2, 7, 2, 5]
    return AnchoredChannel(space, "0.5", range(6), [2**40] * 6, lift=2**20, ball=ball, names=names)


def broken(tmp_path: Path, claimed: str) -> Path:
    """Write a mechanism that claims another epsilon than it has, with a certificate that nobody checked."""
    made = load_mechanism(MECHANISM)
    claim = replace(made.guarantee, epsilon=Fraction(claimed))
    path = tmp_path / "broken.mechanism"
    save_mechanism(replace(made, guarantee=claim, certificate=PASSED), path)
    return path


def test_rows_are_shares_of_what_is_shown() -> None:
    channel = renamed()
    rows = ShownRows(channel)
    assert rows.names.tolist() == [1, 2, 5, 7]
    for secret in range(6):
        weights = channel.row(secret).tolist()
        shown = [
            Fraction(sum(w for w, name in zip(weights, channel.names, strict=True) if name == at))
            / sum(weights)
            for at in rows.names
        ]
        assert rows.probabilities[secret].tolist() == pytest.approx([float(x) for x in shown])


def test_draws_are_those_of_the_production_sampler() -> None:
    rows = ShownRows(renamed())
    drawn = rows.report_many(np.array([0, 3, 5] * 20), SeededBits(1))
    own = rows.channel.report_many([0, 3, 5] * 20, SeededBits(1))
    assert rows.names[drawn].tolist() == own.tolist()


def test_the_law_of_what_is_shown_is_found_exactly() -> None:
    rows = ShownRows(renamed())
    for secret in (0, 4):
        law = law_of_secret(rows, secret)
        weights = rows.channel.row(secret).tolist()
        for name in rows.names.tolist():
            held = sum(
                w
                for w, own in zip(weights, rows.channel.names.tolist(), strict=True)
                if own == name
            )
            assert law.masses[name] == Fraction(held, sum(weights))
        assert law.runs <= 2 * rows.channel.n_reports


def test_wrong_guesses_of_steps_change_nothing() -> None:
    def report(secret: int, bits: object) -> int:
        return int(bits.randrange(1000) >= 137 + secret)  # type: ignore[attr-defined]

    for guesses in ((), (137, 1000), (138, 1000), (0, 1000), (999, 3), (136, 1000)):
        assert find_steps(report, 0, 1000, 2, guesses)[0] == [0, 137, 1000]
    assert find_steps(report, 0, 1000, 2, (137, 1000))[1] == 3


def test_beyond_what_can_be_written_down_the_refusal_says_what_would_do() -> None:
    large = AnchoredChannel(
        MetricSpace.grid(52, 52, cell=1, unit="km"), 1, [0], [2**40], lift=2**20
    )
    with pytest.raises(InvalidProblemError, match="at most 2600 places.*--strength certified"):
        ShownRows(large)
    claim = MetricDP(2, "km")
    assert audit_channel(large, large.space, claim, PASSED, AuditRequest()).strength == "certified"
    with pytest.raises(InvalidProblemError, match="fewer places"):
        audit_channel(large, large.space, claim, PASSED, AuditRequest(strength="sampled"))


def test_a_thousand_places_are_looked_at_by_some() -> None:
    """Beyond some hundred places the pairs come from a few of them; they are constrained ones all the same."""
    space = MetricSpace.grid(20, 20, cell=1, unit="km")
    rows = ShownRows(AnchoredChannel(space, 1, range(400), [2**40] * 400, lift=2**20))
    claim = MetricDP(2, "km", 3)
    for samples in (None, 10_000):
        pairs = telling_pairs(rows, space, claim, samples)
        assert len(pairs) == 4
        assert all(0 < space.distance(i, j) <= 3 for i, j in pairs)
    found = audit_channel(rows.channel, space, claim, PASSED, AuditRequest(strength="exact"))
    assert not found.rejected
    assert 0.9 < found.lower <= 2


@pytest.mark.parametrize("file", [ANCHORED, MECHANISM])
@pytest.mark.parametrize("strength", ["exact", "sampled"])
def test_a_true_claim_of_a_file_is_not_refused(
    capsys: pytest.CaptureFixture[str], file: Path, strength: str
) -> None:
    said = say(capsys, "audit", file, "--strength", strength, "--samples", 600, "--json")
    assert said.status == 0, said.err
    assert said.data["strength"] == strength
    assert said.data["lower"] <= said.data["claimed"]


def test_half_of_the_epsilon_is_refused_in_every_strength(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = broken(tmp_path, "1")
    for strength in ("certified", "exact", "sampled"):
        said = say(capsys, "audit", file, "--strength", strength, "--samples", 10_000, "--json")
        assert said.status == 1, (strength, said.err)
        assert said.data["rejected"]
    assert 1 < said.data["lower"] <= 2


def test_a_mechanism_and_a_channel_without_a_table_are_attacked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for file, kept in ((ANCHORED, load_anchored(ANCHORED)), (MECHANISM, load_mechanism(MECHANISM))):
        asked = ("--reports", "1,3", "--steps", "2", "--trials", "300", "--json")
        said = say(capsys, "attack", file, *asked)
        assert said.status == 0, said.err
        assert said.data["kept"] is True
        facts, space = said.data["facts"], kept.channel.space
        computed = infer(ShownRows(kept.channel), None, space.distances * 2.0**-space.scale_bits)
        assert facts["posterior_success"] == pytest.approx(computed.guess.posterior)
        assert facts["expected_error"] == pytest.approx(computed.error and computed.error.posterior)
        assert facts["posterior_success"] <= success_limit(space, kept.guarantee)
        assert facts["min_entropy_leakage_bits"] <= facts["capacity_bits"] + 1e-9
        drawn = next(f for f in said.data["findings"] if f["attack"] == "best guess, drawn")
        assert drawn["attacker"]["low"] <= facts["posterior_success"] <= drawn["attacker"]["high"]


def test_an_attack_breaks_a_claim_that_is_far_too_small(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    said = say(capsys, "attack", broken(tmp_path, "0.1"), "--trials", "300", "--json")
    assert said.status == 1, said.err
    assert said.data["kept"] is False


@pytest.mark.parametrize("name", ["counts-1.csv", "counts-1.parquet", "measurements-1.parquet"])
def test_releases_are_refused_since_the_truth_is_not_in_them(
    capsys: pytest.CaptureFixture[str], name: str
) -> None:
    said = say(capsys, "attack", DATA / name)
    assert said.status == 2
    assert said.out == ""
    assert "needs the truth" in said.err


def test_an_option_that_says_nothing_here_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    said = say(capsys, "attack", MECHANISM, "--epsilon", "1")
    assert said.status == 2
    assert "--epsilon" in said.err


def test_too_few_samples_are_refused_in_a_sentence() -> None:
    """No sample shows a report then, and places a quarter of a kilometer apart made that overflow."""
    space = MetricSpace.grid(2, 2, cell="0.25", unit="km")
    channel = AnchoredChannel(space, 1, range(4), [2**40] * 4, lift=2**20)
    asked = AuditRequest(strength="sampled", samples=5)
    with pytest.raises(InvalidProblemError, match="samples"):
        audit_channel(channel, space, MetricDP(2, "km"), PASSED, asked)
