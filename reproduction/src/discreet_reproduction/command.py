"""The command ``reproduce``, which the entry point of this distribution adds to ``discreet``."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import typer

from discreet.cli.calls import from_options
from discreet.cli.options import JsonOption, QuietOption
from discreet.cli.output import Status, emit, warn
from discreet.core.errors import InvalidProblemError
from discreet.core.option_groups import argument, option
from discreet.core.printed import facts
from discreet_reproduction.kept import results, state
from discreet_reproduction.parts import Parts, processor_seconds
from discreet_reproduction.record import Run
from discreet_reproduction.registry import ITEMS, LIMITED, find
from discreet_reproduction.scales import HEADLINES, PAPER_DRAWS, SCALES, status_of

if TYPE_CHECKING:
    from discreet_reproduction import Experiment

app = typer.Typer(add_completion=False, rich_markup_mode="markdown")

_EXAMPLES = """Examples:

```
discreet reproduce list

discreet reproduce lrgeo headline

discreet reproduce metricdp table3 --quick

discreet reproduce metricdp table4 --limit 60

discreet reproduce metricdp all --data rome/ -o tables/
```
"""

_LISTS = frozenset({"list", "LIST"})


@final
class ReproduceOptions(JsonOption, QuietOption):
    """Options of ``reproduce``."""

    paper: str | None = argument(
        "The mechanism whose paper it is; or list, for all items with status and time.",
        "PAPER",
        default=None,
    )
    item: str | None = argument(
        "A table or a figure; or headline, for the paper's main experiment; or all.",
        "ITEM",
        default=None,
    )
    quick: bool = option("Small sizes: minutes instead of hours.", default=False)
    data: str | None = option("The paper's own data, where they may be had.", "DIR")
    limit: float | None = option(
        "How long each run of a solver may take, in place of half an hour or a minute.", "SECONDS"
    )
    draws: int | None = option(
        "Draws of noise, in place of the paper's number.", default=None, min=1
    )
    seed: int = option("Of synthetic data and of partitions.", default=0, min=0)
    output: str = option("Where tables and pages go.", "DIR", "--output", "-o", default="papers")


@app.command(epilog=_EXAMPLES)
@from_options(ReproduceOptions)
def reproduce(options: ReproduceOptions) -> Status:
    """Compute a table or figure of a paper anew, with the paper's own figures beside ours.

    Without ITEM, lists what there is, with the status and the time of the kept run of each item. Each item is written
    as CSV, JSON, drawing and page. The same command continues a long item after a stop.
    """
    names = _names(options.paper, options.item)
    if options.item is None or options.paper in _LISTS:
        return _list(names, options)
    source = _folder(options.data)
    _check_limit(names, options.limit)
    _check_draws(names, options.draws)
    _make(options.output)
    done: list[dict[str, Any]] = []
    texts: list[str] = []
    status = Status.DONE
    try:
        for name in names:
            _announce(name, options)
            written, text = _computed(name, options, source)
            done.append(written)
            texts.append(text)
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
        warn(f"interrupted after {len(done)} of {len(names)} items; the same command continues")
    emit(
        "reproduce",
        options,
        {
            "quick": options.quick,
            "limit": options.limit,
            "seed": options.seed,
            "finished": status is Status.DONE,
            "experiments": done,
        },
        "\n\n\n".join(texts),
    )
    return status


def _list(names: list[str], options: ReproduceOptions) -> Status:
    """Print status, time and first sentence of items."""
    known = results()
    items = {}
    for name in names:
        status, time, detail = state(name, known)
        items[name] = {
            "what": _sentence(name),
            "status": status,
            "time": time,
            "detail": detail,
            "data": SCALES[name].data if name in SCALES else "",
            "command": known[name].command if name in known else "",
        }
    lines = [(name, _line(item)) for name, item in items.items()]
    emit("reproduce", options, {"items": items}, facts(lines))
    return Status.DONE


def _line(item: dict[str, str]) -> str:
    """Return status, detail and time of an item, and what it is."""
    size = f"{item['status']} ({item['detail']})" if item["detail"] else item["status"]
    return f"{', '.join(part for part in (size, item['time']) if part)}: {item['what']}"


def _announce(name: str, options: ReproduceOptions) -> None:
    """Print before a run how long it takes, where that is known."""
    kept = results().get(name)
    hours = SCALES[name].hours if name in SCALES else 0.0
    if kept is not None and kept.command == _command(name, options):
        warn(
            f"{name}: took {kept.seconds:.3g} processor seconds when run last", quiet=options.quiet
        )
    elif hours and not options.quick:
        said = f"{hours:g} processor hours" if hours >= 1 else f"{60 * hours:.2g} processor minutes"
        warn(f"{name}: takes about {said}", quiet=options.quiet)


def _computed(
    name: str, options: ReproduceOptions, source: Path | None
) -> tuple[dict[str, Any], str]:
    """Compute an item, or the rest of it, and write its files."""
    settings = {
        "quick": options.quick,
        "seed": options.seed,
        "data": options.data,
        "limit": options.limit,
        "draws": options.draws,
    }
    parts = Parts(Path(options.output) / f"{name.replace('/', '-')}.parts", settings)
    if parts.resumed:
        warn(f"{name}: continues after {parts.resumed} parts", quiet=options.quiet)
    before = processor_seconds()
    run = Run(
        options.quick,
        options.seed,
        source,
        options.limit,
        options.draws,
        say=partial(_say, name, options.quiet),
        once=parts.once,
    )
    experiment: Experiment = find(name)(run)
    word, detail = status_of(name, run)
    seconds = parts.resumed_seconds + processor_seconds() - before
    record = {
        "command": _command(name, options),
        "status": word.value,
        "detail": detail,
        "seconds": round(seconds, 2),
    }
    files = _write(experiment, options.output, record)
    parts.remove()
    return {**experiment.to_dict(), **record, "files": files}, _text(experiment, record, files)


def _command(name: str, options: ReproduceOptions) -> str:
    """Return the command that computes an item again, without output and data."""
    parts = ["discreet reproduce", *name.split("/")]
    parts += ["--quick"] if options.quick else []
    parts += [f"--limit {options.limit:g}"] if options.limit is not None else []
    parts += [f"--draws {options.draws}"] if options.draws is not None else []
    parts += [f"--seed {options.seed}"] if options.seed else []
    parts += ["--data DIR"] if options.data is not None else []
    return " ".join(parts)


def _names(paper: str | None, item: str | None) -> list[str]:
    """Find the registered names that are meant."""
    papers = sorted({name.partition("/")[0] for name in ITEMS})
    if paper is None:
        return list(ITEMS)
    if paper in _LISTS:
        return _names(item, None)
    if paper not in papers:
        raise InvalidProblemError("PAPER", f"one of {', '.join(papers)}", repr(paper))
    items = [name for name in ITEMS if name.startswith(f"{paper}/")]
    if item is None or item == "all":
        return items
    if item == "headline" and paper in HEADLINES:
        return list(HEADLINES[paper])
    if f"{paper}/{item}" not in ITEMS:
        known = ", ".join(name.partition("/")[2] for name in items)
        raise InvalidProblemError("ITEM", f"headline, all, or one of {known}", repr(item))
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


def _check_draws(names: list[str], draws: int | None) -> None:
    """Refuse a number of draws where no item takes one."""
    if draws is not None and PAPER_DRAWS.keys().isdisjoint(names):
        raise InvalidProblemError("--draws", f"one of {', '.join(PAPER_DRAWS)}", ", ".join(names))


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


def _write(found: Experiment, folder: str, run: dict[str, Any]) -> list[str]:
    from discreet_reproduction import write_experiment

    try:
        return [str(path) for path in write_experiment(found, folder, run=run)]
    except OSError as error:
        got = f"{folder}: {error.strerror}"
        raise InvalidProblemError("--output", "a folder that can be written", got) from None


def _text(found: Experiment, run: dict[str, Any], files: list[str]) -> str:
    size = f"{run['status']} ({run['detail']})" if run["detail"] else run["status"]
    parts = [f"{found.name}: {found.title}", f"{size}, {run['seconds']:.3g} processor seconds"]
    if found.rows:
        parts.append(found.text())
    if found.notes:
        parts.append("\n".join(f"- {note}" for note in found.notes))
    parts.append("wrote " + ", ".join(files))
    return "\n\n".join(parts)
