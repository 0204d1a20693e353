"""Channels as files: where a command reads one, and where it will write."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.artefact import AnchoredArtefact, Artefact, load_anchored, read, save, zip_kind
from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.core.outcome import Design
    from discreet.metricdp.bound import Multipliers
    from discreet.metricdp.problem import Problem

__all__ = ["channel_kind", "check_writable", "open_any", "open_channel", "write_channel"]


def open_channel(path: str) -> Artefact:
    """Read a channel; an error names the command's argument."""
    try:
        return read(path)
    except InvalidProblemError as error:
        raise InvalidProblemError("CHANNEL", error.expected, error.got) from None


def channel_kind(path: str) -> str:
    """Say what kind of channel a file holds; an error names the command's argument."""
    try:
        return zip_kind(path)
    except InvalidProblemError as error:
        raise InvalidProblemError("CHANNEL", error.expected, error.got) from None


def open_any(path: str) -> Artefact | AnchoredArtefact:
    """Read a channel of either kind, with a table or without; an error names the command's argument."""
    if channel_kind(path) != "anchored":
        return open_channel(path)
    try:
        return load_anchored(path)
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


def check_writable(path: str | None, argument: str, *read: str | None) -> None:
    """Refuse an output before the work, not after it; also one that is a file that is read."""
    if path is None:
        return
    folder = Path(path).absolute().parent
    if Path(path).is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
        raise InvalidProblemError(argument, "a file in a folder that can be written", repr(path))
    if Path(path).resolve() in {Path(one).resolve() for one in read if one is not None}:
        raise InvalidProblemError(argument, "a file of its own", repr(path))
