"""How wide the interval of each answer is: by the law of the region's own noise where that is shorter than the bound.

The coefficient of every noise of the region is known exactly. Equal ones are a group; the largest groups have their
law, all else is bounded. Which of the two arguments is used follows from public facts alone.
"""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

from discreet.hierarchy.contingency.exact import centered
from discreet.hierarchy.contingency.intervals import half_width
from discreet.hierarchy.contingency.law import half_width_by_law

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.hierarchy.contingency.exact import ExactFit
    from discreet.hierarchy.contingency.problem import Marginal

    Steepest = list[tuple[Fraction, Fraction]]

__all__ = ["Widths"]

_MOST_GROUPS = 12
"""Groups of noises that have their law."""

_MOST_LAWS = 200
"""Different compositions of noise whose law is computed for one question; each takes some hundredths of a second."""

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

    def of(
        self, question: NDArray[Any], node: int, variance: Fraction, steepest: Steepest
    ) -> Fraction:
        """Give the half-width of an answer.

        Parameters
        ----------
        question
            ``(entries,)`` whole-number weights.
        node
            The region.
        variance
            The variance of the noise of the answer.
        steepest
            For Laplace noise, for each kind its scale and a bound of its coefficients.
        """
        key = (variance, tuple(steepest))
        if key not in self._bounds:
            self._bounds[key] = half_width(variance, self.interval, steepest)
        bound = self._bounds[key]
        found = self._by_law(question, node, variance, steepest, float(bound)) if bound else None
        return bound if found is None else min(bound, Fraction(found))

    def _by_law(
        self, question: NDArray[Any], node: int, variance: Fraction, steepest: Steepest, most: float
    ) -> float | None:
        groups = self._groups(question, node)
        if groups is None:
            return None
        whole = float(variance)
        kept = groups[:_MOST_GROUPS]
        held = sum(a * a * n * v for a, n, _, v in kept)
        # Rounded up to four digits, so that regions that hardly differ have one law.
        left = max(0.0, whole * (1 + 1e-9) - held * (1 - 1e-6))
        left = math.ceil(left / whole * 1e4) / 1e4 * whole
        rest = float(f"{left:.6g}") * (1 + 1e-5)
        kinds = self._foreign(question, node, groups[_MOST_GROUPS:]) if steepest else []
        key = (tuple(kept), rest, tuple(kinds))
        if key not in self._laws:
            if len(self._laws) >= _MOST_LAWS:
                return None
            noise = self.fit.measured.noise
            self._laws[key] = half_width_by_law(
                tuple(kept), rest, noise, tuple(kinds), interval=self.interval, most=most
            )
        return self._laws[key]

    def _foreign(
        self,
        question: NDArray[Any],
        node: int,
        left: list[tuple[float, int, Fraction, float]],
    ) -> list[tuple[float, float]]:
        """Bound the coefficients of the rest: of the noise of other regions, and of the groups that have no law."""
        fit, measured = self.fit, self.fit.measured
        largest = [float(one) for one in fit.largest(question)]
        factors = [fit.foreign_coefficients(at)[node] for at in range(len(fit.subsets))]
        found: dict[float, float] = {}
        for q in measured.frame.marginals:
            for stratum, scale in enumerate(measured.scales[q]):
                if scale is None:
                    continue
                parts = fit.weights.own[q][stratum].tolist()
                top = sum(
                    factor * part / fit.weights.unit * one
                    for factor, part, one in zip(factors, parts, largest, strict=True)
                )
                found[float(scale)] = max(found.get(float(scale), 0.0), top)
        for a, _, scale, _ in left:
            found[float(scale)] = max(found.get(float(scale), 0.0), a)
        # Rounded up to two digits, so that regions that hardly differ have one law.
        return sorted((b, float(f"{top:.1e}") * 1.06) for b, top in found.items() if top)

    def _groups(
        self, question: NDArray[Any], node: int
    ) -> list[tuple[float, int, Fraction, float]] | None:
        """Collect the noises of a region by their coefficient, those with the most variance first."""
        fit, measured = self.fit, self.fit.measured
        stratum = int(measured.frame.strata[node])
        found: Counter[tuple[float, Fraction]] = Counter()
        for q in measured.frame.marginals:
            scale = measured.scales[q][stratum]
            if scale is None:
                continue
            shared = tuple(at for at in q if at in fit.marginal)
            size = measured.frame.domain.size_of(shared)
            if size > _MOST_ENTRIES:
                return None
            each = measured.frame.domain.size_of(q) // size
            for coefficient in self._coefficients(question, node, q, shared):
                if coefficient:
                    # To seven digits: weights of regions that hardly differ are taken for equal.
                    found[float(f"{abs(coefficient):.7g}"), scale] += each
        variances = {
            scale: float(variance)
            for q in measured.frame.marginals
            if (scale := measured.scales[q][stratum]) is not None
            and (variance := measured.variance(q, stratum)) is not None
        }
        groups = [(a, n, scale, variances[scale]) for (a, scale), n in found.items()]
        return sorted(groups, key=lambda one: (-(one[0] ** 2) * one[1] * one[3], one[0]))

    def _coefficients(
        self, question: NDArray[Any], node: int, q: Marginal, shared: Marginal
    ) -> list[float]:
        """Give the coefficient of a noise of a marginal in the answer, for each entry of what it shares with it."""
        fit, domain = self.fit, self.fit.measured.frame.domain
        stratum = int(fit.measured.frame.strata[node])
        parts = fit.weights.own[q][stratum].tolist()
        whole = domain.size_of(fit.marginal)
        found = [0.0] * domain.size_of(shared)
        entries = domain.labels(shared)
        for at, subset in enumerate(fit.subsets):
            if not parts[at] or not set(subset) <= set(shared):
                continue
            own = Fraction(parts[at]) / fit.weights.unit * fit.own_coefficients(at)[node]
            table = centered(
                domain.project(question[None], subset, fit.marginal), domain, subset
            ).reshape(-1)
            place = {label: k for k, label in enumerate(domain.labels(subset))}
            for k, entry in enumerate(entries):
                label = tuple(entry[shared.index(one)] for one in subset)
                found[k] += float(own * int(table[place[label]]) / whole)
        return found
