"""``query``: answer a question about sizes from measurements that `counts` kept."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from discreet.artefact import is_table
from discreet.cli.files import check_outputs, check_table_names, write_page
from discreet.cli.options import Json, Report  # noqa: TC001 - Typer reads annotations at run time
from discreet.cli.output import emit
from discreet.core.errors import InvalidProblemError
from discreet.tables.writing import bytes_of

if TYPE_CHECKING:
    from discreet.core.tree import Tree
    from discreet.hierarchy.contingency import MeasuredTables
    from discreet.hierarchy.contingency.query import TableAnswers
    from discreet.hierarchy.measure import Measured
    from discreet.hierarchy.problem import Frame
    from discreet.hierarchy.query import CountAnswers

__all__ = ["parse_path", "parse_sizes", "query", "register"]

_RANGE = re.compile(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?")


def query(
    measurements: Annotated[
        str,
        typer.Argument(metavar="MEASUREMENTS", help="A file that `counts --measurements` wrote."),
    ],
    *,
    level: Annotated[
        int | None, typer.Option(help="Answer for all regions of this level; the root's is 1.")
    ] = None,
    region: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH", help="Answer for this region, such as GA/Fulton; may be given again."
        ),
    ] = None,
    sizes: Annotated[
        str,
        typer.Option(metavar="1-7,10", help="Count units of these sizes."),
    ] = "all",
    people: Annotated[
        bool,
        typer.Option(
            "--people", help="Add up sizes instead of units; the largest size stands for itself."
        ),
    ] = False,
    by: Annotated[
        str | None,
        typer.Option(
            "--by",
            metavar="A,B,...",
            help="Measurements of `counts --by`: one answer for each combination of categories of these attributes.",
        ),
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A=X,Y,...",
            help="Measurements of `counts --by`: count only these categories; may be given again.",
        ),
    ] = None,
    zeros: Annotated[
        str,
        typer.Option(
            metavar="held|free",
            help="Measurements of `counts --by`: hold structural zeros at zero, or leave them out of the fit, which "
            "is less precise and possible for domains of any size.",
        ),
    ] = "held",
    interval: Annotated[
        str, typer.Option(help="Probability with which each interval holds the true value.")
    ] = "0.95",
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Write the answers there: .csv or .parquet."
        ),
    ] = None,
    report: Report = None,
    as_json: Json = False,
) -> None:
    """Answer a question about sizes from kept measurements: without bias, and with an interval.

    Answers come from the noisy counts, not from the published ones, which are biased where counts are small. They may
    be negative. Asking costs nothing. Measurements of `counts --by` are asked with --by and --where.
    """
    from discreet import hierarchy

    check_outputs({"--output": output, "--report": report}, measurements)
    check_table_names({"--output": output})
    if _kind(measurements) == "table-measurements":
        if sizes != "all" or people:
            expected = "--by and --where with measurements of attributes"
            raise InvalidProblemError("--sizes, --people", expected, "one of them")
        _query_tables(
            measurements,
            level,
            region or [],
            by,
            where or [],
            zeros,
            interval,
            AnswerFiles(output, report, as_json),
        )
        return
    kept = _open(measurements)
    if by is not None or where or zeros != "held":
        expected = "none with measurements of units by size"
        raise InvalidProblemError("--by, --where, --zeros", expected, "one")
    wanted = _all_sizes(kept.frame) if sizes == "all" else parse_sizes(sizes)
    weights = {size: size if people else 1 for size in wanted}
    regions = [parse_path(one, kept.frame) for one in region or ()] or None
    answers = hierarchy.query(kept, level=level, regions=regions, sizes=weights, interval=interval)
    data = {
        "kind": kept.kind,
        "counted": "people" if people else "units",
        "sizes": wanted,
        "interval": str(interval),
    }
    _write(answers, kept, data, AnswerFiles(output, report, as_json), "query", people=people)


class AnswerFiles(NamedTuple):
    """Where answers go."""

    output: str | None
    report: str | None
    as_json: bool


def _query_tables(  # noqa: PLR0917 - the options, one by one
    path: str,
    level: int | None,
    regions: list[str],
    by: str | None,
    where: list[str],
    zeros: str,
    interval: str,
    written: AnswerFiles,
) -> None:
    """Answer from noisy marginals."""
    from discreet.artefact import load_table_measurements
    from discreet.hierarchy.contingency import query as ask

    try:
        kept = load_table_measurements(path)
    except InvalidProblemError as error:
        raise error.renamed("MEASUREMENTS") from None
    paths = [_path_in(kept.frame.tree, one) for one in regions] or None
    names = [] if by is None else [name.strip() for name in by.split(",")]
    if zeros not in {"held", "free"}:
        raise InvalidProblemError("--zeros", "held or free", repr(zeros))
    answers = ask(
        kept,
        by=names,
        where=parse_where(where),
        level=level,
        regions=paths,
        interval=interval,
        zeros="held" if zeros == "held" else "free",
    )
    data = {
        "kind": "marginals",
        "by": names,
        "where": {name: list(listed) for name, listed in parse_where(where).items()},
        "interval": str(interval),
        "argument": answers.argument,
    }
    _write(answers, kept, data, written, "table-answers")


def _write(
    answers: CountAnswers | TableAnswers,
    kept: Measured | MeasuredTables,
    data: dict[str, Any],
    written: AnswerFiles,
    chapter: str,
    **options: bool,
) -> None:
    """Write the answers, and a page about them where one is wanted."""
    table = answers.to_frame("polars")
    if written.output is None:
        text = bytes_of(table, ".csv").decode()
    else:
        from discreet.artefact.placing import replace_file

        replace_file(Path(written.output), bytes_of(table, Path(written.output).suffix))
        text = f"wrote {written.output}"
    if written.report is not None:
        from discreet.report import make_chapter

        made = make_chapter(chapter, answers, measured=kept, **options)
        write_page([made], written.report, title="Answers, with intervals")
    data |= {
        "guarantee": {**kept.guarantee.to_dict(), "sentence": str(kept.guarantee)},
        "noise": kept.noise,
        "answers": table.to_dicts(),
        "output": written.output,
    }
    emit(data, text, as_json=written.as_json, command="query")


def parse_where(texts: list[str]) -> dict[str, list[str]]:
    """Read categories by attribute.

    Examples
    --------
    >>> parse_where(["sex=F", "age=0-17,18-64"])
    {'sex': ['F'], 'age': ['0-17', '18-64']}
    """
    found: dict[str, list[str]] = {}
    for text in texts:
        name, equals, listed = text.partition("=")
        if not equals or not name or not listed or name in found:
            raise InvalidProblemError(
                "--where", "ATTRIBUTE=CATEGORY,..., each attribute once", repr(text)
            )
        found[name] = listed.split(",")
    return found


def parse_sizes(text: str) -> list[int]:
    """Read sizes and ranges of sizes.

    Examples
    --------
    >>> parse_sizes("1-3,7")
    [1, 2, 3, 7]
    >>> parse_sizes("3-1")
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: --sizes: expected sizes such as 1-7,10, got '3-1'
    """
    sizes: list[int] = []
    for part in text.split(","):
        found = _RANGE.fullmatch(part)
        low = int(found[1]) if found else 1
        high = int(found[2] or found[1]) if found else 0
        # A range is written in ten letters and could have a billion sizes.
        if not low <= high < low + 10**6:
            raise InvalidProblemError("--sizes", "sizes such as 1-7,10", repr(text))
        sizes.extend(range(low, high + 1))
    if len(set(sizes)) < len(sizes):
        raise InvalidProblemError("--sizes", "each size once", repr(text))
    return sizes


def parse_path(text: str, frame: Frame) -> tuple[Any, ...]:
    """Read the name of a region, as tables write it, and give its path."""
    return _path_in(frame.tree, text)


def _path_in(tree: Tree, text: str) -> tuple[Any, ...]:
    from discreet.hierarchy.result import region_names

    names = region_names(tree)
    places = [node for node, name in enumerate(names) if name == text]
    if not places:
        # A slash within a name stands behind a backslash, which people need not type where one region is meant.
        places = [node for node, name in enumerate(names) if name.replace("\\/", "/") == text]
        if len(places) > 1:
            spellings = " or ".join(repr(names[node]) for node in places)
            raise InvalidProblemError("--region", f"one region: {spellings}", repr(text))
    if not places:
        raise InvalidProblemError("--region", "a region of the measurements", repr(text))
    # The root may have the name of a region below it, which is then the one that is meant.
    return tree.path(places[-1])


def _all_sizes(frame: Frame) -> list[int]:
    return [size for size in frame.sizes.tolist() if size]


def _kind(path: str) -> str:
    """Say what kind of measurements a file holds; what is none is refused where it is opened."""
    from discreet.artefact.judging import kind_of_file

    try:
        return kind_of_file(path)
    except InvalidProblemError:
        return ""


def _open(path: str) -> Measured:
    from discreet.artefact import load_measurements
    from discreet.artefact.foreign import told

    kind, expected = _kind(path), "a file that `counts --measurements` wrote"
    if kind not in {"", "measurements"}:
        raise InvalidProblemError("MEASUREMENTS", expected, told(kind, path))
    if not is_table(path):
        raise InvalidProblemError(
            "MEASUREMENTS", f"{expected}, with its .discreet.json", repr(path)
        )
    try:
        return load_measurements(path)
    except InvalidProblemError as error:
        raise error.renamed("MEASUREMENTS") from None


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        epilog="Examples:\n\n```\ndiscreet query nm.parquet --level 2 --sizes 1-7 --interval 0.95\n\n"
        "discreet query kept.parquet --level 2 --by sex --interval 0.95\n```"
    )(query)
