"""``verify``: check an artefact anew."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from discreet.artefact import is_table, kind_of
from discreet.cli.files import channel_kind
from discreet.cli.options import Json  # noqa: TC001 - Typer reads annotations at run time
from discreet.cli.output import Status, emit, facts
from discreet.cli.registry import JUDGES, find
from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from discreet.core.certificate import Certificate

__all__ = ["register", "verify"]

_EXAMPLES = """Examples:

```
discreet verify c.channel --optimality

discreet verify out.parquet --json

python verify_standalone.py c.channel
```
"""


def verify(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A channel that `design` wrote, or a table.")
    ],
    *,
    optimality: Annotated[
        bool, typer.Option("--optimality", help="Check the lower bound too.")
    ] = False,
    as_json: Json = False,
) -> int:
    """Check what an artefact claims, with code that did not make it.

    A channel's privacy is checked on the stored integers, in exact arithmetic, for all constrained pairs; a table by
    its own numbers, and its guarantee by the arithmetic of its noise. The exit status is 1 when a check fails, and for
    anything that was made with a seed.
    """
    certificate: Certificate
    certificate, found = find(JUDGES, _kind(file), "FILE")(file, optimality=optimality)
    data = {**certificate.to_dict(), **found}
    rows: list[tuple[str, object]] = [("passed", "yes" if certificate.passed else "NO")]
    if "achieved_epsilon" in found:
        rows.insert(0, ("achieved epsilon", found["achieved_epsilon"]))
    summary = facts(rows)
    emit(data, f"{certificate}\n\n{summary}", as_json=as_json, command="verify")
    return Status.DONE if certificate.passed else Status.CHECK_FAILED


def _kind(path: str) -> str:
    """Tell by the file, or by the record beside it, what has to be checked."""
    if not (is_table(path) or path.lower().endswith((".csv", ".parquet"))):
        return channel_kind(path)
    try:
        return kind_of(path)
    except InvalidProblemError as error:
        raise InvalidProblemError("FILE", error.expected, error.got) from None


def register(app: typer.Typer) -> None:
    """Add the commands of this group."""
    app.command(epilog=_EXAMPLES)(verify)
