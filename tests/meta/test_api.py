"""The public names: kept in a file, loaded on first use, documented with an example."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
import types
from pathlib import Path

import pytest

import discreet

SNAPSHOT = (Path(__file__).parent / "api.txt").read_text(encoding="utf-8").split()
PUBLIC: list[str] = importlib.import_module("discreet").__all__
ROOT = Path(discreet.__file__).parent
PACKAGES = sorted(
    ".".join(("discreet", *path.parent.relative_to(ROOT).parts))
    for path in ROOT.rglob("__init__.py")
    if "= public_names(" in path.read_text(encoding="utf-8")
)


def undocumented(name: str, thing: object) -> str | None:
    """Say what the docstring of a public object lacks, or nothing."""
    text = inspect.getdoc(thing)
    own = thing.__doc__ is not None
    if not text or not own:
        return f"{name} has no docstring of its own"
    if isinstance(thing, types.ModuleType):
        return None
    if isinstance(thing, type) and issubclass(thing, BaseException):
        # An error is shown by the examples of what raises it.
        return None
    heading = "Examples\n--------"
    if heading not in text or ">>>" not in text.split(heading, 1)[1]:
        return f"{name} has no example"
    return None


def test_the_public_names_are_those_of_the_snapshot() -> None:
    """A name is added or dropped on purpose: change tests/meta/api.txt and the changelog with it."""
    assert PUBLIC == SNAPSHOT


def test_the_public_names_are_sorted_and_few() -> None:
    assert sorted(set(PUBLIC)) == PUBLIC
    assert len(PUBLIC) <= 45


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_resolves_and_shows_an_example(name: str) -> None:
    assert undocumented(name, getattr(discreet, name)) is None


def test_star_import_gives_every_name() -> None:
    namespace: dict[str, object] = {}
    exec("from discreet import *", namespace)  # noqa: S102 - a star import can't be written inside a function
    assert set(PUBLIC) <= set(namespace)


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_gives_and_lists_all_its_names(package: str) -> None:
    module = importlib.import_module(package)
    assert module.__all__ == sorted(set(module.__all__))
    assert set(module.__all__) <= set(dir(module))
    for name in module.__all__:
        assert getattr(module, name) is vars(module)[name]


def test_dir_lists_the_public_names() -> None:
    assert set(PUBLIC) <= set(dir(discreet))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"'discreet' has no attribute 'Mechanism'"):
        discreet.Mechanism  # type: ignore[attr-defined]  # noqa: B018 - the access is the test


@pytest.mark.parametrize("name", sorted(discreet._ELSEWHERE))
def test_a_name_that_is_gone_says_what_to_use(name: str) -> None:
    """The sentence names what exists: each dotted name in it can be imported."""
    with pytest.raises(AttributeError, match="has no attribute") as caught:
        getattr(discreet, name)
    named = re.findall(r"discreet(?:\.\w+)+", str(caught.value).partition(": ")[2])
    assert named
    for dotted in named:
        module, _, attribute = dotted.rpartition(".")
        assert importlib.util.find_spec(dotted) or hasattr(
            importlib.import_module(module), attribute
        )


def test_the_version_comes_from_the_installed_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.import_module("importlib.metadata"), "version", "of {}".format)
    assert discreet.__version__ == "of discreet"


class Nothing: ...


class Documented:
    """Has words but no example."""


class Shown:
    """Has an example.

    Examples
    --------
    >>> 1
    1
    """


class Heir(Shown): ...


@pytest.mark.parametrize(
    ("thing", "complaint"),
    [
        (Nothing, "no docstring"),
        (Documented, "no example"),
        (Heir, "no docstring of its own"),
    ],
)
def test_the_check_of_docstrings_rejects(thing: object, complaint: str) -> None:
    assert complaint in (undocumented("it", thing) or "")


def test_the_check_of_docstrings_accepts() -> None:
    assert undocumented("it", Shown) is None
