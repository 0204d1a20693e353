"""The steps by which a table that need not fit into memory is anonymized, each of a piece of it, on whichever machine.

A step is named by its kind and a number, and finds all else in a workspace: a folder that all workers share, and whose
files only their owner can read. What a step finds it writes there as one record; the first record of a step counts,
so that one that is done twice, as after the loss of a worker, changes nothing. Nothing that is private passes through a
scheduler: steps take names and numbers, give whether they were done, and keep their errors in the workspace.
"""

from __future__ import annotations

import os
import secrets
from contextlib import ExitStack, suppress
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.jit import clock
from discreet.core.randomness import SystemBits
from discreet.kanonymity.bounds.merged import ValueMerging
from discreet.kanonymity.bounds.shared import SHARED, Shared, summed
from discreet.kanonymity.candidate import SearchLimits
from discreet.kanonymity.cells import cells_of, cells_of_runs, shuffled
from discreet.kanonymity.demand import wanted_of
from discreet.kanonymity.methods.top_down import classes_of_rows
from discreet.kanonymity.packed import ROW_NUMBER_BITS, pack, rows_of
from discreet.kanonymity.problem import Problem
from discreet.kanonymity.search.parts import Rows, split_parts
from discreet.kanonymity.search.suppress import leave_out
from discreet.kanonymity.search.top import sampled
from discreet.streaming.cell_steps import CELL_STEPS
from discreet.streaming.class_counts import count, tally, total
from discreet.streaming.pieces import batches
from discreet.streaming.record_steps import RECORD_STEPS
from discreet.streaming.risk_steps import RISK_STEPS
from discreet.streaming.stacks import Place, TableStack, listed, places_of, read_table
from discreet.streaming.workspace import Workspace
from discreet.tables.parsing import reader_errors
from discreet.tables.rooms import make_private
from discreet.tables.writing import bytes_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from discreet.streaming.plan import LargePlan


def look_around(folder: str, token: str) -> tuple[bool, tuple[str, ...]]:
    """Return whether this worker reads `token` in the workspace at `folder`, and the versions of four packages here.

    The packages are discreet, distributed, polars and numba, in this order.
    """
    versions = tuple(map(version, ("discreet", "distributed", "polars", "numba")))
    with suppress(OSError):
        return Workspace(Path(folder)).get("token") == token, versions
    return False, versions


def perform(folder: str, kind: str, number: int) -> bool:
    """Run step `number` of a kind in the workspace at `folder`, unless its result is stored; return whether it is now.

    What went wrong stands in the workspace as ``trouble``, and is not raised: what an error says may be private, and
    a worker logs what a task raises.
    """
    space, name = Workspace(Path(folder)), f"{kind}-{number}"
    trouble: tuple[str, str | InvalidProblemError]
    mark = space.folder / f"running.{kind}.{secrets.token_hex(8)}"
    try:
        make_private(mark)
        if not space.has(name):
            STEPS[kind](space, number)
    except InvalidProblemError as error:
        trouble = ("invalid", error.renamed(error.field, got=str(error.got)))
    except MemoryError:
        trouble = ("memory", "")
    except OSError as error:
        trouble = ("system", os.strerror(error.errno) if error.errno else "an error")
    except reader_errors():
        trouble = ("reader", "")
    except Exception as error:  # noqa: BLE001 - its words may quote a row, and would be logged
        trouble = ("broken", type(error).__name__)
    else:
        return True
    finally:
        with suppress(OSError):
            mark.unlink(missing_ok=True)
    with suppress(InvalidProblemError):
        space.put("trouble", (kind, *trouble))
    return False


def survey(space: Workspace, number: int) -> None:
    """Store 'survey-{number}': ``"rows"`` of piece `number`, and ``"values"``, the distinct values by column.

    The columns are the quasi-identifiers and those with demands. A worker step; one pass.
    """
    import polars as pl

    plan: LargePlan = space.plan()
    names = list(dict.fromkeys((*plan.quasi, *(name for name, _ in plan.demands))))
    rows, values = 0, dict[str, pl.Series]()
    for batch in batches(plan.pieces[number], names, (), plan.batch):
        rows += batch.rows
        for name, column in batch.coded.items():
            seen = [values[name]] if name in values else []
            values[name] = pl.concat([*seen, column.values.unique()]).unique()
    space.put(f"survey-{number}", {"rows": rows, "values": values})


def sample(space: Workspace, number: int) -> None:
    """Store the rows of piece `number` that are in the sample, packed: int64 ``(rows, words)``.

    A worker step; one pass.
    """
    plan: LargePlan = space.plan()
    codes, layout = plan.codes, plan.layout
    at, packed = plan.firsts[number], [np.zeros((0, layout.words), np.int64)]
    for batch in batches(plan.pieces[number], plan.quasi, (), plan.batch):
        drawn = sampled(plan.n, at, at + batch.rows) - at
        coded = [batch.coded[name].codes(*codes[name])[drawn] for name in plan.quasi]
        packed.append(pack(coded, layout))
        at += batch.rows
    space.put(f"sample-{number}", np.concatenate(packed))


def route(space: Workspace, number: int) -> None:
    """Write the rows of piece `number` by the part that they belong to, and store 'route-{number}' with exact counts.

    A worker step; one pass. The keys are ``"groups"`` (parts and places), ``"values"`` (rows by part and value of
    each column with demands), ``"codes"`` (rows by code of each quasi-identifier) and ``"file"``.
    """
    import polars as pl

    plan: LargePlan = space.plan()
    names = list(dict.fromkeys((*plan.quasi, *(name for name, _ in plan.demands))))
    of_code = [np.zeros(len(column.domain), dtype=np.int64) for column in plan.columns]
    pairs: dict[str, list[pl.DataFrame]] = {name: [] for name, _ in plan.demands}
    groups: list[tuple[int, Place]] = []
    with space.file(f"route-{number}", ".tables") as path:
        with TableStack(path) as out:
            waiting: list[_Waiting] = []
            n_waiting = 0
            for batch in batches(plan.pieces[number], names, plan.other, plan.batch):
                if n_waiting + batch.rows > plan.batch:
                    groups += _write_by_part(plan, waiting, out, pairs)
                    waiting, n_waiting = [], 0
                codes = [batch.coded[name].codes(*plan.codes[name]) for name in plan.quasi]
                for at, code in enumerate(codes):
                    of_code[at] += np.bincount(code, minlength=len(of_code[at]))
                demanded_codes = {
                    name: batch.coded[name].codes(*plan.demanded[name]) for name in pairs
                }
                words = pack(codes, plan.layout, first=n_waiting)
                waiting.append(_Waiting(words, demanded_codes, batch.plain))
                n_waiting += batch.rows
            groups += _write_by_part(plan, waiting, out, pairs)
        value_counts = {
            name: pl.concat(each).group_by("part", "value").agg(pl.col("rows").sum())
            for name, each in pairs.items()
            if each
        }
        record = {"groups": listed(groups), "values": value_counts, "codes": of_code}
        space.keep(f"route-{number}", path, record)


class _Waiting(NamedTuple):
    """Rows waiting to be written to their parts: packed words, codes of demanded columns, and other columns."""

    words: NDArray[np.int64]
    coded: Mapping[str, NDArray[np.integer]]
    plain: pl.DataFrame


def _write_by_part(
    plan: LargePlan,
    waiting: Sequence[_Waiting],
    out: TableStack,
    pairs: Mapping[str, list[pl.DataFrame]],
) -> list[tuple[int, Place]]:
    """Write rows grouped by part to `out`; return each part that has rows and the place of its table.

    Linear in the rows. `pairs` gets, for each column with demands, a table of rows by part and value.
    """
    import polars as pl

    from discreet.kanonymity.kernels.dealing import deal_rows

    if not waiting:
        return []
    words_at = plan.own_names(plan.layout.words + len(plan.demands))
    words = np.concatenate([one.words for one in waiting])
    part = plan.top.route(words, plan.layout)
    counts = np.bincount(part, minlength=plan.top.parts)
    ends = np.concatenate([[0], np.cumsum(counts)])
    by_part = np.empty_like(words)
    deal_rows(words, part, ends[:-1].copy(), by_part)
    order = rows_of(by_part)
    by_part[:, 0] &= (1 << ROW_NUMBER_BITS) - 1
    demanded_codes = {name: np.concatenate([one.coded[name] for one in waiting]) for name in pairs}
    for name, codes in demanded_codes.items():
        pair = pl.DataFrame({"part": part, "value": codes})
        pairs[name].append(pair.group_by("part", "value").len("rows"))
    own = [by_part[:, w] for w in range(plan.layout.words)]
    own += [demanded_codes[name][order] for name, _ in plan.demands]
    frame = pl.DataFrame([*map(pl.Series, words_at, own)])
    if plan.other:
        other_columns = pl.concat([one.plain for one in waiting], rechunk=True)
        frame = frame.hstack(other_columns[order])
    return [
        (q, out.put(frame.slice(int(ends[q]), int(counts[q]))))
        for q in np.flatnonzero(counts).tolist()
    ]


def _routed(
    space: Workspace, plan: LargePlan, union: Sequence[int], names: Sequence[str]
) -> Iterator[pl.DataFrame]:
    """Yield columns `names` of the rows of the parts `union`, by part, and in each in the order of the table."""
    routed = space.every("route", len(plan.pieces))
    with ExitStack() as opened:
        files = [opened.enter_context((space.folder / one["file"]).open("rb")) for one in routed]
        for part in union:
            for record, file in zip(routed, files, strict=True):
                for (place,) in places_of(record["groups"], part):
                    yield read_table(file, place, names)


def finish(space: Workspace, number: int) -> None:
    """Split the rows of union `number`, and write them generalized, each to the published part of a random key.

    A worker step that stores 'finish-{number}': ``"groups"``, ``"loss"``, ``"classes"``, ``"rows"``,
    ``"suppressed"``, ``"seconds"``, ``"file"``. The rows of the union's quasi-identifiers are in memory.
    """
    import polars as pl

    plan: LargePlan = space.plan()
    union = plan.unions[number]
    own = plan.own_names(plan.layout.words + len(plan.demands))
    labels, cells, loss, seconds = _classes(space, plan, number, own)
    suppressed, classes = int((labels < 0).sum()), int(labels.max(initial=-1)) + 1
    row, (label_at, mark) = 0, plan.own_names(2)
    if plan.keep_suppressed:
        cells = cells.with_columns(pl.Series(mark, np.arange(cells.height) == cells.height - 1))
    groups: list[tuple[int, Place, Place]] = []
    with space.file(f"finish-{number}", ".tables") as path:
        with TableStack(path) as out:
            for frame in _in_batches(space, plan, union, len(labels)):
                label = labels[row : row + frame.height] if plan.other else labels
                row += len(label)
                # A suppressed row has label -1: the last entry.
                published = pl.DataFrame([pl.Series(label_at, label % cells.height, pl.Int32)])
                if plan.other:
                    published = published.hstack(frame)
                if plan.suppress and not plan.keep_suppressed:
                    published = published.filter(label >= 0)
                groups += _deal(out, published, label_at, cells, plan.buckets)
        record = {
            "groups": listed(groups),
            "loss": loss,
            "classes": classes,
            "rows": row,
            "suppressed": suppressed,
            "seconds": seconds,
        }
        space.keep(f"finish-{number}", path, record)


def _in_batches(
    space: Workspace, plan: LargePlan, union: Sequence[int], rows: int
) -> Iterator[pl.DataFrame]:
    """Yield the columns carried along, ``plan.other``, of the rows of parts `union`, in the order of the parts.

    `rows` is the number of rows of these parts. A batch has ``plan.batch`` rows or more, up to one routed table above
    that; the last has the rest. Where no column is carried along, one frame without columns or rows is yielded.
    Each row is read once; one batch is in memory.
    """
    import polars as pl

    if not plan.other:
        yield pl.DataFrame()
        return
    waiting: list[pl.DataFrame] = []
    n_waiting, seen = 0, 0
    for frame in _routed(space, plan, union, plan.other):
        waiting.append(frame)
        n_waiting, seen = n_waiting + frame.height, seen + frame.height
        if n_waiting >= plan.batch or seen == rows:
            yield pl.concat(waiting)
            waiting, n_waiting = [], 0


def _classes(
    space: Workspace, plan: LargePlan, number: int, own: Sequence[str]
) -> tuple[NDArray[np.int32], pl.DataFrame, float, float]:
    """Split the rows of union `number`; return labels int32 ``(rows,)``, published cells, loss, and seconds.

    `own` are the names of the packed columns. What is published in place of a suppressed row is the last entry, where
    there may be one.
    """
    import polars as pl

    layout = plan.layout
    read = [frame.to_numpy() for frame in _routed(space, plan, plan.unions[number], own)]
    table = np.concatenate(read).astype(np.int64, copy=False)
    del read
    words = np.ascontiguousarray(table[:, : layout.words])
    words[:, 0] |= np.arange(len(words), dtype=np.int64) << ROW_NUMBER_BITS
    demands = [
        plan.demand(at, table[:, layout.words + at], plan.wholes) for at in range(len(plan.demands))
    ]
    del table
    marks = np.zeros(len(words), np.uint8)
    rows = Rows(words, marks, plan.columns, layout, wanted_of(tuple(demands)))
    began = clock()
    _split(plan, rows)
    labels = classes_of_rows(words, rows.bound)
    if plan.suppress:
        codes = np.stack(_codes_of_words(plan, words[np.argsort(rows_of(words))]), axis=1)
        problem = Problem(plan.columns, codes.astype(np.int32))
        labels = leave_out(problem, labels, plan.k, plan.quotas[number])
        loss, at_column = problem.loss_of(labels), enumerate(plan.quasi)
        cells = pl.DataFrame(
            {name: [*cells_of(problem, labels, j), "*"] for j, name in at_column},
            schema=dict.fromkeys(plan.quasi, pl.String),
        )
        del codes, problem
    else:
        cells, loss = _published(plan, rows, labels)
    return labels, cells, loss, clock() - began


def _split(plan: LargePlan, rows: Rows, *, time_share: float = 0.6) -> None:
    """Split a part in place in its share of the time limit; without a limit until splitting ends by itself.

    All parts together have `time_share` of the limit; the lower bound has the remaining time.

    Ctrl-C raises KeyboardInterrupt, and nothing is left of the run.
    """
    n, limits = len(rows.words), SearchLimits()
    if plan.time_limit is not None:
        # At least this long with all workers at work, and no part waits for another one.
        share = time_share * plan.time_limit * min(1.0, plan.workers * n / plan.n)
        limits = SearchLimits.within(share)
    if split_parts(rows, [(0, n)], plan.effort, plan.k, limits, whole=plan.n):
        raise KeyboardInterrupt


def _codes_of_words(plan: LargePlan, words: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the codes of each quasi-identifier, int64 ``(rows,)``, in packed rows `words` ``(rows, words)``.

    Linear.
    """
    layout = plan.layout
    return [
        (words[:, layout.word[a]] >> layout.shift[a]) & layout.mask[a]
        for a in range(len(plan.columns))
    ]


def atoms(space: Workspace, number: int) -> None:
    """Count the different rows of piece `number`, packed for the lower bound, and store sorted keys and counts.

    A worker step on what 'route' wrote; a sort of one integer for each row.
    """
    plan: LargePlan = space.plan()
    own = plan.own_names(plan.layout.words)
    routed = space.get(f"route-{number}")
    keys_of_groups: list[NDArray[np.int64]] = [np.zeros(0, np.int64)]
    with (space.folder / routed["file"]).open("rb") as file:
        for row in routed["groups"][:, 1:].tolist():
            words = read_table(file, Place(*row), own).to_numpy().astype(np.int64, copy=False)
            keys_of_groups.append(plan.places.keys(_codes_of_words(plan, words)))
    keys = np.sort(np.concatenate(keys_of_groups))
    space.put(f"atoms-{number}", summed(keys, np.ones(len(keys), dtype=np.int64)))


def bound(space: Workspace, number: int) -> None:
    """Store 'bound-{number}'.

    ``"lower"``, a lower bound on the loss of all rows, ``"merged"`` and ``"left_out"`` columns. A worker step over
    the atoms of all pieces, in the rest of the time limit. The bound is 0 if no column fits.
    """
    plan: LargePlan = space.plan()
    merging = ValueMerging(plan.places, min(SHARED.max_packed_rows, plan.most_keys))
    for piece in range(len(plan.pieces)):
        merging.add(*space.get(f"atoms-{piece}"))
    packed = merging.packed()
    merged_columns = {"merged": merging.columns, "left_out": len(plan.places.covers)}
    if packed is None:
        space.put(f"bound-{number}", {"lower": 0.0, **merged_columns})
        return
    merged_columns["left_out"] -= len(packed.lattice.bits)
    looked_at = min(plan.n, merging.most)
    del merging
    sets = any(column.is_set for column in plan.columns)
    shared = Shared(plan.k, lambda: packed)
    shared.prepare()
    limits = SearchLimits()
    if plan.time_limit is not None:
        limits = SearchLimits.within(max(0.0, plan.time_limit - plan.split_seconds))
    timed = plan.time_limit is not None
    shared.aim(plan.mean_loss, looked_at * len(plan.columns), sets=sets, timed=timed)
    shared.refine(replace(limits, threads=plan.threads_alone))
    space.put(f"bound-{number}", {"lower": shared.lower, **merged_columns})


def _deal(
    out: TableStack, frame: pl.DataFrame, label_at: str, cells: pl.DataFrame, buckets: int
) -> list[tuple[int, Place, Place]]:
    """Write rows to random buckets, with the cells of their classes; return each bucket with the places of both.

    Classes are numbered within their bucket, so that the memory for a bucket grows with its own rows only. `label_at`
    is the column with a row's place in `cells`. A sort of the rows.
    """
    import polars as pl

    bucket = SystemBits().randranges(buckets, frame.height).astype(np.uint32)
    frame = frame[np.argsort(bucket, kind="stable")]
    counts = np.bincount(bucket, minlength=buckets)
    ends = np.concatenate([[0], np.cumsum(counts)])
    groups = []
    for b in np.flatnonzero(counts).tolist():
        bucket_rows, bucket_cells = frame.slice(int(ends[b]), int(counts[b])), cells
        if bucket_rows.height < cells.height:
            used, place = np.unique(bucket_rows[label_at].to_numpy(), return_inverse=True)
            bucket_cells = cells[used]
            bucket_rows = bucket_rows.with_columns(pl.Series(label_at, place, pl.Int32))
        groups.append((b, out.put(bucket_rows), out.put(bucket_cells)))
    return groups


def _published(
    plan: LargePlan, rows: Rows, labels: NDArray[np.int32]
) -> tuple[pl.DataFrame, float]:
    """Return the published cell of each class in each column, and the total loss of the rows.

    `labels` are int32 ``(rows,)``. Linear in the rows, for each column.
    """
    import polars as pl

    words = rows.words
    sizes = np.bincount(labels[rows_of(words)])
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    cells, loss = [], 0.0
    for column, codes in zip(plan.columns, _codes_of_words(plan, words), strict=True):
        texts, which, costs = cells_of_runs(column, codes, first)
        cells.append(pl.Series(column.name, texts, dtype=pl.String).gather(which))
        loss += float(sizes @ costs)
    return pl.DataFrame(cells), loss


def publish(space: Workspace, number: int) -> None:
    """Write published part `number`: its rows from all unions, in the order of random keys of 128 bits.

    A worker step that stores 'publish-{number}': ``"rows"``, ``"persons"`` (a private file, or ``None``),
    ``"schema"`` and ``"file"``. The part is in memory, and on disk when it returns.
    """
    import polars as pl

    plan: LargePlan = space.plan()
    label_at, mark = plan.own_names(2)
    frames, labels, tables, classes = [], [], [], 0
    for record in space.every("finish", len(plan.unions)):
        with (space.folder / record["file"]).open("rb") as file:
            for rows_at, cells_at in places_of(record["groups"], number):
                frames.append(read_table(file, rows_at))
                labels.append(frames[-1].drop_in_place(label_at).to_numpy() + classes)
                tables.append(read_table(file, cells_at))
                classes += cells_at.rows
    # From a table in hundreds of chunks a row is taken ten times as slowly.
    label, cells = np.concatenate(labels), pl.concat(tables, rechunk=True)
    order = shuffled(np.arange(len(label)), SystemBits())
    if plan.drop_marked and plan.keep_suppressed:
        order = order[~cells[mark].to_numpy()[label[order]]]
    table = cells.select(plan.quasi)[label[order]]
    if plan.other:
        table = table.hstack(pl.concat(frames, rechunk=True)[order])
    with space.file(f"publish-{number}", plan.suffix) as path:
        persons = None
        if plan.person:
            # No cell of it is published; that classes have k persons is counted with it.
            persons = make_private(path.with_suffix(".persons"))
            persons.write_bytes(bytes_of(table.select(plan.person), ".parquet"))
        published = table.select(plan.published)
        # Written by way of memory, where a full disk is told from rows that can't be written.
        path.write_bytes(bytes_of(published, plan.suffix, statistics=False))
        with path.open("r+b") as file:
            os.fsync(file.fileno())
        record = {
            "rows": published.height,
            "persons": persons and persons.name,
            "schema": {name: str(kind) for name, kind in published.schema.items()},
        }
        space.keep(f"publish-{number}", path, record)


ANONYMIZE_STEPS = {
    "survey": survey,
    "sample": sample,
    "route": route,
    "finish": finish,
    "atoms": atoms,
    "bound": bound,
    "publish": publish,
    "tally": tally,
    "count": count,
    "total": total,
}
"""Kinds of steps by which a table is anonymized, in their order."""

STEPS = {**ANONYMIZE_STEPS, **RECORD_STEPS, **CELL_STEPS, **RISK_STEPS}
"""All kinds of steps."""
