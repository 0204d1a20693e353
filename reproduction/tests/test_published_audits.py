"""Audits of published methods by name: their false claims are refused."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from audits.test_hierarchy_privacy import PERSON, all_neighbors, entries, loss, table
from audits.test_hierarchy_privacy import audit as audit_entries
from cli.commands import say
from discreet import InvalidProblemError, PureDP, audit
from discreet.evaluate.attack import reconstruction
from discreet.evaluate.audit.hierarchy import audit_counts
from discreet.evaluate.audit.request import AuditRequest
from discreet.hierarchy.measure import level_shares, node_scales
from discreet_reproduction.hierarchy.as_published.m_c_ch import ChainAsPublished
from discreet_reproduction.kanonymity.audit import audit_recodings
from discreet_reproduction.lrgeo.audit import audit_users
from discreet_reproduction.metricdp.audit import audit_floats
from discreet_reproduction.submodular.audit import audit_layers

# Counts.


def test_the_chain_as_published_is_refused_by_its_counts_alone() -> None:
    found = audit_counts(AuditRequest("m-c-ch", epsilon="1", strength="sampled", samples=100_000))
    assert found.rejected
    assert found.runs <= 25_000
    assert "40 regions" in found.pair


# Choices.


@pytest.mark.parametrize("strength", ["exact", "sampled"])
def test_algorithm_2_is_refused(strength: str) -> None:
    found = audit_layers(AuditRequest("algorithm-2", epsilon="1", strength=strength))
    assert found.rejected
    assert found.runs <= 20_000


# Channels.


@pytest.mark.parametrize("method", ["as-published", "as-released"])
def test_floats_as_published_are_refused(method: str) -> None:
    assert audit_floats(AuditRequest(method, epsilon="1")).rejected


# Places.


@pytest.mark.parametrize("strength", ["exact", "sampled"])
def test_lr_geo_as_published_is_refused_across_users(strength: str) -> None:
    found = audit_users(AuditRequest("lr-geo", epsilon="1", strength=strength, samples=100_000))
    assert found.rejected
    assert "users at places" in found.pair


# Tables.


@pytest.mark.parametrize("method", ["doka-greedy", "doka-sort-greedy"])
def test_matchings_as_published_are_refused(method: str) -> None:
    found = audit_recodings(AuditRequest(method, k=3))
    assert found.rejected
    assert found.lower < 3


# What is asked.


@pytest.mark.parametrize("relation", ["add-remove-person", "replace-person"])
def test_the_chain_as_published_is_refused_exactly(relation: Any) -> None:
    found = audit_counts(AuditRequest("m-c-ch", epsilon="2", neighbors=relation))
    assert found.rejected
    assert found.lower > 2.5


def test_a_published_method_is_audited_by_its_name() -> None:
    assert audit("kanonymity", method="doka_greedy", k=3).rejected
    assert audit("lrgeo", method="frozen-scales", epsilon=1).rejected


@pytest.mark.parametrize("claim", [{"rho": "1"}, {"epsilon": "1e-4"}])
def test_claims_that_algorithm_2_does_not_make_are_refused(claim: dict[str, Any]) -> None:
    with pytest.raises(InvalidProblemError, match="^epsilon: "):
        audit_layers(AuditRequest("algorithm-2", **claim))


def test_the_command_refuses_the_chain_and_accepts_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The command of the manual: status 1, and no ``--accept-no-guarantee``."""
    said = say(capsys, "audit", "hierarchy", "--method", "m-c-ch", "--epsilon", "1", "--json")
    assert (said.status, said.err) == (1, "")
    assert said.data["rejected"]
    assert said.data["lower"] > 1.4
    page = tmp_path / "page.html"
    said = say(capsys, "audit", "kanonymity", "--method", "doka-greedy", "-k", 3, "--report", page)
    assert said.status == 1
    assert "<strong>rejected" in page.read_text(encoding="utf-8")


def test_a_published_method_of_counts_is_attacked(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    average = reconstruction.attack_repeated_counts
    # Two averages of 16 releases, and not forty.
    monkeypatch.setattr(
        reconstruction, "attack_repeated_counts", lambda *a, **m: average(*a, **m | {"trials": 2})
    )
    options = ("--epsilon", "1", "--method", "m-c-ch", "--trials", "40", "--json")
    said = say(capsys, "attack", "hierarchy", *options)
    assert said.status == 0, said.err
    assert "membership" in {one["attack"] for one in said.data["findings"]}


def test_the_published_chain_loses_twice_its_claim_on_two_regions() -> None:
    """All budget at the level of two regions: the loss is twice the claimed one, and that is seen."""
    epsilon, seen = 2, 0
    for a, b in sorted(all_neighbors(2, 1, 2, 1, PERSON)):
        one, other = (table(groups, "public", 2) for groups in (a, b))
        claimed = PureDP(epsilon, PERSON)
        true, shares = ChainAsPublished().as_published(one.frame, claimed, level_shares(1, [0, 1]))
        assert true == PureDP(2 * epsilon, PERSON)
        scales = node_scales(one.frame, "chain", true, shares)
        assert scales[1] == Fraction(1, epsilon)
        with pytest.raises(AssertionError, match="exceed"):
            audit_entries(one, other, "chain", scales, epsilon)
        assert sum(loss(*entry) for entry in entries(one, other, "chain", scales)) == 2 * epsilon
        seen += 1
    assert seen == 12
