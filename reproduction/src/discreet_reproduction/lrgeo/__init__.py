"""Experiments on location privacy: what [QLPSX24]_ prints, and what comes out when its formulas are computed.

The paper's regime, epsilon 10 per km between cells of 1.2 km, leaves nothing to hide; every item that depends on it
is also run where epsilon times the spacing is 0.25 to 2. Letters and numbers such as A1 are those of the errata.
"""
