"""The location service over a long time: many clients, restarts under load, slow readers, and clients that misbehave.

Each life of the server is a process of its own, the command that people run, and ends by SIGTERM while all clients go
on. Counted are requests whose headers the server read and whose answer did not arrive whole (asserted: none), how long
fetches take while no server is being replaced, what memory a life takes, and how soon a server that was told to stop
says that it is not ready. An hour at 150 clients by default.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import random
import signal
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from lrgeo_service import COMMAND, memory

from discreet.artefact import save_mechanism
from discreet.core.guarantee import MetricDP
from discreet.lrgeo import Mechanism, Region, design

ASK = b"GET /v1/mechanism HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
LIMIT_MS = 500.0
GROWTH = 1.10
"""The memory of the last lives may be so many times that of the second and third, at the same age."""

BAD = (
    b"nonsense\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: " + b"x" * 100_000,
    b"POST /v1/mechanism HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\nshort",
    b"GET /v1/nothing HTTP/1.1\r\nHost: elsewhere\r\n\r\n",
    b"GET /v1/mech",
    bytes(range(256)) * 20,
    b"",
)


@dataclass
class Seen:
    """What the clients saw."""

    taken: list[tuple[float, float]] = field(default_factory=list)
    whole: int = 0
    cut: int = 0
    refused: int = 0
    slow: int = 0
    bad: int = 0


async def fetch(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, pause: float = 0.0
) -> bool:
    """Ask once and read the whole answer; tell whether the connection may be used again.

    Raises
    ------
    ConnectionError
        Where nothing came: the headers may not have been read.
    asyncio.IncompleteReadError
        Where an answer began and did not end.
    """
    writer.write(ASK)
    try:
        await writer.drain()
        head = await reader.readuntil(b"\r\n\r\n")
    except (OSError, asyncio.IncompleteReadError) as error:
        if getattr(error, "partial", b""):
            raise
        raise ConnectionError from None
    fields = dict(line.split(b": ", 1) for line in head.lower().split(b"\r\n")[1:-2])
    left = int(fields[b"content-length"])
    if not head.startswith(b"HTTP/1.1 200"):
        raise ValueError(head[:40])
    while left:
        part = await reader.read(min(left, 4096 if pause else 1 << 16))
        if not part:
            raise asyncio.IncompleteReadError(b"", left)
        left -= len(part)
        if pause:
            await asyncio.sleep(pause)
    return fields.get(b"connection") != b"close"


async def client(port: int, end: float, rest: float, seen: Seen, *, pause: float = 0.0) -> None:
    """Fetch over and over, on one connection as long as it lasts; a slow one reads a little at a time."""
    while time.monotonic() < end:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            seen.refused += 1
            await asyncio.sleep(0.25)
            continue
        again = True
        while again and time.monotonic() < end:
            begun = time.monotonic()
            try:
                again = await fetch(reader, writer, pause=pause)
                seen.whole += 1
                if pause:
                    seen.slow += 1
                else:
                    seen.taken.append((begun, time.monotonic() - begun))
            except ConnectionError:
                seen.refused += 1
                again = False
            except (asyncio.IncompleteReadError, ValueError, OSError):
                seen.cut += 1
                again = False
            await asyncio.sleep(rest * random.uniform(0.5, 1.5))  # noqa: S311 - of a load
        writer.close()


async def misbehave(port: int, end: float, seen: Seen) -> None:
    """Send what is no request, or half of one, and go without a word."""
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(random.choice(BAD))  # noqa: S311 - of a load
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(reader.read(100), random.choice([0.01, 0.5, 3.0]))  # noqa: S311
            if random.random() < 0.5:  # noqa: S311
                writer.transport.abort()
            else:
                writer.close()
            seen.bad += 1
        await asyncio.sleep(0.2)


async def ready(port: int) -> int:
    """Ask whether it is ready: the status, 0 where nothing answers."""
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        line = await reader.readline()
        writer.close()
        return int(line.split()[1]) if line else 0
    except OSError:
        return 0


@dataclass
class Life:
    """One process of the server."""

    started: float
    ended: float
    begun: int
    answered: int
    memory: float
    unready_ms: float
    ready_ms: float


async def live(path: Path, port: int, seconds: float) -> Life:
    """Serve for some seconds, and be told to stop."""
    options = ["--port", str(port), "--json", "--log", "json", "--rate", "1000000", "--drain", "2"]
    server = await asyncio.create_subprocess_exec(
        *COMMAND,
        *("serve", "--mechanism", str(path), *options),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert server.stdout is not None
    while (await server.stdout.readline()).rstrip() != b"}":
        pass
    said = time.monotonic()
    while await ready(port) != 200:  # noqa: ASYNC110 - another process
        await asyncio.sleep(0.01)
    started = time.monotonic()
    await asyncio.sleep(seconds)
    took, told = memory(server.pid), time.monotonic()
    server.send_signal(signal.SIGTERM)
    # Until it says no, or takes no connection any more.
    while await ready(port) == 200:  # noqa: ASYNC110 - another process
        await asyncio.sleep(0.005)
    unready = time.monotonic() - told
    _, log = await server.communicate()
    assert server.returncode == 0, log[-1000:]
    stopped = json.loads(log.decode().strip().splitlines()[-1])
    begun, answered = int(stopped["begun"]), int(stopped["answered"])
    times = 1000 * unready, 1000 * (started - said)
    return Life(started, told, begun, answered, took, *times)


async def soak(
    path: Path, *, clients: int, seconds: float, life: float, rest: float
) -> tuple[Seen, list[Life]]:
    """Let all of them run."""
    seen, lives, port = Seen(), [], random.randrange(20_000, 30_000)  # noqa: S311 - of a load
    end = time.monotonic() + seconds
    slow, bad = max(1, clients // 15), max(1, clients // 15)
    tasks = [client(port, end, rest, seen) for _ in range(clients - slow - bad)]
    tasks += [client(port, end, rest, seen, pause=0.02) for _ in range(slow)]
    tasks += [misbehave(port, end, seen) for _ in range(bad)]
    running = [asyncio.ensure_future(task) for task in tasks]
    while (left := end - time.monotonic()) > 0:
        lives.append(await live(path, port, min(life, max(left, 1.0))))
        print(f"  {len(lives)} lives, {seen.whole} answers, {lives[-1].memory:.1f} MiB", flush=True)
    await asyncio.gather(*running)
    return seen, lives


def main() -> int:
    """Serve, load, print, assert."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=150)
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--life", type=float, default=60.0, help="seconds from start to restart")
    parser.add_argument("--rest", type=float, default=1.0, help="pause of a client between fetches")
    parser.add_argument("--places", type=int, default=20, help="rows and columns of the grid")
    options = parser.parse_args()
    region = Region.from_grid(options.places, options.places, cell="0.5", unit="km")
    made = design(region, MetricDP(2, "km"), method="closed-form", scope="places")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "city.mechanism")
        save_mechanism(Mechanism.from_design(made, region), path)
        work = soak(
            path,
            clients=options.clients,
            seconds=options.seconds,
            life=options.life,
            rest=options.rest,
        )
        seen, lives = asyncio.run(work)
    calm = [
        1000 * took
        for begun, took in seen.taken
        if any(one.started + 1 < begun and begun + took < one.ended for one in lives)
    ]
    p50, p95, p99 = np.quantile(calm, [0.5, 0.95, 0.99])
    lost = sum(one.begun - one.answered for one in lives)
    full = [one.memory for one in lives[1:-1]] or [lives[0].memory]
    found = {
        "answers": seen.whole,
        "of slow readers": seen.slow,
        "bad clients": seen.bad,
        "refused": seen.refused,
        "cut": seen.cut,
        "lost": lost,
        "p50 ms": p50,
        "p95 ms": p95,
        "p99 ms": p99,
        "MiB early": max(full[:2]),
        "MiB late": max(full[-2:]),
        "unready ms, worst": max(one.unready_ms for one in lives),
        "ready ms, worst": max(one.ready_ms for one in lives),
    }
    print(
        f"{options.clients} clients, {options.seconds:g} s, {len(lives)} lives, {region.K} places"
    )
    for name, value in found.items():
        print(f"  {name:<18} {value:.4g}")
    assert seen.cut == 0, "an answer that began did not end"
    assert lost == 0, "a request whose headers were read was not answered"
    assert p99 <= LIMIT_MS, "slower than promised"
    assert found["MiB late"] <= GROWTH * found["MiB early"], "memory grows"
    return 0


if __name__ == "__main__":
    sys.exit(main())
