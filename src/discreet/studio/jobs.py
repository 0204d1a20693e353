"""A job of one page: a process that tells how it goes, can be asked to stop with what it has, and can be killed."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, final

from discreet.core.errors import DiscreetError

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection

    Tell = Callable[[dict[str, Any]], None]


class _Seconds(NamedTuple):
    """Seconds of a job beside those of its task."""

    start: float = 120.0
    """For the process to load its libraries."""

    grace: float = 30.0
    """After its time, or an interrupt, within which it must have ended by itself."""

    poll: float = 0.1
    """Between two looks at the deadline, which an interrupt changes."""


_SECONDS = _Seconds()


class Task(Protocol):
    """What a job does: a frozen value, for it goes to another process."""

    @property
    def seconds(self) -> float:
        """How long it may search."""
        ...

    def run(self, tell: Tell) -> dict[str, Any]:
        """Do the task and return the values that the page shows at the end.

        `tell` gets a dict for each step, with "text". Runs in the job's process. A DiscreetError refuses;
        KeyboardInterrupt asks for the best result so far.
        """
        ...


@final
class Job:
    """A task in a process of its own.

    Parameters
    ----------
    task
        Task to run; the process starts at once.
    kind
        Kind of the job in one word, such as ``"run"``.
    form
        Digest of the form that started it.
    release
        Name of the release that it is paid for; empty for a task that charges nothing. No other request ends a job with
        a release, and it goes on when its page is closed.
    """

    def __init__(self, task: Task, kind: str, *, form: str = "", release: str = "") -> None:
        self.kind = kind
        self.form = form
        self.release = release
        self.events: list[dict[str, Any]] = []
        self.result: dict[str, Any] | None = None
        self._stopping = 0.0
        self._end = time.monotonic() + _SECONDS.start + task.seconds + _SECONDS.grace
        # Not a fork: the server has threads.
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe(duplex=False)
        self._process = context.Process(target=_work, args=(task, theirs), daemon=True)
        self._process.start()
        theirs.close()
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    @property
    def over(self) -> bool:
        """Whether the last event was reported."""
        return bool(self.events) and self.events[-1]["type"] in ("done", "failed")

    @property
    def is_publishing(self) -> bool:
        """Whether it runs and is paid for."""
        return bool(self.release) and not self.over

    @property
    def may_start_again(self) -> bool:
        """Whether its form may start another job: it is over without a result, and certainly charged nothing."""
        stages = {event.get("charge") for event in self.events}
        refused = self.over and self.events[-1].get("refused", False)
        free = "made" not in stages and (refused or "begun" not in stages)
        return self.over and self.result is None and free

    def stop(self) -> None:
        """Interrupt the search by SIGINT, so that it returns its incumbent.

        It is killed if it has not ended in 30 seconds. Does nothing once the process has ended.
        """
        if self._process.is_alive() and self._process.pid is not None:
            self._stopping = time.monotonic() + _SECONDS.grace
            os.kill(self._process.pid, signal.SIGINT)

    def wait(self, seconds: float) -> None:
        """Block until the job has ended, at most `seconds`; :attr:`over` says whether it has."""
        self._thread.join(seconds)

    def end(self) -> None:
        """Kill the process, whatever it does, and wait until its last event is reported."""
        self._process.kill()
        self._thread.join()

    def _listen(self) -> None:
        """Collect the events of the other process, in a thread, until it is done, failed, or over its time.

        Then kill it. The result is stored in `result`; an end without one appends a failed event.
        """
        try:
            while not self.over:
                deadline = min(self._end, self._stopping or self._end)
                if self._pipe.poll(_SECONDS.poll):
                    event = self._pipe.recv()
                    if event["type"] == "done":
                        self.result = event.pop("result")
                    self.events.append(event)
                elif time.monotonic() > deadline:
                    self._fail(
                        "It did not end in time, and was ended. Allow more seconds, or fewer columns or rows."
                    )
        except (EOFError, OSError):
            self._fail("It was ended before it had a result.")
        self._process.kill()
        self._process.join()
        self._pipe.close()

    def _fail(self, message: str) -> None:
        """Append the event that the job failed."""
        self.events.append({"type": "failed", "message": message})


def _work(task: Task, pipe: Connection) -> None:
    """Run a task in this process, and send its steps and its end through `pipe` as dicts with a "type".

    Types: "step", "done" with "result", and "failed" with "message" (and "refused", "code", "field" for a refusal).
    """
    threading.Thread(target=_end_with_parent, daemon=True).start()
    # What it writes stands beside the table.
    os.umask(0o077)

    # Asked to end while libraries load: there is nothing yet to keep.
    def tell(event: dict[str, Any]) -> None:
        pipe.send({"type": "step", **event})

    try:
        pipe.send({"type": "done", "result": task.run(tell)})
    except DiscreetError as error:
        pipe.send({"type": "failed", **refusal(error), "refused": True})
    except KeyboardInterrupt:
        pipe.send({"type": "failed", "message": "It was stopped before anything was found."})
    except SystemExit:
        raise
    except BaseException as error:  # noqa: BLE001 - its words might hold a value, its kind does not; so do panics
        message = f"It failed: {type(error).__name__}. Please report this."
        pipe.send({"type": "failed", "message": message})


def _end_with_parent() -> None:
    """Wait until the studio has ended, then end this process; it blocks, and so runs in a thread of its own.

    Nobody waits for the result any more, and its folder is about to be removed.
    """
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def refusal(error: DiscreetError) -> dict[str, str]:
    """Return the body of an answer of status 400: ``message``, a sentence, and ``code`` and ``field`` of a refusal.

    The last two are empty for an error that has none.

    Examples
    --------
    >>> from discreet.tables.refusals import refused
    >>> refusal(refused("rows-none", "The file", "a.csv without any"))["code"]
    'rows-none'
    """
    stated = {name: str(getattr(error, name, "")) for name in ("code", "field")}
    return {"message": sentence(error), **stated}


def sentence(error: DiscreetError) -> str:
    """Return an error as a sentence.

    Examples
    --------
    >>> from discreet.core.errors import InvalidProblemError
    >>> sentence(InvalidProblemError("k", "2 or more", 1))
    'K: expected 2 or more, got 1.'
    """
    text = str(error)
    return f"{text[:1].upper()}{text[1:]}".rstrip(".") + "."
