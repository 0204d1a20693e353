"""Better names for the reports of an implicit channel: post-processing, which no guarantee depends on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.core.channels.implicit import AnchoredChannel
from discreet.metricdp.bounds.local import all_lengths, near_groups

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.metricdp.costs import ImplicitCosts

__all__ = ["renamed"]

_SEEN, _TRIED = 9.0, 3.0
"""Nats of a report's tail within which secrets count, and within which names are tried. On 900 random points and on a
grid, half a nat and a skewed prior, the best names of all cost 9 and 7 % less than the centers, November 2026."""

_PAIRS = 1 << 22
"""Pairs of a secret and a name that are looked at together."""


def renamed(channel: AnchoredChannel, costs: ImplicitCosts) -> AnchoredChannel:
    """Name each report after the secret that costs least given it, among those near to its center.

    Parameters
    ----------
    channel
        The channel.
    costs
        What names cost.

    Returns
    -------
    AnchoredChannel
        The same integers under other names. Secrets far from a center are left out of the choice, so that a name is not
        always better; what the channel loses says whether they are.

    Complexity
    ----------
    For each report its weights at the secrets near to it, and their losses under each name that is tried.

    Examples
    --------
    >>> from discreet.core.guarantee import MetricDP
    >>> from discreet.core.spaces.metric import MetricSpace
    >>> from discreet.metricdp.bounds.tails import tail_channel
    >>> from discreet.metricdp.costs import ImplicitCosts
    >>> line = MetricSpace.grid(1, 3, cell=1, unit="km")
    >>> channel = tail_channel(line, MetricDP("0.1", "km")).channel
    >>> renamed(channel, ImplicitCosts(line, "distance", [0.8, 0.1, 0.1])).names.tolist()
    [0, 0, 0]
    """
    space, rate = channel.space, float(channel.rate) * 2.0**-channel.space.scale_bits
    every, names = np.arange(space.n), np.array(channel.names)
    for group in near_groups(channel.lengths, channel.centers):
        at = channel.centers[group]
        within = all_lengths(channel.lengths, at, at).max(axis=1)
        center = int(within.argmin())
        away = all_lengths(channel.lengths, at[center : center + 1], every)[0] - within[center]
        tried = np.flatnonzero(rate * away <= _TRIED)
        spent = _spent(channel, costs, group, np.flatnonzero(rate * away <= _SEEN), tried)
        names[group] = tried[spent.argmin(axis=1)]
    return AnchoredChannel(
        space,
        channel.rate,
        channel.centers,
        channel.anchors,
        lift=channel.lift,
        ball=channel.ball,
        names=names,
    )


def _spent(
    channel: AnchoredChannel,
    costs: ImplicitCosts,
    reports: NDArray[np.int64],
    seen: NDArray[np.int64],
    tried: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Add up what each report costs under each name, ``(reports, names)``, over the secrets that count."""
    spent, step = np.zeros((len(reports), len(tried))), max(1, _PAIRS // len(tried))
    for first in range(0, len(seen), step):
        some = seen[first : first + step]
        pairs = np.repeat(some, len(reports)), np.tile(reports, len(some))
        weights = channel.weights_at(*pairs).reshape(len(some), len(reports))
        likely = weights / channel.totals[some, None]
        spent += likely.T @ costs.block(some, tried)
    return spent
