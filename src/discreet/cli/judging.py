"""``verify``: check an artefact anew."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.files import channel_kind
from discreet.cli.options import Channel, Json  # noqa: TC001 - Typer reads annotations at run time
from discreet.cli.output import Status, emit, facts
from discreet.cli.registry import JUDGES, find

if TYPE_CHECKING:
    from discreet.core.certificate import Certificate

__all__ = ["register", "verify"]

_EXAMPLES = """Examples:

```
discreet verify c.channel --optimality

python verify_standalone.py c.channel
```
"""


def verify(
    channel: Channel,
    *,
    optimality: Annotated[
        bool, typer.Option("--optimality", help="Check the lower bound too.")
    ] = False,
    as_json: Json = False,
) -> int:
    """Check what a channel file claims, with code that did not make it.

    Privacy is checked on the stored integers, in exact arithmetic, for all constrained pairs. The exit status is 1 when
    a check fails, and for anything that was made with a seed.
    """
    certificate: Certificate
    certificate, found = find(JUDGES, channel_kind(channel), "CHANNEL")(
        channel, optimality=optimality
    )
    data = {**certificate.to_dict(), **found}
    summary = facts(
        [
            ("achieved epsilon", found["achieved_epsilon"]),
            ("passed", "yes" if certificate.passed else "NO"),
        ]
    )
    emit(data, f"{certificate}\n\n{summary}", as_json=as_json, command="verify")
    return Status.DONE if certificate.passed else Status.CHECK_FAILED


def register(app: typer.Typer) -> None:
    """Add the commands of this group."""
    app.command(epilog=_EXAMPLES)(verify)
