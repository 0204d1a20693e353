"""``verify``: check an artefact anew."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from discreet.artefact import is_table, kind_of
from discreet.cli.anonymizing import (  # noqa: TC001 - Typer reads annotations at run time
    Categoricals,
    Numerics,
    Taxonomies,
)
from discreet.cli.files import channel_kind
from discreet.cli.microdata import Kinds
from discreet.cli.options import Json  # noqa: TC001 - Typer reads annotations at run time
from discreet.cli.output import Status, emit, facts
from discreet.cli.registry import JUDGES, find
from discreet.cli.row_judges import Rows, judge_rows
from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from discreet.core.certificate import Certificate

__all__ = ["artefact_kind", "register", "verify"]

_ROWS = "Tables of rows"

_EXAMPLES = """Examples:

```
discreet verify c.channel --optimality

discreet verify out.parquet --json

discreet verify out.csv --quasi age,sex,zip -k 5 --against patients.csv

python verify_standalone.py c.channel
```
"""


def verify(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A channel that `design` wrote, or a table.")
    ],
    *,
    optimality: Annotated[
        bool, typer.Option("--optimality", help="Check the lower bound too.")
    ] = False,
    k: Annotated[
        int | None,
        typer.Option("-k", help="Rows that must look alike.", rich_help_panel=_ROWS),
    ] = None,
    quasi: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B,...",
            help="Columns that somebody may know. With -k, any table is checked, also one without a record beside it.",
            rich_help_panel=_ROWS,
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="The original: each published row must be one of its rows, generalized.",
            rich_help_panel=_ROWS,
        ),
    ] = None,
    diverse: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=L",
            help="Different values of a sensitive column that each class must have.",
            rich_help_panel=_ROWS,
        ),
    ] = None,
    close: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=T",
            help="Greatest distance of its values in a class from those in the table.",
            rich_help_panel=_ROWS,
        ),
    ] = None,
    require: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=MODEL",
            help="What else is asked of a sensitive column in each class: distinct:L, entropy:L, recursive:C,L, "
            "closeness:T, ordered-closeness:T, alpha:A. Again for each.",
            rich_help_panel=_ROWS,
        ),
    ] = None,
    presence: Annotated[
        str | None,
        typer.Option(
            metavar="LOW:HIGH",
            help="Shares between which published rows are of the people in --population that a class covers.",
            rich_help_panel=_ROWS,
        ),
    ] = None,
    population: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="A public table of all people.", rich_help_panel=_ROWS),
    ] = None,
    person: Annotated[
        str | None,
        typer.Option(
            help="Column that tells persons apart: k persons, not rows.", rich_help_panel=_ROWS
        ),
    ] = None,
    taxonomy: Taxonomies = None,
    numeric: Numerics = None,
    categorical: Categoricals = None,
    as_json: Json = False,
) -> int:
    """Check what an artefact claims, with code that did not make it.

    A channel's privacy is checked on the stored integers, in exact arithmetic, for all constrained pairs; a table by
    its own numbers, and its guarantee by the arithmetic of its noise; an anonymized table by counting rows that look
    alike. The exit status is 1 when a check fails, and for anything that was made with a seed.
    """
    certificate: Certificate
    kinds = Kinds(numeric or (), categorical or (), taxonomy or ())
    rows = Rows(
        k,
        quasi or (),
        against,
        diverse or (),
        close or (),
        person,
        require or (),
        presence,
        population,
        kinds,
    )
    if rows.asked:
        certificate, found = judge_rows(file, rows, optimality=optimality)
    else:
        certificate, found = find(JUDGES, artefact_kind(file), "FILE")(file, optimality=optimality)
    data = {**certificate.to_dict(), **found}
    lines: list[tuple[str, object]] = [("passed", "yes" if certificate.passed else "NO")]
    if "achieved_epsilon" in found:
        lines.insert(0, ("achieved epsilon", found["achieved_epsilon"]))
    summary = facts(lines)
    emit(data, f"{certificate}\n\n{summary}", as_json=as_json, command="verify")
    return Status.DONE if certificate.passed else Status.CHECK_FAILED


def artefact_kind(path: str) -> str:
    """Tell by the file, or by the record beside it, what has to be checked."""
    if not (is_table(path) or path.lower().endswith((".csv", ".parquet"))):
        return channel_kind(path)
    try:
        return kind_of(path)
    except InvalidProblemError as error:
        raise InvalidProblemError("FILE", error.expected, error.got) from None


def register(app: typer.Typer) -> None:
    """Add the commands of this group."""
    app.command(epilog=_EXAMPLES)(verify)
