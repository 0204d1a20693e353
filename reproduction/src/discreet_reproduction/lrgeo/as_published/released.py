r"""The variant that the authors' code runs: why its times are flat, and its violations few.

Their public code differs from the paper in what decides its figures (D2 of the errata); facts were read off it, no code
was. Modeled here:

* the rows are *twenty random members* of the ball around the user, and the user's own place may not be among them. The
  program has the same size whatever K is, and times are flat;
* every free entry is between .01 and .99. The ratio of two of them is at most :math:`99 = e^{4.6}`, so that at
  :math:`\epsilon = 10` per km no pair more than .46 km apart can violate anything;
* every scale is between 1e-5 and .01; the form is forced in the ring from r_exp to r_obf only, with
  :math:`e^{-d_{ik} / 2}` for d in kilometers, which has no epsilon in it; and what lies outside the range is 0, which
  makes ratios across users infinite.

Not modeled: the exponents of its subproblems, which differ from those of its master, distances between the wrong
places, and a counter of violations that compares rows padded with zeros.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.randomness.bits import SeededBits
from discreet_reproduction.lrgeo.as_published.clr_geo import Central
from discreet_reproduction.lrgeo.as_published.coefficients import Coefficients
from discreet_reproduction.lrgeo.as_published.composite import UserRows
from discreet_reproduction.lrgeo.as_published.exponential_form import ExponentialForm
from discreet_reproduction.lrgeo.as_published.geo_ind_graph import lr_set, within

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet_reproduction.lrgeo.as_published.geo_ind_graph import GeoIndGraph
    from discreet_reproduction.lrgeo.as_published.instance import Instance

_ENTRY = (0.01, 0.99)
_SCALE = (1e-5, 0.01)


@final
@dataclass(frozen=True)
class AsReleased:
    r"""Twenty random rows, clamped entries and scales, nothing outside the range.

    Parameters
    ----------
    reach
        :math:`\Gamma`.
    r_exp, r_obf
        As for :class:`~discreet_reproduction.lrgeo.as_published.lr_geo.LRGeo`.
    rows_kept
        How many rows; 20 in the released code.
    seed
        Of the choice of rows.

    Notes
    -----
    A user whose place was not chosen gets the row of the chosen place that is nearest, since the released code samples
    from none.

    Examples
    --------
    >>> AsReleased(reach=20.0, r_exp=4.0, r_obf=4.5).rows_kept
    20
    """

    reach: float
    r_exp: float
    r_obf: float
    rows_kept: int = 20
    seed: int = 0

    @property
    def reason(self) -> str:
        """Why nothing is guaranteed."""
        return (
            "rows are a random part of the relevant places, which may lack the user's own; entries and scales are "
            "clamped, and reports outside a range have probability 0, an infinite ratio to those inside (D2)"
        )

    def rows(
        self,
        instance: Instance,
        graph: GeoIndGraph,
        epsilon: float,
        users: Sequence[int],
        time_limit: float | None,
    ) -> UserRows:
        """Solve one batch of all users."""
        from discreet.core.lp import LinearProgram, solve

        form = ExponentialForm(epsilon, self.r_exp, self.r_obf)
        bits = SeededBits(self.seed)
        chosen = [self._choose(lr_set(graph, user, self.reach), bits) for user in users]
        sent = [
            self._coefficients(instance, rows, user)
            for rows, user in zip(chosen, users, strict=True)
        ]
        central = Central(sent, _Ring(form), graph.gamma, instance.size)
        program, owner = central.program()
        low = np.where(owner < 0, _SCALE[0], _ENTRY[0])
        high = np.where(owner < 0, _SCALE[1], _ENTRY[1])
        scales = np.flatnonzero(owner < 0)
        for side in (low, high):
            side[scales] = central.scaled(side[scales])
        clamped = LinearProgram(
            program.cost,
            program.matrix,
            row_lower=program.row_lower,
            row_upper=program.row_upper,
            lower=low,
            upper=high,
        )
        found = solve(clamped, time_limit=time_limit)
        made = central.read(found.x, found.objective)
        own = []
        for rows, user, matrix in zip(chosen, users, made.matrices, strict=True):
            nearest = int(instance.distances[user, rows].argmin())
            own.append(matrix[nearest])
        return UserRows(np.array(own), made.objective, (made.scales,))

    def _choose(self, ball: NDArray[np.int64], bits: SeededBits) -> NDArray[np.int64]:
        """Draw without replacement, by exchanges from the front."""
        pool = ball.copy()
        count = min(self.rows_kept, len(pool))
        if count < 1:
            raise InvalidProblemError("rows_kept", "at least one row", self.rows_kept)
        for at in range(count):
            other = at + bits.randrange(len(pool) - at)
            pool[at], pool[other] = pool[other], pool[at]
        return np.sort(pool[:count])

    def _coefficients(self, instance: Instance, rows: NDArray[np.int64], user: int) -> Coefficients:
        columns = np.flatnonzero(within(instance.distances[user], self.r_obf))
        return Coefficients(
            instance.distances[np.ix_(rows, rows)],
            instance.distances[np.ix_(rows, columns)],
            instance.beta[np.ix_(rows, columns)] / len(rows),
            columns,
        )


@final
class _Ring:
    """Equation (18) in the ring alone, and nothing outside the range."""

    floor = 0.0

    def __init__(self, form: ExponentialForm) -> None:
        self.form, self.epsilon = form, form.epsilon

    def forced(self, away: NDArray[np.float64], inside: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """From r_exp to r_obf."""
        return self.form.forced(away, inside) & within(away, self.form.r_obf)

    def weights(self, away: NDArray[np.float64], inside: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Without epsilon."""
        return np.where(inside, np.exp(-away / 2), 0.0)
