"""The steps by which private rows in files are counted by region and cell, each of a piece of them, on any machine.

Rows are counted piece by piece, and what a piece leaves is one number for each region and cell that it has. Where rows
of one person are to be counted, their names are dealt into buckets by a hash, and each bucket is looked at by itself.
No step draws noise: what they find are true counts, and one that is done twice finds the same ones.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import narwhals as nw
import numpy as np

from discreet.artefact.dealt import Dealt, read_bucket
from discreet.artefact.pieces import batches
from discreet.artefact.record_steps import sparse
from discreet.core.errors import InvalidProblemError
from discreet.hierarchy.contingency.records import (
    add_cells,
    named_persons,
    placed_rows,
    too_often,
)
from discreet.hierarchy.refusals import UNIT
from discreet.tables.frames import ROW

if TYPE_CHECKING:
    from collections.abc import Iterator

    from discreet.artefact.pieces import Piece
    from discreet.artefact.workspace import Workspace
    from discreet.hierarchy.contingency.problem import TableFrame
    from discreet.hierarchy.contingency.records import RecordColumns

__all__ = ["CELL_STEPS", "CellPlan", "cells", "cells_of_piece", "persons"]


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
    """

    pieces: tuple[Piece, ...]
    batch: int
    buckets: int
    frame: TableFrame
    columns: RecordColumns


def cells_of_piece(plan: CellPlan, number: int, first: int = 0) -> Iterator[Any]:
    """Yield the rows of a piece, a batch at a time, with region, cell and what is wrong; rows count from `first`."""
    at, wanted = first, plan.columns.of(plan.frame.domain)
    for batch in batches(plan.pieces[number], (), wanted, plan.batch):
        table = nw.from_native(batch.others.with_row_index(ROW, at), eager_only=True)
        at += batch.rows
        yield placed_rows(table, plan.frame, plan.columns)


def cells(space: Workspace, number: int) -> None:
    """Count the rows of a piece by region and cell, and deal the names of persons into buckets."""
    plan: CellPlan = space.plan()
    if not Path(plan.pieces[number].path).exists():
        raise InvalidProblemError("source", "files that all workers see", "one that is not there")
    counts = np.zeros((len(plan.frame.tree.leaves), plan.frame.domain.size), dtype=np.int64)
    bad = False
    with space.file(f"cells-{number}", ".names") as path:
        with closing(Dealt(path, plan.buckets, [UNIT])) as names:
            for table in cells_of_piece(plan, number):
                bad |= not add_cells(counts, table, plan.frame)
                if plan.columns.person is not None:
                    names.add(named_persons(table, plan.columns.person).to_native())
        found = {"bad": bad, "rounds": names.rounds, "counts": sparse(counts)}
        space.keep(f"cells-{number}", path, found)


def persons(space: Workspace, number: int) -> None:
    """Look whether a person of a bucket has more rows than were stated, over all pieces."""
    plan: CellPlan = space.plan()
    found = space.every("cells", len(plan.pieces))
    table = read_bucket(space, found, "file", plan.buckets, number)
    names = None if table is None else nw.from_native(table, eager_only=True)
    bad = names is not None and len(too_often(names, plan.frame.max_rows)) > 0  # type: ignore[arg-type] # eager
    space.put(f"persons-{number}", {"bad": bad})


CELL_STEPS = {"cells": cells, "persons": persons}
"""Kinds of steps, in their order."""
