"""The steps of a large table on dask.distributed: the same classes, nothing private that a scheduler sees, losses."""

from __future__ import annotations

import io
import logging
import os
import signal
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from discreet.core.errors import InvalidProblemError, SolverError
from discreet.kanonymity.search import top as first
from discreet.streaming import anonymize as large
from discreet.streaming import engines as large_engines
from discreet.streaming import pieces
from discreet.streaming import steps as large_steps
from discreet.streaming.anonymize import anonymize_files
from kanonymity.test_large import (
    GUARANTEE,
    KINDS,
    MODELS,
    check,
    folder_of,
    left_behind,
    names_in,
    people,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")

pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning:distributed", "ignore::ResourceWarning"
)

OPTIONS: dict[str, Any] = {
    "attributes": KINDS,
    "models": {"ill": MODELS["ill"][:2]},
    "drop": ["who"],
    "keep": ["row"],
}


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE_ROWS", 150)
    monkeypatch.setattr(large, "BATCH", (10, 130))
    monkeypatch.setattr(first, "TOP", replace(first.TOP, max_rows_of_one_part=100))
    monkeypatch.setattr(first, "TOP", replace(first.TOP, min_sample_rows=300))


@pytest.fixture
def client() -> Iterator[Any]:
    """Start workers that are threads of this process."""
    with cluster_of_threads() as cluster, distributed.Client(cluster, set_as_default=False) as one:
        yield one


def cluster_of_threads() -> Any:
    """Start a cluster; on a busy machine it sometimes does not start up at once.

    Without a dashboard its server still wants port 8787, and warns where another test has that.
    """
    for left in (2, 1, 0):
        try:
            return distributed.LocalCluster(
                n_workers=1, threads_per_worker=2, processes=False, dashboard_address="127.0.0.1:0"
            )
        except (OSError, RuntimeError, TimeoutError):
            if not left:
                raise
            time.sleep(1)
    raise AssertionError


def test_workers_give_the_classes_of_one_process_and_see_no_value(
    tmp_path: Path, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    original, log = people(), io.StringIO()
    handler = logging.StreamHandler(log)
    logging.getLogger("distributed").addHandler(handler)
    source = folder_of(original, tmp_path / "in")
    try:
        made = anonymize_files(
            source, tmp_path / "out", GUARANTEE, executor=client.get_executor(), **OPTIONS
        )
    finally:
        logging.getLogger("distributed").removeHandler(handler)
    alone = anonymize_files(source, tmp_path / "alone", GUARANTEE, **OPTIONS)
    ours, theirs = check(tmp_path / "out", original), check(tmp_path / "alone", original)
    assert {cell: sorted(rows) for cell, rows in ours.items()} == {
        cell: sorted(rows) for cell, rows in theirs.items()
    }
    assert made.diagnostics.information_loss == alone.diagnostics.information_loss
    assert "nurse" not in log.getvalue()

    def loud(space: Any, number: int) -> None:
        raise RuntimeError("the row of Mrs Smith")

    monkeypatch.setitem(large_steps.STEPS, "finish", loud)
    log.truncate(0)
    with pytest.raises(SolverError) as caught:
        anonymize_files(source, tmp_path / "no", GUARANTEE, executor=client, **OPTIONS)
    assert "Smith" not in f"{caught.value}{log.getvalue()}"
    assert names_in(tmp_path) == ["alone", "in", "out"]


def test_workers_of_other_versions_or_elsewhere_are_refused(
    tmp_path: Path, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = folder_of(people(), tmp_path / "in")
    plain = large_steps.look_around

    def without(*given: str) -> Any:
        raise ModuleNotFoundError(f"no package, says Mrs Smith of {given}")

    for answer, said in (
        (without, "can't load them .ModuleNotFoundError.$"),
        (lambda *given: (False, plain(*given)[1]), "does not see"),
        (lambda *given: (True, ("0.0", *plain(*given)[1][1:])), "versions"),
    ):
        calls = iter([plain, answer])
        # The first look is of this process, the second of the worker.
        monkeypatch.setattr(
            large_engines, "look_around", lambda *given, calls=calls: next(calls)(*given)
        )
        with pytest.raises(InvalidProblemError, match=said):
            anonymize_files(source, tmp_path / "out", GUARANTEE, executor=client, **OPTIONS)
    assert names_in(tmp_path) == ["in"]


def test_a_connection_that_is_lost_is_not_logged_as_a_traceback(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(distributed, "Client", lambda *given, **more: (given, more))
    logs = [logging.getLogger(name) for name in ("distributed", "distributed.client")]
    heard = io.StringIO()
    handler, levels = logging.StreamHandler(heard), [one.level for one in logs]
    for log in logs:
        log.addHandler(handler)
    try:
        assert large_engines.connected("tcp://127.0.0.1:9")[0] == ("tcp://127.0.0.1:9",)
        for log in logs:
            log.error("Traceback")
    finally:
        for log, level in zip(logs, levels, strict=True):
            log.removeHandler(handler)
            log.setLevel(level)
    assert "Traceback" not in heard.getvalue()


def test_workers_that_all_go_away_for_good_are_said_and_leave_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hasty = large_engines.PATIENCE._replace(
        seconds_without_workers=1, seconds_between_checks=0.1, seconds_to_end=0.5
    )
    monkeypatch.setattr(large_engines, "PATIENCE", hasty)
    source = folder_of(people(), tmp_path / "in")
    with (
        cluster_of_threads() as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        run = large_engines.DaskEngine.run

        def late(engine: Any, space: Any, kind: str, count: int, on_done: Any) -> None:
            if kind == "route":
                # A worker that only retires stays while nobody else can hold what it holds.
                cluster.scale(0)
                while client.scheduler_info()["workers"]:
                    time.sleep(0.01)
            run(engine, space, kind, count, on_done)

        monkeypatch.setattr(large_engines.DaskEngine, "run", late)
        with pytest.raises(SolverError, match="no worker was there for 1 seconds"):
            anonymize_files(source, tmp_path / "out", GUARANTEE, executor=client, **OPTIONS)
    assert names_in(tmp_path) == ["in"]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", ["survey", "route", "finish", "atoms", "publish", "count"])
def test_a_worker_that_is_killed_costs_time_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    # Enough steps of each kind that some are left when a worker dies, and not hundreds.
    monkeypatch.setattr(pieces, "PIECE_ROWS", 2_000)
    monkeypatch.setattr(large, "BATCH", (10, 3_000))
    original = pl.concat([people(seed).drop("row") for seed in range(40)])
    original = original.with_row_index("row")
    source = folder_of(original, tmp_path / "in", parts=12)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0"
        ) as one,
        distributed.Client(one, set_as_default=False) as client,
    ):
        killed: list[int] = []

        def kill() -> None:
            room = None
            until = time.monotonic() + 600
            while not killed and time.monotonic() < until:
                room = room or next(tmp_path.glob(".discreet-*"), None)
                if room is not None and any(room.glob(f"{kind}-*")):
                    worker = next(iter(client.run(os.getpid).values()))
                    os.kill(worker, signal.SIGKILL)
                    killed.append(worker)
                time.sleep(0.005)

        watch = threading.Thread(target=kill)
        watch.start()
        anonymize_files(source, tmp_path / "out", GUARANTEE, executor=client, **OPTIONS)
        watch.join()
    assert killed
    check(tmp_path / "out", original)
    assert left_behind(tmp_path) == []


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", ["survey", "finish", "publish"])
def test_a_scheduler_that_goes_away_is_said_and_leaves_nothing(tmp_path: Path, kind: str) -> None:
    source = folder_of(people(), tmp_path / "in")
    cluster = distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0"
    )
    client = distributed.Client(cluster, set_as_default=False)

    def end() -> None:
        while not any(tmp_path.glob(f".discreet-*/{kind}-*")):
            time.sleep(0.01)
        cluster.close()

    watch = threading.Thread(target=end)
    watch.start()
    with pytest.raises(SolverError, match="scheduler"):
        anonymize_files(source, tmp_path / "out", GUARANTEE, executor=client, **OPTIONS)
    watch.join()
    assert names_in(tmp_path) == ["in"]
