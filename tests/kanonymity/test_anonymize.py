"""From a table to a table: what is published, what is only for the curator, and when the search stops."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from discreet.core.errors import (
    CertificateError,
    InfeasibleError,
    InvalidProblemError,
    LimitReachedError,
)
from discreet.core.guarantee import KAnonymity
from discreet.core.progress import Progress
from discreet.core.randomness import SeededBits
from discreet.kanonymity import Categorical, Numeric, Taxonomy
from discreet.kanonymity.candidate import CandidateClasses, SearchInterrupted, SearchLimits
from discreet.kanonymity.cells import shuffled
from discreet.kanonymity.methods.full_domain import FullDomain
from discreet.kanonymity.methods.greedy_search import GreedySearch
from discreet.kanonymity.methods.mondrian import Mondrian
from discreet.kanonymity.problem import Problem
from discreet.kanonymity.search.search import SearchStep, search
from kanonymity.tables import COUNTRIES, fars, mixed, numeric
from kanonymity.tables import anonymize_kept as anonymize

PEOPLE = pl.DataFrame(
    {
        "age": [31, 33, 52, None, 58, 35, 61, 70],
        "sex": ["F", "F", "M", "M", "M", "F", "M", "F"],
        "home": ["FR", "DE", "IN", "PK", "JP", "FR", "PK", "Oz"],
        "ill": list("abcdefgh"),
    }
)
KINDS = [Taxonomy("home", COUNTRIES)]


def test_a_published_table_has_the_same_columns_and_k_equal_rows() -> None:
    made = anonymize(PEOPLE, KAnonymity(3, ("age", "sex", "home")), attributes=KINDS)
    assert made.table.columns == PEOPLE.columns
    groups = made.table.group_by("age", "sex", "home").len()
    assert groups["len"].min() >= 3
    assert sorted(made.table["ill"]) == sorted(PEOPLE["ill"])
    assert made.certificate.passed
    assert made.diagnostics.smallest_class >= 3
    assert made.diagnostics.classes == 2
    assert made.diagnostics.optimal
    assert made.diagnostics.suppressed == 0


def test_cells_cover_what_they_stand_for() -> None:
    """A missing number is covered by anything; sets are sorted and without repetition."""
    made = anonymize(PEOPLE, KAnonymity(3, ("age", "sex", "home")), attributes=KINDS)
    original = {row["ill"]: row for row in PEOPLE.to_dicts()}
    for row in made.table.to_dicts():
        was = original[row["ill"]]
        if row["age"] != "*":
            low, high = row["age"].strip("[]").split(", ")
            assert int(low) <= was["age"] <= int(high)
        values = row["sex"].split("|")
        assert was["sex"] in values
        assert values == sorted(set(values))
        node = next(i for i, label in enumerate(COUNTRIES.labels) if label == row["home"])
        leaf = COUNTRIES.labels.index(was["home"])
        assert node in COUNTRIES.ancestors(leaf)


def test_a_cell_of_one_value_keeps_it() -> None:
    rows = pl.DataFrame({"age": [30, 30, None, None], "sex": [None, None, "F", "F"]})
    made = anonymize(rows, KAnonymity(2, ("age", "sex")), attributes={"age": Numeric("age")})
    assert sorted(made.table.rows()) == [("", "F"), ("", "F"), ("30", ""), ("30", "")]
    assert made.diagnostics.information_loss == 0


def test_rows_are_shuffled_by_keys() -> None:
    """Every order of three rows comes up, and none is the input's by rule."""
    orders = {tuple(shuffled(np.arange(3), SeededBits(seed)).tolist()) for seed in range(60)}
    assert len(orders) == 6
    first, second = (
        anonymize(PEOPLE, KAnonymity(2, ("sex",)), bits=SeededBits(seed)).table["ill"].to_list()
        for seed in (1, 2)
    )
    assert first != second


def test_what_is_published_holds_nothing_computed_from_the_rows() -> None:
    made = anonymize(PEOPLE, KAnonymity(3, ("age", "sex", "home")), attributes=KINDS)
    said = str(made.provenance.to_dict() | {"versions": {}}) + repr(made)
    loss = f"{made.diagnostics.information_loss:.3f}"
    assert loss not in said
    assert made.provenance.method_trace == ()
    assert "58" not in said


def test_a_gap_that_is_missed_raises_with_the_table() -> None:
    rows = pl.DataFrame({"a": np.random.default_rng(0).random(60), "b": range(60)})
    claim = KAnonymity(4, ("a", "b"))
    with pytest.raises(LimitReachedError) as raised:
        anonymize(rows, claim, gap=0.001, method=Mondrian())
    best: Any = raised.value.best
    assert best.certificate.passed
    assert best.diagnostics.gap > 0.001
    made = anonymize(rows, claim, gap=0.001, method=Mondrian(), throw=False)
    assert made.diagnostics.gap == best.diagnostics.gap
    assert 0 < made.diagnostics.lower < made.diagnostics.information_loss


@pytest.mark.parametrize(
    ("quasi", "options", "message"),
    [
        (("nowhere",), {}, "got 'nowhere'"),
        (("age",), {"attributes": [Categorical("sex")]}, "quasi-identifiers, got 'sex'"),
        (("age",), {"loss": "entropy"}, "loss"),
        (("home",), {"attributes": [Numeric("home")]}, "home: expected numbers"),
        (("age",), {"method": "greedy"}, "the nearest is 'greedy-search'"),
        (("age",), {"gap": 1}, "relative gap"),
        (("age",), {"time_limit": 0}, "positive seconds"),
        (("age",), {"threads": 0}, "one thread"),
    ],
)
def test_nonsense_is_refused(quasi: tuple[str], options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidProblemError, match=message):
        anonymize(PEOPLE, KAnonymity(2, quasi), **options)


def test_another_guarantee_is_refused() -> None:
    with pytest.raises(InvalidProblemError, match="a KAnonymity, got int"):
        anonymize(PEOPLE, 3)


def test_fewer_rows_than_k_are_infeasible_and_never_an_empty_table() -> None:
    with pytest.raises(InfeasibleError, match="fewer than 9 rows"):
        anonymize(PEOPLE, KAnonymity(9, ("sex",)))


def test_the_search_tries_from_cheap_to_dear_and_keeps_the_best() -> None:
    steps: list[SearchStep] = []
    found = search(mixed(80, 0), 3, on_step=steps.append)
    assert [step.method for step in steps] == [
        "top-down",
        "greedy-search",
        "top-down",
        "local-search",
    ]
    assert found.loss == min(step.loss for step in steps) == mixed(80, 0).loss_of(found.labels)
    assert found.steps == tuple(steps)
    assert 0 < found.lower <= found.loss
    assert found.gap == pytest.approx(1 - found.lower / found.loss)
    assert "loss=" in repr(found)


def test_nothing_more_is_tried_once_the_gap_is_reached() -> None:
    zeros = numeric(np.zeros((30, 2)))
    found = search(zeros, 3)
    assert len(found.steps) == 1
    assert found.optimal
    assert found.gap == 0
    wide = search(mixed(80, 0), 3, gap=0.99)
    assert len(wide.steps) == 1


def test_a_search_ends_with_the_time() -> None:
    found = search(mixed(400, 0), 3, time_limit=0.5)
    # Without the limit it takes minutes; kernels may have to be compiled first, on a busy machine.
    assert found.steps[-1].seconds < 60
    assert found.lower > 0


def test_suppressed_rows_are_left_out_and_counted_for_the_curator() -> None:
    rows = pl.DataFrame({"age": [0, 0, 0, 0, 1, 1, 1, 1, 1, 99], "row": range(10)})
    made = anonymize(rows, KAnonymity(5, ("age",)), suppress=0.1)
    assert sorted(made.table["row"]) == list(range(9))
    assert made.diagnostics.suppressed == 1
    assert made.diagnostics.information_loss == pytest.approx(1 + 9 / 99)
    assert made.diagnostics.lower <= made.diagnostics.information_loss
    assert made.certificate.passed
    with pytest.raises(InvalidProblemError, match="suppress"):
        anonymize(rows, KAnonymity(5, ("age",)), suppress=1)


def test_k_of_one_changes_nothing() -> None:
    found = search(mixed(40, 0), 1)
    assert found.loss == 0
    assert found.optimal


def test_one_method_can_be_asked_for() -> None:
    found = search(fars(), 3, method=GreedySearch("range"))
    assert found.method == "greedy-search"
    assert found.loss == pytest.approx(28.508065, abs=1e-6)
    assert found.lower < 19.27


class Careless:
    """A method that leaves a row alone."""

    def solve(self, problem: Problem, k: int, limits: SearchLimits) -> CandidateClasses:
        labels = np.zeros(problem.n, dtype=np.int32)
        labels[0] = 1
        return CandidateClasses("careless", labels)


def test_a_method_that_leaves_a_small_class_is_never_believed() -> None:
    with pytest.raises(CertificateError, match="classes smaller than k"):
        search(fars(), 3, method=Careless())


def test_what_has_no_guarantee_is_not_a_method_of_the_search() -> None:
    with pytest.raises(InvalidProblemError, match="which has none: "):
        search(fars(), 3, method="split-carry-as-published")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("mondrain", "the nearest is 'mondrian'"),
        (Mondrian, "the class Mondrian"),
        (7, "an instance or a name"),
    ],
)
def test_what_is_no_method_is_refused_with_what_is_allowed(wrong: Any, message: str) -> None:
    with pytest.raises(InvalidProblemError, match=message) as refused:
        anonymize(PEOPLE, KAnonymity(2, ("sex",)), method=wrong)
    assert "mondrian, optimal, segmentation" in str(refused.value)


def test_a_name_is_the_method_with_its_defaults() -> None:
    made = anonymize(PEOPLE, KAnonymity(2, ("sex",)), method="full_domain")
    assert made.diagnostics.method == "full-domain"
    assert made.provenance.parameters["method"] == repr(FullDomain())


def test_a_table_is_judged_by_its_published_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer that gives a row other cells is found out before anything is returned."""
    from discreet.kanonymity import cells as _tables

    def careless(*arguments: Any, **options: Any) -> pl.DataFrame:
        made: pl.DataFrame = publish(*arguments, **options)
        return made.with_columns(sex=pl.Series(["X", *made["sex"].to_list()[1:]]))

    publish = _tables.publish
    monkeypatch.setattr(_tables, "publish", careless)
    with pytest.raises(CertificateError, match="classes smaller than k"):
        anonymize(PEOPLE, KAnonymity(2, ("sex",)))


class Hasty:
    """A method that is interrupted at once."""

    def solve(self, problem: Problem, k: int, limits: SearchLimits) -> CandidateClasses:
        raise KeyboardInterrupt


def test_ctrl_c_leaves_the_best_table_by_then(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel of the local search is heard to the end, and what it has reached is kept."""
    rows = pl.DataFrame({"a": np.random.default_rng(0).random(60), "b": range(60)})
    from discreet.kanonymity.kernels import unions as _kernels

    def interrupted(*arguments: Any) -> float:
        improve(*arguments)
        raise KeyboardInterrupt

    improve = _kernels.improve
    monkeypatch.setattr(_kernels, "improve", interrupted)
    with pytest.raises(SearchInterrupted) as raised:
        anonymize(rows, KAnonymity(4, ("a", "b")))
    best = raised.value.best
    assert best.certificate.passed
    assert best.diagnostics.steps[-1].method == "local-search"
    with pytest.raises(SearchInterrupted) as raised:
        anonymize(rows, KAnonymity(4, ("a", "b")), method=Hasty())
    assert raised.value.best is None


def test_a_seeded_order_of_rows_is_said_to_be_no_secret() -> None:
    """Who has the seed has the order that the rows stood in."""
    made = anonymize(PEOPLE, KAnonymity(2, ("sex",)), bits=SeededBits(1))
    assert made.provenance.seeded
    assert not anonymize(PEOPLE, KAnonymity(2, ("sex",))).provenance.seeded


def test_progress_tells_the_best_so_far() -> None:
    told: list[Progress] = []
    made = anonymize(PEOPLE, KAnonymity(2, ("age", "sex")), on_progress=told.append)
    losses = [step.upper for step in told if step.upper is not None]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] == made.diagnostics.information_loss
    assert [step.stage for step in told] == [step.method for step in made.diagnostics.steps]
