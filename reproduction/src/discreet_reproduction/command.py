"""The command ``reproduce``, which the entry point of this distribution adds to ``discreet``."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import typer

from discreet.cli.calls import from_options
from discreet.cli.options import JsonOption, QuietOption
from discreet.cli.output import Status, emit, facts, warn
from discreet.core.errors import InvalidProblemError
from discreet.core.option_groups import argument, option
from discreet_reproduction.record import Run
from discreet_reproduction.registry import ITEMS, LIMITED, find

if TYPE_CHECKING:
    from discreet_reproduction import Experiment

__all__ = ["app", "reproduce"]

app = typer.Typer(add_completion=False, rich_markup_mode="markdown")

_EXAMPLES = """Examples:

```
discreet reproduce

discreet reproduce metricdp table3 --quick

discreet reproduce metricdp table4 --limit 60

discreet reproduce metricdp all --data rome/ -o tables/
```
"""


@final
class ReproduceOptions(JsonOption, QuietOption):
    """Options of ``reproduce``."""

    paper: str | None = argument("The mechanism whose paper it is.", "PAPER", default=None)
    item: str | None = argument("A table or a figure, or all of them.", "ITEM", default=None)
    quick: bool = option("Small sizes: minutes instead of hours.", default=False)
    data: str | None = option("The paper's own data, where they may be had.", "DIR")
    limit: float | None = option(
        "How long each run of a solver may take, in place of half an hour or a minute.", "SECONDS"
    )
    seed: int = option("Of synthetic data and of partitions.", default=0, min=0)
    output: str = option("Where tables and pages go.", "DIR", "--output", "-o", default="papers")


@app.command(epilog=_EXAMPLES)
@from_options(ReproduceOptions)
def reproduce(options: ReproduceOptions) -> Status:
    """Compute a table or figure of a paper anew, with the paper's own figures beside ours.

    Without ITEM, lists what there is. Each item is written as CSV, JSON, drawing and page.
    """
    limit, seed = options.limit, options.seed
    names = _names(options.paper, options.item)
    if options.item is None:
        listed = {name: _sentence(name) for name in names}
        emit({"items": listed}, facts(listed.items()), as_json=options.as_json, command="reproduce")
        return Status.DONE
    source = _folder(options.data)
    _check_limit(names, limit)
    _make(options.output)
    done: list[dict[str, Any]] = []
    texts: list[str] = []
    status = Status.DONE
    try:
        for name in names:
            run = Run(options.quick, seed, source, limit, say=partial(_say, name, options.quiet))
            found: Experiment = find(name)(run)
            files = _write(found, options.output)
            done.append({**found.to_dict(), "files": files})
            texts.append(_text(found, files))
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
        warn(f"interrupted after {len(done)} of {len(names)} items")
    finished = status is Status.DONE
    emit(
        {
            "quick": options.quick,
            "limit": limit,
            "seed": seed,
            "finished": finished,
            "experiments": done,
        },
        "\n\n\n".join(texts),
        as_json=options.as_json,
        command="reproduce",
    )
    return status


def _names(paper: str | None, item: str | None) -> list[str]:
    """Find the registered names that are meant."""
    papers = sorted({name.partition("/")[0] for name in ITEMS})
    if paper is None:
        return list(ITEMS)
    if paper not in papers:
        raise InvalidProblemError("PAPER", f"one of {', '.join(papers)}", repr(paper))
    items = [name for name in ITEMS if name.startswith(f"{paper}/")]
    if item is None or item == "all":
        return items
    if f"{paper}/{item}" not in ITEMS:
        known = ", ".join(name.partition("/")[2] for name in items)
        raise InvalidProblemError("ITEM", f"all, or one of {known}", repr(item))
    return [f"{paper}/{item}"]


def _say(name: str, quiet: bool, said: str) -> None:  # noqa: FBT001 - filled in by partial
    warn(f"{name}: {said}", quiet=quiet)


def _sentence(name: str) -> str:
    """Give the first sentence of what the function of an item says of itself."""
    said = find(name).__doc__ or ""
    return " ".join(said.strip().partition("\n\n")[0].split())


def _check_limit(names: list[str], limit: float | None) -> None:
    """Refuse a limit that is none, and one where no item takes it."""
    if limit is None:
        return
    if not 0 < limit < math.inf:
        raise InvalidProblemError("--limit", "seconds, more than 0", limit)
    if LIMITED.isdisjoint(names):
        raise InvalidProblemError("--limit", "an item with runs of limited time", ", ".join(names))


def _folder(data: str | None) -> Path | None:
    if data is None:
        return None
    if not Path(data).is_dir():
        raise InvalidProblemError("--data", "a folder that is there", repr(data))
    return Path(data)


def _make(folder: str) -> None:
    """Refuse an output before the work, not after it."""
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        got = f"{folder}: {error.strerror}"
        raise InvalidProblemError("--output", "a folder that can be written", got) from None


def _write(found: Experiment, folder: str) -> list[str]:
    from discreet_reproduction import write_experiment

    try:
        return [str(path) for path in write_experiment(found, folder)]
    except OSError as error:
        got = f"{folder}: {error.strerror}"
        raise InvalidProblemError("--output", "a folder that can be written", got) from None


def _text(found: Experiment, files: list[str]) -> str:
    parts = [f"{found.name}: {found.title}"]
    if found.rows:
        parts.append(found.text())
    if found.notes:
        parts.append("\n".join(f"- {note}" for note in found.notes))
    parts.append("wrote " + ", ".join(files))
    return "\n\n".join(parts)
