r"""Coverage: number or weight of the records that some chosen element covers.

.. math:: F(S) = \sum_x w_x \, [\text{some } e \in S \text{ covers } x], \qquad 0 \le w_x \le 1.

One record is one thing to be covered, together with all elements that cover it. Its part is at most 1, so that the
sensitivity is 1 however many elements cover it.

Trusted: the guarantee rests on this code, by how much one record moves a value.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core import printed
from discreet.core.errors import InvalidProblemError
from discreet.core.options import array_of
from discreet.submodular.objectives.arguments import RecordArgument
from discreet.submodular.objectives.objective import (
    MARGINAL_BITS,
    ROUNDING_MARGIN,
    Objective,
    ObjectiveSpec,
    integers_of,
    positive,
)
from discreet.tables.dialect import look
from discreet.tables.keys import (
    check_types,
    distinct_keys,
    key_of,
    with_plain_cells,
    write_private_note,
)
from discreet.tables.parsing import scan
from discreet.tables.reading import PUBLIC_SUFFIXES, read_whole, refuse_unreadable
from discreet.tables.sources import is_plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray


@final
class Coverage(Objective):
    """The number of records that some chosen element covers, on bitsets.

    Parameters
    ----------
    incidence
        ``(n_records, n_elements)`` booleans: which elements cover a record. The columns are the public ground set.

    Raises
    ------
    InvalidProblemError
        For anything but a table of booleans.

    Complexity
    ----------
    One bit for each entry. All gains: one word of 64 records at a time.

    Examples
    --------
    >>> reach = Coverage([[True, False, True], [True, False, False], [False, True, False]])
    >>> reach.value([0, 1]), reach.value([0, 2])
    (3, 2)
    >>> state = reach.start()
    >>> state.add(0)
    >>> state.gains().ravel().tolist()
    [0, 1, 0]
    >>> reach.multilinear_marginals([0.5, 0.0, 0.0]).round(6).tolist()
    [1.0, 1.0, 0.5]
    """

    scale_bits = 0

    def __init__(self, incidence: ArrayLike) -> None:
        table = array_of(incidence, "incidence", "a table of booleans")
        if table.ndim != 2 or table.dtype != np.bool_ or not table.shape[1]:
            raise InvalidProblemError(
                "incidence", "a table of booleans, a column for each element", table.dtype
            )
        self.n_records, self.n_elements = table.shape
        words = -(-self.n_records // 64)
        self._bits = np.zeros((self.n_elements, words), dtype=np.uint64)
        # A slice of the records at a time, so that no second copy of the table is made.
        for first in range(0, self.n_records, 1 << 16):
            rows = np.packbits(table[first : first + (1 << 16)].T, axis=1, bitorder="little")
            self._bits.view(np.uint8)[:, first // 8 : first // 8 + rows.shape[1]] = rows
        self._bits.setflags(write=False)

    @classmethod
    def spec(cls, *, edges: tuple[str, str] | None = None) -> ObjectiveSpec:
        """State the public facts for :func:`~discreet.submodular.plan`; the records come with the release.

        Parameters
        ----------
        edges
            Columns of the record and of the candidate, where the source is a frame of edges, of any library that
            Narwhals knows, lazy ones included, or the path of a CSV or Parquet file of them. ``None``: the source is a
            table of booleans.

        Notes
        -----
        Edges of candidates that are not in the ground set, and edges without a record or a candidate, do not count: to
        refuse them would tell that there are some.

        Examples
        --------
        >>> Coverage.spec(edges=("client", "candidate")).wanted
        'a Coverage, or a file or frame with the columns client and candidate'
        """
        named: object = edges
        if named is not None and (
            not isinstance(named, tuple | list)
            or len(named) != 2
            or not all(isinstance(name, str) for name in named)
        ):
            expected = 'the names of two columns, such as ("client", "candidate")'
            raise InvalidProblemError("edges", expected, repr(named))
        table = RecordArgument("incidence", ("record", "element"), "b")
        return cls.facts([table], edges=None if edges is None else (edges[0], edges[1]))

    @classmethod
    def check_source(cls, spec: ObjectiveSpec, source: object, n_elements: int) -> None:
        """Check the shape of a table, or the names and types of the two columns of edges, of a frame or of a file.

        Of a file of edges only the beginning is read. No value is checked.

        `spec` states which form is read, `source` is the private data, `n_elements` the public number of candidates.

        Raises
        ------
        InvalidProblemError
            For another shape, a missing column or another type.
        """
        if spec.edges is None:
            super().check_source(spec, source, n_elements)
            return
        of_file = False
        if isinstance(source, str | os.PathLike):
            of_file, path = True, os.fspath(source)
            if is_plain(path):
                mark = look(path, "source", PUBLIC_SUFFIXES, whole=False)
                refuse_unreadable(source, mark, "source", row_by_row=True)
        schema = _schema(_frame(source, spec))
        for name in spec.edges:
            if name not in schema:
                # Names of other columns may be cells of the first record.
                expected = f"the columns {' and '.join(spec.edges)}{' in its first line' * of_file}"
                known = f"{len(schema)} {'name' if of_file else 'column'}{'' if len(schema) == 1 else 's'}"
                where = f"{source} with {known} there" if of_file else known
                raise InvalidProblemError("source", expected, f"{where}, {name} not among them")
        try:
            check_types(_frame(source, spec), spec.edges)
        except InvalidProblemError as error:
            expected = f"{error.expected.removeprefix('a column of ')} in column {error.field}"
            raise error.renamed("source", expected=expected) from None

    @classmethod
    def open_source(
        cls,
        spec: ObjectiveSpec,
        source: object,
        n_elements: int,
        candidates: Sequence[Any] | None,
    ) -> Objective:
        """Read a table, or edges, each by the name of its candidate, or by its number where `candidates` is ``None``.

        Names are compared as text. Edges of other candidates are dropped, with a private note. A source that cannot
        be read is refused. Linear in the edges, or in ``n_records * n_elements``.
        """
        if spec.edges is None:
            return super().open_source(spec, source, n_elements, candidates)
        names = range(n_elements) if candidates is None else candidates
        labels = distinct_keys([str(name) for name in names], "candidates")
        records, covering = _matched(_frame(source, spec), spec.edges, labels)
        return cls.from_edges(records, covering, n_elements=n_elements)

    @classmethod
    def from_edges(cls, records: ArrayLike, elements: ArrayLike, *, n_elements: int) -> Coverage:
        """Read which element covers which record from pairs, into ``n_elements * n_records`` bits.

        Parameters
        ----------
        records
            ``(n_edges,)`` any labels of the records; a record without an edge does not exist here.
        elements
            ``(n_edges,)`` the elements that cover them, from 0. An edge may come twice. An edge of an element beyond
            `n_elements` is dropped, with a private note on standard error.
        n_elements
            Size of the public ground set.

        Raises
        ------
        InvalidProblemError
            For arrays of different lengths, or `n_elements` that is not a positive integer.

        Examples
        --------
        >>> Coverage.from_edges([7, 7, 9], [0, 2, 1], n_elements=3).value([2])
        1
        """
        numbers, covering, n_records, fine = read_edges(records, elements, n_elements)
        numbers, covering = numbers[fine], covering[fine]
        made = cls(np.zeros((0, n_elements), dtype=np.bool_))
        made.n_records = n_records
        bits = np.zeros((n_elements, -(-n_records // 64)), dtype=np.uint64)
        one = np.left_shift(np.uint64(1), (numbers % 64).astype(np.uint64))
        np.bitwise_or.at(bits, (covering, numbers // 64), one)
        bits.setflags(write=False)
        made._bits = bits
        return made

    def begin(self, kept: NDArray[np.bool_] | None) -> NDArray[np.uint64]:
        """Return the bits of the records that count and are not covered, in words of 64."""
        left = np.zeros(8 * self._bits.shape[1], dtype=np.uint8)
        ones = np.ones(self.n_records, dtype=np.bool_) if kept is None else kept
        packed = np.packbits(ones, bitorder="little")
        left[: len(packed)] = packed
        return left.view(np.uint64)

    def gains_at(self, state: NDArray[np.uint64], elements: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many records each element would newly cover: ``n_records / 64`` words an element."""
        from discreet.submodular.kernels.gains import covered_gains

        out = np.zeros(len(elements), dtype=np.int64)
        covered_gains(self._bits, state, elements, out)
        return out[:, None]

    def extended(self, state: NDArray[np.uint64], element: int, kind: int) -> NDArray[np.uint64]:
        """Mark the records that the element covers."""
        del kind
        state &= ~self._bits[element]
        return state

    def served(self) -> NDArray[Any]:
        """Return :meth:`Objective.served`, ``(n_elements, n_records)`` uint8, a copy.

        1 where an element covers a record.
        """
        ones = np.unpackbits(self._bits.view(np.uint8), axis=1, bitorder="little")
        return ones[:, : self.n_records]

    def marginal_units(
        self, p: NDArray[np.float64], kept: NDArray[np.bool_] | None
    ) -> NDArray[np.int64]:
        """Compute the marginals: a record is uncovered with a product of probabilities. Linear in edges and bits."""
        from discreet.submodular.kernels.gains import cover_keep, cover_marginals

        support = np.flatnonzero(p)
        keep = np.ones(64 * self._bits.shape[1])
        cover_keep(self._bits, support, p[support], keep)
        parts = rounded_parts(keep)
        if kept is not None:
            parts[: self.n_records][~kept] = 0
        out = np.zeros(self.n_elements, dtype=np.int64)
        cover_marginals(self._bits, parts, out)
        return out


def _frame(source: object, spec: ObjectiveSpec) -> Any:  # noqa: ANN401 - an eager or a lazy frame
    """Return the frame of a table of edges with all its columns: lazy for a plain file, else read whole."""
    from discreet.tables.frames import frame_of

    if isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        if is_plain(path):
            mark = look(path, "source", PUBLIC_SUFFIXES, whole=False)
            source = scan(source, mark, row_by_row=True)
        else:
            source = read_whole(source, "source")
    return frame_of(source, "source", spec.wanted)


def _schema(frame: Any) -> dict[str, Any]:  # noqa: ANN401 - as above
    """Return the types of a frame's columns by name, or refuse it without the words of its library's error."""
    try:
        return dict(frame.collect_schema())
    except Exception as error:  # noqa: BLE001 - each library has errors of its own, which may quote a row
        expected = "a frame whose columns can be read"
        raise InvalidProblemError("source", expected, type(error).__name__) from None


def _matched(
    frame: Any,  # noqa: ANN401 - as above
    edges: tuple[str, str],
    names: list[str],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the edges of known candidates as numbers of records and of candidates, ``(m,)`` each; a join and a sort.

    By the rule of :mod:`discreet.tables.keys`. Edges without a record or a known candidate are left out, and standard
    error alone has their number.
    """
    import narwhals as nw

    record, candidate = edges
    try:
        wanted = frame.select(*edges)
        read: Any = wanted.collect() if isinstance(wanted, nw.LazyFrame) else wanted
        if read.implementation.is_pyarrow():
            read = nw.from_native(read.to_polars(), eager_only=True)
        read = with_plain_cells(read, edges)
        keys = key_of(read, record).alias("record"), key_of(read, candidate).alias("candidate")
        read = read.select(*keys)
        numbers = nw.from_dict(
            {"candidate": names, "number": list(range(len(names)))}, backend=read.implementation
        )
        # Text of one library's kind, so that a join finds equal names equal.
        numbers = numbers.with_columns(nw.col("candidate").cast(nw.String))
        known = read.filter(nw.col("record") != "").join(numbers, on="candidate", how="inner")
        records = known["record"].to_numpy()
        covering = known["number"].to_numpy().astype(np.int64)
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - each library has errors of its own, which may quote a row
        expected = "edges that can be read to their end"
        raise InvalidProblemError("source", expected, type(error).__name__) from None
    nameless = int((read["record"] == "").sum())
    if lost := len(read) - len(known):
        note = f"{printed.count(nameless)} without a {record}; {printed.count(lost - nameless)} of no known {candidate}"
        write_private_note(f"rows that were left out: {note}")
    # Not as an array of text, in which each cell takes as much as the longest one.
    numbered = np.unique(records.astype(object), return_inverse=True)[1]
    return numbered.astype(np.int64).reshape(-1), covering


@final
class WeightedCoverage(Objective):
    """The weight of the records that some chosen element covers.

    Parameters
    ----------
    records
        ``(n_edges,)`` records, numbered as in `weights`.
    elements
        ``(n_edges,)`` the elements that cover them, from 0. An edge may come twice.
    weights
        ``(n_records,)`` weights, clipped to [0, 1] and rounded down to a multiple of ``2^-scale_bits``.
    n_elements
        Size of the public ground set.
    scale_bits
        Fractional bits of a value, 1 to 30.

    Raises
    ------
    InvalidProblemError
        For edges of other lengths, or no numbers as weights. Edges of unknown records or elements do not count.

    Examples
    --------
    >>> reach = WeightedCoverage([0, 1, 1], [0, 0, 1], weights=[0.5, 2.0], n_elements=2, scale_bits=1)
    >>> reach.value([0]), reach.value([1])
    (3, 2)
    """

    @classmethod
    def spec(cls, *, scale_bits: int = 15) -> ObjectiveSpec:
        """State the public facts for :func:`~discreet.submodular.plan`; records, elements and weights come later.

        Parameters
        ----------
        scale_bits
            As for the class.
        """
        private = [
            RecordArgument("records", ("edge",)),
            RecordArgument("elements", ("edge",)),
            RecordArgument("weights", ("record",), "fiub"),
        ]
        public = {"scale_bits": read_bits(scale_bits)}
        return cls.facts(private, public, scale_bits=scale_bits, takes_size=True)

    def __init__(
        self,
        records: ArrayLike,
        elements: ArrayLike,
        *,
        weights: ArrayLike,
        n_elements: int,
        scale_bits: int = 15,
    ) -> None:
        self.scale_bits = read_bits(scale_bits)
        parts, self.clipped = quantized(weights, "weights", self.scale_bits)
        self._weights = parts.astype(np.int64)
        if self._weights.ndim != 1:
            raise InvalidProblemError("weights", "one number for each record", "a table")
        numbers, covering, _, fine = read_edges(records, elements, n_elements, len(self._weights))
        edges = np.unique(np.stack([covering, numbers])[:, fine], axis=1)
        self.n_elements = n_elements
        self.n_records = len(self._weights)
        self._start = np.searchsorted(edges[0], np.arange(n_elements + 1))
        self._records = np.ascontiguousarray(edges[1])
        for array in (self._weights, self._start, self._records):
            array.setflags(write=False)

    def begin(self, kept: NDArray[np.bool_] | None) -> NDArray[np.int64]:
        """Return the weights that are not covered, those of records that do not count 0."""
        left = self._weights.copy()
        if kept is not None:
            left[~kept] = 0
        return left

    def gains_at(self, state: NDArray[np.int64], elements: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the weight that each element would newly cover, linear in its edges."""
        from discreet.submodular.kernels.gains import weighted_gains

        out = np.zeros(len(elements), dtype=np.int64)
        weighted_gains(self._start, self._records, state, elements, out)
        return out[:, None]

    def extended(self, state: NDArray[np.int64], element: int, kind: int) -> NDArray[np.int64]:
        """Take the weights of the records that the element covers."""
        del kind
        state[self.covered_by(element)] = 0
        return state

    def marginal_units(
        self, p: NDArray[np.float64], kept: NDArray[np.bool_] | None
    ) -> NDArray[np.int64]:
        """Compute the marginals: weights times the chance that nothing covers the record. Linear in edges."""
        keep = np.ldexp(self._weights.astype(np.float64), -self.scale_bits)
        for e in np.flatnonzero(p):
            keep[self.covered_by(int(e))] *= 1 - p[e]
        parts = rounded_parts(keep)
        if kept is not None:
            parts[~kept] = 0
        return sums_of_runs(parts[self._records], self._start)

    def served(self) -> NDArray[Any]:
        """Return :meth:`Objective.served`, ``(n_elements, n_records)`` int64, a copy.

        Weights of records where they are covered.
        """
        table = np.zeros((self.n_elements, self.n_records), dtype=np.int64)
        for e in range(self.n_elements):
            reached = self.covered_by(e)
            table[e, reached] = self._weights[reached]
        return table

    def covered_by(self, element: int) -> NDArray[np.int64]:
        """Return the indices ``(degree,)`` of the records that an element covers, a view. Private."""
        return self._records[self._start[element] : self._start[element + 1]]


def rounded_parts(keep: NDArray[np.float64]) -> NDArray[np.int64]:
    """Round each record's part of a marginal down to an integer multiple of ``2^-MARGINAL_BITS``."""
    parts = np.floor(np.ldexp(keep, MARGINAL_BITS) - ROUNDING_MARGIN)
    return np.asarray(np.maximum(parts, 0.0).astype(np.int64))


def sums_of_runs(units: NDArray[np.int64], start: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the sum of ``units[start[e] : start[e + 1]]`` for each e, one fewer than `start`; linear."""
    return np.diff(np.concatenate([[0], np.cumsum(units)])[start])


def read_bits(scale_bits: object) -> int:
    """Read the number of fractional bits of a value: 1 to 30, else InvalidProblemError."""
    if not isinstance(scale_bits, int) or isinstance(scale_bits, bool) or not 1 <= scale_bits <= 30:
        raise InvalidProblemError("scale_bits", "an integer from 1 to 30", repr(scale_bits))
    return scale_bits


def clip_to_scale(
    values: ArrayLike, field: str, scale: float = 1.0
) -> tuple[NDArray[np.float64], int]:
    """Clip numbers to [0, scale] and divide by `scale`; NaN counts as 0, no number is refused, other types are.

    Returns
    -------
    parts : ndarray
        The shape of `values`, from 0 to 1.
    clipped : int
        Number of values outside of [0, scale], NaN included. Private.

    Examples
    --------
    >>> clip_to_scale([50.0, 120.0, float("nan")], "similarity", 100.0)
    (array([0.5, 1. , 0. ]), 2)
    """
    try:
        read = np.asarray(values, dtype=None if isinstance(values, np.ndarray) else np.float64)
    except (TypeError, ValueError):
        raise InvalidProblemError(field, "numbers", type(values).__name__) from None
    if read.dtype.kind not in "fiub":
        raise InvalidProblemError(field, "numbers", read.dtype)
    inside = np.count_nonzero((read >= 0) & (read <= scale))
    parts = np.clip(np.nan_to_num(read.astype(np.float64), nan=0.0), 0.0, scale) / scale
    return parts, read.size - int(inside)


def quantized(
    values: ArrayLike, field: str, scale_bits: int, scale: float = 1.0
) -> tuple[NDArray[Any], int]:
    """Round the parts of :func:`clip_to_scale` down to multiples of ``2^-scale_bits``, as small unsigned integers.

    Returns the integers in these units, of the same shape, and the number of clipped values, private. `scale_bits` and
    refusals are as of :func:`read_bits`.
    """
    bits = read_bits(scale_bits)
    parts, clipped = clip_to_scale(values, field, scale)
    small = np.uint8 if bits < 8 else np.uint16 if bits < 16 else np.uint32
    # A float times a power of two is exact, and so is its floor.
    return (parts * 2.0**bits).astype(small), clipped


def read_edges(
    records: ArrayLike, elements: ArrayLike, n_elements: object, n_records: int | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64], int, NDArray[np.bool_]]:
    """Read pairs of a record and an element, ``(m,)`` each: records, elements, number of records, valid pairs.

    Records are any labels, with `n_records` numbers from 0; elements are numbers from 0. The last array marks pairs of
    known ones; others do not count, since to refuse them would tell that there are some.

    Raises
    ------
    InvalidProblemError
        For records and elements of other lengths, or `n_elements` that is not a positive integer.
    """
    labels, covering = np.asarray(records), integers_of(elements)
    size = positive(n_elements, "n_elements")
    if not covering.size and not labels.size:
        empty = np.zeros(0, dtype=np.int64)
        return empty, empty, n_records or 0, np.ones(0, dtype=np.bool_)
    if labels.ndim != 1 or labels.shape != covering.shape:
        raise InvalidProblemError("records", "one for each element of an edge", "another shape")
    fine = (covering >= 0) & (covering < size)
    if n_records is None:
        known, numbers = np.unique(labels, return_inverse=True)
        labels, n_records = numbers.reshape(-1), len(known)
    else:
        labels = integers_of(records)
    fine &= (labels >= 0) & (labels < n_records)
    if not fine.all():
        write_private_note(
            f"edges of unknown records or elements, which do not count: {printed.count((~fine).sum())}"
        )
    first, second = (np.where(fine, one, 0).astype(np.int64) for one in (labels, covering))
    return first, second, n_records, fine
