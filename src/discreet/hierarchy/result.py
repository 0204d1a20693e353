"""Published counts for each region and size, and tidy tables of numbers by region."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.views import bars

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from discreet.core.outcome import Release, Unproven
    from discreet.core.tree import Tree
    from discreet.hierarchy.measure import Measured
    from discreet.hierarchy.problem import Frame

    Backend = Literal["polars", "pandas", "pyarrow", "dict"]

BACKENDS = ("polars", "pandas", "pyarrow", "dict")


@final
@dataclass(frozen=True, eq=False, repr=False)
class RegionCounts:
    """How many groups of each size every region has, as published.

    Parameters
    ----------
    frame
        The public facts: regions, sizes, what is known of the groups.
    counts
        Array ``(n_nodes, n_sizes)``: row ``r`` belongs to node ``r`` of the tree, column ``j`` to size
        ``frame.sizes[j]``. Integers, or floats from a method that gives no integers.
    measurements
        The noisy counts that it was made of, where they were kept; publishing them costs nothing more.

    Raises
    ------
    InvalidProblemError
        For counts of another shape, that are no finite numbers, or that 64 bits do not hold.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import Tree
    >>> from discreet.hierarchy.problem import Frame
    >>> frame = Frame(Tree.from_paths([("GA",), ("NY",)], root="US"), 2, "private")
    >>> made = RegionCounts(frame, np.array([[3, 1], [1, 1], [2, 0]]))
    >>> made
    RegionCounts(regions=3, sizes=1..2)
    >>> made.to_frame("dict")["region"]
    ['US', 'US', 'GA', 'GA', 'NY', 'NY']
    """

    frame: Frame
    counts: NDArray[Any]
    measurements: Measured | None = None

    def __post_init__(self) -> None:
        array = np.asarray(self.counts)
        if array.dtype.kind == "u" and array.size and int(array.max()) >= 1 << 63:
            raise InvalidProblemError("counts", "integers below 2^63", "a larger one")
        counts = np.array(array, dtype=np.int64 if array.dtype.kind in "iu" else np.float64)
        expected = (self.frame.tree.n, self.frame.n_sizes)
        if counts.shape != expected:
            raise InvalidProblemError("counts", f"shape {expected}", f"shape {counts.shape}")
        if not np.isfinite(counts).all():
            raise InvalidProblemError("counts", "finite numbers", "others")
        counts.setflags(write=False)
        object.__setattr__(self, "counts", counts)

    def __repr__(self) -> str:
        sizes = self.frame.sizes
        return f"RegionCounts(regions={self.frame.tree.n}, sizes={sizes[0]}..{sizes[-1]})"

    def _repr_html_(self) -> str:
        """Return the root's published counts as bars in HTML."""
        sizes = zip(map(str, self.frame.sizes), self.counts[0].tolist(), strict=True)
        return bars(
            [*sizes], "Groups of each size at the root, as published; to_frame() has all regions"
        )

    def described(self, outcome: Release[Any] | Unproven[Any]) -> list[tuple[str, object]]:
        """Return the facts that a text about a release states: its method, regions and sizes."""
        frame = self.frame
        return [
            ("method", outcome.provenance.method),
            ("regions", f"{frame.tree.n} on {frame.tree.depth + 1} levels"),
            (
                "sizes",
                f"{frame.first_size} to {frame.max_size}, larger ones counted as the largest",
            ),
        ]

    def to_frame(self, backend: Backend = "polars") -> Any:  # noqa: ANN401 - a table of that library
        """Return the counts as a tidy table: one row for each region and size.

        Parameters
        ----------
        backend
            The kind of table: ``"polars"``, ``"pandas"`` or ``"pyarrow"``, each if it is installed, or ``"dict"`` for a
            dictionary of lists.

        Returns
        -------
        DataFrame, Table or dict
            Columns ``level`` (1 for the root), ``region`` (see :func:`region_names`), ``size`` and ``count``, in the
            order of the nodes and, within a node, of the sizes.

        Raises
        ------
        InvalidProblemError
            For another backend.
        ModuleNotFoundError
            When the package is not installed.

        Complexity
        ----------
        ``O(nodes x sizes)`` time and memory.
        """
        columns = size_columns(self.frame.tree, np.asarray(self.frame.sizes, dtype=np.int64))
        return tidy(columns, {"count": self.counts.ravel()}, backend)


class Column(NamedTuple):
    """A column that says what each row of a tidy table is about.

    Parameters
    ----------
    name
        Its name.
    values
        ``(rows,)``: a whole number for each row, or with `words` the place of the word of each row.
    words
        Different texts of the column.
    """

    name: str
    values: NDArray[Any]
    words: Sequence[str] | None = None


def tidy(columns: Sequence[Column], values: Mapping[str, Any], backend: Backend) -> Any:  # noqa: ANN401 - a table of that library
    """Return a table with one row for each place of `columns`, and `values` behind them.

    `values` maps further names to ``(rows,)`` lists or arrays. The table is of the library `backend`, or a dictionary
    of lists. ModuleNotFoundError where that library is not installed. Linear in the rows.

    Raises
    ------
    InvalidProblemError
        For a backend that is not among :data:`BACKENDS`.
    """
    if backend not in BACKENDS:
        raise InvalidProblemError("backend", f"one of {', '.join(BACKENDS)}", repr(backend))
    if backend == "dict":
        listed = {
            name: places.tolist() if words is None else [words[at] for at in places.tolist()]
            for name, places, words in columns
        }
        return listed | {
            name: numbers if isinstance(numbers, list) else numbers.tolist()
            for name, numbers in values.items()
        }
    import narwhals as nw

    # Words are made once, and gathered by the table's own library.
    series = {
        name: nw.new_series(name, places, backend=backend)
        if words is None
        else nw.new_series(name, list(words), nw.String, backend=backend)[places]
        for name, places, words in columns
    }
    for name, numbers in values.items():
        series[name] = nw.new_series(name, numbers, backend=backend)
    return nw.from_dict(series).to_native()


def region_columns(tree: Tree, nodes: NDArray[np.int64]) -> list[Column]:
    """Return the columns ``level`` (1 for the root) and ``region`` of rows about `nodes` ``(rows,)``.

    Linear in regions and rows.
    """
    levels = np.asarray(tree.levels[nodes] + 1, dtype=np.int64)
    return [Column("level", levels), Column("region", nodes, region_names(tree))]


def size_columns(tree: Tree, sizes: NDArray[np.int64]) -> list[Column]:
    """Return the columns of a table with a row for each region and, within it, each size."""
    nodes = np.repeat(np.arange(tree.n), len(sizes))
    return [*region_columns(tree, nodes), Column("size", np.tile(sizes, tree.n))]


def region_names(tree: Tree) -> list[str]:
    r"""Return the full path of every node.

    Linear in the length of the names.

    Parameters
    ----------
    tree
        The regions.

    Returns
    -------
    list of str
        For each node the labels from below the root down to it, joined by ``/``; for the root its own label. A ``/`` or
        a backslash inside a label has a backslash before it, so that different paths have different names.

    Examples
    --------
    >>> from discreet import Tree
    >>> region_names(Tree.from_paths([("GA", "Fulton"), ("N/A",)], root="US"))
    ['US', 'GA', 'N\\/A', 'GA/Fulton']
    """
    escaped = [str(label).replace("\\", "\\\\").replace("/", "\\/") for label in tree.labels]
    names = [escaped[0]]
    for node, parent in enumerate(tree.parents[1:].tolist(), start=1):
        names.append(escaped[node] if parent == 0 else f"{names[parent]}/{escaped[node]}")
    return names
