"""What the forms of the page of tables say: columns, categories, marginals; wrong entries by their title."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from discreet.core.errors import InvalidProblemError
from discreet.studio.forms import whole_of
from discreet.studio.publish_forms import DEPTH, NEIGHBORS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["TITLES", "TablesForm", "read_categories", "read_tables_form"]

_MOST_TEXT = 1 << 20
"""Letters of the list of categories."""

TITLES = {
    "budget": "The budget",
    "by": "Categories",
    "columns": "Columns",
    "columns, by, person": "Columns",
    "domain": "Categories",
    "levels": "Parts of the budget for the levels",
    "marginals": "Marginals",
    "max_rows": "Rows of a person",
    "shares": "Parts of the budget for the marginals",
    "tree": "The list of regions",
    "zeros": "Categories that exclude one another",
}
"""Arguments of the library -> what this page calls them."""


@final
@dataclass(frozen=True)
class TablesForm:
    """Which columns are what, and what is public.

    Parameters
    ----------
    regions
        Columns of the region path, from the top down.
    categories
        The domain as the library reads it: categories by attribute, perhaps with structural zeros.
    marginals, shares
        Names and parts, one list or one for each level; ``None`` where nothing was said.
    levels
        Parts of the budget of each level, or ``None`` for equal ones.
    person
        The column that names the person, if there is one.
    max_rows
        The most rows of a person.
    root
        Name of the region that holds all.
    neighbors
        A key of :data:`~discreet.studio.publish_forms.NEIGHBORS`.
    """

    regions: tuple[str, ...]
    categories: dict[str, Any]
    marginals: Any
    shares: Any
    levels: tuple[str, ...] | None
    person: str | None
    max_rows: int
    root: str
    neighbors: str


def read_tables_form(form: Mapping[str, str], columns: Sequence[str]) -> TablesForm:
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
        For a column that is not there, or a choice that was not made.
    """
    regions = [form.get(f"region-{at}", "") for at in range(DEPTH)]
    person = form.get("person", "") or None
    chosen = [name for name in (*regions, person) if name]
    if not all(name in columns for name in chosen):
        raise InvalidProblemError("Columns", "columns of the table", "another")
    if not regions[0]:
        expected = "at least one column, the largest regions first"
        raise InvalidProblemError("Regions", expected, "none")
    neighbors = form.get("neighbors", "")
    if neighbors not in NEIGHBORS:
        raise InvalidProblemError("Neighbors", "a choice", "none" if not neighbors else "another")
    parts = form.get("levels", "").strip()
    return TablesForm(
        tuple(name for name in regions if name),
        read_categories(form.get("categories", "")),
        _lists(form.get("marginals", "")),
        _lists(form.get("shares", "")),
        tuple(part.strip() for part in parts.split(",")) if parts else None,
        person,
        whole_of(form, "max_rows", "Rows of a person", least=1),
        form.get("root", "").strip() or "all",
        neighbors,
    )


def read_categories(text: str) -> dict[str, Any]:
    """Read categories from lines ``sex: F, M``, or from JSON as ``discreet counts --domain`` takes it.

    Raises
    ------
    InvalidProblemError
        For neither of them, or an attribute that comes twice.

    Examples
    --------
    >>> read_categories("sex: F, M")
    {'sex': ['F', 'M']}
    """
    title = "Categories"
    if not text.strip() or len(text) > _MOST_TEXT:
        expected = "a line for each attribute, such as sex: F, M"
        raise InvalidProblemError(title, expected, "none" if not text.strip() else "too many")
    if text.lstrip().startswith("{"):
        try:
            found = json.loads(text, object_pairs_hook=_once)
        except (ValueError, RecursionError) as error:
            raise InvalidProblemError(title, "JSON", str(error)) from None
        return dict(found)
    pairs = []
    for line in filter(str.strip, text.splitlines()):
        name, colon, listed = line.partition(":")
        if not colon or not name.strip():
            expected = "a line for each attribute, such as sex: F, M"
            raise InvalidProblemError(title, expected, repr(line[:60]))
        pairs.append((name.strip(), [one.strip() for one in listed.split(",")]))
    try:
        return _once(pairs)
    except ValueError as error:
        raise InvalidProblemError(title, "a line for each attribute", str(error)) from None


def _lists(text: str) -> Any:  # noqa: ANN401 - a list, a list of lists, or nothing
    """Read a list between commas, or one for each level between semicolons."""
    if not text.strip():
        return None
    parts = [[word.strip() for word in part.split(",")] for part in text.split(";")]
    return parts[0] if len(parts) == 1 else parts


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a name that comes twice: the last one would win in silence."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        again = next(name for at, name in enumerate(names) if name in names[:at])
        message = f"{again!r} twice"
        raise ValueError(message)
    return found
