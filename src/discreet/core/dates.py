"""Dates as text: the formats that are read, which of them a column has, and the spans of a calendar by their names.

A column has one format. Day and month of ``03/04/1980`` cannot be told apart unless some cell has a day above 12, so
that such a column is refused as ambiguous and never guessed. No message holds a cell.
"""

from __future__ import annotations

import re
from datetime import date, datetime
from typing import TYPE_CHECKING

from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_LONG = {
    month[:3]: month
    for month in (
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    )
}
_MONTHS = tuple(_LONG)

_YEAR, _MONTH, _DAY = r"(?P<y>\d{4})", r"(?P<m>\d{1,2})", r"(?P<d>\d{1,2})"
_NAME = r"(?P<n>[A-Za-z]{3,9})\.?"
_TIME = (
    r"(?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?\s*(?:[AaPp]\.?[Mm]\.?|Z|[+-]\d{2}:?\d{2}|UTC)?)?"
)
_CLOCK = r"(?:[ :]\d{1,2}[.:]\d{2}[.:]\d{2}(?:\.\d+)?(?: ?[AaPp][Mm])?)?"
_SHORT = r"(?P<s>\d{2})"

_CENTURIES = {"19YY": (1900, 1900), "20YY": (2000, 2000), "RR": (2000, 1900)}
"""Years of two digits: the century of those below 50, and of others; RR as Oracle reads them."""

FORMATS: dict[str, re.Pattern[str]] = {
    name: re.compile(rf"\s*{pattern}\s*")
    for name, pattern in {
        "YYYY-MM-DD": f"{_YEAR}-{_MONTH}-{_DAY}{_TIME}",
        "YYYY/MM/DD": f"{_YEAR}/{_MONTH}/{_DAY}{_TIME}",
        "YYYY.MM.DD": rf"{_YEAR}\.{_MONTH}\.{_DAY}{_TIME}",
        "YYYYMMDD": r"(?P<y>(?:18|19|20|21)\d{2})(?P<m>\d{2})(?P<d>\d{2})",
        "DD.MM.YYYY": rf"{_DAY}\.\s?{_MONTH}\.\s?{_YEAR}{_TIME}",
        "MM.DD.YYYY": rf"{_MONTH}\.{_DAY}\.{_YEAR}{_TIME}",
        "DD/MM/YYYY": f"{_DAY}/{_MONTH}/{_YEAR}{_TIME}",
        "MM/DD/YYYY": f"{_MONTH}/{_DAY}/{_YEAR}{_TIME}",
        "DD-MM-YYYY": f"{_DAY}-{_MONTH}-{_YEAR}{_TIME}",
        "MM-DD-YYYY": f"{_MONTH}-{_DAY}-{_YEAR}{_TIME}",
        "DD Mon YYYY": rf"{_DAY}\.?[ -]{_NAME}[ -]{_YEAR}",
        "Mon DD, YYYY": rf"{_NAME} {_DAY}(?:st|nd|rd|th)?,? {_YEAR}",
        "DDMonYYYY": rf"{_DAY}{_NAME}{_YEAR}{_CLOCK}",
        "YYYY-MM": r"(?P<y>(?:1[5-9]|20|21)\d{2})-(?P<m>\d{2})",
        "YYYY/MM": r"(?P<y>(?:1[5-9]|20|21)\d{2})/(?P<m>\d{1,2})",
        "MM/YYYY": r"(?P<m>\d{1,2})/(?P<y>(?:1[5-9]|20|21)\d{2})",
        "YYYYMmm": r"(?P<y>(?:1[5-9]|20|21)\d{2})-?[Mm](?P<m>\d{2})",
        "MonYYYY": rf"{_NAME}[ -]?{_YEAR}",
        "YYYYQn": r"(?P<y>(?:1[5-9]|20|21)\d{2})-?[Qq](?P<q>[1-4])",
        **{
            shape.replace("YY", century): pattern
            for shape, pattern in {
                "DD-Mon-YY": rf"{_DAY}[ -]?{_NAME}[ -]?{_SHORT}{_CLOCK}",
                "DD.MM.YY": rf"{_DAY}\.\s?{_MONTH}\.\s?{_SHORT}{_TIME}",
                "DD/MM/YY": f"{_DAY}/{_MONTH}/{_SHORT}{_TIME}",
                "MM/DD/YY": f"{_MONTH}/{_DAY}/{_SHORT}{_TIME}",
            }.items()
            for century in _CENTURIES
        },
    }.items()
}
"""The formats by the names that ``--date`` takes; a time of the day is dropped.

Years of two digits have a format for each century, so that none is guessed; a month or a quarter stands for its first
day, and :data:`FINEST` says that nothing finer is published.
"""

FINEST = {
    **dict.fromkeys(("YYYY-MM", "YYYY/MM", "MM/YYYY", "YYYYMmm", "MonYYYY"), "month"),
    "YYYYQn": "quarter",
}
"""Format -> the finest span of the calendar that it states, where this is no day."""

_UNUSUAL = {"MM.DD.YYYY": "DD.MM.YYYY"}
"""Formats that are read where the usual one of the same shape cannot be."""


def day_of(value: object, form: str) -> int | None:
    """Return the day of a cell as a proleptic ordinal, or ``None`` for a cell in another format.

    A month or a quarter alone gives its first day. Names of months are English, whole, of three letters or "Sept", in
    any case. Two digits of a year are read in the century that the form states. A date, with a time or without, is
    read whatever the form is.

    Parameters
    ----------
    value
        A date, a date with a time, or text.
    form
        A key of :data:`FORMATS`.

    Examples
    --------
    >>> day_of("3 Apr 1980", "DD Mon YYYY") == day_of("1980-04-03", "YYYY-MM-DD")
    True
    >>> day_of("1980-13-01", "YYYY-MM-DD")
    """
    if isinstance(value, datetime | date):
        return value.toordinal()
    match = FORMATS[form].fullmatch(str(value))
    if match is None:
        return None
    parts = match.groupdict()
    if "n" in parts:
        name = parts["n"].lower()
        if name not in (name[:3], _LONG.get(name[:3]), "sept") or name[:3] not in _MONTHS:
            return None
        month = _MONTHS.index(name[:3]) + 1
    else:
        month = int(parts["m"]) if "m" in parts else 3 * int(parts["q"]) - 2
    if "s" in parts:
        early, latest = next(one for end, one in _CENTURIES.items() if form.endswith(end))
        year = int(parts["s"]) + (early if int(parts["s"]) < 50 else latest)
    else:
        year = int(parts["y"])
    try:
        return date(year, month, int(parts.get("d", 1))).toordinal()
    except ValueError:
        return None


def formats_of(values: Iterable[object]) -> list[str]:
    """List the formats that all texts among the values have, in the order of :data:`FORMATS`.

    Empty where there is none. A format is left out where the usual one that it varies fits as well. Dates
    fit every format; without any text, all usual formats are listed. One match for each text and format that is still
    left.

    Examples
    --------
    >>> formats_of(["03/04/1980", "05/06/1990"]), formats_of(["03/04/1980", "25/06/1990"])
    (['DD/MM/YYYY', 'MM/DD/YYYY'], ['DD/MM/YYYY'])
    """
    left = list(FORMATS)
    for value in values:
        if isinstance(value, datetime | date):
            continue
        left = [form for form in left if day_of(value, form) is not None]
        if not left:
            return []
    return [form for form in left if _UNUSUAL.get(form) not in left]


def resolved_format(name: str, values: Sequence[object], form: str = "") -> str:
    """Decide on the format of a column.

    Return a key of :data:`FORMATS`; for dates that are no text it is ``"YYYY-MM-DD"``. InvalidProblemError also for a
    declared format that is no key. One match for each value and format.

    Parameters
    ----------
    name
        The column, for messages.
    values
        Its different values without missing ones.
    form
        The declared format; empty to find the one that all values have.

    Raises
    ------
    InvalidProblemError
        For values that have not this format, or none in common, or of which day and month cannot be told apart.

    Examples
    --------
    >>> resolved_format("born", ["1980-04-03"])
    'YYYY-MM-DD'
    >>> resolved_format("born", ["03/04/1980"])
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: born: expected dates whose day and month can be told apart; state the...
    """
    if form:
        if form not in FORMATS:
            raise InvalidProblemError(
                "--date", f"one of {', '.join(FORMATS)}", repr(form), code="date-word"
            )
        if any(day_of(value, form) is None for value in values):
            raise InvalidProblemError(
                name, f"dates as {form} in each cell", "another value", code="dates-other"
            )
        return form
    formats = formats_of(values)
    if len(formats) == 1:
        return formats[0]
    if not formats:
        present = [one for one in FORMATS if any(day_of(v, one) is not None for v in values)]
        got = "no dates" if not present else f"several ({', '.join(present)}), or other cells"
        expected = (
            "one format of dates; write all cells in it, such as YYYY-MM-DD, or publish values with "
            f"--categorical {name}"
        )
        raise InvalidProblemError(name, expected, got, code="dates-mixed")
    if all(isinstance(value, datetime | date) for value in values):
        return "YYYY-MM-DD"
    choices = " or ".join(f"--date {name}={form}" for form in formats)
    if any(form.endswith(tuple(_CENTURIES)) for form in formats):
        expected = f"dates whose century is stated; state the format with {choices}"
        raise InvalidProblemError(name, expected, "years of two digits", code="dates-unclear")
    expected = f"dates whose day and month can be told apart; state the format with {choices}"
    raise InvalidProblemError(name, expected, "only days of 12 or less", code="dates-unclear")


_SPANS = (
    (re.compile(r"(\d{4})-(\d{2})-(\d{2})"), "day"),
    (re.compile(r"(\d{4})-(\d{2})"), "month"),
    (re.compile(r"(\d{4})-Q([1-4])"), "quarter"),
    (re.compile(r"(\d{4})"), "year"),
    (re.compile(r"(\d{4}) to (\d{4})"), "years"),
)


def span_of(text: str) -> tuple[int, int] | None:
    """Return the first and the last day of a named span of the calendar, as day numbers; ``None`` for any other text.

    Both are proleptic ordinals, and included; a span that the calendar does not have is ``None`` too.

    Examples
    --------
    >>> first, last = span_of("1980-Q1")
    >>> last - first + 1, span_of("1980 to 1984")[1] - span_of("1980")[0] + 1, span_of("spring")
    (91, 1827, None)
    """
    for pattern, kind in _SPANS:
        match = pattern.fullmatch(text)
        if match is None:
            continue
        parts = [int(part) for part in match.groups()]
        try:
            return _ends(kind, parts)
        except ValueError:
            return None
    return None


def _ends(kind: str, parts: list[int]) -> tuple[int, int]:
    """Return the first and the last day of a period, as proleptic ordinals; `parts` are its year and month or day.

    `kind` is ``"day"``, ``"month"``, ``"quarter"``, or anything else for years, the first and the last of `parts`.
    Raises ValueError for a day or a month that the calendar does not have.
    """
    year = parts[0]
    if kind == "day":
        day = date(*parts).toordinal()
        return day, day
    months = {"month": (parts[-1], 1), "quarter": (3 * parts[-1] - 2, 3)}.get(kind)
    if months is None:
        # Five and ten years are counted from the year 0, which no calendar has.
        first, last = date(year or len(parts) - 1, 1, 1), date(parts[-1], 12, 31)
        return first.toordinal(), last.toordinal()
    first_month, count = months
    after = first_month + count
    first = date(year, first_month, 1)
    if after > 12:
        return first.toordinal(), date(year, 12, 31).toordinal()
    return first.toordinal(), date(year, after, 1).toordinal() - 1
