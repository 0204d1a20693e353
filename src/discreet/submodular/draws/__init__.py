"""Exact draws of elements and bases, and rounding."""
