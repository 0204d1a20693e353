"""What all flows of the studio answer with: parts of the page, forms read, events as they come."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from typing import TYPE_CHECKING, Any

from fastapi import Request, Response

from discreet.core.errors import InvalidProblemError
from discreet.report.page import render_template, template_environment

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from discreet.studio.jobs import Job

__all__ = ["read_form", "render", "told"]

_environment = partial(template_environment, "discreet.studio")


async def told(job: Job) -> AsyncIterator[str]:
    """Send each event once, and an empty line now and then, so that a closed page is noticed."""
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


async def read_form(request: Request) -> dict[str, str]:
    """Read names and texts from the body of a request.

    Raises
    ------
    InvalidProblemError
        For anything else.
    """
    try:
        found = json.loads(await request.body())
    except ValueError:
        found = None
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise InvalidProblemError("form", "names and texts", "something else")
    return found


def render(name: str, /, **values: Any) -> Response:  # noqa: ANN401 - a template takes what it names
    """Render a template of this package."""
    text = render_template(name, package="discreet.studio", **values)
    return Response(text, media_type="text/html; charset=utf-8")
