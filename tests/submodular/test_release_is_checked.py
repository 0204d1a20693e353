"""A release whose certificate fails is not returned, and the accountant offers no rule that does not apply."""

from __future__ import annotations

from fractions import Fraction
from importlib import import_module

import numpy as np
import pytest

from discreet.core.certificate import Certificate, Check
from discreet.core.errors import CertificateError
from discreet.core.guarantee import PureDP
from discreet.core.randomness import SeededBits
from discreet.submodular import Coverage, UniformMatroid, release
from discreet.submodular.accounting import Draws, lines
from discreet.submodular.problem import ChoiceFacts

# The module: the package has the function under this name.
module = import_module("discreet.submodular.release")

REACH = Coverage(np.random.default_rng(1).random((20, 4)) < 0.4)
RULE = "decomposable, one pass"


@pytest.mark.parametrize(
    "certificate", [Certificate(()), Certificate((Check("off", 1, 0, exact=True),))]
)
def test_a_choice_that_fails_its_check_is_not_returned(
    monkeypatch: pytest.MonkeyPatch, certificate: Certificate
) -> None:
    def failing(*_: object) -> Certificate:
        return certificate

    monkeypatch.setattr(module, "verify_selection", failing)
    with pytest.raises(CertificateError):
        release(REACH, UniformMatroid(4, 2), PureDP(1, "add-remove-one"), bits=SeededBits(1))


@pytest.mark.parametrize(
    ("draws", "decomposable", "offered"),
    [
        (Draws(3), True, True),
        (Draws(3), False, False),
        (Draws(3, one_pass=False), True, False),
        (Draws(3, bounded_range=False), True, False),
    ],
)
def test_the_theorem_about_sums_in_one_pass_is_offered_to_nothing_else(
    draws: Draws,
    decomposable: bool,  # noqa: FBT001 - a parameter
    offered: bool,  # noqa: FBT001 - a parameter
) -> None:
    statement = ChoiceFacts(5, 1, 3, decomposable, Fraction(1), "add-remove-one")
    found = lines(draws, Fraction(1, 10), statement, Fraction(1, 10**6))
    assert (RULE in {line.rule for line in found}) is offered
