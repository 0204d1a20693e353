"""Commands that other distributions add, by entry points of the group ``discreet.commands``.

An entry point's name is the command's, and what it names is a ``typer.Typer`` made with ``add_completion=False``::

    [project.entry-points."discreet.commands"]
    reproduce = "discreet_reproduction.command:app"

Entry points are looked up where no command of this package has the name that was typed, and for ``discreet --help``,
which shows the summary of the distribution. Only a command that is run is imported.
"""

from __future__ import annotations

from difflib import get_close_matches
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup

from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["GROUP", "Commands", "load"]

GROUP = "discreet.commands"
"""The group of entry points."""

_PANEL = "From other distributions"

_OURS = {"reproduce": "discreet-reproduction"}
"""Command -> the distribution of this project that adds it."""


class Commands(TyperGroup):
    """The commands of this package, and after them those that other distributions add."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401 - which class it is depends on Typer's version
        """Name all commands."""
        own = super().list_commands(ctx)
        return [*own, *sorted((_OURS.keys() | _added()) - set(own))]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401 - as above
        """Give a command; of an added one its name and its summary, without importing it."""
        own = super().get_command(ctx, cmd_name)
        if own is not None:
            return own
        found = _added().get(cmd_name)
        if found is None and cmd_name not in _OURS:
            return None
        if found is None:
            told = f"Not installed: `pip install {_OURS[cmd_name]}`."
        else:
            told = found.dist.metadata["Summary"] if found.dist is not None else found.value
        return TyperCommand(cmd_name, help=told, rich_help_panel=_PANEL)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401 - as above
        """Find the command that is run, and import it where it is an added one."""
        if args and self.get_command(ctx, args[0]) is None:
            near = get_close_matches(args[0], self.list_commands(ctx), 1)
            hint = f"; the nearest is {near[0]}" if near else ""
            got = f"No such command {args[0]!r}{hint}"
            raise InvalidProblemError("arguments", "what `discreet --help` describes", got)
        name, command, rest = super().resolve_command(ctx, args)
        if name is not None and name not in self.commands:
            command = typer.main.get_command(load(name))
        return name, command, rest


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
    found = _added().get(name)
    if found is None:
        how = f" (pip install {_OURS[name]})" if name in _OURS else ""
        raise InvalidProblemError(name, f"an installed distribution that adds it{how}", "none")
    whose = f"{found.dist.name} {found.dist.version}" if found.dist is not None else found.value
    try:
        loaded = found.load()
    except Exception as error:
        said = f"{whose}, whose import ends in {type(error).__name__}: {error}"
        raise InvalidProblemError(name, "a distribution that can be imported", said) from error
    if not isinstance(loaded, typer.Typer):
        kind = type(loaded).__name__
        raise InvalidProblemError(
            name, "an entry point that names a typer.Typer", f"{kind} from {whose}"
        )
    return loaded


def _added() -> dict[str, EntryPoint]:
    return {found.name: found for found in entry_points(group=GROUP)}
