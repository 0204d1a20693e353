"""Write a design to a file, whole or not at all."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.artefact.layout import PARTS, TYPES, claims, different_labels, head
from discreet.artefact.placing import beside, keep, put_in_place, unwritable
from discreet.artefact.spaces import space_facts
from discreet.core.errors import InvalidProblemError
from discreet.core.spaces.lattice import LatticeLengths

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.core.outcome import Design
    from discreet.metricdp.bounds.bound import Multipliers
    from discreet.metricdp.problem import Problem

_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The first date that a zip can hold."""


def save(
    design: Design[Problem, Multipliers],
    path: str | os.PathLike[str],
    *,
    labels: Sequence[str] | None = None,
) -> None:
    """Write a design to a file, whole or not at all.

    Linear in the bytes of the channel, of the space and of the multipliers, but for pruning the constraints: up to
    ``O(n^3)``, see :meth:`discreet.core.spaces.adjacency.Adjacency.prune`.

    Parameters
    ----------
    design
        What :func:`discreet.metricdp.design` returned: its guarantee is bound to its space.
    path
        The file, replaced if it is there.
    labels
        Names of the secrets, all different, for people who read reports.

    Raises
    ------
    InvalidProblemError
        For a design whose certificate failed or whose guarantee is bound to no space, labels that do not fit, or a
        file that cannot be written. The file is then what it was before.

    Notes
    -----
    The same design gives the same bytes.
    """
    members = _members(design)
    meta = {
        **head("channel"),
        **claims(design, "design"),
        "lower": design.lower,
        "upper": design.upper,
        "status": design.status,
        "space": space_facts(design.problem.space),
        "labels": None if labels is None else different_labels(labels, design.channel.n_secrets),
    }
    pack(Path(path), meta, members)


def pack(path: Path, meta: dict[str, Any], members: dict[str, NDArray[Any]]) -> None:
    """Write metadata and arrays into one file, whole or not at all, with a hash of each.

    Equal content gives equal bytes. Each member is encoded twice, for its hash and for the file, so that one of them is
    in memory at a time.

    Raises
    ------
    InvalidProblemError
        When the system refuses.
    """
    hashes = {
        f"{name}.npy": {"sha256": hashlib.sha256(_encoded(array, TYPES[name])).hexdigest()}
        for name, array in members.items()
    }
    stated = {**meta, "members": hashes}
    text = json.dumps(stated, indent=1, sort_keys=True, allow_nan=False).encode() + b"\n"
    try:
        with beside(path) as new:
            with zipfile.ZipFile(new, "w", zipfile.ZIP_STORED) as archive:
                archive.writestr(_entry("meta.json"), text)
                for name, array in members.items():
                    archive.writestr(_entry(f"{name}.npy"), _encoded(array, TYPES[name]))
            keep(new)
            put_in_place(new, path)
    except OSError as error:
        raise unwritable(path, error) from None


def _entry(name: str) -> zipfile.ZipInfo:
    """Return the header of the member `name`, whose date and system are the same wherever it is written."""
    entry = zipfile.ZipInfo(name, _EPOCH)
    # The system that wrote a member is part of the bytes; 3 stands for Unix.
    entry.create_system, entry.external_attr = 3, 0o644 << 16
    return entry


def _members(design: Design[Problem, Multipliers]) -> dict[str, NDArray[Any]]:
    """Return the arrays of a design's file, by name without ending; see `TYPES` in ``layout.py`` for their types.

    Prunes the constraints, which takes longest. Raises InvalidProblemError for a guarantee that is not bound to the
    space, or a certificate that failed.
    """
    scope, problem = design.guarantee.space_scope, design.problem
    space = problem.space
    if scope is None or scope.space != space.digest:
        raise InvalidProblemError("design", "a guarantee bound to its space", "another")
    constraints = space.adjacency(design.guarantee.radius)
    joined = np.zeros((0, 2), dtype=np.int32)
    if scope.joined:
        constraints, joined = constraints.join(space)
    members: dict[str, NDArray[Any]] = {
        "limbs": design.channel.limbs,
        "distances": space.distances[np.triu_indices(space.n, 1)],
        "joined": joined,
        "binding": constraints.prune().pairs,
        "loss": problem.loss,
        "prior": problem.prior,
    }
    if space.points is not None:
        members["points"] = space.points
    if isinstance(space.source, LatticeLengths):
        members["places"] = space.source.places
    if problem.reports is not None:
        members["reports"] = problem.reports
    if design.witness is not None:
        members |= {f"multipliers_{part}": getattr(design.witness, part) for part in PARTS}
    return members


def _encoded(array: NDArray[Any], kind: str) -> bytes:
    """Return an array as ``.npy``, version 1.0, in C order, of dtype `kind`."""
    buffer = io.BytesIO()
    plain = np.ascontiguousarray(array, dtype=kind)
    np.lib.format.write_array(buffer, plain, version=(1, 0), allow_pickle=False)
    return buffer.getvalue()
