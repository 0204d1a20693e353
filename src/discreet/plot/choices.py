"""Chosen sets on a map."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.plot.style import BLUE, FAINT, GREEN, GREY, PURPLE, VERMILION, axes_or_new, plain_map

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

    from discreet.submodular import Selection

__all__ = ["plot_selection"]

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
        What a release gave.
    points
        ``(n_elements, 2)``: where the candidates are. Public.
    people
        ``(n, 2)``: where the records are, for synthetic data. **Private** otherwise.
    unit
        Unit of the coordinates, for the axes.
    ax
        Axes to draw on.

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
    places = np.asarray(points, dtype=np.float64)
    expected = (selection.statement.n_elements, 2)
    if places.shape != expected:
        raise InvalidProblemError("points", f"shape {expected}", places.shape)
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
