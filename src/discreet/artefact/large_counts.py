"""The steps that count the classes of what a run over large tables has written: by group-by, and groups of hashes."""

from __future__ import annotations

from hashlib import file_digest
from typing import TYPE_CHECKING

import numpy as np

from discreet.artefact.folders import failing_of

if TYPE_CHECKING:
    import polars as pl

    from discreet.artefact.large_plan import LargePlan
    from discreet.artefact.workspace import Workspace

__all__ = ["HASHES", "count", "tally", "total"]

HASHES = 8
"""Groups of classes, by a hash of their cells, that are counted each by itself."""


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
