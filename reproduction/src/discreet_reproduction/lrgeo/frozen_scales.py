r"""LR-Geo with frozen scales: the server publishes y, and a user solves its own rows at home.

The scales come from one program over all places, which depends on no user; it is CLR-Geo with a single "user" whose
rows are all places, that is ConstOPT. With y fixed, the program of a user at :math:`v_m` has as its variables the free
entries of its own rows, and always has a solution: the rows of the global one. Nothing is uploaded, nobody else is
waited for, and no batch leaks into another.

**The composite is not private.** The rows that are sampled from still come from different programs, which do not know
of each other. Entries with the exponential form keep their ratios, free ones need not: measured on roads of central
Rome, 328 places, epsilon 5 per km, .003 percent of entries between neighbors and .9 percent of pairs violate; the worst
pair needs 4.6 times epsilon, and some no finite one (A1). So it is reproduced, never designed with;
:mod:`discreet_reproduction.lrgeo.audited` makes a channel of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, final

import numpy as np

from discreet.core.errors import InfeasibleError, LimitReachedError
from discreet_reproduction.lrgeo.as_published.clr_geo import Central, clr_geo
from discreet_reproduction.lrgeo.as_published.coefficients import prepare, prepare_global
from discreet_reproduction.lrgeo.as_published.composite import ACROSS, UserRows
from discreet_reproduction.lrgeo.as_published.exponential_form import ExponentialForm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet_reproduction.lrgeo.as_published.coefficients import Coefficients
    from discreet_reproduction.lrgeo.as_published.geo_ind_graph import GeoIndGraph
    from discreet_reproduction.lrgeo.as_published.instance import Instance

_MANY = 200
"""Places from which the interior-point method is quicker."""


@final
@dataclass(frozen=True, eq=False)
class Scales:
    """What the server publishes.

    Parameters
    ----------
    scales
        ``(K,)``: y.
    matrix
        ``(K, K)``: the global channel that the scales come from.
    form
        Equation (18), with its parameters.
    gamma
        Places at most this far apart are constrained.
    objective
        Expected cost of the global channel.
    """

    scales: NDArray[np.float64]
    matrix: NDArray[np.float64]
    form: ExponentialForm
    gamma: float
    objective: float


def frozen_scales(
    instance: Instance, form: ExponentialForm, *, gamma: float, time_limit: float | None = None
) -> Scales:
    """Solve the program over all places for the scales.

    Parameters
    ----------
    instance
        The public arrays.
    form
        Equation (18).
    gamma
        Places at most this far apart are constrained.
    time_limit
        Seconds.

    Returns
    -------
    Scales
        With the channel that they come from. That is ConstOPT, up to a solver's tolerance.

    Raises
    ------
    InfeasibleError
        When no channel of the form exists.
    LimitReachedError, SolverError
        As the solver.

    Examples
    --------
    >>> from discreet_reproduction.lrgeo.as_published.exponential_form import ExponentialForm
    >>> from discreet_reproduction.lrgeo.as_published.instance import Instance
    >>> line = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
    >>> frozen_scales(Instance(line, line, unit="km"), ExponentialForm(1.0, 1.0), gamma=1.0).scales.shape
    (4,)
    """
    whole = prepare_global(instance, r_obf=form.r_obf).coefficients
    method: Literal["ipm", "auto"] = "ipm" if instance.size >= _MANY else "auto"
    found = clr_geo(
        [whole], form, gamma=gamma, n_places=instance.size, method=method, time_limit=time_limit
    )
    return Scales(found.scales, found.matrices[0], form, gamma, found.objective)


def local_matrix(user: Coefficients, scales: Scales) -> NDArray[np.float64]:
    """Solve one user's rows with the scales fixed: at home, from what is public.

    Parameters
    ----------
    user
        The user's coefficients.
    scales
        What the server published.

    Returns
    -------
    ndarray
        ``(n, K)``: the user's rows, of which it samples from one.

    Raises
    ------
    LimitReachedError
        When the program has no solution at any tolerance: the scales are not those of a global solution.

    Complexity
    ----------
    A linear program of some hundred variables: about 10 ms.

    Examples
    --------
    >>> from discreet_reproduction.lrgeo.as_published.coefficients import prepare_global
    >>> from discreet_reproduction.lrgeo.as_published.exponential_form import ExponentialForm
    >>> from discreet_reproduction.lrgeo.as_published.instance import Instance
    >>> line = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
    >>> places = Instance(line, line, unit="km")
    >>> public = frozen_scales(places, ExponentialForm(1.0, 1.0), gamma=1.0)
    >>> local_matrix(prepare_global(places).coefficients, public).sum(axis=1).round(6).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    from discreet.core.lp import LinearProgram, solve

    central = Central([user], scales.form, scales.gamma, len(scales.scales))
    block = central.blocks[0]
    fixed = central.scaled(scales.scales)
    if not block.cost.size:
        return central.read(fixed, 0.0).matrices[0]
    shift = block.shared @ fixed
    sums = np.concatenate([np.zeros(block.n_ratios), np.ones(user.n_rows)])
    low = np.where(sums == 0, -np.inf, sums - shift)
    program = LinearProgram(
        block.cost, block.own, row_lower=low, row_upper=sums - shift, lower=0.0, upper=1.0
    )
    # The scales are a solver's, so that what they leave is feasible up to its tolerance only.
    for tolerance in (1e-9, 1e-7, 1e-5):
        try:
            found = solve(program, tolerance=tolerance)
        except InfeasibleError:
            continue
        return central.read(np.concatenate([fixed, found.x]), found.objective).matrices[0]
    raise LimitReachedError("no rows with these scales at a tolerance of 1e-5")


@final
@dataclass(frozen=True)
class FrozenScales:
    r"""Scales from one program over all places, rows solved at home with the scales fixed; see the top of this module.

    Parameters
    ----------
    reach, r_exp
        As for :class:`~discreet_reproduction.lrgeo.as_published.lr_geo.LRGeo`.
    r_obf
        Infinite for true tails.
    rate
        1 by default: true tails with the whole epsilon.
    """

    reach: float
    r_exp: float
    r_obf: float = np.inf
    rate: Fraction = Fraction(1)

    @property
    def reason(self) -> str:
        """Why nothing is guaranteed."""
        return f"nothing is uploaded, but {ACROSS}"

    def rows(
        self,
        instance: Instance,
        graph: GeoIndGraph,
        epsilon: float,
        users: Sequence[int],
        time_limit: float | None,
    ) -> UserRows:
        """Solve for the scales once, and for each user's rows at home."""
        form = ExponentialForm(epsilon, self.r_exp, self.r_obf, self.rate)
        public = frozen_scales(instance, form, gamma=graph.gamma, time_limit=time_limit)
        own = []
        for user in users:
            one = prepare(
                instance,
                graph,
                user,
                reach=self.reach,
                r_obf=self.r_obf,
                centered="location",
                every_column=True,
            )
            own.append(local_matrix(one.coefficients, public)[one.own])
        return UserRows(np.array(own), None, (public.scales,))
