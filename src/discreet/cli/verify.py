"""``verify``: check an artefact anew; tables of rows by the options, and for the rest by the record beside them."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from discreet.artefact.anonymous import (
    ANONYMOUS,
    key_of_persons,
    recorded_k_map,
    recorded_models,
    unmapped,
)
from discreet.artefact.folders import RECORD, count_folder, is_folder, load_folder
from discreet.artefact.judging import claim_facts, judge, record_checks
from discreet.artefact.mechanism import FOR_EVERY_POINT
from discreet.artefact.sidecar import digest_of, interruption_of, is_table, kind_of
from discreet.cli.calls import command_again, from_options
from discreet.cli.columns import DemandOptions, StatedKinds, attributes_of, pairs_of, taxonomy_files
from discreet.cli.files import check_outputs, write_page
from discreet.cli.options import HelpAllOption, ResultOptions, VerboseOption, names
from discreet.cli.output import Status, emit, proved
from discreet.core import printed
from discreet.core.certificate import Certificate, Check
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import KAnonymity
from discreet.core.option_groups import argument, option
from discreet.core.printed import facts
from discreet.kanonymity.models import KMap, read_models, read_presence
from discreet.tables.cells import recognize_missing
from discreet.tables.columns import columns_at, no_column
from discreet.tables.dialect import SUFFIXES
from discreet.tables.options import ReadingOptions
from discreet.tables.reading import read_rows
from discreet.tables.recoding import Recoding, recode
from discreet.tables.sizes import refuse_killers
from discreet.tables.writing import WRITABLE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import polars as pl

    from discreet.artefact.anonymous import AnonymousTable
    from discreet.kanonymity.models import DeltaPresence
    from discreet.kanonymity.problem import Attribute


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


def _judge_rows(path: str, options: VerifyOptions) -> tuple[Certificate, dict[str, Any]]:
    """Verify a table of rows, or a folder of parts: by the options, and for what they leave open by the record.

    Returns the certificate and the facts, as :func:`discreet.artefact.judging.judge`; failed checks are not raised.
    Parts need not fit into memory. InvalidProblemError for options that do not apply.

    `path` is the table or the folder.
    """
    from discreet.artefact import load_anonymous

    if options.optimality:
        got = "a folder" if Path(path).is_dir() else "a table"
        raise InvalidProblemError("--optimality", "a channel, which has a lower bound", got)
    if Path(path).is_dir():
        in_memory = ("against", "population", "presence", "person")
        options.refuse(in_memory, "none with a folder of parts", "one")
        record = load_folder(path) if is_folder(path) else None
        guarantee = _guarantee(options, record)
        certificate, counted = count_folder(path, guarantee, _models(options, record), "FILE")
        checks, left_out = list(certificate.checks), ""
    else:
        record = load_anonymous(path) if is_table(path) and kind_of(path) == ANONYMOUS else None
        guarantee = _guarantee(options, record)
        checks, counted, left_out = _check_table(path, options, record, guarantee)
    if record is not None:
        checks += record_checks(record)
    provenance = None if record is None else record.provenance
    unchecked = _unchecked(options, record, left_out)
    facts = {**claim_facts(ANONYMOUS, guarantee, provenance, unchecked), **counted}
    if options.against is not None and not all(check.passed for check in checks):
        facts["private"] = "What failed was counted with the original, which is private."
    return Certificate(tuple(checks)), facts


def _check_table(
    path: str, options: VerifyOptions, record: AnonymousTable | None, guarantee: KAnonymity
) -> tuple[list[Check], dict[str, int], str]:
    """Return the checks of a table in memory, its counts, and the names of original columns that are not published.

    Counts: rows, classes and smallest_class. `record` is the one beside the table, or None. InvalidProblemError for
    columns that are missing.

    `path` is the table, `guarantee` what is checked of it. The original and the people are read as the record states.
    """
    from discreet.kanonymity.verify import classes_of, verify

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
    classes = classes_of(table, guarantee.quasi_identifiers)
    counted = {
        "rows": table.height,
        "classes": len(classes.sizes),
        "smallest_class": int(classes.sizes.min()),
    }
    return checks, counted, left_out


def _with_persons(table: pl.DataFrame, path: str, person: str | None) -> pl.DataFrame:
    """Return the table with the column `person` of the curator's key beside `path`, if the table lacks it.

    Unchanged without a `person` or a key; InvalidProblemError for a key of another table.
    """
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
    """Read an original, or the people, from `path`, as the record states that the original was read and recoded.

    Common marks of missing values are read as missing in the quasi-identifiers. `argument` is named in refusals.
    Without a record the file is read by its own form.
    """
    stated = {} if record is None else dict(record.provenance.parameters)
    reading = ReadingOptions.from_dict(stated.get("reading", {}))
    table = recode(
        read_rows(path, argument, options=reading),
        Recoding.of(**stated.get("recoding", {})),
        argument,
    )
    recognized: pl.DataFrame = recognize_missing(table, guarantee.quasi_identifiers)[0]
    return recognized


def _coverage(
    options: RowJudgeOptions, record: AnonymousTable | None
) -> tuple[DeltaPresence | None, KMap | None]:
    """Return the demands on the people whom a class covers, presence and k-map, from the options or the record.

    Each is None if not demanded; InvalidProblemError for a demand without a population, or the other way around.
    """
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

    `record` is the one beside the table, or None. Nothing is read here.
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
    """Return the models to check by sensitive column: those of the record, then those of the options, each once.

    Where options state models and those of the record cannot be read, the record's are left out, and the report says
    so. InvalidProblemError for models that cannot be read otherwise. Trivial.
    """
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
    """Return the guarantee of the options, completed by the record's.

    InvalidProblemError if there is no record and k or the quasi-identifiers are not typed.
    """
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
    """Return the attributes of the quasi-identifiers: of the record, except for columns that the options describe.

    Where the record lacks one, all are read from the options and the values of `original`.
    """
    names = guarantee.quasi_identifiers
    recorded = {} if record is None else {one.name: one for one in record.attributes}
    if not set(names) <= set(recorded):
        return attributes_of(original, names, options)
    typed = {*options.numeric, *options.categorical, *pairs_of(options.taxonomy, "--taxonomy")}
    changed = [name for name in names if name in typed]
    attributes = {one.name: one for one in attributes_of(original, changed, options)}
    return tuple(attributes.get(name, recorded[name]) for name in names)


def _read(table: pl.DataFrame, attributes: Sequence[Attribute]) -> dict[str, Any]:
    """Return the columns of a table, by name: quasi-identifiers as values of their attributes, the others unchanged.

    Values are parsed as the attributes state; InvalidProblemError for a cell that has no such value.
    """
    import narwhals as nw

    from discreet.kanonymity.cells import values_of

    frame = nw.from_native(table, eager_only=True)
    read = {one.name: values_of(frame[one.name], one) for one in attributes}
    return {name: read[name] if name in read else table[name] for name in table.columns}


_EXAMPLES = (
    "discreet verify c.channel --optimality -v",
    "discreet verify out.parquet --json",
    "discreet verify out.csv --quasi age,sex,zip -k 5 --against patients.csv",
    "discreet verify c.channel --optimality --report verified.html",
    "python verify_standalone.py c.channel",
)


@from_options(
    VerifyOptions, examples=_EXAMPLES, first=("optimality", "k", "quasi", "against", "report")
)
def verify(options: VerifyOptions) -> Status:
    """Check what an artefact claims, with code that did not make it.

    A channel's privacy is checked on the stored integers, in exact arithmetic, for all constrained pairs; a table by
    its own numbers, and its guarantee by the arithmetic of its noise; an anonymized table by counting the rows of each
    equivalence class. The exit status is 1 when a check fails, and for anything that was made with a seed. Where a run
    was interrupted while it put a table and its record in place, the result states which files are there, and judges
    them.
    """
    certificate: Certificate
    file = options.file
    check_outputs(
        {"--report": options.report},
        file,
        options.against,
        options.population,
        *taxonomy_files(options),
    )
    _try_table(file)
    if options.sensitive and options.demanded(options.sensitive) == options.require:
        expected = "columns for --l-diversity, --t-closeness or --alpha"
        raise InvalidProblemError("--sensitive", expected, "none of these")
    options.demanded(options.sensitive)
    if Path(file).is_dir() or options.is_typed(RowJudgeOptions):
        certificate, stated = _judge_rows(file, options)
    else:
        with _named(file):
            certificate, stated = judge(file, optimality=options.optimality)
    if options.report is not None:
        write_page(
            options.report,
            "verified",
            certificate,
            headline="A claim, checked anew",
            private=bool(stated.get("private")),
            stated=stated,
            file=Path(file).name,
            command=command_again("verify", options, without=("report", "verbose", "as_json")),
            sha256=digest_of(Path(file, RECORD) if Path(file).is_dir() else file),
        )
    data = {**certificate.to_dict(), **stated}
    interrupted = interruption_of(file)
    if interrupted:
        data["interrupted"] = interrupted
    summary = _summary(certificate, stated, interrupted)
    emit("verify", options, data, f"{proved(certificate, verbose=options.verbose)}\n\n{summary}")
    return Status.DONE if certificate.passed else Status.CHECK_FAILED


def _summary(certificate: Certificate, stated: Mapping[str, Any], interrupted: str | None) -> str:
    """Return the text below the checks: the kind of the file, and claims that were not or cannot be checked.

    `stated` are the facts of the verification; `interrupted` is the state of an unfinished write, or None.
    """
    lines: list[tuple[str, object]] = [("passed", "yes" if certificate.passed else "NO")]
    if "achieved_epsilon" in stated:
        lines.insert(0, ("achieved epsilon", printed.at_most(stated["achieved_epsilon"])))
    if stated["kind"] in FOR_EVERY_POINT:
        about = "a mechanism for every point: any two points of the region, none snapped to a place"
        lines.insert(0, ("what it is", about))
    if interrupted:
        lines.append(("interrupted", interrupted))
    summary = facts(lines)
    left = [("no file can show", claim) for claim in stated.get("not_shown", ())]
    if left or stated["kind"] == "channel":
        left = [("not checked", claim) for claim in stated["not_checked"]] + left
    return f"{facts(left)}\n\n{summary}" if left else summary


def _try_table(file: str) -> None:
    """Read a table of unknown origin once in a child process; InvalidProblemError if that process is killed.

    Files that end in none of the endings of tables are left alone.
    """
    path = Path(file)
    if path.is_file() and path.suffix.lower() in SUFFIXES:
        with path.open("rb") as opened:
            parquet = opened.read(4) == b"PAR1"
        refuse_killers(file, "" if parquet else ",", "FILE", unknown=True)


@contextmanager
def _named(path: str) -> Iterator[None]:
    """Rename the path of the library to the argument of the command in errors."""
    try:
        yield
    except InvalidProblemError as error:
        if error.field != "path":
            raise
        table = path.lower().endswith(tuple(WRITABLE))
        field = "FILE" if table or is_table(path) else "CHANNEL"
        bare = table and not is_table(path)
        hint = "; -k and --quasi check a table without one" if bare else ""
        raise error.renamed(field, expected=f"{error.expected}{hint}") from None
