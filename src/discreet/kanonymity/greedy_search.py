"""Greedy Search: Algorithm 2 of [LS20]_."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.kanonymity._arrays import points_of
from discreet.kanonymity._leftovers import assign_leftovers
from discreet.kanonymity.candidate import Candidate, Limits, require_feasible
from discreet.kanonymity.initial import variance_order
from discreet.kanonymity.problem import Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["GreedySearch", "evaluations", "unweighted"]

TOLERANCE = 1e-12
"""Costs that differ by less are ties, which the first row in the order wins, as in Table 7."""


@final
@dataclass(frozen=True)
class GreedySearch:
    r"""Start each class at the first row that is left, and add the row that widens it least, until there are k.

    Rows are in the order of :func:`~discreet.kanonymity.initial.variance_order`. The at most k - 1 rows that are left
    over join a class each. Equal rows are looked at once, which changes no class.

    Parameters
    ----------
    leftovers
        ``"increase"``: where the loss grows least, as the text says. ``"range"``: where the cells are least wide
        afterwards, as Table 7 and the released code do.
    weighted
        Whether weights count, as the text says; the released code leaves them out.

    Notes
    -----
    The pseudo-code runs until no row is left, which would leave a last class of fewer than k; the search ends when
    ``n mod k`` rows are left (T9). Theorem 2 counts one round too many; see :func:`evaluations`.

    Examples
    --------
    >>> from discreet.kanonymity.problem import Numeric
    >>> problem = Problem.from_columns({"age": [50, 20, 40, 21, 60]}, [Numeric("age")])
    >>> GreedySearch().solve(problem, 2, Limits()).labels.tolist()
    [1, 0, 1, 0, 1]
    """

    leftovers: Literal["increase", "range"] = "increase"
    weighted: bool = True

    def __post_init__(self) -> None:
        if self.leftovers not in {"increase", "range"}:
            raise InvalidProblemError("leftovers", "'increase' or 'range'", repr(self.leftovers))

    def solve(self, problem: Problem, k: int, limits: Limits) -> Candidate:  # noqa: ARG002 - every method has them
        """Grow class after class.

        Complexity
        ----------
        ``O(p (n - n mod k))`` looks at m columns, for p different rows.
        """
        require_feasible(problem, k)
        stated = problem if self.weighted else unweighted(problem)
        order = variance_order(stated)
        labels = grown(stated, order, k, seed=-1)
        rest = order[labels[order] < 0].tolist()
        labels = assign_leftovers(stated, labels, rest, rule=self.leftovers)
        return Candidate("greedy-search", labels, note="Classes grew one after another.")


def grown(problem: Problem, order: NDArray[np.int64], k: int, *, seed: int) -> NDArray[np.int32]:
    """Label the rows of grown classes, and those left over with -1; see the kernel."""
    from discreet.kanonymity._kernels import grow

    points = points_of(problem, order)
    found = grow(points.arrays, points.first, k, seed, TOLERANCE)
    labels = np.empty(problem.n, dtype=np.int32)
    labels[order] = found
    return labels


def evaluations(n: int, k: int) -> int:
    r"""Count how many rows Algorithm 2 tries: :math:`(k-1)\,q\,(n - kq/2)` with :math:`q = \lfloor n/k \rfloor`.

    Theorem 2's sum starts at p = 0 with p - 1, which is one round too many (E11).

    Examples
    --------
    >>> evaluations(5000, 3), evaluations(20000, 200)
    (8333332, 199000000)
    """
    q = n // k
    return (k - 1) * q * (2 * n - k * q) // 2


def unweighted(problem: Problem) -> Problem:
    """Give the same problem with all weights 1."""
    columns = tuple(column.reweighted(1.0) for column in problem.columns)
    return Problem(columns, problem.codes, problem.loss)
