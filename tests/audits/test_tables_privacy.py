"""The measurement of tables keeps its claim on every neighbor, and too little noise is rejected."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import pytest

from discreet import InvalidProblemError, PureDP
from discreet.evaluate.audit.request import AuditRequest
from discreet.evaluate.audit.tables import TABLE_METHODS, audit_tables
from discreet.hierarchy.contingency.measure import marginal_scales

ADDED: Final = "add-remove-person"
REPLACED: Final = "replace-person"


@pytest.mark.parametrize(
    ("method", "neighbors"),
    [
        ("marginals", ADDED),
        pytest.param("marginals", REPLACED, marks=pytest.mark.slow),
        pytest.param("marginals-two-rows", ADDED, marks=pytest.mark.slow),
    ],
)
def test_the_measurement_keeps_its_claim(method: str, neighbors: Any) -> None:
    found = audit_tables(AuditRequest(method, epsilon="1", neighbors=neighbors))
    assert not found.rejected
    # Replays leave some mass unexplored; what is left tells something all the same.
    assert 0.3 < found.lower <= 1
    assert found.delta == 0


@pytest.mark.parametrize("neighbors", [ADDED, pytest.param(REPLACED, marks=pytest.mark.slow)])
def test_a_budget_that_is_not_divided_among_marginals_is_rejected(
    neighbors: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def undivided(frame: Any, claim: Any) -> Any:
        scales = marginal_scales(frame, claim)
        return {
            q: tuple(None if one is None else one / len(scales) for one in of)
            for q, of in scales.items()
        }

    monkeypatch.setattr("discreet.evaluate.audit.tables.marginal_scales", undivided)
    rejects(neighbors)


def test_a_replaced_person_that_counts_as_an_added_one_is_rejected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def as_added(frame: Any, claim: Any) -> Any:
        return marginal_scales(frame, PureDP(claim.epsilon, "add-remove-person"))

    monkeypatch.setattr("discreet.evaluate.audit.tables.marginal_scales", as_added)
    rejects(REPLACED)


@pytest.mark.slow
def test_noise_for_one_row_where_persons_have_two_is_rejected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def for_one_row(frame: Any, claim: Any) -> Any:
        return marginal_scales(replace(frame, max_rows=1), claim)

    monkeypatch.setattr("discreet.evaluate.audit.tables.marginal_scales", for_one_row)
    rejects(ADDED, "marginals-two-rows")


def rejects(neighbors: Any, method: str = "marginals") -> None:
    found = audit_tables(AuditRequest(method, epsilon="1", neighbors=neighbors))
    assert found.rejected
    assert found.lower > 1.3
    assert found.delta == 1


def test_what_cannot_be_audited_is_refused() -> None:
    assert set(TABLE_METHODS) >= {"marginals"}
    with pytest.raises(InvalidProblemError, match="method"):
        audit_tables(AuditRequest("marginal", epsilon="1"))
    with pytest.raises(InvalidProblemError, match="epsilon"):
        audit_tables(AuditRequest(rho="1"))
    with pytest.raises(InvalidProblemError, match="neighbors"):
        audit_tables(AuditRequest(epsilon="1", neighbors="replace-one"))
