"""A wrong type of any option of any public function is a sentence that names it, and no error from within."""

from __future__ import annotations

import importlib
import inspect
from typing import TYPE_CHECKING

import pytest

from discreet import InvalidProblemError, MetricDP, lrgeo
from meta.wrong_types import ELSEWHERE, Call, calls, failures

if TYPE_CHECKING:
    from collections.abc import Iterator

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


def test_every_public_function_has_a_right_call() -> None:
    """A new one without a call here fails."""
    assert {*functions()} <= {*calls()} | ELSEWHERE
    assert {*functions()} >= ELSEWHERE


@pytest.mark.parametrize("name", sorted(calls()))
def test_wrong_types_are_refused_in_a_sentence(name: str) -> None:
    call = calls()[name]
    call.function(**call.given)
    assert failures(call) == []


def test_a_function_that_fails_within_is_noticed() -> None:
    def careless(gap: float = 0.5) -> bool:
        return 0 <= gap < 1

    assert failures(Call(careless, {})) != []


def test_a_gap_that_is_text_is_refused() -> None:
    region = lrgeo.Region.from_grid(2, 2, cell="0.5", unit="km")
    text: float = "0.5"  # type: ignore[assignment] # that is what is tried
    with pytest.raises(InvalidProblemError, match="gap: expected a relative gap in .* got str"):
        lrgeo.design(region, MetricDP(2, "km"), gap=text)
