"""What was typed for ``anonymize``: what is promised, how it is searched for, and where results go."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

from discreet.cli.microdata import Kinds, names_of
from discreet.kanonymity.models import read_models
from discreet.tables.options import ReadingOptions
from discreet.tables.recoding import Recoding
from discreet.tables.roles import Given

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["COMPILING", "AnonymizeOptions", "ResultFiles", "given_roles"]

COMPILING = "compiling, first run only"


@final
@dataclass(frozen=True)
class AnonymizeOptions:
    """What is promised, and how it is searched for, as it was typed."""

    k: int
    quasi: Sequence[str]
    sensitive: Sequence[str]
    kinds: Kinds
    loss: str
    method: str | None
    time_limit: float | None
    gap: float | None
    suppress: float
    keep_suppressed: bool
    threads: int
    effort: str | None = None
    memory: str | None = None
    scheduler: str | None = None
    require: Sequence[str] = ()
    person: str | None = None
    keep: Sequence[str] = ()
    drop: Sequence[str] = ()
    unassigned: str | None = None
    population: str | None = None
    k_map: int | None = None
    reading: ReadingOptions = field(default_factory=ReadingOptions)
    recoding: Recoding = field(default_factory=Recoding)


@final
@dataclass(frozen=True)
class ResultFiles:
    """Where results go."""

    output: str | None
    report: str | None
    as_json: bool
    quiet: bool
    curator: str | None = None
    verbose: bool = False


def given_roles(options: AnonymizeOptions) -> Given:
    """Take roles as they were typed; a column of --require is sensitive."""
    keep, sensitive = names_of(options.keep), names_of(options.sensitive)
    for name in read_models(options.require, field="--require"):
        if name not in (*keep, *sensitive):
            sensitive.append(name)
    return Given(
        names_of(options.quasi),
        sensitive,
        keep,
        names_of(options.drop),
        options.person,
        options.unassigned,
    )
