"""Bodies as bytes: JSON or MessagePack, read strictly, and nothing else."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import msgpack

from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

JSON = "application/json"
MSGPACK = "application/msgpack"


def encode(data: Mapping[str, Any], media: str) -> bytes:
    r"""Write a plain mapping as a body.

    Parameters
    ----------
    data
        Numbers, texts, lists and mappings.
    media
        :data:`MSGPACK`; any other text gives JSON.

    Returns
    -------
    bytes
        The same mapping gives the same bytes. ValueError for a number in JSON that is not finite.

    Examples
    --------
    >>> encode({"protocol": 1}, JSON)
    b'{"protocol":1}'
    >>> encode({"protocol": 1}, MSGPACK)
    b'\x81\xa8protocol\x01'
    """
    if media == MSGPACK:
        packed: bytes = msgpack.packb(data, use_bin_type=True)
        return packed
    return json.dumps(data, separators=(",", ":"), allow_nan=False).encode()


def decode(body: bytes, media: str, *, max_items: int = 1_000_000) -> object:
    """Read a body in one of two formats, under the same rules: no name twice in a mapping, and finite numbers alone.

    Returns mappings, lists, texts, numbers, booleans and None. Keys of MessagePack are texts or bytes.

    Parameters
    ----------
    body
        The bytes.
    media
        The media type that came with them; parameters after a semicolon are ignored.
    max_items
        Items of a list or a mapping of MessagePack; more are refused while they are read, since their number is stated
        before they come.

    Raises
    ------
    InvalidProblemError
        For another media type, a body that can't be read, a name that comes twice, or a number that is NaN or infinite,
        as 1e999 is. The message doesn't repeat what came.

    Examples
    --------
    >>> decode(b'{"a": 1}', "application/json; charset=utf-8")
    {'a': 1}
    >>> decode(b'{"a": 1, "a": 2}', JSON)
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: body: expected JSON that can be read, got something else
    """
    kind = media.partition(";")[0].strip().lower()
    if kind not in {JSON, MSGPACK}:
        raise InvalidProblemError("Content-Type", f"{JSON} or {MSGPACK}", "another")
    try:
        if kind == MSGPACK:
            read = msgpack.unpackb(
                body,
                raw=False,
                strict_map_key=True,
                max_array_len=max_items,
                max_map_len=max_items,
                max_ext_len=0,
                object_pairs_hook=_once,
                list_hook=_finite,
            )
            return _finite([read])[0]
        return json.loads(
            body, object_pairs_hook=_once, parse_constant=_no_constant, parse_float=_finite_float
        )
    except (ValueError, RecursionError, msgpack.UnpackException):
        name = "MessagePack" if kind == MSGPACK else "JSON"
        raise InvalidProblemError("body", f"{name} that can be read", "something else") from None


def accepted(header: str) -> str:
    """Choose how to answer from an Accept header: MessagePack where it is named, else JSON.

    Examples
    --------
    >>> accepted("*/*"), accepted("application/msgpack, */*;q=0.1")
    ('application/json', 'application/msgpack')
    """
    return MSGPACK if MSGPACK in header.lower() else JSON


def accepts_gzip(header: str) -> bool:
    """Return whether an Accept-Encoding header names gzip, with a weight above 0.

    Examples
    --------
    >>> accepts_gzip("gzip, deflate, br"), accepts_gzip("gzip;q=0"), accepts_gzip("identity")
    (True, False, False)
    """
    for part in header.lower().split(","):
        name, _, weight = part.partition(";")
        if name.strip() == "gzip":
            return weight.strip().removeprefix("q=").strip("0.") != "" or not weight
    return False


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return a mapping of key and value pairs; ValueError for a key that comes twice or a float that is not finite."""
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError
    _finite(list(made.values()))
    return made


def _finite(values: list[Any]) -> list[Any]:
    """Return the entries of a list; raise ValueError if one is a float that is NaN or infinite."""
    if not all(math.isfinite(value) for value in values if isinstance(value, float)):
        raise ValueError
    return values


def _finite_float(text: str) -> float:
    return float(_finite([float(text)])[0])


def _no_constant(_: str) -> float:
    raise ValueError
