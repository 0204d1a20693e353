"""A digest that is kept elsewhere finds what whoever writes the ledger can hide inside."""

from __future__ import annotations

import shutil
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import discreet.ledger.book as ledger_module
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import PureDP
from discreet.ledger import Ledger
from ledgers import PERSON, TWO, by_force, grown, make, reckoned

if TYPE_CHECKING:
    pass


def test_a_ledger_that_went_on_extends_what_was_noted(tmp_path: Path) -> None:
    ledger = grown(tmp_path)
    noted = [ledger.digest()]
    for turn in range(3):
        ledger.reserve("census", PureDP(1, neighbors=PERSON))
        Ledger.create(tmp_path / "ledger.db", f"more {turn}", TWO)
        noted.append(ledger.digest())
    assert [one.partition(":")[0] for one in noted] == ["4", "6", "8", "10"]
    assert {ledger.check(one) for one in noted} == {"extends"}
    assert ledger.digest() == noted[-1]


def test_an_old_copy_is_older(tmp_path: Path) -> None:
    ledger, path = grown(tmp_path), tmp_path / "ledger.db"
    shutil.copyfile(path, tmp_path / "copy.db")
    ledger.reserve("census", PureDP(1, neighbors=PERSON))
    noted = ledger.digest()
    shutil.copyfile(tmp_path / "copy.db", path)
    assert ledger.check(noted) == "older"
    # Whoever goes on with the copy makes as many lines as there were: they are not those.
    ledger.reserve("census", PureDP("0.01", neighbors=PERSON))
    assert ledger.check(noted) == "other"


@pytest.mark.parametrize(
    "edits",
    {
        "the last line": [
            "DELETE FROM lines WHERE id = 4",
            "UPDATE sqlite_sequence SET seq = 3",
        ],
        "a line within": [
            "DELETE FROM lines WHERE id = 2",
            "UPDATE lines SET id = id - 1 WHERE id > 2",
            "UPDATE sqlite_sequence SET seq = 3",
        ],
    }.values(),
)
def test_an_adversary_who_mends_all_that_is_in_the_file_is_found_outside(
    tmp_path: Path, edits: list[str]
) -> None:
    """The sequence and the hashes are mended too, so that the file by itself is whole."""
    ledger, path = grown(tmp_path), tmp_path / "ledger.db"
    noted = ledger.digest()
    by_force(path, *edits)
    reckoned(path)
    assert Ledger(path).account("census").left == (Fraction(6),)
    assert ledger.check(noted) == "older"
    ledger.reserve("census", PureDP("0.5", neighbors=PERSON))
    assert ledger.check(noted) == "other"


def test_a_dataset_that_was_deleted_and_granted_anew_is_found_outside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, path = grown(tmp_path), tmp_path / "ledger.db"
    noted = ledger.digest()
    monkeypatch.setattr(ledger_module, "_now", lambda: "2030-04-01T00:00:00Z")
    by_force(path, "DELETE FROM lines", "UPDATE sqlite_sequence SET seq = 0")
    again = grown(tmp_path)
    assert again.account("census").left == (Fraction(5),)
    assert again.check(noted) == "other"
    path.unlink()
    assert grown(tmp_path).check(noted) == "other"
    assert ledger.check(noted) == "other"


def test_digests_tell_how_many_lines_there_are_and_whose_they_are_and_no_more(
    tmp_path: Path,
) -> None:
    """Two ledgers with the same lines have nothing in common; and no step can be computed from the one before."""
    noted = []
    for name in "ab":
        (tmp_path / name).mkdir()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("discreet.ledger.book._now", lambda: "2030-04-01T00:00:00Z")
            noted.append(grown(tmp_path / name).digest())
    assert noted[0].partition(":")[0] == noted[1].partition(":")[0]
    marks, sums = zip(*((one[2:34], one[34:]) for one in noted), strict=True)
    assert len(set(marks)) == len(set(sums)) == 2
    ledger = Ledger(tmp_path / "a" / "ledger.db")
    with ledger._open() as (_, book):
        pass
    assert not any(digest in noted[0] or digest[:32] in noted[0] for digest in book.digests)


@pytest.mark.parametrize(
    "text",
    ["", "4", "4:", ":" + "0" * 96, "4:" + "0" * 95, "4:" + "g" * 96, "04:" + "0" * 96, "x" * 10_000,
     "-1:" + "0" * 96, "\u0664:" + "0" * 96],
)  # fmt: skip
def test_what_is_no_digest_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(InvalidProblemError, match="digest: expected what `budget show --digest`"):
        make(tmp_path).check(text)
