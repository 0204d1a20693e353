"""Steps that count private rows in files by unit, one piece a step, on any machine.

Rows of a piece are added up by unit, and the groups are dealt into buckets by a hash of the unit, so that a unit whose
rows lie in several pieces comes together in one bucket. Buckets are then counted, each by itself. Where one row of each
person counts, rows are dealt by person before they are by unit. The hash only says
where a unit is counted: units are distinguished by their names. Groups of pieces are files of the workspace, for their
owner alone. No step draws noise: what they find are true counts, and one that is done twice finds the same ones.
"""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

import narwhals as nw
import numpy as np

from discreet.hierarchy.records import add_groups, count_groups, keep_one_row, read_rows
from discreet.hierarchy.refusals import LEAF, PERSON, ROWS, SIZE, UNIT, WHY
from discreet.streaming.buckets import BucketWriter, read_bucket
from discreet.streaming.pieces import batches
from discreet.tables.keys import sampling_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from discreet.hierarchy.problem import Frame
    from discreet.hierarchy.regions import Named, Public
    from discreet.streaming.pieces import Piece
    from discreet.streaming.workspace import Workspace

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
    key
        Key by which the rows of a person are drawn that count, so that a step that is done twice draws the same ones.
    """

    pieces: tuple[Piece, ...]
    batch: int
    buckets: int
    public: Public
    named: Named
    frame: Frame
    key: bytes = field(default_factory=sampling_key)

    @property
    def by_unit(self) -> bool:
        """Whether the rows of a unit have to come together; otherwise each row is counted where it stands."""
        return self.named.unit is not None

    @property
    def by_person(self) -> bool:
        """Whether one row of each person counts, so that the rows of a person have to come together first."""
        return self.named.person is not None


def rows_of_piece(plan: RecordPlan, number: int) -> Iterator[Any]:
    """Yield the rows of piece `number`, a batch at a time: region, unit, size and the reason why they do not count.

    Raises InvalidProblemError for a file that is not there.
    """
    wanted = plan.named.columns(plan.public)
    for batch in batches(plan.pieces[number], (), wanted, plan.batch):
        table = nw.from_native(batch.plain, eager_only=True)
        yield read_rows(table, plan.public, plan.named, plan.frame)


def scatter(space: Workspace, number: int) -> None:
    """Write the rows of piece `number` into buckets, by person or by unit; count rows that need no join.

    A worker step: reads the piece once and stores 'scatter-{number}'.
    """
    plan: RecordPlan = space.plan()
    key, parts = (PERSON if plan.by_person else UNIT), []
    with space.file(f"scatter-{number}", ".units") as units:
        with closing(BucketWriter(units, plan.buckets, [key])) as writer:
            for table in rows_of_piece(plan, number):
                if plan.by_person:
                    writer.add(table.to_native())
                elif plan.by_unit:
                    writer.add(_narrow(table).to_native())
                else:
                    parts.append(count_groups(table, plan.public, plan.named, plan.frame))
        space.keep(f"scatter-{number}", units, {**added_up(parts), "rounds": writer.rounds})


def once(space: Workspace, number: int) -> None:
    """Keep one row of each person of bucket `number`, deal these rows into buckets by unit, and store 'once-{number}'.

    The row is drawn by the plan's key. A worker step after 'scatter'; a bucket is in memory.
    """
    plan: RecordPlan = space.plan()
    before = space.every("scatter", len(plan.pieces))
    with space.file(f"once-{number}", ".units") as units:
        with closing(BucketWriter(units, plan.buckets, [UNIT])) as writer:
            table = read_bucket(space, before, "file", plan.buckets, number)
            if table is not None:
                one_row_each = keep_one_row(nw.from_native(table, eager_only=True), plan.key)
                writer.add(add_groups(one_row_each).to_native())
        space.keep(f"once-{number}", units, {"rounds": writer.rounds})


def _narrow(table: Any) -> Any:  # noqa: ANN401 - an eager frame
    """Group rows by unit; where units hardly come twice, each row is a group as it is."""
    if table[UNIT].head(LOOKED_AT).n_unique() < MOST_DIFFERENT * min(len(table), LOOKED_AT):
        return add_groups(table)
    return table.select(UNIT, LEAF, WHY, SIZE, ROWS)


def gather(space: Workspace, number: int) -> None:
    """Count the units of bucket `number` over all pieces by region and size, and store 'gather-{number}'.

    A worker step after 'once' with persons, else after 'scatter'; a bucket is in memory.
    """
    plan: RecordPlan = space.plan()
    step, steps = ("once", plan.buckets) if plan.by_person else ("scatter", len(plan.pieces))
    table = read_bucket(space, space.every(step, steps), "file", plan.buckets, number)
    parts = []
    if table is not None:
        groups = add_groups(nw.from_native(table, eager_only=True))
        parts.append(count_groups(groups, plan.public, plan.named, plan.frame))
    space.put(f"gather-{number}", added_up(parts))


def added_up(parts: Sequence[tuple[NDArray[np.int64], Counter[int]]]) -> dict[str, Any]:
    """Add up pairs of counts of one shape and rows left out by reason.

    Returns ``"counts"``, a pair of the flat places that are not zero and their numbers, and ``"reasons"``, a Counter.
    """
    counts: NDArray[np.int64] = np.zeros(1, dtype=np.int64)
    rows: Counter[int] = Counter()
    for one, some in parts:
        counts = counts + one.ravel()
        rows.update(some)
    places = np.flatnonzero(counts)
    return {"counts": (places, counts[places]), "reasons": rows}


RECORD_STEPS = {"scatter": scatter, "once": once, "gather": gather}
"""Kinds of steps, in their order."""
