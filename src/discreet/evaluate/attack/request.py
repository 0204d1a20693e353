"""The options of an attack on a named mechanism or a file, as they were typed."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, final

from discreet.core.errors import InvalidProblemError
from discreet.core.options import callback, check_fields
from discreet.evaluate.attack.finding import DEFAULT_FAILURE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from discreet.core.exact import Exact
    from discreet.core.progress import Progress
    from discreet.core.randomness import UniformSource

_REPORTS = (1, 2, 5, 10)

_LIMITS = {"steps": 10_000, "trials": 10_000_000}


@final
@dataclass(frozen=True)
class AttackRequest:
    """An attack on a mechanism by its name, or on a file.

    Parameters
    ----------
    target
        The name or the path.
    method, epsilon, k
        What a mechanism is to be run with, of which it takes what it understands and refuses the rest.
    against, others, population, again
        Files for an attack on a table: what it was made of, people who are not in it, all people, a second table.
    sensitive
        The column that the attacker wants to know.
    reports
        Numbers of reports of one secret, ascending.
    steps, stride
        Reports of a person who moves, and how far a step goes.
    trials
        Games, draws or runs; each attack's own number when ``None``.
    failure
        The probability with which an interval may miss.
    bits
        Source of chance.
    mode
        How a location service runs: ``"published"``, ``"sound"``, ``"every-point"`` or ``"places-only"``.
    on_progress
        Called with the trajectories that are done.

    Examples
    --------
    >>> AttackRequest("metricdp", epsilon="1").only(("k",))
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: epsilon: expected nothing with metricdp, got a value
    """

    target: str
    method: str | None = None
    epsilon: Exact | None = None
    k: int | None = None
    against: str | None = None
    others: str | None = None
    population: str | None = None
    again: str | None = None
    sensitive: str | None = None
    reports: tuple[int, ...] | None = None
    steps: int | None = None
    stride: float | None = None
    trials: int | None = None
    failure: float = DEFAULT_FAILURE
    bits: UniformSource | None = None
    mode: str | None = None
    on_progress: Callable[[Progress], None] | None = None

    def __post_init__(self) -> None:
        check_fields(self, _LIMITS)
        callback(self.on_progress)

    @property
    def draws(self) -> dict[str, Any]:
        """The options of attacks that draw reports, by the names of their parameters."""
        return {
            "reports": self.reports or _REPORTS,
            "steps": self.steps or 0,
            "stride": self.stride,
            "trials": self.trials,
            "failure": self.failure,
            "bits": self.bits,
            "on_progress": self.on_progress,
        }

    def only(self, allowed: Iterable[str]) -> None:
        """Refuse every option but the allowed ones, and those of how an attack is run.

        Raises
        ------
        InvalidProblemError
            For the first other option that has a value.
        """
        accepted = {"target", "trials", "failure", "bits", "on_progress", *allowed}
        for option in fields(self):
            if option.name not in accepted and getattr(self, option.name) is not None:
                raise InvalidProblemError(option.name, f"nothing with {self.target}", "a value")

    def need(self, name: str) -> str:
        """Return an option that must be given.

        Raises
        ------
        InvalidProblemError
            If the option has no value.
        """
        value = getattr(self, name)
        if value is None:
            raise InvalidProblemError(name, f"a value with {self.target}", "none")
        return str(value)
