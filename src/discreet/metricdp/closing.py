r"""Closing columns over all pairs of secrets at once.

Where all pairs are constrained, the least column above z that keeps :math:`z_i \ge e^{-w_{ij}} z_j` is
:math:`\max_j e^{-w_{ij}} z_j`, if w keeps the triangle inequality: one product of matrices, with maxima for sums. Where
edges give up something besides their part of epsilon, w is closed first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["closed_factors"]

_BLOCK, _WIDTH = 64, 512
"""Pivots, and columns, that the closure works on at once."""


def closed_factors(nats: NDArray[np.float64], part: float, extra: float) -> NDArray[np.float64]:
    """Give :math:`e^{-w}`, w the closure of what is left of lengths, each of which gives up something.

    Parameters
    ----------
    nats
        ``(n, n)`` symmetric lengths.
    part, extra
        A part of each length is given up, and so many nats besides; 1 leaves nothing.

    Returns
    -------
    ndarray
        ``(n, n)``, 1 on the diagonal.

    Complexity
    ----------
    ``n^3`` additions.

    Examples
    --------
    >>> import numpy as np
    >>> line = np.abs(np.subtract.outer(np.arange(3.0), np.arange(3.0)))
    >>> -np.log(closed_factors(line, 0.0, 0.25))[0]
    array([-0.  ,  0.75,  1.5 ])
    """
    from discreet.core._kernels import close

    kept = np.maximum((1 - part) * nats - extra, 0.0) if part < 1 else 0 * nats
    np.fill_diagonal(kept, 0.0)
    close(kept, _BLOCK, _WIDTH)
    factors: NDArray[np.float64] = np.exp(-kept)
    return factors
