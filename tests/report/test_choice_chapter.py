"""The chapter of a private choice shows what was released, and nothing else unless it is given."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from discreet.core.certificate import Certificate, Check
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import ApproxDP, PureDP, ZeroConcentratedDP
from discreet.core.outcome import Release
from discreet.core.randomness import SeededBits
from discreet.plot import Curve
from discreet.report import make_chapter, render_report
from discreet.report.choosing import values
from discreet.report.submodular import Ground, chapter
from discreet.report.trying import audit_choice
from discreet.submodular import Coverage, FacilityLocation, TopicInfluence, UniformMatroid, release
from discreet.submodular.methods.algorithm_1 import Algorithm1
from discreet.submodular.methods.permute_and_flip import PermuteAndFlip
from discreet.submodular.problem import Selection

MARKUP = "<b>&</b>"
TABLE = np.random.default_rng(0).random((37, 5)) < 0.4


def made(**options: object) -> Release[Selection]:
    return release(Coverage(TABLE), UniformMatroid(5, 2), PureDP(1, "add-remove-one"), **options)  # type: ignore[arg-type]  # passed on


def test_the_chapter_says_what_was_promised_and_chosen() -> None:
    outcome = made()
    names = [f"place {MARKUP} {e}" for e in range(5)]
    body = make_chapter("submodular", outcome, names=names).body
    assert "at most 74 times in 100" in body
    assert "one person is in the data" in body
    assert MARKUP not in body
    for element in outcome.result.elements:
        assert f"<li>place &lt;b&gt;&amp;&lt;/b&gt; {element}</li>" in body
    for line in outcome.result.accounting:
        assert line.rule in body
    assert "Not private" not in body
    assert "FAILED" not in body
    assert outcome.provenance.assumed_public[0].digest in body


def test_the_chapter_does_not_depend_on_records_beyond_the_choice() -> None:
    """Other records with the same choice and provenance make the same chapter, though their number differs."""
    outcome = made()
    other = release(Coverage(TABLE[:20]), UniformMatroid(5, 2), PureDP(1, "add-remove-one"))
    same = replace(other, result=outcome.result, certificate=outcome.certificate)
    assert chapter(outcome) == chapter(same)
    assert "37" not in re.sub(r"[0-9a-f]{64}|[\d.]+\d", "", chapter(outcome).body)


@pytest.mark.parametrize(
    "claim",
    [
        PureDP(1, "add-remove-one"),
        ApproxDP(1, "1e-6", "add-remove-one"),
        ZeroConcentratedDP(1, "replace-one"),
    ],
)
def test_a_choice_is_audited_by_the_verifier_and_by_every_draw_of_its_method(
    claim: PureDP | ApproxDP | ZeroConcentratedDP,
) -> None:
    """Other records with the same choice have the same audits, for none is read."""
    matroid = UniformMatroid(5, 2)
    outcome = release(Coverage(TABLE), matroid, claim, method=PermuteAndFlip())
    verifier, replay = audit_choice(outcome, matroid)
    assert (verifier.strength, replay.strength) == ("certified", "exact")
    assert not verifier.rejected
    assert not replay.rejected
    other = release(Coverage(TABLE[:20]), matroid, claim, method=PermuteAndFlip())
    same = replace(other, result=outcome.result, certificate=outcome.certificate)
    assert audit_choice(same, matroid) == (verifier, replay)
    assert "Audited" in chapter(outcome, audits=(verifier, replay)).body


def test_a_choice_that_may_not_be_chosen_is_rejected_by_its_audit() -> None:
    """The verifier is asked anew: a certificate that the release brings along is not believed."""
    outcome = made(method=PermuteAndFlip())
    verifier, *_ = audit_choice(outcome, UniformMatroid(5, 1))
    assert verifier.rejected
    body = chapter(outcome, audits=(verifier,)).body
    assert "<strong>" in body.partition("Audited")[2]


def test_a_method_whose_draws_take_long_is_verified_only() -> None:
    matroid = UniformMatroid(5, 2)
    outcome = release(
        Coverage(TABLE), matroid, ApproxDP(1, "1e-6", "add-remove-one"), method=Algorithm1(rho=1)
    )
    assert [audit.strength for audit in audit_choice(outcome, matroid)] == ["certified"]


def test_a_seeded_or_failed_choice_is_marked() -> None:
    outcome = made(bits=SeededBits(1))
    assert "Not private" in chapter(outcome).body
    broken = Certificate((Check("sets that may not be chosen", 1, 0, exact=True),))
    body = chapter(replace(outcome, certificate=broken)).body
    assert "Not certified" in body
    assert "FAILED" in body


@pytest.mark.parametrize(
    ("guarantee", "words"),
    [
        (
            ApproxDP(1, "1e-6", "replace-one"),
            "at most 74 times in 100 about whether one person&#39;s record",
        ),
        (ApproxDP(1, "1e-6", "replace-one"), "with 1,000,000 people or more some may be published"),
        (ZeroConcentratedDP("0.1", "add-remove-one"), "at most 62 times in 100"),
        (PureDP(50, "add-remove-one"), "Epsilon 50 protects nobody"),
    ],
)
def test_every_guarantee_bounds_guesses_and_says_what_it_is_too_weak_for(
    guarantee: object, words: str
) -> None:
    outcome = release(Coverage(TABLE), UniformMatroid(5, 2), guarantee)  # type: ignore[arg-type]  # one of the three
    body = chapter(outcome).body
    assert words in body
    assert "learns little" not in body


def test_kinds_have_numbers() -> None:
    f = TopicInfluence([0, 1], [0, 1], [0, 1], [1.0, 1.0], n_elements=2, n_topics=2)
    outcome = release(f, UniformMatroid(2, 1), PureDP(1, "add-remove-one"))
    (element, kind), *_ = outcome.result.chosen
    assert f"element {element}, kind {kind}" in chapter(outcome).body


def test_the_map_shows_people_and_comparison_only_if_they_are_given() -> None:
    places = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, 1.0]])
    outcome = replace(made(), result=replace(made().result, chosen=((0, 0), (4, 0))))
    body = chapter(outcome, ground=Ground(places, places + 0.1, (2,), "A map.")).body
    assert 'aria-label="Map: A map."' in body
    for word in ("chosen", "candidates", "records"):
        assert f">{word}<" in body
    assert body != chapter(outcome, ground=Ground(places, places + 0.1, words="A map.")).body
    bare = chapter(outcome, ground=Ground(places)).body
    assert ">chosen<" in bare
    assert ">records<" not in bare


def test_curves_stand_on_a_page_that_refers_to_nothing_outside() -> None:
    curve = Curve("a method", (0.1, 1.0), (0.5, 0.9), "optimum")
    page = render_report([chapter(made(), curves=[curve], curves_note="Made data.")])
    assert "Made data." in page
    assert page.count('class="plot"') == 1
    assert not re.search(r"(?:src|href)=\"(?!#)", page)


def test_values_grow_with_epsilon_and_stay_below_the_best() -> None:
    rng = np.random.default_rng(1)
    f = FacilityLocation((rng.random((400, 12)) < 0.2) * 1.0)
    matroid = UniformMatroid(12, 3)
    found = values("subsampled", f, matroid, 4)
    assert found[0] < found[-1] <= f.value(range(12))
    assert found == values("subsampled", f, matroid, 4)
    blind = values("random-base", f, matroid, 4)
    assert len(set(blind)) == 1
    assert blind[0] < found[-1]


def test_nonsense_is_refused_by_name() -> None:
    outcome = made()
    with pytest.raises(InvalidProblemError, match="names: expected 5 names, got 1"):
        chapter(outcome, names=["one"])
    with pytest.raises(InvalidProblemError, match="places: expected coordinates in the plane"):
        Ground(np.zeros((5, 3)))
    with pytest.raises(InvalidProblemError, match="people: expected coordinates in the plane"):
        Ground(np.zeros((5, 2)), np.zeros(3))
    with pytest.raises(InvalidProblemError, match="places: expected 5 places, got 4"):
        chapter(outcome, ground=Ground(np.zeros((4, 2))))


def test_a_choice_that_read_no_records_says_so() -> None:
    from discreet.submodular.methods.baselines import RandomBase

    body = chapter(made(method=RandomBase())).body
    assert "The records are not read." in body
    assert str(Fraction(1)) in body
