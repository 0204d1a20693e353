"""Mechanisms of location services, as files: one line of canonical JSON, which is what a server sends too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.artefact.placing import replace_file
from discreet.artefact.whole import is_whole
from discreet.core.errors import InvalidProblemError
from discreet.lrgeo.mechanism import FORM, Mechanism, canonical

if TYPE_CHECKING:
    import os

__all__ = ["MECHANISM", "is_mechanism", "load_mechanism", "save_mechanism"]

MECHANISM = "mechanism"


def save_mechanism(mechanism: Mechanism, path: str | os.PathLike[str]) -> None:
    """Write a mechanism to a file, whole or not at all; the same mechanism gives the same bytes.

    Parameters
    ----------
    mechanism
        What a server publishes.
    path
        The file, replaced if it is there.

    Raises
    ------
    InvalidProblemError
        For a file that cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from discreet import MetricDP
    >>> from discreet.lrgeo import Region, design
    >>> made = Mechanism.from_design(design(Region.from_grid(4, 4, cell="0.5", unit="km"), MetricDP(2, "km")))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_mechanism(made, f"{folder}/a.mechanism")
    ...     load_mechanism(f"{folder}/a.mechanism").digest == made.digest
    True
    """
    replace_file(Path(path), _text(mechanism))


def load_mechanism(path: str | os.PathLike[str]) -> Mechanism:
    """Read a mechanism from a file, and refuse a file of which one bit was altered.

    Raises
    ------
    InvalidProblemError
        For a file that cannot be read, is no mechanism, was truncated or altered, or has a later version.

    Notes
    -----
    That a file is whole says nothing about who made it. What it claims, :func:`discreet.lrgeo.verify` checks anew.
    """
    with is_whole(path) as data:
        stated: Any = json.loads(data)
        if not isinstance(stated, dict):
            raise InvalidProblemError("mechanism", "a mapping", type(stated).__name__)
        mechanism = Mechanism.from_dict(stated)
        if _text(mechanism) != data:
            raise InvalidProblemError("mechanism", "its canonical bytes", "others")
        return mechanism


def is_mechanism(data: bytes) -> bool:
    """Tell from its first bytes whether a file is text rather than an archive, and says that it is a mechanism."""
    if not data.startswith(b"{"):
        return False
    stated: Any = json.loads(data)
    return isinstance(stated, dict) and stated.get("form") == FORM


def _text(mechanism: Mechanism) -> bytes:
    return canonical(mechanism.to_dict()) + b"\n"
