"""The panel of attempts: what it says, that it escapes, and what it refuses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from discreet import Certificate, Check, InvalidProblemError, KAnonymity, MetricDP, PureDP, Tree
from discreet.core.randomness import RandomBits
from discreet.core.spaces.metric import MetricSpace
from discreet.evaluate.audit.audit import Pair, audit, certified
from discreet.hierarchy import GroupSizes, release
from discreet.kanonymity import Numeric
from discreet.metricdp import Problem, design
from discreet.report import make_chapter, render_report
from discreet.report.attacked import audit_row, panel, section
from discreet.report.trying import try_counts, try_design, try_table
from kanonymity.tables import anonymize_kept as anonymize


def response(truth: int, bits: RandomBits) -> int:
    return truth if bits.randrange(4) else 1 - truth


def test_a_broken_promise_is_bold_and_names_the_event() -> None:
    found = audit(response, [Pair(0, 1, "yes & no")], PureDP(1, "replace-one"), strength="exact")
    made = panel([audit_row(found)])
    assert "<strong>rejected: the claim is false</strong>" in made
    assert "the outcome 0 on yes &amp; no" in made
    assert "at least 1.098" in made


def test_what_stands_is_not_bold_and_says_what_that_proves() -> None:
    found = audit(response, [(0, 1)], PureDP(2, "replace-one"), samples=4_000)
    row = audit_row(found)
    assert row.tried == "4,000 samples of each input"
    assert "<strong>" not in panel([row])
    assert row.verdict == "not rejected: this proves nothing"


def test_infinite_bounds_and_tables_have_words() -> None:
    naked = audit(lambda x, _: x, [(0, 1)], PureDP(2, "replace-one"), strength="exact")
    assert audit_row(naked).found == "infinite"
    alone = Certificate((Check("classes smaller than k", 1, 0, exact=True),))
    row = audit_row(certified(alone, KAnonymity(3, ("age",)), lower=1))
    assert (row.promised, row.found, row.broken) == ("k 3", "classes of 1", True)
    assert "classes smaller than k" in row.where


def test_the_panel_stands_alone_as_a_chapter() -> None:
    found = audit(response, [(0, 1)], PureDP(2, "replace-one"), samples=4_000)
    page = render_report([make_chapter("audit", found)])
    assert str(found.guarantee) in page
    assert 'id="attacked-judged"' in page
    with pytest.raises(InvalidProblemError, match="rows"):
        panel([])


def test_a_chapter_of_private_data_is_attacked_only_where_somebody_hands_it_over() -> None:
    tree = Tree.from_paths([("A",), ("B",)])
    data = GroupSizes.from_counts(tree, np.array([[0, 4, 2], [0, 3, 5]]), units="public")
    promise = PureDP(1, "add-remove-person")
    made = release(data, promise)
    assert "attacked" not in make_chapter("hierarchy", made).body
    found = try_counts(data, promise, games=40)
    page = make_chapter("hierarchy", made, attacked=found).body
    assert 'id="counts-attacked-judged"' in page
    assert "average of 16 releases" in page
    assert found.kept is not False


def test_a_small_design_is_attacked_without_being_told_and_the_same_each_time() -> None:
    problem = Problem(MetricSpace.grid(2, 3, cell=1, unit="km"), utility_loss="euclidean")
    made = design(problem, MetricDP(1, "km"))
    body = make_chapter("metricdp", made, baselines=[]).body
    assert 'id="design-attacked-judged"' in body
    assert "the verifier" in body
    found, audits = try_design(made)
    again, _ = try_design(made)
    assert found == again
    assert found.kept is True
    assert not audits[0].rejected


def test_an_attack_on_a_table_that_promises_too_much_is_seen() -> None:
    """Two rows look alike where five are promised."""
    rows = pl.DataFrame({"age": [30, 30, 40, 40], "ill": ["no", "yes", "no", "no"]})
    kinds = (Numeric("age", low=0, high=99),)
    made = anonymize(rows, KAnonymity(2, ("age",)), attributes=kinds)
    found, audits = try_table(made, kinds, rows, rows, "ill")
    assert found.kept is True
    assert not audits[0].rejected
    boast = replace(made, guarantee=KAnonymity(5, ("age",)))
    found, _ = try_table(boast, kinds, rows, rows, "ill")
    assert found.kept is False
    assert "<strong>the claim is broken</strong>" in section(found)
