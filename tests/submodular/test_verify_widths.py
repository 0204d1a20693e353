"""The checker of choices counts by itself what a record may move, and which rule belongs to which mechanism."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from discreet.core.guarantee import ApproxDP, PureDP
from discreet.core.randomness import SeededBits
from discreet.submodular import Algorithm3, Coverage, PartitionMatroid, release
from discreet.submodular.problem import AccountLine, ChoiceFacts
from discreet.submodular.verify import (
    _proved,
    _subsample_holds,
    _walk_holds,
    _width,
    verify_selection,
)

if TYPE_CHECKING:
    from discreet.submodular import Selection

REACH = Coverage(np.random.default_rng(1).random((60, 6)) < 0.4)
PARTS = PartitionMatroid([0, 0, 0, 1, 1, 1], [2, 1])
APPROX = ApproxDP(1, "1e-6", "add-remove-one")
UNPROVED = "accountant's lines unproved"
RULES = {
    "greedy": {
        "basic composition",
        "zCDP of bounded range",
        "zCDP, converted",
        "advanced composition",
        "decomposable, one pass",
    },
    "permute-and-flip": {"basic composition", "advanced composition"},
    "rounds": {
        "basic composition",
        "zCDP of bounded range",
        "zCDP, converted",
        "advanced composition",
    },
    "walk": set(),
    "subsample": set(),
    "blind": set(),
    "another": set(),
}


def chosen(guarantee: Any = APPROX) -> Selection:
    return release(REACH, PARTS, guarantee, method=Algorithm3(), bits=SeededBits(1)).result


def proved(selection: Selection) -> set[str]:
    """Rules of the lines that hold, one line at a time."""
    found = set()
    for line in selection.accounting:
        alone = replace(selection, accounting=(line,))
        certificate = verify_selection(alone, PARTS, line.guarantee)
        if all(check.passed for check in certificate.checks if check.name == UNPROVED):
            found.add(line.rule)
    return found


@pytest.mark.parametrize("mechanism", RULES)
def test_each_mechanism_has_its_rules(mechanism: str) -> None:
    assert proved(replace(chosen(), mechanism=mechanism)) == RULES[mechanism]


@pytest.mark.parametrize("guarantee", [APPROX, PureDP(1, "add-remove-one")], ids=repr)
def test_a_function_that_is_no_sum_moves_twice_as_much(guarantee: Any) -> None:
    selection = chosen(guarantee)
    assert proved(selection)
    whole = replace(selection.statement, decomposable=False)
    assert proved(replace(selection, statement=whole)) == set()


@pytest.mark.parametrize("guarantee", [APPROX, PureDP(1, "add-remove-one")], ids=repr)
def test_a_record_that_is_replaced_moves_twice_as_much(guarantee: Any) -> None:
    selection = chosen(guarantee)
    statement = replace(selection.statement, neighbors="replace-one")
    lines: list[Any] = []
    for line in selection.accounting:
        claim = type(line.guarantee)
        data = {**line.guarantee.to_dict(), "neighbors": "replace-one"}
        del data["kind"]
        lines.append(replace(line, guarantee=claim(**data)))
    assert proved(replace(selection, statement=statement, accounting=tuple(lines))) == set()


def test_draws_that_were_made_are_paid_for() -> None:
    selection = chosen()
    fewer = tuple(replace(line, draws=line.draws - 1) for line in selection.accounting)
    assert proved(replace(selection, accounting=fewer)) == set()


def test_claims_are_recomputed_to_a_millionth() -> None:
    """The accountant rounds them up by less: nothing but the whole formula proves them."""
    selection = chosen()
    lines: list[Any] = []
    for line in selection.accounting:
        data = line.guarantee.to_dict()
        name = "rho" if data.pop("kind") == "zero-concentrated-dp" else "epsilon"
        data[name] = str(Fraction(data[name]) * Fraction(10**6 - 1, 10**6))
        lines.append(replace(line, guarantee=type(line.guarantee)(**data)))
    assert proved(replace(selection, accounting=tuple(lines))) == set()


def test_a_matroid_of_fewer_elements_is_another_one() -> None:
    """It is said in the certificate; the elements that it does not know are not asked for."""
    certificate = verify_selection(chosen(), PartitionMatroid([0, 0], [1]), APPROX)
    failed = {check.name for check in certificate.checks if not check.passed}
    assert {"statement off the matroid", "sets that may not be chosen"} <= failed


@pytest.mark.parametrize(
    ("decomposable", "neighbors", "factor"),
    [
        (True, "add-remove-one", 1),
        (True, "replace-one", 2),
        (False, "add-remove-one", 2),
        (False, "replace-one", 4),
    ],
)
def test_the_accountant_s_width_is_the_checker_s(
    decomposable: bool,  # noqa: FBT001 - a parameter
    neighbors: str,
    factor: int,
) -> None:
    statement = ChoiceFacts(3, 1, 2, decomposable, Fraction(5, 7), neighbors)
    assert statement.width == _width(statement) == factor * Fraction(5, 7)


def test_losses_whose_exponential_nobody_computes_prove_nothing() -> None:
    """A file may state an exponent with as many digits as it likes; e^x of it would never end."""
    huge = Fraction(10**40)
    statement = ChoiceFacts(3, 1, 2, True, Fraction(1), "add-remove-one")  # noqa: FBT003 - decomposable
    claim = ApproxDP(Fraction(10**60), "1e-6", "add-remove-one")
    for rule in ("decomposable, one pass", "exchange walk"):
        assert _proved(AccountLine(rule, claim, 1, huge), statement) is None
    assert not _walk_holds(AccountLine("exchange walk", claim, 1, huge), claim)
    pure = AccountLine("secret subsample", PureDP(1, "add-remove-one"), 1, huge)
    assert not _subsample_holds(huge, pure, statement)
    # No more than the claim itself: e^c is at most 1 + e^epsilon.
    assert _subsample_holds(Fraction(1), pure, statement)
    assert not _subsample_holds(Fraction(1), replace(pure, guarantee=claim), statement)
