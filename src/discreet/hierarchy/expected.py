"""Standard errors of counts by size, before a record is read: for each level, beside independent noise."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core import printed
from discreet.core.spaces.inputs import positive_count
from discreet.hierarchy.measure import level_shares, node_scales, noise_of, variance_of
from discreet.hierarchy.query import COUNTED_KINDS, least_variances
from discreet.hierarchy.reliability import error_in_words

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    from discreet.hierarchy.measure import Noise
    from discreet.hierarchy.plan import Plan


def expected_rows(planned: Plan, count: int | None = None) -> list[dict[str, Any]]:
    """Compute for each level the standard error of the unbiased estimate of how many units of one size a region has.

    Keys: ``level`` (1 for the root), ``regions``, and in units ``standard_error`` and ``naive``; with `count`, which
    must be positive, ``coefficient_of_variation`` where there is an error. Linear in the regions.

    Parameters
    ----------
    planned
        The plan.
    count
        A count, for which the coefficient of variation is given: the standard error over it.

    Returns
    -------
    list of dict
        Level, regions, the largest standard error of a region (``None`` for methods that do not measure counts), and
        that of independent noise on each count with equal parts of the budget for the levels.

    Examples
    --------
    >>> from discreet import PureDP
    >>> from discreet.hierarchy import plan
    >>> guarantee = PureDP(1, neighbors="add-remove-person")
    >>> planned = plan([("GA",), ("NY",)], guarantee, columns=["state"], unit="home", max_size=3)
    >>> [round(one["standard_error"], 2) for one in expected_rows(planned)]
    [3.96, 3.96]
    """
    if count is not None:
        positive_count(count, "count")
    frame, guarantee, kind = planned.frame, planned.guarantee, planned.method.kind
    tree, noise = frame.tree, noise_of(guarantee)
    equal = node_scales(
        frame, "direct", guarantee, level_shares(tree.depth, None), leaves_inherit=False
    )
    naive, errors = np.sqrt(_variances(equal, noise)), None
    if kind in COUNTED_KINDS:
        # One size is the difference of two survival counts.
        factor = 2 if kind == "survival" else 1
        errors = np.sqrt(factor * least_variances(tree, _variances(planned.scales, noise))[0])
    rows = []
    for level in range(tree.depth + 1):
        nodes = slice(int(tree.level_start[level]), int(tree.level_start[level + 1]))
        error = None if errors is None else float(errors[nodes].max())
        row: dict[str, Any] = {
            "level": level + 1,
            "regions": nodes.stop - nodes.start,
            "standard_error": error if error is None or math.isfinite(error) else None,
            "naive": float(naive[nodes].max()),
        }
        if count is not None and row["standard_error"] is not None:
            row["coefficient_of_variation"] = row["standard_error"] / count
        rows.append(row)
    return rows


def _variances(scales: Sequence[Fraction | None], noise: Noise) -> NDArray[np.float64]:
    """Return at least the variance of the noise of each region, infinite where nothing is measured."""
    known = {one: math.inf if one is None else float(variance_of(one, noise)) for one in {*scales}}
    return np.array([known[one] for one in scales])


def expected_lines(rows: Sequence[dict[str, Any]], count: int | None) -> list[str]:
    """Return one sentence for each row of :func:`expected_rows`.

    Level, number of regions, and the standard error of a count. `count` is the size of a count for which the rows
    give a coefficient of variation, or ``None``.
    """
    lines = []
    for row in rows:
        regions = f"{printed.count(row['regions'])} region{'s' * (row['regions'] > 1)}"
        error = error_in_words(row, count)
        lines.append(f"level {row['level']} ({regions}), units of one size: {error}")
    return lines
