"""The page of options has every option of every command, and every setting of the environment."""

from __future__ import annotations

from discreet.cli.commands import OWN, command_named
from discreet.cli.serve import _SETTINGS
from docs.loading import tool


def test_the_page_of_options_has_every_option_once_in_its_section() -> None:
    page = tool("option_pages").options_page()
    sections = dict(part.split("\n", 1) for part in page.split("\n## discreet ")[1:])
    assert all(
        name in {section.split(" ")[0] for section in sections}
        for names in OWN.values()
        for name in names
    )
    for name, text in sections.items():
        command = command_named(name.split(" ")[0])
        if " " in name:
            command = command.commands[name.split(" ")[1]]
        options = [
            option for one in command.params for option in one.opts if option.startswith("--")
        ]
        assert all(f"`{option}`" in text for option in options)
        rows = [line for line in text.splitlines() if line.startswith("| `")]
        assert len(rows) == len(command.params)
        assert all(row.replace(r"\|", "").count("|") == 3 for row in rows)


def test_the_page_of_options_has_every_setting_of_the_environment() -> None:
    page = tool("option_pages").options_page()
    for name in _SETTINGS:
        assert page.count(f"`DISCREET_{name.upper()}`") == 1
