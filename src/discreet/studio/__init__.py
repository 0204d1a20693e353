"""The studio: a page on this machine where a table is anonymized and its risk is seen before and after.

:func:`create_studio` makes the application; ``discreet studio`` runs it on loopback. It needs the extra ``studio``.
Everything is loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.lazy import public_names

if TYPE_CHECKING:
    from discreet.studio.app import create_studio as create_studio
    from discreet.studio.workspaces import OpenWorkspaces as OpenWorkspaces

if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = public_names(globals())
