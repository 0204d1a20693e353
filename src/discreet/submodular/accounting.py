r"""Accounting for a choice of many draws: every valid rule, and the largest coefficient that a budget allows.

A draw has probability proportional to :math:`e^{c q}`. Between neighbors the changes of two scores differ by at most
the *width* w of the statement (times the rank where whole bases are drawn), so that the log-ratio of a draw has a range
of at most :math:`\epsilon_0 = c w`: the draw is :math:`\epsilon_0`-DP and, having bounded range, also
:math:`\epsilon_0^2/8`-zCDP [CR20]_. The loss of k draws is the least of the bounds that the rules below prove.

Proposes; checked by `discreet.submodular.verify.verify`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

from discreet.core.calculus import implies, to_approx_dp
from discreet.core.errors import InvalidProblemError
from discreet.core.exact import exp_above, log_above, root_above, root_below
from discreet.core.guarantee import ApproxDP, PureDP, ZeroConcentratedDP
from discreet.submodular.problem import AccountLine

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.core.guarantee import DPGuarantee
    from discreet.submodular.problem import ChoiceFacts


@final
@dataclass(frozen=True)
class Draws:
    """Draws of one kind from private scores.

    Parameters
    ----------
    count
        How many.
    per_draw
        The range of one draw in widths of a score: 1, or the rank for draws of whole bases.
    bounded_range
        Whether a draw follows the exponential mechanism exactly. Permute-and-flip does not: it has no bounded range.
    one_pass
        Whether the draws build one set, each with the gains over what was drawn before, so that a record's gains add up
        to at most its sensitivity.
    """

    count: int
    per_draw: int = 1
    bounded_range: bool = True
    one_pass: bool = True


def basic(draws: int, loss: Fraction, neighbors: str) -> PureDP:
    """Return the sum of the privacy losses of all draws, as a pure guarantee: ``draws * loss``, exactly.

    `loss` is the epsilon of one draw, at least 0; `neighbors` the relation.

    Examples
    --------
    >>> basic(10, Fraction(1, 10), "replace-one").epsilon
    Fraction(1, 1)
    """
    return PureDP(draws * loss, neighbors)  # type: ignore[arg-type] # checked by PureDP


def concentrated(draws: int, loss: Fraction, neighbors: str) -> ZeroConcentratedDP:
    r"""Return rho of `draws` draws of bounded range: the sum of :math:`\epsilon_0^2/8`, exactly.

    `loss` is :math:`\epsilon_0`, the range of one draw; `neighbors` the relation.

    References
    ----------
    [CR20]_; [DDR20]_ for bounded range.

    Examples
    --------
    >>> concentrated(8, Fraction(1, 2), "replace-one").rho
    Fraction(1, 4)
    """
    return ZeroConcentratedDP(draws * loss**2 / 8, neighbors)  # type: ignore[arg-type] # as above


def advanced(draws: int, loss: Fraction, delta: Fraction, neighbors: str) -> ApproxDP:
    r"""Compose by :math:`k\epsilon_0^2/2 + \sqrt{2 k \ln(1/\delta)}\,\epsilon_0`, rounded up.

    Theorem 2.6 of [RY20]_ is printed without k under the root, which is false: with k = 100 draws at
    :math:`\epsilon_0 = 0.1` and :math:`\delta = 10^{-5}` the true delta at the printed epsilon is 0.13.

    `draws` is k, `loss` :math:`\epsilon_0`, and `delta` the slack, above 0; epsilon is rounded up to 30 significant
    bits.

    References
    ----------
    [BS16]_, Proposition 1.3 with :math:`\rho = k \epsilon_0^2/2`.

    Examples
    --------
    >>> round(float(advanced(100, Fraction(1, 10), Fraction(1, 10**5), "replace-one").epsilon), 2)
    5.3
    """
    log = log_above(1 / delta)
    epsilon = draws * loss**2 / 2 + root_above(2 * draws * log) * loss
    return ApproxDP(short_up(epsilon), delta, neighbors)  # type: ignore[arg-type] # as above


def one_pass(loss: Fraction, delta: Fraction, neighbors: str) -> ApproxDP:
    r"""Account for one greedy pass over a decomposable function, whatever its length.

    With :math:`c` the loss of a draw when one record joins,

    .. math:: \left((e^c - 1) \ln(e/\delta),\ \delta\right)

    when a record leaves; when one joins, the loss is at most c. To replace is to leave and to join:
    :math:`c + (e^c - 1) \ln(e/\delta')` with :math:`\delta' = \delta e^{-c}`.

    Parameters
    ----------
    loss
        Range of one draw between neighbors: c for ``add-remove-one``, 2 c for ``replace-one``.
    delta
        The slack.
    neighbors
        The relation.

    References
    ----------
    [GLMRT10]_, Section 7, with :math:`e^c - 1` in place of :math:`(e - 1) c`, and proved for every :math:`c > 0`, every
    matroid and k-submodular functions on the page *One pass over a sum*.

    Examples
    --------
    >>> made = one_pass(Fraction(1, 50), Fraction(1, 10**6), "add-remove-one")
    >>> round(float(made.epsilon), 3)
    0.299
    """
    replaced = neighbors == "replace-one"
    c = loss / 2 if replaced else loss
    growth = exp_above(c) - 1
    # ln(e/delta') = 1 + ln(1/delta), and + c where delta' = delta e^-c.
    log = 1 + log_above(1 / delta) + (c if replaced else 0)
    epsilon = growth * log + (c if replaced else 0)
    return ApproxDP(short_up(epsilon), delta, neighbors)  # type: ignore[arg-type] # as above


def lines(
    draws: Draws,
    loss: Fraction,
    statement: ChoiceFacts,
    delta: Fraction | None,
    *,
    max_one_pass_loss: int = 600,
) -> list[AccountLine]:
    """Return what each valid rule proves for draws, each with a privacy loss of `loss`.

    One line a rule, in a fixed order. `delta` is for rules that need one. Beyond `max_one_pass_loss` nats the
    exponential of the one-pass rule leaves the range of a guarantee, and basic composition proves far less.

    `statement` says the relation, and whether the one-pass rule applies. At least one line, that of basic
    composition.
    """
    k, relation = draws.count, statement.neighbors
    proved: list[tuple[str, DPGuarantee]] = [("basic composition", basic(k, loss, relation))]
    if draws.bounded_range:
        zero = concentrated(k, loss, relation)
        proved.append(("zCDP of bounded range", zero))
        if delta is not None:
            proved.append(("zCDP, converted", to_approx_dp(zero, delta=delta)))
    if delta is not None:
        proved.append(("advanced composition", advanced(k, loss, delta, relation)))
        # The theorem is about the exponential mechanism's law: permute-and-flip is not covered.
        covered = statement.decomposable and draws.one_pass and draws.bounded_range
        if covered and loss <= max_one_pass_loss:
            proved.append(("decomposable, one pass", one_pass(loss, delta, relation)))
    return [AccountLine(rule, guarantee, k, loss) for rule, guarantee in proved]


def strongest(
    draws: Draws,
    statement: ChoiceFacts,
    guarantee: DPGuarantee,
    *,
    rules: frozenset[str] | None = None,
) -> tuple[Fraction, tuple[AccountLine, ...]]:
    """Find the largest coefficient for which some valid rule proves a guarantee.

    For pure DP the coefficient is exact, otherwise a bisection stops within a part in 10^7 of the largest loss,
    always below it: about 30 evaluations of the rules.

    Parameters
    ----------
    draws
        What is drawn.
    statement
        What is public.
    guarantee
        What must hold.
    rules
        The rules that may be used; all that are valid by default.

    Returns
    -------
    coefficient : Fraction
        c, in units of 1.
    lines : tuple of AccountLine
        What every rule that may be used proves at that coefficient. The first proves the guarantee.

    Raises
    ------
    InvalidProblemError
        When no rule leads to such a guarantee.

    Examples
    --------
    >>> from discreet.submodular.problem import ChoiceFacts
    >>> statement = ChoiceFacts(100, 1, 10, False, Fraction(1), "replace-one")
    >>> c, lines = strongest(Draws(10), statement, PureDP(1, "replace-one"))
    >>> c, lines[0].rule
    (Fraction(1, 40), 'basic composition')
    """
    delta = guarantee.delta if isinstance(guarantee, ApproxDP) else None

    def proves(loss: Fraction) -> list[AccountLine]:
        usable = [
            line
            for line in lines(draws, loss, statement, delta)
            if rules is None or line.rule in rules
        ]
        good = [line for line in usable if implies(line.guarantee, guarantee)]
        return sorted(usable, key=lambda line: line not in good) if good else []

    loss = _largest(proves, guarantee, draws.count)
    if loss is None:
        raise InvalidProblemError(
            "guarantee", "one that this method can have", type(guarantee).__name__
        )
    return loss / (statement.width * draws.per_draw), tuple(proves(loss))


def _largest(
    proves: Callable[[Fraction], list[AccountLine]], guarantee: DPGuarantee, count: int
) -> Fraction | None:
    """Return the largest loss of a draw for which `proves` gives lines, found by bisection, or ``None``.

    `count` draws compose to `guarantee`; the returned loss was checked exactly. About 30 calls of `proves`.
    """
    match guarantee:
        case PureDP():
            exact = guarantee.epsilon / count
            return exact if proves(exact) else None
        case ZeroConcentratedDP():
            exact = short_down(root_below(8 * guarantee.rho / count))
            low = guarantee.rho
        case ApproxDP():
            exact = guarantee.epsilon / count
            low = guarantee.epsilon
        case _:
            raise InvalidProblemError(
                "guarantee", "PureDP, ApproxDP or ZeroConcentratedDP", type(guarantee).__name__
            )
    if proves(exact):
        low = exact
    else:
        # A fraction so small that every rule allows it, if any rule applies at all.
        low = short_down(min(low, Fraction(1)) / (count * 1024))
        if not proves(low):
            return None
    high = 2 * low
    while proves(high):
        low, high = high, 2 * high
    for _ in range(24):
        middle = short_down((low + high) / 2)
        if proves(middle):
            low = middle
        else:
            high = middle
    return low


def short_down(x: Fraction) -> Fraction:
    """Round a positive number down to 30 significant bits."""
    return _short(x, up=False)


def short_up(x: Fraction) -> Fraction:
    """Round a positive number up to 30 significant bits."""
    return _short(x, up=True)


def _short(x: Fraction, *, up: bool, bits: int = 30) -> Fraction:
    """Round a positive fraction up or down to `bits` significant bits, so that what follows from it stays short."""
    magnitude = x.numerator.bit_length() - x.denominator.bit_length()
    unit = Fraction(2) ** (magnitude - bits)
    return (math.ceil(x / unit) if up else math.floor(x / unit)) * unit
