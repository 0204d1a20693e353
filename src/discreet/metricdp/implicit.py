r"""From the answer of the anchored program to an implicit channel.

The program is solved for all pairs at a little less than epsilon, its columns become integers by the lift, and
:func:`~discreet.core.channels.check_implicit.verify_anchored` judges them. What is kept are a few integers a report.
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

__all__ = ["anchored_channel", "integers_of"]

_SHARE = Fraction(1, 5000)
"""Part of epsilon for the totals, which the program makes equal up to its tolerance."""

_SLACK = Fraction(1, 5000)
"""Part of the columns' budget that is left to the rounding."""

_MOST_CONSTANT = 0.5
"""Probability below which the constant column is left out: the others grow in all rows alike, and they cost less."""


def anchored_channel(
    problem: Problem, guarantee: MetricDP, *, method: Anchored | None = None
) -> TailDesign:
    """Design a channel of balls and tails for a problem, by the anchored program.

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
        A verified channel, whose names are numbers of reports.

    Raises
    ------
    InvalidProblemError
        For secrets at distance 0 from each other.
    CertificateError
        When the pairs within the radius do not connect the secrets, or the program was not solved well enough.

    Examples
    --------
    >>> from discreet.core.guarantee import MetricDP
    >>> from discreet.core.spaces.metric import MetricSpace
    >>> from discreet.metricdp import Problem
    >>> space = MetricSpace.grid(5, 5, cell=1, unit="km")
    >>> made = anchored_channel(Problem(space, utility_loss="euclidean"), MetricDP(1, "km"))
    >>> made.certificate.passed, made.channel.n_reports
    (True, 25)
    """
    rate = guarantee.epsilon * (1 - _SHARE) * (1 - _SLACK)
    whole = WholeProblem(problem, problem.space.adjacency(), rate)
    if whole.n_classes < problem.n_secrets:
        raise InvalidProblemError("problem", "secrets apart from each other", "some at distance 0")
    part = whole.parts[0]
    answer = (method or Anchored()).alternate(part, PartLimits())
    shortest = part.constraints.lengths.min(initial=1 << 46)
    slack = (guarantee.epsilon * (1 - _SHARE) - rate) * Fraction(
        int(shortest), 2**part.constraints.scale_bits
    )
    channel = integers_of(problem, rate, answer, least_lift(slack), part.rate)
    certificate = verify_anchored(channel, guarantee, totals_share=_SHARE)
    certificate.raise_for_failure()
    return TailDesign(channel, guarantee, _SHARE, certificate, 0)


def integers_of(
    problem: Problem,
    rate: Fraction,
    answer: Answer,
    lift: int,
    per_unit: float,
    *,
    largest_weight: int = LARGEST_ANCHOR // 2,
) -> AnchoredChannel:
    """Scale, round down and lift; the constant column becomes explicit weights of all secrets.

    Parameters
    ----------
    problem
        The problem.
    rate
        Nats per unit at which tails fall.
    answer
        What the program found.
    lift
        The lift that the rate leaves room for.
    per_unit
        Nats per stored unit of the program.
    largest_weight
        What no anchor and no explicit weight exceeds, the lift apart.

    Returns
    -------
    AnchoredChannel
        Unverified.
    """
    blocks, u, space = answer.blocks, answer.u, problem.space
    k, home = len(answer.home), answer.home
    inside = np.flatnonzero(blocks.row >= 0)
    away = per_unit * space.distances[:, home]
    # A tail's variable is its value where it begins; the anchor is what that would be at the center.
    begins = np.where(blocks.tails[:, :k] > 0, away, np.inf).min(axis=0)
    begins = np.where(np.isfinite(begins), begins, 0.0)
    anchors = u[blocks.last[:k]] * np.exp(begins)
    constant = float(u[-1])
    # All weights together stay below 2^61, whatever row they are in.
    largest = max(float(anchors.max()), float(u[inside].max()), constant)
    scale = min((1 << 60) / (float(anchors.sum()) + 2.0), largest_weight / largest)
    secrets, reports = blocks.row[inside], blocks.block[inside]
    weights = np.floor(u[inside] * scale).astype(np.int64) + lift
    names, centers = answer.labels[:k], home
    if constant > _MOST_CONSTANT:
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
