"""Chapters of methods side by side: loss against epsilon, or utility over a parameter, and the table behind it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from discreet.core import printed
from discreet.core.errors import InvalidProblemError
from discreet.core.statements import state
from discreet.evaluate.comparison import best_lower
from discreet.plot import Curve
from discreet.plot.measures import plot_points
from discreet.report.figures import drawn, frontier_svg
from discreet.report.page import list_chapter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.evaluate.comparison import Entry
    from discreet.evaluate.utility.measure import Point
    from discreet.report.page import Chapter

__all__ = ["chapter", "frontier_chapter"]

_LEAD = (
    f"Every point is a channel that was verified in exact arithmetic. {state('bounds by epsilon')}"
)

_ROUNDED = (
    "The epsilon that a channel keeps is computed from its integers and rounded up. Losses are rounded up, lower "
    "bounds down."
)

_HEAD = [
    "method",
    "epsilon",
    "loss",
    "lower bound",
    "over the best bound",
    "epsilon within the radius",
    "epsilon for all pairs",
    "seconds",
    "MiB",
]

_FRONTIER_LEAD = (
    "What each method keeps and loses at each parameter, with intervals over repeated runs."
)


def chapter(
    entries: Sequence[Entry],
    *,
    unit: str = "",
    loss_unit: str = "",
    title: str = "Loss against epsilon",
    anchor: str = "comparison",
) -> Chapter:
    """Render the chapter of a comparison: a figure of loss against epsilon, and its table.

    Parameters
    ----------
    entries
        What :func:`discreet.evaluate.comparison.compare_methods` returned.
    unit, loss_unit
        Units of distance and of the loss, for the axes.
    title, anchor
        The heading, and its name in links.

    Returns
    -------
    Chapter
        Figure and table.

    Raises
    ------
    InvalidProblemError
        Without entries.
    """
    if not entries:
        raise InvalidProblemError("entries", "one entry or more", "none")
    about, axes = "Expected loss against epsilon", {"unit": unit, "loss_unit": loss_unit}
    figure = frontier_svg(_curves(entries), about, anchor, **axes)
    return list_chapter(
        title,
        anchor,
        _LEAD,
        figure=figure,
        text=_ROUNDED,
        head=_HEAD,
        rows=[_row(entry, best_lower(entries, entry.epsilon)) for entry in entries],
        notes=[
            f"{entry.method} at {printed.decimal(entry.epsilon)}: {entry.note}"
            for entry in entries
            if entry.loss is None
        ],
    )


def frontier_chapter(
    points: Sequence[Point],
    *,
    parameter: str = "epsilon",
    title: str = "What a parameter costs",
    anchor: str = "frontier",
    note: str = "",
) -> Chapter:
    """Render the chapter of a frontier: a measure of utility against a parameter, and its table.

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
    measure = points[0].measure.name
    figure = drawn(
        lambda figure: plot_points(points, parameter=parameter, ax=figure.add_subplot()),
        5.2,
        3.4,
        label=f"{measure} against {parameter}",
        salt=anchor,
    )
    notes = dict.fromkeys([*(point.measure.note for point in points), note])
    return list_chapter(
        title,
        anchor,
        _FRONTIER_LEAD,
        figure=figure,
        head=["method", parameter, measure, "from", "to", "without privacy", "without data"],
        rows=[_point_row(point) for point in points],
        notes=[text for text in notes if text],
    )


def _curves(entries: Sequence[Entry]) -> list[Curve]:
    """Return a line for each method, where it has channels, and one for the best bound: loss over epsilon."""
    epsilons = sorted({entry.epsilon for entry in entries})
    bounds = [(float(e), best_lower(entries, e)) for e in epsilons]
    proven = [(epsilon, lower) for epsilon, lower in bounds if lower is not None]
    curves = []
    if proven:
        curves.append(Curve("lower bound", *_columns(proven), "bound"))
    for name in dict.fromkeys(entry.method for entry in entries):
        points = sorted(
            (float(entry.epsilon), entry.loss)
            for entry in entries
            if entry.method == name and entry.loss is not None
        )
        if points:
            curve = Curve(name, *_columns(points))
            curves.append(replace(curve, role="optimum") if name == "optimal" else curve)
    return curves


def _columns(
    points: Sequence[tuple[float, float]],
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the places and the values of points."""
    return tuple(at for at, _ in points), tuple(value for _, value in points)


def _row(entry: Entry, lower: float | None) -> list[str]:
    """Return the cells of an entry's row: method, epsilon, loss, bound, excess over `lower`, budgets and cost."""
    return [
        entry.method,
        printed.decimal(entry.epsilon),
        printed.at_most(entry.loss),
        printed.at_least(entry.lower),
        printed.excess(lower, entry.loss),
        printed.at_most(entry.within),
        printed.at_most(entry.everywhere),
        printed.estimate(entry.seconds, 3),
        "" if entry.memory is None else printed.estimate(entry.memory / 2**20, 3),
    ]


def _point_row(point: Point) -> list[str]:
    """Return the cells of a point's row: method, parameter, estimate, interval, best and worst."""
    measure = point.measure
    estimate, ends = measure.estimate, (measure.best, measure.worst)
    return [
        point.method,
        printed.estimate(point.parameter),
        printed.estimate(estimate.value),
        *printed.interval(estimate.low, estimate.high),
        *("" if end is None else printed.estimate(end) for end in ends),
    ]
