"""Experiments on private choices: each false statement of the paper failing, and what methods reach on synthetic data.

The paper [RY20]_ has no experiments; no column here holds a figure of it but those that a theorem claims.
"""
