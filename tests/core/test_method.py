"""``method=`` takes an instance or a registered name, and says what is allowed where it is given anything else."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from discreet.core.errors import InvalidProblemError
from discreet.core.method import MethodRecord, Methods

HERE = __name__


@dataclass(frozen=True)
class Fast:
    """A method of the test, with one field."""

    steps: int = 1

    def solve(self) -> int:
        """Do nothing."""
        return self.steps


@dataclass(frozen=True)
class Broken:
    """One without a guarantee."""

    def solve(self) -> None:
        """Do nothing."""


class OfTheCaller:
    """One that nobody registered."""

    def solve(self) -> None:
        """Do nothing."""


def careful() -> Fast:
    """Make one with other fields."""
    return Fast(9)


METHODS = Methods(
    [
        MethodRecord("fast-one", f"{HERE}:Fast", "in one step", "metric DP"),
        MethodRecord("careful", f"{HERE}:careful", "in nine steps", "metric DP"),
        MethodRecord("broken", f"{HERE}:Broken", "as published", None, "its proof has a hole"),
    ]
)


REFUSED = (
    "method: expected a method with a guarantee (careful, fast-one), "
    "got 'broken', which has none: its proof has a hole"
)


@pytest.mark.parametrize("given", ["fast-one", "fast_one", Fast()])
def test_a_name_or_an_instance_gives_the_method(given: object) -> None:
    assert METHODS.resolve(given) == Fast()


def test_names_of_another_spelling_are_found_either_way() -> None:
    older = Methods([MethodRecord("m_c", f"{HERE}:Fast", "with an underscore", "pure DP")])
    assert older.resolve("m-c") == Fast()


def test_none_is_given_back_where_it_is_allowed() -> None:
    assert METHODS.resolve(None, optional=True) is None


def test_a_method_of_the_caller_is_taken_as_it_is() -> None:
    method = OfTheCaller()
    assert METHODS.resolve(method) is method
    assert METHODS.name_of(method) == "OfTheCaller"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (None, "method: expected an instance or a name (careful, fast-one), got None"),
        (
            Fast,
            "method: expected an instance or a name (careful, fast-one), got the class Fast; write Fast()",
        ),
        (3, "method: expected an instance or a name (careful, fast-one), got int"),
        (careful, "method: expected an instance or a name (careful, fast-one), got function"),
        (
            "carefull",
            "method: expected one of careful, fast-one, got 'carefull'; the nearest is 'careful'",
        ),
        ("zzz", "method: expected one of careful, fast-one, got 'zzz'"),
        (
            "broken",
            REFUSED,
        ),
        (
            Broken(),
            REFUSED,
        ),
    ],
)
def test_anything_else_is_refused_with_what_is_allowed(given: object, message: str) -> None:
    with pytest.raises(InvalidProblemError) as caught:
        METHODS.resolve(given)
    assert str(caught.value) == message


@pytest.mark.parametrize("given", ["broken", Broken()])
def test_a_method_without_a_guarantee_runs_where_that_is_accepted(given: object) -> None:
    assert METHODS.resolve(given, accept_no_guarantee=True) == Broken()


def test_the_record_that_fits_best_names_an_instance() -> None:
    assert [METHODS.name_of(method) for method in (Fast(), careful(), Fast(3))] == [
        "fast-one",
        "careful",
        "fast-one",
    ]


def test_an_instance_from_elsewhere_is_of_no_record() -> None:
    assert [record.is_of(Fast()) for record in METHODS.values()] == [True, False, False]
    # The same name in another module is another method.
    assert not MethodRecord("fast-one", "elsewhere:Fast", "x", "metric DP").is_of(Fast())


def test_one_table_tells_the_proven_from_the_others() -> None:
    assert (list(METHODS.proven), list(METHODS.unproven)) == (["fast-one", "careful"], ["broken"])
    assert (len(METHODS), METHODS["broken"].summary) == (3, "as published")
    assert METHODS["fast-one"].make(steps=4) == Fast(4)


def test_a_table_holds_each_name_once() -> None:
    with pytest.raises(InvalidProblemError, match="'broken' twice"):
        Methods([METHODS["broken"], METHODS["broken"]])


@pytest.mark.parametrize(("guarantee", "why"), [("pure DP", "none"), (None, "")])
def test_a_record_has_a_guarantee_or_a_reason(guarantee: str | None, why: str) -> None:
    with pytest.raises(InvalidProblemError, match="a guarantee, or why there is none"):
        MethodRecord("odd", f"{HERE}:Fast", "odd", guarantee, why)


def test_looking_up_a_record_names_all_that_there_are() -> None:
    assert METHODS.find("broken").guarantee is None
    with pytest.raises(InvalidProblemError, match="one of broken, careful, fast-one, got 'brokn'"):
        METHODS.find("brokn")
