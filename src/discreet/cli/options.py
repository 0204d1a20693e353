"""Arguments and options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = [
    "PROMISED",
    "Channel",
    "Dataset",
    "Epsilon",
    "Json",
    "Ledger",
    "NoGuarantee",
    "Quiet",
    "Report",
    "Rho",
]

PROMISED = "What is promised"
"""The panel of options that are about the guarantee."""

Channel = Annotated[str, typer.Argument(metavar="CHANNEL", help="A file that `design` wrote.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no warnings.")]
Report = Annotated[
    str | None, typer.Option(metavar="FILE.html", help="Write a page about it, that stands alone.")
]
Epsilon = Annotated[
    str | None,
    typer.Option(help="Privacy budget. It has no default.", rich_help_panel=PROMISED),
]
Rho = Annotated[
    str | None,
    typer.Option(
        help="Budget of zero-concentrated differential privacy instead.", rich_help_panel=PROMISED
    ),
]
Ledger = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Charge this ledger before the data are read; see `discreet budget`.",
        rich_help_panel=PROMISED,
    ),
]
Dataset = Annotated[
    str | None, typer.Option(help="Name of the data in the ledger.", rich_help_panel=PROMISED)
]
NoGuarantee = Annotated[
    bool,
    typer.Option(
        "--accept-no-guarantee",
        help="Run a method without a guarantee, for comparison. Its output must not be published.",
        rich_help_panel=PROMISED,
    ),
]
