"""The page of options: every command with all of its options, written from the tables that the commands are made of."""  # noqa: INP001 - a folder of Sphinx extensions, put on the path by conf.py

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_LEAD = (
    "Written from the table of options of each command, as `discreet COMMAND --help-all` shows it. "
    "[The command line](../command-line.md) has what is the same for all of them. Options with a setting can stand in "
    "the environment instead."
)


def options_page() -> str:
    """Return the page in Markdown: a section for each command, and a table for each group of options."""
    from discreet.cli.commands import OWN, command_named

    parts = [f"# Options of all commands\n\n{_LEAD}\n"]
    for names in OWN.values():
        for name in names:
            command = command_named(name)
            below = getattr(command, "commands", {})
            for path, one in {f"{name} {sub}": one for sub, one in below.items()}.items():
                parts += _section(path, one)
            if not below:
                parts += _section(name, command)
    return "\n".join(parts)


def _section(name: str, command: Any) -> Iterator[str]:  # noqa: ANN401 - a class that depends on Typer's version
    about = (command.help or "").partition("\n\n")[0].partition("\f")[0]
    yield f"## discreet {name}\n\n{' '.join(about.split())}\n"
    rows: dict[str, list[str]] = {}
    for one in command.params:
        panel = getattr(one, "rich_help_panel", None) or "Files and output"
        typed = [name for name in (*one.opts, *one.secondary_opts) if name.startswith("-")]
        shown = ", ".join(f"`{name}`" for name in typed) or f"`{one.metavar or one.name.upper()}`"
        if typed and one.metavar and not getattr(one, "is_flag", False):
            shown += f" {one.metavar}"
        shown = shown.replace("|", r"\|")
        setting = f" Setting: `{one.envvar}`." if one.envvar else ""
        meaning = re.sub(r"([|<>*_])", r"\\\1", " ".join((one.help or "").split()))
        rows.setdefault(panel, []).append(f"| {shown} | {meaning}{setting} |")
    for panel, lines in rows.items():
        yield f"| {panel} | |\n| --- | --- |\n" + "\n".join(lines) + "\n"
