"""Mechanisms that protect every point of a road network, at distances along the roads: only on request.

A point is a piece of road and a distance along it. What is promised differs from the promise about points of the
plane (:mod:`discreet.lrgeo.points`), and is weaker: two parallel streets are near in the plane and may be far apart
along the roads. It is not for a client that moves GPS points to the nearest road, since that takes near points far
apart. No service publishes it, and ``locate`` does not take it.
"""
