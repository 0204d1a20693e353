"""The verifier of mechanisms for every point, on meshes written by hand: nothing of their design is needed here."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import lattices
import noises
from discreet.core.guarantee import MetricDP, PointScope, Scope
from discreet.lrgeo.points.noise import NoiseMechanism
from discreet.lrgeo.points.table import LatticeMechanism
from discreet.lrgeo.points.verify import Claimed, verify

if TYPE_CHECKING:
    from collections.abc import Callable

BITS = 10
KM = 10_000 << 20
"""The factor of a plane whose unit is the kilometer: its decimeters, times 2^20."""

PER_DEGREE = int(63_710_088 * 3.141592653589793 / 180 * (1 << 20))


def named(claim: Claimed) -> Claimed:
    """Let the guarantee name the region that the arrays describe."""
    places = claim.vertices.tolist()
    text = json.dumps(
        {
            "unit": claim.unit,
            "origin": None if claim.origin is None else list(claim.origin),
            "east": claim.factors[0],
            "north": claim.factors[1],
            "reach": claim.reach,
            "outline": [places[corner] for corner in claim.outline.tolist()],
        },
        sort_keys=True,
        separators=(",", ":"),
        ensure_ascii=False,
    )
    digest = hashlib.sha256(b"discreet.points/1 " + text.encode()).hexdigest()
    guarantee = claim.guarantee
    return replace(
        claim, guarantee=MetricDP(guarantee.epsilon, guarantee.unit, scope=PointScope(digest))
    )


def square(**changes: Any) -> Claimed:
    """A square kilometer of four triangles around its center, two reports, the first likelier at the center.

    The largest gradient of a report is 24 / 2^10 in half a kilometer where its least weight is 500 / 2^10: it needs
    an epsilon of 24 / 500 in half a kilometer, .096 per km.
    """
    made = Claimed(
        unit="km",
        origin=None,
        factors=(KM, KM),
        reach=100,
        vertices=np.array([[0, 0], [10_000, 0], [10_000, 10_000], [0, 10_000], [5_000, 5_000]]),
        triangles=np.array([[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]]),
        outline=np.array([0, 1, 2, 3]),
        weights=np.array([[500, 524]] * 4 + [[524, 500]]),
        bits=BITS,
        guarantee=MetricDP("0.096", "km"),
    )
    return named(replace(made, **changes))


def failed(claim: Claimed) -> set[str]:
    return {check.name for check in verify(claim).checks if not check.passed}


def test_the_square_passes_at_its_epsilon_and_at_none_below() -> None:
    assert verify(square()).passed
    assert failed(square(guarantee=MetricDP("0.09599999999999999999", "km"))) == {
        "inequalities violated"
    }
    # Far from the border of the condition floats alone decide.
    assert verify(square(guarantee=MetricDP(1, "km"))).passed
    assert failed(square(guarantee=MetricDP("0.01", "km"))) == {"inequalities violated"}


def test_a_report_exists_everywhere_or_nowhere() -> None:
    weights = np.array([[1024, 0]] * 4 + [[1023, 1]])
    assert failed(square(weights=weights, guarantee=MetricDP(1000, "km"))) == {
        "inequalities violated"
    }
    assert verify(square(weights=np.array([[1024, 0]] * 5))).passed


def _moved(corner: int, to: list[int]) -> Callable[[Claimed], dict[str, Any]]:
    def change(claim: Claimed) -> dict[str, Any]:
        vertices = claim.vertices.copy()
        vertices[corner] = to
        return {"vertices": vertices}

    return change


def _rows(row: int, weights: list[int]) -> Callable[[Claimed], dict[str, Any]]:
    def change(claim: Claimed) -> dict[str, Any]:
        changed = claim.weights.copy()
        changed[row] = weights
        return {"weights": changed}

    return change


def _triangles(*triangles: list[int]) -> Callable[[Claimed], dict[str, Any]]:
    return lambda _: {"triangles": np.array(triangles)}


BAD: dict[str, tuple[Callable[[Claimed], dict[str, Any]], str]] = {
    "weights of another shape": (
        lambda claim: {"weights": claim.weights[:4]},
        "arrays of other shapes",
    ),
    "weights that are floats": (
        lambda claim: {"weights": claim.weights.astype(float)},
        "arrays of other shapes",
    ),
    "more bits than a float holds": (lambda _: {"bits": 54}, "arrays of other shapes"),
    "no triangle": (
        lambda _: {"triangles": np.empty((0, 3), dtype=np.int64)},
        "arrays of other shapes",
    ),
    "a triangle of vertices that are not there": (
        _triangles([0, 1, 5], [1, 2, 4], [2, 3, 4], [3, 0, 4]),
        "numbers out of range",
    ),
    "a vertex beyond all": (_moved(4, [1 << 30, 5_000]), "numbers out of range"),
    "a reach below 0": (lambda _: {"reach": -1}, "numbers out of range"),
    "a weight below 0": (_rows(4, [1025, -1]), "negative weights"),
    "a row that sums to more": (_rows(4, [524, 501]), "row sums off"),
    "two vertices at one spot": (_moved(4, [0, 0]), "vertices at one spot"),
    "a vertex of no triangle": (_triangles([0, 1, 2], [0, 2, 3]), "vertices of no triangle"),
    "a clockwise triangle": (
        _triangles([1, 0, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]),
        "triangles without area, or clockwise",
    ),
    "a triangle twice": (
        _triangles([0, 1, 4], [0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]),
        "edges of two triangles on one side",
    ),
    "a triangle left out": (
        _triangles([0, 1, 4], [1, 2, 4], [2, 3, 4]),
        "area not covered once",
    ),
    "two triangles that touch at a corner alone": (
        _triangles([0, 1, 4], [2, 3, 4]),
        "faults of the border",
    ),
    "corners from another one": (
        lambda _: {"outline": np.array([1, 2, 3, 0])},
        "faults of the border",
    ),
    "two corners": (lambda _: {"outline": np.array([0, 2])}, "faults of the border"),
    "a corner twice": (lambda _: {"outline": np.array([0, 1, 2, 2, 3])}, "faults of the border"),
    "a corner that no border passes": (
        lambda _: {"outline": np.array([0, 1, 4, 2, 3])},
        "faults of the border",
    ),
    "a first corner that no border passes": (
        lambda _: {"outline": np.array([4, 1, 2])},
        "faults of the border",
    ),
    "a corner left out": (lambda _: {"outline": np.array([0, 1, 2])}, "faults of the border"),
    "a border that is not convex": (_moved(1, [4_000, 4_500]), "faults of the border"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_mesh_or_row_is_refused_for_its_fault(name: str) -> None:
    change, fault = BAD[name]
    right = square()
    wrong = replace(right, **change(right))
    if wrong.vertices.shape == right.vertices.shape:
        wrong = named(wrong)
    assert fault in failed(wrong)


def test_a_corner_in_the_middle_of_a_side_is_no_corner() -> None:
    """Five vertices on the border, the fifth on a side: it belongs to the border, not to the outline."""
    vertices = np.array([[0, 0], [10_000, 0], [10_000, 10_000], [0, 10_000], [5_000, 0]])
    triangles = np.array([[0, 4, 3], [4, 1, 2], [4, 2, 3]])
    even = np.array([[512, 512]] * 5)
    right = square(vertices=vertices, triangles=triangles, weights=even)
    assert verify(right).passed
    assert failed(named(replace(right, outline=np.array([0, 4, 1, 2, 3])))) == {
        "faults of the border"
    }


def test_two_regions_that_do_not_touch_are_not_one() -> None:
    """The border of the first is what the outline says; the second triangle stands apart."""
    vertices = np.array([[0, 0], [9, 0], [0, 9], [20, 20], [29, 20], [20, 29]])
    both = square(
        vertices=vertices,
        triangles=np.array([[0, 1, 2], [3, 4, 5]]),
        outline=np.array([0, 1, 2]),
        weights=np.array([[512, 512]] * 6),
    )
    assert failed(both) == {"faults of the border", "area not covered once"}


def test_long_rows_are_added_without_an_overflow() -> None:
    """With 53 bits more than 2^9 reports could overflow a sum: these are added as Python's integers."""
    n = 1 << 10
    row = np.full(n, (1 << 53) // n)
    weights = np.array([row] * 5)
    assert verify(square(weights=weights, bits=53)).passed
    weights[3, 7] += 1
    assert failed(square(weights=weights, bits=53)) == {"row sums off"}


def test_what_the_claim_says_besides_is_compared() -> None:
    right = square()
    assert failed(replace(right, guarantee=MetricDP("0.096", "km"))) == {
        "another region than stated"
    }
    of_places = MetricDP("0.096", "km", scope=Scope("0" * 64, 4, None, 1))
    assert "another region than stated" in failed(replace(right, guarantee=of_places))
    assert "another region than stated" in failed(replace(right, reach=101))
    near = MetricDP("0.096", "km", radius=1)
    assert "facts misstated in the claim" in failed(replace(right, guarantee=near))
    # The same number per meter is a weaker promise, and another one than the file's unit says.
    assert "facts misstated in the claim" in failed(square(guarantee=MetricDP("0.096", "m")))
    assert failed(square(factors=(KM, KM + 1))) == {"distances longer in the plane"}


@pytest.mark.parametrize(
    ("origin", "east", "north", "flat"),
    [
        (("0", "0"), PER_DEGREE - (1 << 22), PER_DEGREE, True),
        (("0", "0"), PER_DEGREE, PER_DEGREE, False),
        (("60", "10"), PER_DEGREE // 2 - (1 << 28), PER_DEGREE, True),
        (("60", "10"), PER_DEGREE // 2, PER_DEGREE, False),
        (("60", "10"), PER_DEGREE // 2 - (1 << 28), PER_DEGREE + 1, False),
        (("60", "10"), 0, PER_DEGREE, False),
        (("60", "10"), PER_DEGREE // 2 - (1 << 32), PER_DEGREE - (1 << 32), True),
        (("60", "10"), PER_DEGREE // 2, PER_DEGREE - (1 << 32), False),
        (("71", "10"), PER_DEGREE // 4, PER_DEGREE, True),
        (("71", "10"), PER_DEGREE // 3, PER_DEGREE, False),
        (("88.1", "10"), PER_DEGREE // 99, PER_DEGREE, False),
        (("0", "0"), 200, PER_DEGREE, False),
    ],
)
def test_the_plane_is_nowhere_longer_than_the_sphere(
    origin: tuple[str, str], east: int, north: int, *, flat: bool
) -> None:
    """A degree of longitude is narrower by the cosine of the latitude: half as wide at 60 degrees, and less above."""
    found = failed(square(origin=origin, factors=(east, north)))
    assert found == (set() if flat else {"distances longer in the plane"})


@pytest.mark.parametrize("kind", ["noise", "table"])
def test_forms_on_a_lattice_have_verifiers_of_their_own(kind: str) -> None:
    small = noises.Small((1, 1), (3, 4), Fraction(1))
    small_table = lattices.Small(small)
    files = {"noise": noises.sealed(small.parts()), "table": noises.sealed(small_table.parts())}
    forms: dict[str, Any] = {"noise": NoiseMechanism, "table": LatticeMechanism}
    claimed = forms[kind].from_dict(json.loads(files[kind])).claimed()
    assert verify(claimed).passed
    less = replace(claimed.guarantee, epsilon=Fraction(1, 100))
    assert not verify(replace(claimed, guarantee=less)).passed
