"""``verify``: check an artefact anew."""

from __future__ import annotations

import hashlib
import shlex
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.artefact import FOR_EVERY_POINT, interruption_of, is_table
from discreet.artefact.folders import RECORD
from discreet.artefact.judging import judge
from discreet.cli.columns import (  # noqa: TC001 - Typer reads annotations at run time
    Categoricals,
    Numerics,
    Taxonomies,
)
from discreet.cli.files import check_outputs, write_page
from discreet.cli.microdata import Kinds, demanded
from discreet.cli.options import Json, Verbose, demand
from discreet.cli.output import Status, emit, facts, proved
from discreet.cli.row_judges import RowOptions, judge_folder, judge_rows
from discreet.core import printed
from discreet.core.errors import InvalidProblemError
from discreet.tables.dialect import SUFFIXES
from discreet.tables.sizes import refuse_killers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from discreet.core.certificate import Certificate

__all__ = ["register", "verify", "write_verified"]

_ROWS = "Tables of rows"

_EXAMPLES = """Examples:

```
discreet verify c.channel --optimality -v

discreet verify out.parquet --json

discreet verify out.csv --quasi age,sex,zip -k 5 --against patients.csv

discreet verify c.channel --optimality --report verified.html

python verify_standalone.py c.channel
```
"""

_ABOUT = {
    **dict.fromkeys(
        FOR_EVERY_POINT,
        "a mechanism for every point: any two points of the region, none snapped to a place",
    ),
}
"""Kind of file -> what its promise is about, where that is not in its checks."""


def verify(
    file: Annotated[
        str,
        typer.Argument(metavar="FILE", help="A channel that `design` wrote, a table, or a folder."),
    ],
    *,
    optimality: Annotated[
        bool,
        typer.Option(
            "--optimality", help="Check the loss that is stated and its lower bound, too."
        ),
    ] = False,
    k: Annotated[
        int | None,
        typer.Option(
            "-k", "--k", help="Least size of an equivalence class.", rich_help_panel=_ROWS
        ),
    ] = None,
    quasi: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B,...",
            help="Quasi-identifiers. With -k, any table is checked, also one without a record beside it.",
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
    sensitive: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B,...",
            help="Columns for --l-diversity, --t-closeness and --alpha.",
            rich_help_panel=_ROWS,
        ),
    ] = None,
    l_diversity: Annotated[int | None, demand("--l-diversity", _ROWS)] = None,
    t_closeness: Annotated[str | None, demand("--t-closeness", _ROWS)] = None,
    alpha: Annotated[str | None, demand("--alpha", _ROWS)] = None,
    require: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=MODEL",
            help="What each class must hold in a column, besides what the record says: distinct:L, entropy:L, "
            "recursive:C,L, closeness:T, ordered-closeness:T or alpha:A. Again for each.",
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
    k_map: Annotated[
        int | None,
        typer.Option(
            "--k-map",
            metavar="K",
            help="People in --population whom the cells of each class must cover. Default: as the record says.",
            rich_help_panel=_ROWS,
        ),
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
    report: Annotated[
        str | None,
        typer.Option(
            metavar="FILE.html",
            help="Write a page: what was checked, what it means, what is not claimed.",
        ),
    ] = None,
    verbose: Verbose = False,
    as_json: Json = False,
) -> int:
    """Check what an artefact claims, with code that did not make it.

    A channel's privacy is checked on the stored integers, in exact arithmetic, for all constrained pairs; a table by
    its own numbers, and its guarantee by the arithmetic of its noise; an anonymized table by counting the rows of each
    equivalence class. The exit status is 1 when a check fails, and for anything that was made with a seed. Where a run
    was interrupted while it put a table and its record in place, what stands there is told, and judged.
    """
    certificate: Certificate
    kinds = Kinds(numeric or (), categorical or (), taxonomy or ())
    check_outputs({"--report": report}, file, against, population, *kinds.read)
    _try_table(file)
    short = demanded(sensitive, distinct=l_diversity, closeness=t_closeness, alpha=alpha)
    if sensitive and not short:
        expected = "columns for --l-diversity, --t-closeness or --alpha"
        raise InvalidProblemError("--sensitive", expected, "none of these")
    rows = RowOptions(
        k,
        quasi or (),
        against,
        person,
        (*(require or ()), *short),
        presence,
        population,
        k_map,
        kinds,
    )
    if Path(file).is_dir():
        if optimality:
            expected = "a channel, which has a lower bound"
            raise InvalidProblemError("--optimality", expected, "a folder")
        certificate, found = judge_folder(file, rows)
    elif rows.given:
        certificate, found = judge_rows(file, rows, optimality=optimality)
    else:
        with _named(file):
            certificate, found = judge(file, optimality=optimality)
    if report is not None:
        options: list[tuple[str, object]] = [
            ("--optimality", optimality),
            ("-k", k),
            ("--quasi", quasi),
            ("--against", against),
            ("--sensitive", sensitive),
            ("--l-diversity", l_diversity),
            ("--t-closeness", t_closeness),
            ("--alpha", alpha),
            ("--require", require),
            ("--presence", presence),
            ("--population", population),
            ("--k-map", k_map),
            ("--person", person),
            ("--taxonomy", taxonomy),
            ("--numeric", numeric),
            ("--categorical", categorical),
        ]
        write_verified(certificate, found, file, _typed(file, options), report)
    data = {**certificate.to_dict(), **found}
    interrupted = interruption_of(file)
    if interrupted:
        data["interrupted"] = interrupted
    summary = _summary(certificate, found, interrupted)
    emit(
        data,
        f"{proved(certificate, verbose=verbose)}\n\n{summary}",
        as_json=as_json,
        command="verify",
    )
    return Status.DONE if certificate.passed else Status.CHECK_FAILED


def _summary(certificate: Certificate, found: Mapping[str, Any], interrupted: str | None) -> str:
    """Say below the checks what the file is, and what was not or cannot be checked."""
    lines: list[tuple[str, object]] = [("passed", "yes" if certificate.passed else "NO")]
    if "achieved_epsilon" in found:
        lines.insert(0, ("achieved epsilon", printed.at_most(found["achieved_epsilon"])))
    if found["kind"] in _ABOUT:
        lines.insert(0, ("what it is", _ABOUT[found["kind"]]))
    if interrupted:
        lines.append(("interrupted", interrupted))
    summary = facts(lines)
    left = [("no file can show", said) for said in found.get("not_shown", ())]
    if left or found["kind"] == "channel":
        left = [("not checked", said) for said in found["not_checked"]] + left
    return f"{facts(left)}\n\n{summary}" if left else summary


def _try_table(file: str) -> None:
    """Read a table of unknown origin once in a child process, whatever it is verified for."""
    path = Path(file)
    if path.is_file() and path.suffix.lower() in SUFFIXES:
        with path.open("rb") as opened:
            parquet = opened.read(4) == b"PAR1"
        refuse_killers(file, "" if parquet else ",", "FILE", unknown=True)


def _typed(file: str, options: Iterable[tuple[str, object]]) -> str:
    """Give the command again, as one would type it.

    Examples
    --------
    >>> _typed("my table.csv", [("--optimality", False), ("-k", 5), ("--quasi", ["age", "sex"]), ("--json", True)])
    "discreet verify 'my table.csv' -k 5 --quasi age --quasi sex --json"
    """
    words = ["discreet", "verify", file]
    for option, given in options:
        for value in given if isinstance(given, list) else [given]:
            if value is True:
                words.append(option)
            elif value not in (None, False):
                words += [option, str(value)]
    return shlex.join(words)


def write_verified(
    certificate: Certificate, found: Mapping[str, Any], file: str, command: str, report: str
) -> None:
    """Write the page of a verification."""
    from discreet.core.guarantee import guarantee_from_dict
    from discreet.report import make_chapter

    what = Path(file, RECORD) if Path(file).is_dir() else Path(file)
    with what.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    chapter = make_chapter(
        "verified",
        certificate,
        kind=found["kind"],
        guarantee=guarantee_from_dict(found["guarantee"]),
        sentence=found["guarantee"].get("sentence", ""),
        file=Path(file).name,
        command=command,
        sha256=digest,
        private=found.get("private", ""),
        limits=found["not_checked"],
        public=found["assumed_public"],
    )
    private = bool(found.get("private"))
    write_page([chapter], report, title="A claim, checked anew", private=private)


@contextmanager
def _named(path: str) -> Iterator[None]:
    """Name the argument of a command where the library speaks of a path."""
    try:
        yield
    except InvalidProblemError as error:
        if error.field != "path":
            raise
        table = path.lower().endswith((".csv", ".parquet"))
        field = "FILE" if table or is_table(path) else "CHANNEL"
        bare = table and not is_table(path)
        hint = "; -k and --quasi check a table without one" if bare else ""
        raise error.renamed(field, expected=f"{error.expected}{hint}") from None


def register(app: typer.Typer) -> None:
    """Add the commands of this group."""
    app.command(epilog=_EXAMPLES)(verify)
