r"""From coarse meshes to a fine one: a start for the steps on it.

Steps carry what they find from triangle to triangle, so that a fine mesh takes many; one with a quarter of the vertices
takes fewer, each at a quarter of the cost. Its rows, interpolated between its vertices, are a start. Their logarithms
are interpolated: a convex combination of rows keeps (*), and is no better than the coarse mesh allows, while columns
should fall off almost as fast as :math:`e^{-\epsilon d}`. Multipliers for gradients go to the triangles inside by their
part of the area, and are averaged over neighbors, since they jump between coarse triangles and a jump is a cost at the
vertices there; each is paid for at the corner with the least probability, as in the optimum.

Nothing is claimed of a start: any is allowed, and bounds and mechanisms are proved whatever found them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from discreet.lrgeo.points.lattice import lattice
from discreet.metricdp.primal_dual.iterate import LANES, blocked

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.lrgeo.points.mesh import Mesh
    from discreet.lrgeo.points.steps import ConeIterate

__all__ = ["coarser_meshes", "lift"]

_FEWEST_VERTICES = 60
"""Of a coarse mesh; fewer say nothing."""

_ROUNDS = 3
"""Averages over neighbors: the first bound after the start was -4.0 with one, -2.5 with three, and -9.9 without, where
the optimum is .96, and after 129 steps .88, .89 and .80: 100 reports, 361 vertices; November 2026."""

_LEAST = 1e-14
"""Probabilities are raised to this before logarithms are taken."""


def coarser_meshes(mesh: Mesh) -> list[tuple[Mesh, int]]:
    """Cover a mesh with lattices of squares twice, four times, ... as wide, the coarsest first.

    Parameters
    ----------
    mesh
        Of right isosceles triangles.

    Returns
    -------
    list of (Mesh, int)
        And the side of their squares, in decimeters.

    Examples
    --------
    >>> coarser_meshes(lattice((0, 0), (64, 64), 2, reach=0))
    [(Mesh(81 vertices, 128 triangles), 8), (Mesh(289 vertices, 512 triangles), 4)]
    """
    low, high = mesh.box
    side = max(2, math.isqrt(int(mesh.twice_areas.min())) // 2 * 2)
    found: list[tuple[Mesh, int]] = []
    while True:
        side *= 2
        wide, tall = (-(-(most - least) // side) for least, most in zip(low, high, strict=True))
        count = (wide + 1) * (tall + 1)
        if count < _FEWEST_VERTICES:
            return found[::-1]
        if count <= len(mesh.vertices) / 3:
            found.append((lattice(low, high, side, reach=0), side))


def lift(coarse: ConeIterate, side: int, fine: ConeIterate) -> None:
    """Let a fine mesh start where a coarse one stands.

    Parameters
    ----------
    coarse
        On a lattice that covers the fine mesh.
    side
        Of its squares.
    fine
        With the same reports; changed in place.
    """
    at = fine.mesh.vertices[fine.mesh.triangles].mean(axis=1)
    own, _ = _located(coarse.mesh, side, at)
    triangles, parts = _located(coarse.mesh, side, fine.mesh.vertices.astype(np.float64))
    logs = np.log(np.maximum(coarse.matrix(), _LEAST))
    table = np.zeros((fine.n, fine.n_reports))
    for corner, part in zip(coarse.mesh.triangles[triangles].T, parts.T, strict=True):
        table += part[:, None] * logs[corner]
    table = np.exp(table)
    table /= table.sum(axis=1, keepdims=True)
    fine.begin(table, _multipliers(coarse, fine, own, blocked(table)))


def _located(
    mesh: Mesh, side: int, points: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Find triangles of a lattice and the weights of points in them, in floats."""
    low, high = mesh.box
    wide, tall = (high[0] - low[0]) // side, (high[1] - low[1]) // side
    i = np.clip((points[:, 0] - low[0]) // side, 0, wide - 1).astype(np.int64)
    j = np.clip((points[:, 1] - low[1]) // side, 0, tall - 1).astype(np.int64)
    first = 2 * (j * wide + i)
    weights = [_weights(mesh, first + half, points) for half in (0, 1)]
    second = weights[1].min(axis=1) > weights[0].min(axis=1)
    return first + second, np.where(second[:, None], weights[1], weights[0])


def _weights(
    mesh: Mesh, triangles: NDArray[np.int64], points: NDArray[np.float64]
) -> NDArray[np.float64]:
    a = mesh.vertices[mesh.triangles[triangles, 0]]
    moved: NDArray[np.float64] = np.einsum("tdc,td->tc", mesh.gradients[triangles], points - a)
    moved[:, 0] += 1
    return moved


def _multipliers(
    coarse: ConeIterate,
    fine: ConeIterate,
    own: NDArray[np.int64],
    table: NDArray[np.float32],
) -> NDArray[np.float32]:
    """Give the multipliers of a coarse mesh to the triangles of a fine one, in its layout and scale."""
    from scipy.sparse import csr_array

    corners, m = fine.mesh.triangles, len(own)
    rows = np.repeat(np.arange(m), 3)
    held = csr_array((np.ones(3 * m), (rows, corners.ravel())), shape=(m, fine.n))
    degree = np.maximum(np.asarray(held.sum(axis=0)).ravel(), 1.0)
    to_vertices = (held / degree).T.tocsr()
    # Both meshes state multipliers per leg: the part of the area is that of the legs, squared.
    part = fine.legs / coarse.legs[own] * (coarse.unit / fine.unit)
    made = np.zeros((len(table), m, 5, LANES), dtype=np.float32)
    for b, block in enumerate(coarse.L.reshape(len(table), -1, 5, LANES)):
        pushed = block[own, :2] * (coarse.R[b, own] * part[:, None])[:, None]
        scale = fine.R[b][:, None]
        p = np.divide(pushed, scale, out=np.zeros(pushed.shape), where=scale > 0).reshape(m, -1)
        for _ in range(_ROUNDS):
            p = held @ (to_vertices @ p) / 3
        p = p.reshape(m, 2, LANES)
        made[b, :, :2] = p
        least = table[b][corners].argmin(axis=1)
        size = np.hypot(p[:, 0], p[:, 1])
        for corner in range(3):
            made[b, :, 2 + corner] = np.where(least == corner, size, 0.0)
    return made.reshape(fine.L.shape)
