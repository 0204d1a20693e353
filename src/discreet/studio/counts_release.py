"""What the counts page publishes: a plan from public inputs, the files and what is shown; and budgets compared.

Comparing runs in a process of its own, as publishing does, on a synthetic table.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import PureDP, ZeroConcentratedDP
from discreet.hierarchy import GroupSizes, diagnose, plan
from discreet.studio.counts_forms import (
    KINDS,
    PUBLIC,
    TITLES,
    method_names,
    read_promise,
    read_table_form,
)
from discreet.studio.publish_forms import titled
from discreet.studio.publishing import LIST, PRIVATE, Publication
from discreet.tables.dialect import names_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from discreet.artefact.sidecar import FileContent
    from discreet.core.outcome import Release
    from discreet.hierarchy import Frame, Plan, RegionCounts
    from discreet.hierarchy.diagnose import Diagnosis
    from discreet.studio.counts_forms import PromiseForm, TableForm

    Tell = Callable[[dict[str, Any]], None]

__all__ = [
    "AMOUNTS",
    "COUNTS",
    "DOWNLOADS",
    "FILES",
    "Costs",
    "plan_of",
    "synthetic_sizes",
]

FILES = {"list": LIST, "units": "units.parquet"}
"""Public tables in the page's folder, by the choices of :data:`discreet.studio.counts_forms.PUBLIC`."""

_WANTED = {"list": "The list of regions", "units": "The register of units"}

DOWNLOADS = {
    "counts.csv": "The table, as CSV",
    "counts.csv.discreet.json": "its record",
    "counts.parquet": "The table, as Parquet",
    "counts.parquet.discreet.json": "its record",
    "measurements.parquet": "The noisy counts, for discreet query",
    "measurements.parquet.discreet.json": "their record",
    "report.html": "The report",
}
"""What a release leaves in the page's folder, in order, and what it is."""

AMOUNTS = {
    "epsilon": ("0.03", "0.1", "0.3", "1", "3", "10"),
    "rho": ("0.0005", "0.005", "0.05", "0.5", "5"),
}
"""The budgets that are compared."""

_DRAWS = 3


def plan_of(folder: Path, table: TableForm, promise: PromiseForm | None = None) -> Plan:
    """Plan the release, and refuse all that can be refused without the values of the private table.

    Parameters
    ----------
    folder
        The page's own.
    table
        Which columns are what, and what is public.
    promise
        The guarantee and the method. Without it a stand-in, epsilon 1, for what depends on public facts alone.

    Raises
    ------
    InvalidProblemError
        For public files that were not loaded or make no sense, columns that are not there, or a promise that the
        method cannot keep.
    """
    neighbors: Any = table.neighbors
    declared = table.public == "table"
    given: dict[str, Any] = {}
    with titled(TITLES):
        if declared:
            given["regions"] = str(folder / PRIVATE)
        else:
            path = folder / FILES[table.public]
            if not path.is_file():
                raise InvalidProblemError(_WANTED[table.public], "a file that is loaded", "none")
            _check_names(path, table)
            given["regions" if table.public == "list" else "public_units"] = str(path)
        planned = plan(
            given.pop("regions", None),
            PureDP(1, neighbors) if promise is None else promise.guarantee,
            columns=table.regions,
            unit=table.unit,
            size=table.size,
            quantity=table.quantity,
            person=table.person,
            max_size=table.max_size,
            max_quantity=table.max_quantity,
            declare_regions=declared,
            root=table.root,
            method=None if promise is None else promise.method,
            levels=None if promise is None else promise.levels,
            **given,
        )
        planned.check(str(folder / PRIVATE))
    return planned


def _budget(planned: Plan, table: TableForm) -> dict[str, Any]:
    return {
        "public": table.public,
        "methods": method_names(),
        "levels": planned.frame.tree.depth + 1,
    }


def _columns(query: Mapping[str, str]) -> dict[str, Any]:
    kind = query.get("kind", "")
    if kind not in KINDS:
        raise InvalidProblemError("Rows", "a choice of what one stands for", "none")
    return {"kind": kind, "public": PUBLIC}


def _keeps(planned: Plan) -> bool:
    """Measurements of other kinds cannot be queried by size."""
    return planned.method.kind in ("survival", "direct")


def _contents(planned: Plan) -> dict[str, Callable[[Release[Any]], FileContent]]:
    from discreet.artefact.counts import counts_content, measurements_content
    from discreet.artefact.sidecar import FileContent
    from discreet.report import make_chapter, render_report

    def page(made: Release[RegionCounts]) -> FileContent:
        chapter = make_chapter("hierarchy", made, artefact="counts.csv")
        title = "Counts by region and size, with their proof"
        return FileContent(render_report([chapter], title=title).encode())

    found: dict[str, Callable[[Release[Any]], FileContent]] = {
        "counts.csv": lambda made: counts_content(made, ".csv"),
        "counts.parquet": lambda made: counts_content(made, ".parquet"),
        "report.html": page,
    }
    if _keeps(planned):
        found["measurements.parquet"] = lambda made: measurements_content(
            made.result.measurements, ".parquet", made.provenance.charge
        )
    return found


def _show(made: Release[RegionCounts], _planned: Plan) -> dict[str, Any]:
    from discreet.studio.counts_shown import describe_release

    return describe_release(made)


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

    def run(self, tell: Tell) -> dict[str, Any]:
        """Give for each budget and level the mean errors of a region."""
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
            "draws": _DRAWS,
        }

    def _errors(self, data: GroupSizes, amount: str) -> Iterator[Diagnosis]:
        notion = PureDP if self.notion == "epsilon" else ZeroConcentratedDP
        with titled(TITLES):
            planned = self.plan.with_guarantee(notion(amount, self.plan.guarantee.neighbors))
            for _ in range(_DRAWS):
                yield diagnose(data, planned.release(data))


def synthetic_sizes(frame: Frame, each: int) -> GroupSizes:
    """Make a synthetic table: of the units of each lowest region half have the least size, half of the rest the next.

    Parameters
    ----------
    frame
        The public facts; where they hold the number of units in each region, that is their number.
    each
        Their number otherwise.

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
    whole = np.full(len(leaves), each) if totals is None else totals[leaves]
    if float(whole.sum(dtype=np.float64)) > 2**45:
        raise InvalidProblemError("Units in a lowest region", "a smaller number", each)
    shares = 0.5 ** np.arange(1, frame.n_sizes + 1)
    counts = np.floor(whole[:, None] * shares).astype(np.int64)
    counts[:, 0] += whole - counts.sum(axis=1)
    return GroupSizes(frame, counts)


def _check_names(path: Path, table: TableForm) -> None:
    """Refuse a public file without the columns that are needed, and name those that it has."""
    known = names_in(path, "")
    unit = table.unit if table.public == "units" else None
    wanted = [*table.regions, *([] if unit is None else [unit])]
    if not set(wanted) <= set(known):
        expected = f"the columns {', '.join(wanted)}, as in the table"
        raise InvalidProblemError(_WANTED[table.public], expected, ", ".join(known))


COUNTS = Publication(
    name="counts",
    command="discreet counts",
    public=FILES,
    downloads=DOWNLOADS,
    titles=TITLES,
    read_layout=read_table_form,
    read_promise=read_promise,
    plan=plan_of,
    contents=_contents,
    show=_show,
    first={"kinds": KINDS},
    columns=_columns,
    budget=_budget,
    keeps=_keeps,
)
"""Counts of units by region and size."""
