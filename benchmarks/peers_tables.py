"""pyCANON and diffprivlib beside this library, in one run: the same answers, and processor seconds.

    python -m venv peers && peers/bin/pip install pycanon diffprivlib "scikit-learn<1.6"
    python benchmarks/peers_tables.py --peers peers/bin/python

diffprivlib 0.6.6 can't be imported beside newer ones of scikit-learn. Both run in the other environment, as processes
of their own. pyCANON 1.3 counts k, l and t of a table of 30,000 synthetic patients, whose values are compared with
ours. diffprivlib 0.6 draws geometric noise one value at a time; ours is exact discrete Laplace noise of the same law,
in batches.

Asserted: k and l agree, and t to a millionth; both noises have the variance of the law, within a twentieth.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
from math import exp
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROWS, DRAWS, EPSILON = 30_000, 200_000, 1.0

CANON = """
import json, sys, time
import pandas as pd
from pycanon import anonymity
frame = pd.read_csv(sys.argv[1], dtype=str)
quasi, secret = ["age", "sex", "zip"], ["disease"]
began = time.process_time()
k = anonymity.k_anonymity(frame, quasi)
l = anonymity.l_diversity(frame, quasi, secret)
t = anonymity.t_closeness(frame, quasi, secret)
print(json.dumps({"k": int(k), "l": int(l), "t": float(t), "seconds": time.process_time() - began}))
"""

NOISE = """
import json, sys, time
from diffprivlib.mechanisms import Geometric
made = Geometric(epsilon=float(sys.argv[1]), sensitivity=1)
made.randomise(0)
began = time.process_time()
drawn = [made.randomise(0) for _ in range(int(sys.argv[2]))]
print(json.dumps({"seconds": time.process_time() - began, "variance": sum(x * x for x in drawn) / len(drawn)}))
"""


def main() -> None:
    """Measure, compare, and print what a page of the documentation holds."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--peers", required=True, help="Python of an environment with both peers")
    chosen = parser.parse_args()
    with TemporaryDirectory() as folder:
        path = Path(folder, "patients.csv")
        ours = risk_of_patients(path)
        theirs = told(chosen.peers, CANON, str(path))
    print(
        f"risk, {ROWS:,} rows: discreet {ours['seconds']:.2f} s, pyCANON {theirs['seconds']:.2f} s"
    )
    print(
        f"  k {ours['k']} {theirs['k']}, l {ours['l']} {theirs['l']}, t {ours['t']:.6f} {theirs['t']:.6f}"
    )
    assert (ours["k"], ours["l"]) == (theirs["k"], theirs["l"])
    assert abs(ours["t"] - theirs["t"]) < 1e-6
    mine, other = noise(), told(chosen.peers, NOISE, str(EPSILON), str(DRAWS))
    law = 2 * exp(-EPSILON) / (1 - exp(-EPSILON)) ** 2
    for name, one in (("discreet", mine), ("diffprivlib", other)):
        print(f"noise: {name} {DRAWS / one['seconds']:,.0f} draws a processor second")
        assert abs(one["variance"] - law) < law / 20


def told(python: str, code: str, *arguments: str) -> dict[str, Any]:
    """Run a program of a peer, and read what it prints."""
    run = subprocess.run([python, "-c", code, *arguments], check=True, stdout=subprocess.PIPE)
    found: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return found


def risk_of_patients(path: Path) -> dict[str, Any]:
    """Anonymize synthetic patients, write them, and measure the table as it stands in the file."""
    import polars as pl

    from discreet import KAnonymity
    from discreet.datasets.microdata import made_patients
    from discreet.kanonymity import anonymize
    from discreet.kanonymity.risk import risk

    table = pl.DataFrame(made_patients(ROWS))
    quasi = ("age", "sex", "zip")
    made = anonymize(table, KAnonymity(5, quasi), sensitive=["disease"], effort="fast")
    made.table.write_csv(path)
    published = pl.read_csv(path, infer_schema_length=0)
    risk(published.head(100), quasi, sensitive=["disease"])
    began = time.process_time()
    found = risk(published, quasi, sensitive=["disease"])
    seconds = time.process_time() - began
    return {
        "k": found.k,
        "l": found.diversity["disease"],
        "t": float(found.closeness["disease"]),
        "seconds": seconds,
    }


def noise() -> dict[str, Any]:
    """Draw exact discrete Laplace noise."""
    import numpy as np

    from discreet.core.exact import to_fraction
    from discreet.core.randomness.noise import discrete_laplaces

    scale = 1 / to_fraction(EPSILON, "epsilon")
    discrete_laplaces(scale, 100)
    began = time.process_time()
    drawn = np.asarray(discrete_laplaces(scale, DRAWS), dtype=float)
    return {"seconds": time.process_time() - began, "variance": float((drawn**2).mean())}


if __name__ == "__main__":
    main()
