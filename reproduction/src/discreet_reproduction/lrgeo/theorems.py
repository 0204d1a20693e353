"""The paper's theorems, each tried where it is claimed and where it fails."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.lrgeo.as_published.cost_bounds import lower_bound
from discreet.lrgeo.as_published.cost_table import CostTable
from discreet.lrgeo.as_published.lr_omg import lr_omg
from discreet.lrgeo.as_published.request_disc import request_radius
from discreet.lrgeo.as_published.violations import exponential_entries
from discreet.lrgeo.local.clr_geo import clr_geo
from discreet.lrgeo.local.coefficients import prepare, prepare_global
from discreet.lrgeo.local.exponential_form import ExponentialForm
from discreet.lrgeo.local.geo_ind_graph import GeoIndGraph
from discreet_reproduction.lrgeo.instances import GRID_NOTE, batch, grid
from discreet_reproduction.record import Experiment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from discreet_reproduction.lrgeo.instances import Places
    from discreet_reproduction.record import Cell, Run

__all__ = ["covered_ratio", "theorems"]

_COLUMNS = ("statement", "case", "quantity", "claimed (paper)", "found", "holds")
_TINY = 1e-9

Row = dict[str, "Cell"]


def theorems(run: Run) -> Experiment:
    """Try Theorems 3.2, 4.5 and 4.8, Proposition 4.4, and Lemmas B.1 and B.2, where they hold and where they fail."""
    side = 6 if run.quick else 10
    parts: tuple[tuple[str, Callable[[], Iterator[Row]]], ...] = (
        ("Theorem 3.2", lambda: _paths(run.seed, side=5 if run.quick else 7)),
        ("Proposition 4.4", _discs),
        ("Theorem 4.5", lambda: _form(grid(8, seed=run.seed), every=9 if run.quick else 2)),
        ("Theorem 4.8", lambda: _relaxed(grid(side, seed=run.seed))),
        ("Lemmas", lambda: _lemmas(run.seed, side=12)),
        ("what is uploaded", lambda: _unpriced(grid(8, seed=run.seed))),
        ("the exponent", lambda: _half(grid(side, seed=run.seed))),
    )
    rows: list[Row] = []
    for name, part in parts:
        run.say(name)
        rows += part()
    return Experiment(
        "lrgeo/theorems",
        "Statements of the paper, where they hold and where they fail",
        columns=_COLUMNS,
        rows=rows,
        notes=(
            GRID_NOTE,
            "A ratio is in parts of what is allowed; 1 and less keeps the claim. Numbers of cells are kilometers here.",
            (
                "Where a row fails, the row beside it has the mend: location-centered ranges (A2), "
                "offsets that are travel "
                "costs (C11), a larger disc (C14), all columns (A6, C16)."
            ),
        ),
        settings={"seed": run.seed, "quick": run.quick, "side": side},
    )


def _row(*cells: Cell) -> Row:
    return dict(zip(_COLUMNS, cells, strict=True))


def covered_ratio(made: Places, centered: str, *, every: int = 1) -> tuple[int, float]:
    """Compare entries that Theorem 4.5 covers, of all users in pairs, at scales 1.

    Parameters
    ----------
    made
        The places.
    centered
        ``"user"`` or ``"location"``.
    every
        Take each so many of the users as the first of a pair.

    Returns
    -------
    int
        Entries compared.
    float
        The worst ratio, in parts of what is allowed.
    """
    apart, size = made.instance.distances, made.instance.size
    form = ExponentialForm(1.0, 2.0, 4.0)
    graph = GeoIndGraph(apart, 1.0)
    users = [
        prepare(
            made.instance,
            graph,
            user,
            reach=3.0,
            r_obf=4.0,
            centered="user" if centered == "user" else "location",
            every_column=True,
        )
        for user in range(size)
    ]
    masks = [exponential_entries(one, form, size) for one in users]
    tables = [form.weights(one.coefficients.away, one.coefficients.inside) for one in users]
    covered, worst = 0, 0.0
    for n in range(0, size, every):
        for m in range(size):
            if m == n:
                continue
            near = apart[np.ix_(users[n].rows, users[m].rows)]
            a, b = np.nonzero(near <= 1)
            both = masks[n][a] & masks[m][b]
            covered += int(both.sum())
            over = tables[n][a] / tables[m][b] * np.exp(-near[a, b])[:, None]
            worst = max(worst, float(over[both].max(initial=0.0)))
    return covered, worst


def _form(made: Places, *, every: int) -> Iterator[Row]:
    for centered in ("location", "user"):
        covered, worst = covered_ratio(made, centered, every=every)
        case = f"{centered}-centered ranges, {covered} covered entries"
        yield _row("Theorem 4.5", case, "worst ratio", 1.0, worst, worst <= 1 + _TINY)
    form = ExponentialForm(10.0, 4.0, 4.5)
    away = np.array([[4.01]])
    inside, outside = (form.weights(away, np.array([[kind]]))[0, 0] for kind in (True, False))
    ratio = float(inside / outside)
    case = "one place, two users, epsilon 10, r_obf 4.5, d 4.01"
    yield _row("Theorem 4.5", case, "worst ratio", 1.0, ratio, ratio <= 1 + _TINY)


def _paths(seed: int, *, side: int) -> Iterator[Row]:
    made = grid(side, seed=seed).instance
    graph = GeoIndGraph(made.distances, 1.0)
    _, matrix = lr_omg(prepare_global(made).coefficients, 1.0, gamma=1.0)
    nats = np.log(matrix + _TINY)
    gap = (nats[:, None] - nats[None]).max(axis=2)
    for name, metric in (
        ("lengths of paths", graph.paths(np.arange(made.size))),
        ("distances", made.distances),
    ):
        worst = float(np.exp((gap - metric).max()))
        case = f"optimum, gamma 1 cell, {side} x {side}, {name}"
        yield _row("Theorem 3.2", case, "worst ratio", 1.0, worst, worst <= 1 + 1e-3)


def _discs() -> Iterator[Row]:
    from discreet.lrgeo.local.instance import Instance

    at = np.arange(20.0)
    apart = np.abs(at[:, None] - at[None])
    line = Instance(apart, apart, unit="km")
    graph = GeoIndGraph(apart, 1.0)
    for centered in ("user", "location"):
        one = prepare(
            line,
            graph,
            10,
            reach=3,
            r_obf=2,
            centered="user" if centered == "user" else "location",
        )
        farthest = float(apart[np.ix_(one.rows, one.coefficients.columns)].max())
        printed = request_radius(3.0, 2.0, centered="user")
        case = f"a line, Gamma 3, r_obf 2, {centered}-centered columns"
        holds = farthest <= printed
        yield _row("Proposition 4.4", case, "radius needed", printed, farthest, holds)


def _relaxed(made: Places) -> Iterator[Row]:
    instance = made.instance
    graph = GeoIndGraph(instance.distances, 1.0)
    middle = instance.size // 2 + round(instance.size**0.5) // 2
    form = ExponentialForm(1.0, 2.0, 4.0)
    for name, user in (("corner", 0), ("middle", middle)):
        best = lower_bound(instance, graph, [user], 1.0, reach=3.0)
        printed = lower_bound(instance, graph, [user], 1.0, reach=3.0, columns=2.0)
        one = batch(instance, [user], gamma=1.0, reach=3.0, r_obf=4.0, centered="location")[
            0
        ].coefficients
        formed = clr_geo([one], form, gamma=1.0, n_places=instance.size).objective
        for case, over in (
            ("columns within 2 cells, against any channel", printed - best),
            ("columns within 2 cells, against CLR-Geo", printed - formed),
            ("all columns, against CLR-Geo", best - formed),
        ):
            quantity = "lower bound less what it should be below, km"
            yield _row("Theorem 4.8", f"{name}, {case}", quantity, 0.0, over, over <= 1e-6)


def _lemmas(seed: int, *, side: int) -> Iterator[Row]:
    number = np.arange(side * side)
    fine = number[((number // side) % 2 == 0) & ((number % side) % 2 == 0)]
    for one_way in (False, True):
        made = grid(side, seed=seed, one_way=one_way)
        true = made.instance.beta
        for offsets in ("distance", "travel"):
            table = CostTable.from_roads(
                made.travel,
                fine,
                made.targets,
                made.instance.distances,
                offsets="distance" if offsets == "distance" else "travel",
            )
            upper = table.estimate("upper", clamp=False)
            lower = table.estimate("lower", clamp=False)
            streets = "one-way streets" if one_way else "two-way streets"
            case = f"{streets}, offsets in {offsets}"
            for lemma, wrong in (
                ("Lemma B.1", upper < true - _TINY),
                ("Lemma B.2", lower > true + _TINY),
            ):
                share = float(wrong.mean())
                yield _row(lemma, case, "share of entries that fail", 0.0, share, share == 0)


def _unpriced(made: Places) -> Iterator[Row]:
    instance = made.instance
    graph = GeoIndGraph(instance.distances, 1.0)
    form = ExponentialForm(1.0, 2.0, 4.0)
    for priced in (False, True):
        sent = [
            prepare(instance, graph, user, reach=3.0, r_obf=4.0, every_column=priced).coefficients
            for user in (0, 9)
        ]
        found = clr_geo(sent, form, gamma=1.0, n_places=instance.size).objective
        case = "all columns priced" if priced else "columns that are uploaded"
        quantity = "optimum for two users, km"
        yield _row("Equation (19)", case, quantity, None, max(0.0, found), found > 1e-6)


def _half(made: Places) -> Iterator[Row]:
    whole = [prepare_global(made.instance).coefficients]
    for rate in (Fraction(1, 2), Fraction(1)):
        form = ExponentialForm(1.0, 2.0, rate=rate)
        found = clr_geo(whole, form, gamma=1.0, n_places=made.instance.size, method="ipm")
        case = f"exponent {rate} epsilon d, all places"
        yield _row("Equation (18)", case, "optimum, km", None, found.objective, None)
