"""Plots: axes in, axes out. Nothing is shown, no style is set, and no figure lives anywhere but with the caller.

Colors are distinct for people who see few of them and in grey: each line has a dash or a marker of its own and its
name at its end. Where no axes are given, new ones are made on a figure without a window; ``ax.figure`` is it.
"""

from discreet.plot.counts import plot_answers, plot_counts
from discreet.plot.frontier import Bounded, Curve, plot_bounds, plot_frontier
from discreet.plot.judges import plot_audits, plot_findings, plot_points
from discreet.plot.maps import plot_channel_row, plot_selection
from discreet.plot.tables import plot_class_sizes, plot_intervals, plot_rows

__all__ = [
    "Bounded",
    "Curve",
    "plot_answers",
    "plot_audits",
    "plot_bounds",
    "plot_channel_row",
    "plot_class_sizes",
    "plot_counts",
    "plot_findings",
    "plot_frontier",
    "plot_intervals",
    "plot_points",
    "plot_rows",
    "plot_selection",
]
