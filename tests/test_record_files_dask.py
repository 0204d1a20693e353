"""Rows in files counted by the workers of Dask: the same counts, nothing private that a scheduler sees, losses."""

from __future__ import annotations

import io
import logging
import os
import signal
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from discreet.artefact import RecordFiles, large_steps, pieces, record_files
from discreet.core.budget import MemoryBudget
from discreet.core.errors import DiscreetError, InvalidProblemError, SolverError
from discreet.core.guarantee import PureDP
from discreet.hierarchy import from_records, plan
from kanonymity.test_large_dask import cluster_of_threads
from test_record_files import CANARY, LISTED, PERSON, REGIONS, by_hand, people, told, write

if TYPE_CHECKING:
    from collections.abc import Iterator

distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")

pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning:distributed", "ignore::ResourceWarning"
)

GIVEN: dict[str, Any] = {"unit": "home", "columns": REGIONS, "regions": LISTED, "max_size": 4}


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read in small pieces."""
    monkeypatch.setattr(pieces, "PIECE", 40)
    monkeypatch.setattr(record_files, "ROWS", (7, 30))


@pytest.fixture
def client() -> Iterator[Any]:
    """Start workers that are threads of this process."""
    with cluster_of_threads() as cluster, distributed.Client(cluster, set_as_default=False) as one:
        yield one


def test_workers_count_the_same_and_the_scheduler_sees_no_value(
    tmp_path: Path, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = people(1, text=True).with_columns(pl.format(CANARY + " {}", "home").alias("home"))
    source = write(table, tmp_path / "in", 4)
    log, keys = io.StringIO(), set[str]()
    handler = logging.StreamHandler(log)
    logging.getLogger("distributed").addHandler(handler)
    submit = client.map

    def seen(function: Any, *given: Any, **options: Any) -> Any:
        keys.update(options["key"])
        keys.update(str(given))
        return submit(function, *given, **options)

    monkeypatch.setattr(client, "map", seen)
    try:
        made = from_records(RecordFiles(source, tmp_path, executor=client), **GIVEN)
        assert told(made) == by_hand(table, 4)
        found: list[bool] = []
        plain = large_steps.STEPS["gather"]

        def loud(space: Any, number: int) -> None:
            found.append(True)
            raise RuntimeError(CANARY)

        monkeypatch.setitem(large_steps.STEPS, "gather", loud)
        budget = MemoryBudget({"d": PureDP(5, neighbors="add-remove-person")})
        planned = plan(LISTED, PERSON, columns=REGIONS, unit="home", max_size=4)
        with pytest.raises(SolverError) as caught:
            planned.release(
                RecordFiles(source, tmp_path, executor=client), budget=budget, dataset="d"
            )
        assert found
        assert budget.account("d").left[0] == 4
        assert "The budget stays charged." in caught.value.__notes__
        monkeypatch.setitem(large_steps.STEPS, "gather", plain)
    finally:
        logging.getLogger("distributed").removeHandler(handler)
    assert keys
    for text in (log.getvalue(), str(caught.value), "".join(keys)):
        assert "Canary" not in text
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_what_is_spilled_is_for_the_owner_alone(
    tmp_path: Path, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write(people(2), tmp_path / "in", 2)
    modes: set[int] = set()
    plain = large_steps.STEPS["gather"]

    def look(space: Any, number: int) -> None:
        modes.update(path.stat().st_mode & 0o777 for path in space.folder.iterdir())
        plain(space, number)

    monkeypatch.setitem(large_steps.STEPS, "gather", look)
    from_records(RecordFiles(source, tmp_path, executor=client), **GIVEN)
    assert modes == {0o600}


def test_a_step_that_is_done_twice_changes_nothing(
    tmp_path: Path, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = people(3)
    source = write(table, tmp_path / "in", 3)
    for kind in ("scatter", "gather"):
        plain = large_steps.STEPS[kind]

        def twice(space: Any, number: int, plain: Any = plain) -> None:
            plain(space, number)
            plain(space, number)

        monkeypatch.setitem(large_steps.STEPS, kind, twice)
    made = from_records(RecordFiles(source, tmp_path, executor=client), **GIVEN)
    assert told(made) == by_hand(table, 4)


def test_workers_that_do_not_share_the_folder_are_refused_before_the_charge(
    tmp_path: Path, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from discreet.artefact import large_engines

    plain = large_steps.look_around
    calls = iter([plain, lambda *given: (False, plain(*given)[1])])

    def look(*given: Any) -> Any:
        return next(calls)(*given)

    monkeypatch.setattr(large_engines, "look_around", look)
    source = write(people(4), tmp_path / "in", 2)
    budget = MemoryBudget({"d": PureDP(5, neighbors="add-remove-person")})
    planned = plan(LISTED, PERSON, columns=REGIONS, unit="home", max_size=4)
    with pytest.raises(InvalidProblemError, match="does not see"):
        planned.release(RecordFiles(source, tmp_path, executor=client), budget=budget, dataset="d")
    assert budget.account("d").left[0] == 5


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", ["scatter", "gather"])
def test_a_worker_that_is_killed_costs_time_alone(tmp_path: Path, kind: str) -> None:
    table = people(5, units=4_000)
    source = write(table, tmp_path / "in", 12)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as one,
        distributed.Client(one, set_as_default=False) as client,
    ):
        killed: list[int] = []

        def kill() -> None:
            until = time.monotonic() + 600
            while not killed and time.monotonic() < until:
                if any(tmp_path.glob(f".discreet-*/{kind}-*")):
                    worker = next(iter(client.run(os.getpid).values()))
                    os.kill(worker, signal.SIGKILL)
                    killed.append(worker)
                time.sleep(0.005)

        watch = threading.Thread(target=kill)
        watch.start()
        made = from_records(RecordFiles(source, tmp_path, executor=client), **GIVEN)
        watch.join()
    assert killed
    assert told(made) == by_hand(table, 4)
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_scheduler_that_goes_away_is_charged_once_and_said(tmp_path: Path) -> None:
    source = write(people(6, units=4_000), tmp_path / "in", 12)
    cluster = distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None)
    client = distributed.Client(cluster, set_as_default=False)

    def end() -> None:
        while not any(tmp_path.glob(".discreet-*/scatter-*")):
            time.sleep(0.01)
        cluster.close()

    watch = threading.Thread(target=end)
    watch.start()
    budget = MemoryBudget({"d": PureDP(5, neighbors="add-remove-person")})
    planned = plan(LISTED, PERSON, columns=REGIONS, unit="home", max_size=4)
    with pytest.raises(DiscreetError, match="scheduler") as caught:
        planned.release(RecordFiles(source, tmp_path, executor=client), budget=budget, dataset="d")
    watch.join()
    assert "The budget stays charged." in caught.value.__notes__
    assert budget.account("d").left[0] == 4
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
