r"""Estimates with intervals: shares by Clopper and Pearson, bounded means by Maurer and Pontil, runs by Student.

The first two hold for every number of trials, with no more than the stated probability of failure. The third is
approximate: it takes the mean of independent runs to be normally distributed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.printed import estimate, interval

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_QUANTILE_ERROR = 1e-9
"""Relative error granted to a beta quantile, which is accurate to about 1e-12."""


@final
@dataclass(frozen=True)
class Estimate:
    """A number, and an interval that holds the true one.

    Parameters
    ----------
    value
        The estimate.
    low, high
        Ends of the interval; both `value` where it was computed and not sampled.
    trials
        How many trials it comes from; ``None`` where it was computed.
    failure
        The probability with which the interval misses the true number, over the trials; 0 where it was computed.

    Raises
    ------
    InvalidProblemError
        When the estimate lies outside its interval, or is no number.

    Examples
    --------
    >>> print(Estimate(0.5, 0.4, 0.6, trials=100, failure=0.05), Estimate.computed(0.25))
    0.5 [0.4, 0.6] 0.25
    """

    value: float
    low: float
    high: float
    trials: int | None = None
    failure: float = 0.0

    def __post_init__(self) -> None:
        if not self.low <= self.value <= self.high:
            raise InvalidProblemError("value", f"a number from {self.low} to {self.high}", "none")

    @classmethod
    def computed(cls, value: float) -> Estimate:
        """Return a computed number as an estimate whose interval is that number alone."""
        return cls(float(value), float(value), float(value))

    def __str__(self) -> str:
        ends = "" if self.trials is None else f" [{', '.join(interval(self.low, self.high, 4))}]"
        return f"{estimate(self.value, 4)}{ends}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON under ``"value"``, ``"low"``, ``"high"``, ``"trials"`` and ``"failure"``.

        An infinite end, and the trials of a computed number, are ``None``.
        """
        ends = {"low": self.low, "high": self.high}
        return {
            "value": self.value,
            **{name: end if math.isfinite(end) else None for name, end in ends.items()},
            "trials": self.trials,
            "failure": self.failure,
        }


def least_chance(successes: ArrayLike, trials: int, failure: float) -> NDArray[np.float64]:
    """Return lower bounds on probabilities from counts of successes in `trials` ([CP34]_, one end).

    Each bound fails with probability at most `failure`.

    Same shape as `successes`.

    Examples
    --------
    >>> least_chance([0, 50, 100], 100, 1e-9).round(3).tolist()
    [0.0, 0.222, 0.813]
    """
    from scipy.special import betaincinv

    k = np.asarray(successes, dtype=np.float64)
    quantiles = betaincinv(np.maximum(k, 1e-9), trials - k + 1, failure) * (1 - _QUANTILE_ERROR)
    return np.asarray(np.where(k <= 0, 0.0, quantiles))


def most_chance(successes: ArrayLike, trials: int, failure: float) -> NDArray[np.float64]:
    """Return upper bounds on probabilities, each failing with probability at most `failure`; see :func:`least_chance`.

    Of the shape of `successes`, in `trials` each.
    """
    # The mirrored quantile, which floats resolve where 1 - failure would be rounded to 1.
    failures = least_chance(trials - np.asarray(successes, dtype=np.float64), trials, failure)
    return np.asarray(np.minimum(1.0, (1 - failures) * (1 + _QUANTILE_ERROR)))


def clopper_pearson(successes: int, trials: int, *, failure: float) -> Estimate:
    r"""Estimate a probability by the share of successes, with the interval of [CP34]_.

    The lower end is the probability at which as many successes or more have probability ``failure / 2``, the upper end
    that at which as few or fewer have. Both are quantiles of beta distributions, rounded outwards.

    Parameters
    ----------
    successes, trials
        Counts of independent trials.
    failure
        Most probability with which the interval misses, over both ends.

    Returns
    -------
    Estimate
        The share.

    Raises
    ------
    InvalidProblemError
        For counts that are none, or a failure that is not between 0 and 1.

    Guarantee
    ---------
    The interval covers with probability ``1 - failure`` or more, for every number of trials and every probability.

    Examples
    --------
    >>> print(clopper_pearson(0, 10, failure=0.05))
    0 [0, 0.3085]
    """
    _check_failure(failure)
    if trials < 1 or not 0 <= successes <= trials:
        raise InvalidProblemError("successes", "from 0 to the number of trials", "others")
    low = float(least_chance(successes, trials, failure / 2))
    high = 1 - float(least_chance(trials - successes, trials, failure / 2))
    return Estimate(successes / trials, low, high, trials, failure)


def bounded_mean(values: ArrayLike, least: float, most: float, *, failure: float) -> Estimate:
    r"""Estimate the mean of a bounded quantity, with the empirical Bernstein interval of [MP09]_, Theorem 4.

    For independent values in an interval of width :math:`w` with sample variance :math:`V`, on each side

    .. math:: \sqrt{\frac{2 V \ln(4 / \beta)}{n}} + \frac{7 w \ln(4 / \beta)}{3 (n - 1)} ,

    where :math:`\beta` is the probability of failure over both sides.

    The interval is cut to [least, most]. A failure that is not between 0 and 1, and NaN, are refused too. Linear in
    the values, of shape ``(n,)``.

    Parameters
    ----------
    values
        Two independent values or more.
    least, most
        Ends of the interval in which every value lies, known before.
    failure
        Most probability with which the interval misses.

    Returns
    -------
    Estimate
        The mean.

    Raises
    ------
    InvalidProblemError
        For fewer than two values, or values outside the interval.

    Examples
    --------
    >>> print(bounded_mean([0.0, 1.0] * 500, 0, 1, failure=0.05))
    0.5 [0.4429, 0.5571]
    """
    _check_failure(failure)
    sample = np.asarray(values, dtype=np.float64)
    if sample.ndim != 1 or sample.size < 2:
        raise InvalidProblemError("values", "two numbers or more", f"shape {sample.shape}")
    if not (least <= float(sample.min()) and float(sample.max()) <= most):
        raise InvalidProblemError("values", f"numbers from {least} to {most}", "others")
    n, mean, tail = sample.size, float(sample.mean()), math.log(4 / failure)
    reach = math.sqrt(2 * float(sample.var(ddof=1)) * tail / n)
    reach += 7 * (most - least) * tail / (3 * (n - 1))
    return Estimate(mean, max(least, mean - reach), min(most, mean + reach), n, failure)


def student_mean(values: ArrayLike, *, failure: float) -> Estimate:
    """Estimate the mean of independent runs, with Student's interval. It is approximate.

    The interval is not cut to any range. A failure that is not between 0 and 1,
    NaN and infinite values are refused too. Linear in the values, of shape ``(n,)``.

    Parameters
    ----------
    values
        Two values or more, one from each run.
    failure
        The probability with which the interval misses, were the mean of runs normally distributed.

    Returns
    -------
    Estimate
        The mean.

    Raises
    ------
    InvalidProblemError
        For fewer than two values.

    Examples
    --------
    >>> print(student_mean([1.0, 2.0, 3.0], failure=0.05))
    2 [-0.4842, 4.485]
    """
    from scipy.special import stdtrit

    _check_failure(failure)
    sample = np.asarray(values, dtype=np.float64)
    if sample.ndim != 1 or sample.size < 2 or not np.isfinite(sample).all():
        raise InvalidProblemError("values", "two finite numbers or more", f"shape {sample.shape}")
    n, mean = sample.size, float(sample.mean())
    reach = -float(stdtrit(n - 1, failure / 2)) * float(sample.std(ddof=1)) / math.sqrt(n)
    return Estimate(mean, mean - reach, mean + reach, n, failure)


def _check_failure(failure: float) -> None:
    """Raise InvalidProblemError for a probability that is not between 0 and 1."""
    if not 0 < failure < 1:
        raise InvalidProblemError("failure", "a probability between 0 and 1", failure)
