"""How wide the interval of each answer is: by the law of its whole noise, and by Chernoff's bound where that fails.

The coefficient of every noise in an answer is known: that of a region's own mean in the estimate follows from the two
passes over the tree, and those of the entries from the interactions. Equal ones are a group. What is used follows from
public facts alone, and regions whose noise is the same share one computation: siblings of one shape below parents of
one shape, and questions that only name other categories.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.hierarchy.contingency.exact import centered
from discreet.hierarchy.contingency.intervals import half_width
from discreet.hierarchy.contingency.law import half_width_by_law

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from discreet.hierarchy.contingency.exact import ExactFit
    from discreet.hierarchy.contingency.held import HeldFit
    from discreet.hierarchy.contingency.law import Group
    from discreet.hierarchy.contingency.measure import MeasuredTables
    from discreet.hierarchy.contingency.problem import Marginal

    Steepest = list[tuple[Fraction, Fraction]]
    Width = Callable[[Mapping[int, int]], tuple[Fraction, Fraction]]

__all__ = ["HeldWidths", "Widths", "noise_groups"]

_MOST_GROUPS = 128
"""Groups of noises that are multiplied; the rest is bounded."""

_MOST_REGIONS = 256
"""Different coefficients of regions that are looked at."""

_LEFT = 1e-7
"""Part of the variance that need not be looked at."""

_MOST_LAWS = 1000
"""Different compositions of noise whose law is computed for one question; each takes some milliseconds."""

_MOST_ENTRIES = 1 << 12
"""Entries of a marginal that are looked at one by one."""


@final
class Widths:
    """Half-widths for the answers of one fit, each composition of noise computed once.

    Parameters
    ----------
    fit
        The fit.
    interval
        The probability with which an interval has to cover.
    """

    def __init__(self, fit: ExactFit, interval: Fraction) -> None:
        self.fit, self.interval = fit, interval
        self._bounds: dict[tuple[Fraction, tuple[tuple[Fraction, Fraction], ...]], Fraction] = {}
        self._laws: dict[tuple[object, ...], float | None] = {}
        self._shapes: list[int] | None = None

    def about(self, question: NDArray[Any]) -> Width:
        """Give what tells, for a combination of regions, the variance of the answer's noise and the half-width.

        Parameters
        ----------
        question
            ``(entries,)`` whole-number weights.
        """
        fit = self.fit
        norms = [one[0] for one in fit.norms(question[None])]
        steepest, pattern = _steepest(fit, question), _pattern(question)

        def width(regions: Mapping[int, int]) -> tuple[Fraction, Fraction]:
            if len(regions) > 1:
                variance = fit.combined_variance(question, regions)
            else:
                [(node, weight)] = regions.items()
                parts = (fit.region_variances(at)[node] * one for at, one in enumerate(norms))
                variance = weight**2 * sum(parts, Fraction(0))
            # No coefficient of a region's mean is above 1 in any estimate: weights bound those of a combination.
            most = sum(map(abs, regions.values()))
            steep = [(scale, most * top) for scale, top in steepest]
            return variance, self._half(question, pattern, regions, variance, steep)

        return width

    def _half(
        self,
        question: NDArray[Any],
        pattern: object,
        regions: Mapping[int, int],
        variance: Fraction,
        steepest: Steepest,
    ) -> Fraction:
        key = (variance, tuple(steepest))
        if key not in self._bounds:
            self._bounds[key] = half_width(variance, self.interval, steepest)
        bound = self._bounds[key]
        if not bound:
            return bound
        alike = (self._place(regions), pattern, variance)
        if alike not in self._laws:
            if len(self._laws) >= _MOST_LAWS:
                return bound
            self._laws[alike] = self._by_law(question, regions, float(variance), float(bound))
        found = self._laws[alike]
        return bound if found is None else min(bound, Fraction(found))

    def _by_law(
        self, question: NDArray[Any], regions: Mapping[int, int], variance: float, most: float
    ) -> float | None:
        groups = noise_groups(self.fit, question, regions, variance)
        if groups is None:
            return None
        return _law_of(groups, self.fit.measured, self.interval, variance=variance, most=most)

    def _place(self, regions: Mapping[int, int]) -> object:
        """Name what decides the coefficients: the shapes of the regions on the path, and their parts."""
        if len(regions) > 1:
            return tuple(sorted(regions.items()))
        [(node, weight)] = regions.items()
        shapes, parents = self._subtrees(), self.fit.measured.frame.tree.parents
        path: list[object] = [weight]
        while node >= 0:
            path.append((shapes[node], self.fit.weights.beta[node].tobytes()))
            node = int(parents[node])
        return tuple(path)

    def _subtrees(self) -> list[int]:
        """Number the subtrees so that equal ones, with equal weights, have one number."""
        if self._shapes is None:
            frame, theta = self.fit.measured.frame, self.fit.weights.theta
            known: dict[object, int] = {}
            self._shapes = [0] * frame.tree.n
            for node in range(frame.tree.n - 1, -1, -1):
                below = tuple(sorted(self._shapes[child] for child in frame.tree.children(node)))
                key = (int(frame.strata[node]), theta[node].tobytes(), below)
                self._shapes[node] = known.setdefault(key, len(known))
        return self._shapes


@final
class HeldWidths:
    """Variances and half-widths for the answers of a fit that holds structural zeros at zero.

    Parameters
    ----------
    fit
        The fit.
    interval
        The probability with which an interval has to cover.
    """

    def __init__(self, fit: HeldFit, interval: Fraction) -> None:
        self.fit, self.interval = fit, interval
        self._known: dict[object, tuple[Fraction, Fraction]] = {}

    def about(self, question: NDArray[Any]) -> Width:
        """Give what tells, for a combination of regions, the variance of the answer's noise and the half-width.

        Parameters
        ----------
        question
            ``(entries,)`` whole-number weights.
        """
        asked = tuple(question.tolist())

        def width(regions: Mapping[int, int]) -> tuple[Fraction, Fraction]:
            key = (self._place(regions), asked)
            if key not in self._known:
                self._known[key] = self._found(question, regions)
            return self._known[key]

        return width

    def _found(
        self, question: NDArray[Any], regions: Mapping[int, int]
    ) -> tuple[Fraction, Fraction]:
        measured, scale = self.fit.measured, self.fit.scale
        variance = Fraction(0)
        largest: dict[Fraction, Fraction] = {}
        found: dict[tuple[float, float], list[NDArray[np.float64]]] = {}
        for part in self.fit.noises(question, regions):
            noise = measured.scales[part.marginal][part.stratum]
            each = measured.variance(part.marginal, part.stratum)
            if noise is None or each is None:
                continue
            squares = sum(one * one for one in part.coefficients)
            variance += Fraction(part.count * squares) * each
            top = max(map(abs, part.coefficients))
            largest[noise] = max(largest.get(noise, Fraction(0)), Fraction(top) / scale)
            sizes = np.array([abs(float(one / scale)) for one in part.coefficients])
            counts = np.full(len(sizes), float(part.count))
            kind = (float(noise), float(each))
            found.setdefault(kind, []).append(np.stack([_shortened(sizes), counts]))
        variance /= scale**2
        steepest = [] if measured.noise == "gaussian" else list(largest.items())
        bound = half_width(variance, self.interval, steepest)
        # Noise that no float can tell from none has whole numbers for its answers.
        if not bound or not float(variance) > 0:
            return variance, bound
        groups = _grouped(found)
        law = _law_of(groups, measured, self.interval, variance=float(variance), most=float(bound))
        return variance, bound if law is None else min(bound, Fraction(law))

    def _place(self, regions: Mapping[int, int]) -> object:
        """Name what decides the coefficients: the kinds of regions on the path, and who is the first child."""
        if len(regions) > 1:
            return tuple(sorted(regions.items()))
        [(node, weight)] = regions.items()
        tree, of = self.fit.measured.frame.tree, self.fit.subtrees.of
        path: list[object] = [weight]
        while node >= 0:
            above = int(tree.parents[node])
            path.append((of[node], above >= 0 and tree.children(above)[0] == node))
            node = above
        return tuple(path)


def _steepest(fit: ExactFit, question: NDArray[Any]) -> list[tuple[Fraction, Fraction]]:
    """Bound the coefficient of any one noise of each kind in an answer; nothing for Gaussian noise."""
    measured = fit.measured
    if measured.noise == "gaussian":
        return []
    largest, unit = fit.largest(question), fit.weights.unit
    found = []
    for q in measured.frame.marginals:
        for stratum, scale in enumerate(measured.scales[q]):
            if scale is None:
                continue
            parts = fit.weights.own[q][stratum].tolist()
            top = sum(
                (Fraction(part) / unit * one for part, one in zip(parts, largest, strict=True)),
                Fraction(0),
            )
            found.append((scale, top))
    return found


def _law_of(
    groups: tuple[Group, ...],
    measured: MeasuredTables,
    interval: Fraction,
    *,
    variance: float,
    most: float,
) -> float | None:
    """Find the half-width by the law of the noises that are listed, and bounds for the rest of the variance."""
    held = sum(a * a * n * v for a, n, _, v in groups)
    # Rounded up to three digits, so that answers that hardly differ have one law.
    rest = float(f"{max(0.0, variance * (1 + 1e-8) - held):.2e}") * 1.01
    scales = {
        float(one)
        for q in measured.frame.marginals
        for stratum, one in enumerate(measured.scales[q])
        if one is not None and measured.variance(q, stratum)
    }
    return half_width_by_law(
        groups, rest, tuple(sorted(scales)), measured.noise, interval=interval, most=most
    )


def _grouped(found: Mapping[tuple[float, float], list[NDArray[np.float64]]]) -> tuple[Group, ...]:
    """Collect sizes of coefficients and how often each is there, those with the most variance first."""
    groups: list[Group] = []
    for (scale, variance), stacks in found.items():
        values, counts = np.concatenate(stacks, axis=1)
        distinct, place = np.unique(values, return_inverse=True)
        totals = np.bincount(place, weights=counts)
        groups += [
            (a, int(n), scale, variance)
            for a, n in zip(distinct.tolist(), totals.tolist(), strict=True)
            if a
        ]
    groups.sort(key=lambda one: (-(one[0] ** 2) * one[1] * one[3], one))
    return tuple(groups[:_MOST_GROUPS])


def _pattern(question: NDArray[Any]) -> object:
    """Name a question up to the names of categories: one entry is like any other."""
    used = np.flatnonzero(question)
    return (int(question[used[0]]),) if len(used) == 1 else tuple(question.tolist())


def noise_groups(
    fit: ExactFit,
    question: NDArray[Any],
    regions: Mapping[int, int],
    variance: float,
    *,
    left: float = _LEFT,
) -> tuple[Group, ...] | None:
    """Collect the noises of an answer by their coefficient, those with the most variance first.

    Parameters
    ----------
    fit
        The fit.
    question
        ``(entries,)`` whole-number weights.
    regions
        The regions, each with its weight.
    variance
        The variance of the answer.
    left
        Part of it that may be left out.

    Returns
    -------
    tuple or None
        For each group the size of its coefficient, how many noises it has, their scale and the variance of one of
        them; ``None`` where a marginal has too many entries.

    Complexity
    ----------
    Two passes over the regions for each interaction, and the entries of the marginals for each coefficient of a region.
    """
    measured = fit.measured
    frame, domain = measured.frame, measured.frame.domain
    n_strata = frame.n_strata
    own = np.array(
        [
            [float(fit.own_variance(at, stratum)) for at in range(len(fit.subsets))]
            for stratum in range(n_strata)
        ]
    )
    parts = _region_coefficients(fit, regions)
    # Each stratum apart, since its noise is its own.
    signed = np.concatenate([frame.strata[:, None].astype(np.float64), parts], axis=1)
    flip = parts[np.arange(len(parts)), np.abs(parts).argmax(axis=1)] < 0
    signed[flip, 1:] *= -1
    rows, many = np.unique(signed, axis=0, return_counts=True)
    strata, rows = rows[:, 0].astype(np.int64), rows[:, 1:]
    norms = np.array([float(one[0]) for one in fit.norms(question[None])])
    each = many * (rows**2 * own[strata] * norms).sum(axis=1)
    order = np.argsort(-each, kind="stable")
    behind = variance - np.cumsum(each[order])
    stop = int(np.searchsorted(-behind, -left * variance)) + 1
    chosen = order[: min(stop, _MOST_REGIONS)]
    found: dict[tuple[float, float], list[NDArray[np.float64]]] = {}
    for q in frame.marginals:
        shared = tuple(at for at in q if at in fit.marginal)
        if domain.size_of(shared) > _MOST_ENTRIES:
            return None
        spread = domain.size_of(q) // domain.size_of(shared)
        tables = _interaction_tables(fit, question, shared)
        for stratum in np.unique(strata[chosen]).tolist():
            scale, one = measured.scales[q][stratum], measured.variance(q, stratum)
            if scale is None or not one:
                continue
            some = chosen[strata[chosen] == stratum]
            weights = (fit.weights.own[q][stratum] / fit.weights.unit).astype(np.float64)
            made = np.abs((rows[some] * weights) @ tables)
            values = _shortened(made)
            stacked = np.stack(
                [values.reshape(-1), np.repeat(many[some] * spread, values.shape[1])]
            )
            found.setdefault((float(scale), float(one)), []).append(stacked)
    return _grouped(found)


def _region_coefficients(fit: ExactFit, regions: Mapping[int, int]) -> NDArray[np.float64]:
    """Give ``(n_nodes, n_subsets)``: the coefficient of each region's own mean, by the two passes transposed."""
    frame, weights = fit.measured.frame, fit.weights
    tree, unit = frame.tree, weights.unit
    theta, beta = (weights.theta / unit).astype(float), (weights.beta / unit).astype(float)
    wanted = np.zeros(theta.shape)
    for node, weight in regions.items():
        wanted[node] += weight
    given = np.zeros(theta.shape)
    starts = tree.level_start.tolist()
    for level in range(tree.depth, 0, -1):
        nodes = slice(starts[level], starts[level + 1])
        handed = np.zeros(theta.shape)
        np.add.at(handed, tree.parents[nodes], beta[nodes] * wanted[nodes])
        given[nodes] = wanted[nodes] - handed[tree.parents[nodes]]
        wanted += handed
    given[0] += wanted[0]
    for level in range(1, tree.depth + 1):
        nodes = slice(starts[level], starts[level + 1])
        above = tree.parents[nodes]
        given[nodes] += given[above] * (1 - theta[above])
    found = given * theta
    if frame.total is not None and () in fit.subsets:
        found[0, fit.subsets.index(())] = 0
    return np.asarray(found, dtype=np.float64)


def _interaction_tables(
    fit: ExactFit, question: NDArray[Any], shared: Marginal
) -> NDArray[np.float64]:
    """Give ``(n_subsets, entries)``: the parts of a question by interaction, for each entry of a marginal."""
    domain = fit.measured.frame.domain
    shape = domain.shape_of(shared)
    found = np.zeros((len(fit.subsets), domain.size_of(shared)))
    whole = domain.size_of(fit.marginal)
    for at, subset in enumerate(fit.subsets):
        if not set(subset) <= set(shared):
            continue
        table = centered(domain.project(question[None], subset, fit.marginal), domain, subset)
        one = np.array([int(value) / whole for value in table.reshape(-1)])
        along = [size if k in subset else 1 for k, size in zip(shared, shape, strict=True)]
        found[at] = np.broadcast_to(one.reshape(along), shape).reshape(-1)
    return found


def _shortened(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round to 32 binary digits, so that what is equal but for rounding is one."""
    digits, places = np.frexp(values)
    return np.asarray(np.ldexp(np.rint(np.ldexp(digits, 32)), places - 32), dtype=np.float64)
