"""All attacks on a designed channel at once: one report, many reports, and a person who moves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.evaluate.attack.bayes import distances_of, infer, read_prior, success_limit
from discreet.evaluate.attack.finding import FAILURE, Attacked, Finding
from discreet.evaluate.attack.reports import attack_reports, watch_repeated
from discreet.evaluate.attack.trajectory import attack_trajectories, random_walk
from discreet.evaluate.intervals import Estimate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from discreet.core.channels.channel import Channel
    from discreet.core.guarantee import MetricDP
    from discreet.core.randomness import UniformSource
    from discreet.core.spaces.metric import MetricSpace
    from discreet.evaluate.attack.rows import Reporting
    from discreet.metricdp.problem import Problem

__all__ = ["attack_channel", "attack_shown"]


def attack_channel(
    channel: Channel,
    problem: Problem,
    guarantee: MetricDP,
    *,
    target: str = "channel",
    reports: Sequence[int] = (1, 2, 5, 10),
    steps: int = 0,
    stride: float | None = None,
    trials: int | None = None,
    failure: float = FAILURE,
    bits: UniformSource | None = None,
) -> Attacked:
    """Attack a channel in every way that is known here.

    Parameters
    ----------
    channel
        The mechanism.
    problem
        Secrets, distances and prior.
    guarantee
        What is claimed for one report.
    target
        What to call it.
    reports
        Numbers of reports of one secret, ascending.
    steps
        Reports of a person who moves; none by default.
    stride
        How far a step goes; by default the mean distance of a secret to the nearest other.
    trials, failure, bits
        As in :func:`~discreet.evaluate.attack.reports.attack_reports`.

    Returns
    -------
    Attacked
        Findings, with the limits that the claim sets, and all measures of leakage as facts.

    Examples
    --------
    >>> from discreet.core.guarantee import MetricDP
    >>> from discreet.core.spaces.metric import MetricSpace
    >>> from discreet.metricdp import Direct, Problem, design
    >>> problem = Problem(MetricSpace.grid(1, 3, cell=1, unit="km"), utility_loss="euclidean")
    >>> made = design(problem, MetricDP(1, unit="km"), method=Direct())
    >>> attack_channel(made.channel, problem, made.guarantee, reports=(1, 3)).kept
    True
    """
    return attack_shown(
        channel,
        problem.space,
        guarantee,
        prior=problem.prior,
        target=target,
        reports=reports,
        steps=steps,
        stride=stride,
        trials=trials,
        failure=failure,
        bits=bits,
    )


def attack_shown(
    channel: Reporting,
    space: MetricSpace,
    guarantee: MetricDP,
    *,
    prior: ArrayLike | None = None,
    target: str = "channel",
    reports: Sequence[int] = (1, 2, 5, 10),
    steps: int = 0,
    stride: float | None = None,
    trials: int | None = None,
    failure: float = FAILURE,
    bits: UniformSource | None = None,
) -> Attacked:
    """Attack a channel whose designer's problem is not known: its rows, on a space.

    Parameters
    ----------
    channel
        The mechanism: a channel, or the :class:`~discreet.evaluate.attack.rows.ShownRows` of one without a table.
    space
        Its secrets and their distances.
    guarantee
        What is claimed for one report.
    prior
        Where the attacker thinks that people are; everywhere alike by default.
    target, reports, steps, stride, trials, failure, bits
        As in :func:`attack_channel`.

    Returns
    -------
    Attacked
        As of :func:`attack_channel`.
    """
    known = read_prior(prior, space.n)
    apart = distances_of(space)
    limit = success_limit(space, guarantee, known)
    number = 20_000 if trials is None else trials
    findings = attack_reports(
        channel,
        known,
        loss=apart,
        unit=space.unit,
        limit=limit,
        trials=number,
        failure=failure,
        bits=bits,
    )
    blind = Estimate.computed(float(known.max()))
    asked = [n for n in reports if n > 1]
    several = watch_repeated(
        channel, known, reports=asked, trials=max(2, number // 5), failure=failure, bits=bits
    )
    findings += [
        Finding(
            f"{line.reports} reports of one secret",
            "secrets guessed",
            line.success,
            blind,
            line.control,
            limit=success_limit(space, guarantee, known, reports=line.reports),
        )
        for line in several
    ]
    if steps:
        if stride is None:
            nearest = (apart + apart.max() * (apart == 0)).min(axis=1)
            stride = float(nearest.mean()) or 1.0
        findings += attack_trajectories(
            channel,
            random_walk(space, stride),
            steps=steps,
            prior=known,
            loss=apart,
            unit=space.unit,
            trials=max(2, number // 10),
            failure=failure,
            bits=bits,
        )
    facts = infer(channel, known, apart).to_dict()
    return Attacked(target, tuple(findings), {**facts, "success_limit": limit})
