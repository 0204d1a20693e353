"""Small synthetic tables as text, one set for each of the first commands of the README."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.core.printed import positions
from discreet.core.spaces.geography import EARTH_RADIUS_KM
from discreet.datasets.choices import topic_edges
from discreet.datasets.city import made_city
from discreet.datasets.microdata import made_patients

if TYPE_CHECKING:
    from collections.abc import Iterable

_COUNTIES = {"North": ("Ash", "Birch"), "South": ("Cedar", "Dale", "Elm")}
_TOWN = (41.89, 12.48)
"""Latitude and longitude of the middle of the city."""

_PLACES = (
    "bridge",
    "castle",
    "church",
    "fair",
    "harbor",
    "market",
    "mill",
    "museum",
    "park",
    "school",
)


def first_files(seed: int = 7) -> dict[str, str]:
    r"""Generate the files of the first commands.

    Parameters
    ----------
    seed
        Non-negative; the same seed gives the same files.

    Returns
    -------
    dict of str
        Name of a CSV file -> its text. ``patients.csv``: 300 patients; ``people.csv``: the persons of 400 households
        in five counties, and ``regions.csv``: the list of those; ``reach.csv``: which of 120 sources reach which of
        1,000 persons, and ``districts.csv``: the district of each source; ``places.csv``: ten places of a town, east
        and north in km; ``edges.csv`` and ``nodes.csv``: roads (lengths in meters) and junctions (degrees) of a city,
        as OSMnx writes them.

    Examples
    --------
    >>> {name: text.partition("\n")[0] for name, text in first_files().items()}["patients.csv"]
    'age,sex,zip,disease'
    """
    draw = np.random.default_rng(seed)
    patients = made_patients(300, seed=seed)
    people, counties = [], [(state, one) for state, each in _COUNTIES.items() for one in each]
    for household in range(400):
        state, county = counties[int(draw.integers(len(counties)))]
        size = min(1 + int(draw.poisson(1.4)), 8)
        people += [(state, county, f"h{household:04d}")] * size
    clients, candidates, _ = topic_edges(1000, 120, 1, seed=seed)
    nodes, edges = made_city(60, seed=seed).tables()
    north, east = np.degrees([nodes["y"], nodes["x"]]) / EARTH_RADIUS_KM
    east /= np.cos(np.radians(_TOWN[0]))
    meters = positions(1000 * np.array(edges["length"]), 1).tolist()
    return {
        "patients.csv": _csv(patients, zip(*patients.values(), strict=True)),
        "people.csv": _csv(("state", "county", "household"), people),
        "regions.csv": _csv(("state", "county"), counties),
        "reach.csv": _csv(
            ("client", "candidate"),
            sorted({(f"r{a:03d}", f"s{b:03d}") for a, b in zip(clients, candidates, strict=True)}),
        ),
        "districts.csv": _csv(
            ("candidate", "group", "capacity"),
            ((f"s{one:03d}", f"district {one // 20}", 1) for one in range(120)),
        ),
        "places.csv": _csv(
            ("name", "x", "y"),
            ((one, *positions(draw.uniform(0, 5, 2), 2).tolist()) for one in _PLACES),
        ),
        "nodes.csv": _csv(
            ("osmid", "y", "x"),
            zip(
                nodes["osmid"],
                positions(_TOWN[0] + north, 6).tolist(),
                positions(_TOWN[1] + east, 6).tolist(),
                strict=True,
            ),
        ),
        "edges.csv": _csv(
            ("u", "v", "length", "oneway"),
            (
                (start, end, length, bool(one_way))
                for start, end, length, one_way in zip(
                    edges["u"], edges["v"], meters, edges["oneway"], strict=True
                )
            ),
        ),
    }


def _csv(header: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Write a table; no cell of these files needs quotes."""
    return "\n".join(",".join(str(cell) for cell in row) for row in (tuple(header), *rows)) + "\n"
