"""``anonymize`` and ``risk``: generalize a table as little as possible, and tell how easily people are found in one."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli.curating import Asked, Curated, run_anonymize, run_risk
from discreet.cli.demands import demanded
from discreet.cli.microdata import Kinds
from discreet.cli.options import Json, Quiet, Report  # noqa: TC001 - Typer reads annotations at run time

__all__ = ["Categoricals", "Numerics", "Taxonomies", "anonymize", "register", "risk"]

_WHAT = "What is promised"
_COLUMNS = "Columns"
_HOW = "How"

_EXAMPLES = """Examples:

```
discreet anonymize patients.csv -k 5 --quasi age,sex,zip --sensitive disease --taxonomy zip=zip.csv --weight age=2
    -o out.csv

discreet anonymize patients.csv -k 5 --quasi age,sex,zip --sensitive disease --l-diversity 3 --alpha 0.5 -o out.csv

discreet anonymize fars.csv -k 3 --quasi AGE,SEX,INJ_SEV,DRINKING --method optimal -o out.csv --json

discreet verify out.csv --against patients.csv
```
"""

_RISK_EXAMPLES = """Examples:

```
discreet risk out.csv --quasi age,sex,zip --sensitive disease --original patients.csv

discreet risk out.csv --quasi age,sex,zip --json
```
"""

Quasi = Annotated[
    list[str],
    typer.Option(
        metavar="A,B,...",
        help="Columns that somebody may know of a person.",
        rich_help_panel=_WHAT,
    ),
]
Sensitive = Annotated[
    list[str] | None,
    typer.Option(
        metavar="A,B,...",
        help="Columns that nobody should learn: left as they are, and l and t are told.",
        rich_help_panel=_WHAT,
    ),
]
Taxonomies = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=FILE",
        help="A taxonomy in ARX's column format: each value, then what stands for it level by level. Again for each.",
        rich_help_panel=_COLUMNS,
    ),
]
Numerics = Annotated[
    list[str] | None,
    typer.Option(
        metavar="A,B,...",
        help="Columns to publish as intervals; columns of numbers are by default.",
        rich_help_panel=_COLUMNS,
    ),
]
Categoricals = Annotated[
    list[str] | None,
    typer.Option(
        metavar="A,B,...", help="Columns to publish as sets of values.", rich_help_panel=_COLUMNS
    ),
]


def anonymize(
    table: Annotated[
        str,
        typer.Argument(metavar="TABLE", help="CSV or Parquet file, one row for each person."),
    ],
    *,
    k: Annotated[
        int,
        typer.Option(
            "-k", help="Rows that must look alike, 2 or more. No default.", rich_help_panel=_WHAT
        ),
    ],
    quasi: Quasi,
    sensitive: Sensitive = None,
    suppress: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            help="Most rows that may be left out, as a share.",
            rich_help_panel=_WHAT,
        ),
    ] = 0.0,
    keep_suppressed: Annotated[
        bool,
        typer.Option(
            "--keep-suppressed",
            help="Write suppressed rows as * in all of --quasi, if there are k of them or more.",
            rich_help_panel=_WHAT,
        ),
    ] = False,
    l_diversity: Annotated[
        int | None,
        typer.Option(
            "--l-diversity",
            metavar="L",
            help="Different values that each class must have in each column of --sensitive.",
            rich_help_panel=_WHAT,
        ),
    ] = None,
    alpha: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE",
            help="Largest share of a class that one value of --sensitive may have: (alpha, k)-anonymity.",
            rich_help_panel=_WHAT,
        ),
    ] = None,
    require: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=MODEL",
            help="What classes must hold in a column: distinct:L, entropy:L, recursive:C,L or alpha:A. Again for each.",
            rich_help_panel=_WHAT,
        ),
    ] = None,
    person: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Tells persons apart: each class then has k persons. The column is not written.",
            rich_help_panel=_WHAT,
        ),
    ] = None,
    taxonomy: Taxonomies = None,
    numeric: Numerics = None,
    categorical: Categoricals = None,
    weight: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=W",
            help="What a wholly generalized cell costs; 1 unless told.",
            rich_help_panel=_COLUMNS,
        ),
    ] = None,
    bounds: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=LOW:HIGH",
            help="Range of a numeric column; that of the table unless told.",
            rich_help_panel=_COLUMNS,
        ),
    ] = None,
    loss: Annotated[
        str,
        typer.Option(
            help="What is made small: ncp, taxonomy, range, ncp-printed, arx-loss or one-hot.",
            rich_help_panel=_HOW,
        ),
    ] = "ncp",
    method: Annotated[
        str | None,
        typer.Option(
            help="Name of the method; several in turn unless told. `optimal` must be proved.",
            rich_help_panel=_HOW,
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Stop the search then.", rich_help_panel=_HOW),
    ] = None,
    gap: Annotated[
        float | None,
        typer.Option(help="Relative gap to prove, or status 4.", rich_help_panel=_HOW),
    ] = None,
    threads: Annotated[int, typer.Option(help="Threads of the search.", rich_help_panel=_HOW)] = 1,
    stream: Annotated[
        bool,
        typer.Option(
            "--stream",
            help="For a table larger than memory: in parts, on as many processes as --threads says.",
            rich_help_panel=_HOW,
        ),
    ] = False,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="CSV or Parquet file to write."),
    ] = None,
    report: Report = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Generalize the cells of a table as little as possible, so that k rows or more look alike.

    The file that is written has the same columns. Its rows are shuffled; sets are printed as sets. Beside it stands
    FILE.discreet.json, which holds the guarantee. What is printed here is computed from the original and is for the
    curator. k-anonymity is no differential privacy: rows that look alike may share what nobody should learn, unless
    --l-diversity, --alpha or --require forbids it.
    """
    kinds = Kinds(numeric or (), categorical or (), taxonomy or (), weight or (), bounds or ())
    asked = Asked(
        k,
        quasi,
        sensitive or (),
        kinds,
        loss,
        method,
        time_limit,
        gap,
        suppress,
        keep_suppressed,
        threads,
        stream,
        (*demanded(sensitive, l_diversity, alpha), *(require or ())),
        person,
    )
    return run_anonymize(table, asked, Curated(output, report, as_json, quiet))


def risk(
    table: Annotated[
        str, typer.Argument(metavar="TABLE", help="CSV or Parquet file, original or published.")
    ],
    *,
    quasi: Quasi,
    sensitive: Sensitive = None,
    original: Annotated[
        str | None,
        typer.Option(
            "--original", "--against", metavar="FILE", help="The table before, to compare with."
        ),
    ] = None,
    population: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="The people from whom the rows were drawn, for journalist and marketer; the table itself unless told.",
        ),
    ] = None,
    taxonomy: Taxonomies = None,
    numeric: Numerics = None,
    categorical: Categoricals = None,
    report: Report = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Tell how likely people are found in a table: prosecutor, journalist and marketer risk, class sizes, k, l, t.

    The prosecutor knows that a person is in the table, the journalist does not, the marketer looks for as many as
    possible. l is the least number of different sensitive values in a class, t the greatest distance of the values of a
    class from those of the table.
    """
    kinds = Kinds(numeric or (), categorical or (), taxonomy or ())
    return run_risk(
        table,
        quasi,
        sensitive or (),
        original=original,
        population=population,
        kinds=kinds,
        report=report,
        as_json=as_json,
        quiet=quiet,
    )


def register(app: typer.Typer) -> None:
    """Add the commands of this group."""
    app.command(epilog=_EXAMPLES)(anonymize)
    app.command(epilog=_RISK_EXAMPLES)(risk)
