"""Compiled loops over the entries of a channel."""

__all__ = ["REPORTS_PER_BLOCK"]

REPORTS_PER_BLOCK = 16
"""Reports of a block: as many float32 numbers fill the widest vector register in use, of 512 bits, and a cache line."""
