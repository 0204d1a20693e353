"""What the location service and the studio both stand on: bounds on requests, a gate for loopback pages, a runner.

:func:`bind` takes a port, on this machine only by default; :func:`serve` runs an application
on it. It needs the extra ``service``. Everything is loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.lazy import on_first_use

if TYPE_CHECKING:
    from discreet.web.gate import Gate
    from discreet.web.guard import Guard, Limits
    from discreet.web.running import bind, serve

__all__ = ["Gate", "Guard", "Limits", "bind", "serve"]

_WHERE = {
    "Gate": "gate",
    "Guard": "guard",
    "Limits": "guard",
    "bind": "running",
    "serve": "running",
}
"""Public name -> the module that defines it."""


if not TYPE_CHECKING:
    __getattr__ = on_first_use(globals(), _WHERE)


def __dir__() -> list[str]:
    return __all__
