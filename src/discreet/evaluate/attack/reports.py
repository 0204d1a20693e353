r"""Attacks on a channel as it is used: reports are drawn, guesses are made and counted, once and after many reports.

The Bayesian attacker's success is known without drawing. Drawing shows that the production sampler gives what the
matrix says, and it is the only way to many reports of one secret, whose number of combinations grows beyond counting.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.randomness import as_bits, categoricals
from discreet.evaluate.attack.bayes import (
    bayes_vulnerability,
    expected_error,
)
from discreet.evaluate.attack.finding import DEFAULT_FAILURE, Finding
from discreet.evaluate.intervals import Estimate, bounded_mean, clopper_pearson
from discreet.metricdp.problem import read_prior

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from discreet.core.randomness import UniformSource
    from discreet.evaluate.attack.rows import Reporting

MAX_LIKELIHOODS_AT_ONCE = 1 << 22
"""Likelihoods of reports or of ways that are in memory: 32 MiB; more are computed in blocks."""


@final
@dataclass(frozen=True)
class Guessing:
    """Success of the best guess of a secret after a number of reports of it.

    Parameters
    ----------
    reports
        How many.
    success
        Share of secrets guessed right by the best attacker.
    control
        The same attacker, given reports of other secrets; ``None`` where the success was computed.
    """

    reports: int
    success: Estimate
    control: Estimate | None


def attack_reports(
    channel: Reporting,
    prior: ArrayLike | None = None,
    *,
    loss: ArrayLike | None = None,
    unit: str = "",
    limit: float | None = None,
    trials: int = 20_000,
    failure: float = DEFAULT_FAILURE,
    bits: UniformSource | None = None,
) -> list[Finding]:
    """Draw secrets and reports, answer as the Bayesian attacker would, and count.

    The control group sees a report of another person: the attacker then does no better than chance. Two reports for
    each trial, and the matrix products of :func:`~discreet.evaluate.attack.bayes.infer`. InvalidProblemError for a
    prior or a loss that does not fit the channel, or a failure outside (0, 1).

    Parameters
    ----------
    channel, prior, loss
        As in :func:`~discreet.evaluate.attack.bayes.infer`.
    unit
        Unit of the loss.
    limit
        What the guarantee allows, from :func:`~discreet.evaluate.attack.bayes.success_limit`.
    trials
        Reports to draw.
    failure
        Most probability with which an interval misses.
    bits
        Source of chance.

    Returns
    -------
    list of Finding
        The guess, computed; the guess, drawn; and with a loss the error, computed and drawn.

    Examples
    --------
    >>> from discreet.core.channels.channel import Channel
    >>> told = Channel.from_weights([[2**62, 0], [0, 2**62]])
    >>> [found.attacker.value for found in attack_reports(told, trials=100)]
    [1.0, 1.0]
    """
    known = read_prior(prior, channel.n_secrets)
    secrets = draw_secrets(known, trials, bits)
    seen = channel.report_many(secrets, as_bits(bits))
    # A report of an independent secret: it says nothing of this one.
    strange = channel.report_many(draw_secrets(known, trials, bits), as_bits(bits))
    best_guess = bayes_vulnerability(channel, known)

    def share(answers: NDArray[np.int64]) -> Estimate:
        return clopper_pearson(int((answers == secrets).sum()), trials, failure=failure)

    computed = Estimate.computed
    naive = computed(best_guess.prior)
    findings = [
        Finding(
            "best guess, computed",
            "secrets guessed",
            computed(best_guess.posterior),
            naive,
            bound=best_guess.posterior,
            limit=limit,
        ),
        Finding(
            "best guess, drawn",
            "secrets guessed",
            share(best_guess.answers[seen]),
            naive,
            share(best_guess.answers[strange]),
            best_guess.posterior,
            limit,
        ),
    ]
    if loss is None:
        return findings
    table = np.asarray(loss, dtype=np.float64)
    aimed = expected_error(channel, known, table)
    measure = f"error, {unit}" if unit else "error"

    def mean(answers: NDArray[np.int64]) -> Estimate:
        lost = table[secrets, answers]
        return bounded_mean(lost, float(table.min()), float(table.max()), failure=failure)

    blind, best = computed(aimed.prior), computed(aimed.posterior)
    findings += [
        Finding("best estimate, computed", measure, best, blind, bound=best.value, error=True),
        Finding(
            "best estimate, drawn",
            measure,
            mean(aimed.answers[seen]),
            blind,
            mean(aimed.answers[strange]),
            best.value,
            error=True,
        ),
    ]
    return findings


def repeated_success(
    channel: Reporting, prior: ArrayLike | None = None, *, reports: int, max_terms: int = 200_000
) -> float | None:
    r"""Compute the success of the best guess after independent reports of one secret.

    Reports in another order say the same, so that it suffices to sum over multisets:
    :math:`\sum_m \frac{n!}{\prod_k m_k!} \max_i p_i \prod_k z_{ik}^{m_k}`.

    One product of `reports` floats for each multiset and secret. InvalidProblemError for fewer than one report, or a
    prior that does not fit the channel.

    Parameters
    ----------
    channel, prior
        As in :func:`~discreet.evaluate.attack.bayes.infer`.
    reports
        Number of reports.
    max_terms
        Multisets of reports that are summed, each by a product of floats for each secret.

    Returns
    -------
    float or None
        ``None`` for more than `max_terms` multisets or 170 reports, the last whose factorial is a float;
        :func:`watch_repeated` draws them then.

    Examples
    --------
    Two reports of a coin of 3/4 are no better than one, three are:

    >>> from discreet.core.channels.channel import Channel
    >>> q = 2**60
    >>> coin = Channel.from_weights([[3 * q, q], [q, 3 * q]])
    >>> [repeated_success(coin, reports=n) for n in (1, 2, 3)]
    [0.75, 0.75, 0.84375]
    """
    known = read_prior(prior, channel.n_secrets)
    n, k = _count(reports), channel.n_reports
    kinds = math.comb(k + n - 1, n)
    if kinds > max_terms or math.factorial(n) > sys.float_info.max:
        return None
    flat = np.array(list(combinations_with_replacement(range(k), n)), dtype=np.int64)
    # A product of 1 to m over each run of m equal reports.
    run, ways = np.ones(len(flat)), np.full(len(flat), float(math.factorial(n)))
    for at in range(1, n):
        run = np.where(flat[:, at] == flat[:, at - 1], run + 1, 1.0)
        ways /= run
    total = 0.0
    rows = max(1, MAX_LIKELIHOODS_AT_ONCE // (channel.n_secrets * n))
    for start in range(0, len(flat), rows):
        part = flat[start : start + rows]
        likely = channel.probabilities[:, part].prod(axis=2) * known[:, None]
        total += float(likely.max(axis=0) @ ways[start : start + rows])
    return min(1.0, total)


def watch_repeated(
    channel: Reporting,
    prior: ArrayLike | None = None,
    *,
    reports: Sequence[int] = (1, 2, 5, 10),
    trials: int = 4_000,
    failure: float = DEFAULT_FAILURE,
    bits: UniformSource | None = None,
) -> list[Guessing]:
    """Measure the success of the best guess by the number of independent reports of one secret.

    Each report costs its epsilon again: what is bounded for one report is not for ten. A mechanism that reports once
    and repeats itself stays at the first line.

    Parameters
    ----------
    channel, prior, trials, failure, bits
        As in :func:`attack_reports`.
    reports
        Numbers of reports, ascending.

    Returns
    -------
    list of Guessing
        Computed where that is possible, drawn otherwise. The attacker answers with the secret of the largest posterior,
        which is optimal.

    Raises
    ------
    InvalidProblemError
        If the numbers of reports are not ascending.

    Complexity
    ----------
    O(trials n_secrets) additions for each number of reports that is drawn.

    Examples
    --------
    >>> from discreet.core.channels.channel import Channel
    >>> q = 2**60
    >>> coin = Channel.from_weights([[3 * q, q], [q, 3 * q]])
    >>> [round(line.success.value, 3) for line in watch_repeated(coin, reports=(1, 3, 11))]
    [0.75, 0.844, 0.966]
    """
    known = read_prior(prior, channel.n_secrets)
    counts = [_count(n) for n in reports]
    if counts != sorted(set(counts)):
        raise InvalidProblemError("reports", "ascending numbers", list(reports))
    computed = {n: repeated_success(channel, known, reports=n) for n in counts}
    made = {
        n: Guessing(n, Estimate.computed(exact), None)
        for n, exact in computed.items()
        if exact is not None
    }
    right = {n: [0, 0] for n in counts if n not in made}
    with np.errstate(divide="ignore"):
        logs, start = np.log(channel.probabilities), np.log(known)
    rows, source = max(1, MAX_LIKELIHOODS_AT_ONCE // channel.n_secrets), as_bits(bits)
    for first in range(0, trials if right else 0, rows):
        size = min(rows, trials - first)
        secrets = draw_secrets(known, size, source)
        # The second group sees reports of others.
        for group, sources in enumerate((secrets, draw_secrets(known, size, source))):
            score = np.tile(start, (size, 1))
            for n in range(1, max(right) + 1):
                score += logs[:, channel.report_many(sources, source)].T
                if n in right:
                    right[n][group] += int((score.argmax(axis=1) == secrets).sum())
    for n, counted in right.items():
        own, other = (clopper_pearson(count, trials, failure=failure) for count in counted)
        made[n] = Guessing(n, own, other)
    return [made[n] for n in counts]


def draw_secrets(
    prior: NDArray[np.float64], trials: int, bits: UniformSource | None
) -> NDArray[np.int64]:
    """Draw `trials` independent secrets, int64 ``(trials,)``, from prior ``(n,)``, rounded to 52 bits."""
    weights = np.rint(prior * 2.0**52).astype(np.int64)
    return categoricals(weights, trials, bits)


def _count(reports: int) -> int:
    """Return a number of reports; refuse less than 1."""
    if isinstance(reports, bool) or reports < 1:
        raise InvalidProblemError("reports", "1 or more", reports)
    return int(reports)
