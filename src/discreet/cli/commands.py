"""The commands: those of this package, and those that other distributions add. Only the one that is run is imported.

A command of this package is a function in a module beside this one, both of its name; a group of commands is a module
whose ``register`` adds it. ``discreet --help`` shows the sentences of the table below. Other distributions add commands
by entry points of the group ``discreet.commands``. An entry point's name is the command's, and what it names is a
``typer.Typer`` made with ``add_completion=False``::

    [project.entry-points."discreet.commands"]
    reproduce = "discreet_reproduction.command:app"

Entry points are looked up where no command of this package has the name that was typed, and for ``discreet --help``,
which shows the summary of the distribution.
"""

from __future__ import annotations

import copy
import importlib
from difflib import get_close_matches
from functools import cache
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup

from discreet.core.errors import InvalidProblemError
from discreet.core.moved import INSTALL, where_now

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from importlib.metadata import EntryPoint

GROUP = "discreet.commands"
"""The group of entry points."""

_PANEL = "From other distributions"

OWN: dict[str, dict[str, str]] = {
    "Channels": {
        "design": "Design the channel that loses least under metric privacy, and prove it.",
        "sample": "Draw reports for a secret, with the operating system's randomness.",
        "info": "Show what a channel file guarantees, loses, assumes, and how it was made.",
    },
    "Location service": {
        "serve": "Publish one mechanism for a region. Clients fetch it whole and draw by themselves; they upload "
        "nothing.",
        "locate": "Report a place privately, by the mechanism that a server publishes, drawn on this machine.",
    },
    "Counts": {
        "counts": "Publish how many units of each size every region has: whole numbers that add up, differentially "
        "private.",
        "query": "Answer a question about sizes from kept measurements: without bias, and with an interval.",
        "budget": "Grant datasets privacy budgets, and see the remaining budgets.",
    },
    "Tables": {
        "anonymize": "Generalize the cells of a table as little as possible, so that each equivalence class has k rows "
        "or more.",
        "risk": "Measure the re-identification risk of a table: prosecutor, journalist and marketer risk, class sizes, "
        "k, l, t.",
    },
    "Choices": {
        "select": "Choose a set of candidates that is worth much to private records, differentially privately.",
    },
    "Judges": {
        "verify": "Check what an artefact claims, with code that did not make it.",
        "audit": "Try to break what is claimed: by replaying every draw, by the verifier, or by samples.",
        "attack": "Attack what a mechanism or a file gives out, by the best attacks known.",
        "compare": "Compare what methods lose under the same guarantee, at one or more strengths.",
    },
    "Pages": {
        "demo": "Run all five mechanisms on synthetic data, and write FOLDER/index.html, which explains them.",
        "doctor": "Check this installation, and print a cure for each part that is missing or broken.",
        "studio": "Anonymize a table, or publish counts, on pages in the browser, served by this machine to itself.",
    },
}
"""Panel of the help -> command of this package -> its summary, which is the first sentence of its own help."""

_STUBS = {
    name: TyperCommand(name, help=summary, rich_help_panel=panel)
    for panel, commands in OWN.items()
    for name, summary in commands.items()
}
"""What the list of commands shows of those of this package."""

_OURS = {"reproduce": INSTALL}
"""Command -> what installs the distribution of this project that adds it."""


class Commands(TyperGroup):
    """The commands of this package, and after them those that other distributions add."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401, ARG002 - a class that depends on Typer's version
        """List the names of all commands."""
        return [*_STUBS, *sorted((_OURS.keys() | _added()) - _STUBS.keys())]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401, ARG002 - as above
        """Return a stub with the command's name and summary, without importing it; None for an unknown name."""
        if cmd_name in _STUBS:
            return _STUBS[cmd_name]
        added = _added().get(cmd_name)
        if added is None and cmd_name not in _OURS:
            return None
        if added is None:
            summary = f"Not installed: `{INSTALL}`."
        else:
            summary = added.dist.metadata["Summary"] if added.dist is not None else added.value
        return TyperCommand(cmd_name, help=summary, rich_help_panel=_PANEL)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401 - as above
        """Return name, command and its remaining arguments, as Typer calls it; the command is imported now.

        InvalidProblemError for an unknown command or an option that was renamed.
        """
        if args and self.get_command(ctx, args[0]) is None:
            near = get_close_matches(args[0], self.list_commands(ctx), 1)
            hint = f"; the nearest is {near[0]}" if near else ""
            got = f"No such command {args[0]!r}{hint}"
            raise InvalidProblemError("arguments", "what `discreet --help` describes", got)
        name, command, rest = super().resolve_command(ctx, args)
        for option in rest:
            place = where_now(f"discreet {name} {option}")
            if place:
                raise InvalidProblemError(option, f"no such option any more: {place}", "it")
        if name is not None:
            own = name in _STUBS
            command = command_named(name) if own else typer.main.get_command(load(name))
            hide_types_of_flags(command)
        return name, command, rest


def example_text(examples: Sequence[str]) -> str:
    """Return the examples of a command as its help shows them."""
    blocks = "\n\n".join(examples)
    return f"Example{'s' if len(examples) > 1 else ''}:\n\n```\n{blocks}\n```"


def brief_help(first: Collection[str], examples: Sequence[str]) -> type[TyperCommand]:
    """Return a class of commands whose ``--help`` is short; their records have a ``HelpAllOption`` for all options.

    Parameters
    ----------
    first
        Optional parameters that the short help shows.
    examples
        Commands, of which it shows two.
    """

    class Brief(TyperCommand):
        """A command whose ``--help`` has two examples and the most used options."""

        def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - classes that depend on Typer's version
            brief = copy.copy(self)
            shown = {*first, "help_all"}
            brief.params = [one for one in self.params if one.required or one.name in shown]
            rest = len(self.params) - len(brief.params)
            blocks = "\n\n".join(examples[:2])
            about = (self.help or "").partition("\n\n")[0]
            brief.help = f"{about}\n\n```\n{blocks}\n```"
            brief.epilog = f"`discreet {self.name} --help-all` shows {rest} more options."
            TyperCommand.format_help(brief, ctx, formatter)

    return Brief


@cache
def command_named(name: str) -> Any:  # noqa: ANN401 - a class that depends on Typer's version
    """Import a command of this package and build it, once in a process: reading its signature takes Typer a while.

    Returns a command of Typer. An import error is raised on.

    Parameters
    ----------
    name
        One of :data:`OWN`.

    Examples
    --------
    >>> command_named("info").name
    'info'
    """
    app = typer.Typer(rich_markup_mode="markdown")
    module = importlib.import_module(f"discreet.cli.{name}")
    if hasattr(module, "register"):
        module.register(app)
    else:
        run: Any = getattr(module, name)
        cls = brief_help(run.first, run.examples) if hasattr(run, "first") else None
        settings = getattr(run, "settings", None)
        app.command(cls=cls, epilog=example_text(run.examples), context_settings=settings)(run)
    return typer.main.get_group(app).commands[name]


def hide_types_of_flags(command: Any) -> None:  # noqa: ANN401 - which class it is depends on Typer's version
    """Remove the type of flags from the help of a command and of the commands below it, in place."""
    for parameter in (*command.params, command.get_help_option(typer.Context(command))):
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
    for below in getattr(command, "commands", {}).values():
        hide_types_of_flags(below)


def load(name: str) -> typer.Typer:
    """Import a command that another distribution adds.

    Parameters
    ----------
    name
        The name of its entry point.

    Raises
    ------
    InvalidProblemError
        When no distribution that is installed adds it, when it can't be imported, or when it is no ``typer.Typer``.

    Examples
    --------
    >>> load("divine")
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: divine: expected an installed distribution that adds it, got none
    """
    entry = _added().get(name)
    if entry is None:
        how = f" ({_OURS[name]})" if name in _OURS else ""
        raise InvalidProblemError(name, f"an installed distribution that adds it{how}", "none")
    whose = f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else entry.value
    try:
        loaded = entry.load()
    except Exception as error:
        got = f"{whose}, whose import ends in {type(error).__name__}: {error}"
        raise InvalidProblemError(name, "a distribution that can be imported", got) from error
    if not isinstance(loaded, typer.Typer):
        kind = type(loaded).__name__
        raise InvalidProblemError(
            name, "an entry point that names a typer.Typer", f"{kind} from {whose}"
        )
    return loaded


def _added() -> dict[str, EntryPoint]:
    """Return the commands that other packages add, by name."""
    return {entry.name: entry for entry in entry_points(group=GROUP)}
