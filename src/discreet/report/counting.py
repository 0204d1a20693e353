"""Counts for the demo: a synthetic census, its release, and every quick method at some budgets, several draws each."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from discreet.artefact import save_counts
from discreet.core import printed
from discreet.core.guarantee import PureDP
from discreet.datasets.census import made_census
from discreet.evaluate.audit.hierarchy import audit_counts
from discreet.evaluate.audit.request import AuditRequest
from discreet.hierarchy import GroupSizes, RegionCounts, diagnose, release
from discreet.hierarchy.methods import quick_methods
from discreet.report.hierarchy import MethodError
from discreet.report.page import make_chapter
from discreet.report.trying import try_counts

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from discreet.report.page import Chapter

__all__ = ["compare_counts", "count_demo"]

EPSILONS = (0.1, 0.3, 1.0, 3.0)
SHOWN_EPSILON = 1.0
DRAWS_PER_BUDGET = 2

_LEAD = (
    "A census office counts households by size in every state and county. It wants to publish whole numbers that add "
    "up, and nobody who reads them should learn whether any one person was counted."
)
_MADE = (
    "The census on this page is synthetic: {groups} households in {regions} regions. So the true counts may be drawn "
    "beside the published ones here. Which households exist is public; how many live in each is not."
)


def compare_counts(
    data: GroupSizes,
    methods: Sequence[str],
    epsilons: Sequence[float],
    *,
    draws: int = DRAWS_PER_BUDGET,
) -> list[MethodError]:
    """Release synthetic data by several methods at several budgets, and average their errors over some draws.

    Parameters
    ----------
    data
        Synthetic data: errors of real data are private.
    methods
        Names of methods.
    epsilons
        Budgets.
    draws
        How many releases each.

    Returns
    -------
    list of MethodError
        One for each method and budget.
    """
    errors = []
    for method in methods:
        for epsilon in epsilons:
            guarantee = PureDP(epsilon, neighbors="add-remove-person")
            seen = [diagnose(data, release(data, guarantee, method=method)) for _ in range(draws)]
            l1 = np.mean([one.l1 for one in seen], axis=0)
            bias = tuple(
                None
                if any(one.bias_on_zeros[level] is None for one in seen)
                else float(np.mean([one.bias_on_zeros[level] or 0.0 for one in seen]))
                for level in range(len(l1))
            )
            errors.append(MethodError(method, epsilon, tuple(l1.tolist()), bias))
    return errors


def count_demo(
    file: Path,
    *,
    states: int = 8,
    counties: int = 60,
    groups: int = 60_000,
    epsilons: Sequence[float] = EPSILONS,
) -> Chapter:
    """Publish a synthetic census, compare the methods on it, and make the chapter.

    Parameters
    ----------
    file
        Where the table goes.
    states, counties, groups
        Size of the census.
    epsilons
        Budgets of the comparison; one of them is 1, for the table.

    Returns
    -------
    Chapter
        For the page.
    """
    made = made_census(states=states, counties=counties, groups=groups, max_size=20, outliers=8)
    data = GroupSizes.from_counts(made.tree, made.with_size_zero(), units="public")
    started = time.perf_counter()
    out = release(data, PureDP(SHOWN_EPSILON, neighbors="add-remove-person"))
    save_counts(out, file)
    released = time.perf_counter()
    errors = compare_counts(data, quick_methods(), epsilons)
    compared = time.perf_counter()
    promise = PureDP(SHOWN_EPSILON, neighbors="add-remove-person")
    audited = audit_counts(AuditRequest(epsilon=str(SHOWN_EPSILON)))
    return make_chapter(
        "hierarchy",
        out,
        title="A synthetic census",
        anchor="census",
        lead=(_LEAD, _MADE.format(groups=printed.count(groups), regions=made.tree.n)),
        truth=RegionCounts(data.frame, data.node_counts()),
        errors=errors,
        shown=SHOWN_EPSILON,
        artefact=f"{file.parent.name}/{file.name}",
        seconds={"release, check and file": released - started, "comparison": compared - released},
        attacked=try_counts(data, promise),
        audits=(audited,),
    )
