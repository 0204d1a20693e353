"""Plan of a run over large tables: written to the workspace and read by each step."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, final

from discreet.kanonymity.bounds.shared import AtomPlaces
from discreet.kanonymity.demand import Demand
from discreet.kanonymity.models import DistinctDiversity
from discreet.kanonymity.packed import layout_of
from discreet.kanonymity.search.top import Top

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from discreet.kanonymity.models import PrivacyModel
    from discreet.kanonymity.packed import RowLayout
    from discreet.kanonymity.problem import CodedColumn
    from discreet.streaming.pieces import Piece


class Numbered(NamedTuple):
    """Different texts of a column, and the bits that stand for each in a word of 64 bits: which of them, and in it."""

    word: int
    texts: pl.Series
    bits: pl.Series


@final
@dataclass(frozen=True, eq=False)
class LargePlan:
    """Parameters and intermediate results that steps read; phases add fields.

    Parameters
    ----------
    pieces
        What is read, in order.
    k, effort
        Least size of a class, and how much is tried.
    quasi
        The quasi-identifiers.
    demands
        Pairs of a sensitive column and the model that each class must meet.
    published
        The columns that are published, in order.
    person
        The column that tells persons apart, if there is one.
    sensitive
        Published columns of which classes with one value are counted.
    suffix
        Of the published files.
    batch, buckets
        Rows that pass by at once, and published parts.
    suppress, keep_suppressed, time_limit
        As of :func:`discreet.streaming.anonymize_files`.
    columns, codes, layout, demanded
        The quasi-identifiers as codes: for each the values and their codes; and so for the columns of demands.
    firsts, n
        Number of the first row of each piece, and of all rows.
    top, unions, wholes
        The first splits; which parts are finished together; how often a demanded value is in the table.
    quotas
        Most rows that may be left out of each of these; together as many as of the whole table.
    workers
        Steps that are done at a time.
    threads_alone
        Threads of a step that is the only one.
    places, most_keys, split_seconds, mean_loss
        How rows are packed for the lower bound, how many different ones are held, what splitting took, and the mean
        share of all weights that the rows lose.
    drop_marked
        Whether suppressed rows that were kept are left out after all, as there are fewer than k.
    numbered
        For published quasi-identifiers: their texts, and the bits of each in the number that tells a class; see
        :func:`~discreet.streaming.class_counts.numbering`.
    stored
        For published columns with demands: their values, and the codes of these, as stored, by their text and by their
        meaning.
    missing
        For columns with demands the code of missing values, -1 for none; they make no class diverse.
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
    sensitive: tuple[str, ...] = ()
    buckets: int = 1
    suppress: float = 0.0
    keep_suppressed: bool = False
    time_limit: float | None = None
    columns: tuple[CodedColumn, ...] = ()
    codes: Mapping[str, tuple[pl.Series, pl.Series]] = field(default_factory=dict)
    layout: RowLayout = field(default_factory=lambda: layout_of(()))
    demanded: Mapping[str, tuple[pl.Series, pl.Series]] = field(default_factory=dict)
    missing: Mapping[str, int] = field(default_factory=dict)
    firsts: tuple[int, ...] = ()
    n: int = 0
    top: Top = field(default_factory=Top.single)
    unions: tuple[tuple[int, ...], ...] = ()
    wholes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    quotas: tuple[int, ...] = ()
    workers: int = 1
    threads_alone: int = 1
    places: AtomPlaces = field(default_factory=lambda: AtomPlaces((), 1.0))
    most_keys: int = 0
    split_seconds: float = 0.0
    mean_loss: float = 0.0
    drop_marked: bool = False
    numbered: Mapping[str, Numbered] = field(default_factory=dict)
    stored: Mapping[str, Sequence[tuple[pl.Series, pl.Series, tuple[int, ...]]]] = field(
        default_factory=dict
    )

    def demand(
        self, at: int, codes: NDArray[np.int64], wholes: Mapping[str, tuple[int, ...]]
    ) -> Demand:
        """Return demand number `at` on the `codes` ``(rows,)`` of a column; missing values make no class diverse.

        `wholes` has, by column, the rows of the whole table with each code, for closeness.
        """
        name, model = self.demands[at]
        missing = self.missing.get(name, -1) if isinstance(model, DistinctDiversity) else -1
        return Demand(name, model, codes, whole=wholes.get(name), missing=missing)

    def own_names(self, count: int) -> list[str]:
        """Return names for temporary columns that differ from all columns of the table."""
        prefix = "key" + "_" * max(map(len, (*self.published, *self.other)))
        return [f"{prefix}{place}" for place in range(count)]

    @property
    def other(self) -> tuple[str, ...]:
        """Columns that are carried along as they are."""
        mine = [name for name in self.published if name not in self.quasi]
        return tuple(mine) + ((self.person,) if self.person else ())
