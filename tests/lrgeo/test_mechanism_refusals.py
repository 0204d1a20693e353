"""A mechanism is not believed: not with a certificate that failed, not altered on its way, not for another region."""

from __future__ import annotations

import sys
from dataclasses import replace
from fractions import Fraction
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from discreet.core.certificate import Certificate, Check
from discreet.core.channels.implicit import AnchoredChannel
from discreet.core.errors import InvalidProblemError
from discreet.core.exact import exp_floor
from discreet.core.guarantee import MetricDP
from discreet.core.outcome import Provenance
from discreet.lrgeo import Mechanism, Region, verify


def small() -> Mechanism:
    region = Region.from_grid(2, 2, cell=1, unit="km")
    channel = AnchoredChannel(region.space, "0.9", np.arange(4), np.full(4, 40), lift=20)
    guarantee = MetricDP(2, "km")
    certificate = verify(channel, guarantee)
    made = Provenance("by hand")
    return Mechanism(region, channel, guarantee, Fraction(1, 2), certificate, None, 1.0, made)


@pytest.mark.parametrize("checks", [(), (Check("off", 1, 0, exact=True),)])
def test_a_certificate_that_failed_is_refused(checks: tuple[Check, ...]) -> None:
    with pytest.raises(InvalidProblemError, match="certificate"):
        replace(small(), certificate=Certificate(checks))


@pytest.mark.parametrize(
    ("name", "value"), [("lift", 21), ("rate", "1"), ("totals_share", "1/3"), ("upper", "2.0")]
)
def test_one_fact_that_was_altered_is_refused(name: str, value: Any) -> None:
    data = small().to_dict()
    assert Mechanism.from_dict(data).digest == small().digest
    with pytest.raises(InvalidProblemError, match="digest"):
        Mechanism.from_dict(data | {name: value})


def test_a_design_for_another_region_is_refused() -> None:
    """Asked of what a design holds, before anything is made of it."""
    here, elsewhere = small(), Region.from_grid(2, 3, cell=1, unit="km")
    parts = ("region", "channel", "guarantee", "totals_share", "certificate", "lower", "upper")
    made: Any = SimpleNamespace(
        **{part: getattr(here, part) for part in parts}, provenance=here.provenance
    )
    assert Mechanism.from_design(made, here.region).digest == here.digest
    with pytest.raises(InvalidProblemError, match="that of the design"):
        Mechanism.from_design(made, elsewhere)


@pytest.mark.parametrize(("rows", "columns"), [(1, 2), (2, 1)])
def test_the_only_pair_of_two_places_is_looked_at(rows: int, columns: int) -> None:
    """Places 0 and 1 stand beside each other in every table."""
    region = Region.from_grid(rows, columns, cell=1, unit="km")
    channel = AnchoredChannel(region.space, 9, np.arange(2), np.full(2, 1 << 40), lift=1)
    assert not verify(channel, MetricDP(1, "km")).passed


def test_integers_compare_probabilities_and_not_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything is called close: the totals of rows, which differ, must enter where integers decide."""
    module = sys.modules["discreet.lrgeo.verify"]
    monkeypatch.setattr(module, "_violations", partial(module._violations, max_log_error=1 << 30))
    region = Region.from_grid(1, 3, cell=1, unit="km")
    channel = AnchoredChannel(region.space, 1, np.arange(3), np.array([900, 10, 10]), lift=1)
    rows = [channel.row(place).tolist() for place in range(3)]
    verdicts = []
    for tenths in range(2, 40, 2):
        epsilon = Fraction(tenths, 10)
        broken = 0
        for i, j in ((0, 1), (0, 2), (1, 2)):
            factor = exp_floor(epsilon * region.space.distance(i, j), 200)
            shares = [
                (Fraction(p, sum(rows[i])), Fraction(q, sum(rows[j])))
                for p, q in zip(rows[i], rows[j], strict=True)
            ]
            broken += any(max(p, q) * 2**200 > factor * min(p, q) for p, q in shares)
        checks = verify(channel, MetricDP(epsilon, "km")).checks
        verdicts.append(broken)
        assert [check.residual for check in checks if "inequalities" in check.name] == [broken]
    assert set(verdicts) >= {0, 3}
