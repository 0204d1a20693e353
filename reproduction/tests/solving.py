"""Solvers for tests, which another process can import, and a server that uses one of them."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.errors import InfeasibleError
from discreet.lrgeo.messages import PROTOCOL
from discreet.web import bind, serve
from discreet_reproduction.lrgeo.service.jobs import JobLimits
from discreet_reproduction.lrgeo.service.published import UploadMessage, create_published_app

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["GOOD", "Chosen", "SlowOnce", "upload"]

GOOD, INFEASIBLE, BROKEN, HANGING, DYING = range(5)


def upload(what: int) -> UploadMessage:
    """Make an upload that asks for a behavior by its column."""
    one = np.ones((1, 1))
    return UploadMessage(
        protocol=PROTOCOL, between=0 * one, away=one, cost=one, columns=np.array([what])
    )


@dataclass(frozen=True)
class Chosen:
    """Does what the first upload asks for."""

    def __call__(self, uploads: Sequence[UploadMessage]) -> list[NDArray[np.float64]]:
        match int(uploads[0].columns[0]):
            case 1:
                raise InfeasibleError("the uploaded 817263549")
            case 2:
                raise ValueError("the uploaded 817263549")
            case 3:
                time.sleep(1000)
            case 4:
                os._exit(3)
        return [np.full((len(one.between), 3), len(uploads) / 10) for one in uploads]


@dataclass(frozen=True)
class SlowOnce:
    """Takes its time until a file is there, and says by another file that it has begun."""

    folder: str
    n_places: int

    def __call__(self, uploads: Sequence[UploadMessage]) -> list[NDArray[np.float64]]:
        Path(self.folder, "begun").touch()
        while not Path(self.folder, "go").exists():
            time.sleep(0.02)
        return [np.full((len(one.between), self.n_places), 1 / self.n_places) for one in uploads]


def main(folder: str, port: int) -> None:
    """Serve with the slow solver."""
    from published_serving import paper_server
    from service.running import mechanism, region

    server = paper_server(solver=SlowOnce(folder, region().K))
    app = create_published_app(mechanism(), region(), server, jobs=JobLimits(job_seconds=600))
    serve(app, bind("127.0.0.1", port), on_started=lambda url: print(url, flush=True))  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
