"""The chapter of a ledger: limits, costs and charges, none of them told smaller than it is."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import pytest

from cli.commands import say
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import ApproxDP, PureDP, ZeroConcentratedDP
from discreet.ledger import Ledger
from discreet.report import make_chapter


def numbers(body: str) -> list[list[str]]:
    rows = re.findall(r"<tr>(.*?)</tr>", body.partition("<tbody>")[2])
    return [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in rows]


def test_a_ledger_has_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, page = tmp_path / "l.db", tmp_path / "page.html"
    book = Ledger.create(path, "census <1>", PureDP(3, "add-remove-person"))
    book.reserve("census <1>", PureDP("1/2", "add-remove-person"))
    book.reserve("census <1>", PureDP(1, "add-remove-person"))
    Ledger.create(path, "other", ApproxDP(2, "1e-6", "replace-one"))
    said = say(capsys, "budget", "show", path, "--report", page, "--json")
    assert said.status == 0
    text = page.read_text(encoding="utf-8")
    assert "census <1>" not in text
    found = numbers(text)
    assert [row[1:] for row in found] == [
        ["epsilon 3", "1.5", "1.5"],
        ["", "epsilon 0.5", ""],
        ["", "epsilon 1", ""],
        ["epsilon 2, delta 1e-06", "0, 0", "2, 1e-06"],
    ]
    assert found[0][0] == "census &lt;1&gt;"
    assert "census &lt;1&gt;, charged 20" in found[1][0]
    alone = say(capsys, "budget", "show", path, "--dataset", "other", "--report", page)
    assert alone.status == 0
    assert "census" not in page.read_text(encoding="utf-8")


def test_a_page_does_not_replace_the_ledger(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "l.db"
    Ledger.create(path, "census", PureDP(3, "add-remove-person"))
    before = path.read_bytes()
    said = say(capsys, "budget", "show", path, "--report", path)
    assert said.status == 2
    assert path.read_bytes() == before


def test_what_was_spent_is_rounded_up_and_what_is_left_down(tmp_path: Path) -> None:
    book = Ledger.create(tmp_path / "l.db", "d", ZeroConcentratedDP(1, "replace-person"))
    spent = Fraction(1234567, 7654321)
    book.reserve("d", ZeroConcentratedDP(spent, "replace-person"))
    body = make_chapter("budget", {"d": book.account("d")}, charges={}).body
    (row,) = numbers(body)
    told, left = Fraction(row[2]), Fraction(row[3])
    assert spent < told < spent + Fraction(1, 10**5)
    assert 1 - spent - Fraction(1, 10**5) < left < 1 - spent


def test_a_ledger_without_datasets_has_no_page() -> None:
    with pytest.raises(InvalidProblemError, match="accounts: expected one dataset or more"):
        make_chapter("budget", {}, charges={})
