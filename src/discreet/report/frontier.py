"""The chapter of a frontier: a measure of utility over a parameter, and the numbers behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.errors import InvalidProblemError
from discreet.plot.measures import plot_points
from discreet.report.figures import inline_svg, new_figure
from discreet.report.page import Chapter, render_template
from discreet.report.words import number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.evaluate.utility.measure import Point

__all__ = ["chapter"]

_LEAD = "What each method keeps and loses at each parameter, with intervals over repeated runs."


def chapter(
    points: Sequence[Point],
    *,
    parameter: str = "epsilon",
    title: str = "What a parameter costs",
    anchor: str = "frontier",
    note: str = "",
) -> Chapter:
    """Make the chapter.

    Parameters
    ----------
    points
        What :func:`discreet.evaluate.utility.measure.frontier` returned.
    parameter
        What the parameter is called.
    title, anchor
        The heading, and its name in links.
    note
        A sentence below the table.

    Returns
    -------
    Chapter
        Figure and table.

    Raises
    ------
    InvalidProblemError
        Without points.
    """
    if not points:
        raise InvalidProblemError("points", "one point or more", "none")
    drawn = new_figure(5.2, 3.4)
    plot_points(points, parameter=parameter, ax=drawn.add_subplot())
    measure = points[0].measure.name
    notes = dict.fromkeys([*(point.measure.note for point in points), note])
    body = render_template(
        "frontier.html",
        title=title,
        anchor=anchor,
        lead=_LEAD,
        figure=inline_svg(drawn, label=f"{measure} against {parameter}", salt=anchor),
        head=["method", parameter, measure, "from", "to", "without privacy", "without data"],
        rows=[_row(point) for point in points],
        notes=[text for text in notes if text],
    )
    return Chapter(title, anchor, body, _LEAD)


def _row(point: Point) -> list[str]:
    measure = point.measure
    numbers = (measure.estimate.value, measure.estimate.low, measure.estimate.high)
    ends = (measure.best, measure.worst)
    return [
        point.method,
        f"{float(point.parameter):g}",
        *(number(value) for value in numbers),
        *("" if end is None else number(end) for end in ends),
    ]
