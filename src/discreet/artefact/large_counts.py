"""The steps that count the classes of what a run over large tables has written: by group-by, and buckets by a hash."""

from __future__ import annotations

from contextlib import ExitStack, closing
from hashlib import file_digest
from typing import TYPE_CHECKING

import numpy as np

from discreet.artefact.dealt import Dealt, read_bucket
from discreet.artefact.folders import ROWS, failing_of

if TYPE_CHECKING:
    import polars as pl

    from discreet.artefact.large_plan import LargePlan
    from discreet.artefact.workspace import Workspace

__all__ = ["buckets_for", "count", "tally", "total"]

BATCHES, LEAST = 2, 8
"""Batches of published rows for each bucket of classes, which are as many groups at worst, and fewest buckets: with 25
million rows in 9 buckets a worker took 1.7 GB where it had 1.5 (2026-11)."""


def buckets_for(rows: int, batch: int) -> int:
    """Give how many buckets the classes of a table are counted in, each by itself.

    Parameters
    ----------
    rows, batch
        Of the table, and those that pass by at once, which follow from the memory of a process.

    Examples
    --------
    >>> buckets_for(10_000, 1_000_000), buckets_for(10**9, 1_000_000)
    (8, 500)
    """
    return max(LEAST, -(-rows // (BATCHES * batch)))


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
    import polars as pl

    plan: LargePlan = space.plan()
    table = _read_part(space, plan, number)
    names = dict.fromkeys(name for name, _ in plan.demands)
    found = {name: table.group_by(pl.col(name).alias("value")).len(ROWS) for name in names}
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
    with (space.folder / space.get(f"publish-{number}")["file"]).open("rb") as file:
        digest = file_digest(file, "sha256").hexdigest()
    files: dict[str, str] = {}
    with ExitStack() as opened:
        for at, name in enumerate(_counted(plan)):
            path = opened.enter_context(space.file(f"count-{number}-{at}", ".groups"))
            keys = list(dict.fromkeys([*quasi, *([name] if name else [])]))
            with closing(Dealt(path, buckets_for(plan.n, plan.batch), quasi)) as dealt:
                dealt.add(table.group_by(keys).len(ROWS))
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
    buckets, quasi = buckets_for(plan.n, plan.batch), list(plan.quasi)
    parts = [{"rounds": 1, **one["files"]} for one in space.every("count", plan.buckets)]

    def added(name: str) -> pl.DataFrame:
        found = read_bucket(space, parts, name, buckets, number)
        if found is None:
            raise TypeError
        keys = list(dict.fromkeys([*quasi, *([name] if name else [])]))
        return found.group_by(keys).agg(pl.col(ROWS).sum())

    whole = added("")
    small = int((whole[ROWS] < plan.k).sum())
    failing = [0] * len(plan.demands)
    for at, (name, model) in enumerate(plan.demands):
        found = added(name)
        labels = found.select(pl.struct(quasi).rank("dense").cast(pl.Int64) - 1).to_series()
        for old, new, all_of in plan.stored[name]:
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
