"""Mechanisms for places, for every point and along roads, as files: one line of canonical JSON, as servers send."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from discreet.artefact.layout import is_whole
from discreet.artefact.placing import replace_file
from discreet.core.errors import InvalidProblemError
from discreet.lrgeo.along_roads.mechanism import ROADS_FORM, RoadMechanism
from discreet.lrgeo.mechanism import FORM, Mechanism, canonical
from discreet.lrgeo.points.client import read_published
from discreet.lrgeo.points.mesh import PointMechanism
from discreet.lrgeo.points.noise import NoiseMechanism
from discreet.lrgeo.points.published import PublishedPoints
from discreet.lrgeo.points.table import LatticeMechanism

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping

__all__ = [
    "FOR_EVERY_POINT",
    "LATTICE_MECHANISM",
    "MECHANISM",
    "NOISE_MECHANISM",
    "POINT_MECHANISM",
    "ROAD_MECHANISM",
    "is_mechanism",
    "load_drawn",
    "load_mechanism",
    "load_points",
    "load_roads",
    "point_kind",
    "save_mechanism",
]

MECHANISM, POINT_MECHANISM, NOISE_MECHANISM = "mechanism", "point-mechanism", "noise-mechanism"
LATTICE_MECHANISM, ROAD_MECHANISM = "lattice-mechanism", "road-mechanism"

FOR_EVERY_POINT = (POINT_MECHANISM, NOISE_MECHANISM, LATTICE_MECHANISM)
"""The kinds of mechanisms for every point: rows for vertices of a mesh, one noise for all points, rows on a lattice."""

_KINDS = {
    PointMechanism.FORM: POINT_MECHANISM,
    NoiseMechanism.FORM: NOISE_MECHANISM,
    LatticeMechanism.FORM: LATTICE_MECHANISM,
    ROADS_FORM: ROAD_MECHANISM,
}

M = TypeVar("M", Mechanism, PublishedPoints, RoadMechanism)


def save_mechanism(
    mechanism: Mechanism | PublishedPoints | RoadMechanism, path: str | os.PathLike[str]
) -> None:
    """Write a mechanism to a file, whole or not at all; the same mechanism gives the same bytes.

    Parameters
    ----------
    mechanism
        What a server publishes, for places or for every point; or one for every point of roads.
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


def load_roads(path: str | os.PathLike[str]) -> RoadMechanism:
    """Read a mechanism for every point of a road network from a file, and refuse one of which one bit was altered.

    Raises
    ------
    InvalidProblemError
        For a file that cannot be read, is no such mechanism, was truncated or altered, or has a later version.

    Notes
    -----
    That a file is whole says nothing about who made it. What it claims,
    :func:`discreet.lrgeo.along_roads.verify.verify` checks anew.

    Examples
    --------
    >>> import tempfile
    >>> from discreet import MetricDP
    >>> from discreet.datasets.city import made_city
    >>> from discreet.lrgeo import Region, design
    >>> nodes, edges = made_city(30, seed=1).tables()
    >>> region = Region.from_roads(nodes, edges, spacing="0.8", unit="km", planar=True)
    >>> made = RoadMechanism.from_design(design(region, MetricDP(2, "km"), scope="roads", gap=0.1))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_mechanism(made, f"{folder}/a.mechanism")
    ...     load_roads(f"{folder}/a.mechanism").digest == made.digest
    True
    """
    return _read(path, RoadMechanism.from_dict)


def load_drawn(path: str | os.PathLike[str]) -> PublishedPoints | RoadMechanism:
    """Read a mechanism for every point of a region, or of roads: as :func:`load_points` or :func:`load_roads`."""
    with is_whole(path) as data:
        kind = point_kind(data)
    return load_roads(path) if kind == ROAD_MECHANISM else load_points(path)


def is_mechanism(data: bytes) -> bool:
    """Tell from its first bytes whether a file is text rather than an archive, and says that it is a mechanism."""
    return _form(data) == FORM


def point_kind(data: bytes) -> str | None:
    """Tell so which kind of a mechanism for every point, of a region or of roads, it is; ``None`` for what is none."""
    form = _form(data)
    return _KINDS.get(form) if isinstance(form, str) else None


def _form(data: bytes) -> object:
    """Give what a text says that it is; an archive says nothing."""
    if not data.startswith(b"{"):
        return None
    stated: Any = json.loads(data)
    return stated.get("form") if isinstance(stated, dict) else None


def _read(path: str | os.PathLike[str], read: Callable[[Mapping[str, Any]], M]) -> M:
    """Read the one line of a file, which has to be the canonical one."""
    with is_whole(path) as data:
        stated: Any = json.loads(data)
        if not isinstance(stated, dict):
            raise InvalidProblemError("mechanism", "a mapping", type(stated).__name__)
        mechanism = read(stated)
        if _text(mechanism) != data:
            raise InvalidProblemError("mechanism", "its canonical bytes", "others")
        return mechanism


def _text(mechanism: Mechanism | PublishedPoints | RoadMechanism) -> bytes:
    return canonical(mechanism.to_dict()) + b"\n"
