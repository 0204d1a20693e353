r"""CLR-Geo: the programs of several users, tied by the scales y. Equations (19) to (24) of [QLPSX24]_.

Variables are the scales :math:`y_k \ge 0`, shared, and for each user m the entries :math:`z^{(m)}_{ik}` that do not
have the exponential form (18); those that have it are :math:`e_{ik} y_k`. The program minimizes

.. math::

    \sum_k \alpha_k y_k + \sum_m \sum_{i, k\,\text{free}} c_{ik} z^{(m)}_{ik}
    \qquad\text{subject to}\qquad
    A_m z^{(m)} + B_m y \ge b_m \quad\text{for each user } m .

The rows of user m say that ratios of joined rows keep their bounds, that each row sums to 1 over *all* places, and no
more: between users there is nothing but y. A pair of entries that both have the form needs no row.

Columns that a user does not list are outside its obfuscation range; they have the floor
:math:`e^{-\lambda \epsilon r_\text{obf}} y_k`, which counts in the sum of the row, and in the cost as 0.

*In the solver.* Ratio rows are divided by the geometric mean of their two coefficients, and the scales are measured
in units of the largest weight that they meet. A ratio row of more than 34 nats is left to the chain of shorter ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet_reproduction.lrgeo.as_published.geo_ind_graph import within

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.core.lp import LinearProgram
    from discreet_reproduction.lrgeo.as_published.coefficients import Coefficients

_LARGEST = 34.0
"""Nats beyond which a ratio row is left out: its coefficients could not be told from noise."""

_SMALLEST = 1e-9
"""Coefficients of a row sum below this are left out, as the solver would."""


class Form(Protocol):
    """Which entries are multiples of a scale, and of what size."""

    @property
    def epsilon(self) -> float:
        """Nats per unit of distance."""
        ...

    @property
    def floor(self) -> float:
        """What multiplies the scales of reports that are not listed."""
        ...

    def forced(self, away: NDArray[np.float64], inside: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which entries have the form."""
        ...

    def weights(self, away: NDArray[np.float64], inside: NDArray[np.bool_]) -> NDArray[np.float64]:
        """What multiplies the scale, for all entries."""
        ...


@final
@dataclass(frozen=True, eq=False)
class Obfuscation:
    """What CLR-Geo found.

    Parameters
    ----------
    scales
        ``(K,)``: y.
    matrices
        For each user ``(n, K)``: its rows, as the solver gave them.
    objective
        Sum over users of the cost of their matrices; each user's is a mean over its rows.
    size
        Rows, variables and nonzeros of the program.
    """

    scales: NDArray[np.float64]
    matrices: tuple[NDArray[np.float64], ...]
    objective: float
    size: tuple[int, int, int]


@dataclass(frozen=True, eq=False)
class _Block:
    """One user's part: ``lower <= own z + shared y <= upper``."""

    own: Any
    shared: Any
    n_ratios: int
    cost: NDArray[np.float64]
    alpha: NDArray[np.float64]
    free: NDArray[np.bool_]
    weight: NDArray[np.float64]


@final
class Central:
    """The program of a batch of users, in the solver's variables.

    Parameters
    ----------
    users
        What was uploaded.
    form
        Equation (18).
    gamma
        Rows at most this far apart keep their ratio.
    n_places
        K.

    Raises
    ------
    InvalidProblemError
        Without users, or when a column is no place.
    """

    def __init__(
        self,
        users: Sequence[Coefficients],
        form: Form,
        gamma: float,
        n_places: int,
    ) -> None:
        if not users:
            raise InvalidProblemError("users", "at least one user", "none")
        for user in users:
            if user.columns.size and not 0 <= user.columns.min() <= user.columns.max() < n_places:
                raise InvalidProblemError("columns", f"places from 0 to {n_places - 1}", "another")
        self.form, self.gamma, self.n_places = form, gamma, n_places
        self.users = tuple(users)
        tables = [self._table(user) for user in users]
        largest = np.zeros(n_places)
        for free, weight in tables:
            np.maximum(largest, np.where(free, 0.0, weight).max(axis=0), out=largest)
        # A scale that meets no weight is never used; its unit does not matter.
        self.unit = 1.0 / np.where(largest > 0, largest, 1.0)
        self.blocks = [
            self._block(user, free, weight)
            for user, (free, weight) in zip(users, tables, strict=True)
        ]

    def _table(self, user: Coefficients) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Write Q and the weights out for all places."""
        shape = (user.n_rows, self.n_places)
        free, weight = np.zeros(shape, dtype=bool), np.full(shape, self.form.floor)
        free[:, user.columns] = ~self.form.forced(user.away, user.inside)
        weight[:, user.columns] = self.form.weights(user.away, user.inside)
        return free, weight

    def _block(
        self, user: Coefficients, free: NDArray[np.bool_], weight: NDArray[np.float64]
    ) -> _Block:
        from scipy.sparse import csr_array

        n, at = user.n_rows, np.full(free.shape, -1)
        count = int(free.sum())
        at[free] = np.arange(count)
        scaled = weight * self.unit
        near = within(user.between, self.gamma)
        np.fill_diagonal(near, val=False)
        a, b = np.nonzero(near)
        nats = self.form.epsilon * user.between[a, b]
        pair, k = np.nonzero(free[a] | free[b])
        i, j, s = a[pair], b[pair], nats[pair]
        left, right = free[i, k], free[j, k]
        # ln of the coefficients of  first <= e^s second, where one of them may be a multiple of a scale.
        with np.errstate(divide="ignore"):
            first = np.where(left, 0.0, np.log(scaled[i, k]))
            second = s + np.where(right, 0.0, np.log(scaled[j, k]))
        kept = np.abs(second - first) <= _LARGEST
        i, j, k, left, right = i[kept], j[kept], k[kept], left[kept], right[kept]
        half = np.exp((second - first)[kept] / 2)
        row = np.arange(len(i))
        own = [(row[left], at[i, k][left], 1 / half[left])]
        own.append((row[right], at[j, k][right], -half[right]))
        shared = [(row[~left], k[~left], 1 / half[~left])]
        shared.append((row[~right], k[~right], -half[~right]))
        m = len(i)
        r, c = np.nonzero(free)
        own.append((m + r, at[r, c], np.ones(count)))
        r, c = np.nonzero(~free & (scaled > _SMALLEST))
        shared.append((m + r, c, scaled[r, c]))
        cost = np.zeros(free.shape)
        cost[:, user.columns] = user.cost
        return _Block(
            _stack(own, (m + n, count), csr_array),
            _stack(shared, (m + n, self.n_places), csr_array),
            m,
            cost[free],
            np.where(free, 0.0, cost * scaled).sum(axis=0),
            free,
            weight,
        )

    def program(self) -> tuple[LinearProgram, NDArray[np.int64]]:
        """Write the whole program down: scales first, then users one by one.

        Returns
        -------
        LinearProgram
            All variables are between 0 and 1.
        ndarray
            For each variable the user that it belongs to, -1 for scales.
        """
        from scipy.sparse import block_diag, csr_array, hstack, vstack

        from discreet.core.lp import LinearProgram

        blocks = self.blocks
        matrix = hstack(
            [
                csr_array(vstack([block.shared for block in blocks])),
                csr_array(block_diag([block.own for block in blocks])),
            ],
            format="csr",
        )
        sums = [
            np.concatenate([np.zeros(block.n_ratios), np.ones(len(block.free))]) for block in blocks
        ]
        upper = np.concatenate(sums)
        owner = [np.full(self.n_places, -1)]
        owner += [np.full(len(block.cost), m) for m, block in enumerate(blocks)]
        alpha = np.sum([block.alpha for block in blocks], axis=0)
        program = LinearProgram(
            np.concatenate([alpha, *(block.cost for block in blocks)]),
            matrix,
            row_lower=np.where(upper == 0, -np.inf, 1.0),
            row_upper=upper,
            lower=0.0,
            upper=1.0,
        )
        return program, np.concatenate(owner)

    def read(self, x: NDArray[np.float64], objective: float) -> Obfuscation:
        """Turn a point of the program into scales and matrices."""
        y = self.unit * np.maximum(x[: self.n_places], 0.0)
        matrices, start, nonzeros, rows = [], self.n_places, 0, 0
        for block in self.blocks:
            z = block.weight * y
            z[block.free] = np.maximum(x[start : start + len(block.cost)], 0.0)
            start += len(block.cost)
            rows += block.own.shape[0]
            nonzeros += block.own.nnz + block.shared.nnz
            z.setflags(write=False)
            matrices.append(z)
        y.setflags(write=False)
        return Obfuscation(y, tuple(matrices), objective, (rows, len(x), nonzeros))

    def scaled(self, scales: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give scales in the solver's units."""
        return scales / self.unit


def clr_geo(
    users: Sequence[Coefficients],
    form: Form,
    *,
    gamma: float,
    n_places: int,
    method: Literal["auto", "simplex", "ipm"] = "auto",
    time_limit: float | None = None,
    tolerance: float | None = 1e-9,
) -> Obfuscation:
    """Solve CLR-Geo for a batch of users, as one linear program.

    Parameters
    ----------
    users
        What each user uploaded.
    form
        Equation (18).
    gamma
        Rows at most this far apart keep their ratio; infinite for LR-Geo-F.
    n_places
        K: how many places there are in all.
    method, time_limit, tolerance
        See :func:`~discreet.core.lp.solve`.

    Returns
    -------
    Obfuscation
        Scales and matrices. No guarantee comes with them; see
        :func:`~discreet_reproduction.lrgeo.as_published.composite.composite_check`.

    Raises
    ------
    InfeasibleError
        When no scales suit all users.
    LimitReachedError, SolverError
        As the solver.

    Complexity
    ----------
    For each user ``n`` rows with K entries, and two rows for each pair of joined rows and report that is free in one.

    Examples
    --------
    >>> from discreet_reproduction.lrgeo.as_published.coefficients import prepare_global
    >>> from discreet_reproduction.lrgeo.as_published.exponential_form import ExponentialForm
    >>> from discreet_reproduction.lrgeo.as_published.instance import Instance
    >>> line = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
    >>> whole = prepare_global(Instance(line, line, unit="km")).coefficients
    >>> found = clr_geo([whole], ExponentialForm(1.0, r_exp=1.0), gamma=1.0, n_places=4)
    >>> found.matrices[0].sum(axis=1).round(6).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    from discreet.core.lp import solve

    central = Central(users, form, gamma, n_places)
    program, _ = central.program()
    found = solve(
        program,
        method=method,
        time_limit=time_limit,
        tolerance=tolerance,
        crossover=method != "ipm",
    )
    return central.read(found.x, found.objective)


def _stack(
    parts: list[tuple[NDArray[Any], NDArray[Any], NDArray[np.float64]]],
    shape: tuple[int, int],
    kind: Any,  # noqa: ANN401 - SciPy's class, imported where it is used
) -> Any:  # noqa: ANN401 - as kind
    row, column, data = (np.concatenate([part[t] for part in parts]) for t in range(3))
    return kind((data, (row, column)), shape=shape)
