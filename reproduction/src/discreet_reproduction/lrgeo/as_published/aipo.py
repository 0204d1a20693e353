r"""AIPO: anchors on a grid, and log-convex interpolation between them, [Qiu26]_.

A program is solved for *anchors* alone, the corners of the cells of a grid. A point x has the law of its cell's four
corners, interpolated geometrically with bilinear weights :math:`w_v(x)`, and then normalized:

.. math:: z_k(x) \propto \prod_v z_k(v)^{w_v(x)} .

The budget is shared out between the two axes, :math:`\epsilon_1^2 + \epsilon_2^2 = \epsilon^2`, and each share is
halved: neighbors along the first axis at distance h keep :math:`z_k(v) \le e^{\epsilon_1 h / 2} z_k(v')`.

*Theorem.* :math:`z_k(x) \le e^{\epsilon |x - y|} z_k(y)` for any two points of the rectangle. *Proof.* Within a cell
the logarithm of the product is linear along each axis, with a slope that is a convex combination of those of two
opposite sides, hence at most :math:`\epsilon_1 / 2` and :math:`\epsilon_2 / 2`. So it changes between x and y by at
most :math:`(\epsilon_1 |x_1 - y_1| + \epsilon_2 |x_2 - y_2|) / 2 \le \epsilon |x - y| / 2` by Cauchy and Schwarz, for
each k; the logarithm of the normalizer therefore as much, and the two add up. ∎

So the idea is sound in real numbers, and half of epsilon is what normalizing may cost. It has no valid guarantee as it
is computed: the program's answer is believed as a solver returns it, whose tolerance of :math:`10^{-7}` is a tenth of
the floor of :math:`10^{-6}` that entries have; powers and normalizers are floats, from which no sampler draws exactly;
and nothing is repaired or verified.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SHARES = 5
"""Shares of the budget that are tried: 1/5 to 4/5 of it along the first axis, as the authors' code has it."""

_FLOOR = 1e-6
"""The least entry of an anchor's row."""


@final
@dataclass(frozen=True, eq=False)
class AnchorInterpolation:
    """Laws at the corners of a grid's cells, and with them at each point of its rectangle.

    Parameters
    ----------
    east, north
        Coordinates of the lines of the grid, ``(m,)`` and ``(n,)``, ascending.
    laws
        ``(m * n, K)``: what each anchor reports, anchor ``(i, j)`` in row ``i * n + j``.
    shares
        The epsilons along the two axes, before they are halved.
    utility_loss
        Expected loss over the points that the program was given, interpolation included.
    seconds
        Processor seconds of all programs.
    """

    east: NDArray[np.float64]
    north: NDArray[np.float64]
    laws: NDArray[np.float64]
    shares: tuple[float, float]
    utility_loss: float
    seconds: float

    @property
    def reason(self) -> str:
        """Why nothing is guaranteed."""
        return (
            "its laws are floats: a program's answer up to a tolerance, then powers and normalizers, neither repaired "
            "nor verified, and drawn from inexactly"
        )

    def law(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Interpolate.

        Parameters
        ----------
        points
            ``(P, 2)`` in the rectangle.

        Returns
        -------
        ndarray
            ``(P, K)``, rows that sum to 1.
        """
        return _interpolated(self.laws, corner_weights(self.east, self.north, points))


def corner_weights(
    east: NDArray[np.float64], north: NDArray[np.float64], points: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Give the bilinear weights of the corners of each point's cell.

    Parameters
    ----------
    east, north
        Lines of the grid.
    points
        ``(P, 2)`` in the rectangle.

    Returns
    -------
    ndarray
        ``(P, m * n)``: four weights in each row, which sum to 1.

    Raises
    ------
    InvalidProblemError
        For a point outside the rectangle.

    Examples
    --------
    >>> line = np.array([0.0, 1.0])
    >>> corner_weights(line, line, np.array([[0.25, 0.5]])).tolist()
    [[0.375, 0.375, 0.125, 0.125]]
    """
    sides = []
    for lines, values in ((east, points[:, 0]), (north, points[:, 1])):
        if not ((values >= lines[0]) & (values <= lines[-1])).all():
            raise InvalidProblemError("points", "points in the rectangle of the grid", "others")
        cell = np.clip(np.searchsorted(lines, values, side="right") - 1, 0, len(lines) - 2)
        part = (values - lines[cell]) / (lines[cell + 1] - lines[cell])
        weights = np.zeros((len(values), len(lines)))
        at = np.arange(len(values))
        weights[at, cell] = 1 - part
        weights[at, cell + 1] = part
        sides.append(weights)
    both = sides[0][:, :, None] * sides[1][:, None, :]
    return both.reshape(len(points), -1)


def aipo(
    points: NDArray[np.float64],
    prior: NDArray[np.float64],
    loss: NDArray[np.float64],
    epsilon: float,
    *,
    cells: tuple[int, int],
    relaxed: bool = False,
    time_limit: float | None = None,
) -> AnchorInterpolation:
    r"""Solve the programs of the anchors, one for each share of the budget, and keep the one that loses least.

    Parameters
    ----------
    points
        ``(P, 2)``: where users may be. The grid covers their bounding box.
    prior
        ``(P,)`` probabilities.
    loss
        ``(P, K)``: what each report loses at each point.
    epsilon
        Nats per unit of distance.
    cells
        Numbers of cells east and north.
    relaxed
        The authors' AIPO-R: the whole epsilon along each axis, neither shared out nor halved. Private at neighboring
        anchors alone.
    time_limit
        Seconds for each program.

    Returns
    -------
    AnchorInterpolation
        Laws of points. The programs' objective is a surrogate, the loss as if the interpolation were linear:
        :math:`\sum_v \sum_k (\sum_x p_x w_v(x) \ell_k(x)) z_k(v)`.

    Raises
    ------
    InvalidProblemError
        For arrays that do not fit each other, or an epsilon or numbers of cells that are not positive.
    LimitReachedError
        At the time limit.

    Complexity
    ----------
    Four programs of ``(m + 1)(n + 1) K`` variables, and four rows for each.

    Examples
    --------
    >>> users = np.array([(x, y) for x in (0.0, 0.5, 1.0) for y in (0.0, 0.5, 1.0)])
    >>> away = np.hypot(*(users[:, None] - users).transpose(2, 0, 1))
    >>> made = aipo(users, np.full(9, 1 / 9), away, 1.0, cells=(1, 1))
    >>> worst = np.log(made.law(users)[:, None] / made.law(users)).max(axis=2)
    >>> bool((worst <= 1.0 * away + 1e-6).all())
    True
    """
    if loss.shape[:1] != prior.shape or points.shape != (len(prior), 2) or not len(prior):
        raise InvalidProblemError("points", "as many as prior and loss have rows", points.shape)
    if not 0 < epsilon < math.inf or min(cells) < 1:
        raise InvalidProblemError("epsilon", "a positive number, and one cell or more", epsilon)
    low, high = points.min(axis=0), points.max(axis=0)
    east, north = (np.linspace(low[a], high[a], cells[a] + 1) for a in (0, 1))
    weights = corner_weights(east, north, points)
    priced = weights.T @ (prior[:, None] * loss)
    steps = (float(east[1] - east[0]), float(north[1] - north[0]))
    if relaxed:
        shares = [(epsilon, epsilon)]
    else:
        parts = [at / _SHARES for at in range(1, _SHARES)]
        shares = [(epsilon * part, epsilon * math.sqrt(1 - part * part)) for part in parts]
    begun, tried = time.process_time(), []
    for share in shares:
        first, second = share if relaxed else (share[0] / 2, share[1] / 2)
        laws = _anchors(priced, cells, (first * steps[0], second * steps[1]), time_limit)
        lost = float((prior[:, None] * loss * _interpolated(laws, weights)).sum())
        tried.append((lost, laws, share))
    lost, laws, share = min(tried, key=lambda one: one[0])
    return AnchorInterpolation(east, north, laws, share, lost, time.process_time() - begun)


def _anchors(
    priced: NDArray[np.float64],
    cells: tuple[int, int],
    nats: tuple[float, float],
    time_limit: float | None,
) -> NDArray[np.float64]:
    """Solve the program of the anchors: neighbors along each axis keep a ratio of ``e^nats``."""
    from scipy.sparse import coo_array, csr_array, identity, kron, vstack

    from discreet.core.lp.program import LinearProgram
    from discreet.core.lp.solve import solve

    count, reports = priced.shape
    number = np.arange(count).reshape(cells[0] + 1, cells[1] + 1)
    ratios = []
    for near, far, allowed in (
        (number[:-1].ravel(), number[1:].ravel(), nats[0]),
        (number[:, :-1].ravel(), number[:, 1:].ravel(), nats[1]),
    ):
        one, other = np.concatenate([near, far]), np.concatenate([far, near])
        row = np.arange(len(one))
        # Beyond the least entry a ratio can't bind, and large coefficients spoil the program.
        most = min(math.exp(min(allowed, 50.0)), 1 / _FLOOR)
        values = np.concatenate([np.ones(len(one)), np.full(len(one), -most)])
        where = (np.concatenate([row, row]), np.concatenate([one, other]))
        pairs = coo_array((values, where), shape=(len(one), count))
        ratios.append(kron(pairs, identity(reports)))
    sums = kron(identity(count), np.ones((1, reports)))
    matrix = csr_array(vstack([*ratios, sums]))
    bound = matrix.shape[0] - count
    program = LinearProgram(
        priced.ravel(),
        matrix,
        row_lower=np.concatenate([np.full(bound, -np.inf), np.ones(count)]),
        row_upper=np.concatenate([np.zeros(bound), np.ones(count)]),
        lower=_FLOOR,
        upper=1.0,
    )
    laws: NDArray[np.float64] = solve(program, time_limit=time_limit).x.reshape(count, reports)
    return laws


def _interpolated(laws: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    powers: NDArray[np.float64] = np.exp(weights @ np.log(np.maximum(laws, _FLOOR / 2)))
    found: NDArray[np.float64] = powers / powers.sum(axis=1, keepdims=True)
    return found
