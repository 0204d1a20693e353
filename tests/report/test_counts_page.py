"""The chapter of counts: what is promised in words, drawings of what was published, and no truth unless it was made."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from discreet.core.certificate import Certificate, Check
from discreet.core.guarantee import PureDP, ZeroConcentratedDP
from discreet.core.outcome import PublicInput
from discreet.core.randomness import SeededBits
from discreet.core.tree import Tree
from discreet.hierarchy import GroupSizes, RegionCounts, query, release
from discreet.hierarchy.contingency import CellCounts, Domain, TableFrame
from discreet.hierarchy.contingency import query as query_tables
from discreet.hierarchy.contingency.measure import measure as measure_tables
from discreet.hierarchy.measure import measure
from discreet.hierarchy.methods import METHODS, quick_methods
from discreet.report import make_chapter, render_report
from discreet.report.demo import count_demo
from discreet.report.listed import answers_chapter
from discreet.report.trying import try_counts
from report.made import MARKUP

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.core.outcome import Release

TREE = Tree.from_paths([("GA", MARKUP), ("GA", "Cobb"), ("DC",)], root="US")
ROWS = [[5, 0, 1, 0], [2, 3, 0, 0], [0, 1, 4, 0]]


def made(units: Any = "private", guarantee: Any = None, **options: Any) -> Release[RegionCounts]:
    data = GroupSizes.from_counts(TREE, ROWS, units=units)
    return release(data, guarantee or PureDP(1, neighbors="add-remove-person"), **options)


def test_the_promise_is_said_in_words() -> None:
    body = make_chapter("hierarchy", made()).body
    assert "whether one person is in the data" in body
    assert "at most 74 times in 100" in body
    assert "Nothing exact is said of the number of units" in body
    assert "1-differentially private" in body


def test_public_units_and_replaced_persons_are_said() -> None:
    asked = PureDP(2, neighbors="replace-person")
    body = make_chapter("hierarchy", made("public", asked)).body
    assert "Which units exist is published as it is" in body
    assert "which of two people is in the data" in body


def test_concentrated_privacy_bounds_guesses_as_well() -> None:
    """With rho 1/2 the total variation is at most sqrt(1/4) = 1/2: a guess is right 3 times in 4."""
    asked = ZeroConcentratedDP("1/2", neighbors="add-remove-person")
    body = make_chapter("hierarchy", made(guarantee=asked)).body
    assert "at most 76 times in 100" in body
    assert "rho counts 25-fold" in body
    assert "zero-concentrated" in body
    assert "discrete Gaussian" in body


def test_the_noise_of_every_level_is_said() -> None:
    body = make_chapter("hierarchy", made(levels=["0", "0", "1"])).body
    assert "not measured" in body
    assert body.count("±") == 2


def test_one_region_on_one_level_has_a_chapter() -> None:
    data = GroupSizes.from_counts(Tree(("all",), np.array([-1])), [[3, 1]], units="private")
    out = release(data, PureDP(1, neighbors="add-remove-person"))
    assert "<svg" in make_chapter("hierarchy", out).body


def test_names_are_no_markup() -> None:
    out = made()
    public = (*out.provenance.assumed_public, PublicInput(MARKUP, "ab" * 32, MARKUP))
    check = Check("x", 0, 0, exact=True, detail=MARKUP)
    odd = replace(
        out,
        provenance=replace(out.provenance, assumed_public=public),
        certificate=Certificate((check,)),
    )
    page = render_report([make_chapter("hierarchy", odd, title=MARKUP, lead=(MARKUP,))])
    assert MARKUP not in page


def test_what_failed_or_was_seeded_says_so() -> None:
    out = made()
    failed = replace(out, certificate=Certificate((Check("sums", 1, 0, exact=True),)))
    assert "Not certified" in make_chapter("hierarchy", failed).body
    seeded = replace(out, provenance=replace(out.provenance, seeded=True))
    assert "Not private" in make_chapter("hierarchy", seeded).body
    plain = make_chapter("hierarchy", out).body
    assert "Not certified" not in plain
    assert "Not private" not in plain


def test_the_truth_is_drawn_only_where_it_is_handed_over() -> None:
    out = made()
    alone = make_chapter("hierarchy", out).body
    assert "rings" not in alone
    assert "true counts" not in alone
    assert alone.count('role="img"') == 3
    beside = make_chapter("hierarchy", out, truth=out.result).body
    assert "rings are the true counts of the synthetic data" in beside
    assert beside.count('role="img"') == 4


def test_quick_methods_have_a_guarantee() -> None:
    assert {"m-c-dp", "raw", "top-down-a", "bottom-up"} <= set(quick_methods()) <= set(METHODS)
    assert not {"m-c-ch", "m-dp-op"} & set(quick_methods())


def test_the_demo_s_census_is_a_chapter_and_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "census.parquet"
    monkeypatch.setattr("discreet.report.demo.try_counts", partial(try_counts, games=40))
    chapter = count_demo(file, states=2, counties=4, groups=300)
    assert file.is_file()
    assert "discreet verify" in chapter.body
    assert chapter.body.count('role="img"') == 5


@pytest.mark.parametrize("method", ["raw", "m-h-dp"])
def test_counts_below_zero_and_of_other_kinds_are_drawn(method: str) -> None:
    out = made(method=method)
    assert "<svg" in make_chapter("hierarchy", out, truth=out.result).body


@pytest.mark.parametrize("statistic", ["sizes", "categories"])
def test_answers_from_seeded_measurements_are_marked_as_not_private(statistic: str) -> None:
    guarantee = PureDP(1, neighbors="add-remove-person")
    tree = Tree.from_paths([("GA",), ("NY",)])
    if statistic == "sizes":
        data = GroupSizes.from_counts(tree, [[2, 1], [1, 1]], units="private")
        kept: Any = measure(data, "survival", guarantee, bits=SeededBits(1))
        answers: Any = query(kept, sizes=[1], level=2)
    else:
        shares: Any = {(0,): ("1/2", "1/2")}
        frame = TableFrame(tree, Domain.read({"sex": ["F", "M"]}), shares)
        counts = CellCounts(frame, np.array([[2, 1], [1, 1]]))
        kept = measure_tables(counts, guarantee, bits=SeededBits(1))
        answers = query_tables(kept, by=["sex"], level=2)
    body = answers_chapter(answers, measured=kept).body
    assert "Not private: this was measured with seeded randomness." in body
    assert "Not private" not in answers_chapter(answers, measured=replace(kept, seeded=False)).body
