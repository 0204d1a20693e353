"""A week of the location service in minutes: republications, kills, a full disk and a rotated log under steady load.

Each life of the server is a process of its own. It ends by SIGTERM, as for a republication, or by SIGKILL; the next one
serves the other of two mechanisms. In turn its log is a file that is rotated while it runs, and a full disk. Asserted:
no request whose headers were read by a server that ended by itself stays unanswered, no client sees anything but one of
the two mechanisms, whole, and memory at equal age, and over the last life, stays within 5 %.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import hashlib
import json
import random
import signal
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from lrgeo_service import COMMAND, memory
from service_soak import ready

from discreet.artefact import save_mechanism
from discreet.core.guarantee import MetricDP
from discreet.lrgeo import Mechanism, Region, design

GROWTH = 1.05
FULL_DISK = Path("/dev/full")
SECONDS_BEFORE_MEMORY = 3.0
"""Age at which the memory of each life is compared."""


@dataclass
class Seen:
    """What clients saw: digests of answers, and requests that were refused or cut."""

    digests: dict[str, int] = field(default_factory=dict)
    refused: int = 0
    cut: int = 0


@dataclass
class Life:
    """One process of the server: why it ended, its memory in MiB each second, and requests it left unanswered."""

    ended_by: str
    curve: list[float]
    unanswered: int


async def ask(port: int, end: float, pause: float, seen: Seen) -> None:
    """Fetch the mechanism at a steady rate, each time on a connection of its own."""
    next_at = time.monotonic() + random.uniform(0, pause)  # noqa: S311 - of a load
    while next_at < end:
        await asyncio.sleep(max(0.0, next_at - time.monotonic()))
        next_at += pause
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            seen.refused += 1
            continue
        try:
            writer.write(
                b"GET /v1/mechanism HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
            )
            head, _, body = (await reader.read(-1)).partition(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
            if not head.startswith(b"HTTP/1.1 200") or len(body) != length:
                raise ConnectionError
            digest = hashlib.sha256(body).hexdigest()
            seen.digests[digest] = seen.digests.get(digest, 0) + 1
        except (OSError, ValueError):
            seen.cut += 1
        finally:
            writer.close()


def _last_line(file: str) -> str:
    return Path(file).read_text(encoding="utf-8").splitlines()[-1]


async def live(path: Path, port: int, log: Path, seconds: float, *, kill: bool) -> Life:
    """Serve for some seconds with the log in a file, rotate it, and end the process."""
    options = ["--port", str(port), "--log", "json", "--rate", "1000000", "--drain", "0.5"]
    with log.open("ab") as lines:
        server = await asyncio.create_subprocess_exec(
            *COMMAND,
            *("serve", "--mechanism", str(path), *options),
            stdout=asyncio.subprocess.DEVNULL,
            stderr=lines,
        )
    while await ready(port) != 200:
        assert server.returncode is None, "the server ended while it started"
        await asyncio.sleep(0.05)
    begun, curve = time.monotonic(), []
    while (age := time.monotonic() - begun) < seconds:
        if age >= SECONDS_BEFORE_MEMORY:
            curve.append(memory(server.pid))
        await asyncio.sleep(1)
    if log != FULL_DISK:
        await asyncio.to_thread(log.rename, f"{log}.1")
    server.send_signal(signal.SIGKILL if kill else signal.SIGTERM)
    status = await server.wait()
    assert status == (-signal.SIGKILL if kill else 0), status
    unanswered = 0
    if not kill and log != FULL_DISK:
        told = json.loads(_last_line(f"{log}.1"))
        unanswered = int(told["begun"]) - int(told["answered"])
    return Life("SIGKILL" if kill else "SIGTERM", curve, unanswered)


async def week(
    paths: list[Path], folder: Path, options: argparse.Namespace
) -> tuple[Seen, list[Life]]:
    """Run all lives under load."""
    port, seen, lives = random.randrange(20_000, 30_000), Seen(), []  # noqa: S311 - of a load
    clients = max(1, options.rate)
    load = [
        asyncio.ensure_future(ask(port, float("inf"), clients / options.rate, seen))
        for _ in range(clients)
    ]
    kills = [True] * options.kills + [False] * options.republications
    random.shuffle(kills)
    for number, kill in enumerate([*kills, False]):
        last = number == len(kills)
        log = FULL_DISK if number % 5 == 4 and not last else folder / f"{number}.log"
        seconds = options.last if last else options.life
        lives.append(await live(paths[number % 2], port, log, seconds, kill=kill))
    for task in load:
        task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.gather(*load)
    return seen, lives


def main() -> int:
    """Run, print, assert."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=int, default=200, help="requests a second")
    parser.add_argument("--republications", type=int, default=20)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--life", type=float, default=5.0, help="seconds of a life")
    parser.add_argument("--last", type=float, default=600.0, help="seconds of the last life")
    options = parser.parse_args()
    region = Region.from_grid(6, 6, cell="0.5", unit="km")
    with tempfile.TemporaryDirectory() as name:
        folder, paths = Path(name), []
        for epsilon in (3, 4):
            made = design(region, MetricDP(epsilon, "km"), method="closed-form", scope="places")
            paths.append(folder / f"{epsilon}.mechanism")
            save_mechanism(Mechanism.from_design(made, region), paths[-1])
        begun = time.monotonic()
        seen, lives = asyncio.run(week(paths, folder, options))
    took, answers = time.monotonic() - begun, sum(seen.digests.values())
    young = [life.curve[0] for life in lives if life.curve]
    last = lives[-1].curve
    print(f"{len(lives)} lives in {took:.0f} s, {answers} answers, {answers / took:.0f} a second")
    print(f"  refused while no server was there {seen.refused}, cut by kills {seen.cut}")
    print(
        f"  unanswered by servers that ended by themselves {sum(one.unanswered for one in lives)}"
    )
    print(f"  MiB at {SECONDS_BEFORE_MEMORY:g} s of age: {min(young):.1f} to {max(young):.1f}")
    print("  MiB of the last life:", *(f"{one:.1f}" for one in last[:: max(1, len(last) // 20)]))
    assert len(seen.digests) == 2, "an answer is neither of the two mechanisms"
    assert not any(one.unanswered for one in lives)
    assert max(young) <= GROWTH * min(young), "a life begins with more memory than another"
    assert max(last) <= GROWTH * last[0], "memory grows"
    return 0


if __name__ == "__main__":
    sys.exit(main())
