"""``serve``: publish one mechanism for a region, on this machine only by default."""

from __future__ import annotations

import json
import math
import os
import sys
import threading
from concurrent.futures import Future
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, final

from discreet.cli.calls import from_options
from discreet.cli.files import check_outputs
from discreet.cli.inputs import parse_budget
from discreet.cli.options import HelpAllOption, JsonOption, QuietOption, output_file
from discreet.cli.output import emit, log_line, renamed_arguments, warn
from discreet.cli.published import RegionOptions, Work, plan_of
from discreet.core.errors import InvalidProblemError
from discreet.core.exact import to_fraction
from discreet.core.extras import require
from discreet.core.option_groups import OptionGroup, option
from discreet.core.printed import position

if TYPE_CHECKING:
    from collections.abc import Iterator

    from discreet.lrgeo import Mechanism, Region
    from discreet.lrgeo.points.published import PublishedPoints
    from discreet.web import Limits

    Published = Mechanism | PublishedPoints

_METERS = {"km": 1000, "m": 1}

_EXAMPLES = (
    "discreet serve --grid 40x40 --cell 0.5 --unit km --epsilon 2/km --port 8080",
    "discreet serve --grid 12x12 --cell 0.5 --origin 41.87,12.45 --epsilon 2/km --port 8080",
    "discreet serve --bbox 41.87,12.45,41.92,12.53 --cell 0.5 --epsilon 2/km --port 8080",
    "discreet serve --roads edges.csv --nodes nodes.csv --epsilon 5/km --spacing 0.2 --places-only --port 8081",
)


class WorkOptions(OptionGroup, panel="How to design", environment="DISCREET_"):
    """The mechanism that is published or designed."""

    mechanism: str | None = option(
        "Publish this mechanism, for places or for every point as it is; nothing is designed.",
        "FILE",
    )
    output: str | None = output_file("Write the mechanism here.")
    time_limit: float | None = option("Seconds for the design.")
    every_point: bool | None = option(
        "What the promise is about. --every-point, the default: any two points of the region's convex "
        "outline, near or far; none is snapped to a place. "
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
    connections_per_address: int = option(
        "Connections at once from one address that is no trusted proxy.", "N", default=256
    )
    trusted_proxy: str | None = option(
        "Proxies, as addresses or networks, whose X-Forwarded-For or Forwarded names the client.",
        "ADDRESS,...",
    )
    allow_origin: str | None = option(
        "Origins of pages that may read the answers in a browser, such as https://app.example.org; * is all.",
        "ORIGIN,...",
    )
    metrics: str = option(
        "Who may read /metrics: this machine but no proxy on it, anyone, or no one.",
        "loopback|any|off",
        default="loopback",
    )
    drain: float = option(
        "Seconds for which connections are still taken after SIGTERM, while /readyz says 503.",
        default=1.0,
    )
    log: str = option(
        "Form of the lines on standard error; requests are in neither.",
        "text|json",
        default="text",
    )


class BoxOption(OptionGroup, panel="The region", environment="DISCREET_"):
    """A box of degrees."""

    bbox: str | None = option(
        "A grid over a box of degrees: south, west, north, east; instead of --grid and --origin.",
        "S,W,N,E",
    )


@final
class ServeOptions(
    RegionOptions,
    BoxOption,
    WorkOptions,
    ServerOptions,
    JsonOption,
    QuietOption,
    HelpAllOption,
    environment="DISCREET_",
):
    """Options of ``serve``."""

    epsilon: str | None = option("Privacy budget of one report, per unit: 5/km. It has no default.")


_CHECKED = {
    "allow_origins": "--allow-origin",
    "metrics": "--metrics",
    "trusted_proxies": "--trusted-proxy",
}
"""Argument of the application, which checks it -> option."""

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
    options = _over_a_box(options)
    quiet, drain, output = options.quiet, options.drain, options.output
    require("service", "serve")
    from discreet.service import create_app
    from discreet.service.operations import Metrics
    from discreet.web import bind
    from discreet.web import serve as run
    from discreet.web.clients import networks
    from discreet.web.logs import logged_by

    check_outputs({"--output": output}, options.roads, options.nodes, options.mechanism)
    limits = _limits(options.rate, options.connections_per_address)
    listed = () if options.allow_origin is None else options.allow_origin.split(",")
    origins = tuple(each.strip() for each in listed)
    future: Future[Published] = Future()
    shown: Any = options.metrics
    proxies = () if options.trusted_proxy is None else tuple(options.trusted_proxy.split(","))
    if options.log not in {"text", "json"}:
        raise InvalidProblemError("--log", "text or json", repr(options.log))
    events = _Events(options.log == "json", quiet)
    for sentence in _strange_settings():
        events.tell("warning", sentence)
    _check_drain(drain)
    stopping, counted = threading.Event(), Metrics()
    with bind(options.host, options.port, allow_remote=options.allow_remote) as bound:
        plan = plan_of(options.mechanism, options, options.epsilon, options.every_point)
        work = None
        if plan.stored is None and plan.region is not None:
            work = Work(plan, plan.region, options.time_limit, output, events.tell, future)
        elif plan.stored is not None:
            future.set_result(plan.stored)
        with renamed_arguments(_CHECKED):
            app = create_app(
                future,
                plan.region,
                limits=limits,
                metrics=counted,
                show_metrics=shown,
                trusted_proxies=proxies,
                allow_origins=origins,
                stopping=stopping,
            )

        def started(url: str) -> None:
            data, text = plan.announced(url)
            text += _corners(plan.region)
            emit("serve", options, data, text)
            sys.stdout.flush()
            events.tell("started", url=url, places=plan.places)
            if work is not None:
                events.tell("designing", "designing")
                threading.Thread(target=work.run, daemon=True).start()
            else:
                events.tell("ready", digest=future.result().digest)

        with logged_by(events.log):
            run(
                app,
                bound,
                until=future,
                on_started=started,
                stopping=stopping,
                drain=drain,
                limits=limits,
                trusted=networks(proxies),
                on_ended=counted.end_connection,
            )
    events.tell("stopped", begun=counted.begun, answered=counted.answered)
    failure = future.exception() if future.done() else None
    if failure is not None:
        raise failure
    return 0


def _over_a_box(options: ServeOptions) -> ServeOptions:
    """Return the options with a box replaced by the grid over it; unchanged without a box.

    InvalidProblemError for an origin whose longitude comes first, or another region beside the box.
    """
    bbox = options.bbox
    if options.origin is not None and _is_longitude_first(options.origin):
        expected = "the latitude first, from -90 to 90"
        raise InvalidProblemError("--origin", expected, repr(options.origin))
    if bbox is None:
        return options
    if (options.grid, options.origin, options.roads) != (None, None, None):
        expected = "neither --grid, --origin nor --roads beside it"
        raise InvalidProblemError("--bbox", expected, repr(bbox))
    unit = options.unit or parse_budget(options.epsilon or "1")[1] or "km"
    grid, origin = grid_of_box(bbox, options.cell, unit)
    return replace(options, grid=grid, origin=origin)


def grid_of_box(text: str, cell: str | None, unit: str) -> tuple[str, str]:
    """Return the values of ``--grid`` and ``--origin`` for the smallest grid of cells that covers a box of degrees.

    Parameters
    ----------
    text
        South, west, north and east, in degrees, with commas between them.
    cell
        Side of a cell, in the unit; None for 1.
    unit
        ``"km"`` or ``"m"``.

    Raises
    ------
    InvalidProblemError
        For another form or order, a box without an area, and a side that is no positive number.

    Examples
    --------
    >>> grid_of_box("41.87,12.45, 41.92,12.53", "0.5", "km")
    ('12x14', '41.87,12.45')
    >>> grid_of_box("12.45,41.87,12.53,-41.92", "0.5", "km")
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: --bbox: expected south, west, north, east in degrees, ...
    """
    expected = "south, west, north, east in degrees, as in 41.87,12.45,41.92,12.53"
    try:
        south, west, north, east = (float(part) for part in text.split(","))
    except ValueError:
        raise InvalidProblemError("--bbox", expected, repr(text)) from None
    if east < west:
        # Across the date line.
        east += 360
    if not (-90 <= south < north <= 90 and -180 <= west < east <= min(360, west + 180)):
        if -90 <= west < east <= 90 and south < north:
            expected += "; yours looks like west, south, east, north"
        raise InvalidProblemError("--bbox", expected, repr(text))
    side = to_fraction(cell or "1", "--cell")
    if side <= 0 or unit not in _METERS:
        raise InvalidProblemError("--cell", "a positive number of km or m", f"{cell} {unit}")
    from discreet.core.spaces.geography import EARTH_RADIUS_KM

    meters = float(side) * _METERS[unit]
    nearest = 0.0 if south < 0 < north else min(abs(south), abs(north))
    degree = math.radians(1) * EARTH_RADIUS_KM * 1000
    rows = math.ceil((north - south) * degree / meters)
    columns = math.ceil((east - west) * degree * math.cos(math.radians(nearest)) / meters)
    return f"{rows}x{columns}", f"{south!r},{west!r}"


def _is_longitude_first(text: str) -> bool:
    """Return whether the first of two numbers is no latitude; other text is refused where it is read."""
    try:
        return abs(float(text.partition(",")[0])) > 90
    except ValueError:
        return False


def _corners(region: Region | None) -> str:
    """Return the extent of a region on the globe in words: with longitudes typed first it is in another country."""
    if region is None or region.origin is None:
        return ""
    lows, highs = region.coordinates.min(axis=0), region.coordinates.max(axis=0)
    corners = (", ".join(position(value, 4) for value in corner) for corner in (lows, highs))
    return f" between {' and '.join(corners)} (latitude, longitude)"


def _limits(rate: float, connections_per_address: int) -> Limits:
    """Return the limits of a server: `rate` requests a second, a burst of four seconds, and connections an address.

    InvalidProblemError for values that are not positive and finite.
    """
    from discreet.web import Limits

    try:
        # Before the burst is made of it: what is not finite has no whole number.
        Limits(rate=rate, connections_per_address=connections_per_address)
    except InvalidProblemError as error:
        raise error.renamed(f"--{error.field.replace('_', '-')}") from None
    return Limits(
        rate=rate,
        burst=math.ceil(min(4 * rate, sys.float_info.max)),
        connections_per_address=connections_per_address,
    )


def _check_drain(seconds: float, *, max_seconds: float = 600) -> None:
    """Raise InvalidProblemError unless `seconds` are from 0 to `max_seconds`, after which every server ends."""
    if not 0 <= seconds <= max_seconds:
        raise InvalidProblemError("--drain", f"seconds from 0 to {max_seconds}", seconds)


def _strange_settings() -> Iterator[str]:
    """Yield a warning for each variable of the environment that is a misspelt setting."""
    known = {f"DISCREET_{name.upper()}" for name in _SETTINGS}
    for name in sorted(os.environ):
        near = get_close_matches(name, known, 1, 0.8) if name.startswith("DISCREET_") else []
        if name not in known and near:
            yield f"{name} is no setting; did you mean {near[0]}?"


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
        """Report an event with `text` for people and `facts` for programs; without a text it is for programs alone.

        `quiet` silences the text, not the JSON.
        """
        if self.as_json:
            now = datetime.now(UTC).isoformat(timespec="milliseconds")
            self._line(
                {"time": now, "event": event, **({"message": text} if text else {}), **facts}
            )
        elif text:
            warn(text, quiet=self.quiet)

    def log(self, level: str, message: str) -> None:
        """Write a line that the server or a library logs, with its level; `quiet` does not silence it."""
        if self.as_json:
            self._line({"event": level, "message": message})
        else:
            warn(f"{level}: {message}")

    def _line(self, facts: dict[str, object]) -> None:
        log_line(json.dumps(facts))
