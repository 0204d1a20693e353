"""What a published table lost: how far its cells were generalized, and what a model still learns from them."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.evaluate.attack.finding import FAILURE
from discreet.evaluate.attack.people import people_of
from discreet.evaluate.intervals import Estimate, clopper_pearson
from discreet.evaluate.utility.measure import Measure
from discreet.kanonymity.problem import Numeric
from discreet.kanonymity.problem.published import Cells, column_of
from discreet.kanonymity.verify import cells

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.kanonymity.problem import Attribute, Problem
    from discreet.kanonymity.problem.column import CodedColumn

__all__ = ["classification_utility", "information_loss", "table_utility"]


def table_utility(
    published: Any,  # noqa: ANN401 - a dataframe or a mapping of columns
    original: Any,  # noqa: ANN401 - as above
    attributes: Sequence[Attribute],
) -> list[Measure]:
    """Measure what was lost by generalizing, column by column. Private.

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

    Examples
    --------
    >>> from discreet.kanonymity import Numeric, Problem
    >>> before = Problem.from_columns({"age": [20, 30, 60]}, [Numeric("age")])
    >>> information_loss({"age": ["[20, 30]", "[20, 30]"]}, before).tolist()
    [1.5]
    """
    found = np.empty(len(problem.columns))
    for at, column in enumerate(problem.columns):
        texts = cells(published, column.name)
        missing = problem.n - len(texts)
        if missing < 0:
            raise InvalidProblemError("published", f"{problem.n} rows or fewer", len(texts))
        different = list(dict.fromkeys(texts))
        cost = dict(zip(different, _costs(column, different).tolist(), strict=True))
        found[at] = sum(cost[text] for text in texts) + missing * column.attribute.weight
    return found


def _costs(column: CodedColumn, texts: list[str]) -> NDArray[np.float64]:
    read = Cells.of(column, texts)
    # A cell that covers nothing says nothing: it is wholly lost.
    nothing = read.hi < read.lo
    if column.is_set and read.marks is not None:
        priced = column.set_cost(np.maximum(read.marks.sum(axis=1), 1))
    else:
        lo = np.minimum(read.lo, len(column.domain) - 1)
        priced = column.span_cost(lo, np.maximum(read.hi, lo))
    return np.where(nothing, column.attribute.weight, priced)


def classification_utility(
    published: Any,  # noqa: ANN401 - as above
    original: Any,  # noqa: ANN401 - as above
    held_out: Any,  # noqa: ANN401 - as above
    attributes: Sequence[Attribute],
    target: str,
    *,
    model: Any = None,  # noqa: ANN401 - anything with fit and predict
    failure: float = FAILURE,
) -> Measure:
    """Learn a column from the published table, and predict it for people who were not in it. Private.

    An interval is read as the middle of the values that it covers, a set and a taxonomy's node as equal shares of
    theirs.

    Parameters
    ----------
    published, original
        The published table, and the one that it was made of.
    held_out
        Original rows of other people, for the test.
    attributes
        The quasi-identifiers, from which to learn.
    target
        The column to predict; it must be published as it was.
    model
        Anything with ``fit(features, labels)`` and ``predict(features)``, fitted twice; a random forest of scikit-learn
        with 100 trees by default.
    failure
        Most probability with which the interval misses.

    Returns
    -------
    Measure
        Share of held-out people that are classified right. The best is that of the model that learned from the
        original, the worst that of naming the commonest label.

    Raises
    ------
    InvalidProblemError
        Without scikit-learn and a model, or for columns that are not there.

    Examples
    --------
    >>> from discreet.kanonymity import Numeric
    >>> before = {"age": [20, 22, 60, 62], "ill": ["a", "a", "b", "b"]}
    >>> after = {"age": ["[20, 22]"] * 2 + ["[60, 62]"] * 2, "ill": ["a", "a", "b", "b"]}
    >>> others = {"age": [25, 59], "ill": ["a", "b"]}
    >>> classification_utility(after, before, others, [Numeric("age")], "ill").estimate.value
    1.0
    """
    learner = _forest() if model is None else model
    both = {
        one.name: [*column_of(original, one.name), *column_of(held_out, one.name)]
        for one in attributes
    }
    problem = people_of(both, attributes).known
    labels, test_labels = cells(original, target), cells(held_out, target)
    rows = len(labels)
    exact = _of_codes(problem)
    seen, told = _of_cells(published, problem), cells(published, target)
    right = []
    for features, known in ((seen, told), (exact[:rows], labels)):
        learner.fit(features, np.array(known))
        guessed = np.asarray(learner.predict(exact[rows:]))
        right.append(int((guessed == np.array(test_labels)).sum()))
    common = max(set(told), key=told.count)
    n = len(test_labels)
    return Measure(
        f"classification accuracy of {target}",
        clopper_pearson(right[0], n, failure=failure),
        right[1] / n,
        test_labels.count(common) / n,
    )


def _forest() -> Any:  # noqa: ANN401 - of a library that has no types
    try:
        ensemble = importlib.import_module("sklearn.ensemble")
    except ModuleNotFoundError:
        raise InvalidProblemError(
            "model", "a model of your own, or scikit-learn to be installed", "neither"
        ) from None
    return ensemble.RandomForestClassifier(n_estimators=100, random_state=0)


def _of_codes(problem: Problem) -> NDArray[np.float64]:
    """Features of original rows: numbers as they are, others by indicators."""
    parts = []
    for column, codes in zip(problem.columns, problem.codes.T, strict=True):
        if isinstance(column.attribute, Numeric):
            parts.append(_numbers(column)[codes][:, None])
        else:
            parts.append(np.eye(len(column.domain))[codes])
    return np.concatenate(parts, axis=1)


def _of_cells(published: Any, problem: Problem) -> NDArray[np.float64]:  # noqa: ANN401 - as above
    """Features of published rows, in the same columns."""
    parts = []
    for column in problem.columns:
        texts = cells(published, column.name)
        different = list(dict.fromkeys(texts))
        place = {text: at for at, text in enumerate(different)}
        read = Cells.of(column, different)
        if isinstance(column.attribute, Numeric):
            values = _numbers(column)
            lo = np.minimum(read.lo, len(values) - 1)
            found = ((values[lo] + values[np.maximum(read.hi, lo)]) / 2)[:, None]
        else:
            marks = np.zeros((len(different), len(column.domain)))
            if read.marks is not None:
                marks = read.marks / np.maximum(read.marks.sum(axis=1, keepdims=True), 1)
            found = marks
        parts.append(found[[place[text] for text in texts]])
    return np.concatenate(parts, axis=1)


def _numbers(column: CodedColumn) -> NDArray[np.float64]:
    """Give the values of a numeric column; a missing one is their middle."""
    known = [float(str(value)) for value in column.domain if value is not None]
    middle = float(np.median(known)) if known else 0.0
    return np.array([middle if value is None else float(str(value)) for value in column.domain])
