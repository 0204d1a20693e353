"""Publication of counts by region and size, and the comparison of budgets.

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
from discreet.hierarchy.query import COUNTED_KINDS
from discreet.studio.counts_forms import (
    KINDS,
    PUBLIC,
    TITLES,
    method_names,
    read_promise,
    read_table_form,
)
from discreet.studio.counts_shown import describe_release
from discreet.studio.publish_forms import titled
from discreet.studio.publishing import LIST, Publication

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from discreet.hierarchy import Frame, Plan
    from discreet.hierarchy.diagnose import Diagnosis
    from discreet.studio.publish_forms import TableLayout

    Tell = Callable[[dict[str, Any]], None]

__all__ = [
    "AMOUNTS",
    "COUNTS",
    "Costs",
    "synthetic_sizes",
]

AMOUNTS = {
    "epsilon": ("0.03", "0.1", "0.3", "1", "3", "10"),
    "rho": ("0.0005", "0.005", "0.05", "0.5", "5"),
}
"""The budgets that are compared."""

_RELEASES_PER_BUDGET = 3


def _budget(planned: Plan, layout: TableLayout) -> dict[str, Any]:
    """Return what the page of the budget shows of a plan."""
    return {
        "public": layout.public,
        "methods": method_names(),
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

    def run(self, tell: Tell) -> dict[str, Any]:
        """Return the mean errors of a region for each budget and level, on synthetic data; stops after some seconds."""
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
            "draws": _RELEASES_PER_BUDGET,
        }

    def _errors(self, data: GroupSizes, amount: str) -> Iterator[Diagnosis]:
        """Yield the errors of several releases of synthetic data at one budget, `amount` of epsilon or rho."""
        notion = PureDP if self.notion == "epsilon" else ZeroConcentratedDP
        with titled(TITLES):
            planned = self.plan.with_guarantee(notion(amount, self.plan.guarantee.neighbors))
            for _ in range(_RELEASES_PER_BUDGET):
                yield diagnose(data, planned.release(data))


def synthetic_sizes(frame: Frame, each: int) -> GroupSizes:
    """Return a synthetic table: of the units of each lowest region half have the least size, half of the rest the next.

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
    show=describe_release,
    first={"kinds": KINDS},
    columns=_columns,
    budget=_budget,
    keeps=_keeps,
)
"""Counts of units by region and size."""
