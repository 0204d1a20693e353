"""Checks of exact laws: that a law is the stated one, and that two laws are as close as privacy demands.

A guarantee is checked on laws, not on samples, and the unexplored mass is all the tolerance there is.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

from discreet.core.errors import InvalidProblemError
from discreet.core.exact import Exact, exp_above, exp_below, to_fraction
from discreet.core.printed import at_least, at_most

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping

    from discreet.core.randomness.replay import Law

    Range = tuple[Fraction, Fraction]


def assert_law(
    law: Law, expected: Mapping[Any, Exact | Range] | Callable[[Any], Exact | Range]
) -> None:
    """Check a law against the one that it should be; the unexplored mass is all the tolerance there is.

    One comparison of fractions an outcome.

    A pair is (low, high), two fractions; an outcome that a mapping leaves out has probability 0. An expected value
    that is no number is an InvalidProblemError.

    Parameters
    ----------
    law
        From :func:`enumerate_law`.
    expected
        For each outcome its probability, or a pair that brackets it. A mapping states all outcomes; a function
        is requested those that were reached.

    Raises
    ------
    AssertionError
        When the law is certainly another one: some outcome has more mass than it may have, or the outcomes lack more
        in sum than the unexplored mass could bring.

    Examples
    --------
    >>> from discreet.testing import enumerate_law
    >>> assert_law(enumerate_law(lambda bits: bits.randrange(3)), {i: "1/3" for i in range(3)})
    >>> assert_law(enumerate_law(lambda bits: bits.randrange(4) % 3), lambda outcome: "1/3")
    Traceback (most recent call last):
    AssertionError: outcome 0: mass 0.5 is more than 0.333334
    """
    outcomes: Iterable[Hashable]
    if callable(expected):
        outcomes = law.masses
        pairs = {o: _range(expected(o)) for o in outcomes}
    else:
        outcomes = dict.fromkeys([*expected, *law.masses])
        pairs = {o: _range(expected.get(o, 0)) for o in outcomes}
    lacking = Fraction(0)
    for outcome, (low, high) in pairs.items():
        mass = law.bounds(outcome)[0]
        if mass > high:
            raise AssertionError(
                f"outcome {outcome}: mass {at_least(mass)} is more than {at_most(high)}"
            )
        lacking += max(Fraction(0), low - mass)
    if lacking > law.unexplored:
        raise AssertionError(
            f"the outcomes lack {at_least(lacking)} in sum, but only {at_most(law.unexplored)} is unexplored"
        )


def _range(value: Exact | Range) -> Range:
    """Return a pair (low, high) as it is, and an exact number twice; InvalidProblemError for anything else."""
    if isinstance(value, tuple):
        return value
    exact = to_fraction(value, "expected")
    return exact, exact


@final
@dataclass(frozen=True)
class DPVerdict:
    """What two laws show about pure differential privacy.

    Parameters
    ----------
    epsilon
        The epsilon that was asked about.
    delta
        A bound that is proved: the laws are ``(epsilon, delta)``-indistinguishable. Where it is 0, pure
        differential privacy is proved; where it is not, the unexplored mass leaves the question open.
    """

    epsilon: Fraction
    delta: Fraction

    @property
    def proved(self) -> bool:
        """Whether pure differential privacy is proved for these two laws."""
        return self.delta == 0

    def __str__(self) -> str:
        if self.proved:
            return f"{self.epsilon}-indistinguishable: proved"
        return f"({self.epsilon}, {at_most(self.delta, 3)})-indistinguishable: proved; delta 0 is undecided"


def assert_pure_dp(law_a: Law, law_b: Law, epsilon: Exact) -> DPVerdict:
    r"""Check that two laws are :math:`\varepsilon`-indistinguishable, as neighbors must be.

    One comparison of fractions for each outcome and direction.

    Parameters
    ----------
    law_a, law_b
        The laws on two neighboring inputs.
    epsilon
        Privacy parameter, at least 0.

    Returns
    -------
    DPVerdict
        Proved, or the ``delta`` up to which it is proved.

    Raises
    ------
    AssertionError
        Only when a violation is certain: on some set of outcomes the mass of one law exceeds
        :math:`e^\varepsilon` times the mass of the other, all of its unexplored mass included.
    InvalidProblemError
        For a negative epsilon.

    Examples
    --------
    >>> from discreet.testing import enumerate_law
    >>> fair, biased = (enumerate_law(lambda bits, n=n: bits.randrange(n) == 0) for n in (2, 3))
    >>> print(assert_pure_dp(fair, biased, "0.5"))
    1/2-indistinguishable: proved
    >>> assert_pure_dp(fair, biased, "0.1")
    Traceback (most recent call last):
    AssertionError: not 1/10-indistinguishable: the outcomes [True] exceed e^epsilon times the other law by 0.131609
    """
    exact = to_fraction(epsilon, "epsilon")
    if exact < 0:
        raise InvalidProblemError("epsilon", "a non-negative number", exact)
    low, high = exp_below(exact), exp_above(exact)
    delta = Fraction(0)
    for one, other in ((law_a, law_b), (law_b, law_a)):
        excess = {o: mass - high * other.bounds(o)[0] for o, mass in one.masses.items()}
        worst = {o: over for o, over in excess.items() if over > 0}
        surely = sum(worst.values()) - high * other.unexplored
        if surely > 0:
            raise AssertionError(
                f"not {exact}-indistinguishable: the outcomes {list(worst)[:5]} exceed e^epsilon times the other "
                f"law by {at_least(surely)}"
            )
        possibly = (mass - low * other.bounds(o)[0] for o, mass in one.masses.items())
        delta = max(delta, sum((p for p in possibly if p > 0), one.unexplored))
    return DPVerdict(exact, delta)
