"""What is public of a table of counts: read from a second file, or declared to be what stands in the table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.core.errors import InvalidProblemError
from discreet.core.outcome import PublicInput
from discreet.core.tree import Tree
from discreet.hierarchy._rows import collect, open_table, text_of
from discreet.hierarchy._tables import Public, read_public
from discreet.studio.counts_asked import titled

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.hierarchy.problem import Frame
    from discreet.studio.counts_asked import Layout

__all__ = ["FILES", "PRIVATE", "check_columns", "declared", "frame_of", "public_of"]

PRIVATE = "private.parquet"
"""The private table in the page's folder."""

FILES = {"list": "regions.parquet", "units": "units.parquet"}
"""Public tables in the page's folder, by the choices of :data:`discreet.studio.counts_asked.PUBLIC`."""

_WANTED = {"list": "The list of regions", "units": "The register of units"}


def public_of(folder: Path, layout: Layout) -> Public:
    """Read the regions, and the units where they are public. No cell is read that is not public, or declared to be.

    Raises
    ------
    InvalidProblemError
        For a file that was not loaded, or whose columns or rows make no sense.
    """
    with titled():
        given: dict[str, Any] = {"unit": layout.unit, "root": layout.root}
        if layout.public == "table":
            return read_public(layout.regions, region_list=_regions_in(folder, layout), **given)
        path = folder / FILES[layout.public]
        if not path.is_file():
            raise InvalidProblemError(_WANTED[layout.public], "a file that is loaded", "none")
        _check_names(path, layout)
        argument = "region_list" if layout.public == "list" else "public_units"
        return read_public(layout.regions, **{argument: str(path)}, **given)


def frame_of(public: Public, layout: Layout) -> Frame:
    """Give the public facts of a release."""
    with titled():
        return public.frame(layout.max_size, layout.max_quantity)


def check_columns(folder: Path, layout: Layout) -> None:
    """Refuse columns that the table lacks; names of columns are no records."""
    named = (layout.unit, layout.size, layout.quantity, layout.person)
    wanted = [*layout.regions, *(name for name in named if name is not None)]
    with titled():
        open_table(str(folder / PRIVATE), "the table", wanted)


def declared(frame: Frame, layout: Layout) -> tuple[PublicInput, ...]:
    """Say what the publisher declared to be public without a public source, for the record of the release."""
    if layout.public != "table":
        return ()
    regions = next(public for public in frame.assumed_public() if public.name == "regions")
    description = (
        "declared by the publisher, not read from a public list: that the regions in the private table, and no others, "
        "are public knowledge; the guarantee says nothing of what their list gives away"
    )
    return (PublicInput("declaration about regions", regions.digest, description),)


def _check_names(path: Path, layout: Layout) -> None:
    """Refuse a public file without the columns that are needed, and name those that it has."""
    import polars as pl

    known = list(pl.read_parquet_schema(path))
    unit = layout.unit if layout.public == "units" else None
    wanted = [*layout.regions, *([] if unit is None else [unit])]
    if not set(wanted) <= set(known):
        expected = f"the columns {', '.join(wanted)}, as in the table"
        raise InvalidProblemError(_WANTED[layout.public], expected, ", ".join(known))


def _regions_in(folder: Path, layout: Layout) -> Tree:
    """Make a tree of the regions that the table names whole; rows that do not are judged with the others, later."""
    columns = layout.regions
    table = open_table(str(folder / PRIVATE), "the table", columns)
    named = table.select(*(text_of(table, name, name).alias(name) for name in columns))
    # In order of their names: the order of the rows is nobody's business.
    listed = collect(named.unique(), "the table").sort(*columns)
    paths = []
    for row in listed.rows():
        depth = next((at for at, label in enumerate(row) if not label), len(row))
        if depth and not any(row[depth:]):
            paths.append(row[:depth])
    if not paths:
        raise InvalidProblemError("Regions", "columns that name a region", "empty ones")
    try:
        return Tree.from_paths(paths, root=layout.root)
    except InvalidProblemError:
        # What it says would quote cells.
        expected = "regions that each end at one column; give a list of them in a second file"
        raise InvalidProblemError("Regions", expected, "one that ends in two") from None
