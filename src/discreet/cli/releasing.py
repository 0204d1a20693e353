"""Publish counts from the command line: what is public first, then the charge, then the data."""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from discreet.cli.files import check_outputs, check_table_names, write_page
from discreet.cli.output import Status, emit, facts, warn
from discreet.cli.registry import COUNT_METHODS, find
from discreet.cli.table_files import look, refuse_unreadable
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import PureDP, ZeroConcentratedDP

if TYPE_CHECKING:
    from discreet.core.outcome import Release, Unproven
    from discreet.hierarchy._tables import Public
    from discreet.hierarchy.problem import GroupSizes
    from discreet.hierarchy.result import RegionCounts
    from discreet.ledger import Ledger

    Outcome = Release[RegionCounts] | Unproven[RegionCounts]

__all__ = ["Claim", "Places", "Tables", "Written", "run_counts"]


@final
@dataclass(frozen=True)
class Tables:
    """Where the private data are, as it was typed."""

    people: str | None
    units: str | None
    unit: str | None
    size: str | None
    quantity: str | None
    person: str | None


@final
@dataclass(frozen=True)
class Places:
    """What is public, as it was typed."""

    regions: str
    region_list: str | None
    public_units: str | None
    max_size: int
    max_quantity: int
    root: str


@final
@dataclass(frozen=True)
class Claim:
    """What is promised and who pays, as it was typed."""

    epsilon: str | None
    rho: str | None
    neighbors: str
    noise: str | None
    ledger: str | None
    dataset: str | None
    accept_no_guarantee: bool


@final
@dataclass(frozen=True)
class Written:
    """Where results go."""

    output: str | None
    measurements: str | None
    report: str | None
    diagnostics: bool
    as_json: bool
    quiet: bool


def run_counts(
    data: Tables,
    places: Places,
    claim: Claim,
    written: Written,
    *,
    method: str | None,
    levels: str | None,
    leaves_inherit: bool = True,
) -> Status:
    """Publish counts, and return the exit status.

    All that can be refused without the data is refused before the ledger is charged, and the ledger is charged before
    the data are counted; only whether each row of a file can be divided into cells is seen before.
    """
    guarantee = _guarantee(claim)
    chosen = None if method is None else find(COUNT_METHODS, method, "--method")()
    _check_files(data, places)
    tables = {"--output": written.output, "--measurements": written.measurements}
    check_outputs(
        {**tables, "--report": written.report},
        data.people,
        data.units,
        places.region_list,
        places.public_units,
        claim.ledger,
    )
    check_table_names(tables)
    unproven = getattr(chosen, "unproven", "")
    if unproven and not claim.accept_no_guarantee:
        expected = "one with a guarantee, or --accept-no-guarantee"
        raise InvalidProblemError("--method", expected, f"{method}: {unproven}")
    if claim.accept_no_guarantee and (written.measurements or written.report):
        expected = "none for what has no guarantee"
        raise InvalidProblemError("--measurements, --report", expected, "one")
    ledger = _open_ledger(claim, refuse=claim.accept_no_guarantee)
    public = _read_public(data, places)
    parts: dict[str, Any] = {
        "levels": None if levels is None else levels.split(","),
        "leaves_inherit": leaves_inherit,
    }
    kind = _rehearse(data, places, public, guarantee, method=chosen, **parts)
    if kind == "sorted" and written.measurements is not None:
        raise InvalidProblemError("--measurements", "a method that measures counts", method)
    if ledger is not None and claim.dataset is not None:
        ledger.reserve(claim.dataset, guarantee)
    counted = _count(data, places, public)
    options = {**parts, "keep_measurements": written.measurements is not None}
    outcome: Outcome
    if claim.accept_no_guarantee:
        from discreet.hierarchy import reproduce

        outcome = reproduce(counted, guarantee, method=chosen or "m_c_dp", **options)
        warn(f"NOT PRIVATE, must not be published: {outcome.reason}")
    else:
        from discreet.hierarchy import release

        outcome = release(counted, guarantee, method=chosen, **options)
    _write(outcome, written)
    if written.diagnostics:
        _diagnose(counted, outcome)
    data_out, text = _describe(outcome, written, claim, ledger)
    emit(data_out, text, as_json=written.as_json, command="counts")
    return Status.DONE


def _guarantee(claim: Claim) -> PureDP | ZeroConcentratedDP:
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


def _check_files(data: Tables, places: Places) -> None:
    if (data.people is None) == (data.units is None):
        got = "neither" if data.units is None else "both"
        raise InvalidProblemError("PEOPLE", "a file here, or with --units", got)
    if data.people is not None and data.unit is None:
        raise InvalidProblemError("--unit", "the column of the unit of each person", "none")
    if data.units is not None and data.size is None:
        raise InvalidProblemError("--size", "the column of sizes in --units", "none")
    for given, option, fits in (
        (data.size, "--size", data.units),
        (data.quantity, "--quantity", data.people),
        (data.person, "--person", data.people),
    ):
        if given is not None and fits is None:
            raise InvalidProblemError(option, "no such column with this kind of table", repr(given))
    # Before anything is charged for a file that cannot be read.
    for path, option in (
        (data.people, "PEOPLE"),
        (data.units, "--units"),
        (places.region_list, "--region-list"),
        (places.public_units, "--public-units"),
    ):
        if path is not None:
            mark = look(path, option, (".csv", ".tsv", ".txt", ".parquet"))
            refuse_unreadable(path, mark, option)


def _open_ledger(claim: Claim, *, refuse: bool) -> Ledger | None:
    if (claim.ledger is None) != (claim.dataset is None):
        missing = "--ledger" if claim.ledger is None else "--dataset"
        raise InvalidProblemError(missing, "both --ledger and --dataset, or none", "one of them")
    if claim.ledger is None:
        return None
    if refuse:
        raise InvalidProblemError("--ledger", "no ledger for what has no guarantee", claim.ledger)
    from discreet.ledger import Ledger

    return Ledger(claim.ledger)


def _read_public(data: Tables, places: Places) -> Public:
    from discreet.hierarchy._tables import read_public

    return read_public(
        places.regions.split(","),
        region_list=places.region_list,
        public_units=places.public_units,
        unit=data.unit,
        root=places.root,
    )


def _rehearse(
    data: Tables,
    places: Places,
    public: Public,
    guarantee: PureDP | ZeroConcentratedDP,
    *,
    method: Any,  # noqa: ANN401 - a method or None
    **parts: Any,  # noqa: ANN401 - levels and leaves_inherit, as for release
) -> str:
    """Refuse what needs no data to be refused: levels, sizes, neighbors, names of columns; say what is measured."""
    from discreet.hierarchy._release import DEFAULT, rehearse
    from discreet.hierarchy._rows import open_table

    frame = public.frame(places.max_size, places.max_quantity)
    chosen = method or find(COUNT_METHODS, DEFAULT, "--method")()
    rehearse(frame, guarantee, method=chosen, **parts)
    named = (data.unit, data.size, data.quantity, data.person)
    wanted = [*public.columns, *(name for name in named if name is not None)]
    # Names of columns are no records: a mistyped one costs nothing.
    open_table(data.people or data.units, "PEOPLE" if data.people else "--units", wanted)
    return str(chosen.kind)


def _count(data: Tables, places: Places, public: Public) -> GroupSizes:
    from discreet.hierarchy._tables import count_records, count_units

    sizes = {"max_size": places.max_size, "max_quantity": places.max_quantity}
    if data.people is None:
        return count_units(data.units, public, size=data.size or "", **sizes)
    return count_records(
        data.people,
        public,
        unit=data.unit or "",
        quantity=data.quantity,
        person=data.person,
        **sizes,
    )


def _write(outcome: Outcome, written: Written) -> None:
    """Write what was asked for; what has no guarantee gets no record beside it."""
    from discreet.artefact import save_counts, save_measurements
    from discreet.core.outcome import Release

    if written.output is None and written.report is None:
        warn("nothing was written: no --output", quiet=written.quiet)
    kept = outcome.result.measurements
    if not isinstance(outcome, Release):
        if written.output is not None:
            _write_bare(outcome.result, written.output)
        return
    if written.output is not None:
        save_counts(outcome, written.output)
    if written.measurements is not None and kept is not None:
        save_measurements(kept, written.measurements)
    if written.report is not None:
        from discreet.report import make_chapter

        title = "Counts by region and size, with their proof"
        write_page([make_chapter("hierarchy", outcome)], written.report, title=title)


def _write_bare(counts: RegionCounts, path: str) -> None:
    from discreet.artefact._write import replace_file

    table, buffer = counts.to_frame("polars"), BytesIO()
    write = table.write_csv if Path(path).suffix.lower() == ".csv" else table.write_parquet
    write(buffer)
    replace_file(Path(path), buffer.getvalue())


def _diagnose(counted: GroupSizes, outcome: Outcome) -> None:
    from discreet.hierarchy import diagnose

    found = diagnose(counted, outcome).to_dict()
    warn("PRIVATE, for the curator only: " + ", ".join(f"{k} {v}" for k, v in found.items()))


def _describe(
    outcome: Outcome, written: Written, claim: Claim, ledger: Ledger | None
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
        "output": written.output,
        "measurements": written.measurements,
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
    text = facts(rows)
    return data, text if certificate is None else f"{text}\n\n{certificate}"
