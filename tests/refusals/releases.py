"""Cases of the other verbs: what counts, selections and risks make of odd tables, options and outputs."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any

import polars as pl

OPENDP = "https://github.com/opendp"
PANDAS = "https://github.com/pandas-dev/pandas/issues"
POLARS = "https://github.com/pola-rs/polars/issues"

Table = bytes | pl.DataFrame


@dataclass(frozen=True)
class ReleaseCase:
    """One release, or measure of risk, in options that every entrance can be told.

    Parameters
    ----------
    id, kind
        The case, and what it is one of.
    verb
        ``sizes`` and ``categories`` of counts, ``select``, or ``risk``.
    verdict
        ``refused`` or ``published``.
    named
        The option or column that the sentence names.
    table, regions
        The private table, and the public list of regions.
    unit, columns, domain, amount
        Columns and public facts.
    charge
        Whether the ledger is charged.
    undeclared
        Whether pandas declares no type for what is refused elsewhere by its declared type.
    skip
        Entrances that lack the verb.
    source
        Address of the thread in which such an input was reported; empty for one of our own.
    """

    id: str
    kind: str
    verb: str
    verdict: str
    named: str = ""
    table: Table = b""
    regions: Table = b"r\n1\n2\n"
    unit: str = "home"
    columns: tuple[str, ...] = ("r",)
    domain: str = "sex: F, M"
    amount: str = "1"
    neighbors: str = "add-remove-person"
    more: tuple[str, ...] = ()
    undeclared: bool = False
    skip: tuple[str, ...] = ()
    source: str = ""

    @property
    def charge(self) -> bool:
        """Whether the ledger is charged."""
        return self.verdict == "published" and self.verb != "risk"


def people(regions: Any, kind: Any = None, **columns: Any) -> pl.DataFrame:
    """Write persons with typed regions, each in a home of its own, of alternating sex."""
    column = pl.Series("r", regions, dtype=kind)
    n = len(column)
    given = {"home": [f"h{at}" for at in range(n)], "sex": ["FM"[at % 2] for at in range(n)]}
    return pl.DataFrame({"r": column, **given, **columns})


PLAIN = people(["1", "1", "2", "2"])
CSV = PLAIN.write_csv().encode()


def sizes(id_: str, kind: str, table: Table = PLAIN, named: str = "", **more: Any) -> ReleaseCase:
    """State a case of counts by size: refused if something is named."""
    return ReleaseCase(
        id_, kind, "sizes", "refused" if named else "published", named, table, **more
    )


def categories(
    id_: str, kind: str, table: Table = PLAIN, named: str = "", **more: Any
) -> ReleaseCase:
    """State a case of counts by category."""
    return ReleaseCase(
        id_, kind, "categories", "refused" if named else "published", named, table, **more
    )


def risk(id_: str, kind: str, table: Table = PLAIN, named: str = "", **more: Any) -> ReleaseCase:
    """State a case of risk."""
    return ReleaseCase(id_, kind, "risk", "refused" if named else "published", named, table, **more)


def select(id_: str, kind: str, table: Table, named: str = "", **more: Any) -> ReleaseCase:
    """State a case of a selection by coverage, which no page makes."""
    more = {"skip": ("studio",), "neighbors": "add-remove-one", **more}
    return ReleaseCase(
        id_, kind, "select", "refused" if named else "published", named, table, **more
    )


EDGES = b"client,candidate\na,x\nb,y\nc,z\n"
DAYS = [dt.date(2020, 1, 1), dt.date(2020, 1, 2)] * 2

RELEASES: list[ReleaseCase] = [
    # Regions, whose cells are never refused: a row that no region fits is left out.
    sizes("plain counts", "cells of regions"),
    sizes(
        "regions as whole floats",
        "cells of regions",
        people([1.0, 1.0, 2.0, 2.0]),
        source=f"{PANDAS}/48704",
    ),
    sizes(
        "one person without a region",
        "cells of regions",
        people([1, 1, 2, None]),
        source=f"{PANDAS}/30268",
    ),
    sizes(
        "NaN among floats",
        "cells of regions",
        people([1.0, float("nan"), 2.0, 2.0]),
        source=f"{OPENDP}/opendp/issues/2938",
    ),
    sizes("regions of no list", "cells of regions", people(["9", "1", "2", "2"])),
    sizes(
        "blanks around regions",
        "cells of regions",
        people([" 1", "1 ", "2", "2"]),
        source="https://github.com/HXLStandard/libhxl-python/issues/177",
    ),
    # Types that a file declares.
    sizes(
        "true regions",
        "types of regions",
        people([True, True, False, False]),
        regions=b"r\ntrue\nfalse\n",
        source="https://github.com/ClickHouse/ClickHouse/issues/72607",
    ),
    sizes("days", "types of regions", people(DAYS), regions=b"r\n2020-01-01\n2020-01-02\n"),
    sizes(
        "a day of no calendar",
        "types of regions",
        people(pl.Series([2**31 - 1, 0, 1, 1], dtype=pl.Int32).cast(pl.Date)),
        regions=b"r\n1970-01-01\n1970-01-02\n",
    ),
    sizes(
        "infinite regions",
        "types of regions",
        people([1.0, float("inf"), 2.0, 2.0]),
        source=f"{OPENDP}/smartnoise-sdk/pull/580",
    ),
    sizes(
        "lists of regions",
        "types of regions",
        people([["1"], ["1"], ["2"], ["2"]]),
        "r",
        undeclared=True,
    ),
    sizes("records of regions", "types of regions", people([{"a": 1}] * 4), "r", undeclared=True),
    # The schema.
    sizes(
        "a region column that is not there",
        "columns of counts",
        people(["1"] * 4).rename({"r": "q"}),
        "r",
        skip=("studio",),
    ),
    sizes("no home", "columns of counts", PLAIN.drop("home"), "home", skip=("studio",)),
    # Odd rows are read by the rule, one by one; a quote out of place makes a file no table.
    sizes("ragged people", "odd rows of people", CSV + b"1\n", source=f"{PANDAS}/36069"),
    sizes(
        "people of zero bytes",
        "odd rows of people",
        CSV + b"1,h\x009,F\n",
        source=f"{PANDAS}/2741",
    ),
    sizes("people of other bytes", "odd rows of people", CSV + b"\xff,h\xfc9,F\n"),
    sizes("a quote out of place", "odd rows of people", CSV + b'1,h"9,F\n', "people"),
    sizes("names of other bytes", "odd rows of people", CSV.replace(b"sex", b"s\xe9x"), "people"),
    # The number of rows is private: a table without rows is counted.
    sizes("people without rows", "columns of counts", b"r,home,sex\n"),
    # The public list.
    sizes("a list with a region twice", "public regions", regions=b"r\n1\n1\n", named="regions"),
    sizes(
        "a list with 1 and 1.0",
        "public regions",
        regions=b"r\n1\n1.0\n",
        named="regions",
        source=f"{OPENDP}/opendp/issues/777",
    ),
    sizes("an empty list", "public regions", regions=b"r\n", named="regions"),
    sizes("a list with a region to itself", "public regions", regions=b"r\n1\n2\n3\n"),
    # What is promised.
    sizes(
        "epsilon of zero",
        "budgets",
        amount="0",
        named="epsilon",
        source="https://github.com/NVIDIA-NeMo/Safe-Synthesizer/issues/367",
    ),
    sizes(
        "infinite epsilon",
        "budgets",
        amount="inf",
        named="epsilon",
        source="https://github.com/NVIDIA-NeMo/Safe-Synthesizer/issues/367",
    ),
    sizes(
        "negative epsilon",
        "budgets",
        amount="-1",
        named="epsilon",
        source="https://github.com/OpenMined/PipelineDP/pull/38",
    ),
    sizes(
        "epsilon with a unit and a claim", "budgets", amount="2/km, proved optimal", named="epsilon"
    ),
    sizes("a fraction of epsilon", "budgets", amount="1/2"),
    # Categories.
    categories("plain categories", "categories"),
    categories(
        "a category of no domain",
        "categories",
        people(["1", "1", "2", "2"]).with_columns(sex=pl.lit("X")),
        source=f"{OPENDP}/opendp/issues/777",
    ),
    categories(
        "a missing category",
        "categories",
        people(["1", "1", "2", "2"]).with_columns(sex=pl.Series(["F", None, "M", ""])),
        source="https://github.com/mostly-ai/mostlyai-engine/pull/184",
    ),
    categories("a domain with a category twice", "categories", domain="sex: F, F", named="domain"),
    categories("a domain of another column", "categories", domain="age: 1, 2", named="age"),
    categories(
        "categories of a list",
        "categories",
        people(["1"] * 4).with_columns(sex=pl.Series([["F"]] * 4)),
        "sex",
        undeclared=True,
    ),
    # Risk.
    risk("risk of a table", "risks", b"r,sex\n1,F\n1,F\n2,M\n2,M\n"),
    risk(
        "risk with missing cells",
        "risks",
        b"r,sex\n1,F\n1,F\n,M\n,M\n",
        source="https://github.com/sdcTools/UserSupport/issues/189",
    ),
    risk("risk of a ragged table", "risks", b"r,sex\n1,F\n1\n", "table", source=f"{POLARS}/10585"),
    risk("risk of a table without rows", "risks", b"r,sex\n", "table"),
    risk("risk of nested cells", "risks", people([[1], [1]]), "table"),
    # Selections.
    select("coverage", "selections", EDGES),
    select(
        "candidates of no list",
        "selections",
        EDGES + b"d,w\n",
        source=f"{OPENDP}/opendp/issues/777",
    ),
    select(
        "coverage without its column",
        "selections",
        b"client,place\na,x\n",
        "source",
        source="https://github.com/DOI-USGS/dataretrieval-python/pull/311",
    ),
    select(
        "lists of candidates",
        "selections",
        pl.DataFrame({"client": ["a"], "candidate": [["x"]]}),
        "source",
        undeclared=True,
    ),
    select(
        "negative epsilon of a choice",
        "selections",
        EDGES,
        "epsilon",
        amount="-1",
        source="https://github.com/OpenMined/PySyft/issues/6914",
    ),
]
