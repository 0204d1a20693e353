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
from dataclasses import dataclass, field
from hashlib import file_digest
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.artefact.folders import failing_of
from discreet.artefact.rooms import make_private
from discreet.artefact.workspace import Workspace
from discreet.core.errors import InvalidProblemError
from discreet.core.randomness import SystemBits
from discreet.kanonymity.candidate import SearchLimits
from discreet.kanonymity.cells import cells_of
from discreet.kanonymity.demand import Demand, wanted_of
from discreet.kanonymity.methods.top_down import classes_of_rows
from discreet.kanonymity.packed import layout_of, pack, rows_of
from discreet.kanonymity.problem import Problem
from discreet.kanonymity.search.parts import Rows, rules_for, split_part
from discreet.kanonymity.search.top import Top, sampled
from discreet.tables.parsing import reader_errors, scan
from discreet.tables.writing import bytes_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from discreet.kanonymity.models import PrivacyModel
    from discreet.kanonymity.packed import RowLayout
    from discreet.kanonymity.problem import CodedColumn

__all__ = ["STEPS", "LargePlan", "Piece", "look_around", "perform"]

HALF = 32
"""Bits of the first word that hold codes."""

HASHES = 8
"""Groups of classes, by a hash of their cells, that are counted each by itself."""


@final
@dataclass(frozen=True)
class Piece:
    """Rows of a source that are read together: a run of row groups of a Parquet file, or a CSV file.

    Parameters
    ----------
    path, mark
        The file, and what separates its cells; empty for Parquet.
    groups
        First row group, and the one after the last.
    """

    path: str
    mark: str
    groups: tuple[int, int] = (0, 0)


@final
@dataclass(frozen=True, eq=False)
class LargePlan:
    """All that steps have to know; it grows as they are done.

    Parameters
    ----------
    pieces
        What is read, in order.
    k, effort
        Least size of a class, and how much is tried.
    quasi
        The quasi-identifiers.
    demands
        Column and model of what each class must hold besides.
    published
        The columns that are published, in order.
    person
        The column that tells persons apart, if there is one.
    suffix
        Of the published files.
    batch, buckets
        Rows that pass by at once, and published parts.
    columns, codes, layout, demanded
        The quasi-identifiers as codes: for each the values and their codes; and so for the columns of demands.
    firsts, n
        Number of the first row of each piece, and of all rows.
    top, unions, wholes
        The first splits; which parts are finished together; how often a demanded value is in the table.
    stored
        For published columns with demands: their values, and the codes of these, as stored and by their text.
    """

    pieces: tuple[Piece, ...]
    k: int
    effort: str
    quasi: tuple[str, ...]
    demands: tuple[tuple[str, PrivacyModel], ...]
    published: tuple[str, ...]
    person: str | None
    suffix: str
    batch: int
    buckets: int = 1
    columns: tuple[CodedColumn, ...] = ()
    codes: Mapping[str, tuple[pl.Series, pl.Series]] = field(default_factory=dict)
    layout: RowLayout = field(default_factory=lambda: layout_of(()))
    demanded: Mapping[str, tuple[pl.Series, pl.Series]] = field(default_factory=dict)
    firsts: tuple[int, ...] = ()
    n: int = 0
    top: Top = field(default_factory=Top.single)
    unions: tuple[tuple[int, ...], ...] = ()
    wholes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    stored: Mapping[str, Sequence[tuple[pl.Series, pl.Series, tuple[int, ...]]]] = field(
        default_factory=dict
    )

    @property
    def other(self) -> tuple[str, ...]:
        """Columns that are carried along as they are."""
        mine = [name for name in self.published if name not in self.quasi]
        return tuple(mine) + ((self.person,) if self.person else ())


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


def batches(piece: Piece, names: Sequence[str], rows: int) -> Iterator[pl.DataFrame]:
    """Read some columns of a piece, so many rows at once; dictionaries, which tell of other rows, as text."""
    import polars as pl

    if piece.mark:
        lazy = scan(piece.path, piece.mark).select(names)
        yield from lazy.collect_batches(chunk_size=rows, maintain_order=True)
        return
    import pyarrow.parquet as pq

    with pq.ParquetFile(piece.path) as file:
        for found in file.iter_batches(rows, row_groups=range(*piece.groups), columns=list(names)):
            frame = pl.from_arrow(found)
            if isinstance(frame, pl.Series):
                raise TypeError
            packed = [one for one, kind in frame.schema.items() if isinstance(kind, pl.Categorical)]
            yield frame.select(names).with_columns(pl.col(one).cast(pl.String) for one in packed)


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
    import pyarrow.parquet as pq

    from discreet.kanonymity.kernels.dealing import deal_rows

    plan: LargePlan = space.plan()
    words_at, parts = _own_names(plan, plan.layout.words + len(plan.demands)), plan.top.parts
    names = list(dict.fromkeys((*plan.quasi, *plan.other, *(name for name, _ in plan.demands))))
    groups: list[tuple[int, int]] = []
    pairs: dict[str, list[pl.DataFrame]] = {name: [] for name, _ in plan.demands}
    with space.file(f"route-{number}", ".parquet") as path:
        writer = None
        for batch in batches(plan.pieces[number], names, plan.batch):
            coded = _coded(batch, plan.codes)
            words = pack([coded[name].to_numpy() for name in plan.quasi], plan.layout)
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
            carried = batch.select(plan.other)[order] if plan.other else pl.DataFrame()
            frame = carried.with_columns(map(pl.Series, words_at, own))
            table = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
            writer = writer or pq.ParquetWriter(path, table.schema, compression="lz4")
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
        space.keep(f"route-{number}", path, {"groups": groups, "values": found})


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
    union, layout = plan.unions[number], plan.layout
    own = _own_names(plan, layout.words + len(plan.demands))
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
    rows = Rows(
        words, np.zeros(len(words), np.uint8), plan.columns, layout, wanted_of(tuple(demands))
    )
    split_part(rows, rules_for(plan.effort, plan.k, plan.n), SearchLimits())
    labels = classes_of_rows(words, rows.bound)
    cells, loss = _published(plan, rows, labels)
    del words, rows
    keys, at = _own_names(plan, 3), 0
    groups: list[int] = []
    with space.file(f"finish-{number}", ".parquet") as path, _Groups(path) as out:
        waiting: list[pl.DataFrame] = []
        held = 0
        for frame in _routed(space, plan, union, [*plan.other, own[0]]):
            label = labels[at : at + frame.height]
            at += frame.height
            held += frame.height
            told = [cells[name].gather(label) for name in plan.quasi]
            waiting.append(frame.select(plan.other).with_columns(told))
            if held >= plan.batch or at == len(labels):
                groups += out.deal(pl.concat(waiting), keys, plan.buckets)
                waiting, held = [], 0
        classes = int(labels.max(initial=-1)) + 1
        found = {"groups": groups, "loss": loss, "classes": classes, "rows": at}
        out.close()
        space.keep(f"finish-{number}", path, found)


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
        import pyarrow.parquet as pq

        high, low = (self.bits.randranges(2**64, frame.height) for _ in range(2))
        bucket = self.bits.randranges(buckets, frame.height)
        dealt = frame.with_columns(map(pl.Series, keys, (bucket, high, low))).sort(keys[0])
        table = dealt.to_arrow(compat_level=pl.CompatLevel.oldest())
        if self.writer is None:
            self.writer = pq.ParquetWriter(self.path, table.schema, compression="lz4")
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
    keys, frames = _own_names(plan, 3), []
    for found in space.every("finish", len(plan.unions)):
        with pq.ParquetFile(space.folder / found["file"]) as file:
            at = [place for place, bucket in enumerate(found["groups"]) if bucket == number]
            if at:
                frames.append(pl.from_arrow(file.read_row_groups(at)))
    table = pl.concat([frame for frame in frames if isinstance(frame, pl.DataFrame)])
    table = table.sort(keys[1:])
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


def _read_part(space: Workspace, plan: LargePlan, number: int) -> pl.DataFrame:
    """Read a published part, with the column of persons beside it."""
    import polars as pl

    from discreet.tables.parsing import read

    made = space.get(f"publish-{number}")
    table = read(space.folder / made["file"], "," if plan.suffix == ".csv" else "")
    if made["persons"]:
        table = table.hstack(pl.read_parquet(space.folder / made["persons"]))
    return table


def tally(space: Workspace, number: int) -> None:
    """List the values that a published part has in columns with demands, and how often."""
    plan: LargePlan = space.plan()
    table = _read_part(space, plan, number)
    names = dict.fromkeys(name for name, _ in plan.demands)
    found = {name: table.group_by(name).len("rows") for name in names}
    space.put(f"tally-{number}", found)


def count(space: Workspace, number: int) -> None:
    """Count the rows of each class of a published part as they stand there, and its digest."""
    import polars as pl

    plan: LargePlan = space.plan()
    table = _read_part(space, plan, number)
    quasi = list(plan.quasi)
    for name in quasi:
        if table.schema[name] != pl.String:
            raise TypeError
    hashed = pl.struct(quasi).hash(seed=1) % HASHES
    sums = {"": table.group_by(quasi).len("rows").with_columns(hashed.alias("hash of class"))}
    for name in dict.fromkeys(name for name, _ in plan.demands):
        pairs = table.group_by([*quasi, name]).len("rows")
        sums[name] = pairs.with_columns(hashed.alias("hash of class"))
    with (space.folder / space.get(f"publish-{number}")["file"]).open("rb") as file:
        digest = file_digest(file, "sha256").hexdigest()
    pieces: dict[int, dict[str, pl.DataFrame]] = {}
    for name, frame in sums.items():
        for bucket in range(HASHES):
            mine = frame.filter(pl.col("hash of class") == bucket).drop("hash of class")
            pieces.setdefault(bucket, {})[name] = mine
    for bucket, found in pieces.items():
        space.put(f"counted-{number}-{bucket}", found)
    space.put(f"count-{number}", {"sha256": digest, "rows": table.height})


def total(space: Workspace, number: int) -> None:
    """Add up the counts of the classes of one group over all published parts, and judge them."""
    import polars as pl

    plan: LargePlan = space.plan()
    parts = [space.get(f"counted-{part}-{number}") for part in range(plan.buckets)]
    quasi = list(plan.quasi)
    whole = pl.concat([part[""] for part in parts]).group_by(quasi).agg(pl.col("rows").sum())
    small = int((whole["rows"] < plan.k).sum())
    failing = [0] * len(plan.demands)
    for at, (name, model) in enumerate(plan.demands):
        pairs = pl.concat([part[name] for part in parts]).group_by([*quasi, name])
        found = pairs.agg(pl.col("rows").sum())
        labels = found.select(pl.struct(quasi).rank("dense").cast(pl.Int64) - 1).to_series()
        for old, new, all_of in plan.stored[name]:
            codes = found[name].replace_strict(old, new, return_dtype=pl.Int64).to_numpy()
            rows = found["rows"].to_numpy().astype(np.int64)
            few = failing_of(model, labels.to_numpy(), codes, rows, all_of)
            failing[at] = max(failing[at], few)
    least = whole["rows"].min()
    space.put(
        f"total-{number}",
        {
            "classes": whole.height,
            "rows": int(whole["rows"].sum()),
            "least": least,
            "small": small,
            "failing": failing,
        },
    )


STEPS = {
    "survey": survey,
    "sample": sample,
    "route": route,
    "finish": finish,
    "publish": publish,
    "tally": tally,
    "count": count,
    "total": total,
}
"""Kinds of steps, in their order."""
