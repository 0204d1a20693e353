"""What ``counts`` does once its options are read: check files, plan, release and write."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from discreet.cli.files import check_outputs, check_table_names, write_page
from discreet.cli.output import Status, emit, facts, warn
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import PureDP, ZeroConcentratedDP
from discreet.hierarchy.methods import METHODS
from discreet.tables.dialect import look
from discreet.tables.reading import refuse_unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from discreet import ledger as ledgers
    from discreet.cli.row_files import RowEngine
    from discreet.core.outcome import Release, Unproven
    from discreet.hierarchy import RegionCounts
    from discreet.hierarchy.methods import Method

    Outcome = Release[RegionCounts] | Unproven[RegionCounts]

__all__ = [
    "CountsClaim",
    "CountsFiles",
    "PrivateRows",
    "PublicFacts",
    "as_options",
    "folder_of",
    "guarantee_of",
    "open_ledger",
    "publish_counts",
    "refuse_inside",
]

_OPTIONS = {
    "columns": "--regions",
    "regions": "--region-list",
    "total": "--exact-total",
    "source": "PEOPLE",
    "folder": "--output",
    "target": "--output",
    "scheduler": "--scheduler",
    "threads": "--threads",
}
"""Arguments of the library -> options, where the names differ."""


@final
@dataclass(frozen=True)
class PrivateRows:
    """Where the private rows are, and which columns are what, as typed."""

    people: str | None
    units: str | None
    unit: str | None
    size: str | None
    quantity: str | None
    person: str | None
    engine: RowEngine
    refuse_rows: bool = False

    @property
    def file(self) -> str:
        """The private table."""
        return self.people or self.units or ""

    @property
    def is_large(self) -> bool:
        """Whether rows are read piece by piece."""
        return self.engine.is_large(self.file)

    def columns(self) -> dict[str, Any]:
        """Columns by the names of the library's arguments."""
        persons = {"quantity": self.quantity, "person": self.person}
        return {"unit": self.unit, **(persons if self.people else {"size": self.size})}


@final
@dataclass(frozen=True)
class PublicFacts:
    """What is public, as typed."""

    columns: list[str]
    region_list: str | None
    public_units: str | None
    max_size: int
    max_quantity: int
    root: str

    def arguments(self) -> dict[str, Any]:
        """By the names of the library's arguments."""
        return {
            "columns": self.columns,
            "public_units": self.public_units,
            "max_size": self.max_size,
            "max_quantity": self.max_quantity,
            "root": self.root,
        }


@final
@dataclass(frozen=True)
class CountsClaim:
    """What is promised and what is charged, as typed."""

    epsilon: str | None
    rho: str | None
    neighbors: str
    noise: str | None
    ledger: str | None
    dataset: str | None
    accept_no_guarantee: bool


@final
@dataclass(frozen=True)
class CountsFiles:
    """Where results go."""

    output: str | None
    measurements: str | None
    report: str | None
    diagnostics: bool
    as_json: bool
    quiet: bool
    verbose: bool


@contextmanager
def as_options() -> Iterator[None]:
    """Let errors name options where the library names its arguments."""
    try:
        yield
    except InvalidProblemError as error:
        field = _OPTIONS.get(error.field, error.field)
        raise InvalidProblemError(field, error.expected, error.got) from None


def publish_counts(
    rows: PrivateRows,
    public: PublicFacts,
    claim: CountsClaim,
    wanted: CountsFiles,
    *,
    method: Method | None,
    levels: Sequence[str] | None,
    leaves_inherit: bool,
) -> Status:
    """Check files and options, plan, release and write; the plan charges the ledger before it reads a value."""
    from discreet import hierarchy

    guarantee = guarantee_of(claim)
    _check_files(rows, public)
    tables = {"--output": wanted.output, "--measurements": wanted.measurements}
    check_outputs(
        {**tables, "--report": wanted.report},
        None if Path(rows.file).is_dir() else rows.file,
        public.region_list,
        public.public_units,
        claim.ledger,
    )
    check_table_names(tables)
    refuse_inside(rows.file, tables)
    if claim.accept_no_guarantee and (wanted.measurements or wanted.report):
        expected = "none for what has no guarantee"
        raise InvalidProblemError("--measurements, --report", expected, "one")
    ledger = open_ledger(claim, refuse=claim.accept_no_guarantee)
    parts: dict[str, Any] = {"levels": levels, "leaves_inherit": leaves_inherit}
    outcome: Outcome
    planned = None
    if not claim.accept_no_guarantee:
        planned = hierarchy.plan(
            public.region_list,
            guarantee,
            method=method,
            **parts,
            **public.arguments(),
            **rows.columns(),
            refuse_rows=rows.refuse_rows,
        )
        if planned.method.kind == "sorted" and wanted.measurements is not None:
            named = METHODS.name_of(planned.method)
            raise InvalidProblemError("--measurements", "a method that measures counts", named)
    with rows.engine.source(rows.file, folder_of(wanted.output)) as source:
        if planned is None:
            given = {**public.arguments(), **rows.columns(), "regions": public.region_list}
            read = hierarchy.from_records if rows.people else hierarchy.from_units
            counted = read(source, **given)
            outcome = hierarchy.reproduce(counted, guarantee, method=method or "m-c-dp", **parts)
            warn(f"NOT PRIVATE, must not be published: {outcome.reason}")
            diagnosed = hierarchy.diagnose(counted, outcome) if wanted.diagnostics else None
        else:
            outcome = planned.release(
                source,
                budget=ledger,
                dataset=claim.dataset,
                keep_measurements=wanted.measurements is not None,
            )
            diagnosed = planned.diagnose(source, outcome) if wanted.diagnostics else None
    _write(outcome, wanted)
    if diagnosed is not None:
        told = ", ".join(f"{name} {value}" for name, value in diagnosed.to_dict().items())
        warn(f"PRIVATE, for the curator only: {told}")
    data, text = _describe(outcome, wanted, claim, ledger)
    emit(
        data,
        text,
        as_json=wanted.as_json,
        command="counts",
        certificate=getattr(outcome, "certificate", None),
        verbose=wanted.verbose,
    )
    return Status.DONE


def refuse_inside(folder: str, outputs: Mapping[str, str | None]) -> None:
    """Refuse outputs in the folder that is read."""
    for option, path in outputs.items():
        if path is not None and Path(path).absolute().parent == Path(folder).absolute():
            raise InvalidProblemError(option, "a file outside the folder that is read", path)


def folder_of(output: str | None) -> Path | None:
    """Give the folder of an output, where private counts of pieces are kept until it is written."""
    return None if output is None else Path(output).absolute().parent


def guarantee_of(claim: CountsClaim) -> PureDP | ZeroConcentratedDP:
    """Read what is promised; the noise follows from it, and may be named to be sure."""
    neighbors: Any = claim.neighbors
    if (claim.epsilon is None) == (claim.rho is None):
        got = "neither" if claim.rho is None else "both"
        raise InvalidProblemError("--epsilon", "a budget here, or with --rho", got)
    noise = "laplace" if claim.rho is None else "gaussian"
    if claim.noise not in (None, noise):
        option = "--epsilon" if claim.rho is None else "--rho"
        raise InvalidProblemError("--noise", f"{noise} with {option}", repr(claim.noise))
    if claim.rho is None:
        return PureDP(claim.epsilon or "", neighbors)
    return ZeroConcentratedDP(claim.rho, neighbors)


def _check_files(rows: PrivateRows, public: PublicFacts) -> None:
    if (rows.people is None) == (rows.units is None):
        got = "neither" if rows.units is None else "both"
        raise InvalidProblemError("PEOPLE", "a file here, or with --units", got)
    if rows.people is not None and rows.unit is None:
        raise InvalidProblemError("--unit", "the column of the unit of each person", "none")
    if rows.units is not None and rows.size is None:
        raise InvalidProblemError("--size", "the column of sizes in --units", "none")
    for given, option, fits in (
        (rows.size, "--size", rows.units),
        (rows.quantity, "--quantity", rows.people),
        (rows.person, "--person", rows.people),
    ):
        if given is not None and fits is None:
            raise InvalidProblemError(option, "no such column with this kind of table", repr(given))
    # Before anything is charged for a file that cannot be read.
    for path, option in (
        (None if rows.is_large else rows.people, "PEOPLE"),
        (None if rows.is_large else rows.units, "--units"),
        (public.region_list, "--region-list"),
        (public.public_units, "--public-units"),
    ):
        if path is not None:
            mark = look(path, option, (".csv", ".tsv", ".txt", ".parquet"))
            refuse_unreadable(path, mark, option)


def open_ledger(claim: CountsClaim, *, refuse: bool) -> ledgers.Ledger | None:
    """Open the ledger that is charged, if there is one."""
    if (claim.ledger is None) != (claim.dataset is None):
        missing = "--ledger" if claim.ledger is None else "--dataset"
        raise InvalidProblemError(missing, "both --ledger and --dataset, or none", "one of them")
    if claim.ledger is None:
        return None
    if refuse:
        raise InvalidProblemError("--ledger", "no ledger for what has no guarantee", claim.ledger)
    from discreet.ledger import Ledger as Book

    return Book(claim.ledger)


def _write(outcome: Outcome, wanted: CountsFiles) -> None:
    """Write the files that are wanted; what has no guarantee gets no record beside it."""
    from discreet.artefact import save_counts, save_measurements
    from discreet.core.outcome import Release

    if wanted.output is None and wanted.report is None:
        warn("nothing was written: no --output", quiet=wanted.quiet)
    kept = outcome.result.measurements
    if not isinstance(outcome, Release):
        if wanted.output is not None:
            _write_bare(outcome.result, wanted.output)
        return
    if wanted.output is not None:
        save_counts(outcome, wanted.output)
    if wanted.measurements is not None and kept is not None:
        save_measurements(kept, wanted.measurements)
    if wanted.report is not None:
        from discreet.report import make_chapter

        title = "Counts by region and size, with their proof"
        write_page([make_chapter("hierarchy", outcome)], wanted.report, title=title)


def _write_bare(counts: RegionCounts, path: str) -> None:
    from discreet.artefact.placing import replace_file
    from discreet.tables.writing import bytes_of

    table = counts.to_frame("polars")
    replace_file(Path(path), bytes_of(table, Path(path).suffix.lower()))


def _describe(
    outcome: Outcome, wanted: CountsFiles, claim: CountsClaim, ledger: ledgers.Ledger | None
) -> tuple[dict[str, Any], str]:
    """Lay out what may be published, and nothing else: no time, which depends on the records."""
    frame, provenance = outcome.result.frame, outcome.provenance
    guarantee, certificate = outcome.guarantee, getattr(outcome, "certificate", None)
    left = None
    if ledger is not None and claim.dataset is not None:
        left = [str(amount) for amount in ledger.account(claim.dataset).left]
    data = {
        "guarantee": None
        if guarantee is None
        else {**guarantee.to_dict(), "sentence": str(guarantee)},
        "method": provenance.method,
        "regions": frame.tree.n,
        "levels": frame.tree.depth + 1,
        "sizes": [frame.first_size, frame.max_size],
        "units": frame.units,
        "parameters": dict(provenance.parameters),
        "assumed_public": provenance.to_dict()["assumed_public"],
        "certificate": None if certificate is None else certificate.to_dict(),
        "output": wanted.output,
        "measurements": wanted.measurements,
        "left": left,
    }
    reason = getattr(outcome, "reason", "")
    if reason:
        data["reason"] = reason
    rows: list[tuple[str, object]] = [
        ("guarantee", guarantee or f"none: {reason}"),
        ("method", provenance.method),
        ("regions", f"{frame.tree.n} on {frame.tree.depth + 1} levels"),
        ("sizes", f"{frame.first_size} to {frame.max_size}, larger ones counted as the largest"),
    ]
    rows += [("assumed public", f"{p.name}: {p.description}") for p in provenance.assumed_public]
    if left is not None:
        rows.append(("budget left", ", ".join(left)))
    return data, facts(rows)
