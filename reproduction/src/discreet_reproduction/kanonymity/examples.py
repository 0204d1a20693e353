"""Tables 1, 2, 4, 5, 6 and 7: small enough to follow by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from discreet.kanonymity.candidate import SearchLimits
from discreet.kanonymity.methods.greedy_search import GreedySearch
from discreet.kanonymity.methods.initial import Initial, initial_sizes, variance_order
from discreet.kanonymity.methods.partitioning import SetPartitioning
from discreet.kanonymity.methods.split_carry import SplitCarry
from discreet.kanonymity.problem import Numeric, Problem
from discreet_reproduction.kanonymity.instances import FARS, fars
from discreet_reproduction.kanonymity.published import (
    INITIAL_SETS,
    SORTED,
    SUB_PROBLEMS,
    TABLE_4_EQUAL,
    TABLE_4_UNEQUAL,
    TABLE_7,
)
from discreet_reproduction.record import Experiment

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from discreet_reproduction.record import Cell, Run

_EHR = {
    "Age": (37, 35, 36, 61, 63, 66, 63),
    "Sex": (0, 0, 0, 1, 1, 1, 1),
    "Zipcode": (22071, 22098, 23061, 55107, 55099, 55324, 55229),
}
_EHR_PRINTED = (
    *["[35 - 37] [0 - 0] [22071 - 23061]"] * 3,
    *["[61 - 66] [1 - 1] [55099 - 55324]"] * 4,
)
_UNEQUAL = (0.8, 0.05, 0.1, 0.05)


def table1(run: Run) -> Experiment:
    """Seven health records, k = 3, with the proved optimum (Table 1)."""
    problem = Problem.from_columns(_EHR, [Numeric(name) for name in _EHR])
    found = SetPartitioning().solve(problem, 3, SearchLimits())
    cells = _cells(problem, found.labels)
    rows: list[dict[str, Cell]] = [
        {"row": row, "cells": cells[row], "cells (paper)": printed}
        for row, printed in enumerate(_EHR_PRINTED)
    ]
    return Experiment(
        "kanonymity/table1",
        "Seven health records made 3-anonymous",
        rows=rows,
        notes=(
            f"Loss {problem.loss_of(found.labels):.6f}, proved to be the least: {found.lower:.6f}.",
        ),
        settings={"k": 3},
    )


def table2(run: Run) -> Experiment:
    """Twenty rows sorted by variance, and the classes that this cuts (Table 2, Worked Example 1)."""
    problem = fars()
    order = variance_order(problem)
    labels = Initial().solve(problem, 3, SearchLimits()).labels
    sets = np.split(order, np.cumsum(initial_sizes(20, 3))[:-1])
    rows: list[dict[str, Cell]] = [
        {
            "place": place,
            "row": row,
            "row (paper)": SORTED[place],
            "initial set": _text(sets[int(labels[row])]),
            "initial set (paper)": INITIAL_SETS[int(labels[row])],
        }
        for place, row in enumerate(order.tolist())
    ]
    return Experiment(
        "kanonymity/table2",
        "Twenty rows sorted by variance",
        rows=rows,
        notes=(
            "Population variances: " + ", ".join(f"{v:.4g}" for v in FARS.var(axis=0)) + ".",
            "The paper prints two sets with rows 5 and 8 twice, and without 15 and 4 (E9).",
            f"Loss of the initial solution {problem.loss_of(labels):.6f}.",
        ),
        settings={"k": 3},
    )


def table4(run: Run) -> Experiment:
    """Twenty rows at the optimum, with equal and with unequal weights (Table 4)."""
    equal, unequal = fars(), fars(_UNEQUAL)
    found = {}
    for name, problem in (("equal", equal), ("unequal", unequal)):
        run.say(f"{name} weights")
        found[name] = SetPartitioning().solve(problem, 3, SearchLimits())
    cells = {name: _cells(equal, one.labels) for name, one in found.items()}
    rows: list[dict[str, Cell]] = [
        {
            "row": row,
            "equal weights": cells["equal"][row],
            "equal (paper)": TABLE_4_EQUAL[row],
            "unequal weights": cells["unequal"][row],
            "unequal (paper)": TABLE_4_UNEQUAL[row],
        }
        for row in range(20)
    ]
    other = unequal.loss_of(found["equal"].labels)
    return Experiment(
        "kanonymity/table4",
        "Twenty rows at the optimum, k = 3",
        rows=rows,
        notes=(
            (
                f"Equal weights of 1: loss {equal.loss_of(found['equal'].labels):.9f}, proved. Weights .8, .05, .1, "
                f".05: {unequal.loss_of(found['unequal'].labels):.9f}, proved; the classes of equal weights would lose "
                f"{other:.6f}."
            ),
            (
                "Ranges are those observed. With the declared ranges of the columns the printed cells for unequal "
                "weights are not optimal (O7)."
            ),
        ),
        settings={"k": 3, "weights": str(_UNEQUAL)},
    )


def tables5to6(run: Run) -> Experiment:
    """Split & Carry on twenty rows: both sub-problems, their classes and what is carried (Tables 5 and 6)."""
    problem = fars()
    rows: list[dict[str, Cell]] = []
    total = 0.0
    blocks = SplitCarry(3, solver=SetPartitioning()).sub_problems(problem, 3, SearchLimits())
    for number, (block, printed) in enumerate(zip(blocks, SUB_PROBLEMS, strict=True)):
        total += sum(_loss(problem, rows) for rows in block.published)
        order = {row: at for at, row in enumerate(block.rows.tolist())}
        carried = sorted(
            np.concatenate([*block.carried, np.empty(0, int)]).tolist(), key=order.__getitem__
        )
        rows.append(
            {
                "sub-problem": number + 1,
                "rows": _text(block.rows),
                "rows (paper)": printed[0],
                "classes": "; ".join(_text(np.sort(c)) for c in (*block.published, *block.carried)),
                "loss": sum(_loss(problem, c) for c in (*block.published, *block.carried)),
                "carried": _text(carried),
                "carried (paper)": printed[1],
            }
        )
    return Experiment(
        "kanonymity/tables5-6",
        "Split & Carry on twenty rows, k = 3, S = 3",
        rows=rows,
        notes=(
            f"The whole loses {total:.6f}, the optimum of all twenty rows. Each sub-problem is solved to optimality.",
            "Carried rows move here with the whole of their class, which is the same here (E3).",
        ),
        settings={"k": 3, "S": 3},
    )


def table7(run: Run) -> Experiment:
    """Greedy Search on twenty rows: its classes, by both rules for what is left over (Table 7)."""
    problem = fars()
    rows: list[dict[str, Cell]] = []
    losses = {}
    found = {}
    rules: tuple[Literal["range", "increase"], ...] = ("range", "increase")
    for rule in rules:
        labels = GreedySearch(leftovers=rule).solve(problem, 3, SearchLimits()).labels
        losses[rule] = problem.loss_of(labels)
        found[rule] = labels
    for printed in TABLE_7:
        first = int(printed.split()[0])
        rows.append(
            {
                "first row": first,
                "class": _text(np.flatnonzero(found["range"] == found["range"][first])),
                "class (paper)": _text(sorted(map(int, printed.split()))),
                "class, least increase": _text(
                    np.flatnonzero(found["increase"] == found["increase"][first])
                ),
            }
        )
    return Experiment(
        "kanonymity/table7",
        "Greedy Search on twenty rows",
        rows=rows,
        notes=(
            (
                f"Rows left over go where cells are least wide, as Table 7 has it (loss {losses['range']:.6f}); where "
                f"the loss grows least, as the text says, it is {losses['increase']:.6f} (E7)."
            ),
        ),
        settings={"k": 3},
    )


def _loss(problem: Problem, rows: NDArray[np.int64]) -> float:
    part = Problem(problem.columns, problem.codes[rows], problem.loss)
    return part.loss_of(np.zeros(len(rows), dtype=np.int32))


def _text(rows: Iterable[int]) -> str:
    return " ".join(str(int(row)) for row in rows)


def _cells(problem: Problem, labels: NDArray[np.int32]) -> list[str]:
    """Write the intervals of each row as the paper does."""
    boxes = problem.boxes(labels)
    texts = []
    for label in labels.tolist():
        ends = [
            (column.domain[boxes.lo[label, j]], column.domain[boxes.hi[label, j]])
            for j, column in enumerate(problem.columns)
        ]
        texts.append(" ".join(f"[{low:g} - {high:g}]" for low, high in ends))
    return texts
