"""Results of ``anonymize``: pages, and the facts of a table for the curator, computed from the original."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.cli.anonymizing import PRIVATE
from discreet.cli.files import write_page
from discreet.cli.output import emit, facts
from discreet.core import printed

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from discreet.cli.anonymizing import AnonymizeOptions
    from discreet.core.outcome import Anonymization
    from discreet.kanonymity.anonymize import AnonymizationDiagnostics
    from discreet.kanonymity.problem import Attribute
    from discreet.tables.roles import AssignedRoles

__all__ = ["emit_facts", "emit_table_facts", "write_pages"]


def write_pages(
    made: Anonymization[pl.DataFrame, AnonymizationDiagnostics],
    original: pl.DataFrame,
    roles: AssignedRoles,
    attributes: Sequence[Attribute],
    options: AnonymizeOptions,
) -> None:
    """Write the report of the published table and that for the curator, if requested."""
    if options.report is not None:
        from discreet.report import make_chapter

        chapter = make_chapter("kanonymity", made, attributes=attributes)
        title = "An anonymized table, with its proof"
        write_page([chapter], options.report, title=title, private=True)
    if options.curator_report is not None:
        from discreet.report.curator import chapter as curator_chapter

        page = curator_chapter(original, made, roles, attributes)
        title = "For the curator alone: what was published"
        write_page([page], options.curator_report, title=title, private=True)


def emit_table_facts(
    made: Anonymization[pl.DataFrame, AnonymizationDiagnostics], options: AnonymizeOptions
) -> None:
    """Print the facts of a table in memory."""
    from discreet.kanonymity.risk import risk

    search = made.diagnostics
    published = risk(made.table, made.guarantee.quasi_identifiers, sensitive=options.sensitive)
    diverse = {name: published.diversity[name] for name in options.sensitive}
    close = {name: float(published.closeness[name]) for name in options.sensitive}
    rows = [
        (f"values of {name}", f"{least} or more in each class") for name, least in diverse.items()
    ]
    rows += [(f"distance in {name}", f"{printed.at_most(close[name])} at most") for name in close]
    rows += [("one value in a class", words) for words in published.homogeneity_in_words()]
    after = printed.seconds(search.seconds_after)
    emit_facts(
        made,
        options,
        {
            "optimal": search.optimal,
            "classes": published.classes,
            "smallest_class": published.k,
            "rows": made.table.height,
            "l": diverse,
            "t": close,
            "method": search.method,
            "seconds": search.seconds,
            "seconds_after": search.seconds_after,
        },
        rows,
        f"{search.method}, {printed.seconds(search.seconds)}; written and verified in {after}",
    )


def emit_facts(
    made: Anonymization[Any, Any],
    options: AnonymizeOptions,
    measured: dict[str, Any],
    rows: Sequence[tuple[str, str]],
    method: str,
) -> None:
    """Print the facts that tables in memory and in files share, with those that were measured for one of them."""
    search = made.diagnostics
    shared = ("information_loss", "mean_loss", "lower", "gap", "suppressed")
    data = {
        **{name: getattr(search, name) for name in shared},
        **measured,
        "loss": options.loss,
        "private": PRIVATE,
        "guarantee": {**made.guarantee.to_dict(), "sentence": str(made.guarantee)},
        "certificate": made.certificate.to_dict(),
        "order": "shuffled",
        "output": options.output,
    }
    bounds = printed.bounds(search.lower, search.information_loss)
    # A table in files is never claimed to be optimal.
    proved = ", proved optimal" if getattr(search, "optimal", False) else ""
    smallest = f"the smallest of {measured['smallest_class']} rows"
    text = facts(
        [
            ("guarantee", made.guarantee),
            ("information loss", f"{bounds}{proved} ({options.loss})"),
            ("where the bound is that", made.bound_in_words()),
            ("mean loss", f"{printed.at_most(search.mean_loss, 4)} of a cell"),
            ("classes", f"{measured['classes']}, {smallest}"),
            ("rows", f"{measured['rows']} written, {search.suppressed} suppressed, order shuffled"),
            *rows,
            ("method", method),
            ("private", PRIVATE),
        ]
    )
    emit(
        data,
        text,
        as_json=options.as_json,
        command="anonymize",
        certificate=made.certificate,
        verbose=options.verbose,
    )
