"""Forbidden reports and a maximum error: what is refused is impossible, and what is allowed is what was wished."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from discreet.core.errors import InfeasibleError, InvalidProblemError
from discreet.core.guarantee import MetricDP
from discreet.core.spaces.metric import MetricSpace
from discreet.metricdp import Problem, design, minimax, verify

LINE = MetricSpace.grid(1, 4, cell=1, unit="km")
ASKED = MetricDP(1, "km")


def problem(**given: Any) -> Problem:
    return Problem(LINE, utility_loss="euclidean", **given)


def privacy_rows(n: int, k: int, radius: float) -> np.ndarray:
    """Rows of ``z_ik - e^(d_ij) z_jk <= 0`` for pairs within a radius."""
    rows = []
    for i in range(n):
        for j in range(n):
            if 0 < abs(i - j) <= radius:
                for report in range(k):
                    row = np.zeros((n, k))
                    row[i, report], row[j, report] = 1, -np.exp(abs(i - j))
                    rows.append(row.ravel())
    return np.array(rows)


def least_cost(loss: np.ndarray, barred: np.ndarray, radius: float) -> float | None:
    """Loss of the best private channel that is 0 at barred entries, by HiGHS; ``None`` if there is none."""
    n, k = loss.shape
    sums = np.kron(np.eye(n), np.ones(k))
    bounds = [(0, 0 if stop else 1) for stop in barred.ravel()]
    rows = privacy_rows(n, k, radius)
    found = linprog(loss.ravel() / n, rows, np.zeros(len(rows)), sums, np.ones(n), bounds=bounds)
    return None if found.fun is None else float(found.fun)


@pytest.mark.parametrize("radius", [1, 9])
@given(st.sets(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=5))
@settings(max_examples=25, deadline=None)
def test_no_program_has_a_channel_where_one_secret_never_gives_a_report(
    radius: int, pairs: set[tuple[int, int]]
) -> None:
    """Zeros at pairs are zeros of whole columns: the program with either has the same optimum, or none."""
    barred = np.zeros((4, 4), dtype=bool)
    for i, k in pairs:
        barred[i, k] = True
    loss = problem().loss
    whole = np.broadcast_to(barred.any(axis=0), barred.shape)
    some, every = least_cost(loss, barred, radius), least_cost(loss, whole, radius)
    assert some == (None if every is None else pytest.approx(every, abs=1e-6))
    columns = np.flatnonzero(barred.any(axis=0))
    if every is not None and len(columns):
        made = design(problem(forbidden=columns), MetricDP(1, "km", radius), gap=1e-6)
        assert made.lower is not None
        assert made.lower - 1e-6 <= every <= made.upper + 1e-6


def test_a_report_that_some_secrets_must_not_give_is_refused_with_the_way_out() -> None:
    with pytest.raises(
        InfeasibleError, match="report 2 is forbidden to 1 of 4 secrets.*to all sec"
    ):
        problem(forbidden=[(0, 2)])
    pairs = [(secret, 2) for secret in range(4)]
    for forbidden in (pairs, [2], np.array([2])):
        left = problem(forbidden=forbidden)
        assert left.reports is not None
        assert left.reports.tolist() == [0, 1, 3]
        assert left.loss.tolist() == problem().loss[:, [0, 1, 3]].tolist()
    some = problem(reports=[3, 1], forbidden=[(secret, 1) for secret in range(4)])
    assert some.reports is not None
    assert some.reports.tolist() == [3]


def test_the_least_maximum_error_is_the_radius_of_the_map() -> None:
    with pytest.raises(
        InfeasibleError, match=r"error of 1.5 is .* least possible maximum is 2 \(re"
    ):
        problem(max_error=1.5)
    made = design(problem(max_error=2), ASKED)
    assert made.problem.reports is not None
    assert made.problem.reports.tolist() == [1, 2]
    assert made.problem.loss.max() == 2
    assert verify(made).passed
    with pytest.raises(InfeasibleError, match="maximum is 3"):
        problem(max_error=2, forbidden=[1, 2])


def test_the_least_bound_on_every_loss_is_that_of_certain_priors() -> None:
    made = minimax(problem(), list(np.eye(4)), ASKED)
    worst = made.design.loss_quantiles["worst"]
    assert worst == pytest.approx(made.upper)
    rows = np.hstack([privacy_rows(4, 4, 9), np.zeros((len(privacy_rows(4, 4, 9)), 1))])
    losses = np.zeros((4, 17))
    for i in range(4):
        losses[i, 4 * i : 4 * i + 4] = problem().loss[i]
    losses[:, 16] = -1
    sums = np.hstack([np.kron(np.eye(4), np.ones(4)), np.zeros((4, 1))])
    above = np.vstack([rows, losses])
    least = linprog(np.eye(17)[16], above, np.zeros(len(above)), sums, np.ones(4)).fun
    assert least is not None
    assert made.lower - 1e-7 <= least <= made.upper + 1e-7
    assert made.gap < 1e-5
    # The best channel on average serves some secret worse.
    assert design(problem(), ASKED).loss_quantiles["worst"] > worst


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"forbidden": []}, "forbidden"),
        ({"forbidden": [4]}, "reports of the problem"),
        ({"forbidden": [(0, 0, 0)]}, "pairs of a secret"),
        ({"forbidden": [0.5]}, "pairs of a secret"),
        ({"forbidden": [(4, 0)]}, "secrets from 0 to 3"),
        ({"forbidden": [0, 1, 2, 3]}, "a report that is left"),
        ({"max_error": -1}, "a loss of 0 or more"),
        ({"max_error": float("nan")}, "a loss of 0 or more"),
        ({"max_error": "2"}, "a number"),
        ({"max_error": True}, "a number"),
    ],
)
def test_what_forbids_nothing_or_everything_is_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidProblemError, match=said):
        problem(**wrong)


def test_reports_with_numbers_only_cannot_be_named() -> None:
    for wish in ({"forbidden": [0]}, {"max_error": 1}):
        with pytest.raises(InvalidProblemError, match="reports that are secrets"):
            Problem(LINE, utility_loss=np.ones((4, 2)), **wish)
