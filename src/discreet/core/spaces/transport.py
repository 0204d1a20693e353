"""Assignments with capacities: how many units sources can send to targets along given pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.core.errors import InvalidProblemError, SolverError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def transport(
    supply: ArrayLike, demand: ArrayLike, source: ArrayLike, target: ArrayLike
) -> NDArray[np.int64]:
    """Return a maximum integer flow from sources to targets along the given pairs.

    SolverError if the flow is beyond its capacities.

    Parameters
    ----------
    supply
        ``(n_sources,)`` units at each source, not negative.
    demand
        ``(n_targets,)`` units that each target takes at most, not negative.
    source, target
        ``(n_pairs,)`` the pairs along which units may go, each once.

    Returns
    -------
    ndarray
        ``(n_pairs,)`` units along each pair. The flow is checked against supply and demand; the solver
        alone says that it is a maximum.

    Raises
    ------
    InvalidProblemError
        For pairs of sources and targets that are not there, and amounts that are negative or ``2^31`` or more.

    Complexity
    ----------
    A maximum flow by Dinic's method.

    Examples
    --------
    >>> transport([2, 1], [1, 2], [0, 0, 1], [0, 1, 0]).tolist()
    [0, 2, 1]
    """
    give, take = np.asarray(supply, np.int64), np.asarray(demand, np.int64)
    start, end = np.asarray(source, np.int64), np.asarray(target, np.int64)
    amounts = np.concatenate([give, take])
    if (amounts < 0).any() or (amounts >= 1 << 31).any():
        raise InvalidProblemError("supply, demand", "amounts from 0 to below 2^31", "others")
    inside = (start >= 0) & (start < len(give)) & (end >= 0) & (end < len(take))
    if start.shape != end.shape or not inside.all():
        raise InvalidProblemError("source, target", "pairs of what is there", "others")
    if not len(start):
        return np.zeros(0, np.int64)
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import maximum_flow

    n = len(give)
    first, last = n + len(take), n + len(take) + 1
    rows = np.concatenate([np.full(n, first), start, n + np.arange(len(take))])
    columns = np.concatenate([np.arange(n), n + end, np.full(len(take), last)])
    amounts = np.concatenate([give, np.minimum(give[start], take[end]), take]).astype(np.int32)
    graph = coo_array((amounts, (rows, columns)), shape=(last + 1, last + 1)).tocsr()
    flow = maximum_flow(graph, first, last, method="dinic").flow
    sent: NDArray[np.int64] = np.asarray(flow[start, n + end]).ravel().astype(np.int64)
    out = np.zeros(n, np.int64)
    into = np.zeros(len(take), np.int64)
    np.add.at(out, start, sent)
    np.add.at(into, end, sent)
    if (sent < 0).any() or (out > give).any() or (into > take).any():  # pragma: no cover
        raise SolverError("scipy", "flow beyond its capacities", "report it")
    return sent
