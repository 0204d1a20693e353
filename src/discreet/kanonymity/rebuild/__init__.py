"""Partitions of some classes' rows anew, when they are too many for all subsets: grown from a seed, then polished."""
