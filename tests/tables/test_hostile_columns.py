"""Two hundred hostile tables: which role and which type must be suggested for a column, and what is never published."""

from __future__ import annotations

import datetime as dt
import io
import random
import uuid
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.dates import day_of, formats_of
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import KAnonymity
from discreet.kanonymity import anonymize
from discreet.kanonymity.methods.mondrian import Mondrian
from discreet.tables.looks import Look
from discreet.tables.parsing import read
from discreet.tables.roles import Given, assign_roles, look_of

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS = 60
FIRST = [
    *("Ada", "Grace", "Alan", "Edsger", "Zoë", "Donald", "Tony", "José"),
    *("Radia", "Vint", "Ngọc", "Karen", "Joan", "Søren", "Mary", "Anita"),
]
LAST = [
    *("Lovelace", "O'Neill", "Turing", "Dijkstra", "Müller", "Knuth"),
    *("Hoare", "Lamport", "Perlman", "Cerf", "García", "Šmíd"),
]


def digits(draw: random.Random, count: int) -> str:
    return "".join(draw.choice("0123456789") for _ in range(count))


def letters(draw: random.Random, count: int) -> str:
    return "".join(draw.choice("ABCDEFGHJKLMNPRSTUVWXYZ") for _ in range(count))


def full_name(draw: random.Random) -> str:
    return f"{draw.choice(FIRST)} {draw.choice(LAST)}-{draw.choice(LAST)}"


IDENTIFIERS: dict[str, tuple[str, list[str], list[Callable[[random.Random, int], str]]]] = {
    "e-mail": (
        "e-mail",
        ["email", "contact", "x"],
        [
            lambda d, i: f"{d.choice(FIRST).lower()}.{i}@example.org",
            lambda d, i: f"u{i}+{digits(d, 3)}@mail.co.uk",
            lambda _, i: f"user{i}@x.io",
        ],
    ),
    "phones": (
        "phone number",
        ["phone", "mobile", "tel"],
        [
            lambda d, _: f"+49 {digits(d, 3)} {digits(d, 7)}",
            lambda d, _: f"({digits(d, 3)}) {digits(d, 3)}-{digits(d, 4)}",
            lambda d, _: f"0{digits(d, 9)}",
            lambda d, _: f"555-{digits(d, 4)}",
        ],
    ),
    "names": (
        "name",
        ["name", "patient", "who"],
        [
            lambda d, _: full_name(d),
            lambda d, _: f"{d.choice(LAST)}-{d.choice(LAST)}, {d.choice(FIRST)} {d.choice(FIRST)}",
        ],
    ),
    "surnames": (
        "name",
        [
            "surname",
            "last_name",
            "Nachname",
            "family name",
            "nom",
            "apellido",
            "cognome",
            "vorname",
        ],
        [lambda d, _: d.choice(LAST)],
    ),
    "national": (
        "national id",
        ["ssn", "nid", "x"],
        [
            lambda d, _: f"{digits(d, 3)}-{digits(d, 2)}-{digits(d, 4)}",
            lambda d, _: f"{letters(d, 2)}{digits(d, 6)}A",
            lambda d, _: f"{letters(d, 6)}80A01{letters(d, 1)}{digits(d, 3)}{letters(d, 1)}",
            lambda d, _: f"{digits(d, 3)}.{digits(d, 3)}.{digits(d, 3)}-{digits(d, 2)}",
            lambda d, _: f"{digits(d, 8)}{letters(d, 1)}",
        ],
    ),
    "keys": (
        "key",
        ["uuid", "token", "hash"],
        [
            lambda d, _: str(uuid.UUID(int=d.getrandbits(128))),
            lambda d, _: f"a1{d.getrandbits(120):030x}",
        ],
    ),
    "accounts": (
        "account or card number",
        ["iban", "card", "x"],
        [
            lambda d, _: (
                f"DE{digits(d, 2)} {digits(d, 4)} {digits(d, 4)} {digits(d, 4)} {digits(d, 4)} {digits(d, 2)}"
            ),
            lambda d, _: f"{digits(d, 4)} {digits(d, 4)} {digits(d, 4)} {digits(d, 4)}",
        ],
    ),
    "networks": (
        "network address",
        ["ip", "site", "mac"],
        [
            lambda d, _: f"10.{d.randrange(256)}.{d.randrange(256)}.{d.randrange(256)}",
            lambda _, i: f"https://example.org/people/{i}",
            lambda d, _: ":".join(f"{d.randrange(256):02x}" for _ in range(6)),
        ],
    ),
    "coordinates": (
        "coordinates",
        ["position", "gps", "where"],
        [
            lambda d, _: f"{d.uniform(-90, 90):.5f}, {d.uniform(-180, 180):.5f}",
            lambda d, _: f"POINT ({d.uniform(-180, 180):.4f} {d.uniform(-90, 90):.4f})",
        ],
    ),
    "latitudes": (
        "coordinates",
        ["lat", "longitude", "home_lng"],
        [lambda d, _: f"{d.uniform(-90, 90):.6f}"],
    ),
    "free text": (
        "free text",
        ["note", "history", "x"],
        [
            lambda d, i: f"Mrs {d.choice(LAST)} came in at {i} with a cough and went home",
            lambda d, i: f"patient no {i} was seen twice by Dr {d.choice(LAST)} this week",
        ],
    ),
}
"""Kind -> what it must look like, names of the column, makers of cells."""

SHAPES = {
    "YYYY-MM-DD": "%Y-%m-%d",
    "YYYY/MM/DD": "%Y/%m/%d",
    "YYYY.MM.DD": "%Y.%m.%d",
    "YYYYMMDD": "%Y%m%d",
    "DD.MM.YYYY": "%d.%m.%Y",
    "MM.DD.YYYY": "%m.%d.%Y",
    "DD/MM/YYYY": "%d/%m/%Y",
    "MM/DD/YYYY": "%m/%d/%Y",
    "DD-MM-YYYY": "%d-%m-%Y",
    "MM-DD-YYYY": "%m-%d-%Y",
    "DD Mon YYYY": "%d %b %Y",
    "Mon DD, YYYY": "%b %d, %Y",
}

POSTAL: dict[str, Callable[[random.Random], str]] = {
    "United States": lambda d: f"0{digits(d, 4)}",
    "Germany": lambda d: digits(d, 5),
    "United Kingdom": lambda d: f"{letters(d, 2)}{digits(d, 1)} {digits(d, 1)}{letters(d, 2)}",
    "Canada": lambda d: (
        f"{letters(d, 1)}{digits(d, 1)}{letters(d, 1)} {digits(d, 1)}{letters(d, 1)}{digits(d, 1)}"
    ),
    "Netherlands": lambda d: f"{d.randrange(1000, 10000)} {letters(d, 2)}",
    "Japan": lambda d: f"{digits(d, 3)}-{digits(d, 4)}",
}
POSTAL_NAMES = ("zip", "postcode", "PLZ", "postal_code", "home_zip")

NUMBERS: dict[str, Callable[[random.Random, int], str]] = {
    "running": lambda _, i: str(i + 1),
    "from a thousand": lambda _, i: str(1000 + i),
    "of eight digits": lambda d, i: f"{d.randrange(1000, 10000)}{i:04d}",
    "with gaps": lambda d, i: str(10 * i + d.randrange(10)),
}
NUMBER_NAMES = (
    "patient_id",
    "id",
    "PersonID",
    "mrn",
    "customer_number",
    "no",
    "record id",
    "uid",
    "caseKey",
)


def hostile() -> list[tuple[str, str, list[str], str, str]]:
    """Say of 200 columns: what to call the case, its name, its cells, the role and the type to suggest."""
    draw = random.Random(5)  # noqa: S311 - tables for a test
    found: list[tuple[str, str, list[str], str, str]] = []
    for what, (kind, names, makers) in IDENTIFIERS.items():
        for name in names:
            for at, make in enumerate(makers):
                cells = [make(draw, i) for i in range(ROWS)]
                found.append((f"{what} {at} in {name}", name, cells, "drop", kind))
    for name in ("birthdate", "admitted", "x", "Geburtsdatum"):
        for form, shape in SHAPES.items():
            days = [dt.date(1930, 1, 1) + dt.timedelta(draw.randrange(30_000)) for _ in range(ROWS)]
            cells = [day.strftime(shape) for day in days]
            found.append((f"{form} in {name}", name, cells, "quasi", "dates"))
    for name in POSTAL_NAMES:
        for country, make_code in POSTAL.items():
            cells = [make_code(draw) for _ in range(ROWS)]
            found.append((f"{country} in {name}", name, cells, "quasi", "prefix"))
    for name in NUMBER_NAMES:
        for what, make_number in NUMBERS.items():
            cells = [make_number(draw, i) for i in range(ROWS)]
            found.append((f"{what} in {name}", name, cells, "drop", "running number"))
    return found


CASES = hostile()


def table_of(name: str, cells: list[str]) -> pl.DataFrame:
    """Write a CSV file and read it as the library does: all cells as text."""
    frame = pl.DataFrame({name: cells, "group": [f"g{i % 4}" for i in range(len(cells))]})
    return read(io.BytesIO(frame.write_csv().encode()), ",")


def test_there_are_two_hundred() -> None:
    assert len(CASES) == 200


@pytest.mark.parametrize("broken", [False, True])
def test_roles_and_types_are_suggested(*, broken: bool) -> None:
    """As they are; and with one cell in twenty that is none of its kind, where no format of dates is left."""
    wrong = []
    for what, name, cells, role, kind in CASES:
        if broken and kind in ("dates", "prefix", "running number"):
            continue
        given = [("unknown" if broken and i % 20 == 3 else cell) for i, cell in enumerate(cells)]
        look = look_of(table_of(name, given), name)
        if (look.role, look.kind) != (role, kind) or (role == "drop" and not look.suspicion):
            wrong.append((what, look.role, look.kind))
    assert not wrong, wrong


@pytest.mark.parametrize("form", SHAPES)
def test_the_format_of_dates_is_found_or_said_to_be_open(form: str) -> None:
    days = [dt.date(1950 + i, 1 + i % 12, 1 + i % 28) for i in range(40)]
    cells = [day.strftime(SHAPES[form]) for day in days]
    assert form in formats_of(cells)
    assert [day_of(cell, form) for cell in cells] == [day.toordinal() for day in days]
    low = [day.replace(day=1 + i % 12).strftime(SHAPES[form]) for i, day in enumerate(days)]
    twins = {"DD/MM/YYYY", "MM/DD/YYYY"}, {"DD-MM-YYYY", "MM-DD-YYYY"}
    expected = next((len(pair) for pair in twins if form in pair), 1)
    assert len(formats_of(low)) == expected or form in ("DD.MM.YYYY", "MM.DD.YYYY")


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("age", [str(20 + i % 40) for i in range(ROWS)]),
        ("city", [["New York", "Salt Lake City", "Los Angeles"][i % 3] for i in range(ROWS)]),
        ("disease", [["flu", "gout"][i % 2] for i in range(ROWS)]),
        ("visits", [str(i % 9) for i in range(ROWS)]),
        ("icd", [f"E1{i % 5}.{i % 3}" for i in range(ROWS)]),
    ],
)
def test_what_is_no_identifier_is_not_suspected(name: str, cells: list[str]) -> None:
    look = look_of(table_of(name, cells), name)
    assert look.suspicion == ""
    assert look.role != "drop"


def test_no_reason_holds_a_cell() -> None:
    for _, name, cells, _, _ in CASES:
        said = look_of(table_of(name, cells), name).suspicion
        assert not any(cell in said for cell in cells if len(cell) > 2)


def test_typed_columns_are_looked_at_too() -> None:
    table = pl.DataFrame(
        {
            "when": [dt.date(1990, 1, 1) + dt.timedelta(i) for i in range(20)],
            "weight": [50 + 0.37 * i for i in range(20)],
            "key": range(20),
            "flag": [True, False] * 10,
            "note": pl.Series([[1]] * 20),
            "none": pl.Series([None] * 20, dtype=pl.String),
        }
    )
    looks = {name: look_of(table, name) for name in table.columns}
    assert looks["when"].kind == "dates"
    assert looks["weight"].kind == "numeric"
    assert looks["weight"].suspicion
    assert looks["key"].role == "drop"
    assert looks["flag"] == Look()
    assert looks["note"].role == "drop"
    assert looks["none"] == Look()


COLUMNS: dict[str, Any] = {
    "patient_id": [1000 + i for i in range(12)],
    "name": [f"{FIRST[i]} {LAST[i]}" for i in range(12)],
    "age": [30 + i % 3 for i in range(12)],
    "zip": [f"0213{i % 2}" for i in range(12)],
    "disease": ["flu", "gout", "flu"] * 4,
    "ward": ["a", "b"] * 6,
}
TABLE = pl.DataFrame(COLUMNS)
OTHERS = [name for name in COLUMNS if name != "age"]
LISTS = st.lists(st.sampled_from(OTHERS), unique=True, max_size=4)


@settings(max_examples=60, deadline=None)
@given(LISTS, LISTS, LISTS, st.sampled_from([None, "keep", "drop"]))
def test_nothing_without_a_role_is_published(
    keep: list[str], drop: list[str], sensitive: list[str], unassigned: str | None
) -> None:
    """A column comes out only where it was named, or where it looked harmless and the rest was to be kept."""
    options: dict[str, Any] = {
        "keep": keep,
        "drop": drop,
        "sensitive": sensitive,
        "unassigned": unassigned,
    }
    named = {*keep, *sensitive}
    try:
        made = anonymize(TABLE, KAnonymity(2, ("age",)), method=Mondrian(), **options)
    except InvalidProblemError as error:
        twice = len(keep) + len(drop) + len(sensitive) > len({*keep, *drop, *sensitive})
        left = set(OTHERS) - {*named, *drop}
        risky = left & {"patient_id", "name"}
        assert twice or (unassigned is None and left) or (unassigned == "keep" and risky)
        told = str(error)
    else:
        _judge(made, named, drop, unassigned)
        told = ""
    assert not any(str(cell) in told for cell in COLUMNS["name"])


def _judge(made: Any, named: set[str], drop: list[str], unassigned: str | None) -> None:
    out = set(made.table.columns)
    assert out.isdisjoint(drop)
    assert named <= out
    free = out - named - {"age"}
    assert not free or unassigned == "keep"
    assert free.isdisjoint({"patient_id", "name"})
    public = str(made.provenance.to_dict())
    assert not any(name in public for name in drop)


@pytest.mark.parametrize(
    ("roles", "words"),
    [
        ({"quasi": ["a"], "drop": ["a"]}, "remove a from --quasi or from --drop"),
        ({"quasi": ["a"], "keep": ["b"], "sensitive": ["b"]}, "'b' in both"),
        ({"drop": ["a", "b"]}, "at least one column that is not dropped"),
        ({"quasi": ["a"], "unassigned": "hide"}, "keep or drop"),
        ({"quasi": ["c"]}, "'c'"),
    ],
)
def test_roles_that_cannot_be_are_refused(roles: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidProblemError, match=words):
        assign_roles(["a", "b"], Given(**roles), lambda _: Look(), options=True)
