"""What one server takes at most: every size, rate and time in one record."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import final

from discreet.core.errors import InvalidProblemError

__all__ = ["Limits"]


@final
@dataclass(frozen=True)
class Limits:
    """Bounds on what clients can make a server do.

    Parameters
    ----------
    body
        Bytes of a request's body.
    body_seconds
        Seconds within which a body must have come.
    rate
        Requests each second from one address, on average.
    burst
        Requests at once from one address.
    addresses
        Addresses that are remembered for the rate; the one that was silent longest is forgotten first.
    jobs
        Jobs that wait or run.
    results
        Results that are kept.
    job_seconds
        Seconds that one batch of jobs may take; the process that solves it is then killed.
    result_seconds
        Seconds for which a result is kept.
    batch
        Jobs that are solved together, since their users share the scales.

    Raises
    ------
    InvalidProblemError
        For a bound that is not positive and finite.

    Examples
    --------
    >>> Limits(jobs=4).jobs
    4
    >>> Limits(rate=0)
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: rate: expected a positive number, got 0
    """

    body: int = 8 << 20
    body_seconds: float = 30.0
    rate: float = 50.0
    burst: int = 200
    addresses: int = 10_000
    jobs: int = 16
    results: int = 64
    job_seconds: float = 60.0
    result_seconds: float = 600.0
    batch: int = 8

    def __post_init__(self) -> None:
        for part in fields(self):
            value = getattr(self, part.name)
            if not (math.isfinite(value) and value > 0):
                raise InvalidProblemError(part.name, "a positive number", value)
