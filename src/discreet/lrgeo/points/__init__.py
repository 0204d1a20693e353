"""Mechanisms that protect every point of a region: a mesh, weights at its vertices, and a draw between them.

A point draws one of the three vertices of its triangle, then a report from the row of that vertex. What a report's
probability is at a point is then continuous and linear on each triangle, and one condition for each triangle and report
bounds the loss between any two points. Read :mod:`~discreet.lrgeo.points.verify` first: it states that condition.
"""
