"""Connections of one server: no more than there are descriptors for, few of each client, and each makes progress.

A client that reads its answer slowly, or not at all, holds at most one part of the answer and is cut off.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import struct
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple, final

from uvicorn.protocols.http.h11_impl import H11Protocol

from discreet.core.errors import InvalidProblemError
from discreet.web.clients import client_of, is_trusted
from discreet.web.guard import Limits, Rates

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from discreet.web.clients import Network

_LOG = logging.getLogger("discreet.service")


class _Deadlines(NamedTuple):
    """Seconds within which a client must go on."""

    headers: float = 30.0
    """For the headers of a request to come."""

    part: float = 30.0
    """For a client to take a part of its answer: with the parts below, 1.6 KB each second."""


_DEADLINES = _Deadlines()

_PART = 8 << 10
"""Bytes of the last part of an answer that count as progress; before it, the transport counts 48 KiB."""


def max_connections(wanted: int, *, others: int = 64, least: int = 16) -> int:
    """Return the number of connections for which this process has descriptors, at most ``wanted``.

    Without a limit of open files, as on Windows, it is `wanted`.

    Parameters
    ----------
    wanted
        Connections that the server would take at once.
    others
        Descriptors for files, modules, streams and listening sockets; a running server has some 30.
    least
        Connections below which no server is started: a browser alone opens six.

    Raises
    ------
    InvalidProblemError
        When the limit of open files leaves no room for a server.
    """
    try:
        import resource

        most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    except (ImportError, OSError):
        # Windows has no such limit; a filter of system calls may hide it.
        return wanted
    if most == resource.RLIM_INFINITY:
        return wanted
    if most < others + least:
        expected = f"{others + least} or more: `ulimit -n 1024` before it"
        raise InvalidProblemError("limit of open files", expected, most)
    return min(wanted, most - others)


@final
class Crowd:
    """All connections of a server.

    Parameters
    ----------
    limits
        Connections at once, in all and of one client; requests each second of one client.
    trusted
        Networks of proxies, which ask for many clients: only the limit for all holds for them.
    on_ended
        Called with the reason why a connection was refused or cut off: ``"crowded"``, ``"invalid"``, ``"silent"`` or
        ``"slow"``.

    Raises
    ------
    InvalidProblemError
        When the limit of open files leaves no room for a server.

    Examples
    --------
    >>> crowd = Crowd(Limits(connections=20, connections_per_address=2))
    >>> [crowd.admits("192.0.2.7") for _ in range(3)]
    [True, True, False]
    """

    def __init__(
        self,
        limits: Limits,
        trusted: Sequence[Network] = (),
        on_ended: Callable[[str], None] | None = None,
    ) -> None:
        self._most = max_connections(int(limits.connections))
        self._each = int(limits.connections_per_address)
        self._trusted = tuple(trusted)
        self._on_ended = on_ended
        self._of_client: Counter[str] = Counter()
        self._invalid = Rates(limits)
        self._seen: dict[Connection, tuple[object, float]] = {}
        self.room = asyncio.Event()
        self.room.set()

    def admits(self, address: str) -> bool:
        """Count a connection from an address, or return ``False`` if the client has as many as it may have.

        A refusal is logged and reported as "crowded". Clears `room` when the server is full. Trusted proxies have no
        limit of their own.
        """
        client = client_of(address)
        if self._of_client[client] >= self._each and not is_trusted(address, self._trusted):
            _LOG.warning("one address has %s connections; more are refused", self._each)
            self.ended("crowded")
            return False
        self._of_client[client] += 1
        if self._of_client.total() >= self._most and self.room.is_set():
            self.room.clear()
            _LOG.warning("%s connections are open; more are taken when one ends", self._most)
        return True

    def leaves(self, address: str) -> None:
        """Count a connection from an address that has ended, once for each that was admitted, and set `room`."""
        client = client_of(address)
        self._of_client[client] -= 1
        if self._of_client[client] <= 0:
            del self._of_client[client]
        self.room.set()

    def admits_invalid(self, address: str) -> bool:
        """Count a request that is not HTTP, and return whether the client of the address still gets an answer to it.

        It is reported as "invalid"; answers are limited by the rate and burst of the limits.
        """
        self.ended("invalid")
        return self._invalid.take(client_of(address))

    def ended(self, reason: str) -> None:
        """Report a connection that was refused or cut off, by its reason, to `on_ended` if there is one."""
        if self._on_ended is not None:
            self._on_ended(reason)

    def cut_off_idle(self, connections: Sequence[Any], now: float) -> None:
        """Abort connections whose request stays incomplete, and those whose client does not read the answer.

        uvicorn would wait for both without end.

        Parameters
        ----------
        connections
            All connections that are open, of class :class:`Connection`.
        now
            Seconds of a clock that never goes back. Progress is what changed since an earlier call; without it for 30
            seconds a connection is cut off.
        """
        before, self._seen = self._seen, {}
        for connection in connections:
            writes = connection.transport.get_write_buffer_size()
            cycle = connection.cycle
            if not writes and cycle is not None and not cycle.response_complete:
                continue
            # Another cycle is another request that was answered since.
            progress = (cycle, connection.resumed, -(-writes // _PART))
            last, since = before.get(connection, (progress, now))
            self._seen[connection] = (progress, since if last == progress else now)
            if now - self._seen[connection][1] > (
                _DEADLINES.part if writes else _DEADLINES.headers
            ):
                self.ended("slow" if writes else "silent")
                if writes:
                    drop(connection.transport.get_extra_info("socket"))
                connection.transport.abort()


def drop(connection: Any) -> None:  # noqa: ANN401 - a socket, or what asyncio shows of one
    """Let the system discard unsent data of a socket when it is closed; sets the option, and closes nothing."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


class Connection(H11Protocol):
    """uvicorn's protocol, which counts itself, its progress and what is not HTTP."""

    crowd: Crowd
    address: str
    resumed = 0
    """Times that the client has taken so much of its answer that more is written."""

    def connection_lost(self, exc: Exception | None) -> None:
        """Free the place of this connection for another one, as asyncio calls it; `exc` is passed on."""
        self.crowd.leaves(self.address)
        super().connection_lost(exc)

    def resume_writing(self) -> None:
        """Count progress, and write on."""
        self.resumed += 1
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        """Answer a request that is not HTTP with `msg`, or abort the connection of a client that sent too many."""
        if self.crowd.admits_invalid(self.address):
            super().send_400_response(msg)
        else:
            self.transport.abort()

    def _unsupported_upgrade_warning(self) -> None:
        """Answer a request for another protocol as if it had not asked for one, as HTTP allows, and log nothing."""
