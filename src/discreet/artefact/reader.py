"""Read a design from a file, and refuse a file that is not whole."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.artefact.choice import CHOICE
from discreet.artefact.layout import (
    FOREIGN,
    FORMAT,
    NEEDED,
    PARTS,
    TYPES,
    check_public,
    check_version,
    different_labels,
    expect,
    is_whole,
    read_json,
)
from discreet.artefact.mechanism import KIND_BY_FORM
from discreet.artefact.spaces import credible, lattice_lengths
from discreet.core.certificate import Certificate
from discreet.core.channels.channel import Channel
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import MetricDP, guarantee_from_dict
from discreet.core.outcome import Design, Provenance
from discreet.core.spaces.lattice import LatticeLengths
from discreet.core.spaces.lengths import TableLengths
from discreet.core.spaces.metric import MetricSpace
from discreet.lrgeo.points.client import refuse_unreleased
from discreet.metricdp.bounds.bound import Multipliers
from discreet.metricdp.problem import Problem

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from discreet.core.spaces.lattice import LatticeLengths


@final
@dataclass(frozen=True, eq=False)
class Artefact:
    """What a file holds.

    Parameters
    ----------
    design
        The design, as it was saved.
    labels
        Names of the secrets, or ``None``.
    joined
        Pairs that were added to join components.
    binding
        Pairs whose shortest paths stand for all constrained pairs.
    """

    design: Design[Problem, Multipliers]
    labels: tuple[str, ...] | None
    joined: NDArray[np.int32]
    binding: NDArray[np.int32]


def load(path: str | os.PathLike[str]) -> Design[Problem, Multipliers]:
    """Read a design from a file that :func:`save` wrote; its certificate is read, not verified anew.

    Raises InvalidProblemError for a file that cannot be read, is of another kind, was truncated or altered, or has a
    later version; see :func:`read`. Linear in the file. :func:`discreet.metricdp.verify` checks what it claims.
    """
    return read(path).design


def read(path: str | os.PathLike[str]) -> Artefact:
    """Read everything that a file holds, and refuse a file that is not whole.

    ``O(n^2)`` for the distances of n secrets, and linear in the file.

    Parameters
    ----------
    path
        A file that :func:`save` wrote, by this version or any earlier one.

    Raises
    ------
    InvalidProblemError
        For a file that cannot be read, is no artefact, was truncated or altered, has a later version, or whose parts
        do not fit each other.

    Notes
    -----
    That a file is whole says nothing about who made it. What it claims, :func:`discreet.metricdp.verify` checks anew.
    """
    with is_whole(path) as data:
        return _artefact(*open_members(data, "channel"))


def zip_kind(path: str | os.PathLike[str]) -> str:
    """Return the kind that a file states, such as ``"channel"``, ``"anchored"``, ``"choice"`` or that of a mechanism.

    The whole file is read; of an archive, only ``meta.json`` is looked at.

    Raises
    ------
    InvalidProblemError
        When the file cannot be read, or is no artefact of this form.
    """
    with is_whole(path) as data:
        stated = json.loads(data) if data.lstrip().startswith(b"{") else None
        if isinstance(stated, dict):
            form = stated.get("form")
            refuse_unreleased(form)
            if isinstance(form, str) and form in KIND_BY_FORM:
                return KIND_BY_FORM[form]
            if stated.get("kind") == CHOICE:
                return CHOICE
    with is_whole(path) as data, zipfile.ZipFile(io.BytesIO(data)) as archive:
        if "meta.json" not in archive.namelist():
            raise InvalidProblemError("members", "meta.json and arrays", "those of another archive")
        entry = archive.getinfo("meta.json")
        # A header may state any size, and reading would first ask for that much memory.
        if entry.compress_type != zipfile.ZIP_STORED or entry.file_size > len(data):
            raise InvalidProblemError("members", "arrays stored as they are", "a compressed one")
        return str(json.loads(archive.read(entry))["kind"])


def open_members(file: bytes, kind: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read the metadata and the arrays of an artefact of a kind, each with its stated hash.

    Raises InvalidProblemError for compressed, unknown, missing or altered members, or another kind or version.

    `file` are its bytes; linear in them.
    """
    with zipfile.ZipFile(io.BytesIO(file)) as archive:
        listed = archive.infolist()
        if any(entry.compress_type != zipfile.ZIP_STORED for entry in listed):
            raise InvalidProblemError("members", "arrays stored as they are", "a compressed one")
        # A header may state any size, and reading would first ask for that much memory.
        if sum(entry.file_size for entry in listed) > len(file):
            raise InvalidProblemError("members", "no more bytes than the file has", "more")
        data = {entry.filename: archive.read(entry) for entry in listed}
    meta = read_json(data.pop("meta.json"))
    _known_version(meta, kind)
    stated = {name: entry["sha256"] for name, entry in meta["members"].items()}
    known = {f"{name}.npy" for name in TYPES}
    if len(listed) != len(data) + 1 or data.keys() != stated.keys() or not data.keys() <= known:
        raise InvalidProblemError("members", "those that meta.json states", "others")
    for name, body in data.items():
        if hashlib.sha256(body).hexdigest() != stated[name]:
            raise InvalidProblemError(name, "the SHA-256 that meta.json states", "altered bytes")
    return meta, {name.removesuffix(".npy"): _decode(name, body) for name, body in data.items()}


def _known_version(meta: Mapping[str, Any], kind: str) -> None:
    """Raise InvalidProblemError for metadata of another format, kind or version."""
    if meta["format"] != FORMAT or meta["kind"] != kind:
        article = "an" if kind == "anchored" else "a"
        raise InvalidProblemError("kind", f"{article} {kind}", repr(meta["kind"]))
    check_version(meta)


def _decode(name: str, body: bytes) -> NDArray[Any]:
    """Return a ``.npy`` array as a copy in native order; its type is known by its name, one of :data:`TYPES`.

    `name` is with or without the ending; KeyError for another one. Linear in the bytes. InvalidProblemError for
    another version, type, order or number of entries, ValueError for a damaged header or a part of an entry.
    """
    buffer = io.BytesIO(body)
    version = np.lib.format.read_magic(buffer)
    expect(version == (1, 0), name, "a .npy array of version 1.0", version)
    shape, fortran, kind = np.lib.format.read_array_header_1_0(buffer)
    expected = np.dtype(TYPES[name.removesuffix(".npy")])
    if fortran or kind != expected:
        raise InvalidProblemError(name, f"{expected} in C order", f"{kind}")
    array: NDArray[Any] = np.frombuffer(body, dtype=expected, offset=buffer.tell())
    if min(shape, default=1) < 0 or array.size != int(np.prod(shape, dtype=object)):
        raise InvalidProblemError(name, f"shape {shape}", f"{array.size} numbers")
    return array.reshape(shape).astype(expected.newbyteorder("="))


def _artefact(meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Artefact:
    """Return the artefact of metadata and arrays, in the order of their shapes; nothing is verified.

    `meta` and `arrays` are those of :func:`open_members`, arrays by name without ending. ``O(n^2)`` for the
    distances, and linear in the arrays.

    Raises
    ------
    InvalidProblemError
        For members too few or too many, or parts that contradict each other or a stated hash.
    """
    missing, foreign = set(NEEDED) - arrays.keys(), arrays.keys() & set(FOREIGN)
    if missing:
        raise InvalidProblemError("members", "all that a channel has", f"no {min(missing)}")
    if foreign:
        raise InvalidProblemError("members", "those of a channel", min(foreign))
    channel = Channel(arrays["limbs"])
    space = small_space(meta["space"], arrays, channel.n_secrets)
    problem = Problem(
        space,
        utility_loss=arrays["loss"],
        prior=arrays["prior"],
        reports=arrays.get("reports"),
    )
    if problem.n_reports != channel.n_reports:
        raise InvalidProblemError("loss", f"{channel.n_reports} reports", problem.n_reports)
    provenance = Provenance.from_dict(meta["provenance"])
    if provenance.assumed_public:
        check_public(provenance, problem.assumed_public())
    lower = None if meta["lower"] is None else _finite(meta, "lower")
    design = Design(
        channel=channel,
        guarantee=_guarantee(meta["guarantee"], space),
        certificate=Certificate.from_dict(meta["certificate"]),
        lower=lower,
        upper=_finite(meta, "upper"),
        provenance=provenance,
        problem=problem,
        witness=_witness(arrays, lower),
        status=str(meta["status"]),
    )
    labels = meta["labels"]
    return Artefact(
        design,
        None if labels is None else different_labels(labels, space.n),
        joined=_pairs("joined", arrays, space.n),
        binding=_pairs("binding", arrays, space.n),
    )


def _finite(meta: Mapping[str, Any], name: str) -> float:
    """Return the number `name` of the metadata as a float.

    Raises InvalidProblemError for text, true or null, KeyError without it.
    """
    stated = meta[name]
    # Text that is a number, and true, which is 1, are no bounds: one file, one meaning.
    expect(type(stated) in (int, float), name, "a finite number", type(stated).__name__)
    return float(stated)


def _guarantee(stated: dict[str, Any], space: MetricSpace) -> MetricDP:
    """Return the stated guarantee; raise InvalidProblemError unless it is a metric one bound to this space."""
    guarantee = guarantee_from_dict(stated)
    if not isinstance(guarantee, MetricDP) or guarantee.unit != space.unit:
        raise InvalidProblemError("guarantee", f"a metric one per {space.unit}", "another")
    scope = guarantee.space_scope
    if scope is None or scope.space != space.digest:
        raise InvalidProblemError("guarantee", "one bound to the space of the file", "another")
    return guarantee


def small_space(
    stated: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], n: int
) -> MetricSpace:
    """Rebuild a space of n secrets from its distances, and check them against the stated digest and grid: ``O(n^2)``.

    Raises InvalidProblemError for arrays of other shapes, or another digest.
    """
    condensed, points = arrays["distances"], arrays.get("points")
    if condensed.shape != (n * (n - 1) // 2,) or condensed.min(initial=0) < 0:
        expected = f"{n * (n - 1) // 2} non-negative integers"
        raise InvalidProblemError("distances", expected, f"others, shape {condensed.shape}")
    table = np.zeros((n, n), dtype=np.int64)
    table[np.triu_indices(n, 1)] = condensed
    table += table.T
    if points is not None and (points.ndim != 2 or len(points) != n):
        raise InvalidProblemError("points", f"{n} rows", f"shape {points.shape}")
    for array in (table, points):
        if array is not None:
            array.setflags(write=False)
    source: TableLengths | LatticeLengths = TableLengths(table)
    if stated["cell"] is not None:
        source = lattice_lengths(arrays["places"], stated["cell"], stated["scale_bits"], n)
        expect(np.array_equal(source.dense(), table), "distances", "those of the grid")
    space = MetricSpace(stated["unit"], stated["metric"], stated["scale_bits"], source, points)
    expect(space.digest == stated["digest"], "distances", "the digest of the space", "another one")
    return credible(space)


def _witness(arrays: Mapping[str, NDArray[Any]], lower: float | None) -> Multipliers | None:
    """Return the multipliers that prove the lower bound, or ``None`` if the file has neither a bound nor multipliers.

    Raises InvalidProblemError for some of the four arrays alone, or a bound without them.
    """
    parts = [arrays[name] for name in (f"multipliers_{part}" for part in PARTS) if name in arrays]
    if len(parts) == len(PARTS):
        return Multipliers(*parts)
    if parts or lower is not None:
        got = f"{len(parts)} of them"
        raise InvalidProblemError("multipliers", "the four parts that prove a lower bound", got)
    return None


def _pairs(name: str, arrays: Mapping[str, NDArray[Any]], n: int) -> NDArray[np.int32]:
    """Return the pairs ``(m, 2)`` of an array, read-only; refuse any but different pairs i < j of the n secrets."""
    pairs = arrays[name]
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise InvalidProblemError(name, "a table of pairs", f"shape {pairs.shape}")
    if pairs.size and not 0 <= pairs.min() <= pairs.max() < n:
        raise InvalidProblemError(name, f"secrets below {n}", "others")
    if not (pairs[:, 0] < pairs[:, 1]).all() or len(np.unique(pairs, axis=0)) < len(pairs):
        raise InvalidProblemError(name, "each pair once, the lesser secret first", "others")
    pairs.setflags(write=False)
    return pairs
