"""The steps by which a table that need not fit into memory is anonymized, each of a piece of it, on whichever machine.

A step is named by its kind and a number, and finds all else in a workspace: a folder that all workers share, and whose
files only their owner can read. What a step finds it writes there as one record; the first record of a step counts,
so that one that is done twice, as after the loss of a worker, changes nothing. Nothing that is private passes through a
scheduler: steps take names and numbers, give whether they were done, and keep their errors in the workspace.
"""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.artefact.large_counts import count, tally, total
from discreet.artefact.pieces import batches
from discreet.artefact.record_steps import RECORD_STEPS
from discreet.artefact.rooms import make_private
from discreet.artefact.workspace import Workspace
from discreet.core.errors import InvalidProblemError
from discreet.core.jit import clock
from discreet.core.randomness import SystemBits
from discreet.kanonymity.bounds.shared import MOST_ROWS, Packed, Shared, summed
from discreet.kanonymity.candidate import SearchLimits
from discreet.kanonymity.cells import cells_of
from discreet.kanonymity.demand import Demand, wanted_of
from discreet.kanonymity.methods.top_down import classes_of_rows
from discreet.kanonymity.packed import pack, rows_of
from discreet.kanonymity.problem import Problem
from discreet.kanonymity.search.parts import Rows, split_parts
from discreet.kanonymity.search.suppress import leave_out
from discreet.kanonymity.search.top import sampled
from discreet.tables.parsing import reader_errors
from discreet.tables.writing import bytes_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from discreet.artefact.large_plan import LargePlan


__all__ = ["STEPS", "look_around", "perform"]

HALF = 32
"""Bits of the first word that hold codes."""

SPLIT_SHARE = 0.6
"""Part of a time limit that is for splitting; the lower bound has the rest, and what splitting leaves."""

FEW_KEYS, LOOKS, LEAST_LOOKS = 100_000, 100, 100_000_000
"""Different rows in a first search for a lower bound; looks at each without a time limit, and at all at least."""


def look_around(folder: str, token: str) -> tuple[bool, tuple[str, ...]]:
    """Tell a driver whether this worker shares its workspace, and which versions it has."""
    versions = tuple(map(version, ("discreet", "distributed", "polars", "numba")))
    with suppress(OSError):
        return Path(folder, "token").read_text(encoding="ascii") == token, versions
    return False, versions


def perform(folder: str, kind: str, number: int) -> bool:
    """Do a step, unless it was done; give whether it is.

    Why it was not stands in the workspace as ``trouble``: what an error says may be private, and a worker logs what a
    task raises.
    """
    space, name = Workspace(Path(folder)), f"{kind}-{number}"
    mark = space.folder / f"running.{secrets.token_hex(8)}"
    try:
        make_private(mark)
        if not space.has(name):
            STEPS[kind](space, number)
    except InvalidProblemError as error:
        trouble = ("invalid", error.field, error.expected, str(error.got))
    except MemoryError:
        trouble = ("memory", "", "", "")
    except OSError as error:
        trouble = ("system", "", "", os.strerror(error.errno) if error.errno else "an error")
    except reader_errors():
        trouble = ("reader", "", "", "")
    except Exception as error:  # noqa: BLE001 - its words may quote a row, and would be logged
        trouble = ("broken", "", "", type(error).__name__)
    else:
        return True
    finally:
        with suppress(OSError):
            mark.unlink(missing_ok=True)
    with suppress(OSError):
        space.put("trouble", (kind, *trouble))
    return False


def survey(space: Workspace, number: int) -> None:
    """Count the rows of a piece, and list the values of its quasi-identifiers and of columns with demands."""
    import polars as pl

    plan: LargePlan = space.plan()
    names = list(dict.fromkeys((*plan.quasi, *(name for name, _ in plan.demands))))
    rows, values = 0, dict[str, pl.Series]()
    for batch in batches(plan.pieces[number], names, plan.batch):
        rows += batch.height
        for name in names:
            seen = [batch[name].unique()] if name not in values else [values[name], batch[name]]
            values[name] = pl.concat(seen).unique()
    space.put(f"survey-{number}", {"rows": rows, "values": values})


def _coded(batch: pl.DataFrame, codes: Mapping[str, tuple[pl.Series, pl.Series]]) -> pl.DataFrame:
    import polars as pl

    return batch.select(
        pl.col(name).replace_strict(old, new, return_dtype=new.dtype)
        for name, (old, new) in codes.items()
    )


def sample(space: Workspace, number: int) -> None:
    """Take the rows of a piece that are in the sample, packed."""
    plan: LargePlan = space.plan()
    codes, layout = plan.codes, plan.layout
    at, found = plan.firsts[number], [np.zeros((0, layout.words), np.int64)]
    for batch in batches(plan.pieces[number], plan.quasi, plan.batch):
        taken = sampled(plan.n, at, at + batch.height) - at
        coded = _coded(batch[taken], codes)
        found.append(pack([coded[name].to_numpy() for name in plan.quasi], layout))
        at += batch.height
    space.put(f"sample-{number}", np.concatenate(found))


def _own_names(plan: LargePlan, count: int) -> list[str]:
    """Name columns of our own, as no column of the table is called."""
    prefix = "key" + "_" * max(map(len, (*plan.published, *plan.other)))
    return [f"{prefix}{place}" for place in range(count)]


def route(space: Workspace, number: int) -> None:
    """Write the rows of a piece by the part that they belong to, a row group for each, and count them exactly."""
    import polars as pl

    from discreet.kanonymity.kernels.dealing import deal_rows

    plan: LargePlan = space.plan()
    words_at, parts = _own_names(plan, plan.layout.words + len(plan.demands)), plan.top.parts
    names = list(dict.fromkeys((*plan.quasi, *plan.other, *(name for name, _ in plan.demands))))
    groups: list[tuple[int, int]] = []
    pairs: dict[str, list[pl.DataFrame]] = {name: [] for name, _ in plan.demands}
    of_code = [np.zeros(len(column.domain), dtype=np.int64) for column in plan.columns]
    with space.file(f"route-{number}", ".parquet") as path:
        writer = None
        for batch in batches(plan.pieces[number], names, plan.batch):
            coded = _coded(batch, plan.codes)
            words = pack([coded[name].to_numpy() for name in plan.quasi], plan.layout)
            for at, name in enumerate(plan.quasi):
                of_code[at] += np.bincount(coded[name].to_numpy(), minlength=len(of_code[at]))
            part = plan.top.route(words, plan.layout)
            counts = np.bincount(part, minlength=parts)
            ends = np.concatenate([[0], np.cumsum(counts)])
            dealt = np.empty_like(words)
            deal_rows(words, part, ends[:-1].copy(), dealt)
            order = rows_of(dealt)
            dealt[:, 0] &= (1 << HALF) - 1
            told = _coded(batch, plan.demanded)
            for name in told.columns:
                pair = pl.DataFrame({"part": part, "value": told[name]})
                pairs[name].append(pair.group_by("part", "value").len("rows"))
            own = [dealt[:, w] for w in range(plan.layout.words)]
            own += [told[name].to_numpy()[order] for name, _ in plan.demands]
            # A frame without columns has no rows, so that the others come first.
            frame = pl.DataFrame([*map(pl.Series, words_at, own)])
            if plan.other:
                frame = batch.select(plan.other)[order].hstack(frame)
            table = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
            writer = writer or _writer(path, table.schema, plan.other)
            for q in np.flatnonzero(counts).tolist():
                writer.write_table(table.slice(int(ends[q]), int(counts[q])), row_group_size=2**30)
                groups.append((q, int(counts[q])))
        if writer:
            writer.close()
        found = {
            name: pl.concat(each).group_by("part", "value").agg(pl.col("rows").sum())
            for name, each in pairs.items()
            if each
        }
        space.keep(f"route-{number}", path, {"groups": groups, "values": found, "codes": of_code})


def _routed(
    space: Workspace, plan: LargePlan, union: Sequence[int], names: Sequence[str]
) -> Iterator[pl.DataFrame]:
    """Read columns of the rows of some parts, in the order of the parts, and in each in the order of the table."""
    import polars as pl
    import pyarrow.parquet as pq

    routed = space.every("route", len(plan.pieces))
    for part in union:
        for found in routed:
            at = [place for place, (q, _) in enumerate(found["groups"]) if q == part]
            if not at:
                continue
            with pq.ParquetFile(space.folder / found["file"]) as file:
                for place in at:
                    frame = pl.from_arrow(file.read_row_group(place, columns=list(names)))
                    if isinstance(frame, pl.DataFrame):
                        yield frame


def finish(space: Workspace, number: int) -> None:
    """Split the rows of some parts, and write them generalized, each to the published part that a random key says."""
    import polars as pl

    plan: LargePlan = space.plan()
    union = plan.unions[number]
    own = _own_names(plan, plan.layout.words + len(plan.demands))
    labels, cells, loss, seconds = _classes(space, plan, union, own)
    suppressed, classes = int((labels < 0).sum()), int(labels.max(initial=-1)) + 1
    *keys, mark = _own_names(plan, 4)
    at = 0
    groups: list[int] = []
    with space.file(f"finish-{number}", ".parquet") as path, _Groups(path) as out:
        waiting: list[pl.DataFrame] = []
        held = 0
        for frame in _routed(space, plan, union, [*plan.other, own[0]]):
            label = labels[at : at + frame.height]
            at += frame.height
            held += frame.height
            told = [cells[name].gather(label % len(cells[name])) for name in plan.quasi]
            made = frame.select([*plan.other, *told])
            if plan.keep_suppressed:
                made = made.with_columns(pl.Series(mark, label < 0))
            elif plan.suppress:
                made = made.filter(label >= 0)
            waiting.append(made)
            if held >= plan.batch or at == len(labels):
                groups += out.deal(pl.concat(waiting), keys, plan.buckets)
                waiting, held = [], 0
        found = {
            "groups": groups,
            "loss": loss,
            "classes": classes,
            "rows": at,
            "suppressed": suppressed,
            "seconds": seconds,
        }
        out.close()
        space.keep(f"finish-{number}", path, found)


def _classes(
    space: Workspace, plan: LargePlan, union: Sequence[int], own: Sequence[str]
) -> tuple[NDArray[np.int32], dict[str, pl.Series], float, float]:
    """Split the rows of some parts; give their classes, what each publishes, what all lose, and the seconds it took."""
    import polars as pl

    layout = plan.layout
    read = [frame.to_numpy() for frame in _routed(space, plan, union, own)]
    whole = np.concatenate(read).astype(np.int64, copy=False)
    del read
    words = np.ascontiguousarray(whole[:, : layout.words])
    words[:, 0] |= np.arange(len(words), dtype=np.int64) << HALF
    demands = [
        Demand(name, model, whole[:, layout.words + at], whole=plan.wholes.get(name))
        for at, (name, model) in enumerate(plan.demands)
    ]
    del whole
    marks = np.zeros(len(words), np.uint8)
    rows = Rows(words, marks, plan.columns, layout, wanted_of(tuple(demands)))
    began = clock()
    _split(plan, rows)
    labels = classes_of_rows(words, rows.bound)
    if plan.suppress:
        codes = np.stack(_codes(plan, words[np.argsort(rows_of(words))]), axis=1)
        problem = Problem(plan.columns, codes.astype(np.int32))
        labels = leave_out(problem, labels, plan.k, int(plan.suppress * len(words)))
        loss, at_column = problem.loss_of(labels), enumerate(plan.quasi)
        cells = {
            # A suppressed row has label -1: the last entry.
            name: pl.Series(name, [*cells_of(problem, labels, j), "*"], dtype=pl.String)
            for j, name in at_column
        }
        del codes, problem
    else:
        cells, loss = _published(plan, rows, labels)
    return labels, cells, loss, clock() - began


def _split(plan: LargePlan, rows: Rows) -> None:
    """Split a part in its share of the time; Ctrl-C ends the run, of which nothing is left."""
    n, limits = len(rows.words), SearchLimits()
    if plan.time_limit is not None:
        # At least this long with all workers at work, and no part waits for another one.
        share = SPLIT_SHARE * plan.time_limit * min(1.0, plan.workers * n / plan.n)
        limits = SearchLimits.within(share)
    if split_parts(rows, [(0, n)], plan.effort, plan.k, limits, whole=plan.n):
        raise KeyboardInterrupt


def _codes(plan: LargePlan, words: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Give the codes of each quasi-identifier in packed rows."""
    layout = plan.layout
    return [
        (words[:, layout.word[a]] >> layout.shift[a]) & layout.mask[a]
        for a in range(len(plan.columns))
    ]


def atoms(space: Workspace, number: int) -> None:
    """List the different rows of a piece, packed for the lower bound, and count each."""
    import polars as pl
    import pyarrow.parquet as pq

    plan: LargePlan = space.plan()
    own = _own_names(plan, plan.layout.words + len(plan.demands))[: plan.layout.words]
    found: list[NDArray[np.int64]] = []
    with pq.ParquetFile(space.folder / space.get(f"route-{number}")["file"]) as file:
        for batch in file.iter_batches(plan.batch, columns=own):
            frame = pl.from_arrow(batch)
            if isinstance(frame, pl.DataFrame):
                words = frame.to_numpy().astype(np.int64, copy=False).reshape(-1, len(own))
                found.append(plan.places.keys(_codes(plan, words)))
    keys = np.sort(np.concatenate(found))
    space.put(f"atoms-{number}", summed(keys, np.ones(len(keys), dtype=np.int64)))


def _same(packed: Packed) -> Packed:
    return packed


def bound(space: Workspace, number: int) -> None:
    """Add up what each row costs at least, over the different rows of all pieces."""
    plan: LargePlan = space.plan()
    places, most = plan.places, min(MOST_ROWS, plan.most_keys)
    keys, counts = np.zeros(0, np.int64), np.zeros(0, np.int64)
    left_out = 0
    for piece in range(len(plan.pieces)):
        more, rows = space.get(f"atoms-{piece}")
        keys = np.concatenate([keys, more >> places.bits(left_out)])
        counts = np.concatenate([counts, rows])
        order = np.argsort(keys, kind="stable")
        keys, counts = summed(keys[order], counts[order])
        while len(keys) > most and left_out + 1 < len(places.covers):
            # The first column has the lowest bits, so that the order stays.
            keys, counts = summed(
                keys >> (places.bits(left_out + 1) - places.bits(left_out)), counts
            )
            left_out += 1
    limits, lower = SearchLimits(), 0.0
    if plan.time_limit is not None:
        limits = SearchLimits.within(max(0.0, plan.time_limit - plan.split_seconds))
    for few in (min(FEW_KEYS, most), most):
        packed = places.packed(keys, counts, few, left_out)
        looks = max(LEAST_LOOKS, LOOKS * len(packed.keys))
        shared = Shared(plan.k, partial(_same, packed), looks)
        shared.refine(limits)
        lower = max(lower, shared.lower)
    space.put(f"bound-{number}", {"lower": lower})


def _writer(path: Path, schema: Any, repeated: Sequence[str]) -> Any:  # noqa: ANN401 - pyarrow has no types
    """Open a file of row groups; only some columns have values that repeat, and nobody looks at statistics."""
    import pyarrow.parquet as pq

    return pq.ParquetWriter(
        path, schema, compression="lz4", use_dictionary=list(repeated), write_statistics=False
    )


@final
class _Groups:
    """A file of row groups, one for each bucket of a batch of rows."""

    def __init__(self, path: Path) -> None:
        self.path, self.bits = path, SystemBits()
        self.writer: Any = None

    def __enter__(self) -> _Groups:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """See that all is written."""
        if self.writer is not None and self.writer.is_open:
            self.writer.close()

    def deal(self, frame: pl.DataFrame, keys: Sequence[str], buckets: int) -> list[int]:
        """Deal rows to buckets by random keys of 128 bits; give the bucket of each row group."""
        import polars as pl

        high, low = (self.bits.randranges(2**64, frame.height) for _ in range(2))
        bucket = self.bits.randranges(buckets, frame.height)
        dealt = frame.with_columns(map(pl.Series, keys, (bucket, high, low))).sort(keys[0])
        table = dealt.to_arrow(compat_level=pl.CompatLevel.oldest())
        if self.writer is None:
            cells = [name for name in frame.columns if name not in keys]
            self.writer = _writer(self.path, table.schema, cells)
        counts = np.bincount(np.asarray(bucket, np.int64), minlength=buckets)
        ends = np.concatenate([[0], np.cumsum(counts)])
        here = [int(b) for b in np.flatnonzero(counts)]
        for b in here:
            self.writer.write_table(table.slice(int(ends[b]), int(counts[b])), row_group_size=2**30)
        return here


def _published(
    plan: LargePlan, rows: Rows, labels: NDArray[np.int32]
) -> tuple[dict[str, pl.Series], float]:
    """Give what each class publishes in each column, and what it loses."""
    import polars as pl

    words, layout = rows.words, rows.layout
    order = rows_of(words)
    runs = labels[order]
    sizes = np.bincount(runs)
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    cells, loss = {}, 0.0
    for a, column in enumerate(plan.columns):
        codes = (words[:, layout.word[a]] >> layout.shift[a]) & layout.mask[a]
        one = Problem((column,), codes.astype(np.int32)[:, None])
        name = column.name
        cells[name] = pl.Series(name, cells_of(one, runs, 0), dtype=pl.String)
        if column.is_set:
            pairs = np.unique(runs.astype(np.int64) * len(column.domain) + codes)
            costs = column.set_cost(np.bincount(pairs // len(column.domain)))
        else:
            lo, hi = np.minimum.reduceat(codes, first), np.maximum.reduceat(codes, first)
            costs = column.span_cost(lo, hi)
        loss += float(sizes @ costs)
    return cells, loss


def publish(space: Workspace, number: int) -> None:
    """Write a published part: its rows from all parts of the search, in the order of their random keys."""
    import polars as pl
    import pyarrow.parquet as pq

    plan: LargePlan = space.plan()
    *keys, mark = _own_names(plan, 4)
    frames = []
    for found in space.every("finish", len(plan.unions)):
        with pq.ParquetFile(space.folder / found["file"]) as file:
            at = [place for place, bucket in enumerate(found["groups"]) if bucket == number]
            if at:
                frames.append(pl.from_arrow(file.read_row_groups(at)))
    table = pl.concat([frame for frame in frames if isinstance(frame, pl.DataFrame)])
    table = table.sort(keys[1:])
    if plan.drop_marked and plan.keep_suppressed:
        table = table.filter(~pl.col(mark))
    with space.file(f"publish-{number}", plan.suffix) as path:
        persons = None
        if plan.person:
            # No cell of it is published; that classes have k persons is counted with it.
            persons = make_private(path.with_suffix(".persons"))
            table.select(plan.person).write_parquet(persons)
        made = table.select(plan.published)
        if plan.suffix == ".csv":
            path.write_bytes(bytes_of(made, plan.suffix))
        else:
            # Statistics of row groups would tell of the order of the rows.
            made.write_parquet(path, statistics=False)
        with path.open("r+b") as file:
            os.fsync(file.fileno())
        found = {
            "rows": made.height,
            "persons": persons and persons.name,
            "schema": {name: str(kind) for name, kind in made.schema.items()},
        }
        space.keep(f"publish-{number}", path, found)


STEPS = {
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
    **RECORD_STEPS,
}
"""Kinds of steps, in their order."""
