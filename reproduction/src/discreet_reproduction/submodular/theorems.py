"""The table of theorems that the paper's text implies, with additive errors in users."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from discreet_reproduction.record import Experiment

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet_reproduction.record import Cell, Run

_N, _R = 100, 10
"""Ground set and rank of the columns in users."""

_ROUNDS = 4

_NOTES = (
    (
        "Additive errors of the sum over users, each worth at most 1, with their logarithms: n = 100, rank 10. "
        "A bound above the number of users says nothing."
    ),
    (
        "Evaluations are of F. The two rows of the paper's Theorems 1.1 and 1.2 hold what is claimed there; both "
        "ratios and the privacy of the second are false, see counterexamples."
    ),
)


def _mitrovic(epsilon: float) -> float:
    return _R * 2 * _R / epsilon * math.log(_N * _R)


def _paper(epsilon: float) -> float:
    return _R * _N * math.log(_N) / (epsilon / _R**2) ** 3


def _bases(epsilon: float) -> float:
    return 2 * _R**2 / epsilon * (_R * math.log(_N) + math.log(_R))


def _rounds(epsilon: float) -> float:
    return _R * 2 * _R * _ROUNDS / epsilon * math.log(_N * _R * _ROUNDS)


def _subsampled(epsilon: float) -> float:
    signal = -math.expm1(-epsilon) * math.log1p(math.exp(epsilon))
    return _R * math.log(_N * _R) / signal


_TABLE: tuple[tuple[str, str, str, str, str, str, Callable[[float], float]], ...] = (
    ("Mitrovic et al. 2017", "matroid", "r eps0", "1/2", "2 r ln(n r)/eps0", "r n", _mitrovic),
    ("[RY20] Theorem 1.1", "matroid", "r^2 eps0", "1 - 1/e (false)", "r n ln n/eps0^3", "r n |C|", _paper),
    ("[RY20] Theorem 1.2", "matroid", "r^2 eps0 (false)", "1 - 1/e (false)", "r n ln n/eps0^3", "r n^2 ln(n/eps0)",
    _paper), ("[RY20] Theorem 1.3", "k-submodular, matroid", "r eps0", "1/2", "2 r ln(k n r)/eps0", "k r n",
    _mitrovic), ("bases, T = r", "matroid", "r^2 eps0", "0.4685", "2 (r ln n + ln r)/eps0", "r (n + 1) m", _bases),
    ("Badanidiyuru-Vondrák, M = 4", "matroid", "r M eps0", "1 - 1/e - O(1/M)", "2 r ln(n r M)/eps0", "r M (n + 1) m",
    _rounds), ("subsampled greedy", "decomposable, matroid", "pure, no r", "1/2", "r ln(n r)/(p c)", "r n",
    _subsampled),
)  # fmt: skip


def theorems(run: Run) -> Experiment:
    """List what each theorem promises, and for how many users it says anything."""
    run.say("formulas")
    columns = (
        *("result", "constraint", "privacy", "ratio", "additive error", "evaluations"),
        *("users, epsilon 1", "users, epsilon 0.1"),
    )
    rows: list[dict[str, Cell]] = []
    for *texts, users in _TABLE:
        rows.append(dict(zip(columns, [*texts, users(1.0), users(0.1)], strict=True)))
    return Experiment(
        "submodular/theorems",
        "What the theorems promise",
        columns=columns,
        rows=rows,
        notes=_NOTES,
        settings={"n": _N, "r": _R},
    )
