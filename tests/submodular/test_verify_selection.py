"""The checker of choices: what it accepts, and one forgery for each thing that it checks."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import ApproxDP, DPGuarantee, PureDP, ZeroConcentratedDP
from discreet.core.outcome import Provenance, Release
from discreet.core.randomness import SeededBits
from discreet.submodular import (
    Algorithm3,
    Coverage,
    PartitionMatroid,
    Selection,
    Subsampled,
    TransversalMatroid,
    UniformMatroid,
    release,
    verify,
)
from discreet.submodular.method import Method
from discreet.submodular.methods.badanidiyuru_vondrak import BadanidiyuruVondrak
from discreet.submodular.methods.baselines import RandomBase
from discreet.submodular.methods.bases import BaseContinuousGreedy
from discreet.submodular.methods.permute_and_flip import PermuteAndFlip
from discreet.submodular.methods.subsampled_rounds import SubsampledRounds
from discreet.submodular.problem import AccountLine
from discreet.submodular.verify import verify_selection

REACH = Coverage(np.random.default_rng(1).random((60, 6)) < 0.4)
PARTS = PartitionMatroid([0, 0, 0, 1, 1, 1], [2, 1])
ANY = TransversalMatroid(np.array([[1, 0], [1, 0], [1, 1], [0, 1], [0, 1], [1, 0]], dtype=np.bool_))

PURE = PureDP(1, "add-remove-one")
APPROX = ApproxDP(1, "1e-6", "add-remove-one")
REPLACED = ApproxDP(1, "1e-6", "replace-one")
ZERO = ZeroConcentratedDP("0.1", "replace-one")


def made(
    guarantee: DPGuarantee = APPROX, method: Method | None = None, matroid: Any = PARTS
) -> Release[Selection]:
    return release(REACH, matroid, guarantee, method=method or Algorithm3(), bits=SeededBits(1))


@pytest.mark.parametrize("guarantee", [PURE, APPROX, REPLACED, ZERO], ids=repr)
@pytest.mark.parametrize(
    "method", [Algorithm3(), Subsampled(), BaseContinuousGreedy(steps=2), RandomBase()]
)
def test_releases_pass_anew(guarantee: DPGuarantee, method: Method) -> None:
    certificate = verify(made(guarantee, method), PARTS)
    assert certificate.passed
    assert len(certificate.checks) == 8


def failed(selection: Selection, guarantee: DPGuarantee = APPROX, matroid: Any = PARTS) -> set[str]:
    certificate = verify_selection(selection, matroid, guarantee)
    return {check.name for check in certificate.checks if not check.passed}


@pytest.mark.parametrize(
    ("chosen", "names"),
    [
        (((0, 0), (1, 0), (2, 0)), {"sets that may not be chosen"}),
        (((0, 0), (0, 0), (3, 0)), {"elements chosen twice"}),
        (((0, 0), (1, 0), (9, 0)), {"unknown elements", "sets that may not be chosen"}),
        (((0, 0), (1, 0), (3, 1)), {"unknown kinds"}),
        (((0, 0), (3, 0)), {"elements short of a base"}),
    ],
)
def test_a_set_that_may_not_be_chosen_is_rejected(
    chosen: tuple[tuple[int, int], ...], names: set[str]
) -> None:
    found = failed(replace(made().result, chosen=chosen))
    assert found >= names
    assert "accountant's lines unproved" not in found


def test_another_matroid_is_rejected() -> None:
    assert "statement off the matroid" in failed(
        made().result, matroid=PartitionMatroid([0, 0, 0, 1, 1, 1], [1, 1])
    )


def stronger(line: AccountLine) -> AccountLine:
    """The same line with a guarantee that is a tenth stronger."""
    claim = line.guarantee
    if isinstance(claim, ZeroConcentratedDP):
        better: DPGuarantee = ZeroConcentratedDP(claim.rho * Fraction(9, 10), claim.neighbors)
    elif isinstance(claim, ApproxDP):
        better = ApproxDP(claim.epsilon * Fraction(9, 10), claim.delta, claim.neighbors)
    else:
        better = PureDP(claim.epsilon * Fraction(9, 10), claim.neighbors)
    return replace(line, guarantee=better)


@pytest.mark.parametrize("guarantee", [APPROX, REPLACED], ids=repr)
def test_each_rule_is_recomputed(guarantee: DPGuarantee) -> None:
    selection = made(guarantee).result
    assert len(selection.accounting) == 5
    for i, line in enumerate(selection.accounting):
        lines = list(selection.accounting)
        lines[i] = stronger(line)
        found = failed(replace(selection, accounting=tuple(lines)), guarantee)
        assert found == {"accountant's lines unproved"}


@pytest.mark.parametrize("guarantee", [PURE, PureDP(1, "replace-one")], ids=repr)
def test_the_subsample_s_coefficient_is_recomputed(guarantee: PureDP) -> None:
    selection = made(guarantee, Subsampled()).result
    assert failed(selection, guarantee) == set()
    more = replace(selection, coefficient=(selection.coefficient or 0) * Fraction(1001, 1000))
    raised = replace(more.accounting[0], loss=Fraction(100))
    assert "accountant's lines unproved" in failed(replace(more, accounting=(raised,)), guarantee)
    whole = replace(selection.statement, decomposable=False)
    assert "accountant's lines unproved" in failed(replace(selection, statement=whole), guarantee)
    wrong = replace(selection.accounting[0], guarantee=ApproxDP(1, "0.1", guarantee.neighbors))
    assert "accountant's lines unproved" in failed(
        replace(selection, accounting=(wrong,)), guarantee
    )


@pytest.mark.parametrize(
    "change",
    [
        {"coefficient": Fraction(100)},
        {"coefficient": Fraction(-1)},
        {"coefficient": None},
        {"per_draw": 0},
        {"per_draw": 2},
        {"mechanism": "permute-and-flip"},
        {"mechanism": "rounds"},
        {"mechanism": "unheard of"},
    ],
    ids=repr,
)
def test_facts_that_do_not_carry_the_lines_are_rejected(change: dict[str, Any]) -> None:
    """A larger coefficient, draws of bases, permute-and-flip with the zCDP of bounded range, several passes."""
    assert "accountant's lines unproved" in failed(replace(made().result, **change))


def test_rounds_on_a_subsample_share_its_coefficient() -> None:
    selection = made(PURE, SubsampledRounds(rounds=3)).result
    assert failed(selection, PURE) == set()
    for change in ({"per_draw": 4}, {"coefficient": (selection.coefficient or 0) * 2}):
        raised = replace(selection.accounting[0], loss=Fraction(100))
        forged = replace(selection, accounting=(raised,), **change)
        assert failed(forged, PURE) == {"accountant's lines unproved"}


def test_a_statement_that_hides_how_far_scores_move_is_rejected() -> None:
    """Not decomposable, or replaced records: twice the width, and the same lines."""
    selection = made().result
    for change in (
        {"decomposable": False},
        {"neighbors": "replace-one"},
        {"sensitivity": Fraction(2)},
    ):
        statement = replace(selection.statement, **change)
        assert "accountant's lines unproved" in failed(replace(selection, statement=statement))


def test_fewer_draws_than_elements_are_rejected() -> None:
    selection = made(PURE).result
    for draws in (2, 0):
        lines = tuple(replace(line, draws=draws) for line in selection.accounting)
        assert "accountant's lines unproved" in failed(replace(selection, accounting=lines), PURE)


def test_a_guarantee_that_no_line_implies_is_rejected() -> None:
    selection = made().result
    assert failed(selection, ApproxDP("0.9", "1e-6", "add-remove-one")) == {
        "guarantees that no line implies"
    }
    assert failed(selection, REPLACED) == {"guarantees that no line implies"}


def test_lines_of_other_kinds_are_rejected() -> None:
    """A rule with a guarantee of another kind, and a rule nobody knows."""
    selection = made().result
    for rule, guarantee in (
        ("basic composition", APPROX),
        ("zCDP of bounded range", PURE),
        ("zCDP, converted", PURE),
        ("advanced composition", PURE),
        ("decomposable, one pass", PURE),
        ("exchange walk", APPROX),
        ("no data", APPROX),
        ("hope", APPROX),
    ):
        line = AccountLine(rule, guarantee, 3, Fraction(1))
        assert "accountant's lines unproved" in failed(replace(selection, accounting=(line,)))


def test_a_walk_must_pay_for_its_distance() -> None:
    selection = made(APPROX, BaseContinuousGreedy(steps=2), ANY).result
    (line,) = selection.accounting
    assert line.rule == "exchange walk"
    assert failed(selection, APPROX, ANY) == set()
    free = replace(line, guarantee=ApproxDP(1, "1e-30", "add-remove-one"))
    assert "accountant's lines unproved" in failed(
        replace(selection, accounting=(free,)), APPROX, ANY
    )
    with pytest.raises(InvalidProblemError, match="guarantee: expected ApproxDP for bases of"):
        made(PURE, BaseContinuousGreedy(steps=2), ANY)
    with pytest.raises(InvalidProblemError, match="delta: expected at least .* for a walk"):
        made(ApproxDP(1, "1e-30", "add-remove-one"), BaseContinuousGreedy(steps=2), ANY)


def test_permute_and_flip_is_accounted_for_without_bounded_range() -> None:
    found = made(APPROX, PermuteAndFlip()).result
    assert {line.rule for line in found.accounting} == {"basic composition"}


def test_a_release_of_something_else_is_refused() -> None:
    certificate = made().certificate
    other: Any = Release([1], PURE, certificate, Provenance("by hand"))
    with pytest.raises(InvalidProblemError, match="a release of a Selection, got list"):
        verify(other, PARTS)


def test_rounds_pay_for_each_element() -> None:
    """A draw of a round gives one element: three of them were not had for the price of one."""
    selection = made(PURE, BadanidiyuruVondrak(rounds=1)).result
    assert failed(selection) == set()
    (line, *_) = selection.accounting
    cheap = replace(line, draws=1, guarantee=PureDP(line.loss, "add-remove-one"))
    forged = replace(selection, accounting=(cheap,))
    assert failed(forged, cheap.guarantee) == {"accountant's lines unproved"}


def test_the_stored_matroid_is_what_a_choice_is_checked_against() -> None:
    made_here = release(REACH, UniformMatroid(6, 2), PureDP(1, "add-remove-one"))
    assert verify(made_here).passed
    assert not verify(made_here, UniformMatroid(6, 1)).passed
    without = replace(made_here, result=replace(made_here.result, matroid=None))
    with pytest.raises(InvalidProblemError, match="matroid: expected the matroid of the choice"):
        verify(without)
    smaller = replace(made_here.result, matroid=UniformMatroid(6, 1))
    assert not verify(replace(made_here, result=smaller)).passed
