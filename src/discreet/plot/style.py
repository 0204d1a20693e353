"""What all plots share: colors that differ in grey, axes without ornaments, names at the ends of lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from discreet.core.printed import estimate

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

INK, GREY, FAINT = "#1f2933", "#6b7580", "#c9ced4"
BLUE, VERMILION, GREEN, PURPLE = "#0b5cad", "#c44e00", "#00785a", "#8a4a7d"

BASELINES = (
    (VERMILION, "s", (0, (5, 2))),
    (GREEN, "^", (0, (3, 1.5, 1, 1.5))),
    (PURPLE, "D", (0, (1, 1.2))),
    (GREY, "v", (0, (7, 3))),
)
"""Color, marker and dashes of curves beside the main one."""


def axes_or_new(ax: Axes | None) -> Axes:
    """Return the axes given, or new ones on a figure without a window."""
    if ax is not None:
        return ax
    from matplotlib.figure import Figure

    made: Axes = Figure(layout="constrained").add_subplot()
    return made


def plain(ax: Axes) -> None:
    """Style axes in place: no upper and right frame, thin horizontal grid lines."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(GREY)
    ax.tick_params(colors=INK, width=0.6)
    ax.grid(visible=True, axis="y", color=FAINT, linewidth=0.5)
    ax.set_axisbelow(True)


def plain_map(ax: Axes, unit: str) -> None:
    """Style axes of places in a plane, in place.

    Equal scales, `unit` on both, and no grid, which could pass for roads.
    """
    ax.set_aspect("equal", adjustable="datalim")
    ax.set_xlabel(unit)
    ax.set_ylabel(unit)
    plain(ax)
    ax.grid(visible=False)


def plain_rows(ax: Axes, names: Sequence[str]) -> None:
    """Style axes with one row a name, in place: the first on top, at height ``len(names) - 1``, the last at 0."""
    ax.set_yticks(range(len(names))[::-1], names)
    ax.set_ylim(-0.6, len(names) - 0.4)
    plain(ax)
    ax.grid(visible=False, axis="y")
    ax.grid(visible=True, axis="x", color=FAINT, linewidth=0.5)


def name_parameter(ax: Axes, name: str, values: Iterable[float]) -> None:
    """Style axes of a quantity from 0 on over the parameter `name`, on a log scale with a tick at each of `values`.

    `values` are finite; a zero among them makes the scale linear near it.
    """
    ticks = sorted(values)
    ax.set_ylim(bottom=0)
    log_scale(ax, "x", ticks)
    ax.set_xticks(ticks, [estimate(tick) for tick in ticks])
    ax.minorticks_off()
    ax.set_xlabel(name)
    plain(ax)


def log_scale(
    ax: Axes, axis: Literal["x", "y"], values: Iterable[float], *, min_ratio: float = 1e-30
) -> str:
    """Scale an axis logarithmically if its values allow it: linear near zero, and linear without positive values.

    A logarithmic axis has no place for zero, and Matplotlib refuses to draw one on which nothing is positive. Where
    some values are positive and others are not, the axis is linear up to the least positive one and logarithmic
    beyond ("symlog"); without positive values it is linear.

    Parameters
    ----------
    ax
        Axes whose scale is set.
    axis
        Which of the two.
    values
        Everything that is drawn along this axis. What is not finite is not looked at.
    min_ratio
        Smallest positive value of a "symlog" axis, as a share of the largest one; Matplotlib's ticks overflow far below
        the default.

    Returns
    -------
    str
        The scale: ``"log"``, ``"symlog"`` or ``"linear"``.
    """
    known = np.array([*values], dtype=np.float64)
    known = known[np.isfinite(known)]
    positive = known[known > 0]
    set_scale = ax.set_xscale if axis == "x" else ax.set_yscale
    if not positive.size:
        set_scale("linear")
        return "linear"
    if positive.size == known.size:
        set_scale("log")
        return "log"
    set_scale(
        "symlog",
        linthresh=max(float(positive.min()), min_ratio * float(positive.max())),
    )
    return "symlog"


def label_ends(ax: Axes, ends: Sequence[tuple[float, float, str, str]]) -> None:
    """Write each line's name at its right end, and push names apart that would overlap.

    `ends` are x, y, name and color of the last point of each line; points that are not finite have no name. Call it
    when the limits of the axes are final.
    """
    low, high = ax.get_ylim()
    ends = [end for end in ends if np.isfinite(end[:2]).all()]
    order = sorted(range(len(ends)), key=lambda e: ends[e][1])
    heights = spread(np.array([(ends[e][1] - low) / (high - low) for e in order]))
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


def spread(heights: NDArray[np.float64], apart: float = 0.062) -> NDArray[np.float64]:
    """Return ascending heights ``(m,)`` moved up until they are `apart` from each other, then down to 1 at most.

    In shares of the height of the axes; the argument is not changed. Many names may end below 0. ``O(m)``.
    """
    moved = heights.copy()
    for i in range(1, len(moved)):
        moved[i] = max(moved[i], moved[i - 1] + apart)
    for i in range(len(moved) - 1, -1, -1):
        ceiling = 1.0 if i == len(moved) - 1 else moved[i + 1] - apart
        moved[i] = min(moved[i], ceiling)
    return moved
