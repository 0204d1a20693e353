"""Costs of very many secrets, computed on demand without a table of secrets and reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.options import instance_of
from discreet.core.spaces.metric import MetricSpace
from discreet.metricdp.problem import named_loss, public_inputs, read_prior

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from discreet.core.outcome import PublicInput
    from discreet.core.spaces.lengths import Lengths


@final
@dataclass(frozen=True, init=False, eq=False, repr=False)
class ImplicitCosts:
    """Costs of a :class:`~discreet.metricdp.Problem` in which each secret is a report, without the table of losses.

    Parameters
    ----------
    space
        The secrets, which are also the reports.
    utility_loss
        The name of a loss, as :class:`~discreet.metricdp.Problem` knows it.
    prior
        ``(n,)`` probabilities of the secrets; uniform by default. Public.

    Raises
    ------
    InvalidProblemError
        For an unknown loss or an invalid prior.

    Examples
    --------
    >>> space = MetricSpace.grid(1, 3, cell=1, unit="km")
    >>> costs = ImplicitCosts(space, "euclidean", [0.5, 0.25, 0.25])
    >>> costs.block(np.array([0, 2]), np.array([1, 2])).tolist()
    [[0.5, 1.0], [0.25, 0.0]]
    """

    space: MetricSpace
    utility_loss: str
    prior: NDArray[np.float64]

    def __init__(
        self, space: MetricSpace, utility_loss: str, prior: ArrayLike | None = None
    ) -> None:
        instance_of(space, MetricSpace, "space", "a MetricSpace")
        instance_of(utility_loss, str, "utility_loss", "the name of a loss")
        probabilities = read_prior(prior, space.n)
        probabilities.setflags(write=False)
        object.__setattr__(self, "space", space)
        object.__setattr__(self, "utility_loss", utility_loss)
        object.__setattr__(self, "prior", probabilities)
        # Refuses an unknown name now.
        named_loss(space, utility_loss, np.zeros(1, dtype=int), np.zeros(1, dtype=int))

    @property
    def n(self) -> int:
        """Number of secrets, and of reports."""
        return self.space.n

    @property
    def source(self) -> Lengths:
        """Lengths between the secrets, in stored units; the first use may close a table, ``O(n^3)``, and keep it."""
        from discreet.core.spaces.lengths import TableLengths

        space = self.space
        return TableLengths(space.distances) if space.has_matrix else space.source

    @property
    def homes(self) -> NDArray[np.int64]:
        """Secret of each report: its own."""
        return np.arange(self.n)

    def losses(self, secrets: NDArray[np.int64], reports: NDArray[np.int64]) -> NDArray[np.float64]:
        """Compute ``c_ik``, the loss of each of `secrets` ``(a,)`` under each of `reports` ``(b,)``.

        ``(a, b)`` float64. ``O(a b)``. InvalidProblemError for a loss between points in a space without points.
        """
        return named_loss(self.space, self.utility_loss, secrets, reports)

    def block(self, secrets: NDArray[np.int64], reports: NDArray[np.int64]) -> NDArray[np.float64]:
        """Compute ``p_i c_ik`` of `secrets` ``(a,)`` and `reports` ``(b,)``: ``(a, b)`` float64, in ``O(a b)``.

        They are the same floats as a problem's table has.
        """
        return self.prior[secrets, None] * self.losses(secrets, reports)

    def assumed_public(self) -> tuple[PublicInput, ...]:
        """List the inputs that are taken to be public, each with its hash.

        The space, the name of the loss, and the prior. The hash of the loss is that of the space. ``O(n)``.
        """
        loss = self.space.digest, f"{self.utility_loss} between its secrets"
        return public_inputs(self.space, loss, self.prior)
