"""The design problem: secrets with a metric, losses of reports, and a prior.

All of it is public. Invalid input is refused here, before any solver runs.
"""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, final

import numpy as np

from discreet.core.calls import explained_record
from discreet.core.errors import InfeasibleError, InvalidProblemError
from discreet.core.options import array_of, instance_of, numbers_below
from discreet.core.outcome import PublicInput, digest_array
from discreet.core.printed import at_most, count, estimate
from discreet.core.spaces.lengths import DENSE_LIMIT
from discreet.core.spaces.metric import MetricSpace

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


_LOSS_NAMES = ("distance", "euclidean", "haversine", "manhattan", "squared-euclidean")
"""Names of the losses, as `utility_loss` takes them."""

_NORMS: dict[str, Literal["euclidean", "cityblock", "sqeuclidean"]] = {
    "euclidean": "euclidean",
    "manhattan": "cityblock",
    "squared-euclidean": "sqeuclidean",
}
"""Names of losses between points, as SciPy calls them."""

_NO_ZEROS = "by metric privacy, a report that one secret never gives is given by no secret at a finite distance"
"""Reason why a report cannot be forbidden to some secrets only."""

_QUANTILE_WORDS = ("quantile", "percentile", "median")
"""Words in the name of a loss that is refused with the reason."""


@final
@explained_record("Problem(space, utility_loss='euclidean')")
@dataclass(frozen=True, init=False, eq=False, repr=False)
class Problem:
    r"""The objective of a channel: least expected utility loss.

    .. math:: \sum_i \sum_k p_i\, c_{ik}\, z_{ik}, \qquad z_{ik} = \Pr[\text{report } k \mid \text{secret } i].

    Parameters
    ----------
    space
        The secrets and their distances.
    utility_loss
        c, ``(n_secrets, n_reports)`` finite and non-negative: the loss when secret i is reported as k, in any unit. Or
        the name of a loss: ``"euclidean"``, ``"manhattan"``, ``"squared-euclidean"``, ``"haversine"`` (kilometers)
        between the points of the space, or ``"distance"``, the space's own metric.
    prior
        p, ``(n_secrets,)`` probabilities of the secrets; uniform by default. It must be public: a prior estimated from
        users' data is not.
    reports
        ``(n_reports,)``: distinct secrets as reports. ``None`` for all of them; with a `utility_loss` of another width
        the reports have numbers only.
    forbidden
        ``(m,)`` reports that no secret gives; or ``(m, 2)`` pairs of a secret and a report, of which a report has to be
        forbidden to all secrets or to none.
    max_error
        Largest loss that any report may cause: reports whose loss is above it for some secret are left out.

    Attributes
    ----------
    loss
        c as an array.
    reports
        Secret that each report names, or ``None`` if reports have numbers only.

    Raises
    ------
    InvalidProblemError
        For an invalid argument, or a named loss with more entries than one of 5,120 secrets; the message names it.
    InfeasibleError
        If only some secrets must not give a report, or every report exceeds `max_error` for some secret: under metric
        privacy a report that one secret never gives is given by no secret at a finite distance.

    Examples
    --------
    >>> from discreet.core.spaces.metric import MetricSpace
    >>> problem = Problem(MetricSpace.grid(1, 3, cell=1.0, unit="km"), utility_loss="euclidean")
    >>> problem
    Problem(3 secrets, 3 reports, km)
    >>> problem.loss[0].tolist()
    [0.0, 1.0, 2.0]
    >>> Problem(problem.space, utility_loss="euclidean", prior=[0.5, 0.5, 0.5])
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: prior: expected probabilities that sum to 1, got a sum off by 0.5
    >>> Problem(MetricSpace.grid(100, 1000, cell=1, unit="km"), utility_loss="distance")
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: space: expected at most 5,120 secrets or few reports, got 100,000
    """

    space: MetricSpace
    loss: NDArray[np.float64]
    prior: NDArray[np.float64]
    reports: NDArray[np.int64] | None

    def __init__(
        self,
        space: MetricSpace,
        *,
        utility_loss: ArrayLike | str,
        prior: ArrayLike | None = None,
        reports: ArrayLike | None = None,
        forbidden: ArrayLike | None = None,
        max_error: float | None = None,
    ) -> None:
        instance_of(space, MetricSpace, "space", "a MetricSpace")
        n = space.n
        named = None if reports is None else numbers_below(reports, n, "reports", "secrets")
        if named is not None and len(np.unique(named)) != len(named):
            raise InvalidProblemError("reports", "different secrets", "one of them twice")
        if isinstance(utility_loss, str):
            named = np.arange(n, dtype=int) if named is None else named
            if n * len(named) > DENSE_LIMIT**2:
                raise InvalidProblemError("space", "at most 5,120 secrets or few reports", count(n))
            loss = named_loss(space, utility_loss, np.arange(n), named)
        else:
            loss = _read_loss(utility_loss, n)
            if named is None and loss.shape[1] == n:
                named = np.arange(n, dtype=int)
        if named is not None and len(named) != loss.shape[1]:
            expected = f"one secret for each of the {loss.shape[1]} columns of utility_loss"
            raise InvalidProblemError("reports", expected, len(named))
        if forbidden is not None or max_error is not None:
            if named is None:
                field = "max_error" if forbidden is None else "forbidden"
                raise InvalidProblemError(field, "reports that are secrets", "reports with numbers")
            columns = _allowed_reports(loss, named, forbidden, max_error)
            loss, named = np.take(loss, columns, axis=1), named[columns]
        parts = {"loss": loss, "prior": read_prior(prior, n), "reports": named}
        object.__setattr__(self, "space", space)
        for name, part in parts.items():
            if part is not None:
                part.setflags(write=False)
            object.__setattr__(self, name, part)

    @property
    def n_secrets(self) -> int:
        """Number of secrets."""
        return int(self.loss.shape[0])

    @property
    def n_reports(self) -> int:
        """Number of reports."""
        return int(self.loss.shape[1])

    @cached_property
    def cost(self) -> NDArray[np.float64]:
        """Cost ``(n, K)`` of each entry of the channel, ``p_i c_ik``; the expected loss is the sum of ``cost * z``."""
        cost: NDArray[np.float64] = self.prior[:, None] * self.loss
        cost.setflags(write=False)
        return cost

    def assumed_public(self) -> tuple[PublicInput, ...]:
        """Return the inputs that a design assumes to be public, each with its hash.

        Space, losses, prior, and reports if named. ``O(n k + n^2)``, and at first access the distances.
        """
        k = self.n_reports
        loss = digest_array(self.loss), f"loss of {k} reports for each secret"
        inputs = public_inputs(self.space, loss, self.prior)
        if self.reports is None:
            return inputs
        named = digest_array(self.reports), f"{k} secrets that may be reported"
        return (*inputs, PublicInput("reports", *named))

    @cached_property
    def digest(self) -> str:
        """SHA-256 in hexadecimal of all inputs; hashes all distances, ``O(n^3)`` if they are not yet closed."""
        parts = " ".join(f"{part.name} {part.digest}" for part in self.assumed_public())
        return hashlib.sha256(f"discreet.metricdp.problem/1 {parts}".encode()).hexdigest()

    def __repr__(self) -> str:
        return f"Problem({self.n_secrets} secrets, {self.n_reports} reports, {self.space.unit})"


def public_inputs(
    space: MetricSpace, loss: tuple[str, str], prior: NDArray[np.float64]
) -> tuple[PublicInput, ...]:
    """List space, losses and prior ``(n,)`` as inputs, each with its hash; `loss` is that of the losses, and in words.

    ``O(n)``, and at first access the distances.
    """
    return (
        PublicInput("space", space.digest, f"{space.n} secrets, distances in {space.unit}"),
        PublicInput("utility_loss", *loss),
        PublicInput("prior", digest_array(prior), f"probability of each of {space.n} secrets"),
    )


def _read_loss(utility_loss: ArrayLike, n: int) -> NDArray[np.float64]:
    """Read a table of losses as new float64 ``(n, k)``; raise InvalidProblemError for other shapes and values.

    Values must be finite, not negative, and all 0 or not all tiny; see :func:`_check_losses`.
    """
    expected = f"a table of {n} rows, or one of {', '.join(_LOSS_NAMES)}"
    loss = array_of(utility_loss, "utility_loss", expected, np.float64)
    if loss.ndim != 2 or loss.shape[0] != n or not loss.shape[1]:
        raise InvalidProblemError("utility_loss", expected, f"shape {loss.shape}")
    return _check_losses(loss)


def _check_losses(loss: NDArray[np.float64], *, least: float = 1e-290) -> NDArray[np.float64]:
    """Return losses ``(n, k)`` as a new array; refuse negative or infinite ones, or ones too small for floats.

    InvalidProblemError for these. Products of losses below `least` with probabilities underflow: the largest has to
    be `least` or more, or 0.
    """
    wrong = ~(np.isfinite(loss) & (loss >= 0))
    if wrong.any():
        i, k = np.argwhere(wrong)[0].tolist()
        raise InvalidProblemError(
            "utility_loss", "finite non-negative numbers", f"{loss[i, k]} in row {i}, column {k}"
        )
    largest = float(loss.max())
    if 0 < largest < least:
        expected = f"losses whose largest is {at_most(least)} or more, or all 0; state them in a smaller unit"
        raise InvalidProblemError("utility_loss", expected, at_most(largest))
    return loss + 0.0  # a negative zero becomes a zero, so that equal losses have equal hashes


def named_loss(
    space: MetricSpace, name: str, secrets: NDArray[np.int64], reports: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Compute a named loss of reporting some secrets as others.

    The cost is ``O(a b)``, and for "distance" at first access that of all distances of the space.

    Parameters
    ----------
    space
        The space.
    name
        Name of a loss, as in :class:`Problem`.
    secrets, reports
        ``(a,)`` and ``(b,)``: secrets of the space.

    Returns
    -------
    ndarray
        ``(a, b)`` finite and non-negative.

    Raises
    ------
    InvalidProblemError
        For an unknown name, a loss between points in a space without points, and losses that overflow.

    Examples
    --------
    >>> named_loss(MetricSpace.grid(1, 3, cell=1, unit="km"), "squared-euclidean", np.array([0]), np.array([1, 2]))
    array([[1., 4.]])
    """
    if any(word in name for word in _QUANTILE_WORDS):
        expected = (
            "a mean: a quantile of the loss is not linear in the channel, so that no linear program gives its optimum "
            "and a bound; for the share of reports that miss by more than m, a table of 0 and 1, as in (distance > m)"
        )
        raise InvalidProblemError("utility_loss", expected, repr(name))
    if name not in _LOSS_NAMES:
        raise InvalidProblemError(
            "utility_loss", f"a table, or one of {', '.join(_LOSS_NAMES)}", repr(name)
        )
    if name == "distance":
        if space.has_matrix:
            lengths = space.distances[np.ix_(secrets, reports)]
        else:
            every = np.repeat(secrets, len(reports)), np.tile(reports, len(secrets))
            lengths = space.source.between(*every).reshape(len(secrets), len(reports))
        return np.asarray(np.ldexp(lengths.astype(float), -space.scale_bits))
    if space.points is None:
        raise InvalidProblemError(
            "utility_loss", "a table or 'distance' for a space without points", repr(name)
        )
    origins, destinations = space.points[secrets], space.points[reports]
    if name == "haversine":
        from discreet.core.spaces.geography import great_circle

        return np.stack([great_circle(origin[None], destinations) for origin in origins])
    from scipy.spatial.distance import cdist

    with np.errstate(over="ignore"):
        return _check_losses(cdist(origins, destinations, _NORMS[name]))


def _allowed_reports(
    loss: NDArray[np.float64],
    reports: NDArray[np.int64],
    forbidden: ArrayLike | None,
    max_error: float | None,
) -> NDArray[np.int64]:
    """Return the columns of `loss` ``(n, k)`` without forbidden reports, whose losses are within a maximum error.

    Ascending int64. `reports` ``(k,)`` are the secrets of the columns; `forbidden` and `max_error` are as in
    :class:`Problem`. InvalidProblemError for bad arguments or if all are forbidden, InfeasibleError if none is within
    the maximum error. A report of probability 0 from one secret has probability 0 from every secret at a finite
    distance: a report is left out for all secrets, or for none.
    """
    allowed = np.ones(len(reports), dtype=bool)
    if forbidden is not None:
        allowed = ~_forbidden_columns(forbidden, len(loss), reports)
        if not allowed.any():
            raise InvalidProblemError("forbidden", "a report that is left", "all reports")
    if max_error is not None:
        if isinstance(max_error, bool) or not isinstance(max_error, int | float):
            raise InvalidProblemError("max_error", "a number", type(max_error).__name__)
        if not 0 <= max_error <= sys.float_info.max:
            raise InvalidProblemError("max_error", "a loss of 0 or more", at_most(max_error))
        worst = np.where(allowed, loss.max(axis=0), np.inf)
        allowed &= worst <= max_error
        if not allowed.any():
            best = int(worst.argmin())
            raise InfeasibleError(
                f"a maximum error of {estimate(max_error)} is infeasible: {_NO_ZEROS}, so that each report in use "
                f"must be within the maximum for every secret, with a radius as well; the least possible maximum is "
                f"{at_most(float(worst[best]))} (report {reports[best]}). The least bound on the expected loss of "
                "every secret is that of minimax with a prior for each secret (--priors each)"
            )
    return np.flatnonzero(allowed)


def _forbidden_columns(
    forbidden: ArrayLike, n: int, reports: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return whether each report is forbidden, ``(k,)``; raise InfeasibleError if it is to some secrets only.

    `forbidden` are reports, or ``(m, 2)`` pairs of a secret and a report; `reports` ``(k,)`` are those of the
    problem. InvalidProblemError for others. ``O(n k)``.
    """
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
    secrets = numbers_below(table[:, 0], n, "forbidden", "secrets")
    barred = np.zeros((n, len(reports)), dtype=bool)
    order = np.argsort(reports)
    barred[secrets, order[np.searchsorted(reports, table[:, 1], sorter=order)]] = True
    some = barred.any(axis=0) & ~barred.all(axis=0)
    if some.any():
        column = int(some.argmax())
        raise InfeasibleError(
            f"report {reports[column]} is forbidden to {int(barred[:, column].sum())} of {n} secrets: {_NO_ZEROS}; "
            "forbid it to all secrets, or raise its loss for these"
        )
    return np.asarray(barred.any(axis=0))


def read_prior(prior: ArrayLike | None, n: int, *, tolerance: float = 1e-9) -> NDArray[np.float64]:
    """Return the prior of n secrets as new float64 ``(n,)``, uniform by default; refuse an invalid one.

    InvalidProblemError for another shape, a negative or NaN entry, or a sum that differs from 1 by more than
    `tolerance`; the sum is not scaled to 1.

    Examples
    --------
    >>> read_prior(None, 4).tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    if prior is None:
        return np.full(n, 1.0 / n)
    expected = f"{n} probabilities"
    probabilities = array_of(prior, "prior", expected, np.float64)
    if probabilities.shape != (n,):
        raise InvalidProblemError("prior", expected, f"shape {probabilities.shape}")
    if not (probabilities >= 0).all():
        i = int(np.argmin(probabilities >= 0))
        raise InvalidProblemError(
            "prior", "non-negative probabilities", f"{probabilities[i]} at {i}"
        )
    off = abs(float(probabilities.sum()) - 1.0)
    if not off <= tolerance:
        raise InvalidProblemError(
            "prior", "probabilities that sum to 1", f"a sum off by {estimate(off, 3)}"
        )
    return probabilities + 0.0
