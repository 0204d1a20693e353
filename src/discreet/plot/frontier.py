"""Loss against a parameter, and bounds that close in on each other."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.plot.style import (
    BASELINES,
    BLUE,
    GREY,
    axes_or_new,
    label_ends,
    name_parameter,
    plain,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

"""Color, marker and dashes of the first, second, ... baseline."""


@final
@dataclass(frozen=True)
class Curve:
    """Expected utility loss of one method at some epsilons.

    Parameters
    ----------
    label
        The method, as it should stand at the end of its line.
    epsilons
        Budgets, ascending.
    losses
        Expected losses, one for each epsilon.
    role
        ``"optimum"`` for losses that were reached and certified, ``"bound"`` for what no mechanism can beat,
        ``"baseline"`` for anything to compare with.

    Raises
    ------
    InvalidProblemError
        When the two sequences differ in length, or there is nothing in them.

    Examples
    --------
    >>> Curve("uniform", (1.0, 2.0), (0.4, 0.4)).role
    'baseline'
    """

    label: str
    epsilons: tuple[float, ...]
    losses: tuple[float, ...]
    role: Literal["optimum", "bound", "baseline"] = "baseline"

    def __post_init__(self) -> None:
        if not self.epsilons or len(self.epsilons) != len(self.losses):
            got = f"{len(self.losses)} for {len(self.epsilons)} epsilons"
            raise InvalidProblemError("losses", "one loss for each epsilon, and at least one", got)


class Bounded(Protocol):
    """What has a lower and an upper bound: an iteration of a solver, or a design."""

    @property
    def lower(self) -> float | None:
        """What no mechanism can beat, or ``None`` as long as nothing is known."""

    @property
    def upper(self) -> float | None:
        """What was reached, or ``None`` as long as nothing was."""


def plot_frontier(
    curves: Sequence[Curve],
    *,
    unit: str = "",
    loss_unit: str = "",
    parameter: str = "epsilon",
    quantity: str = "expected loss",
    ax: Axes | None = None,
) -> Axes:
    """Draw what is lost, or won, against a privacy parameter: the optimum, a bound, and baselines.

    The area that no mechanism can reach is shaded where a bound is given.

    Parameters
    ----------
    curves
        One line each; names stand at the ends of the lines.
    unit
        Unit of distance, for the axis of epsilon.
    loss_unit
        Unit of the loss, added to the name of its axis.
    parameter
        What the ``epsilons`` of the curves are, such as ``"k"``.
    quantity
        What their ``losses`` are, such as ``"value"``.
    ax
        Axes to draw on; new ones by default.

    Returns
    -------
    matplotlib.axes.Axes
        The axes: the parameter on a logarithmic scale, which is linear near a zero and has a tick at each value,
        losses from zero. A parameter that is not finite gets no tick.

    Raises
    ------
    InvalidProblemError
        When there is no curve.

    Examples
    --------
    >>> ax = plot_frontier([Curve("best possible", (1, 2, 4), (0.9, 0.5, 0.1), "optimum")], unit="km")
    >>> ax.get_xlabel(), len(ax.lines)
    ('epsilon per km', 1)
    """
    if not curves:
        raise InvalidProblemError("curves", "one curve or more", "none")
    ax = axes_or_new(ax)
    baselines = 0
    ends: list[tuple[float, float, str, str]] = []
    for curve in curves:
        style, color = _style(curve, baselines)
        baselines += curve.role == "baseline"
        ax.plot(curve.epsilons, curve.losses, color=color, label=curve.label, **style)
        ends.append((curve.epsilons[-1], curve.losses[-1], curve.label, color))
        if curve.role == "bound":
            ax.fill_between(
                curve.epsilons, 0, curve.losses, color=BLUE, alpha=0.07, linewidth=0, zorder=0
            )
    ticks = {each for curve in curves for each in curve.epsilons if math.isfinite(each)}
    name_parameter(ax, f"{parameter} per {unit}" if unit else parameter, ticks)
    ax.set_ylabel(f"{quantity}, {loss_unit}" if loss_unit else quantity)
    label_ends(ax, ends)
    return ax


def plot_bounds(
    iterations: Sequence[Bounded],
    *,
    seconds: Sequence[float] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw how the best lower and upper bounds close in on each other.

    Parameters
    ----------
    iterations
        What ``on_progress`` was called with, in order: anything with ``lower`` and ``upper``. Bounds that are not
        known yet, ``None`` or infinite, are left out.
    seconds
        Seconds at which each iteration ended, as many; by default iterations are counted.
    ax
        Axes to draw on; new ones by default.

    Returns
    -------
    matplotlib.axes.Axes
        The axes: seconds, or iterations from 1, against the expected loss, as two lines of steps: the greatest lower
        and the least upper bound so far. A side without a known bound has no line.

    Raises
    ------
    InvalidProblemError
        When there is no iteration, or not one time for each.

    Examples
    --------
    >>> from collections import namedtuple
    >>> step = namedtuple("step", "lower upper")
    >>> ax = plot_bounds([step(0.1, None), step(0.4, 1.0), step(0.3, 0.6)])
    >>> [line.get_ydata().tolist() for line in ax.lines]
    [[0.1, 0.4, 0.4], [1.0, 0.6]]
    """
    if not iterations:
        raise InvalidProblemError("iterations", "one iteration or more", "none")
    if seconds is not None and len(seconds) != len(iterations):
        raise InvalidProblemError("seconds", f"{len(iterations)} times", len(seconds))
    when = np.arange(1, len(iterations) + 1) if seconds is None else np.asarray(seconds)
    ax = axes_or_new(ax)
    ends: list[tuple[float, float, str, str]] = []
    sides = (
        ("lower bound", [each.lower for each in iterations], np.maximum, "^", (0, (5, 2)), GREY),
        ("reached", [each.upper for each in iterations], np.minimum, "o", "-", BLUE),
    )
    for label, values, best, marker, dashes, color in sides:
        known = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
        (at,) = np.nonzero(np.isfinite(known))
        if len(at):
            running = best.accumulate(known[at])
            ax.plot(
                when[at],
                running,
                color=color,
                marker=marker,
                markersize=3.5,
                linestyle=dashes,
                drawstyle="steps-post",
                label=label,
            )
            ends.append((float(when[at[-1]]), float(running[-1]), label, color))
    ax.set_xlabel("iteration" if seconds is None else "seconds")
    ax.set_ylabel("expected loss")
    plain(ax)
    label_ends(ax, ends)
    return ax


def _style(curve: Curve, baselines: int) -> tuple[dict[str, Any], str]:
    """Return the style and the color of a curve by its role; `baselines` came before it."""
    if curve.role == "optimum":
        return {"marker": "o", "markersize": 5, "linewidth": 2.2, "zorder": 5}, BLUE
    if curve.role == "bound":
        return {"marker": "", "linewidth": 1, "linestyle": (0, (2, 1.5)), "zorder": 4}, GREY
    color, marker, dashes = BASELINES[baselines % len(BASELINES)]
    return {"marker": marker, "markersize": 4, "linewidth": 1.4, "linestyle": dashes}, color
