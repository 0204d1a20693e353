"""A workspace of steps that are done on any machine: the first record of each counts, and files are for one user."""

from __future__ import annotations

import os
import pickle
import secrets
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from discreet.core.errors import InvalidProblemError
from discreet.tables.rooms import make_private, private_room

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


@contextmanager
def writing() -> Iterator[None]:
    """Return a context that converts an OSError of writing, such as of a full disk, into a refusal of the folder.

    Raises
    ------
    InvalidProblemError
        In place of the system's error.
    """
    try:
        yield
    except OSError as error:
        expected = "a folder that can be written, with room for all rows on their way"
        got = error.strerror or "one that can't"
        raise InvalidProblemError("target", expected, got) from None


@final
@dataclass(frozen=True)
class Workspace:
    """A folder that all workers share, for their owner alone.

    Parameters
    ----------
    folder
        Its path.
    """

    folder: Path

    def put(self, name: str, value: object) -> bool:
        """Write a record, pickled, unless one of this name exists; return whether it was written.

        Raises
        ------
        InvalidProblemError
            When it cannot be written.
        """
        data = pickle.dumps(value)
        with writing():
            new = make_private(self.folder / f"{name}.{secrets.token_hex(8)}.new")
            try:
                new.write_bytes(data)
                os.link(new, self.folder / name)
            except FileExistsError:
                return False
            finally:
                new.unlink(missing_ok=True)
        return True

    def get(self, name: str) -> Any:  # noqa: ANN401 - each record has a form of its own
        """Return the record `name`, unpickled; FileNotFoundError if there is none."""
        # This run wrote it, in a folder that nobody else can enter.
        return pickle.loads((self.folder / name).read_bytes())  # noqa: S301

    def has(self, name: str) -> bool:
        """Whether a record exists."""
        return (self.folder / name).exists()

    def every(self, kind: str, count: int) -> list[Any]:
        """Return the records of the steps 0 to ``count - 1`` of a kind, in order.

        FileNotFoundError if one is missing.
        """
        return [self.get(f"{kind}-{number}") for number in range(count)]

    def drop(self, kind: str, count: int) -> None:
        """Remove the files of all steps of a kind, which no later step reads; their records stay."""
        for record in self.every(kind, count):
            (self.folder / record["file"]).unlink(missing_ok=True)

    def plan(self) -> Any:  # noqa: ANN401 - as above
        """Read the latest plan."""
        version = max(int(path.name.partition("-")[2]) for path in self.folder.glob("plan-*"))
        return self.get(f"plan-{version}")

    @contextmanager
    def file(self, name: str, suffix: str) -> Iterator[Path]:
        """Return a context with a new empty file of a unique name; an error inside removes it."""
        path = make_private(self.folder / f"{name}.{secrets.token_hex(8)}{suffix}")
        try:
            yield path
        except BaseException:
            path.unlink(missing_ok=True)
            raise

    def keep(self, name: str, path: Path, found: Mapping[str, Any]) -> None:
        """Record what a step found, with the name of its file under ``"file"``.

        If the step was recorded before, that record and its file stay, and the file at `path` is removed.
        """
        if not self.put(name, {**found, "file": path.name}):
            path.unlink()


@contextmanager
def workspace_in(folder: Path) -> Iterator[Workspace]:
    """Return a context with a new workspace in a folder, for the owner alone; it and its files are removed at the end.

    Raises
    ------
    InvalidProblemError
        When the folder cannot be written to.
    """
    with ExitStack() as opened:
        with writing():
            room = opened.enter_context(private_room(folder))
        yield Workspace(room)
