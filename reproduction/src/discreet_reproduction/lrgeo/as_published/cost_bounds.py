r"""Bounds of what LR-Geo costs: Theorems 4.7 and 4.8 of [QLPSX24]_, with their mends.

*Upper.* CLR-Geo solved with the upper estimate :math:`\hat c` is feasible for the true cost and priced too high. It
is a bound where Lemma B.1 is true, which needs travel offsets.

*Lower.* Drop (18) and solve with :math:`\tilde c`. Two readings (A6): for the program with the same rows and range, and
the same unknown :math:`\xi` outside, it is a relaxation and a bound; for a channel that may report anywhere a range is
a restriction, and it is none. :func:`lower_bound` keeps all columns by default, and takes no estimate to be negative.

What both speak of is the mean over all rows of the users' matrices, of which one row in each is ever used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet_reproduction.lrgeo.as_published.clr_geo import clr_geo
from discreet_reproduction.lrgeo.as_published.coefficients import prepare
from discreet_reproduction.lrgeo.as_published.lr_omg import lr_omg

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet_reproduction.lrgeo.as_published.coefficients import Centered
    from discreet_reproduction.lrgeo.as_published.exponential_form import ExponentialForm
    from discreet_reproduction.lrgeo.as_published.geo_ind_graph import GeoIndGraph
    from discreet_reproduction.lrgeo.as_published.instance import Instance


def upper_bound(
    instance: Instance,
    graph: GeoIndGraph,
    users: Sequence[int],
    form: ExponentialForm,
    *,
    reach: float,
    estimate: NDArray[np.float64],
    centered: Centered = "location",
) -> float:
    r"""Solve CLR-Geo with an upper estimate: Theorem 4.7.

    Parameters
    ----------
    instance, graph
        The public arrays, and the Geo-Ind graph.
    users
        Places of the users of a batch.
    form
        Equation (18).
    reach
        :math:`\Gamma`.
    estimate
        ``(K, K)``: the estimate of beta, such as ``CostTable.estimate("upper")``.
    centered
        See :mod:`discreet_reproduction.lrgeo.as_published.coefficients`.

    Returns
    -------
    float
        Sum over users of the mean cost of their rows; no less than the optimum with the true cost where the estimate
        is no less than that.
    """
    prepared = [
        prepare(
            instance,
            graph,
            user,
            reach=reach,
            r_obf=form.r_obf,
            centered=centered,
            every_column=True,
            cost=estimate,
        ).coefficients
        for user in users
    ]
    found = clr_geo(prepared, form, gamma=graph.gamma, n_places=instance.size)
    return found.objective


def lower_bound(
    instance: Instance,
    graph: GeoIndGraph,
    users: Sequence[int],
    epsilon: float,
    *,
    reach: float,
    estimate: NDArray[np.float64] | None = None,
    columns: float | None = None,
) -> float:
    r"""Solve the relaxed program (29) and (30): Theorem 4.8.

    Parameters
    ----------
    instance, graph, users, reach
        As for :func:`upper_bound`.
    epsilon
        Nats per unit of distance.
    estimate
        ``(K, K)``: a lower estimate of beta. ``None`` for beta itself.
    columns
        ``None`` for all columns: a lower bound for every channel whose rows keep these constraints. A radius for those
        within it of the user, with 0 outside where (17) has :math:`\xi`: no bound for what may report elsewhere.

    Returns
    -------
    float
        Sum over users of the mean cost of their rows.
    """
    reached = float(instance.distances.max()) if columns is None else columns
    priced = instance.beta if estimate is None else np.maximum(estimate, 0.0)
    total = 0.0
    for user in users:
        one = prepare(instance, graph, user, reach=reach, r_obf=reached, cost=priced)
        total += lr_omg(one.coefficients, epsilon, gamma=graph.gamma)[0]
    return total
