"""A workspace for each open page: its table, its private folder, its job; all of it is gone when the page is closed."""

from __future__ import annotations

import hashlib
import json
import secrets
import shutil
import tempfile
import threading
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, final

from discreet.artefact.placing import beside, put_in_place
from discreet.core.errors import InvalidProblemError
from discreet.studio.jobs import Job
from discreet.tables import writing
from discreet.tables.rooms import private_room

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    import polars as pl

    from discreet.studio.jobs import Task
    from discreet.studio.reading import ColumnSummary, Upload

UPLOADING = "uploading-"
"""How the names of files begin that are on their way in."""

_OPEN = "a page that is open; reload it and load the table again"


class _PageLimits(NamedTuple):
    """Limits of the pages of one studio."""

    open_pages: int = 8
    """Pages that may be open at once."""

    silent_seconds: float = 180.0
    """Seconds after which a silent page counts as closed; an open one speaks every ten, a hidden one every sixty."""

    ending_seconds: float = 60.0
    """Seconds for which a studio that ends waits for a release that is being paid for."""


LIMITS = _PageLimits()


@final
class OpenWorkspace:
    """What one open page works on.

    Parameters
    ----------
    folder
        Its own, mode 0700.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.name = ""
        self.upload: Upload | None = None
        self.columns: list[ColumnSummary] = []
        self.job: Job | None = None
        self.heard = 0.0
        self._published: dict[str, Job] = {}
        self._closed = False
        self._lock = threading.RLock()

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Lock the page for one request that changes it.

        Raises
        ------
        InvalidProblemError
            If the page is closed, or a release is being made that is paid for.
        """
        with self._lock:
            if self._closed:
                raise InvalidProblemError("page", _OPEN, "one that was closed")
            if self.job is not None and self.job.is_publishing:
                expected = f"nothing else while {self.job.kind} are published; wait, or cancel that"
                raise InvalidProblemError("The studio", expected, "another job")
            yield

    def begin(
        self,
        kind: str,
        form: Mapping[str, str],
        prepare: Callable[[], Task],
        *,
        stale: Iterable[str] = (),
        release: str = "",
    ) -> Job:
        """Start the job of a form, or return the job that the same form started: a form is released once.

        A job that runs already is killed. Copies that were sent again get the running job, or that of the release.

        Parameters
        ----------
        kind, release
            As for :class:`~discreet.studio.jobs.Job`.
        form
            Fields of the form. Each copy of the form that a page shows has a field of its own value, so that the same
            fields are a repeated request.
        prepare
            Checks the form and returns the task.
        stale
            Files of the page's folder that the job writes anew.

        Raises
        ------
        InvalidProblemError
            As for :meth:`changing`, and from `prepare`.
        """
        digest = hashlib.sha256(json.dumps([kind, sorted(form.items())]).encode()).hexdigest()
        with self._lock:
            same = self._published.get(digest, self.job)
            if same is not None and same.form == digest and not same.may_start_again:
                if self.job is None or self.job.over:
                    self.job = same
                if same.release or not same.over:
                    return same
            with self.changing():
                task = prepare()
                if self.job is not None:
                    self.job.end()
                for name in stale:
                    (self.folder / name).unlink(missing_ok=True)
                self.job = Job(task, kind, form=digest, release=release)
                if release:
                    self._published[digest] = self.job
                return self.job

    def close(self) -> bool:
        """Refuse all further requests; return whether a release is still being made that is paid for."""
        with self._lock:
            self._closed = True
            return self.job is not None and self.job.is_publishing

    def clear(self) -> None:
        """Kill the job and delete the table and every file of the folder, except files that are being uploaded.

        Call it inside :meth:`changing`, which refuses while a release is being paid for.
        """
        if self.job is not None:
            self.job.end()
        self.job, self.upload, self.columns = None, None, []
        for path in self.folder.iterdir():
            if path.is_dir():
                # A job that was ended while it wrote leaves a folder.
                shutil.rmtree(path)
            elif not path.name.startswith(UPLOADING):
                path.unlink(missing_ok=True)

    def delete(self) -> None:
        """Clear it, and remove its folder."""
        self.clear()
        shutil.rmtree(self.folder)


def store(table: pl.DataFrame, path: Path) -> None:
    """Write a table as Parquet to `path`, in one step and for its owner alone; an older file is replaced.

    Examples
    --------
    >>> import polars as pl
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "a.parquet")
    ...     store(pl.DataFrame({"age": [30]}), path)
    ...     oct(path.stat().st_mode & 0o777), pl.read_parquet(path).height
    ('0o600', 1)
    """
    with beside(path) as new:
        writing.store(table, new)
        put_in_place(new, path, private=True)


@final
class OpenWorkspaces:
    """All open pages.

    Parameters
    ----------
    clock
        Returns seconds that never go back.

    Examples
    --------
    >>> workspaces = OpenWorkspaces()
    >>> name = workspaces.open()
    >>> folder = workspaces.get(name).folder
    >>> oct(folder.stat().st_mode & 0o777)
    '0o700'
    >>> workspaces.close()
    >>> folder.exists()
    False
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._rooms = ExitStack()
        # Studios that were killed left theirs, with the tables of their pages; making one removes them.
        self._root = self._rooms.enter_context(private_room(Path(tempfile.gettempdir())))
        self._clock = clock
        self._workspaces: dict[str, OpenWorkspace] = {}
        self._paying: list[OpenWorkspace] = []
        self._lock = threading.Lock()

    def open(self) -> str:
        """Create a workspace and return its name.

        Raises
        ------
        InvalidProblemError
            When the limit of open pages is reached.
        """
        self.sweep()
        with self._lock:
            if len(self._workspaces) >= LIMITS.open_pages:
                expected = f"at most {LIMITS.open_pages} open pages"
                raise InvalidProblemError("studio", expected, "one more")
            name = secrets.token_urlsafe(16)
            folder = self._root / secrets.token_hex(8)
            folder.mkdir(mode=0o700)
            workspace = OpenWorkspace(folder)
            workspace.heard = self._clock()
            self._workspaces[name] = workspace
        return name

    def get(self, name: str) -> OpenWorkspace:
        """Return a workspace, and note that its page was heard.

        `name` is what :meth:`open` returned.

        Raises
        ------
        InvalidProblemError
            When the page was closed, or was silent for too long.
        """
        with self._lock:
            workspace = self._workspaces.get(name)
            if workspace is None:
                raise InvalidProblemError("page", _OPEN, "one that was closed")
            workspace.heard = self._clock()
            return workspace

    def leave(self, name: str) -> None:
        """Delete a workspace with its files and kill its job; where a release is being paid for, once that is done.

        An unknown name is ignored.
        """
        with self._lock:
            workspace = self._workspaces.pop(name, None)
        if workspace is None:
            return
        # A release that starts meanwhile is waited for.
        if workspace.close():
            with self._lock:
                self._paying.append(workspace)
        else:
            workspace.delete()

    def sweep(self) -> None:
        """Delete the workspaces of pages that were silent for too long, and closed ones whose release has ended."""
        oldest = self._clock() - LIMITS.silent_seconds
        with self._lock:
            silent = [
                name for name, workspace in self._workspaces.items() if workspace.heard < oldest
            ]
            paid = [workspace for workspace in self._paying if not workspace.close()]
            self._paying = [workspace for workspace in self._paying if workspace not in paid]
        for name in silent:
            self.leave(name)
        for workspace in paid:
            workspace.delete()

    def close(self) -> None:
        """Delete all workspaces; a release that is being paid for is awaited for 60 seconds, then killed."""
        for name in list(self._workspaces):
            self.leave(name)
        for workspace in self._paying:
            if workspace.job is not None:
                workspace.job.wait(LIMITS.ending_seconds)
            workspace.delete()
        self._rooms.close()
