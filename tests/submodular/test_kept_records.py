"""The secret subsample keeps each record with the probability that was accounted for, and not with the rest."""

from __future__ import annotations

from fractions import Fraction

import pytest

from discreet.core.exact import exp_ceil, exp_floor
from discreet.submodular.methods.subsampled import keep_records
from discreet.testing import enumerate_law

BITS = 60


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(5, 2)])
def test_a_record_is_kept_with_the_stated_probability(epsilon: Fraction) -> None:
    law = enumerate_law(lambda bits: keep_records(1, epsilon, bits), max_runs=2000)
    least, most = law.bounds((True,))
    left_out = [Fraction(bound(-epsilon, BITS), 1 << BITS) for bound in (exp_ceil, exp_floor)]
    assert least <= 1 - left_out[1]
    assert most >= 1 - left_out[0]
    assert most - least < Fraction(1, 1000)


def test_records_are_kept_independently() -> None:
    """Of two records, each may be kept alone."""
    law = enumerate_law(lambda bits: keep_records(2, Fraction(1), bits), max_runs=4000)
    assert set(law.masses) == {(a, b) for a in (True, False) for b in (True, False)}
    assert abs(law.masses[True, False] - law.masses[False, True]) <= law.unexplored
