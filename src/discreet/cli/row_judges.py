"""Check anonymized tables anew: by the record beside them, or by what is asked for on the command line."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

from discreet.cli.demands import read_models, read_presence
from discreet.cli.judges import claim_facts
from discreet.cli.microdata import Kinds, attributes_of, names_of, no_column, pairs_of, read_rows
from discreet.core.certificate import Certificate, Check
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import KAnonymity

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from discreet.artefact import AnonymousTable
    from discreet.kanonymity.problem import Attribute

__all__ = ["Rows", "judge_anonymous", "judge_rows"]


@final
@dataclass(frozen=True)
class Rows:
    """What a table of rows is asked to keep, as it was typed."""

    k: int | None = None
    quasi: Sequence[str] = ()
    against: str | None = None
    diverse: Sequence[str] = ()
    close: Sequence[str] = ()
    person: str | None = None
    require: Sequence[str] = ()
    presence: str | None = None
    population: str | None = None
    kinds: Kinds = field(default_factory=Kinds)

    @property
    def asked(self) -> bool:
        """Whether anything was."""
        return self != Rows()


def judge_anonymous(path: str, *, optimality: bool) -> tuple[Certificate, dict[str, Any]]:
    """Verify an anonymized table as the record beside it says.

    Parameters
    ----------
    path
        The table.
    optimality
        Must not be asked for: a published table does not hold what its loss could be measured by.

    Returns
    -------
    certificate : Certificate
        All checks.
    facts : dict
        Those of :func:`~discreet.cli.judges.claim_facts`, ``rows``, ``classes``, ``smallest_class``.
    """
    return judge_rows(path, Rows(), optimality=optimality)


def judge_rows(path: str, asked: Rows, *, optimality: bool) -> tuple[Certificate, dict[str, Any]]:
    """Verify a table of rows: by what is asked, and for what is not by the record beside it.

    Parameters and results are those of :func:`judge_anonymous`.
    """
    from discreet.artefact import ANONYMOUS, is_table, kind_of, load_anonymous
    from discreet.kanonymity.verify import classes_of, verify

    if optimality:
        raise InvalidProblemError("--optimality", "a channel, which has a lower bound", "a table")
    kept = load_anonymous(path) if is_table(path) and kind_of(path) == ANONYMOUS else None
    guarantee = _guarantee(asked, kept)
    table = read_rows(path, "FILE")
    for name in (*guarantee.quasi_identifiers, *([asked.person] if asked.person else [])):
        if name not in table.columns:
            option = "--person" if name == asked.person else "--quasi"
            raise no_column(option, name, table.width)
    attributes: tuple[Attribute, ...] = ()
    left_out: list[str] = []
    original = people = presence = None
    if asked.against is not None:
        before = read_rows(asked.against, "--against")
        unread = [name for name in guarantee.quasi_identifiers if name not in before.columns]
        if unread:
            expected = "a table with the quasi-identifiers of the published one"
            raise InvalidProblemError("--against", expected, f"one without {', '.join(unread)}")
        left_out = [name for name in before.columns if name not in table.columns]
        attributes = _attributes(before, guarantee, asked.kinds, kept)
        original = _read(before, attributes)
    if (asked.presence is None) != (asked.population is None):
        raise InvalidProblemError("--presence", "with --population, and only with it", "one")
    if asked.population is not None:
        public = read_rows(asked.population, "--population")
        attributes = attributes or _attributes(public, guarantee, asked.kinds, kept)
        people = _read(public, attributes)
        presence = read_presence(asked.presence or "")
    certificate = verify(
        table,
        guarantee,
        diverse={name: _whole(text) for name, text in pairs_of(asked.diverse, "--diverse").items()},
        close=pairs_of(asked.close, "--close"),
        models=read_models(asked.require or _recorded(kept)),
        person=asked.person,
        population=people,
        presence=presence,
        against=original,
        attributes=attributes,
    )
    checks = list(certificate.checks)
    if kept is not None:
        altered = int(kept.altered)
        checks.append(Check("bytes that differ from those written", altered, 0, exact=True))
        seeded = int(kept.provenance.seeded)
        checks.append(Check("made with a seed, hence not private", seeded, 0, exact=True))
    classes = classes_of(table, guarantee.quasi_identifiers)
    found = {
        **claim_facts(
            ANONYMOUS,
            guarantee,
            None if kept is None else kept.provenance,
            _unchecked(asked, kept, left_out),
        ),
        "rows": table.height,
        "classes": len(classes.sizes),
        "smallest_class": int(classes.sizes.min()),
    }
    if asked.against is not None and not all(check.passed for check in checks):
        found["private"] = "What failed was counted with the original, which is private."
    return Certificate(tuple(checks)), found


def _unchecked(asked: Rows, kept: AnonymousTable | None, left_out: Sequence[str]) -> list[str]:
    """Say what was not checked this time."""
    said = []
    if kept is None:
        said.append("that these are the bytes that somebody wrote: no record stands beside them")
    if asked.against is None:
        said.append("that rows are those of an original, generalized: --against does")
    if left_out:
        names = ", ".join(left_out)
        said.append(
            f"columns of the original that were not published, and are not compared: {names}"
        )
    return said


def _recorded(kept: AnonymousTable | None) -> list[str]:
    """Give the models that the record beside a table states."""
    stated = [] if kept is None else kept.provenance.parameters.get("models", [])
    if not isinstance(stated, list | tuple):
        # What cannot be read was not checked, and is not passed over.
        raise InvalidProblemError("--require", "what the record states in its own form", "none")
    return [str(text) for text in stated]


def _guarantee(asked: Rows, kept: AnonymousTable | None) -> KAnonymity:
    names = tuple(names_of(asked.quasi))
    if kept is not None:
        return KAnonymity(asked.k or kept.guarantee.k, names or kept.guarantee.quasi_identifiers)
    if asked.k is None or not names:
        option = "-k" if asked.k is None else "--quasi"
        raise InvalidProblemError(
            option, "both -k and --quasi, or a record beside the table", "none"
        )
    return KAnonymity(asked.k, names)


def _attributes(
    original: Any,  # noqa: ANN401 - a frame of Polars
    guarantee: KAnonymity,
    kinds: Kinds,
    kept: AnonymousTable | None,
) -> tuple[Attribute, ...]:
    """Read cells as the record says, unless the command line says how."""
    names = guarantee.quasi_identifiers
    if kept is None or kinds != Kinds():
        return attributes_of(original, names, kinds)
    stated = {attribute.name: attribute for attribute in kept.attributes}
    if not set(names) <= set(stated):
        return attributes_of(original, names, kinds)
    return tuple(stated[name] for name in names)


def _read(table: pl.DataFrame, attributes: Sequence[Attribute]) -> dict[str, list[Any]]:
    """Take columns as their attributes need them, and the others as they are."""
    import narwhals as nw

    from discreet.kanonymity._tables import values_of

    frame = nw.from_native(table, eager_only=True)
    read = {one.name: values_of(frame[one.name], one) for one in attributes}
    return {name: read[name] if name in read else table[name].to_list() for name in table.columns}


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InvalidProblemError("--diverse", "whole numbers", repr(text)) from None
