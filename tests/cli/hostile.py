"""Parquet files that are whole, and break their reader: by a panic, or by the memory that they take."""

from __future__ import annotations

import base64
import io
import re
from datetime import datetime
from functools import cache
from typing import Any

import polars as pl

_ZONE, _NONE = b"Europe/Rome", b"Mars/Kanari"


def _written(columns: dict[str, Any]) -> bytes:
    file = io.BytesIO()
    pl.DataFrame(columns).write_parquet(file)
    return file.getvalue()


def on_mars(**more: list[Any]) -> bytes:
    """Write a column of times in a zone that there is not: Polars panics, and prints its name."""
    times = pl.Series([datetime(2020, 1, 1)] * 24).dt.replace_time_zone(_ZONE.decode())  # noqa: DTZ001
    data = _written({"when": times, **more})
    schema = max(re.findall(rb"[A-Za-z0-9+/]{99,}=*", data), key=len)
    other = base64.b64encode(base64.b64decode(schema).replace(_ZONE, _NONE))
    assert other != schema
    assert len(other) == len(schema)
    return data.replace(schema, other)


@cache
def swollen() -> bytes:
    """Write thirty-six million cells of text in few bytes; in memory they take sixteen each."""
    text = pl.repeat("a text that is not short", 6_000_000, eager=True)
    names = ("age", "sex", "zip", "client", "candidate", "more")
    return _written(dict.fromkeys(names, text))
