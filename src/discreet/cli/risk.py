"""``risk``: the re-identification risk of a table, original or published."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.cli.calls import TypedOption, from_call
from discreet.cli.columns import COLUMNS
from discreet.cli.files import check_outputs, write_page
from discreet.cli.microdata import names_of, pairs_of
from discreet.cli.options import (
    HOW,
    PROMISED,
    Json,
    Quiet,
    Report,
)
from discreet.cli.output import Status, emit, renamed_arguments, warn
from discreet.cli.reading_options import SHOWN
from discreet.evaluate.risk import risk as measure_risk

if TYPE_CHECKING:
    import typer

__all__ = ["register", "risk"]

_EXAMPLES = """Examples:

```
discreet risk out.csv --quasi age,sex,zip --sensitive disease --against patients.csv

discreet risk out/ --quasi age,sex,zip --json

discreet risk people/ --quasi age,sex,zip --sensitive disease --scheduler tcp://127.0.0.1:8786
```
"""


def _taxonomies(typed: list[str]) -> dict[str, str]:
    return pairs_of(typed, "--taxonomy")


_SHOWN = {
    "table": TypedOption("TABLE"),
    "quasi_identifiers": TypedOption(
        "A,B,...", PROMISED, flag="--quasi", repeated=True, read=names_of
    ),
    "sensitive": TypedOption("A,B,...", PROMISED, repeated=True, read=names_of),
    "against": TypedOption("FILE"),
    "population": TypedOption("FILE"),
    "person": TypedOption("COLUMN", PROMISED),
    "weights": TypedOption("COLUMN", PROMISED),
    "taxonomy": TypedOption("NAME=FILE", COLUMNS, repeated=True, read=_taxonomies),
    "numeric": TypedOption("A,B,...", COLUMNS, repeated=True, read=names_of),
    "categorical": TypedOption("A,B,...", COLUMNS, repeated=True, read=names_of),
    **SHOWN,
    "show_columns": TypedOption(panel=COLUMNS),
    "memory": TypedOption("SIZE", HOW),
    "threads": TypedOption(panel=HOW),
    "scheduler": TypedOption("ADDRESS", HOW),
}


@from_call(measure_risk, _SHOWN)
def risk(
    given: dict[str, Any],
    *,
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
    read = [given.get(name) for name in ("table", "against", "population")]
    files = [path for path in read if path and not Path(path).is_dir()]
    check_outputs({"--report": report}, *files, *given.get("taxonomy", {}).values())
    with renamed_arguments({"table": "TABLE", "quasi_identifiers": "--quasi"}):
        risks = measure_risk(**given)
    for warning in risks.warnings:
        warn(warning, quiet=quiet)
    if report is not None:
        from discreet.report import make_chapter

        causes = [] if risks.sources is None else risks.sources.in_words()
        names = risks.quasi_identifiers
        chapter = make_chapter("risk", risks.risks, names=names, causes=causes)
        write_page([chapter], report, title="Who could be found", private=True)
    emit(risks.to_dict(), str(risks), as_json=as_json, command="risk")
    return Status.DONE


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog=_EXAMPLES)(risk)
