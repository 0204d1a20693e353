"""``risk``: the re-identification risk of a table, original or published."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.columns import (  # noqa: TC001 - Typer reads annotations at run time
    Categoricals,
    Numerics,
    Quasi,
    Sensitive,
    ShowColumns,
    Taxonomies,
)
from discreet.cli.files import check_outputs, write_page
from discreet.cli.microdata import names_of, pairs_of
from discreet.cli.options import (  # noqa: TC001 - Typer reads annotations at run time
    Json,
    Memory,
    Quiet,
    Report,
    RowThreads,
    Scheduler,
)
from discreet.cli.output import Status, emit, renamed_arguments, warn

__all__ = ["register", "risk"]

_EXAMPLES = """Examples:

```
discreet risk out.csv --quasi age,sex,zip --sensitive disease --against patients.csv

discreet risk out/ --quasi age,sex,zip --json

discreet risk people/ --quasi age,sex,zip --sensitive disease --scheduler tcp://127.0.0.1:8786
```
"""


def risk(
    table: Annotated[
        str,
        typer.Argument(
            metavar="TABLE", help="CSV or Parquet file, or a folder of them, original or published."
        ),
    ],
    *,
    quasi: Quasi,
    sensitive: Sensitive = None,
    original: Annotated[
        str | None,
        typer.Option("--against", metavar="FILE", help="The original table, to compare with."),
    ] = None,
    population: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="The people from whom the rows were drawn, for journalist and marketer. Default: the table.",
        ),
    ] = None,
    taxonomy: Taxonomies = None,
    numeric: Numerics = None,
    categorical: Categoricals = None,
    show_columns: ShowColumns = False,
    memory: Memory = None,
    threads: RowThreads = 1,
    scheduler: Scheduler = None,
    report: Report = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Tell the re-identification risk of a table: prosecutor, journalist and marketer risk, class sizes, k, l, t.

    The prosecutor knows that a person is in the table, the journalist does not, the marketer looks for as many as
    possible. l is the least number of different sensitive values in a class, t the greatest distance of the values of a
    class from those of the table. With --memory or --scheduler the rows are grouped piece by piece, and only counts are
    collected; groups are kept until the end in the folder of TABLE, which all workers see, for their owner alone.
    """
    from discreet.evaluate.risk import risk as measure_risk

    taxonomies = pairs_of(taxonomy, "--taxonomy")
    tables = [path for path in (table, original) if path and not Path(path).is_dir()]
    check_outputs({"--report": report}, *tables, population, *taxonomies.values())
    with renamed_arguments({"table": "TABLE", "quasi_identifiers": "--quasi"}):
        risks = measure_risk(
            table,
            names_of(quasi),
            sensitive=names_of(sensitive),
            against=original,
            population=population,
            taxonomy=taxonomies,
            numeric=names_of(numeric),
            categorical=names_of(categorical),
            show_columns=show_columns,
            memory=memory,
            threads=threads,
            scheduler=scheduler,
        )
    for warning in risks.warnings:
        warn(warning, quiet=quiet)
    if report is not None:
        from discreet.report import make_chapter

        chapter = make_chapter("risk", risks.risks, names=risks.quasi_identifiers)
        write_page([chapter], report, title="Who could be found", private=True)
    emit(risks.to_dict(), str(risks), as_json=as_json, command="risk")
    return Status.DONE


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog=_EXAMPLES)(risk)
