"""How noisy tables will be, before a record is read: for each level and marginal, beside independent noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core import printed
from discreet.core.guarantee import PureDP
from discreet.core.spaces.inputs import positive_count
from discreet.hierarchy.contingency.intervals import ROUND_UP
from discreet.hierarchy.contingency.measure import marginal_scales, moved_by_person
from discreet.hierarchy.contingency.shares import Program, kinds_of
from discreet.hierarchy.measure import amount_of, noise_of, variance_of
from discreet.hierarchy.reliability import error_in_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.core.guarantee import ZeroConcentratedDP
    from discreet.hierarchy.contingency.problem import TableFrame
    from discreet.hierarchy.contingency.shares import RegionKinds
    from discreet.hierarchy.contingency.workload import Workload


@final
@dataclass(frozen=True)
class ExpectedError:
    """How noisy the entries of a marginal of a level are, before anything is made whole.

    Parameters
    ----------
    level
        The level; the root's is 1.
    marginal
        Name of the marginal.
    alone
        Standard deviation of one measured entry, the largest of the level; ``None`` where the marginal is not measured
        there.
    together
        Standard deviation of the unbiased estimate of an entry from all measurements: the root mean square over the
        regions of the level.
    worst
        The same of the region where it is largest.
    naive
        Standard deviation of independent noise, where the budget is divided equally among the asked tables: the
        measured ones where no workload was stated.
    in_workload
        Whether the table is one of these.
    """

    level: int
    marginal: str
    alone: float | None
    together: float
    worst: float
    naive: float
    in_workload: bool


def expected_errors(
    frame: TableFrame,
    guarantee: PureDP | ZeroConcentratedDP,
    workload: Workload | None = None,
) -> tuple[ExpectedError, ...]:
    """Compute the standard error of each marginal on each level, in records.

    A public fact, known before a record is read. Structural zeros are left out of this fit: answers that hold them at
    zero are as precise or more so. `guarantee` sets the noise, `workload` what was asked for, by default what is
    measured. Returns one for each level and marginal, the root's first. The cost grows with kinds of regions times
    interactions, not with regions.

    Examples
    --------
    >>> from discreet import PureDP, Tree
    >>> from discreet.hierarchy.contingency import Domain, TableFrame
    >>> frame = TableFrame(
    ...     Tree.from_paths([("GA",), ("NY",)]), Domain.read({"sex": ["F", "M"]}), {(0,): (Fraction(1, 2),) * 2}
    ... )
    >>> [one] = expected_errors(frame, PureDP(1, neighbors="add-remove-person"))[:1]
    >>> one.marginal, round(one.alone, 3), round(one.together, 3)
    ('sex', 2.799, 2.286)
    """
    domain, tree = frame.domain, frame.tree
    pure = isinstance(guarantee, PureDP)
    noise = noise_of(guarantee)
    kinds, own, spread = _variances(frame, guarantee)
    demand = [
        [_is_asked(frame, workload, at, level) for at in range(len(frame.marginals))]
        for level in range(tree.depth + 1)
    ]
    equal = Fraction(1, max(1, sum(map(sum, demand))))
    moved = moved_by_person(guarantee.neighbors, frame.max_rows, norm=1 if pure else 2)
    amount = amount_of(guarantee) * (1 if pure else 2)
    naive = math.sqrt(variance_of(moved / (equal * amount), noise))
    errors = []
    for level in range(tree.depth + 1):
        rows = np.flatnonzero(kinds.levels == level)
        for at, q in enumerate(frame.marginals):
            alone = [one for row in rows.tolist() if (one := own[row][at]) is not None]
            mean = float(spread[rows, at] @ kinds.count[rows] / kinds.count[rows].sum())
            errors.append(
                ExpectedError(
                    level + 1,
                    domain.name(q),
                    math.sqrt(max(alone)) if alone else None,
                    math.sqrt(mean) * ROUND_UP,
                    math.sqrt(float(spread[rows, at].max())) * ROUND_UP,
                    naive,
                    demand[level][at],
                )
            )
    return tuple(errors)


def entry_errors(frame: TableFrame, guarantee: PureDP | ZeroConcentratedDP) -> NDArray[np.float64]:
    """Array ``(n_nodes, marginals)``: standard error of the unbiased estimate of one entry, rounded up.

    In records, by node and in the order of ``frame.marginals``; 0 for the root's total where it is public. Structural
    zeros are left out of the fit. The cost grows with kinds of regions times interactions.

    Examples
    --------
    >>> from discreet import PureDP, Tree
    >>> from discreet.hierarchy.contingency import Domain, TableFrame
    >>> frame = TableFrame(
    ...     Tree.from_paths([("GA",), ("NY",)]), Domain.read({"sex": ["F", "M"]}), {(0,): (Fraction(1, 2),) * 2}
    ... )
    >>> entry_errors(frame, PureDP(1, neighbors="add-remove-person")).round(3).tolist()
    [[2.286], [2.286], [2.286]]
    """
    kinds, _, spread = _variances(frame, guarantee)
    errors = np.asarray(np.sqrt(spread)[kinds.of] * ROUND_UP, dtype=np.float64)
    if frame.total is not None and () in frame.marginals:
        errors[0, frame.marginals.index(())] = 0.0
    return errors


def _variances(
    frame: TableFrame, guarantee: PureDP | ZeroConcentratedDP
) -> tuple[RegionKinds, list[list[Fraction | None]], NDArray[np.float64]]:
    """Return the kinds of regions, and the variances of an entry by kind and marginal: measured (exact), and estimated.

    The measured ones are lists with ``None`` where nothing is measured, the estimated ones ``(kinds, marginals)``
    floats. One pass over kinds and interactions.
    """
    noise, scales = noise_of(guarantee), marginal_scales(frame, guarantee)
    kinds = kinds_of(frame.tree, frame.strata.tolist())
    first = np.unique(kinds.of, return_index=True)[1]
    strata = frame.strata[first].tolist()
    shape = (len(strata), len(frame.marginals))
    residuals = guarantee.neighbors if frame.residuals else None
    program = Program(
        kinds, frame.domain, frame.marginals, np.ones(shape), "variance", residuals=residuals
    )
    own = [
        [None if (b := scales[q][one]) is None else variance_of(b, noise) for q in frame.marginals]
        for one in strata
    ]
    weights = [[0.0 if one is None else 1 / float(one) for one in row] for row in own]
    precision = np.array(weights) @ program.informed(frame.marginals)
    if frame.total is not None and () in program.subsets:
        # Known exactly.
        precision[0, program.subsets.index(())] = 1e300
    return kinds, own, program.spread(precision)[0] @ program.entry.T


def _is_asked(frame: TableFrame, workload: Workload | None, at: int, level: int) -> bool:
    """Test whether marginal number `at` is asked for on `level`, or measured there where no workload was stated."""
    q = frame.marginals[at]
    if workload is not None:
        return q in workload.tables and workload.tables[q][level] > 0
    level_strata = set(frame.strata[frame.tree.levels == level].tolist())
    return any(frame.share(q, one) for one in level_strata)


def expected_rows(
    frame: TableFrame, errors: Sequence[ExpectedError], count: int | None
) -> list[dict[str, Any]]:
    """Return the standard errors of a workload's tables as plain values, one mapping for each level and marginal.

    Keys: ``level`` (1 for the root), ``marginal`` (name), ``entries``, ``regions``, and in records ``standard_error``
    (root mean square over the regions), ``largest`` and ``naive``. With `count`, a positive count, also
    ``coefficient_of_variation``: ``largest`` over `count`. InvalidProblemError for another `count`.
    """
    if count is not None:
        positive_count(count, "count")
    rows: list[dict[str, Any]] = []
    for one in errors:
        if one.in_workload:
            row: dict[str, Any] = {
                "level": one.level,
                "marginal": one.marginal,
                "entries": frame.domain.size_of(frame.domain.marginal(one.marginal)),
                "regions": int((frame.tree.levels == one.level - 1).sum()),
                "standard_error": one.together,
                "largest": one.worst,
                "naive": one.naive,
            }
            if count is not None:
                row["coefficient_of_variation"] = one.worst / count
            rows.append(row)
    return rows


def expected_lines(rows: Sequence[dict[str, Any]], count: int | None) -> list[str]:
    """Return one line of text for each row of :func:`expected_rows`: level, marginal, entries and standard error.

    `count` is the size of a count for which the rows give a coefficient of variation, or ``None``.
    """
    lines = []
    for row in rows:
        entries, regions = row["entries"], row["regions"]
        size = f"{entries} {'entry' if entries == 1 else 'entries'}"
        if regions > 1:
            size += f" x {printed.count(regions)} regions"
        lines.append(
            f"level {row['level']}, {row['marginal']} ({size}): {error_in_words(row, count)}"
        )
    return lines
