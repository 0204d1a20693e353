"""Streaming: tables larger than memory, read in pieces and computed in steps by threads or Dask workers.

A run writes a plan into a private workspace; each step reads the plan and one piece of the data, and writes one record.
:func:`anonymize_files` anonymizes files, :class:`RecordFiles` counts private rows by region, and
:mod:`discreet.streaming.row_engine` chooses between memory and streaming for the commands.

Names are loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.lazy import on_first_use

if TYPE_CHECKING:
    from discreet.streaming.anonymize import anonymize_files
    from discreet.streaming.record_files import RecordFiles
    from discreet.streaming.run import FileDiagnostics

__all__ = ["FileDiagnostics", "RecordFiles", "anonymize_files"]

_WHERE = {
    "FileDiagnostics": "run",
    "RecordFiles": "record_files",
    "anonymize_files": "anonymize",
}
"""Public name -> the module that defines it."""

if not TYPE_CHECKING:
    __getattr__ = on_first_use(globals(), _WHERE)


def __dir__() -> list[str]:
    return __all__
