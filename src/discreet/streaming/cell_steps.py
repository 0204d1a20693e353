"""The steps by which private rows in files are counted by region and cell, each of a piece of them, on any machine.

Rows are counted piece by piece, and what a piece leaves is one number for each region and cell that it has. Where the
rows of one person are limited, they are dealt into buckets by a hash of the person, and each bucket is counted alone.
No step draws noise: what they find are true counts, and one that is done twice finds the same ones.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

import narwhals as nw

from discreet.hierarchy.contingency.records import count_placed, keep_rows, placed_rows
from discreet.hierarchy.refusals import PERSON
from discreet.streaming.buckets import BucketWriter, read_bucket
from discreet.streaming.pieces import batches
from discreet.streaming.record_steps import added_up
from discreet.tables.keys import sampling_key

if TYPE_CHECKING:
    from discreet.hierarchy.contingency.problem import TableFrame
    from discreet.hierarchy.contingency.records import RecordColumns
    from discreet.streaming.pieces import Piece
    from discreet.streaming.workspace import Workspace


@final
@dataclass(frozen=True, eq=False)
class CellPlan:
    """What the steps have to know.

    Parameters
    ----------
    pieces
        What is read.
    batch, buckets
        Rows that are read at once, and buckets of persons.
    frame, columns
        What is public, and the names of the columns.
    key
        Key by which the rows of a person are drawn that count, so that a step that is done twice draws the same ones.
    """

    pieces: tuple[Piece, ...]
    batch: int
    buckets: int
    frame: TableFrame
    columns: RecordColumns
    key: bytes = field(default_factory=sampling_key)


def cells(space: Workspace, number: int) -> None:
    """Count the rows of piece `number` by region and cell, and store 'cells-{number}'.

    Rows with persons are written into buckets by person instead. A worker step: reads the piece once, in batches.
    InvalidProblemError for a file that this worker does not see.
    """
    plan: CellPlan = space.plan()
    with space.file(f"cells-{number}", ".names") as path:
        with closing(BucketWriter(path, plan.buckets, [PERSON])) as names:
            parts = []
            wanted = plan.columns.of(plan.frame.domain)
            for batch in batches(plan.pieces[number], (), wanted, plan.batch):
                rows = nw.from_native(batch.plain, eager_only=True)
                table: Any = placed_rows(rows, plan.frame, plan.columns)
                if plan.columns.person is None:
                    parts.append(count_placed(table, plan.frame))
                else:
                    names.add(table.to_native())
        space.keep(f"cells-{number}", path, {**added_up(parts), "rounds": names.rounds})


def persons(space: Workspace, number: int) -> None:
    """Count the rows of the persons of bucket `number` over all pieces, and store 'persons-{number}'.

    At most `max_rows` rows of a person count, drawn by the plan's key. A worker step; a bucket is in memory. The
    counts are by region and cell.
    """
    plan: CellPlan = space.plan()
    records = space.every("cells", len(plan.pieces))
    table = read_bucket(space, records, "file", plan.buckets, number)
    parts = []
    if table is not None:
        limited = keep_rows(nw.from_native(table, eager_only=True), plan.frame.max_rows, plan.key)
        parts.append(count_placed(limited, plan.frame))
    space.put(f"persons-{number}", added_up(parts))


CELL_STEPS = {"cells": cells, "persons": persons}
"""Kinds of steps, in their order."""
