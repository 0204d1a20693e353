"""The steps that count the classes of what a run over large tables has written: by group-by, and buckets by a hash.

Texts are numbered first, as they stand in what was written: the texts of a row are then one number, or a few, and equal
where all texts are equal.
"""

from __future__ import annotations

from contextlib import ExitStack, closing
from hashlib import file_digest
from typing import TYPE_CHECKING

import numpy as np

from discreet.artefact.dealt import Dealt, read_bucket
from discreet.artefact.folders import ROWS, failing_of
from discreet.artefact.large_plan import Numbered
from discreet.artefact.pieces import Batch, Piece, batches
from discreet.kanonymity.models import DistinctDiversity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    import polars as pl

    from discreet.artefact.large_plan import LargePlan
    from discreet.artefact.workspace import Workspace

__all__ = ["NUMBERS", "buckets_for", "buckets_of", "count", "numbering", "tally", "total"]

TEXTS, NUMBERS, LEAST = 2, 8, 8
"""Batches of published rows for each bucket of classes, which are as many groups at worst, where groups have texts or
are numbers, and fewest buckets: with 25 million rows of texts in 9 buckets a worker took 1.7 GB where it had 1.5, and
each bucket is looked for in each published part (2026-11)."""

MOST_TEXTS = 2**16
"""Different texts of a column that are numbered: each step holds them all."""

WORD = 64


def buckets_for(rows: int, batch: int, batches: int) -> int:
    """Give how many buckets the classes of a table are counted in, each by itself.

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
    """Give how many buckets there are, once it is known which texts are numbered."""
    texts = plan.demands or len(plan.numbered) < len(plan.quasi)
    return buckets_for(plan.n, plan.batch, TEXTS if texts else NUMBERS)


def numbering(listed: Sequence[Mapping[str, pl.Series | None]]) -> dict[str, Numbered]:
    """Number the texts of columns, and say which bits each takes, so that those of a row make one number, or a few.

    Parameters
    ----------
    listed
        The different texts of each column in each part, or nothing for more than are numbered.

    Returns
    -------
    dict
        By column. Those with more than `MOST_TEXTS` different texts over all parts are left out.

    Examples
    --------
    >>> import polars as pl
    >>> found = numbering([{"age": pl.Series(["30", "[20, 30]"])}, {"age": pl.Series(["30", "*"])}])
    >>> found["age"].word, found["age"].texts.to_list(), found["age"].bits.to_list()
    (0, ['30', '[20, 30]', '*'], [0, 1, 2])
    """
    import polars as pl

    found: dict[str, Numbered] = {}
    word, used = 0, 0
    for name in listed[0]:
        here = [one[name] for one in listed]
        there = [one for one in here if one is not None]
        if len(there) < len(here):
            continue
        texts = pl.concat(there).unique(maintain_order=True)
        if len(texts) > MOST_TEXTS:
            continue
        width = max(0, len(texts) - 1).bit_length()
        if used + width > WORD:
            word, used = word + 1, 0
        # A shift by 64 bits is that of no bit at all, of a column of one text.
        bits = np.arange(len(texts), dtype=np.uint64) << np.uint64(used % WORD)
        found[name] = Numbered(word, texts, pl.Series(bits))
        used += width
    return found


def _part(space: Workspace, number: int) -> Path:
    found: Path = space.folder / space.get(f"publish-{number}")["file"]
    return found


def _read(
    plan: LargePlan, path: Path, told: Sequence[str], others: Sequence[str]
) -> Iterator[Batch]:
    """Read columns of a published part again; quasi-identifiers are texts."""
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
    return batches(piece, told, others, plan.batch)


def _demanded(space: Workspace, plan: LargePlan, number: int) -> pl.DataFrame:
    """Read the columns of a published part that have demands, and that of persons, which is kept beside it."""
    import polars as pl

    from discreet.tables.parsing import scan

    made = space.get(f"publish-{number}")
    names = [name for name in _counted(plan) if name and name != plan.person]
    lazy = scan(space.folder / made["file"], "," if plan.suffix == ".csv" else "")
    table = lazy.select(names).collect() if names else pl.DataFrame()
    if made["persons"]:
        table = table.hstack(pl.read_parquet(space.folder / made["persons"]))
    return table


def tally(space: Workspace, number: int) -> None:
    """List the texts of a published part, and the values of columns with demands, and how often there are these."""
    import polars as pl

    plan: LargePlan = space.plan()
    texts: dict[str, pl.Series | None] = {name: pl.Series(dtype=pl.String) for name in plan.quasi}
    for batch in _read(plan, _part(space, number), plan.quasi, ()):
        for name, told in batch.told.items():
            known = texts[name]
            if known is not None:
                both = pl.concat([known, told.values.unique()]).unique()
                texts[name] = both if len(both) <= MOST_TEXTS else None
    table = _demanded(space, plan, number)
    found = {name: table.group_by(pl.col(name).alias("value")).len(ROWS) for name in table.columns}
    space.put(f"tally-{number}", {"texts": texts, "values": found})


def _classes(space: Workspace, plan: LargePlan, number: int) -> pl.DataFrame:
    """Read what tells the classes of a published part apart, and its columns with demands."""
    import polars as pl

    words_at = _words(plan)
    plain = [name for name in plan.quasi if name not in plan.numbered]
    kinds = {**dict.fromkeys(words_at, pl.UInt64), **dict.fromkeys(plain, pl.String)}
    frames = [pl.DataFrame(schema=kinds)]
    for batch in _read(plan, _part(space, number), list(plan.numbered), plain):
        words = np.zeros((len(words_at), batch.rows), dtype=np.uint64)
        for name, one in plan.numbered.items():
            words[one.word] |= batch.told[name].codes(one.texts, one.bits)
        texts = [batch.others[name] for name in plain]
        frames.append(pl.DataFrame([*map(pl.Series, words_at, words), *texts]))
    return pl.concat(frames).hstack(_demanded(space, plan, number))


def _words(plan: LargePlan) -> list[str]:
    return plan.own_names(max((one.word + 1 for one in plan.numbered.values()), default=0))


def _keys(plan: LargePlan) -> list[str]:
    """Name the columns by which classes are told apart."""
    return [*_words(plan), *(name for name in plan.quasi if name not in plan.numbered)]


def _grouped(table: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Count the rows of each group."""
    import polars as pl

    if len(keys) > 1 or table.schema[keys[0]] != pl.UInt64:
        return table.group_by(keys).len(ROWS)
    # To sort numbers takes a ninth of the time of a table of groups.
    found = np.sort(table[keys[0]].to_numpy())
    first = np.flatnonzero(np.append(np.ones(min(1, len(found)), bool), found[1:] != found[:-1]))
    sizes = np.diff(np.append(first, len(found)))
    return pl.DataFrame({keys[0]: found[first], ROWS: sizes.astype(np.uint32)})


def count(space: Workspace, number: int) -> None:
    """Count the rows of each class of a published part as they stand there, and its digest."""
    plan: LargePlan = space.plan()
    table, keys = _classes(space, plan, number), _keys(plan)
    with _part(space, number).open("rb") as file:
        digest = file_digest(file, "sha256").hexdigest()
    files: dict[str, str] = {}
    with ExitStack() as opened:
        for at, name in enumerate(_counted(plan)):
            path = opened.enter_context(space.file(f"count-{number}-{at}", ".groups"))
            with closing(Dealt(path, buckets_of(plan), keys)) as dealt:
                dealt.add(_grouped(table, [*keys, name] if name else keys))
            files[name] = path.name
        found = {"sha256": digest, "rows": table.height, "files": files, "rounds": 1}
        if not space.put(f"count-{number}", found):
            for name in files.values():
                (space.folder / name).unlink()


def _counted(plan: LargePlan) -> list[str]:
    """Name what is counted: classes alone, and with each column that has demands."""
    return list(dict.fromkeys(["", *(name for name, _ in plan.demands)]))


def total(space: Workspace, number: int) -> None:
    """Add up the counts of the classes of one bucket over all published parts, and judge them."""
    import polars as pl

    plan: LargePlan = space.plan()
    buckets, own = buckets_of(plan), _keys(plan)
    parts = [{"rounds": 1, **one["files"]} for one in space.every("count", plan.buckets)]

    def added(name: str) -> pl.DataFrame:
        found = read_bucket(space, parts, name, buckets, number)
        if found is None:
            raise TypeError
        keys = [*own, *([name] if name else [])]
        return found.group_by(keys).agg(pl.col(ROWS).sum())

    whole = added("")
    small = int((whole[ROWS] < plan.k).sum())
    failing = [0] * len(plan.demands)
    for at, (name, model) in enumerate(plan.demands):
        found = added(name)
        labels = found.select(pl.struct(own).rank("dense").cast(pl.Int64) - 1).to_series()
        # By their meaning for distinct values, of which missing ones are none, and else as stored and by their text.
        *others, meant = plan.stored[name]
        for old, new, all_of in [meant] if isinstance(model, DistinctDiversity) else others:
            codes = found[name].replace_strict(old, new, return_dtype=pl.Int64).to_numpy()
            rows = found[ROWS].to_numpy().astype(np.int64)
            few = failing_of(model, labels.to_numpy(), codes, rows, all_of)
            failing[at] = max(failing[at], few)
    space.put(
        f"total-{number}",
        {
            "classes": whole.height,
            "rows": int(whole[ROWS].sum()),
            "least": whole[ROWS].min(),
            "small": small,
            "failing": failing,
        },
    )
