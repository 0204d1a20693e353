"""Maps draw what the channel says, to scale."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet.core.errors import InvalidProblemError
from discreet.report.maps import Backdrop, Places, draw_map


def places(cell: float | None = None) -> Places:
    plane = np.array([(0.5, 0.5), (1.5, 0.5), (0.5, 1.5), (1.5, 1.5)])
    chance = np.array([[0.64, 0.16, 0.16, 0.04]] * 3 + [[0.0, 0.0, 0.0, 1.0]])
    return Places(plane, chance, np.arange(4), np.ones((4, 4)), "km", "km", cell)


def test_areas_of_discs_are_in_proportion_to_probabilities() -> None:
    view = draw_map(places(), [("a", 0)], near=[Fraction(1)])
    areas = np.array([size**2 for _, _, size, _ in view.marks])
    assert areas / areas.sum() == pytest.approx([0.64, 0.16, 0.16, 0.04], rel=5e-3)


def test_north_is_up() -> None:
    view = draw_map(places(), [("a", 2)], near=[])
    ys = view.data["at"][1::2]
    assert ys[2] < ys[0]
    assert view.true == (view.data["at"][4], view.data["at"][5])


def test_what_is_near_is_counted() -> None:
    view = draw_map(places(), [("a", 0)], near=[Fraction(1), Fraction(2)])
    assert view.data["facts"][0] == ["64 %", "96 %", "100 %", "1 km"]
    assert view.facts == [
        "reported as it is",
        "reported within 1 km",
        "reported within 2 km",
        "expected loss",
    ]


def test_reports_that_name_few_places_are_found() -> None:
    few = Places(places().plane, np.full((4, 2), 0.5), np.array([3, 0]), np.zeros((4, 2)), "km")
    view = draw_map(few, [("a", 1)], near=[])
    assert view.data["facts"] == [
        ["50 %", "0"],
        ["0 %", "0"],
        ["0 %", "0"],
        ["50 %", "0"],
    ]
    assert {(x, y) for x, y, _, _ in view.marks} == {
        tuple(view.data["at"][6:8]),
        tuple(view.data["at"][0:2]),
    }


def test_cells_fill_the_map_and_are_tinted() -> None:
    view = draw_map(places(cell=1.0), [("a", 0)], near=[])
    assert [size for _, _, size, _ in view.marks] == [500.0] * 4
    assert view.marks[0][3] > view.marks[1][3] > view.marks[3][3] > 0
    assert "grid" in view.shapes


def test_the_busiest_roads_are_the_widest_and_none_is_lost() -> None:
    roads = np.array([(0, 1), (0, 2), (1, 3), (2, 3), (0, 3), (1, 2), (0, 1)])
    backdrop = Backdrop(
        roads, np.array([0.0, 1, 2, 3, 4, 9, 5]), np.array([(0.0, 0.0), (2.0, 2.0)])
    )
    view = draw_map(places(), [("a", 0)], near=[], backdrop=backdrop)
    assert sum(view.shapes[name].count("M") for name in ("streets", "roads", "avenues")) == len(
        roads
    )
    (i, j) = roads[5]
    at = np.reshape(view.data["at"], (4, 2))
    assert f"M{at[i][0]:g} {at[i][1]:g}L{at[j][0]:g} {at[j][1]:g}" in view.shapes["avenues"]
    assert view.shapes["river"].startswith("M")


def test_the_scale_bar_is_round_and_fits() -> None:
    view = draw_map(places(), [("a", 0)], near=[])
    length, words = view.bar
    assert words == "200 m"
    assert length == pytest.approx(0.2 * (1000 - 90), abs=0.1)


@pytest.mark.parametrize("picks", [[], [("a", 4)], [("a", -1)]])
def test_a_pick_must_be_a_place(picks: list[tuple[str, int]]) -> None:
    with pytest.raises(InvalidProblemError, match="^picks: "):
        draw_map(places(), picks, near=[])


def test_a_backdrop_must_fit() -> None:
    with pytest.raises(InvalidProblemError, match="^roads: "):
        Backdrop(np.array([1, 2]))
    with pytest.raises(InvalidProblemError, match="^traffic: "):
        Backdrop(np.array([(1, 2)]), np.array([1.0, 2.0]))


@pytest.mark.parametrize(
    ("plane", "width", "height"),
    [
        ([(0.0, 0.0), (0.0, 10.0)], 0, 910 * 1.3),
        ([(0.0, 0.0), (1.0, 10.0)], 910 * 1.3 / 10, 910 * 1.3),
        ([(0.0, 0.0), (10.0, 1.0)], 910, 91),
        ([(5.0, 5.0), (5.0, 5.0)], 0, 0),
    ],
)
def test_maps_of_any_shape_fit(
    plane: list[tuple[float, float]], width: float, height: float
) -> None:
    two = Places(np.array(plane), np.eye(2), np.arange(2), np.zeros((2, 2)), "km")
    view = draw_map(two, [("a", 0)], near=[])
    at = np.reshape(view.data["at"], (2, 2))
    assert np.ptp(at, axis=0) == pytest.approx([width, height], abs=0.2)
    assert at[:, 0].mean() == pytest.approx(500, abs=0.2)
    assert view.bar[0] <= 250
