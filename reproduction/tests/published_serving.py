"""Servers of the published protocol for the places of the tests of the service."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from discreet.web import Limits
from discreet_reproduction.lrgeo.service.jobs import JobLimits
from discreet_reproduction.lrgeo.service.published import (
    PaperServer,
    ParametersMessage,
    create_published_app,
)
from service.running import mechanism, region

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fastapi import FastAPI

PARAMETERS = ParametersMessage(protocol=1, epsilon=1.0, gamma=1.5, reach=2.0, r_obf=2.0, r_exp=1.0)


def paper_server(**options: Any) -> PaperServer:
    """A server for the region of 25 cells."""
    return PaperServer(region(), PARAMETERS, **options)


def paper_app(limits: Limits | None = None, **jobs: Any) -> FastAPI:
    """An application with the published protocol beside the mechanism."""
    return create_published_app(
        mechanism(), region(), paper_server(), limits=limits, jobs=JobLimits(**jobs)
    )


@contextlib.contextmanager
def closed(app: FastAPI) -> Iterator[FastAPI]:
    """An application whose background process is ended afterwards."""

    async def end() -> None:
        async with app.router.lifespan_context(app):
            pass

    try:
        yield app
    finally:
        asyncio.run(end())
