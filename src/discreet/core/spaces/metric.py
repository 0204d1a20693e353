"""Finite metric spaces: secrets, and how far apart they are in integers that never exceed the truth.

A distance is stored as an integer number of ``2^-s`` units, rounded down and closed under the triangle inequality. A
guarantee ``e^(epsilon d)`` that is proved for the stored distances therefore holds for the true ones, since a smaller
distance asks for more. What the true distance is, each constructor says.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core.calls import explained
from discreet.core.errors import InvalidProblemError, unknown_name
from discreet.core.exact import Exact, to_fraction
from discreet.core.guarantee import read_unit
from discreet.core.options import numbers_below
from discreet.core.spaces import lengths as measures
from discreet.core.spaces.adjacency import Adjacency
from discreet.core.spaces.features import check_names, has_features, read_features
from discreet.core.spaces.geography import grid_centers, ground_factor, unify_longitudes
from discreet.core.spaces.inputs import (
    edge_table,
    integer_table,
    point_table,
    positive_count,
    unit_name,
)
from discreet.core.spaces.lattice import LatticeLengths
from discreet.core.spaces.lengths import TOTAL_BITS, Lengths, TableLengths, scale_for, tree_links
from discreet.core.spaces.points import PointLengths
from discreet.core.views import dots, view

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from discreet.core.spaces.plane import PlaneLengths

METRICS = ("euclidean", "manhattan", "haversine", "angular", "hyperbolic")
"""The metrics on points."""

_FARTHEST = 1 << 62
"""Beyond every stored length: those of spaces that are made here are below ``2^46``, those of files need not be."""

_KILOMETERS = {"km": 1, "m": 1000}
"""Units in which a great circle may be asked for."""


@final
@dataclass(frozen=True, eq=False, repr=False)
class MetricSpace:
    """Secrets with a metric, in integers; the class methods make it. Spaces with equal digests are equal.

    Parameters
    ----------
    unit
        The unit of distance, which is the unit of ``1 / epsilon``.
    metric
        How distances came about: one of :data:`METRICS`, ``"grid"``, ``"graph"`` or ``"matrix"``.
    scale_bits
        ``s``: distances are stored in units of ``2^-s``, so that the largest has about 45 bits.
    source
        What computes the lengths.
    points
        Array ``(n, dimensions)`` of coordinates, where there are some.
    tabled
        ``False`` in files from when fewer secrets had a matrix: then there is none.

    Examples
    --------
    >>> space = MetricSpace.grid(20, 25, cell=1.0, unit="km")
    >>> space
    MetricSpace(n=500, metric='grid', unit='km', scale_bits=41)
    >>> space.distance(0, 2), float(space.distance(0, 26))
    (Fraction(2, 1), 1.414213562372879)
    """

    unit: str
    metric: str
    scale_bits: int
    source: PointLengths | LatticeLengths | PlaneLengths | TableLengths
    points: NDArray[np.float64] | None = None
    tabled: bool = True

    def __post_init__(self) -> None:
        read_unit(self.unit)

    @classmethod
    @explained("MetricSpace.from_points([(0.0, 0.0), (0.4, 0.1)], unit='km')")
    def from_points(
        cls,
        points: Any,  # noqa: ANN401 - arrays, frames, GeoJSON
        *,
        metric: str | None = None,
        unit: str,
        plane: bool = False,
    ) -> MetricSpace:
        """Compute the space of points, whose coordinates are the floats that they are, exactly.

        Parameters
        ----------
        points
            Array ``(n, dimensions)``. For ``haversine``: latitude in [-90, 90], longitude in [-180, 180] or in
            [0, 360], in degrees; ``angular``: nonzero vectors; ``hyperbolic``: inside the unit ball. Or a dataframe of
            these columns. Or a GeoDataFrame of points, GeoJSON, or anything with ``__geo_interface__``: row i is
            secret i, in longitude and latitude or converted to these; see
            :func:`~discreet.core.spaces.features.read_features`.
        metric
            One of :data:`METRICS`; default: ``"haversine"`` for whatever has a coordinate system, else ``"euclidean"``.
        unit
            A name; ``"km"`` or ``"m"`` for ``haversine``, ``"rad"`` for ``angular``.
        plane
            Whether coordinates are lengths in a plane although columns are named like longitude and latitude, or
            although the frame has a coordinate system. Of a frame, coordinates are divided by the largest ratio, over
            all pairs, of a stored distance to the geodesic, rounded up; a ratio above 1.001 is refused. Distances
            that are shorter than on the ground lose utility, not privacy.

        Returns
        -------
        MetricSpace
            Lengths are exact floors (Euclidean, Manhattan) or rounded down by a proven error bound, then closed; see
            :class:`~discreet.core.spaces.points.PointLengths`. For ``haversine`` they are great circles times a factor
            with which none is above the geodesic of WGS 84, and none below it by more than 1.1 %; see
            :func:`~discreet.core.spaces.geography.ground_factor`.

        Raises
        ------
        InvalidProblemError
            For an unknown metric or unit, points that are not finite (naming the row) or out of range, longitudes
            below 0 beside ones above 180, columns named like longitude and latitude without ``metric="haversine"`` or
            `plane`, or a coordinate system that is missing or does not fit.

        Complexity
        ----------
        The matrix, when it is first asked for: ``O(n^2 dimensions + n^3)`` time and ``8 n^2`` bytes.

        Examples
        --------
        >>> space = MetricSpace.from_points([(41.8986, 12.4769), (41.9028, 12.4964)], metric="haversine", unit="km")
        >>> round(float(space.distance(0, 1)), 3)
        1.678
        >>> corners = {"type": "MultiPoint", "coordinates": [(12.4769, 41.8986), (12.4964, 41.9028)]}
        >>> MetricSpace.from_points({"type": "Feature", "geometry": corners}, unit="km") == space
        True
        """
        if metric is not None and metric not in METRICS:
            raise unknown_name("metric", metric, METRICS)
        if has_features(points):
            points, metric = read_features(points, metric=metric, unit=unit, plane=plane)
        columns = getattr(points, "column_names", getattr(points, "columns", ()))
        check_names([str(name) for name in columns], metric=metric, unit=unit, plane=plane)
        metric = metric or "euclidean"
        unit = unit_name(unit, metric)
        array = point_table(points, metric)
        per_unit: float = _KILOMETERS.get(unit, 1)
        if metric == "haversine":
            unify_longitudes(array)
            shortest = ground_factor(array[:, 0])
            per_unit = per_unit * shortest if shortest < 1 else per_unit
        bits = TOTAL_BITS - array.shape[1].bit_length()
        source = PointLengths(array, metric, 0, per_unit)
        indices = np.arange(len(array))
        # Twice the farthest from the first bounds every distance.
        extent = 2 * float(source.measure(np.zeros_like(indices), indices).max())
        scale = scale_for(extent, bits)
        return cls(unit, metric, scale, PointLengths(array, metric, scale, per_unit), array)

    @classmethod
    def grid(cls, rows: int, columns: int, *, cell: Exact, unit: str) -> MetricSpace:
        """Space of the cells of a regular grid with Euclidean distances between centers.

        Linear in the cells; distances are computed when they are first asked for. InvalidProblemError also for a
        wrong unit.

        Parameters
        ----------
        rows, columns
            Numbers of cells; the cell in row ``r`` and column ``c`` is secret ``r * columns + c``.
        cell
            Side of a cell, read exactly: ``0.1`` is 1/10.
        unit
            Unit of the side.

        Returns
        -------
        MetricSpace
            Distances in closed form with exact ties along lines, see
            :class:`~discreet.core.spaces.lattice.LatticeLengths`. ``points`` are the centers as ``(x, y)``.

        Raises
        ------
        InvalidProblemError
            For numbers of cells below 1, or a side that is not positive.

        Examples
        --------
        >>> MetricSpace.grid(2, 2, cell="0.1", unit="km").distances.tolist()[0]
        [0, 28147497671065, 28147497671065, 39806572953286]
        """
        rows, columns = positive_count(rows, "rows"), positive_count(columns, "columns")
        side = to_fraction(cell, "cell")
        if not 0 < side < 2**100:
            raise InvalidProblemError("cell", "a positive side below 1e30", cell)
        places = np.stack(np.divmod(np.arange(rows * columns), columns), axis=-1)
        extent = float(np.hypot(rows - 1, columns - 1)) * float(side)
        scale = scale_for(extent, TOTAL_BITS)
        centers = grid_centers(rows, columns, float(side))
        centers.setflags(write=False)
        return cls(
            unit_name(unit, "grid"), "grid", scale, LatticeLengths(places, side, scale), centers
        )

    @classmethod
    def from_matrix(cls, matrix: ArrayLike, *, unit: str) -> MetricSpace:
        """Space of a distance matrix of at most 5120 rows; its floats are taken exactly.

        ``O(n^3)`` to close it.

        Parameters
        ----------
        matrix
            Array ``(n, n)``: finite, nonnegative, zero on the diagonal, symmetric, and with the triangle inequality.
            What violates the last two by more than a part in 10^9 is refused by name. Less is taken for rounding: of
            two mirrored entries the lesser counts, and the triangle inequality is closed downwards.
        unit
            Unit of the entries.

        Returns
        -------
        MetricSpace
            The space, without points.

        Raises
        ------
        InvalidProblemError
            Naming the entry, the pair or the triple that is wrong, and by how much.

        Examples
        --------
        >>> MetricSpace.from_matrix([[0, 1, 3], [1, 0, 1], [3, 1, 0]], unit="km")
        Traceback (most recent call last):
        discreet.core.errors.InvalidProblemError: matrix: expected the triangle inequality, got d(0, 2) = 3.0 ...
        """
        table, scale = integer_table(matrix)
        return cls(unit_name(unit, "matrix"), "matrix", scale, TableLengths(table))

    @classmethod
    def from_graph(
        cls,
        n: int,
        edges: ArrayLike,
        lengths: ArrayLike,
        *,
        unit: str,
        points: ArrayLike | None = None,
    ) -> MetricSpace:
        """Space of the nodes of an undirected weighted graph with shortest path distances.

        All shortest paths: Dijkstra's ``O(n m log n)``, or ``O(n^3)`` for dense graphs.

        Parameters
        ----------
        n
            Number of nodes, at most 5120.
        edges
            Array ``(m, 2)`` of nodes; of parallel edges the shortest counts.
        lengths
            Array ``(m,)`` of positive lengths, the floats that they are, exactly.
        unit
            Unit of the lengths.
        points
            Coordinates for plots, array ``(n, dimensions)``; distances do not depend on them.

        Returns
        -------
        MetricSpace
            Every edge is rounded down, so that every path is.

        Raises
        ------
        InvalidProblemError
            For edges that name no node, lengths that are not positive and finite, or a graph that is not connected
            (naming the sizes of its components).

        Examples
        --------
        >>> MetricSpace.from_graph(3, [(0, 1), (1, 2)], [0.5, 0.25], unit="km").distance(0, 2)
        Fraction(3, 4)
        """
        pairs, integer_lengths, scale = edge_table(n, edges, lengths)
        paths = Adjacency(n, pairs, integer_lengths, scale).shortest_paths()
        coordinates = None if points is None else point_table(points, "graph")
        if coordinates is not None and len(coordinates) != n:
            raise InvalidProblemError("points", f"{n} rows", len(coordinates))
        return cls(unit_name(unit, "graph"), "graph", scale, TableLengths(paths), coordinates)

    @property
    def n(self) -> int:
        """Number of secrets."""
        return self.source.n

    def __len__(self) -> int:
        """Count the secrets."""
        return self.n

    def __repr__(self) -> str:
        return (
            f"MetricSpace(n={self.n}, metric={self.metric!r}, unit={self.unit!r},"
            f" scale_bits={self.scale_bits})"
        )

    def _repr_html_(self) -> str:
        """Return the space as HTML, with its points."""
        facts = (f"{self.n} secrets, {self.metric} distances in {self.unit}",)
        return view(
            "MetricSpace", facts, picture=dots(self.points, self.metric, f"{self.n} secrets")
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MetricSpace) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    @property
    def has_matrix(self) -> bool:
        """Whether distances may be held as a matrix: with at most 5120 secrets, unless a file says ``tabled=False``."""
        return self.tabled and self.n <= measures.DENSE_LIMIT

    @cached_property
    def distances(self) -> NDArray[np.int64]:
        """Array ``(n, n)`` of distances in units of ``2^-scale_bits``: rounded down, closed, read-only.

        Computed at the first access, in ``O(n^3)`` if lengths need to be closed, and kept: ``8 n^2`` bytes.

        Raises
        ------
        InvalidProblemError
            For more than 5120 secrets.
        """
        if not self.has_matrix:
            raise InvalidProblemError(
                "n", f"at most {measures.DENSE_LIMIT} secrets for all distances", self.n
            )
        distances = self.source.dense()
        distances.setflags(write=False)
        return distances

    def distance(self, i: int, j: int) -> Fraction:
        """Return the stored distance of secrets `i` and `j`, exact, in the space's unit.

        Beyond 5120 secrets it is not closed. The first call up to 5120 secrets computes the matrix; see
        :attr:`distances`.

        Indices are not checked: a negative one counts from the end, one beyond raises IndexError.
        """
        if self.has_matrix:
            length = int(self.distances[i, j])
        else:
            length = int(self.source.between(np.array([i]), np.array([j]))[0])
        return Fraction(length, 2**self.scale_bits)

    @cached_property
    def digest(self) -> str:
        """SHA-256, in hexadecimal, of unit, scale and distances as little-endian integers.

        Beyond 5120 secrets, of unit, scale, metric, coordinates, and the factor of great circles if it is not 1, from
        which the lengths follow.
        """
        header = {"unit": self.unit, "scale_bits": self.scale_bits, "n": self.n}
        if self.has_matrix:
            body = self.distances.astype("<i8").tobytes()
        else:
            header["metric"] = self.metric
            per_unit = getattr(self.source, "per_unit", 1)
            if per_unit not in _KILOMETERS.values():
                header["per_unit"] = per_unit
            body = np.asarray(self.points, dtype="<f8").tobytes()
        text = json.dumps(header, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(b"discreet space 1\n" + text.encode() + b"\n" + body).hexdigest()

    def links(self, labels: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """List pairs of secrets with different labels, and their lengths, among which are the shortest links.

        Parameters
        ----------
        labels
            ``(n,)`` such as the components of a graph, numbered from 0.

        Returns
        -------
        pairs : ndarray
            ``(m, 2)``, ``i < j``. With a matrix these are all such pairs; without one, nearest pairs from k-d trees.
        lengths : ndarray
            ``(m,)`` in the units of this space.

        Complexity
        ----------
        ``O(n^2)`` with a matrix, else some queries of trees, ``O(n log n)`` each for a round of joined labels.

        Examples
        --------
        >>> space = MetricSpace.from_points([[0], [1], [5]], unit="km")
        >>> space.links(np.array([0, 0, 1]))[0].tolist()
        [[0, 2], [1, 2]]
        """
        if self.has_matrix or isinstance(self.source, TableLengths):
            pairs = np.argwhere(np.triu(labels[:, None] != labels, 1)).astype(np.int32)
            return pairs, self.distances[pairs[:, 0], pairs[:, 1]]
        pairs = tree_links(*self.source.embedding(), labels)
        return pairs, self.source.between(pairs[:, 0], pairs[:, 1])

    def adjacency(self, radius: Exact | None = None) -> Adjacency:
        """Return the graph of the pairs within a radius, or of all pairs.

        Parameters
        ----------
        radius
            In the unit of the space, read exactly; ``None`` for all pairs.

        Returns
        -------
        Adjacency
            Every pair whose stored distance is at most ``floor(radius 2^s)``, with that distance. No pair truly within
            the radius is missing: its true distance in units is at most ``radius 2^s``, the stored one is an integer
            no larger, hence at most the floor. A pair beyond it by less than the rounding may be there.

        Raises
        ------
        InvalidProblemError
            For a radius that is not positive, or all pairs of more than 5120 secrets.

        Complexity
        ----------
        ``O(n^2)`` once there is a matrix. Beyond 5120 secrets, a k-d tree: ``O(n log n)`` and the pairs found; their
        lengths are rounded down, not closed, which never loses a pair.

        Examples
        --------
        >>> MetricSpace.grid(20, 25, cell=1, unit="km").adjacency(1)
        Adjacency(n=500, edges=955, components=1, isolated=0)
        """
        if radius is None:
            limit = _FARTHEST
        else:
            exact = to_fraction(radius, "radius")
            if exact <= 0:
                raise InvalidProblemError("radius", "a positive distance", radius)
            limit = min(int(exact * 2**self.scale_bits), _FARTHEST)
        table = self.has_matrix or radius is None
        source: Lengths = TableLengths(self.distances) if table else self.source
        pairs = source.near(limit)
        lengths = source.between(pairs[:, 0], pairs[:, 1])
        near = lengths <= limit
        graph = Adjacency(self.n, pairs[near], lengths[near], self.scale_bits)
        if radius is None:
            # The triangle inequality makes distances the lengths of shortest paths.
            vars(graph)["_paths"] = self.distances
        return graph

    def restrict(self, indices: ArrayLike) -> MetricSpace:
        """Return a space of some of the secrets, none twice, in the order given; stored distances and scale stay.

        `indices` are ``(m,)``; with a matrix its ``m^2`` distances are copied.

        Without a matrix the lengths of the source are taken over.

        Raises
        ------
        InvalidProblemError
            For no secrets, an unknown one, or one twice.

        Examples
        --------
        >>> MetricSpace.grid(2, 2, cell=1, unit="km").restrict([3, 0]).points.tolist()
        [[1.5, 1.5], [0.5, 0.5]]
        """
        chosen = numbers_below(indices, self.n, "indices", "secrets")
        if len(np.unique(chosen)) < len(chosen):
            raise InvalidProblemError("indices", "different secrets", "one of them twice")
        source = TableLengths(self.distances) if self.has_matrix else self.source
        points = None if self.points is None else self.points[chosen]
        if points is not None:
            points.setflags(write=False)
        return MetricSpace(self.unit, self.metric, self.scale_bits, source.take(chosen), points)

    def merge_duplicates(self) -> tuple[MetricSpace, NDArray[np.int32]]:
        """Merge secrets at stored distance zero, which no channel may tell apart.

        Returns
        -------
        space : MetricSpace
            The first secret of each class; this space when there are no duplicates.
        labels : ndarray
            Array ``(n,)``: the secret of ``space`` that each secret became.

        Complexity
        ----------
        ``O(n^2)`` with a matrix, which is computed first; else a query of near pairs.

        Examples
        --------
        >>> space = MetricSpace.from_points([[0.0], [1.0], [0.0]], unit="km")
        >>> merged, labels = space.merge_duplicates()
        >>> merged.n, labels.tolist()
        (2, [0, 1, 0])
        """
        source: Lengths = TableLengths(self.distances) if self.has_matrix else self.source
        pairs = source.near(0)
        same = source.between(pairs[:, 0], pairs[:, 1]) == 0
        zero = Adjacency(self.n, pairs[same], np.zeros(int(same.sum()), np.int64), self.scale_bits)
        labels = zero.components
        if not len(zero):
            return self, labels
        return self.restrict(np.unique(labels, return_index=True)[1]), labels


def greedy_spanner(space: MetricSpace, dilation: Exact) -> Adjacency:
    """Keep few pairs whose paths stretch no distance by more than a factor.

    Pairs are taken by length, ties by number; a pair is kept when the graph so far is longer than its limit
    ``floor(dilation * distance)``. A channel that keeps ``epsilon / dilation`` on the result keeps ``epsilon`` for all.

    Parameters
    ----------
    space
        A metric space of at most 5120 secrets.
    dilation
        The factor, at least 1, read exactly.

    Returns
    -------
    Adjacency
        A connected graph with ``stretch(space) <= dilation``, exactly.

    Raises
    ------
    InvalidProblemError
        For a dilation below 1, or a space without a matrix.

    Complexity
    ----------
    At most ``O(n^2)`` for each edge kept, of which there are ``O(n)`` in a plane [BCP14]_.

    Examples
    --------
    >>> space = MetricSpace.grid(5, 5, cell=1, unit="km")
    >>> graph = greedy_spanner(space, "1.5")
    >>> len(graph), graph.stretch(space) <= 1.5
    (40, True)
    """
    from discreet.core.kernels.distances import spanner

    factor = to_fraction(dilation, "dilation")
    if factor < 1:
        raise InvalidProblemError("dilation", "at least 1", dilation)
    everything = space.adjacency()
    order = np.argsort(everything.lengths, kind="stable")
    lengths = everything.lengths[order]
    limits = lengths.astype(object) * factor.numerator // factor.denominator
    is_edge = spanner(
        space.n,
        everything.pairs[order],
        lengths.astype(np.float64),
        # A limit is only compared: beyond 2^53 every path is within it.
        np.minimum(limits, 2.0**53).astype(np.float64),
        len(order),
    )
    return everything.subgraph(order[is_edge])
