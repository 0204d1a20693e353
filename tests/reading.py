"""Reads what is printed again: each number went through the formatter, and lies on its stated side.

The formatter is watched, and in a second run fed with random fractions from 1e-12 to 1e15 in place of every number
that it is given. Every number that a reader sees must then be one that it wrote, or a whole number, which is exact.
A run may also print each number rounded to the other side, after what was to be printed was found on its own.
"""

from __future__ import annotations

import html
import random
import re
import sys
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR
from fractions import Fraction
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import jinja2
import numpy as np
import pytest

import discreet
from discreet.core import printed
from meta.house import modules

if TYPE_CHECKING:
    from collections.abc import Callable

SIDES = {"at_least": -1, "share_at_least": -1, "at_most": 1, "share_at_most": 1}
"""Function of the formatter -> the side on which its text lies; others are rounded to the nearest."""

NUMBER = re.compile(
    r"(?<![\w.#])[-+±]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[-+]?\d+)?(?![\w#])(?: ?%)?"
)
"""A number as people see one, and the percent sign behind it."""

EXCEPTIONS = {
    r"\bPython 3\.\d+|\b[\w-]+ \d+\.\d+(?:\.\d+)+\b": "a version",
    r"(?<![\w.])(?=\d*[a-f])[0-9a-f]{16,}\b": "a digest",
    r"\b\d{4}-\d\d-\d\d[T ][\d:.+]*": "a time",
    r"\bhttps?://\S+": "an address",
}
"""What is no number, though digits with a point stand in it -> what it is."""

_EXCEPTED = re.compile("|".join(EXCEPTIONS))

_OTHER_WAY = {ROUND_FLOOR: ROUND_CEILING, ROUND_CEILING: ROUND_FLOOR}


class UntrueError(AssertionError):
    """A number was printed that the formatter did not write, or that lies on the wrong side."""


@dataclass
class Formatter:
    """What the formatter wrote: the function, the number, the text."""

    written: list[tuple[str, Fraction, str]] = field(default_factory=list)
    draw: random.Random | None = None
    reversed: bool = False
    untrue: list[str] = field(default_factory=list)

    def number(self, value: Any, most: int) -> Any:
        """Return the number to print: the caller's, or a random one in its place."""
        if self.draw is None or value is None:
            return value
        size = self.draw.randrange(-12, most)
        return Fraction(self.draw.randrange(10**20, 10**21), 10**20) * Fraction(10) ** size

    def note(self, name: str, value: Any, write: Callable[..., str], rounding: str) -> str:
        """Write a number, note the text and return it: where what is printed is reversed, that on the other side.

        What is at most a number is then rounded down, and what is at least one up, and the text that would have been
        printed is checked at once.
        """
        text = write(rounding=rounding)
        if value is None or (isinstance(value, float) and not np.isfinite(value)):
            return text
        if self.reversed:
            try:
                check_side(name, Fraction(value), text)
            except UntrueError:
                self.untrue.append(text)
            with patch.multiple(printed, ROUND_FLOOR=ROUND_CEILING, ROUND_CEILING=ROUND_FLOOR):
                text = write(rounding=_OTHER_WAY.get(rounding, rounding))
        self.written.append((name, Fraction(value), text))
        return text

    def check(self, text: str, typed: str = "") -> set[str]:
        """Read a text again; return the functions that wrote it."""
        self.check_written(text, typed)
        for name, value, shown in self.written:
            check_side(name, value, shown)
        return {name for name, _, shown in self.written if shown in text}

    def check_written(self, text: str, typed: str = "") -> None:
        """Find each number of a text among those that were written, on whichever side."""
        known = {number.strip("±+") for _, _, shown in self.written for number in found_in(shown)}
        known |= {number.strip("±+") for number in found_in(typed)}
        for number in found_in(_EXCEPTED.sub(" ", text)):
            plain = number.strip("±+")
            if (
                plain in known
                or plain.removesuffix("%").strip() in known
                or plain.lstrip("-").isdigit()
            ):
                continue
            at = max(0, text.find(f" {number}") - 50)
            raise UntrueError(
                f"{number!r} was not written by the formatter: {text[at : at + 90]!r}"
            )

    def sides(self, text: str) -> tuple[set[int], set[int]]:
        """Return the sides of rounded numbers of a text, and those of them with one that lies on the wrong side."""
        used: set[int] = set()
        wrong: set[int] = set()
        for name, value, shown in self.written:
            if name in SIDES and shown in text and not shown.startswith(("above", "below")):
                used.add(SIDES[name])
                try:
                    check_side(name, value, shown)
                except UntrueError:
                    wrong.add(SIDES[name])
        return used, wrong


def seeded(seed: int) -> random.Random:
    """Draw the same numbers each time."""
    return random.Random(seed)  # noqa: S311 - numbers to print


def found_in(text: str) -> list[str]:
    """List the numbers of a text."""
    return [match[0].rstrip(",") for match in NUMBER.finditer(text)]


def check_side(name: str, value: Fraction, shown: str) -> None:
    """Parse a text again, and compare it with the number that it stands for."""
    numbers = found_in(shown)
    if not numbers:
        return
    scale = 100 if "%" in shown else 1
    read = Fraction(numbers[0].rstrip("% ").replace(",", "")) / scale
    if scale == 100 and read in (0, 1) and not shown.startswith(("above", "below")):
        assert_true(read == value, shown)
    if shown.startswith("above"):
        assert_true(read < value and name not in {"at_most", "share_at_most"}, shown)
    elif shown.startswith("below"):
        assert_true(value < read and (read < 1 or name == "share_at_most"), shown)
    elif side := SIDES.get(name):
        assert_true((read - value) * side >= 0, shown)
    near = abs(read - value) <= max(abs(value) / 10, Fraction(1, 10**3))
    assert_true(near or shown.startswith(("above", "below")), shown)


def assert_true(holds: bool, shown: str) -> None:  # noqa: FBT001 - what is asserted
    """Raise unless a comparison holds."""
    if not holds:
        raise UntrueError(f"{shown!r} is on the wrong side")


def watch(monkeypatch: pytest.MonkeyPatch) -> Formatter:
    """Watch the formatter."""
    found = Formatter()
    significant, percent, exactly = printed._significant, printed._percent, printed.decimal

    def caller() -> str:
        return sys._getframe(2).f_code.co_name

    def watched(value: Any, digits: int, rounding: str, unit: str = "") -> str:
        name = caller()
        # Inside of a percentage the number was drawn before.
        if name == "_percent":
            return significant(value, digits, rounding, unit)
        value = found.number(value, 15)
        write = partial(significant, value, digits, unit=unit)
        return found.note(name, value, write, rounding)

    def watched_percent(value: Any, decimals: int, rounding: str) -> str:
        name, value = caller(), found.number(value, 1)
        return found.note(name, value, partial(percent, value, decimals), rounding)

    def watched_exact(value: Fraction) -> str:
        text = exactly(value)
        if "/" not in text:
            found.written.append(("decimal", value, text))
        return text

    def watched_position(value: float, decimals: int = 1) -> str:
        text = str(round(float(value), decimals)).removesuffix(".0")
        found.written.append(("position", Fraction(text), text))
        return text

    whole = printed.count

    def watched_count(value: Any) -> str:
        text = whole(value)
        found.written.append(("count", Fraction(value.__index__()), text))
        return text

    replace_everywhere(
        {
            significant: watched,
            percent: watched_percent,
            exactly: watched_exact,
            whole: watched_count,
            printed.position: watched_position,
        },
        monkeypatch,
    )
    return found


@cache
def printers() -> list[str]:
    """List the modules that name the formatter."""
    found = modules(Path(discreet.__file__).parent)
    return [name for name, path in found.items() if b"printed" in path.read_bytes()]


def replace_everywhere(
    functions: dict[Callable[..., str], Callable[..., str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Replace functions in the modules that have names of them, all of which are imported before.

    One that was first imported meanwhile would keep what is put in their place.
    """
    for name in printers():
        import_module(name)
    for module in [one for name, one in sys.modules.items() if name.startswith("discreet")]:
        for name, value in list(vars(module).items()):
            if isinstance(value, FunctionType) and value in functions:
                monkeypatch.setattr(module, name, functions[value])


def visible(page: str) -> str:
    """Return what a reader sees of a page: no scripts, drawings, attributes and code."""
    text = re.sub(r"<(script|style|svg|code|pre)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", text)))


def watch_templates(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Note the templates of the studio and of reports that are rendered from now on."""
    rendered: set[str] = set()
    load: Callable[..., jinja2.Template] = jinja2.Environment._load_template

    def noted(self: jinja2.Environment, name: str, values: Any) -> jinja2.Template:
        package = getattr(self.loader, "package_name", "")
        rendered.add(f"{package.removeprefix('discreet.')}/{name}")
        return load(self, name, values)

    monkeypatch.setattr(jinja2.Environment, "_load_template", noted)
    return rendered
