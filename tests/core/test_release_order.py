"""The order of a release: what is charged, what is freed, and what each failure says about the charge."""

from __future__ import annotations

from contextlib import contextmanager
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest

from discreet import Certificate, Check, Provenance, PureDP, Release
from discreet.core.errors import BudgetError, CertificateError, InvalidProblemError
from discreet.core.release import NO_LEDGER, ChargedError, charge_note, run_release

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

PASSED = Check("counts below zero", 0, 0, exact=True)
FAILED = Check("counts below zero", 1, 0, exact=True)
STAYS = "The budget stays charged"
RECOVER = "discreet budget recover LEDGER ID -o FILE"


class Planned:
    guarantee = PureDP(1, neighbors="replace-one")
    assumed_public = ()


def drawn(check: Check = PASSED) -> Callable[[], Release[list[int]]]:
    return lambda: Release([3, 4], Planned.guarantee, Certificate((check,)), Provenance("by hand"))


def fails(error: BaseException) -> Callable[..., Any]:
    def failing(*_: object) -> Any:
        raise error

    return failing


class Plain:
    """Budget that only knows ``reserve``."""

    def __init__(self) -> None:
        self.charged: list[str] = []

    def reserve(self, dataset: str, guarantee: object) -> None:
        assert guarantee == Planned.guarantee
        self.charged.append(dataset)


class Recorded:
    """Ledger that writes down what it is asked, and fails where it is told to."""

    def __init__(self, **failing: BaseException) -> None:
        self.failing = failing
        self.steps: list[str] = []

    def _step(self, name: str) -> None:
        self.steps.append(name)
        if name in self.failing:
            raise self.failing[name]

    def open_release(self, dataset: str, guarantee: object, **_: object) -> tuple[Fraction, ...]:
        self._step("open_release")
        return (Fraction(2),)

    def begin_reading(self, release_id: str) -> None:
        self._step("begin_reading")

    def free(self, release_id: str) -> bool:
        self._step("free")
        return True

    def spool(self, release_id: str, packed: bytes) -> None:
        assert packed == b"3,4"
        self._step("spool")

    def complete(self, release_id: str, digests: Mapping[str, str]) -> None:
        self._step("complete")

    def recovery(self, release_id: str) -> str:
        return RECOVER


class Outputs:
    command = "counts"
    expected_bytes = 3

    def __init__(self, placed: Callable[..., Any] = lambda _: {"counts.csv": "00"}) -> None:
        self.place = placed

    @contextmanager
    def opened(self) -> Iterator[None]:
        yield

    def pack(self, made: Release[Any], left: object) -> bytes:
        assert made.provenance.charge
        return ",".join(map(str, made.result)).encode()


def release(budget: Any, **changed: Any) -> Release[Any]:
    options: dict[str, Any] = {
        "budget": budget,
        "dataset": None if budget is None else "people",
        "budget_delta": None,
        "prepare": lambda: None,
        "draw": drawn(),
    }
    return run_release(Planned(), "by hand", **{**options, **changed})


def test_without_a_budget_nothing_is_charged_and_the_release_says_so() -> None:
    made = release(None, outputs=Outputs())
    assert made.result == [3, 4]
    assert made.provenance.charge == NO_LEDGER


def test_a_budget_that_only_reserves_is_charged_once() -> None:
    budget = Plain()
    assert release(budget).provenance.charge.startswith("release ")
    assert budget.charged == ["people"]


def test_a_ledger_goes_through_all_states_in_order() -> None:
    ledger = Recorded()
    release(ledger, outputs=Outputs())
    assert ledger.steps == ["open_release", "begin_reading", "spool", "complete"]


def test_a_budget_and_its_dataset_come_together() -> None:
    with pytest.raises(InvalidProblemError, match="dataset"):
        release(None, dataset="people")
    with pytest.raises(InvalidProblemError, match="dataset"):
        release(Plain(), dataset="")


def test_a_failure_of_the_checks_costs_nothing() -> None:
    ledger = Recorded()
    with pytest.raises(InvalidProblemError):
        release(ledger, prepare=fails(InvalidProblemError("table", "a column", "none")))
    assert ledger.steps == []


@pytest.mark.parametrize("where", ["open_release", "begin_reading"])
@pytest.mark.parametrize("freeing", [None, BudgetError("busy")])
def test_a_charge_without_a_reading_is_freed(where: str, freeing: BudgetError | None) -> None:
    failing: dict[str, BaseException] = {where: KeyboardInterrupt()}
    if freeing is not None:
        failing["free"] = freeing
    ledger = Recorded(**failing)
    with pytest.raises(KeyboardInterrupt) as caught:
        release(ledger)
    assert ledger.steps[-1] == "free"
    assert charge_note(caught.value) == ""


def test_a_budget_that_only_reserves_refuses_before_anything_is_read() -> None:
    class Empty(Plain):
        def reserve(self, dataset: str, guarantee: object) -> None:
            raise BudgetError("nothing is left")

    with pytest.raises(BudgetError, match="nothing is left"):
        release(Empty(), draw=fails(AssertionError("read")))


@pytest.mark.parametrize(
    "error",
    [
        ValueError("x"),
        MemoryError(),
        KeyboardInterrupt(),
        SystemExit(1),
        InvalidProblemError("rows", "one", "none"),
    ],
)
def test_a_failure_after_the_charge_states_that_it_stays(error: BaseException) -> None:
    ledger = Recorded()
    with pytest.raises(type(error)) as caught:
        release(ledger, draw=fails(error))
    assert charge_note(caught.value).startswith(STAYS)
    assert "free" not in ledger.steps


@pytest.mark.parametrize(
    "error", [ValueError("x"), OSError(28, "No space"), InvalidProblemError("rows", "one", "none")]
)
def test_without_a_charge_the_error_is_left_as_it_is(error: Exception) -> None:
    with pytest.raises(type(error)) as caught:
        release(None, draw=fails(error))
    assert caught.value is error
    assert charge_note(caught.value) == ""


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (OSError(28, "No space left on device"), "No space left on device"),
        (OSError("secret row"), "OSError"),
    ],
)
def test_a_disk_that_fails_before_the_spool_loses_the_result(error: OSError, reason: str) -> None:
    with pytest.raises(ChargedError, match="the result is lost") as caught:
        release(Recorded(spool=error), outputs=Outputs())
    assert f"({reason})" in str(caught.value)
    assert STAYS in str(caught.value)


def test_a_certificate_that_fails_is_charged_and_not_written() -> None:
    ledger = Recorded()
    with pytest.raises(CertificateError) as caught:
        release(ledger, draw=drawn(FAILED), outputs=Outputs())
    assert charge_note(caught.value).startswith(STAYS)
    assert ledger.steps == ["open_release", "begin_reading"]


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ValueError("secret row"), "ValueError"),
        (BudgetError("the ledger is busy"), "the ledger is busy"),
    ],
)
def test_a_failure_after_the_spool_names_the_command_that_recovers(
    error: Exception, reason: str
) -> None:
    with pytest.raises(ChargedError) as caught:
        release(Recorded(), outputs=Outputs(fails(error)))
    assert RECOVER in str(caught.value)
    assert f"({reason})" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_an_interrupt_after_the_spool_keeps_its_kind_and_names_the_command() -> None:
    with pytest.raises(KeyboardInterrupt) as caught:
        release(Recorded(), outputs=Outputs(fails(KeyboardInterrupt())))
    assert RECOVER in charge_note(caught.value)


def test_a_failure_of_the_outputs_without_a_spool_is_left_as_it_is() -> None:
    error = OSError(28, "No space left on device")
    with pytest.raises(OSError) as caught:
        release(Plain(), outputs=Outputs(fails(error)))
    assert caught.value is error
