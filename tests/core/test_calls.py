"""Calls that do not fit are answered with one that does; errors from inside pass through."""

from __future__ import annotations

import copy
import inspect
import pickle
from typing import Any

import polars as pl
import pytest

import discreet
from discreet.core.calls import explained

dc: Any = discreet
"""Calls are wrong on purpose, which type checkers see: their signatures are kept."""

SPACE = dc.MetricSpace.grid(2, 2, cell=1, unit="km")
TABLE = pl.DataFrame({"age": [1, 2, 3, 4]})
CHANNEL = dc.Channel.from_weights([[2**61, 2**61], [2**61, 2**61]])
REGION = dc.lrgeo.Region.from_grid(2, 2, cell="0.5", unit="km")
PROMISE = dc.MetricDP(1, unit="km")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda: dc.kanonymity.anonymize(TABLE, k=5),
            r"such as anonymize\(table, dc\.KAnonymity\(5, .*'k'$",
        ),
        (lambda: dc.kanonymity.anonymize(TABLE), "one that is missing 1 required.*'guarantee'$"),
        (
            lambda: dc.metricdp.design(SPACE, epsilon=1),
            r"design\(problem, dc\.MetricDP\(1, unit='km'\)\)",
        ),
        (lambda: dc.metricdp.Problem(SPACE), r"Problem\(space, utility_loss='euclidean'\)"),
        (lambda: dc.lrgeo.design(REGION, epsilon=1), r"design\(region, dc\.MetricDP"),
        (lambda: dc.lrgeo.design(SPACE, PROMISE), "region: expected a Region.*got MetricSpace"),
        (lambda: dc.lrgeo.Client(REGION), "mechanism: expected a Mechanism.*got Region"),
        (
            lambda: dc.hierarchy.plan([], epsilon=1),
            r"dc\.PureDP\(1, neighbors='add-remove-person'\)",
        ),
        (lambda: dc.hierarchy.release(TABLE, epsilon=1), r"such as release\("),
        (lambda: dc.submodular.plan(range(3), 2), "objective=spec"),
        (
            lambda: dc.submodular.release(TABLE, 2, epsilon=1),
            r"such as release\(objective, matroid",
        ),
        (lambda: dc.PureDP(1), r"dc\.PureDP\(1, neighbors='add-remove-person'\)"),
        (lambda: dc.MetricDP(1), r"dc\.MetricDP\(1, unit='km'\)"),
        (lambda: dc.KAnonymity(5), r"dc\.KAnonymity\(5, \('age', 'zip'\)\)"),
        (lambda: dc.MetricSpace.from_points([(0, 1)]), r"from_points\(.*unit='km'\)"),
        (
            lambda: CHANNEL.report((0, 1)),
            "number of one secret, from 0 to 1; report_many.*got tuple",
        ),
        (lambda: CHANNEL.report("0"), "got str"),
        (lambda: CHANNEL.report(1.0), "got float"),
        (lambda: CHANNEL.report(True), "got bool"),  # noqa: FBT003 - no number of a secret
    ],
)
def test_a_call_that_does_not_fit_gets_a_sentence(call: Any, said: str) -> None:
    with pytest.raises(dc.InvalidProblemError, match=said):
        call()


def test_a_secret_is_in_no_message() -> None:
    with pytest.raises(dc.InvalidProblemError) as refused:
        CHANNEL.report((41.8986, 12.4769))
    assert "41" not in str(refused.value)


def test_an_error_from_inside_passes_through() -> None:
    @explained("broken(1)")
    def broken(number: int) -> int:
        return number + "1"  # type: ignore[operator]

    with pytest.raises(TypeError, match="unsupported operand"):
        broken(1)


def test_signatures_records_and_pickles_stay() -> None:
    assert list(inspect.signature(dc.PureDP).parameters) == ["epsilon", "neighbors"]
    assert "guarantee" in inspect.signature(dc.kanonymity.anonymize).parameters
    promise = dc.KAnonymity(5, ("age",))
    assert pickle.loads(pickle.dumps(promise)) == promise == copy.deepcopy(promise)  # noqa: S301 - our own
