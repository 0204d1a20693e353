r"""M_H: the counts of whole groups nearest to the noisy ones that add up, Model 1 of [FVZ21]_ (Section 5).

.. math:: \min \sum_r w_r \lVert x^r - \tilde n^r \rVert_2^2, \qquad x^r = \sum_{c \in ch(r)} x^c, \qquad
          \sum_s x^{root}_s = G, \qquad x^r_s \in \{0, 1, 2, \dots\}.

The paper calls this program intractable. It is an integer flow on a tree with separable convex costs, and is solved
exactly, in a second for three thousand regions and a thousand sizes (:mod:`discreet.hierarchy.laminar`). The way
through a mixed-integer solver is kept for comparison, and as a second opinion.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, final

import numpy as np

from discreet.core.errors import InvalidProblemError, LimitReachedError
from discreet.hierarchy.laminar import optimal, project
from discreet.hierarchy.survival import Tell, Weights, check_kind, node_weights

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from discreet.core.lp import LinearModel
    from discreet.core.tree import Tree
    from discreet.hierarchy.measure import Measured
    from discreet.hierarchy.sensitivity import Kind


@final
@dataclass(frozen=True)
class MH:
    """Nearest consistent counts, exactly (``m-h``).

    Parameters
    ----------
    solver
        ``"laminar"``: the engine for trees. ``"milp"``: a mixed-integer solver, as in the paper; for some thousand
        cells.
    weights
        The weight of each region: the precision of its noise, or equal ones, as published. They agree where all levels
        have the same share of the budget.
    threads
        Threads of the engine; the result does not depend on it.

    Notes
    -----
    Deviations from the paper. Consistency is required of regions that have children only; (H2) of the root, where
    it implies all others. The total is left free where units are private: G is not known then.

    Examples
    --------
    >>> from discreet import PureDP, Tree
    >>> from discreet.hierarchy.measure import measure
    >>> from discreet.hierarchy.problem import GroupSizes
    >>> tree = Tree.from_paths([("GA",), ("NY",)], root="US")
    >>> data = GroupSizes.from_counts(tree, [[2, 0, 1], [1, 1, 1]], units="private")
    >>> measured = measure(data, "direct", PureDP(100, neighbors="add-remove-person"))
    >>> MH().solve(measured).tolist()
    [[3, 1, 2], [2, 0, 1], [1, 1, 1]]
    """

    solver: Literal["laminar", "milp"] = "laminar"
    weights: Weights = "inverse-variance"
    threads: int = 1

    kind: ClassVar[Kind] = "direct"

    def __post_init__(self) -> None:
        if self.solver not in ("laminar", "milp"):
            raise InvalidProblemError("solver", "'laminar' or 'milp'", repr(self.solver))

    def solve(self, measured: Measured, *, on_progress: Tell | None = None) -> NDArray[np.int64]:
        """Compute consistent counts, int64 ``(nodes, sizes)``, from noisy direct counts.

        The cost is that of the solver.

        Raises
        ------
        InvalidProblemError
            For another kind of measurement, or leaves that were not measured.
        CertificateError
            When what the mixed-integer solver found is no optimum.
        """
        check_kind(measured, "direct", everywhere=False)
        frame, weights = measured.frame, node_weights(measured, self.weights)
        if on_progress is not None:
            on_progress("nearest consistent counts")
        if self.solver == "laminar":
            return project(
                frame, measured.values, total=frame.total, weights=weights, threads=self.threads
            )
        counts = integer_program(frame.tree, measured.values, frame.total, weights)
        proof = optimal(frame, counts, measured.values, total=frame.total, weights=weights)
        proof.raise_for_failure()
        return counts


def integer_program(
    tree: Tree,
    y: NDArray[np.int64],
    total: int | None,
    weights: NDArray[np.int64],
    max_rounds: int = 200,
) -> NDArray[np.int64]:
    r"""Solve Model 1 with a mixed-integer solver, by cutting planes.

    Variables are the distances :math:`d = x - y`, which keeps the numbers small, and their costs
    :math:`t \ge w (v^2 + (2 v + 1)(d - v))`: lines through the squares of v and v + 1. A few lines are there at the
    start; those around the last solution are added until its costs are squares.

    A mixed-integer program of two variables for each cell in each round: exponential in the worst case.

    Parameters
    ----------
    tree
        The regions.
    y
        ``(n_nodes, n_sizes)`` integers.
    total
        G, or ``None``.
    weights
        ``(n_nodes,)`` integers.
    max_rounds
        Rounds of cuts after which rounding is taken to keep the solver from an end.

    Returns
    -------
    ndarray
        ``(n_nodes, n_sizes)`` integers.

    Raises
    ------
    LimitReachedError
        After `max_rounds` rounds of cuts.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import Tree
    >>> tree = Tree.from_paths([("GA",), ("NY",)])
    >>> integer_program(tree, np.array([[4], [1], [0]]), None, np.ones(3, dtype=np.int64)).tolist()
    [[3], [2], [1]]
    """
    from discreet.core.lp import LinearModel, LinearProgram

    cells, w = y.size, np.repeat(weights, y.shape[1]).astype(np.float64)
    rows, sides = _sums(tree, y, total)
    lowest = np.concatenate([-y.reshape(-1).astype(np.float64), np.zeros(cells)])
    program = LinearProgram(
        np.concatenate([np.zeros(cells), np.ones(cells)]),
        rows,
        row_lower=sides,
        row_upper=sides,
        lower=lowest,
        integrality=np.arange(2 * cells) < cells,
    )
    model = LinearModel(program)
    paid = np.flatnonzero(w)
    # Far away the lines are sparse: rounds of cuts fill them in where they matter.
    starts = [sign * (1 << power) for power in range(12) for sign in (-1, 1)]
    for start in (-1, 0, *starts):
        _cut(model, paid, np.full(len(paid), start), w)
    for _ in range(max_rounds):
        solution = model.solve().x
        d = np.rint(solution[:cells]).astype(np.int64)
        short = paid[solution[cells + paid] < w[paid] * (d[paid].astype(np.float64) ** 2 - 0.25)]
        if not len(short):
            return (y.reshape(-1) + d).reshape(y.shape)
        _cut(model, short, d[short], w)
        _cut(model, short, d[short] - 1, w)
    raise LimitReachedError(f"{max_rounds} rounds of cuts", best=None)


def _sums(
    tree: Tree, y: NDArray[np.int64], total: int | None
) -> tuple[csr_array[np.float64], NDArray[np.float64]]:
    """Return a sparse matrix and right sides: regions add up, and the total, in distances from `y` ``(nodes, sizes)``.

    One row for each inner region and size.
    """
    from scipy import sparse

    inner = np.setdiff1d(np.arange(tree.n), tree.leaves)
    upward = sparse.lil_array((len(inner), tree.n))
    for row, node in enumerate(inner.tolist()):
        upward[row, node] = -1.0
        for child in tree.children(node):
            upward[row, child] = 1.0
    n_sizes = y.shape[1]
    rows = sparse.kron(upward.tocsr(), sparse.eye_array(n_sizes), format="csr")
    sides = -(upward @ y.astype(np.float64)).reshape(-1)
    if total is not None:
        of_root = sparse.csr_array(np.repeat(np.arange(tree.n) == 0, n_sizes)[None].astype(float))
        rows = sparse.vstack([rows, of_root])
        sides = np.append(sides, float(total - int(y[0].sum())))
    costs = sparse.csr_array((rows.shape[0], y.size))
    return sparse.hstack([rows, costs], format="csr"), sides


def _cut(
    model: LinearModel, cells: NDArray[np.int64], v: NDArray[np.int64], w: NDArray[np.float64]
) -> None:
    """Add for some cells the line through the squares of v and v + 1, times the weights `w` ``(cells,)``, as rows.

    `v` ``(cells,)`` are whole distances, for the numbers in `cells`; `w` has the weights of all cells of `model`.
    """
    from scipy import sparse

    at, n = np.arange(len(cells)), len(w)
    slopes = w[cells] * (2 * v + 1)
    matrix = sparse.csr_array(
        (
            np.concatenate([np.ones(len(cells)), -slopes]),
            (np.concatenate([at, at]), np.concatenate([n + cells, cells])),
        ),
        shape=(len(cells), 2 * n),
    )
    model.add_rows(matrix, w[cells] * (v * v - v * (2.0 * v + 1)), np.inf)
