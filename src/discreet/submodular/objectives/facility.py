r"""Facility location: each record is served by the chosen element that is most similar to it.

.. math:: F(S) = \sum_x \max_{e \in S} s_{xe}, \qquad F(\emptyset) = 0, \qquad 0 \le s_{xe} \le 1.

Similarities are clipped to [0, scale], divided by the public scale and rounded down to multiples of :math:`2^{-b}` one
by one, which clips a record's part to 1. Distances become similarities :math:`1 - d / M` with a *public* M: a farthest
distance found in the data would tell about the record that has it, and without :math:`F(\emptyset) = 0` the function
would not be monotone.

Trusted: the guarantee rests on this code, by how much one record moves a value.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, final

import numpy as np

from discreet.core.calls import explained
from discreet.core.errors import InvalidProblemError
from discreet.core.exact import to_measure
from discreet.core.options import array_of, instance_of
from discreet.submodular.objectives.arguments import RecordArgument
from discreet.submodular.objectives.coverage import quantized, read_bits
from discreet.submodular.objectives.objective import (
    MARGINAL_BITS,
    ROUNDING_MARGIN,
    Objective,
    ObjectiveSpec,
)
from discreet.tables.arrays import open_array

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from discreet.core.exact import Exact

_DECLARE = "public_elements=True declares that the elements are public"

_BLOCK_ENTRIES = 1 << 22
"""Entries of the source that are read at once."""


@final
class FacilityLocation(Objective):
    """The similarity of each record to the chosen element that serves it best, added up.

    Parameters
    ----------
    similarity
        ``(n_records, n_elements)``, clipped to [0, scale]; NaN counts as 0. Or the path of a ``.npy`` file, which is
        read in slices of records, or a memory map. The columns are the public ground set.
    scale_bits
        b, fractional bits of a similarity, 1 to 30. Up to 15 an entry takes two bytes, up to 7 one.
    scale
        Public: the similarity that counts as 1, such as 100 for percentages. Not to be chosen by looking at the data.
    spill
        A folder for a temporary file that holds the rounded similarities when memory cannot; it vanishes with the
        objective. ``None`` keeps them in memory.
    public_elements
        Declaration that the elements are public although `similarity` compares them with themselves.

    Raises
    ------
    InvalidProblemError
        For anything but a table of numbers, and for similarities of points to one another (a symmetric matrix with
        `scale` on its diagonal) without `public_elements`: a choice among private records would publish some of them.

    Complexity
    ----------
    All gains are one pass over ``n_records * n_elements`` small integers.

    Examples
    --------
    >>> places = FacilityLocation([[1.0, 0.5, 0.0], [0.0, 0.5, 1.0], [0.0, 0.5, 0.5]], scale_bits=1)
    >>> places.value([1]), places.value([0, 2])
    (3, 5)
    >>> state = places.start()
    >>> state.add(1)
    >>> state.gains().ravel().tolist()
    [1, 0, 1]
    """

    @explained(
        "FacilityLocation(similarity), or FacilityLocation.from_points(records, elements, metric='cosine') for features"
    )
    def __init__(
        self,
        similarity: ArrayLike | str | os.PathLike[str],
        *,
        scale_bits: int = 15,
        scale: Exact = 1,
        spill: str | os.PathLike[str] | None = None,
        public_elements: bool = False,
    ) -> None:
        if isinstance(similarity, str | os.PathLike):
            source = open_array(os.fspath(similarity), "similarity")
        else:
            source = (
                similarity
                if isinstance(similarity, np.ndarray) and not np.ma.is_masked(similarity)
                else array_of(similarity, "similarity", "a table of numbers")
            )
        if source.ndim != 2 or source.dtype.kind not in "fiub" or not source.shape[1]:
            # The fields of a structured type are names from a file.
            got = (
                "records with fields"
                if source.dtype.names
                else f"{source.ndim} dimensions of {source.dtype}"
            )
            raise InvalidProblemError(
                "similarity", "a table of numbers, a column for each element", got
            )
        if not public_elements:
            _refuse_comparison_with_itself(source, float(to_measure(scale, "scale")))

        def rows(first: int, stop: int) -> NDArray[Any]:
            return np.asarray(source[first:stop])

        self._fill(rows, (source.shape[0], source.shape[1]), scale_bits, spill, scale)

    @classmethod
    def spec(
        cls,
        *,
        scale_bits: int = 15,
        scale: Exact = 1,
        spill: str | os.PathLike[str] | None = None,
    ) -> ObjectiveSpec:
        """State the public facts for :func:`~discreet.submodular.plan`; the similarities come with the release.

        Parameters
        ----------
        scale_bits, scale, spill
            As for the class.

        Examples
        --------
        >>> FacilityLocation.spec(scale_bits=7).wanted
        'a FacilityLocation, or its similarity'
        """
        table = RecordArgument("similarity", ("record", "element"), "fiub")
        measure = to_measure(scale, "scale")
        public = {"scale_bits": read_bits(scale_bits), "scale": measure, "spill": spill}
        return cls.facts([table], public, scale_bits=scale_bits)

    @classmethod
    def check_source(cls, spec: ObjectiveSpec, source: object, n_elements: int) -> None:
        """Check the shape and the type of `source`, a table or the path of a file, of which only the header is read.

        `spec` and `n_elements`, the number of columns, are the public facts.

        Raises
        ------
        InvalidProblemError
            For another shape or type, or a file that cannot be read.
        """
        if isinstance(source, str | os.PathLike):
            source = open_array(os.fspath(source), "similarity")
        super().check_source(spec, source, n_elements)

    @classmethod
    def open_source(
        cls, spec: ObjectiveSpec, source: object, n_elements: int, candidates: Sequence[Any] | None
    ) -> Objective:
        """Read the similarities, a table or a file; after the charge, nothing that they look like is refused.

        `spec` and `n_elements` are the public facts, `source` the table or its path; `candidates` is not used. Linear
        in the table.
        """
        opened = replace(spec, public=(*spec.public, ("public_elements", True)))
        return super().open_source(opened, source, n_elements, candidates)

    def _fill(
        self,
        rows: Callable[[int, int], NDArray[Any]],
        shape: tuple[int, int],
        scale_bits: int,
        spill: str | os.PathLike[str] | None,
        scale: Exact = 1,
    ) -> None:
        """Read the similarities of a slice of records at a time, and keep them with a row for each element.

        `rows` gives records a to b - 1, ``(b - a, elements)``; `shape` is (records, elements). Linear in the table.
        """
        self.scale_bits = read_bits(scale_bits)
        self.n_records, self.n_elements = shape
        self.scale = to_measure(scale, "scale")
        kind = quantized([0.0], "similarity", self.scale_bits)[0].dtype
        S = _table((self.n_elements, self.n_records), kind, spill)
        step = max(1, _BLOCK_ENTRIES // self.n_elements)
        for first in range(0, self.n_records, step):
            stop = min(first + step, self.n_records)
            part, clipped = quantized(
                rows(first, stop), "similarity", self.scale_bits, float(self.scale)
            )
            S[:, first:stop] = part.T
            self.clipped += clipped
        S.setflags(write=False)
        self._S: NDArray[Any] = S

    @classmethod
    def from_points(
        cls,
        records: ArrayLike,
        elements: ArrayLike,
        *,
        farthest: float | None = None,
        metric: str = "manhattan",
        scale_bits: int = 15,
        spill: str | os.PathLike[str] | None = None,
        public_elements: bool = False,
    ) -> Self:
        """Compute the similarity of points, such as rows of features, a slice of records at a time.

        It is ``1 - distance / farthest``, or the cosine of two rows, where a negative one counts as 0.

        ``O(n_records * n_elements * dimensions)``. Coordinates of elements must be finite; a similarity of a record
        that is NaN counts as 0.

        Parameters
        ----------
        records
            ``(n_records, dimensions)`` coordinates, in any unit. Private.
        elements
            ``(n_elements, dimensions)`` coordinates of the public ground set.
        farthest
            M, in the same unit: public. Needed for distances, and refused for cosines.
        metric
            ``"manhattan"``, ``"euclidean"`` or ``"cosine"``.
        scale_bits
            Fractional bits of a similarity.
        spill
            A folder for a temporary file that holds the rounded similarities.
        public_elements
            Declaration that the elements are public although they equal the records, or share their memory.

        Raises
        ------
        InvalidProblemError
            For anything but points of one dimension, and for elements that are the records without `public_elements`.

        Examples
        --------
        >>> FacilityLocation.from_points([[0, 0], [3, 1]], [[0, 0], [3, 0]], farthest=4, scale_bits=2).value([1])
        4
        >>> FacilityLocation.from_points([[1, 1], [0, 2]], [[2, 0], [0, 1]], metric="cosine", scale_bits=2).value([1])
        6
        """
        from scipy.spatial.distance import cdist

        if metric not in {"manhattan", "euclidean", "cosine"}:
            raise InvalidProblemError("metric", "manhattan, euclidean or cosine", repr(metric))
        if metric == "cosine" and farthest is not None:
            raise InvalidProblemError("farthest", "none with cosines", farthest)
        first, second = np.asarray(records), np.asarray(elements)
        alike = np.may_share_memory(first, second) or np.array_equal(first, second)
        if alike and len(first) > 1 and not public_elements:
            expected = f"a public list of points; {_DECLARE}"
            raise InvalidProblemError("elements", expected, "the records themselves")
        far = 1.0 if metric == "cosine" else _farthest(farthest)
        where, places = first.astype(np.float64), second.astype(np.float64)
        if places.ndim != 2 or not places.size or not np.isfinite(places).all():
            raise InvalidProblemError("elements", "a table of coordinates", places.shape)
        if where.ndim != 2 or where.shape[1] != places.shape[1]:
            raise InvalidProblemError(
                "records", f"points of {places.shape[1]} dimensions", "something else"
            )

        def rows(first: int, stop: int) -> NDArray[np.float64]:
            some = where[first:stop]
            if metric == "cosine":
                return np.asarray(_unit_rows(some) @ _unit_rows(places).T, dtype=np.float64)
            if metric == "manhattan":
                return 1.0 - cdist(some, places, "cityblock") / far
            return 1.0 - cdist(some, places, "euclidean") / far

        made = cls.__new__(cls)
        made._fill(rows, (len(where), len(places)), scale_bits, spill)  # noqa: SLF001 - as above
        return made

    def served(self) -> NDArray[Any]:
        """Return the rounded similarities, ``(n_elements, n_records)``, read-only. Private."""
        return self._S

    def begin(self, kept: NDArray[np.bool_] | None) -> NDArray[Any]:
        """Return the similarity by which each record is served."""
        best = np.zeros(self.n_records, dtype=self._S.dtype)
        if kept is not None:
            # Nothing is more similar than this, so that a record which does not count gains nothing.
            best[~kept] = np.iinfo(best.dtype).max
        return best

    def gains_at(self, state: NDArray[Any], elements: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return sums over records of the rise of the best similarity: one pass over the records an element."""
        from discreet.submodular.kernels.gains import facility_gains

        out = np.zeros(len(elements), dtype=np.int64)
        facility_gains(self._S, state, elements, out)
        return out[:, None]

    def extended(self, state: NDArray[Any], element: int, kind: int) -> NDArray[Any]:
        """Raise each record's best to the element's similarity."""
        del kind
        np.maximum(state, self._S[element], out=state)
        return state

    def marginal_units(
        self, p: NDArray[np.float64], kept: NDArray[np.bool_] | None
    ) -> NDArray[np.int64]:
        """Compute the marginals, elements sorted by similarity for each record.

        ``O(n_records (m + n_elements) log m)`` for m elements of positive probability.
        """
        from discreet.submodular.kernels.gains import facility_marginals

        mask = np.ones(self.n_records, dtype=np.bool_) if kept is None else kept
        support = np.flatnonzero(p)
        out = np.zeros(self.n_elements, dtype=np.int64)
        scale = 2.0 ** (MARGINAL_BITS - self.scale_bits)
        facility_marginals(self._S, mask, support, p[support], scale, ROUNDING_MARGIN, out)
        return out


def _refuse_comparison_with_itself(matrix: NDArray[Any], diagonal: float) -> None:
    """Raise InvalidProblemError for a matrix of points compared with one another.

    Symmetric, `diagonal` on its diagonal. Of five points or more. Linear in the matrix at most.
    """
    n = len(matrix)
    # In fewer rows it may be a coincidence.
    if matrix.shape != (n, n) or n < 5:
        return
    # Numbers that were computed twice differ by rounding.
    error, step = 2.0**-20 * diagonal, max(1, _BLOCK_ENTRIES // n)
    if (np.abs(matrix.diagonal() - diagonal) <= error).all() and all(
        (np.abs(matrix[a : a + step] * 1.0 - matrix[:, a : a + step].T) <= error).all()
        for a in range(0, n, step)
    ):
        expected = f"a row for each private record, a column for each public element; {_DECLARE}"
        raise InvalidProblemError("similarity", expected, "points compared with themselves")


def _unit_rows(features: NDArray[np.float64]) -> NDArray[np.float64]:
    """Divide each row by its length; a row of zeros stays."""
    lengths = np.linalg.norm(features, axis=1, keepdims=True)
    return features / np.where(lengths > 0, lengths, 1.0)


def _farthest(value: object) -> float:
    """Read a positive finite distance; raise InvalidProblemError for others."""
    if not isinstance(value, int | float) or not 0 < value < np.inf:
        raise InvalidProblemError("farthest", "a positive number", repr(value))
    return float(value)


def _table(
    shape: tuple[int, int], kind: np.dtype[Any], spill: str | os.PathLike[str] | None
) -> NDArray[Any]:
    """Return an empty table of `shape` in memory, or mapped to a nameless file in the folder `spill`.

    Raises InvalidProblemError for another path.
    """
    if spill is None or 0 in shape:
        return np.empty(shape, dtype=kind)
    import tempfile

    instance_of(spill, (str, os.PathLike), "spill", "a folder")
    if not Path(spill).is_dir():
        raise InvalidProblemError("spill", "a folder that is there", "another path")
    with tempfile.TemporaryFile(dir=Path(spill)) as file:
        # The map outlives the file's name and handle, so that nothing private is left behind.
        return np.memmap(file, dtype=kind, mode="w+", shape=shape)
