"""Run an application: on this machine only by default, until a signal stops it."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import math
import signal
import socket
import threading
import time
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import uvicorn

from discreet.core.errors import InvalidProblemError
from discreet.web.connections import Connection, Crowd, drop
from discreet.web.guard import Limits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Future
    from types import FrameType
    from typing import Any

    from discreet.web.clients import Network

_LOG = logging.getLogger("discreet.service")


class _Pace(NamedTuple):
    """When the server looks, waits and stops."""

    seconds_to_stop: int = 10
    """For requests under way when the server is to stop."""

    ticks_between_checks: int = 10
    """Ticks of uvicorn, tenths of a second, between two looks at the connections that wait."""

    seconds_without_descriptor: float = 1.0
    """Until connections are taken again when the process can open no more files."""

    waiting_connections: int = 2048
    """Connections that wait in the system until they are taken."""


_PACE = _Pace()

_SEND_BUFFER = 128 << 10
"""Bytes of an answer that the system keeps for a client that reads slowly; Linux doubles it for its own bookkeeping."""


def bind(host: str, port: int, *, allow_remote: bool = False) -> socket.socket:
    """Bind a socket, on the loopback interface unless other machines may connect.

    Returns the socket, bound and not yet listening; the caller closes it. A name with several addresses is bound to
    the first.

    Parameters
    ----------
    host
        A name or an address. Every address that it stands for must be a loopback one.
    port
        From 0 to 65535; 0 lets the system choose.
    allow_remote
        Let other machines connect. Put TLS in front of it; the how-to shows one way.

    Raises
    ------
    InvalidProblemError
        For an address that other machines reach, an unknown host, or a port out of range, in use or not allowed.

    Examples
    --------
    >>> bind("0.0.0.0", 0)
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: host: expected a loopback address, unless remote ones are allowed, got ...
    >>> with bind("127.0.0.1", 0) as bound:
    ...     bound.getsockname()[0]
    '127.0.0.1'
    """
    if not 0 <= port < 1 << 16:
        raise InvalidProblemError("port", "a number from 0 to 65535", port)
    try:
        resolved = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError:
        raise InvalidProblemError("host", "a name or an address of this machine", host) from None
    addresses = [str(place[4][0]) for place in resolved]
    remote = [
        one for one in addresses if not ipaddress.ip_address(one.partition("%")[0]).is_loopback
    ]
    if remote and not allow_remote:
        expected = "a loopback address, unless remote ones are allowed"
        raise InvalidProblemError("host", expected, host)
    family, kind, protocol, _, address = resolved[0]
    made = socket.socket(family, kind, protocol)
    try:
        # A server that was killed leaves connections behind that would block its port for a minute.
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
        made.bind(address)
    except OSError as error:
        made.close()
        reason = error.strerror or type(error).__name__
        raise InvalidProblemError("port", "one that can be bound", f"{port}: {reason}") from None
    return made


def serve(
    app: Callable[..., Any],
    bound: socket.socket,
    *,
    until: Future[Any] | None = None,
    on_started: Callable[[str], None] | None = None,
    stopping: threading.Event | None = None,
    drain: float = 0.0,
    limits: Limits | None = None,
    trusted: Sequence[Network] = (),
    on_ended: Callable[[str], None] | None = None,
) -> None:
    """Serve until SIGTERM, SIGHUP or Ctrl-C; requests under way are answered first.

    From SIGTERM on ``stopping`` is set. For ``drain`` seconds connections are still taken, so that a balancer can
    notice and each connection ends with an answer; then no more, and what is under way has ten seconds. Ctrl-C and
    SIGHUP skip the first part.

    SIGHUP, by which a closed terminal ends what runs in it, is left alone where it is ignored, as under ``nohup``.

    Parameters
    ----------
    app
        From :func:`discreet.service.create_app`, or another ASGI application.
    bound
        From :func:`bind`; it is listened on here.
    until
        What the server waits for in the background; when it fails, the server ends.
    on_started
        Called once with the address, such as ``"http://127.0.0.1:8080"``, when requests are taken.
    stopping
        Set as soon as the server is to stop; give the application the same.
    drain
        Seconds for which connections are still taken after SIGTERM.
    limits
        Connections at once, and requests that are not HTTP each second; other bounds are those of the application.
    trusted
        Networks of proxies, which may have more connections than one client.
    on_ended
        Called with the reason when a connection is refused or cut off: ``"crowded"``, ``"invalid"``, ``"silent"`` or
        ``"slow"``.

    Raises
    ------
    InvalidProblemError
        For seconds that are negative or not finite, and where the limit of open files leaves no room for a server.

    Notes
    -----
    Requests are not logged: their times and addresses say who uses the service, and paths hold the names of jobs.
    """
    if not 0 <= drain < math.inf:
        raise InvalidProblemError("drain", "seconds that are finite, 0 or more", drain)
    config = uvicorn.Config(
        app,
        http=Connection,
        ws="none",
        # Whom a proxy asks for is read by the guard, of proxies that were named.
        proxy_headers=False,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_PACE.seconds_to_stop,
    )
    crowd = Crowd(limits or Limits(), trusted, on_ended)
    server = _Server(config, bound, on_started, stopping or threading.Event(), drain, crowd=crowd)
    if until is not None:
        until.add_done_callback(server.end_if_failed)
    with _heard_by(server):
        server.run(sockets=[bound])


@contextmanager
def _heard_by(server: uvicorn.Server) -> Iterator[None]:
    """Stop a server on SIGTERM and SIGHUP, also before uvicorn handles signals; such a stop is no failure.

    Former handlers are put back; an ignored signal stays ignored. Outside the main thread it does nothing. uvicorn
    hears SIGTERM and Ctrl-C while it runs, and raises them anew once it has stopped; SIGHUP it does not know.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        server.handle_exit(number, frame)

    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    former = {number: signal.getsignal(number) for number in numbers}
    former = {number: was for number, was in former.items() if was is not signal.SIG_IGN}
    for number in former:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number, was in former.items():
            signal.signal(number, was)


class _Server(uvicorn.Server):
    """uvicorn's server, which says when it has started."""

    def __init__(
        self,
        config: uvicorn.Config,
        bound: socket.socket,
        on_started: Callable[[str], None] | None,
        stopping: threading.Event,
        drain: float,
        *,
        crowd: Crowd,
    ) -> None:
        super().__init__(config)
        self._bound = bound
        self._on_started = on_started
        self._stopping = stopping
        self._drain = drain
        self._gently = False
        self._crowd = crowd
        self._accepting: list[asyncio.Task[None]] = []

    async def on_tick(self, counter: int) -> bool:
        if counter % _PACE.ticks_between_checks == 0:
            self._crowd.cut_off_idle(list(self.server_state.connections), time.monotonic())
        return await super().on_tick(counter)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        # uvicorn listens on none: asyncio would take connections for which there are no descriptors.
        """Start without uvicorn's own listening.

        Listen on `sockets` here, and take connections in tasks of this server. Calls `on_started` with the address
        once requests are taken. uvicorn is given none, since asyncio would take connections for which there are no
        descriptors.
        """
        await super().startup([])
        for bound in sockets or ():
            bound.settimeout(0)
            bound.listen(_PACE.waiting_connections)
            self._accepting.append(asyncio.create_task(self._accept(bound)))
        if self.started and self._on_started is not None:
            host, port = self._bound.getsockname()[:2]
            self._on_started(f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}")

    async def _accept(self, bound: socket.socket) -> None:
        """Take connections of a listening socket while there is room, until cancelled.

        One that the crowd refuses is closed without an answer; where no file can be opened, it waits a second.

        `bound` is a listening socket that does not block.
        """
        loop = asyncio.get_running_loop()
        while True:
            await self._crowd.room.wait()
            try:
                accepted, peer = await loop.sock_accept(bound)
            except OSError as error:
                _LOG.warning("no connection can be taken: %s", error.strerror)
                await asyncio.sleep(_PACE.seconds_without_descriptor)
                continue
            address = str(peer[0])
            if not self._crowd.admits(address):
                drop(accepted)
                accepted.close()
                continue
            try:
                await loop.connect_accepted_socket(partial(self._protocol, address), accepted)
            except OSError:
                accepted.close()
                self._crowd.leaves(address)

    def _protocol(self, address: str) -> Connection:
        """Return the handler of a new connection from an address."""
        made = Connection(self.config, self.server_state, self.lifespan.state)
        made.crowd, made.address = self._crowd, address
        return made

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        # At once, and not at the next tick: a probe that comes now is told.
        """Note the signal `sig`, so that probes fail from now on.

        The first SIGTERM waits for the drain, others do not.
        """
        self._stopping.set()
        if sig == signal.SIGTERM and not self.should_exit:
            self._gently = True
        elif sig != signal.SIGTERM:
            self._gently = False
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take connections for the seconds of the drain after SIGTERM, then no more; uvicorn ends what is under way.

        A second signal ends the drain at once.
        """
        self._stopping.set()
        end = time.monotonic() + self._drain
        # A second signal may come meanwhile, outside of the loop.
        while self._gently and not self.force_exit and time.monotonic() < end:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        for task in self._accepting:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        await super().shutdown(sockets)

    def end_if_failed(self, future: Future[Any]) -> None:
        """Let the server end if a finished task was cancelled or failed."""
        if future.cancelled() or future.exception() is not None:
            self.should_exit = True
