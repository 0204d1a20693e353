"""What each budget costs: releases of a made table of the public shape, for choosing a budget before data are read."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import PureDP, ZeroConcentratedDP
from discreet.hierarchy import GroupSizes, diagnose, release
from discreet.studio.counts_asked import titled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from discreet.hierarchy.problem import Frame

    Tell = Callable[[dict[str, Any]], None]

__all__ = ["AMOUNTS", "Costs", "made_sizes"]

AMOUNTS = {
    "epsilon": ("0.03", "0.1", "0.3", "1", "3", "10"),
    "rho": ("0.0005", "0.005", "0.05", "0.5", "5"),
}

_DRAWS = 3


@final
@dataclass(frozen=True)
class Costs:
    """Release a made table at several budgets and average its errors. Nothing private goes in.

    Parameters
    ----------
    frame
        The public facts.
    neighbors
        Of the promise.
    notion
        A key of :data:`AMOUNTS`.
    method
        Name of the method.
    levels
        Part of the budget of each level, or ``None``.
    each
        Units of the made table in each lowest region, where their number is not public.
    seconds
        After which no other budget is begun.
    """

    frame: Frame
    neighbors: Any
    notion: str
    method: str
    levels: tuple[str, ...] | None
    each: int
    seconds: float = 60.0

    def run(self, tell: Tell) -> dict[str, Any]:
        """Give for each budget and level the mean errors of a region."""
        data, tree = made_sizes(self.frame, self.each), self.frame.tree
        regions, end = np.diff(tree.level_start), math.inf
        rows: list[dict[str, Any]] = []
        for amount in AMOUNTS[self.notion]:
            if time.monotonic() > end:
                break
            seen = list(self._errors(data, amount))
            wrong = np.mean([one.l1 for one in seen], axis=0) / regions
            moved = np.mean([one.earth_mover for one in seen], axis=0) / regions
            rows.append({"amount": amount, "wrong": wrong.tolist(), "moved": moved.tolist()})
            tell({"text": f"{self.notion} = {amount} is done."})
            # The first one also compiles; the clock begins after it.
            end = min(end, time.monotonic() + self.seconds)
        return {
            "rows": rows,
            "notion": self.notion,
            "levels": list(range(1, tree.depth + 2)),
            "public": self.frame.units == "public",
            "each": self.each,
            "draws": _DRAWS,
        }

    def _errors(self, data: GroupSizes, amount: str) -> Iterator[Any]:
        guarantee: PureDP | ZeroConcentratedDP = (
            PureDP(amount, self.neighbors)
            if self.notion == "epsilon"
            else ZeroConcentratedDP(amount, self.neighbors)
        )
        for _ in range(_DRAWS):
            with titled():
                out = release(data, guarantee, method=self.method, levels=self.levels)
            yield diagnose(data, out)


def made_sizes(frame: Frame, each: int) -> GroupSizes:
    """Make a table by formula: of the units of each lowest region half have the least size, half of the rest the next.

    Parameters
    ----------
    frame
        The public facts; where they hold the number of units in each region, that is their number.
    each
        Their number otherwise.

    Raises
    ------
    InvalidProblemError
        For more units than can be counted.

    Examples
    --------
    >>> from discreet import Tree
    >>> from discreet.hierarchy import Frame
    >>> made_sizes(Frame(Tree.from_paths([("GA",), ("NY",)]), 4, "private"), 16).counts.tolist()
    [[9, 4, 2, 1], [9, 4, 2, 1]]
    """
    leaves, totals = frame.tree.leaves, frame.group_totals
    whole = np.full(len(leaves), each) if totals is None else totals[leaves]
    if float(whole.sum(dtype=np.float64)) > 2**45:
        raise InvalidProblemError("Units in a lowest region", "a smaller number", each)
    shares = 0.5 ** np.arange(1, frame.n_sizes + 1)
    counts = np.floor(whole[:, None] * shares).astype(np.int64)
    counts[:, 0] += whole - counts.sum(axis=1)
    return GroupSizes(frame, counts)
