r"""The program of one user alone, without the exponential form: Equations (13) to (17) of [QLPSX24]_.

.. math::

    \min \sum_{v_i \in \mathcal{N}_m} c_i z_i^\top, \qquad
    z_{ik} \le e^{\epsilon d_{ij}} z_{jk} \;\; (d_{ij} \le \gamma), \qquad
    \sum_k z_{ik} = 1, \qquad z_{ik} = \xi \;\; (v_k \notin \mathcal{O}) .

Without (18) nothing connects it with the programs of other users; with :math:`\xi = 0` a report outside one user's
range and inside another's has an infinite ratio. It is here because it is the first design of the paper, and because
the lower bound of Theorem 4.8 is its optimum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet_reproduction.lrgeo.as_published.coefficients import prepare
from discreet_reproduction.lrgeo.as_published.composite import UserRows
from discreet_reproduction.lrgeo.as_published.geo_ind_graph import within

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet_reproduction.lrgeo.as_published.coefficients import Coefficients
    from discreet_reproduction.lrgeo.as_published.geo_ind_graph import GeoIndGraph
    from discreet_reproduction.lrgeo.as_published.instance import Instance

_LARGEST = 34.0
"""Nats beyond which a ratio row is left to the chain of shorter ones."""


def lr_omg(
    user: Coefficients,
    epsilon: float,
    *,
    gamma: float,
    floor: float = 0.0,
    n_places: int | None = None,
    time_limit: float | None = None,
) -> tuple[float, NDArray[np.float64]]:
    r"""Solve LR-OMG for one user.

    Parameters
    ----------
    user
        Its coefficients. Entries that are not inside the range have the value of the floor.
    epsilon
        Nats per unit of distance.
    gamma
        Rows at most this far apart keep their ratio.
    floor
        :math:`\xi`, for entries outside the range.
    n_places
        K, where places that are not listed as columns have the floor too. ``None`` where all that is reported is
        listed.
    time_limit
        Seconds.

    Returns
    -------
    float
        The optimum.
    ndarray
        ``(n, c)`` entries of the listed columns.

    Raises
    ------
    InvalidProblemError
        When the floor alone takes a whole row.
    InfeasibleError, LimitReachedError, SolverError
        As the solver.

    Examples
    --------
    >>> from discreet_reproduction.lrgeo.as_published.coefficients import prepare_global
    >>> from discreet_reproduction.lrgeo.as_published.instance import Instance
    >>> pair = [[0.0, 1.0], [1.0, 0.0]]
    >>> whole = prepare_global(Instance(pair, pair, unit="km")).coefficients
    >>> value, matrix = lr_omg(whole, 1.0, gamma=1.0)
    >>> round(value, 6), round(1 / (1 + np.e), 6)
    (0.268941, 0.268941)
    """
    from scipy.sparse import csr_array

    from discreet.core.lp import LinearProgram, solve

    n, c = user.away.shape
    outside = 0 if n_places is None else n_places - c
    free = user.inside
    left = 1.0 - floor * ((~free).sum(axis=1) + outside)
    if not floor >= 0 or not (left > 0).all():
        raise InvalidProblemError("floor", "less than a row in all, at least 0", floor)
    at = np.full(free.shape, -1)
    at[free] = np.arange(int(free.sum()))
    near = within(user.between, gamma)
    np.fill_diagonal(near, val=False)
    a, b = np.nonzero(near)
    nats = epsilon * user.between[a, b]
    short = nats <= _LARGEST
    a, b, nats = a[short], b[short], nats[short]
    upper = np.ones(int(free.sum()))
    lower = np.zeros(len(upper))
    growth = np.exp(nats)
    for x, y, up in ((a, b, True), (b, a, False)):
        pair, k = np.nonzero(free[x] & ~free[y])
        which = at[x[pair], k]
        if up:
            np.minimum.at(upper, which, growth[pair] * floor)
        else:
            np.maximum.at(lower, which, floor / growth[pair])
    pair, k = np.nonzero(free[a] & free[b])
    half = np.exp(nats[pair] / 2)
    m = len(pair)
    row = np.concatenate([np.arange(m), np.arange(m), m + np.nonzero(free)[0]])
    column = np.concatenate([at[a[pair], k], at[b[pair], k], np.arange(len(upper))])
    data = np.concatenate([1 / half, -half, np.ones(len(upper))])
    program = LinearProgram(
        user.cost[free],
        csr_array((data, (row, column)), shape=(m + n, len(upper))),
        row_lower=np.concatenate([np.full(m, -np.inf), left]),
        row_upper=np.concatenate([np.zeros(m), left]),
        lower=lower,
        upper=upper,
    )
    found = solve(program, time_limit=time_limit, tolerance=1e-9)
    matrix = np.full(free.shape, floor)
    matrix[free] = np.maximum(found.x, 0.0)
    return found.objective + floor * float(user.cost[~free].sum()), matrix


@final
@dataclass(frozen=True)
class LROMG:
    r"""LR-OMG, each user by itself: Equations (14) to (17), without the exponential form.

    Parameters
    ----------
    reach
        :math:`\Gamma`.
    r_obf
        Radius of the obfuscation range; infinite for all reports.
    floor
        :math:`\xi`, the probability of each report outside.
    """

    reach: float
    r_obf: float = np.inf
    floor: float = 0.0

    @property
    def reason(self) -> str:
        """Why nothing is guaranteed."""
        return "programs of users are solved apart, as Section 4.3 says: nearly all neighbors are told apart (A1)"

    def rows(
        self,
        instance: Instance,
        graph: GeoIndGraph,
        epsilon: float,
        users: Sequence[int],
        time_limit: float | None,
    ) -> UserRows:
        """Solve one program for each user."""
        table = np.full((len(users), instance.size), self.floor)
        objective = 0.0
        for row, user in enumerate(users):
            one = prepare(instance, graph, user, reach=self.reach, r_obf=self.r_obf)
            value, matrix = lr_omg(
                one.coefficients,
                epsilon,
                gamma=graph.gamma,
                floor=self.floor,
                n_places=instance.size,
                time_limit=time_limit,
            )
            table[row, one.coefficients.columns] = matrix[one.own]
            objective += value
        return UserRows(table, objective)
