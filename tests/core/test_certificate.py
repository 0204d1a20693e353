"""A certificate stands or falls as a whole, and can't be passed by leaving things out."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.core.certificate import Certificate, Check
from discreet.core.errors import CertificateError, InvalidProblemError

GOOD = Check("inequalities violated", 0, 0, exact=True, detail="600 looked at")
BAD = Check("row sum error <b>", Fraction(1, 3), 0, exact=False)


def test_all_checks_must_pass() -> None:
    assert Certificate((GOOD,)).passed
    assert not Certificate((GOOD, BAD)).passed
    Certificate((GOOD,)).raise_for_failure()
    with pytest.raises(CertificateError) as caught:
        Certificate((GOOD, BAD)).raise_for_failure()
    assert caught.value.certificate.checks == (GOOD, BAD)


def test_an_empty_certificate_proves_nothing() -> None:
    assert not Certificate(()).passed
    with pytest.raises(CertificateError, match="none was made"):
        Certificate(()).raise_for_failure()


@pytest.mark.parametrize("residual", [math.nan, math.inf, 1e-300])
def test_a_residual_above_its_limit_fails(residual: float) -> None:
    assert not Check("x", residual, 0, exact=True).passed


@pytest.mark.parametrize("residual", [0, -1.5, math.inf, -math.inf, Fraction(1, 3), 7])
def test_dictionaries_are_json_and_come_back(residual: float | Fraction) -> None:
    certificate = Certificate((GOOD, Check("x", residual, 2, exact=False, detail="d")))
    text = json.dumps(certificate.to_dict(), allow_nan=False)
    assert Certificate.from_dict(json.loads(text)) == certificate


def test_a_nan_residual_comes_back_as_a_failure() -> None:
    text = json.dumps(
        Certificate((Check("x", math.nan, 2, exact=False),)).to_dict(), allow_nan=False
    )
    assert not Certificate.from_dict(json.loads(text)).passed


def test_a_verdict_in_a_file_is_not_believed() -> None:
    data = Certificate((BAD,)).to_dict()
    data["passed"] = data["checks"][0]["passed"] = True
    assert not Certificate.from_dict(data).passed


@pytest.mark.parametrize(
    "change",
    [
        {"residual": None},
        {"limit": [1]},
        {"residual": True},
        {"residual": "1e300000000"},
        {"limit": "many"},
        {"name": 5},
        {"detail": None},
        {"exact": 1},
    ],
)
def test_a_check_of_a_file_that_is_none_is_refused(change: dict[str, object]) -> None:
    data = GOOD.to_dict() | change
    with pytest.raises(InvalidProblemError):
        Check.from_dict(data)


def test_a_certificate_of_a_file_prints_no_line_of_its_own() -> None:
    told = "a\nok\x1b[2J"
    check = Check(told, Fraction(10**400), 10**50, exact=True, detail=told * 1000)
    lines = str(Certificate((check,))).splitlines()
    assert len(lines) == 2
    assert r"a\nok\x1b[2J" in lines[1]
    assert "\x1b" not in lines[1]
    assert "1e+400" in lines[1]
    assert "... (51 characters)" in lines[1]
    assert "... (8000 characters)" in lines[1]


def test_it_prints_as_a_table_with_the_verdict() -> None:
    lines = str(Certificate((GOOD, BAD))).splitlines()
    assert lines[1].split()[:3] == ["inequalities", "violated", "0"]
    assert "passed" in lines[1]
    assert "FAILED" in lines[2]
    page = Certificate((GOOD, BAD))._repr_html_()
    assert "&lt;b&gt;" in page
    assert "<b>" not in page


def test_numbers_beyond_floats_are_printed() -> None:
    """What a forged scale costs may be any fraction; a table of checks is printed all the same."""
    large = Fraction(10**400)
    for residual, shown in (
        (large, " 1e+400 "),
        (-large, " -1e+400 "),
        (1 / large, " 1e-400 "),
    ):
        check = Check("epsilon spent", residual, Fraction(1), exact=True)
        assert shown in str(Certificate((check,)))


@pytest.mark.parametrize(
    ("checks", "said"),
    [
        ((), "FAILED: nothing was checked; 0 of 0 checks passed."),
        (
            (Check("a", 1, 0, exact=True), Check("b", 0, 0, exact=True)),
            "FAILED: a; 1 of 2 checks passed.",
        ),
        ((Check("a", 0, 0, exact=True),), "All checks hold exactly: 1 check passed."),
        (
            (Check("a", 0, 0, exact=True), Check("b", 0, 1, exact=False)),
            "All checks hold: 2 checks passed.",
        ),
        (
            (Check("inequalities violated", 0, 0, exact=True, detail="22148 looked at"),),
            "All 22,148 privacy inequalities hold exactly: 1 check passed.",
        ),
        (
            (Check("inequalities violated", 0, 0, exact=True, detail="none"),),
            "All checks hold exactly: 1 check passed.",
        ),
    ],
)
def test_a_certificate_says_what_holds_or_what_failed(checks: tuple[Check, ...], said: str) -> None:
    assert Certificate(checks).sentence == said


def test_what_can_be_gone_through_once_is_no_certificate() -> None:
    """An iterator over no checks is true, and all of none pass."""
    for checks in (iter(()), iter([BAD]), {GOOD}, None, (1,), "ab"):
        with pytest.raises(InvalidProblemError, match="checks: expected a tuple of Check"):
            Certificate(checks)  # type: ignore[arg-type]
    listed = [BAD]
    certificate = Certificate(listed)  # type: ignore[arg-type]
    listed[0] = GOOD
    assert not certificate.passed


@pytest.mark.parametrize("value", ["0", None, [0], 1j])
def test_a_check_compares_numbers(value: Any) -> None:
    for residual, limit in ((value, 0), (0, value)):
        with pytest.raises(InvalidProblemError, match="expected a number"):
            Check("a", residual, limit, exact=True)


def test_integers_of_numpy_are_written_as_json() -> None:
    check = Check("a", np.int64(3), np.float64(1), exact=True)  # type: ignore[arg-type]
    assert json.loads(json.dumps(check.to_dict()))["passed"] is False


def test_a_lower_bound_is_not_printed_higher_than_it_is() -> None:
    checks = [
        Check(name, 152.22205785, 152.22205786, exact=True) for name in ("lower bound", "loss")
    ]
    lower, loss = str(Certificate(tuple(checks))).splitlines()[1:]
    assert "152.222" in lower
    assert "152.223" in loss
