"""Compiled loops over the entries of a channel."""
