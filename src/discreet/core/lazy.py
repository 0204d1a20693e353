"""Names of a package that are loaded when they are first asked for (PEP 562), so that importing it costs nothing."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["on_first_use"]


def on_first_use(namespace: dict[str, Any], where: Mapping[str, str]) -> Callable[[str], object]:
    """Make the ``__getattr__`` of a package whose names live in modules of its own.

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
            message = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(message)
        value: object = getattr(importlib.import_module(f"{package}.{where[name]}"), name)
        namespace[name] = value
        return value

    return load
