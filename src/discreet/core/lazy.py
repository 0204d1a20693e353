"""Names that are loaded on first use, so that importing a package costs nothing: of a package (PEP 562), of a table."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from discreet.core.errors import unknown_name
from discreet.core.moved import load as load_entry
from discreet.core.moved import where_now

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from discreet.core.method import MethodRecord


def on_first_use(namespace: dict[str, Any], where: Mapping[str, str]) -> Callable[[str], object]:
    """Return the ``__getattr__`` of a package that imports the modules of its public names on first use.

    A package assigns it under ``if not TYPE_CHECKING``: type checkers would take it to mean that every name exists.

    Parameters
    ----------
    namespace
        The package's ``globals()``. A name is kept there once it is loaded.
    where
        Public name -> the module below the package that defines it.

    Returns
    -------
    callable
        From a name to its value; raises ``AttributeError`` for one that is not in the table.

    Examples
    --------
    >>> load = on_first_use({"__name__": "discreet.core"}, {"Tree": "tree"})
    >>> load("Tree").__name__
    'Tree'
    >>> load("Forest")
    Traceback (most recent call last):
    AttributeError: module 'discreet.core' has no attribute 'Forest'
    """
    package = namespace["__name__"]

    def load(name: str) -> object:
        if name not in where:
            instead = where_now(f"{package}.{name}")
            message = f"module {package!r} has no attribute {name!r}{instead and f': {instead}'}"
            raise AttributeError(message)
        value: object = getattr(importlib.import_module(f"{package}.{where[name]}"), name)
        namespace[name] = value
        return value

    return load


def registered(
    table: Mapping[str, str] | Mapping[str, MethodRecord] | Mapping[str, str | MethodRecord],
    name: str,
    argument: str,
) -> Callable[..., Any]:
    """Import what is registered under a name.

    Returns the object, a class or a function. The first call imports its module.

    Parameters
    ----------
    table
        Names and what stands behind each, as ``"module:name"`` or a record of a method.
    name
        The name.
    argument
        The argument that named it, for the error message.

    Raises
    ------
    InvalidProblemError
        When the table has no such name, or what it names is in a distribution that is not installed.

    Examples
    --------
    >>> registered({"log": "math:log"}, "log", "--method")(1)
    0.0
    >>> registered({"b": "math:exp", "a": "math:log"}, "c", "--method")
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: --method: expected one of a, b, got 'c'
    """
    if name not in table:
        raise unknown_name(argument, name, sorted(table))
    entry = table[name]
    function: Callable[..., Any] = load_entry(
        entry if isinstance(entry, str) else entry.where, argument, name
    )
    return function
