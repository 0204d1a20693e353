"""What a client keeps on disk: mechanisms that were fetched and verified, and the ledger of its reports."""

from __future__ import annotations

import contextlib
import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, final

from discreet.artefact.private_files import locked_file, read_private, write_private
from discreet.core.errors import InvalidProblemError
from discreet.lrgeo import State
from discreet.lrgeo.messages import mechanism_from

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from discreet.lrgeo import Mechanism
    from discreet.lrgeo.points.published import PublishedPoints

_MAX_FILE_BYTES = 64 << 20


class _Versions(NamedTuple):
    """Versions of both kinds of file."""

    cache: int = 1
    state: int = 2
    """Version 1 did not state which mechanism drew a report."""


_VERSIONS = _Versions()


@final
@dataclass(frozen=True, eq=False)
class Kept:
    """A mechanism in the cache.

    Parameters
    ----------
    mechanism
        The mechanism; its digest was compared when it was read.
    fetched
        When the server last said that it is this one, in seconds of the clock on the wall.
    """

    mechanism: Mechanism | PublishedPoints
    fetched: float


@final
class MechanismCache:
    """Verified mechanisms by the address that they came from.

    Parameters
    ----------
    folder
        Where the files are; each is its owner's alone, since what is in it is not verified again.
    url
        The server.
    """

    def __init__(self, folder: Path, url: str) -> None:
        name = hashlib.sha256(url.encode()).hexdigest()[:32]
        self._path = folder / f"{name}.mechanism.json"

    def read(self) -> Kept | None:
        """Return the mechanism in the cache, or ``None`` if there is none or its file is damaged.

        Raises
        ------
        InvalidProblemError
            When others may write the file: then nobody knows who verified it.
        """
        body = read_private(self._path, most=_MAX_FILE_BYTES)
        if body is None:
            return None
        try:
            data = json.loads(body)
            return Kept(mechanism_from(data["mechanism"]), float(data["fetched"]))
        except (AttributeError, ValueError, LookupError, TypeError, RecursionError):
            # It can be fetched again.
            return None

    def write(self, mechanism: Mechanism | PublishedPoints, fetched: float) -> None:
        """Replace the file of this server by a verified mechanism.

        `fetched` is when the server confirmed it, Unix seconds.
        """
        data = {"version": _VERSIONS.cache, "fetched": fetched, "mechanism": mechanism.to_dict()}
        write_private(self._path, json.dumps(data, separators=(",", ":")).encode())


@final
class StateFile:
    """The ledger of one user's reports, and the last report, in a file of its own.

    Parameters
    ----------
    path
        The file, or a link to it. It holds no place, unless places were pinned.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    @contextlib.contextmanager
    def changing(self, seconds: int, unit: str) -> Iterator[Change]:
        """Read the state under a lock, and write what it was changed to before the lock is given back.

        Yields a `Change`, whose `state` starts as the stored one (an empty one without a file); nothing is written
        unless it is replaced by another object, nor when the block raises.

        Parameters
        ----------
        seconds
            Length of an epoch: numbers of epochs of another length mean something else.
        unit
            What epsilon is per: sums per kilometer and per meter can't be added.

        Raises
        ------
        InvalidProblemError
            When the file is of other epochs or another unit, or is not whole. It is never replaced by an empty one: the
            ledger in it would be forgotten. Nor is one that others may write, that has a second name, or that was
            exchanged meanwhile.
        """
        with locked_file(self._path, most=_MAX_FILE_BYTES) as file:
            change = Change(State() if file.data is None else _state(file.data, seconds, unit))
            before = change.state
            yield change
            if change.state is not before:
                file.replace(_written(change.state, seconds, unit))


@final
@dataclass
class Change:
    """A state that may be replaced while the lock is held.

    Parameters
    ----------
    state
        The state.
    """

    state: State


def _state(body: bytes, seconds: int, unit: str) -> State:
    """Read a state from the bytes of its file, of version 1 or 2.

    InvalidProblemError for bytes whose digest differs, another version, an epoch of other `seconds` or another
    `unit`.

    `body` is what was read; unit and seconds must be those of the present client.
    """
    try:
        data = json.loads(body)
        frame = data["version"], data["seconds"], data["unit"]
        is_intact = data["digest"] == _digest(data)
        state = State.from_dict(data["state"])
    except (ArithmeticError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        is_intact = False
    if not is_intact or [type(part) for part in frame] != [int, int, str]:
        expected = "a whole state; it is the ledger, so no new one takes its place"
        raise InvalidProblemError("state", expected, "something else")
    if frame[0] not in (1, _VERSIONS.state) or frame[1:] != (seconds, unit):
        expected = f"version {_VERSIONS.state}, epochs of {seconds} seconds and epsilon per {unit}"
        stated_unit = frame[2] if frame[2] in {"km", "m"} else "another unit"
        got = f"{frame[0]}, {frame[1]} and {stated_unit}"
        raise InvalidProblemError("state", expected, got)
    return state


def _written(state: State, seconds: int, unit: str) -> bytes:
    """Return the bytes of a state's file, with its digest."""
    data = {"version": _VERSIONS.state, "seconds": seconds, "unit": unit, "state": state.to_dict()}
    return (json.dumps({**data, "digest": _digest(data)}, indent=1) + "\n").encode()


def _digest(data: dict[str, Any]) -> str:
    """Return the SHA-256, hexadecimal, of a state's fields but "digest", so that accidental changes are noticed."""
    plain = {name: value for name, value in data.items() if name != "digest"}
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(b"discreet.state/1 " + text.encode()).hexdigest()
