"""Change an artefact and make its hashes right again: what somebody would do who wants to deceive a verifier."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core.outcome import digest_array
from discreet.core.spaces.lengths import TableLengths
from discreet.core.spaces.metric import MetricSpace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Change = Callable[[dict[str, Any], dict[str, np.ndarray[Any, Any]]], object]


def unpack(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
    """Take an artefact apart."""
    with zipfile.ZipFile(path) as archive:
        data = {name: archive.read(name) for name in archive.namelist()}
    meta = json.loads(data.pop("meta.json"))
    return meta, {
        name.removesuffix(".npy"): np.load(io.BytesIO(body)) for name, body in data.items()
    }


def pack(path: Path, meta: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
    """Put an artefact together, with hashes of what is there."""
    data = {}
    for name, array in arrays.items():
        buffer = io.BytesIO()
        np.lib.format.write_array(buffer, array, version=(1, 0), allow_pickle=False)
        data[f"{name}.npy"] = buffer.getvalue()
    meta["members"] = {
        name: {"sha256": hashlib.sha256(body).hexdigest()} for name, body in data.items()
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("meta.json", json.dumps(meta))
        for name, body in data.items():
            archive.writestr(name, body)


def restate(meta: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
    """Make every digest of a channel that of what is there now: the space, and the inputs assumed to be public."""
    n, stated = arrays["prior"].size, meta["space"]
    table = np.zeros((n, n), dtype=np.int64)
    table[np.triu_indices(n, 1)] = arrays["distances"]
    source = TableLengths(table + table.T)
    space = MetricSpace(stated["unit"], "matrix", stated["scale_bits"], source)
    meta["guarantee"]["scope"]["space"] = stated["digest"] = space.digest
    found = {"space": space.digest}
    found |= {"utility_loss": digest_array(arrays["loss"]), "prior": digest_array(arrays["prior"])}
    for public in meta["provenance"]["assumed_public"]:
        public["digest"] = found.get(public["name"], public["digest"])


def forge(path: Path, change: Change) -> Path:
    """Change an artefact in place by a function of its metadata and arrays."""
    meta, arrays = unpack(path)
    change(meta, arrays)
    pack(path, meta, arrays)
    return path
