"""``counts --by``: publish tables of attributes by region. Options become a plan; the plan charges, then reads."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, final

import typer

from discreet.cli.counting import ROW_BYTES, folder_of, refuse_inside, release_outputs
from discreet.cli.files import check_outputs, check_table_names
from discreet.cli.output import Status, facts, put_out, rendered, warn_of_weakness
from discreet.core.errors import InvalidProblemError
from discreet.core.outcome import public_facts
from discreet.hierarchy.contingency.workload import LOSSES
from discreet.tables.dialect import look, stored_file
from discreet.tables.parsing import free_memory
from discreet.tables.reading import PUBLIC_SUFFIXES, refuse_unreadable
from discreet.tables.sources import is_plain

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from discreet import ledger as ledgers
    from discreet.artefact import ReleaseFiles
    from discreet.artefact.row_engine import RowEngine
    from discreet.cli.counting import CountsFiles
    from discreet.core.guarantee import PureDP, ZeroConcentratedDP
    from discreet.core.outcome import Release
    from discreet.hierarchy.contingency import RegionTables, TablesPlan

__all__ = [
    "By",
    "DomainFile",
    "ExactTotal",
    "Loss",
    "Marginals",
    "MaxRows",
    "PlanCount",
    "PlanOnly",
    "Shares",
    "TablesRequest",
    "Workload",
    "WorkloadLevels",
    "publish_tables",
    "refuse_alone",
    "refuse_beside",
]

_PANEL = "Tables of attributes"
_LARGEST_LIST = 1 << 26
"""Bytes of a file that lists categories, at most."""

By = Annotated[
    str | None,
    typer.Option(
        "--by",
        metavar="A,B,...",
        help="Attributes: publish people by their categories instead of units by size.",
        rich_help_panel=_PANEL,
    ),
]
DomainFile = Annotated[
    str | None,
    typer.Option(
        "--domain",
        metavar="FILE.json",
        help="All categories of each attribute, public; or these under attributes, and structural zeros under zeros.",
        rich_help_panel=_PANEL,
    ),
]
Marginals = Annotated[
    str | None,
    typer.Option(
        metavar="A,A:B,...",
        help="Marginals that are measured: total, an attribute, several with colons, cells. Another list for each "
        "level after a semicolon. Default: cells.",
        rich_help_panel=_PANEL,
    ),
]
Shares = Annotated[
    str | None,
    typer.Option(
        metavar="X,Y,...",
        help="Part of each level's budget that each marginal has, with the sum 1; lists for levels after semicolons. "
        "Default: what is best for the workload, or for all marginals alike.",
        rich_help_panel=_PANEL,
    ),
]
Workload = Annotated[
    str | None,
    typer.Option(
        metavar="A,A:B=2,...",
        help="Tables that are asked for, in place of --marginals, each with a weight: the noise is made for them.",
        rich_help_panel=_PANEL,
    ),
]
WorkloadLevels = Annotated[
    str | None,
    typer.Option(
        metavar="X,Y,...",
        help="Weight of each level, the root first; regions below the last level with a weight aren't counted.",
        rich_help_panel=_PANEL,
    ),
]
Loss = Annotated[
    str | None,
    typer.Option(
        metavar="|".join(LOSSES),
        help="What is small. Default: deviations, and no asked entry noisier than with independent noise.",
        rich_help_panel=_PANEL,
    ),
]
PlanOnly = Annotated[
    bool,
    typer.Option(
        "--plan",
        help="Print the expected errors, the cost and what is assumed; charge nothing and read no value.",
        rich_help_panel=_PANEL,
    ),
]
PlanCount = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="With --plan, also the coefficient of variation of a count of this size.",
        rich_help_panel=_PANEL,
    ),
]
MaxRows = Annotated[
    int,
    typer.Option(
        help="The most rows of one person; public. With --person no more of them count.",
        rich_help_panel=_PANEL,
    ),
]
ExactTotal = Annotated[
    int | None,
    typer.Option(
        help="The number of all records, where it is public; with replace-person alone.",
        rich_help_panel=_PANEL,
    ),
]


@final
@dataclass(frozen=True)
class TablesRequest:
    """What is to be published, as typed."""

    people: str | None
    regions: str | None
    region_list: str | None
    person: str | None
    by: str
    domain: str | None
    marginals: str | None
    shares: str | None
    workload: str | None
    workload_levels: str | None
    loss: str | None
    levels: str | None
    max_rows: int
    total: int | None
    root: str
    ledger: str | None
    budget_delta: str | None
    engine: RowEngine
    refuse_rows: bool
    plan_only: bool
    plan_count: int | None


def refuse_beside(options: Mapping[str, object]) -> None:
    """Refuse options about units by size beside --by."""
    for name, given in options.items():
        if given is not None:
            raise InvalidProblemError(name, "none with --by, which counts people", repr(given))


def refuse_alone(options: Mapping[str, object]) -> None:
    """Refuse options about attributes without --by."""
    for name, given in options.items():
        if given is not None:
            raise InvalidProblemError(name, "none without --by", repr(given))


def publish_tables(
    request: TablesRequest,
    guarantee: PureDP | ZeroConcentratedDP,
    written: CountsFiles,
    ledger: ledgers.Ledger | None,
    dataset: str | None,
) -> Status:
    """Check files and options, plan, release and write; the plan charges the ledger before it reads a value."""
    import discreet
    from discreet.artefact.tables import table_measurements_content, tables_content
    from discreet.hierarchy.contingency.estimates import check_room

    people = _check_files(request)
    tables = {"--output": written.output, "--measurements": written.measurements}
    read = (request.region_list, request.domain, request.ledger)
    file = None if Path(people).is_dir() else people
    check_outputs({**tables, "--report": written.report}, file, *read)
    check_table_names(tables)
    refuse_inside(people, tables)
    arguments = arguments_of(request)
    warn_of_weakness(guarantee, quiet=written.quiet)
    if request.plan_only:
        from discreet.hierarchy import contingency

        arguments["total"] = arguments.pop("exact_total")
        planned = contingency.plan(arguments.pop("regions"), guarantee, **arguments)
        check_room(planned.frame, free_memory())
        with request.engine.source(people, folder_of(written.output)) as source:
            planned.check(source)
        put_out(_rendered_plan(planned, request.plan_count, written))
        return Status.DONE

    def outputs(planned: TablesPlan) -> ReleaseFiles:
        frame = planned.frame
        check_room(frame, free_memory())
        entries = frame.tree.n * sum(frame.domain.size_of(q) for q in frame.marginals)
        return release_outputs(
            written,
            "tables",
            tables_content,
            table_measurements_content,
            entries * (ROW_BYTES + 8 * len(frame.domain.attributes)),
            lambda made, left: _rendered(made, written, left),
        )

    with request.engine.source(people, folder_of(written.output)) as source:
        discreet.counts(
            source,
            guarantee,
            budget=ledger,
            dataset=dataset,
            budget_delta=request.budget_delta,
            keep_measurements=written.measurements is not None,
            outputs=outputs,
            **arguments,
        )
    return Status.DONE


def arguments_of(request: TablesRequest) -> dict[str, Any]:
    """Read the public files, and give arguments of ``discreet.counts``."""
    if request.domain is None:
        raise InvalidProblemError("--domain", "the file of all categories", "none")
    if request.region_list is None and request.regions is not None:
        raise InvalidProblemError("--region-list", "the regions that exist, public", "none")
    return {
        "regions": request.region_list,
        "columns": None if request.regions is None else request.regions.split(","),
        "domain": _read_json(request.domain),
        "by": request.by.split(","),
        "marginals": _lists(request.marginals),
        "shares": _lists(request.shares),
        "workload": request.workload,
        "workload_levels": request.workload_levels,
        "loss": request.loss,
        "levels": None if request.levels is None else request.levels.split(","),
        "person": request.person,
        "max_rows": request.max_rows,
        "exact_total": request.total,
        "root": request.root,
        "refuse_rows": request.refuse_rows,
    }


def _lists(text: str | None) -> Any:  # noqa: ANN401 - a list, or a list of lists
    """Read a list between commas, or one for each level between semicolons.

    Examples
    --------
    >>> _lists("total,sex"), _lists("total;total,sex"), _lists(None)
    (['total', 'sex'], [['total'], ['total', 'sex']], None)
    """
    if text is None:
        return None
    parts = [[word.strip() for word in part.split(",")] for part in text.split(";")]
    return parts[0] if len(parts) == 1 else parts


def _read_json(path: str) -> Any:  # noqa: ANN401 - read by the library
    try:
        data = stored_file(path).read_bytes()
    except OSError as error:
        got = f"{path}: {error.strerror}"
        raise InvalidProblemError("--domain", "a file that can be read", got) from None
    if len(data) > _LARGEST_LIST:
        raise InvalidProblemError("--domain", f"at most {_LARGEST_LIST} bytes", len(data))
    try:
        return json.loads(data, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise InvalidProblemError("--domain", "JSON", f"{path}: {error}") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a name that comes twice: the last one would win in silence."""
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        again = next(name for at, name in enumerate(names) if name in names[:at])
        message = f"{again!r} comes twice"
        raise ValueError(message)
    return dict(pairs)


def _check_files(request: TablesRequest) -> str:
    """Refuse files that cannot be read before anything is charged; give the private table."""
    if request.people is None:
        raise InvalidProblemError("PEOPLE", "a file with one row for each record", "none")
    alone = None if request.engine.is_large(request.people) else request.people
    for path, option in ((alone, "PEOPLE"), (request.region_list, "--region-list")):
        if path is not None:
            private = option == "PEOPLE"
            if not is_plain(path, request.engine.reading if private else None):
                # The library reads it whole before the charge, and refuses it then.
                continue
            mark = look(path, option, PUBLIC_SUFFIXES, whole=not private)
            refuse_unreadable(path, mark, option, row_by_row=private)
    return request.people


def _rendered_plan(planned: TablesPlan, count: int | None, written: CountsFiles) -> str:
    """Render what a release would do: public facts alone."""
    proved = planned.proved
    data = {
        "guarantee": {**planned.guarantee.to_dict(), "sentence": str(planned.guarantee)},
        "cost": planned.cost,
        "tables": planned.expected_rows(count),
        "noise": list(planned.noise),
        "proof": None if proved is None else proved._asdict(),
        "assumed_public": [asdict(one) for one in planned.assumed_public],
        "charged": False,
    }
    lines = [
        ("guarantee", str(planned.guarantee)),
        ("would cost", planned.cost),
        *(("plan", line) for line in planned.expected_lines(count)),
        *(("noise", line) for line in planned.noise),
        *(("proof", line) for line in planned.proof),
        *(("assumed public", f"{one.name}: {one.description}") for one in planned.assumed_public),
        ("charged", "nothing: this is a plan"),
    ]
    return rendered(data, facts(lines), as_json=written.as_json, command="counts")


def _rendered(
    outcome: Release[RegionTables],
    written: CountsFiles,
    left: tuple[Fraction, ...] | None,
) -> str:
    """Render what may be published, and nothing else."""
    frame, provenance = outcome.result.frame, outcome.provenance
    gaps = [
        {"level": one.level, "gap": one.gap, "lower": one.lower, "upper": one.upper}
        for one in outcome.result.gaps
    ]
    guarantee = outcome.guarantee
    data = {
        "guarantee": {**guarantee.to_dict(), "sentence": str(guarantee)},
        "method": provenance.method,
        "regions": frame.tree.n,
        "levels": frame.tree.depth + 1,
        "cells": frame.domain.size,
        "marginals": [frame.domain.name(q) for q in frame.marginals],
        "parameters": dict(provenance.parameters),
        "gaps": gaps,
        "assumed_public": provenance.to_dict()["assumed_public"],
        "certificate": outcome.certificate.to_dict(),
        "output": written.output,
        "measurements": written.measurements,
        "left": None if left is None else [str(amount) for amount in left],
        "charge": provenance.charge,
    }
    return rendered(
        data,
        facts(public_facts(outcome, left)),
        as_json=written.as_json,
        command="counts",
        certificate=outcome.certificate,
        verbose=written.verbose,
    )
