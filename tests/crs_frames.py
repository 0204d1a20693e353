"""Stand-ins with the attributes of GeoPandas and pyproj that are read of them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

from earth import from_mercator, geodesic


@dataclass
class Axis:
    """As of pyproj."""

    unit_conversion_factor: float = 1.0


@dataclass
class CRS:
    """As of pyproj."""

    name: str = "WGS 84"
    is_geographic: bool = True
    is_projected: bool = False
    axis_info: list[Axis] = field(default_factory=lambda: [Axis(math.pi / 180)] * 2)


class Geodesics:
    """As ``pyproj.Geod`` of WGS 84."""

    def inv(self, *ends: Any) -> tuple[None, None, list[float]]:
        """Return meters from longitudes and latitudes, last of three."""
        return (
            None,
            None,
            [1000 * geodesic((b, a), (d, c)) for a, b, c, d in zip(*ends, strict=True)],
        )


UTM = CRS("UTM 33N", is_geographic=False, is_projected=True, axis_info=[Axis(), Axis()])
_FOOT = Axis(0.3048006096)
FEET = CRS("US feet", is_geographic=False, is_projected=True, axis_info=[_FOOT, _FOOT])
MERCATOR = CRS("Pseudo-Mercator", is_geographic=False, is_projected=True, axis_info=[Axis()] * 2)
GRADS = CRS("NTF (Paris)", axis_info=[Axis(math.pi / 200)] * 2)
SITE = CRS("site", is_geographic=False, is_projected=True, axis_info=[Axis()] * 2)


@dataclass
class Frame:
    """As a GeoDataFrame: the interface has a feature for each row, and the system stands beside it."""

    points: list[Any]
    crs: Any = None
    kind: str = "Point"

    @property
    def __geo_interface__(self) -> dict[str, Any]:
        rows = [
            {"type": "Feature", "geometry": {"type": self.kind, "coordinates": p} if p else None}
            for p in self.points
        ]
        return {"type": "FeatureCollection", "features": rows}


@dataclass
class Converting(Frame):
    """As a GeoDataFrame that converts itself: Mercator times a factor, grads, or not at all."""

    factor: float = 1.0

    def to_crs(self, name: str) -> Converting:
        """Convert to longitude and latitude."""
        assert name == "EPSG:4326"
        if self.crs is SITE:
            raise RuntimeError("no transformation")
        geographic = CRS()
        geographic.get_geod = Geodesics  # type: ignore[attr-defined]
        points = self.points
        if self.crs is MERCATOR:
            points = [from_mercator(x / self.factor, y / self.factor) for x, y in points]
        if self.crs is GRADS:
            points = [(0.9 * x, 0.9 * y) for x, y in points]
        return replace(self, points=points, crs=geographic)
