r"""What a partition loses, by name: the optimized losses, and two counts of the literature that are only reported.

The paper's objective is a *sum* over cells (Equation 21 of [LS20]_). Others print averages; both are given here under
names that say which.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from discreet.kanonymity.problem import Problem

MEASURES = {
    "information-loss": "sum over cells of the optimized loss",
    "mean-loss": "information loss divided by rows and by the sum of weights: 1 where everything is suppressed",
    "discernibility": "sum over classes of the square of their size; a suppressed row counts all rows",
    "average-class-size": "published rows divided by classes",
    "relative-class-size": "average class size divided by k",
}
"""Names of the measures and what they are."""


def mean_loss(problem: Problem, labels: ArrayLike) -> float:
    """Return the loss per cell, from 0 to 1: the mean over rows and columns, each column by its weight.

    Examples
    --------
    >>> from discreet.kanonymity.problem import Numeric, Problem
    >>> mean_loss(Problem.from_columns({"age": [20, 30, 40, 60]}, [Numeric("age")]), [0, 0, 1, 1])
    0.375
    """
    cells = problem.n * problem.suppressed_cost
    return problem.loss_of(labels) / cells if cells > 0 else 0.0


def discernibility(labels: ArrayLike) -> int:
    r"""Return :math:`\sum_E |E|^2 + n\,|\text{suppressed}|` [BA05]_; labels below 0 are suppressed rows.

    Examples
    --------
    >>> discernibility([0, 0, 0, 1, 1, -1])
    19
    """
    classes = np.asarray(labels, dtype=np.int64)
    sizes = np.bincount(classes[classes >= 0])
    return int((sizes**2).sum()) + len(classes) * int((classes < 0).sum())


def average_class_size(labels: ArrayLike) -> float:
    """Divide the published rows by the number of classes [LDR06]_; 0 where nothing is published.

    Examples
    --------
    >>> average_class_size([0, 0, 0, 1, 1, -1])
    2.5
    """
    all_labels = np.asarray(labels, dtype=np.int64)
    classes = all_labels[all_labels >= 0]
    return len(classes) / len(np.unique(classes)) if len(classes) else 0.0


def measure(problem: Problem, labels: ArrayLike, k: int, name: str) -> float:
    """Return one of :data:`MEASURES`.

    Parameters
    ----------
    problem
        The problem.
    labels
        A partition of its rows; -1 for suppressed rows.
    k
        Least class size that was requested.
    name
        Which measure.

    Returns
    -------
    float
        The measure.

    Raises
    ------
    InvalidProblemError
        For an unknown name.

    Examples
    --------
    >>> from discreet.kanonymity.problem import Numeric, Problem
    >>> problem = Problem.from_columns({"age": [20, 30, 40, 60]}, [Numeric("age")])
    >>> measure(problem, [0, 0, 1, 1], 2, "relative-class-size")
    1.0
    """
    match name:
        case "information-loss":
            return problem.loss_of(labels)
        case "mean-loss":
            return mean_loss(problem, labels)
        case "discernibility":
            return float(discernibility(labels))
        case "average-class-size":
            return average_class_size(labels)
        case "relative-class-size":
            return average_class_size(labels) / k
        case _:
            raise InvalidProblemError("measure", f"one of {', '.join(MEASURES)}", repr(name))
