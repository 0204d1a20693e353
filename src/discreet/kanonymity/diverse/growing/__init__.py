"""Compiled: what a class holds; classes grown and rows exchanged under it."""
