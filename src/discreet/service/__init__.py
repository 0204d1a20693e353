"""The location service: a server that publishes one mechanism, and a client that asks for it and keeps its place.

:func:`create_app` makes the application and :func:`discreet.web.serve` runs it; :class:`Client` wraps the client
without I/O, :class:`discreet.lrgeo.Client`. It needs the extra ``service``. Everything is loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.lazy import on_first_use

if TYPE_CHECKING:
    from discreet.service.app import create_app
    from discreet.service.client import Client, Located

__all__ = ["Client", "Located", "create_app"]

_WHERE = {
    "Client": "client",
    "Located": "client",
    "create_app": "app",
}
"""Public name -> the module that defines it."""


if not TYPE_CHECKING:
    __getattr__ = on_first_use(globals(), _WHERE)


def __dir__() -> list[str]:
    return __all__
