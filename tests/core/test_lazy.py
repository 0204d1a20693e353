"""Names that are loaded on first use."""

from __future__ import annotations

from typing import Any

import pytest

from discreet.core.errors import InvalidProblemError
from discreet.core.lazy import on_first_use, registered


def test_a_name_is_loaded_once_and_then_kept_in_the_package() -> None:
    namespace: dict[str, Any] = {"__name__": "discreet.core"}
    load = on_first_use(namespace, {"Tree": "tree"})
    assert "Tree" not in namespace
    assert load("Tree") is namespace["Tree"]


def test_a_name_that_is_not_in_the_table_is_no_attribute() -> None:
    load = on_first_use({"__name__": "discreet.core"}, {"Tree": "tree"})
    with pytest.raises(AttributeError, match="'discreet.core' has no attribute 'tree'"):
        load("tree")


def test_what_is_registered_is_imported_by_its_name() -> None:
    assert registered({"log": "math:log"}, "log", "--method")(1) == 0


def test_a_name_that_is_not_registered_is_answered_with_those_that_are() -> None:
    with pytest.raises(InvalidProblemError, match=r"--method: expected one of a, b, got 'c'"):
        registered({"b": "math:exp", "a": "math:log"}, "c", "--method")
