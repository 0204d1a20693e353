"""What pyCANON, written by others, says of our tables: the same k, l and t."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from discreet.core.guarantee import KAnonymity
from discreet.core.tree import Tree
from discreet.datasets import made_patients
from discreet.datasets.microdata import zip_paths
from discreet.kanonymity.methods import METHODS
from discreet.kanonymity.problem import Attribute, Numeric, Taxonomy
from discreet.kanonymity.risk import risk
from kanonymity.tables import anonymize_kept as anonymize

pytestmark = pytest.mark.peers

QUASI = ("age", "sex", "zip")


@pytest.mark.parametrize("name", ["segmentation", "mondrian", "greedy-search", "local-search"])
def test_an_independent_judge_agrees(name: str) -> None:
    judge: Any = pytest.importorskip("pycanon.anonymity")
    pandas: Any = pytest.importorskip("pandas")
    method = METHODS[name].make()
    kinds: list[Attribute] = [
        Numeric("age"),
        Taxonomy("zip", Tree.from_paths(zip_paths(), root="*")),
    ]
    made = anonymize(
        pl.DataFrame(made_patients(300)),
        KAnonymity(4, QUASI),
        attributes=kinds,
        method=method,
        time_limit=2,
    )
    frame = pandas.DataFrame(
        {column: made.table[column].to_list() for column in made.table.columns}
    )
    ours = risk(made.table, QUASI, sensitive=["disease"])
    assert judge.k_anonymity(frame, list(QUASI)) == ours.k >= 4
    assert judge.l_diversity(frame, list(QUASI), ["disease"]) == ours.diversity["disease"]
    theirs = judge.t_closeness(frame, list(QUASI), ["disease"])
    assert theirs == pytest.approx(float(ours.closeness["disease"]), abs=1e-9)
