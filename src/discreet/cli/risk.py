"""``risk``: the re-identification risk of a table, original or published."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, final

from discreet.cli.calls import from_call
from discreet.cli.columns import SHOWN, pairs_of
from discreet.cli.files import check_outputs, write_page
from discreet.cli.options import (
    HOW,
    PROMISED,
    HelpAllOption,
    QuietResultOptions,
    names_of,
)
from discreet.cli.output import Status, emit, renamed_arguments, warn
from discreet.core.option_groups import Option
from discreet.evaluate.risk import risk as measure_risk
from discreet.tables.option_groups import COLUMNS

_EXAMPLES = (
    "discreet risk out.csv --quasi age,sex,zip --sensitive disease --against patients.csv",
    "discreet risk out/ --quasi age,sex,zip --json",
    "discreet risk people/ --quasi age,sex,zip --sensitive disease --scheduler tcp://127.0.0.1:8786",
)


_NAMES = Option("A,B,...", COLUMNS, repeated=True, read=names_of)

_SHOWN = {
    "table": Option("TABLE"),
    "quasi_identifiers": replace(_NAMES, panel=PROMISED, flags=("--quasi",)),
    "sensitive": replace(_NAMES, panel=PROMISED),
    **dict.fromkeys(("against", "population"), Option("FILE")),
    "taxonomy": Option(
        "NAME=FILE", COLUMNS, repeated=True, read=partial(pairs_of, option="--taxonomy")
    ),
    **dict.fromkeys(("numeric", "categorical"), _NAMES),
    **SHOWN,
    "show_columns": Option(panel=COLUMNS),
    "memory": Option("SIZE", HOW),
    "threads": Option(panel=HOW),
    "scheduler": Option("ADDRESS", HOW),
}


@final
class RiskOptions(QuietResultOptions, HelpAllOption):
    """Options of ``risk`` besides the arguments of the call."""


@from_call(
    measure_risk,
    _SHOWN,
    RiskOptions,
    examples=_EXAMPLES,
    first=("sensitive", "against", "population", "report"),
)
def risk(given: dict[str, Any], options: RiskOptions) -> Status:
    """Measure the re-identification risk of a table: prosecutor, journalist and marketer risk, class sizes, k, l, t.

    The prosecutor knows that a person is in the table, the journalist does not, the marketer looks for as many as
    possible. l is the least number of different sensitive values in a class, t the greatest distance of the values of a
    class from those of the table. With --memory or --scheduler the rows are grouped piece by piece, and only counts are
    collected; groups are kept until the end in the folder of TABLE, which all workers see, for their owner alone.
    """
    read = [given.get(name) for name in ("table", "against", "population")]
    files = [path for path in read if path and not Path(path).is_dir()]
    check_outputs({"--report": options.report}, *files, *given.get("taxonomy", {}).values())
    with renamed_arguments({"table": "TABLE", "quasi_identifiers": "--quasi"}):
        risks = measure_risk(**given)
    for warning in risks.warnings:
        warn(warning, quiet=options.quiet)
    write_page(
        options.report,
        "risk",
        risks.risks,
        headline="Who could be found",
        private=True,
        names=risks.quasi_identifiers,
        causes=[] if risks.sources is None else risks.sources.in_words(),
    )
    emit("risk", options, risks.to_dict(), str(risks))
    return Status.DONE
