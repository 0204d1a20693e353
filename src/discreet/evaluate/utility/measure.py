"""Measures of loss, between the best without privacy and the best without data; and measures by a parameter.

A frontier lays measures out over several epsilons or k, for choosing one before a release. The data must be public or
synthetic: choosing by the loss on the private data discloses something of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from discreet.core.errors import InvalidProblemError
from discreet.core.exact import to_fraction

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from fractions import Fraction

    from discreet.core.exact import Exact
    from discreet.evaluate.intervals import Estimate


@final
@dataclass(frozen=True)
class Measure:
    """A loss or a value, with its ends without privacy and without data.

    Parameters
    ----------
    name
        Name of the quantity.
    estimate
        The number, with its interval.
    best
        The value without privacy; ``None`` if it is not computed.
    worst
        The value without the data; likewise.
    note
        Remark for the reader.

    Examples
    --------
    >>> from discreet.evaluate.intervals import Estimate
    >>> Measure("classification accuracy", Estimate.computed(0.75), best=1.0, worst=0.5).kept
    0.5
    """

    name: str
    estimate: Estimate
    best: float | None = None
    worst: float | None = None
    note: str = ""

    @property
    def kept(self) -> float | None:
        """Share of the way from the worst to the best that was kept, below 0 if noise did harm.

        ``None`` if best or worst is unknown, or they are equal.
        """
        if self.best is None or self.worst is None or self.best == self.worst:
            return None
        return (self.estimate.value - self.worst) / (self.best - self.worst)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON.

        ``"measure"``, ``"estimate"`` (a dict), ``"best"``, ``"worst"``, ``"kept"``, ``"note"``.
        """
        return {
            "measure": self.name,
            "estimate": self.estimate.to_dict(),
            "best": self.best,
            "worst": self.worst,
            "kept": self.kept,
            "note": self.note,
        }


@final
@dataclass(frozen=True)
class Point:
    """A measure at one parameter.

    Parameters
    ----------
    method
        What was measured.
    parameter
        Epsilon, k, or another number.
    measure
        What came of it.
    """

    method: str
    parameter: Fraction
    measure: Measure

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON.

        ``"method"``, ``"parameter"`` as a float, and the keys of :meth:`Measure.to_dict`.
        """
        head = {"method": self.method, "parameter": float(self.parameter)}
        return {**head, **self.measure.to_dict()}


def frontier(
    methods: Mapping[str, Callable[[Fraction], Measure]], parameters: Sequence[Exact]
) -> list[Point]:
    """Measure each method at each parameter.

    One call for each method and parameter.

    Parameters
    ----------
    methods
        Name -> what measures it at a parameter, on public or synthetic data.
    parameters
        Different numbers.

    Returns
    -------
    list of Point
        By method, then by parameter ascending.

    Raises
    ------
    InvalidProblemError
        Without methods or parameters, or for one parameter twice.

    Examples
    --------
    >>> from discreet.evaluate.intervals import Estimate
    >>> from discreet.evaluate.utility.measure import Measure
    >>> noise = {"laplace": lambda epsilon: Measure("error", Estimate.computed(1 / epsilon))}
    >>> [(float(point.parameter), point.measure.estimate.value) for point in frontier(noise, ["2", "1/2"])]
    [(0.5, 2.0), (2.0, 0.5)]
    """
    exact = sorted(to_fraction(one, "parameters") for one in parameters)
    if not methods or not exact or len(set(exact)) < len(exact):
        raise InvalidProblemError("parameters", "different numbers, and a method", list(parameters))
    return [
        Point(name, parameter, measured(parameter))
        for name, measured in methods.items()
        for parameter in exact
    ]
