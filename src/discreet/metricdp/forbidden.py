r"""Reports that no channel under metric privacy may give, if some secrets must not give them.

A report of probability 0 from one secret has probability 0 from every secret at a finite distance, since
:math:`z_{jk} \le e^{\epsilon d_{ij}} z_{ik}`. To forbid a report is therefore to leave it out for all secrets, and a
maximum error leaves those reports whose loss exceeds it for no secret.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.errors import InfeasibleError, InvalidProblemError
from discreet.core.options import array_of
from discreet.core.printed import at_most

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["allowed_reports"]

_RULE = "by metric privacy, a report that one secret never gives is given by no secret at a finite distance"


def allowed_reports(
    loss: NDArray[np.float64],
    reports: NDArray[np.int64],
    forbidden: ArrayLike | None,
    max_error: float | None,
) -> NDArray[np.int64]:
    """Return the columns of a loss table that are left without forbidden reports and within a maximum error.

    Parameters
    ----------
    loss
        ``(n_secrets, n_reports)``.
    reports
        Secret that each column names.
    forbidden
        ``(m,)`` secrets that are never reported, or ``(m, 2)`` pairs of a secret and a report that it must not give.
    max_error
        Largest loss of any secret under any report.

    Raises
    ------
    InfeasibleError
        For a report that is forbidden to some secrets only, and a maximum error that no report keeps for all secrets.
    InvalidProblemError
        For values of another kind, and if every report is forbidden.

    Examples
    --------
    >>> line = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]])
    >>> allowed_reports(line, np.arange(3), [0], None).tolist(), allowed_reports(line, np.arange(3), None, 1.5).tolist()
    ([1, 2], [1])
    """
    kept = np.ones(len(reports), dtype=np.bool_)
    if forbidden is not None:
        kept = ~_forbidden_columns(forbidden, len(loss), reports)
        if not kept.any():
            raise InvalidProblemError("forbidden", "a report that is left", "all reports")
    if max_error is not None:
        if isinstance(max_error, bool) or not isinstance(max_error, int | float):
            raise InvalidProblemError("max_error", "a number", type(max_error).__name__)
        if not 0 <= max_error <= sys.float_info.max:
            raise InvalidProblemError("max_error", "a loss of 0 or more", at_most(max_error))
        worst = np.where(kept, loss.max(axis=0), np.inf)
        kept &= worst <= max_error
        if not kept.any():
            best = int(worst.argmin())
            raise InfeasibleError(
                f"a maximum error of {at_most(max_error)} is infeasible: {_RULE}, so that each report in use must be "
                f"within the maximum for every secret, with a radius as well; the least possible maximum is "
                f"{at_most(float(worst[best]))} (report {reports[best]}). The least bound on the expected loss of "
                "every secret is that of minimax with a prior for each secret (--priors each)"
            )
    return np.flatnonzero(kept)


def _forbidden_columns(
    forbidden: ArrayLike, n: int, reports: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return whether each report is forbidden; refuse one that is forbidden to some secrets only."""
    expected = "reports, or pairs of a secret and a report"
    table = array_of(forbidden, "forbidden", expected)
    if (
        table.ndim not in {1, 2}
        or not table.size
        or not np.issubdtype(table.dtype, np.integer)
        or table.shape[1:] not in {(), (2,)}
    ):
        raise InvalidProblemError("forbidden", expected, f"{table.dtype} of shape {table.shape}")
    unknown = np.setdiff1d(table if table.ndim == 1 else table[:, 1], reports)
    if len(unknown):
        raise InvalidProblemError("forbidden", "reports of the problem", int(unknown[0]))
    if table.ndim == 1:
        return np.isin(reports, table)
    if table[:, 0].min() < 0 or table[:, 0].max() >= n:
        raise InvalidProblemError("forbidden", f"secrets from 0 to {n - 1}", "another one")
    barred = np.zeros((n, len(reports)), dtype=np.bool_)
    order = np.argsort(reports)
    barred[table[:, 0], order[np.searchsorted(reports, table[:, 1], sorter=order)]] = True
    some = barred.any(axis=0) & ~barred.all(axis=0)
    if some.any():
        column = int(some.argmax())
        raise InfeasibleError(
            f"report {reports[column]} is forbidden to {int(barred[:, column].sum())} of {n} secrets: {_RULE}; forbid "
            "it to all secrets, or raise its loss for these"
        )
    return np.asarray(barred.any(axis=0))
