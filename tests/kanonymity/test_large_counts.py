"""Classes of published parts are counted as they stand there, however texts are numbered: beside a count by rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

from discreet.kanonymity.models import DistinctDiversity
from discreet.streaming import class_counts as large_counts
from discreet.streaming.plan import LargePlan
from discreet.streaming.run import _stored
from discreet.streaming.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

QUASI, K, L = ("a", "b", "c"), 4, 2


def parts_of(seed: int, suffix: str) -> list[pl.DataFrame]:
    """Give parts with texts that others begin with, empty cells, and, in Parquet files, missing ones; one is empty."""
    rng = np.random.default_rng(seed)
    texts = ["", "1", "11", "1|1", "[1, 2]", None if suffix == ".parquet" else "none"]
    parts = []
    for rows in (70, 0, 1, 120):
        cells = {name: [texts[at] for at in rng.integers(0, 6, rows)] for name in QUASI}
        parts.append(
            pl.DataFrame(
                {**cells, "ill": rng.choice(["x", "y"], rows, p=[0.8, 0.2]).tolist()},
                schema=dict.fromkeys((*QUASI, "ill"), pl.String),
            )
        )
    return parts


def counted(space: Workspace, plan: LargePlan, parts: list[pl.DataFrame]) -> list[dict[str, int]]:
    """Write the parts, and do the steps that count them."""
    for number, part in enumerate(parts):
        path = space.folder / f"published-{number}{plan.suffix}"
        # Of two row groups, so that a column has several dictionaries.
        if plan.suffix == ".csv":
            part.write_csv(path)
        else:
            part.write_parquet(path, row_group_size=50)
        persons = space.folder / f"persons-{number}"
        pl.DataFrame({"who": np.arange(part.height) // 3}).write_parquet(persons)
        made = {"file": path.name, "persons": persons.name if plan.person else None}
        space.put(f"publish-{number}", made)
    space.put("plan-0", plan)
    for number in range(len(parts)):
        large_counts.tally(space, number)
    found = space.every("tally", len(parts))
    numbered = large_counts.numbering([one["texts"] for one in found])
    stored = {name: _stored(found, name) for name, _ in plan.demands}
    settled = replace(plan, numbered=numbered, stored=stored)
    space.put("plan-1", settled)
    for number in range(len(parts)):
        large_counts.count(space, number)
    buckets = large_counts.buckets_of(settled)
    for number in range(buckets):
        large_counts.total(space, number)
    return space.every("total", buckets)


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
@pytest.mark.parametrize(("most", "word"), [(2**16, 64), (2**16, 5), (2**16, 3), (5, 64), (0, 64)])
def test_classes_are_those_of_the_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, most: int, word: int
) -> None:
    """Numbers in one word, in several, for no column, and texts as they stand where a column has too many."""
    monkeypatch.setattr(large_counts, "MAX_NUMBERED_TEXTS", most)
    monkeypatch.setattr(large_counts, "WORD_BITS", word)
    parts = parts_of(most + word, suffix)
    if most == 5:
        parts[0] = parts[0].with_columns(b=pl.lit("one"))
        parts[3] = parts[3].with_columns(b=pl.lit("other"))
    rows = [(*row, at // 3) for part in parts for at, row in enumerate(part.iter_rows())]
    plan = LargePlan(
        (),
        K,
        "fast",
        QUASI,
        (("ill", DistinctDiversity(L)), ("who", DistinctDiversity(K))),
        (*QUASI, "ill"),
        "who",
        suffix,
        40,
        buckets=len(parts),
        n=len(rows),
    )
    found = counted(Workspace(tmp_path), plan, parts)
    # A missing cell and an empty one are two.
    classes = Counter(row[:3] for row in rows)
    values = {cell: {row[3] for row in rows if row[:3] == cell} for cell in classes}
    persons = {cell: {row[4] for row in rows if row[:3] == cell} for cell in classes}
    assert sum(one["classes"] for one in found) == len(classes)
    assert sum(one["rows"] for one in found) == len(rows)
    assert min(one["least"] for one in found if one["least"]) == min(classes.values())
    assert sum(one["small"] for one in found) == sum(size < K for size in classes.values())
    few = [sum(len(one) < L for one in values.values())]
    few.append(sum(len(one) < K for one in persons.values()))
    assert np.sum([one["failing"] for one in found], axis=0).tolist() == few
    assert 0 < few[0] < few[1]


@pytest.mark.parametrize("most", [2**16, 5])
def test_numbers_alone_are_counted_in_fewer_buckets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """A group of texts takes several times the memory of a number."""
    monkeypatch.setattr(large_counts, "MAX_NUMBERED_TEXTS", most)
    parts = [part.select(QUASI) for part in parts_of(0, ".parquet")]
    rows = [row for part in parts for row in part.iter_rows()]
    plan = LargePlan(
        (), K, "fast", QUASI, (), QUASI, None, ".parquet", 2, buckets=len(parts), n=len(rows)
    )
    space = Workspace(tmp_path)
    found = counted(space, plan, [part.with_columns(ill=pl.lit("x")) for part in parts])
    assert len(found) == (12 if most > 5 else 48)
    sizes = Counter(rows).values()
    assert sum(one["classes"] for one in found) == len(sizes)
    assert sum(one["small"] for one in found) == sum(size < K for size in sizes)
    assert sum(one["rows"] for one in found) == len(rows)


def test_a_column_that_is_no_text_is_no_quasi_identifier_that_was_published(tmp_path: Path) -> None:
    plan = LargePlan((), K, "fast", ("a",), (), ("a",), None, ".parquet", 40, n=9)
    for kind in (pl.Int64, pl.Categorical):
        space = Workspace(tmp_path / str(kind))
        space.folder.mkdir()
        table = pl.DataFrame({"a": ["1"] * 9}).with_columns(pl.col("a").cast(kind))
        table.write_parquet(space.folder / "part")
        space.put("publish-0", {"file": "part", "persons": None})
        space.put("plan-0", plan)
        with pytest.raises(TypeError):
            large_counts.tally(space, 0)
