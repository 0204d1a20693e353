"""The command ``discreet``: its commands by group, and the one place where errors become exit statuses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import (
    anonymizing,
    attacking,
    auditing,
    budgets,
    channels,
    comparison,
    counting,
    judging,
    locating,
    reproducing,
    selecting,
    serving,
    showing,
    studying,
)
from discreet.cli.output import Status, fail, stopped
from discreet.core.errors import InvalidProblemError
from discreet.core.outcome import versions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typer.models import CommandInfo

__all__ = ["app", "run"]

_USAGE: type[Exception] = typer.BadParameter.__bases__[0]
"""What Typer raises for arguments that it cannot parse; BadParameter is one kind of it."""

app = typer.Typer(
    name="discreet",
    help="Optimal privacy mechanisms, with the proof attached.",
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
        typer.echo(f"discreet {versions()['discreet']}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


anonymizing.register(app)
attacking.register(app)
auditing.register(app)
channels.register(app)
counting.register(app)
budgets.register(app)
comparison.register(app)
judging.register(app)
locating.register(app)
reproducing.register(app)
selecting.register(app)
serving.register(app)
showing.register(app)
studying.register(app)

_PANELS = {
    "Channels": ("design", "sample", "info"),
    "Location service": ("serve", "locate"),
    "Counts": ("counts", "query", "budget"),
    "Tables": ("anonymize", "risk"),
    "Choices": ("select",),
    "Judges": ("verify", "audit", "attack", "compare"),
    "Pages": ("demo", "reproduce", "studio"),
}
"""How the help orders the commands."""


def _arrange() -> None:
    """Put the commands into panels, in the order of the table."""
    places = {
        name: (panel, at) for panel, names in _PANELS.items() for at, name in enumerate(names)
    }
    order = list(_PANELS)
    for group in app.registered_groups:
        group.rich_help_panel = places["budget"][0]
    for command in app.registered_commands:
        command.rich_help_panel = places[_name(command)][0]
    app.registered_commands.sort(
        key=lambda each: (order.index(places[_name(each)][0]), places[_name(each)][1])
    )


def _name(command: CommandInfo) -> str:
    return str(command.name or getattr(command.callback, "__name__", ""))


_arrange()


def run(arguments: Sequence[str]) -> int:
    """Run the command with some arguments, and return its exit status; no error leaves this function."""
    as_json = "--json" in arguments
    grid = any(argument.partition("=")[0] == "--grid" for argument in arguments)
    command = typer.main.get_command(app)
    try:
        status = command.main(args=list(arguments), prog_name="discreet", standalone_mode=False)
    except (typer.Abort, KeyboardInterrupt):
        return stopped(as_json=as_json)
    except _USAGE as error:
        return fail(_as_ours(error), as_json=as_json)
    except Exception as error:  # noqa: BLE001 - this is where every error becomes one line and a status
        return fail(error, as_json=as_json, grid=grid)
    if status == Status.INTERRUPTED and not isinstance(status, Status):
        # Typer makes this number of a Ctrl-C; a command that ended by itself has said what stands.
        return stopped(as_json=as_json)
    return int(status or 0)


def _as_ours(error: BaseException) -> InvalidProblemError:
    """Say what Typer refused in the form of our own errors."""
    parameter = getattr(error, "param", None)
    names = getattr(parameter, "opts", None) or ["arguments"]
    if type(error).__name__ == "MissingParameter":
        return InvalidProblemError(names[-1], "a value", "none")
    message = getattr(error, "message", "") or str(getattr(error, "format_message", str)())
    return InvalidProblemError(names[-1], "what `discreet --help` describes", message)
