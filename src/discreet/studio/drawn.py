"""Where the lines of a drawing are: numbers for a template, which writes them as SVG."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from discreet.core import printed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WIDTH, HEIGHT = 360, 210
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 14, 12, 36


@final
@dataclass(frozen=True)
class DrawnLine:
    """A line through points.

    Parameters
    ----------
    name
        What it is.
    style
        Class of its style: `first` is drawn through with discs, `second` dashed with squares.
    points
        For each k: where its point is.
    """

    name: str
    style: str
    points: tuple[tuple[int, float, float], ...]

    @property
    def path(self) -> str:
        """The points as SVG takes them."""
        return " ".join(f"{printed.position(x)},{printed.position(y)}" for _, x, y in self.points)


@final
@dataclass(frozen=True)
class Panel:
    """A drawing with k from left to right.

    Parameters
    ----------
    title
        What is drawn.
    lines
        The lines.
    ticks
        Height and label of lines across.
    places
        k, where it stands, and how wide its column is.
    """

    title: str
    lines: tuple[DrawnLine, ...]
    ticks: tuple[tuple[float, str], ...]
    places: tuple[tuple[int, float, float], ...]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = _LEFT
    right: int = WIDTH - _RIGHT
    bottom: int = HEIGHT - _BOTTOM


def draw_frontier(rows: Sequence[Mapping[str, Any]]) -> list[Panel]:
    """Draw risk and loss against k, from k on the left to k on the right at equal steps.

    Returns two panels, of risk and of loss, with positions in units of SVG; no panel without rows.

    Parameters
    ----------
    rows
        For each k a mapping of ``k``, ``loss``, ``highest`` and ``average`` risk, all shares of 1, in the order of
        drawing.

    Examples
    --------
    >>> first = {"k": 2, "loss": 0.1, "highest": 0.5, "average": 0.4}
    >>> rows = [first, {"k": 5, "loss": 0.3, "highest": 0.2, "average": 0.1}]
    >>> risk, loss = draw_frontier(rows)
    >>> [line.name for line in risk.lines], [label for _, label in loss.ticks]
    (['highest', 'average'], ['0 %', '10 %', '20 %', '30 %'])
    >>> draw_frontier([])
    []
    """
    if not rows:
        return []
    risk = {"highest": ("highest", "first"), "average": ("average", "second")}
    return [
        _panel("Risk of being found", rows, risk),
        _panel("Mean loss of a cell", rows, {"loss": ("loss", "first")}),
    ]


def _panel(
    title: str, rows: Sequence[Mapping[str, Any]], lines: Mapping[str, tuple[str, str]]
) -> Panel:
    """Return a panel of lines with a place for each row and ticks from 0.

    `lines` maps a key of the rows, whose values are shares, to the name and style of its line.
    """
    step = (WIDTH - _LEFT - _RIGHT) / len(rows)
    across = [_LEFT + step * (at + 0.5) for at in range(len(rows))]
    most, between = _scale(max(row[key] for row in rows for key in lines))
    high = HEIGHT - _TOP - _BOTTOM

    def up(value: float) -> float:
        return HEIGHT - _BOTTOM - high * value / most

    ticks = [at * between for at in range(math.ceil(most / between - 0.5) + 1)]
    return Panel(
        title,
        tuple(
            DrawnLine(
                name,
                style,
                tuple((row["k"], x, up(row[key])) for row, x in zip(rows, across, strict=True)),
            )
            for key, (name, style) in lines.items()
        ),
        tuple((up(tick), printed.share(tick, 3)) for tick in ticks),
        tuple((row["k"], x, step) for row, x in zip(rows, across, strict=True)),
    )


_STEPS = (0.00001, 0.0001, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.25)


def _scale(most: float) -> tuple[float, float]:
    """Return a round end of a scale that is not below the share `most`, and its step: at most five steps up to 1.25."""
    between = next((step for step in _STEPS if most <= 5 * step), _STEPS[-1])
    count = 1
    while count * between < most - 1e-12:
        count += 1
    return count * between, between
