"""Implicit channels as tables of shown reports, for an attacker or an audit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.lrgeo.verify import MAX_PLACES_FOR_TRIPLES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.core.channels.implicit import AnchoredChannel
    from discreet.core.randomness import RandomBits


class Reporting(Protocol):
    """A channel as an attacker uses it: its rows as floats, and its sampler."""

    @property
    def n_secrets(self) -> int:
        """Number of secrets."""
        ...

    @property
    def n_reports(self) -> int:
        """Number of reports."""
        ...

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """``(n_secrets, n_reports)``, rows sum to 1."""
        ...

    def report_many(
        self, secrets: NDArray[np.int64], bits: RandomBits | None = None, /
    ) -> NDArray[np.int64]:
        """Draw one independent report for each secret of a sequence."""
        ...


@final
@dataclass(frozen=True, eq=False)
class ShownRows:
    """The rows of an implicit channel, by the name of a report, which is all that an observer sees.

    Reports of one name cannot be told apart by anybody who sees the name, so that their weights are added.

    Parameters
    ----------
    channel
        The channel.

    Raises
    ------
    InvalidProblemError
        Beyond 2600 secrets, whose rows make tables of a few million floats.

    Examples
    --------
    >>> from discreet.core.channels.implicit import AnchoredChannel
    >>> from discreet.core.spaces.metric import MetricSpace
    >>> pair = MetricSpace.grid(1, 2, cell=1, unit="km")
    >>> tails = AnchoredChannel(pair, 1, [0, 1], [2**40, 2**40], lift=2**16)
    >>> ShownRows(tails).probabilities.round(3).tolist()
    [[0.731, 0.269], [0.269, 0.731]]
    """

    channel: AnchoredChannel

    def __post_init__(self) -> None:
        if self.channel.n_secrets > MAX_PLACES_FOR_TRIPLES:
            raise InvalidProblemError(
                "FILE",
                f"at most {MAX_PLACES_FOR_TRIPLES} places, whose rows fit into memory; beyond, `verify` and "
                "`audit --strength certified` check the claim, and a design for fewer places can be attacked",
                self.channel.n_secrets,
            )

    @property
    def n_secrets(self) -> int:
        """Number of secrets."""
        return self.channel.n_secrets

    @property
    def n_reports(self) -> int:
        """Number of different names of reports."""
        return len(self.names)

    @cached_property
    def names(self) -> NDArray[np.int64]:
        """Names of reports, ascending; shown reports are numbered in this order."""
        return np.unique(self.channel.names)

    @cached_property
    def number(self) -> NDArray[np.int64]:
        """Number of its name, for each report of the channel."""
        return np.searchsorted(self.names, self.channel.names).astype(np.int64)

    @cached_property
    def probabilities(self) -> NDArray[np.float64]:
        """Probabilities of the names, ``(n_secrets, n_reports)``; relative error below ``10^-12``."""
        made = np.empty((self.n_secrets, self.n_reports))
        for secret in range(self.n_secrets):
            weights = self.channel.row(secret)
            totals = np.bincount(self.number, weights.astype(np.float64), self.n_reports)
            made[secret] = totals / float(weights.sum())
        made.setflags(write=False)
        return made

    def report_many(
        self, secrets: NDArray[np.int64], bits: RandomBits | None = None, /
    ) -> NDArray[np.int64]:
        """Draw one report for each of `secrets` ``(m,)`` with the production sampler; int64 numbers of their names."""
        shown = self.channel.report_many(secrets.tolist(), bits)
        return np.searchsorted(self.names, shown).astype(np.int64)
