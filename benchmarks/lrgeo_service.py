"""The location service under load: many clients on loopback fetch the mechanism over and over.

The server is a process of its own, the command that people run. 20 clients for 10 seconds by default; ``--full`` is 200
for 10 minutes. Asserted: no error, p95 of a fetch within 300 milliseconds, and memory that stays.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
import numpy as np

from discreet.artefact import save_mechanism
from discreet.core.guarantee import MetricDP
from discreet.lrgeo import Mechanism, Region, design

COMMAND = [sys.executable, "-c", "from discreet.cli import main; main()"]
LIMIT_MS = 300.0
GROWTH = 1.25
"""Memory at the end may be so many times that of a quarter of the way."""


def memory(pid: int) -> float:
    """Resident memory of a process in MiB, where the system says it."""
    status = Path(f"/proc/{pid}/status")
    if not status.exists():
        return 0.0
    lines = status.read_text(encoding="utf-8").splitlines()
    (line,) = [line for line in lines if line.startswith("VmRSS:")]
    return int(line.split()[1]) / 1024


def processor(pid: int) -> float:
    """CPU seconds of a process so far, where the system says it: what a busy machine does not blur."""
    status = Path(f"/proc/{pid}/stat")
    if not status.exists():
        return 0.0
    fields = status.read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def client(url: str, end: float, rest: float, digest: str, taken: list[float]) -> int:
    """Fetch the mechanism until the time is over; count what was wrong."""
    wrong = 0
    # Making a context for TLS, which is not used, takes longer than a hundred fetches.
    transport = httpx.AsyncHTTPTransport(verify=False)
    async with httpx.AsyncClient(transport=transport, base_url=url, timeout=30) as asked:
        while time.monotonic() < end:
            begun = time.monotonic()
            try:
                answer = await asked.get("/v1/mechanism", headers={"accept": "application/msgpack"})
                good = answer.status_code == 200
                good = good and hashlib.sha256(answer.content).hexdigest() == digest
            except httpx.HTTPError:
                good = False
            taken.append(time.monotonic() - begun)
            wrong += not good
            await asyncio.sleep(rest)
    return wrong


async def load(
    url: str, pid: int, first: bytes, *, clients: int, seconds: float, rest: float
) -> dict[str, float]:
    """Let the clients run; measure from outside."""
    digest = hashlib.sha256(first).hexdigest()
    taken: list[float] = []
    spent = processor(pid)
    end = time.monotonic() + seconds
    tasks = [asyncio.ensure_future(client(url, end, rest, digest, taken)) for _ in range(clients)]
    await asyncio.sleep(seconds / 4)
    early = memory(pid)
    wrong = sum(await asyncio.gather(*tasks))
    quantiles = 1000 * np.quantile(taken, [0.5, 0.95, 0.99])
    return {
        "fetches": len(taken),
        "per_second": len(taken) / seconds,
        "errors": wrong,
        "p50_ms": float(quantiles[0]),
        "p95_ms": float(quantiles[1]),
        "p99_ms": float(quantiles[2]),
        "cpu_ms_each": 1000 * (processor(pid) - spent) / len(taken),
        "kB": len(first) / 1000,
        "MiB_early": early,
        "MiB_late": memory(pid),
    }


def main() -> int:
    """Serve, load, print, assert."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--rest", type=float, default=1.0, help="pause of a client between fetches")
    parser.add_argument("--places", type=int, default=20, help="rows and columns of the grid")
    parser.add_argument("--full", action="store_true", help="200 clients, 10 minutes, 1600 places")
    options = parser.parse_args()
    if options.full:
        options.clients, options.seconds, options.places = 200, 600.0, 40
    region = Region.from_grid(options.places, options.places, cell="0.5", unit="km")
    made = design(region, MetricDP(2, "km"), method="closed-form", scope="places")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "city.mechanism")
        save_mechanism(Mechanism.from_design(made, region), path)
        line = ["serve", "--mechanism", str(path), "--port", "0", "--json", "--rate", "1000000"]
        server = subprocess.Popen(
            [*COMMAND, *line], stdout=subprocess.PIPE, text=True, env=os.environ
        )
        try:
            assert server.stdout is not None
            text = ""
            for part in server.stdout:
                text += part
                if part.startswith("}"):
                    break
            url = json.loads(text)["url"]
            headers = {"accept": "application/msgpack"}
            first = httpx.get(f"{url}/v1/mechanism", headers=headers, trust_env=False, timeout=60)
            first.raise_for_status()
            asked = load(
                url,
                server.pid,
                first.content,
                clients=options.clients,
                seconds=options.seconds,
                rest=options.rest,
            )
            found = asyncio.run(asked)
        finally:
            server.terminate()
            status = server.wait(60)
    print(f"{options.clients} clients, {options.seconds:g} s, {region.K} places")
    for name, value in found.items():
        print(f"  {name:<12} {value:.4g}")
    assert status == 0, status
    assert found["errors"] == 0, found
    assert found["p95_ms"] <= LIMIT_MS, found
    assert found["MiB_late"] <= GROWTH * found["MiB_early"], found
    return 0


if __name__ == "__main__":
    sys.exit(main())
