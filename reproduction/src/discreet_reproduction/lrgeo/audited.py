r"""A channel of the composite: audit the rows of all users over all places, and mend what does not hold.

The map from a place to the row that its user samples from is public, so the server, or anybody, can make all K rows
and look at them together: :func:`~discreet_reproduction.lrgeo.as_published.composite.composite_check` finds the
epsilon that *all* pairs need, zeros included. Where that is more than was promised there are two ways to a channel that
keeps it:

* ``"repair"``: raise what is too small, column by column, and make rows sum to 1 again, until both hold
  (:mod:`discreet.metricdp.bounds.repair`);
* ``"rescale"``: make the rows anew with a smaller epsilon inside, until the audit finds the promise kept. The audited
  epsilon is not monotone in the inner one, and below some inner epsilon there are no rows of the form; where none is
  good enough the least violating rows are repaired.

Either way the rows end as integers that :func:`discreet.metricdp.design` verifies exactly, and the guarantee rests on
that alone.

Violations are few and can be large, which a repair mends where they are, and a smaller epsilon pays for everywhere. On
a grid of 8 by 8 with frozen scales and eight neighbors, at epsilon .5, 1 and 2 per cell: the composite needs 1.41, 1.18
and 1.002 times epsilon and costs 2.254, 1.455 and .617 cells; repaired it costs 2.254, 1.456 and .617, rescaled 2.528,
1.655 and .651.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np

from discreet.core.errors import InfeasibleError, InvalidProblemError
from discreet.core.printed import at_most, share
from discreet_reproduction.lrgeo.as_published.composite import composite_check
from discreet_reproduction.lrgeo.as_published.geo_ind_graph import GeoIndGraph

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from discreet.core.guarantee import MetricDP
    from discreet.core.outcome import Design
    from discreet.core.spaces.metric import MetricSpace
    from discreet.metricdp.part import Candidate, Part, PartLimits
    from discreet_reproduction.lrgeo.as_published.composite import Composite, RowMethod
    from discreet_reproduction.lrgeo.as_published.instance import Instance

_ROOM = 1e-4
"""Part of epsilon that the audit leaves for rounding to integers."""

_LEAST = 0.2
"""Inner epsilon, in parts of the promised one, below which none is tried."""


@final
@dataclass(frozen=True)
class Trial:
    """One trial.

    Parameters
    ----------
    share
        The inner epsilon, in parts of the promised one.
    check
        What the composite does, over all pairs.
    cost
        Its expected cost.
    """

    share: float
    check: Composite
    cost: float


@final
@dataclass(frozen=True, eq=False)
class _Given:
    """A matrix that was made elsewhere, as a method of metric designs."""

    matrix: NDArray[np.float64]
    note: str

    def solve(self, part: Part, _limits: PartLimits) -> Candidate | None:
        """Hand it over."""
        from discreet.metricdp.part import Candidate

        if part.n != len(self.matrix):
            return None
        return Candidate("audited-composite", self.matrix, None, self.note)


def audited_design(
    space: MetricSpace,
    instance: Instance,
    guarantee: MetricDP,
    method: RowMethod,
    *,
    gamma: float = np.inf,
    mend: Literal["repair", "rescale"] = "repair",
    tries: int = 8,
    time_limit: float | None = None,
    on_audit: Callable[[Trial], None] | None = None,
) -> Design[Any, Any]:
    """Make a private channel of the rows of a method that has no guarantee.

    Parameters
    ----------
    space
        The places: what is verified is for its distances.
    instance
        The same places as arrays, with costs and prior.
    guarantee
        What is promised, for all pairs.
    method
        Such as :class:`~discreet_reproduction.lrgeo.frozen_scales.FrozenScales`.
    gamma
        The method's own neighborhood, for its graph.
    mend
        What to do where the audit finds more than was promised; see the top of this module.
    tries
        Most values of the inner epsilon, for ``"rescale"``.
    time_limit
        Seconds for each program of the method.
    on_audit
        Called after each trial.

    Returns
    -------
    Design
        Verified exactly over all pairs, with the trials in its provenance.

    Raises
    ------
    InvalidProblemError
        For a guarantee with a radius, arrays that are not of the space, or another way to mend.
    InfeasibleError
        When the method gives no rows even with the promised epsilon.

    Examples
    --------
    >>> from discreet.core.guarantee import MetricDP
    >>> from discreet.core.spaces.metric import MetricSpace
    >>> from discreet_reproduction.lrgeo.as_published.instance import Instance
    >>> from discreet_reproduction.lrgeo.frozen_scales import FrozenScales
    >>> grid = MetricSpace.grid(2, 4, cell=1, unit="km")
    >>> apart = np.ldexp(grid.distances.astype(float), -grid.scale_bits)
    >>> places = Instance(apart, apart, unit="km")
    >>> made = audited_design(grid, places, MetricDP(1, "km"), FrozenScales(reach=2, r_exp=1), gamma=1.0)
    >>> made.certificate.passed
    True
    """
    from discreet.metricdp import Problem, design

    if guarantee.radius is not None:
        raise InvalidProblemError("guarantee", "all pairs, without a radius", guarantee.radius)
    if mend not in {"repair", "rescale"}:
        raise InvalidProblemError("mend", "'repair' or 'rescale'", repr(mend))
    stored = np.ldexp(space.distances.astype(np.float64), -space.scale_bits)
    if stored.shape != instance.distances.shape or not _agree(stored, instance.distances):
        raise InvalidProblemError("instance", "the distances of the space", "others")
    trials, matrix = _search(
        instance,
        guarantee,
        method,
        gamma=gamma,
        tries=tries if mend == "rescale" else 1,
        time_limit=time_limit,
        on_audit=on_audit,
    )
    best = trials[-1] if trials[-1].check.effective <= float(guarantee.epsilon) else None
    told = "; ".join(f"{share(t.share, 1)} gives {at_most(t.check.effective, 4)}" for t in trials)
    note = f"Inner epsilon in parts of the promised one, and what all pairs need: {told}. "
    note += (
        "The last keeps the promise." if best else "None keeps the promise; the rows were repaired."
    )
    problem = Problem(space, utility_loss=instance.beta, prior=instance.prior)
    return design(problem, guarantee, method=_Given(matrix, note), throw=False)


def _search(
    instance: Instance,
    guarantee: MetricDP,
    method: RowMethod,
    *,
    gamma: float,
    tries: int,
    time_limit: float | None,
    on_audit: Callable[[Trial], None] | None,
) -> tuple[list[Trial], NDArray[np.float64]]:
    """Lower the inner epsilon until the audit passes; give the trials, and the matrix that violates least."""
    epsilon = float(guarantee.epsilon)
    graph = GeoIndGraph(instance.distances, gamma)
    trials: list[Trial] = []
    share, least, matrix = 1.0, np.inf, np.zeros((0, 0))
    while len(trials) < max(1, tries) and share >= _LEAST:
        try:
            rows = method.rows(instance, graph, epsilon * share, range(instance.size), time_limit)
        except InfeasibleError:
            if not trials:
                raise
            break
        table = np.clip(rows.matrix, 0.0, 1.0)
        check = replace(composite_check(table, instance.distances, epsilon), epsilon=epsilon)
        audit = Trial(share, check, float((instance.cost * table).sum()))
        trials.append(audit)
        if on_audit is not None:
            on_audit(audit)
        if not len(matrix) or check.effective < least:
            least, matrix = check.effective, table
        if check.effective <= epsilon * (1 - _ROOM):
            break
        wanted = epsilon * (1 - 2 * _ROOM) / check.effective if np.isfinite(check.effective) else 0
        share *= min(0.97, max(0.8, wanted))
    return trials, matrix


def _agree(stored: NDArray[np.float64], given: NDArray[np.float64]) -> bool:
    """Compare distances up to what storing them as integers may take off."""
    return bool(np.abs(stored - given).max() <= 1e-6 * given.max())
