"""Utility: loss of a mechanism's outcomes, in the units of the mechanism, with intervals.

``counts`` measures errors of counts, ``choices`` the share of the best value that was chosen; the loss of a table is in
its diagnostics. :func:`~discreet.evaluate.utility.measure.frontier` measures them over epsilon or k, for choosing one
*before* a release.

All are computed from the true data: they are for the curator. An epsilon or k that is chosen by the loss on the data
to be released discloses something about them. Use public or synthetic data.
"""

from discreet.evaluate.utility.measure import Measure

__all__ = ["Measure"]
