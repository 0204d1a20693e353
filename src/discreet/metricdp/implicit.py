r"""Implicit channels of balls and tails, by the anchored program.

The program is solved for all pairs at a little less than epsilon, and its columns are rounded to integers with a lift:
a few integers for each report. Proposes; checked by
:func:`~discreet.core.channels.check_implicit.verify_anchored`.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.channels.check_implicit import least_lift, verify_anchored
from discreet.core.channels.implicit import LARGEST_ANCHOR, AnchoredChannel, Ball
from discreet.core.errors import InvalidProblemError
from discreet.metricdp.bounds.tails import TailDesign
from discreet.metricdp.methods.anchored import Anchored
from discreet.metricdp.part import PartLimits, WholeProblem

if TYPE_CHECKING:
    from discreet.core.guarantee import MetricDP
    from discreet.metricdp.methods.anchored import Answer
    from discreet.metricdp.problem import Problem

_TOTALS_SHARE = Fraction(1, 5000)
"""Share of epsilon for the row totals, which are equal up to the tolerance of the program."""

_ROUNDING_SHARE = Fraction(1, 5000)
"""Share of the columns' budget that is left to the rounding."""


def anchored_channel(
    problem: Problem, guarantee: MetricDP, *, method: Anchored | None = None
) -> TailDesign:
    """Design a channel of balls and tails for a problem, by the anchored program.

    InvalidProblemError too if the guarantee does not fit the space. Costs what the alternation of
    :class:`discreet.metricdp.Anchored` costs, and ``O(n^3)`` for the verification.

    Parameters
    ----------
    problem
        At most 5120 secrets, no two at distance 0.
    guarantee
        Epsilon, unit and radius. The program keeps all pairs, whatever the radius.
    method
        The anchored program with its parameters.

    Returns
    -------
    TailDesign
        A verified channel, whose names are indices of reports.

    Raises
    ------
    InvalidProblemError
        For secrets at distance 0 from each other.
    CertificateError
        If the pairs within the radius do not connect the secrets, or the solution of the program is too inaccurate.

    Examples
    --------
    >>> from discreet.core.guarantee import MetricDP
    >>> from discreet.core.spaces.metric import MetricSpace
    >>> from discreet.metricdp import Problem
    >>> space = MetricSpace.grid(5, 5, cell=1, unit="km")
    >>> result = anchored_channel(Problem(space, utility_loss="euclidean"), MetricDP(1, "km"))
    >>> result.certificate.passed, result.channel.n_reports
    (True, 25)
    """
    rate = guarantee.epsilon * (1 - _TOTALS_SHARE) * (1 - _ROUNDING_SHARE)
    whole_problem = WholeProblem(problem, problem.space.adjacency(), rate)
    if whole_problem.n_classes < problem.n_secrets:
        raise InvalidProblemError("problem", "secrets apart from each other", "some at distance 0")
    part = whole_problem.parts[0]
    answer = (method or Anchored()).alternate(part, PartLimits())
    shortest = part.constraints.lengths.min(initial=1 << 46)
    slack = (guarantee.epsilon * (1 - _TOTALS_SHARE) - rate) * Fraction(
        int(shortest), 2**part.constraints.scale_bits
    )
    channel = round_answer(problem, rate, answer, least_lift(slack), part.rate)
    certificate = verify_anchored(channel, guarantee, totals_share=_TOTALS_SHARE)
    certificate.raise_for_failure()
    return TailDesign(channel, guarantee, _TOTALS_SHARE, certificate, 0)


def round_answer(
    problem: Problem,
    rate: Fraction,
    answer: Answer,
    lift: int,
    per_unit: float,
    *,
    largest_weight: int = LARGEST_ANCHOR // 2,
    max_omitted: float = 0.5,
) -> AnchoredChannel:
    """Scale an answer, round it down and add the lift; the constant column becomes explicit weights of all secrets.

    The constant column is kept only if its probability is above `max_omitted`; then it is report number K, K the
    number of columns. ``O(n K)``.

    Parameters
    ----------
    problem
        The problem.
    rate
        Decay of the tails in nats per unit.
    answer
        Solution of the program.
    lift
        Integer added to each weight, within the slack of the rate.
    per_unit
        Nats per stored unit of the program.
    largest_weight
        Limit on anchors and explicit weights before the lift.
    max_omitted
        Probability up to which the constant column is left out: the others, scaled up in all rows alike, cost less.

    Returns
    -------
    AnchoredChannel
        Unverified.
    """
    blocks, u, space = answer.blocks, answer.u, problem.space
    k, home = len(answer.home), answer.home
    explicit = np.flatnonzero(blocks.row >= 0)
    away = per_unit * space.distances[:, home]
    # A tail's variable is its value at its nearest secret; the anchor is the value extrapolated to the center.
    tail_starts = np.where(blocks.tails[:, :k] > 0, away, np.inf).min(axis=0)
    tail_starts = np.where(np.isfinite(tail_starts), tail_starts, 0.0)
    anchors = u[blocks.last[:k]] * np.exp(tail_starts)
    constant = float(u[-1])
    # The sum of all weights of a row stays below 2^61.
    largest = max(float(anchors.max()), float(u[explicit].max()), constant)
    scale = min((1 << 60) / (float(anchors.sum()) + 2.0), largest_weight / largest)
    secrets, reports = blocks.row[explicit], blocks.block[explicit]
    weights = np.floor(u[explicit] * scale).astype(np.int64) + lift
    names, centers = answer.labels[:k], home
    if constant > max_omitted:
        every = np.arange(space.n)
        secrets, reports = np.append(secrets, every), np.append(reports, np.full(space.n, k))
        weights = np.append(weights, np.full(space.n, int(constant * scale) + lift))
        names, centers = answer.labels, np.append(home, 0)
        anchors = np.append(anchors, 0.0)
    return AnchoredChannel(
        space,
        rate,
        centers,
        np.floor(anchors * scale).astype(np.int64),
        lift=lift,
        ball=Ball(secrets, reports, weights),
        names=names,
    )
