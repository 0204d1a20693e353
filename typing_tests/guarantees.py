"""Code that must type-check: the public types are an interface, and are tested as one. Read by mypy, never run."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any, assert_type

import discreet as dc

# Exact parameters in every form that a person writes.
one = dc.PureDP(1, neighbors="add-remove-one")
dc.PureDP("0.1", neighbors="replace-one")
dc.PureDP(Fraction(1, 3), neighbors="add-remove-person")
dc.PureDP(Decimal("0.5"), neighbors="replace-person")
slack = dc.ApproxDP(0.5, "1e-9", neighbors="add-remove-one")
rho = dc.ZeroConcentratedDP("0.1", neighbors="add-remove-one")
near = dc.MetricDP("1.5", unit="km", radius=2)

# What is read back is exact.
assert_type(one.epsilon, Fraction)
assert_type(near.radius, Fraction | None)

# Composition keeps the kind where it can.
assert_type(dc.compose(one, one), dc.PureDP)
assert_type(dc.compose(rho), dc.ZeroConcentratedDP)
assert_type(dc.compose(near, near), dc.MetricDP)
assert_type(dc.compose(one, slack), dc.PureDP | dc.ApproxDP | dc.ZeroConcentratedDP)

# Any two guarantees may be asked whether one implies the other.
assert_type(dc.implies(one, slack), bool)
dc.implies(one, dc.KAnonymity(5, ("age", "zip")))


def everything_is_one_error(error: dc.DiscreetError) -> None:
    match error:
        case dc.LimitReachedError():
            assert_type(error.best, object)
        case dc.InvalidProblemError():
            assert_type(error.field, str)
        case dc.CertificateError():
            assert_type(error.certificate.to_dict(), dict[str, Any])
        case _:
            raise error
