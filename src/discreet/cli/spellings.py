"""Other spellings of commands, options and values, read as ours: in one place, for all commands.

People type what other tools call a thing, an underscore for a hyphen, the beginning of a long option, a space after a
comma, degrees and percent. What is read as something else is said on standard error. A spelling that could mean two
guarantees is read as neither.
"""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.cli.commands import OWN, command_named
from discreet.core.errors import InvalidProblemError
from discreet.core.exact import to_fraction

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["respell"]

COMMANDS = {
    "anonymise": "anonymize",
    "anonymization": "anonymize",
    "anonymize-table": "anonymize",
    "kanonymize": "anonymize",
    "k-anonymize": "anonymize",
    "count": "counts",
    "histogram": "counts",
    "tables": "counts",
    "marginals": "counts",
    "choose": "select",
    "maximize": "select",
    "check": "verify",
    "validate": "verify",
    "server": "serve",
    "geo": "locate",
    "location": "locate",
    "perturb": "sample",
    "describe": "info",
    "show": "info",
    "ui": "studio",
    "gui": "studio",
    "diagnose": "doctor",
    "benchmark": "compare",
    "ledger": "budget",
    "budgets": "budget",
    "risks": "risk",
    "reidentification-risk": "risk",
}
"""What others call a command -> our name."""

FILE = "the file"
"""In place of an option: its value is the argument without a name."""

OPTIONS: dict[str, tuple[str, ...]] = {
    "budget": ("--epsilon",),
    "e": ("--epsilon",),
    "privacy-budget": ("--epsilon",),
    "privacy-loss": ("--epsilon",),
    "protected-change": ("--neighbors",),
    "privacy-key": ("--unit",),
    "hhid": ("--unit",),
    "household-id": ("--unit",),
    "id-column": ("--unit",),
    "quasi-ident": ("--quasi",),
    "sens-att": ("--sensitive",),
    "sensible-var": ("--sensitive",),
    "sensiblevar": ("--sensitive",),
    "num-vars": ("--numeric",),
    "numvars": ("--numeric",),
    "cat-vars": ("--categorical",),
    "continuous": ("--numeric",),
    "weight-var": ("--weight",),
    "k-anonymity": ("--k",),
    "min-group-size": ("--k",),
    "algorithm": ("--method",),
    "optimizer": ("--method",),
    "mechanism": ("--method",),
    "qi": ("--quasi",),
    "qid": ("--quasi",),
    "qids": ("--quasi",),
    "quasi-identifier": ("--quasi",),
    "quasi-identifiers": ("--quasi",),
    "quasi-identifying": ("--quasi",),
    "quasiidentifiers": ("--quasi",),
    "key-vars": ("--quasi",),
    "keyvars": ("--quasi",),
    "sa": ("--sensitive",),
    "sensitive-attribute": ("--sensitive",),
    "sensitive-attributes": ("--sensitive",),
    "sensitive-columns": ("--sensitive",),
    "identifier": ("--drop",),
    "identifiers": ("--drop",),
    "identifying": ("--drop",),
    "direct-identifiers": ("--drop",),
    "insensitive": ("--keep",),
    "insensitive-attributes": ("--keep",),
    "l": ("--l-diversity",),
    "ldiversity": ("--l-diversity",),
    "tcloseness": ("--t-closeness",),
    "suppression": ("--suppress",),
    "suppression-limit": ("--suppress",),
    "max-suppression": ("--suppress",),
    "hierarchy": ("--taxonomy", "--regions"),
    "hierarchies": ("--taxonomy", "--regions"),
    "generalization": ("--taxonomy",),
    "o": ("--output",),
    "out": ("--output",),
    "outfile": ("--output",),
    "output-file": ("--output",),
    "to": ("--output",),
    "i": (FILE,),
    "in": (FILE,),
    "input": (FILE,),
    "input-file": (FILE,),
    "file": (FILE,),
    "data": (FILE,),
    "csv": (FILE,),
    "timeout": ("--time-limit",),
    "max-time": ("--time-limit",),
    "seconds": ("--time-limit",),
    "workers": ("--threads",),
    "jobs": ("--threads",),
    "n-jobs": ("--threads",),
    "j": ("--threads",),
    "cores": ("--threads",),
    "nprocs": ("--threads",),
    "neighbours": ("--neighbors",),
    "neighboring": ("--neighbors",),
    "adjacency": ("--neighbors",),
    "group-by": ("--regions", "--by"),
    "groupby": ("--regions", "--by"),
    "geolevels": ("--regions",),
    "geography": ("--regions",),
    "levels-of-geography": ("--regions",),
    "privacy-unit": ("--unit",),
    "privacy-id": ("--unit",),
    "unit-id": ("--unit",),
    "max-household-size": ("--max-size",),
    "max-group-size": ("--max-size",),
    "constraint": ("--matroid",),
    "items": ("--candidates",),
    "ground-set": ("--candidates",),
    "edges": ("--coverage", "--roads"),
    "similarity-matrix": ("--similarity",),
    "distance": ("--metric",),
    "objective": ("--loss",),
    "utility": ("--loss",),
    "cell-size": ("--cell",),
    "resolution": ("--cell",),
    "grid-size": ("--grid",),
    "shape": ("--grid",),
    "bounding-box": ("--bbox",),
    "extent": ("--bbox",),
    "bind": ("--host",),
    "listen": ("--host",),
    "address": ("--host",),
    "p": ("--port",),
    "cors": ("--allow-origin",),
    "url": ("--server",),
    "size": ("-n",),
    "num": ("-n",),
    "num-samples": ("-n",),
    "n-samples": ("-n",),
    "silent": ("--quiet",),
    "debug": ("--verbose",),
    "html": ("--report",),
}
"""What others call an option, without dashes -> ours, the first that the command has."""

LISTS = frozenset(
    {"--quasi", "--sensitive", "--keep", "--drop", "--numeric", "--categorical", "--regions"}
)
"""Options with names of columns, which others take one by one or with spaces between them."""

_TABLES = frozenset({".csv", ".tsv", ".parquet", ".xlsx", ".sav", ".dta"})
_FRACTIONS = frozenset({"--gap", "--suppress", "--failure", "--interval", "--t-closeness"})
_LENGTHS = frozenset({"--cell", "--radius", "--spacing"})
_DEGREES = frozenset({"--origin", "--bbox"})
_DASHES = re.compile(r"^[\u2012-\u2015\u2212]+(?=[A-Za-z])|^-[\u2012-\u2015](?=[A-Za-z])")
"""Dashes that word processors make of hyphens."""

_WITH_UNIT = re.compile(r"([\d.]+)\s*(km|m)", re.IGNORECASE)
_UNITS = {
    **dict.fromkeys(("km", "kilometer", "kilometers", "kilometre", "kilometres", "kms"), "km"),
    **dict.fromkeys(("m", "meter", "meters", "metre", "metres"), "m"),
}
_MIN_PREFIX = 3
"""Letters of an option that are enough where no other begins with them."""


def respell(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return arguments in our spelling, and what was read as what.

    Parameters
    ----------
    arguments
        What was typed after ``discreet``.

    Returns
    -------
    list of str
        The arguments; those that nothing here knows are as they were.
    list of str
        Phrases for standard error, none for what only has another form, such as spaces.

    Raises
    ------
    InvalidProblemError
        For a file in the place of a command.

    Examples
    --------
    >>> respell(["anonymise", "a.csv", "-k", "5", "--qi", "age,", "sex"])
    (['anonymize', 'a.csv', '-k', '5', '--quasi', 'age,sex'], ['anonymise as anonymize', '--qi as --quasi'])
    """
    words = [_DASHES.sub(_hyphens, word) for word in arguments]
    notes: list[str] = []
    if words[:1] == ["version"]:
        return ["--version"], notes
    if words[:1] == ["help"]:
        words = [*words[1:2], "--help"]
    own = {name for names in OWN.values() for name in names}
    if not words or words[0].startswith("-"):
        return words, notes
    name = words[0] if words[0] in own else words[0].lower()
    name = COMMANDS.get(name, name)
    if name not in own:
        if Path(name).suffix in _TABLES:
            expected = "a command before the file: anonymize, risk, counts, design or verify"
            raise InvalidProblemError("arguments", expected, repr(words[0]))
        return words, notes
    if name != words[0]:
        notes.append(f"{words[0]} as {name}")
    command, start = command_named(name), 1
    below = getattr(command, "commands", {})
    if below and words[1:2] and words[1] in below:
        command, start = below[words[1]], 2
    rest = _options(words[start:], command, notes)
    rest = _joined(_grouped(rest, command))
    return [name, *words[1:start], *_values(rest, name, _known(command))], notes


def _hyphens(found: re.Match[str]) -> str:
    """Return one hyphen before a single letter, two before a word."""
    return "-" if re.fullmatch(r"\w(=.*)?", found.string[found.end() :]) else "--"


def _known(command: Any) -> dict[str, bool]:  # noqa: ANN401 - a class that depends on Typer's version
    """Return the options of a command: name -> whether it takes a value."""
    known = {"--help": False, "--install-completion": False}
    for one in command.params:
        for option in (*one.opts, *one.secondary_opts):
            if option.startswith("-"):
                known[option] = not getattr(one, "is_flag", False)
    return known


def _options(words: Sequence[str], command: Any, notes: list[str]) -> list[str]:  # noqa: ANN401 - as above
    """Replace names of options, and write each as a word of its own, with its value behind it."""
    known, made, is_value = _known(command), [], False
    for at, word in enumerate(words):
        if is_value or word in {"-", "--"} or not re.match(r"-+[A-Za-z]", word):
            made.append(word)
            is_value = False
            continue
        typed, equals, value = word.partition("=")
        option = typed if typed in known or _is_joined(typed, known) else _ours(typed, known)
        if option is None:
            made += [word]
            continue
        if option != typed:
            notes.append(f"{typed} as {option}")
        if option == FILE:
            made += [value] if equals else []
        elif equals:
            made.append(f"{option}={value}")
        else:
            made.append(option)
            is_value = known.get(option, False) and at + 1 < len(words)
    return made


def _is_joined(typed: str, known: dict[str, bool]) -> bool:
    """Return whether a word is a short option with its value, as in ``-k5``, or several flags, as in ``-qv``."""
    if typed.startswith("--") or typed[:2] not in known:
        return False
    if known[typed[:2]]:
        return typed[2:3].isdigit()
    return all(f"-{letter}" in known for letter in typed[1:])


def _ours(typed: str, known: dict[str, bool]) -> str | None:
    """Return our name of an option, ``FILE``, or ``None`` where nothing is near without a doubt."""
    key = typed.lstrip("-").replace("_", "-").strip("-")
    for each in dict.fromkeys((key, key.lower())):
        for form in (
            f"--{each}",
            f"-{each}" if len(each) == 1 else "",
            f"--{each}s",
            f"--{each.removesuffix('s')}",
        ):
            if form in known:
                return form
    key = key.lower()
    for option in OPTIONS.get(key, ()):
        if option == FILE or option in known:
            return option
    if len(key) >= _MIN_PREFIX:
        begun = [option for option in known if option.startswith(f"--{key}")]
        if len(begun) == 1:
            return begun[0]
    return None


def _grouped(words: Sequence[str], command: Any) -> list[str]:  # noqa: ANN401 - as above
    """Join names of columns that have spaces between them: ``age, sex`` and ``age sex`` are ``age,sex``."""
    takes_file = any(not one.opts[0].startswith("-") for one in command.params)
    made: list[str] = []
    left = list(words)
    while left:
        word = left.pop(0)
        made.append(word)
        if word not in LISTS and word.partition("=")[0] not in LISTS:
            continue
        value = "" if "=" in word else (left.pop(0) if left else "")
        while (
            left
            and not re.match(r"-+[A-Za-z]", left[0])
            and (
                (value or word).rstrip().endswith(",")
                or left[0].startswith(",")
                or not _is_file(left[0], takes_file)
            )
        ):
            comma = "" if (value or word).rstrip().endswith(",") or left[0].startswith(",") else ","
            value = f"{value}{comma}{left.pop(0)}"
        if "=" in word:
            made[-1] = word + value
        elif value:
            made.append(value)
    return made


def _is_file(word: str, takes_file: bool) -> bool:  # noqa: FBT001 - whether the command takes a file
    return takes_file and (Path(word).suffix != "" or Path(word).exists())


def _joined(words: Sequence[str]) -> list[str]:
    """Join the values of a list that was given option by option, which Typer would take the last of."""
    made: list[str] = []
    place: dict[str, int] = {}
    left = list(words)
    while left:
        word = left.pop(0)
        option, equals, value = word.partition("=")
        if option not in LISTS or not (equals or left):
            made.append(word)
            continue
        value = value if equals else left.pop(0)
        if option in place:
            made[place[option]] += f",{value}"
        else:
            made += [option, value]
            place[option] = len(made) - 1
    return made


def _values(words: Sequence[str], command: str, known: dict[str, bool]) -> list[str]:
    """Rewrite values: percent, degrees, units, other signs between numbers, spaces around commas."""
    after = {word: value for word, value in pairwise(words) if word in {"--unit", "--epsilon"}}
    unit, budget = after.get("--unit", ""), after.get("--epsilon", "")
    unit = _UNITS.get((unit or _budget(budget).partition("/")[2]).lower(), "km")
    made: list[str] = []
    left = list(words)
    while left:
        word = left.pop(0)
        option, equals, value = word.partition("=")
        if option.startswith("--") and equals:
            made.append(f"{option}={_value(option, value, command, unit)}")
        elif known.get(word, False) and left:
            made += [word, _value(word, left.pop(0), command, unit)]
        else:
            made.append(word)
    return made


def _value(option: str, text: str, command: str, unit: str) -> str:
    rules: list[tuple[bool, Callable[[str], str]]] = [
        # Blanks within quotes belong to a name.
        (
            option in LISTS and not {"'", '"'} & set(text),
            lambda value: re.sub(r"\s*,\s*", ",", value.strip()),
        ),
        (option in _FRACTIONS, _fraction),
        (option == "--epsilon", _budget),
        (option == "--grid", _grid),
        (option in _DEGREES, _degrees),
        (option in _LENGTHS, lambda value: _length(value, unit)),
        (option == "--neighbors", lambda value: re.sub(r"[\s_]+", "-", value.strip().lower())),
        (
            option == "--unit" and command in {"design", "compare", "serve"},
            lambda value: _UNITS.get(value.lower(), value),
        ),
    ]
    for holds, rule in rules:
        if holds:
            return rule(text)
    return text


def _fraction(text: str) -> str:
    """Convert a percentage to a decimal exactly, such as "2.5%" to "0.025"; return any other text unchanged."""
    number = text.strip().removesuffix("%").strip()
    if not text.strip().endswith("%") or not re.fullmatch(r"\d+(\.\d+)?", number):
        return text
    # Exactly: the point goes two places to the left.
    integer, _, part = number.partition(".")
    digits = integer.rjust(3, "0")
    return f"{digits[:-2].lstrip('0') or '0'}.{digits[-2:]}{part}"


def _budget(text: str) -> str:
    parts = re.fullmatch(r"\s*([\d.]+)\s*(?:/|\bper\b)\s*([A-Za-z]+)\s*", text)
    return text if parts is None else f"{parts[1]}/{_UNITS.get(parts[2].lower(), parts[2])}"


def _grid(text: str) -> str:
    parts = re.fullmatch(r"\s*(\d+)\s*(?:[xX\u00d7*,]\s*(\d+))?\s*", text)
    return text if parts is None else f"{parts[1]}x{parts[2] or parts[1]}"


def _degrees(text: str) -> str:
    parts = []
    for part in re.split(r"\s*[,;]\s*|\s+", text.strip()):
        number = re.fullmatch(r"(-?[\d.]+)°?([NSEWnsew]?)", part)
        if number is None:
            return text
        parts.append(f"-{number[1]}" if number[2].upper() in {"S", "W"} else number[1])
    return ",".join(parts)


def _length(text: str, unit: str) -> str:
    parts = _WITH_UNIT.fullmatch(text.strip())
    if parts is None or parts[2].lower() == unit:
        return text if parts is None else parts[1]
    meters = to_fraction(parts[1], "a length") * (1000 if parts[2].lower() == "km" else 1)
    return str(float(meters / (1000 if unit == "km" else 1)))
