"""Rows in files counted by the workers of Dask: the same counts, nothing private that a scheduler sees, losses."""

from __future__ import annotations

import importlib
import io
import logging
import os
import signal
import threading
import time
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import test_cell_files as cells_of_people
from discreet.core.budget import MemoryBudget
from discreet.core.errors import DiscreetError, InvalidProblemError, SolverError
from discreet.core.guarantee import PureDP, ZeroConcentratedDP
from discreet.hierarchy import contingency, from_records, plan
from discreet.hierarchy.contingency.records import RecordColumns, count_cells
from discreet.kanonymity.risk import risk
from discreet.streaming import RecordFiles, pieces, record_files
from discreet.streaming import steps as large_steps
from kanonymity.test_large_dask import cluster_of_threads
from test_record_files import CANARY, LISTED, PERSON, REGIONS, by_hand, people, told, write

if TYPE_CHECKING:
    from collections.abc import Iterator

distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")

pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning:distributed", "ignore::ResourceWarning"
)

tables_plan: Any = importlib.import_module("discreet.hierarchy.contingency.plan")
"""The module; the package has a function of its name."""

GIVEN: dict[str, Any] = {"unit": "home", "columns": REGIONS, "regions": LISTED, "max_size": 4}


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read in small pieces."""
    monkeypatch.setattr(pieces, "PIECE_ROWS", 40)
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
        assert (
            "The budget stays charged: a failure after reading began may depend on the data"
            in caught.value.__notes__
        )
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
        for path in space.folder.iterdir():
            # The mark of a step that another worker ends may be gone.
            with suppress(FileNotFoundError):
                modes.add(path.stat().st_mode & 0o777)
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
    from discreet.streaming import engines as large_engines

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


def test_cells_and_classes_are_counted_the_same(tmp_path: Path, client: Any) -> None:
    table = cells_of_people.people(21)
    source = write(table, tmp_path / "in", 4)
    files = RecordFiles(source, tmp_path, executor=client)
    columns = RecordColumns(cells_of_people.REGIONS, "who")
    expected = count_cells(table, cells_of_people.frame(), columns).counts
    assert (count_cells(files, cells_of_people.frame(), columns).counts == expected).all()
    names = ["state", "county", "age"]
    assert risk(files, names, sensitive=["sex"]) == risk(table, names, sensitive=["sex"])
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_tables_draw_no_noise_where_a_step_failed_and_the_scheduler_sees_no_value(
    tmp_path: Path, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = cells_of_people.people(22)
    source = write(table, tmp_path / "in", 3)
    log = io.StringIO()
    handler = logging.StreamHandler(log)
    logging.getLogger("distributed").addHandler(handler)
    drawn: list[bool] = []
    plain = tables_plan.measure

    def drawing(*given: Any, **options: Any) -> Any:
        drawn.append(True)
        return plain(*given, **options)

    def loud(space: Any, number: int) -> None:
        raise RuntimeError(CANARY)

    # The rehearsal, which loads kernels before the charge, draws for made-up records.
    monkeypatch.setattr(tables_plan, "_load_kernels", lambda *_: None)
    monkeypatch.setattr(tables_plan, "measure", drawing)
    planned = contingency.plan(
        cells_of_people.LISTED,
        cells_of_people.PERSON,
        columns=cells_of_people.REGIONS,
        domain=cells_of_people.DOMAIN,
    )
    budget = MemoryBudget({"d": ZeroConcentratedDP(5, neighbors="add-remove-person")})
    files = RecordFiles(source, tmp_path, executor=client)
    try:
        with monkeypatch.context() as patched:
            patched.setitem(large_steps.STEPS, "cells", loud)
            with pytest.raises(SolverError) as caught:
                planned.release(files, budget=budget, dataset="d")
        assert drawn == []
        assert budget.account("d").left[0] == Fraction(4)
        assert (
            "The budget stays charged: a failure after reading began may depend on the data"
            in caught.value.__notes__
        )
        planned.release(files, budget=budget, dataset="d")
        assert drawn == [True]
        assert budget.account("d").left[0] == Fraction(3)
    finally:
        logging.getLogger("distributed").removeHandler(handler)
    assert "Canary" not in log.getvalue()
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def _by_unit(files: RecordFiles, _table: pl.DataFrame) -> bool:
    made = from_records(files, **GIVEN)
    same: bool = told(made) == by_hand(people(5, units=4_000), 4)
    return same


def _by_cell(files: RecordFiles, table: pl.DataFrame) -> bool:
    frame, columns = cells_of_people.frame(), RecordColumns(cells_of_people.REGIONS, "who")
    expected = count_cells(table, frame, columns).counts
    return bool((count_cells(files, frame, columns).counts == expected).all())


def _by_class(files: RecordFiles, table: pl.DataFrame) -> bool:
    names = ["state", "county", "age"]
    return risk(files, names, sensitive=["sex"]) == risk(table, names, sensitive=["sex"])


WORK = {
    "scatter": _by_unit,
    "gather": _by_unit,
    "cells": _by_cell,
    "persons": _by_cell,
    "groups": _by_class,
    "classes": _by_class,
}
"""For each kind of step what needs it, and whether it is what the rows in memory give."""


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", WORK)
def test_a_worker_that_is_killed_costs_time_alone(tmp_path: Path, kind: str) -> None:
    table = people(5, units=4_000) if WORK[kind] is _by_unit else cells_of_people.people(5, 16_000)
    source = write(table, tmp_path / "in", 12)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0"
        ) as one,
        distributed.Client(one, set_as_default=False) as client,
    ):
        killed: list[int] = []
        over = threading.Event()

        def kill() -> None:
            until = time.monotonic() + 600
            while not (killed or over.is_set()) and time.monotonic() < until:
                if any(tmp_path.glob(f".discreet-*/{kind}-*")):
                    worker = next(iter(client.run(os.getpid).values()))
                    os.kill(worker, signal.SIGKILL)
                    killed.append(worker)
                time.sleep(0.005)

        watch = threading.Thread(target=kill)
        watch.start()
        try:
            assert WORK[kind](RecordFiles(source, tmp_path, executor=client), table)
        finally:
            over.set()
            watch.join()
    assert killed
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_scheduler_that_goes_away_is_charged_once_and_said(tmp_path: Path) -> None:
    source = write(people(6, units=4_000), tmp_path / "in", 12)
    cluster = distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0"
    )
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
    assert (
        "The budget stays charged: a failure after reading began may depend on the data"
        in caught.value.__notes__
    )
    assert budget.account("d").left[0] == 4
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
