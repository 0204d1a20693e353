"""The figures of published counts: figures in, drawings on them; nothing is shown and nothing is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.plot.style import BLUE, FAINT, GREY, INK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray


__all__ = ["draw_multiples", "draw_scatter"]

_FEWEST_SIZES, _MOST_SIZES = 7, 30
"""Sizes on the axis of a bar chart, at least and at most."""

_PANELS_PER_ROW = 3


def draw_multiples(
    figure: Figure,
    names: Sequence[str],
    sizes: NDArray[np.int64],
    published: NDArray[Any],
    truth: NDArray[Any] | None,
) -> None:
    """Draw one small bar chart of groups by size for each region, all with the same sizes.

    Parameters
    ----------
    figure
        An empty figure.
    names
        The regions; the first is the root.
    sizes
        ``(n_sizes,)``.
    published, truth
        ``(regions, n_sizes)`` counts; `truth` only where data are made.
    """
    of_root = np.clip(published[0], 0, None)
    # As many sizes as hold all but a thousandth of the groups.
    reach = int(np.searchsorted(np.cumsum(of_root), 0.999 * of_root.sum())) + 1
    width = min(len(sizes), max(_FEWEST_SIZES, min(reach, _MOST_SIZES)))
    rows = -(-len(names) // _PANELS_PER_ROW)
    for at, name in enumerate(names):
        ax = figure.add_subplot(rows, _PANELS_PER_ROW, at + 1)
        ax.bar(sizes[:width], published[at, :width], color=BLUE, width=0.72)
        if truth is not None:
            ax.plot(sizes[:width], truth[at, :width], "o", mfc="none", mec=INK, ms=3.4, mew=0.9)
        ax.set_title(name, fontsize=8, loc="left", color=INK)
        ax.set_yticks([])
        _plain(ax)
        ax.spines["left"].set_visible(False)
        if at >= len(names) - _PANELS_PER_ROW:
            ax.set_xlabel("size", fontsize=8, color=GREY)


def draw_scatter(figure: Figure, parts: Sequence[tuple[str, NDArray[Any], NDArray[Any]]]) -> None:
    """Draw published counts against true ones, a panel a level, on scales that are linear near zero.

    Parameters
    ----------
    figure
        An empty figure.
    parts
        For each panel its name, the true and the published counts.
    """
    top = max(1.0, *(float(max(true.max(), published.max())) for _, true, published in parts))
    for at, (name, true, published) in enumerate(parts):
        ax = figure.add_subplot(1, len(parts), at + 1)
        ax.plot([0, top], [0, top], color=FAINT, lw=1)
        # Many cells are one point: each is drawn once.
        cells = np.unique(np.stack([true, published], axis=1), axis=0)
        ax.plot(cells[:, 0], cells[:, 1], "o", color=BLUE, ms=2.4, alpha=0.6, mew=0)
        for axis in ("x", "y"):
            getattr(ax, f"set_{axis}scale")("symlog", linthresh=10)
        ax.set_title(name, fontsize=8, loc="left", color=INK)
        ax.set_xlabel("true", fontsize=8, color=GREY)
        if not at:
            ax.set_ylabel("published", fontsize=8, color=GREY)
        _plain(ax)
        ax.tick_params(labelrotation=0, labelsize=6.5)


def _plain(ax: Axes) -> None:
    """Remove the spines at the top and the right, and draw the others and the ticks in grey."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(FAINT)
    ax.tick_params(labelsize=7, colors=GREY, length=2)
