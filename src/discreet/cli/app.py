"""The command ``discreet``, and the one place where errors become exit statuses."""

from __future__ import annotations

import errno
import logging
import os
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.commands import OWN, Commands, command_named, hide_types_of_flags
from discreet.cli.output import Status, fail, stopped, warn
from discreet.cli.spellings import respell
from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from collections.abc import Sequence

_USAGE: type[Exception] = typer.BadParameter.__bases__[0]
"""What Typer raises for arguments that it cannot parse; BadParameter is one kind of it."""

FILES = "demo --files first"
"""What makes the files of the first commands, in a folder in which they are typed."""

FIRST = (
    "anonymize patients.csv -k 5 --quasi age,sex,zip --sensitive disease --time-limit 5 -o anonymous.csv",
    (
        "counts people.csv --unit household --regions state,county --region-list regions.csv --max-size 8 "
        "--epsilon 1 --neighbors add-remove-person -o households.csv"
    ),
    "select --coverage reach.csv --matroid partition:districts.csv --epsilon 1 --neighbors add-remove-one",
    "design places.csv --unit km --epsilon 2/km --loss euclidean -o places.channel",
    "serve --roads edges.csv --nodes nodes.csv --epsilon 5/km --spacing 0.2 --places-only --port 8080",
)
"""One command a task, each on the files that ``demo --files`` makes; the README shows the same."""

_HELP = (
    "Optimal privacy mechanisms, with the proof attached.\n\nOne command a task, on files that the first makes; "
    "`discreet doctor` says what an installation lacks:\n\n```\n"
    + "\n\n".join((f"discreet {FILES}", "cd first", *(f"discreet {line}" for line in FIRST)))
    + "\n```"
)

app = typer.Typer(
    name="discreet",
    cls=Commands,
    help=_HELP,
    epilog="Exit status: 0 done, 1 a check failed, 2 bad input, 3 infeasible, 4 a requested target was "
    "missed (the best verified outcome is written), 5 budget refused, 70 internal or solver failure, 130 "
    "interrupted (the best verified outcome is written). Data go to standard output, progress and warnings "
    "to standard error.",
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)


@app.callback()
def root(
    context: typer.Context,
    *,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """Optimal privacy mechanisms, with the proof attached."""
    if version:
        from discreet.core.outcome import versions

        typer.echo(f"discreet {versions()['discreet']}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


def run(arguments: Sequence[str]) -> int:
    """Run the command with the `arguments` after ``discreet``, and return its exit status, as of `Status`.

    Errors become one line on standard error and a status; SystemExit alone leaves this function.
    """
    as_json = "--json" in arguments or _logs_json(arguments)
    grid = any(argument.partition("=")[0] == "--grid" for argument in arguments)
    command = _command()
    # Where its folder cannot be written it says so in lines of its own, and goes on without.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    try:
        _check_names(arguments)
        arguments, notes = respell(arguments)
        if notes:
            warn(
                f"reading {', '.join(notes)}",
                quiet=as_json or bool({"-q", "--quiet"} & set(arguments)),
            )
        status = command.main(args=list(arguments), prog_name="discreet", standalone_mode=False)
    except (typer.Abort, KeyboardInterrupt) as error:
        return stopped(as_json=as_json, error=error)
    except _USAGE as error:
        return fail(_as_ours(error, arguments), as_json=as_json)
    except SystemExit:
        raise
    except (OSError, ImportError, RuntimeError) as error:
        return fail(_of_the_machine(error, arguments), as_json=as_json, grid=grid)
    except BaseException as error:  # noqa: BLE001 - this is where every error becomes one line and a status
        # A panic of the reader of tables is no Exception.
        return fail(error, as_json=as_json, grid=grid)
    if status == Status.INTERRUPTED and not isinstance(status, Status):
        # Typer makes this number of a Ctrl-C; a command that ended by itself has said what stands.
        return stopped(as_json=as_json)
    return int(status or 0)


def _logs_json(arguments: Sequence[str]) -> bool:
    """Return whether standard error is for programs: ``serve`` with ``--log json``, or with DISCREET_LOG=json."""
    if "serve" not in arguments[:1]:
        return False
    typed = [
        after if argument == "--log" else argument.partition("=")[2]
        for argument, after in zip(arguments, [*arguments[1:], ""], strict=True)
        if argument.partition("=")[0] == "--log"
    ]
    return (typed or [os.environ.get("DISCREET_LOG", "")])[-1] == "json"


@cache
def _command() -> Any:  # noqa: ANN401 - which class it is depends on Typer's version
    """Build the outermost command once in a process."""
    command = typer.main.get_command(app)
    hide_types_of_flags(command)
    return command


def _check_names(arguments: Sequence[str]) -> None:
    """Refuse names of files that are not UTF-8, before anything is charged: readers of tables know no others."""
    for argument in arguments:
        if not argument.isascii() and any("\ud800" <= letter <= "\udfff" for letter in argument):
            raise InvalidProblemError("a path", "a name in UTF-8; rename the file", ascii(argument))


def _of_the_machine(error: Exception, arguments: Sequence[str]) -> BaseException:
    """Return a refusal of an argument for a name that is too long or a loop of links, or MemoryError.

    Any other `error` is returned as it is.
    """
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        return _as_a_name(error, arguments)
    # pathlib before Python 3.13; the others are how libraries are loaded that find no room.
    if isinstance(error, RuntimeError) and str(error).startswith("Symlink loop"):
        got = next((each for each in arguments if _is_loop(each)), "a loop")
        return InvalidProblemError("a path", "symbolic links that end at a file", got)
    words = f"{error} {error.__cause__} {error.__context__}"
    if any(each in words for each in ("failed to map segment", "annot allocate memory")):
        return MemoryError()
    return error


def _is_loop(text: str) -> bool:
    """Return whether a word of the command line names a path whose links lead back to it.

    `text` may be an option with its value, or NAME=PATH; False for what is no path.
    """
    try:
        Path(text.rpartition("=")[2].rpartition(":")[2]).stat()
    except OSError as error:
        return error.errno == errno.ELOOP
    except ValueError:
        return False
    return False


def _as_a_name(error: OSError, arguments: Sequence[str], *, min_letters: int = 200) -> Exception:
    """Return a refusal of the argument whose path is too long for a file, wherever it was first used.

    `error` is of the system, with the name of the file; "a path" stands for an argument that is not found. Shorter
    arguments than `min_letters` are not at fault: systems take 255 bytes for a name, and we add some to it.
    """
    option = "a path"
    for before, argument in zip(["", *arguments], arguments, strict=False):
        name, _, value = argument.partition("=")
        if len(argument) > min_letters and (value or argument) in str(error.filename):
            option = name if value and name.startswith("-") else before
    option = option if option.startswith("-") else "a path"
    return InvalidProblemError(option, "a name that a file can have", "one that is too long")


def _wanted(parameter: Any) -> str:  # noqa: ANN401 - which class it is depends on Typer's version
    """Describe the value of an option, a parameter of Typer or None: its choices if it has some, else its purpose."""
    choices = getattr(getattr(parameter, "type", None), "choices", None)
    if choices:
        return f"one of {', '.join(str(getattr(one, 'value', one)) for one in choices)}"
    about = (getattr(parameter, "help", None) or "").split("\n")[0].rstrip(".")
    if about[1:2].islower():
        about = f"{about[:1].lower()}{about[1:]}"
    return f"a value ({about})" if about else "a value"


def _example(arguments: Sequence[str]) -> str:
    """Return a whole command of the same name, since more than one thing may have been left out."""
    line = next((one for one in FIRST if one.split()[0] in arguments[:1]), None)
    return "" if line is None else f"; a whole one is `discreet {line}`"


def _misused(error: Any, arguments: Sequence[str]) -> InvalidProblemError:  # noqa: ANN401 - as above
    """Return a refusal of an option without its value, or of a flag with one.

    `error` is Typer's, with the name of the option; the command is found in the `arguments` as typed.
    """
    name = str(error.option_name)
    below = {command for commands in OWN.values() for command in commands}
    typed = next((one for one in arguments if one in below), None)
    command = None if typed is None else command_named(typed)
    named = (
        one for one in getattr(command, "params", []) if name in (*one.opts, *one.secondary_opts)
    )
    option = next(named, None)
    if getattr(option, "is_flag", False):
        return InvalidProblemError(name, "no value, since it is a flag", "one")
    return InvalidProblemError(name, _wanted(option), "none")


def _as_ours(error: BaseException, arguments: Sequence[str]) -> InvalidProblemError:
    """Convert an error of Typer to a refusal that names the option and what is allowed, and no value that was typed."""
    parameter = getattr(error, "param", None)
    names = getattr(parameter, "opts", None) or ["arguments"]
    if type(error).__name__ == "MissingParameter":
        name = names[-1] if names[-1].startswith("-") else names[-1].upper()
        return InvalidProblemError(name, _wanted(parameter), f"none{_example(arguments)}")
    if type(error).__name__ == "BadOptionUsage":
        return _misused(error, arguments)
    if type(error).__name__ == "NoSuchOption":
        names = [str(getattr(error, "option_name", names[-1]))]
    message = getattr(error, "message", "") or str(getattr(error, "format_message", str)())
    # A value that cannot be read: what Typer says of it names no value, and neither do we.
    wanted = re.fullmatch(r"Input should be ([^,]+)(,.*)?", message)
    if wanted:
        return InvalidProblemError(names[-1], wanted[1], "something else")
    nearest = getattr(error, "possibilities", None)
    if nearest:
        message = f"{message}; the nearest is {nearest[0]}"
    return InvalidProblemError(names[-1], "what `discreet --help` describes", message)
