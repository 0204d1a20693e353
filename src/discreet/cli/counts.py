"""``counts``: publish counts by region and size. Options become a plan; the plan charges, then reads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.cli.calls import from_options
from discreet.cli.counting import (
    ROW_BYTES,
    CountsOptions,
    TableOptions,
    check_files,
    guarantee_of,
    open_rows,
    release_counts,
    release_outputs,
    render_counts,
    shared_arguments,
)
from discreet.cli.options import read_method
from discreet.cli.output import (
    Status,
    put_out,
    renamed_arguments,
    rendered_plan,
    warn,
    warn_of_weakness,
)
from discreet.cli.tables import publish_tables
from discreet.core.errors import InvalidProblemError
from discreet.hierarchy.methods import METHODS

if TYPE_CHECKING:
    from discreet.artefact import ReleaseFiles
    from discreet.core.outcome import Release, Unproven
    from discreet.hierarchy import Plan, RegionCounts

__all__ = ["counts"]

_SAME = "by domain loss marginals person quantity shares size workload"
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

_COUNTS_EXAMPLES = """Examples:

```
discreet counts people.csv --unit household --regions state,county --region-list regions.csv --max-size 1000
    --epsilon 1 --neighbors add-remove-person -o out.parquet

discreet counts people.csv --regions state,county --region-list regions.csv --by sex,age_band --domain domain.json
    --marginals total,sex,age_band,sex:age_band --rho 1 --neighbors add-remove-person --measurements kept.parquet
    -o tables.parquet

discreet counts people.csv --regions state,county --region-list regions.csv --by sex,age_band --domain domain.json
    --workload "sex, age_band, sex:age_band; cells=0.2" --workload-levels 1,2,2 --rho 1 --neighbors add-remove-person
    --plan

discreet counts people/ --unit household --regions state,county --region-list regions.csv --max-size 100 --epsilon 1
    --neighbors add-remove-person --scheduler tcp://127.0.0.1:8786 -o counts.parquet

discreet counts --units units.csv --public-units units.csv --size size --regions state,county --max-size 1000
    --epsilon 0.1 --neighbors add-remove-person --measurements nm.parquet -o out.csv
```
"""


@from_options(
    CountsOptions,
    examples=_COUNTS_EXAMPLES,
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
        return publish_tables(options)


def _publish_sizes(options: CountsOptions) -> Status:
    """Publish counts of units by size."""
    from discreet.artefact.counts import counts_content, measurements_content

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
        put_out(_rendered_plan(options, arguments))
        return Status.DONE
    plans: list[Plan] = []

    def outputs(planned: Plan) -> ReleaseFiles:
        plans.append(planned)
        if planned.method.kind == "sorted" and options.measurements is not None:
            named = METHODS.name_of(planned.method)
            raise InvalidProblemError("--measurements", "a method that measures counts", named)
        size = planned.frame.tree.n * planned.frame.n_sizes * ROW_BYTES
        contents = (counts_content, measurements_content)
        return release_outputs(
            options, "hierarchy", contents, size, _size_facts, frame=planned.frame
        )

    with open_rows(options) as source:
        if unproven:
            _reproduce(source, options, arguments)
            return Status.DONE
        made = release_counts(source, options, arguments, outputs)
        if options.diagnostics:
            _warn_of_errors(plans[0].diagnose(source, made))
    return Status.DONE


def _rendered_plan(options: CountsOptions, arguments: dict[str, Any]) -> str:
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
    """Refuse options of tables, and a table of the other kind than its columns."""
    options.refuse(options.of(TableOptions), "none without --by")
    if options.max_size is None:
        expected = "the largest size that has a count of its own"
        raise InvalidProblemError("--max-size", expected, "none")
    if not options.regions:
        raise InvalidProblemError("--regions", "the columns of the region path", "none")
    if (options.people is None) == (options.units is None):
        got = "neither" if options.units is None else "both"
        raise InvalidProblemError("PEOPLE", "a file here, or with --units", got)
    if options.people is not None and options.unit is None:
        raise InvalidProblemError("--unit", "the column of the unit of each person", "none")
    if options.units is not None and options.size is None:
        raise InvalidProblemError("--size", "the column of sizes in --units", "none")
    misfits = ("quantity", "person") if options.people is None else ("size",)
    options.refuse(misfits, "no such column with this kind of table")


def _size_facts(made: Release[RegionCounts] | Unproven[RegionCounts]) -> dict[str, Any]:
    """Return the sizes and units of released counts for JSON."""
    frame = made.result.frame
    return {"sizes": [frame.first_size, frame.max_size], "units": frame.units}


def _reproduce(source: Any, options: CountsOptions, arguments: dict[str, Any]) -> None:  # noqa: ANN401 - rows of a file
    """Count without a guarantee; write and print, with no record beside the counts.

    `arguments` are those of :func:`discreet.hierarchy.plan` by the reading's kind; method and leaves are taken out.
    """
    from discreet import hierarchy
    from discreet.artefact.placing import replace_file
    from discreet.tables.writing import bytes_of

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
