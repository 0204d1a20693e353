"""Formulas of the documentation are understood, break where they may, and one that is not understood is refused."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest

from docs.loading import tool

mathml = tool("mathml")


def words(parts: list[str]) -> list[str]:
    """Read what a piece shows, signs in a row."""
    return ["".join(ET.fromstring(part).itertext()) for part in parts]  # noqa: S314 - our own formulas


def test_a_formula_on_its_own_line_is_one_element_and_keeps_its_name() -> None:
    parts, name = mathml.as_mathml(r"x = \min_k y_k, \qquad a \le b. \tag{3}", block=True)
    assert name == "3"
    assert len(parts) == 1
    assert 'display="block"' in parts[0]
    assert "<munder>" in parts[0]
    assert "tag" not in parts[0]


def test_a_long_formula_breaks_before_relations_and_after_commas_but_in_no_parenthesis() -> None:
    parts, name = mathml.as_mathml(r"f(a, b = c) \le g(x, y) + h, \quad z \in Z", block=False)
    assert name is None
    assert [re.sub(r"\s", "", piece) for piece in words(parts)] == [
        "f(a,b=c)",
        "≤g(x,y)+h,",
        "z",
        "∈Z",
    ]
    assert 'form="infix"' in parts[1]


def test_a_short_formula_is_not_broken() -> None:
    assert words(mathml.as_mathml(r"a \le b", block=False)[0]) == ["a≤b"]


def test_large_braces_are_braces() -> None:
    (shown,) = words(mathml.as_mathml(r"\min \Bigl\{ x \Bigr\}", block=True)[0])
    assert shown == "min{x}"


def test_a_command_that_nobody_knows_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^\\nonsense is not understood in"):
        mathml.as_mathml(r"x \nonsense y", block=False)
