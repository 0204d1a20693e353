r"""LR-Geo, the method of [QLPSX24]_ as a whole: users prepare, a server solves for batches of them, each takes its row.

Steps 3 to 8 of the protocol of Section 4.2, in one process and with the true costs: what comes out is what the two
sides would compute, and :func:`~discreet_reproduction.lrgeo.as_published.protocol.reproduce` judges it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet_reproduction.lrgeo.as_published.benders import clr_geo_benders
from discreet_reproduction.lrgeo.as_published.clr_geo import clr_geo
from discreet_reproduction.lrgeo.as_published.coefficients import prepare
from discreet_reproduction.lrgeo.as_published.composite import ACROSS, UserRows, composite_matrix
from discreet_reproduction.lrgeo.as_published.exponential_form import ExponentialForm
from discreet_reproduction.lrgeo.as_published.protocol import RANGES, UPLOADS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet_reproduction.lrgeo.as_published.coefficients import Centered
    from discreet_reproduction.lrgeo.as_published.geo_ind_graph import GeoIndGraph
    from discreet_reproduction.lrgeo.as_published.instance import Instance


@final
@dataclass(frozen=True)
class LRGeo:
    r"""The paper's method: CLR-Geo for batches of users, each of which samples from its own row.

    Parameters
    ----------
    reach
        :math:`\Gamma`: length of paths within which places are relevant.
    r_exp
        Distance beyond which the exponential form is forced.
    r_obf
        Radius of the obfuscation range.
    rate
        The exponent's part of epsilon: 1/2 as published; up to 1 is as good.
    centered
        ``"user"``, as uploaded, or ``"location"``, where Theorem 4.5 holds.
    priced
        Whether probability outside the range is paid for, as Equation (13) says. The uploaded matrices have no cost for
        it: with ``False`` the optimum is 0 as soon as some place is outside every user's range (C16).
    batch
        Users in a batch. ``None``: all of them.
    solver
        ``"whole"``: one program. ``"benders"``: Appendix C with initial cuts. ``"benders-as-printed"``: without.

    Examples
    --------
    >>> LRGeo(reach=3.0, r_exp=2.0, r_obf=4.0).rate
    Fraction(1, 2)
    """

    reach: float
    r_exp: float
    r_obf: float
    rate: Fraction = Fraction(1, 2)
    centered: Centered = "user"
    priced: bool = True
    batch: int | None = None
    solver: Literal["whole", "benders", "benders-as-printed"] = "whole"

    @property
    def reason(self) -> str:
        """Why nothing is guaranteed."""
        middle = f"; {RANGES}" if self.centered == "user" else ""
        return f"{ACROSS}{middle}; {UPLOADS}"

    def rows(
        self,
        instance: Instance,
        graph: GeoIndGraph,
        epsilon: float,
        users: Sequence[int],
        time_limit: float | None,
    ) -> UserRows:
        """Prepare, solve each batch, and take the users' own rows."""
        form = ExponentialForm(epsilon, self.r_exp, self.r_obf, self.rate)
        prepared = [
            prepare(
                instance,
                graph,
                user,
                reach=self.reach,
                r_obf=self.r_obf,
                centered=self.centered,
                every_column=self.priced,
            )
            for user in users
        ]
        size = len(users) if self.batch is None else self.batch
        if size < 1:
            raise InvalidProblemError("batch", "at least one user", size)
        matrices: list[NDArray[np.float64]] = []
        scales: list[NDArray[np.float64]] = []
        objective, lower = 0.0, 0.0
        for start in range(0, len(users), size):
            sent = [one.coefficients for one in prepared[start : start + size]]
            about: dict[str, Any] = {"gamma": graph.gamma, "n_places": instance.size}
            if self.solver == "whole":
                found = clr_geo(sent, form, time_limit=time_limit, **about)
                lower = np.nan
            else:
                cuts = self.solver == "benders"
                split = clr_geo_benders(sent, form, cuts=cuts, time_limit=time_limit, **about)
                found, lower = split.found, lower + split.lower
            matrices += found.matrices
            scales.append(found.scales)
            objective += found.objective
        own = composite_matrix(prepared, matrices)
        bound = None if np.isnan(lower) else lower
        whole = tuple(prepared), tuple(matrices)
        return UserRows(own, objective, tuple(scales), *whole, form, bound)
