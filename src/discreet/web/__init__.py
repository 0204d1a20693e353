"""What the location service and the studio both stand on: bounds on requests, a gate for loopback pages, a runner.

:func:`bind` takes a port, on this machine only by default; :func:`serve` runs an application
on it. It needs the extra ``service``. Everything is loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.lazy import public_names

if TYPE_CHECKING:
    from discreet.web.gate import Gate as Gate
    from discreet.web.guard import Guard as Guard
    from discreet.web.guard import Limits as Limits
    from discreet.web.running import bind as bind
    from discreet.web.running import serve as serve

if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = public_names(globals())
