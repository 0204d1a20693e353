"""Names that are loaded on first use, so that importing a package costs nothing: of a package (PEP 562), of a table."""

from __future__ import annotations

import ast
import importlib
from typing import TYPE_CHECKING, Any

from discreet.core.errors import unknown_name
from discreet.core.moved import load as load_entry
from discreet.core.moved import where_now

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from discreet.core.method import MethodRecord


def public_names(
    namespace: dict[str, Any],
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Return the ``__getattr__``, ``__dir__`` and ``__all__`` of a package that loads its names on first use.

    A public name is one that the package's source imports as itself, ``from package.module import Name as Name``, at
    once or under ``TYPE_CHECKING``: the form by which type checkers know what a package hands on. So a name stands
    once. The call stands under ``if not TYPE_CHECKING``: type checkers would take it to mean that every name exists.

    Parameters
    ----------
    namespace
        The package's ``globals()``. A name is kept there once it is loaded.

    Returns
    -------
    tuple
        A function from a name to its value, which raises ``AttributeError`` for a name that is not public; a function
        that lists the names; and the names, sorted.

    Examples
    --------
    >>> import discreet.web
    >>> load, _, names = public_names(vars(discreet.web))
    >>> names
    ['Gate', 'Guard', 'Limits', 'bind', 'serve']
    >>> load("Gates")
    Traceback (most recent call last):
    AttributeError: module 'discreet.web' has no attribute 'Gates'
    """
    package = namespace["__name__"]
    where = {
        alias.name: str(node.module)
        for node in ast.walk(ast.parse(namespace["__spec__"].loader.get_source(package)))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname == alias.name
    }
    names = sorted(where)

    def load(name: str) -> object:
        if name not in where:
            instead = where_now(f"{package}.{name}")
            message = f"module {package!r} has no attribute {name!r}{instead and f': {instead}'}"
            raise AttributeError(message)
        # What a package imports from itself is a module of its own.
        submodule = where[name] == package
        module = importlib.import_module(f"{package}.{name}" if submodule else where[name])
        value: object = module if submodule else getattr(module, name)
        namespace[name] = value
        return value

    return load, lambda: names, names


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
