"""Steps that count the equivalence classes of rows in files, one piece a step, on any machine.

Rows of a piece are grouped by their quasi-identifiers, and the groups dealt into buckets by a hash, so that a class
whose rows lie in several pieces comes together in one bucket. Each bucket is then counted by itself, and what leaves it
is how many classes have each size, the least diversity and the greatest distance. Groups are files of the workspace,
for their owner alone.
"""

from __future__ import annotations

from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.artefact.folders import ROWS
from discreet.kanonymity.risk import CountedClasses, judge_pairs
from discreet.kanonymity.verify import classes_of
from discreet.streaming.buckets import BucketWriter, read_bucket
from discreet.streaming.pieces import batches
from discreet.tables.cells import by_meaning

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl
    from numpy.typing import NDArray

    from discreet.streaming.pieces import Piece
    from discreet.streaming.workspace import Workspace


@final
@dataclass(frozen=True, eq=False)
class SensitiveValues:
    """The different values of a column: their numbers as they are stored and by their meaning, and the rows with each.

    Parameters
    ----------
    values
        The values.
    stored, meant
        ``(n_values,)`` the numbers of each.
    totals
        Rows of the table with each value as it is stored.
    totals_by_meaning
        Rows of the table with each value by its meaning.
    """

    values: pl.Series
    stored: pl.Series
    meant: pl.Series
    totals: NDArray[np.int64]
    totals_by_meaning: NDArray[np.int64]


@final
@dataclass(frozen=True, eq=False)
class RiskPlan:
    """What the steps have to know.

    Parameters
    ----------
    pieces
        What is read.
    batch, buckets
        Rows that are read at once, and buckets of classes.
    names, sensitive
        Columns in which the rows of a class agree, and those whose values are counted in each.
    listed
        The values of the latter, once the pieces were read.
    by_meaning
        Whether equal numbers in two spellings are one value.
    """

    pieces: tuple[Piece, ...]
    batch: int
    buckets: int
    names: tuple[str, ...]
    sensitive: tuple[str, ...]
    listed: Mapping[str, SensitiveValues] = field(default_factory=dict)
    by_meaning: bool = False

    def keys(self, name: str) -> list[str]:
        """Return the grouping columns of classes, with a sensitive column unless `name` is empty."""
        return list(dict.fromkeys([*self.names, *([name] if name else [])]))


def groups(space: Workspace, number: int) -> None:
    """Group the rows of piece `number`, write the groups into buckets, and count the values of sensitive columns.

    A worker step: reads the piece once and stores 'groups-{number}' with ``"files"``, ``"rounds"`` and ``"values"``.
    InvalidProblemError for a file that this worker does not see.
    """
    import polars as pl

    plan: RiskPlan = space.plan()
    values: dict[str, pl.DataFrame] = {}
    kinds, rounds = ("", *plan.sensitive), 0
    wanted = list(dict.fromkeys([*plan.names, *plan.sensitive]))
    with ExitStack() as files:
        paths = [
            files.enter_context(space.file(f"groups-{number}-{at}", ".groups"))
            for at in range(len(kinds))
        ]
        with ExitStack() as opened:
            writers = [
                opened.enter_context(closing(BucketWriter(path, plan.buckets, plan.names)))
                for path in paths
            ]
            for batch in batches(plan.pieces[number], (), wanted, plan.batch):
                rows = batch.plain
                if plan.by_meaning:
                    alike = [name for name in plan.names if name not in plan.sensitive]
                    rows = by_meaning(rows, alike)
                for name, out in zip(kinds, writers, strict=True):
                    out.add(rows.group_by(plan.keys(name)).len(ROWS))
                    if name:
                        seen = rows.group_by(pl.col(name).alias("value")).len(ROWS)
                        known = [values[name]] if name in values else []
                        values[name] = added(pl.concat([*known, seen]), ["value"])
                rounds += 1
        file_names = {name: path.name for name, path in zip(kinds, paths, strict=True)}
        record = {"files": file_names, "rounds": rounds, "values": values}
        if not space.put(f"groups-{number}", record):
            for path in paths:
                path.unlink()


def added(table: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Return the groups that agree in the columns `keys`, with the sum of their rows in the column `ROWS`."""
    import polars as pl

    return table.group_by(keys).agg(pl.col(ROWS).sum())


def classes(space: Workspace, number: int) -> None:
    """Count the classes of bucket `number` over all pieces, with diversity and closeness, and store 'classes-{number}'.

    A worker step; a bucket is in memory. The record is a CountedClasses, or ``None`` for a bucket without rows.
    """
    plan: RiskPlan = space.plan()
    records = [
        {"rounds": one["rounds"], **one["files"]} for one in space.every("groups", len(plan.pieces))
    ]
    table = read_bucket(space, records, "", plan.buckets, number)
    if table is None or not table.height:
        space.put(f"classes-{number}", None)
        return
    table = added(table, plan.keys(""))
    labels = classes_of(table, plan.names).labels
    sizes = np.bincount(labels, table[ROWS].to_numpy()).astype(np.int64)
    del table, labels
    diverse, close, alike = {}, {}, {}
    for name in plan.sensitive:
        pairs = read_bucket(space, records, name, plan.buckets, number)
        if pairs is None:
            raise TypeError
        pairs = added(pairs, plan.keys(name))
        known = plan.listed[name]
        meant, codes = (
            pairs[name].replace_strict(known.values, new).to_numpy()
            for new in (known.meant, known.stored)
        )
        labels = classes_of(pairs, plan.names).labels
        rows = pairs[ROWS].to_numpy().astype(np.int64)
        judged = judge_pairs(labels, meant, codes, rows, known.totals, known.totals_by_meaning)
        diverse[name], close[name], alike[name] = judged
    counted = np.unique(sizes, return_counts=True)
    space.put(f"classes-{number}", CountedClasses(*counted, diverse, close, alike))


RISK_STEPS = {"groups": groups, "classes": classes}
"""Kinds of steps, in their order."""
