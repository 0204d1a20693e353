"""The options of an audit of a named method, as they were typed: what is claimed, and how to try it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import ApproxDP, MetricDP, PureDP, ZeroConcentratedDP
from discreet.core.options import check_fields

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor

    from discreet.core.exact import Exact
    from discreet.core.guarantee import DPGuarantee, Neighbors
    from discreet.core.randomness import UniformSource

_LIMITS = {"k": 1_000, "points": 10_000_000, "samples": 100_000_000}
"""Largest values; audited tables have a few thousand rows."""


@final
@dataclass(frozen=True)
class AuditRequest:
    """An audit of a method by its name.

    Parameters
    ----------
    method
        Its name; ``None`` for the mechanism's default.
    epsilon, delta, rho, neighbors, k
        The claim, of which a mechanism takes what it understands and refuses the rest.
    strength
        ``"exact"``, ``"certified"`` or ``"sampled"``; ``None`` for the strongest that says something of the method.
    samples
        Most samples of each input.
    points
        How many pairs of points of a location mechanism are compared, exactly, instead of places; ``None`` for none.
    failure
        Probability with which a sampled audit may be wrong.
    executor, bits, on_stage
        As in :func:`discreet.evaluate.audit.audit.audit`.

    Examples
    --------
    >>> AuditRequest(epsilon="1").dp("add-remove-person").neighbors
    'add-remove-person'
    """

    method: str | None = None
    epsilon: Exact | None = None
    delta: Exact | None = None
    rho: Exact | None = None
    neighbors: Neighbors | None = None
    k: int | None = None
    strength: str | None = None
    samples: int = 20_000
    failure: float = 1e-9
    executor: Executor | None = None
    bits: UniformSource | None = None
    on_stage: Callable[[int, float], None] | None = None
    points: int | None = None

    def __post_init__(self) -> None:
        check_fields(self, _LIMITS)

    def dp(self, usual: Neighbors) -> DPGuarantee:
        """Read the claim as one of differential privacy.

        PureDP by `epsilon`, ApproxDP with `delta` too, or ZeroConcentratedDP by `rho`. A claim with `k` is refused.

        Parameters
        ----------
        usual
            The neighbors of the mechanism, where none were named.

        Raises
        ------
        InvalidProblemError
            For both notions, or none.
        """
        self.refuse("k")
        neighbors = self.neighbors or usual
        if self.rho is not None:
            if self.epsilon is not None or self.delta is not None:
                raise InvalidProblemError("rho", "no epsilon beside it", "both")
            return ZeroConcentratedDP(self.rho, neighbors)
        if self.epsilon is None:
            raise InvalidProblemError("epsilon", "the claimed epsilon, or rho", "none")
        if self.delta is not None:
            return ApproxDP(self.epsilon, self.delta, neighbors)
        return PureDP(self.epsilon, neighbors)

    def pure(self, usual: Neighbors, why: str) -> PureDP:
        """Read the claim as one of pure differential privacy, where nothing else can be tried.

        `usual` are the neighbors where none were named; `why` ends the message of a refusal.

        Raises
        ------
        InvalidProblemError
            For a claim with a delta or a rho.
        """
        claim = self.dp(usual)
        if not isinstance(claim, PureDP):
            raise InvalidProblemError(
                "epsilon", f"an epsilon alone {why}", str(type(claim).__name__)
            )
        return claim

    def metric(self, radius: int | None = None) -> MetricDP:
        """Read the claim as one of metric privacy per km, up to a radius.

        `radius` is in km, ``None`` for all pairs.

        Raises
        ------
        InvalidProblemError
            If there is no epsilon, or a claim of another kind.
        """
        self.refuse("delta", "rho", "neighbors", "k")
        if self.epsilon is None:
            raise InvalidProblemError("epsilon", "the claimed epsilon per km", "none")
        return MetricDP(self.epsilon, unit="km", radius=radius)

    @property
    def sampling(self) -> dict[str, Any]:
        """Return the options of a sampled audit, by the names of the parameters of :func:`audit`."""
        names = ("failure", "samples", "executor", "bits", "on_stage")
        return {name: getattr(self, name) for name in names}

    def refuse(self, *names: str) -> None:
        """Raise InvalidProblemError if one of the options `names` has a value, since the mechanism does not have it."""
        for name in names:
            if getattr(self, name) is not None:
                raise InvalidProblemError(name, "not with this mechanism", "a value")

    def choose(self, usual: str, *others: str) -> str:
        """Return the requested strength, if the mechanism has it.

        Without a request it is `usual`; `others` are the strengths that may be requested besides.

        Raises
        ------
        InvalidProblemError
            For a strength that the mechanism does not have.
        """
        known = (usual, *others)
        if self.strength is None:
            return usual
        if self.strength not in known:
            raise InvalidProblemError("strength", f"one of {', '.join(known)}", repr(self.strength))
        return self.strength
