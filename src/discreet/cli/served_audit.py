"""``discreet audit lrgeo``: designs and published methods, and the service as its users run it, over its wire."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final

from discreet.cli.serving import need_service
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import MetricDP
from discreet.evaluate.attack.rows import ShownRows
from discreet.evaluate.audit import Pair, audit
from discreet.evaluate.audit_anchored import telling_pairs
from discreet.evaluate.audit_lrgeo import DEFAULT, PUBLISHED, audit_places
from discreet.lrgeo import Epochs, Mechanism, Region, State, design, locate

if TYPE_CHECKING:
    from discreet.core.randomness import RandomBits
    from discreet.evaluate.asked import AuditRequest
    from discreet.evaluate.audit import Audit
    from discreet.service.asking import Server

__all__ = ["Visited", "audit_location", "audit_service", "report_many", "report_once"]

SERVICE = "service"
_SIDE = 3
_NOW = 1_800_000_000.0
_PAIRS = 2


def audit_location(asked: AuditRequest) -> Audit:
    """Audit what people use to report places: a method by its name, or the service.

    Raises
    ------
    InvalidProblemError
        For an unknown method.
    """
    if asked.method == SERVICE:
        return audit_service(asked)
    names = sorted([DEFAULT, SERVICE, *PUBLISHED])
    if asked.method is not None and asked.method not in names:
        raise InvalidProblemError("method", f"one of {', '.join(names)}", repr(asked.method))
    return audit_places(asked)


def audit_service(asked: AuditRequest) -> Audit:
    """Audit the service on a grid of 3 x 3 places 1 km apart, by what its clients report.

    A real client fetches the mechanism from the real application, verifies it, and reports; what is compared are the
    coordinates that it would show. The wire is that of the application in this process.

    Returns
    -------
    Audit
        Sampled: there is no other way to try what runs on two sides.
    """
    asked.refuse("delta", "rho", "neighbors", "k")
    if asked.epsilon is None:
        raise InvalidProblemError("epsilon", "the claimed epsilon a km", "none")
    asked.choose("sampled")
    need_service("audit lrgeo")
    from discreet.cli.recording import Recorder
    from discreet.service import Limits, create_app

    region = Region.from_grid(_SIDE, _SIDE, cell=1, unit="km")
    mechanism = Mechanism.from_design(design(region, MetricDP(asked.epsilon, unit="km")), region)
    claim = mechanism.guarantee
    server = Recorder(create_app(mechanism, region, limits=Limits(rate=1e6, burst=10**6))).server()
    pairs = [
        Pair(
            Visited(server, region.where(i)),
            Visited(server, region.where(j)),
            f"users at places {i} and {j}, {float(region.space.distance(i, j)):.6g} km apart",
            region.space.distance(i, j),
        )
        for i, j in telling_pairs(ShownRows(mechanism.channel), claim, asked.samples)[:_PAIRS]
    ]
    try:
        return audit(
            None,
            pairs,
            claim,
            batch=report_many,
            failure=asked.failure,
            samples=asked.samples,
            bits=asked.bits,
            on_stage=asked.on_stage,
        )
    finally:
        server.close()


@final
@dataclass(frozen=True, eq=False)
class Visited:
    """A user: the server that is asked, and where one is.

    Parameters
    ----------
    server
        The server as a client sees it.
    point
        Where the user is, in the coordinates of the region.
    """

    server: Server
    point: tuple[float, float]


def report_once(user: Visited, bits: RandomBits) -> tuple[float, float]:
    """Begin from nothing: fetch the mechanism, verify it, and report once, with a ledger on the disk."""
    from discreet.service import Client

    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder)
        # The connections are the server's, which others use too: it is not closed here.
        client = Client(user.server, state=files / "state", cache=files, now=lambda: _NOW)
        return client.locate(user.point, bits=bits).report


def report_many(user: Visited, size: int, bits: RandomBits) -> list[tuple[float, float]]:
    """Report as many users would who are at one place: a client fetches and verifies once, each ledger is empty."""
    from discreet.service import Client

    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder)
        client = Client(user.server, state=files / "state", cache=files, now=lambda: _NOW)
        prepared, clock = client.prepared(), Epochs()
        return [
            locate(prepared, State(), user.point, _NOW, epochs=clock, bits=bits)[0]
            for _ in range(size)
        ]
