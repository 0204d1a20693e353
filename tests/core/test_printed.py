"""What comes from a file is printed on one line, harmless, and not too long."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core import printed
from discreet.core.printed import first_of, one_line


@given(st.text(max_size=50))
def test_whatever_the_text_is_a_terminal_only_shows_it(text: str) -> None:
    shown = one_line(text)
    assert all(one.isprintable() or one.isspace() for one in shown)
    assert shown.splitlines() in ([], [shown])
    if text.isprintable():
        assert shown == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("km\nok  all of it", r"km\nok  all of it"),
        ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
        ("a\rb", r"a\rb"),
        ("a\u2028b\x85c", r"a\u2028b\x85c"),
        ("\u202egnp.exe", r"\u202egnp.exe"),
        ("\ud800", r"\ud800"),
        ("Zürich\u3000東京", "Zürich\u3000東京"),
        ("it's", "it's"),
    ],
)
def test_what_a_terminal_would_obey_is_escaped(text: str, shown: str) -> None:
    assert one_line(text) == shown


def test_what_is_long_is_cut_and_says_so() -> None:
    assert one_line("x" * 1000) == "x" * 1000
    assert one_line("x" * (1000 + 1)) == "x" * 1000 + f"... ({1000 + 1} characters)"
    assert one_line(12345, 3) == "123... (5 characters)"


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (printed.facts([("k", 5), ("rows", "a\nb")]), "k     5\nrows  a\\nb"),
        (printed.in_columns([("name", "n"), ("a", "10")], right=[1]), "name   n\na     10"),
        (printed.interval(1234567.2, 1234567.8), ("1,234,567", "1,234,568")),
        (printed.share_at_least(Fraction(2, 3)), "66.66 %"),
        (printed.share_at_least(1e-9), "above 0 %"),
        (printed.share_at_least(0.99999999), "above 99.99 %"),
        (printed.share_at_most(1e-9), "below 0.01 %"),
        (printed.share_at_most(0.99999999), "below 100 %"),
        (printed.share_at_most(None), "none"),
        (printed.share_or_more(Fraction(19, 20)), "at least 95 %"),
        (printed.share_or_less(Fraction(1, 20)), "at most 5 %"),
        (printed.share_or_less(0), "0 %"),
        (printed.gap(None, 1.0), "none"),
        (printed.gap(0.75, 1.0), "25 %"),
        (printed.bounds(None, 1.0), "1, lower bound none"),
        (printed.missed_gap(0.01, 0.75, 1.0, "here"), "asked for a gap of 1 % here, reached 25 %"),
        (printed.excess(None, 1.0), "none"),
        (printed.excess(1.0, 1.25), "25 %"),
        (printed.position(3.0), "3"),
        (printed.positions(np.array([12.349, 3.0])).tolist(), [12.3, 3.0]),
        (printed.plain_digits(Decimal("0.50")), "0.5"),
        (printed.optimum(2, 2), "optimal"),
        (printed.optimum(1.9999999999, 2), "optimal within 1e-7 %"),
        (printed.optimum(1.9, 2), ""),
        (printed.optimum(None, 2), ""),
        (printed.seconds(12.345), "12.3 s"),
        (printed.at_most(None), "none"),
        (printed.at_most(math.inf), "infinite"),
        (printed.decimal_down(Fraction(1, 2)), "0.5"),
        (printed.decimal_down(Fraction(10**30 + 1, 3 * 10**30)), "0.3333333"),
        (printed.decimal_up(Fraction(10**30 + 1, 3 * 10**30)), "0.3333334"),
    ],
)
def test_each_number_is_rounded_to_its_own_side(shown: object, expected: object) -> None:
    assert shown == expected


@given(st.integers(10**19, 10**20), st.integers(-32, -5))
def test_whatever_the_number_is_its_text_lies_on_its_side(digits: int, size: int) -> None:
    value = digits * Fraction(10) ** size
    least, most = (
        Fraction(shown(value).replace(",", "")) for shown in (printed.at_least, printed.at_most)
    )
    assert (1 - Fraction(1, 10**5)) * value <= least <= value <= most <= least + value / 10**5
    # Less than a tenth of a percent may be said in words, as above.
    share = Fraction(1, 10**3) + value / (value + 1) * Fraction(998, 10**3)
    least, most = (
        Fraction(shown(share).removesuffix(" %")) / 100
        for shown in (printed.share_at_least, printed.share_at_most)
    )
    assert share - Fraction(1, 10**4) < least <= share <= most < share + Fraction(1, 10**4)


def test_a_list_says_whether_there_are_more() -> None:
    assert first_of(range(1, 11)) == "1, 2, 3, 4, 5, 6, 7, 8, 9, 10"
    assert first_of(list("abc"), 2) == "a, b and more"
    assert not first_of([])
