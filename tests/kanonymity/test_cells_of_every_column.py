"""A published row is explained by a row of the original in all columns at once, not in the widest alone."""

from __future__ import annotations

import pytest

from discreet.core.guarantee import KAnonymity
from discreet.kanonymity import verify

AGES = [20, 20, 30, 30, 40, 40]
SEXES = ["f", "f", "m", "m", "m", "m"]
CITIES = ["A", "A", "B", "B", "A", "A"]
NAMES = ("age", "sex", "city")
EXPLAINED = "published rows that no row of the original explains"


def unexplained(published: dict[str, list[str]]) -> int:
    original = dict(zip(NAMES, (AGES, SEXES, CITIES), strict=True))
    certificate = verify(published, KAnonymity(2, NAMES), against=original)
    (found,) = (check.residual for check in certificate.checks if check.name == EXPLAINED)
    return int(found)


def table() -> dict[str, list[str]]:
    return {"age": [str(age) for age in AGES], "sex": list(SEXES), "city": list(CITIES)}


def test_the_original_itself_is_explained() -> None:
    assert unexplained(table()) == 0


@pytest.mark.parametrize(
    ("column", "cells"),
    [
        ("age", ["20", "20", "30", "30", "30", "30"]),
        ("sex", ["m", "m", "m", "m", "m", "m"]),
        ("city", ["B", "B", "B", "B", "A", "A"]),
    ],
)
def test_one_column_that_does_not_fit_is_enough(column: str, cells: list[str]) -> None:
    assert unexplained(table() | {column: cells}) == 2
