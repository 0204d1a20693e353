"""Every item is found under its name, says what it is, and takes a limit where the registry says so."""

from __future__ import annotations

import inspect

import pytest

from discreet_reproduction.record import Run
from discreet_reproduction.registry import ITEMS, LIMITED, find
from discreet_reproduction.scales import HEADLINES, PAPER_DRAWS, SCALES, Status, status_of

PAPERS = {"hierarchy": 8, "kanonymity": 18, "lrgeo": 12, "metricdp": 13, "submodular": 11}


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


def test_the_scale_of_each_item_is_stated() -> None:
    assert set(SCALES) == set(ITEMS)
    assert set(HEADLINES) == set(PAPERS)
    assert set(PAPER_DRAWS) | {name for names in HEADLINES.values() for name in names} <= set(ITEMS)


@pytest.mark.parametrize("name", ITEMS)
def test_small_sizes_are_never_full(name: str) -> None:
    """An item whose small form has other sizes states the ratio; one with other parameters does so without --quick."""
    status, ratio = status_of(name, Run(quick=True))
    depends = "quick" in inspect.getsource(inspect.getmodule(find(name)) or find(name))
    assert (status is Status.SMALL) == bool(SCALES[name].quick or SCALES[name].default)
    assert bool(ratio) or not depends or status is not Status.SMALL
    plain, _ = status_of(name, Run())
    assert plain is not Status.FULL or (name not in LIMITED and not SCALES[name].default)


def test_fewer_draws_than_the_papers_are_small() -> None:
    for name, draws in PAPER_DRAWS.items():
        assert status_of(name, Run(draws=draws))[0] is Status.FULL
        assert status_of(name, Run(draws=draws - 1)) == (
            Status.SMALL,
            f"{draws - 1} of {draws} draws",
        )
