"""Names that are loaded on first use."""

from __future__ import annotations

from typing import Any

import pytest

from discreet.core.lazy import on_first_use


def test_a_name_is_loaded_once_and_then_kept_in_the_package() -> None:
    namespace: dict[str, Any] = {"__name__": "discreet.core"}
    load = on_first_use(namespace, {"Tree": "tree"})
    assert "Tree" not in namespace
    assert load("Tree") is namespace["Tree"]


def test_a_name_that_is_not_in_the_table_is_no_attribute() -> None:
    load = on_first_use({"__name__": "discreet.core"}, {"Tree": "tree"})
    with pytest.raises(AttributeError, match="'discreet.core' has no attribute 'tree'"):
        load("tree")
