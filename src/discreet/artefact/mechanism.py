"""Mechanisms for places and for every point, as files: one line of canonical JSON, as servers send."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from discreet.artefact.layout import expect, is_whole
from discreet.artefact.placing import replace_file
from discreet.core.errors import InvalidProblemError
from discreet.lrgeo.mechanism import FORM, Mechanism, canonical
from discreet.lrgeo.points.client import read_published
from discreet.lrgeo.points.noise import NoiseMechanism
from discreet.lrgeo.points.published import PublishedPoints
from discreet.lrgeo.points.table import LatticeMechanism

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping

MECHANISM, NOISE_MECHANISM, LATTICE_MECHANISM = "mechanism", "noise-mechanism", "lattice-mechanism"

FOR_EVERY_POINT = (NOISE_MECHANISM, LATTICE_MECHANISM)
"""The kinds of mechanisms for every point: one noise for all points, or rows on a lattice."""

KIND_BY_FORM = {
    FORM: MECHANISM,
    NoiseMechanism.FORM: NOISE_MECHANISM,
    LatticeMechanism.FORM: LATTICE_MECHANISM,
}

M = TypeVar("M", Mechanism, PublishedPoints)


def save_mechanism(mechanism: Mechanism | PublishedPoints, path: str | os.PathLike[str]) -> None:
    """Write a mechanism to a file, whole or not at all; the same mechanism gives the same bytes.

    Linear in the bytes of the file.

    Parameters
    ----------
    mechanism
        What a server publishes, for places or for every point.
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
    >>> region = Region.from_grid(4, 4, cell="0.5", unit="km")
    >>> made = Mechanism.from_design(design(region, MetricDP(2, "km"), scope="places"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_mechanism(made, f"{folder}/a.mechanism")
    ...     load_mechanism(f"{folder}/a.mechanism").digest == made.digest
    True
    """
    replace_file(Path(path), _text(mechanism))


def load_mechanism(path: str | os.PathLike[str]) -> Mechanism:
    """Read a mechanism from a file, and refuse a file of which one bit was altered.

    `path` is a file of :func:`save_mechanism`. The certificate is read, not checked anew. Linear in the file.

    Raises
    ------
    InvalidProblemError
        For a file that cannot be read, is no mechanism, was truncated or altered, or has a later version.

    Notes
    -----
    That a file is whole says nothing about who made it. What it claims, :func:`discreet.lrgeo.verify` checks anew.
    """
    return _read(path, Mechanism.from_dict)


def load_points(path: str | os.PathLike[str]) -> PublishedPoints:
    """Read a mechanism for every point, in any form, from a file, and refuse a file of which one bit was altered.

    `path` is a file of :func:`save_mechanism`. The certificate is read, not checked anew. Linear in the file.

    Raises
    ------
    InvalidProblemError
        For a file that cannot be read, is no such mechanism, was truncated or altered, or has a later version.

    Notes
    -----
    That a file is whole says nothing about who made it. What it claims,
    :func:`discreet.lrgeo.points.verify.verify` checks anew.

    Examples
    --------
    >>> import tempfile
    >>> from discreet import MetricDP
    >>> from discreet.lrgeo import Region, design
    >>> region = Region.from_grid(3, 3, cell="0.5", unit="km")
    >>> made = design(region, MetricDP(2, "km")).published()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_mechanism(made, f"{folder}/a.mechanism")
    ...     load_points(f"{folder}/a.mechanism").digest == made.digest
    True
    """
    return _read(path, read_published)


def _read(path: str | os.PathLike[str], read: Callable[[Mapping[str, Any]], M]) -> M:
    """Read a mechanism from the one line of JSON of a file by `read`, which takes the mapping; linear in the file.

    Raises InvalidProblemError unless the file is the canonical text of the result.
    """
    with is_whole(path) as data:
        stated: Any = json.loads(data)
        if not isinstance(stated, dict):
            raise InvalidProblemError("mechanism", "a mapping", type(stated).__name__)
        mechanism = read(stated)
        expect(_text(mechanism) == data, "mechanism", "its canonical bytes")
        return mechanism


def _text(mechanism: Mechanism | PublishedPoints) -> bytes:
    """Return the canonical line of a mechanism's file."""
    return canonical(mechanism.to_dict()) + b"\n"
