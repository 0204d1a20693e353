"""Every item is found under its name, says what it is, and takes a limit where the registry says so."""

from __future__ import annotations

import inspect

import pytest

from discreet_reproduction.registry import ITEMS, LIMITED, find

PAPERS = {"hierarchy": 6, "kanonymity": 18, "lrgeo": 12, "metricdp": 13, "submodular": 10}


def test_each_paper_has_its_items() -> None:
    assert {
        paper: sum(name.startswith(f"{paper}/") for name in ITEMS) for paper in PAPERS
    } == PAPERS
    assert sum(PAPERS.values()) == len(ITEMS)


@pytest.mark.parametrize("name", ITEMS)
def test_an_item_is_found_and_says_what_it_is(name: str) -> None:
    item = find(name)
    assert (item.__doc__ or "").split("\n\n")[0].rstrip().endswith(".")
    assert list(inspect.signature(item).parameters) == ["run"]
    assert f'"{name}"' in inspect.getsource(item) or name.startswith("kanonymity/")


@pytest.mark.parametrize("name", ITEMS)
def test_a_limit_is_taken_where_the_registry_says_so(name: str) -> None:
    source = inspect.getsource(find(name))
    takes = any(part in source for part in ("run.seconds(", "run.limit", "_settings(run)"))
    assert takes == (name in LIMITED)
