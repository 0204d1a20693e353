"""``risk``: the re-identification risk of a table, original or published."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
from discreet.cli.microdata import Kinds, attributes_of, names_of, unstated
from discreet.cli.options import (  # noqa: TC001 - Typer reads annotations at run time
    Json,
    Memory,
    Quiet,
    Report,
    Scheduler,
)
from discreet.cli.output import Status, emit, warn
from discreet.cli.row_files import RowEngine, RowThreads
from discreet.core.errors import InvalidProblemError
from discreet.core.printed import one_line
from discreet.tables.columns import no_column, unclear_columns
from discreet.tables.reading import read_rows
from discreet.tables.validate import refuse_nested

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from fractions import Fraction

    import polars as pl

    from discreet.kanonymity.problem import Attribute
    from discreet.kanonymity.risk import Risk

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
    kinds = Kinds(numeric or (), categorical or (), taxonomy or (), show_columns=show_columns)
    from discreet.kanonymity.risk import risk as risk_of

    files = [path for path in (table, original) if path and not Path(path).is_dir()]
    check_outputs({"--report": report}, *files, population, *kinds.read)
    names, secret = names_of(quasi), names_of(sensitive or ())
    if not names:
        raise InvalidProblemError("--quasi", "columns of the table", "none")
    people, found = None, {}
    engine = RowEngine(memory, threads, scheduler)
    if population is not None:
        if engine.is_large(table):
            expected = "none with a folder, --memory or --scheduler: the people are compared with all classes in memory"
            raise InvalidProblemError("--population", expected, "one")
        people = _population(table, population, names, kinds)
    tables = [("before", original), ("after", table)] if original is not None else [("risk", table)]
    for when, file in tables:
        path = file or table
        rows, looked = _opened(path, kinds, engine)
        for name in (*names, *secret):
            if name not in looked.columns:
                option = "--quasi" if name in names else "--sensitive"
                raise no_column(option, name, looked.columns, show=kinds.show_columns)
        for _, expected, got in unclear_columns(looked, unstated(names, kinds)):
            warn(f"--quasi: expected {expected}, got {got}", quiet=quiet)
        if engine.is_piecewise or threads != 1:
            # Workers see the folder in which the rows are.
            folder = Path(path).absolute().parent if engine.scheduler else None
            with engine.source(path, folder) as source, _named():
                found[when] = risk_of(source, names, sensitive=secret)
        else:
            found[when] = risk_of(rows, names, sensitive=secret, population=people)
    one = {when: shown.to_dict() for when, shown in found.items()}
    data = {
        **(one["risk"] if original is None else one),
        "quasi_identifiers": names,
        "population": population,
        "private": "sizes of classes of a table that is not published are private",
    }
    if report is not None:
        from discreet.report import make_chapter

        chapter = make_chapter("risk", found, names=names)
        write_page([chapter], report, title="Who could be found", private=True)
    emit(data, _risk_text(found), as_json=as_json, command="risk")
    return Status.DONE


_SEEN = 20_000
"""Rows of a folder by which free text is recognized."""

_FIELDS = {"table": "TABLE", "source": "TABLE", "scheduler": "--scheduler", "threads": "--threads"}
"""What the library calls an argument, and what the command does."""


@contextmanager
def _named() -> Iterator[None]:
    """Name arguments as the command does."""
    try:
        yield
    except InvalidProblemError as error:
        field = _FIELDS.get(error.field, error.field)
        raise InvalidProblemError(field, error.expected, error.got) from None


def _opened(
    path: str, kinds: Kinds, engine: RowEngine
) -> tuple[pl.DataFrame | pl.LazyFrame, pl.DataFrame]:
    """Read a file, or scan what is grouped in a stream or piece by piece; and rows to look at."""
    if not engine.is_large(path):
        rows = read_rows(path, "TABLE", show_columns=kinds.show_columns)
        return rows, rows
    from discreet.artefact.pieces import pieces_of, scan_pieces

    lazy = scan_pieces(pieces_of(path, "TABLE"), "TABLE")
    head = lazy.head(_SEEN).collect()
    refuse_nested(head, "TABLE", show_columns=kinds.show_columns)
    return lazy, head


def _population(path: str, population: str, names: list[str], kinds: Kinds) -> Any:  # noqa: ANN401 - a Problem
    """Code the population, its columns read as the table's record says, or as told."""
    from discreet.artefact import ANONYMOUS, is_table, kind_of, load_anonymous
    from discreet.kanonymity.cells import read_problem

    people = read_rows(population, "--population", show_columns=kinds.show_columns)
    attributes: Sequence[Attribute] = ()
    if is_table(path) and kind_of(path) == ANONYMOUS:
        stated = load_anonymous(path).attributes
        attributes = [attribute for attribute in stated if attribute.name in names]
    if not attributes:
        attributes = attributes_of(people, names, kinds)
    return read_problem(people, names, attributes, "ncp")


def _risk_text(found: dict[str, Risk]) -> str:
    titles = list(found)
    lines: list[tuple[str, list[str]]] = [("", titles if len(titles) > 1 else [""])]

    def line(name: str, values: Iterable[object]) -> None:
        lines.append((one_line(name), [one_line(value) for value in values]))

    def share(name: str, values: Iterable[Fraction]) -> None:
        lines.append((name, [f"{float(value):.2%}" for value in values]))

    all_of = list(found.values())
    line("rows", (one.rows for one in all_of))
    line("classes", (one.classes for one in all_of))
    line("class sizes", (f"{one.k} to {one.largest}, middle {one.median}" for one in all_of))
    line("k", (one.k for one in all_of))
    for name in all_of[0].diversity:
        line(f"l of {name}", (one.diversity[name] for one in all_of))
        line(f"t of {name}", (f"{float(one.closeness[name]):.4f}" for one in all_of))
    share("alone in their class", (one.unique for one in all_of))
    share("prosecutor, highest", (one.prosecutor_highest for one in all_of))
    share("prosecutor, average", (one.prosecutor_average for one in all_of))
    share("journalist, highest", (one.journalist_highest for one in all_of))
    share("journalist, average", (one.journalist_average for one in all_of))
    share("marketer", (one.marketer for one in all_of))
    width = max(len(name) for name, _ in lines)
    room = max(len(value) for _, values in lines for value in values) + 2
    return "\n".join(
        (name.ljust(width) + "  " + "".join(value.ljust(room) for value in values)).rstrip()
        for name, values in lines
        if name or any(values)
    )


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog=_EXAMPLES)(risk)
