"""What the page's forms say, read into attributes and demands; wrong entries are named by their field."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from discreet.core.errors import InvalidProblemError
from discreet.kanonymity.models import AlphaFrequency, DistinctDiversity
from discreet.kanonymity.problem import Categorical, Numeric, Taxonomy
from discreet.studio.outlines import read_outline

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from discreet.kanonymity.models import Model
    from discreet.kanonymity.problem import Attribute
    from discreet.studio.reading import Column

__all__ = ["ROLES", "Roles", "number_of", "read_models", "read_roles"]

ROLES = {
    "keep": "published as it is",
    "quasi": "somebody may know it",
    "sensitive": "nobody should learn it",
    "drop": "left out",
}
"""What a column can be; `quasi` are the quasi-identifiers."""


@final
@dataclass(frozen=True)
class Roles:
    """What the columns are.

    Parameters
    ----------
    attributes
        The quasi-identifiers.
    sensitive, dropped
        Names of other columns.
    """

    attributes: tuple[Attribute, ...]
    sensitive: tuple[str, ...]
    dropped: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        """Names of the quasi-identifiers."""
        return [attribute.name for attribute in self.attributes]


def read_roles(form: Mapping[str, str], columns: Sequence[Column], table: pl.DataFrame) -> Roles:
    """Read the form of columns: ``role-0``, ``kind-0``, ``weight-0`` and ``outline-0`` for the first column.

    Raises
    ------
    InvalidProblemError
        Without quasi-identifiers, for free text among them, or a taxonomy in which a value has no place.
    """
    attributes: list[Attribute] = []
    others: dict[str, list[str]] = {"sensitive": [], "drop": []}
    for at, column in enumerate(columns):
        role = form.get(f"role-{at}", "keep")
        if role not in ROLES:
            raise InvalidProblemError(column.name, "a use of the list", "another")
        if role == "quasi":
            attributes.append(_attribute(form, at, column, table))
        elif role in others:
            others[role].append(column.name)
    if not attributes:
        expected = f"at least one marked “{ROLES['quasi']}”"
        raise InvalidProblemError("Columns", expected, "none")
    return Roles(tuple(attributes), tuple(others["sensitive"]), tuple(others["drop"]))


def _attribute(form: Mapping[str, str], at: int, column: Column, table: pl.DataFrame) -> Attribute:
    name, kind = column.name, form.get(f"kind-{at}", "")
    weight = number_of(form, f"weight-{at}", f"Weight of {name}", default=1.0)
    if column.free_text and kind != "taxonomy":
        expected = (
            "values that persons share; it holds free text, where nearly every row says something else: leave it out, "
            "or put its values into groups"
        )
        raise InvalidProblemError(name, expected, "free text")
    if kind == "numeric":
        return Numeric(name, weight)
    if kind == "categorical":
        return Categorical(name, weight)
    if kind != "taxonomy":
        raise InvalidProblemError(name, "a form of the list", "another")
    tree = read_outline(form.get(f"outline-{at}", ""), name)
    known = {str(tree.labels[leaf]) for leaf in tree.leaves.tolist()}
    values = {value for value in table[name].drop_nulls().cast(str).unique() if value.strip()}
    missing = len(values - known)
    if missing:
        expected = (
            "a place at the ends of its groups for each of its values; load or list them again"
        )
        raise InvalidProblemError(name, expected, f"{missing} without one")
    return Taxonomy(name, tree, weight)


def read_models(form: Mapping[str, str], sensitive: Sequence[str]) -> dict[str, list[Model]]:
    """Read ``l`` and ``alpha``, which hold for each sensitive column; empty for none.

    Raises
    ------
    InvalidProblemError
        For numbers that make no sense, or when there are no sensitive columns.
    """
    asked: list[Model] = []
    if form.get("l", "").strip():
        asked.append(DistinctDiversity(whole_of(form, "l", "Different values", least=2)))
    if form.get("alpha", "").strip():
        asked.append(AlphaFrequency(form["alpha"].strip()))
    if asked and not sensitive:
        expected = f"a column marked “{ROLES['sensitive']}”"
        raise InvalidProblemError("Different values, largest share", expected, "none")
    return dict.fromkeys(sensitive, asked) if asked else {}


def whole_of(form: Mapping[str, str], field: str, title: str, *, least: int) -> int:
    """Read a whole number."""
    text = form.get(field, "").strip()
    if not text.isdecimal() or len(text) > 9 or int(text) < least:
        raise InvalidProblemError(title, f"a whole number of {least} or more", repr(text[:20]))
    return int(text)


def number_of(
    form: Mapping[str, str],
    field: str,
    title: str,
    *,
    default: float | None = None,
    most: float = math.inf,
) -> float:
    """Read a positive number."""
    text = form.get(field, "").strip()
    if not text and default is not None:
        return default
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and 0 < value <= most):
        top = "" if most == math.inf else f" up to {most:g}"
        raise InvalidProblemError(title, f"a positive number{top}", repr(text[:20]))
    return value
