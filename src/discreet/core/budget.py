"""What a dataset may still give away: the protocol of a ledger, its arithmetic, and a ledger in memory.

The rules are those that hold without knowing what the analyst will do next: budgets are fixed beforehand, charges are
added up, nothing is paid back. What has no theorem here is refused: mixed neighbors, mixed metric spaces, k-anonymity,
and parallel composition between datasets, which would need to know that they share no person.

Trusted: the guarantee rests on this code wherever several releases are bounded together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from threading import Lock
from typing import TYPE_CHECKING, Protocol

from discreet.core.calculus import compose, to_approx_dp
from discreet.core.errors import BudgetError, InvalidProblemError
from discreet.core.guarantee import ApproxDP, MetricDP, PureDP, ZeroConcentratedDP
from discreet.core.printed import decimal, decimal_up

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.core.exact import Exact
    from discreet.core.guarantee import DPGuarantee, Guarantee


class Budget(Protocol):
    """What a ledger does; ``release`` takes any object that does it.

    An implementation keeps these rules.

    - It charges *before* data are read. A release that fails afterwards stays charged: an error may be an answer.
    - It is all or nothing, and safe against two callers at once.
    - A dataset has one limit, and with it one notion of privacy, one neighboring relation and one protected unit.
    - Epsilon, delta and rho are added up. There is no advanced composition and none between datasets.
    - Rho is charged to an (epsilon, delta) limit at a delta that the release states; see :func:`charge_of`.
    """

    def reserve(self, dataset: str, guarantee: Guarantee) -> None:
        """Charge a dataset, or raise and change nothing.

        Parameters
        ----------
        dataset
            The public name of the dataset.
        guarantee
            What the release is about to spend.

        Raises
        ------
        BudgetError
            When the dataset has no limit, or not enough is left.
        InvalidProblemError
            When the guarantee can't be added to what was charged before.
        """
        ...


@dataclass(frozen=True)
class Account:
    r"""The limit of one dataset and what was charged to it; charging makes a new account.

    With :math:`\varepsilon_i, \delta_i, \rho_i` of the charges, a limit holds while

    .. math::

        \sum_i \varepsilon_i \le \varepsilon, \qquad \sum_i \delta_i \le \delta, \qquad\text{or}\qquad
        \sum_i \rho_i \le \rho .

    Parameters
    ----------
    limit
        The most that all releases together may give away.
    spent
        Sums so far, in the order of the parameters of the limit; empty for a new account.
    together
        What all metric charges so far give away together; ``None`` before the first. It settles the space where the
        limit does not: all others must be about the same one.

    Raises
    ------
    InvalidProblemError
        When the limit is k-anonymity, which does not compose, or no guarantee, or when the sums do not fit the limit.

    Notes
    -----
    A pure charge to an approximate limit has delta 0; to a zero-concentrated one it is :math:`\varepsilon^2/2`
    ([BS16]_, Proposition 1.4). Sums hold also when releases are chosen after seeing earlier ones, since each charge is
    fixed before its release ([DR14]_, Theorem 3.16).

    Examples
    --------
    >>> account = Account(PureDP(1, neighbors="replace-one"))
    >>> account.charge(PureDP("0.7", neighbors="replace-one")).left
    (Fraction(3, 10),)
    >>> account.charge(PureDP("0.7", "replace-one")).charge(PureDP("0.4", "replace-one"))
    Traceback (most recent call last):
    discreet.core.errors.BudgetError: epsilon: 0.4 asked, 0.3 left
    """

    limit: Guarantee
    spent: tuple[Fraction, ...] = ()
    together: MetricDP | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.limit, PureDP | ApproxDP | ZeroConcentratedDP | MetricDP):
            came = type(self.limit).__name__
            raise InvalidProblemError("limit", "differential privacy, which adds up", came)
        size = len(_amounts(self.limit, self.limit))
        spent = self.spent or (Fraction(0),) * size
        if len(spent) != size or min(spent) < 0:
            raise InvalidProblemError("spent", f"{size} nonnegative sums", spent)
        object.__setattr__(self, "spent", spent)

    @property
    def left(self) -> tuple[Fraction, ...]:
        """Return the rest of the limit as exact fractions, in the order of the limit's parameters."""
        limits = _amounts(self.limit, self.limit).values()
        return tuple(limit - spent for limit, spent in zip(limits, self.spent, strict=True))

    def charge(self, guarantee: Guarantee) -> Account:
        """Add a charge.

        This account is not changed. BudgetError also when the charges together would give away more about all pairs
        of a space than a limit that is bound to that space allows. Constant time.

        Parameters
        ----------
        guarantee
            What is to be spent.

        Returns
        -------
        Account
            The account after it.

        Raises
        ------
        BudgetError
            When less is left.
        InvalidProblemError
            When the guarantee has another notion of privacy, other neighbors, another unit, radius or space.
        """
        amounts = _amounts(self.limit, guarantee)
        together = self.together
        if isinstance(self.limit, MetricDP) and isinstance(guarantee, MetricDP):
            together = _together(self.limit, together, guarantee)
        for (name, amount), left in zip(amounts.items(), self.left, strict=True):
            if amount > left:
                raise BudgetError(f"{name}: {decimal(amount)} asked, {decimal(left)} left")
        if together is not None and isinstance(self.limit, MetricDP):
            _refuse_far_pairs(self.limit, together)
        spent = tuple(a + b for a, b in zip(self.spent, amounts.values(), strict=True))
        return replace(self, spent=spent, together=together)


class MemoryBudget:
    """A ledger that lasts as long as the process.

    Parameters
    ----------
    limits
        For each dataset, the most that all releases together may give away.

    Raises
    ------
    InvalidProblemError
        When a limit is k-anonymity.

    Examples
    --------
    >>> budget = MemoryBudget({"census": PureDP(1, neighbors="replace-one")})
    >>> budget.reserve("census", PureDP(1, neighbors="replace-one"))
    >>> budget.reserve("census", PureDP("1e-9", neighbors="replace-one"))
    Traceback (most recent call last):
    discreet.core.errors.BudgetError: dataset 'census': epsilon: 1e-09 asked, 0 left
    """

    def __init__(self, limits: Mapping[str, Guarantee]) -> None:
        self._accounts = {dataset: Account(limit) for dataset, limit in limits.items()}
        self._lock = Lock()

    def account(self, dataset: str) -> Account:
        """Return the account of a dataset: its limit, and what was charged so far.

        Raises
        ------
        BudgetError
            When `dataset` has no limit: what was never granted is not spent.
        """
        try:
            return self._accounts[dataset]
        except KeyError:
            raise BudgetError(f"dataset {dataset!r} has no budget") from None

    def reserve(self, dataset: str, guarantee: Guarantee) -> None:
        """Charge a dataset, or raise and change nothing; see :class:`Budget`. Charges are lost when the process ends.

        `guarantee` is what the release is about to spend.

        Raises
        ------
        BudgetError
            If the dataset has no limit, or the charge would exceed it.
        InvalidProblemError
            If the guarantee can't be added to the limit.
        """
        with self._lock:
            account = self.account(dataset)
            try:
                self._accounts[dataset] = account.charge(guarantee)
            except BudgetError as refusal:
                raise BudgetError(f"dataset {dataset!r}: {refusal}") from None


def charge_of(
    guarantee: DPGuarantee, budget: Budget | None, budget_delta: Exact | None
) -> DPGuarantee:
    """Compute the charge of a release: its guarantee, or for a delta the (epsilon, delta) that follows from its rho.

    The limit of the budget is not looked at: a delta that is missing, or that a budget of rho has no use for, is
    refused when the charge is made.

    Parameters
    ----------
    guarantee
        Guarantee of the release.
    budget
        The ledger that is charged, or ``None``.
    budget_delta
        Part of the budget's delta that this release spends. It is public, needed where the guarantee is
        zero-concentrated and the budget is (epsilon, delta), and refused elsewhere.

    Returns
    -------
    PureDP, ApproxDP or ZeroConcentratedDP
        The guarantee itself without `budget_delta`; otherwise that of
        :func:`~discreet.core.calculus.to_approx_dp`, with epsilon rounded up to seven digits.

    Raises
    ------
    InvalidProblemError
        For a delta without a budget, beside epsilon, or outside of (0, 1).

    Examples
    --------
    >>> ledger = MemoryBudget({"census": ApproxDP(1, "1e-5", "replace-one")})
    >>> charge = charge_of(ZeroConcentratedDP("0.01", "replace-one"), ledger, "1e-6")
    >>> float(charge.epsilon), charge.delta
    (0.6216927, Fraction(1, 1000000))
    """
    if budget_delta is None:
        return guarantee
    if budget is None:
        raise InvalidProblemError("budget_delta", "none without a ledger to charge", budget_delta)
    if not isinstance(guarantee, ZeroConcentratedDP):
        expected = "none beside epsilon: it converts rho for an (epsilon, delta) budget"
        raise InvalidProblemError("budget_delta", expected, budget_delta)
    try:
        exact = to_approx_dp(guarantee, delta=budget_delta)
    except InvalidProblemError as error:
        raise error.renamed("budget_delta") from None
    # As it is printed: a ledger adds up what its reader can add up.
    return ApproxDP(decimal_up(exact.epsilon).replace(",", ""), exact.delta, exact.neighbors)


def _amounts(limit: Guarantee, guarantee: Guarantee) -> dict[str, Fraction]:
    """Return what a guarantee adds to each sum of a limit: epsilon, delta or rho.

    The result has the keys ``epsilon``, or ``epsilon`` and ``delta``, or ``rho``, as `limit` has them, and exact
    fractions; a pure epsilon counts as ``epsilon^2 / 2`` of rho. Whether they fit into the limit is not looked at.

    Raises
    ------
    InvalidProblemError
        For a guarantee that does not add up to the limit's kind, or of another unit, radius or neighbors.
    """
    match limit, guarantee:
        case MetricDP(), MetricDP():
            frame, other = ((g.unit, g.radius) for g in (limit, guarantee))
            _agree("unit and radius", frame, other)
            return {"epsilon": guarantee.epsilon}
        case (
            (PureDP() | ApproxDP() | ZeroConcentratedDP()),
            (PureDP() | ApproxDP() | ZeroConcentratedDP()),
        ):
            _agree("neighbors", limit.neighbors, guarantee.neighbors)
    match limit, guarantee:
        case PureDP(), PureDP():
            return {"epsilon": guarantee.epsilon}
        case ApproxDP(), PureDP():
            return {"epsilon": guarantee.epsilon, "delta": Fraction(0)}
        case ApproxDP(), ApproxDP():
            return {"epsilon": guarantee.epsilon, "delta": guarantee.delta}
        case ZeroConcentratedDP(), PureDP():
            return {"rho": guarantee.epsilon**2 / 2}
        case ZeroConcentratedDP(), ZeroConcentratedDP():
            return {"rho": guarantee.rho}
        case ApproxDP(), ZeroConcentratedDP():
            expected = (
                "a delta that this release spends, such as 1e-6: the budget is (epsilon, delta)"
            )
            raise InvalidProblemError("budget_delta", expected, "rho without a delta")
        case ZeroConcentratedDP(), ApproxDP():
            expected = "none: the budget is rho, which a release with rho spends as it is"
            raise InvalidProblemError("budget_delta", expected, decimal(guarantee.delta))
        case _:
            ours, theirs = type(limit).__name__, type(guarantee).__name__
            raise InvalidProblemError("guarantee", f"one that adds up to {ours}", theirs)


def _together(limit: MetricDP, before: MetricDP | None, guarantee: MetricDP) -> MetricDP:
    """Add a metric charge to those before, or refuse one that is about other pairs or other distances."""
    bound = before if limit.scope is None else limit
    # Only its refusals matter: it knows which spaces are the same.
    compose(bound or guarantee, guarantee)
    return guarantee if before is None else compose(before, guarantee)


def _refuse_far_pairs(limit: MetricDP, together: MetricDP) -> None:
    """Refuse what keeps the epsilon of near pairs and gives away more about those beyond the radius.

    Raise BudgetError if the sum `together` of all charges has a larger epsilon between all pairs than `limit`, or
    none. Nothing is refused unless both are bound to a space, and the limit has an epsilon for all pairs.
    """
    limit_scope, scope = limit.space_scope, together.space_scope
    if limit_scope is None or scope is None or limit_scope.all_pairs_epsilon is None:
        return
    far, most = scope.all_pairs_epsilon, limit_scope.all_pairs_epsilon
    if far is None or far > most:
        amount = "no bound" if far is None else f"{decimal(far)} in all"
        raise BudgetError(f"epsilon between all pairs: {amount}, {decimal(most)} allowed")


def _agree(what: str, ours: object, theirs: object) -> None:
    """Raise InvalidProblemError unless a property of the guarantee equals the budget's."""
    if ours != theirs:
        raise InvalidProblemError("guarantee", f"{what} {ours!r}, as the budget has", repr(theirs))
