"""The figure of a frontier: a measure of utility over a parameter, a line for each method, with intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.errors import InvalidProblemError
from discreet.plot.style import (
    BASELINES,
    BLUE,
    axes_or_new,
    label_ends,
    name_parameter,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from discreet.evaluate.utility.measure import Point

__all__ = ["plot_points"]

_STYLES = ((BLUE, "o", "-"), *BASELINES)


def plot_points(
    points: Sequence[Point], *, parameter: str = "epsilon", ax: Axes | None = None
) -> Axes:
    """Draw a measure over a parameter.

    Parameters
    ----------
    points
        What :func:`discreet.evaluate.utility.measure.frontier` returned.
    parameter
        What the parameter is called.
    ax
        Axes to draw on.

    Returns
    -------
    matplotlib.axes.Axes
        The axes: the parameter on a logarithmic scale, which is linear near a zero, the measure from zero.

    Raises
    ------
    InvalidProblemError
        Without points.

    Examples
    --------
    >>> from discreet.evaluate.intervals import Estimate
    >>> from discreet.evaluate.utility.measure import frontier
    >>> from discreet.evaluate.utility.measure import Measure
    >>> noise = {"laplace": lambda epsilon: Measure("error", Estimate.computed(1 / epsilon))}
    >>> ax = plot_points(frontier(noise, [1, 2]))
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('epsilon', 'error')
    """
    if not points:
        raise InvalidProblemError("points", "one point or more", "none")
    drawn = axes_or_new(ax)
    ends = []
    for at, method in enumerate(dict.fromkeys(point.method for point in points)):
        color, marker, dashes = _STYLES[at % len(_STYLES)]
        own = [point for point in points if point.method == method]
        where = [float(point.parameter) for point in own]
        values = [point.measure.estimate for point in own]
        drawn.errorbar(
            where,
            [one.value for one in values],
            yerr=[
                [one.value - one.low for one in values],
                [one.high - one.value for one in values],
            ],
            color=color,
            marker=marker,
            linestyle=dashes,
            markersize=4,
            capsize=2,
            label=method,
        )
        ends.append((where[-1], values[-1].value, method, color))
    name_parameter(drawn, parameter, {float(point.parameter) for point in points})
    drawn.set_ylabel(points[0].measure.name)
    label_ends(drawn, ends)
    return drawn
