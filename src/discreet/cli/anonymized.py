"""What ``anonymize`` gives: pages, and what it says of a table, computed from the original and for the curator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.cli.anonymizing import PRIVATE
from discreet.cli.files import write_page
from discreet.cli.output import facts
from discreet.core import printed

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from discreet.cli.anonymizing import ResultFiles
    from discreet.core.outcome import Anonymization
    from discreet.kanonymity.anonymize import AnonymizationDiagnostics
    from discreet.kanonymity.problem import Attribute
    from discreet.tables.roles import AssignedRoles

__all__ = ["told", "write_pages"]


def write_pages(
    made: Anonymization[pl.DataFrame, AnonymizationDiagnostics],
    original: pl.DataFrame,
    roles: AssignedRoles,
    attributes: Sequence[Attribute],
    files: ResultFiles,
) -> None:
    """Write the report of what is published, and the curator's, where they are wanted."""
    if files.report is not None:
        from discreet.report import make_chapter

        chapter = make_chapter("kanonymity", made, attributes=attributes)
        title = "An anonymized table, with its proof"
        write_page([chapter], files.report, title=title, private=True)
    if files.curator is not None:
        from discreet.report.curator import chapter as curator_chapter

        page = curator_chapter(original, made, roles, attributes)
        title = "For the curator alone: what was published"
        write_page([page], files.curator, title=title, private=True)


def told(
    made: Anonymization[pl.DataFrame, AnonymizationDiagnostics],
    sensitive: Sequence[str],
    *,
    loss: str,
    output: str | None,
) -> tuple[dict[str, Any], str]:
    """Say what came out, as data and as text; both are the curator's."""
    from discreet.kanonymity.risk import homogeneous_dict, risk

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
        "homogeneous": homogeneous_dict(published.homogeneous),
        "method": found.method,
        "seconds": found.seconds,
        "seconds_after": found.seconds_after,
        "loss": loss,
        "private": PRIVATE,
        "guarantee": {**made.guarantee.to_dict(), "sentence": str(made.guarantee)},
        "certificate": made.certificate.to_dict(),
        "order": "shuffled",
        "output": output,
    }
    stated = printed.bounds(found.lower, found.information_loss)
    optimal = printed.optimum(found.lower, found.information_loss)
    stated += f", proved {optimal}" if optimal else ""
    rows: list[tuple[str, object]] = [
        ("guarantee", made.guarantee),
        ("information loss", f"{stated} ({loss})"),
        ("where the bound is that", made.bound_in_words()),
        ("mean loss", f"{printed.at_most(found.mean_loss, 4)} of a cell"),
        ("classes", f"{published.classes}, the smallest of {published.k} rows"),
        ("rows", f"{made.table.height} written, {found.suppressed} suppressed, order shuffled"),
    ]
    rows += [(f"values of {name}", f"{diverse[name]} or more in each class") for name in sensitive]
    rows += [(f"distance in {name}", f"{printed.at_most(close[name])} at most") for name in close]
    rows += [("one value in a class", words) for words in published.homogeneity_in_words()]
    took = f"{printed.seconds(found.seconds)}; written and verified in {printed.seconds(found.seconds_after)}"
    rows += [("method", f"{found.method}, {took}"), ("private", PRIVATE)]
    return data, facts(rows)
