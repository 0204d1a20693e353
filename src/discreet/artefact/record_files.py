"""Private rows in files that need not fit into memory, counted piece by piece, here or by the workers of Dask.

A plan of :mod:`discreet.hierarchy` takes them as its source: it looks at names of columns, charges, lets them be
counted, and draws the noise itself, once. So does the plan of tables by region, and
:func:`discreet.kanonymity.risk.risk` has their classes counted. Steps are those of
:mod:`discreet.artefact.record_steps`, :mod:`discreet.artefact.cell_steps` and :mod:`discreet.artefact.risk_steps`; what
they find is private and stays in a folder for its owner alone, which is gone at the end.
"""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, final

import narwhals as nw
import numpy as np
import pyarrow.parquet as pq

from discreet.artefact.cell_steps import CellPlan, cells_of_piece
from discreet.artefact.folders import ROWS as GROUPED
from discreet.artefact.folders import codings
from discreet.artefact.large_engines import engine_of
from discreet.artefact.pieces import pieces_of, scan_pieces
from discreet.artefact.record_steps import RecordPlan, rows_of_piece
from discreet.artefact.risk_steps import RiskPlan, SensitiveValues, added
from discreet.artefact.workspace import workspace_in
from discreet.core.errors import InvalidProblemError
from discreet.core.options import whole_number
from discreet.hierarchy.contingency.records import (
    PEOPLE,
    add_cells,
    explain_cells,
    said_of_persons,
)
from discreet.hierarchy.records import explain_rows, grouped, with_keys
from discreet.hierarchy.refusals import BAD, UNIT, check_once
from discreet.kanonymity.problem.native import values_of_column
from discreet.kanonymity.risk import CountedClasses
from discreet.tables.frames import collect, name_rows, text_of
from discreet.tables.parsing import free_memory

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from discreet.artefact.large_engines import Engine
    from discreet.artefact.pieces import Piece
    from discreet.artefact.workspace import Workspace
    from discreet.hierarchy.contingency.problem import TableFrame
    from discreet.hierarchy.contingency.records import RecordColumns
    from discreet.hierarchy.problem import Frame
    from discreet.hierarchy.regions import Named, Public

__all__ = ["RecordFiles"]

ROW_BYTES = 250
"""Bytes of a row while a batch or a bucket of them is joined and grouped, about: measured .2 KB a row, 2026-11."""

ROWS = (10_000, 1_000_000)
"""Fewest and most rows of a batch or a bucket."""

CSV_ROW = 20
"""Bytes of a row of a CSV file, about, by which buckets are counted before it is read."""


@final
@dataclass(frozen=True, eq=False)
class RecordFiles:
    """Private rows in a CSV or Parquet file, or in a folder of such files: a source for plans of counts, and for risk.

    Parameters
    ----------
    source
        The file, or the folder; its files have the same columns.
    folder
        Where counts of pieces are kept until the end, readable for the owner alone; workers have to share it. Default:
        the folder for temporary files.
    threads
        Pieces that this process works on at a time; the counts do not depend on it.
    memory
        Bytes for each process, about; default: half of what is free, and never more than a million rows at once.
    executor
        A ``Client`` of dask.distributed or its executor, whose workers see the same files; default: this process.

    Examples
    --------
    >>> import polars as pl
    >>> from discreet import PureDP, hierarchy
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for part, homes in enumerate([[1, 2], [1]]):
    ...         rows = pl.DataFrame({"home": homes, "state": ["GA", "NY"][: len(homes)]})
    ...         rows.write_parquet(Path(folder, f"{part}.parquet"))
    ...     planned = hierarchy.plan(
    ...         [("GA",), ("NY",)],
    ...         PureDP(200, neighbors="add-remove-person"),
    ...         columns=["state"],
    ...         unit="home",
    ...         max_size=2,
    ...     )
    ...     out = planned.release(RecordFiles(folder))
    >>> out.result.counts.tolist()
    [[1, 1], [0, 1], [1, 0]]
    """

    source: str | os.PathLike[str]
    folder: str | os.PathLike[str] | None = None
    threads: int = 1
    memory: int | None = None
    executor: object | None = None

    def __post_init__(self) -> None:
        whole_number(self.threads, "threads", "at least one thread")
        if self.memory is not None:
            whole_number(self.memory, "memory", "bytes, one at least")
        engine_of(self.executor, self.threads)

    def check(self, argument: str, wanted: Sequence[str]) -> None:
        """Refuse columns that are missing, files of different columns, and workers that do not fit: no value is read.

        Parameters
        ----------
        argument
            What messages call the rows.
        wanted
            The columns.

        Raises
        ------
        InvalidProblemError
            As said.
        """
        pieces = pieces_of(self.source, argument)
        names = scan_pieces(pieces, argument).collect_schema().names()
        for name in wanted:
            if name not in names:
                expected = f"a column of {argument} (which has {len(names)})"
                raise InvalidProblemError(name, expected, "none of this name")
        engine = engine_of(self.executor, self.threads)
        with workspace_in(self._where()) as space:
            engine.look(space)

    def count(self, public: Public, named: Named, frame: Frame) -> NDArray[np.int64]:
        """Count units by lowest region and size; true counts, for a plan that was charged, or for the curator.

        Parameters
        ----------
        public, named, frame
            What is public, and the names of the columns.

        Returns
        -------
        array
            ``(n_leaves, max_size + 1)``.

        Raises
        ------
        InvalidProblemError
            For rows that make no sense, by file and position, and for units that do not, without.
        SolverError
            When workers or the scheduler were lost for good.
        """
        pieces = pieces_of(self.source, named.argument)
        batch, buckets = self._sizes(pieces)
        plan = RecordPlan(pieces, batch, buckets, _collected(public), named, frame)
        with self._workspace(plan) as (space, engine):
            return _counted(space, engine, plan)

    def count_cells(self, frame: TableFrame, columns: RecordColumns) -> NDArray[np.int64]:
        """Count rows by lowest region and cell; true counts, for a plan of tables that was charged.

        Parameters
        ----------
        frame, columns
            What is public, and the names of the columns.

        Returns
        -------
        array
            ``(n_leaves, n_cells)``.

        Raises
        ------
        InvalidProblemError
            For rows that make no sense, by file and position, and for persons with too many rows, without.
        SolverError
            When workers or the scheduler were lost for good.
        """
        pieces = pieces_of(self.source, PEOPLE)
        batch, buckets = self._sizes(pieces)
        plan = CellPlan(pieces, batch, buckets, frame, columns)
        with self._workspace(plan) as (space, engine):
            return _cells_counted(space, engine, plan)

    def count_classes(self, names: Sequence[str], sensitive: Sequence[str]) -> CountedClasses:
        """Count the classes of rows that agree in some columns, and the values in each; only counts are kept.

        Parameters
        ----------
        names
            The columns in which the rows of a class agree.
        sensitive
            Columns whose values are counted in each class.

        Returns
        -------
        CountedClasses
            What risk follows from.

        Raises
        ------
        InvalidProblemError
            For columns that are not there, files without rows, or values that cannot be told apart.
        SolverError
            When workers or the scheduler were lost for good.
        """
        self.check("table", (*names, *sensitive))
        pieces = pieces_of(self.source, "table")
        batch, buckets = self._sizes(pieces)
        plan = RiskPlan(pieces, batch, buckets, tuple(names), tuple(sensitive))
        with self._workspace(plan) as (space, engine):
            return _classes_counted(space, engine, plan)

    def _sizes(self, pieces: Sequence[Piece]) -> tuple[int, int]:
        """Give how many rows are read at once, and into how many buckets groups are dealt."""
        each = (self.memory or free_memory() // 2) // (1 if self.executor else self.threads)
        batch = max(ROWS[0], min(ROWS[1], each // ROW_BYTES))
        return batch, min(1024, 1 + _rows(pieces) // batch)

    @contextmanager
    def _workspace(self, plan: object) -> Iterator[tuple[Workspace, Engine]]:
        """Make a room for steps, which is gone at the end, and give who does them."""
        engine = engine_of(self.executor, self.threads)
        with workspace_in(self._where()) as space:
            space.put("plan-0", plan)
            try:
                yield space, engine
            finally:
                engine.close(space)

    def _where(self) -> Path:
        return Path(self.folder or tempfile.gettempdir()).absolute()


def _counted(space: Workspace, engine: Engine, plan: RecordPlan) -> NDArray[np.int64]:
    """Do both kinds of steps, and add up what they found."""
    counts = np.zeros((len(plan.frame.tree.leaves), plan.frame.max_size + 1), dtype=np.int64)
    kinds = {"scatter": len(plan.pieces)}
    if plan.by_unit or plan.once is not None:
        kinds["gather"] = plan.buckets
    for kind, steps in kinds.items():
        engine.run(space, kind, steps)
        for number in range(steps):
            found = space.get(f"{kind}-{number}")
            if found["bad"] is True:
                _explain(plan, number)
            if found["bad"]:
                field, expected = found["bad"]
                raise InvalidProblemError(field, expected, f"others {name_rows([])}")
            places, rows = found["counts"]
            counts.ravel()[places] += rows
    return counts


def _classes_counted(space: Workspace, engine: Engine, plan: RiskPlan) -> CountedClasses:
    """Do both kinds of steps, and put together what the buckets found."""
    import polars as pl

    engine.run(space, "groups", len(plan.pieces))
    grouped = space.every("groups", len(plan.pieces))
    if not any(one["rounds"] for one in grouped):
        raise InvalidProblemError("table", "a table with rows", "none")
    listed = {}
    for name in plan.sensitive:
        there = [one["values"][name] for one in grouped if name in one["values"]]
        listed[name] = _listed(added(pl.concat(there), ["value"]), name)
    space.put("plan-1", replace(plan, listed=listed))
    engine.run(space, "classes", plan.buckets)
    found: list[CountedClasses] = [one for one in space.every("classes", plan.buckets) if one]
    sizes, place = np.unique(np.concatenate([one.sizes for one in found]), return_inverse=True)
    many = np.zeros(len(sizes), dtype=np.int64)
    np.add.at(many, place, np.concatenate([one.classes for one in found]))
    return CountedClasses(
        sizes,
        many,
        {name: min(one.diversity[name] for one in found) for name in plan.sensitive},
        {name: max(one.closeness[name] for one in found) for name in plan.sensitive},
        {
            name: (
                sum(one.homogeneous[name][0] for one in found),
                sum(one.homogeneous[name][1] for one in found),
            )
            for name in plan.sensitive
        },
    )


def _listed(values: pl.DataFrame, name: str) -> SensitiveValues:
    """Number the values of a sensitive column."""
    import polars as pl

    found = values_of_column(values["value"], name)
    stored, texts = (each[found.codes] for each in codings(found))
    whole = np.zeros(int(stored.max()) + 1, dtype=np.int64)
    np.add.at(whole, stored, values[GROUPED].to_numpy().astype(np.int64))
    return SensitiveValues(values["value"], pl.Series(stored), pl.Series(texts), whole)


def _cells_counted(space: Workspace, engine: Engine, plan: CellPlan) -> NDArray[np.int64]:
    """Do both kinds of steps, and add up what they found."""
    counts = np.zeros((len(plan.frame.tree.leaves), plan.frame.domain.size), dtype=np.int64)
    engine.run(space, "cells", len(plan.pieces))
    for number in range(len(plan.pieces)):
        found = space.get(f"cells-{number}")
        if found["bad"]:
            _explain_cells(plan, number)
        places, rows = found["counts"]
        counts.ravel()[places] += rows
    if plan.columns.person is not None:
        engine.run(space, "persons", plan.buckets)
        if any(found["bad"] for found in space.every("persons", plan.buckets)):
            expected = said_of_persons(plan.frame.max_rows)
            raise InvalidProblemError(plan.columns.person, expected, f"others {name_rows([])}")
    return counts


def _explain_cells(plan: CellPlan, number: int) -> NoReturn:
    """Say which rows of a piece are refused, and why."""
    where = _file_of(plan.pieces, number)
    for table in cells_of_piece(plan, number, _first_row(plan.pieces[number])):
        counts = np.zeros((len(plan.frame.tree.leaves), plan.frame.domain.size), dtype=np.int64)
        if not add_cells(counts, table, plan.frame):
            try:
                explain_cells(table, plan.frame, plan.columns)
            except InvalidProblemError as error:
                got = f"{error.got}{where}"
                raise InvalidProblemError(error.field, error.expected, got) from None
    raise InvalidProblemError(PEOPLE, "rows that make sense", f"others {name_rows([])}")


def _file_of(pieces: Sequence[Piece], number: int) -> str:
    """Say in which file of a folder a piece is."""
    files = list(dict.fromkeys(one.path for one in pieces))
    at = files.index(pieces[number].path) + 1
    return "" if len(files) == 1 else f" of file {at} of the folder"


def _explain(plan: RecordPlan, number: int) -> NoReturn:
    """Say which rows of a piece are refused, and why."""
    where = _file_of(plan.pieces, number)
    for table in rows_of_piece(plan, number, _first_row(plan.pieces[number])):
        try:
            if plan.once is not None:
                texts = table.with_columns(text_of(table, plan.once, plan.once).alias(UNIT))
                check_once(texts, plan.once, plan.named.argument, private=True)
            groups = grouped(with_keys(table, plan.public, plan.named)) if plan.by_unit else table
            if groups[BAD].max():
                explain_rows(table, plan.public, plan.named)
        except InvalidProblemError as error:
            raise InvalidProblemError(error.field, error.expected, f"{error.got}{where}") from None
    raise InvalidProblemError(
        plan.named.argument, "rows that make sense", f"others {name_rows([])}"
    )


def _rows(pieces: Sequence[Piece]) -> int:
    """Count the rows of files, by what Parquet files say of themselves and by the length of others, about."""
    files = {piece.path: piece.mark for piece in pieces}
    return sum(
        Path(path).stat().st_size // CSV_ROW if mark else pq.read_metadata(path).num_rows
        for path, mark in files.items()
    )


def _first_row(piece: Piece) -> int:
    """Count the rows of a file before a piece of it."""
    if piece.mark:
        return 0
    meta = pq.read_metadata(piece.path)
    return sum(meta.row_group(group).num_rows for group in range(piece.groups[0]))


def _collected(public: Public) -> Public:
    """Hold public units as a frame of Polars, which each worker can read."""
    if public.units is None:
        return public
    units = collect(public.units, "public_units").to_polars()
    return replace(public, units=nw.from_native(units))
