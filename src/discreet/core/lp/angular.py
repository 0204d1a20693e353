r"""Block-angular programs: some variables are the master's, and the rest fall apart once these are fixed.

.. math::

    \min_{x, y}\; c^\top x + \sum_l d_l^\top y_l \quad\text{subject to}\quad
    r_0 \le A x \le R_0,\qquad r_l \le T_l x + W_l y_l \le R_l\ \text{for each block}\ l.

What a block costs is a convex function of x, and any multipliers of its rows give a linear function below it: a cut.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.lp.bounds import infeasibility, lagrangian_bound
from discreet.core.lp.program import HIGHS, LinearProgram

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from scipy.sparse import csr_array

_EPS = float(np.finfo(np.float64).eps)
"""Twice the unit roundoff; the factor of two covers the roundings of the error bound itself."""


@final
@dataclass(frozen=True, eq=False)
class Cut:
    r"""A linear function of the master's variables that a block puts below its cost, or below its infeasibility.

    Parameters
    ----------
    block
        Number of the block.
    kind
        ``"optimality"``: the block costs at least :math:`a + g^\top x`. ``"feasibility"``: the block has no point
        unless :math:`a + g^\top x \le 0`.
    constant
        a.
    gradient
        g, one entry for each of the master's variables.
    duals
        The multipliers of the rows of the block that prove it.
    """

    block: int
    kind: Literal["optimality", "feasibility"]
    constant: float
    gradient: NDArray[np.float64]
    duals: NDArray[np.float64]

    def at(self, x: NDArray[np.float64]) -> float:
        """Return the value of the cut at the master's variables x.

        `x` is ``(master's variables,)``; the value is in the unit of the cost, or for a feasibility cut of its
        multipliers.
        """
        return self.constant + float(self.gradient @ x)


@final
@dataclass(frozen=True, eq=False)
class Block:
    """One block of a block-angular program.

    Parameters
    ----------
    number
        Its place among the blocks.
    columns, rows
        Where its variables and rows are in the whole program.
    program
        The program in its own variables; the sides of the rows are those for x = 0.
    linking
        T, ``(rows, master's variables)``.
    lower, upper
        The bounds of x.
    """

    number: int
    columns: NDArray[np.int64]
    rows: NDArray[np.int64]
    program: LinearProgram
    linking: csr_array
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]

    def alone(self) -> tuple[LinearProgram, NDArray[np.int64]]:
        """Return the program without the rows in which the master's variables occur, and the indices of its rows.

        Variables and their bounds stay. Linear in the entries.
        """
        own = np.flatnonzero(np.diff(self.linking.indptr) == 0)
        program = self.program
        free_program = LinearProgram(
            program.cost,
            program.matrix[own],
            row_lower=program.row_lower[own],
            row_upper=program.row_upper[own],
            lower=program.lower,
            upper=program.upper,
        )
        return free_program, own

    def extent(self) -> tuple[float, float]:
        """Return a lower and an upper bound on the cost from the bounds of the variables alone, rounded outward.

        In the unit of the cost; linear in the variables, whose bounds are finite.
        """
        ends = self.program.cost * np.stack([self.program.lower, self.program.upper])
        slack = _EPS * len(ends.T) * float(np.abs(ends).max(axis=0).sum())
        return float(ends.min(axis=0).sum()) - slack, float(ends.max(axis=0).sum()) + slack

    def cut(self, kind: Literal["optimality", "feasibility"], duals: NDArray[np.float64]) -> Cut:
        r"""Return the cut that multipliers of the rows imply; every vector of multipliers gives a valid cut.

        With :math:`L(y)` the bound of :func:`~discreet.core.lp.lagrangian_bound` at x = 0, it is
        :math:`L(y) - (T^\top y)^\top x`, lowered by the largest rounding error over the bounds of x.

        `duals` is ``(rows of the block,)``. Linear in the entries of the block.

        `kind` tells which bound is taken: that of the block's cost, or of its infeasibility.
        """
        program = self.program
        senseless = ((duals > 0) & np.isneginf(program.row_lower)) | (
            (duals < 0) & np.isposinf(program.row_upper)
        )
        y = np.where(senseless, 0.0, duals)
        bound = lagrangian_bound if kind == "optimality" else infeasibility
        constant = bound(program, y)
        # Adding zero makes a negative zero positive.
        gradient = -(self.linking.T @ y) + 0.0
        terms = np.bincount(self.linking.indices, minlength=len(gradient)) + 2
        reach = np.maximum(np.abs(self.lower), np.abs(self.upper))
        constant -= float((terms * _EPS * (abs(self.linking).T @ np.abs(y))) @ reach)
        return Cut(self.number, kind, constant, gradient, y)

    def scale(self, cut: Cut) -> float:
        """Return the positive factor of a cut, so that the solver reads numbers of moderate size.

        1 over the largest gradient for a feasibility cut; else 1, or less for gradients above 1e6.
        """
        largest = float(np.abs(cut.gradient).max(initial=0.0))
        if cut.kind == "feasibility":
            return 1.0 / largest if largest > 0 else 1.0
        return 1.0 / max(1.0, largest * 1e-6)

    def row(self, cut: Cut) -> tuple[NDArray[np.float64], float, float]:
        """Write a cut, scaled, as ``weight * w - g @ x >= a``; return g ``(master's variables,)``, the weight, and a.

        Entries that the solver would delete are replaced by the least that they can be within the bounds of x, which
        leaves the cut valid.

        `cut` belongs to this block. Linear in the master's variables.
        """
        scale = self.scale(cut)
        g, constant = cut.gradient * scale, cut.constant * scale
        small = (np.abs(g) <= 10 * HIGHS.small_matrix_value) & (g != 0)
        constant += float(np.minimum(g * self.lower, g * self.upper)[small].sum())
        return np.where(small, 0.0, g), 0.0 if cut.kind == "feasibility" else scale, constant


@final
@dataclass(frozen=True, eq=False)
class Angular:
    """A program taken apart.

    Parameters
    ----------
    program
        The whole.
    columns, rows
        Where the master's variables and rows are in it.
    blocks
        The blocks.
    """

    program: LinearProgram
    columns: NDArray[np.int64]
    rows: NDArray[np.int64]
    blocks: tuple[Block, ...]

    def master(self) -> LinearProgram:
        """Return the master program: its own variables and one cost variable for each block.

        Cost variables come last, within what :meth:`Block.extent` states; no cut is in it yet. Linear in the entries.
        """
        from scipy.sparse import csr_array, hstack

        program, count = self.program, len(self.blocks)
        matrix = program.matrix[self.rows][:, self.columns]
        extents = np.array([block.extent() for block in self.blocks]).reshape(-1, 2)
        return LinearProgram(
            np.concatenate([program.cost[self.columns], np.ones(count)]),
            hstack([matrix, csr_array((len(self.rows), count))], format="csr"),
            row_lower=program.row_lower[self.rows],
            row_upper=program.row_upper[self.rows],
            lower=np.concatenate([program.lower[self.columns], extents[:, 0]]),
            upper=np.concatenate([program.upper[self.columns], extents[:, 1]]),
        )


def split(program: LinearProgram, blocks: ArrayLike) -> Angular:
    """Take a block-angular program apart.

    Linear in the entries of the matrix for each block. Blocks are numbered from 0 in ascending order of their labels.

    Parameters
    ----------
    program
        The whole, a linear program whose variables have finite bounds: these make every cut valid, whatever the
        multipliers are.
    blocks
        ``(n,)``: the block of each variable, -1 for those of the master.

    Returns
    -------
    Angular
        The parts; rows of the master's variables alone are the master's.

    Raises
    ------
    InvalidProblemError
        For labels of the wrong shape, integer variables, infinite bounds, and rows that touch two blocks.

    Examples
    --------
    >>> whole = LinearProgram([1, 1, 1], [[1, 1, 0], [1, 0, 1]], row_lower=1, upper=1)
    >>> parts = split(whole, [-1, 0, 1])
    >>> len(parts.blocks), parts.master()
    (2, LinearProgram(3 variables, 0 rows, 0 nonzeros))
    >>> split(whole, [0, 0, 1])
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: blocks: expected rows that touch one block at most, got blocks 0 and 1 ...
    """
    block_labels = np.asarray(blocks)
    n = program.n_variables
    if block_labels.shape != (n,) or block_labels.dtype.kind not in "iu" or block_labels.min() < -1:
        raise InvalidProblemError(
            "blocks",
            f"labels from -1 up, shape ({n},)",
            f"{block_labels.dtype}, shape {block_labels.shape}",
        )
    if program.is_mixed_integer:
        raise InvalidProblemError("program", "a linear program", "a mixed-integer one")
    if not (np.isfinite(program.lower) & np.isfinite(program.upper)).all():
        raise InvalidProblemError("program", "finite bounds of all variables", "infinite ones")
    labels, column_block = np.unique(block_labels[block_labels >= 0], return_inverse=True)
    place = np.full(n, -1)
    place[block_labels >= 0] = column_block
    row_block = _blocks_of_rows(program, place)
    columns = np.flatnonzero(place < 0)
    parts = []
    for number in range(len(labels)):
        own, rows = np.flatnonzero(place == number), np.flatnonzero(row_block == number)
        matrix = program.matrix[rows]
        alone = LinearProgram(
            program.cost[own],
            matrix[:, own],
            row_lower=program.row_lower[rows],
            row_upper=program.row_upper[rows],
            lower=program.lower[own],
            upper=program.upper[own],
        )
        ends = program.lower[columns], program.upper[columns]
        parts.append(Block(number, own, rows, alone, matrix[:, columns], *ends))
    return Angular(program, columns, np.flatnonzero(row_block < 0), tuple(parts))


def _blocks_of_rows(program: LinearProgram, place: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the block of each row, ``(n_rows,)``; -1 for the master's.

    `place` is the block of each variable, -1 for the master's. A row that touches two blocks is refused.

    InvalidProblemError names the blocks and the row. Linear in the entries.
    """
    matrix = program.matrix
    touched = place[matrix.indices]
    row = np.repeat(np.arange(program.n_rows), np.diff(matrix.indptr))[touched >= 0]
    touched = touched[touched >= 0]
    most = np.full(program.n_rows, -1)
    least = np.full(program.n_rows, n_blocks := int(place.max(initial=-1)) + 1)
    np.maximum.at(most, row, touched)
    np.minimum.at(least, row, touched)
    torn = (least < n_blocks) & (least < most)
    if torn.any():
        at = int(np.argmax(torn))
        raise InvalidProblemError(
            "blocks",
            "rows that touch one block at most",
            f"blocks {least[at]} and {most[at]} in row {at}",
        )
    return most
