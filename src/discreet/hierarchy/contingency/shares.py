r"""Shares of the budget that are best for a stated workload: convex optimization over kinds of regions.

A linear Gaussian mechanism is known by its information :math:`G` over (lowest region, cell). Renaming categories, and
exchanging regions with equal subtrees, changes neither loss nor cost, so :math:`G = \sum_S G_S \otimes E_S` with one
number for each interaction of each kind of region. Plain counts of marginals have :math:`G_S = \sum_r \lambda_{rS} h_r
h_r^T`, where :math:`h_r` marks the leaves below r, :math:`\lambda_{rS} = \sum_{q \supseteq S} f_{rq} c_q`, and
:math:`f` are shares whose sum along each path is at most 1. The variance of an entry of q in region r is

.. math:: V_{rq} = \sum_{S \subseteq q} \frac{c_q p_S}{N_q} h_r^T G_S^{-1} h_r, \qquad p_S = \prod_{i \in S} (n_i - 1),

times :math:`\Delta^2 / 2 \rho`: all numbers here are for :math:`2 \rho = \Delta^2`. Losses are convex in f, and
multiplicative steps towards the optimality conditions find their least value ([Yu10]_). For Laplace noise
:math:`\lambda` grows with the squares of the shares, the loss isn't convex, and the result is a local optimum.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.hierarchy.contingency.measure import moved_by_person
from discreet.hierarchy.contingency.weights import parts_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.core.tree import Tree
    from discreet.hierarchy.contingency.problem import Domain, Marginal

    Floats = NDArray[np.float64]

SHARE_GRAINS = (10**5, 10**7)
"""Shares of plain counts are multiples of one in so many, and those of residuals."""


@final
@dataclass(frozen=True, eq=False)
class RegionKinds:
    """Regions that no renaming of equal subtrees tells apart; parents come before children.

    Parameters
    ----------
    of
        ``(n_nodes,)``: the kind of each region.
    parents
        ``(kinds,)``: the kind above, -1 for the root.
    each
        ``(kinds,)``: regions of this kind below one region of the kind above.
    count
        ``(kinds,)``: regions of this kind.
    levels
        ``(kinds,)``: the level.
    """

    of: NDArray[np.int64]
    parents: NDArray[np.int64]
    each: Floats
    count: Floats
    levels: NDArray[np.int64]

    @cached_property
    def ends(self) -> NDArray[np.bool_]:
        """Array ``(kinds,)``: whether regions of this kind are leaves."""
        return ~np.isin(np.arange(len(self.parents)), self.parents)

    @cached_property
    def steps(self) -> list[tuple[slice, NDArray[np.int64]]]:
        """The kinds of each level below the root, from the top down, and those above them."""
        starts = np.searchsorted(self.levels, np.arange(1, self.levels[-1] + 2)).tolist()
        return [(slice(a, b), self.parents[a:b]) for a, b in itertools.pairwise(starts)]

    @property
    def by_level(self) -> bool:
        """Whether all regions of a level are of one kind."""
        return bool(len(self.parents) == self.levels[-1] + 1)

    def down(self, rows: Floats) -> Floats:
        """Return the sums of `rows` ``(kinds, ...)`` along the path from the root to each kind.

        A new array of that shape.
        """
        sums = rows.copy()
        for part, above in self.steps:
            sums[part] += sums[above]
        return sums

    def up(self, rows: Floats) -> Floats:
        """Return for one region of each kind its own number and those below it, added up; a new array ``(kinds, ...)``.

        `rows`, of the same shape, has a number for a region of each kind; where only leaves have one, sums over
        leaves. Linear.
        """
        sums = rows.copy()
        for part, above in reversed(self.steps):
            np.add.at(sums, above, (sums[part].T * self.each[part]).T)
        return sums


def kinds_of(tree: Tree, marks: Sequence[int] | None = None) -> RegionKinds:
    """Divide regions into kinds: equal ones have equal subtrees and marks, and the same kinds above them.

    `marks` has a number for each region, by default equal ones. Linear in the regions, but for sorts of siblings.

    Examples
    --------
    >>> from discreet.core.tree import Tree
    >>> kinds_of(Tree.from_paths([("a", "x"), ("a", "y"), ("b", "x"), ("b", "y"), ("c",)])).of.tolist()
    [0, 1, 1, 2, 3, 3, 3, 3]
    """
    shapes: dict[tuple[int, ...], int] = {}
    shape = [0] * tree.n
    for node in range(tree.n - 1, -1, -1):
        below = (
            0 if marks is None else marks[node],
            *sorted(shape[child] for child in tree.children(node)),
        )
        shape[node] = shapes.setdefault(below, len(shapes))
    known: dict[tuple[int, int], int] = {}
    of, parents, levels = [0] * tree.n, [], []
    for node, above in enumerate(tree.parents.tolist()):
        key = (of[above] if node else -1, shape[node])
        if key not in known:
            known[key] = len(known)
            parents.append(key[0])
            levels.append(int(tree.levels[node]))
        of[node] = known[key]
    count = np.bincount(of).astype(np.float64)
    each = count / np.concatenate([[1.0], count[parents[1:]]])
    return RegionKinds(np.array(of), np.array(parents), each, count, np.array(levels))


@final
@dataclass(frozen=True, eq=False)
class Program:
    """Loss and constraints, in the numbers of a domain.

    Parameters
    ----------
    kinds
        The regions.
    domain
        The attributes.
    targets
        Marginals with a weight somewhere.
    weights
        ``(kinds, asked)``: weight of the error of one entry in one region; 0 where it is not asked for.
    loss
        ``"deviations"``, ``"variance"`` or ``"worst"``: the weighted sum of standard deviations, of variances, or the
        largest weighted variance.
    caps
        Largest variance that is allowed of an asked entry; infinite without a constraint.
    squared
        Whether precision grows with the square of a share, as for Laplace noise.
    residuals
        The neighbors, where residuals are measured; ``None`` for plain counts.
    total_is_known
        Whether the number of all records is public and needs no measurement.
    """

    kinds: RegionKinds
    domain: Domain
    targets: tuple[Marginal, ...]
    weights: Floats
    loss: str
    caps: float = math.inf
    squared: bool = False
    residuals: str | None = None
    total_is_known: bool = False

    @cached_property
    def subsets(self) -> tuple[Marginal, ...]:
        """Interactions of the targets."""
        parts = {one for q in self.targets for one in parts_of(q)}
        return tuple(sorted(parts, key=lambda one: (len(one), one)))

    @cached_property
    def sizes(self) -> Floats:
        """Dimension of each interaction."""
        shape = self.domain.shape
        return np.array([math.prod(shape[i] - 1 for i in one) for one in self.subsets], np.float64)

    def within(self, marginals: tuple[Marginal, ...]) -> Floats:
        """Cells of an entry of each marginal, at the interactions that are parts of it: ``(marginals, interactions)``.

        It is 0 elsewhere.
        """
        return np.array(
            [
                [self.domain.spread(q) * (set(one) <= set(q)) for one in self.subsets]
                for q in marginals
            ],
            np.float64,
        )

    def informed(self, marginals: tuple[Marginal, ...]) -> Floats:
        """Precision of each interaction for measurements of variance 1: ``(marginals, interactions)``."""
        table = self.within(marginals)
        for at, q in enumerate(marginals):
            if self.residuals and q and q != self.domain.full:
                own = np.array([one == q for one in self.subsets])
                table[at] *= own * self.domain.size_of(q) ** 2
        return table

    def bought(self, marginals: tuple[Marginal, ...]) -> Floats:
        """Return the precision ``(marginals, interactions)`` for a share of 1, where a plain count has variance 1."""
        table = self.informed(marginals)
        for at, q in enumerate(marginals):
            if self.residuals and q and q != self.domain.full:
                moved = moved_by_person(self.residuals, norm=2, residual=self.domain.shape_of(q))
                table[at] /= moved / moved_by_person(self.residuals, norm=2)
        return table

    @cached_property
    def entry(self) -> Floats:
        """``(asked, interactions)``: variance of an entry for each unit of the variance of an interaction."""
        sizes = np.array([self.domain.size_of(q) for q in self.targets])
        return np.asarray(self.within(self.targets) * self.sizes / sizes[:, None])

    @cached_property
    def totals(self) -> Floats:
        """``(kinds, asked)``: weights added up over entries and regions, of which sums of errors are made."""
        sizes = np.array([self.domain.size_of(q) for q in self.targets])
        return np.asarray(self.weights * sizes * self.kinds.count[:, None])

    def value(self, variances: Floats) -> float:
        """Return the loss: the worst weighted variance, or the weighted sum of variances or of standard errors."""
        mask = self.weights > 0
        if self.loss == "worst":
            return float((self.weights * variances)[mask].max())
        finite = np.where(mask, variances, 0.0)
        return float((self.totals * (finite if self.loss == "variance" else np.sqrt(finite))).sum())

    def slopes(self, variances: Floats) -> Floats:
        """Derivatives of a sum of errors by the variances: ``(kinds, asked)``."""
        if self.loss == "variance":
            return self.totals
        return np.where(self.weights > 0, self.totals / 2 / np.sqrt(variances), 0.0)

    def heavier(self, weights: Floats, variances: Floats) -> Floats:
        """Raise the weights ``(kinds, asked)`` of variances where the weighted variance is near the largest one."""
        mask = self.weights > 0
        scaled = np.where(mask, self.weights * variances, 0.0)
        # For Laplace noise small steps lead to better local optima.
        made = weights * (scaled / scaled.max()) ** (0.5 if self.squared else 1.5)
        # A weight of 0 would stay so.
        made = np.where(mask, np.maximum(made, 1e-12 * made.max()), 0.0)
        return np.asarray(made / (made[mask] / self.weights[mask]).sum())

    def precision(self, shares: Floats, base: Floats, *, least: float = 1e-12) -> Floats:
        """Return the precision of each interaction by kind of region, ``(kinds, interactions)``, above 0.

        `shares` ``(kinds, marginals)`` are parts of the budget, `base` ``(marginals, interactions)`` the precision of
        each marginal at the whole budget; with Gaussian noise it is linear in shares, else quadratic.
        `least` stands for no precision, where no variance is asked, and its inverse for a known total.
        """
        made = np.maximum((shares**2 if self.squared else shares) @ base, least)
        if self.total_is_known:
            made[0, self.subsets.index(())] = 1 / least
        return made

    def spread(self, precision: Floats) -> tuple[Floats, Floats, Floats]:
        """Return what precisions ``(kinds, interactions)`` of own measurements give.

        Three arrays of this shape, linear. They are the variance of each interaction in a region of each kind, from
        all measurements; the inverse precision of its subtree; and the precision of the sum of the regions below it,
        0 for leaves.
        """
        kinds = self.kinds
        total, below = precision.copy(), np.zeros_like(precision)
        for part, above in reversed(kinds.steps):
            inverse = np.zeros_like(precision)
            np.add.at(inverse, above, kinds.each[part, None] / total[part])
            inner = np.unique(above)
            below[inner] = 1 / inverse[inner]
            total[inner] += below[inner]
        one = 1 / total
        spreads = one.copy()
        for part, above in kinds.steps:
            ratio = below[above] * one[part]
            rest = np.maximum(1 / below[above] - one[part], 0)
            spreads[part] = ratio * rest + ratio**2 * spreads[above]
        return spreads, one, below

    def pull(self, wanted: Floats, spread: tuple[Floats, Floats, Floats]) -> Floats:
        """Return minus the derivative of ``wanted * variances`` by the precision of one region of each kind.

        `wanted` is ``(kinds, interactions)``, as the result; `spread` is what :meth:`spread` returned. Linear.
        """
        kinds, (spreads, one, below) = self.kinds, spread
        variances, inverses = wanted.copy(), np.zeros_like(wanted)
        lows = np.zeros_like(wanted)
        for part, above in reversed(kinds.steps):
            x, a, v, w = one[part], below[above], spreads[above], variances[part]
            inverses[part] = w * (1 - 2 * a * x + 2 * a**2 * x * v)
            many = kinds.each[part, None]
            np.add.at(lows, above, many * w * (2 * a * x**2 * v - x**2))
            np.add.at(variances, above, many * w * (a * x) ** 2)
        inverses[0] += variances[0]
        result = inverses * one**2
        for part, above in kinds.steps:
            inverses[part] -= (lows[above] - result[above]) * below[above] ** 2
            result[part] = inverses[part] * one[part] ** 2
        return result


def best_shares(
    program: Program,
    measured: tuple[Marginal, ...],
    prices: Floats,
    pushes: Floats,
    *,
    start: Floats,
    fixed: Floats | None = None,
    least: float = 0.0,
    patience: int,
    tol: float = 2e-4,
    steps: int = 3000,
) -> Floats:
    """Find shares of measured marginals in regions of each kind.

    Where no step meets the caps, the shares need not. At most `steps` passes over kinds of regions times
    interactions.

    Parameters
    ----------
    program
        What is to be small.
    measured
        Marginals that may be measured.
    prices
        ``(kinds,)``: prices of leaves to begin with, 0 for other kinds.
    pushes
        ``(kinds, asked)``: weights of variances to begin with, for the largest one or the caps.
    start
        ``(kinds, measured)``: shares to begin with; nothing that is 0 there gets a share.
    fixed
        ``(kinds,)``: budget of a region of each kind, where levels have stated parts.
    least
        Lower bound of the loss: the search ends near it.
    patience, tol, steps
        After how many steps without progress the search ends, how near, and after how many in all.

    Returns
    -------
    ndarray
        Shares ``(kinds, measured)``; the sum along each path is at most 1.
    """
    kinds, base = program.kinds, program.bought(measured)
    ends, price = kinds.ends, np.where(kinds.ends, prices, 0.0)
    shares = start / kinds.down(start.sum(axis=1))[ends].max()
    mask = program.weights > 0
    degree = {"deviations": 0.5}.get(program.loss, 1.0) * (2 if program.squared else 1)
    power = 1 / (1 + degree) if not program.squared else 1 / (1 + degree / 2) / 1.5
    # Where one share alone decides on a variance, a weight that is multiplied by this power of it meets a cap at once.
    newton = 1 / power / (2 if program.squared else 1)
    lowest, highest = 0.8 ** (1 / newton), 1.6 ** (1 / newton)
    best, low, since = shares, math.inf, 0
    usable = False
    for step in range(steps):
        if fixed is not None:
            shares *= (fixed / np.maximum(shares.sum(axis=1), 1e-300))[:, None]
        used = kinds.down(shares.sum(axis=1))
        if not used[ends].max() > 0:
            break
        feasible = shares / used[ends].max()
        spread = program.spread(program.precision(feasible, base))
        variances = spread[0] @ program.entry.T
        loss = program.value(variances)
        # The constraint is neared slowly: a little beyond it is accepted, and mended by equal parts.
        fits = bool((variances[mask] <= program.caps * 1.002).all())
        if not step or (fits and (loss < low or not usable)):
            since = step if loss < low * (1 - tol / 100) or not usable else since
            best, low, usable = feasible, loss, fits
        if fits and (loss <= least * (1 + tol) or step - since > patience):
            break
        if program.loss == "worst":
            push = pushes = program.heavier(pushes, variances)
        else:
            push = program.slopes(variances)
        if math.isfinite(program.caps):
            # A little less than the constraint, so that the search ends inside of it; each may come to hold back later.
            ratio = np.where(mask, variances / (0.999 * program.caps), 0.0)
            pushes = np.maximum(pushes, 1e-2 * push) * np.clip(ratio, lowest, highest) ** newton
            # They grow without end where no share meets the constraint; products of two stay floats.
            pushes = np.minimum(pushes, np.finfo(float).max ** 0.5)
            push = push + pushes
        gain = program.pull((push / kinds.count[:, None]) @ program.entry, spread) @ base.T
        if program.squared:
            gain = gain * 2 * feasible
        if fixed is None:
            price = price * used / used[ends].max()
            price = np.where(ends, np.maximum(price, 1e-12 * price[ends].max()), 0.0)
            price /= (price * kinds.count).sum()
            paid = kinds.up(price)
        else:
            paid = np.ones(len(ends))
        # Scaled first: next to nothing is paid where a region is hardly measured.
        gain = np.maximum(gain / gain.max(), 0.0) / paid[:, None]
        shares = feasible * (gain / gain.max()) ** power
    return np.asarray(best)


def whole_shares(
    kinds: RegionKinds, shares: Floats, grain: int = SHARE_GRAINS[0]
) -> list[list[Fraction]]:
    """Round shares down to fractions; the rest of a path goes to its leaf, or to the highest level with a share.

    `shares` are ``(kinds, measured)`` floats, `grain` the common denominator. Linear in them.

    Returns
    -------
    list
        For each kind a fraction for each measured marginal. The sum along a path is at most 1.

    Examples
    --------
    >>> from discreet.core.tree import Tree
    >>> whole_shares(kinds_of(Tree.from_paths([("a",), ("b",)])), np.array([[1 / 3], [2 / 3]]))
    [[Fraction(16667, 50000)], [Fraction(33333, 50000)]]
    """
    grains = np.floor(shares * grain).astype(np.int64)
    used = kinds.down(grains.sum(axis=1).astype(np.float64)).astype(np.int64)
    least = np.where(kinds.ends, used, 0)
    for part, above in reversed(kinds.steps):
        np.maximum.at(least, above, least[part])
    above_it = np.zeros_like(used)
    for kind in range(len(used)):
        above = int(above_it[kinds.parents[kind]]) if kind else 0
        # All that a leaf can spend; above, nothing that would exceed the budget of the fullest path.
        extra = grain - int(least[kind]) - above
        if grains[kind].any() and (kinds.ends[kind] or kinds.by_level):
            grains[kind, int(grains[kind].argmax())] += extra
            above += extra
        above_it[kind] = above
    return [[Fraction(one, grain) for one in row] for row in grains.tolist()]
