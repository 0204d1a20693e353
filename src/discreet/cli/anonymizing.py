"""Options of ``anonymize``, and what it prints and draws for the curator, computed from the original."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

from discreet.cli.columns import DemandOptions, Kinds, RoleOptions, with_orders
from discreet.cli.files import write_page
from discreet.cli.options import (
    HOW,
    PROMISED,
    HelpAllOption,
    JsonOption,
    QuietOption,
    ReportOption,
    RowEngineOptions,
    VerboseOption,
    output_file,
)
from discreet.cli.output import emit
from discreet.core.option_groups import REQUIRED, OptionGroup, argument, option
from discreet.core.outcome import FOR_THE_CURATOR
from discreet.core.printed import facts
from discreet.kanonymity.methods import METHODS
from discreet.kanonymity.models import read_models
from discreet.tables.option_groups import COLUMNS, CodingOptions, FileReadingOptions
from discreet.tables.roles import Given

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from discreet.core.outcome import Anonymization
    from discreet.kanonymity.anonymize import AnonymizationDiagnostics
    from discreet.kanonymity.problem import Attribute
    from discreet.tables.roles import AssignedRoles


class ClassOptions(OptionGroup, panel=PROMISED):
    """What each equivalence class must hold."""

    k: int = option(
        "2 or more: each published combination of quasi-identifiers is shared by k rows or more. Required.",
        None,
        "-k",
        "--k",
        default=REQUIRED,
    )
    person: str | None = option(
        "Tells persons apart: each class then has k persons. The column is not written.", "COLUMN"
    )
    population: str | None = option(
        "Public table of all people, of whom some are in TABLE; with --k-map.", "FILE"
    )
    k_map: int | None = option(
        "People of --population whom the cells of each class must cover, besides k rows.", "K"
    )


class SuppressionOptions(OptionGroup, panel=PROMISED):
    """Rows that may be left out."""

    suppress: float = option("Most rows that may be left out, as a share.", "SHARE", default=0.0)
    keep_suppressed: bool = option(
        "Write suppressed rows as * in all of --quasi, if there are k of them or more.",
        default=False,
    )


class RecodingSearchOptions(OptionGroup, panel=HOW):
    """How generalized cells are searched for."""

    loss: str = option(
        "What is made small: ncp, taxonomy, range, ncp-printed, arx-loss or one-hot.",
        default="ncp",
    )
    method: str | None = option(
        f"One of {', '.join(sorted(METHODS.proven))}; `optimal` must be proved. Default: several in turn."
    )
    time_limit: float | None = option("Stop the search then.", "SECONDS")
    gap: float | None = option("Relative gap to prove, or status 4.")
    threads: int = option("Threads of the search.", default=1, max=1_024)
    effort: str | None = option(
        "How much is tried. Default: strong up to 200,000 rows. Without a time limit, fast ends by itself.",
        "fast|strong",
    )


class OrderOption(OptionGroup, panel=COLUMNS):
    """Orders of text."""

    order: tuple[str, ...] = option(
        "Order of the values of a column of text, for ordered-closeness: severity=none,mild,severe.",
        "NAME=LOW,...,HIGH",
        repeated=True,
    )


@final
class AnonymizeOptions(
    ClassOptions,
    RoleOptions,
    SuppressionOptions,
    DemandOptions,
    Kinds,
    FileReadingOptions,
    CodingOptions,
    OrderOption,
    RecodingSearchOptions,
    RowEngineOptions,
    ReportOption,
    JsonOption,
    QuietOption,
    VerboseOption,
    HelpAllOption,
):
    """All options of ``anonymize``."""

    table: str = argument(
        "File with one row for each person, or a folder of CSV or Parquet files.", "TABLE"
    )
    output: str | None = output_file(
        "CSV, Parquet, .xlsx or .sav file to write; with --memory or --scheduler, a folder of parts, CSV or Parquet."
    )
    curator_report: str | None = option(
        "HTML page for the curator alone: risk before and after, what became of columns, what was lost.",
        "FILE",
    )

    @property
    def demands(self) -> tuple[str, ...]:
        """What classes must hold, as ``--require`` takes it."""
        return tuple(with_orders(self.demanded(self.sensitive), self.order))

    @property
    def roles(self) -> Given:
        """Roles of columns as typed; a column of a demand is sensitive."""
        demanded = read_models(self.demands, field="--require")
        sensitive = dict.fromkeys((*self.sensitive, *demanded))
        return Given(
            self.quasi,
            [name for name in sensitive if name in self.sensitive or name not in self.keep],
            self.keep,
            self.drop,
            self.person,
            self.unassigned,
        )


def write_pages(
    made: Anonymization[pl.DataFrame, AnonymizationDiagnostics],
    original: pl.DataFrame,
    roles: AssignedRoles,
    attributes: Sequence[Attribute],
    options: AnonymizeOptions,
) -> None:
    """Write the report of the published table and that for the curator to the paths of the options, if requested.

    Both are readable for their owner alone. `original` is the table as read, private; `attributes` say how its
    quasi-identifiers were read. InvalidProblemError for a file that cannot be written.
    """
    headline = "An anonymized table, with its proof"
    about: dict[str, Any] = {"private": True, "attributes": attributes}
    write_page(options.report, "kanonymity", made, headline=headline, **about)
    about |= {"made": made, "roles": roles, "headline": "For the curator alone: what was published"}
    write_page(options.curator_report, "curator", original, **about)


def emit_table_facts(
    made: Anonymization[pl.DataFrame, AnonymizationDiagnostics], options: AnonymizeOptions
) -> None:
    """Print the facts of a table in memory: its risks, losses and method; private. A sort of the rows.

    `made` is the anonymization with its diagnostics; classes, l and t are counted anew on the published table.
    """
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
    """Print the facts of an anonymization as JSON or text: facts shared by tables in memory and in files, then more.

    `measured` are more facts for JSON, `rows` name and value for the text. Private: losses are of the original.
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
