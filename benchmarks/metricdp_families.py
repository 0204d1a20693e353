"""Seconds to a proven gap on families of places, over seeds, and general solvers on the small ones in the same run.

Ten families of ``tests/made_places.py`` (grids, points, roads, words, a taxonomy), each with epsilon times the spacing
of secrets as stated, skewed, uniform and partly zero priors, losses that do not follow the distance, all pairs, and
fewer reports than secrets. A row gives the median seconds to a proven gap of 1 % and of 0.1 %, the largest over the
median, and the largest gap at the end. Designs of up to 400 secrets are verified with their bounds. Seeds are drawn
anew unless one is given, so that nothing is tuned on them. ``--plot FILE`` draws seconds against the number of
secrets. With ``--processor`` all seconds, those of limits too, are the processor's, for a machine that does other
things.

    python benchmarks/metricdp_families.py [--n 225] [--seeds 3] [--nats 0.5 1] [--limit 60] [--only uniform roads]
    python benchmarks/metricdp_families.py --peers peers/bin/python --n 64
    python benchmarks/metricdp_families.py --plot cost.svg --nats 0.5 --only grid uniform roads 'words, euclidean'
"""

from __future__ import annotations

import argparse
import secrets
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from peers_solvers import PEERS, Answer, ask, prices, write
from run import machine

from discreet.core.errors import DiscreetError
from discreet.core.guarantee import MetricDP
from discreet.metricdp import PrimalDual, Problem, design, verify
from discreet.metricdp.part import WholeProblem
from made_places import FAMILIES, MadePlaces, made_places

if TYPE_CHECKING:
    from collections.abc import Iterator

    from discreet.metricdp.search import MetricDesign

GAPS = (0.01, 0.001)
VARIANTS: dict[str, dict[str, object]] = {
    "": {},
    "uniform prior": {"prior": "uniform"},
    "zeros in the prior": {"prior": "zeros"},
    "unrelated losses": {"loss": "unrelated"},
    "N / 4 reports": {"quarter": True},
    "all pairs": {"pairs": True},
}
"""What the plain instance, a skewed prior, losses by distance, all reports, is changed in."""


@dataclass(frozen=True)
class Run:
    """One design: how long, and what came out."""

    wall: float
    processor: float
    made: MetricDesign


@lru_cache(maxsize=4)
def drawn(family: str, n: int, seed: int, variant: str) -> MadePlaces:
    """Draw an instance, once for every number of nats."""
    options = dict(VARIANTS[variant])
    options.pop("pairs", False)
    n_reports = n // 4 if options.pop("quarter", False) else None
    return made_places(family, n, seed=seed, n_reports=n_reports, **options)  # type: ignore[arg-type]


def stated(family: str, n: int, nats: float, seed: int, variant: str) -> tuple[Problem, MetricDP]:
    """Make the problem and the guarantee."""
    places = drawn(family, n, seed, variant)
    pairs = "pairs" in VARIANTS[variant]
    problem = Problem(
        places.space, utility_loss=places.loss, prior=places.prior, reports=places.reports
    )
    radius = None if pairs else f"{places.radius:.9g}"
    return problem, MetricDP(f"{nats / places.spacing:.6g}", places.space.unit, radius)


def run(problem: Problem, guarantee: MetricDP, gap: float, limit: float, threads: int) -> Run:
    """Design, and verify the channel and its bound."""
    wall, processor = time.perf_counter(), time.process_time()
    made = design(problem, guarantee, gap=gap, time_limit=limit, threads=threads, throw=False)
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    if problem.n_secrets <= 400:
        certificate = verify(made, optimality=True)
        assert certificate.passed, certificate
    return Run(wall, processor, made)


def row(runs: list[Run]) -> str:
    """Sum up the runs of one instance to one gap."""
    walls = [one.wall for one in runs]
    middle = statistics.median(walls)
    gaps = [1.0 if one.made.gap is None else one.made.gap for one in runs]
    processor = statistics.median(one.processor for one in runs)
    return f"{middle:7.2f} {processor:7.2f} {max(walls) / middle:5.2f} {max(gaps):8.3%}"


def peers(
    problem: Problem, guarantee: MetricDP, ours: MetricDesign, options: argparse.Namespace
) -> Iterator[str]:
    """Run the general solvers, and prove what they return with the same repair and bound as ours.

    Of two proofs one is false where a bound is above the loss of a verified channel, whosever they are.
    """
    python, limit = options.peers, options.limit
    constraints, _ = problem.space.adjacency(guarantee.radius).join(problem.space)
    part = WholeProblem(problem, constraints, guarantee.epsilon).parts[0]
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "program.npz"
        scale = write(part, problem, program)
        for name in options.solvers:
            peer = PEERS[name]
            found = ask(peer, python, program, gap=GAPS[0], limit=limit)
            if isinstance(found, str):
                yield f"{name}: {found}"
                continue
            matrix = np.maximum(found["x"], 0.0).reshape(part.cost.shape)
            answer = Answer(matrix, prices(found["y"], part, scale))
            try:
                made = design(problem, guarantee, method=answer, gap=0, throw=False)
            except DiscreetError as error:
                yield f"{name}: not mended, {error}"
                continue
            # qif gives no multipliers, so that only the trivial bound is left of it.
            bounded = made.gap is not None and made.gap < 1
            gap = f"proven gap {made.gap:.3%}" if bounded else "no bound"
            lower = max(ours.lower or 0.0, made.lower or 0.0)
            wrong = ", A BOUND ABOVE A LOSS" if lower > min(ours.upper, made.upper) else ""
            yield f"{name}: {float(found['seconds']):.2f} s, loss {made.upper:.6g}, {gap}{wrong}"


def table(options: argparse.Namespace) -> None:
    """Print a row for each family, variant and number of nats."""
    print(f"seeds {options.seed} and following; seconds: wall, CPU, worst over median; worst gap")
    print(f"{'family':34} {'nats':>5}  {'to 1 %':^31}  {'to 0.1 %':^31}")
    for family in options.only:
        for variant in options.variants:
            for nats in options.nats:
                seeds = range(options.seed, options.seed + options.seeds)
                made = [stated(family, options.n, nats, seed, variant) for seed in seeds]
                cells, best = [], None
                for gap in GAPS[: 1 if options.wide else 2]:
                    runs = [run(*one, gap, options.limit, options.threads) for one in made]
                    cells.append(row(runs))
                    best = runs[0].made
                name = f"{family}{', ' if variant else ''}{variant}"
                print(f"{name:34} {nats:5g}  {'  '.join(cells)}", flush=True)
                if options.peers and best is not None:
                    print(f"    ours: between {best.lower:.6g} and {best.upper:.6g}")
                    for line in peers(*made[0], best, options):
                        print(f"    {line}", flush=True)


def plot(options: argparse.Namespace) -> None:
    """Draw seconds to 1 % against the number of secrets, both axes logarithmic."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.ticker import LogLocator, NullFormatter

    figure, axes = plt.subplots(figsize=(7, 5), layout="constrained")
    for family in options.only:
        sizes, seconds = [], []
        for n in options.sizes:
            problem, guarantee = stated(family, n, options.nats[0], options.seed, "")
            found = run(problem, guarantee, GAPS[0], options.limit, options.threads)
            print(f"{family:18} {n:6d} {row([found])}", flush=True)
            if found.made.gap is not None and found.made.gap <= GAPS[0]:
                sizes.append(problem.n_secrets)
                seconds.append(found.processor)
        label = family
        if len(sizes) > 1:
            power = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
            label = f"{family}: power {power:.1f}"
        axes.loglog(sizes, seconds, "o-", label=label)
    axes.set_xticks(options.sizes, [str(n) for n in options.sizes])
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.grid(alpha=0.3)
    axes.set_xlabel("secrets")
    axes.set_ylabel("CPU seconds to a proven gap of 1 %")
    axes.set_title(f"{options.nats[0]:g} nats from a secret to the nearest, seed {options.seed}")
    axes.legend()
    figure.savefig(options.plot, dpi=150)


def main() -> None:
    """Print the machine, then the table, or draw the plot."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=225)
    parser.add_argument("--nats", nargs="+", type=float, default=[0.25, 0.5, 1.0, 2.0, 4.0])
    parser.add_argument("--seeds", type=int, default=3, help="how many")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6), help="the first")
    parser.add_argument("--only", nargs="+", choices=FAMILIES, default=list(FAMILIES))
    parser.add_argument("--variants", nargs="+", choices=list(VARIANTS), default=list(VARIANTS))
    parser.add_argument("--limit", type=float, default=60.0, help="seconds of one design")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--processor", action="store_true", help="measure in processor seconds")
    parser.add_argument("--wide", action="store_true", help="to 1 %% only")
    parser.add_argument("--peers", help="an interpreter with the group peers")
    parser.add_argument("--solvers", nargs="+", choices=PEERS, default=list(PEERS))
    parser.add_argument("--plot", type=Path, help="a file to draw into")
    parser.add_argument("--sizes", nargs="+", type=int, default=[100, 200, 400, 800])
    options = parser.parse_args()
    if options.processor:
        time.perf_counter = time.process_time
    print(machine())
    # Compiled code is loaded, or made, before anything is timed.
    problem, guarantee = stated("uniform", 40, 0.5, 0, "")
    design(problem, guarantee, method=PrimalDual(), gap=0.05, threads=2, throw=False)
    if options.plot:
        plot(options)
    else:
        table(options)


if __name__ == "__main__":
    main()
