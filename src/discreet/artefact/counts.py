"""Hierarchical counts as files: the published table, and the measurements that it was made of."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.artefact.by_region import (
    check_digest,
    check_public,
    claim_of,
    parts_fit,
    read_scales,
    read_tree,
    release_content,
    state_scales,
    state_tree,
)
from discreet.artefact.layout import whole_numbers
from discreet.artefact.sidecar import FileContent, read_table, table_content, write_content
from discreet.core.certificate import Certificate
from discreet.core.errors import InvalidProblemError
from discreet.core.exact import to_fraction
from discreet.core.guarantee import guarantee_from_dict
from discreet.core.outcome import Provenance, Release
from discreet.hierarchy.measure import Measured
from discreet.hierarchy.problem import Frame
from discreet.hierarchy.result import RegionCounts, region_names

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    import polars as pl
    from numpy.typing import NDArray

__all__ = [
    "counts_content",
    "load_counts",
    "load_measurements",
    "measurements_content",
    "save_counts",
    "save_measurements",
]

COUNTS, MEASUREMENTS = "region-counts", "measurements"


def save_counts(release: Release[RegionCounts], path: str | os.PathLike[str]) -> None:
    """Write released counts as a tidy table, with ``FILE.discreet.json`` beside it.

    Parameters
    ----------
    release
        What :func:`discreet.hierarchy.release` returned. Measurements that it kept are not written: see
        :func:`save_measurements`.
    path
        A file that ends in ``.csv`` or ``.parquet``, replaced if it is there.

    Raises
    ------
    InvalidProblemError
        For a release whose certificate failed, labels of regions that are neither text nor integers, or a file that
        cannot be written.
    """
    write_content(counts_content(release, Path(path).suffix), path)


def counts_content(release: Release[RegionCounts], suffix: str) -> FileContent:
    """Render the file of :func:`save_counts`, for :class:`discreet.artefact.ReleaseFiles`."""
    return release_content(release, _frame_to_dict(release.result.frame), suffix, COUNTS)


def load_counts(path: str | os.PathLike[str]) -> Release[RegionCounts]:
    """Read released counts.

    Parameters
    ----------
    path
        A file that :func:`save_counts` wrote, by this version or any earlier one.

    Raises
    ------
    InvalidProblemError
        For a file that cannot be read, was altered, or whose parts do not fit each other.

    Notes
    -----
    That a file is whole says nothing about who made it. What it claims, :func:`discreet.hierarchy.verify` checks anew.
    """
    columns = {"level": "Int64", "region": "String", "size": "Int64", "count": "Int64 Float64"}
    with parts_fit(path):
        table, meta = read_table(path, COUNTS, columns)
        frame = _frame_from_dict(meta["frame"])
        counts = _values(table, frame, frame.sizes, "count")
        provenance = Provenance.from_dict(meta["provenance"])
        check_public(frame, provenance)
        return Release(
            RegionCounts(frame, counts),
            guarantee_from_dict(meta["guarantee"]),
            Certificate.from_dict(meta["certificate"]),
            provenance,
        )


def save_measurements(measured: Measured, path: str | os.PathLike[str]) -> None:
    """Write noisy counts as a tidy table, with ``FILE.discreet.json`` beside it.

    Parameters
    ----------
    measured
        What was measured. It is covered by its guarantee: publishing it costs nothing more.
    path
        A file that ends in ``.parquet`` or ``.csv``, replaced if it is there.

    Raises
    ------
    InvalidProblemError
        For sorted sizes, which have no table of this form, labels that are neither text nor integers, or a file that
        cannot be written.
    """
    write_content(measurements_content(measured, Path(path).suffix), path)


def measurements_content(measured: Measured, suffix: str, charge: str = "") -> FileContent:
    """Render the file of :func:`save_measurements`; `charge` is that of the provenance of its release."""
    import polars as pl

    frame = measured.frame
    if measured.values.ndim != 2:
        raise InvalidProblemError("measured", "counts by size", "sorted sizes of groups")
    sizes = _sizes(measured.kind, frame)
    counted = RegionCounts(_of_width(frame, sizes), measured.values)
    table = counted.to_frame("polars").select("level", "region", "size", noisy=pl.col("count"))
    meta = {
        "guarantee": measured.guarantee.to_dict(),
        "frame": _frame_to_dict(frame),
        "measurement": {
            "kind": measured.kind,
            "noise": measured.noise,
            "scales": state_scales(measured.scales),
            "shares": [str(share) for share in measured.shares],
            "leaves_inherit": measured.leaves_inherit,
            "seeded": measured.seeded,
        },
        **({"charge": charge} if charge else {}),
    }
    return table_content(table, suffix, MEASUREMENTS, meta)


def load_measurements(path: str | os.PathLike[str]) -> Measured:
    """Read noisy counts.

    Parameters
    ----------
    path
        A file that :func:`save_measurements` wrote, by this version or any earlier one.

    Raises
    ------
    InvalidProblemError
        For a file that cannot be read, was altered, or whose parts do not fit each other.
    """
    columns = {"level": "Int64", "region": "String", "size": "Int64", "noisy": "Int64"}
    with parts_fit(path):
        table, meta = read_table(path, MEASUREMENTS, columns)
        frame, made = _frame_from_dict(meta["frame"]), meta["measurement"]
        guarantee, seeded = claim_of(meta)
        return Measured(
            frame,
            made["kind"],
            _values(table, frame, _sizes(made["kind"], frame), "noisy"),
            read_scales(made["scales"]),
            made["noise"],
            guarantee,
            tuple(to_fraction(share, "shares") for share in made["shares"]),
            made["leaves_inherit"],
            seeded,
        )


def _sizes(kind: str, frame: Frame) -> NDArray[np.int64]:
    """Give the size that each column of a measurement is about."""
    return np.arange(1, frame.max_size + 1) if kind == "survival" else frame.sizes


def _of_width(frame: Frame, sizes: NDArray[np.int64]) -> Frame:
    """Give a frame whose sizes are those of the columns: survival counts have none of size 0."""
    return frame if len(sizes) == frame.n_sizes else Frame(frame.tree, frame.max_size, "private")


def _values(
    table: pl.DataFrame, frame: Frame, sizes: NDArray[np.int64], column: str
) -> NDArray[Any]:
    """Read a column as nodes x sizes, and see that every row is of the node and size that it should be of."""
    import polars as pl

    tree, width = frame.tree, len(sizes)
    if table.height != tree.n * width or table.null_count().sum_horizontal().item():
        raise InvalidProblemError("rows", f"{tree.n * width}, all filled", table.height)
    names = pl.Series(region_names(tree), dtype=pl.String)
    node = np.repeat(np.arange(tree.n), width)
    fits = (
        np.array_equal(table["level"].to_numpy(), tree.levels[node] + 1)
        and np.array_equal(table["size"].to_numpy(), np.tile(sizes, tree.n))
        and bool((table["region"] == names.gather(node)).all())
    )
    if not fits:
        raise InvalidProblemError("rows", "regions and sizes in the order of the frame", "others")
    values: NDArray[Any] = table[column].to_numpy().reshape(tree.n, width)
    return values


def _frame_to_dict(frame: Frame) -> dict[str, Any]:
    totals = frame.group_totals
    return {
        **state_tree(frame.tree),
        "max_size": frame.max_size,
        "units": frame.units,
        "max_quantity": frame.max_quantity,
        "group_totals": None if totals is None else totals.tolist(),
        "digest": frame.digest,
    }


def _frame_from_dict(stated: Mapping[str, Any]) -> Frame:
    totals = stated["group_totals"]
    frame = Frame(
        read_tree(stated),
        stated["max_size"],
        stated["units"],
        stated["max_quantity"],
        None if totals is None else whole_numbers(totals, "group_totals"),
    )
    check_digest(frame, stated)
    return frame
