"""``serve``: publish one mechanism for a region, on this machine only by default."""

from __future__ import annotations

import json
import logging
import math
import os
import sys
import threading
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import TYPE_CHECKING, TypeVar, final

from discreet.cli.calls import OptionGroup, from_options, option
from discreet.cli.files import check_outputs
from discreet.cli.options import HelpAllOption, JsonOption, QuietOption
from discreet.cli.output import emit, renamed_arguments, warn
from discreet.cli.published import RegionOptions, Work, plan_of
from discreet.core.errors import InvalidProblemError
from discreet.core.extras import require

if TYPE_CHECKING:
    from collections.abc import Iterator

    from discreet.lrgeo import Mechanism
    from discreet.lrgeo.points.published import PublishedPoints
    from discreet.service.operations import Shown
    from discreet.web import Limits

    Published = Mechanism | PublishedPoints

__all__ = ["serve"]

W = TypeVar("W", bound=str)

_MAX_RATE = 1e9
"""Requests each second from which the burst no longer grows."""

_MAX_DRAIN = 600
"""Seconds for which a server that was told to stop may go on."""

_EXAMPLES = """Examples:

```
discreet serve --grid 40x40 --cell 0.5 --unit km --epsilon 2/km --port 8080

discreet serve --grid 12x12 --cell 0.5 --origin 41.87,12.45 --epsilon 2/km --port 8080

discreet serve --roads edges.csv --nodes nodes.csv --epsilon 5/km --spacing 0.2 --places-only --port 8081
```
"""


class WorkOptions(OptionGroup, panel="How to design", environment="DISCREET_"):
    """The mechanism that is published or designed."""

    mechanism: str | None = option(
        "Publish this mechanism, for places or for every point as it is; nothing is designed.",
        "FILE",
    )
    output: str | None = option("Write the mechanism here.", "FILE", "--output", "-o")
    time_limit: float | None = option("Seconds for the design.")
    every_point: bool | None = option(
        "What the promise is about. --every-point, the default: any two points of the region's convex "
        "outline, near or far; none is snapped to a place. It takes at most 5120 places. "
        "--places-only: any two places; a point is snapped to the nearest one first, so two points "
        "close to each other across a border between places are protected as these places are, not as the "
        "points. It loses less.",
        None,
        "--every-point/--places-only",
    )


class ServerOptions(OptionGroup, panel="The server", environment="DISCREET_"):
    """The server."""

    port: int = option("Port; 0 lets the system choose.", default=8080)
    host: str = option("Address to listen on.", default="127.0.0.1")
    allow_remote: bool = option(
        "Listen where other machines connect. Put TLS in front of it.", default=False
    )
    rate: float = option("Requests each second from one address.", default=50.0)
    trusted_proxy: str | None = option(
        "Proxies, as addresses or networks, whose X-Forwarded-For says for whom they send requests.",
        "ADDRESS,...",
    )
    metrics: str = option(
        "Who sees /metrics: this machine and no proxy on it, any, or nobody.",
        "loopback|any|off",
        default="loopback",
    )
    drain: float = option(
        "Seconds for which connections are still taken after SIGTERM, while /readyz says 503.",
        default=1.0,
    )
    log: str = option(
        "Form of the events on standard error; requests are in neither.",
        "text|json",
        default="text",
    )


@final
class ServeOptions(
    RegionOptions,
    WorkOptions,
    ServerOptions,
    JsonOption,
    QuietOption,
    HelpAllOption,
    environment="DISCREET_",
):
    """Options of ``serve``."""

    epsilon: str | None = option("Privacy budget of one report, per unit: 5/km. It has no default.")


_SETTINGS = frozenset(
    one.name for one in fields(ServeOptions) if one.name not in {"as_json", "quiet", "help_all"}
)
"""Options that the environment can state, as ``DISCREET_`` and the name."""


@from_options(
    ServeOptions,
    examples=_EXAMPLES,
    first=("roads", "spacing", "grid", "cell", "epsilon", "mechanism", "port"),
)
def serve(options: ServeOptions) -> int:
    """Publish one mechanism for a region. Clients fetch it whole and draw by themselves; they upload nothing.

    It answers at once, says that it is designing until the mechanism is there, and ends on SIGTERM or Ctrl-C.
    """
    quiet, drain, output = options.quiet, options.drain, options.output
    require("service", "serve")
    from discreet.service import create_app
    from discreet.service.operations import Metrics
    from discreet.web import bind
    from discreet.web import serve as run

    check_outputs({"--output": output}, options.roads, options.nodes, options.mechanism)
    limits = _limits(options.rate)
    _say_strange_settings(quiet=quiet)
    future: Future[Published] = Future()
    words: tuple[Shown, ...] = ("loopback", "any", "off")
    shown = _one_of("--metrics", options.metrics, words)
    proxies = _proxies(options.trusted_proxy)
    events = _Events(_one_of("--log", options.log, ("text", "json")) == "json", quiet)
    if not 0 <= drain <= _MAX_DRAIN:
        raise InvalidProblemError("--drain", f"seconds from 0 to {_MAX_DRAIN}", drain)
    stopping, counted = threading.Event(), Metrics()
    with bind(options.host, options.port, allow_remote=options.allow_remote) as bound:
        plan = plan_of(options.mechanism, options, options.epsilon, options.every_point)
        work = None
        if plan.stored is None and plan.region is not None:
            work = Work(plan, plan.region, options.time_limit, output, events.tell, future)
        elif plan.stored is not None:
            future.set_result(plan.stored)
        app = create_app(
            future,
            plan.region,
            limits=limits,
            metrics=counted,
            show_metrics=shown,
            trusted_proxies=proxies,
            stopping=stopping,
        )

        def started(url: str) -> None:
            data, text = plan.announced(url)
            emit(data, text, as_json=options.as_json, command="serve")
            sys.stdout.flush()
            events.tell("started", url=url, places=plan.places)
            if work is not None:
                events.tell("designing", "designing")
                threading.Thread(target=work.run, daemon=True).start()
            else:
                events.tell("ready", digest=future.result().digest)

        with events.failures():
            run(app, bound, until=future, on_started=started, stopping=stopping, drain=drain)
    events.tell("stopped", begun=counted.begun, answered=counted.answered)
    failure = future.exception() if future.done() else None
    if failure is not None:
        raise failure
    return 0


def _one_of(name: str, word: str, words: tuple[W, ...]) -> W:
    """Return the typed word, or refuse it with the words that exist."""
    for each in words:
        if word == each:
            return each
    raise InvalidProblemError(name, f"{', '.join(words[:-1])} or {words[-1]}", repr(word))


def _limits(rate: float) -> Limits:
    from discreet.web import Limits

    with renamed_arguments({}, others="--rate"):
        # Before the burst is made of it: what is not finite has no whole number.
        Limits(rate=rate)
    return Limits(rate=rate, burst=math.ceil(4 * min(rate, _MAX_RATE)))


def _say_strange_settings(*, quiet: bool) -> None:
    """Warn of variables of the environment that are misspelt settings."""
    known = {f"DISCREET_{name.upper()}" for name in _SETTINGS}
    for name in sorted(os.environ):
        near = get_close_matches(name, known, 1, 0.8) if name.startswith("DISCREET_") else []
        if name not in known and near:
            warn(f"{name} is no setting; did you mean {near[0]}?", quiet=quiet)


def _proxies(text: str | None) -> tuple[str, ...]:
    from discreet.web.guard import networks

    proxies = () if text is None else tuple(text.split(","))
    with renamed_arguments({}, others="--trusted-proxy"):
        networks(proxies)
    return proxies


@final
@dataclass(frozen=True)
class _Events:
    """Tells on standard error what the service itself does, in lines of text or of JSON.

    An event of the service has a time. A failure has none, and neither an address nor a path: it would say when the
    service was used, and for what.
    """

    as_json: bool
    quiet: bool

    def tell(self, event: str, text: str = "", **facts: object) -> None:
        """Report an event; one without a text is for programs alone."""
        if self.as_json:
            now = datetime.now(UTC).isoformat(timespec="milliseconds")
            self._line(
                {"time": now, "event": event, **({"message": text} if text else {}), **facts}
            )
        elif text:
            warn(text, quiet=self.quiet)

    @contextmanager
    def failures(self) -> Iterator[None]:
        """Write the server's log as JSON, too, if events are JSON."""
        logger, handler = logging.getLogger("discreet.service"), logging.Handler(logging.WARNING)
        handler.emit = self._failure  # type: ignore[method-assign] # a handler is one function
        if self.as_json:
            logger.addHandler(handler)
        try:
            yield
        finally:
            logger.removeHandler(handler)

    def _failure(self, record: logging.LogRecord) -> None:
        self._line({"event": record.levelname.lower(), "message": record.getMessage()})

    def _line(self, facts: dict[str, object]) -> None:
        sys.stderr.write(json.dumps(facts) + "\n")
        sys.stderr.flush()
