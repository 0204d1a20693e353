"""What a channel loses: expected loss, computed and drawn, and the loss that most reports stay below."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.printed import share
from discreet.core.randomness import as_bits
from discreet.evaluate.attack.finding import FAILURE
from discreet.evaluate.attack.reports import draw_secrets
from discreet.evaluate.intervals import Estimate, bounded_mean
from discreet.evaluate.utility.measure import Measure
from discreet.metricdp.methods.baselines import nearest_output_floor

if TYPE_CHECKING:
    from discreet.core.channels.channel import Channel
    from discreet.core.randomness import UniformSource
    from discreet.metricdp.problem import Problem

__all__ = ["channel_utility"]


def channel_utility(
    channel: Channel,
    problem: Problem,
    *,
    most: float = 0.95,
    trials: int = 20_000,
    failure: float = FAILURE,
    bits: UniformSource | None = None,
) -> list[Measure]:
    r"""Measure what reports of a channel lose.

    Parameters
    ----------
    channel
        The mechanism.
    problem
        Prior and loss; all of it public.
    most
        Share of reports for the quantile.
    trials
        Reports to draw.
    failure
        Most probability with which the interval misses.
    bits
        Source of chance.

    Returns
    -------
    list of Measure
        Expected loss :math:`\sum_{ik} p_i c_{ik} z_{ik}`, rounded up; the mean of drawn losses; the least loss that a
        share `most` of the reports does not exceed. Best: without privacy. Worst: the best constant report.

    Raises
    ------
    InvalidProblemError
        For a channel of another size.

    Examples
    --------
    >>> from discreet.core.channels.channel import Channel
    >>> from discreet.core.spaces.metric import MetricSpace
    >>> from discreet.metricdp import Problem
    >>> problem = Problem(MetricSpace.grid(1, 2, cell=1, unit="km"), utility_loss="euclidean")
    >>> coin = Channel.from_weights([[2**61, 2**61], [2**61, 2**61]])
    >>> [round(one.estimate.value, 1) for one in channel_utility(coin, problem)]
    [0.5, 0.5, 1.0]
    """
    if (channel.n_secrets, channel.n_reports) != (problem.n_secrets, problem.n_reports):
        expected = f"{problem.n_secrets} secrets and {problem.n_reports} reports"
        raise InvalidProblemError("channel", expected, f"{channel.n_secrets}, {channel.n_reports}")
    best, worst = nearest_output_floor(problem), float(problem.cost.sum(axis=0).min())
    secrets = draw_secrets(problem.prior, trials, bits)
    lost = problem.loss[secrets, channel.report_many(secrets, as_bits(bits))]
    ends = float(problem.loss.min()), float(problem.loss.max())
    order = np.argsort(problem.loss, axis=None, kind="stable")
    mass = np.cumsum((problem.prior[:, None] * channel.probabilities).ravel()[order])
    at = min(int(np.searchsorted(mass, most)), len(mass) - 1)
    quantile = float(problem.loss.ravel()[order[at]])
    computed = Estimate.computed
    return [
        Measure("expected loss", computed(channel.expected_loss(problem.cost)), best, worst),
        Measure("mean loss, drawn", bounded_mean(lost, *ends, failure=failure), best, worst),
        Measure(f"loss of {share(most)} of reports", computed(quantile)),
    ]
