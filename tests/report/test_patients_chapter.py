"""The chapter of an anonymized table shows what is published, and originals only where they are given."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import polars as pl

from discreet.core.certificate import Certificate, Check
from discreet.core.guarantee import KAnonymity
from discreet.core.tree import Tree
from discreet.datasets import made_patients, made_people
from discreet.datasets.microdata import zip_paths
from discreet.kanonymity.cells import read_problem
from discreet.kanonymity.problem import Attribute, Categorical, Numeric, Taxonomy
from discreet.report import make_chapter, render_report
from discreet.report.patients import loss_curves
from kanonymity.tables import anonymize_kept as anonymize

if TYPE_CHECKING:
    from discreet.core.outcome import Anonymization

KINDS: tuple[Attribute, ...] = (
    Numeric("age"),
    Categorical("sex"),
    Taxonomy("zip", Tree.from_paths(zip_paths(), root="*"), weight=2),
)
TABLE = pl.DataFrame(made_patients(40))


@cache
def made() -> Anonymization[Any, Any]:
    return anonymize(TABLE, KAnonymity(5, ("age", "sex", "zip")), attributes=KINDS)


def test_the_chapter_says_what_holds_and_what_does_not() -> None:
    chapter = make_chapter("kanonymity", made(), attributes=KINDS, artefact="out.csv")
    assert "age, sex and zip of a person" in chapter.body
    assert "finds 5 rows or more that fit, or none" in chapter.body
    assert "discreet verify out.csv" in chapter.body
    assert "a taxonomy of 40 values, published as a node; weight 2" in chapter.body
    assert "The algorithm." in chapter.body
    assert "Not private" not in chapter.body
    assert "FAILED" not in chapter.body
    assert not re.search(r"(?:src|href)=\"(?!#)", render_report([chapter]))


def test_the_chapter_of_real_rows_holds_no_loss_and_no_original() -> None:
    body = make_chapter("kanonymity", made(), attributes=KINDS).body
    for private in (made().diagnostics.information_loss, made().diagnostics.lower):
        assert f"{private:.4g}" not in body
    assert "What a few rows became" not in body
    assert 'class="plot"' not in body


def test_examples_and_curves_are_drawn_where_they_are_given() -> None:
    problem = read_problem(TABLE, ["age", "sex", "zip"], KINDS, "ncp")
    curves = loss_curves(problem, (2, 4), seconds=0.3)
    bound, best, *others = curves
    assert len(others) >= 5
    for low, found, *rest in zip(*(curve.losses for curve in curves), strict=True):
        assert 0 <= low <= found + 1e-12
        assert all(low <= loss + 1e-12 for loss in rest)
    assert (bound.role, best.role) == ("bound", "optimum")
    example = (("<20>", "F"), ("[20, 30]", "F"), (2, 7))
    body = make_chapter(
        "kanonymity",
        made(),
        names=("age", "sex"),
        examples=[example],
        curves=curves,
        curves_note="N",
    ).body
    assert "&lt;20&gt;" in body
    assert "<td>2</td>" in body
    assert "<td><b>7</b></td>" in body
    assert "Mondrian" in body
    assert 'class="plot"' in body


def test_a_seeded_or_failed_table_is_marked() -> None:
    broken = Certificate((Check("classes smaller than k", 1, 0, exact=True),))
    bad = replace(made(), certificate=broken, provenance=replace(made().provenance, seeded=True))
    body = make_chapter("kanonymity", bad).body
    assert "Not certified" in body
    assert "Not private" in body


def test_made_tables_repeat_and_differ_by_seed() -> None:
    assert made_patients(50) == made_patients(50)
    assert made_patients(50) != made_patients(50, seed=1)
    codes = {path[-1] for path in zip_paths()}
    assert set(made_patients(500)["zip"]) <= codes
    people = made_people(2_000)
    few = {
        tuple(row)
        for row in zip(
            *(people[name].tolist() for name in ("SEX", "AGE", "MARST", "RACE")), strict=True
        )
    }
    many = {
        tuple(row) for row in zip(*(column.tolist() for column in people.values()), strict=True)
    }
    assert len(few) < 900
    assert len(many) > 1_900
