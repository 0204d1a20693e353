"""The curator's door: how far published counts are from the true ones. Private: no guarantee covers it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.options import instance_of
from discreet.hierarchy.problem import GroupSizes
from discreet.hierarchy.result import RegionCounts
from discreet.hierarchy.survival import survival_of
from discreet.hierarchy.verify import sums_below

if TYPE_CHECKING:
    from discreet.core.outcome import Release, Unproven


@final
@dataclass(frozen=True)
class Diagnosis:
    r"""Errors of published counts, by level from the root down; private.

    Parameters
    ----------
    l1
        Sum of absolute errors, :math:`\sum_r \sum_s |\hat n_{rs} - n_{rs}|`.
    earth_mover
        Sum over the regions of the earth mover's distance: how many persons would have to move in or out for the groups
        of the region to have the published sizes, :math:`\sum_s |\hat t_s - t_s|`. A group that is missing on one side
        counts as one of size 0.
    bias_on_zeros
        Mean signed error over the cells whose true count is 0; ``None`` where there is none.
    inconsistent
        Pairs of a region and a size whose count differs by more than 1e-6 from the sum of those of the regions below
        it.
    inconsistent_regions
        Regions with such a size.
    negative, fractional
        Counts below 0, and counts that are not whole.
    """

    l1: tuple[float, ...]
    earth_mover: tuple[float, ...]
    bias_on_zeros: tuple[float | None, ...]
    inconsistent: int
    inconsistent_regions: int
    negative: int
    fractional: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON: ``"private"``, which is True, and each field under its name."""
        return {"private": True, **vars(self)}


def diagnose(
    data: GroupSizes, result: Release[RegionCounts] | Unproven[RegionCounts] | RegionCounts
) -> Diagnosis:
    """Compare published counts with the true ones; for the curator's eyes only.

    ``O(n_nodes * n_sizes)`` time and memory.

    Parameters
    ----------
    data
        The private data.
    result
        What was made of them.

    Returns
    -------
    Diagnosis
        Errors by level.

    Raises
    ------
    InvalidProblemError
        When the two are not on the same frame.

    Examples
    --------
    >>> from discreet import PureDP, Tree
    >>> from discreet.hierarchy.problem import GroupSizes
    >>> from discreet.hierarchy.result import RegionCounts
    >>> tree = Tree.from_paths([("GA",), ("NY",)], root="US")
    >>> data = GroupSizes.from_counts(tree, [[2, 0, 1], [1, 1, 1]], units="private")
    >>> diagnose(data, RegionCounts(data.frame, [[3, 1, 2], [2, 1, 0], [1, 1, 1]])).earth_mover
    (0.0, 1.0)
    """
    instance_of(data, GroupSizes, "data", "GroupSizes")
    counts = result if isinstance(result, RegionCounts) else getattr(result, "result", None)
    if not isinstance(counts, RegionCounts):
        raise InvalidProblemError("result", "a release of RegionCounts", type(result).__name__)
    if counts.frame != data.frame:
        raise InvalidProblemError("result", "counts on the frame of the data", "another frame")
    tree, published = data.frame.tree, counts.counts
    true = data.node_counts()
    error = published - true
    moved = np.abs(survival_of(data.frame, published) - data.survival()).sum(axis=1)
    zeros = np.where(true == 0, error, 0).sum(axis=1), (true == 0).sum(axis=1)
    apart = ~np.isclose(sums_below(tree.parents, published), published, rtol=0.0, atol=1e-6)
    wrong = apart & ~tree.is_leaf[:, None]
    by_level = partial(np.bincount, tree.levels)
    bias = [
        float(total) / int(cells) if cells else None
        for total, cells in zip(*map(by_level, zeros), strict=True)
    ]
    return Diagnosis(
        tuple(by_level(np.abs(error).sum(axis=1)).tolist()),
        tuple(by_level(moved).tolist()),
        tuple(bias),
        int(wrong.sum()),
        int(wrong.any(axis=1).sum()),
        int((published < 0).sum()),
        int((published != np.floor(published)).sum()),
    )
