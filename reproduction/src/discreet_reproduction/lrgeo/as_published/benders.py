r"""CLR-Geo by Benders decomposition: Section 4.4 and Appendix C of [QLPSX24]_.

The master holds the scales y and one :math:`w_m` for each user's remaining cost; each user's program, with y fixed,
answers with an optimality cut or a feasibility cut. The loop is :func:`discreet.core.lp.benders.benders`, whose bounds
are values of multipliers, evaluated by us, and whose cuts hold for any multipliers.

*Initial cuts.* The printed master starts from nothing but :math:`y \ge 0`: it is unbounded at first, and then has
to learn by feasibility cuts that each row must sum to 1. Two rows for each row i of each user say most of that, and
follow from the program:

.. math::

    \sum_{k\,\text{forced}} e_{ik} y_k \le 1, \qquad \sum_k u_{ik} y_k \ge 1, \qquad
    u_{ik} = \begin{cases} e_{ik} & \text{forced,} \\
    \min_j e^{\epsilon D_{ij}} e_{jk} & \text{over the forced rows j of column k,} \end{cases}

with D the path lengths among the user's own rows (Theorem 3.2). The second is left out where a column has no forced row
that i can reach.

*Deviations.* The variables :math:`w_m` are bounded below by the cost of their user alone, for without a bound there is
no first master; scales are bounded by the rows they occur in, :math:`y_k \max e_{ik} \le 1`. The stopping gap is
relative; the printed one is .01 km.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import LimitReachedError
from discreet_reproduction.lrgeo.as_published.clr_geo import Central
from discreet_reproduction.lrgeo.as_published.geo_ind_graph import GeoIndGraph

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Executor

    from numpy.typing import NDArray

    from discreet.core.lp.benders import AddedRows, BendersStep
    from discreet.core.progress import Progress
    from discreet_reproduction.lrgeo.as_published.clr_geo import Form, Obfuscation
    from discreet_reproduction.lrgeo.as_published.coefficients import Coefficients


@final
@dataclass(frozen=True, eq=False)
class Decomposed:
    """What the decomposition found.

    Parameters
    ----------
    found
        The best scales and matrices.
    lower
        No feasible point of CLR-Geo costs less.
    history
        Bounds and numbers of cuts after each iteration.
    status
        Why it stopped.
    """

    found: Obfuscation
    lower: float
    history: tuple[BendersStep, ...]
    status: str


def clr_geo_benders(
    users: Sequence[Coefficients],
    form: Form,
    *,
    gamma: float,
    n_places: int,
    cuts: bool = True,
    gap: float = 1e-4,
    absolute_gap: float = 0.0,
    iterations: int = 500,
    time_limit: float | None = None,
    executor: Executor | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Decomposed:
    """Solve CLR-Geo by decomposition.

    Parameters
    ----------
    users, form, gamma, n_places
        As for :func:`~discreet_reproduction.lrgeo.as_published.clr_geo.clr_geo`.
    cuts
        Whether the master starts with :func:`initial_cuts`. The paper has none.
    gap, absolute_gap
        Stop when the bounds are this near; the paper's xi is ``absolute_gap=0.01``.
    iterations, time_limit, executor, on_progress
        See :class:`~discreet.core.lp.benders.BendersOptions`.

    Returns
    -------
    Decomposed
        The best point and the bounds.

    Raises
    ------
    InfeasibleError
        When no scales suit all users.
    LimitReachedError
        When no scales were found that suit all users.

    Examples
    --------
    >>> from discreet_reproduction.lrgeo.as_published.coefficients import prepare
    >>> from discreet_reproduction.lrgeo.as_published.exponential_form import ExponentialForm
    >>> from discreet_reproduction.lrgeo.as_published.geo_ind_graph import GeoIndGraph
    >>> from discreet_reproduction.lrgeo.as_published.instance import Instance
    >>> line = np.abs(np.subtract.outer(np.arange(5.0), np.arange(5.0)))
    >>> places, graph = Instance(line, line, unit="km"), GeoIndGraph(line, 1.0)
    >>> ask = dict(reach=2, r_obf=3, centered="location", every_column=True)
    >>> users = [prepare(places, graph, at, **ask).coefficients for at in (1, 3)]
    >>> form = ExponentialForm(1.0, r_exp=1.0, r_obf=3.0)
    >>> made = clr_geo_benders(users, form, gamma=1.0, n_places=5)
    >>> made.lower <= made.found.objective <= made.lower * 1.001, made.status
    (True, 'gap reached')
    """
    from discreet.core.lp.benders import BendersOptions, benders

    central = Central(users, form, gamma, n_places)
    program, owner = central.program()
    options = BendersOptions(
        gap=gap,
        absolute_gap=absolute_gap,
        iterations=iterations,
        time_limit=time_limit,
        executor=executor,
    )
    implied = initial_cuts(central) if cuts else None
    found = benders(program, owner, options=options, implied=implied, on_progress=on_progress)
    if found.x is None:
        raise LimitReachedError(f"{found.status} before scales were found that suit all users")
    result = central.read(found.x, found.upper)
    return Decomposed(result, found.lower, found.history, found.status)


def initial_cuts(central: Central) -> AddedRows:
    """Write the two rows of the module's docstring down for each row of each user.

    Parameters
    ----------
    central
        The program of the batch.
    """
    from discreet.core.lp.benders import AddedRows

    rows: list[NDArray[np.float64]] = []
    lower: list[float] = []
    for user, block in zip(central.users, central.blocks, strict=True):
        scaled = block.weight * central.unit
        forced = ~block.free
        paths = GeoIndGraph(user.between, central.gamma).paths(np.arange(user.n_rows))
        # Far rows bound nothing that floats would notice, and their factors overflow.
        nats = central.form.epsilon * paths
        growth = np.where(nats <= _MOST_NATS, np.exp(np.minimum(nats, _MOST_NATS)), np.inf)
        for i in range(user.n_rows):
            rows.append(np.where(forced[i], scaled[i], 0.0))
            lower.append(-np.inf)
            with np.errstate(invalid="ignore"):
                reached = np.where(forced, growth[i][:, None] * scaled, np.inf).min(axis=0)
            most = np.where(forced[i], scaled[i], reached)
            if np.isfinite(most).all():
                rows.append(most)
                lower.append(1.0)
    table = np.array(rows)
    # An entry left out of a row that is bounded above leaves it valid; one of a row bounded below is raised.
    below = np.array(lower) == 1.0
    small = table <= _LEAST
    table[small & ~below[:, None]] = 0.0
    table[small & below[:, None]] = _LEAST
    upper = np.where(below, np.inf, 1.0)
    return AddedRows(table, np.array(lower), upper, [("row sum", i) for i in range(len(table))])


_MOST_NATS = 34.0
_LEAST = 1e-8
"""Longest path that is used, and the least coefficient that is kept."""
