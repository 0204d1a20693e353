"""Compiled: odd sets of rows of which a fractional solution covers more halves than any partition."""
