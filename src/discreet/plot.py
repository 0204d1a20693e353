"""Plots: axes in, axes out. Nothing is shown, no style is set, and no figure lives anywhere but with the caller.

Colors are told apart by people who see few of them and in grey: each line has a dash or a marker of its own and its
name at its end. Where no axes are given, new ones are made on a figure without a window; ``ax.figure`` is it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, final

import numpy as np

from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike, NDArray

    from discreet.core.channel import Channel

__all__ = ["Bounded", "Curve", "plot_bounds", "plot_channel_row", "plot_frontier"]

INK, GREY, FAINT = "#1f2933", "#6b7580", "#c9ced4"
BLUE, VERMILION, GREEN, PURPLE = "#0b5cad", "#c44e00", "#00785a", "#8a4a7d"

_BASELINES = (
    (VERMILION, "s", (0, (5, 2))),
    (GREEN, "^", (0, (3, 1.5, 1, 1.5))),
    (PURPLE, "D", (0, (1, 1.2))),
    (GREY, "v", (0, (7, 3))),
)
"""Color, marker and dashes of the first, second, ... baseline."""

_APART = 0.062
"""Least distance of two labels, as a share of the height of the axes."""


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
        Expected losses, as many.
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


def plot_channel_row(
    channel: Channel,
    points: ArrayLike,
    secret: int,
    *,
    edges: ArrayLike | None = None,
    reports: ArrayLike | None = None,
    unit: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw where a secret is reported: at each report a disc whose area is the probability.

    Parameters
    ----------
    channel
        The mechanism.
    points
        ``(n_secrets, 2)``: where the secrets are.
    secret
        Index of the secret to draw. A ring marks it.
    edges
        ``(m, 2)`` pairs of secrets to join by thin lines, such as roads.
    reports
        ``(n_reports,)`` the secret that each report names; by default the secrets themselves.
    unit
        Unit of the coordinates, for the axes.
    ax
        Axes to draw on.

    Returns
    -------
    matplotlib.axes.Axes
        The axes, with equal scales.

    Raises
    ------
    InvalidProblemError
        When sizes do not match the channel, or there is no such secret.

    Examples
    --------
    >>> from discreet.core.channel import Channel
    >>> line = Channel.from_weights([[2**61, 2**61, 0], [0, 2**62, 0], [0, 2**61, 2**61]])
    >>> ax = plot_channel_row(line, [(0, 0), (1, 0), (2, 0)], 0, unit="km")
    >>> ax.get_xlabel()
    'km'
    """
    from matplotlib.collections import LineCollection

    places = np.asarray(points, dtype=np.float64)
    if places.shape != (channel.n_secrets, 2):
        raise InvalidProblemError("points", f"shape {(channel.n_secrets, 2)}", places.shape)
    if not 0 <= secret < channel.n_secrets:
        raise InvalidProblemError("secret", f"an index below {channel.n_secrets}", "one outside")
    named = np.arange(channel.n_secrets) if reports is None else np.asarray(reports)
    if named.shape != (channel.n_reports,):
        raise InvalidProblemError(
            "reports", f"one secret for each of {channel.n_reports} reports", named.shape
        )
    ax = _axes(ax)
    if edges is not None:
        roads = LineCollection(
            list(places[np.asarray(edges)]), colors=FAINT, linewidths=0.8, zorder=1
        )
        ax.add_collection(roads)
    chance = channel.probabilities[secret]
    shown = places[named]
    ax.scatter(places[:, 0], places[:, 1], s=2, color=GREY, zorder=2, linewidths=0)
    ax.scatter(
        shown[:, 0],
        shown[:, 1],
        s=1200 * chance,
        color=BLUE,
        alpha=0.6,
        zorder=3,
        linewidths=0,
        label="reported",
    )
    ax.scatter(
        places[secret, 0],
        places[secret, 1],
        s=90,
        facecolors="none",
        edgecolors=VERMILION,
        linewidths=1.8,
        zorder=4,
        label="true place",
    )
    ax.annotate(
        "true place",
        places[secret],
        (7, 7),
        textcoords="offset points",
        color=VERMILION,
        fontsize="small",
    )
    ax.set_aspect("equal", adjustable="datalim")
    ax.set_xlabel(unit)
    ax.set_ylabel(unit)
    _plain(ax)
    return ax


def plot_frontier(
    curves: Sequence[Curve], *, unit: str = "", loss_unit: str = "", ax: Axes | None = None
) -> Axes:
    """Draw expected loss against epsilon: the optimum, the bound below it, and baselines.

    The area that no mechanism can reach is shaded where a bound is given.

    Parameters
    ----------
    curves
        One line each; names stand at the ends of the lines.
    unit
        Unit of distance, for the axis of epsilon.
    loss_unit
        Unit of the loss.
    ax
        Axes to draw on.

    Returns
    -------
    matplotlib.axes.Axes
        The axes: epsilon on a logarithmic scale, loss from zero.

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
    ax = _axes(ax)
    ax.set_xscale("log")
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
    ax.set_ylim(bottom=0)
    ticks = sorted({epsilon for curve in curves for epsilon in curve.epsilons})
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.minorticks_off()
    ax.set_xlabel(f"epsilon per {unit}" if unit else "epsilon")
    ax.set_ylabel(f"expected loss, {loss_unit}" if loss_unit else "expected loss")
    _plain(ax)
    _label_ends(ax, ends)
    return ax


def plot_bounds(iterations: Sequence[Bounded], *, ax: Axes | None = None) -> Axes:
    """Draw how the best lower and upper bounds close in on each other.

    Parameters
    ----------
    iterations
        What ``on_iteration`` was called with, in order: anything with ``lower`` and ``upper``. Bounds that are not
        known yet, ``None`` or infinite, are left out.
    ax
        Axes to draw on.

    Returns
    -------
    matplotlib.axes.Axes
        The axes: iterations from 1, expected loss.

    Raises
    ------
    InvalidProblemError
        When there is no iteration.

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
    ax = _axes(ax)
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
                at + 1,
                running,
                color=color,
                marker=marker,
                markersize=3.5,
                linestyle=dashes,
                drawstyle="steps-post",
                label=label,
            )
            ends.append((float(at[-1] + 1), float(running[-1]), label, color))
    ax.set_xlabel("iteration")
    ax.set_ylabel("expected loss")
    _plain(ax)
    _label_ends(ax, ends)
    return ax


def _style(curve: Curve, baselines: int) -> tuple[dict[str, Any], str]:
    if curve.role == "optimum":
        return {"marker": "o", "markersize": 5, "linewidth": 2.2, "zorder": 5}, BLUE
    if curve.role == "bound":
        return {"marker": "", "linewidth": 1, "linestyle": (0, (2, 1.5)), "zorder": 4}, GREY
    color, marker, dashes = _BASELINES[baselines % len(_BASELINES)]
    return {"marker": marker, "markersize": 4, "linewidth": 1.4, "linestyle": dashes}, color


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    from matplotlib.figure import Figure

    made: Axes = Figure(layout="constrained").add_subplot()
    return made


def _plain(ax: Axes) -> None:
    """Take away what says nothing: the upper and right frame, and strong grid lines."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(GREY)
    ax.tick_params(colors=INK, width=0.6)
    ax.grid(visible=True, axis="y", color=FAINT, linewidth=0.5)
    ax.set_axisbelow(True)


def _label_ends(ax: Axes, ends: Sequence[tuple[float, float, str, str]]) -> None:
    """Write each line's name at its right end, and push names apart that would overlap."""
    low, high = ax.get_ylim()
    order = sorted(range(len(ends)), key=lambda e: ends[e][1])
    heights = _spread(np.array([(ends[e][1] - low) / (high - low) for e in order]))
    for e, height in zip(order, heights, strict=True):
        x, y, label, color = ends[e]
        ax.annotate(
            label,
            (x, y),
            (1.015, height),
            textcoords="axes fraction",
            color=color,
            fontsize=9,
            va="center",
            ha="left",
            annotation_clip=False,
        )


def _spread(heights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Move ascending heights apart, as little as pushing upwards needs, then down again below the top."""
    moved = heights.copy()
    for i in range(1, len(moved)):
        moved[i] = max(moved[i], moved[i - 1] + _APART)
    for i in range(len(moved) - 1, -1, -1):
        ceiling = 1.0 if i == len(moved) - 1 else moved[i + 1] - _APART
        moved[i] = min(moved[i], ceiling)
    return moved
