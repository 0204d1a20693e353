"""What a release gives: one count for each region and size, and the same as a tidy table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np

from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.core.outcome import Release, Unproven
    from discreet.core.tree import Tree
    from discreet.hierarchy.measure import Measured
    from discreet.hierarchy.problem import Frame

    Backend = Literal["polars", "pandas", "pyarrow", "dict"]

__all__ = ["RegionCounts", "region_names"]

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
        given = np.asarray(self.counts)
        if given.dtype.kind == "u" and given.size and int(given.max()) >= 1 << 63:
            raise InvalidProblemError("counts", "integers below 2^63", "a larger one")
        counts = np.array(given, dtype=np.int64 if given.dtype.kind in "iu" else np.float64)
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
        """Lay the counts out as a tidy table: one row for each region and size.

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
        if backend not in BACKENDS:
            raise InvalidProblemError("backend", f"one of {', '.join(BACKENDS)}", repr(backend))
        tree, sizes = self.frame.tree, np.asarray(self.frame.sizes, dtype=np.int64)
        node = np.repeat(np.arange(tree.n), len(sizes))
        names = region_names(tree)
        columns: dict[str, Any] = {
            "level": tree.levels[node] + 1,
            "region": names,
            "size": np.tile(sizes, tree.n),
            "count": self.counts.ravel(),
        }
        if backend == "dict":
            columns["region"] = [names[at] for at in node.tolist()]
            return {
                name: column if isinstance(column, list) else column.tolist()
                for name, column in columns.items()
            }
        import narwhals as nw

        # Names are made once a region, not once a row, and gathered by the table's own library.
        columns["region"] = nw.new_series("region", names, nw.String, backend=backend)[node]
        return nw.from_dict(
            {
                name: nw.new_series(name, column, backend=backend)
                if isinstance(column, np.ndarray)
                else column
                for name, column in columns.items()
            }
        ).to_native()


def region_names(tree: Tree) -> list[str]:
    r"""Name every node by its full path.

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
