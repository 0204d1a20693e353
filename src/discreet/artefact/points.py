"""Mechanisms for every point, as files: one line of canonical JSON, which is what a server sends too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.artefact.placing import replace_file
from discreet.artefact.whole import is_whole
from discreet.core.errors import InvalidProblemError
from discreet.lrgeo.mechanism import canonical
from discreet.lrgeo.points.mechanism import POINTS_FORM, PointMechanism

if TYPE_CHECKING:
    import os

__all__ = ["POINT_MECHANISM", "is_point_mechanism", "load_points", "save_points"]

POINT_MECHANISM = "point-mechanism"


def save_points(mechanism: PointMechanism, path: str | os.PathLike[str]) -> None:
    """Write a mechanism for every point to a file, whole or not at all; the same mechanism gives the same bytes.

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
    >>> region = Region.from_grid(3, 3, cell="0.5", unit="km")
    >>> made = PointMechanism.from_design(design(region, MetricDP(2, "km"), scope="points", spacing="0.25"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_points(made, f"{folder}/a.mechanism")
    ...     load_points(f"{folder}/a.mechanism").digest == made.digest
    True
    """
    replace_file(Path(path), _text(mechanism))


def load_points(path: str | os.PathLike[str]) -> PointMechanism:
    """Read a mechanism for every point from a file, and refuse a file of which one bit was altered.

    Raises
    ------
    InvalidProblemError
        For a file that cannot be read, is no such mechanism, was truncated or altered, or has a later version.

    Notes
    -----
    That a file is whole says nothing about who made it. What it claims,
    :func:`discreet.lrgeo.points.verify.verify` checks anew.
    """
    with is_whole(path) as data:
        stated: Any = json.loads(data)
        if not isinstance(stated, dict):
            raise InvalidProblemError("mechanism", "a mapping", type(stated).__name__)
        mechanism = PointMechanism.from_dict(stated)
        if _text(mechanism) != data:
            raise InvalidProblemError("mechanism", "its canonical bytes", "others")
        return mechanism


def is_point_mechanism(data: bytes) -> bool:
    """Tell from its first bytes whether a file is text rather than an archive, and says that it is such a mechanism."""
    if not data.startswith(b"{"):
        return False
    stated: Any = json.loads(data)
    return isinstance(stated, dict) and stated.get("form") == POINTS_FORM


def _text(mechanism: PointMechanism) -> bytes:
    return canonical(mechanism.to_dict()) + b"\n"
