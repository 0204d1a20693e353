r"""Membership: whether a record was in the data, guessed from outputs, and the limit of differential privacy.

The game: a fair coin decides between two neighboring inputs, the mechanism runs, the attacker says which it was. Under
:math:`(\varepsilon, \delta)`-differential privacy nobody is right more often than

.. math:: \frac{e^{\varepsilon} + \delta}{1 + e^{\varepsilon}} ,

since with true and false positive rates :math:`t, f` both :math:`t \le e^{\varepsilon} f + \delta` and
:math:`1 - f \le e^{\varepsilon} (1 - t) + \delta`, whose sum bounds :math:`(t + 1 - f) / 2`.
"""

from __future__ import annotations

import math
from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, Any

from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import ApproxDP, PureDP
from discreet.evaluate.attack.finding import DEFAULT_FAILURE, Finding
from discreet.evaluate.intervals import Estimate, clopper_pearson

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

    from discreet.core.guarantee import DPGuarantee
    from discreet.core.randomness import UniformSource

    Read = Callable[[Any], Iterable[Hashable]]
    Run = Callable[[Any, UniformSource | None], Any]


def membership_limit(guarantee: DPGuarantee, *, releases: int = 1) -> float:
    r"""Bound the success of any guess between two neighboring inputs.

    `guarantee` is pure, approximate or zero-concentrated; the bound is a float, at most 1, up to rounding.

    Parameters
    ----------
    guarantee
        What holds for one release.
    releases
        How many independent releases of the same data the attacker sees.

    Returns
    -------
    float
        :math:`(e^{\varepsilon} + \delta) / (1 + e^{\varepsilon})` with parameters added up over the releases. For
        zero-concentrated differential privacy
        :math:`\frac{1}{2} + \frac{1}{2} \min(\sqrt{\rho / 2}, \sqrt{1 - e^{-\rho}})`, since the Kullback-Leibler
        divergence is at most :math:`\rho`, by the inequalities of Pinsker and of Bretagnolle and Huber.

    Raises
    ------
    InvalidProblemError
        For fewer than 1 release.

    Examples
    --------
    >>> from discreet.core.guarantee import PureDP, ZeroConcentratedDP
    >>> round(membership_limit(PureDP(1, "add-remove-one")), 6)
    0.731059
    >>> round(membership_limit(ZeroConcentratedDP("0.02", "replace-one")), 6)
    0.55
    """
    if releases < 1:
        raise InvalidProblemError("releases", "1 or more", releases)
    if isinstance(guarantee, PureDP | ApproxDP):
        epsilon = releases * float(guarantee.epsilon)
        delta = releases * float(guarantee.delta) if isinstance(guarantee, ApproxDP) else 0.0
        # Divided by e^epsilon, which may be beyond floats.
        small = math.exp(-epsilon)
        return min(1.0, (1 + delta * small) / (1 + small))
    rho = releases * float(guarantee.rho)
    return 0.5 + 0.5 * min(math.sqrt(rho / 2), math.sqrt(-math.expm1(-rho)))


def attack_membership(
    run: Run,
    pair: tuple[Any, Any],
    guarantee: DPGuarantee | None = None,
    *,
    read: Read | None = None,
    releases: int = 1,
    trials: int = 2_000,
    failure: float = DEFAULT_FAILURE,
    bits: UniformSource | None = None,
) -> Finding:
    r"""Learn the outputs with a record and without it, then guess which output is which.

    Half of the runs are to learn from. From a part of them come two rules: the ratio of how often each whole output
    occurred, and the sum of such ratios over what `read` sees in an output (naive Bayes), both with one occurrence
    added to each count. The rule that does better on the rest of that half is tried on the other half. The control
    group is a pair of inputs that are the same.

    Parameters
    ----------
    run
        ``run(data, bits)``: the mechanism, unmodified.
    pair
        Two neighboring inputs: with the record, and without it.
    guarantee
        What is claimed for one run; nothing by default, and then there is no limit.
    read
        What an attacker sees in an output: hashable parts. By default the output itself, its parts if it is iterable.
    releases
        How many independent runs on the same data the attacker sees at once.
    trials
        Games, half of them with each input.
    failure
        Most probability with which an interval misses.
    bits
        Source of chance.

    Returns
    -------
    Finding
        Share of games that the attacker wins.

    Raises
    ------
    InvalidProblemError
        For fewer than 40 games.

    Complexity
    ----------
    ``2 trials releases`` runs.

    Examples
    --------
    A mechanism that says whether there are three records keeps nothing:

    >>> from discreet.core.guarantee import PureDP
    >>> claim = PureDP(1, "add-remove-one")
    >>> found = attack_membership(lambda data, bits: len(data), ([1, 2, 3], [1, 2]), claim, trials=200)
    >>> found.attacker.value, found.kept
    (1.0, False)
    """
    if trials < 40:
        raise InvalidProblemError("trials", "40 games or more", trials)
    half = trials // 2
    look = _parts if read is None else read

    def outputs(data: Any) -> list[tuple[tuple[Hashable, ...], ...]]:  # noqa: ANN401 - whatever the mechanism takes
        return [tuple(tuple(look(run(data, bits))) for _ in range(releases)) for _ in range(half)]

    own = _play(outputs(pair[0]), outputs(pair[1]), failure)
    # A fair comparison needs runs of its own.
    idle = _play(outputs(pair[1]), outputs(pair[1]), failure)
    limit = None if guarantee is None else membership_limit(guarantee, releases=releases)
    name = "membership" if releases == 1 else f"membership, {releases} releases"
    return Finding(name, "games won", own, Estimate.computed(0.5), idle, limit=limit)


def _play(
    inside: Sequence[tuple[tuple[Hashable, ...], ...]],
    outside: Sequence[tuple[tuple[Hashable, ...], ...]],
    failure: float,
) -> Estimate:
    """Learn two rules from a third of the games, choose one on a sixth, and return its success on the other half.

    `inside` and `outside` have what the attacker saw in each game, a tuple of outputs.
    """
    n = len(inside)
    learn, choose = n // 3, n // 2
    rules = [
        (
            kind,
            *(Counter(chain.from_iterable(map(kind, runs[:learn]))) for runs in (inside, outside)),
        )
        for kind in (tuple, chain.from_iterable)
    ]

    def wins(rule: Any, part: slice) -> int:  # noqa: ANN401 - what lists the parts, and two counters
        kind, ours, theirs = rule
        ins, outs = (
            [
                sum(math.log((ours[one] + 1) / (theirs[one] + 1)) for one in kind(seen))
                for seen in runs[part]
            ]
            for runs in (inside, outside)
        )
        # Where nothing speaks for either, the first input is named: right as often as wrong.
        return sum(score >= 0 for score in ins) + sum(score < 0 for score in outs)

    best = max(rules, key=lambda rule: wins(rule, slice(learn, choose)))
    test = slice(choose, n)
    return clopper_pearson(wins(best, test), 2 * (n - choose), failure=failure)


def _parts(output: Any) -> Iterable[Hashable]:  # noqa: ANN401 - whatever the mechanism gives
    """Return the parts of an iterable output, sorted by their text; of any other the output alone."""
    try:
        return sorted(output, key=repr) if not isinstance(output, str) else (output,)
    except TypeError:
        return (output,)
