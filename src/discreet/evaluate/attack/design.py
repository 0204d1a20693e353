"""All attacks on a channel together: one report, several reports, and a person who moves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.spaces.metric import MetricSpace
from discreet.evaluate.attack.bayes import distances_of, infer, success_limit
from discreet.evaluate.attack.finding import DEFAULT_FAILURE, Attacked, Finding
from discreet.evaluate.attack.reports import attack_reports, watch_repeated
from discreet.evaluate.attack.trajectory import attack_trajectories, random_walk
from discreet.evaluate.intervals import Estimate
from discreet.metricdp.problem import read_prior

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from discreet.core.guarantee import MetricDP
    from discreet.core.progress import Progress
    from discreet.core.randomness import UniformSource
    from discreet.evaluate.attack.rows import Reporting
    from discreet.metricdp.problem import Problem


def attack_channel(
    channel: Reporting,
    problem: Problem | MetricSpace,
    guarantee: MetricDP,
    *,
    target: str = "channel",
    reports: Sequence[int] = (1, 2, 5, 10),
    steps: int = 0,
    stride: float | None = None,
    trials: int | None = None,
    failure: float = DEFAULT_FAILURE,
    bits: UniformSource | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Attacked:
    """Attack a channel by one report, by several reports of one secret, and by the reports of a person who moves.

    Parameters
    ----------
    channel
        A channel, or the :class:`~discreet.evaluate.attack.rows.ShownRows` of one without a table.
    problem
        Secrets, distances and prior: a design problem, or a space, whose prior is uniform.
    guarantee
        Claim for one report.
    target
        Name of the channel in the outcome.
    reports
        Numbers of reports of one secret, ascending.
    steps
        Number of reports of a person who moves; none by default.
    stride
        Length of a step, in the unit of the space; default: the mean distance of a secret to the nearest.
    trials, failure, bits, on_progress
        As in :func:`~discreet.evaluate.attack.trajectory.attack_trajectories`; 20,000 trials by default.

    Returns
    -------
    Attacked
        Findings, with the limits that the claim sets; facts are ``"success_limit"`` and those of ``Inference.to_dict``.

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
    space, prior = (
        (problem, None) if isinstance(problem, MetricSpace) else (problem.space, problem.prior)
    )
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
    repeated = [n for n in reports if n > 1]
    several = watch_repeated(
        channel, known, reports=repeated, trials=max(2, number // 5), failure=failure, bits=bits
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
            trials=max(4, number // 10),
            failure=failure,
            bits=bits,
            on_progress=on_progress,
        )
    facts = infer(channel, known, apart).to_dict()
    return Attacked(target, tuple(findings), {**facts, "success_limit": limit})
