"""``serve`` and ``locate``: what they refuse, and what they say, in this process."""

from __future__ import annotations

import importlib.util
import io
import json
import re
import sys
import threading
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import warm
from cli.commands import say
from discreet.artefact import save_mechanism
from discreet.cli.locate import read_place
from discreet.core import extras
from discreet.core.errors import InvalidProblemError, SolverError
from discreet.core.guarantee import MetricDP
from discreet.service import create_app
from service.running import in_thread, mechanism, region, sound_app

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fastapi import FastAPI

OUTSIDE = "41.7263549 12.4817"
HERE = "41.8934 12.4851"
GRID = ["--grid", "5x5", "--cell", "0.5", "--epsilon", "2/km"]


@pytest.fixture
def url() -> Iterator[str]:
    """Serve the small mechanism."""
    with in_thread(sound_app()) as address:
        yield address


def typed(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))


def test_a_place_on_standard_input_is_located_and_not_repeated(
    url: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    files = ["--state", tmp_path / "s", "--cache", tmp_path / "c", "--max-epsilon", "2/km"]
    typed(monkeypatch, f"{HERE}\n")
    said = say(capsys, "locate", "-", "--places-only", "--server", url, "--json", *files)
    assert (said.status, said.err) == (0, "")
    assert tuple(said.data["report"]) in [region().where(k) for k in range(region().K)]
    assert said.data["spent_today"] == said.data["spent_in_all"] == 2.0
    assert said.data["mechanism"] == mechanism().digest
    for wrong in (OUTSIDE, "817.263549 1", "817263549", "", "817263549 x", "1 2 3", "nan nan"):
        typed(monkeypatch, f"{wrong}\n")
        more = ["--epoch", 86_400, "--state", tmp_path / "t", "--cache", tmp_path / "c"]
        refused = say(capsys, "locate", "-", "--places-only", "--server", url, *more)
        assert (refused.status, refused.out) == (2, "")
        assert refused.err.startswith("discreet: PLACE: expected")
        assert not any(part in refused.err for part in ("7263549", "817", "12.48"))
        assert not (tmp_path / "t").exists()


@pytest.mark.parametrize("place", ["geo:41.8934,12.4851", "GEO:41.8934,12.4851,21.5;crs=WGS84;u=8"])
def test_a_geo_uri_is_a_place(place: str) -> None:
    assert read_place([place]) == read_place(HERE.split())


@pytest.mark.parametrize(
    "place",
    ["geo:41.8934", "geo:1,2,3,4", "geo:1,2;crs=nad27", "http:1,2", "1,2,3", "geo:", "geo:x,y"],
)
def test_another_uri_is_no_place_and_is_not_repeated(place: str) -> None:
    with pytest.raises(InvalidProblemError, match="PLACE: expected two numbers") as said:
        read_place([place])
    assert place not in str(said.value)


@pytest.mark.parametrize(
    "given",
    [
        b"\xff\xfe41.8934 12.4851\n",
        b"41.8934" + b"0" * 200 + b" 12.4851\n",
    ],
    ids=["no UTF-8", "too long"],
)
def test_bytes_that_are_no_place_are_refused_and_not_repeated(
    url: str, tmp_path: Path, given: bytes
) -> None:
    """By a process of its own, whose standard input is decoded as it really is."""
    files = ["--state", tmp_path / "s", "--cache", tmp_path / "c", "--max-epsilon", "2/km"]
    line = ["locate", "-", "--places-only", "--server", url, *map(str, files)]
    done = warm.run(*line, data=given)
    assert (done.returncode, done.stdout) == (2, "")
    # On a busy machine it says first that it runs.
    (said,) = (line for line in done.stderr.splitlines() if "is running" not in line)
    assert said.startswith("discreet: PLACE: expected two numbers")
    assert "8934" not in done.stderr
    assert not (tmp_path / "s").exists()


def test_without_standard_input_there_is_no_place(
    url: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    files = ["--state", tmp_path / "s", "--cache", tmp_path / "c", "--max-epsilon", "2/km"]
    said = say(capsys, "locate", "-", "--places-only", "--server", url, *files)
    assert said.status == 2
    assert "PLACE: expected two numbers on a line" in said.err


def test_a_report_of_an_earlier_mechanism_is_told_with_what_that_promised(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Drawn at 2 per km, repeated when the server has gone over to 1 per km."""
    files = ["--state", tmp_path / "s", "--cache", tmp_path / "c", "--epoch", 365 * 86_400]
    told = []
    for epsilon in (2, 1):
        with in_thread(create_app(mechanism(epsilon), region())) as address:
            typed(monkeypatch, HERE)
            more = ["--server", address, "--refresh", 0, "--json", "--quiet"]
            told.append(say(capsys, "locate", "-", "--places-only", *more, *files).data)
    # The plane of the earlier one is not known any more, nor how much longer it was than geodesics.
    first, second = (one["guarantee"].pop("sentence") for one in told)
    assert first.startswith(f"{second}; d is at most 1.00")
    assert told[0] == told[1]
    assert told[1]["guarantee"]["epsilon"] == "2"
    assert told[1]["mechanism"] == mechanism(2).digest


def test_a_place_as_arguments_is_located_with_a_warning(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = ["--state", tmp_path / "s", "--cache", tmp_path / "c"]
    said = say(capsys, "locate", *HERE.split(), "--places-only", "--server", url, *files)
    assert said.status == 0
    assert "list of processes" in said.err
    assert "guarantee" in said.out
    assert "metric differential privacy at 2 per km" in said.out
    pinned = say(
        capsys,
        "locate",
        *HERE.split(),
        "--places-only",
        "--server",
        url,
        "--pin",
        "--quiet",
        *files,
    )
    assert (pinned.status, pinned.err) == (0, "")
    assert "4 per km" in pinned.out


def test_places_in_the_south_and_west_begin_with_a_minus(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = ["--state", tmp_path / "s", "--cache", tmp_path / "c"]
    said = say(
        capsys, "locate", "-33.9", "-70.6", "--places-only", "--server", url, "--quiet", *files
    )
    assert said.status == 2
    assert "PLACE: expected a point in the region" in said.err


@pytest.mark.parametrize(
    ("options", "complaint"),
    {
        "accepted of nothing": (
            ["--server", "http://127.0.0.1:9", "--max-epsilon", 2],
            "--max-epsilon: expected a number per km or m",
        ),
        "accepted of another unit": (
            ["--server", "http://127.0.0.1:9", "--max-epsilon", "2/mile"],
            "--max-epsilon: expected a number per km or m",
        ),
        "nothing accepted": (
            ["--server", "http://127.0.0.1:9", "--max-epsilon", "0/km"],
            "--max-epsilon: expected a positive number",
        ),
        "no number": (
            ["--server", "http://127.0.0.1:9", "--max-epsilon", "x/km"],
            "--max-epsilon: expected",
        ),
        "plain HTTP without a limit": (
            ["--server", "http://192.0.2.1", "--plain-http"],
            "--max-epsilon: expected the weakest guarantee that you accept",
        ),
        "no TLS": (["--server", "http://192.0.2.1"], "--server: expected https"),
        "no address": (["--server", "here"], "--server: expected an address"),
        "odd epochs": (["--server", "http://127.0.0.1:9", "--epoch", 7], "--epoch: expected"),
        "no budget": (["--server", "http://127.0.0.1:9", "--per-day", 0], "--per-day: expected"),
        "no end": (["--server", "http://127.0.0.1:9", "--wait", "inf"], "--wait: expected seconds"),
        "no number of seconds": (
            ["--server", "http://127.0.0.1:9", "--wait", "nan"],
            "--wait: expected seconds",
        ),
        "never": (["--server", "http://127.0.0.1:9", "--refresh", "nan"], "--refresh: expected"),
        "life": (["--server", "http://127.0.0.1:9", "--for-life", "x"], "--for-life: expected"),
    }.values(),
)
def test_wrong_options_are_refused(
    capsys: pytest.CaptureFixture[str], options: list[str], complaint: str
) -> None:
    said = say(capsys, "locate", "-", "--quiet", *options)
    assert (said.status, said.out) == (2, "")
    assert complaint in said.err


def test_a_budget_that_is_gone_before_anything_was_reported_ends_with_its_status(
    url: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    typed(monkeypatch, HERE)
    files = ["--state", tmp_path / "s", "--cache", tmp_path / "c"]
    said = say(capsys, "locate", "-", "--places-only", "--server", url, "--for-life", 1, *files)
    assert (said.status, said.out) == (5, "")


@pytest.mark.parametrize(
    ("options", "complaint"),
    {
        "nothing": ([], "--epsilon: expected a budget"),
        "no region": (["--epsilon", "2/km"], "--roads: expected .* got neither"),
        "both": ([*GRID, "--roads", "x.csv"], "--roads: expected .* got both"),
        "wrong units": ([*GRID, "--unit", "m"], "--epsilon: expected a budget per m"),
        "no such unit": (["--grid", "2x2", "--epsilon", "2/mile"], "unit: expected 'km' or 'm'"),
        "a huge grid": (["--grid", "4000x4000", "--epsilon", "2/km"], "at most 100,000 secrets"),
        "no such grid": (["--grid", "4 of 4", "--epsilon", "2/km"], "--grid: expected"),
        "an odd cell": ([*GRID[:2], "--cell", "1/3", "--epsilon", "2/km"], "--cell: expected"),
        "no origin": ([*GRID, "--origin", "here"], "--origin: expected LAT,LON"),
        "spacing": ([*GRID, "--spacing", "0.2"], "--spacing: expected --roads"),
        "no roads": (["--roads", "no.csv", "--epsilon", "2/km", "--spacing", "1"], "--roads: exp"),
        "no spacing": (["--roads", "no.csv", "--epsilon", "2/km"], "--spacing: expected about"),
        "a cell": (
            ["--roads", "no.csv", "--cell", "1", "--epsilon", "2/km"],
            "--cell: expected --grid",
        ),
        "remote": ([*GRID, "--host", "192.0.2.1"], "--host: expected a loopback address"),
        "no port": ([*GRID, "--port", "70000"], "--port: expected a number"),
        "no rate": ([*GRID, "--rate", "0"], "--rate: expected a positive number that is finite"),
        "any rate": ([*GRID, "--rate", "inf"], "--rate: expected .* is finite, got inf"),
        "an odd rate": ([*GRID, "--rate", "nan"], "--rate: expected .* is finite, got nan"),
        "no folder": ([*GRID, "-o", "no/such/folder/x"], "--output: expected"),
        "no guarantee": ([*GRID, "--published"], "--published: expected no such option any more"),
        "no file": (["--mechanism", "no.mechanism"], "--mechanism: expected"),
        "two sources": ([*GRID, "--mechanism", "x"], "expected none beside --mechanism"),
    }.values(),
)
def test_a_server_refuses_what_makes_no_sense(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    complaint: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    port = [] if "--port" in options else ["--port", "0"]
    said = say(capsys, "serve", *options, *port, "--json")
    assert (said.status, said.out) == (2, "")
    message = json.loads(said.err)["error"]["message"]
    assert re.search(complaint, message), message


def test_roads_that_lead_nowhere_are_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    roads, nodes = tmp_path / "roads.csv", tmp_path / "nodes.csv"
    roads.write_text("u,v,length,oneway\n1,2,500,True\n3,4,500,True\n")
    nodes.write_text("osmid,y,x\n1,41.89,12.48\n2,41.9,12.48\n3,41.91,12.48\n4,41.92,12.48\n")
    said = say(
        capsys,
        "serve",
        "--roads",
        roads,
        "--nodes",
        nodes,
        "--spacing",
        0.2,
        "--epsilon",
        "5/km",
        "--port",
        0,
    )
    assert (said.status, said.out) == (2, "")
    assert "drive in a circle" in said.err


def test_a_mechanism_that_was_altered_by_one_bit_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "city.mechanism"
    save_mechanism(mechanism(), path)
    whole = path.read_bytes()
    position = whole.index(b'"anchors"') + 60
    path.write_bytes(whole[:position] + bytes([whole[position] ^ 1]) + whole[position + 1 :])
    said = say(capsys, "serve", "--mechanism", path, "--port", 0)
    assert (said.status, said.out) == (2, "")
    assert said.err.startswith("discreet: --mechanism: expected")


def test_without_the_extra_one_line_says_what_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(
        extras, "find_spec", lambda name: None if name == "fastapi" else found(name)
    )
    for command in (
        ["serve", *GRID],
        ["locate", "-", "--places-only", "--server", "http://127.0.0.1:1"],
    ):
        said = say(capsys, *command)
        assert (said.status, said.out) == (2, "")
        assert re.search(r'pip install "fastapi>=\S+", got no fastapi', said.err)


def run_until(future_of: list[Future[object]]) -> object:
    """Make a stand-in for the server's loop: it starts, waits for the design, and ends."""

    def run(
        app: FastAPI, bound: object, *, until: Future[object], on_started: object, **_: object
    ) -> None:
        future_of.append(until)
        assert callable(on_started)
        on_started("http://127.0.0.1:1")
        done = threading.Event()
        until.add_done_callback(lambda _: done.set())
        assert done.wait(300)

    return run


def test_a_design_is_announced_kept_and_ended(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    futures: list[Future[object]] = []
    monkeypatch.setattr("discreet.web.running.serve", run_until(futures))
    monkeypatch.setattr("discreet.web.serve", run_until(futures), raising=False)
    path = tmp_path / "city.mechanism"
    said = say(
        capsys,
        "serve",
        "--grid",
        "3x3",
        "--epsilon",
        "2/km",
        "-o",
        path,
        "--port",
        0,
        "--places-only",
    )
    assert said.status == 0
    assert "publishes a mechanism for 9 places" in said.out
    assert "designing" in said.err
    assert "ready: metric differential privacy at 2 per km" in said.err
    assert futures[0].result().guarantee.epsilon == MetricDP(2, "km").epsilon  # type: ignore[attr-defined]
    assert path.exists()


def test_a_design_that_fails_ends_the_server_with_its_status(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.web.serve", run_until([]), raising=False)

    def broken(*_: object, **__: object) -> None:
        raise SolverError("HiGHS", "gave up")

    monkeypatch.setattr("discreet.lrgeo.design", broken)
    said = say(capsys, "serve", *GRID, "--port", 0, "--quiet")
    assert said.status == 70
    assert "gave up" in said.err
