"""Forms of the page of counts: columns, public facts, the guarantee; wrong entries are named by their title."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from discreet.core import printed
from discreet.core.errors import InvalidProblemError
from discreet.hierarchy.methods import DEFAULT, quick_methods
from discreet.studio import publish_forms
from discreet.studio.forms import whole_of
from discreet.studio.publish_forms import (
    NEIGHBORS,
    TableLayout,
    choice_of,
    column_of,
    parts_of,
    regions_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from discreet.studio.publish_forms import Promise

__all__ = [
    "KINDS",
    "PUBLIC",
    "TITLES",
    "method_names",
    "read_promise",
    "read_table_form",
]

MAX_SIZE_ON_PAGE = 10_000
"""Largest size that the page takes; larger tables are for the command line."""

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


def read_table_form(form: Mapping[str, str], columns: Sequence[str]) -> TableLayout:
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
    kind = choice_of(form, "kind", "Rows", KINDS)
    public = choice_of(form, "public", "What is public", PUBLIC)
    persons = kind == "persons"
    regions = regions_of(form, columns)
    wanted = ("unit", "quantity", "person") if persons else ("unit", "size")
    chosen = {name: column_of(form, name, name.capitalize(), columns) for name in wanted}
    if persons and chosen["unit"] is None:
        expected = "the column that names the household, firm or group of each person"
        raise InvalidProblemError("Unit", expected, "none")
    if not persons and chosen["size"] is None:
        raise InvalidProblemError("Size", "the column of the sizes of the units", "none")
    named = [name for name in (*regions, *chosen.values()) if name is not None]
    if len(set(named)) < len(named):
        raise InvalidProblemError("Columns", "a column for one use", "one for two")
    max_size = whole_of(form, "max_size", "Largest size", least=1)
    if max_size > MAX_SIZE_ON_PAGE:
        raise InvalidProblemError(
            "Largest size",
            f"{printed.count(MAX_SIZE_ON_PAGE)} or less; larger ones go through `discreet counts`",
            printed.count(max_size),
        )
    arguments = {
        "columns": regions,
        **chosen,
        "max_size": max_size,
        "root": form.get("root", "").strip() or "all",
    }
    if chosen.get("quantity"):
        arguments["max_quantity"] = whole_of(form, "max_quantity", "Largest quantity", least=1)
    return TableLayout(choice_of(form, "neighbors", "Neighbors", NEIGHBORS), arguments, public)


def read_promise(form: Mapping[str, str], neighbors: str) -> Promise:
    """Read the guarantee, the method and the parts of the budget.

    Raises
    ------
    InvalidProblemError
        For a text that is not a number, or a method that the page does not offer.
    """
    method = form.get("method", "") or method_names()[0]
    if method not in method_names():
        raise InvalidProblemError("Method", "one of the list", repr(method))
    stated = publish_forms.read_promise(form, neighbors)
    return replace(stated, arguments={"method": method, "levels": parts_of(form)})


def method_names() -> tuple[str, ...]:
    """Return the methods that the page offers, the default first: proven ones that are quick at any size."""
    return (DEFAULT, *(name for name in quick_methods() if name != DEFAULT))
