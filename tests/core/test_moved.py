"""Names that moved to the other distribution: each says where it is, with and without that distribution."""

from __future__ import annotations

import importlib

import pytest

from cli.commands import say
from discreet.core.errors import InvalidProblemError
from discreet.core.moved import INSTALL, MOVED, load, where_now
from discreet.evaluate.registry import PUBLISHED_ATTACK, PUBLISHED_AUDITS

NAMES = sorted(name for name in MOVED if not name.startswith("discreet "))
OPTIONS = sorted(name.split() for name in MOVED if name.startswith("discreet "))


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_moved_says_where_it_is_and_how_to_install_it(name: str) -> None:
    package, _, member = name.rpartition(".")
    assert not hasattr(importlib.import_module(package), member)
    with pytest.raises(AttributeError) as caught:
        getattr(importlib.import_module(package), member)
    assert MOVED[name].replace(":", ".") in str(caught.value)
    assert INSTALL in str(caught.value)
    assert str(caught.value).endswith(where_now(name))


@pytest.mark.parametrize("words", OPTIONS, ids=" ".join)
def test_an_option_that_moved_says_where_it_is_and_how_to_install_it(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    _, command, option = words
    for more in ((), ("--accept-no-guarantee",), ("--page",)):
        said = say(capsys, command, option, *more)
        assert said.status == 2
        assert said.err.startswith(f"discreet: {option}: expected no such option any more: it is ")
        assert MOVED[" ".join(words)].replace(":", ".") in said.err
        assert INSTALL in said.err


def test_another_missing_module_is_not_blamed_on_the_distribution() -> None:
    with pytest.raises(ModuleNotFoundError):
        load("discreet.nothing:here", "method", "x")
    assert where_now("discreet.lrgeo.design") == ""


def test_every_place_is_text_of_the_distribution() -> None:
    places = [*MOVED.values(), PUBLISHED_ATTACK]
    places += [place for audits in PUBLISHED_AUDITS.values() for place in audits.values()]
    assert all(place.startswith("discreet_reproduction.") for place in places)
    with pytest.raises(InvalidProblemError, match="^method: "):
        load("discreet_reproduction.nothing:here", "method", "x")
