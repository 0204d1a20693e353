"""TopDown-like passes: each level is fitted to its own measurements and to the level above, never to those below.

The 2020 Disclosure Avoidance System of the Census Bureau [Abo18]_ goes down level by level: a non-negative least
squares fit of the children's own noisy marginals that adds up to the parent's table, then rounding. That is done here
with our search and our rounding in place of a commercial solver, in one pass in place of two; so it is a peer for what
the descent gains by looking at the levels below, not the Bureau's code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from discreet.hierarchy.contingency.whole import whole

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.core.progress import Progress
    from discreet.hierarchy.contingency.measure import MeasuredTables
    from discreet.hierarchy.contingency.result import RegionTables


@final
@dataclass(frozen=True)
class TopDownPasses:
    """Descend by each level's own measurements alone.

    Parameters
    ----------
    rounds
        Rounds of the search for each parent, at most.

    Examples
    --------
    >>> TopDownPasses()
    TopDownPasses(rounds=60)
    """

    rounds: int = 60

    def solve(
        self,
        measured: MeasuredTables,
        *,
        threads: int = 1,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> RegionTables:
        """Compute whole tables from `measured`, level by level without a look at lower levels; see :func:`whole`.

        `threads` solve the parents of a level; the result does not depend on them. `on_progress` is called with each
        level.

        Raises
        ------
        InvalidProblemError
            Where a level does not measure its cells: its own measurements then say nothing of some of them. For
            `threads` or `rounds` below 1.

        Complexity
        ----------
        At most ``rounds`` transforms of all regions, forward and back, and one pass of rounding.
        """
        return whole(
            measured,
            rounds=self.rounds,
            threads=threads,
            look_below=False,
            shaped=False,
            on_progress=on_progress,
        )
