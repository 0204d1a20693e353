"""A wrong type of any option of any public function is a sentence that names it, and no error from within."""

from __future__ import annotations

import importlib
import inspect
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from discreet import InvalidProblemError, MetricDP, PureDP, hierarchy, lrgeo, submodular
from discreet.hierarchy import contingency
from discreet.hierarchy.contingency import CellCounts
from discreet.ledger import Ledger
from meta.wrong_types import BESIDE, ELSEWHERE, Call, calls, failures

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MODULES = (
    "",
    "metricdp",
    "lrgeo",
    "hierarchy",
    "hierarchy.contingency",
    "kanonymity",
    "submodular",
)


def functions() -> Iterator[str]:
    for module in MODULES:
        inside = importlib.import_module(f"discreet.{module}".rstrip("."))
        for name in inside.__all__:
            if inspect.isfunction(getattr(inside, name)):
                yield f"{module}.{name}".lstrip(".")


# Names alone: what the calls are made of is designed in the first test, not while tests are collected.
NAMES = sorted(({*functions()} - ELSEWHERE) | BESIDE)


def test_every_public_function_has_a_right_call() -> None:
    """A new one without a call here fails."""
    assert {*calls()} == {*NAMES}
    assert {*functions()} >= ELSEWHERE


SLOW_WITHOUT_COMPILER = {
    "anonymize", "attack", "audit", "compare", "counts", "hierarchy.contingency.plan",
    "lrgeo.design",
}  # fmt: skip


MANY = {"anonymize", "audit", "counts", "hierarchy.contingency.plan"}
"""Functions whose hundreds of wrong calls take seconds: a usual run makes a third of them."""


def steps(name: str) -> Iterator[Any]:
    """Give a function and its step, in a usual run and in a slow one."""
    compiled = [pytest.mark.jit] if name in SLOW_WITHOUT_COMPILER else []
    yield pytest.param(name, 3 if name in MANY else 1, marks=compiled)
    if name in MANY:
        yield pytest.param(name, 1, marks=[*compiled, pytest.mark.slow])


@pytest.mark.parametrize(("name", "step"), [case for name in NAMES for case in steps(name)])
def test_wrong_types_are_refused_in_a_sentence(name: str, step: int) -> None:
    call = calls()[name]
    call.function(**call.given)
    assert failures(call, step) == []


def test_a_function_that_fails_within_is_noticed() -> None:
    def careless(gap: float = 0.5) -> bool:
        return 0 <= gap < 1

    assert failures(Call(careless, {})) != []


def releases() -> dict[str, Any]:
    """Give what releases from a plan, to each of three kinds of mechanism, without a budget."""
    claim = PureDP("1/2", "add-remove-person")
    data = calls()["hierarchy.release"].given["source"]
    tables = calls()["hierarchy.contingency.query"].given["measured"].frame
    cells = CellCounts(tables, np.array([[3, 1], [2, 2]]))
    reach = calls()["submodular.release"].given
    choice = PureDP("1/2", "add-remove-one")
    return {
        "counts": (partial(hierarchy.release, data, claim, method="raw"), claim),
        "tables": (partial(contingency.plan(tables, claim).release, cells), claim),
        "choice": (
            partial(submodular.release, reach["objective"], reach["matroid"], choice),
            choice,
        ),
    }


@pytest.mark.parametrize("wrong", [{"on_progress": 3}, {"bits": "chance"}])
@pytest.mark.parametrize("name", ["counts", "tables", "choice"])
def test_a_wrong_option_of_a_release_costs_nothing(
    name: str, wrong: dict[str, Any], tmp_path: Path
) -> None:
    release, claim = releases()[name]
    book = Ledger.create(tmp_path / "budget.db", "census", claim)
    with pytest.raises(InvalidProblemError, match="on_progress|bits|source"):
        release(budget=book, dataset="census", **wrong)
    assert book.account("census").left == (claim.epsilon,)


def test_a_gap_that_is_text_is_refused() -> None:
    region = lrgeo.Region.from_grid(2, 2, cell="0.5", unit="km")
    text: float = "0.5"  # type: ignore[assignment] # that is what is tried
    with pytest.raises(InvalidProblemError, match="gap: expected a relative gap in .* got str"):
        lrgeo.design(region, MetricDP(2, "km"), gap=text, scope="places")
