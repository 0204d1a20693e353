from __future__ import annotations

import logging
import sys
import warnings
from typing import TYPE_CHECKING

import numpy as np
import pytest

from discreet.core.channels.channel import Channel
from discreet.core.errors import DiscreetError, InvalidProblemError
from discreet.core.randomness.bits import SeededBits
from meta.canary import SENTINEL, leaks

if TYPE_CHECKING:
    from collections.abc import Callable

COIN = Channel.from_weights([[2**61, 2**61], [2**61, 2**61]])

PRIVATE: dict[str, Callable[[], object]] = {
    "Channel.report": lambda: COIN.report(SENTINEL),
    "Channel.report, negative": lambda: COIN.report(-SENTINEL),
    "Channel.report, seeded": lambda: COIN.report(SENTINEL, SeededBits(1)),
    "Channel.row": lambda: COIN.row(SENTINEL),
    "Channel.report_many": lambda: COIN.report_many([0, SENTINEL, 1]),
    "Channel.report_many, array": lambda: COIN.report_many(np.array([SENTINEL])),
    "Channel.report_many, floats": lambda: COIN.report_many(np.array([SENTINEL + 0.5])),
    "Channel.report_many, table": lambda: COIN.report_many([[SENTINEL]]),  # type: ignore[list-item]
}
"""Every call that takes a private value, given one that it refuses. Each new call is added here."""


@pytest.mark.parametrize("call", PRIVATE)
def test_no_private_value_comes_to_light(call: str) -> None:
    assert leaks(PRIVATE[call]) == []


@pytest.mark.parametrize("call", PRIVATE)
def test_the_calls_do_refuse(call: str) -> None:
    """A call that accepts the sentinel would show nothing about its messages."""
    with pytest.raises(DiscreetError):
        PRIVATE[call]()


def in_a_message() -> None:
    raise InvalidProblemError("secret", "an index", SENTINEL)


def in_a_cause() -> None:
    try:
        int(f"{SENTINEL}?")
    except ValueError as error:
        raise DiscreetError("not a number") from error


def in_the_context() -> None:
    try:
        int(f"{SENTINEL}?")
    except ValueError:
        raise DiscreetError("not a number")  # noqa: B904 - a cause that nobody named is shown all the same


def in_an_attribute() -> None:
    error = DiscreetError("something")
    error.value = SENTINEL  # type: ignore[attr-defined]
    raise error


def in_a_warning() -> None:
    warnings.warn(f"{SENTINEL} is odd", stacklevel=1)


CAUGHT: dict[str, tuple[Callable[[], object], str]] = {
    "message": (in_a_message, "message"),
    "cause": (in_a_cause, "message"),
    "context": (in_the_context, "message"),
    "attribute": (in_an_attribute, "attributes"),
    "pickle": (in_a_message, "pickle"),
    "grouped digits": (lambda: f"{SENTINEL:,}", "result"),
    "result": (lambda: {"secret": SENTINEL}, "result"),
    "output": (lambda: sys.stdout.write(str(SENTINEL)), "output"),
    "error output": (lambda: sys.stderr.write(str(SENTINEL)), "error output"),
    "log": (lambda: logging.getLogger("discreet").debug("%s", SENTINEL), "log"),
    "warning": (in_a_warning, "warning"),
}


@pytest.mark.parametrize(("action", "place"), CAUGHT.values(), ids=CAUGHT)
def test_the_canary_sings(action: Callable[[], object], place: str) -> None:
    assert place in leaks(action)


def test_the_canary_is_quiet_about_other_numbers() -> None:
    assert leaks(lambda: print(SENTINEL + 1)) == []  # noqa: T201 - printing is what is looked at
