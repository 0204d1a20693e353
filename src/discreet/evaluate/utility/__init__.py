"""Utility: what was lost, in each mechanism's own words, with intervals; and what a parameter would cost.

``channels`` measures expected loss, ``counts`` errors of counts, ``tables`` information loss and what a model still
learns, ``choices`` the share of the best value that was chosen. ``frontier`` lays such measures out over epsilon or k,
for choosing one *before* a release.

All but the channels' are computed from the true data: they are for the curator. An epsilon or k that is
chosen by the loss on the data to be released leaks them. Use public data, or synthetic ones.
"""

from discreet.evaluate.utility.measure import Measure

__all__ = ["Measure"]
