"""Results of ``anonymize``: pages, and the facts of a table for the curator, computed from the original."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.cli.files import write_page
from discreet.cli.output import emit, facts
from discreet.core.outcome import FOR_THE_CURATOR

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
    """Print the facts of a table in memory: its risks, losses and method; private. A sort of the rows."""
    from discreet.kanonymity.risk import homogeneous_dict, risk

    search, sensitive = made.diagnostics, made.provenance.parameters["roles"]["sensitive"]
    published = risk(made.table, made.guarantee.quasi_identifiers, sensitive=sensitive)
    measured = {
        "optimal": search.optimal,
        "classes": published.classes,
        "smallest_class": published.k,
        "rows": made.table.height,
        "l": {name: published.diversity[name] for name in sensitive},
        "t": {name: float(published.closeness[name]) for name in sensitive},
        "homogeneous": homogeneous_dict(published.homogeneous),
        "method": search.method,
        "seconds": search.seconds,
        "seconds_after": search.seconds_after,
    }
    emit_facts(made, options, measured, search.described(made, published))


def emit_facts(
    made: Anonymization[Any, Any],
    options: AnonymizeOptions,
    measured: dict[str, Any],
    rows: Sequence[tuple[str, object]],
) -> None:
    """Print the facts of an anonymization.

    Facts shared by tables in memory and in files, then `measured` and `rows`.
    """
    search = made.diagnostics
    shared = ("information_loss", "mean_loss", "lower", "gap", "suppressed")
    data = {
        **{name: getattr(search, name) for name in shared},
        **measured,
        "loss": options.loss,
        "private": FOR_THE_CURATOR,
        "guarantee": {**made.guarantee.to_dict(), "sentence": str(made.guarantee)},
        "certificate": made.certificate.to_dict(),
        "order": "shuffled",
        "output": options.output,
    }
    emit(
        "anonymize", options, data, facts([("guarantee", made.guarantee), *rows]), made.certificate
    )
