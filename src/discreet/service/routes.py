"""How routes answer and refuse, and how the description of the interface says so."""

from __future__ import annotations

from typing import Any

from fastapi import Request, Response

from discreet.service.messages import Message, RefusalMessage
from discreet.service.wire import JSON, MSGPACK, accepted, encode
from discreet.web.guard import refusal

_PACKED = ".gzip"
"""End of the name under which caches keep a compressed answer."""


def answer(request: Request, message: Message, *, status: int = 200) -> Response:
    """Answer with a message, as MessagePack if the request's Accept header names it, else as JSON; not to be cached."""
    media = accepted(request.headers.get("accept", ""))
    headers = {"cache-control": "no-store", "vary": "accept"}
    body = encode(message.write(), media)
    return Response(body, status_code=status, media_type=media, headers=headers)


def cacheable_answer(
    request: Request, body: bytes, media: str, digest: str, *, is_packed: bool
) -> Response:
    """Answer with a body that never changes, or with 304 and none if the If-None-Match of the request names its digest.

    Parameters
    ----------
    request
        The request.
    body
        Bytes of the answer.
    media
        Their media type.
    digest
        Digest of the answer.
    is_packed
        Whether the bytes are compressed by gzip.
    """
    etag = f'"{digest}.{media.rpartition("/")[2]}{_PACKED * is_packed}"'
    headers = {"etag": etag, "cache-control": "public, no-cache", "vary": "accept, accept-encoding"}
    known = request.headers.get("if-none-match", "")
    # Compressed or not, what is known under one digest is the same.
    if etag.replace(_PACKED, "") in {
        part.strip().removeprefix("W/").replace(_PACKED, "") for part in known.split(",")
    }:
        return Response(status_code=304, headers=headers)
    if is_packed:
        headers["content-encoding"] = "gzip"
    return Response(body, media_type=media, headers=headers)


def refuse(status: int, error: str, message: str) -> Response:
    """Return a refusal with `status`: `error`, one word for programs, and `message`, a sentence for people.

    Not to be cached; with 429 and 503 the client may retry after one second.
    """
    headers = {"cache-control": "no-store"}
    if status in {429, 503}:
        headers["retry-after"] = "1"
    return Response(refusal(error, message), status_code=status, media_type=JSON, headers=headers)


def invalid(_: Request, error: Exception) -> Response:
    """Return a refusal that names the field and the allowed values; messages of other libraries may repeat the input.

    The status is 415 for the media type, 400 for the protocol or an unreadable body, and 422 otherwise.
    """
    field = getattr(error, "field", None)
    if field is None:
        return refuse(422, "invalid", "the request has another form than the interface describes")
    if field == "Content-Type":
        return refuse(415, "media-type", f"a body is {JSON} or {MSGPACK}")
    if field == "protocol":
        return refuse(400, "protocol", str(error)[:500])
    return refuse(400 if field == "body" else 422, "invalid", str(error)[:500])


def no_route(_: Request, error: Exception) -> Response:
    """Return the answer for a path or a method that is not there, with the status of the error."""
    status = getattr(error, "status_code", 500)
    name, message = {
        404: ("not-found", "no such path"),
        405: ("method", "no such method here"),
    }.get(status, ("invalid", "no"))
    made = refuse(status, name, message)
    for key, value in (getattr(error, "headers", None) or {}).items():
        made.headers[key] = value
    return made


def answers(model: type[Message], status: int = 200) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI entry, by status, of an answer with a message of class `model`, in both media types."""
    return {status: {"description": (model.__doc__ or "").partition("\n")[0], **content_of(model)}}


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI entries, by status, of refusals with these statuses."""
    content = {JSON: {"schema": RefusalMessage.model_json_schema()}}
    return {status: {"description": "Refused.", "content": content} for status in statuses}


def content_of(model: type[Message]) -> dict[str, Any]:
    """Return the schema of a message for both media types, as OpenAPI has it."""
    form = model.model_json_schema()
    return {"content": {media: {"schema": form} for media in (JSON, MSGPACK)}}
