"""One run of one method on one table: what it loses, and processor seconds."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from discreet.kanonymity.candidate import SearchLimits, audit
from discreet.kanonymity.methods.greedy_search import GreedySearch
from discreet.kanonymity.methods.initial import Initial
from discreet.kanonymity.methods.k_member import KMember
from discreet.kanonymity.methods.mondrian import Mondrian
from discreet.kanonymity.methods.segmentation import Segmentation
from discreet.kanonymity.methods.split_carry import SplitCarry
from discreet.kanonymity.search.search import search
from discreet_reproduction.drawing import lines
from discreet_reproduction.kanonymity.as_published.doka import (
    DokaGreedy,
    DokaHungarian,
    DokaSortGreedy,
)
from discreet_reproduction.kanonymity.as_published.split_carry import reproduce
from discreet_reproduction.kanonymity.instances import fars

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from matplotlib.axes import Axes

    from discreet.kanonymity.candidate import Method
    from discreet.kanonymity.problem import Problem
    from discreet_reproduction.record import Cell

PAPER: dict[str, Method] = {
    "initial": Initial(),
    "split-carry, S=2": SplitCarry(2),
    "split-carry, S=3": SplitCarry(3),
    "split-carry, S=4": SplitCarry(4),
    "split-carry, S=5": SplitCarry(5),
    "greedy-search": GreedySearch(leftovers="range"),
    "k-member": KMember(),
    "mondrian": Mondrian(),
}
"""What the paper runs, by name. Greedy Search places what is left over as the released code does (E7)."""

FREEFORM: dict[str, DokaGreedy | DokaSortGreedy | DokaHungarian] = {
    "doka-greedy": DokaGreedy(),
    "doka-sort-greedy": DokaSortGreedy(),
    "doka-hungarian": DokaHungarian(),
}
"""What the paper compares with, although it is not k-anonymous."""

OURS = ("segmentation", "discreet")
"""One method of this library, and what it does by itself within a time limit."""


def warm(names: Iterable[str]) -> None:
    """Run methods once on twenty rows, so that no run that is measured holds their compilation."""
    for name in names:
        measured(fars(), 3, name, 0.2)


def measured(problem: Problem, k: int, name: str, seconds: float) -> dict[str, Cell]:
    """Run a method and audit its classes.

    Parameters
    ----------
    problem, k
        The work.
    name
        One of ``PAPER``, ``FREEFORM`` or ``OURS``.
    seconds
        Time limit of those that have one.

    Returns
    -------
    dict
        ``method``, ``loss``, ``CPU (s)``, ``guarantee``; for ``"discreet"`` also ``at least``, its proved lower bound.
    """
    start = time.process_time()
    if name in FREEFORM:
        loss = reproduce(problem, k, FREEFORM[name]).result.loss
        return _row(name, loss, start, "freeform")
    if name == "discreet":
        found = search(problem, k, time_limit=seconds)
        return {**_row(name, found.loss, start, f"{k}-anonymous"), "at least": found.lower}
    method = Segmentation(8) if name == "segmentation" else PAPER[name]
    labels = method.solve(problem, k, SearchLimits.within(seconds)).labels
    row = _row(name, problem.loss_of(labels), start, f"{k}-anonymous")
    audit(labels, k).raise_for_failure()
    return row


def _row(name: str, loss: float, start: float, guarantee: str) -> dict[str, Cell]:
    took = round(time.process_time() - start, 3)
    return {"method": name, "loss": loss, "CPU (s)": took, "guarantee": guarantee}


def draw(
    rows: Sequence[Mapping[str, Cell]],
    across: str,
    up: str,
    ax: Axes,
    *,
    straight: bool = False,
) -> None:
    """Draw a line for each method."""
    lines(rows, across, up, "method", ax, log="" if straight else "y")
