"""The location service: a server that publishes one mechanism, and a client that asks for it and keeps its place.

:func:`create_app` makes the application and :func:`serve` runs it; :class:`Client` wraps the client without I/O,
:class:`discreet.lrgeo.Client`. It needs the extra ``service``. Everything is loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.lazy import on_first_use

if TYPE_CHECKING:
    from discreet.service.app import PaperMode, create_app
    from discreet.service.client import Client, Located
    from discreet.service.limits import Limits
    from discreet.service.paper_client import PaperClient
    from discreet.service.paper_server import PaperServer
    from discreet.service.running import bind, serve

__all__ = [
    "Client",
    "Limits",
    "Located",
    "PaperClient",
    "PaperMode",
    "PaperServer",
    "bind",
    "create_app",
    "serve",
]

_WHERE = {
    "Client": "client",
    "Limits": "limits",
    "Located": "client",
    "PaperClient": "paper_client",
    "PaperMode": "app",
    "PaperServer": "paper_server",
    "bind": "running",
    "create_app": "app",
    "serve": "running",
}
"""Public name -> the module that defines it."""


if not TYPE_CHECKING:
    __getattr__ = on_first_use(globals(), _WHERE)


def __dir__() -> list[str]:
    return __all__
