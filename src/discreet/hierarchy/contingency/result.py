"""What a release of tables gives: counts for every region, marginal and entry, and the same as a tidy table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.printed import at_least, at_most, count
from discreet.core.progress import gap_between
from discreet.core.statements import state
from discreet.core.views import bars
from discreet.hierarchy.contingency.expected import entry_errors
from discreet.hierarchy.contingency.measure import noise_in_words
from discreet.hierarchy.contingency.problem import BLANK
from discreet.hierarchy.contingency.workload import JAMES_STEIN, SHRINKS
from discreet.hierarchy.reliability import CLASSES, classify_counts
from discreet.hierarchy.result import Column, region_columns, tidy

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from discreet.core.guarantee import PureDP, ZeroConcentratedDP
    from discreet.core.outcome import Release
    from discreet.hierarchy.contingency.measure import MeasuredTables
    from discreet.hierarchy.contingency.problem import Marginal, TableFrame
    from discreet.hierarchy.result import Backend

MAX_ROWS = 100_000_000
"""Rows that are made of published counts, at most: some 40 bytes of memory each."""

NO_PEOPLE = (
    "no row is a person: each published count of a cell is written as that many rows. They have the noise of the "
    "tables and hold nothing else, so that standard errors computed as of a sample are too small, and a row that "
    "matches a person is not the record of that person"
)
"""Warning about the rows of :meth:`RegionTables.to_rows`."""

SMALL_CELLS = (
    "are biased, as in any table that is never below zero: ask `discreet query` for intervals"
)
"""What a text about a release says of small cells."""

SHRUNK = (
    "before it is whole, each table of a level has an expected total squared error of at most that of its unbiased "
    "estimates, of which all stated losses and standard errors are: proved for Gaussian noise, not for discrete noise "
    "or single entries"
)
"""What is said of the errors of tables that are made of shrunk estimates."""

NO_INTERVALS = (
    "published counts have no intervals, standard errors or classes of reliability, since shrunk estimates are biased: "
    "ask `discreet query` for intervals"
)
"""What is said of the intervals of tables that are made of shrunk estimates."""


@final
@dataclass(frozen=True)
class LevelGap:
    """How near the whole tables of one level are to the best ones, given the tables of the level above.

    Parameters
    ----------
    level
        The level; the root's is 1.
    lower, upper
        Half the squared distances from the unbiased estimates, weighted by the inverse of their covariance, and from
        the expected tables, by inverse variances: a lower bound for all tables that are not negative and add up to the
        tables above, and that of the published tables. Both are rounded outwards.
    moved
        The first part of `upper`; ``None`` where no tables are expected, and all of it is that part.

    Examples
    --------
    >>> LevelGap(2, 97.0, 100.0).gap
    0.03
    """

    level: int
    lower: float
    upper: float
    moved: float | None = None

    @property
    def gap(self) -> float:
        """``(upper - lower) / upper``, 0 when both are 0."""
        return gap_between(self.lower, self.upper) or 0.0


@final
@dataclass(frozen=True, eq=False, repr=False)
class RegionTables:
    """The cells of every region as published: whole numbers, none negative, that add up.

    Parameters
    ----------
    frame
        The public facts.
    cells
        ``(n_nodes, n_cells)`` integers.
    gaps
        How near each level is to the best tables, where that was proved; it follows from the noisy values alone.
    measurements
        The noisy marginals that they were made of, where they were kept; publishing them costs nothing more.
    published
        The marginals as they stand in a file, to be checked against the cells; ``None`` where they follow from these.
    shrink
        The choice of :data:`~discreet.hierarchy.contingency.workload.SHRINKS` that they were made with, where known.

    Raises
    ------
    InvalidProblemError
        For cells of another shape or type.
    """

    frame: TableFrame
    cells: NDArray[np.int64]
    gaps: tuple[LevelGap, ...] = ()
    measurements: MeasuredTables | None = None
    published: Mapping[Marginal, NDArray[np.int64]] | None = None
    shrink: str | None = None

    def __post_init__(self) -> None:
        cells = np.asarray(self.cells)
        expected = (self.frame.tree.n, self.frame.domain.size)
        if cells.dtype != np.int64 or cells.shape != expected:
            got = f"{cells.dtype} of shape {cells.shape}"
            raise InvalidProblemError("cells", f"64-bit integers of shape {expected}", got)
        cells = cells.view()
        cells.setflags(write=False)
        object.__setattr__(self, "cells", cells)

    @property
    def no_intervals(self) -> str:
        """Reason why its counts have no intervals or classes of reliability; ``""`` if they have."""
        return NO_INTERVALS if self.shrink == JAMES_STEIN else ""

    def __repr__(self) -> str:
        frame = self.frame
        return f"RegionTables(regions={frame.tree.n}, cells={frame.domain.size})"

    def _repr_html_(self) -> str:
        """Return the root's published cells as bars in HTML."""
        domain = self.frame.domain
        names = [", ".join(one) for one in domain.labels(domain.full)]
        cells = [*zip(names, self.cells[0].tolist(), strict=True)]
        return bars(
            cells, "Persons of each cell at the root, as published; to_frame() has all regions"
        )

    def __str__(self) -> str:
        return "\n".join([repr(self), *self.distances_in_words()])

    def distances_in_words(self) -> list[str]:
        """State for each level what rounding and consistency added to the error of the noise.

        Returns
        -------
        list of str
            The distance of the published tables from the unbiased estimates in standard errors of the noise; and
            where no tables are expected, that of the nearest tables of a class that the sentence names.
        """
        frame, sentences = self.frame, []
        for one in self.gaps:
            first, end = frame.tree.level_start[one.level - 1 : one.level + 1]
            fixed = one.level == 1 and frame.total is not None
            numbers = int(end - first) * frame.domain.size - fixed
            above = f" that add up to the published tables of level {one.level - 1}"
            if one.level == 1:
                above = " that add up to the public number of records" if fixed else ""
            halves = (one.upper if one.moved is None else one.moved, one.lower)
            moved, least = (float(np.sqrt(2 * half / max(numbers, 1))) for half in halves)
            bound = at_least(math.nextafter(least, 0), 3)
            why = f"; for nonnegative tables{above} the difference is at least {bound}"
            if one.moved is not None:
                why = ", and drawn to the shape of the region above"
            far = at_most(math.nextafter(moved, math.inf), 3)
            sentences.append(state("moved tables", level=one.level, moved=far, why=why))
        return sentences

    def described(self, outcome: Release[Any]) -> list[tuple[str, object]]:
        """Return the facts that a text about a release states: tables, noise, distances, small cells."""
        frame = self.frame
        guarantee = cast("PureDP | ZeroConcentratedDP", outcome.guarantee)
        made_by = outcome.provenance.parameters.get("method", {})
        regions = f"{frame.tree.n} regions on {frame.tree.depth + 1} levels"
        sentences = (*shrunk_in_words(made_by), *self.distances_in_words())
        return [
            ("tables", f"{regions}, {frame.domain.size} cells"),
            *(("noise", line) for line in noise_in_words(frame, guarantee)),
            *(("whole tables", words) for words in sentences),
            ("small cells", SMALL_CELLS),
        ]

    def marginal(self, text: str) -> NDArray[np.int64]:
        """Return a marginal of every region, such as ``"sex:age_band"``: sums of cells, ``(n_nodes, entries)``.

        InvalidProblemError for unknown attributes. Linear in the cells; for all attributes a read-only view of the
        cells.
        """
        domain = self.frame.domain
        return np.asarray(domain.project(self.cells, domain.marginal(text)), dtype=np.int64)

    def to_frame(self, backend: Backend = "polars") -> Any:  # noqa: ANN401 - a table of that library
        """Return the tables as one table: one row for each marginal, region and entry.

        `backend` is ``"polars"``, ``"pandas"`` or ``"pyarrow"``, each if it is installed, or ``"dict"``. Linear in
        the rows.

        Returns
        -------
        DataFrame, Table or dict
            Columns ``level`` (1 for the root), ``region``, ``marginal``, one for each attribute (empty where the
            marginal adds it up), and ``count``; the marginals that were measured, in their order, and the cells.

        Raises
        ------
        InvalidProblemError
            For a backend that :meth:`RegionCounts.to_frame` does not know.
        """
        domain, marginals = self.frame.domain, self.frame.marginals
        counts = [domain.project(self.cells, q).reshape(-1) for q in marginals]
        return tidy(
            marginal_columns(self.frame, marginals), {"count": np.concatenate(counts)}, backend
        )

    def to_reliability(
        self, guarantee: PureDP | ZeroConcentratedDP, backend: Backend = "polars"
    ) -> Any:  # noqa: ANN401 - a table of that library
        """Return the table of :meth:`to_frame` with the columns ``standard_error`` and ``reliability`` of each count.

        The standard error is that of the unbiased estimate of the entry: a public fact. The class follows from its
        ratio to the published count, which is biased where counts are small.

        A structural zero has the error 0. Raises InvalidProblemError for another backend, and for tables that
        :func:`refuse_reliability` refuses. Linear in the rows.

        Parameters
        ----------
        guarantee
            That of the release.
        backend
            As for :meth:`to_frame`.
        """
        counts, errors, classes = (
            np.concatenate([one.reshape(-1) for one in parts])
            for parts in zip(*self._classified(guarantee), strict=True)
        )
        columns = [
            *marginal_columns(self.frame, self.frame.marginals),
            Column("count", counts),
            Column("standard_error", errors),
            Column("reliability", classes, CLASSES),
        ]
        return tidy(columns, {}, backend)

    def count_by_reliability(
        self, guarantee: PureDP | ZeroConcentratedDP
    ) -> dict[tuple[int, str], list[int]]:
        """Return the number of counts in each class of reliability, by level (1 for the root) and name of the marginal.

        Each is a list of three, the best class first; `guarantee` is that of the release. Linear in the counts. Raises
        InvalidProblemError as :func:`refuse_reliability`.
        """
        tree, names, made = self.frame.tree, map(self.frame.domain.name, self.frame.marginals), {}
        for name, (_, _, classes) in zip(names, self._classified(guarantee), strict=True):
            for level in range(tree.depth + 1):
                of_level = classes[tree.level_start[level] : tree.level_start[level + 1]]
                made[level + 1, name] = np.bincount(of_level.reshape(-1), minlength=3).tolist()
        return made

    def _classified(
        self, guarantee: PureDP | ZeroConcentratedDP
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]]:
        """Yield for each marginal counts, standard errors and classes: ``(n_nodes, entries)`` each.

        The cost grows with the counts, and with kinds of regions times interactions; `guarantee` is that of the
        release.
        """
        refuse_reliability(self.shrink)
        domain = self.frame.domain
        possible = domain.possible[None].astype(np.int64)
        by_marginal = entry_errors(self.frame, guarantee).T[..., None]
        for q, own in zip(self.frame.marginals, by_marginal, strict=True):
            # Structural zeros have no error.
            errors = own * (domain.project(possible, q) > 0)
            counts = domain.project(self.cells, q)
            yield counts, errors, classify_counts(counts, errors)

    def to_rows(self, columns: Sequence[str], backend: Backend = "polars") -> Any:  # noqa: ANN401 - a table of that library
        """Return rows whose tables are exactly the published ones: each count of a cell as that many rows.

        The rows follow from the published cells alone, in the order of regions and cells; see :data:`NO_PEOPLE`.

        Columns of regions beyond the depth of the tree are left out. Linear in the number of rows.

        Parameters
        ----------
        columns
            Names of the columns of the region path; a region that ends above the last one has empty cells.
        backend
            As for :meth:`to_frame`.

        Raises
        ------
        InvalidProblemError
            For too few names, names that come twice, or more rows than :data:`MAX_ROWS`.

        Examples
        --------
        >>> from fractions import Fraction
        >>> from discreet import Tree
        >>> from discreet.hierarchy.contingency import Domain, TableFrame
        >>> frame = TableFrame(
        ...     Tree.from_paths([("GA",), ("NY",)]), Domain.read({"sex": ["F", "M"]}), {(0,): (Fraction(1, 2),) * 2}
        ... )
        >>> RegionTables(frame, np.array([[2, 1], [1, 1], [1, 0]])).to_rows(["state"], "dict")
        {'state': ['GA', 'GA', 'NY'], 'sex': ['F', 'M', 'F']}
        """
        tree, domain = self.frame.tree, self.frame.domain
        attributes = [one.name for one in domain.attributes]
        if len(columns) < tree.depth or len({*columns, *attributes}) < len([*columns, *attributes]):
            expected = f"{tree.depth} names, other ones than {', '.join(attributes)}"
            raise InvalidProblemError("columns", expected, repr(list(columns)))
        counts = self.cells[tree.leaves]
        refuse_many_rows(int(counts.sum(dtype=np.float64)), "rows")
        which = np.repeat(np.arange(counts.size), counts.reshape(-1))
        leaf, cell = np.divmod(which, domain.size)
        paths = [tuple(map(str, tree.path(int(node)))) for node in tree.leaves]
        made = []
        for depth, name in enumerate(columns[: tree.depth]):
            words = [path[depth] if depth < len(path) else "" for path in paths]
            made.append(Column(name, leaf, words))
        places = np.unravel_index(cell, domain.shape)
        for attribute, at in zip(domain.attributes, places, strict=True):
            words = ["" if one == BLANK else one for one in attribute.categories]
            made.append(Column(attribute.name, at, words))
        return tidy(made, {}, backend)


def shrunk_in_words(method: Mapping[str, Any]) -> tuple[str, ...]:
    """State to what whole tables were drawn, from the parameters of their method; empty where they lack it.

    Examples
    --------
    >>> shrunk_in_words({"rounds": 60, "shrink": "none"}), shrunk_in_words({"rounds": 60})
    (("each region's table is not drawn to any other region (shrink none)",), ())
    """
    name = method.get("shrink")
    if name is None:
        return ()
    first = f"each region's table is {SHRINKS[name]} (shrink {name})"
    return (first, SHRUNK, NO_INTERVALS) if name == JAMES_STEIN else (first,)


def refuse_reliability(shrink: str | None) -> None:
    """Raise InvalidProblemError if tables with this choice of `shrink` have no classes of reliability."""
    if shrink == JAMES_STEIN:
        expected = "none with shrunk estimates, which are biased; shrink parent or none has it"
        raise InvalidProblemError("reliability", expected, f"shrink {shrink}")


def refuse_many_rows(rows: int, argument: str) -> None:
    """Raise InvalidProblemError about `argument` if `rows` is above :data:`MAX_ROWS`."""
    if rows > MAX_ROWS:
        raise InvalidProblemError(argument, f"at most {count(MAX_ROWS)} rows", count(rows))


def marginal_columns(frame: TableFrame, marginals: Sequence[Marginal]) -> list[Column]:
    """Return the columns of a table with a row for each marginal, region and entry, as codes and words.

    Linear in the rows. The word of an attribute is empty where the marginal adds it up.

    They are ``level``, ``region``, ``marginal``, and one for each attribute.
    """
    domain, tree = frame.domain, frame.tree
    widths = [domain.size_of(q) for q in marginals]
    nodes = [np.repeat(np.arange(tree.n), width) for width in widths]
    entries = [np.tile(np.arange(width), tree.n) for width in widths]
    which = np.repeat(np.arange(len(widths)), [tree.n * width for width in widths])
    columns = [
        *region_columns(tree, np.concatenate(nodes)),
        Column("marginal", which, [domain.name(q) for q in marginals]),
    ]
    for at, attribute in enumerate(domain.attributes):
        places = [
            np.unravel_index(own, domain.shape_of(q))[q.index(at)]
            if at in q
            else np.full(len(own), attribute.size)
            for q, own in zip(marginals, entries, strict=True)
        ]
        words = [*attribute.categories, ""]
        columns.append(Column(attribute.name, np.concatenate(places), words))
    return columns
