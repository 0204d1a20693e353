"""The figures of published counts: figures in, drawings on them; nothing is shown and nothing is kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.plot.style import BLUE, FAINT, GREEN, GREY, INK, PURPLE, VERMILION, log_scale

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray


__all__ = ["MethodError", "draw_biases", "draw_errors", "draw_multiples", "draw_scatter"]

_MARKED: dict[str, tuple[str, str, Any]] = {
    "m-c-dp": (BLUE, "o", "-"),
    "top-down-cumulative": (GREEN, "^", (0, (3, 1.5, 1, 1.5))),
    "m-h-dp": (VERMILION, "s", (0, (5, 2))),
    "bottom-up-cumulative": (PURPLE, "D", (0, (1, 1.2))),
    "raw": (INK, "v", (0, (7, 3))),
}
"""Methods that stand for their kind, with color, marker and dashes; the others are grey."""

_FEWEST_SIZES, _MOST_SIZES = 7, 30
_PER_ROW = 3


@final
@dataclass(frozen=True)
class MethodError:
    """How far one method was from the truth on synthetic data, at one budget.

    Parameters
    ----------
    method
        Its name.
    epsilon
        The budget.
    l1
        Sum of absolute errors of each level, the root first; a mean over some draws of noise.
    bias
        Mean signed error over the cells of each level that are truly zero, where there are some.
    """

    method: str
    epsilon: float
    l1: tuple[float, ...]
    bias: tuple[float | None, ...]


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
    rows = -(-len(names) // _PER_ROW)
    for at, name in enumerate(names):
        ax = figure.add_subplot(rows, _PER_ROW, at + 1)
        ax.bar(sizes[:width], published[at, :width], color=BLUE, width=0.72)
        if truth is not None:
            ax.plot(sizes[:width], truth[at, :width], "o", mfc="none", mec=INK, ms=3.4, mew=0.9)
        ax.set_title(name, fontsize=8, loc="left", color=INK)
        ax.set_yticks([])
        _plain(ax)
        ax.spines["left"].set_visible(False)
        if at >= len(names) - _PER_ROW:
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


def draw_errors(figure: Figure, errors: Sequence[MethodError]) -> None:
    """Draw the error of each method against epsilon, a panel a level; both on logarithmic scales.

    Parameters
    ----------
    figure
        An empty figure.
    errors
        At least one.
    """
    methods = sorted(dict.fromkeys(error.method for error in errors), key=_MARKED.__contains__)
    levels = len(errors[0].l1)
    for level in range(levels):
        ax = figure.add_subplot(1, levels, level + 1)
        # A method without any error has no place on a logarithmic scale; half a group stands for it.
        seen = {(e.method, e.epsilon): max(e.l1[level], 0.5) for e in errors}
        for method in methods:
            own = sorted(
                (epsilon, error) for (name, epsilon), error in seen.items() if name == method
            )
            color, marker, dashes = _MARKED.get(method, (FAINT, "", "-"))
            ax.plot(
                [epsilon for epsilon, _ in own],
                [error for _, error in own],
                color=color,
                marker=marker,
                ls=dashes,
                ms=3.6,
                lw=1.6 if method in _MARKED else 0.9,
                label=method if method in _MARKED else None,
            )
        log_scale(ax, "x", [epsilon for _, epsilon in seen])
        log_scale(ax, "y", seen.values())
        ax.set_title(f"level {level + 1}", fontsize=8, loc="left", color=INK)
        ax.set_xlabel("epsilon", fontsize=8, color=GREY)
        if not level:
            ax.set_ylabel("sum of absolute errors", fontsize=8, color=GREY)
        _plain(ax)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=7.5, frameon=False)


def draw_biases(figure: Figure, errors: Sequence[MethodError]) -> None:
    """Draw the signed bias on cells that are truly zero: a line a method, a mark a level.

    Parameters
    ----------
    figure
        An empty figure.
    errors
        Those of one budget.
    """
    ax = figure.add_subplot()
    ordered = sorted(errors, key=lambda error: -abs(error.bias[0] or 0.0))
    marks = "os^Dv"
    ax.axvline(0, color=FAINT, lw=1)
    for level in range(len(ordered[0].bias)):
        points = [
            (bias, row)
            for row, error in enumerate(ordered)
            if (bias := error.bias[level]) is not None
        ]
        ax.plot(
            [value for value, _ in points],
            [row for _, row in points],
            marks[level % len(marks)],
            color=(BLUE, VERMILION, GREEN, PURPLE, GREY)[level % 5],
            mfc="none",
            ms=4.6,
            label=f"level {level + 1}",
        )
    ax.set_yticks(range(len(ordered)), [error.method for error in ordered])
    ax.set_xscale("symlog", linthresh=0.1)
    ax.set_xlabel(
        "published minus true, mean over cells that are truly zero", fontsize=8, color=GREY
    )
    _plain(ax)
    ax.legend(fontsize=7.5, frameon=False, loc="lower left")


def _plain(ax: Axes) -> None:
    """Take away what says nothing."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(FAINT)
    ax.tick_params(labelsize=7, colors=GREY, length=2)
