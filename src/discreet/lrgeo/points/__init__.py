"""Mechanisms that protect every point of a region: a net of control points, integers, and a draw between them.

A point draws a control point near it, and then a report: from the row of that control point, or by one noise for all.
What a report's probability is at a point is then smooth, and one condition for each node of the net bounds the loss
between any two points. Read :mod:`~discreet.lrgeo.points.verify_table` and :mod:`~discreet.lrgeo.points.verify_noise`
first: they state that condition.
"""
