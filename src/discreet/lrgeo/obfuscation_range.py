r"""Which reports a place may have with a probability of their own: Equation (12) of [QLPSX24]_, in its two readings.

.. math:: \mathcal{O}_m = \{\, v_k \in V : d_{v_i, v_k} \le r_\text{obf} \,\} \qquad (12)

The left side names the user m, the right side a place i. *User-centered*, i is the user's place, and all rows of the
user's matrix have one set of columns: that is what the uploaded matrices are. *Location-centered*, each row has its
own disc: that is what the proof of Theorem 4.5 uses. The theorem is true of the second and false of the first (A2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.lrgeo.geo_ind_graph import within

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Centered", "obfuscation_range"]

Centered = Literal["user", "location"]
"""Whose disc limits the reports of a row."""


def obfuscation_range(
    distances: NDArray[np.float64],
    rows: NDArray[np.int64],
    user: int,
    radius: float,
    *,
    centered: Centered,
) -> NDArray[np.bool_]:
    r"""Say which reports are within the obfuscation range of which row.

    Parameters
    ----------
    distances
        ``(K, K)``.
    rows
        The user's locally relevant places.
    user
        The user's place.
    radius
        :math:`r_\text{obf}`.
    centered
        ``"user"``, as uploaded, or ``"location"``, as proved.

    Returns
    -------
    ndarray
        ``(rows, K)``.

    Raises
    ------
    InvalidProblemError
        For another word, or a negative radius.

    Examples
    --------
    >>> line = np.abs(np.subtract.outer(np.arange(5.0), np.arange(5.0)))
    >>> rows = np.array([1, 2])
    >>> obfuscation_range(line, rows, 2, 1.0, centered="user").astype(int).tolist()
    [[0, 1, 1, 1, 0], [0, 1, 1, 1, 0]]
    >>> obfuscation_range(line, rows, 2, 1.0, centered="location").astype(int).tolist()
    [[1, 1, 1, 0, 0], [0, 1, 1, 1, 0]]
    """
    if centered not in {"user", "location"}:
        raise InvalidProblemError("centered", "'user' or 'location'", repr(centered))
    if not radius >= 0:
        raise InvalidProblemError("radius", "a distance of at least 0", radius)
    if centered == "user":
        return np.broadcast_to(within(distances[user], radius), (len(rows), len(distances)))
    return within(distances[rows], radius)
