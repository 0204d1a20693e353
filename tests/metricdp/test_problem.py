"""The problem record: what it computes, and everything that it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet.core.errors import InvalidProblemError
from discreet.core.spaces.geography import great_circle
from discreet.core.spaces.metric import MetricSpace
from discreet.metricdp import Problem

GRID = MetricSpace.grid(2, 3, cell="0.5", unit="km")
POINTS = np.array([[0.0, 0.0], [3.0, 4.0], [6.0, 0.0]])


def problem(**given: Any) -> Problem:
    return Problem(GRID, **{"utility_loss": "euclidean", **given})


@pytest.mark.parametrize("name", ["quantile", "median", "95-percentile"])
def test_a_quantile_of_the_loss_is_refused_with_the_reason(name: str) -> None:
    with pytest.raises(InvalidProblemError, match="not linear in the channel.*distance > m"):
        problem(utility_loss=name)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("euclidean", [0.0, 5.0, 6.0]),
        ("manhattan", [0.0, 7.0, 6.0]),
        ("squared-euclidean", [0.0, 25.0, 36.0]),
        ("distance", [0.0, 5.0, 6.0]),
    ],
)
def test_a_named_loss_is_computed_from_the_points(name: str, expected: list[float]) -> None:
    stated = Problem(MetricSpace.from_points(POINTS, unit="km"), utility_loss=name)
    assert stated.loss[0].tolist() == expected
    assert stated.reports is not None
    assert stated.reports.tolist() == [0, 1, 2]


def test_haversine_is_the_great_circle_in_kilometers() -> None:
    places = np.array([[41.9, 12.5], [41.8, 12.4], [45.5, 9.2]])
    space = MetricSpace.from_points(places, metric="haversine", unit="km")
    stated = Problem(space, utility_loss="haversine", reports=[2, 0])
    assert stated.loss[1, 0] == great_circle(places[1], places[2])
    assert stated.loss[0, 1] == 0.0


def test_distance_works_without_points() -> None:
    space = MetricSpace.from_matrix([[0, 1.5], [1.5, 0]], unit="h")
    assert Problem(space, utility_loss="distance").loss.tolist() == [[0.0, 1.5], [1.5, 0.0]]
    with pytest.raises(InvalidProblemError, match="utility_loss: .* without points"):
        Problem(space, utility_loss="euclidean")


def test_reports_choose_columns_of_a_named_loss() -> None:
    stated = problem(reports=[4, 1])
    assert stated.loss.tolist() == problem().loss[:, [4, 1]].tolist()
    assert (stated.n_secrets, stated.n_reports) == (6, 2)


def test_reports_of_a_table_of_another_width_are_just_numbered() -> None:
    assert problem(utility_loss=np.ones((6, 4))).reports is None
    square = problem(utility_loss=np.ones((6, 6))).reports
    assert square is not None
    assert square.tolist() == list(range(6))


def test_cost_is_prior_times_loss() -> None:
    prior = [0.5, 0.25, 0.25, 0.0, 0.0, 0.0]
    stated = problem(prior=prior)
    assert (stated.cost == np.array(prior)[:, None] * stated.loss).all()
    assert problem().prior.tolist() == [1 / 6] * 6


def test_arrays_are_copied_and_frozen() -> None:
    loss = np.ones((6, 2))
    stated = problem(utility_loss=loss, prior=np.full(6, 1 / 6))
    loss[0, 0] = 7.0
    assert stated.loss[0, 0] == 1.0
    for array in (stated.loss, stated.prior, stated.cost):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.0


def test_digest_changes_with_each_input_and_with_nothing_else() -> None:
    other = MetricSpace.grid(2, 3, cell="0.25", unit="km")
    stated = [
        problem(),
        Problem(other, utility_loss=problem().loss),
        problem(utility_loss="manhattan"),
        problem(prior=[0.5, 0.5, 0, 0, 0, 0]),
        problem(reports=[0, 1, 2, 3, 5, 4]),
    ]
    assert len({one.digest for one in stated}) == len(stated)
    assert problem().digest == problem(utility_loss=problem().loss.tolist()).digest
    # A negative zero equals a zero, and so do their hashes.
    assert (
        problem(utility_loss=-np.zeros((6, 2))).digest
        == problem(utility_loss=np.zeros((6, 2))).digest
    )


def test_assumed_public_lists_every_input() -> None:
    named = problem().assumed_public()
    assert [one.name for one in named] == ["space", "utility_loss", "prior", "reports"]
    assert all(len(one.digest) == 64 for one in named)
    numbered = problem(utility_loss=np.ones((6, 2))).assumed_public()
    assert [one.name for one in numbered] == ["space", "utility_loss", "prior"]


@pytest.mark.parametrize(
    ("field", "given", "says"),
    [
        ("utility_loss", {"utility_loss": "cosine"}, "'cosine'"),
        ("utility_loss", {"utility_loss": np.ones((5, 6))}, "a table of 6 rows"),
        ("utility_loss", {"utility_loss": np.ones((6, 0))}, r"shape \(6, 0\)"),
        ("utility_loss", {"utility_loss": np.ones(6)}, r"shape \(6,\)"),
        ("utility_loss", {"utility_loss": [["a"]] * 6}, "list"),
        ("utility_loss", {"utility_loss": -np.ones((6, 6))}, "-1.0 in row 0, column 0"),
        ("utility_loss", {"utility_loss": np.full((6, 6), np.nan)}, "nan in row 0"),
        ("utility_loss", {"utility_loss": np.full((6, 6), np.inf)}, "inf in row 0"),
        ("prior", {"prior": [1.0]}, "6 probabilities"),
        ("prior", {"prior": ["x"] * 6}, "6 probabilities, got list"),
        ("prior", {"prior": [1.5, -0.5, 0, 0, 0, 0]}, "-0.5 at 1"),
        ("prior", {"prior": [np.nan, 1, 0, 0, 0, 0]}, "nan at 0"),
        ("prior", {"prior": [0.5, 0.5 + 2e-9, 0, 0, 0, 0]}, "off by 2e-9"),
        ("prior", {"prior": [np.inf, 0, 0, 0, 0, 0]}, "off by infinite"),
        ("reports", {"reports": []}, "a sequence of secrets"),
        ("reports", {"reports": [[0, 1]]}, "a sequence of secrets"),
        ("reports", {"reports": [0.5, 1.0]}, "float64"),
        ("reports", {"reports": [True, False]}, "bool"),
        ("reports", {"reports": [0, 6]}, "from 0 to 5, got 6"),
        ("reports", {"reports": [-1, 2]}, "from 0 to 5, got -1"),
        ("reports", {"reports": [2, 2]}, "one of them twice"),
        (
            "reports",
            {"reports": [0, 1], "utility_loss": np.ones((6, 3))},
            "one secret for each of the 3",
        ),
    ],
)
def test_nonsense_is_refused_by_name(field: str, given: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidProblemError, match=f"{field}: .*{says}"):
        problem(**given)


def test_a_prior_is_taken_within_rounding() -> None:
    assert problem(prior=[0.5, 0.5 + 1e-12, 0, 0, 0, 0]).prior[1] == 0.5 + 1e-12


def test_it_says_what_it_is() -> None:
    assert repr(problem()) == "Problem(6 secrets, 6 reports, km)"


def test_losses_of_which_products_vanish_are_refused_and_zero_is_not() -> None:
    """Losses of 1e-310 ended in a gap of 1, and the least number in an expected loss of 0."""
    line = MetricSpace.grid(1, 2, cell=1, unit="km")
    for least in (1e-291, 1e-310, 5e-324):
        with pytest.raises(InvalidProblemError, match="state them in a smaller unit"):
            Problem(line, utility_loss=[[0, least], [least, 0]])
    assert Problem(line, utility_loss=[[0, 0], [0, 0]]).loss.max() == 0
    assert Problem(line, utility_loss=[[0, 1e-290], [0, 5e-324]]).loss.max() == 1e-290
