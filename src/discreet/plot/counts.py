"""Published counts by size, and answers with their intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.printed import share_at_least
from discreet.hierarchy.result import region_names
from discreet.plot.style import BLUE, FAINT, GREY, INK, axes_or_new, plain

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

    from discreet.hierarchy import RegionCounts
    from discreet.hierarchy.answers import Answers

MAX_BARS = 40
"""Bars of one figure, at most: the names of so many regions can still be read beside them."""


def plot_counts(
    counts: RegionCounts,
    region: Sequence[Hashable] = (),
    *,
    truth: ArrayLike | None = None,
    ax: Axes | None = None,
    share: float = 0.999,
) -> Axes:
    """Draw how many groups of each size a region has, as published.

    Parameters
    ----------
    counts
        Published counts: ``release.result``.
    region
        Path of labels below the root, such as ``["GA"]``; the root by default.
    truth
        ``(n_sizes,)`` true counts, where data are made or public: rings over the bars. **Private** otherwise.
    ax
        Axes to draw on; new ones by default.
    share
        Share of the groups that is drawn: the few largest ones would make all bars thin.

    Returns
    -------
    matplotlib.axes.Axes
        The axes: sizes up to the one at which that share of the groups is drawn.

    Raises
    ------
    InvalidProblemError
        For a region that is not in the tree, or true counts of another length.

    Examples
    --------
    >>> from discreet import Tree
    >>> from discreet.hierarchy import Frame, RegionCounts
    >>> frame = Frame(Tree.from_paths([("GA",), ("NY",)], root="US"), 3, "private")
    >>> ax = plot_counts(RegionCounts(frame, [[5, 2, 0], [4, 1, 0], [1, 1, 0]]), ["GA"])
    >>> ax.get_title(loc="left"), [int(bar.get_height()) for bar in ax.patches]
    ('GA', [4, 1])
    """
    frame = counts.frame
    node = frame.tree.find(region)
    published = counts.counts[node]
    known = None if truth is None else np.asarray(truth)
    if known is not None and known.shape != published.shape:
        raise InvalidProblemError("truth", f"{len(published)} counts", f"shape {known.shape}")
    mass = np.clip(published, 0, None) if known is None else np.maximum(published, known)
    shown = slice(int(np.searchsorted(np.cumsum(mass), share * mass.sum())) + 1)
    sizes = np.asarray(frame.sizes)[shown]
    ax = axes_or_new(ax)
    ax.bar(sizes, published[shown], width=0.72, color=BLUE, label="published")
    if known is not None:
        ax.plot(
            sizes, known[shown], "o", mfc="none", mec=INK, ms=4.5, mew=1, label="true", zorder=4
        )
        ax.legend(frameon=False, fontsize="small")
    ax.set_title(region_names(frame.tree)[node], loc="left", color=INK)
    ax.set_xlabel("size")
    ax.set_ylabel("groups")
    plain(ax)
    return ax


def plot_answers(answers: Answers, *, ax: Axes | None = None) -> Axes:
    """Draw answers to a question, one row a region, with the interval that each comes with.

    Parameters
    ----------
    answers
        What :func:`discreet.hierarchy.query` gave.
    ax
        Axes to draw on; new ones by default.

    Returns
    -------
    matplotlib.axes.Axes
        The axes: regions by answer, the greatest at the top. Names stand beside them up to forty regions.

    Examples
    --------
    >>> import numpy as np
    >>> from fractions import Fraction
    >>> from discreet.hierarchy.answers import Answers
    >>> values = np.array([7, -1])
    >>> ends = values - 3, values + 3
    >>> ax = plot_answers(Answers(("GA", "NY"), (2, 2), values, *ends, ends[0] * 0 + 1, Fraction("0.95"), "Units"))
    >>> [label.get_text() for label in ax.get_yticklabels()], ax.get_xlabel()
    (['NY', 'GA'], 'answer, with intervals of 95 %')
    """
    ax = axes_or_new(ax)
    order = np.argsort(answers.values, kind="stable")
    rows, ends = np.arange(len(order)), (answers.low[order], answers.high[order])
    ax.hlines(rows, *ends, color=BLUE, linewidth=1.4, label="interval")
    ax.plot(answers.values[order], rows, "o", color=BLUE, markersize=4, label="answer")
    if len(order) <= MAX_BARS:
        ax.set_yticks(rows, [answers.regions[at] for at in order.tolist()])
    else:
        ax.set_yticks([])
        ax.set_ylabel(f"{len(order)} regions")
    ax.axvline(0, color=FAINT, linewidth=1, zorder=0)
    ax.set_xlabel(f"answer, with intervals of {share_at_least(answers.interval)}")
    plain(ax)
    ax.grid(visible=False, axis="y")
    ax.tick_params(axis="y", length=0, labelcolor=GREY)
    return ax
