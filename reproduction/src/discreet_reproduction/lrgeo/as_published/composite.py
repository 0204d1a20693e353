r"""The composite: row i is the row that a user at place i samples from. It is what an observer of reports faces.

Each user's program constrains the rows of that user's matrix against each other; of these one is ever sampled from.
What an observer of reports faces is the channel whose row i comes from the program of a user *at i*, and whose rows
come from different programs. :func:`composite_check` asks that channel, over all pairs of places and all reports,
zeros included.

It reports what published counts do not show. A share of entries is diluted by reports far away; the share of pairs with
at least one violated entry, and the epsilon that the worst pair would need, are not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet_reproduction.lrgeo.as_published.geo_ind_graph import within

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from discreet_reproduction.lrgeo.as_published.coefficients import Prepared
    from discreet_reproduction.lrgeo.as_published.exponential_form import ExponentialForm
    from discreet_reproduction.lrgeo.as_published.geo_ind_graph import GeoIndGraph
    from discreet_reproduction.lrgeo.as_published.instance import Instance

ACROSS = (
    "a user samples from one row of its own program, and rows of different programs are not constrained against each "
    "other: Theorem 4.5 covers entries of the exponential form alone, as Section 5.4 says (A1)"
)


@final
@dataclass(frozen=True, eq=False)
class UserRows:
    """What a method gives: a row for each user, and where it comes from.

    Parameters
    ----------
    matrix
        ``(users, K)``.
    objective
        What the programs minimized, summed over users.
    scales
        For each batch its y; none where there are none.
    prepared, matrices, form
        The users' whole matrices, where the method makes any that Equation (32) can count.
    lower
        A proven lower bound of `objective`, where the method gives one.
    """

    matrix: NDArray[np.float64]
    objective: float | None = None
    scales: tuple[NDArray[np.float64], ...] = ()
    prepared: tuple[Prepared, ...] = ()
    matrices: tuple[NDArray[np.float64], ...] = ()
    form: ExponentialForm | None = None
    lower: float | None = None


class RowMethod(Protocol):
    """A published method without a valid guarantee."""

    @property
    def reason(self) -> str:
        """Why there is none."""
        ...

    def rows(
        self,
        instance: Instance,
        graph: GeoIndGraph,
        epsilon: float,
        users: Sequence[int],
        time_limit: float | None,
    ) -> UserRows:
        """Run it for users at these places."""
        ...


@final
@dataclass(frozen=True)
class Composite:
    r"""What a channel of independent rows does to geo-indistinguishability.

    Parameters
    ----------
    epsilon
        What was promised, per unit of distance.
    pairs, entries
        Ordered pairs of different places that were compared, and entries: pairs times reports.
    violating_pairs, violating_entries
        How many of them violate :math:`z_{ik} \le e^{\epsilon d_{ij}} z_{jk}` by more than the tolerance.
    infinite_entries
        Entries with :math:`z_{ik}` above the tolerance and :math:`z_{jk} = 0`.
    effective
        The least epsilon for which no compared entry is violated: infinite where a report has probability zero for one
        place of a pair and not for the other.
    effective_finite
        The same over the entries that are positive on both sides.
    largest_excess
        The largest :math:`z_{ik} - e^{\epsilon d_{ij}} z_{jk}`, the paper's GVE (33); 0 where there is none.
    """

    epsilon: float
    pairs: int
    entries: int
    violating_pairs: int
    violating_entries: int
    infinite_entries: int
    effective: float
    effective_finite: float
    largest_excess: float

    @property
    def holds(self) -> bool:
        """Whether floats show no violation; a channel of integers is verified exactly elsewhere."""
        return self.effective <= self.epsilon

    @property
    def pair_ratio(self) -> float:
        """Share of violating pairs."""
        return self.violating_pairs / self.pairs if self.pairs else 0.0

    @property
    def entry_ratio(self) -> float:
        """Share of violating entries."""
        return self.violating_entries / self.entries if self.entries else 0.0


def composite_matrix(
    prepared: Sequence[Prepared], matrices: Sequence[NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Put the rows together that are sampled from: of each user its own.

    Parameters
    ----------
    prepared
        The users, in the order of the composite's rows.
    matrices
        Their matrices, ``(n, K)`` each.

    Returns
    -------
    ndarray
        ``(users, K)``.
    """
    return np.array([matrix[one.own] for one, matrix in zip(prepared, matrices, strict=True)])


def composite_check(
    matrix: ArrayLike,
    distances: ArrayLike,
    epsilon: float,
    *,
    radius: float = np.inf,
    tolerance: float = 1e-7,
) -> Composite:
    r"""Compare the rows of different users, all of them.

    Parameters
    ----------
    matrix
        ``(K, K')``: row i is what a user at place i samples from.
    distances
        ``(K, K)``.
    epsilon
        What was promised.
    radius
        Compare places at most this far apart; all by default.
    tolerance
        Excess in probability below which an entry does not count as violating; `effective` knows no tolerance.

    Returns
    -------
    Composite
        Counts, and the epsilon that would be true.

    Raises
    ------
    InvalidProblemError
        For arrays that do not fit, or entries that are no probabilities.

    Complexity
    ----------
    ``O(K^2 K')``: 3 s for 1331 places.

    Examples
    --------
    A coin that lies a quarter of the time, at distance 1, has epsilon ln 3:

    >>> line = [[0.0, 1.0], [1.0, 0.0]]
    >>> round(composite_check([[0.75, 0.25], [0.25, 0.75]], line, 1.0).effective, 6)
    1.098612
    >>> composite_check([[1.0, 0.0], [0.5, 0.5]], line, 1.0).effective
    inf
    """
    table = np.asarray(matrix, dtype=np.float64)
    apart = np.asarray(distances, dtype=np.float64)
    n = len(table)
    if table.ndim != 2 or apart.shape != (n, n):
        raise InvalidProblemError("distances", f"shape {(n, n)}", f"shape {apart.shape}")
    if not ((table >= 0) & (table <= 1 + 1e-6)).all():
        raise InvalidProblemError("matrix", "probabilities", "others")
    compared = within(apart, radius)
    np.fill_diagonal(compared, val=False)
    with np.errstate(divide="ignore"):
        nats = np.log(table)
    pairs = bad_pairs = bad = infinite = 0
    worst, excess = -np.inf, 0.0
    unbounded = False
    for i in range(n):
        j = np.flatnonzero(compared[i])
        if not len(j):
            continue
        d = apart[i, j]
        over = table[i] - np.exp(np.minimum(epsilon * d, 700.0))[:, None] * table[j]
        violated = over > tolerance
        pairs += len(j)
        bad += int(violated.sum())
        bad_pairs += int(violated.any(axis=1).sum())
        excess = max(excess, float(over.max()))
        zero = (table[j] == 0) & (table[i] > 0)
        infinite += int((zero & (table[i] > tolerance)).sum())
        unbounded = unbounded or bool(zero.any())
        positive = table[i] > 0
        with np.errstate(invalid="ignore"):
            gap = np.where(positive & ~zero, nats[i] - nats[j], -np.inf)
        worst = max(worst, float((gap.max(axis=1) / d).max()))
    finite = max(0.0, worst)
    return Composite(
        epsilon=epsilon,
        pairs=pairs,
        entries=pairs * table.shape[1],
        violating_pairs=bad_pairs,
        violating_entries=bad,
        infinite_entries=infinite,
        effective=np.inf if unbounded else finite,
        effective_finite=finite,
        largest_excess=max(0.0, excess),
    )
