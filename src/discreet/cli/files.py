"""Channels as files: where a command reads one, and where it will write."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.artefact import Artefact, read, save
from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.core.outcome import Design
    from discreet.metricdp.bound import Multipliers
    from discreet.metricdp.problem import Problem

__all__ = ["check_writable", "open_channel", "write_channel"]


def open_channel(path: str) -> Artefact:
    """Read a channel; an error names the command's argument."""
    try:
        return read(path)
    except InvalidProblemError as error:
        raise InvalidProblemError("CHANNEL", error.expected, error.got) from None


def write_channel(
    design: Design[Problem, Multipliers], path: str | None, labels: Sequence[str] | None
) -> None:
    """Write a channel where one was asked for."""
    if path is None:
        return
    try:
        save(design, path, labels=labels)
    except InvalidProblemError as error:
        field = "--output" if error.field == "path" else error.field
        raise InvalidProblemError(field, error.expected, error.got) from None


def check_writable(path: str | None, argument: str) -> None:
    """Refuse an output before the work, not after it."""
    if path is None:
        return
    folder = Path(path).absolute().parent
    if Path(path).is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
        raise InvalidProblemError(argument, "a file in a folder that can be written", repr(path))
