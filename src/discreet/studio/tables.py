"""The page of tables by region: its forms, its plan and expected errors, and what it shows of a release.

Wrong entries are named by their title.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from discreet.core import printed
from discreet.core.errors import InvalidProblemError
from discreet.hierarchy import contingency
from discreet.hierarchy.contingency.estimates import check_room
from discreet.hierarchy.contingency.optimum import LIMITS
from discreet.hierarchy.contingency.workload import LOSSES, SHRINKS, read_lists, unrepeated
from discreet.report.figures import new_figure
from discreet.report.hierarchy import draw_expected
from discreet.studio.counts import describe_levels, picture, sample_rows
from discreet.studio.forms import (
    NEIGHBORS,
    REGION_FIELDS,
    TableLayout,
    choice_of,
    count_of,
    parts_of,
    read_promise,
    regions_of,
    whole_of,
)
from discreet.studio.publishing import LIST, Publication
from discreet.tables.keys import key_text
from discreet.tables.parsing import free_memory

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from discreet.core.guarantee import PureDP, ZeroConcentratedDP
    from discreet.core.outcome import Release
    from discreet.hierarchy.contingency import RegionTables, TablesPlan


_MAX_LETTERS = 1 << 20
"""Letters of the list of categories."""

TITLES = {
    "budget": "The budget",
    "by": "Categories",
    "columns": "Columns",
    "columns, by, person": "Columns",
    "domain": "Categories",
    "groups": "Groups of regions",
    "levels": "Parts of the budget for the levels",
    "loss": "What is small",
    "marginals": "Marginals",
    "max_rows": "Rows of a person",
    "shares": "Parts of the budget for the marginals",
    "shrink": "Published tables",
    "tree": "The list of regions",
    "workload": "Tables that you need",
    "workload_levels": "Weights of the levels",
    "zeros": "Categories that exclude one another",
}
"""Arguments of the library -> what this page calls them."""


def read_tables_form(form: Mapping[str, str], columns: Sequence[str]) -> TableLayout:
    """Read the form of columns.

    Parameters
    ----------
    form
        Names and texts: ``region-0`` to ``region-4``, ``person``, ``neighbors``, ``categories``, ``marginals``,
        ``shares``, ``workload``, ``workload_levels``, ``loss``, ``shrink``, ``levels``, ``groups``,
        ``max_rows`` and ``root``.
    columns
        Names of the columns of the table.

    Raises
    ------
    InvalidProblemError
        For a column that is not there, no region in the first field, no choice of neighbors, categories or lists that
        cannot be read, or a number of rows below 1.
    """
    for name in (*REGION_FIELDS, "person"):
        if form.get(name, "") not in ("", *columns):
            raise InvalidProblemError("Columns", "columns of the table", "another")
    # A path without its top would be another one.
    regions = regions_of(form if form.get("region-0") else {}, columns)
    neighbors = choice_of(form, "neighbors", "Neighbors", NEIGHBORS)
    arguments = {
        "columns": regions,
        "domain": read_categories(form.get("categories", "")),
        "marginals": read_lists(form.get("marginals", "").strip() or None),
        "shares": read_lists(form.get("shares", "").strip() or None),
        **{
            name: form.get(name, "").strip() or None
            for name in ("workload", "workload_levels", "loss", "shrink")
        },
        "levels": parts_of(form),
        "groups": count_of(form, "groups", "Groups of regions"),
        "person": form.get("person") or None,
        "max_rows": whole_of(form, "max_rows", "Rows of a person", least=1),
        "root": form.get("root", "").strip() or "all",
    }
    return TableLayout(neighbors, arguments)


def write_categories(table: pl.DataFrame) -> str:
    """Write a public table of attributes and categories as the JSON that :func:`read_categories` reads.

    Raises
    ------
    InvalidProblemError
        For other than two columns, which a table of persons might have, or an attribute without a name.

    Examples
    --------
    >>> import polars as pl
    >>> write_categories(pl.DataFrame({"attribute": ["sex", "sex", "age"], "category": ["F", "M", "0-17"]}))
    '{"sex": ["F", "M"], "age": ["0-17"]}'
    """
    if table.width != 2 or table.to_series(0).has_nulls():
        expected = "a table of two columns, an attribute and one of its categories in each row"
        raise InvalidProblemError("Categories", expected, "another")
    listed: dict[str, list[str]] = {}
    for name, category in table.rows():
        listed.setdefault(key_text(name), []).append("" if category is None else key_text(category))
    return json.dumps(listed, ensure_ascii=False)


def read_categories(text: str) -> dict[str, Any]:
    """Read categories from lines ``sex: F, M``, or from JSON as ``discreet counts --domain`` takes it.

    Returns attribute -> list of its categories; what JSON holds is not checked further. At most a million letters.

    Raises
    ------
    InvalidProblemError
        For neither of them, an empty or too long text, or an attribute that comes twice.

    Examples
    --------
    >>> read_categories("sex: F, M")
    {'sex': ['F', 'M']}
    """
    title, expected = "Categories", "a line for each attribute, such as sex: F, M"
    if not text.strip() or len(text) > _MAX_LETTERS:
        raise InvalidProblemError(title, expected, "none" if not text.strip() else "too many")
    if text.lstrip().startswith("{"):
        try:
            return dict(json.loads(text, object_pairs_hook=unrepeated))
        except (ValueError, RecursionError) as error:
            raise InvalidProblemError(title, "JSON", str(error)) from None
    pairs = []
    for line in filter(str.strip, text.splitlines()):
        name, colon, listed = line.partition(":")
        if not colon or not name.strip():
            raise InvalidProblemError(title, expected, repr(line[:60]))
        pairs.append((name.strip(), [one.strip() for one in listed.split(",")]))
    try:
        return unrepeated(pairs)
    except ValueError as error:
        raise InvalidProblemError(title, "a line for each attribute", str(error)) from None


def _plan(regions: str, guarantee: PureDP | ZeroConcentratedDP, **arguments: Any) -> TablesPlan:  # noqa: ANN401 - as of the library
    """Plan the tables, with `regions` the file of regions.

    InvalidProblemError where they do not fit the free memory.
    """
    planned = contingency.plan(regions, guarantee, **arguments)
    check_room(planned.frame, free_memory())
    return planned


def _columns(_query: Mapping[str, str]) -> dict[str, Any]:
    """Return what the page of the columns shows."""
    return {"losses": LOSSES, "shrinks": SHRINKS, "max_groups": LIMITS.max_groups}


def describe_plan(planned: TablesPlan, count: int | None = None) -> dict[str, Any]:
    """Return the cost and the expected errors of a release: public facts, known before a record is read.

    Parameters
    ----------
    planned
        The plan.
    count
        A count whose coefficient of variation is shown; without it ``coefficient`` is empty.

    Returns
    -------
    dict
        ``cost``, ``picture``, ``count``, ``proof`` (with what tables are drawn to), ``assumed`` (pairs of name and
        description) and ``errors``: for each level and marginal a dict of texts ``alone``, ``together``, ``naive``
        (expected errors) and ``coefficient``, with ``level``, ``marginal`` and ``entries``.
    """
    frame, errors = planned.frame, planned.expected_errors()
    figure = new_figure(4.9, 1.6 + 0.24 * len(errors))
    draw_expected(errors, figure.add_subplot())
    rows = [
        {
            "level": one.level,
            "marginal": one.marginal,
            "entries": frame.domain.size_of(frame.domain.marginal(one.marginal)),
            "alone": "not measured" if one.alone is None else printed.at_most(one.alone, 3),
            "together": printed.at_most(one.together, 3),
            "naive": printed.estimate(one.naive, 3),
            "coefficient": printed.share_at_most(one.worst / count, 1) if count else "",
        }
        for one in errors
    ]
    return {
        "cost": planned.cost,
        "errors": rows,
        "picture": picture(figure),
        "count": count,
        "proof": [*planned.proof, *planned.shrunk],
        "assumed": [(public.name, public.description) for public in planned.assumed_public],
    }


def _show(made: Release[RegionTables], planned: TablesPlan) -> dict[str, Any]:
    """Return the values of a release for its page: those of `describe_plan`, levels, sample rows and distances.

    The guarantee covers all of them, so that the page may be copied.
    """
    result = made.result
    return {
        **describe_plan(planned),
        "levels": describe_levels(result),
        **sample_rows(result),
        "distances": result.distances_in_words(),
        "biased": result.no_intervals,
    }


TABLES = Publication(
    name="tables",
    command="discreet counts --by",
    public={"list": (LIST, "The list of regions")},
    measurements="table-measurements.parquet",
    page="tables.html",
    titles=TITLES,
    read_layout=read_tables_form,
    read_promise=read_promise,
    make_plan=_plan,
    chapter=("tables", "Tables by region, with their proof", {}),
    show=_show,
    first={},
    columns=_columns,
)
"""Tables of categories by region."""
