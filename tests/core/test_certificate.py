"""A certificate stands or falls as a whole, and can't be passed by leaving things out."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import pytest

from discreet.core.certificate import Certificate, Check
from discreet.core.errors import CertificateError

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


def test_it_prints_as_a_table_with_the_verdict() -> None:
    lines = str(Certificate((GOOD, BAD))).splitlines()
    assert lines[1].split()[:3] == ["inequalities", "violated", "0"]
    assert "passed" in lines[1]
    assert "FAILED" in lines[2]
    page = Certificate((GOOD, BAD))._repr_html_()
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
