"""Information loss of a published table: how far its cells are generalized."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.evaluate.attack.people import people_of
from discreet.evaluate.intervals import Estimate
from discreet.evaluate.utility.measure import Measure
from discreet.kanonymity.problem.published import Cells
from discreet.kanonymity.verify import cells

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.kanonymity.problem import Attribute, Problem
    from discreet.kanonymity.problem.column import CodedColumn


def table_utility(
    published: Any,  # noqa: ANN401 - a dataframe or a mapping of columns
    original: Any,  # noqa: ANN401 - as above
    attributes: Sequence[Attribute],
) -> list[Measure]:
    """Measure what was lost by generalizing, column by column. Private.

    A column of weight 0 has no measure of its own; without a positive weight the attributes are refused. Linear in
    the cells.

    Parameters
    ----------
    published
        The published table.
    original
        The table that it was made of.
    attributes
        The quasi-identifiers.

    Returns
    -------
    list of Measure
        The mean loss of a cell, from 0 to 1, over all columns by their weights and for each of them. Rows that are not
        published lose all their cells. The best is 0, the worst 1.

    Raises
    ------
    InvalidProblemError
        For columns that are not there, or more rows than before.

    Examples
    --------
    >>> from discreet.kanonymity import Numeric
    >>> found = table_utility({"age": ["[20, 30]", "[20, 30]", "60"]}, {"age": [20, 30, 60]}, [Numeric("age")])
    >>> found[0].name, round(found[0].estimate.value, 3)
    ('loss of a cell', 0.167)
    """
    problem = people_of(original, attributes).known
    losses = information_loss(published, problem)
    weights = np.array([column.attribute.weight for column in problem.columns])
    if not weights.sum():
        raise InvalidProblemError("attributes", "a column of positive weight", "none")
    rows = [(losses.sum() / (problem.n * weights.sum()), "loss of a cell")]
    rows += [
        (loss / (problem.n * weight), f"loss of a cell in {column.name}")
        for loss, weight, column in zip(losses, weights, problem.columns, strict=True)
        if weight
    ]
    return [Measure(name, Estimate.computed(float(loss)), 0.0, 1.0) for loss, name in rows]


def information_loss(
    published: Any,  # noqa: ANN401 - as above
    problem: Problem,
) -> NDArray[np.float64]:
    """Add up what the cells of each column lost, suppressed rows included, by the loss of the problem.

    Each cell costs from 0 to the weight of its column, and a suppressed row that weight. Linear in the cells.

    Parameters
    ----------
    published
        The published table.
    problem
        The original, coded.

    Returns
    -------
    ndarray
        ``(n_columns,)``.

    Raises
    ------
    InvalidProblemError
        If there are more published rows than rows of the problem.

    Examples
    --------
    >>> from discreet.kanonymity import Numeric, Problem
    >>> before = Problem.from_columns({"age": [20, 30, 60]}, [Numeric("age")])
    >>> information_loss({"age": ["[20, 30]", "[20, 30]"]}, before).tolist()
    [1.5]
    """
    losses = np.empty(len(problem.columns))
    for at, column in enumerate(problem.columns):
        texts = cells(published, column.name)
        missing = problem.n - len(texts)
        if missing < 0:
            raise InvalidProblemError("published", f"{problem.n} rows or fewer", len(texts))
        different = list(dict.fromkeys(texts))
        cost = dict(zip(different, _costs(column, different).tolist(), strict=True))
        losses[at] = sum(cost[text] for text in texts) + missing * column.attribute.weight
    return losses


def _costs(column: CodedColumn, texts: list[str]) -> NDArray[np.float64]:
    """Return the cost of each published cell, ``(texts,)``; one that covers nothing costs the column's weight."""
    read = Cells.of(column, texts)
    # A cell that covers nothing says nothing: it is wholly lost.
    nothing = read.hi < read.lo
    if column.is_set and read.marks is not None:
        priced = column.set_cost(np.maximum(read.marks.sum(axis=1), 1))
    else:
        lo = np.minimum(read.lo, len(column.domain) - 1)
        priced = column.span_cost(lo, np.maximum(read.hi, lo))
    return np.where(nothing, column.attribute.weight, priced)
