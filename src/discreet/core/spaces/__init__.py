"""Metric spaces: integer lengths, adjacency, geography."""
