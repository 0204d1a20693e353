"""The phases of a run over tables larger than memory, and what is decided between them by exact counts."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.artefact.folders import ROWS, codings
from discreet.core.certificate import Certificate, Check
from discreet.core.errors import InfeasibleError, InvalidProblemError
from discreet.core.printed import at_least, at_most
from discreet.kanonymity.bounds.shared import SHARED, AtomPlaces
from discreet.kanonymity.cells import values_of
from discreet.kanonymity.models import Closeness
from discreet.kanonymity.packed import layout_of
from discreet.kanonymity.problem.column import code_column
from discreet.kanonymity.problem.native import values_of_column
from discreet.kanonymity.search.top import first_splits, join_small
from discreet.streaming.class_counts import buckets_of, numbering
from discreet.streaming.pieces import BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from discreet.core.progress import Reporter
    from discreet.kanonymity.models import PrivacyModel
    from discreet.kanonymity.problem import Attribute, CodedColumn
    from discreet.streaming.engines import Engine
    from discreet.streaming.plan import LargePlan
    from discreet.streaming.workspace import Workspace


@final
@dataclass(frozen=True)
class FileDiagnostics:
    """Diagnostics for the curator only: computed from the private original.

    Parameters
    ----------
    information_loss, mean_loss, lower
        As of :func:`discreet.kanonymity.anonymize`.
    rows, classes, smallest_class
        Of the published table.
    suppressed
        Rows that are in no class.
    parts, subtrees
        Published files, and parts of the search.
    seconds
        Wall-clock seconds of each phase.
    homogeneous
        As of :class:`discreet.kanonymity.Risk`: rows in classes with one value of a sensitive column, and such classes.
    notes
        Reasons for a weak lower bound.
    """

    information_loss: float
    mean_loss: float
    lower: float
    rows: int
    classes: int
    smallest_class: int
    suppressed: int
    parts: int
    subtrees: int
    seconds: Mapping[str, float]
    homogeneous: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def gap(self) -> float:
        """``(information_loss - lower) / information_loss``, 0 when both are 0."""
        over = self.information_loss - self.lower
        return 0.0 if over <= 0 else over / self.information_loss


def part_memory(rows: int, words: int, demands: int = 0, columns: int = 0) -> int:
    """Estimate the memory in bytes that a process needs for a part of the search.

    Parameters
    ----------
    rows, words
        Rows of the part, and the words of 64 bits that each is packed in.
    demands
        How many there are on columns besides.
    columns
        Quasi-identifiers, where rows are left out: these are chosen by all their codes.

    Examples
    --------
    >>> in_words(part_memory(10**9 // 64, 2))
    '1.5GB'
    """
    return BYTES.process + rows * (16 * words + 40 + 24 * demands + 12 * columns)


def in_words(size: int, format_number: Callable[..., str] = at_least) -> str:
    """Format `size` bytes as `memory` takes it, in GB or MB of powers of 1000, rounded down or by `format_number`."""
    if size >= 10**9:
        return f"{format_number(Fraction(size, 10**9), 2)}GB"
    return f"{format_number(Fraction(size, 10**6), 1)}MB"


@final
class LargeRun:
    """One run: :meth:`search`, then :meth:`publish`. The constructor stores `plan` in `space` as version 0."""

    def __init__(self, space: Workspace, engine: Engine, plan: LargePlan, report: Reporter) -> None:
        self.space, self.engine, self.report = space, engine, report
        self.version, self.began = 0, time.monotonic()
        self.seconds: dict[str, float] = {}
        self.plan, self.lower = plan, 0.0
        self.notes: tuple[str, ...] = ()
        self.settle()

    def settle(self, **more: Any) -> None:  # noqa: ANN401 - fields of the plan
        """Replace fields of the plan, and store it as a new version in the workspace, for the steps to come."""
        self.plan = replace(self.plan, **more)
        self.space.put(f"plan-{self.version}", self.plan)
        self.version += 1

    def do(self, kind: str, count: int, sentence: str) -> None:
        """Run `count` steps of a kind, and record their wall-clock seconds.

        With a `sentence` report each that is done.
        """
        begun = time.monotonic()

        def report(done: int) -> None:
            if sentence:
                self.report(sentence, done=done, total=count)

        report(0)
        self.engine.run(self.space, kind, count, report)
        self.seconds[kind] = time.monotonic() - begun

    def phase(self, kind: str, count: int, sentence: str) -> list[Any]:
        """Do all steps of a kind, as :meth:`do`, and return their records in order."""
        self.do(kind, count, sentence)
        return self.space.every(kind, count)

    def search(self, attributes: Sequence[Attribute], loss: str, memory: int) -> None:
        """Code the rows, send them to parts, split these, and compute a lower bound, in phases of worker steps.

        Reads the pieces three times; results are in `found`, `lower` and `plan`. `memory` is in bytes for each
        process, and InvalidProblemError is raised if the largest part takes more. Raises InfeasibleError for fewer
        than k rows, or a demand that all rows as one class fail.
        """
        plan, pieces = self.plan, len(self.plan.pieces)
        seen = self.phase("survey", pieces, "Reading the values of the columns")
        counts = [one["rows"] for one in seen]
        n = sum(counts)
        if n < plan.k:
            message = f"no {plan.k}-anonymous table exists: there are fewer than {plan.k} rows"
            raise InfeasibleError(message)
        columns, codes = _columns(seen, plan.quasi, attributes, loss)
        layout = layout_of(columns)
        fingerprint = {
            name: _meanings(seen, name, [model for other, model in plan.demands if other == name])
            for name, _ in plan.demands
        }
        firsts = tuple(np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(int).tolist())
        buckets = math.ceil(n / plan.batch)
        self.settle(
            columns=columns,
            codes=codes,
            layout=layout,
            demanded={name: one[:2] for name, one in fingerprint.items()},
            missing={name: one[2] for name, one in fingerprint.items()},
            firsts=firsts,
            n=n,
            buckets=buckets,
        )
        samples = self.phase("sample", pieces, "Splitting a sample")
        top = first_splits(columns, layout, np.concatenate(samples), n, plan.k)
        self.settle(top=top)
        routed = self.phase("route", pieces, "Sending rows to parts")
        rows = np.zeros(top.parts, dtype=np.int64)
        codes_of = [
            np.sum(each, axis=0) for each in zip(*(o["codes"] for o in routed), strict=True)
        ]
        for one in routed:
            np.add.at(rows, one["groups"][:, 0], one["groups"][:, 3])
        values = {name: _added([one["values"].get(name) for one in routed]) for name in fingerprint}
        unions, wholes = _unions(plan, rows, values)
        largest = max(int(rows[list(union)].sum()) for union in unions)
        need = part_memory(
            largest, layout.words, len(plan.demands), len(columns) if plan.suppress else 0
        )
        if need > memory:
            expected = f"{in_words(need, at_most)} or more for the largest part of this table"
            raise InvalidProblemError("memory", expected, in_words(memory))
        # The longest first, so that all workers end together.
        unions = sorted(unions, key=lambda union: -int(rows[list(union)].sum()))
        places = AtomPlaces.of(columns, codes_of, plan.k, SHARED.pieces_per_numeric_column)
        most_keys = max(1000, (memory - BYTES.process) // BYTES.key)
        workers = self.engine.workers()
        self.settle(
            unions=tuple(map(tuple, unions)),
            quotas=_quotas(plan.suppress, [int(rows[list(union)].sum()) for union in unions]),
            wholes=wholes,
            places=places,
            most_keys=most_keys,
            workers=workers,
            threads_alone=self.engine.threads_alone(),
        )
        self.found = self.phase("finish", len(unions), "Splitting the parts")
        split = sum(one["seconds"] for one in self.found) / workers
        self.seconds["splitting"] = split
        suppressed = sum(one["suppressed"] for one in self.found)
        cost = sum(column.attribute.weight for column in columns) * n
        mean_loss = sum(one["loss"] for one in self.found) / cost if cost else 0.0
        self.settle(
            drop_marked=0 < suppressed < plan.k,
            split_seconds=split,
            mean_loss=min(1.0, mean_loss),
        )
        if not places.covers:
            self.space.drop("route", pieces)
            return
        # What they found is as long as the table.
        self.do("atoms", pieces, "Looking for a lower bound")
        self.space.drop("route", pieces)
        bound = self.phase("bound", 1, "")[0]
        self.lower = max(self.lower, bound["lower"])
        self.note_weak_bound(bound, len(places.covers))

    def note_weak_bound(self, bound: Mapping[str, Any], n_columns: int) -> None:
        """Add a note on why a lower bound does not use all values, if it merged some or left columns out.

        `bound` has ``"merged"`` and ``"left_out"``, numbers of columns; `n_columns` is the number of all columns.
        """
        weaker = [
            f"{what} {bound[kind]} of {n_columns} columns{where}"
            for kind, what, where in (
                ("merged", "takes values of", " together"),
                ("left_out", "leaves", " out"),
            )
            if bound[kind]
        ]
        if weaker:
            reason = "since the table has more different rows than it holds"
            part = "part of the gap is the bound's, and not the table's"
            self.notes += (f"it {' and '.join(weaker)}, {reason}: {part}",)

    def publish(self) -> tuple[Certificate, FileDiagnostics, list[str]]:
        """Write the published parts, read them again and count. To be called after :meth:`search`.

        Returns the certificate, in which a check that fails does not raise, the diagnostics, and each part's SHA-256
        in order.
        """
        plan, buckets = self.plan, self.plan.buckets
        self.made = self.phase("publish", buckets, "Writing rows in the order of random keys")
        self.space.drop("finish", len(plan.unions))
        tallies = self.phase("tally", buckets, "Counting the classes of the written table")
        self.settle(
            numbered=numbering([one["texts"] for one in tallies]),
            stored={name: _stored(tallies, name) for name, _ in plan.demands},
        )
        counted = self.phase("count", buckets, "")
        totals = self.phase("total", buckets_of(self.plan), "")
        rows = sum(one["rows"] for one in totals)
        sizes = [one["least"] for one in totals if one["least"] is not None]
        least, classes = int(min(sizes)), sum(one["classes"] for one in totals)
        class_summary = f"{classes} classes, the smallest of {least} rows"
        small = sum(one["small"] for one in totals)
        checks = [Check("classes smaller than k", small, 0, exact=True, detail=class_summary)]
        for at, (name, model) in enumerate(plan.demands):
            failing = sum(one["failing"][at] for one in totals)
            check_name = f"classes that fail {model!r} in {name}"
            if name == plan.person:
                check_name = "classes of fewer than k persons"
            checks.append(Check(check_name, failing, 0, exact=True))
        suppressed = sum(one["suppressed"] for one in self.found)
        # Those that stay are a class of k rows or more, whose cells are all generalized.
        n_kept = suppressed if plan.keep_suppressed and not plan.drop_marked else 0
        n_missing = abs(plan.n - suppressed + n_kept - rows)
        n_missing += abs(plan.n - sum(one["rows"] for one in self.found))
        checks.append(Check("rows lost or doubled", n_missing, 0, exact=True))
        if plan.suppress:
            excess = max(0, suppressed - int(plan.suppress * plan.n))
            checks.append(Check("rows suppressed beyond what is allowed", excess, 0, exact=True))
        loss = sum(one["loss"] for one in self.found)
        cost = sum(column.attribute.weight for column in plan.columns) * plan.n
        diagnostics = FileDiagnostics(
            loss,
            loss / cost if cost else 0.0,
            min(self.lower, loss),
            rows,
            classes,
            least,
            suppressed,
            buckets,
            len(plan.unions),
            {**self.seconds, "all": time.monotonic() - self.began},
            {name: _summed(one["alike"][name] for one in totals) for name in plan.sensitive},
            self.notes,
        )
        digests = [one["sha256"] for one in counted]
        return Certificate(tuple(checks)), diagnostics, digests


def _summed(pairs: Iterable[tuple[int, int]]) -> tuple[int, int]:
    """Add up pairs of numbers of rows and of classes."""
    rows, classes = zip(*pairs, strict=True)
    return sum(rows), sum(classes)


def _quotas(share: float, rows: Sequence[int]) -> tuple[int, ...]:
    """Divide the rows that may be left out, `share` of all, among parts of so many `rows`.

    Returns integers in the order of the parts; rounding down costs the whole less than a row.
    """
    ends = [int(share * end) for end in np.cumsum(rows).tolist()]
    return tuple(np.diff([0, *ends]).tolist())


def _columns(
    seen: Sequence[Mapping[str, Any]],
    names: Sequence[str],
    attributes: Sequence[Attribute],
    loss: str,
) -> tuple[tuple[CodedColumn, ...], dict[str, tuple[pl.Series, pl.Series]]]:
    """Return the coded column of each quasi-identifier, and by name its distinct values and their codes.

    `seen` are the records of the survey, `loss` is the loss of a cell. InvalidProblemError for values that do not fit
    an attribute. A sort of the different values.
    """
    import narwhals as nw
    import polars as pl

    stated = {attribute.name: attribute for attribute in attributes}
    columns, number = [], {}
    for name in names:
        values = _values(seen, name)
        try:
            plain = values_of(nw.from_native(values, series_only=True), stated[name])
            column, codes = code_column(stated[name], plain, loss)
        except InvalidProblemError as error:
            # These are the different values, so that a position among them is none of the table.
            raise error.renamed(error.field, got="others") from None
        columns.append(column)
        number[name] = (values, pl.Series(codes, dtype=pl.Int32))
    return tuple(columns), number


def _values(seen: Sequence[Mapping[str, Any]], name: str) -> pl.Series:
    """Return the distinct values of column `name` over the records `seen` of the survey that have it."""
    import polars as pl

    listed: list[pl.Series] = [one["values"][name] for one in seen if name in one["values"]]
    return pl.concat(listed).unique()


def _meanings(
    seen: Sequence[Mapping[str, Any]], name: str, models: Sequence[PrivacyModel]
) -> tuple[pl.Series, pl.Series, int]:
    """Number the values of a column with demands in order, by their meaning.

    Returns the values, their codes, and the code of missing ones, or -1 if there is none. `seen` are the records of
    the survey; ordered closeness among `models` sets the order.
    """
    import polars as pl

    values = _values(seen, name)
    column_values = values_of_column(values, name)
    for model in models:
        if isinstance(model, Closeness) and model.ordered:
            column_values = column_values.in_order(model.order, name)
    codes = [each for each in column_values.readings() if (each >= 0).all()][-1][
        column_values.codes
    ]
    missing = codes[column_values.meaning_codes()[column_values.codes] < 0]
    return values, pl.Series(codes, dtype=pl.Int64), int(missing[0]) if len(missing) else -1


def _added(each: Sequence[pl.DataFrame | None]) -> pl.DataFrame:
    """Return the rows by part and value, added over frames; there must be one."""
    import polars as pl

    frames = [one for one in each if one is not None]
    return pl.concat(frames).group_by("part", "value").agg(pl.col("rows").sum())


def _unions(
    plan: LargePlan, rows: NDArray[np.int64], values: Mapping[str, pl.DataFrame]
) -> tuple[list[list[int]], dict[str, tuple[int, ...]]]:
    """Return unions of parts that have k rows and hold the demands, by exact counts, and rows by value of the table.

    `rows` is ``(parts,)``; `values` has, by column, a table of ``part``, ``value`` and ``rows``. A union is a list of
    parts. Raises InfeasibleError if all rows together fail a demand.
    """
    counts: dict[str, tuple[NDArray[Any], NDArray[Any], NDArray[Any]]] = {}
    wholes: dict[str, tuple[int, ...]] = {}
    for name, frame in values.items():
        part, value, amount = (frame[one].to_numpy() for one in ("part", "value", "rows"))
        counts[name] = part, value, amount
        totals = np.zeros(int(value.max()) + 1, dtype=np.int64)
        np.add.at(totals, value, amount.astype(np.int64))
        wholes[name] = tuple(totals.tolist())
    no_codes = np.zeros(0, np.int64)
    demands = [plan.demand(at, no_codes, wholes) for at in range(len(plan.demands))]

    def is_feasible(union: list[int]) -> bool:
        if int(rows[union].sum()) < plan.k:
            return False
        for demand in demands:
            part, value, amount = counts[demand.name]
            in_union = np.isin(part, union)
            union_counts = np.zeros((1, demand.width), dtype=np.int64)
            np.add.at(union_counts[0], value[in_union], amount[in_union].astype(np.int64))
            if demand.failing(union_counts)[0]:
                return False
        return True

    for demand in demands:
        if demand.failing(np.array([demand.whole], dtype=np.int64))[0]:
            message = (
                f"no table holds {demand.model!r} of {demand.name}: all rows as one class fail it"
            )
            raise InfeasibleError(message)
    return join_small(len(rows), is_feasible), wholes


def _stored(
    tallies: Sequence[Mapping[str, Any]], name: str
) -> list[tuple[pl.Series, pl.Series, tuple[int, ...]]]:
    """Return three codings of the published values of a column: as stored, by text and by meaning.

    Each is the values, their codes (-1 for missing ones by meaning), and the rows with each code. `tallies` are the
    records of that step.
    """
    import polars as pl

    listed: list[pl.DataFrame] = [one["values"][name] for one in tallies]
    value_counts = pl.concat(listed).group_by("value").agg(pl.col(ROWS).sum())
    values = values_of_column(value_counts["value"], name)
    codings_of_values = []
    for each in (*codings(values), values.meaning_codes()):
        codes = each[values.codes]
        is_present, amounts = codes >= 0, value_counts[ROWS].to_numpy().astype(np.int64)
        rows = np.bincount(codes[is_present], amounts[is_present]).astype(np.int64)
        codings_of_values.append(
            (value_counts["value"], pl.Series(codes, dtype=pl.Int64), tuple(rows.tolist()))
        )
    return codings_of_values
