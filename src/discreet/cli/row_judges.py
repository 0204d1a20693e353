"""Check tables of rows by what the options say, and for the rest by the record beside them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

from discreet.artefact.anonymous import (
    key_of_persons,
    recorded_k_map,
    recorded_models,
    unmapped,
)
from discreet.artefact.judging import (
    claim_facts,
    record_checks,
)
from discreet.cli.microdata import Kinds, attributes_of, names_of, pairs_of
from discreet.core.certificate import Certificate
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import KAnonymity
from discreet.kanonymity.models import (
    KMap,
    read_models,
    read_presence,
)
from discreet.tables.cells import recognize_missing
from discreet.tables.columns import columns_at, no_column
from discreet.tables.options import ReadingOptions
from discreet.tables.reading import read_rows
from discreet.tables.recoding import Recoding, recode

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from discreet.artefact import AnonymousTable
    from discreet.kanonymity.models import DeltaPresence
    from discreet.kanonymity.problem import Attribute

__all__ = ["RowOptions", "judge_folder", "judge_rows"]


@final
@dataclass(frozen=True)
class RowOptions:
    """The options of ``discreet verify`` about tables of rows, as they were typed."""

    k: int | None = None
    quasi: Sequence[str] = ()
    against: str | None = None
    person: str | None = None
    require: Sequence[str] = ()
    presence: str | None = None
    population: str | None = None
    k_map: int | None = None
    kinds: Kinds = field(default_factory=Kinds)

    @property
    def given(self) -> bool:
        """Whether any option was."""
        return self != RowOptions()


def judge_rows(
    path: str, options: RowOptions, *, optimality: bool
) -> tuple[Certificate, dict[str, Any]]:
    """Verify a table of rows: by the options, and for what they leave open by the record beside it.

    Parameters and results are those of :func:`discreet.artefact.judging.judge_anonymous`.
    """
    from discreet.artefact import ANONYMOUS, is_table, kind_of, load_anonymous
    from discreet.kanonymity.verify import classes_of, verify

    if optimality:
        raise InvalidProblemError("--optimality", "a channel, which has a lower bound", "a table")
    kept = load_anonymous(path) if is_table(path) and kind_of(path) == ANONYMOUS else None
    guarantee = _guarantee(options, kept)
    table = read_rows(path, "FILE")
    keyed = _with_persons(table, path, options.person)
    for name in (*guarantee.quasi_identifiers, *([options.person] if options.person else [])):
        if name not in keyed.columns:
            option = "--person" if name == options.person else "--quasi"
            raise no_column(option, name, table.columns)
    attributes: tuple[Attribute, ...] = ()
    left_out = ""
    original = None
    if options.against is not None:
        before = _as_recorded(options.against, "--against", guarantee, kept)
        unread = [name for name in guarantee.quasi_identifiers if name not in before.columns]
        if unread:
            expected = "a table with the quasi-identifiers of the published one"
            raise InvalidProblemError("--against", expected, f"one without {', '.join(unread)}")
        gone = [name for name in before.columns if name not in table.columns]
        # The original is private, and where its line of names is missing, so are its names.
        left_out = columns_at(gone, before.columns) if gone else ""
        attributes = _attributes(before, guarantee, options.kinds, kept)
        original = _read(before, attributes)
    people, presence, mapped = _population(options, guarantee, kept, attributes)
    if people is not None:
        attributes = attributes or people.attributes
    certificate = verify(
        table,
        guarantee,
        models=_models(options, kept),
        person=options.person if keyed is table else None,
        population=None if people is None else people.columns,
        presence=presence,
        mapped=mapped,
        against=original,
        attributes=attributes,
    )
    checks = list(certificate.checks)
    if keyed is not table:
        # The curator's key is no column that was published, and so is compared with no original.
        checks.append(verify(keyed, guarantee, person=options.person).checks[1])
    if kept is not None:
        checks += record_checks(kept)
    classes = classes_of(table, guarantee.quasi_identifiers)
    found = {
        **claim_facts(
            ANONYMOUS,
            guarantee,
            None if kept is None else kept.provenance,
            _unchecked(options, kept, left_out),
        ),
        "rows": table.height,
        "classes": len(classes.sizes),
        "smallest_class": int(classes.sizes.min()),
    }
    if options.against is not None and not all(check.passed for check in checks):
        found["private"] = "What failed was counted with the original, which is private."
    return Certificate(tuple(checks)), found


def _with_persons(table: pl.DataFrame, path: str, person: str | None) -> pl.DataFrame:
    """Add the column of persons from the curator's key beside a published table that lacks it."""
    key = key_of_persons(path)
    if person is None or person in table.columns or not key.is_file():
        return table
    known = read_rows(str(key), "--person")
    if known.height != table.height or person not in known.columns:
        expected = f"a key of {table.height} rows with the column {person}"
        raise InvalidProblemError("--person", expected, f"another in {key}")
    return table.with_columns(known[person])


def _as_recorded(
    path: str, argument: str, guarantee: KAnonymity, kept: AnonymousTable | None
) -> pl.DataFrame:
    """Read an original, or the people, as the record states that the original was read and recoded."""
    stated = {} if kept is None else dict(kept.provenance.parameters)
    reading = ReadingOptions.from_dict(stated.get("reading", {}))
    table = recode(
        read_rows(path, argument, options=reading),
        Recoding.of(**stated.get("recoding", {})),
        argument,
    )
    recognized: pl.DataFrame = recognize_missing(table, guarantee.quasi_identifiers)[0]
    return recognized


def judge_folder(path: str, options: RowOptions) -> tuple[Certificate, dict[str, Any]]:
    """Verify a folder of parts, by the options, and for what they leave open by its record.

    Parameters and results are those of :func:`judge_rows`; the parts need not fit into memory.
    """
    from discreet.artefact import ANONYMOUS
    from discreet.artefact.folders import count_folder, is_folder, load_folder

    for given, option in (
        (options.against, "--against"),
        (options.population, "--population"),
        (options.presence, "--presence"),
        (options.person, "--person"),
    ):
        if given is not None:
            raise InvalidProblemError(option, "none with a folder of parts", "one")
    kept = load_folder(path) if is_folder(path) else None
    guarantee = _guarantee(options, kept)
    certificate, counted = count_folder(path, guarantee, _models(options, kept), "FILE")
    checks = list(certificate.checks)
    if kept is not None:
        checks += record_checks(kept)
    unchecked = _unchecked(options, kept, "")
    provenance = None if kept is None else kept.provenance
    found = {**claim_facts(ANONYMOUS, guarantee, provenance, unchecked), **counted}
    return Certificate(tuple(checks)), found


@final
@dataclass(frozen=True, eq=False)
class _People:
    """A population, and how its columns were read."""

    columns: dict[str, Any]
    attributes: tuple[Attribute, ...]


def _population(
    options: RowOptions,
    guarantee: KAnonymity,
    kept: AnonymousTable | None,
    attributes: tuple[Attribute, ...],
) -> tuple[_People | None, DeltaPresence | None, KMap | None]:
    """Read the population, and what is asked of the people whom a class covers, by the options or the record."""
    k_map = options.k_map
    if k_map is None and kept is not None and options.population is not None:
        k_map = recorded_k_map(kept)
    asked = options.presence is not None or k_map is not None
    if asked != (options.population is not None):
        given = "--presence" if options.presence is not None or not asked else "--k-map"
        raise InvalidProblemError(given, "with --population, and only with it", "one")
    if options.population is None:
        return None, None, None
    public = _as_recorded(options.population, "--population", guarantee, kept)
    read = attributes or _attributes(public, guarantee, options.kinds, kept)
    presence = None
    if options.presence is not None:
        presence = read_presence(options.presence, field="--presence")
    return _People(_read(public, read), read), presence, None if k_map is None else KMap(k_map)


def _unchecked(options: RowOptions, kept: AnonymousTable | None, left_out: str) -> list[str]:
    """Say what was not checked this time."""
    said = []
    if kept is None:
        said.append("that these are the bytes as they were written: no record stands beside them")
    if options.against is None:
        said.append("that rows are those of an original, generalized: --against does")
    if kept is not None and options.population is None:
        said += [one for one in unmapped(kept) if options.person is None or "--person" not in one]
    if kept is not None and _unreadable(options, kept):
        said.append("what the record says of sensitive values, in a form that no option has")
    if left_out:
        said.append(
            f"what was not published of the original, which is not compared: its {left_out}"
        )
    return said


def _models(options: RowOptions, kept: AnonymousTable | None) -> dict[str, list[Any]]:
    """Take the models of the record, which are what it claims, and those of the options besides."""
    asked = {} if kept is None or _unreadable(options, kept) else recorded_models(kept)
    for name, models in read_models(options.require, field="--require").items():
        known = asked.setdefault(name, [])
        known += [model for model in models if model not in known]
    return asked


def _unreadable(options: RowOptions, kept: AnonymousTable) -> bool:
    """Tell whether the record states models in a form that no option has, where options state others."""
    if not options.require:
        return False
    try:
        recorded_models(kept)
    except InvalidProblemError:
        return True
    return False


def _guarantee(options: RowOptions, kept: AnonymousTable | None) -> KAnonymity:
    names = tuple(names_of(options.quasi))
    if kept is not None:
        return KAnonymity(options.k or kept.guarantee.k, names or kept.guarantee.quasi_identifiers)
    if options.k is None or not names:
        option = "-k" if options.k is None else "--quasi"
        raise InvalidProblemError(
            option, "both -k and --quasi, or a record beside the table", "none"
        )
    return KAnonymity(options.k, names)


def _attributes(
    original: Any,  # noqa: ANN401 - a frame of Polars
    guarantee: KAnonymity,
    kinds: Kinds,
    kept: AnonymousTable | None,
) -> tuple[Attribute, ...]:
    """Read cells as the record says, unless the command line says how."""
    names = guarantee.quasi_identifiers
    recorded = {} if kept is None else {one.name: one for one in kept.attributes}
    if not set(names) <= set(recorded) or kinds == Kinds():
        return (
            tuple(recorded[name] for name in names)
            if set(names) <= set(recorded)
            else attributes_of(original, names, kinds)
        )
    stated = {*names_of(kinds.numeric), *names_of(kinds.categorical)}
    stated |= pairs_of(kinds.taxonomies, "--taxonomy").keys()
    changed = [name for name in names if name in stated]
    typed = {one.name: one for one in attributes_of(original, changed, kinds)}
    return tuple(typed.get(name, recorded[name]) for name in names)


def _read(table: pl.DataFrame, attributes: Sequence[Attribute]) -> dict[str, Any]:
    """Take columns as their attributes need them, and the others as they are."""
    import narwhals as nw

    from discreet.kanonymity.cells import values_of

    frame = nw.from_native(table, eager_only=True)
    read = {one.name: values_of(frame[one.name], one) for one in attributes}
    return {name: read[name] if name in read else table[name] for name in table.columns}
