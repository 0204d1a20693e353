"""A failure is told by its kind and its place, whatever it says."""

from __future__ import annotations

import re

import pytest

from discreet.core.exact import to_fraction
from discreet.core.faults import place_of

WORDS = "age 47"


def test_what_was_never_raised_has_a_kind_alone() -> None:
    assert place_of(ValueError(WORDS)) == "ValueError"


def test_a_failure_of_others_is_told_by_the_line_that_raised_it() -> None:
    with pytest.raises(ValueError, match=WORDS) as caught:
        raise ValueError(WORDS)
    assert re.fullmatch(r"ValueError at (core\.)?test_faults:\d+", place_of(caught.value))


def test_a_failure_below_our_code_is_told_by_both_lines() -> None:
    class Odd:
        def item(self) -> float:
            raise KeyError(WORDS)

    with pytest.raises(KeyError) as caught:
        to_fraction(Odd(), "odd")  # type: ignore[arg-type]  # it breaks where it is read
    told = place_of(caught.value)
    assert re.fullmatch(
        r"KeyError at discreet\.core\.\w+:\d+, from (core\.)?test_faults:\d+", told
    ), told


def test_a_line_of_ours_is_told_once() -> None:
    with pytest.raises(ValueError, match="a finite number") as caught:
        to_fraction("nothing", "odd")
    assert re.fullmatch(r"InvalidProblemError at discreet\.core\.exact:\d+", place_of(caught.value))
