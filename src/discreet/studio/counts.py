"""The page of counts by region and size: its forms, the comparison of budgets, and what it shows of a release.

Wrong entries are named by their title. Comparing runs in a process of its own, as publishing does, on a synthetic
table. What is shown of a release is what the guarantee covers, so that the page may be copied.
"""

from __future__ import annotations

import base64
import io
import math
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np

from discreet.core import printed
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import PureDP, ZeroConcentratedDP
from discreet.hierarchy import GroupSizes, diagnose, plan, query
from discreet.hierarchy.methods import DEFAULT, quick_methods
from discreet.hierarchy.query import COUNTED_KINDS
from discreet.plot import plot_counts
from discreet.plot.counts import MAX_BARS
from discreet.plot.style import INK
from discreet.report.figures import new_figure
from discreet.report.region_bars import bar_chart_height, draw_bars, level_bars
from discreet.studio import forms
from discreet.studio.forms import (
    NEIGHBORS,
    TableLayout,
    choice_of,
    column_of,
    parts_of,
    regions_of,
    titled,
    whole_of,
)
from discreet.studio.publishing import LIST, Publication

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from matplotlib.figure import Figure

    from discreet.core.outcome import Release
    from discreet.hierarchy import Frame, Plan
    from discreet.hierarchy.contingency import RegionTables
    from discreet.hierarchy.diagnose import Diagnosis
    from discreet.hierarchy.result import RegionCounts
    from discreet.report.region_bars import LevelBars
    from discreet.studio.forms import Promise

    Tell = Callable[[dict[str, Any]], None]

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


def read_table_form(
    form: Mapping[str, str], columns: Sequence[str], *, max_size_on_page: int = 10_000
) -> TableLayout:
    """Read the form of columns.

    Parameters
    ----------
    form
        Names and texts: ``kind``, ``public``, ``region-0`` to ``region-4``, ``unit``, ``size`` or ``quantity`` and
        ``person``, ``max_size``, ``max_quantity``, ``root`` and ``neighbors``.
    columns
        Names of the columns of the table.
    max_size_on_page
        Largest size that the page takes; larger tables are for the command line.

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
        raise InvalidProblemError("Columns", "another column for each use", "one column twice")
    max_size = whole_of(form, "max_size", "Largest size", least=1)
    if max_size > max_size_on_page:
        raise InvalidProblemError(
            "Largest size",
            f"{printed.count(max_size_on_page)} or less; larger ones go through `discreet counts`",
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

    The `form` holds ``method`` (the default if empty), ``notion``, ``amount`` and ``levels``; `neighbors` is the
    relation of the layout. The promise's arguments are ``method`` and ``levels``.

    Raises
    ------
    InvalidProblemError
        For no choice of notion, a budget that is not a positive number, or a method that the page does not offer.
    """
    method = form.get("method", "") or _method_names()[0]
    if method not in _method_names():
        raise InvalidProblemError("Method", "one of the list", repr(method))
    stated = forms.read_promise(form, neighbors)
    return replace(stated, arguments={"method": method, "levels": parts_of(form)})


def _method_names() -> tuple[str, ...]:
    """Return the methods that the page offers, the default first: proven ones that are quick at any size."""
    return (DEFAULT, *(name for name in quick_methods() if name != DEFAULT))


_WHOLE_AND_SUMS = {"numbers that are not whole", "numbers below zero", "sums that do not hold"}
"""Checks that a table passes whose numbers are counts that add up; some methods do not promise all of them."""


def _describe_release(release: Release[RegionCounts], _planned: object = None) -> dict[str, Any]:
    """Return the values and drawings of a release for its page.

    Parameters
    ----------
    release
        What :func:`discreet.hierarchy.release` returned.

    Returns
    -------
    dict
        Values of the template ``counts_result.html`` besides those of all publications: method, public_units,
        max_size, assumed (pairs of name and description), declared, adds_up, levels, sizes, measured, and those of
        `sample_rows`.
    """
    result, assumed = release.result, release.provenance.assumed_public
    frame = result.frame
    return {
        "method": release.provenance.method,
        "public_units": frame.units == "public",
        "max_size": frame.max_size,
        "assumed": [(public.name, public.description) for public in assumed],
        "declared": any(public.name.startswith("declaration") for public in assumed),
        "adds_up": {check.name for check in release.certificate.checks} >= _WHOLE_AND_SUMS,
        "levels": describe_levels(result),
        "sizes": _sizes(result),
        "measured": result.measurements is not None,
        **sample_rows(result),
    }


def describe_levels(result: RegionCounts | RegionTables) -> list[dict[str, Any]]:
    """Return for each level from the root a dict of ``level``, ``regions`` (their number), ``picture`` and ``rows``.

    ``picture`` is the address of an SVG image, None for a level of one region; ``rows`` are those of a table.

    `result` is what was released; at most 40 regions of a level are shown, the largest. With kept measurements one
    query for each level.
    """
    return [
        {
            "level": bars.level,
            "regions": bars.n_regions,
            "picture": _draw_level(bars) if len(bars.names) > 1 else None,
            "rows": bars.rows(),
        }
        for bars in level_bars(result)
    ]


def _draw_level(bars: LevelBars) -> str:
    """Return the picture of a level's bars."""
    figure = new_figure(4.9, bar_chart_height(bars))
    draw_bars(bars, figure.add_subplot())
    return picture(figure)


def _sizes(result: RegionCounts) -> dict[str, Any]:
    """Return the root's counts by size: ``picture``, ``rows`` of size, published count and interval, and ``more``.

    The interval is a text, empty without measurements; ``more`` says that larger sizes are not shown. One query for
    each size shown.
    """
    figure, measured = new_figure(4.9, 2.4), result.measurements
    axes = plot_counts(result, ax=figure.add_subplot())
    shown = min(len(axes.patches), MAX_BARS)
    sizes, rows = result.frame.sizes[:shown].tolist(), []
    for at, size in enumerate(sizes):
        interval = ""
        if measured is not None:
            answer = query(measured, sizes=[size], level=1)
            half = answer.high - answer.values
            whiskers: dict[str, Any] = {"fmt": "none", "ecolor": INK, "capsize": 3, "lw": 1}
            axes.errorbar([size], answer.values, yerr=half, **whiskers)
            interval = " to ".join(printed.interval(int(answer.low[0]), int(answer.high[0])))
        rows.append((size, result.counts[0, at].item(), interval))
    return {"picture": picture(figure), "rows": rows, "more": shown < result.frame.n_sizes}


def picture(figure: Figure) -> str:
    """Return a figure as a ``data:`` address of an SVG image, since the page forbids inline styles."""
    written = io.BytesIO()
    figure.savefig(written, format="svg", metadata={"Date": None, "Creator": None})
    return f"data:image/svg+xml;base64,{base64.b64encode(written.getvalue()).decode()}"


def sample_rows(result: RegionCounts | RegionTables, count: int = 12) -> dict[str, Any]:
    """Return ``columns``, ``rows`` (the first `count`, as texts) and ``n_rows`` (of the whole published table).

    Builds the whole table.
    """
    table = result.to_frame("polars")
    rows = [["" if one is None else str(one) for one in row] for row in table.head(count).rows()]
    return {"columns": table.columns, "rows": rows, "n_rows": table.height}


AMOUNTS = {
    "epsilon": ("0.03", "0.1", "0.3", "1", "3", "10"),
    "rho": ("0.0005", "0.005", "0.05", "0.5", "5"),
}
"""The budgets that are compared."""


def _budget(planned: Plan, layout: TableLayout) -> dict[str, Any]:
    """Return ``public`` (its source), ``methods`` (names, the default first) and ``levels`` (a number) for the page."""
    return {
        "public": layout.public,
        "methods": _method_names(),
        "levels": planned.frame.tree.depth + 1,
    }


def _columns(query: Mapping[str, str]) -> dict[str, Any]:
    """Return what the page of the columns shows of a kind of rows; refuse an unknown one."""
    kind = query.get("kind", "")
    if kind not in KINDS:
        raise InvalidProblemError("Rows", "a choice: a person, or a unit with its size", "none")
    return {"kind": kind, "public": PUBLIC}


def _keeps(planned: Plan) -> bool:
    """Measurements of other kinds cannot be queried by size."""
    return planned.method.kind in COUNTED_KINDS


@final
@dataclass(frozen=True)
class Costs:
    """Release a synthetic table at several budgets and average its errors. Nothing private goes in.

    Parameters
    ----------
    plan
        The release from the public facts alone: without private or public tables.
    notion
        A key of :data:`AMOUNTS`.
    each
        Units of the synthetic table in each lowest region, where their number is not public.
    seconds
        After which no other budget is begun.
    """

    plan: Plan
    notion: str
    each: int
    seconds: float = 60.0
    draws: ClassVar[int] = 3
    """Releases at each budget."""

    def run(self, tell: Tell) -> dict[str, Any]:
        """Return the mean errors of a region for each budget and level, on synthetic data.

        No budget is begun later than `seconds` after the first one ended. `tell` gets ``{"text": ...}`` after each.
        Keys: ``rows``, dicts of ``amount``, ``wrong`` (L1) and ``moved`` (earth mover's distance), lists by level;
        ``notion``, ``levels``, ``public``, ``each``, ``draws``. Three releases and diagnoses for each budget.
        """
        frame = self.plan.frame
        data, tree = synthetic_sizes(frame, self.each), frame.tree
        regions, end = np.diff(tree.level_start), math.inf
        rows: list[dict[str, Any]] = []
        for amount in AMOUNTS[self.notion]:
            if time.monotonic() > end:
                break
            seen = list(self._errors(data, amount))
            wrong = np.mean([one.l1 for one in seen], axis=0) / regions
            moved = np.mean([one.earth_mover for one in seen], axis=0) / regions
            rows.append({"amount": amount, "wrong": wrong.tolist(), "moved": moved.tolist()})
            tell({"text": f"{self.notion} = {amount} is done."})
            # The first one also compiles; the clock begins after it.
            end = min(end, time.monotonic() + self.seconds)
        return {
            "rows": rows,
            "notion": self.notion,
            "levels": list(range(1, tree.depth + 2)),
            "public": frame.units == "public",
            "each": self.each,
            "draws": self.draws,
        }

    def _errors(self, data: GroupSizes, amount: str) -> Iterator[Diagnosis]:
        """Yield the errors of several releases of synthetic data at one budget, `amount` of epsilon or rho."""
        notion = PureDP if self.notion == "epsilon" else ZeroConcentratedDP
        with titled(TITLES):
            planned = self.plan.with_guarantee(notion(amount, self.plan.guarantee.neighbors))
            for _ in range(self.draws):
                yield diagnose(data, planned.release(data))


def synthetic_sizes(frame: Frame, each: int) -> GroupSizes:
    """Return a synthetic table: of the units of each lowest region half have the least size, half of the rest the next.

    Parameters
    ----------
    frame
        The public facts; where they hold the number of units in each region, that is their number.
    each
        Units of each lowest region otherwise, 0 or more.

    Raises
    ------
    InvalidProblemError
        For more units than can be counted.

    Examples
    --------
    >>> from discreet import Tree
    >>> from discreet.hierarchy import Frame
    >>> synthetic_sizes(Frame(Tree.from_paths([("GA",), ("NY",)]), 4, "private"), 16).counts.tolist()
    [[9, 4, 2, 1], [9, 4, 2, 1]]
    """
    leaves, totals = frame.tree.leaves, frame.group_totals
    n_units = np.full(len(leaves), each) if totals is None else totals[leaves]
    if float(n_units.sum(dtype=np.float64)) > 2**45:
        raise InvalidProblemError("Units in a lowest region", "a smaller number", each)
    shares = 0.5 ** np.arange(1, frame.n_sizes + 1)
    counts = np.floor(n_units[:, None] * shares).astype(np.int64)
    counts[:, 0] += n_units - counts.sum(axis=1)
    return GroupSizes(frame, counts)


COUNTS = Publication(
    name="counts",
    command="discreet counts",
    public={
        "list": (LIST, "The list of regions"),
        "units": ("units.parquet", "The register of units"),
    },
    measurements="measurements.parquet",
    page="report.html",
    titles=TITLES,
    read_layout=read_table_form,
    read_promise=read_promise,
    make_plan=plan,
    chapter=(
        "hierarchy",
        "Counts by region and size, with their proof",
        {"artefact": "counts.csv"},
    ),
    show=_describe_release,
    first={"kinds": KINDS},
    columns=_columns,
    budget=_budget,
    keeps=_keeps,
)
"""Counts of units by region and size."""
