"""``counts --by``: publish tables of attributes by region. Options become a plan; the plan charges, then reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.cli.counting import (
    ROW_BYTES,
    check_files,
    guarantee_of,
    open_rows,
    release_counts,
    release_outputs,
    shared_arguments,
)
from discreet.cli.output import Status, put_out, rendered_plan, warn_of_weakness
from discreet.core.errors import InvalidProblemError
from discreet.hierarchy.contingency.workload import read_lists, unrepeated
from discreet.hierarchy.regions import bare_names
from discreet.tables.dialect import stored_file
from discreet.tables.options import split_names
from discreet.tables.parsing import free_memory
from discreet.tables.writing import bytes_of

if TYPE_CHECKING:
    from discreet.artefact import ReleaseFiles
    from discreet.cli.counting import CountsOptions
    from discreet.core.outcome import Release
    from discreet.hierarchy.contingency import RegionTables, TablesPlan

__all__ = ["publish_tables"]

_MAX_DOMAIN_BYTES = 1 << 26
"""Bytes of a file that lists categories, at most."""


def publish_tables(options: CountsOptions) -> Status:
    """Check files and options, plan, release and write; the plan charges the ledger before it reads a value."""
    from discreet.artefact.counts import counts_content, measurements_content
    from discreet.artefact.outputs import PAGE_BYTES
    from discreet.artefact.sidecar import FileContent
    from discreet.hierarchy.contingency.estimates import check_room
    from discreet.hierarchy.contingency.result import NO_PEOPLE, refuse_many_rows

    guarantee = guarantee_of(options)
    if options.people is None:
        raise InvalidProblemError("PEOPLE", "a file with one row for each record", "none")
    check_files(options)
    if options.output is None and (options.microdata or options.reliability) and not options.plan:
        expected = "the published table besides --microdata or --reliability"
        raise InvalidProblemError("--output", expected, "none")
    if options.domain is None:
        raise InvalidProblemError("--domain", "the file of all categories", "none")
    if options.region_list is None and options.regions:
        raise InvalidProblemError("--region-list", "the regions that exist, public", "none")
    arguments: dict[str, Any] = {
        "domain": _read_json(options.domain),
        "by": split_names(options.by or ""),
        "marginals": read_lists(options.marginals),
        "shares": read_lists(options.shares),
        "workload": options.workload,
        "workload_levels": options.workload_levels,
        "loss": options.loss,
        "max_rows": options.max_rows,
        "exact_total": options.exact_total,
    }
    warn_of_weakness(guarantee, quiet=options.quiet)
    if options.plan:
        from discreet.hierarchy import contingency

        arguments["total"] = arguments.pop("exact_total")
        planned = contingency.plan(
            options.region_list,
            guarantee,
            **shared_arguments(options),
            **arguments,
        )
        check_room(planned.frame, free_memory())
        with open_rows(options) as source:
            planned.check(source)
        put_out(_rendered_plan(planned, options))
        return Status.DONE

    def rows(made: Release[RegionTables]) -> FileContent:
        table = made.result.to_rows(bare_names(options.regions))
        return FileContent(bytes_of(table, Path(options.microdata or "").suffix))

    def marks(made: Release[RegionTables]) -> FileContent:
        table = made.result.to_reliability(guarantee)
        return FileContent(bytes_of(table, Path(options.reliability or "").suffix))

    def facts_of(made: Release[RegionTables]) -> dict[str, Any]:
        return _table_facts(made) | {"microdata": options.microdata and NO_PEOPLE}

    def outputs(planned: TablesPlan) -> ReleaseFiles:
        frame = planned.frame
        check_room(frame, free_memory())
        # Where the total is not public, too many rows are known after the charge alone; then only they are missing.
        refuse_many_rows((frame.total or 0) if options.microdata else 0, "--microdata")
        entries = frame.tree.n * sum(frame.domain.size_of(q) for q in frame.marginals)
        size = entries * (ROW_BYTES + 8 * len(frame.domain.attributes))
        contents = (counts_content, measurements_content)
        extra_files = {
            "--microdata": (options.microdata, rows, PAGE_BYTES),
            "--reliability": (options.reliability, marks, size),
        }
        return release_outputs(
            options,
            "tables",
            contents,
            size,
            facts_of,
            frame=frame,
            extra_files=extra_files,
        )

    with open_rows(options) as source:
        release_counts(source, options, arguments, outputs)
    return Status.DONE


def _table_facts(made: Release[RegionTables]) -> dict[str, Any]:
    """Return the facts of released tables for JSON: cells, marginals and gaps."""
    domain = made.result.frame.domain
    gaps = [
        {"level": one.level, "gap": one.gap, "lower": one.lower, "upper": one.upper}
        for one in made.result.gaps
    ]
    marginals = [domain.name(q) for q in made.result.frame.marginals]
    return {"cells": domain.size, "marginals": marginals, "gaps": gaps}


def _read_json(path: str) -> Any:  # noqa: ANN401 - read by the library
    """Read a file of JSON up to a size; refuse another, or one in which a key comes twice."""
    try:
        data = stored_file(path).read_bytes()
    except OSError as error:
        got = f"{path}: {error.strerror}"
        raise InvalidProblemError("--domain", "a file that can be read", got) from None
    if len(data) > _MAX_DOMAIN_BYTES:
        raise InvalidProblemError("--domain", f"at most {_MAX_DOMAIN_BYTES} bytes", len(data))
    try:
        return json.loads(data, object_pairs_hook=unrepeated)
    except (ValueError, RecursionError) as error:
        raise InvalidProblemError("--domain", "JSON", f"{path}: {error}") from None


def _rendered_plan(planned: TablesPlan, options: CountsOptions) -> str:
    """Render what a release of tables would do and cost, as text or JSON."""
    proved, count = planned.proved, options.plan_count
    stated = {
        "cost": planned.cost,
        "tables": planned.expected_rows(count),
        "noise": list(planned.noise),
        "proof": None if proved is None else proved._asdict(),
    }
    lines = [
        ("would cost", planned.cost),
        *(("plan", line) for line in planned.expected_lines(count)),
        *(("noise", line) for line in planned.noise),
        *(("proof", line) for line in planned.proof),
    ]
    return rendered_plan("counts", options, planned, stated, lines)
