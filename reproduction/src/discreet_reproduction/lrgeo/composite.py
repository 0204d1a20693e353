"""What users sample from, together: violations as the paper counts them, and as an observer meets them."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core.errors import InfeasibleError, LimitReachedError, SolverError
from discreet.core.guarantee import MetricDP
from discreet.lrgeo.design import design
from discreet.lrgeo.places.region import Region
from discreet_reproduction.drawing import bars, lines_of
from discreet_reproduction.lrgeo.as_published.baselines import PrintedExponential
from discreet_reproduction.lrgeo.as_published.composite import composite_check
from discreet_reproduction.lrgeo.as_published.exponential_form import ExponentialForm
from discreet_reproduction.lrgeo.as_published.lr_geo import LRGeo
from discreet_reproduction.lrgeo.as_published.lr_omg import LROMG
from discreet_reproduction.lrgeo.as_published.protocol import reproduce
from discreet_reproduction.lrgeo.as_published.violations import violation_bound
from discreet_reproduction.lrgeo.frozen_scales import FrozenScales
from discreet_reproduction.lrgeo.instances import (
    EPSILON_PER_KM,
    GRID_NOTE,
    ROME_NOTE,
    batch,
    grid,
    rome,
    users_of,
)
from discreet_reproduction.record import Experiment, numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from discreet_reproduction.lrgeo.as_published.composite import Composite
    from discreet_reproduction.lrgeo.instances import Places
    from discreet_reproduction.record import Cell, Run

_SHARES = (
    *("GV ratio", "GV ratio, at most (paper)", "Proposition 4.6 as printed"),
    *("mended bound", "pairs of users violated"),
)


def composite(run: Run) -> Experiment:
    """Put a user at every place and compare what all of them sample from, zeros included (errata, A1)."""
    side = 5 if run.quick else 8
    made = grid(side, seed=run.seed)
    rows: list[dict[str, Cell]] = []
    for epsilon in ("1",) if run.quick else ("0.25", "0.5", "1", "2"):
        claim = MetricDP(epsilon, "km", radius=1)
        for name, method in (
            ("LR-OMG", LROMG(reach=2.0)),
            ("LR-Geo, location-centered", LRGeo(3.0, 2.0, 3.0, centered="location")),
            ("LR-Geo, user-centered", LRGeo(3.0, 2.0, 3.0)),
            ("LR-Geo, batches of 4", LRGeo(3.0, 2.0, 3.0, batch=4)),
            ("frozen scales", FrozenScales(3.0, 2.0)),
            ("exponential mechanism as printed", PrintedExponential()),
            ("the same, without the prior", PrintedExponential(with_prior=False)),
        ):
            run.say(f"{name}, epsilon {epsilon}")
            try:
                found = reproduce(made.instance, claim, method, time_limit=run.limit).result
            except (InfeasibleError, LimitReachedError, SolverError) as error:
                ended = "time limit" if isinstance(error, LimitReachedError) else "infeasible"
                row: dict[str, Cell] = {"method": name, "epsilon x spacing": float(epsilon)}
                rows.append(row | {"pairs": "neighbors", "ended": f"no answer: {ended}"})
                continue
            rows += [
                _checked(name, float(epsilon), pairs, check, found.cost)
                for pairs, check in (("neighbors", found.near), ("all", found.everywhere))
            ]
        region = Region.from_grid(side, side, cell=1, unit="km")
        targets = made.targets.tolist()
        ours = design(
            region, MetricDP(epsilon, "km"), targets=targets, gap=0.1, throw=False, scope="places"
        )
        weights = np.array([ours.channel.row(place) for place in range(region.K)], dtype=float)
        table = weights / weights.sum(axis=1, keepdims=True)
        check = composite_check(table, made.instance.distances, float(epsilon))
        ours_named = "ours (lrgeo.design), verified exactly"
        rows.append(_checked(ours_named, float(epsilon), "all", check, None))
    return Experiment(
        "lrgeo/composite",
        "Violations of the composite: a user at every place",
        rows=rows,
        notes=(
            GRID_NOTE,
            (
                "Row i is what a user at place i samples from. The paper compares rows of one "
                "program; nobody samples from "
                "them (A1). GVE is the largest excess, Equation (33)."
            ),
            "Our own design is for trips along straight streets, so that its cost is not comparable here.",
            "At a small epsilon the published forms may have no solution at all; such a row has no figures.",
        ),
        settings={"seed": run.seed, "quick": run.quick, "side": side},
        panels={
            f"Neighbors, epsilon x spacing {epsilon}": partial(
                bars,
                [row for row in rows if str(row["epsilon x spacing"]) == epsilon and _near(row)],
                ("method",),
                "share of pairs",
            )
            for epsilon in dict.fromkeys(str(row["epsilon x spacing"]) for row in rows)
        },
    )


def _checked(
    method: str, epsilon: float, pairs: str, check: Composite, cost: float | None
) -> dict[str, Cell]:
    return {
        "method": method,
        "epsilon x spacing": epsilon,
        "pairs": pairs,
        "share of pairs": check.pair_ratio,
        "share of entries": check.entry_ratio,
        "epsilon needed, times": check.effective / epsilon,
        "where finite": check.effective_finite / epsilon,
        "GVE": check.largest_excess,
        "cost": cost,
        "ended": "done",
    }


def _near(row: dict[str, Cell]) -> bool:
    """Tell whether a row is on neighbors; our own design keeps all pairs, hence those."""
    return row["pairs"] == "neighbors" or str(row["method"]).startswith("ours")


def figure11(run: Run) -> Experiment:
    """Violation ratio by the number of users, as Equation (32) counts it, beside what it hides, and Proposition 4.6."""
    rows = _by_users(run)
    columns = (
        *("users", "GV ratio", "GV ratio, deviation", "GV ratio, at most (paper)"),
        *("Proposition 4.6 as printed",),
        *("mended bound", "pairs of users violated", "epsilon needed, times"),
    )
    return Experiment(
        "lrgeo/figure11",
        "Violation ratio by the number of users",
        columns=columns,
        rows=[{key: row[key] for key in columns} for row in rows],
        notes=(
            ROME_NOTE,
            (
                "The ratio counts rows of all users' matrices; pairs of users are the rows that they sample from. The "
                "paper's .0013 is no bound by Proposition 4.6, whose value is printed here (A5); "
                "location-centered ranges."
            ),
        ),
        settings={"seed": run.seed, "quick": run.quick},
        panels={"Violations by users": partial(_draw, rows, _SHARES, "share")},
    )


def figure12(run: Run) -> Experiment:
    """Size of violations by the number of users, Equation (33): the largest excess, over all rows and over own rows."""
    rows = _by_users(run)
    columns = ("users", "GVE, all rows", "GVE, own rows", "GVE, at most (paper)")
    return Experiment(
        "lrgeo/figure12",
        "Largest violation by the number of users",
        columns=columns,
        rows=[{key: row[key] for key in columns} for row in rows],
        notes=(
            ROME_NOTE,
            (
                "An excess of probability says little by itself: a ratio of e^77 has a small one where "
                "both are small (A2)."
            ),
        ),
        settings={"seed": run.seed, "quick": run.quick},
        panels={"Largest excess by users": partial(_draw, rows, columns[1:], "excess")},
    )


def _by_users(run: Run) -> list[dict[str, Cell]]:
    """Return a row for each number of users: means over samples of users, and the largest excess."""
    made = rome(*((7, 7) if run.quick else (10, 20)), seed=run.seed)
    rows: list[dict[str, Cell]] = []
    for count in (2, 4, 6) if run.quick else range(2, 11):
        samples = []
        for sample in range(1 if run.quick else 5):
            run.say(f"{count} users, sample {sample + 1}")
            solve = partial(_sample, made, count, run.seed + sample)
            samples.append(run.once(f"{count} users, sample {sample}", solve))
        means: dict[str, Cell] = {
            name: float(np.mean([one[name] for one in samples])) for name in samples[0]
        }
        ratios = [one["GV ratio"] for one in samples]
        most = {
            name: max(one[name] for one in samples)
            for name in ("GVE, all rows", "GVE, own rows", "epsilon needed, times")
        }
        spread = float(np.std(ratios, ddof=1)) if len(ratios) > 1 else None
        rows.append(
            {
                "users": count,
                **means,
                "GV ratio, deviation": spread,
                "GV ratio, at most (paper)": 0.0013,
                **most,
                "GVE, at most (paper)": 0.021,
            }
        )
    return rows


def _sample(made: Places, count: int, seed: int) -> dict[str, float]:
    """Run the method for users and count violations among their rows."""
    method = made.published
    claim = MetricDP(EPSILON_PER_KM, "km", radius=str(made.radius))
    users = users_of(made.instance.size, count, seed=seed)
    result = reproduce(made.instance, claim, method, users=users).result
    ranges: dict[str, Any] = {"reach": method.reach, "r_obf": method.r_obf, "centered": "location"}
    prepared = batch(made.instance, users, gamma=made.radius, **ranges)
    form = ExponentialForm(float(claim.epsilon), method.r_exp, method.r_obf)
    mended = violation_bound(prepared, form, made.instance.distances, gamma=made.radius)
    counted = result.counted
    return {
        "GV ratio": math.nan if counted is None else counted.ratio,
        "Proposition 4.6 as printed": math.nan if result.bound is None else result.bound,
        "mended bound": mended,
        "pairs of users violated": result.everywhere.pair_ratio,
        "epsilon needed, times": result.everywhere.effective / float(claim.epsilon),
        "GVE, all rows": math.nan if counted is None else counted.largest_excess,
        "GVE, own rows": result.everywhere.largest_excess,
    }


def _draw(rows: list[dict[str, Cell]], shown: tuple[str, ...], what: str, axes: Axes) -> None:
    users = numbers(rows, "users")
    lines_of({name: (users, numbers(rows, name)) for name in shown}, "users", what, axes)
