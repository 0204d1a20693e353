"""What became of the rows of an anonymized table. Originals are private: these plots are for the curator."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.plot.style import BLUE, FAINT, GREY, INK, VERMILION, axes_or_new, plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike


def plot_intervals(
    original: ArrayLike,
    low: ArrayLike,
    high: ArrayLike,
    *,
    name: str = "value",
    ax: Axes | None = None,
) -> Axes:
    """Draw the interval that each number was published as, with the number in it.

    Parameters
    ----------
    original
        ``(n,)`` numbers. **Private.**
    low, high
        ``(n,)`` ends of the published intervals.
    name
        Name of the column, for its axis.
    ax
        Axes to draw on; new ones by default.

    Returns
    -------
    matplotlib.axes.Axes
        The axes: rows in the order of their numbers from left to right. A number outside its interval, which no valid
        table has, is marked.

    Raises
    ------
    InvalidProblemError
        When there are not as many of each, or they are not one-dimensional.

    Examples
    --------
    >>> ax = plot_intervals([30, 20, 41], [20, 20, 40], [30, 30, 50], name="age")
    >>> ax.collections[0].get_label(), ax.get_ylabel()
    ('published', 'age')
    """
    numbers, ends = np.asarray(original, dtype=np.float64), np.array([low, high], dtype=np.float64)
    if numbers.ndim != 1 or ends.shape != (2, len(numbers)):
        raise InvalidProblemError(
            "low and high", f"{numbers.size} ends each", f"shape {ends.shape}"
        )
    order = np.lexsort((ends[1], ends[0], numbers))
    numbers, (lower, upper) = numbers[order], ends[:, order]
    rows = np.arange(len(numbers))
    ax = axes_or_new(ax)
    # Thin lines for many rows, and never so thin that they are gone.
    width = min(6.0, max(0.6, 220 / max(len(rows), 1)))
    ax.vlines(rows, lower, upper, color=BLUE, alpha=0.45, linewidth=width, label="published")
    ax.plot(rows, numbers, ".", color=INK, markersize=3, label="original")
    outside = (numbers < lower) | (numbers > upper)
    if outside.any():
        ax.plot(rows[outside], numbers[outside], "x", color=VERMILION, label="outside its interval")
    ax.set_xlabel("rows, in the order of their numbers")
    ax.set_xticks([])
    ax.set_ylabel(name)
    ax.legend(frameon=False, fontsize="small")
    plain(ax)
    return ax


def plot_class_sizes(sizes: ArrayLike, *, k: int, ax: Axes | None = None) -> Axes:
    """Draw how many rows stand in classes of each size, and where k is.

    Parameters
    ----------
    sizes
        ``(classes,)`` numbers of rows of the classes.
    k
        Least class size that was promised. Classes below it are drawn in another color and hatched.
    ax
        Axes to draw on; new ones by default.

    Returns
    -------
    matplotlib.axes.Axes
        The axes: sizes, and rows in classes of that size.

    Raises
    ------
    InvalidProblemError
        When there is no class, or one without rows.

    Examples
    --------
    >>> ax = plot_class_sizes([5, 5, 6, 2], k=5)
    >>> [(round(bar.get_x() + bar.get_width() / 2), int(bar.get_height())) for bar in ax.patches]
    [(2, 2), (5, 10), (6, 6)]
    """
    from matplotlib.ticker import MaxNLocator

    counted = np.asarray(sizes)
    if counted.ndim != 1 or not len(counted) or counted.min() < 1:
        raise InvalidProblemError("sizes", "classes of one row or more", f"shape {counted.shape}")
    kinds, times = np.unique(counted, return_counts=True)
    ax = axes_or_new(ax)
    small = kinds < k
    for part, color, hatch, label in (
        (small, VERMILION, "///", f"fewer than {k}"),
        (~small, BLUE, None, f"{k} or more"),
    ):
        if part.any():
            rows = kinds[part] * times[part]
            ax.bar(kinds[part], rows, width=0.8, color=color, hatch=hatch, label=label)
    ax.axvline(k - 0.5, color=INK, linewidth=1, linestyle=(0, (4, 2)))
    ax.annotate(
        f"k = {k}",
        (k - 0.5, 1),
        (4, -10),
        xycoords=("data", "axes fraction"),
        textcoords="offset points",
        color=INK,
        fontsize="small",
    )
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.margins(y=0.14)
    ax.set_xlabel("rows in the class")
    ax.set_ylabel("rows")
    plain(ax)
    return ax


def plot_rows(
    columns: Sequence[str],
    before: Sequence[Sequence[object]],
    after: Sequence[Sequence[object]],
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw a few rows beside the published rows.

    Parameters
    ----------
    columns
        Names of the columns.
    before, after
        Cells of the same rows, one for each column; they are printed by ``str``. **Private** together, unless the
        data are made.
    ax
        Axes to draw on; new ones by default.

    Returns
    -------
    matplotlib.axes.Axes
        The axes, without scales. Cells that changed are in color and bold.

    Raises
    ------
    InvalidProblemError
        When there is no row, or cells do not match the columns.

    Examples
    --------
    >>> ax = plot_rows(["age", "sex"], [(34, "f")], [("30 .. 39", "f")])
    >>> [cell.get_text().get_text() for _, cell in sorted(ax.tables[0].get_celld().items())]
    ['age', 'sex', 'age', 'sex', '34', 'f', '30 .. 39', 'f']
    """
    from matplotlib.transforms import Bbox

    width = len(columns)
    if not before or len(before) != len(after):
        raise InvalidProblemError("after", f"{len(before)} rows, one or more", len(after))
    if any(len(row) != width for row in (*before, *after)):
        raise InvalidProblemError("before and after", f"{width} cells a row", "others")
    ax = axes_or_new(ax)
    ax.set_axis_off()
    text = [[str(cell) for cell in (*old, *new)] for old, new in zip(before, after, strict=True)]
    # Rows share the height of the axes, however large these are made later.
    table = ax.table(text, colLabels=[*columns, *columns], bbox=Bbox.unit(), cellLoc="left")
    table.auto_set_font_size(value=False)
    table.set_fontsize(9)
    for (row, column), cell in table.get_celld().items():
        cell.set_edgecolor(FAINT)
        cell.set_linewidth(0.5)
        published = column >= width
        changed = row and published and text[row - 1][column] != text[row - 1][column - width]
        cell.get_text().set_color(BLUE if changed else GREY if not row else INK)
        cell.get_text().set_fontweight("bold" if changed else "normal")
        if published:
            cell.set_facecolor("#f3f6f9")
    ax.set_title("before, and as published", loc="left", color=INK)
    return ax
