"""What judges found: audits, attacks, and measures of utility over a parameter, with their intervals."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.plot.style import (
    BASELINES,
    BLUE,
    GREY,
    INK,
    VERMILION,
    axes_or_new,
    label_ends,
    name_parameter,
    plain_rows,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

    from discreet.evaluate.attack.finding import Finding
    from discreet.evaluate.audit.audit import Audit
    from discreet.evaluate.utility.measure import Point


_AXIS_FACTOR = 1.15
"""Beyond the largest finite number, so that an arrow to infinity has somewhere to go."""


def plot_audits(audits: Mapping[str, Audit], *, ax: Axes | None = None) -> Axes:
    """Draw one row for each audit: a stroke at what was claimed, and a bar to what was proved to be the least.

    A claim is false where the bar passes its stroke. A bar that ends before it proves nothing about the rest.

    Parameters
    ----------
    audits
        Name -> what :func:`discreet.evaluate.audit.audit.audit` returned, all for one parameter, epsilon or rho.
    ax
        Axes to draw on; new ones by default.

    Returns
    -------
    matplotlib.axes.Axes
        The axes: the parameter to the right from 0, the first audit on top. Claims that are refused are hatched, and
        the name says so. A bar to infinity ends in an arrow.

    Raises
    ------
    InvalidProblemError
        Without audits, or with audits of several parameters or of k.

    Examples
    --------
    >>> from discreet.core.guarantee import PureDP
    >>> from discreet.evaluate.audit.audit import audit
    >>> def answer(truth, bits):
    ...     return truth ^ (bits.randrange(4) == 0)
    >>> claims = {"1.1": PureDP("1.1", "replace-one"), "1": PureDP(1, "replace-one")}
    >>> ax = plot_audits({name: audit(answer, [(0, 1)], claim, strength="exact") for name, claim in claims.items()})
    >>> [label.get_text() for label in ax.get_yticklabels()], [f"{bar.get_width():.2f}" for bar in ax.patches]
    (['1.1', '1: refused'], ['1.10', '1.10'])
    """
    parameters = {rows.parameter for rows in audits.values()}
    if len(parameters) != 1 or "k" in parameters:
        raise InvalidProblemError(
            "audits", "one or more, all for epsilon or all for rho", ", ".join(sorted(parameters))
        )
    claimed = np.array([float(rows.claimed) for rows in audits.values()])
    shown = np.array([rows.lower for rows in audits.values()])
    finite = [*claimed.tolist(), *(value for value in shown.tolist() if math.isfinite(value))]
    reach = _AXIS_FACTOR * max(finite)
    drawn = axes_or_new(ax)
    heights = np.arange(len(audits))[::-1]
    for height, claim, least, rows in zip(
        heights.tolist(), claimed.tolist(), shown.tolist(), audits.values(), strict=True
    ):
        drawn.barh(
            height,
            min(least, reach),
            height=0.5,
            color="white" if rows.rejected else BLUE,
            edgecolor=VERMILION if rows.rejected else BLUE,
            hatch="////" if rows.rejected else None,
        )
        drawn.plot([claim] * 2, [height - 0.36, height + 0.36], color=INK, linewidth=2)
        if math.isinf(least):
            drawn.plot(reach, height, marker=">", color=VERMILION, markersize=9, clip_on=False)
    names = [name + (": refused" if rows.rejected else "") for name, rows in audits.items()]
    plain_rows(drawn, names)
    drawn.set_xlim(0, reach)
    (parameter,) = parameters
    drawn.set_xlabel(f"{parameter}: bar, at least this; stroke, claimed")
    return drawn


def plot_findings(findings: Sequence[Finding], *, ax: Axes | None = None) -> Axes:
    """Draw one row for each finding: a dot with its interval, the naive attacker, the control group, and the limit.

    Parameters
    ----------
    findings
        Findings of one kind: all shares, or all errors.
    ax
        Axes to draw on; new ones by default.

    Returns
    -------
    matplotlib.axes.Axes
        The axes: the measure to the right (shares from 0 to 1), the first finding on top. The naive attacker is an
        upright stroke, the control group a cross, the limit a dashed line; what a finding lacks is not drawn.

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
    plain_rows(drawn, [one.attack for one in findings])
    drawn.set_xlim(0, None if findings[0].error else 1.02)
    measures = dict.fromkeys(one.measure for one in findings)
    drawn.set_xlabel(", ".join(measures))
    return drawn


_STYLES = ((BLUE, "o", "-"), *BASELINES)


def plot_points(
    points: Sequence[Point], *, parameter: str = "epsilon", ax: Axes | None = None
) -> Axes:
    """Draw a measure of utility over a parameter, one line with intervals for each method.

    Parameters
    ----------
    points
        What :func:`discreet.evaluate.utility.measure.frontier` returned.
    parameter
        Name of the parameter, for its axis.
    ax
        Axes to draw on; new ones by default.

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
