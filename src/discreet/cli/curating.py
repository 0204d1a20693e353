"""What ``anonymize`` and ``risk`` do: read, search, audit the published cells, write, tell the curator."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

from discreet.cli.demands import read_models
from discreet.cli.files import check_outputs, check_table_names, write_page
from discreet.cli.microdata import (
    Kinds,
    attributes_of,
    names_of,
    no_column,
    prose_among,
    read_rows,
    refuse_prose,
)
from discreet.cli.output import Status, emit, facts, warn
from discreet.cli.registry import find
from discreet.cli.table_files import look
from discreet.core.errors import InvalidProblemError
from discreet.core.exact import text_floor
from discreet.core.guarantee import KAnonymity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from fractions import Fraction

    import polars as pl

    from discreet.core.outcome import Anonymization
    from discreet.kanonymity._anonymize import Diagnostics
    from discreet.kanonymity.candidate import Method
    from discreet.kanonymity.models import Model
    from discreet.kanonymity.problem import Attribute
    from discreet.kanonymity.risk import Risk
    from discreet.kanonymity.search import Step

__all__ = ["Asked", "Curated", "method_of", "run_anonymize", "run_risk"]

MOST_ROWS = 2_000_000
"""Rows that are searched without a time limit."""

PRIVATE = "computed from the original: for the curator, not for publication"


@final
@dataclass(frozen=True)
class Asked:
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
    stream: bool = False
    require: Sequence[str] = ()
    person: str | None = None


@final
@dataclass(frozen=True)
class Curated:
    """Where results go."""

    output: str | None
    report: str | None
    as_json: bool
    quiet: bool


def run_anonymize(path: str, asked: Asked, curated: Curated) -> Status:
    """Anonymize a file, and return the exit status."""
    from discreet.artefact import save_anonymous
    from discreet.kanonymity import anonymize
    from discreet.kanonymity.candidate import Interrupted

    guarantee = KAnonymity(asked.k, tuple(names_of(asked.quasi)))
    method = method_of(asked.method)
    look(path, "TABLE")
    check_outputs({"--output": curated.output, "--report": curated.report}, path, *asked.kinds.read)
    check_table_names({"--output": curated.output})
    if asked.stream:
        from discreet.cli.streaming import run_stream

        return run_stream(path, asked, curated, private=PRIVATE)
    table = read_rows(path, "TABLE")
    _check_rows(table, asked)
    refuse_prose(table, guarantee.quasi_identifiers, asked.kinds)
    attributes = attributes_of(table, guarantee.quasi_identifiers, asked.kinds)
    sensitive = _sensitive(table, asked.sensitive, guarantee)
    models = _models(table, asked, guarantee)
    _warn_of_unique(table, asked, curated, guarantee)
    status = Status.DONE
    try:
        made: Anonymization[pl.DataFrame, Diagnostics] = anonymize(
            table,
            guarantee,
            attributes=attributes,
            loss=asked.loss,
            method=method,
            time_limit=asked.time_limit,
            gap=asked.gap,
            suppress=asked.suppress,
            keep_suppressed=asked.keep_suppressed,
            models=models,
            person=asked.person,
            threads=asked.threads,
            on_step=_progress(quiet=curated.quiet),
            throw=False,
        )
    except Interrupted as interrupt:
        if interrupt.best is None:
            warn("interrupted before anything was found; nothing was written")
            return Status.INTERRUPTED
        made, status = interrupt.best, Status.INTERRUPTED
    stated = {**made.provenance.parameters, "method": asked.method, "rows": "shuffled"}
    if asked.require:
        # As text that can be read back, so that the table is verified by it.
        stated["models"] = list(asked.require)
    made = replace(made, provenance=replace(made.provenance, parameters=stated))
    if curated.output is None:
        warn("nothing was written: no --output", quiet=curated.quiet)
    else:
        save_anonymous(made, curated.output, attributes)
    if curated.report is not None:
        from discreet.report import make_chapter

        chapter = make_chapter("kanonymity", made, attributes=attributes)
        write_page([chapter], curated.report, title="An anonymized table, with its proof")
    data, text = _told(made, asked, curated, sensitive)
    emit(data, text, as_json=curated.as_json, command="anonymize")
    missed = asked.method == "optimal" and not made.diagnostics.optimal
    missed |= asked.gap is not None and made.diagnostics.gap > asked.gap
    if missed and status is Status.DONE:
        warn("the target was missed; what was found is written", quiet=curated.quiet)
        return Status.TARGET_MISSED
    return status


def run_risk(
    path: str,
    quasi: Sequence[str],
    sensitive: Sequence[str],
    *,
    original: str | None,
    population: str | None,
    kinds: Kinds,
    as_json: bool,
    quiet: bool = False,
    report: str | None = None,
) -> Status:
    """Tell the risks of a file, and of the original beside it."""
    from discreet.kanonymity.risk import risk

    check_outputs({"--report": report}, path, original, population, *kinds.read)
    names, secret = names_of(quasi), names_of(sensitive)
    if not names:
        raise InvalidProblemError("--quasi", "columns of the table", "none")
    people, found = None, {}
    if population is not None:
        people = _population(path, population, names, kinds)
    tables = [("before", original), ("after", path)] if original is not None else [("risk", path)]
    for when, file in tables:
        table = read_rows(file or path, "TABLE")
        for name in (*names, *secret):
            if name not in table.columns:
                option = "--quasi" if name in names else "--sensitive"
                raise no_column(option, name, table.width)
        for name in prose_among(table, names, kinds):
            told = f"{name} holds free text, by which nearly every row differs; leave it out of --quasi"
            warn(told, quiet=quiet)
        found[when] = risk(table, names, sensitive=secret, population=people)
    one = {when: shown.to_dict() for when, shown in found.items()}
    data = {
        **(one["risk"] if original is None else one),
        "quasi_identifiers": names,
        "population": population,
        "private": "sizes of classes of a table that is not published are private",
    }
    if report is not None:
        from discreet.report import make_chapter

        write_page([make_chapter("risk", found, names=names)], report, title="Who could be found")
    emit(data, _risk_text(found), as_json=as_json, command="risk")
    return Status.DONE


def method_of(name: str | None) -> Method | None:
    """Find a method that guarantees k-anonymity."""
    from discreet.kanonymity.methods import METHODS, UNPROVEN

    if name is None:
        return None
    if name in UNPROVEN:
        expected = "one that guarantees k-anonymity; this one runs in discreet.kanonymity.reproduce"
        raise InvalidProblemError("--method", expected, repr(name))
    made: Method = find(METHODS, name, "--method")()
    return made


def _check_rows(table: pl.DataFrame, asked: Asked) -> None:
    if table.height > MOST_ROWS and asked.time_limit is None:
        expected = (
            f"{MOST_ROWS:,} rows or fewer at once; a larger table goes in parts with --stream, or as far as it comes "
            "with --time-limit"
        )
        raise InvalidProblemError("TABLE", expected, f"{table.height:,}")


def _sensitive(table: pl.DataFrame, given: Sequence[str], guarantee: KAnonymity) -> list[str]:
    names = names_of(given)
    for name in names:
        if name not in table.columns or name in guarantee.quasi_identifiers:
            raise InvalidProblemError("--sensitive", "other columns of the table", repr(name))
    return names


def _models(table: pl.DataFrame, asked: Asked, guarantee: KAnonymity) -> dict[str, list[Model]]:
    """Read what each class must hold, and see that its columns are there."""
    models = read_models(asked.require)
    named = {"--require": list(models), "--person": [asked.person] if asked.person else []}
    for option, names in named.items():
        for name in names:
            if name not in table.columns or name in guarantee.quasi_identifiers:
                raise InvalidProblemError(option, "other columns of the table", repr(name))
    return models


def _warn_of_unique(
    table: pl.DataFrame, asked: Asked, curated: Curated, guarantee: KAnonymity
) -> None:
    from discreet.kanonymity._tables import near_unique

    for name in near_unique(table, guarantee.quasi_identifiers):
        if name != asked.person:
            warn(f"{name} is nearly unique: who knows it knows the row", quiet=curated.quiet)


def _progress(*, quiet: bool) -> Callable[[Step], None] | None:
    if quiet or not sys.stderr.isatty():
        return None

    def show(step: Step) -> None:
        warn(f"{step.seconds:.1f} s, {step.method}, loss {step.loss:.6g}")

    return show


def _told(
    made: Anonymization[pl.DataFrame, Diagnostics],
    asked: Asked,
    curated: Curated,
    sensitive: list[str],
) -> tuple[dict[str, Any], str]:
    from discreet.kanonymity.risk import risk

    found = made.diagnostics
    published = risk(made.table, made.guarantee.quasi_identifiers, sensitive=sensitive)
    diverse = {name: published.diversity[name] for name in sensitive}
    close = {name: float(published.closeness[name]) for name in sensitive}
    data = {
        "information_loss": found.information_loss,
        "mean_loss": found.mean_loss,
        "lower": found.lower,
        "gap": found.gap,
        "optimal": found.optimal,
        "classes": published.classes,
        "smallest_class": published.k,
        "suppressed": found.suppressed,
        "rows": made.table.height,
        "l": diverse,
        "t": close,
        "method": found.method,
        "seconds": found.seconds,
        "loss": asked.loss,
        "private": PRIVATE,
        "guarantee": {**made.guarantee.to_dict(), "sentence": str(made.guarantee)},
        "certificate": made.certificate.to_dict(),
        "order": "shuffled",
        "output": curated.output,
    }
    proved = (
        "proved optimal"
        if found.optimal
        else f"at least {text_floor(found.lower)}, gap {found.gap:.2%}"
    )
    rows: list[tuple[str, object]] = [
        ("guarantee", made.guarantee),
        ("information loss", f"{found.information_loss:.6g} ({asked.loss}; {proved})"),
        ("mean loss", f"{found.mean_loss:.4f} of a cell"),
        ("classes", f"{published.classes}, the smallest of {published.k} rows"),
        ("rows", f"{made.table.height} written, {found.suppressed} suppressed, order shuffled"),
    ]
    rows += [(f"values of {name}", f"{diverse[name]} or more in each class") for name in sensitive]
    rows += [(f"distance in {name}", f"{close[name]:.4f} at most") for name in sensitive]
    rows += [("method", f"{found.method}, {found.seconds:.1f} s"), ("private", PRIVATE)]
    return data, f"{facts(rows)}\n\n{made.certificate}"


def _population(path: str, population: str, names: list[str], kinds: Kinds) -> Any:  # noqa: ANN401 - a Problem
    """Code the population, its columns read as the table's record says, or as told."""
    from discreet.artefact import ANONYMOUS, is_table, kind_of, load_anonymous
    from discreet.kanonymity._tables import read_problem

    people = read_rows(population, "--population")
    attributes: Sequence[Attribute] = ()
    if is_table(path) and kind_of(path) == ANONYMOUS:
        stated = load_anonymous(path).attributes
        attributes = [attribute for attribute in stated if attribute.name in names]
    if not attributes:
        attributes = attributes_of(people, names, kinds)
    return read_problem(people, names, attributes, "ncp")


def _risk_text(found: dict[str, Risk]) -> str:
    titles = list(found)
    lines: list[tuple[str, list[str]]] = [("", titles if len(titles) > 1 else [""])]

    def line(name: str, values: Iterable[object]) -> None:
        lines.append((name, [str(value) for value in values]))

    def share(name: str, values: Iterable[Fraction]) -> None:
        lines.append((name, [f"{float(value):.2%}" for value in values]))

    all_of = list(found.values())
    line("rows", (one.rows for one in all_of))
    line("classes", (one.classes for one in all_of))
    line("class sizes", (f"{one.k} to {one.largest}, middle {one.median}" for one in all_of))
    line("k", (one.k for one in all_of))
    for name in all_of[0].diversity:
        line(f"l of {name}", (one.diversity[name] for one in all_of))
        line(f"t of {name}", (f"{float(one.closeness[name]):.4f}" for one in all_of))
    share("alone in their class", (one.unique for one in all_of))
    share("prosecutor, highest", (one.prosecutor_highest for one in all_of))
    share("prosecutor, average", (one.prosecutor_average for one in all_of))
    share("journalist, highest", (one.journalist_highest for one in all_of))
    share("journalist, average", (one.journalist_average for one in all_of))
    share("marketer", (one.marketer for one in all_of))
    width = max(len(name) for name, _ in lines)
    room = max(len(value) for _, values in lines for value in values) + 2
    return "\n".join(
        (name.ljust(width) + "  " + "".join(value.ljust(room) for value in values)).rstrip()
        for name, values in lines
        if name or any(values)
    )
