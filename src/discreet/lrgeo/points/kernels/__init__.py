"""Compiled loops over triangles and reports."""
