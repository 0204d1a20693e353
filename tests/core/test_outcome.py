"""Outcomes carry their guarantee, and what has none says why."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.core import outcome
from discreet.core.certificate import Certificate, Check
from discreet.core.channels.channel import Channel
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import KAnonymity, MetricDP, PureDP
from discreet.core.outcome import (
    Anonymization,
    Design,
    Provenance,
    PublicInput,
    Release,
    Unproven,
    digest_array,
    public_facts,
    versions,
)
from discreet.core.spaces.metric import MetricSpace
from discreet.core.verified import mark_refused, mark_verified, was_verified
from discreet.metricdp import Problem

FINE = Certificate((Check("rows", 0, 0, exact=True),))
WHERE = Provenance(
    "kernel", {"delta": "1e-6"}, (PublicInput("prior", "ab", "uniform"),), ("tried one thing",)
)


def design(lower: float | None, upper: float) -> Design[None, None]:
    channel = Channel.from_weights([[2**62]])
    return Design(channel, MetricDP(1, unit="km"), FINE, lower, upper, WHERE, None)


@pytest.mark.parametrize(
    ("lower", "upper", "gap"),
    [(1.0, 2.0, 0.5), (0.0, 0.0, 0.0), (None, 2.0, None), (2.0, 2.0, 0.0)],
)
def test_the_gap_is_relative_to_the_upper_bound(
    lower: float | None, upper: float, gap: float | None
) -> None:
    assert design(lower, upper).gap == gap


def test_the_loss_by_secret_has_quantiles_and_averages_to_the_loss() -> None:
    """At 20 secrets, 10 are half, 19 are 95 %; the prior plays no part."""
    space = MetricSpace.grid(1, 20, cell=1, unit="km")
    problem = Problem(space, utility_loss="distance", prior=np.arange(20) / 190)
    certain = Channel.from_weights([[2**62, *[0] * 19]] * 20)
    made: Design[Problem, None] = Design(
        certain, MetricDP(1, "km"), FINE, None, 9.5, WHERE, problem
    )
    assert made.loss_by_secret == pytest.approx(np.arange(20))
    assert made.loss_by_secret[0] == 0
    assert list(made.loss_quantiles) == ["median", "95 %", "worst"]
    assert list(made.loss_quantiles.values()) == pytest.approx([9, 18, 19])
    mean = float(problem.prior @ made.loss_by_secret)
    assert mean == pytest.approx(certain.expected_loss(problem.cost))


def test_a_design_without_a_table_of_losses_has_no_loss_by_secret() -> None:
    with pytest.raises(InvalidProblemError, match="a table of losses"):
        _ = design(None, 1.0).loss_by_secret


def test_a_design_shows_its_verdict() -> None:
    assert "certified" in repr(mark_verified(design(1.0, 2.0)))
    assert "claimed" in repr(design(1.0, 2.0))
    assert "no lower bound" in repr(design(None, 2.0))
    page = design(1.0, 2.0)._repr_html_()
    assert "gap 50 %" in page
    assert "metric differential privacy at 1 per km" in page
    assert "lower bound none" in design(None, 2.0)._repr_html_()
    failed: Design[None, None] = Design(
        design(1, 2).channel, MetricDP(1, unit="km"), Certificate(()), 1.0, 2.0, WHERE, None
    )
    assert "NOT CERTIFIED" in repr(failed)


def test_provenance_comes_back_from_json() -> None:
    again = Provenance.from_dict(json.loads(json.dumps(WHERE.to_dict())))
    assert again == WHERE
    assert again.versions["python"]
    assert not again.seeded


def test_a_release_holds_result_guarantee_certificate_and_provenance_only() -> None:
    release = Release(7, PureDP(1, "replace-one"), FINE, WHERE)
    assert set(vars(release)) == {"result", "guarantee", "certificate", "provenance"}


def test_what_has_no_guarantee_says_why() -> None:
    unproven = Unproven(7, "the printed sensitivity is half of the true one", WHERE)
    assert unproven.guarantee is None
    with pytest.raises(InvalidProblemError, match="reason"):
        Unproven(7, " ", WHERE)


def test_digests_of_arrays_depend_on_shape_type_and_values_only() -> None:
    a = np.arange(6.0)
    assert digest_array(a) == digest_array(a[::1].copy())
    assert digest_array(a) == digest_array(a.astype(">f8"))
    others = [a.reshape(2, 3), a.astype(np.float32), a + 1, a[::-1]]
    assert len({digest_array(other) for other in [a, *others]}) == 5


def test_versions_name_what_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {"python", "numpy", "highspy"} <= set(versions())

    def absent(name: str) -> str:
        from importlib.metadata import PackageNotFoundError

        raise PackageNotFoundError(name)

    monkeypatch.setattr("importlib.metadata.version", absent)
    # What was read is kept.
    monkeypatch.setattr(outcome, "_version", outcome._version.__wrapped__)
    assert versions()["numpy"] == "not installed"


def test_an_anonymization_shows_neither_its_table_nor_its_diagnostics() -> None:
    claim = KAnonymity(2, ("age",))
    made = Anonymization([30, 30], claim, FINE, WHERE, {"loss": 0.25})
    assert set(vars(made)) == {"table", "guarantee", "certificate", "provenance", "diagnostics"}
    assert repr(made) == "Anonymization(2-anonymous in age, claimed: discreet.verify checks it)"
    broken = Anonymization([30, 31], claim, Certificate(()), WHERE, None)
    assert repr(broken) == "Anonymization(2-anonymous in age, NOT CERTIFIED)"


@pytest.mark.parametrize("told", [-1, 0, 0.0, "false", None, []])
def test_only_false_says_that_there_was_no_seed(told: object) -> None:
    """A seed of -1 is less than one, and once passed for none."""
    with pytest.raises(InvalidProblemError, match="seeded: expected true or false"):
        Provenance.from_dict(WHERE.to_dict() | {"seeded": told})


@pytest.mark.parametrize(
    "change",
    [
        {"method": 5},
        {"method_trace": [["a"]]},
        {"versions": {"python": 3.11}},
        {"assumed_public": [{"name": "prior", "digest": 5, "description": ""}]},
        {"assumed_public": [{"name": None, "digest": "", "description": ""}]},
    ],
)
def test_words_of_a_provenance_are_words(change: dict[str, object]) -> None:
    """They are printed, and a digest is cut: what is none is refused where it is read."""
    with pytest.raises(InvalidProblemError, match="provenance: expected words"):
        Provenance.from_dict(WHERE.to_dict() | change)


class _Slotted:
    """Nothing refers to it weakly."""

    __slots__ = ()


def test_an_outcome_is_verified_until_it_is_refused_or_changed() -> None:
    made, parts = design(1.0, 2.0), [1, 2]
    assert not was_verified(made)
    assert was_verified(mark_verified(made))
    mark_refused(made)
    assert not was_verified(made)
    assert was_verified(mark_verified(made, lambda _: tuple(parts)))
    parts.append(3)
    assert not was_verified(made)
    parts.pop()
    assert was_verified(made)


def test_what_nothing_refers_to_weakly_was_never_verified() -> None:
    made = _Slotted()
    mark_refused(made)
    assert not was_verified(made)


def test_a_release_prints_its_guarantee_and_a_check_that_failed() -> None:
    guarantee = PureDP(1, neighbors="replace-one")
    passed = str(Release([3, 4], guarantee, FINE, WHERE))
    assert str(guarantee) in passed
    assert "3, 4" not in passed
    refused = Certificate((Check("counts below zero", 1, 0, exact=True),))
    failed = str(Release([3, 4], guarantee, refused, WHERE))
    assert failed.endswith(f"{refused.sentence}\n\n{refused}")
    assert "counts below zero" in failed


def test_the_public_facts_of_a_release_are_those_of_its_result_and_its_charge() -> None:
    class Result:
        def described(self, outcome: Release[Result]) -> list[tuple[str, object]]:
            return [("method", outcome.provenance.method), ("regions", 3)]

    guarantee = PureDP(1, neighbors="replace-one")
    where = replace(WHERE, charge="release 00")
    facts = public_facts(Release(Result(), guarantee, FINE, where), [Fraction(1, 3), Fraction(1)])
    assert facts == [
        ("guarantee", guarantee),
        ("method", "kernel"),
        ("regions", 3),
        ("assumed public", "prior: uniform"),
        ("budget left", "1/3, 1"),
        ("ledger", "release 00"),
    ]


@dataclass(frozen=True)
class Described:
    """Diagnostics that describe an outcome."""

    def described(self, made: object) -> list[tuple[str, object]]:
        return [("rows", 4)]


def test_an_anonymization_is_printed_with_what_describes_it_and_with_failed_checks() -> None:
    guarantee = KAnonymity(2, ("age",))
    made: Anonymization[Any, Any] = Anonymization({}, guarantee, FINE, WHERE, Described())
    assert "rows" in str(made)
    assert str(replace(made, diagnostics=None)).endswith(FINE.sentence)
    failed = Certificate((Check("classes smaller than k", 1, 0, exact=True),))
    assert str(replace(made, certificate=failed)).endswith(str(failed))


@pytest.mark.parametrize("suppress", [None, 0.1])
def test_a_bound_names_the_tables_that_it_is_about(suppress: float | None) -> None:
    where = Provenance("by hand", {"suppress": suppress})
    made: Anonymization[Any, Any] = Anonymization({}, KAnonymity(2, ("age",)), FINE, where, {})
    assert ("suppressed rows" in made.bound_in_words()) == (suppress is not None)


def test_optimal_is_said_of_a_gap_that_closes_or_with_its_limit() -> None:
    assert design(1.0, 1.0).status_in_words == "gap reached"
    assert replace(design(1.0, 1.0), status="optimal").status_in_words == "optimal"
    assert replace(design(0.5, 1.0), status="optimal").status_in_words == "optimal"
    near = replace(design(1 - 1e-8, 1.0), status="optimal").status_in_words
    assert near == "optimal within 0.0001 %"
