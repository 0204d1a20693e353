"""Each false statement of [RY20]_ failing, on an instance that can be looked at, and what is true instead."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.calculus import to_approx_dp
from discreet.core.randomness import SeededBits
from discreet.submodular import PartSampled, UniformMatroid, WeightedCoverage
from discreet.submodular.accounting import advanced, concentrated
from discreet.submodular.draws.fractional import marginals
from discreet.submodular.method import DrawPlan
from discreet.submodular.methods.algorithm_4 import Algorithm4
from discreet.submodular.methods.bases import draw_base
from discreet.submodular.stating import state_choice
from discreet_reproduction.record import Experiment
from discreet_reproduction.submodular.as_published.algorithm_2 import (
    Algorithm2,
    layer_scores,
    sample_size,
)
from discreet_reproduction.submodular.instances import decoys, slow_steps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from discreet_reproduction.record import Cell, Run
    from discreet_reproduction.submodular.instances import Instance

Row = dict[str, "Cell"]

_COLUMNS = ("statement", "instance", "quantity", "claimed (paper)", "found", "true instead")
_GREEDY = Fraction(1 << 20)
"""A coefficient so large that a draw takes the best."""

_NOTES = (
    "Each row runs the library's own code or an exact computation; nothing in the column found is a constant.",
    "Algorithm 2 draws from the bases themselves, the best covering it could have.",
    "Ratios are without noise: the theorems allow it to be as small as one likes.",
)


def counterexamples(run: Run) -> Experiment:
    """Show each false statement failing."""
    rows: list[Row] = []
    for name, part in (
        ("T = r steps", _steps(quick=run.quick)),
        ("composition", _composition()),
        ("coverings", _coverings()),
        ("Algorithm 2, ratio", _rare(run.seed, quick=run.quick)),
        ("Algorithm 2, privacy", _layers()),
        ("Algorithm 4", _sampled(run.seed, quick=run.quick)),
        ("permute-and-flip", _flip()),
    ):
        run.say(name)
        rows += run.once(name, partial(list, part))
    return Experiment(
        "submodular/counterexamples",
        "Statements of the paper that are false",
        columns=_COLUMNS,
        rows=rows,
        notes=_NOTES,
        settings={"seed": run.seed, "quick": run.quick},
    )


def _row(*cells: Cell) -> Row:
    return dict(zip(_COLUMNS, cells, strict=True))


def fraction_reached(instance: Instance, steps: int, seed: int = 0) -> float:
    """f(x_T) of continuous greedy with T steps of whole bases, drawn as the library draws them, without noise."""
    n = instance.objective.n_elements
    x = np.zeros(n, dtype=np.int64)
    bits = SeededBits(seed)
    for _ in range(steps):
        scores, unit = marginals(instance.objective, x, steps, 1, bits)
        x[list(draw_base(instance.matroid, scores.tolist(), _GREEDY * _GREEDY * unit, bits))] += 1
    # f(x) = f(0) plus gains; for coverage, 1 - the mass that stays uncovered, which one more element would gain.
    return 1 - _uncovered(instance, x / steps)


def _uncovered(instance: Instance, x: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    """Mass of the universe that a random set misses: what the whole optimum would still gain at x."""
    found = instance.objective.multilinear_marginals(x)
    if found is None:
        raise TypeError
    rank = instance.matroid.rank
    firsts = np.arange(rank) * (len(x) // rank)
    # The optimum's elements have share 0 here and cover the slices, which are disjoint.
    return float(found[firsts].sum()) if not x[firsts].any() else math.nan


def _steps(*, quick: bool) -> Iterator[Row]:
    for r in (2, 3, 4) if quick else (2, 3, 4, 6, 8):
        closed = 1 - (1 - (1 - (1 - 1 / r) ** r) / r) ** r
        yield _row(
            "Theorem 3.3: T = r steps give 1 - 1/e",
            f"r = T = {r}, noiseless",
            "f(x_T) / OPT",
            1 - 1 / math.e,
            fraction_reached(slow_steps(r, r), r),
            f"1-(1-(1-(1-1/T)^r)/r)^T = {closed:.4f}",
        )
    limit = 1 - math.exp(-(1 - 1 / math.e))
    yield _row(
        "Theorem 3.3: T = r steps give 1 - 1/e",
        "r = T, to infinity",
        "f(x_T) / OPT",
        1 - 1 / math.e,
        limit,
        "T = r/eta: 1 - e^-(1-eta)",
    )


def composed_delta(k: int, epsilon: float, total: float) -> float:
    """Delta of k randomized responses at a total epsilon: the worst case of composition, summed exactly enough."""
    log_p = epsilon - math.log1p(math.exp(epsilon))
    log_q = -math.log1p(math.exp(epsilon))
    found = 0.0
    for i in range(k + 1):
        loss = (2 * i - k) * epsilon
        if loss > total:
            log_choose = math.lgamma(k + 1) - math.lgamma(i + 1) - math.lgamma(k - i + 1)
            mass = math.exp(log_choose + i * log_p + (k - i) * log_q)
            found += mass * -math.expm1(total - loss)
    return found


def _composition() -> Iterator[Row]:
    for k, epsilon in ((100, "0.1"), (1000, "0.05")):
        e, delta = Fraction(epsilon), Fraction(1, 10**5)
        log = math.log(1e5)
        printed = k * float(e) ** 2 / 2 + math.sqrt(2 * log) * float(e)
        right = advanced(k, e, delta, "replace-one")
        least = to_approx_dp(concentrated(k, e, "replace-one"), delta=delta)
        yield _row(
            "Theorem 2.6: advanced composition without k under the root",
            f"k = {k}, epsilon = {epsilon}: epsilon {printed:.3f}",
            "delta",
            1e-5,
            composed_delta(k, float(e), printed),
            f"epsilon {float(right.epsilon):.2f}; {float(least.epsilon):.2f} for bounded range",
        )


def packing(n: int, r: int) -> float:
    """A lower bound on ln|C| for coverings of the uniform matroid's polytope with radius 0.354 sqrt(r)."""

    def log_choose(a: int, b: int) -> float:
        return math.lgamma(a + 1) - math.lgamma(b + 1) - math.lgamma(a - b + 1)

    near = range(math.ceil(r / 4))
    ball = max(log_choose(r, i) + log_choose(n - r, i) for i in near) + math.log(r / 4)
    return log_choose(n, r) - ball


def _coverings() -> Iterator[Row]:
    for n, r in ((10**3, 30), (10**4, 100), (10**6, 1000)):
        yield _row(
            "Theorem 2.3: a covering of size N^O(1/eps^2)",
            f"uniform, N = {n}, r = {r}, radius 0.354 sqrt(r)",
            "ln|C| / ln N, at least",
            8.0,
            packing(n, r) / math.log(n),
            "O(r/eps^2); bases need none",
        )
    for n, r, epsilon in ((10, 2, 0.5), (100, 10, 0.01)):
        bases = (math.lgamma(n + 1) - math.lgamma(r + 1) - math.lgamma(n - r + 1)) / math.log(10)
        yield _row(
            "Theorem 3.5: the covering with rho = eps0/sqrt(N) is of use",
            f"N = {n}, r = {r}, eps0 = {epsilon}",
            "log10 of the points to weigh",
            None,
            r * n / epsilon**2 * math.log10(n),
            f"a plain grid {n * math.log10(n / epsilon):.0f}, bases {bases:.1f}",
        )


def _rare(seed: int, *, quick: bool) -> Iterator[Row]:
    """A modular function with r good elements of value 1/r: samples of bases hold few of them."""
    for n, r in ((300, 10),) if quick else ((300, 10), (1000, 30)):
        worth = np.zeros(n)
        worth[:r] = 1 / r
        objective = WeightedCoverage(
            np.arange(n), np.arange(n), weights=worth, n_elements=n, scale_bits=30
        )
        method = Algorithm2("1e-4", Fraction(1, 10**20), sample_size(n, math.ceil(r / 1e-4)))
        matroid = UniformMatroid(n, r)
        plan = method.literal_plan(state_choice(objective, matroid, None), matroid)
        # One swap-rounded base has the same expectation as f(x_T), the function being modular.
        runs = 1 if quick or n > 300 else 5
        values = [
            objective.value(method.choose(objective, matroid, plan, SeededBits(seed + i)))
            / (1 << objective.scale_bits)
            for i in range(runs)
        ]
        yield _row(
            "Theorem 4.4: (1 - 1/e) OPT up to a small error",
            f"modular, N = {n}, r = {r}, eps0 = 1e-4, m = {method.samples}",
            "F(S) / OPT",
            1 - 1 / math.e - 4 * math.sqrt(1e-4),
            float(np.mean(values)),
            f"exact draws of bases: 1.0; a random base {r / n:.3f}",
        )


def _layers() -> Iterator[Row]:
    """Two points whose scores straddle the boundary of a layer, and change places between neighbors."""
    for epsilon, delta in (
        (Fraction(1, 100), Fraction(1, 10**4)),
        (Fraction(1, 100), Fraction(1, 10**6)),
    ):
        edge = round(Fraction(1, 2) / epsilon) * epsilon
        rate = epsilon / (2 * delta)
        up, down = layer_scores([edge, edge - delta], epsilon)
        loss = float(rate * epsilon * (up - down))
        yield _row(
            "Theorem 4.5: eps0 r^2-DP; a step is 2 eps0 r-DP",
            f"two points, r = 1, eps0 = {float(epsilon):g}, Delta = {float(delta):g}",
            "log-ratio of a draw",
            2 * float(epsilon),
            loss,
            f"without layers {float(rate * delta):.3g}",
        )


def _sampled(seed: int, *, quick: bool) -> Iterator[Row]:
    sizes = ((20, 2000, 60),) if quick else ((20, 2000, 300), (50, 5000, 100), (100, 10000, 40))
    for r, n, runs in sizes:
        instance = decoys(r, n)
        best = instance.objective.value([0, *range(n, n + r - 1)])
        shares = []
        for method in (Algorithm4("0.1"), PartSampled("0.1")):
            plan = DrawPlan(_GREEDY * _GREEDY, (), r)
            good = [
                2
                * instance.objective.value(
                    method.choose(instance.objective, instance.matroid, plan, SeededBits(seed + i))
                )
                >= best
                for i in range(runs if isinstance(method, Algorithm4) else runs // 4)
            ]
            shares.append(float(np.mean(good)))
        yield _row(
            "Theorem 5.7: half of OPT with probability 1 - gamma, for any matroid",
            f"a jewel among decoys, r = {r}, N = {n + r - 1}, gamma = 0.1",
            "Pr[F >= OPT/2]",
            0.9,
            shares[0],
            f"sampled per part: {shares[1]:.3f}",
        )


def flip_law(scores: list[int], rate: float) -> list[float]:
    """The law of permute-and-flip, by inclusion and exclusion over the candidates that were refused before."""
    best = max(scores)
    accept = [math.exp(-rate * (best - score)) for score in scores]

    def follow(left: tuple[int, ...]) -> list[float]:
        law = [0.0] * len(scores)
        for i in left:
            law[i] += accept[i] / len(left)
            if accept[i] < 1:
                rest = follow(tuple(j for j in left if j != i))
                law = [a + (1 - accept[i]) * b / len(left) for a, b in zip(law, rest, strict=True)]
        return law

    return follow(tuple(range(len(scores))))


def _flip() -> Iterator[Row]:
    """Permute-and-flip at epsilon 1 with changes of one unit; the exponential mechanism has a range of 1."""
    before = flip_law([8, 8, 0, 0, 0, 0, 0], 0.5)
    after = flip_law([9, 7, 1, 1, 1, 1, 1], 0.5)
    ratios = [math.log(a / b) for a, b in zip(after, before, strict=True)]
    yield _row(
        "eps^2/8 accounts for permute-and-flip (a common shortcut, not the paper's)",
        "7 candidates, eps = 1",
        "range of the log-ratios",
        None,
        max(ratios) - min(ratios),
        "at most 1 for the exponential mechanism",
    )
