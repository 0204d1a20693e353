"""The panel of attempts: what it says, that it escapes, and what it refuses."""

from __future__ import annotations

import pytest

from discreet import Certificate, Check, InvalidProblemError, KAnonymity, PureDP
from discreet.core.randomness import RandomBits
from discreet.evaluate.audit import Pair, audit
from discreet.evaluate.certified import certified
from discreet.report import render_report
from discreet.report.judged import Judged, audit_row, chapter, panel


def response(truth: int, bits: RandomBits) -> int:
    return truth if bits.randrange(4) else 1 - truth


def test_a_broken_promise_is_bold_and_names_the_event() -> None:
    found = audit(response, [Pair(0, 1, "yes & no")], PureDP(1, "replace-one"), strength="exact")
    made = panel([audit_row(found)])
    assert "<strong>rejected: the claim is false</strong>" in made
    assert "the outcome 0 on yes &amp; no" in made
    assert "at least 1.099" in made


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
    row = Judged("guessing", "1 in 4", "1 in 4", "no better than chance")
    page = render_report([chapter([row], notes=["A note."])])
    assert "A note." in page
    assert 'id="attacked-judged"' in page
    with pytest.raises(InvalidProblemError, match="rows"):
        panel([])
