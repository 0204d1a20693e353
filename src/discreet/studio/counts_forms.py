"""What the forms of the counts page say: columns, what is public, what is promised; wrong entries by their title."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from discreet.core import printed
from discreet.core.errors import InvalidProblemError
from discreet.hierarchy.methods import DEFAULT, quick_methods
from discreet.studio.forms import whole_of
from discreet.studio.publish_forms import DEPTH, NEIGHBORS, read_guarantee

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from discreet.core.guarantee import PureDP, ZeroConcentratedDP

__all__ = [
    "KINDS",
    "PUBLIC",
    "TITLES",
    "PromiseForm",
    "TableForm",
    "method_names",
    "read_promise",
    "read_table_form",
]

MOST_SIZE = 10_000

KINDS = {
    "persons": "one person; another column names the household, firm or group that they belong to",
    "units": "one household, firm or group, with a column of its size",
}

PUBLIC = {
    "list": "A list of all lowest regions, in a second file",
    "units": "A register of all units with their regions, in a second file. How many units each region has is then "
    "published as it is",
    "table": "I declare that the regions in my table, and that there are no others, are public knowledge. The record "
    "will say that I did",
}
"""Where the public regions come from."""

TITLES = {
    "kind": "Method",
    "max_quantity": "Largest quantity",
    "max_size": "Largest size",
    "method": "Method",
    "public_units": "The register of units",
    "units": "The units",
    "unit, size, quantity, person": "Unit, size, quantity, person",
}
"""Arguments of the library -> what this page calls them."""


@final
@dataclass(frozen=True)
class TableForm:
    """Which columns are what, and what is public.

    Parameters
    ----------
    kind
        A key of :data:`KINDS`.
    regions
        Columns of the region path, from the top down.
    public
        A key of :data:`PUBLIC`.
    unit, size, quantity, person
        Columns; ``None`` where there is none.
    max_size, max_quantity
        Larger ones count as these.
    root
        Name of the region that holds all.
    neighbors
        A key of :data:`discreet.studio.publish_forms.NEIGHBORS`.
    """

    kind: str
    regions: tuple[str, ...]
    public: str
    unit: str | None
    size: str | None
    quantity: str | None
    person: str | None
    max_size: int
    max_quantity: int
    root: str
    neighbors: str


@final
@dataclass(frozen=True)
class PromiseForm:
    """What is promised and how it is made.

    Parameters
    ----------
    guarantee
        The promise.
    method
        Name of the method.
    levels
        Part of the budget of each level, or ``None`` for equal ones.
    """

    guarantee: PureDP | ZeroConcentratedDP
    method: str
    levels: tuple[str, ...] | None


def read_table_form(form: Mapping[str, str], columns: Sequence[str]) -> TableForm:
    """Read the form of columns.

    Parameters
    ----------
    form
        Names and texts.
    columns
        Names of the columns of the table.

    Raises
    ------
    InvalidProblemError
        For a column that is missing, is not there or is named twice, or a choice that was not made.
    """
    kind, public = _one(form, "kind", "Rows", KINDS), _one(form, "public", "What is public", PUBLIC)
    persons = kind == "persons"
    regions = tuple(
        name
        for at in range(DEPTH)
        if (name := _column(form, f"region-{at}", "Regions", columns)) is not None
    )
    if not regions:
        expected = "at least one column, the largest regions first"
        raise InvalidProblemError("Regions", expected, "none")
    unit = _column(form, "unit", "Unit", columns)
    size = None if persons else _column(form, "size", "Size", columns)
    if persons and unit is None:
        expected = "the column that names the household, firm or group of each person"
        raise InvalidProblemError("Unit", expected, "none")
    if not persons and size is None:
        raise InvalidProblemError("Size", "the column of the sizes of the units", "none")
    quantity = _column(form, "quantity", "Quantity", columns) if persons else None
    person = _column(form, "person", "Person", columns) if persons else None
    named = [name for name in (*regions, unit, size, quantity, person) if name is not None]
    if len(set(named)) < len(named):
        raise InvalidProblemError("Columns", "a column for one use", "one for two")
    max_size = whole_of(form, "max_size", "Largest size", least=1)
    if max_size > MOST_SIZE:
        raise InvalidProblemError(
            "Largest size",
            f"{printed.count(MOST_SIZE)} or less; larger ones go through `discreet counts`",
            printed.count(max_size),
        )
    most = whole_of(form, "max_quantity", "Largest quantity", least=1) if quantity else 1
    root = form.get("root", "").strip() or "all"
    neighbors = _one(form, "neighbors", "Neighbors", NEIGHBORS)
    return TableForm(
        kind, regions, public, unit, size, quantity, person, max_size, most, root, neighbors
    )


def read_promise(form: Mapping[str, str], neighbors: str) -> PromiseForm:
    """Read the promise, the method and the parts of the budget.

    Raises
    ------
    InvalidProblemError
        For a number that is none, or a method that the page does not offer.
    """
    method = form.get("method", "") or method_names()[0]
    if method not in method_names():
        raise InvalidProblemError("Method", "one of the list", repr(method))
    parts = form.get("levels", "").strip()
    levels = tuple(part.strip() for part in parts.split(",")) if parts else None
    return PromiseForm(read_guarantee(form, neighbors), method, levels)


def method_names() -> tuple[str, ...]:
    """Name the methods that the page offers, the default first: those with a guarantee that are quick at any size."""
    return (DEFAULT, *(name for name in quick_methods() if name != DEFAULT))


def _one(form: Mapping[str, str], field: str, title: str, known: Mapping[str, str]) -> str:
    value = form.get(field, "")
    if value not in known:
        raise InvalidProblemError(title, "a choice", "none" if not value else "another")
    return value


def _column(form: Mapping[str, str], field: str, title: str, columns: Sequence[str]) -> str | None:
    value = form.get(field, "")
    if not value:
        return None
    if value not in columns:
        raise InvalidProblemError(title, "a column of the table", "another")
    return value
