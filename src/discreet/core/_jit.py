"""The one wrapper around compiled kernels.

A module of kernels is called ``_kernels.py`` and is imported on first use, inside the function that needs it, so
that ``import discreet`` loads no compiler. Kernels are cached on disk, release the interpreter lock, and keep
IEEE arithmetic: a kernel on whose floats a certificate depends must not be compiled with ``fastmath``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, cast

import numba

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["kernel"]

F = TypeVar("F", bound="Callable[..., object]")


def kernel(function: F) -> F:
    """Compile a function of arrays on its first call; with ``NUMBA_DISABLE_JIT=1`` leave it plain Python."""
    return cast("F", numba.njit(cache=True, nogil=True, error_model="numpy")(function))
