"""The location service: a server that publishes one mechanism, and a client that asks for it and keeps its place.

:func:`create_app` makes the application and :func:`discreet.web.serve` runs it; :class:`Client` wraps the client
without I/O, :class:`discreet.lrgeo.Client`. It needs the extra ``service``. Everything is loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.lazy import public_names

if TYPE_CHECKING:
    from discreet.service.app import create_app as create_app
    from discreet.service.client import Client as Client
    from discreet.service.client import Located as Located

if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = public_names(globals())
