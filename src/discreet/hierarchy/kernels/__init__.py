"""Compiled loops of the hierarchical counts."""
