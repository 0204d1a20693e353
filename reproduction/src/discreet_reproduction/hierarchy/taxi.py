"""Made taxi trips: pickups by taxi in zones and boroughs, in the shape of New York's, counted in two ways.

A taxi is not in one region, so that what a group is must be said: the taxi, put where it picks up most; or the taxi in
a zone, of which there are many more. The paper says the first and prints errors that only the second could have.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.spaces.inputs import positive_count
from discreet.core.tree import Tree
from discreet.datasets.census import MadeCounts

_ZONES = (43, 61, 1, 69, 69, 20)
"""Taxi zones of the Bronx, Brooklyn, Newark's airport, Manhattan, Queens and Staten Island."""

_PULL = (0.15, 0.6, 0.002, 9.0, 1.0, 0.01)
"""How a borough's zones draw pickups, on the average."""


def made_taxi(
    *,
    taxis: int = 13_282,
    pickups: int = 24_489_743,
    zones: tuple[int, ...] = _ZONES,
    max_size: int | None = None,
    group: Literal["taxi", "taxi-zone"] = "taxi",
    seed: int = 2014,
) -> MadeCounts:
    """Make groups of pickups by size in zones and boroughs; by default as many as the paper counts in 2014.

    The pickups of a taxi are a share of all, in gamma shares; they fall into zones by a lognormal draw of each zone,
    which differs a little from taxi to taxi.

    Parameters
    ----------
    taxis, pickups
        Number of taxis, and about how many pickups they have together.
    zones
        Number of zones of each borough.
    max_size
        N: larger groups are counted as of this size. By default the number of taxis, as in the paper.
    group
        ``"taxi"``: one group a taxi, in the zone where it picks up most. ``"taxi-zone"``: one for each zone in which it
        picks up.
    seed
        Any non-negative integer; equal seeds make equal counts.

    Returns
    -------
    MadeCounts
        The regions ``B1`` and ``B1-Z01`` below ``city``, and the counts.

    Raises
    ------
    InvalidProblemError
        For numbers that make no sense.

    Complexity
    ----------
    O(taxis zones + zones max_size).

    Examples
    --------
    >>> made_taxi(taxis=50, pickups=4000, zones=(2, 3), max_size=100)
    MadeCounts(made taxis: 8 regions, 50 groups, sizes 1..100)
    >>> made_taxi(taxis=50, pickups=4000, zones=(2, 3), group="taxi-zone", max_size=100).groups > 100
    True
    """
    positive_count(taxis, "taxis")
    positive_count(pickups, "pickups")
    most = taxis if max_size is None else positive_count(max_size, "max_size")
    if not zones:
        raise InvalidProblemError("zones", "the number of zones of each borough", "none")
    for number in zones:
        positive_count(number, "zones")
    if group not in ("taxi", "taxi-zone"):
        raise InvalidProblemError("group", "'taxi' or 'taxi-zone'", repr(group))
    if seed < 0:
        raise InvalidProblemError("seed", "a non-negative integer", seed)
    generator = np.random.default_rng(seed)
    pull = np.repeat(np.resize(_PULL, len(zones)), zones)
    pull = pull * generator.lognormal(0.0, 1.2, len(pull))
    shares = generator.gamma(2.0, 1.0, taxis)
    trips = np.maximum(1, np.rint(shares / shares.sum() * pickups)).astype(np.int64)
    own = pull * generator.gamma(4.0, 0.25, (taxis, len(pull)))
    fallen = generator.multinomial(trips, own / own.sum(axis=1, keepdims=True))
    if group == "taxi":
        zone, size = fallen.argmax(axis=1), trips
    else:
        taxi, zone = np.nonzero(fallen)
        size = fallen[taxi, zone]
    counts = np.zeros((len(pull), most), dtype=np.int64)
    np.add.at(counts, (zone, np.minimum(size, most) - 1), 1)
    paths = [
        (f"B{borough + 1}", f"B{borough + 1}-Z{place + 1:02d}")
        for borough, number in enumerate(zones)
        for place in range(number)
    ]
    tree = Tree.from_paths(paths, root="city")
    name = "made taxis" if group == "taxi" else "made taxis by zone"
    return MadeCounts(tree, counts, name, seed)
