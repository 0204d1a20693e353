"""Tables larger than memory, and than one machine: a folder of parts in, a folder of anonymized parts out.

One plan, which :class:`~discreet.streaming.engines.Engine` does on this machine or on many. The top of the search
tree comes from a sample of the rows, and sends each row to a part; exact counts then decide: a part below k rows, or
short of a demand, joins its neighbor. Each part is split by itself, as it would be in memory, and its rows go to
published parts by keys of 128 bits from the operating system, so that no published part tells of the search. What was
written is read again, its classes are counted over all parts, and only then the folder gets its name.

In memory stand one part of about a sixty-fourth of the rows as codes, and a batch of rows.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.artefact.anonymous import place_anonymous
from discreet.artefact.folders import RECORD, count_folder, record_of
from discreet.artefact.placing import keep as keep_on_disk
from discreet.core import printed
from discreet.core.errors import InvalidProblemError
from discreet.core.outcome import Anonymization, Provenance
from discreet.core.progress import Reporter
from discreet.core.system import creation_rights, sync_folder
from discreet.kanonymity.candidate import check_search
from discreet.kanonymity.models import DistinctDiversity, demand_text
from discreet.streaming.engines import engine_of
from discreet.streaming.pieces import BYTES, pieces_of, scan_pieces
from discreet.streaming.plan import LargePlan
from discreet.streaming.run import FileDiagnostics, LargeRun, in_words
from discreet.streaming.workspace import workspace_in, writing
from discreet.tables.contents import mark_table_verified
from discreet.tables.parsing import free_memory, reader_errors
from discreet.tables.recoding import CellRules, recorded
from discreet.tables.roles import Given, roles_of_scan
from discreet.tables.rooms import make_private
from discreet.tables.writing import join_files

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    from discreet.core.guarantee import KAnonymity
    from discreet.core.progress import Progress
    from discreet.kanonymity.models import PrivacyModel
    from discreet.kanonymity.problem import Attribute

BATCH = (10_000, 1_000_000)
"""Least and largest number of rows in a batch."""


def anonymize_files(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    guarantee: KAnonymity,
    *,
    attributes: Sequence[Attribute],
    loss: str = "ncp",
    effort: str = "fast",
    models: Mapping[str, Sequence[PrivacyModel]] | None = None,
    person: str | None = None,
    sensitive: Sequence[str] = (),
    keep: Sequence[str] = (),
    drop: Sequence[str] = (),
    unassigned: str | None = None,
    suppress: float = 0.0,
    keep_suppressed: bool = False,
    time_limit: float | None = None,
    threads: int = 1,
    memory: int | None = None,
    executor: object | None = None,
    suffix: str = ".parquet",
    rules: CellRules | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Anonymization[Path, FileDiagnostics]:
    """Anonymize tables that need not fit into memory, into a folder of parts or a file.

    The files are read, and the rows are written to the private folder, three times or more.

    Parameters
    ----------
    source
        A CSV or Parquet file, or a folder of such files of one schema.
    target
        A folder that is empty or not there, or a file that ends in ``.csv`` or ``.parquet``. A folder beside it holds
        private rows until the end, readable for the owner alone; one that a killed run left is removed by the next
        run there.
    guarantee
        k and the quasi-identifiers.
    attributes
        The kind of each quasi-identifier.
    loss
        As of :class:`discreet.kanonymity.Problem`.
    effort
        ``"fast"`` or ``"strong"``.
    models, person, sensitive, keep, drop, unassigned
        As of :func:`discreet.kanonymity.anonymize`.
    suppress
        Largest share of rows that may be left out of all classes. Parts of the search have as many of them as rows.
    keep_suppressed
        Whether they are published with ``*`` in all quasi-identifiers where there are k of them or more.
    time_limit
        Seconds for splitting and for the lower bound; reading, writing and counting come on top. Without one, splitting
        ends by itself, and of more than 100,000 different rows the bound counts no row for more than what all lose on
        average.
    threads
        Parts and pieces that this process works on at a time; the classes do not depend on it.
    memory
        Bytes for each process, about; default: half of the free memory.
    executor
        A ``Client`` of dask.distributed or its executor, whose workers see the same folders; default: this process.
    suffix
        ``".parquet"`` or ``".csv"``, for the parts of a folder.
    rules
        Rules for each cell, by which the rows are read and recoded.
    on_progress
        Called with each :class:`~discreet.core.progress.Progress`: the phase, and the steps of it that are done.

    Returns
    -------
    Anonymization
        `target`, with ``discreet.json`` in it, or ``FILE.discreet.json`` beside it.

    Raises
    ------
    InvalidProblemError
        For files, columns, options or workers that do not fit, and a folder that is not empty; nothing is written.
    InfeasibleError
        When there are fewer than k rows, or all rows as one class do not hold a demand.
    CertificateError
        When a class of the written table falls short: a bug, and nothing is published.
    SolverError
        When workers or the scheduler were lost for good.

    Guarantee
    ---------
    As of :func:`discreet.kanonymity.anonymize`, counted on the published parts.
    """
    where, report = Path(target).absolute(), Reporter(on_progress)
    single = where.suffix.lower() in (".csv", ".parquet")
    if not single:
        _check_target(where)
    check_search(time_limit, suppress, threads, effort)
    names = guarantee.quasi_identifiers
    if sorted(attribute.name for attribute in attributes) != sorted(names):
        raise InvalidProblemError("attributes", "one for each quasi-identifier", len(attributes))
    rules = rules or CellRules()
    pieces = pieces_of(source, "source", rules=rules)
    table = scan_pieces(pieces, "source")
    demanded = [(name, model) for name, listed in (models or {}).items() for model in listed]
    also = [name for name in models or {} if name not in keep]
    everything = tuple(dict.fromkeys((*sensitive, *also)))
    stated_roles = Given(names, everything, tuple(keep), tuple(drop), person, unassigned)
    known = table.collect_schema().names()
    roles = roles_of_scan(table, stated_roles)
    if person is not None:
        demanded.append((person, DistinctDiversity(guarantee.k)))
    _check_demands(names, demanded, suppress)
    published = tuple(name for name in known if name not in (*roles.drop, person))
    bytes_free = (memory or free_memory() // 2) // (1 if executor is not None else threads)
    plan = LargePlan(
        pieces,
        guarantee.k,
        effort,
        names,
        tuple(demanded),
        published,
        person,
        where.suffix.lower() if single else suffix,
        _rows_at_once(bytes_free, len(published)),
        roles.sensitive,
        suppress=suppress,
        keep_suppressed=keep_suppressed,
        time_limit=time_limit,
    )
    parameters: dict[str, Any] = {
        "k": guarantee.k,
        "loss": loss,
        "method": "top-down",
        "suppress": suppress,
        "rows": "shuffled",
        "roles": roles.public(),
        **recorded(rules.reading, rules.recoding),
    }
    if models:
        parameters["models"] = [demand_text(*one) for one in demanded if one[0] != person]
    if person is not None:
        parameters["persons"] = guarantee.k
    engine = engine_of(executor, threads)
    with workspace_in(where.parent) as space:
        run = LargeRun(space, engine, plan, report)
        try:
            run.search(attributes, loss, bytes_free)
            certificate, diagnostics, digests = run.publish()
            certificate.raise_for_failure()
            made = Anonymization(
                where,
                guarantee,
                certificate,
                Provenance("anonymize", parameters, seeded=False),
                diagnostics,
            )
            with writing():
                if single:
                    _place_file(run, made, attributes, models or {})
                else:
                    _place(run, made, attributes, digests)
        finally:
            engine.close(run.space)
    return mark_table_verified(made)


def _check_demands(
    quasi: Sequence[str], demanded: Sequence[tuple[str, PrivacyModel]], suppress: float
) -> None:
    """Raise InvalidProblemError for a demand on a quasi-identifier, or for suppression beside demands.

    `demanded` are pairs of a column and its model, `suppress` is the share of rows that may be suppressed.
    """
    for name, _ in demanded:
        if name in quasi:
            raise InvalidProblemError("models", "columns that are no quasi-identifiers", repr(name))
    if demanded and suppress:
        raise InvalidProblemError("suppress", "0, with demands on sensitive columns", suppress)


def _rows_at_once(memory: int, columns: int) -> int:
    """Return the number of rows in a batch that fits `memory` bytes; raise InvalidProblemError for too few."""
    bytes_per_row = 8 * BYTES.cell * max(1, columns)
    rows = (memory - BYTES.process) // bytes_per_row
    if rows < BATCH[0]:
        least = BYTES.process + BATCH[0] * bytes_per_row
        raise InvalidProblemError(
            "memory", f"{in_words(least, printed.at_most)} or more", in_words(memory)
        )
    return min(rows, BATCH[1])


def _check_target(where: Path) -> None:
    """Raise InvalidProblemError unless the target is an empty folder, or not there in a folder that exists.

    A link is refused. Nothing is created.
    """
    expected = "a folder that is empty or not there, in one that can be written"
    if where.is_symlink() or (where.exists() and not where.is_dir()):
        raise InvalidProblemError("target", expected, f"{where.name}, which is no folder")
    if where.is_dir() and any(where.iterdir()):
        raise InvalidProblemError("target", expected, f"{where.name}, which is not empty")
    if not where.parent.is_dir():
        raise InvalidProblemError("target", expected, "one whose parent is not there")


def _place(
    run: LargeRun,
    made: Anonymization[Path, FileDiagnostics],
    attributes: Sequence[Attribute],
    digests: Sequence[str],
) -> None:
    """Rename the parts, write the record ``discreet.json``, and rename the folder to its target, in this order.

    Raises InvalidProblemError if another run has filled the target meanwhile.
    """
    space, rights = run.space, creation_rights()
    out = space.folder / "out"
    out.mkdir(0o700)
    listed = {}
    for number, (digest, one) in enumerate(zip(digests, run.made, strict=True)):
        name = f"part-{number:05d}{run.plan.suffix}"
        (space.folder / one["file"]).rename(out / name)
        (out / name).chmod(rights)
        listed[name] = digest
    diagnostics = made.diagnostics
    record = make_private(out / RECORD)
    record.write_bytes(record_of(made, attributes, listed, diagnostics.rows, run.made[0]["schema"]))
    record.chmod(rights)
    out.chmod(rights | (rights & 0o444) >> 2)
    sync_folder(str(out))
    try:
        # A folder that is there is replaced where it is empty, and no other run wrote into it meanwhile.
        out.rename(made.table)
    except OSError:
        expected = "a folder that is empty or not there"
        raise InvalidProblemError("target", expected, "one that another run has filled") from None
    sync_folder(str(made.table.parent))


def _place_file(
    run: LargeRun,
    made: Anonymization[Path, FileDiagnostics],
    attributes: Sequence[Attribute],
    models: Mapping[str, Sequence[PrivacyModel]],
) -> None:
    """Join the parts to one file, count its classes anew, and give it its name; two passes over it.

    Raises CertificateError if that count fails, InvalidProblemError for a target that cannot be written.
    """
    new = make_private(run.space.folder / f"joined{run.plan.suffix}")
    parts = [run.space.folder / one["file"] for one in run.made]
    try:
        join_files(parts, new, run.plan.published)
    except reader_errors():
        # The parts have just been read and counted.
        expected = "a folder that can be written, with room for the file"
        raise InvalidProblemError("target", expected, "one that can't") from None
    keep_on_disk(new)
    certificate, counted = count_folder(new, made.guarantee, models, "target")
    certificate.raise_for_failure()
    if counted["rows"] != made.diagnostics.rows:
        raise InvalidProblemError(
            "target", f"a file of {made.diagnostics.rows} rows", counted["rows"]
        )
    place_anonymous(new, made, run.made[0]["schema"], counted["rows"], attributes)
