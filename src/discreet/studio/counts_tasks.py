"""Publish counts in a process of its own: what is public first, then the charge, then the data, as the command does."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from discreet.core.errors import InvalidProblemError
from discreet.studio.counts_asked import titled
from discreet.studio.counts_ledger import look
from discreet.studio.counts_public import PRIVATE, check_columns, declared, frame_of, public_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from discreet.core.outcome import Release
    from discreet.hierarchy.problem import Frame, GroupSizes
    from discreet.hierarchy.result import RegionCounts
    from discreet.studio.counts_asked import Asked, Layout

    Tell = Callable[[dict[str, Any]], None]

__all__ = ["DOWNLOADS", "Publish", "rehearsed"]

DOWNLOADS = {
    "counts.csv": "The table, as CSV",
    "counts.csv.discreet.json": "its record",
    "counts.parquet": "The table, as Parquet",
    "counts.parquet.discreet.json": "its record",
    "measurements.parquet": "The noisy counts, for discreet query",
    "measurements.parquet.discreet.json": "their record",
    "report.html": "The report",
}
"""What a release leaves in the page's folder, in order, and what it is."""


def rehearsed(folder: Path, layout: Layout, asked: Asked) -> tuple[Frame, str]:
    """Refuse all that can be refused without the records; give the public facts, and what would be measured.

    Raises
    ------
    InvalidProblemError
        For public files that make no sense, columns that are not there, or a promise that the method cannot keep.
    """
    from discreet.hierarchy._release import rehearse
    from discreet.hierarchy.methods import method_named

    frame = frame_of(public_of(folder, layout), layout)
    with titled():
        rehearse(frame, asked.guarantee, method=asked.method, levels=asked.levels)
    check_columns(folder, layout)
    return frame, str(method_named(asked.method).kind)


@final
@dataclass(frozen=True)
class Publish:
    """Charge the ledger, count, add noise, check, and write.

    Parameters
    ----------
    folder
        The page's own: the private table and the public ones are there, and results go there.
    layout
        Which columns are what, and what is public.
    asked
        The promise and the method.
    ledger, dataset
        What is charged.
    seconds
        Within which it has to be done.
    """

    folder: str
    layout: Layout
    asked: Asked
    ledger: str
    dataset: str
    seconds: float = 3_600.0

    def run(self, tell: Tell) -> dict[str, Any]:
        """Publish; give what may be shown to everybody, and what is left of the budget."""
        from discreet.ledger import Ledger

        folder, layout, asked = Path(self.folder), self.layout, self.asked
        tell({"text": "Reading what is public."})
        frame, kind = rehearsed(folder, layout, asked)
        Ledger(self.ledger).reserve(self.dataset, asked.guarantee)
        tell({"text": "The budget is charged. Reading the table."})
        with _charged():
            made = self._release(_count(folder, layout), frame, kind, tell)
            tell({"text": "Checked. Writing and drawing."})
            return self._shown(made)

    def _release(
        self, data: GroupSizes, frame: Frame, kind: str, tell: Tell
    ) -> Release[RegionCounts]:
        from discreet.hierarchy import release

        asked = self.asked
        made = release(
            data,
            asked.guarantee,
            method=asked.method,
            levels=asked.levels,
            # Others cannot be asked one size at a time.
            keep_measurements=kind in ("survival", "direct"),
            on_progress=lambda text: tell({"text": text}),
        )
        public = (*made.provenance.assumed_public, *declared(frame, self.layout))
        return replace(made, provenance=replace(made.provenance, assumed_public=public))

    def _shown(self, made: Release[RegionCounts]) -> dict[str, Any]:
        from discreet.artefact import save_counts, save_measurements
        from discreet.report import make_chapter, write_report
        from discreet.studio.counts_shown import describe_release

        folder, kept = Path(self.folder), made.result.measurements
        save_counts(made, folder / "counts.csv")
        save_counts(made, folder / "counts.parquet")
        if kept is not None:
            save_measurements(kept, folder / "measurements.parquet")
        chapter = make_chapter("hierarchy", made, artefact="counts.csv")
        title = "Counts by region and size, with their proof"
        write_report([chapter], folder / "report.html", title=title)
        files = [(name, what) for name, what in DOWNLOADS.items() if (folder / name).is_file()]
        book = look(Path(self.ledger), self.dataset)
        return {**describe_release(made), "files": files, "book": book}


def _count(folder: Path, layout: Layout) -> GroupSizes:
    from discreet.hierarchy._tables import count_records, count_units

    public, table = public_of(folder, layout), str(folder / PRIVATE)
    sizes = {"max_size": layout.max_size, "max_quantity": layout.max_quantity}
    if layout.kind == "units":
        return count_units(table, public, size=layout.size or "", **sizes)
    return count_records(
        table,
        public,
        unit=layout.unit or "",
        quantity=layout.quantity,
        person=layout.person,
        **sizes,
    )


@contextmanager
def _charged() -> Iterator[None]:
    """Say of rows that are refused that they were paid for: the refusal may tell something about them."""
    try:
        with titled():
            yield
    except InvalidProblemError as error:
        got = f"{error.got}. The budget stays charged"
        raise InvalidProblemError(error.field, error.expected, got) from None
