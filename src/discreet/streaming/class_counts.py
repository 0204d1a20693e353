"""Steps that count the equivalence classes of the published parts, grouped in hash buckets.

Texts are numbered first, as they stand in what was written: the texts of a row are then one number, or a few, and equal
where all texts are equal.
"""

from __future__ import annotations

from contextlib import ExitStack, closing
from hashlib import file_digest
from typing import TYPE_CHECKING

import numpy as np

from discreet.artefact.folders import ROWS, failing_of
from discreet.kanonymity.models import DistinctDiversity
from discreet.kanonymity.packed import WORD_BITS
from discreet.kanonymity.problem.native import values_of_column
from discreet.streaming.buckets import BucketWriter, read_bucket
from discreet.streaming.pieces import Batch, Piece, batches
from discreet.streaming.plan import Numbered

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    import polars as pl

    from discreet.streaming.plan import LargePlan
    from discreet.streaming.workspace import Workspace

TEXTS, NUMBERS, LEAST = 2, 8, 8
"""Batches of published rows for each bucket of classes, which are as many groups at worst, where groups have texts or
are numbers, and fewest buckets: with 25 million rows of texts in 9 buckets a worker took 1.7 GB where it had 1.5, and
each bucket is looked for in each published part (2026-11)."""

MAX_NUMBERED_TEXTS = 2**16
"""Largest number of distinct texts of a column that are numbered; each step holds all of them in memory."""

_MEANING = "discreet meaning"
"""Temporary column: the number of a value by its meaning."""


def buckets_for(rows: int, batch: int, batches: int) -> int:
    """Return the number of hash buckets in which the classes of a table are counted.

    Parameters
    ----------
    rows, batch
        Of the table, and those that pass by at once, which follow from the memory of a process.
    batches
        For each bucket: `TEXTS` or `NUMBERS`.

    Examples
    --------
    >>> buckets_for(10_000, 1_000_000, TEXTS), buckets_for(10**9, 1_000_000, TEXTS)
    (8, 500)
    """
    return max(LEAST, -(-rows // (batches * batch)))


def buckets_of(plan: LargePlan) -> int:
    """Return the number of buckets for a plan whose texts are numbered."""
    texts = plan.demands or plan.sensitive or len(plan.numbered) < len(plan.quasi)
    return buckets_for(plan.n, plan.batch, TEXTS if texts else NUMBERS)


def numbering(listed: Sequence[Mapping[str, pl.Series | None]]) -> dict[str, Numbered]:
    """Number the texts of columns, and assign bits to each, so that a row's numbers fill one word of 64 bits, or a few.

    `listed` has one mapping for each part, with ``None`` for a column of too many texts. Texts are numbered in the
    order in which they come first; linear in them.

    Parameters
    ----------
    listed
        The different texts of each column in each part, or nothing for more than are numbered.

    Returns
    -------
    dict
        By column. Those with more than `MAX_NUMBERED_TEXTS` different texts over all parts are left out.

    Examples
    --------
    >>> import polars as pl
    >>> found = numbering([{"age": pl.Series(["30", "[20, 30]"])}, {"age": pl.Series(["30", "*"])}])
    >>> found["age"].word, found["age"].texts.to_list(), found["age"].bits.to_list()
    (0, ['30', '[20, 30]', '*'], [0, 1, 2])
    """
    import polars as pl

    numbered: dict[str, Numbered] = {}
    word, used = 0, 0
    for name in listed[0]:
        of_parts = [one[name] for one in listed]
        known = [one for one in of_parts if one is not None]
        if len(known) < len(of_parts):
            continue
        texts = pl.concat(known).unique(maintain_order=True)
        if len(texts) > MAX_NUMBERED_TEXTS:
            continue
        width = max(0, len(texts) - 1).bit_length()
        if used + width > WORD_BITS:
            word, used = word + 1, 0
        # A shift by 64 bits is that of no bit at all, of a column of one text.
        bits = np.arange(len(texts), dtype=np.uint64) << np.uint64(used % WORD_BITS)
        numbered[name] = Numbered(word, texts, pl.Series(bits))
        used += width
    return numbered


def _part(space: Workspace, number: int) -> Path:
    """Return the path of published part `number`."""
    path: Path = space.folder / space.get(f"publish-{number}")["file"]
    return path


def _read(
    plan: LargePlan, path: Path, coded: Sequence[str], plain: Sequence[str]
) -> Iterator[Batch]:
    """Yield batches of columns of the published part at `path`: `coded` as values and indices, `plain` as texts.

    A part of Parquet whose quasi-identifiers are no texts raises TypeError.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    if plan.suffix == ".csv":
        piece = Piece(str(path), ",")
    else:
        with pq.ParquetFile(path) as file:
            kinds = {file.schema_arrow.field(name).type for name in plan.quasi}
            piece = Piece(str(path), "", (0, file.num_row_groups))
        if not kinds <= {pa.string(), pa.large_string(), pa.string_view()}:
            raise TypeError
    return batches(piece, coded, plain, plan.batch)


def _counted_columns(
    space: Workspace, plan: LargePlan, number: int, counted: Sequence[str]
) -> pl.DataFrame:
    """Return the columns `counted` of published part `number` as a table; the column of persons is the last one.

    Persons are read from the private file beside the part. Names that are empty are skipped. The columns are in
    memory.
    """
    import polars as pl

    from discreet.tables.parsing import scan

    made = space.get(f"publish-{number}")
    names = [name for name in counted if name and name != plan.person]
    lazy = scan(space.folder / made["file"], "," if plan.suffix == ".csv" else "")
    table = lazy.select(names).collect() if names else pl.DataFrame()
    if made["persons"]:
        table = table.hstack(pl.read_parquet(space.folder / made["persons"]))
    return table


def tally(space: Workspace, number: int) -> None:
    """Store 'tally-{number}'.

    ``"texts"``, the distinct texts of each quasi-identifier, and ``"values"``, rows by value. A worker step on
    published part `number`. ``None`` stands for more than `MAX_NUMBERED_TEXTS` texts; rows are counted for columns
    with demands, as tables. Reads each of these columns once.
    """
    import polars as pl

    plan: LargePlan = space.plan()
    texts: dict[str, pl.Series | None] = {name: pl.Series(dtype=pl.String) for name in plan.quasi}
    for batch in _read(plan, _part(space, number), plan.quasi, ()):
        for name, column in batch.coded.items():
            known = texts[name]
            if known is not None:
                both = pl.concat([known, column.values.unique()]).unique()
                texts[name] = both if len(both) <= MAX_NUMBERED_TEXTS else None
    table = _counted_columns(space, plan, number, _demanded(plan))
    value_counts = {
        name: table.group_by(pl.col(name).alias("value")).len(ROWS) for name in table.columns
    }
    space.put(f"tally-{number}", {"texts": texts, "values": value_counts})


def _classes(space: Workspace, plan: LargePlan, number: int) -> pl.DataFrame:
    """Return what tells the classes of published part `number` apart, with columns that have demands or are sensitive.

    Quasi-identifiers with few texts are packed into words. Reads the part's columns.
    """
    import polars as pl

    words_at = _words(plan)
    plain = [name for name in plan.quasi if name not in plan.numbered]
    kinds = {**dict.fromkeys(words_at, pl.UInt64), **dict.fromkeys(plain, pl.String)}
    frames = [pl.DataFrame(schema=kinds)]
    for batch in _read(plan, _part(space, number), list(plan.numbered), plain):
        words = np.zeros((len(words_at), batch.rows), dtype=np.uint64)
        for name, one in plan.numbered.items():
            words[one.word] |= batch.coded[name].codes(one.texts, one.bits)
        texts = [batch.plain[name] for name in plain]
        frames.append(pl.DataFrame([*map(pl.Series, words_at, words), *texts]))
    return pl.concat(frames).hstack(_counted_columns(space, plan, number, _counted(plan)))


def _words(plan: LargePlan) -> list[str]:
    return plan.own_names(max((one.word + 1 for one in plan.numbered.values()), default=0))


def _keys(plan: LargePlan) -> list[str]:
    """Return the columns that identify a class: words of numbered texts, and columns with too many texts."""
    return [*_words(plan), *(name for name in plan.quasi if name not in plan.numbered)]


def _grouped(table: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Return the groups of rows that agree in the columns `keys`, with their number of rows in the column `ROWS`.

    One sort, or a table of the groups for keys other than one word.
    """
    import polars as pl

    if len(keys) > 1 or table.schema[keys[0]] != pl.UInt64:
        return table.group_by(keys).len(ROWS)
    # To sort numbers takes a ninth of the time of a table of groups.
    sorted_keys = np.sort(table[keys[0]].to_numpy())
    first = np.flatnonzero(
        np.append(np.ones(min(1, len(sorted_keys)), bool), sorted_keys[1:] != sorted_keys[:-1])
    )
    sizes = np.diff(np.append(first, len(sorted_keys)))
    return pl.DataFrame({keys[0]: sorted_keys[first], ROWS: sizes.astype(np.uint32)})


def count(space: Workspace, number: int) -> None:
    """Count the rows of each class of published part `number`, and store 'count-{number}'.

    Files by bucket, and SHA-256. A worker step; reads the part once for its hash, and each column that is counted
    once more. The keys of the record are ``"sha256"``, ``"rows"``, ``"files"`` and ``"rounds"``.
    """
    plan: LargePlan = space.plan()
    table, keys = _classes(space, plan, number), _keys(plan)
    with _part(space, number).open("rb") as file:
        digest = file_digest(file, "sha256").hexdigest()
    files: dict[str, str] = {}
    with ExitStack() as opened:
        for at, name in enumerate(_counted(plan)):
            path = opened.enter_context(space.file(f"count-{number}-{at}", ".groups"))
            with closing(BucketWriter(path, buckets_of(plan), keys)) as writer:
                writer.add(_grouped(table, [*keys, name] if name else keys))
            files[name] = path.name
        record = {"sha256": digest, "rows": table.height, "files": files, "rounds": 1}
        if not space.put(f"count-{number}", record):
            for name in files.values():
                (space.folder / name).unlink()


def _demanded(plan: LargePlan) -> list[str]:
    """Return the columns that have demands, once each."""
    return list(dict.fromkeys(name for name, _ in plan.demands))


def _counted(plan: LargePlan) -> list[str]:
    """Return the groupings to count: ``""`` for classes alone, and each demanded or sensitive column."""
    return list(dict.fromkeys(["", *_demanded(plan), *plan.sensitive]))


def _alike(pairs: pl.DataFrame, keys: Sequence[str], name: str) -> tuple[int, int]:
    """Return the rows of classes with at most one value that is not missing, and the number of these classes.

    Parameters
    ----------
    pairs
        Groups by class and by value, with their rows.
    keys, name
        Columns that identify a class, and the column of the value.
    """
    import polars as pl

    values = values_of_column(pairs[name], name)
    meaning = pl.Series(_MEANING, values.meaning_codes()[values.codes])
    different = pl.col(_MEANING).filter(pl.col(_MEANING) >= 0).n_unique()
    classes = pairs.with_columns(meaning).group_by(keys).agg(pl.col(ROWS).sum(), different)
    alike = classes.filter(pl.col(_MEANING) <= 1)
    return int(alike[ROWS].sum()), alike.height


def total(space: Workspace, number: int) -> None:
    """Add up the counts of the classes of one bucket over all published parts, judge them, and store 'total-{number}'.

    A worker step; the counts of the bucket are in memory. The keys are ``"classes"``, ``"rows"``, ``"least"`` (rows
    of the smallest class, or ``None``), ``"small"`` (classes below k), ``"failing"`` by demand and ``"alike"`` by
    column.
    """
    import polars as pl

    plan: LargePlan = space.plan()
    buckets, own = buckets_of(plan), _keys(plan)
    parts = [{"rounds": 1, **one["files"]} for one in space.every("count", plan.buckets)]

    def added(name: str) -> pl.DataFrame:
        counts = read_bucket(space, parts, name, buckets, number)
        if counts is None:
            raise TypeError
        keys = [*own, *([name] if name else [])]
        return counts.group_by(keys).agg(pl.col(ROWS).sum())

    class_counts = added("")
    small = int((class_counts[ROWS] < plan.k).sum())
    failing = [0] * len(plan.demands)
    for at, (name, model) in enumerate(plan.demands):
        counts = added(name)
        labels = counts.select(pl.struct(own).rank("dense").cast(pl.Int64) - 1).to_series()
        # By their meaning for distinct values, of which missing ones are none, and else as stored and by their text.
        *as_stored, by_meaning = plan.stored[name]
        for old, new, all_of in [by_meaning] if isinstance(model, DistinctDiversity) else as_stored:
            codes = counts[name].replace_strict(old, new, return_dtype=pl.Int64).to_numpy()
            rows = counts[ROWS].to_numpy().astype(np.int64)
            few = failing_of(model, labels.to_numpy(), codes, rows, all_of)
            failing[at] = max(failing[at], few)
    space.put(
        f"total-{number}",
        {
            "classes": class_counts.height,
            "rows": int(class_counts[ROWS].sum()),
            "least": class_counts[ROWS].min(),
            "small": small,
            "failing": failing,
            "alike": {name: _alike(added(name), own, name) for name in plan.sensitive},
        },
    )
