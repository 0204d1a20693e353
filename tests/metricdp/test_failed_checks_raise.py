"""No channel leaves whose certificate failed, however it was made."""

from __future__ import annotations

import pytest

from discreet.core.certificate import Certificate, Check
from discreet.core.errors import CertificateError
from discreet.core.guarantee import MetricDP
from discreet.core.spaces.metric import MetricSpace
from discreet.metricdp.bounds import tails

GRID = MetricSpace.grid(3, 3, cell=1, unit="km")
CLAIM = MetricDP(1, "km", "1.5")


def failing(*_: object, **__: object) -> Certificate:
    return Certificate((Check("off", 1, 0, exact=True),))


def test_a_channel_of_tails_that_fails_its_check_is_not_returned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert tails.tail_channel(GRID, CLAIM, rounds=0).certificate.passed
    monkeypatch.setattr(tails, "verify_anchored", failing)
    for rounds in (0, 10):
        with pytest.raises(CertificateError):
            tails.tail_channel(GRID, CLAIM, rounds=rounds)
