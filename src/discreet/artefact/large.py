"""Tables larger than memory, and than one machine: a folder of parts in, a folder of anonymized parts out.

One plan, which :class:`~discreet.artefact.large_engines.Engine` does on this machine or on many. The top of the search
tree comes from a sample of the rows, and sends each row to a part; exact counts then decide: a part below k rows, or
short of a demand, joins its neighbor. Each part is split by itself, as it would be in memory, and its rows go to
published parts by keys of 128 bits from the operating system, so that no published part tells of the search. What was
written is read again, its classes are counted over all parts, and only then the folder gets its name.

In memory stand one part of about a sixty-fourth of the rows as codes, and a batch of rows.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.artefact.folders import RECORD, codings, parts_of, record_of
from discreet.artefact.large_engines import engine_of
from discreet.artefact.large_steps import HASHES, LargePlan, Piece
from discreet.artefact.rooms import make_private, private_room
from discreet.artefact.workspace import Workspace
from discreet.core.certificate import Certificate, Check
from discreet.core.errors import InfeasibleError, InvalidProblemError
from discreet.core.outcome import Anonymization, Provenance
from discreet.core.system import creation_rights, sync_folder
from discreet.kanonymity.candidate import EFFORTS
from discreet.kanonymity.cells import values_of
from discreet.kanonymity.demand import Demand
from discreet.kanonymity.models import DistinctDiversity, demand_text
from discreet.kanonymity.packed import layout_of
from discreet.kanonymity.problem.column import code_column
from discreet.kanonymity.problem.native import values_of_column
from discreet.kanonymity.search.top import first_splits, join_small
from discreet.tables.dialect import first_ragged, look
from discreet.tables.parsing import free_memory, scan
from discreet.tables.roles import Given, assign_roles, look_of

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from discreet.artefact.large_engines import Engine
    from discreet.core.guarantee import KAnonymity
    from discreet.kanonymity.models import PrivacyModel
    from discreet.kanonymity.problem import Attribute, CodedColumn
    from discreet.tables.looks import Look

__all__ = ["FolderDiagnostics", "anonymize_folder", "pieces_of", "scan_pieces"]

PIECE = 1_000_000
"""Rows of a piece of a source, about."""

BATCH = (10_000, 1_000_000)
"""Fewest and most rows that pass by at once."""

BASE = 400 * 2**20
"""Bytes of a process before it holds a row."""

CELL = 48
"""Bytes of a cell while it passes by, about: it is held as text, twice."""

LOOKED_AT = 20_000
"""Rows by which a column is looked at."""


@final
@dataclass(frozen=True)
class FolderDiagnostics:
    """What only the curator should see: computed from the original.

    Parameters
    ----------
    information_loss, mean_loss
        As of :func:`discreet.kanonymity.anonymize`.
    rows, classes, smallest_class
        Of what was published.
    parts, subtrees
        Published files, and parts of the search.
    seconds
        Wall-clock seconds of each phase.
    """

    information_loss: float
    mean_loss: float
    rows: int
    classes: int
    smallest_class: int
    parts: int
    subtrees: int
    seconds: Mapping[str, float]


def anonymize_folder(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    guarantee: KAnonymity,
    *,
    attributes: Sequence[Attribute],
    loss: str = "ncp",
    effort: str = "fast",
    models: Mapping[str, Sequence[PrivacyModel]] | None = None,
    person: str | None = None,
    sensitive: Sequence[str] = (),
    keep: Sequence[str] = (),
    drop: Sequence[str] = (),
    unassigned: str | None = None,
    memory: int | None = None,
    executor: object | None = None,
    suffix: str = ".parquet",
    on_progress: Callable[[str], None] | None = None,
) -> Anonymization[Path, FolderDiagnostics]:
    """Anonymize tables that need not fit into memory, into a folder.

    Parameters
    ----------
    source
        A CSV or Parquet file, or a folder of such files of one schema.
    target
        A folder that is empty or not there. A folder beside it holds private rows until the end, readable for the
        owner alone; one that a killed run left is removed by the next run there.
    guarantee
        k and the quasi-identifiers.
    attributes
        The kind of each quasi-identifier.
    loss
        As of :class:`discreet.kanonymity.Problem`.
    effort
        ``"fast"`` or ``"strong"``.
    models, person, sensitive, keep, drop, unassigned
        As of :func:`discreet.kanonymity.anonymize`.
    memory
        Bytes for each process, about; default: half of what is free.
    executor
        A ``Client`` of dask.distributed or its executor, whose workers see the same folders; default: this process.
    suffix
        ``".parquet"`` or ``".csv"``, for the published parts.
    on_progress
        Called with a sentence before each phase.

    Returns
    -------
    Anonymization
        `target`, with ``discreet.json`` in it.

    Raises
    ------
    InvalidProblemError
        For files, columns, options or workers that do not fit, and a folder that is not empty; nothing is written.
    InfeasibleError
        When there are fewer than k rows, or all rows as one class do not hold a demand.
    CertificateError
        When a class of what was written falls short: a bug, and nothing is published.
    SolverError
        When workers or the scheduler were lost for good.

    Guarantee
    ---------
    As of :func:`discreet.kanonymity.anonymize`, counted on the published parts.
    """
    where, told = Path(target).absolute(), on_progress or _nothing
    _check_target(where)
    if effort not in EFFORTS:
        raise InvalidProblemError("effort", f"one of {', '.join(EFFORTS)}", repr(effort))
    names = guarantee.quasi_identifiers
    if sorted(attribute.name for attribute in attributes) != sorted(names):
        raise InvalidProblemError("attributes", "one for each quasi-identifier", len(attributes))
    pieces = pieces_of(source, "source")
    table = scan_pieces(pieces, "source")
    demanded = [(name, model) for name, listed in (models or {}).items() for model in listed]
    also = [name for name in models or {} if name not in keep]
    everything = tuple(dict.fromkeys((*sensitive, *also)))
    given = Given(names, everything, tuple(keep), tuple(drop), person, unassigned)
    known = table.collect_schema().names()
    roles = assign_roles(known, given, lambda name: _look(table, name))
    if person is not None:
        demanded.append((person, DistinctDiversity(guarantee.k)))
    for name, _ in demanded:
        if name in names:
            raise InvalidProblemError("models", "columns that are no quasi-identifiers", repr(name))
    published = tuple(name for name in known if name not in (*roles.drop, person))
    bytes_free = memory or free_memory() // 2
    room_for = (bytes_free - BASE) // (8 * CELL * max(1, len(published)))
    if room_for < BATCH[0]:
        least = BASE + BATCH[0] * 8 * CELL * len(published)
        raise InvalidProblemError("memory", f"{_words(least)} or more", _words(bytes_free))
    plan = LargePlan(
        pieces,
        guarantee.k,
        effort,
        names,
        tuple(demanded),
        published,
        person,
        suffix,
        min(room_for, BATCH[1]),
    )
    parameters: dict[str, Any] = {
        "k": guarantee.k,
        "loss": loss,
        "method": "top-down",
        "rows": "shuffled",
        "roles": roles.public(),
    }
    if models:
        parameters["models"] = [demand_text(*one) for one in demanded if one[0] != person]
    if person is not None:
        parameters["persons"] = guarantee.k
    engine = engine_of(executor)
    with private_room(where.parent) as room:
        run = _Run(Workspace(room), engine, plan, told)
        try:
            run.search(attributes, loss, bytes_free)
            certificate, found, digests = run.publish()
            certificate.raise_for_failure()
            made = Anonymization(
                where,
                guarantee,
                certificate,
                Provenance("anonymize", parameters, seeded=False),
                found,
            )
            _place(run, made, attributes, digests)
        finally:
            engine.close(run.space)
    return made


def pieces_of(source: str | os.PathLike[str], argument: str) -> tuple[Piece, ...]:
    """Divide a file, or the files of a folder, into pieces that are read together.

    Raises
    ------
    InvalidProblemError
        For files that cannot be read, or of different columns or types.
    """
    where = Path(source)
    files = parts_of(where, argument) if where.is_dir() else (where,)
    found: list[Piece] = []
    schema: Any = None
    for number, path in enumerate(files):
        mark = look(str(path), argument)
        here = scan(path, mark).collect_schema()
        if schema is not None and here != schema:
            got = f"others in file {number + 1} of the folder"
            raise InvalidProblemError(argument, "parts with the same columns and types", got)
        schema = here
        resolved = str(path.absolute())
        if mark:
            _refuse_ragged(path, mark, argument)
            found.append(Piece(resolved, mark))
            continue
        import pyarrow.parquet as pq

        with pq.ParquetFile(path) as file:
            first, rows = 0, 0
            for group in range(file.num_row_groups):
                rows += file.metadata.row_group(group).num_rows
                if rows >= PIECE or group == file.num_row_groups - 1:
                    found.append(Piece(resolved, "", (first, group + 1)))
                    first, rows = group + 1, 0
    return tuple(found)


def _refuse_ragged(path: Path, mark: str, argument: str) -> None:
    try:
        found = first_ragged(path, mark)
    except UnicodeDecodeError:
        raise InvalidProblemError(argument, "text in UTF-8", str(path)) from None
    if found:
        expected = "as many cells in each row as in the first line"
        raise InvalidProblemError(argument, expected, f"{path} with {found}")


def scan_pieces(pieces: Sequence[Piece], argument: str) -> pl.LazyFrame:
    """Scan the files of all pieces lazily."""
    import polars as pl

    files = {piece.path: piece.mark for piece in pieces}
    if not files:
        raise InvalidProblemError(argument, "a table with rows", "none")
    return pl.concat([scan(path, mark) for path, mark in files.items()])


def _look(table: pl.LazyFrame, name: str) -> Look:
    import polars as pl

    column = pl.col(name)
    counted = table.select(column.count().alias("rows"), column.n_unique().alias("different"))
    rows, different = counted.collect(engine="streaming").row(0)
    head = table.select(name).head(LOOKED_AT).collect()
    return look_of(head, name, rows=rows, different=different)


def _check_target(where: Path) -> None:
    expected = "a folder that is empty or not there, in one that can be written"
    if where.is_symlink() or (where.exists() and not where.is_dir()):
        raise InvalidProblemError("target", expected, f"{where.name}, which is no folder")
    if where.is_dir() and any(where.iterdir()):
        raise InvalidProblemError("target", expected, f"{where.name}, which is not empty")
    if not where.parent.is_dir():
        raise InvalidProblemError("target", expected, "one whose parent is not there")


def _words(size: int) -> str:
    return f"{size / 1e9:.2g}GB" if size >= 1e9 else f"{size // 10**6}MB"


def _nothing(sentence: str) -> None:
    """Tell nobody."""
    del sentence


@final
class _Run:
    """The phases of one run."""

    def __init__(
        self, space: Workspace, engine: Engine, plan: LargePlan, told: Callable[[str], None]
    ) -> None:
        self.space, self.engine, self.told = space, engine, told
        self.version, self.began = 0, time.monotonic()
        self.seconds: dict[str, float] = {}
        self.plan = plan
        self.settle()

    def settle(self, **more: Any) -> None:  # noqa: ANN401 - fields of the plan
        """Write the plan for those who do the steps."""
        self.plan = replace(self.plan, **more)
        self.space.put(f"plan-{self.version}", self.plan)
        self.version += 1

    def phase(self, kind: str, count: int, sentence: str) -> list[Any]:
        """Do all steps of a kind, and give what they found."""
        if sentence:
            self.told(sentence)
        begun = time.monotonic()
        self.engine.run(self.space, kind, count)
        self.seconds[kind] = time.monotonic() - begun
        return self.space.every(kind, count)

    def search(self, attributes: Sequence[Attribute], loss: str, memory: int) -> None:
        """Code the rows, and send them to parts."""
        plan, pieces = self.plan, len(self.plan.pieces)
        seen = self.phase("survey", pieces, "Reading the values of the columns")
        counts = [one["rows"] for one in seen]
        n = sum(counts)
        if n < plan.k:
            message = f"no {plan.k}-anonymous table exists: there are fewer than {plan.k} rows"
            raise InfeasibleError(message)
        columns, codes = _columns(seen, plan.quasi, attributes, loss)
        layout = layout_of(columns)
        demanded = {name: _texts(seen, name) for name, _ in plan.demands}
        firsts = tuple(np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(int).tolist())
        buckets = math.ceil(n / plan.batch)
        self.settle(
            columns=columns,
            codes=codes,
            layout=layout,
            demanded=demanded,
            firsts=firsts,
            n=n,
            buckets=buckets,
        )
        taken = self.phase("sample", pieces, "Splitting a sample")
        top = first_splits(columns, layout, np.concatenate(taken), n, plan.k)
        self.settle(top=top)
        routed = self.phase("route", pieces, "Sending rows to parts")
        rows = np.zeros(top.parts, dtype=np.int64)
        for one in routed:
            for part, here in one["groups"]:
                rows[part] += here
        values = {name: _added([one["values"].get(name) for one in routed]) for name in demanded}
        unions, wholes = _unions(plan, rows, values)
        largest = max(int(rows[list(union)].sum()) for union in unions)
        need = BASE + largest * (16 * layout.words + 40 + 24 * len(plan.demands))
        if need > memory:
            expected = f"{_words(need)} or more for the largest part of this table"
            raise InvalidProblemError("memory", expected, _words(memory))
        # The longest first, so that all workers end together.
        unions = sorted(unions, key=lambda union: -int(rows[list(union)].sum()))
        self.settle(unions=tuple(map(tuple, unions)), wholes=wholes)
        self.found = self.phase("finish", len(unions), "Splitting the parts")

    def publish(self) -> tuple[Certificate, FolderDiagnostics, dict[str, str]]:
        """Write what is published, read it again and count."""
        plan, buckets = self.plan, self.plan.buckets
        self.made = self.phase("publish", buckets, "Writing rows in the order of random keys")
        if plan.demands:
            tallies = self.phase("tally", buckets, "Counting the classes of what was written")
            self.settle(stored={name: _stored(tallies, name) for name, _ in plan.demands})
        counted = self.phase("count", buckets, "Counting the classes of what was written")
        totals = self.phase("total", HASHES, "")
        rows = sum(one["rows"] for one in totals)
        sizes = [one["least"] for one in totals if one["least"] is not None]
        least, classes = int(min(sizes)), sum(one["classes"] for one in totals)
        told = f"{classes} classes, the smallest of {least} rows"
        small = sum(one["small"] for one in totals)
        checks = [Check("classes smaller than k", small, 0, exact=True, detail=told)]
        for at, (name, model) in enumerate(plan.demands):
            few = sum(one["failing"][at] for one in totals)
            said = f"classes that fail {model!r} in {name}"
            if name == plan.person:
                said = "classes of fewer than k persons"
            checks.append(Check(said, few, 0, exact=True))
        lost = abs(plan.n - rows) + abs(plan.n - sum(one["rows"] for one in self.found))
        checks.append(Check("rows lost or doubled", lost, 0, exact=True))
        loss = sum(one["loss"] for one in self.found)
        cost = sum(column.attribute.weight for column in plan.columns) * plan.n
        found = FolderDiagnostics(
            loss,
            loss / cost if cost else 0.0,
            rows,
            classes,
            least,
            buckets,
            len(plan.unions),
            {**self.seconds, "all": time.monotonic() - self.began},
        )
        digests = {_name(number, plan.suffix): one["sha256"] for number, one in enumerate(counted)}
        return Certificate(tuple(checks)), found, digests


def _name(number: int, suffix: str) -> str:
    return f"part-{number:05d}{suffix}"


def _columns(
    seen: Sequence[Mapping[str, Any]],
    names: Sequence[str],
    attributes: Sequence[Attribute],
    loss: str,
) -> tuple[tuple[CodedColumn, ...], dict[str, tuple[pl.Series, pl.Series]]]:
    """Number the values of each quasi-identifier."""
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
            raise InvalidProblemError(error.field, error.expected, "others") from None
        columns.append(column)
        number[name] = (values, pl.Series(codes, dtype=pl.Int32))
    return tuple(columns), number


def _values(seen: Sequence[Mapping[str, Any]], name: str) -> pl.Series:
    import polars as pl

    listed: list[pl.Series] = [one["values"][name] for one in seen if name in one["values"]]
    return pl.concat(listed).unique()


def _texts(seen: Sequence[Mapping[str, Any]], name: str) -> tuple[pl.Series, pl.Series]:
    """Number the values of a column with demands, in the order of their text, as the search in memory does."""
    import polars as pl

    values = _values(seen, name)
    found = values_of_column(values, name)
    texts = found.of_rows(found.texts)
    codes = np.unique(texts, return_inverse=True)[1]
    return values, pl.Series(codes, dtype=pl.Int64)


def _added(each: Sequence[pl.DataFrame | None]) -> pl.DataFrame:
    import polars as pl

    there = [one for one in each if one is not None]
    return pl.concat(there).group_by("part", "value").agg(pl.col("rows").sum())


def _unions(
    plan: LargePlan, rows: NDArray[np.int64], values: Mapping[str, pl.DataFrame]
) -> tuple[list[list[int]], dict[str, tuple[int, ...]]]:
    """Join parts until each has k rows and holds the demands, by exact counts; and count values in the whole table."""
    counts: dict[str, tuple[NDArray[Any], NDArray[Any], NDArray[Any]]] = {}
    wholes: dict[str, tuple[int, ...]] = {}
    for name, frame in values.items():
        part, value, amount = (frame[one].to_numpy() for one in ("part", "value", "rows"))
        counts[name] = part, value, amount
        whole = np.zeros(int(value.max()) + 1, dtype=np.int64)
        np.add.at(whole, value, amount.astype(np.int64))
        wholes[name] = tuple(whole.tolist())
    none = np.zeros(0, np.int64)
    demands = [Demand(name, model, none, whole=wholes[name]) for name, model in plan.demands]

    def enough(union: list[int]) -> bool:
        if int(rows[union].sum()) < plan.k:
            return False
        for demand in demands:
            part, value, amount = counts[demand.name]
            mine = np.isin(part, union)
            here = np.zeros((1, demand.width), dtype=np.int64)
            np.add.at(here[0], value[mine], amount[mine].astype(np.int64))
            if demand.failing(here)[0]:
                return False
        return True

    for demand in demands:
        if demand.failing(np.array([demand.whole], dtype=np.int64))[0]:
            message = (
                f"no table holds {demand.model!r} of {demand.name}: all rows as one class fail it"
            )
            raise InfeasibleError(message)
    return join_small(len(rows), enough), wholes


def _stored(
    tallies: Sequence[Mapping[str, pl.DataFrame]], name: str
) -> list[tuple[pl.Series, pl.Series, tuple[int, ...]]]:
    """Number the published values of a column, as they are stored and by their text, and count each."""
    import polars as pl

    whole = pl.concat([one[name] for one in tallies]).group_by(name).agg(pl.col("rows").sum())
    values = values_of_column(whole[name], name)
    found = []
    for each in codings(values):
        codes = each[values.codes]
        rows = np.zeros(int(codes.max()) + 1, dtype=np.int64)
        np.add.at(rows, codes, whole["rows"].to_numpy().astype(np.int64))
        found.append((whole[name], pl.Series(codes, dtype=pl.Int64), tuple(rows.tolist())))
    return found


def _place(
    run: _Run,
    made: Anonymization[Path, FolderDiagnostics],
    attributes: Sequence[Attribute],
    digests: Mapping[str, str],
) -> None:
    """Give the parts their names, write the record last, and give the folder its name."""
    space, rights = run.space, creation_rights()
    out = space.folder / "out"
    out.mkdir(0o700)
    for (name, _), one in zip(digests.items(), run.made, strict=True):
        (space.folder / one["file"]).rename(out / name)
        (out / name).chmod(rights)
    found = made.diagnostics
    record = make_private(out / RECORD)
    record.write_bytes(record_of(made, attributes, digests, found.rows, run.made[0]["schema"]))
    record.chmod(rights)
    out.chmod(rights | (rights & 0o444) >> 2)
    sync_folder(str(out))
    try:
        # A folder that is there is replaced where it is empty, and no other run wrote into it meanwhile.
        out.rename(made.table)
    except OSError:
        expected = "a folder that is empty or not there"
        raise InvalidProblemError("target", expected, "one that another run has filled") from None
    sync_folder(str(made.table.parent))
