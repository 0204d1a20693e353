"""Maps: where a secret is reported, and which places were chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.core.channels.channel import Channel
from discreet.core.errors import InvalidProblemError
from discreet.plot.style import BLUE, FAINT, GREEN, GREY, PURPLE, VERMILION, axes_or_new, plain_map

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike, NDArray

    from discreet.core.channels.implicit import AnchoredChannel
    from discreet.submodular import Selection


def chances(channel: Channel | AnchoredChannel, secret: int) -> NDArray[np.float64]:
    """Return the probabilities of all reports of one secret, floats ``(K,)``, for plots and not for draws.

    `secret` is an index. A row of an implicit channel is computed; of a table all probabilities are, on its first
    use.
    """
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
        Side of the cells, in the unit, where the secrets are those of a grid: each cell is shaded by its probability
        instead of a disc.
    unit
        Unit of the coordinates, such as ``"km"``, for the axes.
    ax
        Axes to draw on; new ones by default.

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

    places = _places(points, channel.n_secrets)
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


def _places(points: ArrayLike, n: int) -> NDArray[np.float64]:
    """Return points as floats; refuse another shape than ``(n, 2)``."""
    places = np.asarray(points, dtype=np.float64)
    if places.shape != (n, 2):
        raise InvalidProblemError("points", f"shape {(n, 2)}", places.shape)
    return places


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


_KINDS = ((BLUE, "o"), (VERMILION, "s"), (GREEN, "^"), (PURPLE, "D"))
"""Color and marker of the first, second, ... of disjoint sets."""


def plot_selection(
    selection: Selection,
    points: ArrayLike,
    *,
    people: ArrayLike | None = None,
    unit: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw where the chosen elements are among the candidates.

    Parameters
    ----------
    selection
        The published choice: ``release.result``.
    points
        ``(n_elements, 2)``: where the candidates are. Public.
    people
        ``(n, 2)``: where the records are, for synthetic data. **Private** otherwise.
    unit
        Unit of the coordinates, such as ``"km"``, for the axes.
    ax
        Axes to draw on; new ones by default.

    Returns
    -------
    matplotlib.axes.Axes
        The axes, with equal scales: a color and a marker for each of disjoint sets.

    Raises
    ------
    InvalidProblemError
        When there is not one point for each candidate.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from discreet.submodular.problem import Selection, ChoiceFacts
    >>> statement = ChoiceFacts(3, 1, 2, True, Fraction(1), "add-remove-one")
    >>> ax = plot_selection(Selection(((2, 0), (0, 0)), statement), [(0, 0), (1, 0), (2, 1)])
    >>> [part.get_offsets().tolist() for part in ax.collections if part.get_label() == "chosen"]
    [[[0.0, 0.0], [2.0, 1.0]]]
    """
    places = _places(points, selection.statement.n_elements)
    ax = axes_or_new(ax)
    if people is not None:
        crowd = np.asarray(people, dtype=np.float64)
        ax.scatter(crowd[:, 0], crowd[:, 1], s=2, color=FAINT, linewidths=0, label="records")
    ax.scatter(places[:, 0], places[:, 1], s=10, color=GREY, linewidths=0, label="candidates")
    for number, chosen in enumerate(selection.sets):
        color, marker = _KINDS[number % len(_KINDS)]
        shown = places[list(chosen)]
        ax.scatter(
            shown[:, 0],
            shown[:, 1],
            s=52,
            color=color,
            marker=marker,
            edgecolors="white",
            linewidths=0.8,
            zorder=3,
            label="chosen" if len(selection.sets) == 1 else f"chosen, set {number + 1}",
        )
    ax.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))
    plain_map(ax, unit)
    return ax
