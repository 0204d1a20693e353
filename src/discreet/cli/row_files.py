"""Private rows larger than memory, or than one machine: the source that options open."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, final

import typer

from discreet.cli.large import size_of
from discreet.cli.options import HOW
from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from discreet.artefact import RecordFiles

__all__ = ["RowEngine", "RowThreads"]

RowThreads = Annotated[
    int,
    typer.Option(
        help="Pieces of a folder, or with --memory, that are read at a time.",
        rich_help_panel=HOW,
    ),
]


@final
@dataclass(frozen=True)
class RowEngine:
    """What reads private rows, as typed.

    Parameters
    ----------
    memory, threads, scheduler
        The options.
    """

    memory: str | None = None
    threads: int = 1
    scheduler: str | None = None

    def is_large(self, path: str) -> bool:
        """Whether rows are read piece by piece."""
        return self.is_piecewise or Path(path).is_dir()

    @property
    def is_piecewise(self) -> bool:
        """Whether an option says so."""
        return self.memory is not None or self.scheduler is not None

    @contextmanager
    def source(self, path: str, folder: Path | None) -> Iterator[str | RecordFiles]:
        """Give what is read: the file, or its pieces, which workers may count.

        Parameters
        ----------
        path
            The file or the folder.
        folder
            Where counts of pieces are kept until the end, which workers must share; default: that for temporary files.
        """
        if not self.is_large(path):
            if self.threads != 1:
                raise InvalidProblemError(
                    "--threads", "1 for one file without --memory", self.threads
                )
            yield path
            return
        from discreet.artefact import RecordFiles
        from discreet.artefact.large_engines import connected

        memory = None if self.memory is None else size_of(self.memory, "--memory")
        client: Any = None
        if self.scheduler is not None:
            client = connected(self.scheduler, "--scheduler")
        try:
            yield RecordFiles(path, folder, self.threads, memory, client)
        finally:
            if client is not None:
                client.close()
