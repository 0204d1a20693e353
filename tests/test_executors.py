"""Whoever takes an executor gives the same answer with threads, processes and Dask, and lets errors through."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context

import numpy as np
import pytest

from discreet.core.guarantee import MetricDP
from discreet.core.spaces.metric import MetricSpace
from discreet.metricdp import Benders, Problem, design
from discreet.metricdp.part import Candidate, Part, PartLimits


@contextmanager
def dask_cluster() -> Iterator[Executor]:
    """Start a cluster of one worker with two threads; tasks are pickled for it as for any other."""
    distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address="127.0.0.1:0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client.get_executor()


EXECUTORS: dict[str, Callable[[], object]] = {
    "threads": lambda: ThreadPoolExecutor(2),
    "processes": lambda: ProcessPoolExecutor(1, get_context("spawn")),
    "dask": dask_cluster,
}

anywhere = pytest.mark.parametrize("name", EXECUTORS)


@contextmanager
def started(name: str) -> Iterator[Executor]:
    """Start an executor by name; end it afterwards."""
    with EXECUTORS[name]() as executor:  # type: ignore[attr-defined]
        yield executor


def groups() -> Problem:
    """Make three groups of secrets that nothing joins, of different shapes."""
    row = [[float(x), 0.0] for x in range(5)]
    square = [[20.0 + x, float(y)] for x in range(2) for y in range(3)]
    pair = [[50.0, 0.0], [50.5, 0.0]]
    space = MetricSpace.from_points(row + square + pair, unit="km")
    return Problem(space, utility_loss="euclidean")


@anywhere
@pytest.mark.filterwarnings("ignore::DeprecationWarning:distributed", "ignore::ResourceWarning")
def test_components_of_a_design_are_solved_anywhere(name: str) -> None:
    within = MetricDP(1, unit="km", radius=1)
    alone = design(groups(), within, gap=1e-4, allow_unprotected=True)
    with started(name) as executor:
        shared = design(groups(), within, gap=1e-4, allow_unprotected=True, executor=executor)
    assert shared.channel.digest == alone.channel.digest
    assert (shared.lower, shared.upper) == (alone.lower, alone.upper)


def test_blocks_of_a_decomposition_are_solved_in_threads() -> None:
    """Blocks keep their solver's state between iterations, which does not leave the process."""
    problem = Problem(MetricSpace.grid(3, 8, cell=1, unit="km"), utility_loss="euclidean")
    within = MetricDP(1, unit="km", radius=1)
    alone = design(problem, within, method=Benders(blocks=3), gap=1e-3)
    with ThreadPoolExecutor(2) as executor:
        shared = design(problem, within, method=Benders(blocks=3, executor=executor), gap=1e-3)
    assert shared.channel.digest == alone.channel.digest


def test_blocks_elsewhere_are_an_error_and_no_wrong_answer() -> None:
    problem = Problem(MetricSpace.grid(3, 8, cell=1, unit="km"), utility_loss="euclidean")
    within = MetricDP(1, unit="km", radius=1)
    with (
        ProcessPoolExecutor(1, get_context("spawn")) as executor,
        pytest.raises((TypeError, AttributeError), match="pickle|local object"),
    ):
        design(problem, within, method=Benders(blocks=3, executor=executor), gap=1e-3)


@dataclass(frozen=True)
class Broken:
    """A method that fails where it runs."""

    def solve(self, part: Part, limits: PartLimits) -> Candidate:
        """Fail."""
        del limits
        message = f"broken on {part.n} secrets"
        raise ZeroDivisionError(message)


@anywhere
@pytest.mark.filterwarnings("ignore::DeprecationWarning:distributed", "ignore::ResourceWarning")
def test_errors_of_a_worker_surface(name: str) -> None:
    within = MetricDP(1, unit="km", radius=1)
    with started(name) as executor, pytest.raises(ZeroDivisionError, match="broken on"):
        design(groups(), within, method=Broken(), allow_unprotected=True, executor=executor)


def test_arrays_that_cross_a_border_stay_what_they_are() -> None:
    """A part that was pickled has the same numbers, read-only or not."""
    import pickle

    from discreet.metricdp.part import WholeProblem

    problem = groups()
    part = WholeProblem(problem, problem.space.adjacency(1), MetricDP(1, "km").epsilon).parts[0]
    back = pickle.loads(pickle.dumps(part))  # noqa: S301 - its own bytes
    assert np.array_equal(back.cost, part.cost)
    assert back.constraints.pairs.tolist() == part.constraints.pairs.tolist()
