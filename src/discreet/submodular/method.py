"""Methods of private choice: a plan from public facts, then draws."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, final

from discreet.core.errors import InvalidProblemError
from discreet.core.printed import estimate
from discreet.core.statements import state

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from fractions import Fraction

    from discreet.core.guarantee import DPGuarantee
    from discreet.core.randomness.bits import RandomBits
    from discreet.submodular.matroids.base import Matroid
    from discreet.submodular.objectives.objective import Objective
    from discreet.submodular.problem import AccountLine, ChoiceFacts

_SCOPES = {
    "part-sampled": " among candidates that were sampled at random",
    "subsampled": " in a secret sample of the records",
}
"""Method -> where its law holds."""

Chosen = tuple[tuple[int, int], ...]


@final
@dataclass(frozen=True)
class DrawPlan:
    """The draws of a method, planned from public facts alone.

    Parameters
    ----------
    coefficient
        c of every draw, in units of 1; ``None`` where no score is used.
    accounting
        What each valid rule proves, the one that decides first.
    draws
        How many draws are made.
    per_draw
        Range of a draw in widths of a score.
    mechanism
        Kind of the draws, as in :class:`~discreet.submodular.problem.Selection`.
    parameters
        Plain public values for the provenance.
    """

    coefficient: Fraction | None
    accounting: tuple[AccountLine, ...]
    draws: int
    per_draw: int = 1
    mechanism: str = "greedy"
    parameters: Mapping[str, Any] = field(default_factory=dict)


class Method(Protocol):
    """A frozen record of parameters that plans from public facts, and chooses."""

    @property
    def name(self) -> str:
        """The registered name."""
        ...

    def plan(self, statement: ChoiceFacts, matroid: Matroid, guarantee: DPGuarantee) -> DrawPlan:
        """Plan the draws so that the guarantee holds, from public facts alone: `statement`, and what `matroid` allows.

        Raises
        ------
        InvalidProblemError
            When the method has no such guarantee, or does not apply.
        """
        ...

    def choose(
        self,
        objective: Objective,
        matroid: Matroid,
        plan: DrawPlan,
        bits: RandomBits,
        on_draw: Callable[[int], None] | None = None,
    ) -> Chosen:
        """Read the records of `objective` and draw as `plan` states; return pairs of an element and its kind, a base.

        `bits` is the source of chance; `on_draw` is called with the number of draws so far.
        """
        ...


def need_set_function(name: str, statement: ChoiceFacts) -> None:
    """Raise InvalidProblemError if elements have several kinds; `name` is the method's."""
    if statement.n_kinds != 1:
        raise InvalidProblemError("objective", f"one kind for {name}", f"{statement.n_kinds} kinds")


def need_approximate(name: str, guarantee: DPGuarantee) -> None:
    """Raise InvalidProblemError unless the guarantee is ApproxDP; `name` is the method's."""
    from discreet.core.guarantee import ApproxDP

    if not isinstance(guarantee, ApproxDP):
        raise InvalidProblemError(
            "guarantee", f"ApproxDP for {name}, which needs a delta", type(guarantee).__name__
        )


def law_of_draws(method: str, mechanism: str) -> str:
    """Return the name of the statement that holds of the draws of a method, for ``discreet.core.statements.state``.

    It is ``"draws by flips"``, ``"draws, then rounding"`` or ``"draws"``; `mechanism` is as in :class:`DrawPlan`.
    """
    if mechanism == "permute-and-flip":
        return "draws by flips"
    rounded = mechanism in ("rounds", "walk") or method == "subsampled-rounds"
    return "draws, then rounding" if rounded else "draws"


def draws_in_words(method: str, mechanism: str, coefficient: Fraction | None) -> str:
    """State the law of the draws.

    `coefficient` is shown with 4 digits; ``None`` means that no record is read.

    Parameters
    ----------
    method
        Name of the method.
    mechanism, coefficient
        As in :class:`DrawPlan`.

    Examples
    --------
    >>> draws_in_words("fixed", "fixed", None)
    'The records are not read.'
    """
    if coefficient is None:
        return "The records are not read."
    scope = _SCOPES.get(method, "")
    return state(law_of_draws(method, mechanism), c=estimate(coefficient, 4), scope=scope)


def score_noise(method: str, draws: DrawPlan) -> float | None:
    """Return the standard deviation of Gumbel noise of each score, in people, whose largest sum has the law of a draw.

    ``None`` if no record is read, or the draws have another law.
    """
    if draws.coefficient is None or law_of_draws(method, draws.mechanism) != "draws":
        return None
    return math.pi / math.sqrt(6) / float(draws.coefficient)
