"""What ``counts`` does once its options are read: check files, plan, release and write."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from discreet.cli.files import (
    check_outputs,
    check_table_names,
    open_ledger,
    page_content,
    release_files,
)
from discreet.cli.options import read_guarantee
from discreet.cli.output import (
    Status,
    facts,
    put_out,
    renamed_arguments,
    rendered,
    warn,
    warn_of_weakness,
)
from discreet.core.errors import InvalidProblemError
from discreet.core.outcome import public_facts
from discreet.hierarchy.methods import METHODS
from discreet.tables.dialect import look
from discreet.tables.reading import PUBLIC_SUFFIXES, refuse_unreadable
from discreet.tables.sources import is_plain

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from fractions import Fraction

    from discreet.artefact import ReleaseFiles
    from discreet.artefact.row_engine import RowEngine
    from discreet.artefact.sidecar import FileContent
    from discreet.core.guarantee import PureDP, ZeroConcentratedDP
    from discreet.core.outcome import Release, Unproven
    from discreet.hierarchy import Plan, RegionCounts
    from discreet.hierarchy.methods import Method

    Outcome = Release[RegionCounts] | Unproven[RegionCounts]

__all__ = [
    "ROW_BYTES",
    "CountsClaim",
    "CountsFiles",
    "PrivateRows",
    "PublicFacts",
    "as_options",
    "folder_of",
    "guarantee_of",
    "publish_counts",
    "refuse_inside",
    "release_outputs",
]

ROW_BYTES = 24
"""Bytes of a row of counts in a file, about."""

_TITLES = {
    "hierarchy": "Counts by region and size, with their proof",
    "tables": "Tables by region, with their proof",
}

_OPTIONS = {
    "columns": "--regions",
    "regions": "--region-list",
    "total": "--exact-total",
    "source": "PEOPLE",
    "workload": "--workload",
    "workload_levels": "--workload-levels",
    "loss": "--loss",
    "count": "--plan-count",
    "folder": "--output",
    "outputs": "--output",
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
    delta: str | None
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


def as_options() -> AbstractContextManager[None]:
    """Let errors name options where the library names its arguments."""
    return renamed_arguments(_OPTIONS)


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
    import discreet
    from discreet import hierarchy
    from discreet.artefact.counts import counts_content, measurements_content

    guarantee = guarantee_of(claim)
    warn_of_weakness(guarantee, quiet=wanted.quiet)
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
    ledger = open_ledger(claim.ledger, claim.dataset)
    if ledger is not None and claim.accept_no_guarantee:
        raise InvalidProblemError("--ledger", "no ledger for what has no guarantee", claim.ledger)
    parts: dict[str, Any] = {"levels": levels, "leaves_inherit": leaves_inherit}
    given = {**public.arguments(), **rows.columns()}
    with rows.engine.source(rows.file, folder_of(wanted.output)) as source:
        if claim.accept_no_guarantee:
            read = hierarchy.from_records if rows.people else hierarchy.from_units
            counted = read(source, **given, regions=public.region_list)
            outcome = hierarchy.reproduce(counted, guarantee, method=method or "m-c-dp", **parts)
            diagnosed = hierarchy.diagnose(counted, outcome) if wanted.diagnostics else None
            _put_unproven(outcome, wanted)
        else:
            plans: list[Plan] = []

            def outputs(planned: Plan) -> ReleaseFiles:
                plans.append(planned)
                if planned.method.kind == "sorted" and wanted.measurements is not None:
                    named = METHODS.name_of(planned.method)
                    expected = "a method that measures counts"
                    raise InvalidProblemError("--measurements", expected, named)
                return release_outputs(
                    wanted,
                    "hierarchy",
                    counts_content,
                    measurements_content,
                    planned.frame.tree.n * planned.frame.n_sizes * ROW_BYTES,
                    lambda made, left: _rendered(made, wanted, left),
                )

            made: Release[Any] = discreet.counts(
                source,
                guarantee,
                regions=public.region_list,
                method=method,
                refuse_rows=rows.refuse_rows,
                budget=ledger,
                dataset=claim.dataset,
                budget_delta=claim.delta,
                keep_measurements=wanted.measurements is not None,
                outputs=outputs,
                **parts,
                **given,
            )
            diagnosed = plans[0].diagnose(source, made) if wanted.diagnostics else None
    if diagnosed is not None:
        told = ", ".join(f"{name} {value}" for name, value in diagnosed.to_dict().items())
        warn(f"PRIVATE, for the curator only: {told}")
    return Status.DONE


def release_outputs(  # noqa: PLR0917 - all that differs between the two kinds of counts
    wanted: CountsFiles,
    chapter: str,
    table: Callable[[Release[Any], str], FileContent],
    measurements: Callable[[Any, str, str], FileContent],
    size: int,
    text: Callable[[Release[Any], tuple[Fraction, ...] | None], str],
) -> ReleaseFiles:
    """Name the files of a release of counts, each with its size in bytes, about."""
    endings = [Path(path or "").suffix for path in (wanted.output, wanted.measurements)]

    def kept(made: Release[Any]) -> FileContent:
        return measurements(made.result.measurements, endings[1], made.provenance.charge)

    return release_files(
        "counts",
        {
            "--output": (wanted.output, lambda made: table(made, endings[0]), size),
            "--measurements": (wanted.measurements, kept, size),
            "--report": (
                wanted.report,
                lambda made: page_content(chapter, made, title=_TITLES[chapter]),
                None,
            ),
        },
        text,
    )


def _put_unproven(outcome: Unproven[RegionCounts], wanted: CountsFiles) -> None:
    """Write and print counts without a guarantee, and no record beside them."""
    from discreet.artefact.placing import replace_file
    from discreet.tables.writing import bytes_of

    warn(f"NOT PRIVATE, must not be published: {outcome.reason}")
    if wanted.output is None:
        warn("nothing was written: no --output", quiet=wanted.quiet)
    else:
        path, table = Path(wanted.output), outcome.result.to_frame("polars")
        replace_file(path, bytes_of(table, path.suffix.lower()))
    put_out(_rendered(outcome, wanted, None))


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
    guarantee = read_guarantee(claim.epsilon, claim.rho, claim.neighbors)
    noise = "laplace" if claim.rho is None else "gaussian"
    if claim.noise not in (None, noise):
        option = "--epsilon" if claim.rho is None else "--rho"
        raise InvalidProblemError("--noise", f"{noise} with {option}", repr(claim.noise))
    if claim.delta is not None and (claim.rho is None or claim.ledger is None):
        expected = "none but with --rho and --ledger, whose budget it is a part of"
        raise InvalidProblemError("--delta", expected, repr(claim.delta))
    return guarantee


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
            private = option in {"PEOPLE", "--units"}
            if not is_plain(path, rows.engine.reading if private else None):
                # The library reads it whole before the charge, and refuses it then.
                continue
            mark = look(path, option, PUBLIC_SUFFIXES, whole=not private)
            refuse_unreadable(path, mark, option, row_by_row=private)


def _rendered(outcome: Outcome, wanted: CountsFiles, left: tuple[Fraction, ...] | None) -> str:
    """Render what may be published, and nothing else: no time, which depends on the records."""
    frame, provenance = outcome.result.frame, outcome.provenance
    guarantee, certificate = outcome.guarantee, getattr(outcome, "certificate", None)
    amounts = None if left is None else [str(amount) for amount in left]
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
        "left": amounts,
        "charge": provenance.charge or None,
    }
    reason = getattr(outcome, "reason", "")
    if reason:
        data["reason"] = reason
    return rendered(
        data,
        facts(public_facts(outcome, left)),
        as_json=wanted.as_json,
        command="counts",
        certificate=certificate,
        verbose=wanted.verbose,
    )
