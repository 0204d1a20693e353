"""The initial feasible solution of Section 2.3 of [LS20]_, and the order of rows that its algorithms share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.kanonymity.candidate import (
    CandidateClasses,
    SearchLimits,
    labels_of,
    order_of,
    require_feasible,
)
from discreet.kanonymity.problem import Numeric

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.kanonymity.problem import Problem


@final
@dataclass(frozen=True)
class Initial:
    """Sort the rows and cut the order into classes of k: what the paper starts from.

    Columns count by ascending weighted variance of their raw values (Equation 36). The last class takes what is left.

    Examples
    --------
    >>> from discreet.kanonymity.problem import Numeric, Problem
    >>> problem = Problem.from_columns({"age": [50, 20, 40, 21, 60]}, [Numeric("age")])
    >>> Initial().solve(problem, 2, SearchLimits()).labels.tolist()
    [1, 0, 1, 0, 1]
    """

    def solve(self, problem: Problem, k: int, limits: SearchLimits) -> CandidateClasses:  # noqa: ARG002 - every method has them
        """Sort the rows by the columns in order of variance, and cut them into classes of k; `limits` are not used.

        Complexity
        ----------
        ``O(n m log n)``.
        """
        require_feasible(problem.n, k)
        order = variance_order(problem)
        labels = labels_of(order, initial_sizes(problem.n, k))
        return CandidateClasses("initial", labels)


def initial_sizes(n: int, k: int) -> NDArray[np.int64]:
    """Return the sizes of the n // k classes: k each, and k to 2k - 1 for the last.

    Examples
    --------
    >>> initial_sizes(11, 3).tolist()
    [3, 3, 5]
    """
    sizes = np.full(n // k, k, dtype=np.int64)
    sizes[-1] += n % k
    return sizes


def variance_columns(problem: Problem) -> list[int]:
    r"""Order the columns by :math:`\operatorname{Var}(c_j) / w_j^2`, the least first: Equation 36.

    The variance is that of raw values in the population, on purpose not of normalized ones, so that columns with a
    small range come first. Columns of sets and taxonomies are numbered by their codes, as the paper numbers them; a
    missing number counts as the mean. Columns without weight come last.

    Examples
    --------
    >>> from discreet.kanonymity.problem import Numeric, Problem
    >>> rows = {"a": [0, 9], "b": [0, 1]}
    >>> variance_columns(Problem.from_columns(rows, [Numeric("a"), Numeric("b")]))
    [1, 0]
    """
    keys = []
    for j, column in enumerate(problem.columns):
        values = problem.codes[:, j].astype(np.float64)
        if isinstance(column.attribute, Numeric):
            domain = np.array([np.nan if v is None else v for v in column.domain], dtype=np.float64)
            values = domain[problem.codes[:, j]]
            values = values[~np.isnan(values)]
        weight = column.attribute.weight
        variance = float(values.var()) if len(values) else 0.0
        keys.append(np.inf if weight == 0 else variance / weight**2)
    return [int(j) for j in np.argsort(keys, kind="stable")]


def variance_order(problem: Problem) -> NDArray[np.int64]:
    """Sort rows by the columns of :func:`variance_columns`; ties keep their order."""
    return order_of(problem, variance_columns(problem))
