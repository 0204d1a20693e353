r"""How the paper counts violations, and the bound that it puts on the count: Equations (27), (28), (32) and (33).

.. math:: \text{GV ratio} = \frac{\#\,(z_{ik}, z_{jk})\ \text{violating}}{\#\,(z_{ik}, z_{jk})\ \text{that should
    satisfy}} \qquad (32)

Proposition 4.6 bounds it by one minus the share of entries that are known to hold: those within one user's matrix,
and those in which both entries have the exponential form. With :math:`a_n(k)` the number of rows of user n whose entry
k has the form, :math:`\sum_{i, j} |A_i \cap A_j| = \sum_k a_n(k)\, a_m(k)`.

As printed it bounds the ratio over all pairs of rows, gamma infinite (A5). For (32), which counts pairs at most gamma
apart, it counts others too, and takes all pairs of one user's rows as satisfied, where only those at most gamma apart
are constrained. :func:`violation_bound` gives both counts; the mended one holds where Theorem 4.5 does, which is with
location-centered ranges.

Neither is a statement about privacy. Most rows counted are rows that nobody samples from; see
:mod:`discreet_reproduction.lrgeo.as_published.composite`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, final

import numpy as np

from discreet_reproduction.lrgeo.as_published.geo_ind_graph import within

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet_reproduction.lrgeo.as_published.coefficients import Prepared
    from discreet_reproduction.lrgeo.as_published.exponential_form import ExponentialForm


@final
@dataclass(frozen=True)
class Violations:
    """Counts over the rows of several users' matrices.

    Parameters
    ----------
    entries
        Ordered entries that should satisfy (1): rows of two users or of one, at most gamma apart.
    violating
        How many do not, by more than the tolerance.
    covered, covered_violating
        Those of two users in which both entries have the exponential form: what Theorem 4.5 speaks of.
    largest_excess
        The largest GVE (33).
    """

    entries: int
    violating: int
    covered: int
    covered_violating: int
    largest_excess: float

    @property
    def ratio(self) -> float:
        """The GV ratio (32)."""
        return self.violating / self.entries if self.entries else 0.0

    @property
    def covered_ratio(self) -> float:
        """Share of what Theorem 4.5 covers and that violates it."""
        return self.covered_violating / self.covered if self.covered else 0.0


def exponential_entries(
    prepared: Prepared, form: ExponentialForm, n_places: int
) -> NDArray[np.bool_]:
    r"""Give the sets :math:`A_i` of a user's rows as a table ``(n, K)``.

    Parameters
    ----------
    prepared
        The user.
    form
        Equation (18).
    n_places
        K.
    """
    sent = prepared.coefficients
    table = np.ones((sent.n_rows, n_places), dtype=bool)
    table[:, sent.columns] = form.forced(sent.away, sent.inside)
    return table


def violations(
    prepared: Sequence[Prepared],
    matrices: Sequence[NDArray[np.float64]],
    form: ExponentialForm,
    distances: NDArray[np.float64],
    *,
    gamma: float,
    tolerance: float = 1e-7,
) -> Violations:
    """Count as Equation (32) does: all rows of all users, against each other.

    Parameters
    ----------
    prepared, matrices
        Users and their matrices.
    form
        Equation (18).
    distances
        ``(K, K)``.
    gamma
        Rows at most this far apart should satisfy (1).
    tolerance
        Excess that does not count.

    Returns
    -------
    Violations
        Two rows of different users for the same place are at distance 0 and should be equal.
    """
    forms = [exponential_entries(one, form, len(distances)) for one in prepared]
    entries = bad = covered = covered_bad = 0
    excess = 0.0
    every = [(n, n) for n in range(len(prepared))] + list(combinations(range(len(prepared)), 2))
    for n, m in every:
        apart = distances[np.ix_(prepared[n].rows, prepared[m].rows)]
        near = within(apart, gamma)
        if n == m:
            near &= ~np.eye(len(near), dtype=bool)
        a, b = np.nonzero(near)
        growth = np.exp(np.minimum(form.epsilon * apart[a, b], 700.0))[:, None]
        left, right = matrices[n][a], matrices[m][b]
        for over in (left - growth * right, right - growth * left)[: 1 if n == m else 2]:
            violated = over > tolerance
            entries += violated.size
            bad += int(violated.sum())
            excess = max(excess, float(over.max(initial=0.0)))
            if n != m:
                both = forms[n][a] & forms[m][b]
                covered += int(both.sum())
                covered_bad += int((violated & both).sum())
    return Violations(entries, bad, covered, covered_bad, excess)


def violation_bound(
    prepared: Sequence[Prepared],
    form: ExponentialForm,
    distances: NDArray[np.float64],
    *,
    gamma: float | None = None,
) -> float:
    """Give the bound of Proposition 4.6 on the violation ratio, Equation (28); for two users it is (27).

    Parameters
    ----------
    prepared
        The users.
    form
        Equation (18).
    distances
        ``(K, K)``.
    gamma
        ``None``: all pairs of rows are counted, as printed. A distance: those at most this far apart, as in (32), with
        pairs of one user's rows as satisfied only there.

    Returns
    -------
    float
        One minus the share of entries that are known to hold.
    """
    size = len(distances)
    forms = [exponential_entries(one, form, size) for one in prepared]
    known = total = 0
    for n, one in enumerate(prepared):
        pairs = len(one.rows) * (len(one.rows) - 1)
        if gamma is not None:
            near = within(distances[np.ix_(one.rows, one.rows)], gamma)
            pairs = int(near.sum()) - len(one.rows)
        known, total = known + pairs * size, total + pairs * size
        for m in range(n):
            other = prepared[m]
            near = np.ones((len(one.rows), len(other.rows)), dtype=bool)
            if gamma is not None:
                near = within(distances[np.ix_(one.rows, other.rows)], gamma)
            total += 2 * int(near.sum()) * size
            reached = near.astype(np.int64) @ forms[m].astype(np.int64)
            known += 2 * int((forms[n] * reached).sum())
    return 1.0 - known / total if total else 0.0
