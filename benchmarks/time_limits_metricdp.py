"""How far a design overruns its time limit, and how soon it ends on Ctrl-C, at 1,000 secrets.

Two instances: points drawn uniformly at random with unit density, pairs within 2 km, and a grid of unit cells with all
pairs constrained. Each is designed with a limit, and ended by a signal while it has none. The limit is for the search,
from after compilation; it may be overrun by a tenth and two seconds, and a signal by two seconds, on a machine that
does nothing else; what is written afterwards comes on top. ``--check`` fails where it is more.

``--families`` takes the families of ``tests/made_places.py`` instead, with limits from 2 s on: there must be no
loss above that of the exponential mechanism, either. ``--rows 2::7``
takes every seventh member from the third on; with a step that shares no factor with 18 all variants and nats are met.

With ``--processor`` the clock is that of the processor, for a machine that does other things too: a signal then comes
after processor seconds, and only the linear solver still looks at the clock on the wall. One thread: set
``OPENBLAS_NUM_THREADS=1``.

    python benchmarks/time_limits_metricdp.py [--limits 5 20 60] [--gap 0.01] [--processor] [--check]
    python benchmarks/time_limits_metricdp.py --families uniform roads --limits 2 5 --sizes 225 1000 --nats 0.25 1

Processor seconds on a shared machine, November 2026, beyond limits of 5, 8 and 20 s: random points -0.6, 0.0, -0.3,
grid -0.4, -2.1, +2.8 (with verification, which the limit does not hold). From a signal after 5 and 20 s to the end:
random points 0.0, 0.2, grid 0.0, 0.0.
"""

from __future__ import annotations

import argparse
import math
import os
import signal
import sys
import threading
import time
from dataclasses import dataclass
from itertools import product

import numpy as np
from metricdp_families import VARIANTS, stated

from discreet.core.guarantee import MetricDP
from discreet.core.jit import clock
from discreet.core.spaces.metric import MetricSpace
from discreet.metricdp import Problem, design
from discreet.metricdp.design import Interrupted
from discreet.metricdp.methods.baselines import Exponential
from discreet.metricdp.part import PartLimits, WholeProblem
from discreet.metricdp.search import MetricDesign
from made_places import FAMILIES

SECRETS = 1000


@dataclass(frozen=True)
class Row:
    """One run."""

    instance: str
    ended_by: str
    allowed: float
    wall: float
    compiled: float
    processor: float
    gap: float | None
    upper: float = math.inf

    @property
    def over(self) -> float:
        """Seconds from the limit or the signal to the end, without those of the compiler."""
        return self.wall - self.compiled - self.allowed

    @property
    def most(self) -> float:
        """Seconds that may pass."""
        return 2 + (0.1 * self.allowed if self.ended_by == "limit" else 0)

    def __str__(self) -> str:
        gap = "no channel" if self.gap is None else f"gap {self.gap:6.2%}"
        return (
            f"{self.instance:40s} {self.ended_by:6s} at {self.allowed:5.1f} s: {self.over:+6.2f} s of {self.most:4.1f},"
            f" {self.processor / self.wall:4.0%} of a core, compiled {self.compiled:4.1f} s, {gap}"
        )


def problems() -> dict[str, tuple[Problem, MetricDP]]:
    """Make the instances."""
    side = math.sqrt(SECRETS)
    points = np.random.default_rng(0).uniform(0, side, (SECRETS, 2))
    scattered = Problem(MetricSpace.from_points(points, unit="km"), utility_loss="euclidean")
    grid = Problem(MetricSpace.grid(25, 40, cell=1, unit="km"), utility_loss="euclidean")
    return {
        "random points, radius 2": (scattered, MetricDP(1, "km", 2)),
        "grid, all pairs": (grid, MetricDP(1, "km")),
    }


def interrupt(moment: float) -> None:
    """Send the signal of Ctrl-C at a moment of the clock that is measured by."""
    while time.perf_counter() < moment:
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)


def run(
    name: str, problem: Problem, guarantee: MetricDP, seconds: float, *, end: str, gap: float
) -> Row:
    """Design until the limit, or until a signal."""
    begun = time.perf_counter(), clock(), time.process_time()
    limit = seconds if end == "limit" else None
    if limit is None:
        threading.Thread(target=interrupt, args=(begun[0] + seconds,), daemon=True).start()
    try:
        best: MetricDesign | None = design(
            problem, guarantee, gap=gap, time_limit=limit, throw=False
        )
    except Interrupted as interrupted:
        best = interrupted.best
    wall, searched, processor = (
        now - then
        for now, then in zip(
            (time.perf_counter(), clock(), time.process_time()), begun, strict=True
        )
    )
    compiled = wall - searched
    if best is None:
        return Row(name, end, seconds, wall, compiled, processor, None)
    return Row(name, end, seconds, wall, compiled, processor, best.gap, best.upper)


def exponential(problem: Problem, guarantee: MetricDP) -> float:
    """Say what the exponential mechanism loses as floats, its reports renamed; its design takes seconds."""
    constraints, _ = problem.space.adjacency(guarantee.radius).join(problem.space)
    loss = 0.0
    for part in WholeProblem(problem, constraints, guarantee.epsilon).parts:
        matrix = Exponential().solve(part, PartLimits()).matrix
        assert matrix is not None
        loss += float((part.cost.T @ matrix).min(axis=0).sum())
    return loss


def families(options: argparse.Namespace) -> int:
    """Design members of the families with a limit; count those that fail one of the three demands."""
    failed = 0
    stated_rows = product(options.families, options.sizes, options.variants, options.nats)
    for family, n, variant, nats in list(stated_rows)[options.rows]:
        problem, guarantee = stated(family, n, nats, options.seed, variant)
        plain = exponential(problem, guarantee)
        name = f"{family} {problem.n_secrets} {variant or 'plain'} {nats:g}"
        for seconds in options.limits:
            row = run(name, problem, guarantee, seconds, end="limit", gap=options.gap)
            if row.upper > plain:
                # Repaired and rounded it loses a little more than as floats.
                named = design(problem, guarantee, method=Exponential(), throw=False)
                plain = max(plain, named.upper)
            wrong = [
                text
                for text, is_wrong in (
                    ("LATE", row.over > row.most),
                    ("ABOVE THE EXPONENTIAL MECHANISM", row.upper > plain),
                )
                if is_wrong
            ]
            failed += bool(wrong)
            print(row, *wrong, flush=True)
    return failed


def part_of(text: str) -> slice:
    """Read a slice as Python writes it."""
    return slice(*(int(end) if end else None for end in text.split(":")))


def main() -> int:
    """Run all and print; with ``--check`` fail where a row takes longer than it may."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limits", nargs="+", type=float, default=[5.0, 20.0, 60.0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--gap", type=float, default=0.01)
    parser.add_argument("--processor", action="store_true", help="measure in processor seconds")
    parser.add_argument("--families", nargs="*", choices=FAMILIES, help="members of these instead")
    parser.add_argument("--sizes", nargs="+", type=int, default=[225, 1000])
    parser.add_argument("--variants", nargs="+", choices=list(VARIANTS), default=list(VARIANTS))
    parser.add_argument("--nats", nargs="+", type=float, default=[0.25, 1.0, 4.0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--rows", type=part_of, default=slice(None), help="of --families: START:STOP:STEP of them"
    )
    options = parser.parse_args()
    if options.processor:
        time.perf_counter = time.process_time
    late = 0
    if options.families is not None:
        options.families = options.families or list(FAMILIES)
        first = stated("uniform", 225, 1.0, 0, "")
        design(*first, gap=options.gap, time_limit=1.0, throw=False)
        return int(families(options) > 0 and options.check)
    for problem, guarantee in problems().values():
        # Load and compile everything first, as the second run of a command finds it.
        design(problem, guarantee, gap=options.gap, time_limit=1.0, throw=False)
    for name, (problem, guarantee) in problems().items():
        for end in ("limit", "signal"):
            for seconds in options.limits:
                row = run(name, problem, guarantee, seconds, end=end, gap=options.gap)
                late += row.over > row.most
                print(row, flush=True)
    return int(options.check and late > 0)


if __name__ == "__main__":
    sys.exit(main())
