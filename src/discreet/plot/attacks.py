"""The figure of an attack: attacker, naive attacker and control group side by side, with intervals and limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.plot.style import BLUE, FAINT, GREY, VERMILION, axes_or_new, plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from discreet.evaluate.attack.finding import Finding

__all__ = ["plot_findings"]


def plot_findings(findings: Sequence[Finding], *, ax: Axes | None = None) -> Axes:
    """Draw one row for each finding: a dot with its interval, the naive attacker, the control group, and the limit.

    Parameters
    ----------
    findings
        Findings of one kind: all shares, or all errors.
    ax
        Axes to draw on.

    Returns
    -------
    matplotlib.axes.Axes
        The axes: the measure to the right, the first finding on top.

    Raises
    ------
    InvalidProblemError
        Without findings, or with both kinds.

    Examples
    --------
    >>> from discreet.evaluate.attack.finding import Finding
    >>> from discreet.evaluate.intervals import Estimate, clopper_pearson
    >>> guess = clopper_pearson(60, 100, failure=0.05)
    >>> ax = plot_findings([Finding("guess", "found", guess, Estimate.computed(0.1), limit=0.7)])
    >>> [label.get_text() for label in ax.get_yticklabels()], ax.get_xlabel()
    (['guess'], 'found')
    """
    if not findings or len({one.error for one in findings}) > 1:
        raise InvalidProblemError("findings", "one or more, all shares or all errors", "others")
    drawn = axes_or_new(ax)
    heights = np.arange(len(findings))[::-1]
    for height, one in zip(heights.tolist(), findings, strict=True):
        drawn.plot([one.attacker.low, one.attacker.high], [height, height], color=BLUE, linewidth=2)
        for estimate, marker, color, size in (
            (one.baseline, "|", GREY, 12),
            (one.control, "x", GREY, 6),
            (one.attacker, "o", BLUE, 6),
        ):
            if estimate is not None:
                drawn.plot(
                    estimate.value, height, marker=marker, color=color, markersize=size, zorder=3
                )
        if one.limit is not None:
            drawn.plot(
                [one.limit] * 2, [height - 0.35, height + 0.35], color=VERMILION, linestyle="--"
            )
    drawn.set_yticks(heights, [one.attack for one in findings])
    drawn.set_ylim(-0.6, len(findings) - 0.4)
    if findings[0].error:
        drawn.set_xlim(left=0)
    else:
        drawn.set_xlim(0, 1.02)
    measures = dict.fromkeys(one.measure for one in findings)
    drawn.set_xlabel(", ".join(measures))
    plain(drawn)
    drawn.grid(visible=False, axis="y")
    drawn.grid(visible=True, axis="x", color=FAINT, linewidth=0.5)
    return drawn
