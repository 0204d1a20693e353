"""Half-widths of intervals: from the law of the whole noise of an answer, or Chernoff's bound where that is shorter.

The coefficient of every noise in an answer is known (:meth:`ExactFit.noises
<discreet.hierarchy.contingency.exact.ExactFit.noises>`); equal ones are a group. What is used follows from public facts
alone. Answers with the same noise share one computation: regions of one shape below parents of one shape, and questions
about one entry each.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np

from discreet.hierarchy.contingency.intervals import half_width
from discreet.hierarchy.contingency.law import half_width_by_law

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from discreet.hierarchy.contingency.exact import ExactFit
    from discreet.hierarchy.contingency.law import Group
    from discreet.hierarchy.contingency.measure import MeasuredTables


class _Limits(NamedTuple):
    """Limits on the laws of answers that are computed; the rest is bounded."""

    groups: int = 128
    """Groups of equal coefficients whose characteristic functions are multiplied."""
    laws: int = 1000
    """Laws that a query without structural zeros computes, each in some milliseconds; Chernoff's bound is taken
    beyond."""


_LIMITS = _Limits()


class AnswerNoise(NamedTuple):
    """The noise of one answer.

    Parameters
    ----------
    variance
        At least its variance; for Gaussian noise the sum of the parameters.
    steepest
        For Laplace noise the scale of each kind of noise and its largest coefficient; empty for Gaussian noise.
    groups
        For each group of equal coefficients its size, number of noises, scale and variance, largest share first.
    """

    variance: Fraction
    steepest: list[tuple[Fraction, Fraction]]
    groups: tuple[Group, ...]


@final
class Widths:
    """Variances and half-widths for the answers of one fit.

    Parameters
    ----------
    fit
        The fit.
    interval
        The probability with which an interval has to cover.
    """

    def __init__(self, fit: ExactFit, interval: Fraction) -> None:
        self.fit, self.interval = fit, interval
        self._known: dict[object, tuple[Fraction, Fraction]] = {}

    def of(self, question: NDArray[Any], regions: Mapping[int, int]) -> tuple[Fraction, Fraction]:
        """Return the variance of the noise of an answer, and the half-width of its interval.

        The variance, in squared records, is an upper bound; the half-width, in records, is rounded up. Both are exact
        fractions, computed once for answers with the same noise by :func:`noise_of_answer` and the law of the groups.

        Parameters
        ----------
        question
            ``(entries,)`` whole-number weights.
        regions
            The regions, each with its weight.
        """
        used = np.flatnonzero(question).tolist()
        # Entries are alike but for structural zeros.
        alike = len(used) == 1 and not self.fit.layout.irregular
        pattern = (question[used[0]],) if alike else tuple(question.tolist())
        key = (self._place(regions), pattern)
        if key not in self._known:
            self._known[key] = self._computed(question, regions)
        return self._known[key]

    def _computed(
        self, question: NDArray[Any], regions: Mapping[int, int]
    ) -> tuple[Fraction, Fraction]:
        """Return the variance of an answer's noise and the half width of its interval.

        By its law for the first answers, else by a bound; `question` is ``(entries,)``, `regions` are weights by node.
        """
        noise = noise_of_answer(self.fit, question, regions)
        variance, bound = noise.variance, half_width(noise.variance, self.interval, noise.steepest)
        # With structural zeros hardly any two answers have the same noise: their laws are not limited.
        limited = not self.fit.layout.irregular and len(self._known) >= _LIMITS.laws
        # Noise that no float can tell from none has whole numbers for its answers.
        if not bound or not float(variance) > 0 or limited:
            return variance, bound
        law = _law_of(
            noise.groups,
            self.fit.measured,
            self.interval,
            variance=float(variance),
            most=float(bound),
        )
        return variance, bound if law is None else min(bound, Fraction(law))

    def _place(self, regions: Mapping[int, int]) -> object:
        """Return what decides the coefficients: the kinds of regions on the path, and which are first children."""
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


def noise_of_answer(
    fit: ExactFit, question: NDArray[Any], regions: Mapping[int, int]
) -> AnswerNoise:
    """Collect the noises of an answer by their coefficients.

    Parameters
    ----------
    fit
        The fit.
    question
        ``(entries,)`` whole-number weights.
    regions
        The regions, each with its weight.

    Complexity
    ----------
    For each kind of region off the paths to `regions`, and each region on them, one product of the size of a marginal.
    """
    measured, scale = fit.measured, fit.scale
    variance = Fraction(0)
    largest: dict[Fraction, Fraction] = {}
    stacks: dict[tuple[float, float], list[NDArray[np.float64]]] = {}
    for part in fit.noises(question, regions):
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
        stacks.setdefault(kind, []).append(np.stack([_shortened(sizes), counts]))
    steepest = [] if measured.noise == "gaussian" else list(largest.items())
    return AnswerNoise(variance / scale**2, steepest, _grouped(stacks))


def _law_of(
    groups: tuple[Group, ...],
    measured: MeasuredTables,
    interval: Fraction,
    *,
    variance: float,
    most: float,
) -> float | None:
    """Return an interval's half-width, in records, from the law of the listed noises; ``None`` if none is below `most`.

    `interval` is the probability with which the interval has to cover, `variance` that of the whole noise; what the
    listed noises leave of it is bounded by its variance alone.

    `groups` are the listed noises as of :func:`_grouped`.
    """
    listed = sum(a * a * n * v for a, n, _, v in groups)
    # Rounded up to three digits, so that answers that hardly differ have one law.
    rest = float(f"{max(0.0, variance * (1 + 1e-8) - listed):.2e}") * 1.01
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
    """Collect (coefficient, number, scale, variance) of noises, those with the most variance first, at most 128.

    `found` maps scale and variance to ``(2, m)`` arrays: absolute coefficients, and how often each occurs. A sort of
    all.
    """
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
    return tuple(groups[: _LIMITS.groups])


def _shortened(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round to 32 binary digits, so that what is equal but for rounding is one."""
    digits, places = np.frexp(values)
    return np.asarray(np.ldexp(np.rint(np.ldexp(digits, 32)), places - 32), dtype=np.float64)
