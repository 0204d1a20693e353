"""What the pages that publish from a private table share: the order of a release, and the process that makes it.

A :class:`Publication` says what one page does its own way. :class:`Publish` plans, charges the ledger, releases, writes
and keeps, in this order, for all of them. Publishing runs in a process of its own; the plan charges before it reads a
value.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, final

from discreet.report.check_words import proof_of
from discreet.report.words import promise_about_a_person
from discreet.studio.ledgers import look
from discreet.studio.publish_forms import titled
from discreet.studio.released import make_place, new_name, removed_if_empty

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Tell = Callable[[dict[str, Any]], None]

__all__ = ["LIST", "PRIVATE", "FormLayout", "Publication", "Publish"]

PRIVATE = "private.parquet"
"""The private table in the page's folder."""

LIST = "regions.parquet"
"""The public list of regions in the page's folder."""


class FormLayout(Protocol):
    """Which columns are what, and what is public, as a form said it."""

    @property
    def neighbors(self) -> str:
        """A key of :data:`discreet.studio.publish_forms.NEIGHBORS`."""
        ...


def no_more(*_given: object) -> Mapping[str, Any]:
    """Name nothing besides what all pages do."""
    return {}


def always(_planned: object) -> bool:
    """Keep the measurements of every plan."""
    return True


@final
@dataclass(frozen=True)
class Publication:
    """What one page publishes. Its functions are those of modules, since a task goes to another process.

    Parameters
    ----------
    name
        Its address, the kind of its job, and how the names of its templates begin.
    command
        What publishes from tables that are too large for the page.
    public
        Public files that it takes: a name -> the file in the page's folder.
    downloads
        What a release leaves, in order, and what each is.
    titles
        Arguments of the library -> what the page calls them.
    read_layout
        Reads the form of columns; takes the form and the names of the columns.
    read_promise
        Reads what a release promises; takes the form and the neighbors.
    plan
        Plans from public inputs, and refuses all that can be refused without a value of the private table; takes the
        page's folder, the layout, and the promise, or ``None`` for what depends on public facts alone.
    contents
        What renders each file of a release, by its name; takes the plan.
    show
        What the template of the result names; takes the release and its plan.
    first
        What the template of its first page names besides what all do.
    columns
        The same for the template of columns; takes the query of the upload, and refuses it.
    budget
        The same for the template of the budget; takes the plan and the layout.
    keeps
        Whether the measurements of a plan are to be kept.
    """

    name: str
    command: str
    public: Mapping[str, str]
    downloads: Mapping[str, str]
    titles: Mapping[str, str]
    read_layout: Callable[[Mapping[str, str], Sequence[str]], Any]
    read_promise: Callable[[Mapping[str, str], str], Any]
    plan: Callable[[Path, Any, Any], Any]
    contents: Callable[[Any], Mapping[str, Callable[[Any], Any]]]
    show: Callable[[Any, Any], dict[str, Any]]
    first: Mapping[str, Any]
    columns: Callable[[Mapping[str, str]], Mapping[str, Any]] = no_more
    budget: Callable[[Any, Any], Mapping[str, Any]] = no_more
    keeps: Callable[[Any], bool] = always


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
    layout: FormLayout
    promise: Any
    ledger: str
    dataset: str
    kept: str
    budget_delta: str | None = None
    release: str = field(default_factory=new_name)
    seconds: float = 3_600.0

    def run(self, tell: Tell) -> dict[str, Any]:
        """Publish; give what may be shown to everybody, and what is left of the budget."""
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
            "release": self.release,
        }
