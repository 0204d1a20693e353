"""The measurement of tables keeps its claim on every neighbor, and each broken twin is found out."""

from __future__ import annotations

from typing import Any

import pytest

from discreet import InvalidProblemError
from discreet.evaluate.audit.request import AuditRequest
from discreet.evaluate.audit.tables import TABLE_METHODS, audit_tables

ADDED, REPLACED = "add-remove-person", "replace-person"


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


@pytest.mark.parametrize(
    ("method", "neighbors"),
    [
        ("undivided-budget", ADDED),
        pytest.param("undivided-budget", REPLACED, marks=pytest.mark.slow),
        ("replaced-as-added", REPLACED),
        pytest.param("two-rows-as-one", ADDED, marks=pytest.mark.slow),
        ("exact-total", ADDED),
    ],
)
def test_a_broken_twin_is_rejected(method: str, neighbors: Any) -> None:
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
