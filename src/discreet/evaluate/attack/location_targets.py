r"""Read the targets' shares out of the cost table: it is linear in them (B6).

:math:`\beta_{ik} = \sum_l q_l |T_{il} - T_{kl}|` with travel costs T that are public. Nonnegative least squares on the
entries that a client was told gives q back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.evaluate.attack.finding import Finding
from discreet.evaluate.intervals import Estimate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from discreet.evaluate.attack.location import Session

__all__ = ["attack_targets"]

_MOST = 3_000
"""Entries that are used."""


def attack_targets(
    sessions: Sequence[Session], travel: ArrayLike, shares: ArrayLike
) -> list[Finding]:
    """Compute shares of targets from told costs.

    Parameters
    ----------
    sessions
        Whose clients work together.
    travel
        ``(K, K)`` travel costs, as everybody can compute them.
    shares
        ``(K,)``: the truth, for the judge.

    Returns
    -------
    list of Finding
        One; none where no costs were told.
    """
    from scipy.optimize import nnls

    way, truth = np.asarray(travel, dtype=np.float64), np.asarray(shares, dtype=np.float64)
    pairs: dict[tuple[int, int], float] = {}
    for session in sessions:
        for table in session.tables:
            places = table.places.tolist()
            for a, one in enumerate(places):
                for b in range(a):
                    pairs[one, places[b]] = float(table.costs[a, b])
    if not pairs:
        return []
    chosen = list(pairs)[:: max(1, len(pairs) // _MOST)]
    left, right = np.array(chosen).T
    found, _ = nnls(np.abs(way[left] - way[right]), np.array([pairs[one] for one in chosen]))
    # A place in which nothing starts and that all others see alike can't be told from another; q sums to 1.
    found = found / found.sum() if found.sum() > 0 else np.full(len(truth), 1 / len(truth))
    blind = float(np.abs(truth - 1 / len(truth)).sum())
    return [
        Finding(
            "targets from the cost table",
            "error of their shares, in all",
            Estimate.computed(float(np.abs(found - truth).sum())),
            Estimate.computed(blind),
            limit=blind,
            error=True,
            note=f"{len(chosen)} entries of the table, told to {len(sessions)} clients",
        )
    ]
