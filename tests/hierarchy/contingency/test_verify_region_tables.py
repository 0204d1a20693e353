"""The checker of tables by region rejects every table and every record that is not what it claims."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet import (
    ApproxDP,
    Certificate,
    InvalidProblemError,
    Provenance,
    PureDP,
    Release,
    Tree,
    ZeroConcentratedDP,
)
from discreet.hierarchy.contingency.measure import MeasuredTables, marginal_scales
from discreet.hierarchy.contingency.problem import Domain, TableFrame
from discreet.hierarchy.contingency.result import RegionTables
from discreet.hierarchy.contingency.verify import (
    verify,
    verify_guarantee,
    verify_measured,
    verify_tables,
)
from hierarchy.contingency.made_tables import ADDED, PAIR, RAGGED, REPLACED, SEX_AGE, frame_of

CROSSED: list[Any] = [(), (0,), (0, 1)]
LEAVES = np.arange(24).reshape(4, 6)


def kept_of(frame: TableFrame, guarantee: Any) -> MeasuredTables:
    """Pretend that what was measured is 0 everywhere."""
    values = {
        q: np.zeros((frame.tree.n, frame.domain.size_of(q)), dtype=np.int64)
        for q in frame.marginals
    }
    noise: Any = "laplace" if isinstance(guarantee, PureDP) else "gaussian"
    return MeasuredTables(frame, values, marginal_scales(frame, guarantee), noise, guarantee)


def failing(certificate: Certificate) -> list[str]:
    return [check.name for check in certificate.checks if not check.passed]


def test_a_release_is_checked_whole() -> None:
    frame, guarantee = frame_of(RAGGED, SEX_AGE, CROSSED), PureDP(1, ADDED)
    cells = RAGGED.totals(LEAVES)
    tables = RegionTables(frame, cells)
    made = Release(
        tables,
        guarantee,
        Certificate(()),
        Provenance("any", kept_of(frame, guarantee).parameters()),
    )
    assert verify(made).passed
    assert verify(made).checks[5].residual == 1
    published = {q: SEX_AGE.project(cells, q) for q in CROSSED}
    assert verify(replace(made, result=replace(tables, published=published))).passed
    for q in CROSSED:
        wrong = {
            **published,
            q: published[q] + (np.arange(published[q].size) == 1).reshape(published[q].shape),
        }
        found = verify(replace(made, result=replace(tables, published=wrong)))
        assert failing(found) == ["marginals that do not hold"]
    short = {q: published[q] for q in CROSSED[:2]}
    assert not verify(replace(made, result=replace(tables, published=short))).passed
    bent: dict[Any, Any] = {**published, (0,): published[0,][:, :1]}
    assert not verify(replace(made, result=replace(tables, published=bent))).passed


def test_numbers_that_do_not_fit_are_found() -> None:
    zeros = [{"sex": ["F"], "age": ["65+"]}]
    domain = Domain.read({"sex": ["F", "M"], "age": ["0-17", "18-64", "65+"]}, zeros=zeros)
    shares: dict[Any, Any] = {(0, 1): (Fraction(1, 3),) * 3}
    leaves = LEAVES.copy()
    leaves[:, 2] = 0
    total = int(leaves.sum())
    frame = TableFrame(RAGGED, domain, shares, total=total)
    cells = RAGGED.totals(leaves)
    assert failing(verify_tables(frame, cells)) == []
    for node, cell, wrong in (
        (3, 0, "sums over regions that do not hold"),
        (0, 0, "difference from the public total"),
    ):
        changed = cells.copy()
        changed[node, cell] += 1
        assert wrong in failing(verify_tables(frame, changed))
    leaves[0, 2] = 1
    leaves[0, 0] -= 1
    found = failing(verify_tables(frame, RAGGED.totals(leaves)))
    assert found == ["numbers below zero", "records in structural zeros"]
    # Sums that wrap around would hold though they do not.
    huge = np.zeros((3, 6), dtype=np.int64)
    huge[1:, 0] = 1 << 62
    huge[0, 0] = -(1 << 63)
    wide = frame_of(PAIR, SEX_AGE, [(0, 1)])
    assert "sums over regions that do not hold" in failing(verify_tables(wide, huge))
    for given in (np.zeros((7, 5), dtype=np.int64), np.zeros((7, 6))):
        floats: Any = given
        with pytest.raises(InvalidProblemError, match="cells"):
            verify_tables(frame, floats)


@pytest.mark.parametrize(
    "guarantee", [PureDP(1, ADDED), PureDP(1, REPLACED), ZeroConcentratedDP(2, REPLACED)]
)
@pytest.mark.parametrize("most", [1, 3])
def test_the_arithmetic_of_every_claim_comes_out(guarantee: Any, most: int) -> None:
    marginals = CROSSED if guarantee.neighbors == ADDED or most > 1 else CROSSED[1:]
    frame = frame_of(RAGGED, SEX_AGE, marginals, max_rows=most)
    kept = kept_of(frame, guarantee)
    found = verify_measured(kept)
    assert found.passed
    claimed = guarantee.epsilon if isinstance(guarantee, PureDP) else guarantee.rho
    assert found.checks[1].residual == claimed
    # A little less noise anywhere costs more than is claimed.
    for q in marginals:
        scales = dict(kept.scales)
        scales[q] = tuple(None if one is None else one * Fraction(99, 100) for one in scales[q])
        less = replace(kept, scales=scales)
        assert (
            f"{'rho' if most and not isinstance(guarantee, PureDP) else 'epsilon'} spent on the worst path"
            in failing(verify_measured(less))
        )


def test_the_total_of_the_root_is_free_for_a_replaced_person_with_one_row() -> None:
    tree = Tree.from_paths([("a",), ("b",)])
    shares: dict[Any, Any] = {
        (): (Fraction(1, 4), Fraction(1, 4)),
        (0, 1): (Fraction(1, 4), Fraction(1, 4)),
    }
    frame = TableFrame(tree, SEX_AGE, shares)
    added = kept_of(frame, PureDP(1, ADDED))
    turned = replace(added, guarantee=PureDP(2, REPLACED))
    # Three of the four parts double, the total of the root costs nothing.
    assert verify_measured(turned).checks[1].residual == Fraction(3, 2)


def test_values_where_nothing_was_measured_are_found() -> None:
    shares: dict[Any, Any] = {(0,): (1, 0), (0, 1): (0, 0)}
    shares = {(0,): (Fraction(1, 2), Fraction(0)), (0, 1): (Fraction(0), Fraction(1, 2))}
    kept = kept_of(TableFrame(PAIR, SEX_AGE, shares), PureDP(1, ADDED))
    assert verify_measured(kept).passed
    values = {q: np.array(table) for q, table in kept.values.items()}
    values[0, 1][0, 0] = 7
    assert failing(verify_measured(replace(kept, values=values))) == [
        "values where nothing was measured"
    ]


FRAME = frame_of(PAIR, SEX_AGE, [(0,), (0, 1)])
STATED = kept_of(FRAME, PureDP(1, ADDED)).parameters()


@pytest.mark.parametrize(
    ("change", "guarantee"),
    [
        ({"max_rows": 2}, PureDP(1, ADDED)),
        ({"neighbors": REPLACED}, PureDP(3, ADDED)),
        ({"noise": "gaussian"}, PureDP(3, ADDED)),
        ({"total": 7}, PureDP(1, ADDED)),
        ({"shares": {"sex": ["1/4", "1/4"]}}, PureDP(1, ADDED)),
        ({"shares": ["1/4"]}, PureDP(1, ADDED)),
        ({"shares": {"sex": 1}}, PureDP(1, ADDED)),
        ({"scales": {"sex:age": ["4", "2", "4", "4"]}}, PureDP(1, ADDED)),
        ({}, ApproxDP(1, "1e-6", ADDED)),
        ({}, ZeroConcentratedDP(1, ADDED)),
        ({}, PureDP("1/2", ADDED)),
        ({"scales": {"sex": ["8"] * 4, "sex:age": ["none"] * 4}}, PureDP(1, ADDED)),
        ({"scales": {"sex": ["8"] * 4}}, PureDP(1, ADDED)),
    ],
)
def test_a_record_that_does_not_fit_is_rejected(change: dict[str, Any], guarantee: Any) -> None:
    assert verify_guarantee(FRAME, PureDP(1, ADDED), STATED).passed
    assert not verify_guarantee(FRAME, guarantee, {**STATED, **change}).passed


def test_a_marginal_that_costs_more_than_its_share_is_rejected() -> None:
    """The path may cost no more in sum; what is said of its parts is then still wrong."""
    assert STATED["scales"] == {q: ["4", "2", "4", "4"] for q in ("sex", "sex:age")}
    moved = {"sex": ["8", "2", "4", "4"], "sex:age": ["8/3", "2", "4", "4"]}
    found = verify_guarantee(FRAME, PureDP(1, ADDED), {**STATED, "scales": moved})
    assert failing(found) == ["marginals that cost more than their share"]
    assert found.checks[-1].residual == 1
    assert found.checks[1].residual == 1


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"noise": "uniform"}, "parameters"),
        ({"neighbors": "replace-one"}, "parameters"),
        ({"scales": ["1"]}, "scales"),
        ({"scales": {"height": ["1"] * 4}}, "scales"),
        ({"scales": {"sex": ["1"] * 3}}, "scales"),
        ({"scales": {"sex": "1111"}}, "scales"),
        ({"scales": {"sex": ["0"] * 4}}, "scales"),
        ({"scales": {"sex": ["x"] * 4}}, "scales"),
    ],
)
def test_a_record_that_cannot_be_read_is_refused(change: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidProblemError, match=field):
        verify_guarantee(FRAME, PureDP(1, ADDED), {**STATED, **change})
    missing = {name: value for name, value in STATED.items() if name != "scales"}
    with pytest.raises(InvalidProblemError, match="also scales"):
        verify_guarantee(FRAME, PureDP(1, ADDED), missing)


def test_an_exact_total_without_neighbors_is_rejected() -> None:
    shares: dict[Any, Any] = {(0, 1): (Fraction(1, 2),) * 2}
    frame = TableFrame(PAIR, SEX_AGE, shares, total=9)
    stated = kept_of(TableFrame(PAIR, SEX_AGE, shares), PureDP(1, ADDED)).parameters()
    found = verify_guarantee(frame, PureDP(1, ADDED), {**stated, "total": 9})
    assert failing(found) == ["facts that differ"]
    kept = kept_of(frame, PureDP(1, REPLACED))
    assert verify_guarantee(frame, PureDP(1, REPLACED), kept.parameters()).passed
