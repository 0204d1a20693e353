"""The public facts of a release whose shares of the budget are best for a workload, with what proves it.

Proposes; checked by `discreet.hierarchy.contingency.verify.verify`.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import PureDP
from discreet.core.tree import Tree
from discreet.hierarchy.contingency.prices import find_prices
from discreet.hierarchy.contingency.problem import MOST_RESIDUAL_ENTRIES, TableFrame
from discreet.hierarchy.contingency.shares import (
    SHARE_GRAINS,
    Program,
    best_shares,
    kinds_of,
    whole_shares,
)
from discreet.hierarchy.contingency.weights import parts_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.core.guarantee import ZeroConcentratedDP
    from discreet.hierarchy.contingency.problem import Domain, Marginal
    from discreet.hierarchy.contingency.shares import Floats, RegionKinds
    from discreet.hierarchy.contingency.workload import Workload


class FrameLimits(NamedTuple):
    """Measured limits of the search for marginals and their shares of the budget."""

    max_kinds: int = 700
    """Kinds of leaves up to which a bound is searched: each step takes a time that grows with their cube."""
    max_measured: int = 128
    """Marginals that may be measured, at most, where all parts of the asked ones are tried."""
    max_kinds_of_starts: int = 40
    """Kinds of regions up to which shares for Laplace noise are searched from several starting points."""
    max_groups: int = 16
    """Cuts of the regions below one region into groups, at most."""
    min_cell_share: float = 1e-3
    """Part of a lowest region's budget for cells without a weight in the workload: whole tables are made of cells."""
    min_share: float = 1e-3
    """Parts of the budget below it are left out, and those below a twentieth of the mean where there are many."""
    ratio_to_bound: float = 1.02
    """Residuals are tried if the loss of plain counts is above its bound by this factor."""
    ratio_to_residuals: float = 1.01
    """Residuals are taken if the loss of plain counts is above theirs by this factor."""


LIMITS = FrameLimits()


class BestFrame(NamedTuple):
    """What :func:`best_frame` gives: the public facts, and the record of the proof, if any."""

    frame: TableFrame
    record: dict[str, Any] | None


def pruned(tree: Tree, depth: int) -> Tree:
    """Return a tree without the regions below level `depth`, where the root's is 0; `tree` itself if there are none.

    Examples
    --------
    >>> pruned(Tree.from_paths([("a", "x"), ("a", "y"), ("b",)]), 1)
    Tree(nodes=3, leaves=2, depth=1)
    """
    n = int(tree.level_start[depth + 1])
    return tree if n == tree.n else Tree(tree.labels[:n], tree.parents[:n])


def best_frame(
    tree: Tree,
    domain: Domain,
    workload: Workload,
    guarantee: PureDP | ZeroConcentratedDP,
    *,
    levels: Sequence[Fraction] | None = None,
    max_rows: int = 1,
    total: int | None = None,
) -> BestFrame:
    """Choose the shares for a workload.

    Returns the frame, and the record of the proof; ``None`` for Laplace noise, structural zeros, stated `levels`, or
    more than 700 kinds of leaves. One search for prices and up to four for shares, each of at most 3,000 passes over
    kinds of regions times interactions.

    Parameters
    ----------
    tree, domain, max_rows, total
        As for :class:`TableFrame`; no level below the deepest asked one.
    workload
        What is asked for.
    guarantee
        Whose kind of noise, and whose neighbors, decide; its size doesn't.
    levels
        Parts of the budget of levels, where they are stated.

    Raises
    ------
    InvalidProblemError
        For a workload of nothing but the total of the root, which a replaced person does not move.
    """
    kinds = kinds_of(tree)
    free = guarantee.neighbors == "replace-person" and max_rows == 1
    program = _program(kinds, domain, workload, squared=isinstance(guarantee, PureDP), free=free)
    program = replace(program, total_is_known=total is not None)
    measured = _candidates(program.targets)
    fixed = _fixed(kinds, levels)
    allowed = np.ones((len(kinds.parents), len(measured)))
    if fixed is None:
        allowed[_unused(program)] = 0.0
    if free:
        allowed[0, [domain.size_of(q) == 1 for q in measured]] = 0.0
    unmeasured = fixed is not None and not (allowed.any(axis=1) | (fixed == 0)).all()
    if unmeasured or not program.weights.any():
        raise InvalidProblemError("workload", "a table that a replaced person moves", "none")
    bounded = int(kinds.ends.sum()) <= LIMITS.max_kinds
    equal = np.where(kinds.ends, 1 / kinds.count[kinds.ends].sum(), 0.0)
    prices, pushes, least = find_prices(program) if bounded else (equal, program.totals, 0.0)
    if total is not None:
        # The search for prices counts added rows: a public total leads below its bound.
        least = 0.0
    shares = _searched(program, measured, (prices, pushes, least), allowed, fixed)
    proved = bounded and not program.squared and domain.possible.all() and levels is None
    residuals = False
    if proved and _loss(program, measured, shares) > LIMITS.ratio_to_bound * least:
        residuals, measured, shares = _better_residuals(
            program, measured, shares, (prices, pushes, least), guarantee.neighbors, free=free
        )
    shares, measured = _with_cells(kinds, domain, shares, measured)
    parts = whole_shares(kinds, shares, SHARE_GRAINS[residuals])
    listed = list(dict.fromkeys([*workload.tables, *program.targets]))
    used = {q: tuple(row[at] for row in parts) for at, q in enumerate(measured)}
    nothing = (Fraction(0),) * len(kinds.parents)
    chosen = {q: used.get(q, nothing) for q in listed}
    chosen |= {q: one for q, one in used.items() if any(one) and q not in chosen}
    by_kind = None if kinds.by_level else tuple(kinds.of.tolist())
    frame = TableFrame(tree, domain, chosen, max_rows, total, by_kind, residuals)
    record = None
    if proved:
        record = _record(workload, domain, program, prices, pushes, free=free)
    return BestFrame(frame, record)


def _unused(program: Program) -> NDArray[np.bool_]:
    """Return which kinds of regions get no share, ``(kinds,)``: most of those without a weight.

    With Gaussian noise and a loss that is a largest error, counts of a region without a weight may lower the errors of
    other regions, so that it may have a share. A region with a single region below it may not: both have equal counts.
    """
    kinds = program.kinds
    below = np.bincount(kinds.parents[1:], kinds.each[1:], minlength=len(kinds.parents))
    helps = (below != 1) & (program.loss == "worst") & (not program.squared)
    return np.asarray(~program.weights.any(axis=1) & ~helps)


def _searched(
    program: Program,
    measured: tuple[Marginal, ...],
    bound: tuple[Floats, Floats, float],
    allowed: Floats,
    fixed: Floats | None,
) -> Floats:
    """Return the best shares ``(kinds, measured)`` that are found, within the constraints.

    For Laplace noise there are several local optima where the largest variance or a constraint decides: up to 40 kinds
    of regions the search begins with all marginals, with the asked ones and with what is best for Gaussian noise. The
    least loss is taken, that of equal parts of the asked ones among them. At most five runs of the search.

    Parameters
    ----------
    program
        The loss and its caps.
    measured
        Marginals that may be measured.
    bound
        Prices, weights and a lower bound of the loss.
    allowed
        ``(kinds, measured)``: 0 where nothing may be measured.
    fixed
        ``(kinds,)``: the parts of levels, or ``None``.
    """
    prices, pushes, least = bound

    run = partial(
        best_shares, measured=measured, prices=prices, pushes=pushes, fixed=fixed, least=least
    )
    # The first run only finds which shares are small.
    grain = SHARE_GRAINS[program.residuals is not None]
    first = _without_small(program.kinds, run(program, start=allowed, patience=40), grain)
    shares = [run(program, start=first, patience=150)]
    several = program.loss == "worst" or math.isfinite(program.caps)
    equal = _equal_parts(program, measured, allowed)
    if program.squared and several and len(allowed) <= LIMITS.max_kinds_of_starts:
        gaussian = replace(program, squared=False, caps=math.sqrt(program.caps))
        convex = run(gaussian, start=allowed, patience=40)
        starts = equal, _without_small(program.kinds, convex, grain)
        shares += [run(program, start=start, patience=150) for start in starts]
    if program.squared and fixed is None:
        shares.append(equal)
    candidates = [_within_caps(program, measured, one, allowed, fixed) for one in shares]

    def rank(shares: Floats) -> tuple[bool, float]:
        spread = _spread(program, measured, shares)
        beyond = bool((spread[program.weights > 0] > program.caps).any())
        return beyond, program.value(spread)

    return min(candidates, key=rank)


def _spread(program: Program, measured: tuple[Marginal, ...], shares: Floats) -> Floats:
    """Return the variances of an entry of the asked marginals, ``(kinds, asked)``, for shares ``(kinds, measured)``."""
    precision = program.precision(shares, program.bought(measured))
    return np.asarray(program.spread(precision)[0] @ program.entry.T)


def _loss(program: Program, measured: tuple[Marginal, ...], shares: Floats) -> float:
    return program.value(_spread(program, measured, shares))


def _better_residuals(
    plain: Program,
    measured: tuple[Marginal, ...],
    shares: Floats,
    bound: tuple[Floats, Floats, float],
    neighbors: str,
    *,
    free: bool,
) -> tuple[bool, tuple[Marginal, ...], Floats]:
    """Test whether measuring residuals of all interactions of the asked tables lowers the loss within the constraints.

    Returns whether it does, the measured marginals and their shares ``(kinds, marginals)``; those given where it does
    not. `plain` is the program without residuals, `bound` its prices, weights and bound; `free` tells that the root's
    total costs nothing. One search of shares.
    """
    domain = plain.domain
    unchanged = False, measured, shares
    sizes = [domain.size_of(q) for q in plain.subsets if q != domain.full]
    small = max(sizes, default=0) <= MOST_RESIDUAL_ENTRIES
    if len(plain.subsets) > 2 * LIMITS.max_measured or min(domain.shape) == 1 or not small:
        return unchanged
    program = replace(plain, residuals=neighbors)
    allowed = np.ones((len(plain.weights), len(plain.subsets)))
    allowed[_unused(plain)] = 0.0
    if free:
        allowed[0, plain.subsets.index(())] = 0.0
    made = _searched(program, plain.subsets, bound, allowed, None)
    spread = _spread(program, plain.subsets, made)
    fits = (spread[plain.weights > 0] <= plain.caps).all()
    plain_loss = _loss(plain, measured, shares)
    if not fits or program.value(spread) * LIMITS.ratio_to_residuals > plain_loss:
        return unchanged
    return True, plain.subsets, made


def _program(
    kinds: RegionKinds, domain: Domain, workload: Workload, *, squared: bool, free: bool
) -> Program:
    """Return the program of a workload: weights ``(kinds, tables)`` by kind of region, the loss, and caps of variances.

    `squared` tells that noise is Laplace: variances then go with the inverse square of a share. With `free` the
    root's total has weight 0, since no neighbor moves it.
    """
    targets = tuple(workload.tables)
    each = np.array([[float(one) for one in workload.tables[q]] for q in targets]).T
    if free:
        each[0, [domain.size_of(q) == 1 for q in targets]] = 0.0
    weights = each[kinds.levels]
    mask = weights > 0
    many = int((each > 0).sum())
    if workload.loss == "against-naive":
        weights = mask / max(many, 1)
    if workload.loss == "deviations":
        regions = np.bincount(kinds.levels, weights=kinds.count)[kinds.levels]
        weights = weights / np.sqrt(np.outer(regions, [domain.size_of(q) for q in targets]))
    loss = "worst" if workload.loss == "against-naive" else workload.loss
    caps = float(many ** (2 if squared else 1)) if workload.capped else math.inf
    return Program(kinds, domain, targets, weights, loss, caps, squared)


def _candidates(targets: tuple[Marginal, ...]) -> tuple[Marginal, ...]:
    """Return marginals that may be measured: all parts of the asked ones if few, else these and what any two share."""
    parts = dict.fromkeys(targets)
    if sum(2 ** len(q) for q in targets) <= LIMITS.max_measured * 8:
        every = dict.fromkeys(
            one for q in targets for one in sorted(parts_of(q), key=len, reverse=True)
        )
        if len(every) <= LIMITS.max_measured:
            return tuple(parts | every)
    for one, other in itertools.combinations(targets, 2):
        parts.setdefault(tuple(at for at in one if at in other))
    return tuple(parts)


def _fixed(kinds: RegionKinds, levels: Sequence[Fraction] | None) -> Floats | None:
    """Return the budget of a region of each kind, ``(kinds,)``, where `levels` have parts.

    ``None`` where they have none. A leaf above the deepest level has the rest.
    """
    if levels is None:
        return None
    parts = np.array([float(one) for one in levels])
    below = [parts[level:].sum() for level in kinds.levels.tolist()]
    return np.where(kinds.ends, below, parts[kinds.levels])


def _without_small(kinds: RegionKinds, shares: Floats, grain: int) -> Floats:
    """Return shares ``(kinds, measured)`` with 0 for small parts of the budget of a path.

    Nothing replaces a residual: with a fine `grain` fewer parts are small.
    """
    above = kinds.down(shares.sum(axis=1)).max()
    least = min(LIMITS.min_share, 1 / (20 * shares.shape[1] * (int(kinds.levels[-1]) + 1)))
    least *= SHARE_GRAINS[0] / grain
    return np.where(shares < least * above, 0.0, shares)


def _within_caps(
    program: Program,
    measured: tuple[Marginal, ...],
    shares: Floats,
    allowed: Floats,
    fixed: Floats | None,
) -> Floats:
    """Mix shares with equal parts until every constraint holds: variances are convex in shares of Gaussian noise.

    `shares` and the result are ``(kinds, measured)``. At most 41 mixtures, each with the variances of all kinds; with
    `fixed` parts of levels, or without caps, nothing is mixed.

    The last mixture, equal parts, is returned even if it exceeds a cap. `allowed` is 0 where nothing may be measured.
    """
    if not math.isfinite(program.caps):
        return shares
    targets = program.weights > 0
    naive = _equal_parts(program, measured, allowed)
    for step in range(41):
        part = (step / 40) ** 2
        mixed = (1 - part) * shares + part * naive
        spread = _spread(program, measured, mixed)
        if fixed is not None or (spread[targets] <= program.caps).all():
            break
    return mixed


def _equal_parts(program: Program, measured: tuple[Marginal, ...], allowed: Floats) -> Floats:
    """Return equal shares ``(kinds, measured)`` of the asked tables, or with residuals the precision that these give.

    `allowed` is 0 where nothing may be measured.
    """
    targets = program.weights > 0
    naive = np.zeros_like(allowed)
    if program.residuals is None:
        for at, q in enumerate(program.targets):
            naive[:, measured.index(q)] = targets[:, at]
    else:
        naive = targets @ program.within(program.targets)
        if program.domain.full in measured:
            at = measured.index(program.domain.full)
            naive -= naive[:, at : at + 1] * (np.arange(len(measured)) != at)
        naive = naive / program.bought(measured).diagonal()
    naive /= max(program.kinds.down(naive.sum(axis=1)).max(), 1)
    return np.asarray(naive * (allowed > 0))


def _with_cells(
    kinds: RegionKinds, domain: Domain, shares: Floats, measured: tuple[Marginal, ...]
) -> tuple[Floats, tuple[Marginal, ...]]:
    """Return shares ``(kinds, measured)`` and marginals in which the cells of all leaves have a least share."""
    if domain.full not in measured:
        shares = np.concatenate([shares, np.zeros((len(shares), 1))], axis=1)
        measured = (*measured, domain.full)
    at = measured.index(domain.full)
    bare = kinds.ends & (shares[:, at] < LIMITS.min_cell_share)
    if bare.any():
        shares = shares * (1 - LIMITS.min_cell_share)
        shares[bare, at] = np.maximum(shares[bare, at], LIMITS.min_cell_share)
    return shares, measured


def _record(
    workload: Workload,
    domain: Domain,
    program: Program,
    prices: Floats,
    pushes: Floats,
    *,
    free: bool,
) -> dict[str, Any]:
    """Return what ``verify_loss.proved_loss`` needs, as JSON values of few digits.

    Any prices and weights prove a bound. `prices` are ``(kinds,)``, `pushes` ``(kinds, tables)``, the weights of
    variances; with `free` the root's total has weight 0.

    Keys: ``loss``, ``tables`` (weights by name and level, as texts), ``prices`` and ``weights`` (numbers of six
    digits).
    """
    tables = {}
    for q, each in workload.tables.items():
        texts = list(map(str, each))
        if free and domain.size_of(q) == 1:
            texts[0] = "0"
        tables[domain.name(q)] = texts
    return {
        "loss": workload.loss,
        "tables": tables,
        "prices": _short(prices),
        "weights": {domain.name(q): _short(pushes[:, at]) for at, q in enumerate(program.targets)},
    }


def _short(values: Floats) -> list[float]:
    """Round to six digits, for a short record."""
    return [float(f"{value:.6g}") for value in values.tolist()]
