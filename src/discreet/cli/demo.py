"""``demo``: five mechanisms on synthetic data, and the page that explains them."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, final

from discreet.cli.calls import from_options
from discreet.cli.options import JsonOption, QuietOption, output_file
from discreet.cli.output import emit
from discreet.cli.progress import progress
from discreet.core.errors import InvalidProblemError
from discreet.core.option_groups import option

if TYPE_CHECKING:
    from discreet.evaluate.attack.finding import Attacked
    from discreet.report.demo import Demo

_TABLES = ("census.parquet", "patients.csv")
_WRITTEN = frozenset(
    {"index.html", "city.channel", "grid.channel", "city.mechanism", *_TABLES}
    | {f"{name}.discreet.json" for name in _TABLES}
)
"""What the demo writes into its folder."""

_MARK = '<p class="mark">discreet</p>'
"""What a page of ours holds."""


@final
class DemoOptions(JsonOption, QuietOption):
    """Options of ``demo``."""

    output: str = output_file("Where the page and the channels go.", "FOLDER", default="demo")
    files: str | None = option(
        "Only write the input files of the first commands here, which are synthetic, and print the commands.",
        "FOLDER",
    )
    seed: int | None = option("Which data are made; the mechanisms have no seed.")


@from_options(DemoOptions, examples=("discreet demo -o demo/", "discreet demo --files first"))
def demo(options: DemoOptions) -> None:
    """Run all five mechanisms on synthetic data, and write FOLDER/index.html, which explains them."""
    if options.files is not None:
        _write_files(Path(options.files), options)
        return
    made = _build(options.output, options.seed, quiet=options.quiet)
    channels, tables = [str(path) for path in made.artefacts], [str(path) for path in made.tables]
    data = {
        "page": str(made.page),
        "channels": channels,
        "tables": tables,
        "seconds": dict(made.seconds),
    }
    text = f"wrote {made.page} and {', '.join(channels + tables)}"
    emit("demo", options, data, text)


def _write_files(folder: Path, options: DemoOptions) -> None:
    """Write the files of the first commands into `folder`, and print the commands.

    Raises InvalidProblemError if one of them is there, or the folder cannot be written.
    """
    from discreet.cli.app import FIRST
    from discreet.datasets.first import first_files

    made = first_files(**({} if options.seed is None else {"seed": options.seed}))
    own = [name for name in made if (folder / name).exists()]
    if own:
        expected = "a folder without files of these names"
        raise InvalidProblemError("--files", expected, f"{folder} with {', '.join(own)}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in made.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        got = f"{folder}: {error.strerror}"
        raise InvalidProblemError("--files", "a folder that can be written", got) from None
    commands = [f"discreet {line}" for line in FIRST]
    data = {"folder": str(folder), "files": list(made), "commands": commands}
    lines = [f"wrote {', '.join(made)} into {folder}", "", f"cd {folder}", *commands]
    emit("demo", options, data, "\n".join(lines))


def _build(folder: str, seed: int | None, *, quiet: bool) -> Demo:
    """Write the demo into a new or empty folder, or over an earlier demo, in minutes; progress on standard error.

    InvalidProblemError for a folder with other files, or one that cannot be written. `seed` None means the default
    data.
    """
    from discreet.report.demo import build_demo

    _check_folder(Path(folder))
    options: dict[str, int] = {} if seed is None else {"seed": seed}
    try:
        with progress(sys.stderr, quiet=quiet, start="demo") as on_progress:
            return build_demo(
                folder,
                attack_mode=_attack_mode if find_spec("fastapi") and find_spec("httpx") else None,
                on_progress=on_progress,
                **options,
            )
    except OSError as error:
        got = f"{folder}: {error.strerror}"
        raise InvalidProblemError("--output", "a folder that can be written", got) from None


def _attack_mode(mode: str, clients: int = 12) -> Attacked:
    """Return the findings of attacks on a mode of a small location service, "sound" in the demo, with few clients."""
    from discreet.evaluate.attack.by_name import attack

    return attack("lrgeo", mode=mode, trials=clients)


def _check_folder(folder: Path) -> None:
    """Raise InvalidProblemError if the demo would replace files that an earlier demo did not write, such as a page."""
    names = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    if not names & _WRITTEN or names <= _WRITTEN:
        return
    page = folder / "index.html"
    if not page.is_file() or _MARK not in page.read_text(encoding="utf-8", errors="replace"):
        expected = "a folder that is new, empty or of an earlier demo"
        raise InvalidProblemError("--output", expected, f"{folder} with other files")
