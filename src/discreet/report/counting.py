"""Counts for the demo: a synthetic census and its release."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from discreet.artefact import save_counts
from discreet.core import printed
from discreet.core.guarantee import PureDP
from discreet.datasets.census import made_census
from discreet.evaluate.audit.hierarchy import audit_counts
from discreet.evaluate.audit.request import AuditRequest
from discreet.hierarchy import GroupSizes, RegionCounts, release
from discreet.report.page import make_chapter
from discreet.report.trying import try_counts

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.report.page import Chapter

__all__ = ["count_demo"]

SHOWN_EPSILON = 1.0

_LEAD = (
    "A census office counts households by size in every state and county. It wants to publish whole numbers that add "
    "up, and nobody who reads them should learn whether any one person was counted."
)
_MADE = (
    "The census on this page is synthetic: {groups} households in {regions} regions. So the true counts may be drawn "
    "beside the published ones here. Which households exist is public; how many live in each is not."
)


def count_demo(
    file: Path,
    *,
    states: int = 8,
    counties: int = 60,
    groups: int = 60_000,
) -> Chapter:
    """Publish a synthetic census, attack the release, and render the chapter.

    Parameters
    ----------
    file
        Where the table goes.
    states, counties, groups
        Size of the census.

    Returns
    -------
    Chapter
        For the page.
    """
    made = made_census(states=states, counties=counties, groups=groups, max_size=20, outliers=8)
    data = GroupSizes.from_counts(made.tree, made.with_size_zero(), units="public")
    started = time.perf_counter()
    promise = PureDP(SHOWN_EPSILON, neighbors="add-remove-person")
    out = release(data, promise, keep_measurements=True)
    save_counts(out, file)
    audited = audit_counts(AuditRequest(epsilon=str(SHOWN_EPSILON)))
    return make_chapter(
        "hierarchy",
        out,
        title="A synthetic census",
        anchor="census",
        lead=(_LEAD, _MADE.format(groups=printed.count(groups), regions=made.tree.n)),
        truth=RegionCounts(data.frame, data.node_counts()),
        artefact=f"{file.parent.name}/{file.name}",
        seconds={"release, check and file": time.perf_counter() - started},
        attacked=try_counts(data, promise),
        audits=(audited,),
    )
