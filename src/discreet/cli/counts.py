"""``counts``: publish counts by region and size, or with ``--by`` tables. The plan charges, then reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.cli.calls import from_options
from discreet.cli.counting import (
    CountsOptions,
    TableOptions,
    bytes_of_rows,
    check_files,
    guarantee_of,
    open_rows,
    release_counts,
    release_outputs,
    render_counts,
    shared_arguments,
)
from discreet.cli.options import read_method, require_one
from discreet.cli.output import (
    Status,
    put_out,
    renamed_arguments,
    rendered_plan,
    warn,
    warn_of_weakness,
)
from discreet.core.errors import InvalidProblemError
from discreet.hierarchy.contingency.workload import read_lists, unrepeated
from discreet.hierarchy.methods import METHODS
from discreet.hierarchy.regions import bare_names
from discreet.tables.dialect import stored_file
from discreet.tables.options import split_names
from discreet.tables.parsing import free_memory
from discreet.tables.writing import bytes_of

if TYPE_CHECKING:
    from discreet.artefact import ReleaseFiles
    from discreet.core.outcome import Release, Unproven
    from discreet.hierarchy import Plan, RegionCounts
    from discreet.hierarchy.contingency import RegionTables, TablesPlan


_MAX_DOMAIN_BYTES = 1 << 26
"""Bytes of a file that lists categories, at most."""


def _publish_tables(options: CountsOptions) -> Status:
    """Check files and options, plan, release and write, or with ``--plan`` only print the plan; return the exit status.

    The plan charges the ledger before it reads a value. InvalidProblemError and BudgetError before, ChargedError
    after it.
    """
    from discreet.artefact.outputs import PAGE_BYTES
    from discreet.artefact.sidecar import FileContent
    from discreet.hierarchy.contingency.result import NO_PEOPLE

    guarantee = guarantee_of(options)
    if options.people is None:
        raise InvalidProblemError("PEOPLE", "a file with one row for each record", "none")
    check_files(options)
    _check_outputs(options)
    if options.domain is None:
        raise InvalidProblemError("--domain", "a JSON file of all categories", "none")
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
        "groups": options.groups,
        "shrink": options.shrink,
        "max_rows": options.max_rows,
        "exact_total": options.exact_total,
    }
    warn_of_weakness(guarantee, quiet=options.quiet)
    if options.plan:
        from discreet.hierarchy import contingency

        arguments["total"] = arguments.pop("exact_total")
        arguments.update(shared_arguments(options))
        planned = contingency.plan(options.region_list, guarantee, **arguments)
        _check_results(planned, options)
        with open_rows(options) as source:
            planned.check(source)
        put_out(_rendered_plan(planned, options))
        return Status.DONE

    def content(table: Any, path: str | None) -> FileContent:  # noqa: ANN401 - of Polars
        return FileContent(bytes_of(table, Path(path or "").suffix))

    def rows(made: Release[RegionTables]) -> FileContent:
        return content(made.result.to_rows(bare_names(options.regions)), options.microdata)

    def marks(made: Release[RegionTables]) -> FileContent:
        return content(made.result.to_reliability(guarantee), options.reliability)

    def facts_of(made: Release[RegionTables]) -> dict[str, Any]:
        return _table_facts(made) | {"microdata": options.microdata and NO_PEOPLE}

    def outputs(planned: TablesPlan) -> ReleaseFiles:
        frame = planned.frame
        _check_results(planned, options)
        entries = frame.tree.n * sum(frame.domain.size_of(q) for q in frame.marginals)
        size = bytes_of_rows(entries, len(frame.domain.attributes))
        extra_files = {
            "--microdata": (options.microdata, rows, PAGE_BYTES),
            "--reliability": (options.reliability, marks, size),
        }
        return release_outputs(
            options,
            "tables",
            size,
            facts_of,
            frame=frame,
            extra_files=extra_files,
        )

    with open_rows(options) as source:
        release_counts(source, options, arguments, outputs)
    return Status.DONE


def _table_facts(made: Release[RegionTables]) -> dict[str, Any]:
    """Return ``cells`` (of a region), ``marginals`` (names) and ``gaps`` (level, gap, lower, upper) for JSON.

    A gap says how near a level is to the best tables, where that was proved.
    """
    domain = made.result.frame.domain
    gaps = [
        {"level": one.level, "gap": one.gap, "lower": one.lower, "upper": one.upper}
        for one in made.result.gaps
    ]
    marginals = [domain.name(q) for q in made.result.frame.marginals]
    return {"cells": domain.size, "marginals": marginals, "gaps": gaps}


def _check_results(planned: TablesPlan, options: CountsOptions) -> None:
    """Refuse, before a charge, tables larger than the free memory, and rows that these tables cannot be written as."""
    from discreet.hierarchy.contingency.estimates import check_room
    from discreet.hierarchy.contingency.result import refuse_reliability

    check_room(planned.frame, free_memory())
    if options.microdata:
        planned.check_rows()
    if options.reliability:
        refuse_reliability(planned.shrink)


def _check_outputs(options: CountsOptions) -> None:
    """Refuse further outputs without the table."""
    if options.output is None and (options.microdata or options.reliability) and not options.plan:
        expected = "the published table besides --microdata or --reliability"
        raise InvalidProblemError("--output", expected, "none")


def _read_json(path: str) -> Any:  # noqa: ANN401 - read by the library
    """Return the JSON of a file of at most 64 MiB; InvalidProblemError for another, or a key that comes twice."""
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
    """Render what a release of tables would do and cost, as text or JSON.

    Public facts and expected standard errors; with ``--plan-count`` also coefficients of variation of such a count.
    """
    proved, count = planned.proved, options.plan_count
    stated = {
        "cost": planned.cost,
        "tables": planned.expected_rows(count),
        "noise": list(planned.noise),
        "whole_tables": list(planned.shrunk),
        "proof": None if proved is None else proved._asdict(),
    }
    lines = [
        ("would cost", planned.cost),
        *(("plan", line) for line in planned.expected_lines(count)),
        *(("noise", line) for line in planned.noise),
        *(("proof", line) for line in planned.proof),
        *(("whole tables", line) for line in planned.shrunk),
    ]
    return rendered_plan("counts", options, planned, stated, lines)


_SAME = "by domain groups loss marginals person quantity reliability shares shrink size workload"
"""Arguments of the library whose option has the same name here, and not in all commands."""

_OPTIONS = {
    **{name: f"--{name}" for name in _SAME.split()},
    "columns": "--regions",
    "count": "--plan-count",
    "exact_total": "--exact-total",
    "folder": "--output",
    "max_rows": "--max-rows",
    "outputs": "--output",
    "regions": "--region-list",
    "rows": "--microdata",
    "source": "PEOPLE",
    "target": "--output",
    "total": "--exact-total",
    "workload_levels": "--workload-levels",
}
"""Argument of the library -> option, where another command means something else by it."""

_OF_UNITS = (
    *("unit", "units", "size", "quantity", "public_units", "max_size"),
    *("method", "diagnostics", "accept_no_guarantee", "leaves_inherit"),
)
"""Options of units by size."""

_EXAMPLES = (
    (
        "discreet counts people.csv --unit household --regions state,county --region-list regions.csv --max-size 1000\n"
        "    --epsilon 1 --neighbors add-remove-person -o out.parquet"
    ),
    (
        "discreet counts people.csv --regions state,county --region-list regions.csv --by sex,age_band\n"
        "    --domain domain.json --marginals total,sex,age_band,sex:age_band --rho 1 --neighbors add-remove-person\n"
        "    --measurements kept.parquet -o tables.parquet"
    ),
    (
        "discreet counts people.csv --regions state,county --region-list regions.csv --by sex,age_band\n"
        '    --domain domain.json --workload "sex, age_band, sex:age_band; cells=0.2" --workload-levels 1,2,2 --rho 1\n'
        "    --neighbors add-remove-person --plan"
    ),
    (
        "discreet counts people/ --unit household --regions state,county --region-list regions.csv --max-size 100\n"
        "    --epsilon 1 --neighbors add-remove-person --scheduler tcp://127.0.0.1:8786 -o counts.parquet"
    ),
    (
        "discreet counts --units units.csv --public-units units.csv --size size --regions state,county\n"
        "    --max-size 1000 --epsilon 0.1 --neighbors add-remove-person --measurements nm.parquet -o out.csv"
    ),
)


@from_options(
    CountsOptions,
    examples=_EXAMPLES,
    first=("people", "unit", "regions", "region_list", "max_size", "epsilon", "by", "output"),
)
def counts(options: CountsOptions) -> Status:
    """Publish how many units of each size every region has: whole numbers that add up, differentially private.

    The table has the columns level, region, size and count; level 1 is the root. FILE.discreet.json beside it says what
    is guaranteed. With --by it publishes how many people of each category every region has instead, for several
    marginals at once, and columns are level, region, marginal, the attributes and count. With --memory or --scheduler
    rows are counted piece by piece, and the noise is drawn here, once. No value of a row of PEOPLE or
    --units is refused: rows outside of the public lists are left out, and standard error has their number.
    """
    with renamed_arguments(_OPTIONS):
        if options.by is None:
            return _publish_sizes(options)
        options.refuse(_OF_UNITS, "none with --by, which counts people")
        return _publish_tables(options)


def _publish_sizes(options: CountsOptions) -> Status:
    """Publish counts of units by size, or print a plan, or counts without a guarantee; return the exit status.

    InvalidProblemError and BudgetError before the charge, ChargedError after it. ``--diagnostics`` reads the rows
    again.
    """
    _check_options(options)
    guarantee = guarantee_of(options)
    warn_of_weakness(guarantee, quiet=options.quiet)
    check_files(options)
    unproven = options.accept_no_guarantee
    if unproven and (options.measurements or options.report):
        expected = "none for what has no guarantee"
        raise InvalidProblemError("--measurements, --report", expected, "one")
    if unproven and options.ledger is not None:
        raise InvalidProblemError("--ledger", "no ledger for what has no guarantee", options.ledger)
    arguments: dict[str, Any] = {
        "method": read_method(METHODS, options.method, accept_no_guarantee=unproven),
        "unit": options.unit,
        "max_size": options.max_size,
        "max_quantity": options.max_quantity,
        "public_units": options.public_units,
        "leaves_inherit": options.leaves_inherit,
        **({"quantity": options.quantity} if options.people else {"size": options.size}),
    }
    if options.plan:
        put_out(_rendered_size_plan(options, arguments))
        return Status.DONE
    plans: list[Plan] = []

    def outputs(planned: Plan) -> ReleaseFiles:
        plans.append(planned)
        if planned.method.kind == "sorted" and options.measurements is not None:
            named = METHODS.name_of(planned.method)
            raise InvalidProblemError("--measurements", "a method that measures counts", named)
        size = bytes_of_rows(planned.frame.tree.n * planned.frame.n_sizes)
        return release_outputs(options, "hierarchy", size, _size_facts, frame=planned.frame)

    with open_rows(options) as source:
        if unproven:
            _reproduce(source, options, arguments)
            return Status.DONE
        made = release_counts(source, options, arguments, outputs)
        if options.diagnostics:
            _warn_of_errors(plans[0].diagnose(source, made))
    return Status.DONE


def _rendered_size_plan(options: CountsOptions, arguments: dict[str, Any]) -> str:
    """Check the names and the shape of the rows, and render what a release would do and cost, as text or JSON.

    `arguments` are those of :func:`discreet.hierarchy.plan` by the reading's kind. Without a guarantee it is refused.
    """
    from discreet import hierarchy
    from discreet.hierarchy.expected import expected_lines, expected_rows

    if options.accept_no_guarantee:
        raise InvalidProblemError("--plan", "none with --accept-no-guarantee", "both")
    shared = shared_arguments(options)
    planned = hierarchy.plan(options.region_list, guarantee_of(options), **shared, **arguments)
    with open_rows(options) as source:
        planned.check(source)
    rows = expected_rows(planned, options.plan_count)
    stated = {"cost": planned.cost, "method": planned.method_name, "tables": rows}
    lines = [
        ("would cost", planned.cost),
        ("method", f"{planned.method_name}, {planned.why}"),
        *(("plan", line) for line in expected_lines(rows, options.plan_count)),
        *(("noise", f"level {at}: {line}") for at, line in enumerate(planned.noise, start=1)),
    ]
    return rendered_plan("counts", options, planned, stated, lines)


def _check_options(options: CountsOptions) -> None:
    """Raise InvalidProblemError for options of tables, missing ones, and a table of the other kind than its columns."""
    options.refuse(options.of(TableOptions), "none without --by")
    if options.max_size is None:
        expected = "the largest size that has a count of its own"
        raise InvalidProblemError("--max-size", expected, "none")
    if not options.regions:
        raise InvalidProblemError("--regions", "columns such as state,county", "none")
    require_one("PEOPLE", "a file here, or with --units", options.people, options.units)
    if options.people is not None and options.unit is None:
        raise InvalidProblemError("--unit", "a column such as household", "none")
    if options.units is not None and options.size is None:
        raise InvalidProblemError("--size", "the column of sizes in --units", "none")
    misfits = ("quantity", "person") if options.people is None else ("size",)
    options.refuse(misfits, "no such column with this kind of table")


def _size_facts(made: Release[RegionCounts] | Unproven[RegionCounts]) -> dict[str, Any]:
    """Return the sizes and units of released counts for JSON."""
    frame = made.result.frame
    return {"sizes": [frame.first_size, frame.max_size], "units": frame.units}


def _reproduce(source: Any, options: CountsOptions, arguments: dict[str, Any]) -> None:  # noqa: ANN401 - rows of a file
    """Count and add noise without a guarantee; write the counts without a record, and print them with a warning.

    `arguments` are those of :func:`discreet.hierarchy.plan` by the reading's kind; method and leaves are taken out.
    Charges nothing; the result must not be published.
    """
    from discreet import hierarchy
    from discreet.artefact.placing import replace_file

    shared = shared_arguments(options)
    parts = {"levels": shared["levels"], "leaves_inherit": arguments.pop("leaves_inherit")}
    method = arguments.pop("method") or "m-c-dp"
    arguments |= {"columns": shared["columns"], "root": options.root}
    if options.people:
        arguments["person"] = options.person
    read = hierarchy.from_records if options.people else hierarchy.from_units
    counted = read(source, regions=options.region_list, **arguments)
    outcome = hierarchy.reproduce(counted, guarantee_of(options), method=method, **parts)
    warn(f"NOT PRIVATE, must not be published: {outcome.reason}")
    if options.output is None:
        warn("nothing was written: no --output", quiet=options.quiet)
    else:
        path, table = Path(options.output), outcome.result.to_frame("polars")
        replace_file(path, bytes_of(table, path.suffix.lower()))
    put_out(render_counts(outcome, options, None, _size_facts(outcome)))
    if options.diagnostics:
        _warn_of_errors(hierarchy.diagnose(counted, outcome))


def _warn_of_errors(diagnosed: Any) -> None:  # noqa: ANN401 - a Diagnosis
    """Print the true errors of published counts to standard error, marked as private."""
    errors = ", ".join(f"{name} {value}" for name, value in diagnosed.to_dict().items())
    warn(f"PRIVATE, for the curator only: {errors}")
