r"""People who move and report at every step: a hidden Markov model of the way, its posterior, its likeliest path.

States are secrets, steps follow a transition matrix :math:`T`, and the report at step t has likelihood
:math:`z_{i k_t}`. Forward and backward passes give the posterior of each step given *all* reports; the Viterbi pass
gives the likeliest way. The first is the best guess step by step, the second the best guess of the way ([Rab89]_).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.randomness import as_bits
from discreet.evaluate.attack.bayes import bayes_vulnerability, distances_of, read_prior
from discreet.evaluate.attack.finding import DEFAULT_FAILURE, Finding
from discreet.evaluate.attack.reports import draw_secrets
from discreet.evaluate.intervals import Estimate, bounded_mean

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from discreet.core.randomness import RandomBits, UniformSource
    from discreet.core.spaces.metric import MetricSpace
    from discreet.evaluate.attack.rows import Reporting

__all__ = [
    "attack_trajectories",
    "forward_backward",
    "random_walk",
    "viterbi",
]


def random_walk(space: MetricSpace, step: float) -> NDArray[np.float64]:
    r"""Return the transition matrix of a person who moves about: :math:`T_{ij} \propto e^{-d_{ij} / s}`.

    Parameters
    ----------
    space
        The places.
    step
        s, in the unit of the space: how far a step goes, about.

    Returns
    -------
    ndarray
        ``(n, n)``, rows sum to 1.

    Raises
    ------
    InvalidProblemError
        For a step that is not positive.

    Examples
    --------
    >>> from discreet.core.spaces.metric import MetricSpace
    >>> random_walk(MetricSpace.grid(1, 2, cell=1, unit="km"), 1.0).round(3).tolist()
    [[0.731, 0.269], [0.269, 0.731]]
    """
    if not step > 0:
        raise InvalidProblemError("step", "a positive distance", step)
    moves = np.exp(-distances_of(space) / step)
    made: NDArray[np.float64] = moves / moves.sum(axis=1, keepdims=True)
    return made


def forward_backward(
    channel: Reporting,
    transition: ArrayLike,
    reports: ArrayLike,
    prior: ArrayLike | None = None,
) -> NDArray[np.float64]:
    """Compute the posterior of each step given all reports.

    Parameters
    ----------
    channel
        The mechanism.
    transition
        ``(n_secrets, n_secrets)``, rows sum to 1: how people move from one report to the next.
    reports
        ``(..., steps)`` indices of reports: one way, or many.
    prior
        ``(n_secrets,)`` where people start; uniform by default.

    Returns
    -------
    ndarray
        ``(..., steps, n_secrets)`` probabilities; rows sum to 1.

    Raises
    ------
    InvalidProblemError
        For arguments that do not fit, or reports that cannot be, given the model.

    Complexity
    ----------
    O(ways steps n_secrets^2), as matrix products.

    Examples
    --------
    A person who never moves and reports twice has one place:

    >>> from discreet.core.channels.channel import Channel
    >>> q = 2**60
    >>> coin = Channel.from_weights([[3 * q, q], [q, 3 * q]])
    >>> forward_backward(coin, np.eye(2), [0, 0]).round(2).tolist()
    [[0.9, 0.1], [0.9, 0.1]]
    """
    moves, known = _read_model(channel, transition, prior)
    seen = _read_reports(reports, channel)
    likely = channel.probabilities.T[seen]
    steps = seen.shape[-1]
    forward, scales = np.empty_like(likely), np.empty(seen.shape)
    state = np.broadcast_to(known, (*seen.shape[:-1], channel.n_secrets))
    for t in range(steps):
        joint = state * likely[..., t, :]
        scales[..., t] = joint.sum(axis=-1)
        if not (scales[..., t] > 0).all():
            raise InvalidProblemError("reports", "reports that the model can give", "others")
        forward[..., t, :] = joint / scales[..., t, None]
        state = forward[..., t, :] @ moves
    posterior = np.empty_like(forward)
    posterior[..., -1, :] = forward[..., -1, :]
    behind = np.ones_like(forward[..., 0, :])
    for t in range(steps - 2, -1, -1):
        behind = (likely[..., t + 1, :] * behind / scales[..., t + 1, None]) @ moves.T
        joint = forward[..., t, :] * behind
        posterior[..., t, :] = joint / joint.sum(axis=-1, keepdims=True)
    return posterior


def viterbi(
    channel: Reporting,
    transition: ArrayLike,
    reports: ArrayLike,
    prior: ArrayLike | None = None,
) -> NDArray[np.int64]:
    """Find the likeliest way given all reports.

    Parameters
    ----------
    channel, transition, reports, prior
        As in :func:`forward_backward`.

    Returns
    -------
    ndarray
        ``(..., steps)`` secrets.

    Raises
    ------
    InvalidProblemError
        For arguments that do not fit, or reports that the model can't give.

    Complexity
    ----------
    O(ways steps n_secrets^2) additions.

    Examples
    --------
    >>> from discreet.core.channels.channel import Channel
    >>> q = 2**60
    >>> coin = Channel.from_weights([[3 * q, q], [q, 3 * q]])
    >>> viterbi(coin, [[0.9, 0.1], [0.1, 0.9]], [0, 1, 0]).tolist()
    [0, 0, 0]
    """
    moves, known = _read_model(channel, transition, prior)
    seen = _read_reports(reports, channel)
    with np.errstate(divide="ignore"):
        likely = np.log(channel.probabilities.T)[seen]
        walk, start = np.log(moves), np.log(known)
    steps = seen.shape[-1]
    came = np.empty(likely.shape, dtype=np.int64)
    score = start + likely[..., 0, :]
    for t in range(1, steps):
        # From each place the best one before; one destination at a time bounds the memory.
        best = np.empty_like(score)
        for place in range(channel.n_secrets):
            reached = score + walk[:, place]
            came[..., t, place] = reached.argmax(axis=-1)
            best[..., place] = reached.max(axis=-1)
        score = best + likely[..., t, :]
    if np.isneginf(score.max(axis=-1)).any():
        raise InvalidProblemError("reports", "reports that the model can give", "others")
    way = np.empty(seen.shape, dtype=np.int64)
    way[..., -1] = score.argmax(axis=-1)
    for t in range(steps - 1, 0, -1):
        way[..., t - 1] = np.take_along_axis(came[..., t, :], way[..., t, None], axis=-1)[..., 0]
    return way


def attack_trajectories(
    channel: Reporting,
    transition: ArrayLike,
    *,
    steps: int,
    prior: ArrayLike | None = None,
    loss: ArrayLike | None = None,
    unit: str = "",
    trials: int = 500,
    failure: float = DEFAULT_FAILURE,
    bits: UniformSource | None = None,
) -> list[Finding]:
    """Draw ways and their reports, and estimate the ways from the reports.

    Three attackers: one who knows how people move but sees no report; one who looks at each report by itself; and one
    who looks at all of them, who is the best there is. The control group sees the reports of another way.

    Parameters
    ----------
    channel, transition, prior
        As in :func:`forward_backward`.
    steps
        Reports on each way, 1 or more.
    loss
        ``(n_secrets, n_answers)`` what an answer misses by, such as a distance.
    unit
        Its unit.
    trials
        Ways to draw, 2 or more; the intervals are over them.
    failure
        Most probability with which an interval misses.
    bits
        Source of chance.

    Returns
    -------
    list of Finding
        Share of steps guessed right by each report alone, by all reports, and on the likeliest way; share of ways
        guessed as a whole; and with a loss the mean error of a step.

    Examples
    --------
    >>> from discreet.core.channels.channel import Channel
    >>> told = Channel.from_weights([[2**62, 0], [0, 2**62]])
    >>> found = attack_trajectories(told, [[0.5, 0.5], [0.5, 0.5]], steps=3, trials=20)
    >>> [one.attacker.value for one in found]
    [1.0, 1.0, 1.0, 1.0]
    """
    moves, known = _read_model(channel, transition, prior)
    if steps < 1 or trials < 2:
        raise InvalidProblemError("steps", "1 or more, and 2 trials or more", steps)
    source = as_bits(bits)
    ways = _draw_ways(moves, known, steps, trials, source)
    seen = channel.report_many(ways.ravel(), source).reshape(ways.shape)
    control_ways = _draw_ways(moves, known, steps, trials, source)
    strange = channel.report_many(control_ways.ravel(), source).reshape(ways.shape)
    # Where people are at each step, as far as is known without a report.
    expected = np.stack([known @ np.linalg.matrix_power(moves, t) for t in range(steps)])
    alone = _alone(channel, expected)
    own, other = (forward_backward(channel, moves, drawn, known) for drawn in (seen, strange))

    def steps_right(answers: NDArray[np.int64]) -> Estimate:
        return bounded_mean((answers == ways).mean(axis=1), 0, 1, failure=failure)

    def ways_right(answers: NDArray[np.int64]) -> Estimate:
        return bounded_mean((answers == ways).all(axis=1), 0, 1, failure=failure)

    blind = steps_right(np.broadcast_to(expected.argmax(axis=1), ways.shape))
    blind_way = np.broadcast_to(_blind_way(moves, known, steps), ways.shape)
    at = np.arange(steps)
    way, other_way = (viterbi(channel, moves, drawn, known) for drawn in (seen, strange))
    one, all_of, likeliest = "each report alone", "all reports of a way", "likeliest way"
    pairs = [
        (one, alone[at, seen], alone[at, strange]),
        (all_of, own.argmax(axis=-1), other.argmax(axis=-1)),
        (likeliest, way, other_way),
    ]
    findings = [
        Finding(name, "steps guessed", steps_right(mine), blind, steps_right(theirs))
        for name, mine, theirs in pairs
    ]
    findings.append(
        Finding(
            likeliest,
            "whole ways guessed",
            ways_right(way),
            ways_right(blind_way),
            ways_right(other_way),
        )
    )
    if loss is not None:
        table = np.asarray(loss, dtype=np.float64)
        if table.ndim != 2 or table.shape[0] != channel.n_secrets:
            raise InvalidProblemError("loss", f"{channel.n_secrets} rows", table.shape)
        name = f"error, {unit}" if unit else "error"
        findings.append(_error_finding(name, table, ways, (own, expected, other), failure))
    return findings


def _error_finding(
    name: str,
    table: NDArray[np.float64],
    ways: NDArray[np.int64],
    beliefs: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]],
    failure: float,
) -> Finding:
    """Return the mean error of a step for the beliefs of the attacker, of the naive one, and of the control group."""
    mine, naive, theirs = (
        bounded_mean(
            table[ways, np.broadcast_to((belief @ table).argmin(axis=-1), ways.shape)].mean(axis=1),
            float(table.min()),
            float(table.max()),
            failure=failure,
        )
        for belief in beliefs
    )
    return Finding("all reports of a way", name, mine, naive, theirs, error=True)


def _blind_way(
    transition: NDArray[np.float64], prior: NDArray[np.float64], steps: int
) -> NDArray[np.int64]:
    """Find the likeliest way without any report."""
    from discreet.core.channels.channel import LIMB_BITS, Channel

    silent = Channel(np.full((1, len(prior), 1), 1 << LIMB_BITS, dtype=np.uint64))
    return viterbi(silent, transition, np.zeros(steps, dtype=np.int64), prior)


def _alone(channel: Reporting, expected: NDArray[np.float64]) -> NDArray[np.int64]:
    """Best guess at each step from its report alone, ``(steps, n_reports)``."""
    return np.stack([bayes_vulnerability(channel, at / at.sum()).answers for at in expected])


def _draw_ways(
    moves: NDArray[np.float64],
    known: NDArray[np.float64],
    steps: int,
    trials: int,
    bits: RandomBits,
) -> NDArray[np.int64]:
    ways = np.empty((trials, steps), dtype=np.int64)
    ways[:, 0] = draw_secrets(known, trials, bits)
    for t in range(1, steps):
        for place in np.unique(ways[:, t - 1]):
            movers = np.flatnonzero(ways[:, t - 1] == place)
            ways[movers, t] = draw_secrets(moves[place], len(movers), bits)
    return ways


def _read_model(
    channel: Reporting, transition: ArrayLike, prior: ArrayLike | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Read the transition matrix and the prior of the secrets of a channel."""
    n, moves = channel.n_secrets, np.asarray(transition, dtype=np.float64)
    if moves.shape != (n, n) or not np.isfinite(moves).all() or moves.min() < 0:
        raise InvalidProblemError("transition", f"a table of shape {(n, n)}", moves.shape)
    if np.abs(moves.sum(axis=1) - 1).max() > 1e-9:
        raise InvalidProblemError("transition", "rows that sum to 1", "another sum")
    return moves, read_prior(prior, n)


def _read_reports(reports: ArrayLike, channel: Reporting) -> NDArray[np.int64]:
    seen = np.asarray(reports)
    if seen.ndim < 1 or not seen.size or not np.issubdtype(seen.dtype, np.integer):
        raise InvalidProblemError(
            "reports", "indices of reports", f"shape {seen.shape} {seen.dtype}"
        )
    if seen.min() < 0 or seen.max() >= channel.n_reports:
        raise InvalidProblemError("reports", f"indices from 0 to {channel.n_reports - 1}", "others")
    return seen.astype(np.int64)
