"""Arguments and options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["Channel", "Json", "Quiet"]

Channel = Annotated[str, typer.Argument(metavar="CHANNEL", help="A file that `design` wrote.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no warnings.")]
