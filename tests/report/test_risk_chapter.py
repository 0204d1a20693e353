"""The chapter of a risk shows any number of tables side by side."""

from __future__ import annotations

import re

import pytest

from discreet.kanonymity.risk import Risk, risk
from discreet.report import make_chapter

AGES = [20, 20, 30, 30, 30, 40]


def cells(body: str) -> dict[str, list[str]]:
    """Return the cells of each row of the table of a chapter, by its first cell."""
    rows = re.findall(r"<tr>(.*?)</tr>", body, re.DOTALL)
    texts = [
        [re.sub(r"<[^>]+>", "", cell).strip() for cell in re.findall(r"<t[hd].*?</t[hd]>", row)]
        for row in rows
    ]
    return {first: rest for first, *rest in texts}


@pytest.mark.parametrize("tables", [1, 2, 3, 7])
def test_every_table_has_a_column_and_bars(tables: int) -> None:
    found = {f"year {at}": risk({"age": AGES[at % 3 :]}, ["age"]) for at in range(tables)}
    body = make_chapter("risk", found, names=["age"]).body
    assert cells(body)["rows"] == [str(6 - at % 3) for at in range(tables)]
    assert "<svg" in body


def test_a_measure_that_one_table_lacks_is_empty_there() -> None:
    rows = {"age": AGES, "ill": ["flu", "gout"] * 3, "who": [1, 1, 2, 3, 4, 5]}
    found: dict[str, Risk] = {
        "one": risk(rows, ["age"]),
        "two": risk(rows, ["age"], sensitive=["ill"]),
        "three": risk(rows, ["age"], person="who"),
    }
    shown = cells(make_chapter("risk", found, names=["age"]).body)
    assert shown["least different values of ill: l"] == ["", "1", ""]
    assert shown["persons"] == ["", "", "5"]
