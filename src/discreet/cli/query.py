"""``query``: answer a question about sizes from measurements that `counts` kept."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, final

from discreet.artefact.sidecar import is_table
from discreet.cli.calls import from_options
from discreet.cli.files import check_outputs, check_table_names, write_page
from discreet.cli.options import ResultOptions, output_file
from discreet.cli.output import emit, renamed_arguments
from discreet.core.errors import InvalidProblemError
from discreet.core.option_groups import argument, option
from discreet.tables.writing import bytes_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.core.tree import Tree
    from discreet.hierarchy.answers import Answers
    from discreet.hierarchy.contingency import MeasuredTables
    from discreet.hierarchy.measure import Measured

_RANGE = re.compile(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?")


_EXAMPLES = (
    "discreet query nm.parquet --level 2 --sizes 1-7 --interval 0.95",
    "discreet query kept.parquet --level 2 --by sex --interval 0.95",
)


@final
class QueryOptions(ResultOptions):
    """Options of ``query``."""

    measurements: str = argument("A file that `counts --measurements` wrote.", "MEASUREMENTS")
    level: int | None = option("Answer for all regions of this level; the root's is 1.")
    region: tuple[str, ...] = option(
        "Answer for this region, such as GA/Fulton; may be given again.", "PATH", repeated=True
    )
    sizes: str = option("Count units of these sizes.", "1-7,10", default="all")
    people: bool = option(
        "Add up sizes instead of units; the largest size stands for itself.", default=False
    )
    by: str | None = option(
        "Measurements of `counts --by`: one answer for each combination of categories of these attributes.",
        "A,B,...",
    )
    where: tuple[str, ...] = option(
        "Measurements of `counts --by`: count only these categories; may be given again.",
        "A=X,Y,...",
        repeated=True,
    )
    zeros: Literal["held", "free"] = option(
        "Measurements of `counts --by`: hold structural zeros at zero, or leave them out of the fit, which "
        "is less precise and possible for domains of any size.",
        "held|free",
        default="held",
    )
    interval: str = option(
        "Probability with which each interval holds the true value.", default="0.95"
    )
    unrounded: bool = option(
        "Do not round answers to what their intervals support: unrounded ones add up over regions.",
        default=False,
    )
    output: str | None = output_file("Write the answers there: .csv or .parquet.")


@from_options(QueryOptions, examples=_EXAMPLES)
def query(options: QueryOptions) -> None:
    """Answer a question about sizes from kept measurements: without bias, and with an interval.

    Answers come from the noisy counts, not from the published ones, which are biased where counts are small. They may
    be negative. Asking costs nothing. A value is rounded to a power of ten of at most a tenth of its interval's
    length. It is reliable up to a coefficient of variation of 16.5 %, to be used with caution up to 33.3 %, and
    unreliable beyond. Measurements of `counts --by` are asked with --by and --where.
    """
    from discreet import hierarchy
    from discreet.hierarchy.contingency.measure import MeasuredTables

    check_outputs({"--output": options.output, "--report": options.report}, options.measurements)
    check_table_names({"--output": options.output})
    people, sizes = options.people, options.sizes
    measured = _open(options.measurements)
    if isinstance(measured, MeasuredTables):
        if sizes != "all" or people:
            expected = "--by and --where with measurements of attributes"
            raise InvalidProblemError("--sizes, --people", expected, "one of them")
        _query_tables(measured, options)
        return
    if options.by is not None or options.where or options.zeros != "held":
        expected = "none of these with measurements of units by size"
        raise InvalidProblemError("--by, --where, --zeros", expected, "one of these")
    frame = measured.frame
    counted = [size for size in frame.sizes.tolist() if size]
    if sizes != "all":
        counted = parse_sizes(sizes)
    answers = hierarchy.query(
        measured,
        level=options.level,
        regions=[parse_path(one, frame.tree) for one in options.region] or None,
        sizes={size: size if people else 1 for size in counted},
        interval=options.interval,
    )
    data = {
        "kind": measured.kind,
        "counted": "people" if people else "units",
        "sizes": counted,
        "interval": options.interval,
    }
    _write(answers, measured, data, options)


def _query_tables(measured: MeasuredTables, options: QueryOptions) -> None:
    """Answer a question from noisy marginals, and print and write the answers.

    InvalidProblemError for unknown attributes, categories or regions, and for a domain too large to hold zeros.
    """
    from discreet.hierarchy.contingency import query as query_tables

    if options.zeros not in {"held", "free"}:
        raise InvalidProblemError("--zeros", "held or free", repr(options.zeros))
    by = [] if options.by is None else [name.strip() for name in options.by.split(",")]
    where = parse_where(options.where)
    answers = query_tables(
        measured,
        by=by,
        where=where,
        level=options.level,
        regions=[parse_path(one, measured.frame.tree) for one in options.region] or None,
        interval=options.interval,
        zeros=options.zeros,
    )
    data = {
        "kind": "marginals",
        "by": by,
        "where": where,
        "interval": options.interval,
        "argument": answers.argument,
    }
    _write(answers, measured, data, options)


def _write(
    answers: Answers,
    measured: Measured | MeasuredTables,
    data: dict[str, Any],
    options: QueryOptions,
) -> None:
    """Print the answers, as CSV or JSON, or write them to the output; write a page about them if requested.

    `data` are facts for JSON, to which the answers are added in place.

    `measured` gives the guarantee and the noise; answers are rounded unless the options say otherwise.
    """
    table = answers.to_frame("polars", rounded=not options.unrounded)
    if options.output is None:
        text = bytes_of(table, ".csv").decode()
    else:
        from discreet.artefact.placing import replace_file

        replace_file(Path(options.output), bytes_of(table, Path(options.output).suffix))
        text = f"wrote {options.output}"
    headline = "Answers, with intervals"
    write_page(options.report, "query", answers, headline=headline, measured=measured)
    data |= {
        "guarantee": {**measured.guarantee.to_dict(), "sentence": str(measured.guarantee)},
        "noise": measured.noise,
        "answers": table.to_dicts(),
        "output": options.output,
    }
    emit("query", options, data, text)


def parse_where(texts: Sequence[str]) -> dict[str, list[str]]:
    """Return attribute -> categories from texts ``ATTRIBUTE=CATEGORY,...``; categories are not stripped or checked.

    InvalidProblemError for another form or a repeated attribute.
    """
    where: dict[str, list[str]] = {}
    for text in texts:
        name, equals, listed = text.partition("=")
        if not equals or not name or not listed or name in where:
            raise InvalidProblemError(
                "--where", "ATTRIBUTE=CATEGORY,..., each attribute once", repr(text)
            )
        where[name] = listed.split(",")
    return where


def parse_sizes(text: str) -> list[int]:
    """Return the sizes of a text such as ``1-7,10`` in its order, 0 or more, up to a million for each range.

    InvalidProblemError for another form or a size that comes twice.
    """
    sizes: list[int] = []
    for part in text.split(","):
        ends = _RANGE.fullmatch(part)
        low = int(ends[1]) if ends else 1
        high = int(ends[2] or ends[1]) if ends else 0
        # A range is written in ten letters and could have a billion sizes.
        if not low <= high < low + 10**6:
            raise InvalidProblemError("--sizes", "sizes such as 1-7,10", repr(text))
        sizes.extend(range(low, high + 1))
    if len(set(sizes)) < len(sizes):
        raise InvalidProblemError("--sizes", "each size once", repr(text))
    return sizes


def parse_path(text: str, tree: Tree) -> tuple[Any, ...]:
    """Return the path of a region from its name, as tables write it; raise InvalidProblemError for an unknown one.

    Linear in the regions.

    `text` is such as GA/Fulton, labels below the root with slashes; the path is a tuple of labels, empty for the
    root.
    """
    from discreet.hierarchy.result import region_names

    names = region_names(tree)
    nodes = [node for node, name in enumerate(names) if name == text]
    if not nodes:
        # A slash within a name stands behind a backslash, which people need not type where one region is meant.
        nodes = [node for node, name in enumerate(names) if name.replace("\\/", "/") == text]
        if len(nodes) > 1:
            spellings = " or ".join(repr(names[node]) for node in nodes)
            raise InvalidProblemError("--region", f"one region: {spellings}", repr(text))
    if not nodes:
        raise InvalidProblemError("--region", "a region of the measurements", repr(text))
    # The root may have the name of a region below it, which is then the one that is meant.
    return tree.path(nodes[-1])


def _open(path: str) -> Measured | MeasuredTables:
    """Return the kept measurements of a file with its record beside it.

    InvalidProblemError says what another file is.
    """
    from discreet.artefact.counts import load_by_region
    from discreet.artefact.foreign import use_of
    from discreet.artefact.judging import kind_of_file

    kind, expected = "", "a file that `counts --measurements` wrote"
    with suppress(InvalidProblemError):
        kind = kind_of_file(path)
    if kind not in {"", "measurements", "table-measurements"}:
        raise InvalidProblemError("MEASUREMENTS", expected, use_of(kind, path))
    if not is_table(path):
        raise InvalidProblemError(
            "MEASUREMENTS", f"{expected}, with its .discreet.json", repr(path)
        )
    with renamed_arguments({}, others="MEASUREMENTS"):
        measured: Measured | MeasuredTables = load_by_region(path)
        return measured
