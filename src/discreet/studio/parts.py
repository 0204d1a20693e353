"""What all flows of the studio answer with: parts of the page, forms read, events as they come."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request, Response
from fastapi.concurrency import run_in_threadpool

from discreet.core.errors import InvalidProblemError
from discreet.report.listed import risk_measures
from discreet.report.page import render_template
from discreet.studio.uploads import uploaded

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from discreet.studio.jobs import Job
    from discreet.studio.workspaces import OpenWorkspace, OpenWorkspaces


async def events_of(job: Job) -> AsyncIterator[str]:
    """Yield each event of a job once, as server-sent text, until it is over; polls ten times a second.

    An empty line every five seconds makes a closed page noticed.
    """
    sent, idle = 0, 0
    while True:
        over = job.over
        for event in job.events[sent:]:
            yield f"data: {json.dumps(event)}\n\n"
        sent = len(job.events)
        if over:
            return
        await asyncio.sleep(0.1)
        idle += 1
        if idle % 50 == 0:
            yield ": \n\n"


def on_form(
    app: FastAPI,
    workspaces: OpenWorkspaces,
    path: str,
    answer: Callable[[OpenWorkspace, dict[str, str]], Any],
) -> None:
    """Add the route POST ``/{workspace}/path`` for a form: `answer` gets workspace and form, and runs in a thread.

    It returns a response, a text, or None for status 202; an InvalidProblemError of it is answered with 400.
    """

    @app.post(f"/{{workspace}}/{path}")
    async def handle(workspace: str, request: Request) -> Response:
        at, form = workspaces.get(workspace), await read_form(request)
        answered = await run_in_threadpool(answer, at, form)
        return Response(status_code=202) if answered is None else _response(answered)


def on_file(
    app: FastAPI,
    workspaces: OpenWorkspaces,
    path: str,
    answer: Callable[[OpenWorkspace, Path, dict[str, str]], Any],
) -> None:
    """Add the route POST ``/{workspace}/path`` for a file: `answer` gets workspace, the file's path and the query.

    It runs in a thread and returns a response or a text; the file is deleted when it has ended. Only paths known to
    :mod:`discreet.studio.uploads` receive files.
    """

    @app.post(f"/{{workspace}}/{path}")
    async def handle(workspace: str, request: Request) -> Response:
        at, file, query = workspaces.get(workspace), uploaded(request), request.query_params
        return _response(await run_in_threadpool(answer, at, file, dict(query)))


def _response(answered: Response | str) -> Response:
    """Return an answer as a response; text is sent as such."""
    if isinstance(answered, Response):
        return answered
    return Response(answered, media_type="text/plain; charset=utf-8")


async def read_form(request: Request) -> dict[str, str]:
    """Return the names and texts of a form, a JSON object in the body of a request.

    Raises
    ------
    InvalidProblemError
        For anything else.
    """
    try:
        form = json.loads(await request.body())
        # Half of a pair of code units, which no file and no page can hold.
        json.dumps(form, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        form = None
    if not isinstance(form, dict) or not all(isinstance(value, str) for value in form.values()):
        raise InvalidProblemError("form", "names and texts", "something else")
    return form


def render(name: str, /, **values: Any) -> Response:  # noqa: ANN401 - a template takes what it names
    """Return the HTML of the template `name` of this package with `values`, which the template escapes."""
    text = render_template(name, package="discreet.studio", measures=risk_measures, **values)
    return Response(text, media_type="text/html; charset=utf-8")
