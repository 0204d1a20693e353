"""The studio: a page on this machine where a table is anonymized and its risk is seen before and after.

:func:`create_studio` makes the application; ``discreet studio`` runs it on loopback. It needs the extra ``studio``.
Everything is loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.lazy import on_first_use

if TYPE_CHECKING:
    from discreet.studio.app import create_studio
    from discreet.studio.workspaces import OpenWorkspaces

__all__ = ["OpenWorkspaces", "create_studio"]

_WHERE = {"OpenWorkspaces": "workspaces", "create_studio": "app"}
"""Public name -> the module that defines it."""


if not TYPE_CHECKING:
    __getattr__ = on_first_use(globals(), _WHERE)


def __dir__() -> list[str]:
    return __all__
