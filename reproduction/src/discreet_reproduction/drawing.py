"""Lines of an experiment that are told apart in grey, and by people who see few colors: each has marks and dashes."""

from __future__ import annotations

import math
from itertools import cycle
from typing import TYPE_CHECKING, Any

from discreet_reproduction.record import numbers

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from matplotlib.axes import Axes

    from discreet_reproduction.record import Cell

_MOST_TICKS = 8
"""Up to which number of abscissas each has its tick on a logarithmic axis, whose own ticks would overlap."""


def styles() -> Iterable[dict[str, Any]]:
    """Give colors, marks and dashes for one line after another, without end.

    Examples
    --------
    >>> from itertools import islice
    >>> kinds = [(one["color"], one["marker"], one["linestyle"]) for one in islice(styles(), 12)]
    >>> len(set(kinds)), len({mark for _, mark, _ in kinds})
    (12, 12)
    """
    # Imported here, as plots are an extra.
    from discreet.plot.style import BLUE, GREEN, GREY, INK, PURPLE, VERMILION

    return (
        {"color": color, "marker": marker, "linestyle": dashes}
        for color, marker, dashes in zip(
            cycle((BLUE, VERMILION, GREEN, PURPLE, GREY, INK)),
            cycle("os^Dv*PX<>dh"),
            cycle(("-", (0, (5, 2)), (0, (3, 1.5, 1, 1.5)), (0, (1, 1.2)), (0, (7, 3)))),
            strict=False,
        )
    )


def lines(
    rows: Sequence[Mapping[str, Cell]],
    across: str,
    up: str,
    by: str,
    ax: Axes,
    *,
    log: str = "",
) -> None:
    """Draw a column against another, a line for each value of a third.

    Parameters
    ----------
    rows
        Of an experiment.
    across, up
        Columns of the two axes. Rows without a number in either leave a hole.
    by
        Column whose values are the lines' names.
    ax
        Axes to draw on.
    log
        Logarithmic axes: ``""``, ``"x"``, ``"y"`` or ``"xy"``. One on which there is a zero is linear near it, and
        one on which nothing is positive is linear.
    """
    names = dict.fromkeys(str(row[by]) for row in rows)
    series = {name: [row for row in rows if str(row[by]) == name] for name in names}
    drawn = {name: (numbers(mine, across), numbers(mine, up)) for name, mine in series.items()}
    lines_of(drawn, across, up, ax, log=log)


def lines_of(
    series: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    across: str,
    up: str,
    ax: Axes,
    *,
    log: str = "",
) -> None:
    """Draw lines that are given point by point.

    Parameters
    ----------
    series
        Name -> abscissas, ordinates. What is not finite in either leaves a hole; a line without any point is left out,
        and its name with it.
    across, up
        What the axes show.
    ax
        Axes to draw on.
    log
        As for :func:`lines`.
    """
    from discreet.plot.style import log_scale, plain

    for (name, (x, y)), style in zip(series.items(), styles(), strict=False):
        seen = [value if math.isfinite(value) else math.nan for value in y]
        known = [
            at for at, ends in enumerate(zip(x, seen, strict=True)) if all(map(math.isfinite, ends))
        ]
        if not known:
            continue
        # Marks on a long line hide it.
        every = max(1, len(known) // 12)
        ax.plot(x, seen, label=name, markersize=4, linewidth=1.4, markevery=every, **style)
    if "y" in log:
        log_scale(ax, "y", [value for _, y in series.values() for value in y])
    ticks = sorted(
        {float(value) for x, _ in series.values() for value in x if math.isfinite(value)}
    )
    scale = log_scale(ax, "x", ticks) if "x" in log else "linear"
    if scale != "linear" and len(ticks) <= _MOST_TICKS:
        ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        ax.xaxis.minorticks_off()
    ax.set_xlabel(across)
    ax.set_ylabel(up)
    plain(ax)
    if ax.lines:
        ax.legend(
            loc="center left",
            bbox_to_anchor=(1.01, 0.5),
            fontsize="x-small",
            frameon=False,
            handlelength=4,
        )


def bars(
    rows: Sequence[Mapping[str, Cell]],
    named: Sequence[str],
    along: str,
    ax: Axes,
    *,
    error: str = "",
) -> None:
    """Draw a bar for each row, its name beside it.

    Parameters
    ----------
    rows
        Of an experiment, the first on top. Rows without a number are left out.
    named
        Columns that name a row together.
    along
        Column that the bars show.
    ax
        Axes to draw on.
    error
        Column of standard errors, if any.
    """
    from discreet.plot.style import BLUE, INK, plain

    values = numbers(rows, along)
    shown = [at for at, value in enumerate(values) if math.isfinite(value)]
    spread = numbers(rows, error) if error else None
    ax.barh(
        range(len(shown)),
        [values[at] for at in shown],
        xerr=None if spread is None else [spread[at] for at in shown],
        color=BLUE,
        ecolor=INK,
        height=0.6,
    )
    labels = [", ".join(str(rows[at][column]) for column in named) for at in shown]
    ax.set_yticks(range(len(shown)), labels, fontsize="small")
    ax.invert_yaxis()
    ax.set_xlabel(along)
    plain(ax)
    ax.grid(visible=False, axis="y")
