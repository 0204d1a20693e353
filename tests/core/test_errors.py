"""Errors say what was wrong and travel between processes whole."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
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
    first_unfit,
    refuse_malformed,
    unknown_name,
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


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("Kernl", "method: expected one of direct, kernel, got 'Kernl'; the nearest is 'kernel'"),
        ("zzz", "method: expected one of direct, kernel, got 'zzz'"),
        (7, "method: expected one of direct, kernel, got int"),
        ("\x1b" * 100, "method: expected one of direct, kernel, got '" + r"\x1b" * 80 + "...'"),
    ],
)
def test_an_unknown_name_is_repeated_with_the_nearest(given: object, message: str) -> None:
    assert str(unknown_name("method", given, ["direct", "kernel"])) == message


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([1, -2, -3], "-2 at 1"),
        ([[1, 2], [3, -4]], "-4 at (1, 1)"),
        ([[[1], [-5]]], "-5 at (0, 1, 0)"),
    ],
)
def test_the_first_entry_that_does_not_fit_is_named_with_its_place(
    values: list[Any], said: str
) -> None:
    table = np.array(values)
    assert first_unfit(table, table >= 0) == said


def test_a_renamed_refusal_keeps_what_is_not_stated_anew() -> None:
    error = InvalidProblemError("source", "a table with rows", "none", code="rows-none")
    same, other = error.renamed("--coverage"), error.renamed("k", expected="2 or more", got=1)
    assert str(same) == "--coverage: expected a table with rows, got none"
    assert str(other) == "k: expected 2 or more, got 1"
    assert same.code == other.code == "rows-none"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (KeyError("rank"), "matroid: expected a mapping that its `to_dict` wrote, got no 'rank'"),
        (TypeError("a cell"), "matroid: expected a mapping that its `to_dict` wrote, got another (TypeError)"),
        (BudgetError("b", "1", "2"), None),
    ],
)  # fmt: skip
def test_malformed_values_are_refused_and_other_errors_pass(
    error: Exception, said: str | None
) -> None:
    with (
        pytest.raises(type(error) if said is None else InvalidProblemError) as caught,
        refuse_malformed("matroid"),
    ):
        raise error
    assert str(caught.value) == (str(error) if said is None else said)
