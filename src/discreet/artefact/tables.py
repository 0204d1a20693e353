"""Tables by region as files: the published marginals, and the measurements that they were made of.

One row for each marginal, region and entry; ``FILE.discreet.json`` beside it holds the guarantee, the certificate, the
provenance, the regions and the domain. A table that is read is compared with itself: regions, categories and marginals
must stand in every row as the frame says.
"""

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
from discreet.artefact.sidecar import FileContent, read_table, table_content, write_content
from discreet.core.certificate import Certificate
from discreet.core.errors import InvalidProblemError
from discreet.core.exact import to_fraction
from discreet.core.guarantee import guarantee_from_dict
from discreet.core.outcome import Provenance, Release
from discreet.hierarchy.contingency.measure import MeasuredTables
from discreet.hierarchy.contingency.problem import Domain, TableFrame
from discreet.hierarchy.contingency.result import LevelGap, RegionTables, rows_of, tidy

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping
    from fractions import Fraction

    import polars as pl
    from numpy.typing import NDArray

__all__ = [
    "TABLES",
    "TABLE_MEASUREMENTS",
    "load_table_measurements",
    "load_tables",
    "save_table_measurements",
    "save_tables",
    "table_measurements_content",
    "tables_content",
]

TABLES, TABLE_MEASUREMENTS = "region-tables", "table-measurements"


def save_tables(release: Release[RegionTables], path: str | os.PathLike[str]) -> None:
    """Write released tables as a tidy table, with ``FILE.discreet.json`` beside it.

    Parameters
    ----------
    release
        What :meth:`discreet.hierarchy.contingency.TablesPlan.release` returned. Measurements that it kept are not
        written: see :func:`save_table_measurements`.
    path
        A file that ends in ``.csv`` or ``.parquet``, replaced if it is there.

    Raises
    ------
    InvalidProblemError
        For a release whose certificate failed, labels of regions that are neither text nor integers, or a file that
        cannot be written.
    """
    write_content(tables_content(release, Path(path).suffix), path)


def tables_content(release: Release[RegionTables], suffix: str) -> FileContent:
    """Render the file of :func:`save_tables`, for :class:`discreet.artefact.ReleaseFiles`."""
    return release_content(release, _frame_to_dict(release.result.frame), suffix, TABLES)


def load_tables(path: str | os.PathLike[str]) -> Release[RegionTables]:
    """Read released tables.

    Parameters
    ----------
    path
        A file that :func:`save_tables` wrote, by this version or any earlier one.

    Raises
    ------
    InvalidProblemError
        For a file that cannot be read, was altered, or whose parts do not fit each other.

    Notes
    -----
    Marginals are kept as they stand in the file; :func:`discreet.hierarchy.contingency.verify` compares them with the
    cells.
    """
    with parts_fit(path):
        frame, values, meta = _read(path, TABLES, "count")
        provenance = Provenance.from_dict(meta["provenance"])
        check_public(frame, provenance)
        gaps = tuple(
            LevelGap(int(one["level"]), float(one["lower"]), float(one["upper"]))
            for one in provenance.parameters.get("gaps", ())
        )
        cells = values[frame.domain.full]
        return Release(
            RegionTables(frame, cells, gaps, published=values),
            guarantee_from_dict(meta["guarantee"]),
            Certificate.from_dict(meta["certificate"]),
            provenance,
        )


def save_table_measurements(measured: MeasuredTables, path: str | os.PathLike[str]) -> None:
    """Write noisy marginals as a tidy table, with ``FILE.discreet.json`` beside it.

    Parameters
    ----------
    measured
        What was measured. It is covered by its guarantee: publishing it costs nothing more.
    path
        A file that ends in ``.parquet`` or ``.csv``, replaced if it is there.

    Raises
    ------
    InvalidProblemError
        For labels of regions that are neither text nor integers, or a file that cannot be written.
    """
    write_content(table_measurements_content(measured, Path(path).suffix), path)


def table_measurements_content(
    measured: MeasuredTables, suffix: str, charge: str = ""
) -> FileContent:
    """Render the file of :func:`save_table_measurements`; `charge` is that of the provenance of its release."""
    frame = measured.frame
    table: pl.DataFrame = tidy(frame, dict(measured.values), "noisy", "polars")
    meta = {
        "guarantee": measured.guarantee.to_dict(),
        "frame": _frame_to_dict(frame),
        "measurement": {
            "noise": measured.noise,
            "scales": {
                frame.domain.name(q): state_scales(scales) for q, scales in measured.scales.items()
            },
            "seeded": measured.seeded,
        },
        **({"charge": charge} if charge else {}),
    }
    return table_content(table, suffix, TABLE_MEASUREMENTS, meta)


def load_table_measurements(path: str | os.PathLike[str]) -> MeasuredTables:
    """Read noisy marginals.

    Parameters
    ----------
    path
        A file that :func:`save_table_measurements` wrote, by this version or any earlier one.

    Raises
    ------
    InvalidProblemError
        For a file that cannot be read, was altered, or whose parts do not fit each other.
    """
    with parts_fit(path):
        frame, values, meta = _read(path, TABLE_MEASUREMENTS, "noisy")
        made = meta["measurement"]
        guarantee, seeded = claim_of(meta)
        scales = {
            _marginal(frame.domain, name): read_scales(given)
            for name, given in made["scales"].items()
        }
        return MeasuredTables(frame, values, scales, made["noise"], guarantee, seeded)


def _read(
    path: str | os.PathLike[str], kind: str, column: str
) -> tuple[TableFrame, dict[Any, NDArray[np.int64]], dict[str, Any]]:
    """Read a table and its record, and see that every row is of the region and entry that it should be of."""
    import polars as pl

    from discreet.artefact.sidecar import read_meta

    frame = _frame_from_dict(read_meta(path)["frame"])
    names = [one.name for one in frame.domain.attributes]
    columns = {
        "level": "Int64",
        **dict.fromkeys(["region", "marginal", *names], "String"),
        column: "Int64",
    }
    table, meta = read_table(path, kind, columns)
    empty = {
        q: np.zeros((frame.tree.n, frame.domain.size_of(q)), dtype=np.int64)
        for q in frame.marginals
    }
    looked, expected = rows_of(frame, empty)
    blank = sum(table[name].null_count() for name in ("level", "region", "marginal", column))
    if table.height != len(expected) or blank:
        raise InvalidProblemError("rows", f"{len(expected)}, all filled", table.height)
    (_, levels, _), *rest = looked
    fits = np.array_equal(table["level"].to_numpy(), levels) and all(
        # A CSV file has nothing where a marginal adds an attribute up.
        bool((table[name].fill_null("") == pl.Series(words, dtype=pl.String)[places]).all())
        for name, places, words in rest
    )
    if not fits:
        expected_rows = "regions, marginals and categories in the order of the frame"
        raise InvalidProblemError("rows", expected_rows, "others")
    flat = table[column].to_numpy()
    values, at = {}, 0
    for q, shaped in empty.items():
        values[q] = np.ascontiguousarray(flat[at : at + shaped.size]).reshape(shaped.shape)
        at += shaped.size
    return frame, values, meta


def _frame_to_dict(frame: TableFrame) -> dict[str, Any]:
    return {
        **state_tree(frame.tree),
        "domain": frame.domain.to_dict(),
        "shares": [
            [frame.domain.name(q), [str(part) for part in parts]]
            for q, parts in frame.shares.items()
        ],
        "max_rows": frame.max_rows,
        "total": frame.total,
        **({} if frame.kinds is None else {"kinds": list(frame.kinds)}),
        "digest": frame.digest,
    }


def _frame_from_dict(stated: Mapping[str, Any]) -> TableFrame:
    domain = Domain.from_dict(stated["domain"])
    shares: dict[Any, tuple[Fraction, ...]] = {}
    for name, parts in stated["shares"]:
        marginal = _marginal(domain, name)
        if marginal in shares:
            raise InvalidProblemError("shares", "each marginal once", f"{name} twice")
        shares[marginal] = tuple(to_fraction(part, "shares") for part in parts)
    frame = TableFrame(
        read_tree(stated), domain, shares, stated["max_rows"], stated["total"], stated.get("kinds")
    )
    check_digest(frame, stated)
    return frame


def _marginal(domain: Domain, name: str) -> Any:  # noqa: ANN401 - places of attributes
    """Read a marginal under the one name that it has in files: two names would let a file state two things of it."""
    marginal = domain.marginal(name)
    if domain.name(marginal) != name:
        raise InvalidProblemError("marginals", domain.name(marginal), repr(name))
    return marginal
