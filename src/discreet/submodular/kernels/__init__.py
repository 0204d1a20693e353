"""Compiled loops over records."""
