"""What comes from a file is printed on one line, harmless, and not too long."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.printed import LONGEST, one_line


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
    assert one_line("x" * LONGEST) == "x" * LONGEST
    assert one_line("x" * (LONGEST + 1)) == "x" * LONGEST + f"... ({LONGEST + 1} characters)"
    assert one_line(12345, 3) == "123... (5 characters)"
