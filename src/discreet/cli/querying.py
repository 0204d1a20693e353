"""Ask kept measurements from the command line."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from discreet.cli.files import check_outputs, write_page
from discreet.cli.output import emit
from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from discreet.hierarchy.measure import Measured
    from discreet.hierarchy.problem import Frame

__all__ = ["Question", "parse_path", "parse_sizes", "run_query"]

_RANGE = re.compile(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?")


@final
@dataclass(frozen=True)
class Question:
    """What is asked, as it was typed."""

    measurements: str
    level: int | None
    regions: tuple[str, ...]
    sizes: str
    people: bool
    interval: str


def run_query(
    asked: Question, output: str | None, *, report: str | None = None, as_json: bool
) -> None:
    """Answer a question, and print or write the answers."""
    from discreet.hierarchy import query

    check_outputs({"--output": output, "--report": report}, asked.measurements)
    kept = _open(asked.measurements)
    sizes = _all_sizes(kept.frame) if asked.sizes == "all" else parse_sizes(asked.sizes)
    weights = {size: size if asked.people else 1 for size in sizes}
    regions = [parse_path(region, kept.frame) for region in asked.regions] or None
    answers = query(
        kept, level=asked.level, regions=regions, sizes=weights, interval=asked.interval
    )
    table = answers.to_frame("polars")
    text = table.write_csv()
    if output is not None:
        from pathlib import Path

        from discreet.artefact._write import replace_file

        replace_file(Path(output), text.encode())
        text = f"wrote {output}"
    if report is not None:
        from discreet.report import make_chapter

        chapter = make_chapter("query", answers, measured=kept, people=asked.people)
        write_page([chapter], report, title="Answers, with intervals")
    data: dict[str, Any] = {
        "guarantee": {**kept.guarantee.to_dict(), "sentence": str(kept.guarantee)},
        "kind": kept.kind,
        "noise": kept.noise,
        "counted": "people" if asked.people else "units",
        "sizes": sizes,
        "interval": str(asked.interval),
        "answers": table.to_dicts(),
        "output": output,
    }
    emit(data, text, as_json=as_json, command="query")


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
    from discreet.hierarchy.result import region_names

    names = region_names(frame.tree)
    places = [node for node, name in enumerate(names) if name == text]
    if not places:
        raise InvalidProblemError("--region", "a region of the measurements", repr(text))
    # The root may have the name of a region below it, which is then the one that is meant.
    return frame.tree.path(places[-1])


def _all_sizes(frame: Frame) -> list[int]:
    return [size for size in frame.sizes.tolist() if size]


def _open(path: str) -> Measured:
    from discreet.artefact import load_measurements

    try:
        return load_measurements(path)
    except InvalidProblemError as error:
        raise InvalidProblemError("MEASUREMENTS", error.expected, error.got) from None
