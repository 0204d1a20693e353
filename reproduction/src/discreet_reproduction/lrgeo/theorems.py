"""The paper's theorems, each tried where it is claimed and where it fails."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from discreet_reproduction.lrgeo.as_published.clr_geo import clr_geo
from discreet_reproduction.lrgeo.as_published.coefficients import Centered, prepare, prepare_global
from discreet_reproduction.lrgeo.as_published.cost_bounds import lower_bound, upper_bound
from discreet_reproduction.lrgeo.as_published.cost_table import CostTable
from discreet_reproduction.lrgeo.as_published.exponential_form import ExponentialForm
from discreet_reproduction.lrgeo.as_published.geo_ind_graph import GeoIndGraph
from discreet_reproduction.lrgeo.as_published.lr_omg import lr_omg
from discreet_reproduction.lrgeo.as_published.request_disc import request_radius
from discreet_reproduction.lrgeo.as_published.violations import exponential_entries
from discreet_reproduction.lrgeo.instances import GRID_NOTE, batch, grid, users_of
from discreet_reproduction.record import Experiment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from discreet_reproduction.lrgeo.instances import Places
    from discreet_reproduction.record import Cell, Run

_COLUMNS = ("statement", "case", "quantity", "claimed (paper)", "found", "holds")
_TINY = 1e-9

Row = dict[str, "Cell"]


def theorems(run: Run) -> Experiment:
    """Try Theorems 3.2, 4.5, 4.7, 4.8, Propositions 4.2, 4.4, and Lemmas B.1, B.2, in each of their readings."""
    parts: tuple[tuple[str, Callable[[], Iterator[Row]]], ...] = (
        ("Theorem 3.2", lambda: _paths(run.seed, side=5 if run.quick else 7)),
        ("Proposition 4.2", lambda: _own_entries(grid(8, seed=run.seed))),
        ("Proposition 4.4", _discs),
        ("Theorem 4.5", lambda: _form(grid(8, seed=run.seed), every=9 if run.quick else 2)),
        ("Theorem 4.7", lambda: _estimated(run.seed, side=6 if run.quick else 10)),
        ("Theorem 4.8", lambda: _relaxed(grid(6 if run.quick else 8, seed=run.seed))),
        ("Lemmas", lambda: _lemmas(run.seed, side=12)),
        ("what is uploaded", lambda: _unpriced(grid(8, seed=run.seed))),
    )
    rows: list[Row] = []
    for name, part in parts:
        run.say(name)
        rows += part()
    return Experiment(
        "lrgeo/theorems",
        "Statements of the paper, in each of their readings",
        columns=_COLUMNS,
        rows=rows,
        notes=(
            GRID_NOTE,
            "A ratio is in parts of what is allowed; 1 and less keeps the claim. Numbers of cells are kilometers here.",
            (
                "Rows of one statement are its readings: ranges (A2), columns (A6, C14, C16), offsets (C11). "
                "A7 is not claimed by the paper."
            ),
        ),
        settings={"seed": run.seed, "quick": run.quick},
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
    for statement, name, metric in (
        ("Theorem 3.2", "lengths of paths", graph.paths(np.arange(made.size))),
        ("A7, not claimed", "distances", made.distances),
    ):
        worst = float(np.exp((gap - metric).max()))
        case = f"optimum, gamma 1 cell, {side} x {side}, {name}"
        yield _row(statement, case, "worst ratio", 1.0, worst, worst <= 1 + 1e-3)


def _own_entries(made: Places) -> Iterator[Row]:
    """Proposition 4.2: entries of one user's program in the exponential form, whatever their scales."""
    form = ExponentialForm(1.0, 2.0, 4.0)
    about: dict[str, Any] = {"gamma": 1.0, "reach": 3.0, "r_obf": 4.0}
    for centered in get_args(Centered):
        compared, worst = 0, 0.0
        for user in range(made.instance.size):
            (one,) = batch(made.instance, [user], centered=centered, **about)
            mask = exponential_entries(one, form, made.instance.size)
            weights = form.weights(one.coefficients.away, one.coefficients.inside)
            i, j = np.nonzero(one.coefficients.between > 0)
            both = mask[i] & mask[j]
            allowed = np.exp(one.coefficients.between[i, j])[:, None]
            compared += int(both.sum())
            ratios = (weights[i] / weights[j] / allowed)[both]
            worst = max(worst, float(ratios.max(initial=0.0)))
        case = f"{centered}-centered ranges, {compared} pairs of entries"
        yield _row("Proposition 4.2", case, "worst ratio", 1.0, worst, worst <= 1 + _TINY)


def _estimated(seed: int, *, side: int) -> Iterator[Row]:
    """Theorem 4.7: CLR-Geo with estimated coefficients against CLR-Geo with the true ones."""
    number = np.arange(side * side)
    form = ExponentialForm(1.0, 2.0, 4.0)
    quantity = "optimum with true costs less the claimed upper bound, km"
    for stride, offsets in itertools.product((2, 3), ("distance", "travel")):
        made = grid(side, seed=seed)
        instance = made.instance
        graph = GeoIndGraph(instance.distances, 1.0)
        fine = number[((number // side) % stride == 0) & ((number % side) % stride == 0)]
        table = CostTable.from_roads(
            made.travel,
            fine,
            made.targets,
            instance.distances,
            offsets="distance" if offsets == "distance" else "travel",
        )
        worst = -np.inf
        for user in users_of(instance.size, 6, seed=seed):
            above, true = (
                upper_bound(instance, graph, [user], form, reach=3.0, estimate=estimate)
                for estimate in (table.estimate("upper", clamp=False), instance.beta)
            )
            worst = max(worst, true - above)
        case = f"table of every place in {stride}, offsets in {offsets}, 6 users"
        yield _row("Theorem 4.7", case, quantity, 0.0, worst, worst <= _TINY)


def _discs() -> Iterator[Row]:
    from discreet_reproduction.lrgeo.as_published.instance import Instance

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
    """Both readings of Theorem 4.8, like with like: rows, range and centering; or any channel of the whole map."""
    instance = made.instance
    graph = GeoIndGraph(instance.distances, 1.0)
    free = ExponentialForm(1.0, float(instance.distances.max()))
    quantity = "lower bound less what it should be below, km"
    middle = instance.size // 2 + round(instance.size**0.5) // 2
    for name, user in (("corner", 0), ("middle", middle)):
        for r_obf, centered in itertools.product((2.0, 4.0), get_args(Centered)):
            one = batch(instance, [user], gamma=1.0, reach=3.0, r_obf=r_obf, centered=centered)[0]
            relaxed, formed = (
                clr_geo([one.coefficients], form, gamma=1.0, n_places=instance.size).objective
                for form in (free, ExponentialForm(1.0, r_obf / 2, r_obf))
            )
            case = f"{name}, range of {r_obf:g}, {centered}-centered, its own program"
            yield _row(
                "Theorem 4.8", case, quantity, 0.0, relaxed - formed, relaxed <= formed + _TINY
            )
        whole = prepare_global(instance).coefficients
        rows = np.isin(np.arange(instance.size), one.rows)
        cost = np.where(rows[:, None], instance.beta / rows.sum(), 0.0)
        anywhere = lr_omg(replace(whole, cost=cost), 1.0, gamma=1.0)[0]
        over = lower_bound(instance, graph, [user], 1.0, reach=3.0, columns=2.0) - anywhere
        case = f"{name}, range of 2, a channel of the whole map"
        yield _row("Theorem 4.8", case, quantity, 0.0, over, over <= _TINY)


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
