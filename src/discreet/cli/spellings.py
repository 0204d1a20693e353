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

FILE = "the file"
"""In place of an option: its value is the argument without a name."""

COMMANDS = {
    "anonymize": "anonymise anonymization anonymize-table kanonymize k-anonymize",
    "budget": "ledger budgets",
    "compare": "benchmark",
    "counts": "count histogram tables marginals",
    "doctor": "diagnose",
    "info": "describe show",
    "locate": "geo location",
    "risk": "risks reidentification-risk",
    "sample": "perturb",
    "select": "choose maximize",
    "serve": "server",
    "studio": "ui gui",
    "verify": "check validate",
}
"""Our name of a command -> what others call it."""

OPTIONS = {
    "--epsilon": "budget e privacy-budget privacy-loss",
    "--neighbors": "protected-change neighbours neighboring adjacency",
    "--unit": "privacy-key hhid household-id id-column privacy-unit privacy-id unit-id",
    "--quasi": "quasi-ident qi qid qids quasi-identifier quasi-identifiers quasi-identifying quasiidentifiers key-vars "
    "keyvars",
    "--sensitive": "sens-att sensible-var sensiblevar sa sensitive-attribute sensitive-attributes sensitive-columns",
    "--numeric": "num-vars numvars continuous",
    "--categorical": "cat-vars",
    "--weight": "weight-var",
    "--k": "k-anonymity min-group-size",
    "--method": "algorithm optimizer mechanism",
    "--drop": "identifier identifiers identifying direct-identifiers",
    "--keep": "insensitive insensitive-attributes",
    "--l-diversity": "l ldiversity",
    "--t-closeness": "tcloseness",
    "--suppress": "suppression suppression-limit max-suppression",
    "--taxonomy": "hierarchy hierarchies generalization",
    "--regions": "hierarchy hierarchies group-by groupby geolevels geography levels-of-geography",
    "--by": "group-by groupby",
    "--output": "o out outfile output-file to",
    FILE: "i in input input-file file data csv",
    "--time-limit": "timeout max-time seconds",
    "--threads": "workers jobs n-jobs j cores nprocs",
    "--max-size": "max-household-size max-group-size",
    "--matroid": "constraint",
    "--candidates": "items ground-set",
    "--coverage": "edges",
    "--roads": "edges",
    "--similarity": "similarity-matrix",
    "--metric": "distance",
    "--loss": "objective utility",
    "--cell": "cell-size resolution",
    "--grid": "grid-size shape",
    "--bbox": "bounding-box extent",
    "--host": "bind listen address",
    "--port": "p",
    "--allow-origin": "cors",
    "--server": "url",
    "-n": "size num num-samples n-samples",
    "--quiet": "silent",
    "--verbose": "debug",
    "--report": "html",
}
"""Our option -> what others call it, without dashes; of two options the first that a command has is meant."""

LISTS = frozenset(
    {"--quasi", "--sensitive", "--keep", "--drop", "--numeric", "--categorical", "--regions"}
)
"""Options with names of columns, which others take one by one or with spaces between them."""

_TABLES = frozenset({".csv", ".tsv", ".parquet", ".xlsx", ".sav", ".dta"})
_LENGTHS = frozenset({"--cell", "--radius", "--spacing"})
_DASHES = re.compile(r"^[\u2012-\u2015\u2212]+(?=[A-Za-z])|^-[\u2012-\u2015](?=[A-Za-z])")
"""Dashes that word processors make of hyphens."""

_WITH_UNIT = re.compile(r"([\d.]+)\s*(km|m)", re.IGNORECASE)
_UNITS = {
    **dict.fromkeys(("km", "kilometer", "kilometers", "kilometre", "kilometres", "kms"), "km"),
    **dict.fromkeys(("m", "meter", "meters", "metre", "metres"), "m"),
}


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
    name = next((ours for ours, aliases in COMMANDS.items() if name in aliases.split()), name)
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
    return [name, *words[1:start], *_values(rest, name, command)], notes


def _hyphens(found: re.Match[str]) -> str:
    """Return one hyphen before a single letter, two before a word."""
    return "-" if re.fullmatch(r"\w(=.*)?", found.string[found.end() :]) else "--"


def _known(command: Any) -> dict[str, bool]:  # noqa: ANN401 - a class that depends on Typer's version
    """Return the options of a command: name -> whether it takes a value.

    Values are False for flags.
    """
    known = {"--help": False, "--install-completion": False}
    for one in command.params:
        for option in (*one.opts, *one.secondary_opts):
            if option.startswith("-"):
                known[option] = not getattr(one, "is_flag", False)
    return known


def _options(words: Sequence[str], command: Any, notes: list[str]) -> list[str]:  # noqa: ANN401 - as above
    """Replace spellings of options by ours, and write each as a word of its own, with its value behind it.

    What was replaced is added to `notes`, as "--qi as --quasi". Unknown words stay as they are.

    `words` follow the name of `command`, a command of Typer.
    """
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
    """Return whether a word is a short option with its value, as in ``-k5``, or several flags, as in ``-qv``.

    `known` maps options to whether they take a value.
    """
    if typed.startswith("--") or typed[:2] not in known:
        return False
    if known[typed[:2]]:
        return typed[2:3].isdigit()
    return all(f"-{letter}" in known for letter in typed[1:])


def _ours(typed: str, known: dict[str, bool], *, min_letters: int = 3) -> str | None:
    """Return our name of an option, ``FILE``, or ``None`` where nothing is near without a doubt.

    `known` are the command's options.

    `typed` is the option with its dashes. Tried are: other dashes, underscores and plurals, names of other tools, and
    a beginning of `min_letters` or more that fits one option alone.
    """
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
    for option, aliases in OPTIONS.items():
        if key in aliases.split() and (option == FILE or option in known):
            return option
    if len(key) >= min_letters:
        begun = [option for option in known if option.startswith(f"--{key}")]
        if len(begun) == 1:
            return begun[0]
    return None


def _values(words: Sequence[str], name: str, command: Any) -> list[str]:  # noqa: ANN401 - as above
    """Rewrite the values of options: lists of names become one word, and numbers lose their other forms.

    `words` come from `_options`; `name` is the command's. Returns all words; an unknown value stays as it is.
    """
    known = _known(command)
    takes_file = any(not one.opts[0].startswith("-") for one in command.params)
    after = {word: value for word, value in pairwise(words) if word in {"--unit", "--epsilon"}}
    unit = after.get("--unit", "") or _budget(after.get("--epsilon", "")).partition("/")[2]
    unit = _UNITS.get(unit.lower(), "km")
    made: list[str] = []
    place: dict[str, int] = {}
    left = list(words)
    while left:
        word = left.pop(0)
        option, equals, value = word.partition("=")
        if option in LISTS and (equals or left):
            value = _value(
                option, _names(value if equals else left.pop(0), left, takes_file), name, unit
            )
            if option in place:
                made[place[option]] += f",{value}"
            else:
                made += [option, value]
                place[option] = len(made) - 1
        elif option.startswith("--") and equals:
            made.append(f"{option}={_value(option, value, name, unit)}")
        elif known.get(word, False) and left:
            made += [word, _value(word, left.pop(0), name, unit)]
        else:
            made.append(word)
    return made


def _names(value: str, left: list[str], takes_file: bool) -> str:  # noqa: FBT001 - whether the command takes a file
    """Join words that continue a list of names to `value`, taking them off the front of `left`; return one word.

    With `takes_file` a word that is a file ends the list.

    Words are joined with commas up to the next option.
    """
    while left and not re.match(r"-+[A-Za-z]", left[0]):
        joined = value.rstrip().endswith(",") or left[0].startswith(",")
        if not joined and takes_file and (Path(left[0]).suffix != "" or Path(left[0]).exists()):
            break
        value += ("" if joined else ",") + left.pop(0)
    return value


def _value(option: str, text: str, command: str, unit: str) -> str:
    """Return the value of one option in our spelling; an unknown one stays as it is.

    `unit` is what a length without a unit is meant in.

    `command` is its name: ``--unit`` is a unit of distance for some commands alone.
    """
    if option in _LENGTHS:
        return _length(text, unit)
    if option == "--unit" and command not in {"design", "compare", "serve"}:
        return text
    return _RULES.get(option, str)(text)


def _listed(text: str) -> str:
    """Remove blanks beside commas; within quotes they belong to a name."""
    return text if {"'", '"'} & set(text) else re.sub(r"\s*,\s*", ",", text.strip())


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
    """Return a budget such as ``2 per km`` as ``2/km``; any other text as it is."""
    parts = re.fullmatch(r"\s*([\d.]+)\s*(?:/|\bper\b)\s*([A-Za-z]+)\s*", text)
    return text if parts is None else f"{parts[1]}/{_UNITS.get(parts[2].lower(), parts[2])}"


def _grid(text: str) -> str:
    """Return a grid such as ``20 X 25`` or ``20`` as ``20x25`` or ``20x20``; any other text as it is."""
    parts = re.fullmatch(r"\s*(\d+)\s*(?:[xX\u00d7*,]\s*(\d+))?\s*", text)
    return text if parts is None else f"{parts[1]}x{parts[2] or parts[1]}"


def _degrees(text: str) -> str:
    """Return coordinates such as ``41.9°N 12.5°E`` as ``41.9,12.5``; any other text as it is."""
    parts = []
    for part in re.split(r"\s*[,;]\s*|\s+", text.strip()):
        number = re.fullmatch(r"(-?[\d.]+(?=°?$)|[\d.]+)°?([NSEWnsew]?)", part)
        if number is None:
            return text
        parts.append(f"-{number[1]}" if number[2].upper() in {"S", "W"} else number[1])
    return ",".join(parts)


def _length(text: str, unit: str) -> str:
    """Return a length such as ``200 m`` as a number of `unit`; any other text as it is.

    `text` is a number with km or m behind it or without; `unit` is km or m. Converted exactly, then printed as a
    float.
    """
    parts = _WITH_UNIT.fullmatch(text.strip())
    if parts is None or parts[2].lower() == unit:
        return text if parts is None else parts[1]
    meters = to_fraction(parts[1], "a length") * (1000 if parts[2].lower() == "km" else 1)
    return str(float(meters / (1000 if unit == "km" else 1)))


_RULES: dict[str, Callable[[str], str]] = {
    **dict.fromkeys(LISTS, _listed),
    **dict.fromkeys(("--gap", "--suppress", "--failure", "--interval", "--t-closeness"), _fraction),
    **dict.fromkeys(("--origin", "--bbox"), _degrees),
    "--epsilon": _budget,
    "--grid": _grid,
    "--neighbors": lambda text: re.sub(r"[\s_]+", "-", text.strip().lower()),
    "--unit": lambda text: _UNITS.get(text.lower(), text),
}
"""Option -> how its value is rewritten, if that does not depend on another option."""
