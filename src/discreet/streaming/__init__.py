"""Streaming: tables larger than memory, read in pieces and computed in steps by threads or Dask workers.

A run writes a plan into a private workspace; each step reads the plan and one piece of the data, and writes one record.
:func:`anonymize_files` anonymizes files, :class:`RecordFiles` counts private rows by region, and
:mod:`discreet.streaming.row_engine` chooses between memory and streaming for the commands.

Names are loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.lazy import public_names

if TYPE_CHECKING:
    from discreet.streaming.anonymize import anonymize_files as anonymize_files
    from discreet.streaming.record_files import RecordFiles as RecordFiles
    from discreet.streaming.run import FileDiagnostics as FileDiagnostics

if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = public_names(globals())
