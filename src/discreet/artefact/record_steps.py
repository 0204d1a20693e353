"""The steps by which private rows in files are counted by unit, each of a piece of them, on whichever machine.

Rows of a piece are added up by unit, and the groups are dealt into buckets by a hash of the unit, so that a unit whose
rows lie in several pieces comes together in one bucket. Buckets are then counted, each by itself. The hash only says
where a unit is counted: units are told apart by their names. Groups of pieces are files of the workspace, for their
owner alone. No step draws noise: what they find are true counts, and one that is done twice finds the same ones.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, final

import narwhals as nw
import numpy as np

from discreet.artefact.dealt import Dealt, read_bucket
from discreet.artefact.pieces import batches
from discreet.core.errors import InvalidProblemError
from discreet.hierarchy.records import FIRST, count_groups, grouped, read_rows, with_keys
from discreet.hierarchy.refusals import BAD, LEAF, SIZE, UNIT
from discreet.tables.frames import ROW, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from discreet.artefact.pieces import Piece
    from discreet.artefact.workspace import Workspace
    from discreet.hierarchy.problem import Frame
    from discreet.hierarchy.regions import Named, Public

__all__ = ["RECORD_STEPS", "RecordPlan", "gather", "rows_of_piece", "scatter"]

LOOKED_AT, MOST_DIFFERENT = 10_000, 0.8
"""Rows by which it is seen whether units come again nearby, and the share of different ones above which they do not."""


@final
@dataclass(frozen=True, eq=False)
class RecordPlan:
    """What the steps have to know.

    Parameters
    ----------
    pieces
        What is read.
    batch, buckets
        Rows that are read at once, and buckets of units.
    public, named, frame
        What is public, and the names of the columns.
    """

    pieces: tuple[Piece, ...]
    batch: int
    buckets: int
    public: Public
    named: Named
    frame: Frame

    @property
    def once(self) -> str | None:
        """The column whose values may come once, if there is one."""
        return self.named.person if self.named.size is None else self.named.unit

    @property
    def by_unit(self) -> bool:
        """Whether the rows of a unit have to come together; otherwise each row is counted where it stands."""
        return self.named.size is None or self.public.units is not None


def rows_of_piece(plan: RecordPlan, number: int, first: int = 0) -> Iterator[Any]:
    """Yield the rows of a piece, a batch at a time, with region, size and what is wrong; rows count from `first`."""
    at, wanted = first, plan.named.columns(plan.public)
    for batch in batches(plan.pieces[number], (), wanted, plan.batch):
        table = nw.from_native(batch.others.with_row_index(ROW, at), eager_only=True)
        at += batch.rows
        yield read_rows(table, plan.public, plan.named, plan.frame)


def scatter(space: Workspace, number: int) -> None:
    """Add up the rows of a piece by unit, and deal them into buckets; count them where they have not to be joined."""
    plan: RecordPlan = space.plan()
    counts = np.zeros((len(plan.frame.tree.leaves), plan.frame.max_size + 1), dtype=np.int64)
    bad, rounds = False, 0
    with space.file(f"scatter-{number}", ".units") as units, space.file("once", ".names") as once:
        with (
            closing(Dealt(units, plan.buckets, [UNIT])) as dealt,
            closing(Dealt(once, plan.buckets, [UNIT])) as names,
        ):
            for table in _rows_seen(plan, number):
                rounds += 1
                if plan.by_unit:
                    groups = _narrow(with_keys(table, plan.public, plan.named))
                    bad |= bool(groups[BAD].max())
                    dealt.add(groups.to_native())
                else:
                    counted = count_groups(table, plan.public, plan.frame, plan.named.argument)
                    bad |= counted is None
                    counts += 0 if counted is None else counted
                if plan.once is not None:
                    texts = table.select(text_of(table, plan.once, plan.once).alias(UNIT))
                    bad |= bool((texts[UNIT] == "").any())
                    names.add(texts.to_native())
        found = {"bad": bad, "rounds": rounds, "once": once.name, "counts": sparse(counts)}
        space.keep(f"scatter-{number}", units, found)


def _narrow(table: Any) -> Any:  # noqa: ANN401 - an eager frame
    """Give groups of rows by unit; where units hardly come twice, each row is a group as it is."""
    if table[UNIT].head(LOOKED_AT).n_unique() < MOST_DIFFERENT * min(len(table), LOOKED_AT):
        return grouped(table)
    return table.select(UNIT, SIZE, nw.col(LEAF).alias(FIRST), LEAF, BAD)


def _rows_seen(plan: RecordPlan, number: int) -> Iterator[Any]:
    """Read rows where this worker sees the file; a worker that does not is refused by what it is."""
    if not Path(plan.pieces[number].path).exists():
        raise InvalidProblemError("source", "files that all workers see", "one that is not there")
    return rows_of_piece(plan, number)


def gather(space: Workspace, number: int) -> None:
    """Count the units of a bucket over all pieces."""
    plan: RecordPlan = space.plan()
    found = space.every("scatter", len(plan.pieces))
    counts = np.zeros((len(plan.frame.tree.leaves), plan.frame.max_size + 1), np.int64)
    bad: tuple[str | None, str] | None = None
    if (
        plan.by_unit
        and (table := read_bucket(space, found, "file", plan.buckets, number)) is not None
    ):
        groups = grouped(nw.from_native(table, eager_only=True))
        counted = count_groups(groups, plan.public, plan.frame, plan.named.argument)
        if counted is not None:
            counts = counted
        elif cast("Any", groups)[BAD].max():
            bad = plan.named.unit, "each unit in one region"
        else:
            bad = plan.named.unit, "units that are public, in the region in which they are"
    if plan.once is not None:
        names = read_bucket(space, found, "once", plan.buckets, number)
        if names is not None and names[UNIT].is_duplicated().any():
            bad = plan.once, "every name once"
    space.put(f"gather-{number}", {"bad": bad, "counts": sparse(counts)})


def sparse(counts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give the places of a table of counts that are not zero, and what stands there."""
    places = np.flatnonzero(counts)
    return places, counts.ravel()[places]


RECORD_STEPS = {"scatter": scatter, "gather": gather}
"""Kinds of steps, in their order."""
