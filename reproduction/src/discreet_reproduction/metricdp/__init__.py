"""The tables and figures of [Qiu24]_, on synthetic data or on Rome's roads.

The paper leaves open what its data and parameters are in several places; what is done about each is named by its
number in the errata in ``docs/theory/errata-metricdp.md`` and stands in the notes of each experiment.
"""
