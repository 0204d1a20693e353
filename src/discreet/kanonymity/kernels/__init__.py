"""Compiled loops over rows and classes."""
