"""Bad inputs and their valid neighbors: what was typed of a table, and the one verdict that every entrance gives."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Rows = list[tuple[Any, ...]]
ILL = ("flu", "cold", "flu", "gout")


@dataclass(frozen=True)
class Case:
    """One input, in roles and options that every entrance can be told.

    Parameters
    ----------
    id, kind
        The case, and what it is one of.
    table
        The bytes of a CSV file, or a frame with declared types.
    verdict
        ``refused`` or ``published``.
    named
        What the sentence names: an option (``table``, ``quasi``, ``unassigned``, ``sensitive``) or a column.
    quasi, sensitive, drop, categorical
        Roles; columns of none are unassigned.
    holds
        What published rows, as tuples of text, must satisfy.
    studio
        Whether the page has the verb: it always states a role, decodes other encodings, and recognizes lists.
    taxonomy
        File of a taxonomy of the first quasi-identifier, if there is one.
    encoding
        Encoding that is chosen on the page, which recognizes others; all other entrances take UTF-8 alone.
    source
        Address of the thread in which such an input was reported; empty for one of our own.
    """

    id: str
    kind: str
    table: bytes | pl.DataFrame
    verdict: str
    named: str = ""
    quasi: tuple[str, ...] = ("age",)
    sensitive: tuple[str, ...] = ("ill",)
    drop: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    holds: Callable[[set[tuple[str, ...]]], bool] | None = None
    studio: bool = True
    taxonomy: bytes = b""
    encoding: str = ""
    source: str = ""


def csv(*cells: str, name: str = "age", sep: str = ",") -> bytes:
    """Write cells as a column beside an illness."""
    rows = "".join(f"{cell}{sep}{ILL[at % 4]}\n" for at, cell in enumerate(cells))
    return f"{name}{sep}ill\n{rows}".encode()


def frame(cells: Any, kind: Any = None) -> pl.DataFrame:
    """Write typed cells as a column beside an illness."""
    column = pl.Series("age", cells, dtype=kind)
    return pl.DataFrame([column, pl.Series("ill", [ILL[at % 4] for at in range(len(column))])])


def first(*expected: str) -> Callable[[set[tuple[str, ...]]], bool]:
    """Require these cells of the published quasi-identifier, and no others."""
    return lambda rows: {row[0] for row in rows} == set(expected)


def no_sets(rows: set[tuple[str, ...]]) -> bool:
    """Require intervals or single numbers."""
    return not any("|" in row[0] for row in rows)


def no_nan(rows: set[tuple[str, ...]]) -> bool:
    """Require that NaN is a missing value."""
    return not any("nan" in row[0].lower() for row in rows)


def two_cells(rows: set[tuple[str, ...]]) -> bool:
    """Require two different published cells."""
    return len({row[0] for row in rows}) == 2


def truths(rows: set[tuple[str, ...]]) -> bool:
    """Require both truth values, as any library writes them."""
    return {row[0].lower() for row in rows} == {"true", "false"}


AGES = ("30", "30", "40", "40")
PAIRS = first("30", "40")
NOTES = tuple(f"came in at {hour} with a cough" for hour in range(9))
BEYOND = frame([10**18] * 4, pl.Int64).with_columns(pl.col("age").cast(pl.Datetime("us")))
CITIES = ("New York City", "Salt Lake City")
A_DAY = (dt.date(1980, 1, 1),) * 2 + (dt.date(1990, 5, 5),) * 2


def bad(id_: str, kind: str, table: bytes | pl.DataFrame, named: str, **more: Any) -> Case:
    """State a case that is refused."""
    return Case(id_, kind, table, "refused", named, **more)


def good(id_: str, kind: str, table: bytes | pl.DataFrame, holds: Any = PAIRS, **more: Any) -> Case:
    """State a valid neighbor of a bad case."""
    return Case(id_, kind, table, "published", holds=holds, **more)


BASE = csv(*AGES)
CASES: list[Case] = [
    # What a spreadsheet or an editor leaves at the ends of a file.
    good("plain", "byte order mark", BASE),
    good("mark", "byte order mark", b"\xef\xbb\xbf" + BASE),
    bad("mark alone", "byte order mark", b"\xef\xbb\xbf", "table"),
    bad("mark and blanks", "byte order mark", b"\xef\xbb\xbf \n \n", "table"),
    good("crlf", "line ends", BASE.replace(b"\n", b"\r\n")),
    bad("cr alone", "line ends", BASE.replace(b"\n", b"\r"), "table"),
    good("no last line end", "line ends", BASE.rstrip()),
    bad("empty", "nothing to read", b"", "table"),
    bad("blanks", "nothing to read", b"  \n\n", "table"),
    bad("header only", "nothing to read", b"age,ill\n", "table"),
    bad("frame without rows", "nothing to read", frame([], pl.Int64), "table"),
    bad("zero bytes", "zero bytes", BASE.replace(b"40", b"4\x000", 1), "table"),
    bad(
        "zero byte in a name",
        "zero bytes",
        BASE.replace(b"age", b"ag\x00"),
        "table",
        quasi=("ill",),
        sensitive=(),
    ),
    bad("utf-16 without mark", "zero bytes", BASE.decode().encode("utf-16-le"), "table"),
    # The first line.
    bad("name twice", "names", b"age,age,ill\n30,1,flu\n30,2,flu\n", "table"),
    bad("name twice in frames of text", "names", b"ill,age,ill\nflu,30,x\nflu,30,x\n", "table"),
    good(
        "names that differ in case",
        "names",
        b"age,Age,ill\n30,30,flu\n30,30,flu\n",
        first("30"),
        drop=("Age",),
    ),
    bad("no such column", "names", BASE, "quasi", quasi=("aeg",), studio=False),
    good("name with a blank", "names", BASE.replace(b"age", b" age"), studio=False),
    # Rows that do not fit.
    bad("short row", "ragged rows", BASE + b"40\n", "table"),
    bad("long row", "ragged rows", BASE + b"40,flu,x\n", "table"),
    bad(
        "blank line in the middle", "ragged rows", BASE.replace(b"40,flu", b"\n40,flu", 1), "table"
    ),
    bad("unquoted comma", "ragged rows", BASE + b"40,flu,cold\n", "table"),
    good("quoted comma", "quotes", BASE + b'40,"flu, cold"\n'),
    good("quoted line end", "quotes", BASE + b'40,"flu\ncold"\n'),
    good("doubled quote", "quotes", BASE + b'40,"the ""flu"""\n'),
    bad("open quote", "quotes", BASE + b'40,"flu\n', "table"),
    # Other formats under the name of a table.
    bad("zip", "formats", b"PK\x03\x04" + b"x" * 40, "table"),
    bad("pdf", "formats", b"%PDF-1.7\n" + BASE, "table"),
    bad("gzip", "formats", b"\x1f\x8b\x08" + b"x" * 40, "table"),
    bad("sqlite", "formats", b"SQLite format 3\x00" + b"x" * 40, "table"),
    # Delimiters.
    good("semicolons", "delimiters", csv(*AGES, sep=";")),
    good("tabs", "delimiters", csv(*AGES, sep="\t")),
    good("bars", "delimiters", csv(*AGES, sep="|")),
    good("one column", "delimiters", b"age\n30\n30\n40\n40\n", sensitive=()),
    # Numbers.
    bad(
        "decimal commas", "commas in numbers", csv("1,57", "1,87", "1,57", "1,87", sep=";"), "quasi"
    ),
    bad("decimal commas, some", "commas in numbers", csv("1,5", "2", "1,5", "2", sep=";"), "quasi"),
    bad("decimal commas in a frame", "commas in numbers", frame(["1,57", "1,87"] * 2), "quasi"),
    bad("thousands", "commas in numbers", frame(["1,000", "4,000"] * 2), "quasi"),
    bad("thousands and decimals", "commas in numbers", frame(["1,000.5", "4,000.5"] * 2), "quasi"),
    good(
        "decimal points",
        "commas in numbers",
        csv("1.57", "1.87", "1.57", "1.87"),
        first("1.57", "1.87"),
    ),
    good(
        "commas, categorical",
        "stated kinds",
        frame(["1,57", "1,87"] * 2),
        first("1,57", "1,87"),
        categorical=("age",),
    ),
    bad("infinite float", "not finite", frame([1.0, float("inf"), 3.0, 4.0]), "age"),
    bad("minus infinite float", "not finite", frame([1.0, float("-inf"), 3.0, 4.0]), "age"),
    bad("infinite text", "not finite", csv("1.0", "inf", "3.0", "4.0"), "age"),
    bad("infinite text in a frame", "not finite", frame(["1.0", "Infinity", "3.0", "4.0"]), "age"),
    good("NaN", "not a number", frame([1.0, float("nan"), 3.0, None] * 2), no_nan),
    good(
        "NaN as text", "not a number", csv("1.0", "NaN", "3.0", "", "1.0", "nan", "3.0", ""), no_nan
    ),
    good("minus zero", "zeros", frame([-0.0, 0.0, 5.0, 5.0]), two_cells),
    good("minus zero as text", "zeros", csv("-0.0", "0", "5", "5"), two_cells),
    good("plus sign", "number formats", csv("+30", "30", "40", "+40"), no_sets),
    good("exponents", "number formats", csv("3e1", "30", "4e1", "40"), no_sets),
    good("plus sign in a frame", "number formats", frame(["+30", "30", "40", "+40"]), no_sets),
    good("exponents in a frame", "number formats", frame(["3e1", "30", "4e1", "40"]), no_sets),
    good("negative ages", "number formats", csv("-3", "-3", "40", "40"), first("-3", "40")),
    good("whole floats", "number formats", frame([30.0, 30.0, 40.0, 40.0]), two_cells),
    bad("too large", "large numbers", csv("1e400", "1", "2", "3"), "age"),
    bad("above 2^53", "large numbers", frame([2**53 + 1, 2**53 + 2, 1, 2]), "age"),
    good("2^53", "large numbers", frame([2**53, 2**53, 1, 1]), first(str(2**53), "1")),
    # Codes, text and identifiers.
    good(
        "zeros in front", "codes", csv("02139", "02139", "10001", "10001"), first("02139", "10001")
    ),
    good(
        "zeros in front in a frame",
        "codes",
        frame(["02139", "02139", "10001", "10001"]),
        first("02139", "10001"),
    ),
    bad("percent", "text of numbers", csv("10%", "10%", "20%", "20%"), "quasi"),
    bad("units", "text of numbers", csv("70 kg", "70 kg", "80 kg", "80 kg"), "quasi"),
    bad("some units", "text of numbers", csv("70 kg", "70", "80", "80 kg"), "quasi"),
    bad("half numbers", "text of numbers", csv("30", "30", "40", "40+"), "quasi"),
    good("ordinal", "text of numbers", csv("low", "low", "high", "high"), first("low", "high")),
    good("trailing blanks", "blanks", csv("30 ", "30", "40", "40 "), no_sets),
    good("missing cells", "blanks", csv("30", "30", "", ""), first("30", "")),
    good("missing cells in a frame", "blanks", frame([30, 30, None, None]), first("30", "")),
    good("NA", "blanks", csv("NA", "NA", "x", "x"), first("NA", "x")),
    bad("prose", "prose", csv(*NOTES), "quasi"),
    bad("prose in a frame", "prose", frame(list(NOTES)), "quasi"),
    bad("prose of another column", "prose", csv(*NOTES, name="note"), "quasi", quasi=("note",)),
    good(
        "places of three words",
        "prose",
        frame(["New York City", "Salt Lake City"] * 4),
        first("New York City", "Salt Lake City"),
    ),
    # Dates.
    good("dates", "dates", frame(list(A_DAY)), first("1980-01-01", "1990-05-05")),
    good("dates as text", "dates", csv(*map(str, A_DAY)), first("1980-01-01", "1990-05-05")),
    bad("day and month unclear", "dates", csv(*["01/02/1980"] * 2, *["03/04/1990"] * 2), "age"),
    good(
        "day clear",
        "dates",
        csv(*["21/02/1980"] * 2, *["13/04/1990"] * 2),
        first("1980-02-21", "1990-04-13"),
    ),
    bad("moment beyond the calendar", "moments", BEYOND, "table"),
    # Types that a file or a frame declares.
    bad("lists", "nested cells", frame([[1], [1], [2], [2]]), "table"),
    bad("records", "nested cells", frame([{"a": 1}] * 4), "table"),
    good(
        "categories", "declared types", frame(["x", "x", "y", "y"], pl.Categorical), first("x", "y")
    ),
    good("booleans", "declared types", frame([True, True, False, False]), truths),
    good("small integers", "declared types", frame([30, 30, 40, 40], pl.Int8)),
    good(
        "decimals",
        "declared types",
        frame([Decimal("1.5")] * 2 + [Decimal("2.5")] * 2),
        first("1.5", "2.5"),
    ),
    # Roles.
    bad("no role", "roles", BASE, "unassigned", sensitive=(), studio=False),
    bad("two roles", "roles", BASE, "drop", drop=("age",), studio=False),
    bad("k above the rows", "too few rows", b"age,ill\n30,flu\n", "k"),
    # Letters.
    good(
        "composed and decomposed",
        "letters",
        csv("Zo\u00eb", "Zo\u00eb", "Max", "Max"),
        first("Zo\u00eb", "Max"),
    ),
    good("cyrillic", "letters", csv("да", "да", "нет", "нет"), first("да", "нет")),
    good("quoted bar", "letters", csv("a|b", "a|b", "c", "c"), two_cells),
    bad(
        "mixed encodings",
        "encodings",
        BASE + b"40,gr\xfcn\nM\xc3\xbcller,flu\n",
        "table",
        encoding="utf-8-sig",
    ),
    bad("latin-1", "encodings", BASE + b"40,gr\xfcn\n", "table", encoding="utf-8-sig"),
    # The mark at its begin names the encoding.
    good("utf-16", "encodings", b"\xff\xfe" + BASE.decode().encode("utf-16-le")),
    good("utf-8", "encodings", BASE + "40,grün\n".encode()),
]


def some(cases: Sequence[Any], each: int) -> list[Any]:
    """Parametrize with one of several cases in every run, and with the others in slow runs."""
    marks = [() if at % each == 0 else pytest.mark.slow for at in range(len(cases))]
    return [
        pytest.param(case, id=case.id, marks=mark) for case, mark in zip(cases, marks, strict=True)
    ]
