"""What a column looks like: an identifier, a date, a code, a number. For the curator: all of it depends on the cells.

A look is a suggestion. It is computed from the cells and the name of a column, so that neither it nor a refusal that
rests on it belongs into a public record. Reasons name a kind and never a cell.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from discreet.core.dates import formats_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MAX_VALUES = 1_000
"""Different values by which a column is judged: the first thousand show its form, and matching them takes no time."""


@final
@dataclass(frozen=True)
class Look:
    """What a column looks like.

    Parameters
    ----------
    role
        The suggested role: ``drop`` for an identifier, ``quasi``, ``sensitive``; empty where nothing suggests one.
    kind
        The suggested type: ``dates``, ``prefix``, ``numeric`` or ``categorical``; of an identifier what it looks like,
        such as ``e-mail``.
    suspicion
        Why it may single people out; empty where nothing says so. A suspicion is overruled by naming the column.
    formats
        Formats of dates that all cells have; two or more where day and month cannot be told apart; empty with
        ``dates`` where cells have different formats.
    """

    role: str = ""
    kind: str = "categorical"
    suspicion: str = ""
    formats: tuple[str, ...] = ()


_SHAPES: dict[str, re.Pattern[str]] = {
    "e-mail": re.compile(r"[^@\s]+@[^@\s]+\.[A-Za-z]{2,}"),
    "network address": re.compile(
        r"(?:https?://|www\.)\S+|(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?|(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}"
        r"|@\w{3,}"
    ),
    "key": re.compile(
        r"\{?[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}\}?"
        r"|(?=[0-9A-Fa-f]*[A-Fa-f])(?=[0-9A-Fa-f]*\d)[0-9A-Fa-f]{12,128}"
    ),
    "account or card number": re.compile(
        r"[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?|(?:\d{4}[ -]){3}\d{1,7}|[3-6]\d{14,15}"
    ),
    "national id": re.compile(
        r"\d{3}-\d{2}-\d{4}|[A-Z]{2} ?\d{2} ?\d{2} ?\d{2} ?[A-D]|[A-Z]{6}\d{2}[A-Z]\d{2}[A-Z]\d{3}[A-Z]"
        r"|[12] ?\d{2} ?\d{2} ?\d{2} ?\d{3} ?\d{3}(?: ?\d{2})?|[XYZ]?\d{7,8}-?[A-Z]|(?:\d{2})?\d{6}[-+]\d{4}"
        r"|\d{6}[-+A]\d{3}[0-9A-Z]|\d{3}\.\d{3}\.\d{3}-\d{2}|\d{4} \d{4} \d{4}"
    ),
    "coordinates": re.compile(r"\(?[+-]?\d{1,3}\.\d{2,},?\s*[+-]?\d{1,3}\.\d{2,}\)?|POINT ?\(.*\)"),
}
"""What identifiers of people look like, wherever they stand."""

_PHONE = re.compile(
    r"(?=(?:\D*\d){7,15}\D*$)(?:\+\d[\d\s().\-/]+|\(?0?\d{2,5}\)?[\s.\-/][\d\s().\-/]{4,})"
)
_POSTAL = re.compile(
    r"[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}|[A-Z]\d[A-Z] ?\d[A-Z]\d|\d{4} ?[A-Z]{2}|\d{3}-\d{4}|\d{5}-\d{3,4}",
    re.IGNORECASE,
)
_POSTAL_DIGITS = re.compile(r"(?:[A-Z]{1,2}-)?\d{3,6}(?: ?\d{2})?", re.IGNORECASE)
_DISEASE = re.compile(r"[A-TV-Z]\d[0-9AB](?:\.[0-9A-TV-Z]{1,4})?")
_NUMBER = re.compile(r"\s*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?\s*")
_WORDS = r"[^\W\d_]+(?:['\u2019\-][^\W\d_]+)*\.?"
_PERSON = re.compile(rf"(?:{_WORDS},? ){{1,4}}{_WORDS}")
"""Words from which on a cell is a sentence."""

_NAMES = {
    "name": "names surname firstname lastname forename fullname givenname familyname vorname nachname nom prenom "
    "prénom apellido apellidos nombre cognome nome sobrenome patientname naam imie nazwisko",
    "phone": "telephone mobile tel telefon telefono téléphone fax cell cellphone handy",
    "national": "ssn nino nhs aadhaar cpf pesel nir dni nif nie svnr personnummer passport steuerid bsn",
    "id": "ids uid uuid guid mrn key pid patientid personid userid customerid recordid number nr no num nummer "
    "identifier index",
    "place": "lat latitude lon lng long longitude latlon latlng coordinates coords gps geo geom geometry",
    "postal": "zip zipcode postcode postal postalcode plz cp cep cap codigopostal codepostal postnummer pincode",
    "text": "note notes comment comments remark remarks description freetext",
    "address": "street strasse straße rue calle via adresse direccion indirizzo addr",
    "mail": "email e-mail mails",
    "quasi": "age sex gender birthdate birth dob born birthday race ethnicity nationality country city town county "
    "state region district education occupation profession job marital marst married religion language height "
    "weight alter geschlecht geburtsdatum beruf",
    "sensitive": "disease diagnosis illness condition icd salary income wage wages earnings debt hiv treatment "
    "medication drug test result score outcome offense conviction diagnose gehalt einkommen loan",
}
_HINTS = {word: hint for hint, words in _NAMES.items() for word in (hint, *words.split())}


def look_at(
    name: str, values: Sequence[object], *, rows: int, different: int, wide: bool = False
) -> Look:
    """Suggest the role and the kind of a column, as a :class:`Look`; without values an empty one.

    Parameters
    ----------
    name
        Its name, which is a hint.
    values
        Some of its different values, without missing and empty ones; the first thousand are looked at.
    rows
        How many rows have a value.
    different
        How many different values there are.
    wide
        Whether the cells are floats of a typed table, which are measurements rather than numbers of records.

    Examples
    --------
    >>> look_at("mail", ["ada@lovelace.org", "alan@turing.uk"], rows=2, different=2).kind
    'e-mail'
    >>> look_at("zip", ["02139", "10001"], rows=9, different=2)
    Look(role='quasi', kind='prefix', suspicion='', formats=())
    >>> look_at("born", ["03/04/1980", "05/06/1990"], rows=9, different=2).formats
    ('DD/MM/YYYY', 'MM/DD/YYYY')
    """
    cells = [str(value).strip() for value in values[:MAX_VALUES]]
    if not cells:
        return Look()
    hints = _hints(name)
    many = rows > 1 and different >= 0.9 * rows
    unique = "nearly every value is different, probably an identifier" if many else ""
    single = "nearly every value is different, which singles people out" if many else ""
    dates = _dates(cells, values, single)
    date = dates is not None
    guess = _identifier(cells, hints, date=date, many=many, different=different, rows=rows)
    if guess is not None:
        return guess
    if dates is not None:
        return dates
    if _is_postal(cells, hints) or (_mostly(cells, _DISEASE.fullmatch) and different > 1):
        sick = _mostly(cells, _DISEASE.fullmatch) and "postal" not in hints
        return Look("sensitive" if sick else "quasi", "prefix", single)
    numbers = all(map(_NUMBER.fullmatch, cells))
    coded = numbers and any(re.match(r"[+-]?0\d", cell) for cell in cells)
    kind = "numeric" if numbers and not coded else "categorical"
    if (
        many
        and kind == "numeric"
        and not wide
        and "quasi" not in hints
        and _is_running(cells, hints)
    ):
        return Look("drop", "running number", "numbers of records, probably an identifier")
    if many and kind == "categorical":
        return Look("drop", "identifier", unique)
    role = next((hint for hint in ("quasi", "sensitive") if hint in hints), "")
    return Look(role, kind, unique)


_PERSONS = {
    *("id", "ids", "uid", "uuid", "guid", "mrn", "pid", "patientid", "personid", "userid"),
    *("customerid", "clientid", "caseid", "subjectid", "memberid", "recordid"),
}
"""Words of names of columns that tell persons apart."""


def names_persons(name: str) -> bool:
    """Test whether a word of a column's name is an id, such as "id", "uuid" or "MRN", or hints at a national id.

    Any id counts, that of a region too (``region_id``). Words for names of people and telephones do not.

    Examples
    --------
    >>> [names_persons(name) for name in ("patient_id", "PatientID", "SSN", "age", "house no")]
    [True, True, True, False, False]
    """
    return not _PERSONS.isdisjoint(_words(name)) or "national" in _hints(name)


def _words(name: str) -> list[str]:
    """Return the words of a column's name, in small letters: those between other characters, and between `aB`."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return [word for word in re.split(r"[\W_]+", spaced.lower()) if word]


def _hints(name: str) -> set[str]:
    """Read what the words of a name hint at."""
    words = _words(name)
    joined = "".join(words)
    return {_HINTS[word] for word in (*words, joined) if word in _HINTS}


def _mostly(cells: Sequence[str], fits: Callable[[str], object], *, least: float = 0.8) -> bool:
    """Return whether at least a share of the cells look like a kind, by which the column is of that kind."""
    return sum(bool(fits(cell)) for cell in cells) >= least * len(cells)


def _identifier(
    cells: list[str],
    hints: set[str],
    *,
    date: bool,
    many: bool,
    different: int,
    rows: int,
) -> Look | None:
    """Return the look of a column whose form identifies people, such as phone numbers; ``None`` for others.

    `hints` are what its name suggests, `date` tells that cells are dates, `many` that nearly every value is
    different; `different` and `rows` count values and rows.
    """
    for kind, pattern in _SHAPES.items():
        if (
            not date
            and _mostly(cells, pattern.fullmatch)
            and not (kind in ("account or card number", "national id") and _is_postal(cells, hints))
        ):
            return Look("drop", kind, f"cells look like {_PLURAL[kind]}")
    if "national" in hints and different > rows / 2:
        return Look("drop", "national id", f"cells look like {_PLURAL['national id']}")
    if "place" in hints and _mostly(cells, _NUMBER.fullmatch) and any("." in c for c in cells):
        return Look("drop", "coordinates", f"cells look like {_PLURAL['coordinates']}")
    phone = _mostly(cells, _PHONE.fullmatch)
    digits = "phone" in hints and _mostly(cells, re.compile(r"\+?\d{7,15}").fullmatch)
    if digits or (phone and not date and (not _is_postal(cells, hints))):
        return Look("drop", "phone number", f"cells look like {_PLURAL['phone number']}")
    sentences = _mostly(cells, lambda cell: len(cell.split()) >= 5, least=0.5)
    if (sentences and different > rows / 2) or ("text" in hints and many):
        return Look("drop", "free text", "cells are free text, which may name people")
    if not date and _addressed(cells, hints, different, rows):
        return Look("drop", "address", "cells look like addresses")
    letters = _mostly(cells, re.compile(rf"(?:{_WORDS},? ){{0,4}}{_WORDS}").fullmatch)
    full = _mostly(cells, _PERSON.fullmatch) and _mostly(cells, _is_titled)
    if (full and different > rows / 2 and different > 3) or (
        letters and "name" in hints and different > 2
    ):
        return Look("drop", "name", "cells look like names of people")
    return None


_PLURAL = {
    "e-mail": "e-mail addresses",
    "network address": "addresses of a network",
    "key": "keys of records",
    "account or card number": "numbers of accounts or cards",
    "national id": "national identity numbers",
    "coordinates": "coordinates of places",
    "phone number": "phone numbers",
}


def _is_titled(cell: str) -> bool:
    """Return whether most words begin with a capital, as names do in scripts that have capitals."""
    words = cell.split()
    return sum(not word[:1].islower() for word in words) > len(words) / 2


def _addressed(cells: list[str], hints: set[str], different: int, rows: int) -> bool:
    """Test whether cells look like addresses and more than half of the values are different.

    All cells must look so, or four in five if the name hints at addresses; `different` and `rows` count values and
    rows.
    """
    numbered = re.compile(r"\d{1,5}[A-Za-z]?,? \D.{3,}|\D{4,} \d{1,5} ?[A-Za-z]?(?:,.*)?")
    fitting = _mostly(cells, numbered.fullmatch, least=0.8 if "address" in hints else 1.0)
    return fitting and different > rows / 2


def _dates(cells: list[str], values: Sequence[object], unique: str) -> Look | None:
    """Return the look of dates, of one format or of several; ``None`` if the cells are not dates.

    `values` are the values as stored, `cells` the same as text, and `unique` is the suspicion of the look. If most
    cells are dates, but no format fits all, the look has no formats.
    """
    typed = [value for value in values[:MAX_VALUES] if not isinstance(value, str)]
    if typed and not any(hasattr(value, "toordinal") for value in typed):
        # Numbers of a typed table are no dates, whatever their digits.
        return None
    formats = formats_of(values[:MAX_VALUES])
    if formats:
        return Look("quasi", "dates", unique, tuple(formats[:1] if typed else formats))
    dated = _mostly(cells, lambda cell: formats_of([cell]))
    return Look("quasi", "dates", unique) if dated else None


def _is_postal(cells: list[str], hints: set[str]) -> bool:
    """Test whether a column holds postal codes, by its cells and the kinds that words of its name hint at.

    Kinds are the keys of ``_NAMES``. "postal" allows digits alone; otherwise "phone" and "id" exclude postal codes.
    """
    upper = [cell.upper() for cell in cells]
    if "postal" in hints:
        either = lambda cell: _POSTAL.fullmatch(cell) or _POSTAL_DIGITS.fullmatch(cell)  # noqa: E731
        return _mostly(upper, either)
    if "phone" in hints or "id" in hints:
        return False
    return _mostly(cells, _POSTAL.fullmatch) and not all(
        re.fullmatch(r"\d{3}-\d{4}", cell) for cell in cells
    )


def _is_running(cells: list[str], hints: set[str]) -> bool:
    """Test whether numbers look like record numbers.

    Integers whose name says so, or nearly without gaps, or of one length. `hints` are what words of the name hint at;
    one length counts from five digits on.
    """
    if any(not re.fullmatch(r"\s*\d+\s*", cell) for cell in cells):
        return False
    if "id" in hints or "national" in hints:
        return True
    numbers = sorted(int(cell) for cell in cells)
    dense = len(numbers) > 2 and numbers[-1] - numbers[0] < 1.2 * len(numbers)
    return dense or (len({len(cell) for cell in cells}) == 1 and len(cells[0]) >= 5)
