"""What the pages that publish from a private table share: the order of a release, and the process that makes it.

A :class:`Publication` says what one page does its own way. :class:`Publish` plans, charges the ledger, releases, writes
and keeps, in this order, for all of them. Publishing runs in a process of its own; the plan charges before it reads a
value.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from discreet.artefact.counts import counts_content, measurements_content
from discreet.artefact.sidecar import FileContent
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import PureDP, ZeroConcentratedDP
from discreet.hierarchy.contingency.workload import JAMES_STEIN
from discreet.hierarchy.reliability import reliability_in_words
from discreet.report import make_chapter, render_report
from discreet.report.check_words import proof_of
from discreet.report.words import promise_about_a_person
from discreet.studio.forms import Promise, titled
from discreet.studio.ledgers import look
from discreet.studio.released import make_place, new_name, removed_if_empty
from discreet.tables.dialect import names_in

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from discreet.core.outcome import Release
    from discreet.studio.forms import TableLayout

    Tell = Callable[[dict[str, Any]], None]

PRIVATE = "private.parquet"
"""The private table in the page's folder."""

LIST = "regions.parquet"
"""The public list of regions in the page's folder."""


def no_more(*_given: object) -> Mapping[str, Any]:
    """Return nothing besides what the templates of all pages name."""
    return {}


def always(_planned: object) -> bool:
    """Keep the measurements of every plan."""
    return True


@final
@dataclass(frozen=True)
class Publication:
    """A page that publishes. Its functions are those of modules, since a task goes to another process.

    Parameters
    ----------
    name
        Its address, the kind of its job, the stem of its table, and the start of the names of its templates.
    command
        Command that publishes from tables that are too large for the page.
    public
        Public files that it takes: name -> file in the page's folder, and title in messages.
    measurements, page
        Names of the files of measurements and of the report.
    titles
        Argument of the library -> name on the page.
    read_layout
        Function from the form of columns and the names of the columns to a layout.
    read_promise
        Function from a form and the neighbors to a promise.
    make_plan
        Function of the library that plans.
    chapter
        Kind of the report's chapter, its title and its further arguments.
    show
        Function from the release and its plan to the values of the template of the result.
    first
        Further values of the template of the first page.
    columns
        Function from the query of the upload, which it may refuse, to further values of the template of columns.
    budget
        Function from the plan and the layout to further values of the template of the budget.
    keeps
        Whether the measurements of a plan are kept.
    """

    name: str
    command: str
    public: Mapping[str, tuple[str, str]]
    measurements: str
    page: str
    titles: Mapping[str, str]
    read_layout: Callable[[Mapping[str, str], Sequence[str]], TableLayout]
    read_promise: Callable[[Mapping[str, str], str], Promise]
    make_plan: Callable[..., Any]
    chapter: tuple[str, str, Mapping[str, str]]
    show: Callable[[Any, Any], dict[str, Any]]
    first: Mapping[str, Any]
    columns: Callable[[Mapping[str, str]], Mapping[str, Any]] = no_more
    budget: Callable[[Any, TableLayout], Mapping[str, Any]] = no_more
    keeps: Callable[[Any], bool] = always

    @property
    def downloads(self) -> dict[str, str]:
        """Files of a release, with what each is; those of them that a release has can be fetched."""
        tables = {
            f"{self.name}.csv": "The table, as CSV",
            f"{self.name}.parquet": "The table, as Parquet",
            self.measurements: "What was measured, for discreet query",
        }
        records = {f"{name}.discreet.json": f"The record of {name}" for name in tables}
        return {**tables, **records, self.page: "The report"}

    def plan(self, folder: Path, layout: TableLayout, promise: Promise | None = None) -> Any:  # noqa: ANN401 - of the library
        """Plan the release, and refuse all that can be refused without the values of the private table.

        Returns the plan of the library. Reads the public files; of the private table only the names and types of
        columns, and the regions where the layout declares them public.

        Parameters
        ----------
        folder
            The page's own.
        layout
            Columns and public facts.
        promise
            The guarantee and the method. Without it a stand-in for what depends on public facts alone: epsilon 1, or
            rho 1 for groups of regions and for shrunk estimates, which need it.

        Raises
        ------
        InvalidProblemError
            For public files that were not loaded or make no sense, columns that are not there, or a promise that the
            method cannot keep.
        """
        public = layout.arguments
        needs_rho = public.get("groups") or public.get("shrink") == JAMES_STEIN
        stand_in = ZeroConcentratedDP if needs_rho else PureDP
        stated = promise or Promise(stand_in(1, layout.neighbors))
        arguments = {**public, **stated.arguments}
        with titled(self.titles):
            if layout.public == "table":
                arguments |= {"regions": str(folder / PRIVATE), "declare_regions": True}
            else:
                path = self._public_file(folder, layout)
                argument = "public_units" if layout.public == "units" else "regions"
                arguments[argument] = str(path)
            planned = self.make_plan(arguments.pop("regions", None), stated.guarantee, **arguments)
            planned.check(str(folder / PRIVATE))
        return planned

    def _public_file(self, folder: Path, layout: TableLayout) -> Path:
        """Return the path of the layout's public file; InvalidProblemError if it is not loaded or lacks a column."""
        file, title = self.public[layout.public]
        if not (folder / file).is_file():
            raise InvalidProblemError(title, "a file; choose one first", "no file")
        known, wanted = names_in(folder / file, ""), list(layout.arguments["columns"])
        if layout.public == "units" and layout.arguments.get("unit"):
            wanted.append(layout.arguments["unit"])
        if not set(wanted) <= set(known):
            expected = f"the columns {', '.join(wanted)}, as in the table"
            raise InvalidProblemError(title, expected, ", ".join(known))
        return folder / file

    def contents(self, planned: Any) -> dict[str, Callable[[Release[Any]], FileContent]]:  # noqa: ANN401 - as above
        """Return file name -> function that renders its content from a release: CSV, Parquet, report, and measurements.

        Measurements are there only if `keeps` holds of the plan. Nothing is written here.
        """
        kind, title, more = self.chapter

        def page(made: Release[Any]) -> FileContent:
            return FileContent(
                render_report([make_chapter(kind, made, **more)], title=title).encode()
            )

        def measured(made: Release[Any]) -> FileContent:
            return measurements_content(
                made.result.measurements, ".parquet", made.provenance.charge
            )

        return {
            f"{self.name}.csv": lambda made: counts_content(made, ".csv"),
            f"{self.name}.parquet": lambda made: counts_content(made, ".parquet"),
            self.page: page,
            **({self.measurements: measured} if self.keeps(planned) else {}),
        }


@final
@dataclass(frozen=True)
class Publish:
    """Plan, charge the ledger, release, check, write, and keep what was written.

    Parameters
    ----------
    publication
        What is published, and how.
    folder
        The page's own: the private table and the public ones are there, and results go there.
    layout
        Which columns are what, and what is public.
    promise
        What is promised.
    ledger, dataset
        What is charged.
    kept
        The folder where releases are kept.
    budget_delta
        Delta at which rho is charged to an (epsilon, delta) budget.
    release
        Name of the release in that folder.
    seconds
        Within which it has to be done.
    """

    publication: Publication
    folder: str
    layout: TableLayout
    promise: Promise
    ledger: str
    dataset: str
    kept: str
    budget_delta: str | None = None
    release: str = field(default_factory=new_name)
    seconds: float = 3_600.0

    def run(self, tell: Tell) -> dict[str, Any]:
        """Publish: plan, charge the ledger, release and write.

        Return the values of the page, which the guarantee covers. `tell` gets dicts with "text", and with "charge",
        "begun" before and "made" after the charge. Keys: promise, checks, files (pairs of name and content), book,
        reliability, release, and those of `publication.show`. BudgetError and InvalidProblemError before the charge,
        ChargedError after it.
        """
        from discreet.artefact import OutputFile, ReleaseFiles
        from discreet.ledger import Ledger

        folder, publication = Path(self.folder), self.publication
        tell({"text": "Reading what is public."})
        planned = publication.plan(folder, self.layout, self.promise)
        place = make_place(Path(self.kept), self.release)
        files = [
            OutputFile("The folder of releases", place / file, render)
            for file, render in publication.contents(planned).items()
        ]
        tell({"text": "Charging the budget.", "charge": "begun"})
        with titled(publication.titles), removed_if_empty(place):
            made = planned.release(
                str(folder / PRIVATE),
                budget=Ledger(self.ledger),
                dataset=self.dataset,
                budget_delta=self.budget_delta,
                keep_measurements=publication.keeps(planned),
                on_progress=lambda step: tell(
                    {"text": f"The budget is charged: {step.stage}.", "charge": "made"}
                ),
                outputs=ReleaseFiles(files, command="studio"),
            )
        tell({"text": "Checked and written. Drawing."})
        downloads = [
            (file, what) for file, what in publication.downloads.items() if (place / file).is_file()
        ]
        book = look(Path(self.ledger), self.dataset)
        return {
            "promise": promise_about_a_person(made.guarantee),
            "checks": proof_of(made.certificate)["checks"],
            **publication.show(made, planned),
            "files": downloads,
            "book": book,
            "reliability": reliability_in_words(),
            "release": self.release,
        }
