"""Private choice: its public facts, the chosen set, and the lines of the accountant.

Nothing here has seen a record. The statement is what a guarantee is computed from, so that a verifier can compute it
anew without the function that was maximized.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.exact import to_fraction
from discreet.core.guarantee import guarantee_from_dict
from discreet.core.views import bars, rows_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from fractions import Fraction

    from discreet.core.guarantee import DPGuarantee
    from discreet.core.outcome import Release, Unproven

RELATIONS = ("add-remove-one", "replace-one")
"""Neighbors for which there are proofs here: one record is one person's."""

RULES: dict[str, str] = {
    "basic composition": "sum of the losses of all draws",
    "zCDP of bounded range": "a draw of range e is e^2/8-zCDP; the sum over all draws",
    "zCDP, converted": "the same at the stated delta",
    "advanced composition": "k e^2/2 + sqrt(2 k ln(1/delta)) e, with k under the root",
    "decomposable, one pass": "(e^c - 1) ln(e/delta) when a record leaves, c when one joins",
    "secret subsample": "each record is kept with probability 1 - e^-eps, then c = ln(1 + e^eps)",
    "exchange walk": "the sum of the losses, with delta for the walk's distance from its law",
    "no data": "the records were not read",
}
"""Names of the rules of composition, with what they say."""


class Independence(Protocol):
    """A matroid as a verifier uses it."""

    n_elements: int
    rank: int

    def is_independent(self, chosen: Iterable[int], /) -> bool:
        """Test whether a set of elements is independent."""
        ...


@final
@dataclass(frozen=True)
class ChoiceFacts:
    """The public facts about a choice.

    Parameters
    ----------
    n_elements
        Size of the ground set.
    n_kinds
        Kinds that a chosen element may take; 1 for set functions.
    rank
        Size of the bases of the matroid.
    decomposable
        Whether the function is a sum over records of monotone functions with values from 0 to `sensitivity`.
    sensitivity
        How much one record, added or removed, changes the value of a set, in units of 1.
    neighbors
        The neighboring relation.

    Raises
    ------
    InvalidProblemError
        For sizes below 1, a sensitivity that is not positive, or a relation without a proof.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from fractions import Fraction
    >>> ChoiceFacts(100, 1, 10, True, Fraction(1), "replace-one").width
    Fraction(2, 1)
    >>> ChoiceFacts(100, 1, 0, True, Fraction(1), "replace-one")
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: rank: expected at least 1, got 0
    """

    n_elements: int
    n_kinds: int
    rank: int
    decomposable: bool
    sensitivity: Fraction
    neighbors: str

    def __post_init__(self) -> None:
        for name in ("n_elements", "n_kinds", "rank"):
            if getattr(self, name) < 1:
                raise InvalidProblemError(name, "at least 1", getattr(self, name))
        if self.sensitivity <= 0:
            raise InvalidProblemError("sensitivity", "a positive number", self.sensitivity)
        if self.neighbors not in RELATIONS:
            raise InvalidProblemError(
                "neighbors", f"{' or '.join(RELATIONS)}: one record is one person", self.neighbors
            )

    @property
    def width(self) -> Fraction:
        """Largest difference of the changes of two scores between neighbors, in units of 1.

        Gains of a decomposable function all rise when a record joins, by at most the sensitivity each. Those of any
        function change by a common constant and at most the sensitivity up or down. Replacing is leaving and joining.
        """
        one = self.sensitivity if self.decomposable else 2 * self.sensitivity
        return one if self.neighbors == "add-remove-one" else 2 * one


@final
@dataclass(frozen=True)
class AccountLine:
    """One line of the accountant: a rule of composition and the guarantee that it proves.

    Parameters
    ----------
    rule
        A name from :data:`RULES`.
    guarantee
        What it proves for the whole choice.
    draws
        How many draws were made from private scores.
    loss
        Epsilon of one draw, which bounds the range of its log-ratios.
    """

    rule: str
    guarantee: DPGuarantee
    draws: int
    loss: Fraction

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON.

        ``"rule"``, ``"meaning"``, ``"guarantee"``, ``"draws"``, ``"loss_per_draw"`` (a fraction as text).
        """
        return {
            "rule": self.rule,
            "meaning": RULES[self.rule],
            "guarantee": self.guarantee.to_dict(),
            "draws": self.draws,
            "loss_per_draw": str(self.loss),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> AccountLine:
        """Read what :meth:`to_dict` wrote."""
        made: Any = guarantee_from_dict(data["guarantee"])
        return cls(data["rule"], made, data["draws"], to_fraction(data["loss_per_draw"], "loss"))


def account_bars(lines: Iterable[AccountLine]) -> str:
    """Return an SVG of the epsilon or rho that each rule of the accountant proves, a bar each; "" without lines."""
    budgets = [
        (line.rule, float(getattr(line.guarantee, name)))
        for line in lines
        for name in ("epsilon", "rho")
        if hasattr(line.guarantee, name)
    ]
    return bars(budgets, "Budget that each rule of the accountant proves; the least one counts")


@final
@dataclass(frozen=True)
class Selection:
    """A chosen set, or k disjoint ones, with the accountant's lines; nothing else that depends on records.

    Parameters
    ----------
    chosen
        Pairs of an element and its kind, in the order in which they were drawn.
    statement
        What was public.
    coefficient
        c: a draw had probability proportional to exp(c times the score), scores in units of 1. ``None`` where no
        score was used.
    per_draw
        How many times the width of one score the range of one draw is: 1, or the rank for draws of whole bases. On a
        secret subsample, the number of rounds: in each, a record's scores add up to at most its sensitivity.
    mechanism
        Kind of the draws, which decides the rules that apply: ``"greedy"``, one pass of the exponential mechanism, each
        draw on the gains over the earlier ones; ``"permute-and-flip"``, one pass without a bounded range;
        ``"rounds"``, draws for a fractional point that is then rounded; ``"walk"``, draws of bases by a walk of a
        fixed number of steps; ``"subsample"``, passes on a secret subsample of the records; ``"blind"``, no record
        was read.
    accounting
        What each valid rule proves; the guarantee of the release follows from one of them.
    matroid
        What could be chosen, so that the choice can be verified by itself. ``None`` in choices made by hand.
    candidates
        Public names of the elements; ``None`` where they are numbers from 0.

    Examples
    --------
    >>> from fractions import Fraction
    >>> statement = ChoiceFacts(5, 1, 2, True, Fraction(1), "add-remove-one")
    >>> Selection(((3, 0), (1, 0)), statement, Fraction(1, 2)).elements
    (3, 1)
    """

    chosen: tuple[tuple[int, int], ...]
    statement: ChoiceFacts
    coefficient: Fraction | None = None
    per_draw: int = 1
    mechanism: str = "greedy"
    accounting: tuple[AccountLine, ...] = ()
    matroid: Independence | None = None
    candidates: tuple[Any, ...] | None = None

    @property
    def names(self) -> tuple[Any, ...]:
        """The chosen candidates by name, or by number where they have none, in the order in which they were drawn."""
        if self.candidates is None:
            return self.elements
        return tuple(self.candidates[element] for element in self.elements)

    @property
    def elements(self) -> tuple[int, ...]:
        """The chosen elements, in the order in which they were drawn."""
        return tuple(element for element, _ in self.chosen)

    def _repr_html_(self) -> str:
        """Return the draws and the account as HTML."""
        draws = [(f"draw {at}", name) for at, name in enumerate(self.names, start=1)]
        return rows_of(draws) + account_bars(self.accounting)

    def described(self, outcome: Release[Any] | Unproven[Any]) -> list[tuple[str, object]]:
        """Return what a text about a release of the choice states: pairs of a label and its value.

        `outcome` is the release or unproven outcome that holds this selection: its method and trace are among them.
        """
        pairs: list[tuple[str, object]] = [("chosen", ", ".join(map(str, self.names)))]
        pairs += [
            (f"  {line.rule}", f"{str(line.guarantee).partition('):')[0]})")
            for line in self.accounting
        ]
        pairs.append(("method", outcome.provenance.method))
        return [*pairs, *(("", sentence) for sentence in outcome.provenance.method_trace)]

    @property
    def sets(self) -> tuple[tuple[int, ...], ...]:
        """For each kind the elements that were chosen with it, ascending; empty for a kind without elements."""
        kinds = range(self.statement.n_kinds)
        return tuple(tuple(sorted(e for e, i in self.chosen if i == kind)) for kind in kinds)


def pair_of(item: Any) -> tuple[int, int]:  # noqa: ANN401 - as it came
    """Read an element as the pair of it and kind 0, or a pair of an element and its kind; no range is checked.

    Raises
    ------
    InvalidProblemError
        For anything but an integer or a pair of integers.
    """
    pair = item if isinstance(item, tuple) else (item, 0)
    are_integers = [isinstance(x, int | np.integer) and not isinstance(x, bool) for x in pair]
    if are_integers != [True, True]:
        expected = "elements, or pairs of an element and its kind"
        raise InvalidProblemError("chosen", expected, type(item).__name__)
    return int(pair[0]), int(pair[1])
