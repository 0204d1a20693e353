"""Where a secret is reported, on a map."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.core.channels.channel import Channel
from discreet.core.errors import InvalidProblemError
from discreet.plot.style import BLUE, FAINT, GREY, VERMILION, axes_or_new, plain_map

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike, NDArray

    from discreet.core.channels.implicit import AnchoredChannel

__all__ = ["chances", "plot_channel_row"]


def chances(channel: Channel | AnchoredChannel, secret: int) -> NDArray[np.float64]:
    """Return the probabilities of all reports of one secret, floats ``(K,)``, for plots and not for draws."""
    if isinstance(channel, Channel):
        return np.asarray(channel.probabilities[secret], dtype=np.float64)
    weights = channel.row(secret).astype(np.float64)
    return np.asarray(weights / weights.sum())


def plot_channel_row(
    channel: Channel | AnchoredChannel,
    points: ArrayLike,
    secret: int,
    *,
    edges: ArrayLike | None = None,
    reports: ArrayLike | None = None,
    cell: float | None = None,
    unit: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw where a secret is reported: at each report a disc whose area is the probability, or a shaded cell.

    Parameters
    ----------
    channel
        The mechanism. Of an implicit one, the row is computed.
    points
        ``(n_secrets, 2)``: where the secrets are.
    secret
        Index of the secret to draw. A ring marks it.
    edges
        ``(m, 2)`` pairs of secrets to join by thin lines, such as roads.
    reports
        ``(n_reports,)`` the secret that each report names; by default the secrets themselves.
    cell
        Side of the cells, where the secrets are those of a grid: each cell is shaded by its probability instead.
    unit
        Unit of the coordinates, for the axes.
    ax
        Axes to draw on.

    Returns
    -------
    matplotlib.axes.Axes
        The axes, with equal scales.

    Raises
    ------
    InvalidProblemError
        When sizes do not match the channel, or there is no such secret.

    Examples
    --------
    >>> from discreet.core.channels.channel import Channel
    >>> line = Channel.from_weights([[2**61, 2**61, 0], [0, 2**62, 0], [0, 2**61, 2**61]])
    >>> ax = plot_channel_row(line, [(0, 0), (1, 0), (2, 0)], 0, unit="km")
    >>> ax.get_xlabel()
    'km'
    """
    from matplotlib.collections import LineCollection

    places = np.asarray(points, dtype=np.float64)
    if places.shape != (channel.n_secrets, 2):
        raise InvalidProblemError("points", f"shape {(channel.n_secrets, 2)}", places.shape)
    if not 0 <= secret < channel.n_secrets:
        raise InvalidProblemError("secret", f"an index below {channel.n_secrets}", "one outside")
    named = np.arange(channel.n_secrets) if reports is None else np.asarray(reports)
    if named.shape != (channel.n_reports,):
        raise InvalidProblemError(
            "reports", f"one secret for each of {channel.n_reports} reports", named.shape
        )
    ax = axes_or_new(ax)
    if edges is not None:
        roads = LineCollection(
            list(places[np.asarray(edges)]), colors=FAINT, linewidths=0.8, zorder=1
        )
        ax.add_collection(roads)
    chance = np.bincount(named, chances(channel, secret), len(places)).astype(np.float64)
    if cell is None:
        _draw_discs(ax, places, chance, np.unique(named))
    else:
        _draw_cells(ax, places, chance, cell)
    _mark_true_place(ax, places[secret])
    plain_map(ax, unit)
    return ax


def _draw_discs(
    ax: Axes, places: NDArray[np.float64], chance: NDArray[np.float64], shown: NDArray[np.int64]
) -> None:
    """Draw all places ``(n, 2)`` as dots, and those numbered in `shown` as discs with area `chance` ``(n,)``."""
    ax.scatter(places[:, 0], places[:, 1], s=2, color=GREY, zorder=2, linewidths=0)
    ax.scatter(
        places[shown, 0],
        places[shown, 1],
        s=1200 * chance[shown],
        color=BLUE,
        alpha=0.6,
        zorder=3,
        linewidths=0,
        label="reported",
    )


def _draw_cells(
    ax: Axes, places: NDArray[np.float64], chance: NDArray[np.float64], side: float
) -> None:
    """Draw a square of `side` around each of places ``(n, 2)``, shaded by its probability, `chance` ``(n,)``."""
    from matplotlib.collections import PolyCollection

    corners = np.array([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)]) * side
    cells = PolyCollection(
        list(places[:, None] + corners),
        array=chance,
        cmap="Blues",
        edgecolors=FAINT,
        linewidths=0.4,
        zorder=1,
        label="reported",
    )
    cells.set_clim(0, float(chance.max()))
    ax.add_collection(cells)
    ax.autoscale_view()


def _mark_true_place(ax: Axes, place: NDArray[np.float64]) -> None:
    """Draw a ring around the true place ``(2,)``, and its label."""
    from matplotlib.patheffects import withStroke

    ax.scatter(
        place[0],
        place[1],
        s=90,
        facecolors="none",
        edgecolors=VERMILION,
        linewidths=1.8,
        zorder=4,
        label="true place",
        path_effects=[withStroke(linewidth=4.5, foreground="white")],
    )
    ax.annotate(
        "true place",
        (float(place[0]), float(place[1])),
        (8, 8),
        textcoords="offset points",
        color=VERMILION,
        fontsize="small",
        zorder=5,
        # What lies below may be as dark as the letters.
        path_effects=[withStroke(linewidth=3, foreground="white")],
    )
