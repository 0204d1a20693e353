"""Mutations of what a file states: every field and member, alone and in pairs, the same ones for the same number.

A file is taken apart into *parts*: mappings, lists, numbers, texts, nothing, and arrays. :func:`changes_of` is the
catalogue of what is done to a part by its type, :func:`places_in` names all parts, and :class:`Catalogue` numbers the
mutants. What a mutation means for a kind of file, a verifier and an oracle say.
"""
# ruff: noqa: S311 - parts of any file; chance that makes mutants, and no noise

from __future__ import annotations

import math
import random
import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np

Place = tuple[str | int, ...]
"""Where a part stands: keys of mappings and positions in lists, from the outside in."""

Change = Callable[[Any, random.Random], Any]

_NUMBER = re.compile(r"[+-]?\d{1,60}(\.\d{1,60}|/[1-9]\d{0,60})?", re.ASCII)

_STRANGE: dict[str, Any] = {
    "not a number": math.nan,
    "infinite": math.inf,
    "minus infinity": -math.inf,
    "text of infinity": "inf",
    "a huge exponent": "1e300000000",
    "a tiny exponent": "1e-300000000",
    "beyond all floats": "1e999",
    "below all floats": "1e-999",
    "one over nothing": "1/0",
    "digits of another script": "\u0663",
    "digits with a space": " 1 ",
    "digits with a bar": "1_0",
    "hexadecimal": "0x10",
    "four hundred digits": 10**400,
    "2^63": 1 << 63,
    "minus 2^63": -(1 << 63),
    "negative zero": -0.0,
    "the least float": 5e-324,
    "the largest float": 1.7976931348623157e308,
    "true": True,
    "nothing": None,
    "empty text": "",
    "a list": [1],
    "a mapping": {"a": 1},
}
"""What stands in place of a number."""

_FACTORS: dict[str, Fraction] = {
    "doubled": Fraction(2),
    "halved": Fraction(1, 2),
    "a billionth more": 1 + Fraction(1, 10**9),
    "a billionth less": 1 - Fraction(1, 10**9),
    "a tenth more": Fraction(11, 10),
    "a tenth less": Fraction(9, 10),
    "a thousand times": Fraction(1000),
    "a thousandth": Fraction(1, 1000),
    "negative": Fraction(-1),
    "zero": Fraction(0),
}

_TYPES = (
    "<f2",
    "<f4",
    "<f8",
    "<i1",
    "<i2",
    "<i4",
    "<i8",
    "<u1",
    "<u8",
    "|b1",
    ">i8",
    ">f8",
    "<c16",
    "<U8",
)
"""Narrower and wider types of arrays, and foreign ones."""

_ENTRIES: dict[str, Any] = {
    "not a number": math.nan,
    "infinite": math.inf,
    "minus one": -1,
    "zero": 0,
    "one": 1,
    "negative zero": -0.0,
    "2^62": 1 << 62,
    "2^63 - 1": (1 << 63) - 1,
    "-2^63": -(1 << 63),
    "huge": 1e300,
}


@final
class Twin(str):
    """A key that is equal to none, so that a mapping can hold its text twice, and JSON then has it twice."""

    __slots__ = ()

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other


@final
@dataclass(frozen=True, eq=False)
class Mutant:
    """Parts that were changed, and how.

    Parameters
    ----------
    parts
        The parts, all else shared with the original.
    changes
        One line for each change: the place and the name of the change.
    """

    parts: Any
    changes: tuple[str, ...]


def places_in(parts: object, most: int = 64) -> list[Place]:
    """Name every part: the whole, every entry of mappings and lists, and theirs.

    Parameters
    ----------
    parts
        What a file was taken apart into.
    most
        Entries of one list that are looked into: the first and the last of a longer one.

    Examples
    --------
    >>> places_in({"epsilon": "1", "rows": [3, 4]})
    [(), ('epsilon',), ('rows',), ('rows', 0), ('rows', 1)]
    """
    found: list[Place] = [()]
    if isinstance(parts, Mapping):
        for key, value in parts.items():
            found += [(key, *rest) for rest in places_in(value, most)]
    elif isinstance(parts, list):
        ends = [*range(len(parts))[: most // 2], *range(len(parts))[most // 2 :][-most // 2 :]]
        for at in ends:
            found += [(at, *rest) for rest in places_in(parts[at], most)]
    return found


def changes_of(value: object, words: Iterable[str] = ()) -> dict[str, Change]:
    """Give the catalogue for a part, by its type.

    Parameters
    ----------
    value
        The part.
    words
        Texts that mean something in files of this kind: units, metrics, names of rules. A text becomes each of them.

    Returns
    -------
    dict
        Name of the change -> ``change(value, chance)``, which gives the new part and leaves the old one as it is.

    Examples
    --------
    >>> import random
    >>> sorted(changes_of(None))[:3]
    ['2^63', 'a huge exponent', 'a list']
    >>> changes_of("1/2")["doubled"]("1/2", random.Random(0))
    '1'
    >>> changes_of({"a": 1})["drop"]({"a": 1}, random.Random(0))
    {}
    """
    if isinstance(value, np.ndarray):
        return _array()
    if isinstance(value, Mapping):
        return _mapping()
    if isinstance(value, list):
        return _list()
    made = {name: _always(one) for name, one in _STRANGE.items()}
    if value is None:
        return made
    if isinstance(value, bool):
        return made | {"the other": lambda x, _: not x, "as a number": lambda x, _: int(x)}
    if isinstance(value, int | float):
        return made | _number(value)
    if isinstance(value, str):
        if _NUMBER.fullmatch(value):
            made |= _number(value)
        return made | _text(words)
    return made


def _always(value: object) -> Change:
    return lambda _, __: value


def _number(value: float | str) -> dict[str, Change]:
    """Change a number and keep its form: text, integer or float."""
    made: dict[str, Change] = {}
    if isinstance(value, float) and not math.isfinite(value):
        return made
    exact = Fraction(value)
    for name, factor in _FACTORS.items():
        made[name] = _always(_formed(exact * factor, value))
    for name, step in (("one more", 1), ("one less", -1)):
        made[name] = _always(_formed(exact + step, value))
    made["as text"] = _always(str(value))
    made["as a float"] = _always(float(exact) if abs(exact) < 1 << 1000 else 1e300)
    if exact.denominator == 1:
        made["as an integer"] = _always(int(exact))
    return made


def _formed(exact: Fraction, like: float | str) -> float | str:
    if isinstance(like, str):
        return str(exact)
    if isinstance(like, int) and exact.denominator == 1:
        return int(exact)
    return float(exact) if abs(exact) < 1 << 1000 else 1e300


def _text(words: Iterable[str]) -> dict[str, Change]:
    made: dict[str, Change] = {
        "a space": _always(" "),
        "in capitals": lambda x, _: x.upper(),
        "with an end": lambda x, _: f"{x}x",
        "with a zero byte": lambda x, _: f"{x}\x00",
        "with an escape": lambda x, _: f"{x}\x1b[2J",
        "with a turn": lambda x, _: f"\u202e{x}",
        "with a line": lambda x, _: f"{x}\nok",
        "with half a character": lambda x, _: f"{x}\ud800",
        "ten thousand letters": _always("x" * 10_000),
        "reversed": lambda x, _: x[::-1],
        "cut short": lambda x, _: x[:-1],
        "a number": _always(1),
    }
    return made | {f"now {word}": _always(word) for word in words}


def _mapping() -> dict[str, Change]:
    def drop(value: Any, chance: random.Random) -> Any:
        gone = chance.choice([*value]) if value else None
        return {key: one for key, one in value.items() if key != gone}

    def double(value: Any, chance: random.Random) -> Any:
        if not value:
            return value
        key = chance.choice([*value])
        other = chance.choice([value[key], *value.values()])
        # The second one counts for some readers, the first one for others.
        twin = {Twin(key): other}
        return {**value, **twin} if chance.random() < 0.5 else {**twin, **value}

    def rename(value: Any, chance: random.Random) -> Any:
        gone = chance.choice([*value]) if value else None
        return {f"{key}x" if key == gone else key: one for key, one in value.items()}

    def exchange(value: Any, chance: random.Random) -> Any:
        if len(value) < 2:
            return value
        one, other = chance.sample([*value], 2)
        return {**value, one: value[other], other: value[one]}

    return {
        "drop": drop,
        "a key twice": double,
        "rename": rename,
        "exchange two": exchange,
        "one more": lambda value, _: {**value, "more": 1},
        "other order": lambda value, _: dict(reversed(value.items())),
        "emptied": _always({}),
        "nothing": _always(None),
        "a list": lambda value, _: [*value.values()],
    }


def _list() -> dict[str, Change]:
    def without(value: list[Any], chance: random.Random) -> list[Any]:
        gone = chance.randrange(len(value)) if value else 0
        return value[:gone] + value[gone + 1 :]

    def twice(value: list[Any], chance: random.Random) -> list[Any]:
        again = chance.randrange(len(value)) if value else 0
        return value[: again + 1] + value[again:]

    def exchanged(value: list[Any], chance: random.Random) -> list[Any]:
        if len(value) < 2:
            return value
        made = [*value]
        one, other = chance.sample(range(len(value)), 2)
        made[one], made[other] = made[other], made[one]
        return made

    def copied(value: list[Any], chance: random.Random) -> list[Any]:
        if len(value) < 2:
            return value
        made = [*value]
        one, other = chance.sample(range(len(value)), 2)
        made[one] = made[other]
        return made

    return {
        "without one": without,
        "one twice": twice,
        "two exchanged": exchanged,
        "one as another": copied,
        "reversed": lambda value, _: value[::-1],
        "without the first": lambda value, _: value[1:],
        "without the last": lambda value, _: value[:-1],
        "emptied": _always([]),
        "nothing": _always(None),
        "with a number": lambda value, _: [*value, 1],
        "with nothing": lambda value, _: [*value, None],
        "with a list": lambda value, _: [*value, [1]],
        "within another": lambda value, _: [value],
        "a mapping": _always({}),
        "a text": _always("x"),
    }


def _array() -> dict[str, Change]:  # noqa: C901 - a catalogue
    def cast(kind: str) -> Change:
        return lambda value, _: value.astype(kind)

    def entry(new: object) -> Change:
        def change(value: np.ndarray[Any, Any], chance: random.Random) -> np.ndarray[Any, Any]:
            made = value.copy()
            if made.size:
                made.reshape(-1)[chance.randrange(made.size)] = new
            return made

        return change

    def moved(by: Callable[[Any, random.Random], Any]) -> Change:
        def change(value: np.ndarray[Any, Any], chance: random.Random) -> np.ndarray[Any, Any]:
            made = value.copy()
            if made.size:
                flat, at = made.reshape(-1), chance.randrange(made.size)
                flat[at] = by(flat[at].item(), chance)
            return made

        return change

    def shifted(value: np.ndarray[Any, Any], chance: random.Random) -> np.ndarray[Any, Any]:
        """Take from one entry what another one of its row gets."""
        made = value.copy()
        rows = made.reshape(-1, made.shape[-1]) if made.ndim and made.size else made.reshape(0, 0)
        if rows.shape[0] and rows.shape[1] > 1:
            row = rows[chance.randrange(len(rows))]
            one, other = chance.sample(range(len(row)), 2)
            whole = row[one].item()
            # A little of it, or a lot: an inequality may have room.
            part = whole / chance.choice([2, 16, 2**20])
            part = int(part) if isinstance(whole, int) else part
            row[one] -= row.dtype.type(part)
            row[other] += row.dtype.type(part)
        return made

    def exchanged(value: np.ndarray[Any, Any], chance: random.Random) -> np.ndarray[Any, Any]:
        made = value.copy()
        if made.size > 1:
            flat = made.reshape(-1)
            one, other = chance.sample(range(made.size), 2)
            flat[one], flat[other] = flat[other].item(), flat[one].item()
        return made

    def row(change: Callable[[Any, int], Any]) -> Change:
        def apply(value: np.ndarray[Any, Any], chance: random.Random) -> np.ndarray[Any, Any]:
            if not value.ndim or not len(value):
                return value.reshape(1, -1)
            return np.asarray(change(value, chance.randrange(len(value))))

        return apply

    made: dict[str, Change] = {f"as {kind}": cast(kind) for kind in _TYPES}
    made |= {f"an entry {name}": entry(new) for name, new in _ENTRIES.items()}
    made |= {
        "an entry doubled": moved(lambda x, _: 2 * x),
        "an entry halved": moved(lambda x, _: x // 2 if isinstance(x, int) else x / 2),
        "an entry one more": moved(lambda x, _: x + 1),
        "an entry one less": moved(lambda x, _: x - 1),
        "an entry negative": moved(lambda x, _: -x),
        "an entry a millionth more": moved(
            lambda x, _: x + max(1, x >> 20) if isinstance(x, int) else x * (1 + 1e-6)
        ),
        "an entry somewhere": moved(
            lambda x, chance: (
                chance.choice([-2, -1, 2, 3, 5, 7, 100])
                if isinstance(x, int)
                else chance.gauss(0, 3)
            )
        ),
        "part of an entry moved": shifted,
        "two exchanged": exchanged,
        "all doubled": lambda value, _: value * 2,
        "all halved": lambda value, _: (value / 2).astype(value.dtype),
        "all negative": lambda value, _: (-value.astype(float)).astype(value.dtype),
        "all zero": lambda value, _: np.zeros_like(value),
        "all one": lambda value, _: np.ones_like(value),
        "reversed": lambda value, _: value[::-1].copy() if value.ndim else value,
        "transposed": lambda value, _: np.ascontiguousarray(value.T),
        "by columns": lambda value, _: np.asfortranarray(value),
        "flat": lambda value, _: value.reshape(-1),
        "one dimension more": lambda value, _: value[None],
        "a row less": row(lambda value, at: np.delete(value, at, axis=0)),
        "a row twice": row(lambda value, at: np.insert(value, at, value[at], axis=0)),
        "a row of zeros": row(lambda value, at: np.insert(value, at, 0, axis=0)),
        "emptied": lambda value, _: value[:0] if value.ndim else value,
        "a column less": lambda value, _: value[..., 1:] if value.ndim else value,
    }
    return made


@final
@dataclass(frozen=True, eq=False)
class Catalogue:
    """Numbered mutants of a few originals: the same number gives the same mutant for ever.

    Parameters
    ----------
    originals
        Parts of files that are right.
    words
        As for :func:`changes_of`.
    whole
        Changes of all parts at once that mean something for this kind, by name: ``change(parts, chance)`` changes a
        copy in place.
    most
        Entries of one list that are looked into.

    Examples
    --------
    >>> catalogue = Catalogue(({"epsilon": "1", "counts": [3, 4]},))
    >>> catalogue.mutant(0).changes == catalogue.mutant(0).changes
    True
    >>> catalogue.alone > 50
    True
    """

    originals: tuple[Any, ...]
    words: tuple[str, ...] = ()
    whole: Mapping[str, Callable[[Any, random.Random], object]] | None = None
    most: int = 64

    def __post_init__(self) -> None:
        single = [
            (which, place, name)
            for which, parts in enumerate(self.originals)
            for place in places_in(parts, self.most)
            for name in changes_of(_at(parts, place), self.words)
        ]
        # In a fixed shuffle, so that a short run is a sample of a long one.
        random.Random(0).shuffle(single)
        object.__setattr__(self, "_single", single)

    @property
    def alone(self) -> int:
        """How many changes there are of one place each."""
        single: list[Any] = self._single  # type: ignore[attr-defined] # made above
        return len(single)

    def mutant(self, number: int) -> Mutant:
        """Make the mutant of a number: every second one is one change of the list, the others are drawn.

        Parameters
        ----------
        number
            0, 1, ...; beyond twice :attr:`alone`, single changes come again with other entries.
        """
        chance = random.Random(f"mutant {number}")
        single: list[Any] = self._single  # type: ignore[attr-defined] # made above
        which, place, name = single[number // 2 % len(single)]
        if number % 2:
            which = chance.randrange(len(self.originals))
        parts, told = self.originals[which], []
        if not number % 2:
            parts, line = self._changed(parts, place, name, chance)
            told.append(line)
        else:
            for _ in range(chance.choice([1, 2, 2, 2])):
                parts, line = self._drawn(parts, chance)
                told.append(line)
        return Mutant(parts, tuple(told))

    def _drawn(self, parts: Any, chance: random.Random) -> tuple[Any, str]:
        if self.whole and chance.random() < 0.5:
            name = chance.choice([*self.whole])
            made = _copied(parts)
            try:
                with _Quietly():
                    self.whole[name](made, chance)
            except (
                ArithmeticError,
                AttributeError,
                LookupError,
                StopIteration,
                TypeError,
                ValueError,
            ):
                return parts, f"{name}: cannot be done"
            return made, name
        place = chance.choice(places_in(parts, self.most))
        name = chance.choice([*changes_of(_at(parts, place), self.words)])
        return self._changed(parts, place, name, chance)

    def _changed(
        self,
        parts: Any,
        place: Place,
        name: str,
        chance: random.Random,
    ) -> tuple[Any, str]:
        where = ".".join(map(str, place)) or "all"
        change = changes_of(_at(parts, place), self.words)[name]
        try:
            with _Quietly():
                return _put(parts, place, lambda value: change(value, chance)), f"{where}: {name}"
        except (ArithmeticError, AttributeError, LookupError, StopIteration, TypeError, ValueError):
            return parts, f"{where}: {name} cannot be done"


def _at(parts: Any, place: Place) -> Any:
    for key in place:
        parts = parts[key]
    return parts


def _put(parts: Any, place: Place, change: Callable[[Any], Any]) -> Any:
    if not place:
        return change(parts)
    made: Any = dict(parts) if isinstance(parts, Mapping) else list(parts)
    made[place[0]] = _put(parts[place[0]], place[1:], change)
    return made


def _copied(parts: Any) -> Any:
    if isinstance(parts, Mapping):
        return {key: _copied(value) for key, value in parts.items()}
    if isinstance(parts, list):
        return [_copied(value) for value in parts]
    return parts.copy() if isinstance(parts, np.ndarray) else parts


class _Quietly:
    """Let NumPy cast what cannot be cast: that is what is wanted."""

    def __enter__(self) -> None:
        self._errors, self._warnings = np.errstate(all="ignore"), warnings.catch_warnings()
        self._errors.__enter__()
        self._warnings.__enter__()
        warnings.simplefilter("ignore")

    def __exit__(self, *problem: object) -> None:
        self._warnings.__exit__(None, None, None)
        self._errors.__exit__(None, None, None)
