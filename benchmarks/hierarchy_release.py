"""A whole release of counts on a made census: seconds from unit counts to a verified table, step by step.

The first rows are 117.6 million groups, given as counts of units by county and size: 3,197 regions by 1,000 sizes,
noise, post-processing and the verifier's certificate included. ``release`` is the verb; the steps are its parts,
measured apart. ``--units`` starts from one row for each of some million units instead. ``--scaling`` doubles regions
and sizes and prints the exponents of a straight line on log-log paper.

Times are processor seconds of one process after a first call that compiles; medians of ``--repeat`` runs.

    python benchmarks/hierarchy_release.py [--scaling] [--units 2000000] [--repeat 3]
"""

from __future__ import annotations

import argparse
import resource
import statistics
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from run import machine

from discreet import Release
from discreet.core.guarantee import PureDP, ZeroConcentratedDP
from discreet.core.randomness import discrete_gaussians, discrete_laplaces
from discreet.datasets import MadeCounts, made_census
from discreet.hierarchy import GroupSizes, RegionCounts, from_units, release
from discreet.hierarchy.laminar import optimal
from discreet.hierarchy.measure import measure
from discreet.hierarchy.methods import METHODS

MUST = 15.0
"""Processor seconds that a whole release at full scale may take."""
STEP = 5.0
"""Processor seconds that one step of post-processing may take."""
PERSON = PureDP(1, neighbors="add-remove-person")


def seconds(work: Callable[[], Any], repeat: int) -> tuple[float, Any]:
    """Give the median of processor seconds, and what came of the last run."""
    found, times = None, []
    for _ in range(repeat):
        begun = time.process_time()
        found = work()
        times.append(time.process_time() - begun)
    return statistics.median(times), found


def taken(made: MadeCounts, units: str) -> GroupSizes:
    """Take made counts with public or private units."""
    counts = made.with_size_zero() if units == "public" else made.counts
    return GroupSizes.from_counts(made.tree, counts, units=units)  # type: ignore[arg-type] # public or private


def say(what: str, took: float, more: str = "") -> None:
    """Print one line."""
    print(f"{what:52s} {took:7.2f} s  {more}", flush=True)


def whole(made: MadeCounts, repeat: int) -> None:
    """Release with each kind of units and each guarantee; the certificate is asserted."""
    for units in ("private", "public"):
        for guarantee in (PERSON, ZeroConcentratedDP("1/2", neighbors="add-remove-person")):
            took, out = seconds(partial(_release, made, units, guarantee), repeat)
            assert out.certificate.passed
            assert took <= MUST
            say(f"release, {units} units, {type(guarantee).__name__}", took, out.provenance.method)


def _release(
    made: MadeCounts, units: str, guarantee: PureDP | ZeroConcentratedDP
) -> Release[RegionCounts]:
    return release(taken(made, units), guarantee)


def steps(made: MadeCounts, repeat: int) -> None:
    """Time counting, noise, and the post-processing of several methods with its proof."""
    data = taken(made, "public")
    cells = data.frame.tree.n * data.frame.max_size
    took, _ = seconds(lambda: taken(made, "public"), repeat)
    say("reading the counts", took)
    for name, draw in (("Laplace", discrete_laplaces), ("Gaussian", discrete_gaussians)):
        took, drawn = seconds(lambda draw=draw: draw(Fraction(3), cells, None), repeat)  # type: ignore[misc] # bound early
        assert abs(float(drawn.mean())) < 6 * 5 / cells**0.5
        say(f"{cells} draws, discrete {name}", took, f"{cells / took / 1e6:.1f} million a second")
    for name in ("m-h", "m-c-dp", "m-c-dp-weighted", "top-down-cumulative"):
        method = METHODS[name].make()
        measured = measure(data, method.kind, PERSON)
        took, counts = seconds(lambda m=method, y=measured: m.solve(y), repeat)  # type: ignore[misc] # bound early
        assert (data.frame.tree.totals(counts[data.frame.tree.leaves]) == counts).all()
        assert counts.min() >= 0
        assert (counts[0].sum()) == data.frame.total
        assert took <= STEP
        proof = ""
        if name == "m-h":
            certificate = optimal(data.frame, counts, measured.values, total=data.frame.total)
            assert certificate.passed
            proof = "proved optimal"
        say(f"{name}, post-processing", took, proof)


def from_rows(rows: int) -> None:
    """Count one row a unit, then release."""
    import polars as pl

    made = made_census(groups=rows, max_size=1000)
    leaf, size = np.nonzero(made.counts)
    times = made.counts[leaf, size]
    paths = [made.tree.path(int(node)) for node in made.tree.leaves]
    states, counties = (np.array([path[level] for path in paths]) for level in range(2))
    place = np.repeat(leaf, times)
    table = pl.DataFrame(
        {"state": states[place], "county": counties[place], "size": np.repeat(size + 1, times)}
    ).sample(fraction=1, shuffle=True, seed=0)

    def run() -> Release[RegionCounts]:
        data = from_units(
            table, size="size", columns=["state", "county"], regions=paths, max_size=1000
        )
        assert (np.sort(data.counts.sum(axis=1)) == np.sort(made.counts.sum(axis=1))).all()
        return release(data, PERSON)

    took, out = seconds(run, 1)
    assert out.certificate.passed
    say(f"release from {rows} rows, one a unit", took)


def exponent(sizes: Sequence[int], times: Sequence[float]) -> float:
    """Fit a straight line on log-log paper and give its slope."""
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def scaling(repeat: int) -> None:
    """Double the regions, then the sizes."""
    runs = (
        ("regions", (393, 786, 1572, 3144), [{"counties": n} for n in (393, 786, 1572, 3144)]),
        ("sizes", (125, 250, 500, 1000), [{"max_size": n} for n in (125, 250, 500, 1000)]),
    )
    for name, numbers, options in runs:
        times = []
        for number, option in zip(numbers, options, strict=True):
            data = taken(made_census(**option), "public")  # type: ignore[arg-type] # integers, all of them
            took, out = seconds(lambda data=data: release(data, PERSON), repeat)  # type: ignore[misc] # bound early
            assert out.certificate.passed
            times.append(took)
            say(f"release, {number} {'counties' if name == 'regions' else name}", took)
        slope = exponent(numbers, times)
        print(f"exponent in {name}: {slope:.2f}")
        assert slope < 1.35


def main() -> None:
    """Run the tables that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scaling", action="store_true")
    parser.add_argument("--units", type=int, metavar="ROWS")
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    print(machine())
    small = made_census(states=2, counties=4, groups=1000, max_size=12)
    whole(small, 1)
    steps(small, 1)
    made = made_census()
    print(f"\n{made}")
    whole(made, options.repeat)
    steps(made, options.repeat)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"peak memory {memory:.2f} GB")
    if options.units:
        from_rows(options.units)
    if options.scaling:
        scaling(options.repeat)


if __name__ == "__main__":
    main()
