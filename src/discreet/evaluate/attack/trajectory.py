r"""People who move and report at every step: a hidden Markov model of the way, its posterior, its likeliest path.

States are secrets, steps follow a transition matrix :math:`T`, and the report at step t has likelihood
:math:`z_{i k_t}`. Forward and backward passes give the posterior of each step given *all* reports; the Viterbi pass
gives the likeliest way. The first is the best guess step by step, the second the best guess of the way ([Rab89]_).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.progress import Reporter
from discreet.core.randomness import as_bits
from discreet.evaluate.attack.bayes import bayes_vulnerability, distances_of
from discreet.evaluate.attack.finding import DEFAULT_FAILURE, Finding
from discreet.evaluate.attack.reports import MAX_LIKELIHOODS_AT_ONCE, draw_secrets
from discreet.evaluate.intervals import Estimate, bounded_mean
from discreet.metricdp.problem import read_prior

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from discreet.core.progress import Progress
    from discreet.core.randomness import RandomBits, UniformSource
    from discreet.core.spaces.metric import MetricSpace
    from discreet.evaluate.attack.rows import Reporting


def random_walk(space: MetricSpace, step: float) -> NDArray[np.float64]:
    r"""Return the transition matrix of a person who moves about: :math:`T_{ij} \propto e^{-d_{ij} / s}`.

    ``O(n^2)`` time and memory.

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
    likely, steps = np.ascontiguousarray(channel.probabilities.T), seen.shape[-1]
    beliefs, scales = np.empty((*seen.shape, channel.n_secrets)), np.empty(seen.shape)
    state = np.broadcast_to(known, (*seen.shape[:-1], channel.n_secrets))
    for t in range(steps):
        joint = state * likely[seen[..., t]]
        scales[..., t] = joint.sum(axis=-1)
        if not (scales[..., t] > 0).all():
            raise InvalidProblemError("reports", "reports that the model can give", "others")
        beliefs[..., t, :] = joint / scales[..., t, None]
        state = beliefs[..., t, :] @ moves
    behind = np.ones_like(beliefs[..., 0, :])
    for t in range(steps - 2, -1, -1):
        behind = (likely[seen[..., t + 1]] * behind / scales[..., t + 1, None]) @ moves.T
        joint = beliefs[..., t, :] * behind
        beliefs[..., t, :] = joint / joint.sum(axis=-1, keepdims=True)
    return beliefs


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
    from discreet.evaluate.kernels.likeliest import likeliest_ways

    moves, known = _read_model(channel, transition, prior)
    seen = _read_reports(reports, channel)
    with np.errstate(divide="ignore"):
        likely = np.log(np.ascontiguousarray(channel.probabilities.T))
        walk, start = np.log(np.ascontiguousarray(moves)), np.log(known)
    rows = np.ascontiguousarray(seen.reshape(-1, seen.shape[-1]))
    ways = np.empty_like(rows)
    if not likeliest_ways(start, walk, likely, rows, ways):
        raise InvalidProblemError("reports", "reports that the model can give", "others")
    return ways.reshape(seen.shape)


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
    on_progress: Callable[[Progress], None] | None = None,
) -> list[Finding]:
    """Draw ways and their reports, and estimate the ways from the reports.

    Three attackers: one who knows how people move but sees no report; one who looks at each report by itself; and one
    who looks at all of them, who is the best there is. In the control group, each second way is guessed from the
    reports of the way after it; both are independent, and so are these pairs. InvalidProblemError for fewer than one
    step or four trials, a loss with other than `n_secrets` rows, or a model that does not fit the channel.

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
        Ways to draw, 4 or more; the intervals are over them.
    failure
        Most probability with which an interval misses.
    bits, on_progress
        Source of chance; function that is called after each block of ways.

    Returns
    -------
    list of Finding
        Share of steps guessed right by each report alone, by all reports, and on the likeliest way; share of ways
        guessed as a whole; and with a loss the mean error of a step.

    Complexity
    ----------
    O(trials steps n_secrets^2) products of floats, as matrix products, and as many additions; 32 MiB of beliefs
    beside the channel.

    Examples
    --------
    >>> from discreet.core.channels.channel import Channel
    >>> told = Channel.from_weights([[2**62, 0], [0, 2**62]])
    >>> found = attack_trajectories(told, [[0.5, 0.5], [0.5, 0.5]], steps=3, trials=20)
    >>> [one.attacker.value for one in found]
    [1.0, 1.0, 1.0, 1.0]
    """
    moves, known = _read_model(channel, transition, prior)
    if steps < 1 or trials < 4:
        raise InvalidProblemError("steps", "1 or more, and 4 trials or more", (steps, trials))
    table = None if loss is None else np.asarray(loss, dtype=np.float64)
    if table is not None and (table.ndim != 2 or table.shape[0] != channel.n_secrets):
        raise InvalidProblemError("loss", f"{channel.n_secrets} rows", table.shape)
    source = as_bits(bits)
    ways = _draw_ways(moves, known, steps, trials, source)
    seen = channel.report_many(ways.ravel(), source).reshape(ways.shape)
    # Where people are at each step, as far as is known without a report.
    expected = np.empty((steps, channel.n_secrets))
    expected[0] = known
    for t in range(1, steps):
        expected[t] = expected[t - 1] @ moves
    report = Reporter(on_progress)
    by_step, estimates, likeliest = _guess_ways(
        channel, moves, seen, known, table=table, report=report
    )
    alone = _alone(channel, expected)[np.arange(steps), seen]

    def steps_right(answers: NDArray[np.int64], truth: NDArray[np.int64]) -> Estimate:
        return bounded_mean((answers == truth).mean(axis=1), 0, 1, failure=failure)

    def ways_right(answers: NDArray[np.int64], truth: NDArray[np.int64]) -> Estimate:
        return bounded_mean((answers == truth).all(axis=1), 0, 1, failure=failure)

    blind, blind_way = expected.argmax(axis=1), _blind_way(moves, known, steps)
    all_of, way = "all reports of a way", "likeliest way"
    guesses = [("each report alone", alone), (all_of, by_step), (way, likeliest)]
    findings = [
        Finding(name, "steps guessed", *_compare(steps_right, ways, mine, blind))
        for name, mine in guesses
    ]
    findings.append(
        Finding(way, "whole ways guessed", *_compare(ways_right, ways, likeliest, blind_way))
    )
    if table is not None:

        def error(answers: NDArray[np.int64], truth: NDArray[np.int64]) -> Estimate:
            missed = table[truth, answers].mean(axis=1)
            return bounded_mean(missed, float(table.min()), float(table.max()), failure=failure)

        name, naive = f"error, {unit}" if unit else "error", (expected @ table).argmin(axis=1)
        findings.append(Finding(all_of, name, *_compare(error, ways, estimates, naive), error=True))
    return findings


def _compare(
    score: Callable[[NDArray[np.int64], NDArray[np.int64]], Estimate],
    ways: NDArray[np.int64],
    mine: NDArray[np.int64],
    blind: NDArray[np.int64],
) -> tuple[Estimate, Estimate, Estimate]:
    """Score the attacker, the naive one, and the attacker who sees the reports of another way.

    `ways` and `mine`, the guesses, are ``(trials, steps)``, `blind` ``(steps,)``.

    `score` turns guesses and the true ways into an estimate; the other way is that of the next trial.
    """
    last = len(ways) // 2 * 2
    naive = score(np.broadcast_to(blind, ways.shape), ways)
    return score(mine, ways), naive, score(mine[1:last:2], ways[:last:2])


def _guess_ways(
    channel: Reporting,
    moves: NDArray[np.float64],
    seen: NDArray[np.int64],
    known: NDArray[np.float64],
    *,
    table: NDArray[np.float64] | None,
    report: Reporter,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the likeliest secrets step by step, the answers of least expected loss, and the likeliest ways.

    All ``(trials, steps)`` as `seen`, the reports. `moves` is ``(n, n)``, `known` the prior ``(n,)``, `table` the
    losses ``(n, answers)``, ``None`` for no answers. ``O(n^2)`` for each report.
    """
    by_step, estimates, ways = np.empty_like(seen), np.zeros_like(seen), np.empty_like(seen)
    trials, steps = seen.shape
    rows = max(1, MAX_LIKELIHOODS_AT_ONCE // (steps * channel.n_secrets))
    with ThreadPoolExecutor(1) as pool:
        for first in range(0, trials, rows):
            block = slice(first, first + rows)
            report("trajectories", done=first, total=trials)
            likeliest = pool.submit(viterbi, channel, moves, seen[block], known)
            beliefs = forward_backward(channel, moves, seen[block], known)
            by_step[block] = beliefs.argmax(axis=-1)
            if table is not None:
                for t in range(steps):
                    estimates[block, t] = (beliefs[:, t] @ table).argmin(axis=-1)
            ways[block] = likeliest.result()
    report("trajectories", done=trials, total=trials)
    return by_step, estimates, ways


def _blind_way(
    transition: NDArray[np.float64], prior: NDArray[np.float64], steps: int
) -> NDArray[np.int64]:
    """Return the likeliest way ``(steps,)`` without any report; `transition` is ``(n, n)``, `prior` ``(n,)``.

    ``O(steps n^2)``.
    """
    from discreet.core.channels.channel import LIMB_BITS, Channel

    silent = Channel(np.full((1, len(prior), 1), 1 << LIMB_BITS, dtype=np.uint64))
    return viterbi(silent, transition, np.zeros(steps, dtype=np.int64), prior)


def _alone(channel: Reporting, expected: NDArray[np.float64]) -> NDArray[np.int64]:
    """Best guess at each step from its report alone, ``(steps, n_reports)``.

    `expected` ``(steps, n_secrets)`` has the chance of each secret at each step, before any report.
    """
    return np.stack([bayes_vulnerability(channel, at / at.sum()).answers for at in expected])


def _draw_ways(
    moves: NDArray[np.float64],
    known: NDArray[np.float64],
    steps: int,
    trials: int,
    bits: RandomBits,
) -> NDArray[np.int64]:
    """Draw ways of a Markov chain, int64 ``(trials, steps)``, from ``known`` ``(n,)`` and ``moves`` ``(n, n)``.

    Probabilities are rounded to 52 bits. ``O(trials n)`` for each step.
    """
    total = 1 << 52
    weights = np.rint(moves * total).astype(np.int64)
    # One sum for all rows: what rounding leaves is the likeliest place's.
    weights[np.arange(len(known)), weights.argmax(axis=1)] += total - weights.sum(axis=1)
    sums = weights.cumsum(axis=1)
    ways = np.empty((trials, steps), dtype=np.int64)
    ways[:, 0] = draw_secrets(known, trials, bits)
    for t in range(1, steps):
        drawn = bits.randranges(total, trials).astype(np.int64)
        ways[:, t] = (sums[ways[:, t - 1]] <= drawn[:, None]).sum(axis=1)
    return ways


def _read_model(
    channel: Reporting, transition: ArrayLike, prior: ArrayLike | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Read the transition matrix ``(n, n)`` and the prior ``(n,)`` of the secrets, as floats.

    Raises InvalidProblemError unless rows are distributions; the prior is uniform by default.
    """
    n, moves = channel.n_secrets, np.asarray(transition, dtype=np.float64)
    if moves.shape != (n, n) or not np.isfinite(moves).all() or moves.min() < 0:
        raise InvalidProblemError("transition", f"a table of shape {(n, n)}", moves.shape)
    if np.abs(moves.sum(axis=1) - 1).max() > 1e-9:
        raise InvalidProblemError("transition", "rows that sum to 1", "another sum")
    return moves, read_prior(prior, n)


def _read_reports(reports: ArrayLike, channel: Reporting) -> NDArray[np.int64]:
    """Return indices of reports, of any shape, as int64; raise InvalidProblemError for others."""
    seen = np.asarray(reports)
    if seen.ndim < 1 or not seen.size or not np.issubdtype(seen.dtype, np.integer):
        raise InvalidProblemError(
            "reports", "indices of reports", f"shape {seen.shape} {seen.dtype}"
        )
    if seen.min() < 0 or seen.max() >= channel.n_reports:
        raise InvalidProblemError("reports", f"indices from 0 to {channel.n_reports - 1}", "others")
    return seen.astype(np.int64)
