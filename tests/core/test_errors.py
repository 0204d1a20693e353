"""Errors say what was wrong and travel between processes whole."""

from __future__ import annotations

import pickle

import pytest

from discreet.core.certificate import Certificate, Check
from discreet.core.errors import (
    BudgetError,
    CertificateError,
    DiscreetError,
    InfeasibleError,
    InvalidProblemError,
    LimitReachedError,
    SolverError,
)

FAILED = Certificate((Check("rows", 3, 0, exact=True), Check("fine", 0, 0, exact=True)))

ALL = [
    InvalidProblemError("prior", "a sum of 1", 0.9),
    SolverError("HiGHS", "Unknown", "scale the costs"),
    LimitReachedError("5 s passed", best="the best"),
    CertificateError(FAILED),
    InfeasibleError("nothing fits"),
    BudgetError("spent"),
]


@pytest.mark.parametrize("error", ALL, ids=lambda error: type(error).__name__)
def test_an_error_survives_a_process_border(error: DiscreetError) -> None:
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert isinstance(copy, DiscreetError)


def test_messages_name_field_expectation_and_what_came() -> None:
    assert str(ALL[0]) == "prior: expected a sum of 1, got 0.9"
    assert isinstance(ALL[0], ValueError)
    assert str(ALL[1]) == "HiGHS: Unknown (scale the costs)"
    assert str(SolverError("HiGHS", "Unknown")) == "HiGHS: Unknown"


def test_a_failed_certificate_is_named_by_its_failed_checks_only() -> None:
    assert str(CertificateError(FAILED)) == "failed checks: rows"
    assert str(CertificateError(Certificate(()))) == "failed checks: none was made"


def test_a_limit_keeps_the_best_outcome() -> None:
    copy = pickle.loads(pickle.dumps(LimitReachedError("late", best=(1, 2))))  # noqa: S301 - our own bytes
    assert copy.best == (1, 2)
