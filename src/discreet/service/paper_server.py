"""The server's side of the published protocol ([QLPSX24]_, Figure 4): a cost table, and the joint program.

It is here to be measured and attacked. What users upload identifies their places, and what they sample from is not
private across users; see docs/theory/errata-lrgeo.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.lrgeo.clr_geo import clr_geo
from discreet.lrgeo.coefficients import Coefficients
from discreet.lrgeo.exponential_form import ExponentialForm
from discreet.lrgeo.geo_ind_graph import within
from discreet.lrgeo.instance import Instance
from discreet.lrgeo.messages import MOST_COLUMNS, PROTOCOL, CostTable, Parameters

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from discreet.lrgeo import Region
    from discreet.lrgeo.messages import CostRequest, Upload

__all__ = ["PaperServer"]


@final
@dataclass(frozen=True)
class _Solver:
    """What goes to the worker's process: no more than the program needs."""

    parameters: Parameters
    n_places: int
    seconds: float

    def __call__(self, uploads: Sequence[Upload]) -> list[NDArray[np.float64]]:
        """Solve the joint program of a batch of users."""
        said = self.parameters
        form = ExponentialForm(said.epsilon, r_exp=said.r_exp, r_obf=said.r_obf)
        users = [Coefficients(one.between, one.away, one.cost, one.columns) for one in uploads]
        found = clr_geo(
            users,
            form,
            gamma=math.inf if said.gamma is None else said.gamma,
            n_places=self.n_places,
            time_limit=self.seconds,
        )
        return list(found.matrices)


@final
class PaperServer:
    """Answers as the published protocol has it.

    Parameters
    ----------
    region
        The places, 5120 at most.
    parameters
        What is public.
    targets
        Indices of the places where trips end; all of them by default.
    seconds
        Time limit of the solver for one batch.

    Raises
    ------
    InvalidProblemError
        For targets that are no places, or radii that do not fit.

    Examples
    --------
    >>> from discreet.lrgeo import Region
    >>> from discreet.lrgeo.messages import CostRequest
    >>> region = Region.from_grid(4, 4, cell=1, unit="km")
    >>> server = PaperServer(region, Parameters(1, 1.0, 1.5, 2.0, 2.0, 1.0))
    >>> server.costs(CostRequest(1, 5, 1.0)).places.tolist()
    [1, 4, 5, 6, 9]
    """

    def __init__(
        self,
        region: Region,
        parameters: Parameters,
        *,
        targets: ArrayLike | None = None,
        seconds: float = 30.0,
    ) -> None:
        # Refuses radii that do not fit, before anybody uploads anything.
        ExponentialForm(parameters.epsilon, r_exp=parameters.r_exp, r_obf=parameters.r_obf)
        self._instance = Instance.from_region(region, targets=targets)
        self.parameters = parameters
        self.n_places = region.K
        self.solver = _Solver(parameters, region.K, seconds)

    def costs(self, request: CostRequest) -> CostTable:
        """Cut the disc that was asked for out of the cost table.

        Raises
        ------
        InvalidProblemError
            For a center that is no place, or a disc with too many places.
        """
        center = self._instance.place(request.center, "center")
        inside = np.flatnonzero(within(self._instance.distances[center], request.radius))
        if len(inside) > MOST_COLUMNS:
            raise InvalidProblemError("radius", f"a disc of {MOST_COLUMNS} places", "a larger one")
        return CostTable(PROTOCOL, inside, self._instance.beta[np.ix_(inside, inside)])
