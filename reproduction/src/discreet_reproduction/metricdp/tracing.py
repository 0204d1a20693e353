"""One run of the decomposition, looked at from outside: what each solve took, and when each block became feasible."""

from __future__ import annotations

import math
import time
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core.errors import InfeasibleError, LimitReachedError, SolverError
from discreet.core.lp.benders import BendersOptions, benders
from discreet.metricdp.blocks import Partition, partition
from discreet.metricdp.boundary import Layout, implied_rows, inner_pairs, unstated_pairs
from discreet.metricdp.methods.baselines import Exponential
from discreet.metricdp.methods.direct import LARGEST_EXPONENT, priced_edges
from discreet.metricdp.part import PartLimits
from discreet_reproduction.metricdp.as_published.decomposition import count_boundary_twice
from discreet_reproduction.metricdp.instances import EPSILON, RADIUS, make_instance

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from discreet.core.progress import Progress
    from discreet.core.spaces.adjacency import Adjacency
    from discreet.metricdp.part import Part
    from discreet_reproduction.record import Cell


@final
@dataclass(frozen=True)
class Size:
    """How large a run is, and when it ends.

    Parameters
    ----------
    n, k, blocks
        Secrets, outputs, blocks.
    iterations
        Most solves of the master.
    seconds
        Wall-clock limit of a run.
    """

    n: int
    k: int
    blocks: int
    iterations: int
    seconds: float

    def within(self, limit: float | None) -> Size:
        """Give the same size with another limit, where there is one.

        Examples
        --------
        >>> Size(60, 10, 5, iterations=200, seconds=2).within(9.5).seconds
        9.5
        """
        return self if limit is None else replace(self, seconds=limit)

    def settings(self, seed: int) -> dict[str, Cell]:
        """Name the sizes as an experiment does."""
        return {
            "N": self.n,
            "K": self.k,
            "M": self.blocks,
            "epsilon": EPSILON,
            "radius": RADIUS,
            "iterations at most": self.iterations,
            "seconds at most": self.seconds,
            "seed": seed,
        }


@final
@dataclass(frozen=True, eq=False)
class Trace:
    """What was seen.

    Parameters
    ----------
    label
        The data set.
    steps
        Bounds after each iteration, in the unit of the loss.
    internal, boundary
        Records of each block that has internal ones.
    feasible_from
        For each of these blocks the first iteration at which it had a solution; one more than there were where it
        never had one.
    block_seconds, master_seconds
        Processor seconds of each solve of a block, and of the master with its cuts.
    status
        Why the run ended.
    """

    label: str
    steps: tuple[tuple[int, float, float], ...]
    internal: tuple[int, ...]
    boundary: tuple[int, ...]
    feasible_from: tuple[int, ...]
    block_seconds: tuple[float, ...]
    master_seconds: tuple[float, ...]
    status: str


@dataclass
class _Watch(Executor):
    """Solves blocks one after the other, and records how long each took and whether it had a solution."""

    seconds: list[float] = field(default_factory=list)
    between: list[float] = field(default_factory=list)
    feasible: list[list[bool]] = field(default_factory=list)
    left_at: float | None = None

    def map(
        self,
        fn: Callable[..., Any],
        *iterables: Iterable[Any],
        timeout: float | None = None,
        chunksize: int = 1,
        **_: Any,  # noqa: ANN401 - whatever later versions of Executor add
    ) -> Iterator[Any]:
        """Apply a function here and now."""
        del timeout, chunksize
        if self.left_at is not None:
            self.between.append(time.process_time() - self.left_at)
        answers = []
        for arguments in zip(*iterables, strict=False):
            start = time.process_time()
            answers.append(fn(*arguments))
            self.seconds.append(time.process_time() - start)
        self.feasible.append([answer.y is not None for answer in answers])
        self.left_at = time.process_time()
        return iter(answers)


@lru_cache(maxsize=256)
def trace(
    dataset: str,
    size: Size,
    partitioner: str,
    *,
    printed: bool,
    seed: int,
    data: Path | None,
) -> Trace:
    """Run the decomposition on the largest component of an instance.

    Parameters
    ----------
    dataset
        See :func:`~discreet_reproduction.metricdp.instances.make_instance`.
    size
        How large, and how long.
    partitioner
        One of the four.
    printed
        Whether to run it as printed: cuts that count the boundary twice, literal H_0, no inner point. Else with the
        mends of :class:`discreet.metricdp.Benders`.
    seed
        Of instance and partition.
    data
        Rome's roads, or ``None``.
    """
    instance = make_instance(dataset, size.n, size.k, seed=seed, data=data)
    part = max(instance.whole().parts, key=lambda part: part.n)
    edges = _all_edges(part) if printed else priced_edges(part)
    count = min(part.n, size.blocks)
    anchor = Exponential().solve(part, PartLimits()).matrix
    if part.space is None or anchor is None:  # pragma: no cover - so that types are known
        raise SolverError("benders", "nothing to start from", "")
    labels = partition(part.space, part.constraints, count, partitioner, seed=seed)
    scale = 1.0 if printed else float((part.cost * anchor).sum()) or 1.0
    layout = Layout(part, Partition(labels, edges), scale)
    added = unstated_pairs(layout) if printed else inner_pairs(layout)
    watch, steps = _Watch(), list[tuple[int, float, float]]()

    def on_progress(step: Progress) -> None:
        lower = -math.inf if step.lower is None else step.lower
        upper = math.inf if step.upper is None else step.upper
        steps.append((step.done or 0, lower * scale, upper * scale))

    options = BendersOptions(
        gap=0.0 if printed else 0.01,
        absolute_gap=0.01 if printed else 0.0,
        iterations=size.iterations,
        time_limit=size.seconds,
        executor=watch,
    )
    try:
        status = benders(
            layout.program(),
            layout.columns,
            options=options,
            implied=implied_rows(layout, added),
            anchor=None if printed else anchor.ravel(),
            amend=count_boundary_twice(layout) if printed else None,
            on_progress=on_progress,
        ).status
    except (SolverError, InfeasibleError, LimitReachedError) as error:
        # Coefficients of e^20 are what they are; a figure shows how far the run came.
        status = f"failed: {error}"
    return _finish(instance.label, layout, watch, steps, status)


def _all_edges(part: Part) -> Adjacency:
    graph = part.constraints
    return graph.subgraph(np.flatnonzero(part.rate * graph.lengths <= LARGEST_EXPONENT))


def _finish(
    label: str,
    layout: Layout,
    watch: _Watch,
    steps: list[tuple[int, float, float]],
    status: str,
) -> Trace:
    split = layout.split
    whole = np.bincount(split.labels, minlength=split.n_blocks)
    internal = split.internal_sizes
    used = np.flatnonzero(internal)
    never = len(watch.feasible) + 1
    first = [
        next((at for at, row in enumerate(watch.feasible, start=1) if row[block]), never)
        for block in range(len(used))
    ]
    return Trace(
        label,
        tuple(steps),
        tuple(internal[used].tolist()),
        tuple((whole - internal)[used].tolist()),
        tuple(first),
        tuple(watch.seconds),
        tuple(watch.between),
        status,
    )
