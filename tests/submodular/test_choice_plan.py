"""Plans of choices: made from public facts, checked by names and shape, charged before a value is read."""

from __future__ import annotations

import pickle
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from discreet.core.budget import MemoryBudget
from discreet.core.errors import BudgetError, InvalidProblemError
from discreet.core.guarantee import ApproxDP, PureDP, ZeroConcentratedDP
from discreet.core.randomness import SeededBits
from discreet.submodular import (
    AdAllocation,
    Algorithm3,
    ConcaveOverModular,
    Coverage,
    FacilityLocation,
    FromFunction,
    FromRecords,
    Influence,
    MutualInformation,
    Objective,
    ObjectiveSpec,
    Plan,
    ResourceLocation,
    SensorPlacement,
    TopicInfluence,
    UniformMatroid,
    WeightedCoverage,
    plan,
    release,
    verify,
)
from discreet.submodular.methods import METHODS
from discreet.submodular.methods.baselines import Greedy

PURE = PureDP(1, "add-remove-one")
NAMES = ("north", "east", "south")
TWO = UniformMatroid(3, 2)
PLACES = plan(NAMES, TWO, PURE, objective=FacilityLocation.spec())
REACH = plan(NAMES, TWO, PURE, objective=Coverage.spec(edges=("client", "candidate")))
SIMILAR = np.tile([[1.0, 0.0, 0.1], [0.0, 0.1, 1.0]], (200, 1))


def ledger(times: int = 1) -> MemoryBudget:
    return MemoryBudget({"trips": PureDP(times, "add-remove-one")})


def left(budget: MemoryBudget) -> Fraction:
    return budget.account("trips").left[0]


class Breaking:
    """An array that has a public shape, and breaks off with a record in its words when it is read."""

    shape = (400, 3)
    dtype = np.dtype(np.float64)

    def __array__(self, *_: Any, **__: Any) -> Any:
        message = "disk lost at 0.123456"
        raise OSError(message)


def test_a_plan_says_what_it_will_do_and_holds_no_record() -> None:
    assert (PLACES.method.name, PLACES.guarantee) == ("subsampled", PURE)
    assert "subsample" in PLACES.why
    assert [given.name for given in PLACES.assumed_public] == [
        "ground set",
        "candidates",
        "matroid",
    ]
    said = str(PLACES)
    for part in ("subsampled", "secret subsample", "charged by itself", "UniformMatroid"):
        assert part in said
    assert repr(PLACES).startswith("Plan(2 of 3 candidates, subsampled, 1-differentially private")
    assert (
        "<script"
        not in plan(
            ("<script>", "b", "c"), TWO, PURE, objective=FacilityLocation.spec()
        )._repr_html_()
    )


def test_a_plan_is_frozen_and_pickles() -> None:
    again = pickle.loads(pickle.dumps(PLACES))  # noqa: S301 - our own bytes
    assert again == PLACES
    made = again.release(SIMILAR, bits=SeededBits(1))
    assert made.result == PLACES.release(SIMILAR, bits=SeededBits(1)).result
    with pytest.raises(AttributeError):
        again.why = "another"


def test_a_choice_names_candidates_and_stores_its_matroid() -> None:
    made = PLACES.release(SIMILAR)
    assert set(made.result.names) <= set(NAMES)
    assert made.result.matroid == TWO
    assert verify(made).passed
    numbered = plan(3, TWO, PURE, objective=FacilityLocation.spec()).release(SIMILAR)
    assert numbered.result.names == numbered.result.elements
    assert PLACES.diagnose(SIMILAR, made).elements == 2


def test_release_is_plan_and_release_in_one_call() -> None:
    f = FacilityLocation(SIMILAR)
    planned = plan(3, TWO, PURE, objective=FacilityLocation.spec())
    one, two = (
        release(f, TWO, PURE, bits=SeededBits(3)),
        planned.release(f, bits=SeededBits(3)),
    )
    assert one.result == two.result
    assert one.provenance == two.provenance


def test_a_plan_that_is_released_twice_is_charged_twice() -> None:
    budget = ledger(2)
    for rest in (1, 0):
        PLACES.release(SIMILAR, budget=budget, dataset="trips")
        assert left(budget) == rest
    with pytest.raises(BudgetError):
        PLACES.release(SIMILAR, budget=budget, dataset="trips")


@pytest.mark.parametrize(
    "source",
    [
        SIMILAR[:, :2],
        SIMILAR[0],
        SIMILAR.astype(str),
        [[0.5, 0.5]],
        Coverage(SIMILAR > 0.5),
        FacilityLocation(SIMILAR, scale_bits=7),
        FacilityLocation(SIMILAR[:, :2]),
        {"similarities": SIMILAR},
        {},
        "gone.npy",
        None,
        FacilityLocation,
        b"bytes",
        0.123456,
    ],
)
def test_what_was_planned_for_another_source_is_refused_and_not_charged(source: Any) -> None:
    budget = ledger()
    with pytest.raises(InvalidProblemError) as caught:
        PLACES.release(source, budget=budget, dataset="trips")
    assert left(budget) == 1
    assert not getattr(caught.value, "__notes__", [])
    assert "400" not in str(caught.value)


@pytest.mark.parametrize(
    "source",
    [
        pl.DataFrame({"client": ["a"], "place": ["north"]}),
        pl.DataFrame({"client": [["a"]], "candidate": ["north"]}),
        pl.LazyFrame({"0.123456": ["a"]}),
        {"client": ["a"], "candidate": ["north"]},
    ],
)
def test_edges_without_their_columns_are_refused_and_not_charged(source: Any) -> None:
    budget = ledger()
    with pytest.raises(InvalidProblemError, match="source: expected") as caught:
        REACH.release(source, budget=budget, dataset="trips")
    assert left(budget) == 1
    assert "123456" not in str(caught.value)


def broken_frame() -> pl.LazyFrame:
    """A lazy frame whose columns are known, and which fails in the middle of its rows with a cell in its words."""
    frame = pl.LazyFrame({"client": ["1", "0.123456"], "candidate": ["north", "east"]})
    return frame.with_columns(pl.col("client").cast(pl.Int64))


@pytest.mark.parametrize(("planned", "source"), [(PLACES, Breaking()), (REACH, broken_frame())])
def test_a_source_that_fails_in_the_middle_stays_charged_and_says_so(
    planned: Plan, source: Any
) -> None:
    budget = ledger()
    with pytest.raises(InvalidProblemError, match="to their end") as caught:
        planned.release(source, budget=budget, dataset="trips")
    assert left(budget) == 0
    assert "The budget stays charged" in str(caught.value)
    assert "123456" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_no_number_is_refused_and_the_curator_alone_learns_how_many_were_clipped() -> None:
    budget, table = ledger(), SIMILAR.copy()
    table[7, 1], table[8, 2] = np.nan, 95.0
    made = PLACES.release(table, budget=budget, dataset="trips")
    assert left(budget) == 0
    assert PLACES.diagnose(table, made).clipped == 2
    assert "clipped" not in repr(made) + str(made.provenance.to_dict())


def test_the_scale_is_a_public_fact_of_the_plan() -> None:
    spec = FacilityLocation.spec(scale=100)
    planned = plan(NAMES, TWO, PURE, objective=spec)
    made = planned.release(100 * SIMILAR)
    assert planned.diagnose(100 * SIMILAR, made).clipped == 0
    described = {one.name: one.description for one in made.provenance.assumed_public}
    assert described["scale"] == "values from 0 to 100"
    with pytest.raises(InvalidProblemError, match="scale = 100, as planned"):
        planned.release(FacilityLocation(SIMILAR))
    again = release(FacilityLocation(100 * SIMILAR, scale=100), TWO, PURE)
    assert "scale" in {one.name for one in again.provenance.assumed_public}


def test_rho_is_charged_to_an_epsilon_delta_budget_at_a_delta() -> None:
    budget = MemoryBudget({"trips": ApproxDP(3, "1e-6", "add-remove-one")})
    concentrated = plan(
        NAMES, TWO, ZeroConcentratedDP("0.01", "add-remove-one"), objective=FacilityLocation.spec()
    )
    with pytest.raises(InvalidProblemError, match="budget_delta"):
        concentrated.release(SIMILAR, budget=budget, dataset="trips")
    made = concentrated.release(SIMILAR, budget=budget, dataset="trips", budget_delta="1e-6")
    assert made.guarantee == concentrated.guarantee
    assert budget.account("trips").spent == (Fraction("0.6216927"), Fraction(1, 10**6))


def test_without_a_budget_no_charge_is_told() -> None:
    with pytest.raises(InvalidProblemError) as caught:
        PLACES.release(Breaking())
    assert not getattr(caught.value, "__notes__", [])


def test_edges_come_as_frames_of_any_library() -> None:
    columns = {
        "client": ["x", "y", None, "x", "y", "z"],
        "candidate": ["north", "east", "north", "nowhere", "north", None],
    }
    spec = Coverage.spec(edges=("client", "candidate"))
    for frame in (pl.DataFrame(columns), pl.LazyFrame(columns), pa.table(columns)):
        opened = spec.open(frame, 3, NAMES)
        assert [opened.value([e]) for e in range(3)] == [2, 1, 0]
    numbers = pl.DataFrame({"client": [5, 5, 6], "candidate": [0, 2, 2]})
    assert [spec.open(numbers, 3).value([e]) for e in range(3)] == [1, 0, 2]


def test_a_file_of_similarities_is_opened_by_its_header(tmp_path: Path) -> None:
    np.save(tmp_path / "sim.npy", SIMILAR)
    assert len(PLACES.release(tmp_path / "sim.npy").result.chosen) == 2
    np.save(tmp_path / "other.npy", SIMILAR[:, :2])
    np.save(tmp_path / "fields.npy", np.zeros(3, dtype=[("anna", "f8")]))
    np.savez(tmp_path / "two.npz", a=SIMILAR)
    (tmp_path / "text.npy").write_text("anna,0.123456")
    for name in ("other.npy", "fields.npy", "two.npz", "text.npy"):
        with pytest.raises(InvalidProblemError) as caught:
            PLACES.check(str(tmp_path / name))
        assert "anna" not in str(caught.value)


@pytest.mark.parametrize(
    ("candidates", "said"),
    [
        ("abc", "names of the candidates in a list or tuple, or their number, got the text 'abc'"),
        (None, "got NoneType"),
        (0, "candidates: expected at least 1, got 0"),
        (True, "got bool"),
        ((), "got no candidate"),
        (("a", "b", None), "a NoneType among them"),
        (("a", "b", "a"), "different names, got 'a' twice"),
        ((1, "1", 2), "different names, got '1' twice"),
        ({"a": 1}, "got dict"),
        (("a", "b"), "matroid: expected 2 elements, got 3"),
    ],
)
def test_candidates_that_make_no_sense(candidates: Any, said: str) -> None:
    with pytest.raises(InvalidProblemError, match=said):
        plan(candidates, TWO, PURE, objective=FacilityLocation.spec())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"objective": FacilityLocation}, "got the class FacilityLocation"),
        ({"objective": FacilityLocation(SIMILAR)}, "the public facts of an objective"),
        ({"objective": None}, "the public facts of an objective.*got NoneType"),
        ({"matroid": UniformMatroid}, "matroid: expected a Matroid, got the class UniformMatroid"),
        ({"guarantee": PureDP}, "guarantee: expected PureDP, .*, got the class PureDP"),
        ({"method": "subsamled"}, "got 'subsamled'; the nearest is 'subsampled'"),
        ({"method": "zzz"}, "method: expected one of algorithm-1, .*, got 'zzz'"),
        ({"method": Algorithm3}, r"got the class Algorithm3; write Algorithm3\(\)"),
        ({"method": "non-private-greedy"}, "got 'non-private-greedy', which has none: no noise"),
        ({"method": Greedy()}, "got 'non-private-greedy', which has none: no noise is added"),
        ({"method": 3}, "method: expected an instance or a name .*, got int"),
    ],
)
def test_arguments_that_make_no_sense(change: dict[str, Any], said: str) -> None:
    good: dict[str, Any] = {"matroid": TWO, "guarantee": PURE, "objective": FacilityLocation.spec()}
    arguments = good | change
    with pytest.raises(InvalidProblemError, match=said):
        plan(3, arguments.pop("matroid"), arguments.pop("guarantee"), **arguments)


def test_a_string_for_two_columns_is_refused() -> None:
    with pytest.raises(InvalidProblemError, match="the names of two columns.*got 'ab'"):
        Coverage.spec(edges="ab")  # type: ignore[arg-type] # the mistake


@pytest.mark.parametrize("name", sorted(METHODS.proven))
def test_a_name_and_an_instance_are_the_same_method(name: str) -> None:
    spec = FacilityLocation.spec()
    try:
        planned = plan(3, TWO, ApproxDP(1, "1e-6", "add-remove-one"), objective=spec, method=name)
    except InvalidProblemError as error:
        assert name == "algorithm-1"
        assert "radius" in str(error)  # noqa: PT017 - one of them needs a coarser cover
        return
    assert planned.method.name == name
    same = plan(
        3, TWO, ApproxDP(1, "1e-6", "add-remove-one"), objective=spec, method=planned.method
    )
    assert same == planned
    assert same.why == "The method was given."
    older = plan(3, TWO, planned.guarantee, objective=spec, method=name.replace("-", "_"))
    assert older == planned


def test_another_guarantee_is_planned_anew() -> None:
    loose = ApproxDP(1, "1e-6", "add-remove-one")
    again = PLACES.with_guarantee(loose)
    assert again == plan(NAMES, TWO, loose, objective=FacilityLocation.spec())
    kept = plan(3, TWO, PURE, objective=FacilityLocation.spec(), method="algorithm-3")
    assert kept.with_guarantee(loose).method == Algorithm3()


def test_evaluations_can_be_counted_by_the_curator() -> None:
    seen: list[Objective] = []

    def watch(objective: Objective) -> Objective:
        seen.append(objective)
        return objective

    PLACES.release(SIMILAR, watch=watch)
    assert seen[0].evaluations > 0


EDGES = {"records": [0, 0, 1], "elements": [0, 1, 2]}
CASES: list[tuple[ObjectiveSpec, Any]] = [
    (FacilityLocation.spec(scale_bits=7), SIMILAR),
    (Coverage.spec(), SIMILAR > 0.5),
    (WeightedCoverage.spec(), {**EDGES, "weights": [0.5, 1.0]}),
    (ConcaveOverModular.spec([0, 1 << 29]), {**EDGES, "weights": [1, 1, 1]}),
    (Influence.spec(), {**EDGES, "chances": [0.5, 0.5, 1.0], "n_records": 4}),
    (TopicInfluence.spec(n_topics=2), {**EDGES, "topics": [0, 1, 1], "chances": [0.5, 0.5, 1.0]}),
    (AdAllocation.spec(n_agencies=2), {**EDGES, "agencies": [0, 1, 1]}),
    (ResourceLocation.spec(n_resources=2), [SIMILAR.tolist(), SIMILAR.tolist()]),
    (
        MutualInformation.spec(n_values=2, most_records=4),
        {"features": [[0, 1, 0], [1, 1, 0]], "labels": [0, 1]},
    ),
    (
        SensorPlacement.spec(n_kinds=2, n_values=2, most_records=4),
        [[[0, 1], [1, 1], [0, 0]], [[1, 1], [0, 1], [0, 0]]],
    ),
    (FromRecords.spec(lambda record, chosen: record in chosen), [0, 1, 1]),
    (FromFunction.spec(sensitivity="0.5"), lambda chosen: len(chosen) / 2),
]


@pytest.mark.parametrize(("spec", "source"), CASES, ids=[s.objective.__name__ for s, _ in CASES])
def test_the_facts_of_a_spec_are_those_of_its_objective(spec: ObjectiveSpec, source: Any) -> None:
    spec.check(source, 3)
    opened = spec.open(source, 3)
    facts = ObjectiveSpec.of(opened)
    for name in ("objective", "n_kinds", "scale_bits", "sensitivity", "decomposable", "monotone"):
        assert getattr(spec, name) == getattr(facts, name)
    assert spec.assumed_public(3) == facts.assumed_public(3)
    spec.check(opened, 3)
    with pytest.raises(InvalidProblemError, match="4 elements, as planned"):
        spec.check(opened, 4)
    assert len(plan(3, TWO, PURE, objective=spec).release(source).result.chosen) == 2


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ({**EDGES, "weights": [0.5], "names": ["a"]}, "records, elements, weights, names"),
        (EDGES, r"records, elements, weights\), got records, elements"),
        ({**EDGES, "elements": [0, 1], "weights": [0.5]}, "as many edges as in records"),
        ({**EDGES, "weights": None}, "weights: expected the records, got None"),
        ([[1]], "a mapping with records, elements, weights, got list"),
    ],
)
def test_parts_of_a_source_that_do_not_fit(source: Any, said: str) -> None:
    with pytest.raises(InvalidProblemError, match=said):
        WeightedCoverage.spec().check(source, 3)


def test_a_table_that_names_the_candidates_has_them_in_their_order() -> None:
    """A table is read by position: another order would choose for others."""
    places = ("north", "east", "south")
    choice = plan(
        places,
        UniformMatroid(3, 1),
        PureDP(50, "add-remove-one"),
        objective=FacilityLocation.spec(),
    )
    table = pl.DataFrame({"north": [1.0] * 200, "east": [0.0] * 200, "south": [0.0] * 200})
    assert choice.release(table).result.names == ("north",)
    # Names that are no candidate's say nothing about an order.
    assert choice.release(table.rename(dict(zip(places, "abc", strict=True)))).result.names == (
        "north",
    )
    budget = MemoryBudget({"a": PureDP(50, "add-remove-one")})
    for other in (table.select("south", "east", "north"), table.rename({"south": "west"})):
        for source in (other, {"similarity": other}):
            with pytest.raises(InvalidProblemError, match="in their order"):
                choice.release(source, budget=budget, dataset="a")
    assert budget.account("a").left == (Fraction(50),)


def test_a_number_of_numpy_is_a_number_of_candidates() -> None:
    number: Any = np.int64(3)
    assert plan(number, TWO, PURE, objective=FacilityLocation.spec()).statement.n_elements == 3
    wrong: Any
    for wrong in (np.True_, np.float64(3)):
        with pytest.raises(InvalidProblemError, match="or their number"):
            plan(wrong, TWO, PURE, objective=FacilityLocation.spec())


def test_masked_similarities_are_refused() -> None:
    """What lies under a mask is no similarity."""
    with pytest.raises(InvalidProblemError, match="similarity: .*masked entries"):
        PLACES.release(np.ma.masked_array(np.ones((2, 3)), mask=[[True, False, False]] * 2))
