"""A program that changes between solves: the one stateful object here, for decompositions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core.errors import InvalidProblemError, SolverError
from discreet.core.lp.bounds import infeasibility
from discreet.core.lp.highs import BACKEND, Options, check, load, run
from discreet.core.lp.program import LinearProgram, read_box, read_matrix
from discreet.core.printed import at_most

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from discreet.core.lp.solution import LPSolution


class LinearModel:
    """A program loaded into the solver, to be changed and solved again from where the last solve ended.

    Parameters
    ----------
    program
        The program to start from; it stays as it is.

    Notes
    -----
    After rows were added or sides of rows changed, the last basis is still dual feasible, and the dual simplex method
    goes on from it. ``method="ipm"`` starts anew each time. An instance belongs to one thread at a time.

    Examples
    --------
    >>> from discreet.core.lp import LinearProgram
    >>> model = LinearModel(LinearProgram([-1, -1], [[1, 2], [2, 1]], row_upper=3))
    >>> round(model.solve().objective, 9)
    -2.0
    >>> model.add_rows([[1, 1]], -float("inf"), 1.5)
    >>> round(model.solve().objective, 9), model.program.n_rows
    (-1.5, 3)
    """

    def __init__(self, program: LinearProgram) -> None:
        self._program = program
        self._highs = load(program)

    @property
    def program(self) -> LinearProgram:
        """The program as it stands now."""
        return self._program

    def add_rows(self, matrix: object, lower: ArrayLike, upper: ArrayLike) -> None:
        """Append rows ``lower <= matrix @ x <= upper``.

        All rows are copied: linear in the entries of the whole program.

        Parameters
        ----------
        matrix
            Shape (k, n), dense or sparse; entries as in :class:`LinearProgram`.
        lower, upper
            Sides of the new rows, shape (k,) or one number.

        Raises
        ------
        InvalidProblemError
            As :class:`LinearProgram` does; nothing is added then.
        """
        from scipy import sparse

        old = self._program
        rows = read_matrix(matrix, old.n_variables, "matrix")
        k = rows.shape[0]
        low, high = read_box(lower, upper, k, ("lower", "upper"))
        check(
            self._highs.addRows(k, low, high, rows.nnz, rows.indptr[:-1], rows.indices, rows.data),
            "add rows",
        )
        # Both parts are canonical, so that the stack is; read_matrix would sort and search it again.
        stack = sparse.csr_array(
            (
                np.concatenate([old.matrix.data, rows.data]),
                np.concatenate([old.matrix.indices, rows.indices]),
                np.concatenate([old.matrix.indptr, rows.indptr[1:] + old.matrix.indptr[-1]]),
            ),
            shape=(old.n_rows + k, old.n_variables),
        )
        row_lower, row_upper = (
            np.concatenate([old.row_lower, low]),
            np.concatenate([old.row_upper, high]),
        )
        for array in (stack.data, stack.indices, stack.indptr, row_lower, row_upper):
            array.setflags(write=False)
        self._program = old._with(matrix=stack, row_lower=row_lower, row_upper=row_upper)  # noqa: SLF001 - see there

    def set_row_bounds(self, lower: ArrayLike, upper: ArrayLike) -> None:
        """Replace both sides of all rows in place, ``(m,)`` or one number each.

        Raises InvalidProblemError as :func:`read_box`.

        `lower` and `upper` are in the units of the rows, and may be infinite.
        """
        m = self._program.n_rows
        low, high = read_box(lower, upper, m, ("lower", "upper"))
        every = np.arange(m, dtype=np.int32)
        check(self._highs.changeRowsBounds(m, every, low, high), "change the sides of rows")
        self._program = self._program._with(row_lower=low, row_upper=high)  # noqa: SLF001 - see there

    def set_column_bounds(self, lower: ArrayLike, upper: ArrayLike) -> None:
        """Replace both bounds of all variables in place, ``(n,)`` or one number each; equal bounds fix a variable.

        Raises InvalidProblemError as :func:`read_box`.

        `lower` and `upper` are in the units of the variables, and may be infinite.
        """
        n = self._program.n_variables
        low, high = read_box(lower, upper, n, ("lower", "upper"))
        every = np.arange(n, dtype=np.int32)
        check(self._highs.changeColsBounds(n, every, low, high), "change the bounds of variables")
        self._program = self._program._with(lower=low, upper=high)  # noqa: SLF001 - see there

    def solve(self, **options: Any) -> LPSolution:  # noqa: ANN401 - the options of `solve`
        """Solve the program as it stands; options, return value and errors as in :func:`discreet.core.lp.solve`.

        Returns
        -------
        LPSolution
            The optimal point; its ``program`` is the present one.
        """
        return run(self._highs, self._program, Options(**options))

    def farkas_ray(
        self, *, time_limit: float | None = None, tolerance: float = 1e-9
    ) -> NDArray[np.float64]:
        r"""Prove that no point is feasible, by multipliers of the rows.

        .. math::

            \max_{l \le x \le u} (A^\top y)^\top x
            \;<\; \sum_i \min_{r_i \le t \le R_i} y_i t .

        Every feasible point would have to be between the two. With r the right-hand side of rows :math:`A x \ge r`
        and :math:`x \ge 0` this is :math:`y \ge 0,\ A^\top y \le 0,\ r^\top y > 0`, the feasibility cut of Benders
        decomposition.

        Parameters
        ----------
        time_limit
            Wall-clock seconds for the elastic program, which may take as long as a solve.
        tolerance
            Size up to which an entry of the ray counts as zero, for a largest entry of 1: ten times the least that
            HiGHS accepts.

        Returns
        -------
        numpy.ndarray
            y, shape (m,), largest magnitude 1; nonnegative where only the lower side of a row is finite. It passed
            :func:`~discreet.core.lp.infeasibility` with a value above `tolerance`, where entries of
            ``A.T @ y`` below `tolerance` of their terms count as zero on infinite bounds only.

        Raises
        ------
        SolverError
            When no ray passes, as for a program that is feasible or nearly so.
        LimitReachedError
            When the time was not enough.
        InvalidProblemError
            For a mixed-integer program, which may be infeasible without a ray.

        Notes
        -----
        The ray of the last solve is tried first. Where HiGHS has none, or none that passes, the multipliers of the
        elastic program are taken: each row may be violated at cost 1 per unit, so that its least violation is the
        dual value of a ray.

        Examples
        --------
        >>> from discreet.core.lp import LinearProgram
        >>> LinearModel(LinearProgram([0], [[1], [1]], row_lower=[2, 0], row_upper=[3, 1])).farkas_ray().tolist()
        [1.0, -1.0]
        """
        if self._program.is_mixed_integer:
            raise InvalidProblemError("program", "a linear program", "a mixed-integer one")
        # HiGHS would solve the program to look for a ray that no solve has asked for.
        if self._highs.getModelStatus().name == "kInfeasible":
            _, has_ray, ray = self._highs.getDualRay()
            proof = self._verified(np.array(ray, dtype=np.float64), tolerance) if has_ray else None
            if proof is not None:
                return proof
        program = _elastic(self._program)
        options = Options(tolerance=tolerance, time_limit=time_limit)
        elastic = run(load(program), program, options)
        y = None if elastic.row_duals is None else self._verified(elastic.row_duals, tolerance)
        if y is None:
            detail = (
                f"the rows can be met up to a total violation of {at_most(elastic.objective, 3)}"
            )
            raise SolverError(BACKEND, "no verified ray", detail)
        return y

    def _verified(self, ray: NDArray[np.float64], tolerance: float) -> NDArray[np.float64] | None:
        """Return a ray of the dual ``(m,)``, scaled to a largest magnitude of 1, or ``None`` if it proves nothing.

        Multipliers of infinite sides are cleared, as the check ignores them; its value must exceed `tolerance`. A pass
        over the entries.
        """
        program = self._program
        senseless = ((ray > 0) & np.isneginf(program.row_lower)) | (
            (ray < 0) & np.isposinf(program.row_upper)
        )
        y = np.where(senseless, 0.0, ray)
        largest = np.abs(y).max(initial=0.0)
        if not 0 < largest < np.inf:
            return None
        y /= largest
        return y if infeasibility(program, y, tolerance=tolerance) > tolerance else None


def _elastic(program: LinearProgram) -> LinearProgram:
    """Return the program of the least total violation of the rows of `program`, within the bounds of its n variables.

    Its variables are these n, which cost nothing, and then what each of the m rows lacks, and what it exceeds: ``n +
    2 m``, all continuous. Linear in the entries. Always feasible, never unbounded.
    """
    from scipy import sparse

    n, m = program.n_variables, program.n_rows
    slack = sparse.eye_array(m)
    return LinearProgram(
        np.concatenate([np.zeros(n), np.ones(2 * m)]),
        sparse.hstack([program.matrix, slack, -slack]),
        row_lower=program.row_lower,
        row_upper=program.row_upper,
        lower=np.concatenate([program.lower, np.zeros(2 * m)]),
        upper=np.concatenate([program.upper, np.full(2 * m, np.inf)]),
    )
