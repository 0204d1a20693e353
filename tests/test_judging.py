"""``discreet.verify``: any outcome, or a file of any kind, is checked by code that did not make it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import discreet as dc
from discreet.artefact import save, save_counts, save_mechanism
from discreet.core.channels.channel import Channel
from discreet.core.outcome import Provenance
from discreet.hierarchy.measure import measure
from discreet.lrgeo import Mechanism, Region
from discreet.submodular import Coverage, UniformMatroid

if TYPE_CHECKING:
    from collections.abc import Callable

DATA = Path(__file__).parent / "data"
PEOPLE = dc.Tree.from_paths([("GA", "x"), ("GA", "y")])


def designed() -> dc.Design[Any, Any]:
    line = dc.MetricSpace.grid(1, 3, cell=1, unit="km")
    problem = dc.metricdp.Problem(line, utility_loss="euclidean")
    return dc.metricdp.design(problem, dc.MetricDP(1, "km"))


def region() -> Any:
    return dc.lrgeo.design(
        Region.from_grid(2, 2, cell=1, unit="km"), dc.MetricDP(1, "km"), scope="places"
    )


def sizes() -> dc.hierarchy.GroupSizes:
    return dc.hierarchy.GroupSizes.from_counts(PEOPLE, [[1, 2], [3, 4]], units="public")


def counted() -> dc.Release[Any]:
    return dc.hierarchy.release(sizes(), dc.PureDP(1, "add-remove-person"))


def measured() -> Any:
    return measure(sizes(), "direct", dc.PureDP(1, "add-remove-person"))


def anonymized() -> dc.Anonymization[Any, Any]:
    return dc.kanonymity.anonymize(pl.DataFrame({"age": [1, 1, 2, 2]}), dc.KAnonymity(2, ("age",)))


OUTCOMES: dict[str, Callable[[], Any]] = {
    "design": designed,
    "region": region,
    "mechanism": lambda: Mechanism.from_design(region()),
    "counts": counted,
    "measurements": measured,
    "table": anonymized,
}


@pytest.mark.parametrize("kind", OUTCOMES)
def test_an_outcome_of_each_kind_is_checked_anew(kind: str) -> None:
    certificate = dc.verify(OUTCOMES[kind]())
    assert certificate.passed
    assert len(certificate.checks) > 1


@pytest.mark.parametrize("kind", ["design", "region", "mechanism", "counts", "table"])
def test_what_was_made_with_a_seed_does_not_pass(kind: str) -> None:
    made = OUTCOMES[kind]()
    seeded = replace(made, provenance=replace(made.provenance, seeded=True))
    failed = [check.name for check in dc.verify(seeded).checks if not check.passed]
    assert failed == ["made with a seed, hence not private"]


def test_a_channel_that_claims_too_much_does_not_pass() -> None:
    made = designed()
    broken = replace(
        made, channel=Channel.from_weights([[2**62, 0, 0], [0, 2**62, 0], [0, 0, 2**62]])
    )
    assert not dc.verify(broken).passed
    assert dc.verify(made, optimality=True).passed


def test_a_table_with_a_class_too_small_does_not_pass() -> None:
    made = anonymized()
    claim = replace(made, guarantee=dc.KAnonymity(3, ("age",)), table={"age": [1, 1, 2, 2]})
    assert not dc.verify(claim).passed


def test_the_models_that_a_table_states_are_checked() -> None:
    made = anonymized()
    stated = Provenance("x", parameters={"models": ["ill=distinct:2"]})
    table = {"age": [1, 1, 1, 1], "ill": ["a", "a", "a", "a"]}
    assert not dc.verify(replace(made, table=table, provenance=stated)).passed
    odd = replace(made, provenance=Provenance("x", parameters={"models": 3}))
    with pytest.raises(dc.InvalidProblemError, match="in its own form"):
        dc.verify(odd)


def test_a_choice_needs_its_matroid() -> None:
    reach = Coverage([[True, False, False]] * 9 + [[False, True, False]] * 5)
    made = dc.submodular.release(reach, UniformMatroid(3, 2), dc.PureDP(1, "add-remove-one"))
    if getattr(made.result, "matroid", None) is None:
        with pytest.raises(dc.InvalidProblemError, match="matroid"):
            dc.verify(made)
    else:
        assert dc.verify(made).passed


def test_files_are_checked_by_their_kind(tmp_path: Path) -> None:
    save(designed(), tmp_path / "c.channel")
    save_mechanism(Mechanism.from_design(region()), tmp_path / "city.mechanism")
    save_counts(counted(), tmp_path / "counts.csv")
    for name in ("c.channel", "city.mechanism", "counts.csv"):
        assert dc.verify(tmp_path / name).passed, name
        assert dc.verify(str(tmp_path / name)).passed, name
    assert dc.verify(tmp_path / "c.channel", optimality=True).passed
    assert dc.verify(DATA / "anchored-1.channel").passed


def test_what_is_no_outcome_is_refused_in_a_sentence(tmp_path: Path) -> None:
    for wrong in (None, 3, dc.MetricDP, dc.hierarchy):
        with pytest.raises(dc.InvalidProblemError, match="expected a Design, a Release"):
            dc.verify(wrong)
    with pytest.raises(dc.InvalidProblemError, match="a Design, which proves its lower bound"):
        dc.verify(counted(), optimality=True)
    (tmp_path / "odd.csv").write_text("a\n1\n", encoding="utf-8")
    for path in ("odd.csv", "none.channel", "n" * 5_000, "n" * 250):
        with pytest.raises(dc.InvalidProblemError, match="path"):
            dc.verify(tmp_path / path)


@pytest.mark.parametrize("kind", OUTCOMES)
def test_an_outcome_with_a_part_that_is_none_is_not_verified(kind: str) -> None:
    """``dataclasses.replace`` puts anything anywhere; a part that the verifier reads must not pass unread."""
    made = OUTCOMES[kind]()
    for part in ("result", "table", "channel", "guarantee", "provenance"):
        if not hasattr(made, part):
            continue
        try:
            odd = replace(made, **{part: None})
        except (dc.DiscreetError, AttributeError, TypeError):
            # Some refuse it when they are made.
            continue
        try:
            passed = dc.verify(odd).passed
        except dc.DiscreetError:
            passed = False
        assert not passed, part
