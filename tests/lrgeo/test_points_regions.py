"""Meshes over roads, over a cluster of places, and over what is too large: what they cover, and how finely."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import MetricDP
from discreet.datasets.city import made_city
from discreet.lrgeo import PointMechanism, Region, design
from discreet.lrgeo.points.layout import lay_out
from discreet.lrgeo.points.verify import verify


def city() -> Region:
    """Roads of a made city on the sphere, with places on them."""
    made = made_city(40, seed=3)
    east, north = made.points.T
    nodes = {
        "osmid": list(range(len(east))),
        "y": (41.8 + north / 111.2).tolist(),
        "x": (12.4 + east / 83.0).tolist(),
    }
    streets = {"u": made.edges[:, 0].tolist(), "v": made.edges[:, 1].tolist()}
    return Region.from_roads(nodes, streets, spacing="0.4", unit="km")


def cluster() -> Region:
    """Nine of ten places in a twentieth of the region's width, the others far out."""
    rng = np.random.default_rng(8)
    near = rng.integers(40_000, 42_000, (90, 2))
    far = rng.integers(0, 40_000, (10, 2))
    return Region(np.unique(np.concatenate([near, far]), axis=0), None, "km")


def legs_at(mesh: Any, points: Any) -> Any:
    """The leg of the triangle that holds each point."""
    spots = [mesh.find((Fraction(x), Fraction(y))) for x, y in points.tolist()]
    return np.sqrt(mesh.twice_areas[[spot.triangle for spot in spots]])


def test_a_mesh_over_roads_takes_every_point_of_every_road() -> None:
    region = city()
    assert region.roads is not None
    made = PointMechanism.from_design(
        design(region, MetricDP(2, "km"), method="mesh", spacing="0.5", time_limit=2)
    )
    assert verify(made.claimed()).passed
    ends = region.roads.vertices[region.roads.segments]
    along = np.linspace(0, 1, 5)[:, None, None]
    points = (ends[:, 0] + along * (ends[:, 1] - ends[:, 0])).reshape(-1, 2)
    sphere = region._where(points.astype(np.float64))
    for latitude, longitude in sphere.tolist():
        assert sum(made.find((latitude, longitude)).weights) > 0
    # Roads do not lie where none is: a point two kilometers away is refused.
    beyond = sphere.max(axis=0) + 0.05
    with pytest.raises(InvalidProblemError, match="outside"):
        made.find(tuple(beyond.tolist()))


def test_a_mesh_covers_the_hull_of_its_places_and_is_fine_at_them() -> None:
    region, wanted = cluster(), 1_250
    even = lay_out(region, Fraction(2))
    assert len(even.chosen) == region.K
    assert legs_at(even.mesh, even.places).max() <= wanted
    most = len(even.mesh.vertices) * region.K - 1
    uneven = lay_out(region, Fraction(2), max_weights=most)
    # Coarser where nobody is thought to be, and nowhere else; all places stay reports.
    assert len(uneven.chosen) == region.K
    assert not uneven.notes
    assert len(uneven.mesh.vertices) < len(even.mesh.vertices) / 2
    assert legs_at(uneven.mesh, uneven.places).max() <= wanted
    assert np.sqrt(uneven.mesh.twice_areas).max() >= 4 * wanted - 8
    # Mixtures of places are the hull: none is outside, so that none is projected.
    rng = np.random.default_rng(2)
    for shares in rng.dirichlet(np.full(region.K, 0.05), 200):
        x, y = (Fraction(int(at)) for at in shares @ uneven.places)
        assert uneven.mesh.projected((x, y)) == (x, y)


def test_what_is_too_large_for_a_table_is_coarser_or_refused_with_a_sentence() -> None:
    """With a hundredth of the weights and of the area: few places keep a fine mesh, many a coarser one or none."""
    wide, most = np.random.default_rng(6).integers(0, 40_000, (600, 2)), 26_000
    made = lay_out(Region(wide, None, "km"), Fraction(2), max_weights=most)
    assert 100 <= len(made.chosen) <= most // len(made.mesh.vertices)
    assert made.notes == (
        "mesh of 1 over epsilon, so that its table fits",
        f"{len(made.chosen)} of 600 places are reports, so that the table fits",
    )
    assert legs_at(made.mesh, made.places).max() <= 5_000
    few = lay_out(Region(wide[:20], None, "km"), Fraction(2), max_weights=most)
    assert len(few.chosen) == 20
    assert not few.notes
    assert legs_at(few.mesh, few.places).max() <= 1_250
    with pytest.raises(InvalidProblemError, match="at most 26,000 weights.*places only"):
        lay_out(Region(wide, None, "km"), Fraction(2), spacing="0.125", max_weights=most)
    with pytest.raises(InvalidProblemError, match="at most 26,000 weights"):
        lay_out(Region(5 * wide, None, "km"), Fraction(2), max_weights=most)
