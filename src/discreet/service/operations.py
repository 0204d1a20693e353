"""What those who run the service look at: is it alive, is it ready, how much does it do, what does it publish.

Nothing here knows a place, and nothing that is counted has an address: labels are the templates of routes, methods and
statuses. :class:`Observed` stands outermost, so that refusals are counted too.
"""

from __future__ import annotations

import ipaddress
import secrets
import time
from html import escape
from importlib.metadata import version
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Literal, final

from fastapi import FastAPI, Request, Response
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)

from discreet.core import printed
from discreet.core.errors import InvalidProblemError
from discreet.lrgeo.messages import PROTOCOL_VERSION
from discreet.lrgeo.points.published import PublishedPoints
from discreet.service.routes import refuse

if TYPE_CHECKING:
    from collections.abc import Callable
    from threading import Event

    from discreet.lrgeo import Mechanism, Region
    from discreet.web.asgi import Application, Message, Receive, Send

State = Literal["ready", "failed", "designing", "draining"]
Shown = Literal["loopback", "any", "off"]

_STATIC = Path(__file__).with_name("static")
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_FORWARDED = (b"forwarded", b"x-forwarded-for", b"x-forwarded-host", b"x-real-ip", b"via")
_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_PAGES = {
    "service.css": "text/css; charset=utf-8",
    "interface.js": "text/javascript; charset=utf-8",
}


@final
class Metrics:
    """Counters of one application, in the form of Prometheus.

    A request is labelled with the template of its route, ``none`` where no route takes it; with its method if that is a
    known one; and with the status. There is no label for who asked, and none for what was asked about.

    Examples
    --------
    >>> metrics = Metrics()
    >>> metrics.end("/v1/region", "GET", 200, 0.001)
    >>> [line for line in metrics.text().decode().splitlines() if line.startswith("discreet_requests_total")]
    ['discreet_requests_total{method="GET",route="/v1/region",status="200"} 1.0']
    """

    def __init__(self) -> None:
        # They would hold the time of the first request of each kind.
        disable_created_metrics()  # type: ignore[no-untyped-call] # it has no types
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)
        self._requests = Counter(
            "discreet_requests",
            "Requests that were answered.",
            ("route", "method", "status"),
            registry=self._registry,
        )
        self._seconds = Histogram(
            "discreet_request_seconds",
            "Seconds from the headers of a request to the end of its answer.",
            ("route",),
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._under_way = Gauge(
            "discreet_requests_under_way",
            "Requests that are not answered yet.",
            registry=self._registry,
        )
        self._ready = Gauge(
            "discreet_ready", "1 where the mechanism is published.", registry=self._registry
        )
        self._ended = Counter(
            "discreet_connections_ended",
            "Connections that were refused or cut off: crowded, invalid, silent or slow.",
            ("reason",),
            registry=self._registry,
        )
        self.begun = self.answered = 0

    def begin(self) -> None:
        """Count a request whose headers were read; :meth:`end` must follow."""
        self.begun += 1
        self._under_way.inc()

    def end(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count an answer that was sent completely, and its `seconds`; `status` is 0 where there was none.

        `route` is the template of the route, not the path. A `method` that is no usual one counts as "other". Call it
        once after each :meth:`begin`.
        """
        self._under_way.dec()
        self.answered += status > 0
        known = (
            method
            if method in {"GET", "HEAD", "POST", "DELETE", "PUT", "OPTIONS", "PATCH"}
            else "other"
        )
        self._requests.labels(route, known, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def end_connection(self, reason: str) -> None:
        """Count a connection that the server refused or cut off; `reason` is crowded, invalid, silent or slow."""
        self._ended.labels(reason).inc()

    def text(self, *, ready: bool = False) -> bytes:
        """Return all counters in the text format of Prometheus, UTF-8; `ready` sets the gauge ``discreet_ready``."""
        self._ready.set(ready)
        return generate_latest(self._registry)


@final
class Observed:
    """ASGI middleware that counts requests, numbers them, and answers HEAD as GET without a body.

    The number of a request is drawn here and sent back as ``request-id``; one that came with it is not read. A
    failure is logged with it.

    Parameters
    ----------
    app
        The ASGI application behind it.
    metrics
        Counters to which requests are added.
    """

    def __init__(self, app: Application, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Pass a request on as ASGI has it, number it, and count its answer; other scopes are passed on unchanged.

        A failure of the application is counted with status 0 and raised on.
        """
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status, is_complete = time.perf_counter(), 0, False
        name, method = secrets.token_hex(8), scope["method"]
        inner = {**scope, "discreet.request": name}
        if method == "HEAD":
            # The server leaves the body out.
            inner["method"] = "GET"

        async def numbered(message: Message) -> None:
            nonlocal status, is_complete
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", []), (b"request-id", name.encode())]
            await send(message)
            if message["type"] == "http.response.body" and not message.get("more_body", False):
                is_complete = True

        self._metrics.begin()
        try:
            await self._app(inner, receive, numbered)
        finally:
            route = getattr(inner.get("route"), "path", "none")
            took = time.perf_counter() - began
            self._metrics.end(route, method, status if is_complete else 0, took)


def add_operations(
    app: FastAPI,
    region: Region | None,
    *,
    metrics: Metrics,
    ready: Callable[[], Mechanism | PublishedPoints | None],
    failed: Callable[[], bool],
    stopping: Event,
    shown: Shown = "loopback",
) -> None:
    """Add the routes for operators, and two pages for people.

    Parameters
    ----------
    app
        The application, to which ``/livez``, ``/readyz``, ``/version``, ``/metrics``, ``/``, ``/docs`` and
        ``/static/...`` are added.
    region
        The places; ``None`` where the mechanism alone is known.
    metrics
        What ``/metrics`` shows.
    ready
        Returns the mechanism, or ``None`` as long as it is not published.
    failed
        Returns whether its design has failed.
    stopping
        Set when the server is to stop; it is not ready from then on.
    shown
        Who may see the metrics: this machine, any, or nobody.

    Raises
    ------
    InvalidProblemError
        For another word in ``shown``.
    """
    if shown not in {"loopback", "any", "off"}:
        raise InvalidProblemError("metrics", "loopback, any or off", shown)

    def state() -> State:
        if stopping.is_set():
            return "draining"
        return "ready" if ready() is not None else "failed" if failed() else "designing"

    @app.get("/livez", include_in_schema=False)
    async def livez() -> Response:
        return _json_answer({"status": "alive"}, 200)

    @app.get("/readyz", include_in_schema=False)
    async def readyz() -> Response:
        now = state()
        return _json_answer({"status": now}, 200 if now == "ready" else 503)

    @app.get("/version", include_in_schema=False)
    async def get_version() -> Response:
        return _json_answer({"discreet": version("discreet"), "protocol": PROTOCOL_VERSION}, 200)

    @app.get("/metrics", include_in_schema=False)
    async def get_metrics(request: Request) -> Response:
        if shown == "off" or (shown == "loopback" and not _from_here(request)):
            return refuse(404, "not-found", "no such path")
        body = metrics.text(ready=state() == "ready")
        return Response(
            body,
            media_type="text/plain; version=0.0.4; charset=utf-8",
            headers={"cache-control": "no-store"},
        )

    _add_pages(app, lambda: _facts(region, ready(), state()))


def _add_pages(app: FastAPI, facts: Callable[[], dict[str, str]]) -> None:
    """Add routes of a page with the `facts` on the published mechanism, and of one with a button for each path."""

    @app.get("/", include_in_schema=False)
    async def landing() -> Response:
        return _page("landing.html", facts())

    @app.get("/docs", include_in_schema=False)
    async def interface() -> Response:
        rows = [
            f"<section><h2><code>{escape(path)}</code></h2><p>{escape(route['get'].get('summary', ''))}</p>"
            f'<button type="button" data-path="{escape(path)}">Ask</button><output></output></section>'
            for path, route in sorted(app.openapi()["paths"].items())
            # Without a parameter: nothing can be told there, a place least of all.
            if "get" in route and "{" not in path
        ]
        return _page("interface.html", {"routes": "\n".join(rows)})

    @app.get("/static/{name}", include_in_schema=False)
    async def static(name: str) -> Response:
        if name not in _PAGES:
            return refuse(404, "not-found", "no such path")
        return _text_answer((_STATIC / name).read_text(encoding="utf-8"), _PAGES[name])


def _facts(
    region: Region | None, found: Mechanism | PublishedPoints | None, state: State
) -> dict[str, str]:
    """Return the texts of the landing page, as HTML by name; without a mechanism (`found` None) they say so.

    Keys: state, subject, promise, example (a place), digest, epsilon (with its unit) and accepts (options to type).

    `region` is None where the mechanism alone is known.
    """
    promise = "It is being designed; ask again later." if found is None else f"{found.promise}."
    if state == "failed":
        promise = "No mechanism could be designed; the log says why."
    return {
        "state": state,
        "subject": _subject(region, found),
        "promise": escape(promise[0].upper() + promise[1:]),
        "example": _example(region, found),
        "digest": "not yet known" if found is None else found.digest,
        "epsilon": "2/km"
        if found is None
        else escape(f"{found.guarantee.epsilon}/{found.guarantee.unit}"),
        "accepts": "" if found is None or isinstance(found, PublishedPoints) else " --places-only",
    }


def _example(region: Region | None, found: Mechanism | PublishedPoints | None) -> str:
    """Return an example of a place as a client types it: latitude and longitude for a region on the globe.

    `found` is the mechanism, or None; without it and a region a place in Rome is shown. Coordinates have four
    decimals.
    """
    known = (
        found if isinstance(found, PublishedPoints) else region if found is None else found.region
    )
    if known is None:
        return "41.8986 12.4869"
    return " ".join(printed.position(part, 4) for part in known.where(known.K // 2))


def _subject(region: Region | None, found: Mechanism | PublishedPoints | None) -> str:
    """Return the phrase for the secrets of the mechanism: places, or points of a region.

    `found` is the mechanism, or None while it is designed. A text such as "every point of a region, with 1,225
    reports".
    """
    if found is None:
        return "a region" if region is None else f"a region of {printed.count(region.K)} places"
    if isinstance(found, PublishedPoints):
        return f"every point of a region, with {printed.count(found.K)} reports"
    return f"{printed.count(found.region.K)} places"


def _from_here(request: Request) -> bool:
    """Whether a request comes from this machine: its peer and its Host are loopback, and no header names a proxy."""
    if any(name in _FORWARDED for name, _ in request.scope["headers"]):
        return False
    host = request.headers.get("host", "").rpartition(":")[0].strip("[]") or request.headers.get(
        "host", ""
    )
    peer = request.scope.get("discreet.peer") or (request.client.host if request.client else "")
    return all(one == "localhost" or _is_loopback(one) for one in (host, peer))


def _is_loopback(address: str) -> bool:
    """Return whether an address is this machine's own."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def _json_answer(data: dict[str, object], status: int) -> Response:
    """Return an answer of JSON that is not to be cached."""
    from discreet.service.wire import JSON, encode

    headers = {"cache-control": "no-store"}
    return Response(encode(data, JSON), status_code=status, media_type=JSON, headers=headers)


def _page(name: str, parts: dict[str, str]) -> Response:
    """Return a page: the file `name` of static, with its $names replaced by `parts`, which must be escaped HTML."""
    text = (_STATIC / name).read_text(encoding="utf-8")
    return _text_answer(Template(text).substitute(parts), "text/html; charset=utf-8")


def _text_answer(text: str, media: str) -> Response:
    """Return an answer of text that is not to be cached, under the page's content policy."""
    headers = {"content-security-policy": _POLICY, "cache-control": "no-store"}
    return Response(text, media_type=media, headers=headers)
