r"""The Bayesian attacker on a channel: the value of the best guess after one report, for any gain.

The attacker knows the channel :math:`z` and the prior :math:`p`, sees one report and answers. Everything here is
computed from :math:`J_{ik} = p_i z_{ik}`, and no attacker does better: each report has its best answer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.metricdp.problem import read_prior

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from discreet.core.guarantee import MetricDP
    from discreet.core.spaces.metric import MetricSpace
    from discreet.evaluate.attack.rows import Reporting


@final
@dataclass(frozen=True, eq=False)
class Vulnerability:
    r"""Expected gain of the best attacker on the secrets, before a report and after it.

    Parameters
    ----------
    prior, posterior
        Expected gain of the best answer; for an error, the least expected error.
    answers
        ``(n_reports,)`` the best answer to each report.
    blind
        The best answer without a report.

    Examples
    --------
    >>> doubled = Vulnerability(0.25, 0.5, np.array([0, 1]), 0)
    >>> doubled.multiplicative, doubled.additive, doubled.bits
    (2.0, 0.25, 1.0)
    """

    prior: float
    posterior: float
    answers: NDArray[np.int64]
    blind: int

    @property
    def multiplicative(self) -> float:
        """Posterior by prior; infinite where only the prior is 0, and 1 where both are."""
        if self.prior:
            return self.posterior / self.prior
        return 1.0 if not self.posterior else math.inf

    @property
    def additive(self) -> float:
        """Posterior less prior."""
        return self.posterior - self.prior

    @property
    def bits(self) -> float:
        """Logarithm of the multiplicative leakage to base 2; for guesses of the secret, min-entropy leakage."""
        return math.log2(self.multiplicative) if self.multiplicative > 0 else -math.inf


@final
@dataclass(frozen=True, eq=False)
class Inference:
    r"""Measures of leakage of one report, on average over secrets and reports.

    Parameters
    ----------
    guess
        Share of secrets guessed right, :math:`\sum_k \max_i J_{ik}`, and that without a report, :math:`\max_i p_i`.
    error
        Least expected error :math:`\sum_k \min_x \sum_i J_{ik} \ell_{ix}`; ``None`` where no loss was given.
    entropy, mutual_information
        Shannon entropy of the secret and what a report takes away from it, in bits.
    capacity
        Logarithm to base 2 of :math:`\sum_k \max_i z_{ik}`: min-entropy leakage is at most this under any prior, and
        equal to it under the uniform one; so is the leakage for any gain that is not negative.
    """

    guess: Vulnerability
    error: Vulnerability | None
    entropy: float
    mutual_information: float
    capacity: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON: probabilities, measures in bits, and with a loss the errors in its unit.

        Keys: ``"prior_success"``, ``"posterior_success"``, ``"min_entropy_leakage_bits"``, ``"capacity_bits"``,
        ``"entropy_bits"``, ``"mutual_information_bits"``, and with a loss ``"prior_error"`` and ``"expected_error"``.
        """
        values: dict[str, Any] = {
            "prior_success": self.guess.prior,
            "posterior_success": self.guess.posterior,
            "min_entropy_leakage_bits": self.guess.bits,
            "capacity_bits": self.capacity,
            "entropy_bits": self.entropy,
            "mutual_information_bits": self.mutual_information,
        }
        if self.error is not None:
            values |= {"prior_error": self.error.prior, "expected_error": self.error.posterior}
        return values


def infer(
    channel: Reporting, prior: ArrayLike | None = None, loss: ArrayLike | None = None
) -> Inference:
    """Compute the leakage of one report of a channel to the best attacker.

    Parameters
    ----------
    channel
        The mechanism.
    prior
        ``(n_secrets,)`` probabilities that the attacker starts from; uniform by default.
    loss
        ``(n_secrets, n_answers)`` what the attacker loses by an answer, such as the distance to the true place.

    Returns
    -------
    Inference
        Numbers that are exact up to a relative rounding below ``10^-9``.

    Raises
    ------
    InvalidProblemError
        For a prior or a loss that do not fit the channel.

    Complexity
    ----------
    O(n_secrets n_reports n_answers) products of floats, as one matrix product.

    References
    ----------
    Expected inference error is that of [STBH11]_; guessing, gains and capacity those of [Smi09]_ and [ACPS12]_.

    Examples
    --------
    Randomized response with probability 3/4 on two equally likely secrets:

    >>> from discreet.core.channels.channel import Channel
    >>> q = 2**60
    >>> found = infer(Channel.from_weights([[3 * q, q], [q, 3 * q]]))
    >>> found.guess.prior, found.guess.posterior, round(found.guess.bits, 6), round(found.mutual_information, 6)
    (0.5, 0.75, 0.584963, 0.188722)
    """
    known = read_prior(prior, channel.n_secrets)
    joint = known[:, None] * channel.probabilities
    entropy = _entropy(known)
    # H(X) - H(X | Y) = H(X) + H(Y) - H(X, Y).
    nats = entropy + _entropy(joint.sum(axis=0)) - _entropy(joint)
    return Inference(
        bayes_vulnerability(channel, known),
        None if loss is None else expected_error(channel, known, loss),
        entropy,
        max(0.0, nats),
        math.log2(float(channel.probabilities.max(axis=0).sum())),
    )


def bayes_vulnerability(channel: Reporting, prior: ArrayLike | None = None) -> Vulnerability:
    """Compute the probability that the best guess of the secret is right, without a report and after one.

    The prior is uniform if ``None``. The table ``(n_secrets, n_reports)`` is computed whole.

    InvalidProblemError for a prior that is no distribution on the secrets of `channel`.
    """
    known = read_prior(prior, channel.n_secrets)
    joint = known[:, None] * channel.probabilities
    return Vulnerability(
        float(known.max()),
        float(joint.max(axis=0).sum()),
        joint.argmax(axis=0).astype(np.int64),
        int(known.argmax()),
    )


def g_vulnerability(
    channel: Reporting, gain: ArrayLike, prior: ArrayLike | None = None
) -> Vulnerability:
    r"""Compute the expected gain of an attacker who is paid :math:`g_{wi}` for answer w when the secret is i.

    ``O(n_secrets n_reports n_answers)``, as one matrix product.

    Parameters
    ----------
    channel, prior
        As in :func:`infer`.
    gain
        ``(n_answers, n_secrets)`` finite numbers.

    Returns
    -------
    Vulnerability
        :math:`\max_w \sum_i p_i g_{wi}` and :math:`\sum_k \max_w \sum_i J_{ik} g_{wi}`.

    Raises
    ------
    InvalidProblemError
        For a gain of another shape or with other values, or a prior that is no distribution.

    Examples
    --------
    An attacker with three tries at three secrets needs no report:

    >>> from discreet.core.channels.channel import Channel
    >>> told = Channel.from_weights([[2**62, 0], [0, 2**62], [0, 2**62]])
    >>> g_vulnerability(told, np.ones((1, 3))).bits
    0.0
    """
    known = read_prior(prior, channel.n_secrets)
    paid = _table(gain, "gain")
    if paid.shape[1] != channel.n_secrets:
        raise InvalidProblemError("gain", f"{channel.n_secrets} columns", paid.shape[1])
    blind = paid @ known
    worth = paid @ (known[:, None] * channel.probabilities)
    return Vulnerability(
        float(blind.max()),
        float(worth.max(axis=0).sum()),
        worth.argmax(axis=0).astype(np.int64),
        int(blind.argmax()),
    )


def expected_error(channel: Reporting, prior: ArrayLike | None, loss: ArrayLike) -> Vulnerability:
    """Compute the least expected error of an attacker without a report and after one, in the unit of `loss`.

    `loss` is ``(n_secrets, n_answers)``, as in :func:`infer`.

    `prior` is ``(n_secrets,)``, uniform by default. ``O(n_secrets n_reports n_answers)``.

    Raises
    ------
    InvalidProblemError
        If `loss` has not one row for each secret.
    """
    table = _table(loss, "loss")
    if table.shape[0] != channel.n_secrets:
        raise InvalidProblemError("loss", f"{channel.n_secrets} rows", table.shape[0])
    gains = g_vulnerability(channel, -table.T, prior)
    return Vulnerability(-gains.prior, -gains.posterior, gains.answers, gains.blind)


def success_limit(
    space: MetricSpace,
    guarantee: MetricDP,
    prior: ArrayLike | None = None,
    *,
    reports: int = 1,
) -> float:
    r"""Bound the success of any guess after some reports of one secret, by the guarantee alone.

    Each report multiplies the odds of two secrets by :math:`e^{\varepsilon d}` at most, so that after n of them

    .. math:: \Pr[i \mid \text{reports}] \le \frac{p_i}{\sum_j p_j e^{-n \varepsilon d_{ij}}} ,

    where j runs over the secrets that the guarantee constrains against i, and i itself. No guess is right more often
    than the greatest of these.

    ``O(n^2)`` floats. InvalidProblemError for a prior that is no distribution on the secrets.

    Parameters
    ----------
    space
        The secrets and their distances.
    guarantee
        What is claimed for one report.
    prior
        As in :func:`infer`.
    reports
        How many reports of the same secret the attacker sees.

    Returns
    -------
    float
        The bound, at most 1.

    Examples
    --------
    >>> from discreet.core.guarantee import MetricDP
    >>> from discreet.core.spaces.metric import MetricSpace
    >>> pair = MetricSpace.grid(1, 2, cell=1, unit="km")
    >>> round(success_limit(pair, MetricDP(1, "km")), 6), round(success_limit(pair, MetricDP(1, "km"), reports=3), 6)
    (0.731059, 0.952574)
    """
    known = read_prior(prior, space.n)
    lengths = distances_of(space)
    factors = np.exp(-reports * float(guarantee.epsilon) * lengths)
    if guarantee.radius is not None:
        # Beyond the radius no more is claimed here than what a factor of 0 says: nothing.
        factors[lengths > float(guarantee.radius) * (1 + 1e-12)] = 0.0
    below = factors @ known
    possible = known > 0
    return float(np.min([1.0, (known[possible] / below[possible]).max()]))


def distances_of(space: MetricSpace) -> NDArray[np.float64]:
    """Return all distances of a space in its unit, ``(n, n)`` float64; for at most 5120 secrets."""
    return np.asarray(space.distances * 2.0**-space.scale_bits, dtype=np.float64)


def _table(values: ArrayLike, field: str) -> NDArray[np.float64]:
    """Return finite numbers as float64 ``(rows, columns)``; raise InvalidProblemError, naming `field`, for others."""
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or not table.size or not np.isfinite(table).all():
        raise InvalidProblemError(field, "a table of finite numbers", f"shape {table.shape}")
    return table


def _entropy(shares: NDArray[np.float64]) -> float:
    """Return the entropy of shares in bits."""
    positive = shares[shares > 0]
    return float(-(positive * np.log2(positive)).sum())
