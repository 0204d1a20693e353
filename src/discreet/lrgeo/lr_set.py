r"""The locally relevant places of a user: Definition 4.1 of [QLPSX24]_.

.. math:: \mathcal{N}_m = \{\, v_j \in V : D_{mj} \le \Gamma \,\} \qquad (11)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.lrgeo.geo_ind_graph import within

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.lrgeo.geo_ind_graph import GeoIndGraph

__all__ = ["lr_set"]


def lr_set(graph: GeoIndGraph, user: int, reach: float) -> NDArray[np.int64]:
    r"""Give the locally relevant places of a user, Equation (11).

    Parameters
    ----------
    graph
        The Geo-Ind graph.
    user
        The user's place.
    reach
        :math:`\Gamma`, a length of paths.

    Returns
    -------
    ndarray
        Numbers of places, ascending; the user's is among them.

    Raises
    ------
    InvalidProblemError
        For a negative reach.

    Examples
    --------
    >>> from discreet.lrgeo.geo_ind_graph import GeoIndGraph
    >>> line = np.abs(np.subtract.outer(np.arange(6.0), np.arange(6.0)))
    >>> lr_set(GeoIndGraph(line, 1.0), 1, 2.0).tolist()
    [0, 1, 2, 3]
    """
    if not reach >= 0:
        raise InvalidProblemError("reach", "a length of at least 0", reach)
    return np.flatnonzero(within(graph.paths([user], limit=reach)[0], reach))
