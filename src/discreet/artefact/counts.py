"""Files of counts by region: releases and kept measurements, of counts by size and of tables by category.

Each is a tidy table; ``FILE.discreet.json`` beside it holds the guarantee, the regions and, of a release, certificate
and provenance. What differs between the two statistics stands in :class:`Sizes` and :class:`Categories`. A table that
is read is compared with its record: every row has to be about the region and entry that its place stands for.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.artefact.layout import check_public, claims, expect, refuse_malformed, whole_numbers
from discreet.artefact.sidecar import read_meta, read_table, table_content, write_content
from discreet.core.certificate import Certificate
from discreet.core.errors import InvalidProblemError
from discreet.core.exact import to_fraction
from discreet.core.guarantee import PureDP, ZeroConcentratedDP, guarantee_from_dict
from discreet.core.outcome import Provenance, Release
from discreet.core.tree import Tree
from discreet.hierarchy.contingency.measure import MeasuredTables
from discreet.hierarchy.contingency.problem import Domain, TableFrame
from discreet.hierarchy.contingency.result import LevelGap, RegionTables, marginal_columns
from discreet.hierarchy.contingency.workload import JAMES_STEIN, SHRINKS
from discreet.hierarchy.measure import Measured
from discreet.hierarchy.problem import Frame
from discreet.hierarchy.result import RegionCounts, size_columns, tidy
from discreet.tables.refusals import refused
from discreet.tables.validate import refuse_unwritable
from discreet.tables.writing import bytes_of

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping
    from fractions import Fraction

    import polars as pl
    from numpy.typing import NDArray

    from discreet.artefact.sidecar import FileContent
    from discreet.hierarchy.result import Column

    Kind = type["Sizes" | "Categories"]


@final
class Sizes:
    """Counts of groups by size: a row for each region and size."""

    released, measured = "region-counts", "measurements"
    rows, entry, numbers = "regions and sizes", "size", "Int64 Float64"

    @staticmethod
    def state(frame: Frame) -> dict[str, Any]:
        """Return the frame as plain values: regions, sizes, units, public totals and the digest."""
        totals = frame.group_totals
        return {
            **_state_tree(frame.tree),
            "max_size": frame.max_size,
            "units": frame.units,
            "max_quantity": frame.max_quantity,
            "group_totals": None if totals is None else totals.tolist(),
            "digest": frame.digest,
        }

    @staticmethod
    def read(stated: Mapping[str, Any]) -> Frame:
        """Return the frame of plain values; raise InvalidProblemError where it has another digest than is stated."""
        totals = stated["group_totals"]
        frame = Frame(
            _read_tree(stated),
            stated["max_size"],
            stated["units"],
            stated["max_quantity"],
            None if totals is None else whole_numbers(totals, "group_totals"),
        )
        expect(frame.digest == stated["digest"], "frame", "the digest that is stated", "another")
        return frame

    @staticmethod
    def types(_frame: Frame) -> dict[str, str]:
        """Return the types of the columns other than regions, by name."""
        return {"size": "Int64"}

    @staticmethod
    def height(frame: Frame, measurement: Mapping[str, Any] | None) -> int:
        """Return the number of rows of the file."""
        return frame.tree.n * (frame.max_size + 1 - _least_size(frame, measurement))

    @staticmethod
    def columns(frame: Frame, measurement: Mapping[str, Any] | None) -> list[Column]:
        """Return the columns of the file that name region and size, a row for each of both."""
        sizes = np.arange(_least_size(frame, measurement), frame.max_size + 1)
        return size_columns(frame.tree, sizes)

    @staticmethod
    def result(frame: Frame, numbers: NDArray[Any], _parameters: Mapping[str, Any]) -> RegionCounts:
        """Return the counts of a frame from the published numbers, by region and size in this order."""
        return RegionCounts(frame, numbers.reshape(frame.tree.n, -1))

    @staticmethod
    def measurement(frame: Frame, numbers: NDArray[np.int64], made: Mapping[str, Any]) -> Measured:
        """Return measurements from a frame, noisy numbers ``(nodes * sizes,)`` and the plain values `made` beside them.

        `made` has the values that :meth:`stated` returns, ``"noise"``, ``"guarantee"`` (an object) and ``"seeded"``;
        a missing one raises KeyError.
        """
        return Measured(
            frame,
            made["kind"],
            numbers.reshape(frame.tree.n, -1),
            _read_scales(made["scales"]),
            made["noise"],
            made["guarantee"],
            tuple(to_fraction(share, "shares") for share in made["shares"]),
            made["leaves_inherit"],
            made["seeded"],
        )

    @staticmethod
    def stated(measured: Measured) -> tuple[NDArray[np.int64], dict[str, Any]]:
        """Return the noisy numbers of measurements, ``(nodes * sizes,)`` int64, and the plain values beside them.

        These are ``"kind"``, ``"scales"``, ``"shares"`` (exact, as text) and ``"leaves_inherit"``.
        """
        return measured.values.reshape(-1), {
            "kind": measured.kind,
            "scales": _state_scales(measured.scales),
            "shares": [str(share) for share in measured.shares],
            "leaves_inherit": measured.leaves_inherit,
        }


@final
class Categories:
    """Counts of persons by categories: a row for each marginal, region and entry."""

    released, measured = "region-tables", "table-measurements"
    rows, entry, numbers = "regions, marginals and categories", "marginal", "Int64"

    @staticmethod
    def state(frame: TableFrame) -> dict[str, Any]:
        """Return the frame as plain values: regions, domain, shares, rows of a person, total and the digest."""
        return {
            **_state_tree(frame.tree),
            "domain": frame.domain.to_dict(),
            "shares": [
                [frame.domain.name(q), [str(part) for part in parts]]
                for q, parts in frame.shares.items()
            ],
            "max_rows": frame.max_rows,
            "total": frame.total,
            **({} if frame.kinds is None else {"kinds": list(frame.kinds)}),
            **({"residuals": True} if frame.residuals else {}),
            "digest": frame.digest,
        }

    @staticmethod
    def read(stated: Mapping[str, Any]) -> TableFrame:
        """Return the frame of plain values; refuse a marginal that comes twice, or another digest than is stated."""
        domain = Domain.from_dict(stated["domain"])
        shares: dict[Any, tuple[Fraction, ...]] = {}
        for name, parts in stated["shares"]:
            marginal = _marginal(domain, name)
            expect(marginal not in shares, "shares", "each marginal once", f"{name} twice")
            shares[marginal] = tuple(to_fraction(part, "shares") for part in parts)
        frame = TableFrame(
            _read_tree(stated),
            domain,
            shares,
            stated["max_rows"],
            stated["total"],
            stated.get("kinds"),
            stated.get("residuals", False),
        )
        expect(frame.digest == stated["digest"], "frame", "the digest that is stated", "another")
        return frame

    @staticmethod
    def types(frame: TableFrame) -> dict[str, str]:
        """Return the types of the columns other than regions, by name."""
        return dict.fromkeys(["marginal", *(one.name for one in frame.domain.attributes)], "String")

    @staticmethod
    def height(frame: TableFrame, _measurement: Mapping[str, Any] | None) -> int:
        """Return the number of rows of the file."""
        return frame.tree.n * sum(map(frame.domain.size_of, frame.marginals))

    @staticmethod
    def columns(frame: TableFrame, _measurement: Mapping[str, Any] | None) -> list[Column]:
        """Return the columns of the file that name region, marginal and categories."""
        return marginal_columns(frame, frame.marginals)

    @staticmethod
    def result(
        frame: TableFrame, numbers: NDArray[np.int64], parameters: Mapping[str, Any]
    ) -> RegionTables:
        """Return the tables of a frame from the published numbers ``(m,)``, by marginal, region and entry in order.

        `parameters` are those of the provenance; its ``"gaps"`` become the gaps by level. Linear in the numbers. A
        method whose ``"shrink"`` is unknown, or not what the gaps are about, is refused; older files lack it.
        """
        gaps = tuple(
            LevelGap(
                int(one["level"]),
                float(one["lower"]),
                float(one["upper"]),
                float(one["moved"]) if "moved" in one else None,
            )
            for one in parameters.get("gaps", ())
        )
        shrink = parameters.get("method", {}).get("shrink")
        drawn = {None: {True, False}, "parent": {True}, "none": {False}, JAMES_STEIN: set[bool]()}
        fits = shrink in drawn and {one.moved is not None for one in gaps} <= drawn[shrink]
        expect(fits, "method", f"shrink {' or '.join(SHRINKS)}, as the gaps have it", repr(shrink))
        values = _by_marginal(frame, numbers)
        return RegionTables(frame, values[frame.domain.full], gaps, published=values, shrink=shrink)

    @staticmethod
    def measurement(
        frame: TableFrame, numbers: NDArray[np.int64], made: Mapping[str, Any]
    ) -> MeasuredTables:
        """Return measured tables from the noisy numbers ``(m,)``, marginal by marginal, and the plain values `made`.

        `frame` has the regions and marginals; `made` has ``"scales"`` by marginal, ``"noise"``, ``"guarantee"`` (an
        object) and ``"seeded"``.
        """
        scales = {
            _marginal(frame.domain, name): _read_scales(texts)
            for name, texts in made["scales"].items()
        }
        values = _by_marginal(frame, numbers)
        return MeasuredTables(
            frame, values, scales, made["noise"], made["guarantee"], made["seeded"]
        )

    @staticmethod
    def stated(measured: MeasuredTables) -> tuple[NDArray[np.int64], dict[str, Any]]:
        """Return the noisy numbers of all marginals, one after the other, int64 ``(m,)``, and scales by marginal."""
        domain = measured.frame.domain
        scales = {domain.name(q): _state_scales(scales) for q, scales in measured.scales.items()}
        values = [measured.values[q].reshape(-1) for q in measured.frame.marginals]
        return np.concatenate(values), {"scales": scales}


def save_counts(
    release: Release[RegionCounts] | Release[RegionTables], path: str | os.PathLike[str]
) -> None:
    """Write released counts as a tidy table, with ``FILE.discreet.json`` beside it.

    Linear in the rows: one for each region and size, or each marginal, region and entry.

    Parameters
    ----------
    release
        What :func:`discreet.hierarchy.release` or :meth:`discreet.hierarchy.contingency.TablesPlan.release` returned.
        Measurements that it kept are not written: see :func:`save_measurements`.
    path
        A file that ends in ``.csv``, ``.parquet`` or ``.xlsx``, replaced if it is there.

    Raises
    ------
    InvalidProblemError
        For a release whose certificate failed, labels of regions that are neither text nor integers, or a file that
        cannot be written.
    """
    write_content(counts_content(release, Path(path).suffix), path)


def counts_content(
    release: Release[RegionCounts] | Release[RegionTables], suffix: str
) -> FileContent:
    """Render the file of :func:`save_counts`, for :class:`discreet.artefact.ReleaseFiles`.

    `suffix` is ``.csv``, ``.parquet`` or ``.xlsx``. Linear in the rows. Raises InvalidProblemError for another
    suffix, a certificate that failed, or labels that the file cannot hold.
    """
    stated = claims(release, "release")
    table: pl.DataFrame = release.result.to_frame("polars")
    kind = _kind_of(release.result.frame)
    meta = {**stated, "frame": kind.state(release.result.frame)}
    return _content(table, suffix, kind.released, meta)


def _content(table: pl.DataFrame, suffix: str, kind: str, meta: Mapping[str, Any]) -> FileContent:
    """Render a table of counts; SPSS keeps numbers as floats, which hold no counts of any length.

    Suffixes other than .csv, .parquet and .xlsx are refused.
    """
    if suffix.lower() not in {".csv", ".parquet", ".xlsx"}:
        raise refused("output-name", "path", repr(suffix), suffixes=".csv, .parquet or .xlsx")
    return table_content(table, suffix, kind, meta)


def check_workbook(frame: Frame | TableFrame, argument: str) -> None:
    """Refuse regions and categories that a workbook cannot hold, or too many: before anything is charged for it.

    A workbook of the same rows with counts of 0 is written to memory, linear in the rows; whole numbers of any length
    are held. Raises InvalidProblemError with `argument` as the name of the field.
    """
    kind = _kind_of(frame)
    zeros = np.zeros(kind.height(frame, None), dtype=np.int64)
    table: pl.DataFrame = tidy(kind.columns(frame, None), {"count": zeros}, "polars")
    try:
        refuse_unwritable(table.lazy(), (), "counts.xlsx", argument)
        bytes_of(table, ".xlsx")
    except InvalidProblemError as error:
        raise error.renamed(argument) from None


def load_counts(path: str | os.PathLike[str]) -> Release[RegionCounts]:
    """Read released counts by size.

    Linear in the rows. The certificate is read, not checked anew.

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
    return _load_release(path, Sizes)


def load_tables(path: str | os.PathLike[str]) -> Release[RegionTables]:
    """Read released tables by category; path and errors are as for :func:`load_counts`.

    Linear in the rows: one for each marginal, region and entry.

    Notes
    -----
    Marginals are kept as they stand in the file; :func:`discreet.hierarchy.contingency.verify` compares them with the
    cells.
    """
    return _load_release(path, Categories)


def save_measurements(measured: Measured | MeasuredTables, path: str | os.PathLike[str]) -> None:
    """Write noisy counts as a tidy table, with ``FILE.discreet.json`` beside it.

    Linear in the rows: one for each region and size, or each marginal, region and entry.

    Parameters
    ----------
    measured
        What was measured. It is covered by its guarantee: publishing it costs nothing more.
    path
        A file that ends in ``.csv``, ``.parquet`` or ``.xlsx``, replaced if it is there.

    Raises
    ------
    InvalidProblemError
        For sorted sizes, which have no table of this form, labels that are neither text nor integers, or a file that
        cannot be written.
    """
    write_content(measurements_content(measured, Path(path).suffix), path)


def measurements_content(
    measured: Measured | MeasuredTables, suffix: str, charge: str = ""
) -> FileContent:
    """Render the file of :func:`save_measurements`; `charge` is that of the provenance of its release.

    Raises InvalidProblemError for sorted sizes of groups, or another suffix than .csv, .parquet and .xlsx.
    """
    if isinstance(measured, Measured) and measured.values.ndim != 2:
        raise InvalidProblemError("measured", "counts by size", "sorted sizes of groups")
    kind: Any = _kind_of(measured.frame)
    numbers, stated = kind.stated(measured)
    table: pl.DataFrame = tidy(kind.columns(measured.frame, stated), {"noisy": numbers}, "polars")
    meta = {
        "guarantee": measured.guarantee.to_dict(),
        "frame": kind.state(measured.frame),
        "measurement": {**stated, "noise": measured.noise, "seeded": measured.seeded},
        **({"charge": charge} if charge else {}),
    }
    return _content(table, suffix, kind.measured, meta)


def load_measurements(path: str | os.PathLike[str]) -> Measured:
    """Read noisy counts by size.

    Linear in the rows: one for each region and size.

    Parameters
    ----------
    path
        A file that :func:`save_measurements` wrote, by this version or any earlier one.

    Raises
    ------
    InvalidProblemError
        For a file that cannot be read, was altered, or whose parts do not fit each other.
    """
    measured: Measured = _load_measurement(path, Sizes)
    return measured


def load_table_measurements(path: str | os.PathLike[str]) -> MeasuredTables:
    """Read noisy marginals; path and errors are as for :func:`load_measurements`.

    Linear in the rows: one for each marginal, region and entry.
    """
    measured: MeasuredTables = _load_measurement(path, Categories)
    return measured


def load_by_region(path: str | os.PathLike[str]) -> Any:  # noqa: ANN401 - a release or kept measurements
    """Read a file of counts by region: a :class:`Release`, or kept measurements, by the kind that its record states.

    Errors and cost are those of :func:`load_counts`.
    """
    name = read_meta(path)["kind"]
    kind: Kind = Categories if name in (Categories.released, Categories.measured) else Sizes
    return (_load_release if name == kind.released else _load_measurement)(path, kind)


def _kind_of(frame: Frame | TableFrame) -> Any:  # noqa: ANN401 - Sizes or Categories, whose functions take different frames
    return Categories if isinstance(frame, TableFrame) else Sizes


def _least_size(frame: Frame, measurement: Mapping[str, Any] | None) -> int:
    """Return the size of the first column: survival counts have none of size 0."""
    survival = measurement is not None and measurement["kind"] == "survival"
    return 1 if survival else frame.first_size


def _by_marginal(frame: TableFrame, numbers: NDArray[np.int64]) -> dict[Any, NDArray[np.int64]]:
    """Split `numbers` ``(m,)`` into the tables of the marginals, one behind the other: ``(n_nodes, entries)`` each."""
    widths = [frame.domain.size_of(q) for q in frame.marginals]
    parts = np.split(numbers, np.cumsum([frame.tree.n * width for width in widths])[:-1])
    return {
        q: np.ascontiguousarray(part).reshape(frame.tree.n, width)
        for q, part, width in zip(frame.marginals, parts, widths, strict=True)
    }


def _marginal(domain: Domain, name: str) -> Any:  # noqa: ANN401 - places of attributes
    """Read a marginal under the one name that it has in files: two names would let a file state two things of it.

    Another name is refused.
    """
    marginal = domain.marginal(name)
    expect(domain.name(marginal) == name, "marginals", domain.name(marginal), repr(name))
    return marginal


def _load_release(path: str | os.PathLike[str], kind: Kind) -> Release[Any]:
    """Read a release of a statistic; errors are those of :func:`load_counts`. Linear in the rows.

    The frame must be the one that the provenance states as assumed public. The certificate is read, not checked anew.
    """
    with refuse_malformed(path):
        frame, numbers, meta = _read(path, kind.released, kind, "count", kind.numbers)
        provenance = Provenance.from_dict(meta["provenance"])
        check_public(provenance, frame.assumed_public())
        return Release(
            kind.result(frame, numbers, provenance.parameters),
            guarantee_from_dict(meta["guarantee"]),
            Certificate.from_dict(meta["certificate"]),
            provenance,
        )


def _load_measurement(path: str | os.PathLike[str], kind: Kind) -> Any:  # noqa: ANN401 - kept measurements of either statistic
    """Read kept measurements of a statistic, `Measured` or `MeasuredTables`; errors are those of :func:`load_counts`.

    Other guarantees than pure and zero-concentrated ones are refused. Linear in the rows.
    """
    with refuse_malformed(path):
        frame, numbers, meta = _read(path, kind.measured, kind, "noisy", "Int64")
        guarantee = guarantee_from_dict(meta["guarantee"])
        if not isinstance(guarantee, PureDP | ZeroConcentratedDP):
            raise InvalidProblemError("guarantee", "pure or zero-concentrated", "another")
        made = meta["measurement"]
        if not isinstance(made["seeded"], bool):
            raise InvalidProblemError("seeded", "true or false", type(made["seeded"]).__name__)
        return kind.measurement(frame, numbers, {**made, "guarantee": guarantee})


def _read(
    path: str | os.PathLike[str],
    name: str,
    kind: Any,  # noqa: ANN401 - Sizes or Categories, whose functions take different frames
    column: str,
    numbers: str,
) -> tuple[Any, NDArray[Any], dict[str, Any]]:
    """Read a table of the kind `name` and its record: the frame, the numbers ``(rows,)`` and the metadata.

    `kind` is Sizes or Categories, `column` holds the numbers, and `numbers` names the types that it may have. Linear
    in the rows. Raises InvalidProblemError unless every row has the region and entry that its place stands for.
    """
    import polars as pl

    meta = read_meta(path)
    expect(meta["kind"] == name, "kind", repr(name), repr(meta["kind"]))
    frame = kind.read(meta["frame"])
    of_regions = {"level": "Int64", "region": "String"}
    table = read_table(path, meta, {**of_regions, **kind.types(frame), column: numbers})
    # The cell of an attribute is empty in CSV if the marginal sums over that attribute.
    filled = ("level", "region", kind.entry, column)
    blank = sum(table[one].null_count() for one in filled)
    measurement = meta.get("measurement")
    expected = kind.height(frame, measurement)
    if table.height != expected or blank:
        raise InvalidProblemError("rows", f"{expected}, all filled", table.height)
    for one in kind.columns(frame, measurement):
        if one.words is None:
            fits = np.array_equal(table[one.name].to_numpy(), one.values)
        else:
            words = pl.Series(one.words, dtype=pl.String)[one.values]
            fits = bool((table[one.name].fill_null("") == words).all())
        expect(fits, "rows", f"{kind.rows} in the order of the frame")
    return frame, table[column].to_numpy(), meta


def _state_tree(tree: Tree) -> dict[str, Any]:
    """Write a tree in plain values; refuse labels that are neither text nor integers."""
    labels = list(tree.labels)
    expect(all(type(label) in (str, int) for label in labels), "labels", "text or integers")
    return {"labels": labels, "parents": tree.parents.tolist()}


def _read_tree(stated: Mapping[str, Any]) -> Tree:
    """Read what :func:`_state_tree` wrote."""
    return Tree(tuple(stated["labels"]), whole_numbers(stated["parents"], "parents"))


def _state_scales(scales: Iterable[Fraction | None]) -> list[str | None]:
    """Write scales of noise as text."""
    return [None if one is None else str(one) for one in scales]


def _read_scales(given: Iterable[Any]) -> tuple[Fraction | None, ...]:
    """Read what :func:`_state_scales` wrote."""
    return tuple(None if one is None else to_fraction(one, "scales") for one in given)
