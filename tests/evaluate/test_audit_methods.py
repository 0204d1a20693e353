"""Audits by the names of methods: false claims are refused, and what has a guarantee is not."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet import Channel, InvalidProblemError, MetricDP, MetricSpace
from discreet.core.randomness import RandomBits, SeededBits
from discreet.evaluate.audit.channels import audit_channel, law_by_steps
from discreet.evaluate.audit.hierarchy import audit_counts, count_pairs, measurements_of
from discreet.evaluate.audit.kanonymity import audit_tables
from discreet.evaluate.audit.lrgeo import audit_places
from discreet.evaluate.audit.metricdp import audit_designs
from discreet.evaluate.audit.request import AuditRequest
from discreet.evaluate.audit.submodular import audit_choices, choice_pairs
from discreet.hierarchy import measure as measuring
from discreet.hierarchy.measure import measure
from discreet.hierarchy.methods import METHODS
from discreet.hierarchy.sensitivity import sensitivity
from discreet.metricdp.verify import Claim
from few import each_once, few_of

COUNTS = sorted(METHODS.proven)
assert len(COUNTS) == 22


def halved(*given: Any, **named: Any) -> Fraction:
    return Fraction(sensitivity(*given, **named), 2)


# Counts.


@pytest.mark.parametrize(
    ("method", "relation"), each_once(COUNTS, ["add-remove-person", "replace-person"], usual=6)
)
def test_every_method_of_counts_with_a_guarantee_keeps_its_claim_exactly(
    method: str, relation: Any
) -> None:
    found = audit_counts(AuditRequest(method, epsilon="2", neighbors=relation))
    assert found.strength == "exact"
    assert not found.rejected
    assert found.delta is not None
    assert found.delta < 2e-3
    assert found.lower > 0.9 or relation == "replace-person"


@pytest.mark.parametrize(
    ("method", "strength"),
    each_once(["m-c-dp", "top-down-a", "hay-sorted", "m-c-ch-calibrated"], ["sampled", "exact"]),
)
def test_half_the_sensitivity_is_refused(
    method: str, strength: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.hierarchy.measure.sensitivity", halved)
    found = audit_counts(AuditRequest(method, epsilon="2", strength=strength))
    # Half the noise of a chain is more than a person moves of two regions' one.
    assert found.rejected or (method == "m-c-ch-calibrated" and found.lower > 1)


@pytest.mark.parametrize("method", ["m-c-dp", "hay-tree", "kuo-h-g"])
def test_samples_do_not_refuse_true_claims(method: str) -> None:
    found = audit_counts(AuditRequest(method, epsilon="1", strength="sampled", samples=6_000))
    assert not found.rejected
    assert found.lower >= 0


def test_gaussian_noise_is_sampled() -> None:
    found = audit_counts(AuditRequest("m-c-dp", rho="0.5", samples=4_000))
    assert (found.parameter, found.strength, found.rejected) == ("rho", "sampled", False)


def test_gaussian_noise_of_half_the_sensitivity_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its square is a quarter."""
    monkeypatch.setattr(
        "discreet.hierarchy.measure.sensitivity",
        lambda *given, **named: halved(*given, **named) / 2,
    )
    asked = AuditRequest("bottom-up-cumulative", rho="0.5", samples=40_000)
    assert audit_counts(asked).rejected


def test_batches_have_the_law_of_single_measurements() -> None:
    """Mean and spread of each number agree with those of the production's own measurements."""
    from discreet.evaluate.audit.hierarchy import _noised, _table
    from discreet.hierarchy.methods import METHODS

    method = METHODS["m-c-dp"].make()
    claim = AuditRequest(epsilon="1").pure("add-remove-person", "")
    case = _noised(_table(((1, 2), (2, 2)), "public", 3), method, claim)
    batch = measurements_of(case, 4_000, SeededBits(3))
    bits = SeededBits(4)
    single = np.array(
        [
            measure(case.data, method.kind, claim, levels=case.shares, bits=bits).values.ravel()
            for _ in range(1_000)
        ]
    )
    assert batch.shape == (4_000, single.shape[1])
    assert np.abs(batch.mean(0) - single.mean(0)).max() < 6 * single.std() / math.sqrt(1_000)
    assert np.abs(np.log(batch.std(0) / single.std(0))).max() < 0.3


def test_all_neighbors_of_tiny_data_are_listed() -> None:
    assert len(count_pairs("add-remove-person", regions=2, top=2)) == 12
    replaced = count_pairs("replace-person", regions=2, top=2)
    assert (((0,), (1,)), ((1,), (0,))) in replaced
    assert all(a < b for a, b in replaced)


# Choices.


@pytest.mark.parametrize(
    ("method", "relation"),
    each_once(
        ["subsampled", "algorithm-3", "permute-and-flip", "mitrovic"],
        ["add-remove-one", "replace-one"],
        usual=2,
    ),
)
def test_private_choices_keep_their_claim(method: str, relation: Any) -> None:
    found = audit_choices(AuditRequest(method, epsilon="1", neighbors=relation))
    assert not found.rejected
    assert found.lower > 0


def test_a_choice_without_noise_is_refused_without_bound() -> None:
    found = audit_choices(AuditRequest("lazy-greedy", epsilon="5"))
    assert found.rejected
    assert math.isinf(found.lower)


def test_a_declared_sensitivity_that_is_half_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "discreet.submodular.objectives.coverage.Coverage.sensitivity", Fraction(1, 3)
    )
    assert audit_choices(AuditRequest("permute-and-flip", epsilon="1")).rejected


def test_pairs_of_records_are_neighbors() -> None:
    for before, after in choice_pairs("add-remove-one"):
        assert len(after) == len(before) + 1
        assert after[: len(before)] == before
    for before, after in choice_pairs("replace-one"):
        assert len(after) == len(before)
        assert sum(a != b for a, b in zip(before, after, strict=True)) == 1
    with pytest.raises(InvalidProblemError, match="neighbors"):
        choice_pairs("replace-person")


# Channels.


@pytest.mark.parametrize("strength", [None, "exact", "sampled"])
def test_a_designed_channel_keeps_its_claim(strength: str | None) -> None:
    found = audit_designs(AuditRequest("exponential", epsilon="1", strength=strength))
    assert not found.rejected
    assert 0.2 < found.lower <= 1


def leaky() -> tuple[Channel, MetricSpace, MetricDP]:
    """A channel in which one of three secrets never makes a report that the others make."""
    whole, rare = 2**62, 2**56
    rows = [[whole - rare, rare], [whole - rare, rare], [whole, 0]]
    space = MetricSpace.grid(1, 3, cell=1, unit="km")
    return Channel.from_weights(rows), space, MetricDP(1, unit="km")


@pytest.mark.parametrize("strength", ["certified", "exact", "sampled"])
def test_one_infinite_ratio_is_refused_in_every_strength(strength: str) -> None:
    channel, space, claim = leaky()
    certificate = Claim(space, claim).check(channel)
    asked = AuditRequest(strength=strength, samples=100_000)
    found = audit_channel(channel, space, claim, certificate, asked)
    assert found.rejected
    assert math.isinf(found.lower) or strength == "sampled"
    assert "2" in found.pair


def test_samplers_that_draw_otherwise_are_found_out() -> None:
    channel, _, _ = leaky()

    def twice(secret: int, bits: RandomBits) -> int:
        bits.randrange(2)
        return channel.report(secret, bits)

    def backwards(secret: int, bits: RandomBits) -> int:
        return 1 - channel.report(secret, bits)

    def deaf(secret: int, bits: RandomBits) -> int:
        return 0

    for broken, message in ((twice, "one draw below"), (backwards, "never falls"), (deaf, "none")):
        with pytest.raises(InvalidProblemError, match=message):
            law_by_steps(broken, channel, 0)
    many = law_by_steps(lambda s, b: int(channel.report_many([s], b)[0]), channel, 0)
    assert many.masses == law_by_steps(channel.report, channel, 0).masses
    shifted = law_by_steps(lambda s, b: min(1, channel.report(s, b) + 1), channel, 0)
    assert shifted.masses != many.masses


def test_channels_without_pairs_are_refused() -> None:
    alone = MetricSpace.grid(1, 1, cell=1, unit="km")
    channel = Channel.from_weights([[2**62]])
    for strength in ("exact", "sampled"):
        with pytest.raises(InvalidProblemError, match="two secrets"):
            audit_channel(
                channel, alone, MetricDP(1, unit="km"), None, AuditRequest(strength=strength)
            )


# Places.


@pytest.mark.parametrize("strength", few_of(2, [None, "exact", "sampled"]))
def test_the_designed_mechanism_of_a_region_is_not(strength: str | None) -> None:
    found = audit_places(AuditRequest("design", epsilon="1", strength=strength))
    assert not found.rejected
    assert found.lower > 0.8 or strength is None


# Tables.


def test_tables_of_methods_are_counted() -> None:
    found = audit_tables(AuditRequest("mondrian", k=3))
    assert (found.rejected, found.parameter, found.runs) == (False, "k", 20)
    assert found.lower >= 3


def test_a_method_that_leaves_a_row_alone_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    import narwhals as nw

    from discreet.evaluate.audit import kanonymity as audit_kanonymity
    from discreet.kanonymity import anonymize

    def one_row_less(frame: Any, claim: Any, **given: Any) -> Any:
        made = anonymize(frame, claim, **given)
        table = nw.from_native(made.table, eager_only=True)
        return dataclasses.replace(made, table=table.tail(len(table) - 1).to_native())

    monkeypatch.setattr(audit_kanonymity, "anonymize", one_row_less)
    assert audit_tables(AuditRequest("k-member", k=3, bits=SeededBits(1))).rejected


# What is asked.


@pytest.mark.parametrize(
    ("function", "asked", "message"),
    [
        (audit_counts, AuditRequest("m-c-dp"), "epsilon"),
        (audit_counts, AuditRequest("m-c-dp", epsilon="1", rho="1"), "rho"),
        (audit_counts, AuditRequest("m-c-dp", epsilon="1", delta="0.1"), "delta"),
        (audit_counts, AuditRequest("m-c-dp", epsilon="1", k=3), "k"),
        (audit_counts, AuditRequest("m-c-dp", epsilon="1", strength="certified"), "strength"),
        (audit_counts, AuditRequest("m-c-dp", rho="1", strength="exact"), "strength"),
        (audit_counts, AuditRequest("m_c_dq", epsilon="1"), "method"),
        (audit_choices, AuditRequest("algorithm-5", epsilon="1"), "method"),
        (audit_choices, AuditRequest("algorithm-2", epsilon="1"), "method"),
        (audit_designs, AuditRequest("as-released", epsilon="1"), "method"),
        (audit_tables, AuditRequest("doka-greedy", k=2), "method"),
        (audit_designs, AuditRequest("kernel", epsilon="1", rho="1"), "rho"),
        (audit_designs, AuditRequest("kernel"), "epsilon"),
        (audit_designs, AuditRequest("colonel", epsilon="1"), "method"),
        (audit_places, AuditRequest("design"), "epsilon"),
        (audit_places, AuditRequest("resign", epsilon="1"), "method"),
        (audit_tables, AuditRequest("mondrian"), "k"),
        (audit_tables, AuditRequest("mondrian", k=2, epsilon="1"), "epsilon"),
        (audit_tables, AuditRequest("manet", k=2), "method"),
    ],
)
def test_what_cannot_be_tried_is_refused(function: Any, asked: AuditRequest, message: str) -> None:
    with pytest.raises(InvalidProblemError, match=f"^{message}: "):
        function(asked)


def test_the_patched_name_is_the_one_that_production_uses() -> None:
    assert vars(measuring)["sensitivity"] is sensitivity


def test_a_report_that_no_secret_has_tells_no_secrets_apart() -> None:
    """A guarantee of a billionth a kilometer is kept by reporting the middle always."""
    space = MetricSpace.grid(1, 3, cell=1, unit="km")
    claim = MetricDP("1e-9", unit="km")
    for row, least in (([0, 2**62, 0], 0.0), ([1, 2**62 - 1, 0], 0.0)):
        channel = Channel.from_weights([row] * 3)
        certificate = Claim(space, claim).check(channel)
        found = audit_channel(channel, space, claim, certificate, AuditRequest("table"))
        assert (found.lower, found.rejected) == (least, False)
    apart = Channel.from_weights([[2**62, 0, 0], [0, 2**62, 0], [0, 2**62, 0]])
    certificate = Claim(space, claim).check(apart)
    found = audit_channel(apart, space, claim, certificate, AuditRequest("table"))
    assert (found.lower, found.rejected) == (math.inf, True)
