"""Guarantees refuse nonsense at birth, print what they mean, and come back from JSON."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import (
    ApproxDP,
    Guarantee,
    KAnonymity,
    MetricDP,
    PointScope,
    PureDP,
    Scope,
    ZeroConcentratedDP,
    cautions,
    guarantee_from_dict,
)
from discreet.core.spaces.metric import MetricSpace

SCOPE = Scope("ab" * 32, 25, Fraction(13, 12), 1, (), 2)
OPEN = Scope("ab" * 32, 25, None, 3, (4, 7))

ALL: list[Guarantee] = [
    PureDP("0.1", neighbors="add-remove-one"),
    ApproxDP(1, "1e-6", neighbors="replace-person"),
    ZeroConcentratedDP("1/3", neighbors="replace-one"),
    MetricDP("1.5", unit="km"),
    MetricDP(2, unit="km", radius="0.5", scope=SCOPE),
    MetricDP(2, unit="km", radius=2, scope=OPEN),
    MetricDP(2, unit="km", scope=PointScope("ab" * 32)),
    KAnonymity(5, ("age", "zip")),
]


@pytest.mark.parametrize("guarantee", ALL, ids=str)
def test_a_guarantee_comes_back_from_json(guarantee: Guarantee) -> None:
    assert guarantee_from_dict(json.loads(json.dumps(guarantee.to_dict()))) == guarantee


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(InvalidProblemError, match="known kind"):
        guarantee_from_dict({"kind": "trust-me"})


@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf, "x", True, None])
@pytest.mark.parametrize(
    "make",
    [
        lambda v: PureDP(v, neighbors="replace-one"),
        lambda v: ApproxDP(v, "1e-6", neighbors="replace-one"),
        lambda v: ApproxDP(1, v, neighbors="replace-one"),
        lambda v: ZeroConcentratedDP(v, neighbors="replace-one"),
        lambda v: MetricDP(v, unit="km"),
    ],
)
def test_parameters_must_be_positive_numbers(make: Any, value: object) -> None:
    with pytest.raises(InvalidProblemError):
        make(value)


@pytest.mark.parametrize("value", ["1.01e300", "0.99e-300"])
def test_a_budget_and_a_radius_are_floats_too(value: str) -> None:
    """A file may state any number; what a filter or a page would make of it must exist."""
    for make in (
        lambda: PureDP(value, neighbors="replace-one"),
        lambda: ZeroConcentratedDP(value, neighbors="replace-one"),
        lambda: MetricDP(value, unit="km"),
        lambda: MetricDP(1, unit="km", radius=value),
        lambda: Scope.from_dict(SCOPE.to_dict() | {"all_pairs_epsilon": value}),
    ):
        with pytest.raises(InvalidProblemError, match="between 1e-300 and 1e300"):
            make()
    assert MetricDP("1e300", unit="km", radius="1e-300").radius == Fraction(1, 10**300)


@pytest.mark.parametrize("value", [0, "", "0", -1, True])
def test_an_epsilon_for_all_pairs_is_positive_or_none(value: object) -> None:
    with pytest.raises(InvalidProblemError):
        Scope.from_dict(SCOPE.to_dict() | {"all_pairs_epsilon": value})
    assert Scope.from_dict(SCOPE.to_dict() | {"all_pairs_epsilon": None}).all_pairs_epsilon is None


@pytest.mark.parametrize("alone", [[-1], [10**6], [0.0], ["0"], [True]])
def test_isolated_secrets_are_secrets(alone: list[object]) -> None:
    with pytest.raises(InvalidProblemError, match="isolated: expected secrets of the space"):
        Scope.from_dict(SCOPE.to_dict() | {"isolated": alone})


def test_ranges_have_ends() -> None:
    with pytest.raises(InvalidProblemError, match="delta"):
        ApproxDP(1, 1, neighbors="replace-one")
    for radius in (0, -2, math.nan):
        with pytest.raises(InvalidProblemError, match="radius"):
            MetricDP(1, unit="km", radius=radius)
    for unit in ("", "  ", None):
        with pytest.raises(InvalidProblemError, match="unit"):
            MetricDP(1, unit=unit)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "stated",
    [
        {"region": "ab"},
        {"region": "AB" * 32},
        {"region": 5},
        {"region": "ab" * 32, "n_secrets": 4},
    ],
)
def test_a_region_is_named_by_its_digest_alone(stated: dict[str, object]) -> None:
    with pytest.raises(InvalidProblemError):
        PointScope.from_dict(stated)


@pytest.mark.parametrize("alone", [[2, 2], [3]])
def test_isolated_secrets_stand_once_and_exist(alone: list[int]) -> None:
    with pytest.raises(InvalidProblemError, match="isolated"):
        Scope.from_dict(Scope("ab", 3, None, 2).to_dict() | {"n_secrets": 3, "isolated": alone})


@pytest.mark.parametrize("k", [1, 0, -3, 2.0, "5", True])
def test_k_must_be_an_integer_of_two_or_more(k: Any) -> None:
    with pytest.raises(InvalidProblemError, match="k: expected"):
        KAnonymity(k, ("age",))


def test_an_integer_of_numpy_is_a_k() -> None:
    stated = KAnonymity(np.int64(5), ("age",))  # type: ignore[arg-type]
    assert stated == KAnonymity(5, ("age",))
    assert json.dumps(stated.to_dict()) == json.dumps(KAnonymity(5, ("age",)).to_dict())
    for k in (np.True_, np.float64(5), np.array([5, 6])):
        with pytest.raises(InvalidProblemError, match="k: expected"):
            KAnonymity(k, ("age",))  # type: ignore[arg-type]


def test_the_power_of_a_quotient_is_bracketed() -> None:
    """Of e^1/3 one would read a third of e, which is below 1 and so no factor at all."""
    assert "no output is more than e^(1/3) times" in str(PureDP("1/3", "replace-one"))
    assert "no output is more than e^0.25 times" in str(PureDP("1/4", "replace-one"))
    assert "more than e^(2/3) times" in str(ApproxDP("2/3", "1e-6", "replace-one"))


@pytest.mark.parametrize("scope", ["x", 1, {"region": "ab" * 32}])
def test_a_scope_is_a_record(scope: Any) -> None:
    with pytest.raises(InvalidProblemError, match="scope"):
        MetricDP(1, "km", scope=scope)


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {},
        {"kind": []},
        {"kind": "pure-dp"},
        {"kind": "approx-dp", "epsilon": 1, "neighbors": "replace-one"},
        {"kind": "metric-dp", "epsilon": 1, "unit": "km", "radius": None},
        {"kind": "metric-dp", "epsilon": 1, "unit": "km", "radius": None, "scope": 3},
        {"kind": "metric-dp", "epsilon": 1, "unit": "km", "radius": None, "scope": {}},
        {"kind": "metric-dp", "epsilon": 1, "unit": "km", "radius": None, "scope": {"region": 1}},
        {"kind": "k-anonymity", "k": 5, "quasi_identifiers": None},
    ],
    ids=str,
)
def test_what_is_no_guarantee_is_refused_in_words(data: Any) -> None:
    with pytest.raises(InvalidProblemError):
        guarantee_from_dict(data)


@pytest.mark.parametrize("named", [None, 5, b"ab" * 32, "ab"])
def test_a_digest_is_text(named: Any) -> None:
    with pytest.raises(InvalidProblemError, match="SHA-256"):
        PointScope(named)


@pytest.mark.parametrize("columns", [(), "age", ("age", "age"), (1, 2), None])
def test_quasi_identifiers_are_different_names(columns: Any) -> None:
    with pytest.raises(InvalidProblemError, match="quasi_identifiers"):
        KAnonymity(5, columns)


@pytest.mark.parametrize("neighbors", ["", "one", None])
def test_the_neighbors_are_a_closed_set(neighbors: Any) -> None:
    with pytest.raises(InvalidProblemError, match="neighbors"):
        PureDP(1, neighbors=neighbors)


def test_the_neighbors_and_the_unit_cannot_be_left_out() -> None:
    for make in (lambda: PureDP(1), lambda: MetricDP(1)):  # type: ignore[call-arg]
        with pytest.raises(InvalidProblemError, match="missing"):
            make()


def test_guarantees_are_frozen_values() -> None:
    one = PureDP(0.1, neighbors="replace-one")
    assert one == PureDP("1/10", neighbors="replace-one")
    assert len({one, PureDP("0.1", "replace-one")}) == 1
    with pytest.raises(AttributeError):
        one.epsilon = Fraction(9)  # type: ignore[misc]


def test_all_pairs_need_no_chains() -> None:
    whole = MetricDP(2, unit="km", scope=Scope("ab" * 32, 25, Fraction(2)))
    assert str(whole).endswith("at d km; for all pairs of the 25 secrets")


def test_sentences_name_neighbors_unit_radius_and_what_is_not_protected() -> None:
    texts = [str(guarantee) for guarantee in ALL]
    assert "one record added or removed" in texts[0]
    assert "plus 1e-06" in texts[1]
    assert "1/3-zero-concentrated" in texts[2]
    assert "1.5 per km" in texts[3]
    assert "at most 0.5 km apart" in texts[4]
    assert "implies 13/12 per km" in texts[4]
    assert "2 of them added to join" in texts[4]
    assert "nothing is promised between 3 separate groups" in texts[5]
    assert "2 are isolated" in texts[5]
    assert "from one point than from another" in texts[6]
    assert texts[6].endswith("for any two points of the region, not only for its places")
    assert "5-anonymous in age, zip" in texts[7]


@pytest.mark.parametrize("name", ["n_secrets", "components", "joined"])
def test_a_scope_counts_in_integers(name: str) -> None:
    stated = Scope("ab", 3, Fraction(1)).to_dict()
    assert Scope.from_dict(stated) == Scope("ab", 3, Fraction(1))
    with pytest.raises(InvalidProblemError, match="scope: expected counts"):
        Scope.from_dict(stated | {name: "1"})


@pytest.mark.parametrize("scope", [{}, [], "", 0, False])
def test_what_is_no_scope_is_not_taken_for_none(scope: object) -> None:
    stated = MetricDP(1, "km").to_dict() | {"scope": scope}
    with pytest.raises((LookupError, TypeError, ValueError)):
        guarantee_from_dict(stated)


@pytest.mark.parametrize(
    "unit", ["km", "m", "1", "%", "°", "edit", "m2", "m²", "nautical-mile", "Straße", "километр"]
)
def test_a_unit_is_one_word_or_two_that_a_hyphen_joins(unit: str) -> None:
    assert MetricDP(1, unit).unit == unit
    assert MetricSpace.grid(2, 2, cell=1, unit=unit).unit == unit


@pytest.mark.parametrize(
    "unit",
    [
        "km, all pairs",
        "km, proved optimal",
        "km proved",
        "km: proved",
        "km.",
        "",
        " ",
        "km\n",
        "km ",
        " km",
        "k" * 17,
        "a-b-c",
        "\u202ekm",
        "km\u200b",
        "<b>km</b>",
        "km\x1b[31m",
        "km(optimal)",
        "km;optimal",
    ],
)
def test_a_unit_is_nothing_else_at_any_entrance(unit: str) -> None:
    stated = MetricDP(1, "km").to_dict() | {"unit": unit}
    one = MetricSpace.grid(2, 2, cell=1, unit="km")
    for make in (
        lambda: MetricDP(1, unit),
        lambda: guarantee_from_dict(stated),
        lambda: MetricSpace.from_matrix([[0, 1], [1, 0]], unit=unit),
        lambda: MetricSpace(unit, one.metric, one.scale_bits, one.source, one.points),
    ):
        with pytest.raises(InvalidProblemError, match="unit: expected"):
            make()


def test_without_a_space_nothing_is_said_beyond_the_radius() -> None:
    assert MetricDP(1, unit="km").beyond_in_words == ""
    assert MetricDP(1, unit="km").links_in_words == ""


@pytest.mark.parametrize(
    ("guarantee", "length", "words"),
    [
        (PureDP("6.9", "replace-one"), 1, []),
        (PureDP("6.908", "replace-one"), 1, ["Epsilon 6.908 protects nobody"]),
        (ZeroConcentratedDP(20, "replace-one"), 1, ["Rho 20 protects nobody"]),
        (MetricDP(10, "km"), "1/2", []),
        (MetricDP(50, "km"), "1/2", ["Epsilon 50 per km protects nobody"]),
        (ApproxDP(50, "0.3", "replace-one"), 1, ["Epsilon 50 protects nobody", "Delta 0.3 allows"]),
        (KAnonymity(2, ("age",)), 1, []),
    ],
)
def test_a_guarantee_that_is_too_weak_is_told_of(
    guarantee: Guarantee, length: int | str, words: list[str]
) -> None:
    said = cautions(guarantee, Fraction(length))
    assert len(said) == len(words)
    assert all(one.startswith(start) for one, start in zip(said, words, strict=True))
