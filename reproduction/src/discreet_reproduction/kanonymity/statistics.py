"""Tables 3, 8, 9 and 10: what the data are like, and how large sub-problems become."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from discreet.kanonymity.candidate import SearchLimits
from discreet.kanonymity.methods.split_carry import SplitCarry
from discreet_reproduction.kanonymity.instances import EIGHT, census
from discreet_reproduction.kanonymity.persons import TABLE_10
from discreet_reproduction.kanonymity.published import TABLE_3, TABLE_8, TABLE_9
from discreet_reproduction.record import Experiment

if TYPE_CHECKING:
    from discreet_reproduction.record import Cell, Run

_MADE = "The extracts may not be passed on; without --data rows are made, whose columns have the same ranges."


def table3(run: Run) -> Experiment:
    """Eight columns of the census: how many values each has, the least and the greatest (Table 3)."""
    table = census(20_000 if run.quick else 100_000, 8, seed=run.seed, data=run.data)
    rows: list[dict[str, Cell]] = []
    for j, name in enumerate(EIGHT):
        values = table.values[:, j]
        called, count, low, high = TABLE_3[name]
        rows.append(
            {
                "column": name,
                "called (paper)": called,
                "values": len(np.unique(values)),
                "values (paper)": count,
                "least": values.min(),
                "greatest": values.max(),
                "range (paper)": f"[{low}, {high}]",
            }
        )
    return Experiment(
        "kanonymity/table3",
        "Columns of the census tables",
        rows=rows,
        notes=(
            _MADE,
            "Made birthplaces take most of the numbers up to 426; those of the paper 83 of them.",
        ),
        settings={"rows": len(table.values), "data": table.source, "seed": run.seed},
    )


def table8(run: Run) -> Experiment:
    """Sizes of the sub-problems of Split & Carry, 5,000 rows of four columns, k = 3, S = 3, 4, 5 (Table 8)."""
    n = 1_000 if run.quick else 5_000
    table = census(n, 4, seed=run.seed, data=run.data)
    problem = table.numeric()
    rows: list[dict[str, Cell]] = []
    for s, pairs in TABLE_8.items():
        printed = dict(pairs)
        run.say(f"S = {s}")
        found: Counter[int] = Counter()
        for block in SplitCarry(s).sub_problems(problem, 3, SearchLimits.within(600)):
            found[len(block.rows)] += 1
        most = 3 * (2 * 3 - 1 + s) + 2
        rows += [
            {
                "S": s,
                "rows": size,
                "sub-problems": found.get(size, 0),
                "sub-problems (paper)": printed.get(size, 0),
                "at most": most,
            }
            for size in sorted({*found, *printed})
        ]
    return Experiment(
        "kanonymity/table8",
        "Sizes of sub-problems",
        rows=rows,
        notes=(
            _MADE,
            (
                "At most: k(2k - 1 + S) of Lemma 2, and k - 1 more for the last. Of the paper's 1,307 sub-problems "
                "3 reach the bound (2 of 417 for S = 4, 1 of 334 for S = 5): rarely, as it says."
            ),
            "Whole classes of k to 2k - 1 rows are carried here, not what the solver happened to link (E3).",
            "Blocks of up to 17 rows are solved exactly, larger ones by local search.",
        ),
        settings={"k": 3, "rows": n, "data": table.source, "seed": run.seed},
    )


def table9(run: Run) -> Experiment:
    """Variances of the eight columns at each number of rows (Table 9)."""
    rows: list[dict[str, Cell]] = []
    sources = set()
    for thousands, printed in TABLE_9.items():
        if run.quick and thousands not in (20, 50):
            continue
        run.say(f"{thousands},000 rows")
        table = census(1000 * thousands, 8, seed=run.seed, data=run.data)
        sources.add(table.source)
        for j, name in enumerate(EIGHT):
            rows.append(
                {
                    "rows": 1000 * thousands,
                    "column": name,
                    "variance": round(float(table.values[:, j].var()), 2),
                    "variance (paper)": printed[j],
                }
            )
    return Experiment(
        "kanonymity/table9",
        "Variances of the columns",
        rows=rows,
        notes=(_MADE, "The made columns share ranges with the paper's, not variances."),
        settings={"data": ", ".join(sorted(sources)), "seed": run.seed},
    )


def table10(run: Run) -> Experiment:
    """Variances and ranges of the 35 columns (Table 10)."""
    table = census(5_000 if run.quick else 20_000, 35, seed=run.seed, data=run.data)
    rows: list[dict[str, Cell]] = []
    for j, (name, (variance, low, high)) in enumerate(TABLE_10.items()):
        values = table.values[:, j]
        rows.append(
            {
                "column": name,
                "variance": float(values.var()),
                "variance (paper)": variance,
                "range": f"[{values.min():g}, {values.max():g}]",
                "range (paper)": f"[{low}, {high}]",
            }
        )
    return Experiment(
        "kanonymity/table10",
        "Variances and ranges of 35 columns",
        rows=rows,
        notes=(
            _MADE,
            "Made columns are fitted to the printed variances, and rounded to integers.",
            "The greatest birthplace is 426, 430 and 465 in three places of the paper.",
        ),
        settings={"rows": len(table.values), "data": table.source, "seed": run.seed},
    )
