"""The experiments on hierarchical counts: [FVZ21]_, Section 11, on synthetic data of the same shape.

The data of the paper are a table of the 2010 census and the trips of New York's taxis in 2014. Neither can be carried;
both are replaced by synthetic data whose sizes, levels and totals are those that the paper states.
"""

from __future__ import annotations
