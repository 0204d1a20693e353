"""Reconciliation of a folder of releases with the outputs that a ledger recorded."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final

from discreet.artefact.sidecar import sidecar_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_RECORD = ".discreet.json"

_TABLES = (".csv", ".parquet", ".xlsx", ".html", ".choice")
"""Suffixes of files that releases write; any other file counts if it says that it is a choice."""


@final
@dataclass(frozen=True)
class Reconciliation:
    """Outputs of a ledger compared with the files of a folder.

    Parameters
    ----------
    matched
        Path of each file with the SHA-256 that the ledger has, and its release id.
    missing
        Path of each recorded output that no file has the bytes of, and its release id.
    altered
        The same, where a file of this release is there with other bytes.
    uncharged
        Path of each file that belongs to no release of the ledger, and what its record says about its charge.
    """

    matched: dict[str, str]
    missing: dict[str, str]
    altered: dict[str, str]
    uncharged: dict[str, str]


def reconcile(folder: Path, outputs: Mapping[str, Mapping[str, str]]) -> Reconciliation:
    """Compare the files of a folder, and of the folders in it, with the outputs of releases.

    Reads every file under the folder once, whole, for its SHA-256; nothing is changed. Raises OSError for a file that
    cannot be read.

    Parameters
    ----------
    folder
        Folder of published files; files that were moved or renamed are found by their bytes.
    outputs
        Release id -> path of each output -> its SHA-256.

    Returns
    -------
    Reconciliation
        Each recorded output is matched, missing or altered; each file of a release is matched, altered or uncharged.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as name:
    ...     _ = Path(name, "out.csv").write_bytes(b"1")
    ...     found = reconcile(Path(name), {"a" * 20: {"gone.csv": hashlib.sha256(b"2").hexdigest()}})
    >>> list(found.missing), list(found.uncharged.values())
    (['gone.csv'], ['unknown'])
    """
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and not _passing(path)]
    digests = {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    charges = {path: _charge_of(path) for path in files}
    expected = [
        (one, name, digest) for one, written in outputs.items() for name, digest in written.items()
    ]
    matched, absent = _match(expected, digests, charges)
    known = {digest: one for one, _, digest in expected}
    ours = {"unknown", *(f"release {one}" for one in outputs)}
    # Further copies of an output that was found.
    matched |= {
        str(path): known[digest]
        for path, digest in digests.items()
        if digest in known and charges[path] in ours and str(path) not in matched
    }
    by_release: dict[tuple[str, str], Path] = {
        (charge.removeprefix("release "), path.name): path
        for path, charge in charges.items()
        if str(path) not in matched
    }
    missing: dict[str, str] = {}
    altered: dict[str, str] = {}
    # An output whose own path has a file comes first: one that is gone must not take the file of its namesake.
    for one, name in sorted(absent, key=lambda output: Path(output[1]) not in digests):
        path, stated = Path(name), {"unknown", f"release {one}"}
        places = (path if path in digests else None, by_release.get((one, path.name)))
        # A file in the place of an output is that output only if it does not state another charge, and of one alone.
        match = next(
            (
                place
                for place in places
                if place is not None
                and str(place) not in matched | altered
                and charges[place] in stated
            ),
            None,
        )
        if match is None:
            missing[name] = one
        else:
            altered[str(match)] = one
    uncharged = {
        str(path): charges[path]
        for path in files
        if str(path) not in matched and str(path) not in altered and _is_release(path)
    }
    # Beside a table that is listed, a record is not listed again.
    uncharged = {
        path: why
        for path, why in uncharged.items()
        if not path.endswith(_RECORD)
        or not {path.removesuffix(_RECORD)} & (uncharged | altered).keys()
    }
    return Reconciliation(matched, missing, altered, uncharged)


def _match(
    expected: list[tuple[str, str, str]], digests: Mapping[Path, str], charges: Mapping[Path, str]
) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Assign a file of the same bytes to each output, since two releases may have equal bytes.

    First a file whose record states the release, then one at the path of the output, then any that states no release.
    `expected` are (release id, path, SHA-256), `digests` and `charges` are by path of a file.

    Linear in files and outputs, but for outputs of equal bytes.

    Returns
    -------
    matched : dict
        Path of a file -> release id.
    absent : list
        Release id and path of each output without a file.
    """
    free: dict[str, list[Path]] = defaultdict(list)
    for path, digest in digests.items():
        free[digest].append(path)
    matched: dict[str, str] = {}
    # A file that was moved is sought before one that was altered in its place.
    expected = sorted(expected, key=lambda output: Path(output[1]) in digests)
    rules: tuple[Callable[[str, str, Path, str], bool], ...] = (
        lambda charge, one, _path, _name: charge == f"release {one}",
        lambda charge, _one, path, name: charge == "unknown" and path == Path(name),
        lambda charge, _one, _path, _name: charge == "unknown",
    )
    for fits in rules:
        rest = []
        for one, name, digest in expected:
            fitting = [path for path in free[digest] if fits(charges[path], one, path, name)]
            if fitting:
                free[digest].remove(fitting[0])
                matched[str(fitting[0])] = one
            else:
                rest.append((one, name, digest))
        expected = rest
    return matched, [(one, name) for one, name, _ in expected]


def _passing(path: Path) -> bool:
    """Return whether a file is on its way, or a ledger's own."""
    return any(part.startswith(".discreet-") for part in path.parts) or path.suffix == ".spool"


def _is_release(path: Path) -> bool:
    """Return whether a file looks like the output of a release: by its name, its words, or a record beside it."""
    if path.name.endswith(_RECORD) or path.suffix.lower() in _TABLES:
        return True
    return sidecar_of(path).is_file() or _charge_of(path) != "unknown"


def _charge_of(path: Path) -> str:
    """Return the charge that a file's record states, such as "release ID" or "charged to no ledger", else "unknown".

    `path` is a published file or its record; the JSON of the record beside it is read, or else of the file itself,
    unless that is a table.
    """
    record = path if path.name.endswith(_RECORD) else sidecar_of(path)
    try:
        source = record if record.is_file() else path
        if source is path and path.suffix.lower() in _TABLES[:-1]:
            return "unknown"
        stated = json.loads(source.read_bytes())
        charge = stated.get("charge") or stated["provenance"]["charge"]
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return "unknown"
    return charge if isinstance(charge, str) else "unknown"
