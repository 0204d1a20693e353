"""Laws that every message of a server keeps: strict fields, one version, and refusals that repeat nothing."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import strategies as st

from discreet.core.errors import InvalidProblemError
from discreet.service.messages import Message
from meta.canary import SENTINEL, leaks

Law = Callable[[type[Message], dict[str, Any]], None]
"""From a kind of message and a valid one, as plain data, to a failure or nothing."""


def what_is_written_is_read_and_is_plain(model: type[Message], good: dict[str, Any]) -> None:
    written = model.read(good).write()
    assert written == good
    assert json.loads(json.dumps(written)) == written
    assert model.read(written).write() == written


def another_version_is_refused_before_anything_else(
    model: type[Message], _: dict[str, Any]
) -> None:
    for version in (0, 2, 999):
        expected = f"version 1 of the messages, got version {version}"
        with pytest.raises(InvalidProblemError, match=expected):
            model.read({"protocol": version, "something": "new"})


def a_key_too_few_or_too_many_is_refused(model: type[Message], good: dict[str, Any]) -> None:
    for name in good:
        with pytest.raises(InvalidProblemError, match=f"got none of {name}"):
            model.read({key: value for key, value in good.items() if key != name})
    with pytest.raises(InvalidProblemError, match="keys"):
        model.read(good | {"place_of_the_user": 3})


def every_field_refuses_other_types_by_its_name(model: type[Message], good: dict[str, Any]) -> None:
    others: list[object] = [object(), b"x", {1: 2}, [[[]]], True, [], [[True]], -1, 2**80]
    for name in good:
        for other in [*others, math.nan, math.inf, 10**400]:
            with pytest.raises(InvalidProblemError) as caught:
                model.read(good | {name: other})
            assert caught.value.field == name


def no_refusal_repeats_a_value_or_a_key(model: type[Message], good: dict[str, Any]) -> None:
    planted: list[object] = [
        SENTINEL,
        -SENTINEL,
        float(-SENTINEL),
        str(SENTINEL),
        [SENTINEL],
        [[-SENTINEL]],
        [[0.0, float(-SENTINEL)]] * 2,
        {SENTINEL: 1},
        {"\ud800" + str(SENTINEL): 1},
        [[str(SENTINEL)]],
    ]
    # A version is public, and is repeated.
    for name in good.keys() - {"protocol"}:
        for value in planted:
            message = good | {name: value}

            def parse(message: dict[str, Any] = message) -> None:
                model.read(message)

            assert leaks(parse) == []
    assert leaks(lambda: model.read(good | {str(SENTINEL): 1})) == []


LAWS: tuple[Law, ...] = (
    what_is_written_is_read_and_is_plain,
    another_version_is_refused_before_anything_else,
    a_key_too_few_or_too_many_is_refused,
    every_field_refuses_other_types_by_its_name,
    no_refusal_repeats_a_value_or_a_key,
)


def bodies(names: list[str], values: list[Any]) -> st.SearchStrategy[bytes]:
    """Bodies of requests: bytes, any JSON, and objects with some of the names of fields."""
    leaves = st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5)
    plain = st.recursive(
        leaves,
        lambda inner: (
            st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
        ),
        max_leaves=12,
    )
    fields = st.dictionaries(st.sampled_from(names), st.sampled_from(values))
    written = (plain | fields).map(lambda data: json.dumps(data).encode())
    return st.binary(max_size=300) | written
