"""Publication of tables by region: its plan and expected errors, its files and the page of the result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.core import printed
from discreet.hierarchy import contingency
from discreet.hierarchy.contingency.estimates import check_room
from discreet.hierarchy.contingency.workload import LOSSES
from discreet.report.figures import new_figure
from discreet.report.region_tables import draw_expected
from discreet.studio.counts_shown import describe_levels, picture, sample_rows
from discreet.studio.publish_forms import read_promise
from discreet.studio.publishing import LIST, Publication
from discreet.studio.tables_forms import TITLES, read_tables_form
from discreet.tables.parsing import free_memory

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.core.guarantee import PureDP, ZeroConcentratedDP
    from discreet.core.outcome import Release
    from discreet.hierarchy.contingency import RegionTables, TablesPlan

__all__ = ["TABLES", "describe_plan"]


def _plan(regions: str, guarantee: PureDP | ZeroConcentratedDP, **arguments: Any) -> TablesPlan:  # noqa: ANN401 - as of the library
    """Plan, and refuse tables for which there is no memory."""
    planned = contingency.plan(regions, guarantee, **arguments)
    check_room(planned.frame, free_memory())
    return planned


def _columns(_query: Mapping[str, str]) -> dict[str, Any]:
    """Return what the page of the columns shows."""
    return {"losses": LOSSES}


def describe_plan(planned: TablesPlan, count: int | None = None) -> dict[str, Any]:
    """Return the cost and the expected errors of a release: public facts, known before a record is read.

    Parameters
    ----------
    planned
        The plan.
    count
        A count whose coefficient of variation is shown.

    Returns
    -------
    dict
        What the template ``tables_plan.html`` names.
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
        "proof": planned.proof,
        "assumed": [(public.name, public.description) for public in planned.assumed_public],
    }


def _show(made: Release[RegionTables], planned: TablesPlan) -> dict[str, Any]:
    """Return the values of a release for its page: only what the guarantee covers, so that it may be copied."""
    result = made.result
    return {
        **describe_plan(planned),
        "levels": describe_levels(result),
        **sample_rows(result),
        "distances": result.distances_in_words(),
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
