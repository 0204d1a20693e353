"""Check tables of rows by the options, and for the rest by the record beside them."""

from __future__ import annotations

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
from discreet.cli.columns import DemandOptions, StatedKinds
from discreet.cli.microdata import attributes_of, pairs_of
from discreet.cli.options import HelpAllOption, ResultOptions, VerboseOption, names
from discreet.core.certificate import Certificate
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import KAnonymity
from discreet.core.option_groups import argument, option
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

    from discreet.artefact.anonymous import AnonymousTable
    from discreet.kanonymity.models import DeltaPresence
    from discreet.kanonymity.problem import Attribute

__all__ = ["RowJudgeOptions", "VerifyOptions", "judge_folder", "judge_rows"]


class RowJudgeOptions(DemandOptions, StatedKinds, panel="Tables of rows"):
    """Options about tables of rows."""

    k: int | None = option(
        "Number of rows that share each combination of quasi-identifiers, at least.",
        None,
        "-k",
        "--k",
    )
    quasi: tuple[str, ...] = names(
        "Quasi-identifiers. With -k, any table is checked, also one without a record beside it."
    )
    against: str | None = option(
        "The original: each published row must be one of its rows, generalized.", "FILE"
    )
    sensitive: tuple[str, ...] = names("Columns for --l-diversity, --t-closeness and --alpha.")
    presence: str | None = option(
        "Shares between which published rows are of the people in --population that a class covers.",
        "LOW:HIGH",
    )
    population: str | None = option("A public table of all people.", "FILE")
    k_map: int | None = option(
        "People in --population whom the cells of each class must cover. Default: as the record says.",
        "K",
    )
    person: str | None = option("Column that tells persons apart: k persons, not rows.")


@final
class VerifyOptions(RowJudgeOptions, ResultOptions, VerboseOption, HelpAllOption):
    """Options of ``verify``."""

    file: str = argument("A channel that `design` wrote, a table, or a folder.", "FILE")
    optimality: bool = option(
        "Check the loss that is stated and its lower bound, too.", default=False
    )


def judge_rows(path: str, options: VerifyOptions) -> tuple[Certificate, dict[str, Any]]:
    """Verify a table of rows: by the options, and for what they leave open by the record beside it.

    Results are those of :func:`discreet.artefact.judging.judge`.
    """
    from discreet.artefact import load_anonymous
    from discreet.artefact.anonymous import ANONYMOUS
    from discreet.artefact.sidecar import is_table, kind_of
    from discreet.kanonymity.verify import classes_of, verify

    if options.optimality:
        raise InvalidProblemError("--optimality", "a channel, which has a lower bound", "a table")
    record = load_anonymous(path) if is_table(path) and kind_of(path) == ANONYMOUS else None
    guarantee = _guarantee(options, record)
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
        before = _as_recorded(options.against, "--against", guarantee, record)
        unread = [name for name in guarantee.quasi_identifiers if name not in before.columns]
        if unread:
            expected = "a table with the quasi-identifiers of the published one"
            raise InvalidProblemError("--against", expected, f"one without {', '.join(unread)}")
        gone = [name for name in before.columns if name not in table.columns]
        # The original is private, and where its line of names is missing, so are its names.
        left_out = columns_at(gone, before.columns) if gone else ""
        attributes = _attributes(before, guarantee, options, record)
        original = _read(before, attributes)
    presence, mapped = _coverage(options, record)
    people = None
    if options.population is not None:
        public = _as_recorded(options.population, "--population", guarantee, record)
        attributes = attributes or _attributes(public, guarantee, options, record)
        people = _read(public, attributes)
    certificate = verify(
        table,
        guarantee,
        models=_models(options, record),
        person=options.person if keyed is table else None,
        population=people,
        presence=presence,
        mapped=mapped,
        against=original,
        attributes=attributes,
    )
    checks = list(certificate.checks)
    if keyed is not table:
        # The curator's key is no column that was published, and so is compared with no original.
        checks.append(verify(keyed, guarantee, person=options.person).checks[1])
    if record is not None:
        checks += record_checks(record)
    classes = classes_of(table, guarantee.quasi_identifiers)
    facts = {
        **claim_facts(
            ANONYMOUS,
            guarantee,
            None if record is None else record.provenance,
            _unchecked(options, record, left_out),
        ),
        "rows": table.height,
        "classes": len(classes.sizes),
        "smallest_class": int(classes.sizes.min()),
    }
    if options.against is not None and not all(check.passed for check in checks):
        facts["private"] = "What failed was counted with the original, which is private."
    return Certificate(tuple(checks)), facts


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
    path: str, argument: str, guarantee: KAnonymity, record: AnonymousTable | None
) -> pl.DataFrame:
    """Read an original, or the people, from `path`, as the record states that the original was read and recoded."""
    stated = {} if record is None else dict(record.provenance.parameters)
    reading = ReadingOptions.from_dict(stated.get("reading", {}))
    table = recode(
        read_rows(path, argument, options=reading),
        Recoding.of(**stated.get("recoding", {})),
        argument,
    )
    recognized: pl.DataFrame = recognize_missing(table, guarantee.quasi_identifiers)[0]
    return recognized


def judge_folder(path: str, options: RowJudgeOptions) -> tuple[Certificate, dict[str, Any]]:
    """Verify a folder of parts, by the options, and for what they leave open by its record.

    Parameters and results are those of :func:`judge_rows`; the parts need not fit into memory.
    """
    from discreet.artefact.anonymous import ANONYMOUS
    from discreet.artefact.folders import count_folder, is_folder, load_folder

    in_memory = ("against", "population", "presence", "person")
    options.refuse(in_memory, "none with a folder of parts", "one")
    record = load_folder(path) if is_folder(path) else None
    guarantee = _guarantee(options, record)
    certificate, counted = count_folder(path, guarantee, _models(options, record), "FILE")
    checks = list(certificate.checks)
    if record is not None:
        checks += record_checks(record)
    unchecked = _unchecked(options, record, "")
    provenance = None if record is None else record.provenance
    facts = {**claim_facts(ANONYMOUS, guarantee, provenance, unchecked), **counted}
    return Certificate(tuple(checks)), facts


def _coverage(
    options: RowJudgeOptions, record: AnonymousTable | None
) -> tuple[DeltaPresence | None, KMap | None]:
    """Read the demands on the people whom a class covers, from the options or the record."""
    k_map = options.k_map
    if k_map is None and record is not None and options.population is not None:
        k_map = recorded_k_map(record)
    demanded = options.presence is not None or k_map is not None
    if demanded != (options.population is not None):
        option_typed = "--presence" if options.presence is not None or not demanded else "--k-map"
        raise InvalidProblemError(option_typed, "with --population, and only with it", "one")
    presence = None
    if options.presence is not None:
        presence = read_presence(options.presence, field="--presence")
    return presence, None if k_map is None else KMap(k_map)


def _unchecked(options: RowJudgeOptions, record: AnonymousTable | None, left_out: str) -> list[str]:
    """Return the claims that were not checked this time, as phrases.

    `left_out` names original columns not published.
    """
    unchecked = []
    if record is None:
        unchecked.append(
            "that these are the bytes as they were written: no record stands beside them"
        )
    if options.against is None:
        unchecked.append("that rows are those of an original, generalized: --against does")
    if record is not None and options.population is None:
        unchecked += [
            one for one in unmapped(record) if options.person is None or "--person" not in one
        ]
    if record is not None and _unreadable(options, record):
        unchecked.append("what the record says of sensitive values, in a form that no option has")
    if left_out:
        unchecked.append(
            f"what was not published of the original, which is not compared: its {left_out}"
        )
    return unchecked


def _models(options: RowJudgeOptions, record: AnonymousTable | None) -> dict[str, list[Any]]:
    """Take the models of the record, which are what it claims, and those of the options besides."""
    models = {} if record is None or _unreadable(options, record) else recorded_models(record)
    for name, listed in read_models(options.demanded(options.sensitive), field="--require").items():
        known = models.setdefault(name, [])
        known += [model for model in listed if model not in known]
    return models


def _unreadable(options: RowJudgeOptions, record: AnonymousTable) -> bool:
    """Return whether the record states models in a form that no option has, while options state others."""
    if not options.demanded(options.sensitive):
        return False
    try:
        recorded_models(record)
    except InvalidProblemError:
        return True
    return False


def _guarantee(options: RowJudgeOptions, record: AnonymousTable | None) -> KAnonymity:
    """Return the guarantee of the options, completed by the record's; refuse too few of them without a record."""
    names = options.quasi
    if record is not None:
        return KAnonymity(
            options.k or record.guarantee.k, names or record.guarantee.quasi_identifiers
        )
    if options.k is None or not names:
        option = "-k" if options.k is None else "--quasi"
        raise InvalidProblemError(
            option, "both -k and --quasi, or a record beside the table", "none"
        )
    return KAnonymity(options.k, names)


def _attributes(
    original: Any,  # noqa: ANN401 - a frame of Polars
    guarantee: KAnonymity,
    options: RowJudgeOptions,
    record: AnonymousTable | None,
) -> tuple[Attribute, ...]:
    """Return the attributes of the quasi-identifiers, as the record says, unless the command line has a column."""
    names = guarantee.quasi_identifiers
    recorded = {} if record is None else {one.name: one for one in record.attributes}
    if not set(names) <= set(recorded):
        return attributes_of(original, names, options)
    typed = {*options.numeric, *options.categorical, *pairs_of(options.taxonomy, "--taxonomy")}
    changed = [name for name in names if name in typed]
    attributes = {one.name: one for one in attributes_of(original, changed, options)}
    return tuple(attributes.get(name, recorded[name]) for name in names)


def _read(table: pl.DataFrame, attributes: Sequence[Attribute]) -> dict[str, Any]:
    """Return the columns of a table, by name: quasi-identifiers as values of their attributes, the others unchanged."""
    import narwhals as nw

    from discreet.kanonymity.cells import values_of

    frame = nw.from_native(table, eager_only=True)
    read = {one.name: values_of(frame[one.name], one) for one in attributes}
    return {name: read[name] if name in read else table[name] for name in table.columns}
