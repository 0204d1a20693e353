"""Names that are loaded on first use."""

from __future__ import annotations

import pytest

import discreet.web
from discreet.core.errors import InvalidProblemError
from discreet.core.lazy import public_names, registered


def test_a_name_is_loaded_once_and_then_kept_in_the_package() -> None:
    namespace = {name: vars(discreet.web)[name] for name in ("__name__", "__spec__")}
    load, listed, names = public_names(namespace)
    assert listed() == names == ["Gate", "Guard", "Limits", "bind", "serve"]
    assert load("Gate") is namespace["Gate"]


def test_what_is_registered_is_imported_by_its_name() -> None:
    assert registered({"log": "math:log"}, "log", "--method")(1) == 0


def test_a_name_that_is_not_registered_is_answered_with_those_that_are() -> None:
    with pytest.raises(InvalidProblemError, match=r"--method: expected one of a, b, got 'c'"):
        registered({"b": "math:exp", "a": "math:log"}, "c", "--method")
