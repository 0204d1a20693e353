"""Private rows in files that need not fit into memory, counted piece by piece, here or by the workers of Dask.

A plan of :mod:`discreet.hierarchy` takes them as its source: it looks at names of columns, charges, lets them be
counted, and draws the noise itself, once. So does the plan of tables by region, and
:func:`discreet.kanonymity.risk.risk` has their classes counted. The steps
are in :mod:`~discreet.streaming.record_steps`, :mod:`~discreet.streaming.cell_steps` and
:mod:`~discreet.streaming.risk_steps`; their records are private, in a folder for the owner alone that is removed at
the end.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, final

import narwhals as nw
import numpy as np
import pyarrow.parquet as pq

from discreet.artefact.folders import ROWS as GROUPED
from discreet.artefact.folders import codings
from discreet.core.errors import InvalidProblemError
from discreet.core.options import whole_number
from discreet.hierarchy.contingency.records import PEOPLE
from discreet.kanonymity.problem.native import values_of_column
from discreet.kanonymity.risk import CountedClasses
from discreet.streaming.cell_steps import CellPlan
from discreet.streaming.engines import engine_of
from discreet.streaming.pieces import BYTES, pieces_of, scan_pieces
from discreet.streaming.record_steps import RecordPlan
from discreet.streaming.risk_steps import RiskPlan, SensitiveValues, added
from discreet.streaming.workspace import workspace_in
from discreet.tables.frames import collect
from discreet.tables.keys import check_types
from discreet.tables.parsing import free_memory
from discreet.tables.recoding import CellRules

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from discreet.hierarchy.contingency.problem import TableFrame
    from discreet.hierarchy.contingency.records import RecordColumns
    from discreet.hierarchy.problem import Frame
    from discreet.hierarchy.regions import Named, Public
    from discreet.streaming.engines import Engine
    from discreet.streaming.pieces import Piece
    from discreet.streaming.workspace import Workspace

ROWS = (10_000, 1_000_000)
"""Fewest and most rows of a batch or a bucket."""


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
        Bytes for each process, about; default: half of the free memory, and never more than a million rows at once.
    executor
        A ``Client`` of dask.distributed or its executor, whose workers see the same files; default: this process.
    by_meaning
        Whether :meth:`count_classes` takes equal numbers in two spellings for one value, and blank cells for missing
        ones; by default rows are compared as they are stored.
    rules
        Rules for each cell, by which the rows are read and recoded.

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
    by_meaning: bool = False
    rules: CellRules = field(default_factory=CellRules)

    def __post_init__(self) -> None:
        whole_number(self.threads, "threads", "at least one thread")
        if self.memory is not None:
            whole_number(self.memory, "memory", "bytes, one at least")
        engine_of(self.executor, self.threads)

    def check(self, argument: str, wanted: Sequence[str]) -> None:
        """Refuse missing columns or types without keys, files of different columns, odd quotes, and unfit workers.

        CSV files are read once, for their quotes only; nothing is counted or returned. No value of a row is a reason.

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
        scanned = self._check_names(argument, wanted)
        check_types(nw.from_native(scanned), wanted)

    def _check_names(self, argument: str, wanted: Sequence[str]) -> pl.LazyFrame:
        """Return the scan of the files.

        Raise InvalidProblemError for missing columns `wanted` or workers that do not fit. `argument` names the table
        in messages. CSV files are read once to check their quotes.
        """
        pieces = pieces_of(self.source, argument, row_by_row=True, rules=self.rules)
        scanned = scan_pieces(pieces, argument)
        names = scanned.collect_schema().names()
        for name in wanted:
            if name not in names:
                expected = f"a column of {argument} (which has {len(names)})"
                raise InvalidProblemError(name, expected, "none of this name")
        engine = engine_of(self.executor, self.threads)
        with workspace_in(self._where()) as space:
            engine.look(space)
        return scanned

    def count(
        self, public: Public, named: Named, frame: Frame
    ) -> tuple[NDArray[np.int64], Counter[int]]:
        """Count units by lowest region and size; true counts, for a plan that was charged, or for the curator.

        CSV is read twice, Parquet once. InvalidProblemError for files that cannot be read.

        Parameters
        ----------
        public, named, frame
            What is public, and the names of the columns.

        Returns
        -------
        counts : array
            ``(n_leaves, max_size + 1)``.
        rows : Counter
            Rows by the reason why they are left out.

        Raises
        ------
        SolverError
            When workers or the scheduler were lost for good.
        """
        pieces = pieces_of(self.source, named.argument, row_by_row=True, rules=self.rules)
        batch, buckets = self._sizes(pieces)
        plan = RecordPlan(pieces, batch, buckets, _collected(public), named, frame)
        with self._workspace(plan) as (space, engine):
            kinds = {"scatter": len(pieces)}
            kinds |= {"once": buckets} if plan.by_person else {}
            kinds |= {"gather": buckets} if plan.by_unit else {}
            return _counted(space, engine, kinds, (len(frame.tree.leaves), frame.max_size + 1))

    def count_cells(
        self, frame: TableFrame, columns: RecordColumns
    ) -> tuple[NDArray[np.int64], Counter[int]]:
        """Count rows by lowest region and cell; true counts, for a plan of tables that was charged.

        CSV is read twice, Parquet once. InvalidProblemError for files that cannot be read.

        Parameters
        ----------
        frame, columns
            What is public, and the names of the columns.

        Returns
        -------
        counts : array
            ``(n_leaves, n_cells)``.
        rows : Counter
            Rows by the reason why they are left out.

        Raises
        ------
        SolverError
            When workers or the scheduler were lost for good.
        """
        pieces = pieces_of(self.source, PEOPLE, row_by_row=True, rules=self.rules)
        batch, buckets = self._sizes(pieces)
        plan = CellPlan(pieces, batch, buckets, frame, columns)
        with self._workspace(plan) as (space, engine):
            kinds = {"cells": len(pieces)}
            kinds |= {} if columns.person is None else {"persons": buckets}
            return _counted(space, engine, kinds, (len(frame.tree.leaves), frame.domain.size))

    def count_classes(self, names: Sequence[str], sensitive: Sequence[str]) -> CountedClasses:
        """Count the classes of rows that agree in some columns, and the values in each; only counts are kept.

        CSV is read several times, Parquet once; groups are kept on disk meanwhile.

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
        self._check_names("table", (*names, *sensitive))
        pieces = pieces_of(self.source, "table", rules=self.rules)
        batch, buckets = self._sizes(pieces)
        plan = RiskPlan(
            pieces, batch, buckets, tuple(names), tuple(sensitive), by_meaning=self.by_meaning
        )
        with self._workspace(plan) as (space, engine):
            return _classes_counted(space, engine, plan)

    def _sizes(self, pieces: Sequence[Piece]) -> tuple[int, int]:
        """Return the rows of a batch and the number of buckets that fit the memory."""
        each = (self.memory or free_memory() // 2) // (1 if self.executor else self.threads)
        batch = max(ROWS[0], min(ROWS[1], each // BYTES.row))
        return batch, min(1024, 1 + _rows(pieces) // batch)

    @contextmanager
    def _workspace(self, plan: object) -> Iterator[tuple[Workspace, Engine]]:
        """Return a context with a new workspace that holds `plan`, and its engine.

        The workspace is removed at the end.
        """
        engine = engine_of(self.executor, self.threads)
        with workspace_in(self._where()) as space:
            space.put("plan-0", plan)
            try:
                yield space, engine
            finally:
                engine.close(space)

    def _where(self) -> Path:
        return Path(self.folder or tempfile.gettempdir()).absolute()


def _counted(
    space: Workspace, engine: Engine, kinds: Mapping[str, int], shape: tuple[int, int]
) -> tuple[NDArray[np.int64], Counter[int]]:
    """Run `kinds` of steps, kind -> number of steps, and add up their counts.

    Returns the counts, int64 of `shape`, and the number of rows left out by reason.
    """
    counts = np.zeros(shape, dtype=np.int64)
    rows: Counter[int] = Counter()
    for kind, steps in kinds.items():
        engine.run(space, kind, steps)
        for one in space.every(kind, steps):
            if "counts" in one:
                places, many = one["counts"]
                counts.ravel()[places] += many
                rows.update(one["reasons"])
    return counts, rows


def _classes_counted(space: Workspace, engine: Engine, plan: RiskPlan) -> CountedClasses:
    """Run the steps that group pieces, then those that count buckets; return the classes of the whole table.

    Raises InvalidProblemError for a table without batches of rows. Diversity is the least, closeness the most over
    buckets.
    """
    import polars as pl

    engine.run(space, "groups", len(plan.pieces))
    grouped = space.every("groups", len(plan.pieces))
    if not any(one["rounds"] for one in grouped):
        raise InvalidProblemError("table", "a table with rows", "none")
    listed = {}
    for name in plan.sensitive:
        frames = [one["values"][name] for one in grouped if name in one["values"]]
        listed[name] = _listed(added(pl.concat(frames), ["value"]), name)
    space.put("plan-1", replace(plan, listed=listed))
    engine.run(space, "classes", plan.buckets)
    counted: list[CountedClasses] = [one for one in space.every("classes", plan.buckets) if one]
    sizes, place = np.unique(np.concatenate([one.sizes for one in counted]), return_inverse=True)
    many = np.zeros(len(sizes), dtype=np.int64)
    np.add.at(many, place, np.concatenate([one.classes for one in counted]))
    return CountedClasses(
        sizes,
        many,
        {name: min(one.diversity[name] for one in counted) for name in plan.sensitive},
        {name: max(one.closeness[name] for one in counted) for name in plan.sensitive},
        {
            name: (
                sum(one.homogeneous[name][0] for one in counted),
                sum(one.homogeneous[name][1] for one in counted),
            )
            for name in plan.sensitive
        },
    )


def _listed(values: pl.DataFrame, name: str) -> SensitiveValues:
    """Number the values of sensitive column `name`, as stored and by meaning, and count the rows of each.

    `values` has the column ``value`` and rows in the column `GROUPED`. A sort of the values.
    """
    import polars as pl

    column_values = values_of_column(values["value"], name)
    stored, meant = (
        codings(column_values)[0][column_values.codes],
        column_values.meaning_codes()[column_values.codes],
    )
    rows = values[GROUPED].to_numpy().astype(np.int64)
    totals = np.bincount(stored, rows).astype(np.int64)
    totals_by_meaning = np.bincount(meant[meant >= 0], rows[meant >= 0]).astype(np.int64)
    return SensitiveValues(
        values["value"], pl.Series(stored), pl.Series(meant), totals, totals_by_meaning
    )


def _rows(pieces: Sequence[Piece]) -> int:
    """Return the number of rows of the pieces' files: exact from Parquet metadata, an estimate by file size for CSV."""
    files = {piece.path: piece.mark for piece in pieces}
    return sum(
        Path(path).stat().st_size // BYTES.csv_row if mark else pq.read_metadata(path).num_rows
        for path, mark in files.items()
    )


def _collected(public: Public) -> Public:
    """Convert public units to a Polars frame, which each worker can read."""
    if public.units is None:
        return public
    units = collect(public.units, "public_units").to_polars()
    return replace(public, units=nw.from_native(units))
