"""The client's side of the published protocol ([QLPSX24]_, Figure 4), step by step.

What it sends is what the paper says that users send. It hides the place from nobody who reads it, so that what comes
back is :class:`discreet.Unproven`.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError, LimitReachedError
from discreet.core.outcome import Provenance, PublicInput, Unproven
from discreet.core.randomness import SystemBits, categorical
from discreet.lrgeo.coefficients import prepare
from discreet.lrgeo.geo_ind_graph import GeoIndGraph
from discreet.lrgeo.instance import Instance
from discreet.lrgeo.messages import (
    PROTOCOL,
    Accepted,
    CostRequest,
    CostTable,
    Job,
    Parameters,
    Place,
    Upload,
)
from discreet.lrgeo.region import Region
from discreet.service.asking import Server

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from discreet.core.randomness import RandomBits
    from discreet.lrgeo.coefficients import Prepared

__all__ = ["PaperClient"]

_REASON = (
    "the upload is a function of the place on public data, and rows of different users' programs"
    " do not keep each other's ratios"
)

_PAUSE = 0.05
_UNITS = 2.0**53


@final
class PaperClient:
    """A user of the published protocol.

    Parameters
    ----------
    server
        The server, which has the protocol switched on; or its address.
    patience
        Seconds to wait for a job.
    sleep
        How to wait.

    Raises
    ------
    InvalidProblemError
        When the server has the protocol switched off.
    """

    def __init__(
        self,
        server: Server | str,
        *,
        patience: float = 120.0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._server = Server(server) if isinstance(server, str) else server
        self._patience = patience
        self._sleep = sleep
        # Step 1: what is public.
        public = self._server.get("/v1/parameters", Parameters)
        place = self._server.get("/v1/region", Place)
        if public is None or place is None:
            raise InvalidProblemError("server", "its region and parameters", "nothing")
        self.region = Region.from_dict(place.region)
        self.parameters = public
        space = self.region.space
        distances = np.ldexp(space.distances.astype(np.float64), -space.scale_bits)
        # What reports cost is the server's to know; the client fetches what it needs of it.
        self._instance = Instance(distances, np.zeros_like(distances), unit=space.unit)
        gamma = math.inf if public.gamma is None else public.gamma
        self._graph = GeoIndGraph(distances, gamma)

    def close(self) -> None:
        """Close the connections."""
        self._server.close()

    def report(
        self, point: tuple[float, float], *, bits: RandomBits | None = None
    ) -> Unproven[tuple[float, float]]:
        """Go through the protocol once and draw a report.

        Parameters
        ----------
        point
            Where one is. It stays here; what is sent says as much.
        bits
            Source of randomness; the operating system's by default.

        Returns
        -------
        Unproven
            The reported place, and why it is not private.

        Raises
        ------
        InvalidProblemError
            For a point outside the region, or when the server refuses.
        LimitReachedError
            When no result came in time.
        """
        source = bits or SystemBits()
        mine = self.prepare(self.region.snap(point), bits=source)
        sent = mine.coefficients
        upload = Upload(PROTOCOL, sent.between, sent.away, sent.cost, sent.columns)
        row = self._solve(upload)[mine.own]
        weights = np.floor(np.maximum(row, 0.0) * _UNITS).astype(np.int64)
        where = self.region.where(categorical(weights, source))
        digest = PublicInput("region", self.region.digest, f"{self.region.K} places")
        return Unproven(where, _REASON, Provenance("lr-geo as published", {}, (digest,)))

    def prepare(self, place: int, *, bits: RandomBits | None = None) -> Prepared:
        """Do steps 3 to 5: location set, range, and coefficients from the part of the cost table that is fetched."""
        said, source = self.parameters, bits or SystemBits()
        reach, r_obf = said.reach, said.r_obf
        first = prepare(self._instance, self._graph, place, reach=reach, r_obf=r_obf)
        # Step 4: a center drawn anew each time, as published; Proposition 4.4 with the radius that covers both sets.
        center = int(first.rows[source.randrange(len(first.rows))])
        disc = CostRequest(PROTOCOL, center, max(2 * reach, reach + r_obf) * (1 + 1e-6))
        table = self._server.post("/v1/cost-table", disc, CostTable)
        cost = np.zeros_like(self._instance.distances)
        cost[np.ix_(table.places, table.places)] = table.costs
        return prepare(self._instance, self._graph, place, reach=reach, r_obf=r_obf, cost=cost)

    def _solve(self, upload: Upload) -> NDArray[np.float64]:
        """Do steps 6 and 7. A server that was restarted knows no jobs: the same upload is sent again."""
        end = time.monotonic() + self._patience
        name = self._server.post("/v1/jobs", upload, Accepted).job
        while time.monotonic() < end:
            try:
                job = self._server.get(f"/v1/jobs/{name}", Job)
            except InvalidProblemError as error:
                if not str(error.got).startswith("404"):
                    raise
                name = self._server.post("/v1/jobs", upload, Accepted).job
                continue
            if job is not None and job.status == "failed":
                raise InvalidProblemError("job", "a solution", job.reason)
            if job is not None and job.rows is not None:
                return job.rows
            self._sleep(_PAUSE)
        raise LimitReachedError(f"no result within {self._patience:g} seconds")
