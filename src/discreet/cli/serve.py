"""``serve``: publish one mechanism for a region, on this machine only by default."""

from __future__ import annotations

import json
import math
import os
import sys
import threading
from concurrent.futures import Future
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated, TypeVar, final

import typer

from discreet.cli.files import check_outputs
from discreet.cli.inputs import parse_budget
from discreet.cli.options import Json, Quiet  # noqa: TC001 - Typer reads annotations at run time
from discreet.cli.output import emit, renamed_arguments, warn
from discreet.cli.published import RegionOptions, Work, plan_of
from discreet.core.errors import InvalidProblemError
from discreet.core.exact import to_fraction
from discreet.core.extras import require

if TYPE_CHECKING:
    from collections.abc import Iterator

    from discreet.lrgeo import Mechanism, Region
    from discreet.lrgeo.points.published import PublishedPoints
    from discreet.service.operations import Shown
    from discreet.web import Limits

    Published = Mechanism | PublishedPoints

__all__ = ["register", "serve"]

W = TypeVar("W", bound=str)

_MAX_RATE = 1e9
"""Requests each second from which the burst no longer grows."""

_WHERE = "The region"
_HOW = "How to design"
_WIRE = "The server"

_METERS = {"km": 1000, "m": 1}

_MAX_DRAIN = 600
"""Seconds for which a server that was told to stop may go on."""

_SETTINGS = frozenset(
    {
        *("roads", "nodes", "spacing", "grid", "cell", "origin", "bbox", "unit", "epsilon"),
        *("mechanism", "output", "time_limit", "every_point"),
        *(
            "port",
            "host",
            "allow_remote",
            "rate",
            "connections_per_address",
            "trusted_proxy",
            "metrics",
            "drain",
            "log",
        ),
    }
)
"""Options that the environment can state, as ``DISCREET_`` and the name."""

_EXAMPLES = """Examples:

```
discreet serve --grid 40x40 --cell 0.5 --unit km --epsilon 2/km --port 8080

discreet serve --grid 12x12 --cell 0.5 --origin 41.87,12.45 --epsilon 2/km --port 8080

discreet serve --bbox 41.87,12.45,41.92,12.53 --cell 0.5 --epsilon 2/km --port 8080

discreet serve --roads edges.csv --nodes nodes.csv --epsilon 5/km --spacing 0.2 --places-only --port 8081
```
"""


def serve(
    *,
    roads: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Roads as OSMnx writes them: a table with u, v, length, oneway and geometry.",
            rich_help_panel=_WHERE,
            envvar="DISCREET_ROADS",
        ),
    ] = None,
    nodes: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Their ends: a table with osmid, y, x. Needed where roads have no geometry.",
            rich_help_panel=_WHERE,
            envvar="DISCREET_NODES",
        ),
    ] = None,
    spacing: Annotated[
        str | None,
        typer.Option(
            help="About how far apart places on roads are.",
            rich_help_panel=_WHERE,
            envvar="DISCREET_SPACING",
        ),
    ] = None,
    grid: Annotated[
        str | None,
        typer.Option(
            metavar="RxC",
            help="A grid of R rows and C columns instead.",
            rich_help_panel=_WHERE,
            envvar="DISCREET_GRID",
        ),
    ] = None,
    cell: Annotated[
        str | None,
        typer.Option(
            help="Side of a grid cell, in the unit.", rich_help_panel=_WHERE, envvar="DISCREET_CELL"
        ),
    ] = None,
    origin: Annotated[
        str | None,
        typer.Option(
            metavar="LAT,LON",
            help="Southwest corner of a grid; without it places are east and north in the unit.",
            rich_help_panel=_WHERE,
            envvar="DISCREET_ORIGIN",
        ),
    ] = None,
    bbox: Annotated[
        str | None,
        typer.Option(
            metavar="S,W,N,E",
            help="A grid over a box of degrees: south, west, north, east; instead of --grid and --origin.",
            rich_help_panel=_WHERE,
            envvar="DISCREET_BBOX",
        ),
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option(
            help="km or m (default: km, or the unit of --epsilon).",
            rich_help_panel=_WHERE,
            envvar="DISCREET_UNIT",
        ),
    ] = None,
    epsilon: Annotated[
        str | None,
        typer.Option(
            help="Privacy budget of one report, per unit: 5/km. It has no default.",
            envvar="DISCREET_EPSILON",
        ),
    ] = None,
    mechanism: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Publish this mechanism, for places or for every point as it is; nothing is designed.",
            rich_help_panel=_HOW,
            envvar="DISCREET_MECHANISM",
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write the mechanism here.",
            rich_help_panel=_HOW,
            envvar="DISCREET_OUTPUT",
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            help="Seconds for the design.", rich_help_panel=_HOW, envvar="DISCREET_TIME_LIMIT"
        ),
    ] = None,
    every_point: Annotated[
        bool | None,
        typer.Option(
            "--every-point/--places-only",
            help="What the promise is about. --every-point, the default: any two points of the region's convex "
            "outline, near or far; none is snapped to a place. It takes at most 5120 places. "
            "--places-only: any two places; a point is snapped to the nearest one first, so two points "
            "close to each other across a border between places are protected as these places are, not as the points. "
            "It loses less.",
            rich_help_panel=_HOW,
            envvar="DISCREET_EVERY_POINT",
        ),
    ] = None,
    port: Annotated[
        int,
        typer.Option(
            help="Port; 0 lets the system choose.", rich_help_panel=_WIRE, envvar="DISCREET_PORT"
        ),
    ] = 8080,
    host: Annotated[
        str,
        typer.Option(help="Address to listen on.", rich_help_panel=_WIRE, envvar="DISCREET_HOST"),
    ] = "127.0.0.1",
    allow_remote: Annotated[
        bool,
        typer.Option(
            "--allow-remote",
            help="Listen where other machines connect. Put TLS in front of it.",
            rich_help_panel=_WIRE,
            envvar="DISCREET_ALLOW_REMOTE",
        ),
    ] = False,
    rate: Annotated[
        float,
        typer.Option(
            help="Requests each second from one address.",
            rich_help_panel=_WIRE,
            envvar="DISCREET_RATE",
        ),
    ] = 50.0,
    connections_per_address: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Connections at once from one address that is no trusted proxy.",
            rich_help_panel=_WIRE,
            envvar="DISCREET_CONNECTIONS_PER_ADDRESS",
        ),
    ] = 256,
    trusted_proxy: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS,...",
            help="Proxies, as addresses or networks, whose X-Forwarded-For or Forwarded names the client.",
            rich_help_panel=_WIRE,
            envvar="DISCREET_TRUSTED_PROXY",
        ),
    ] = None,
    allow_origin: Annotated[
        str | None,
        typer.Option(
            metavar="ORIGIN,...",
            help="Origins of pages that may read the answers in a browser, such as https://app.example.org; * is all.",
            rich_help_panel=_WIRE,
            envvar="DISCREET_ALLOW_ORIGIN",
        ),
    ] = None,
    metrics: Annotated[
        str,
        typer.Option(
            metavar="loopback|any|off",
            help="Who sees /metrics: this machine and no proxy on it, any, or nobody.",
            rich_help_panel=_WIRE,
            envvar="DISCREET_METRICS",
        ),
    ] = "loopback",
    drain: Annotated[
        float,
        typer.Option(
            help="Seconds for which connections are still taken after SIGTERM, while /readyz says 503.",
            rich_help_panel=_WIRE,
            envvar="DISCREET_DRAIN",
        ),
    ] = 1.0,
    log: Annotated[
        str,
        typer.Option(
            metavar="text|json",
            help="Form of the lines on standard error; requests are in neither.",
            rich_help_panel=_WIRE,
            envvar="DISCREET_LOG",
        ),
    ] = "text",
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Publish one mechanism for a region. Clients fetch it whole and draw by themselves; they upload nothing.

    It answers at once, says that it is designing until the mechanism is there, and ends on SIGTERM or Ctrl-C.
    """
    options = _over_a_box(
        bbox, RegionOptions(roads, nodes, spacing, grid, cell, origin, unit, epsilon)
    )
    require("service", "serve")
    from discreet.service import create_app
    from discreet.service.operations import Metrics
    from discreet.web import bind
    from discreet.web import serve as run
    from discreet.web.clients import networks
    from discreet.web.logs import logged_by

    check_outputs({"--output": output}, roads, nodes, mechanism)
    limits = _limits(rate, connections_per_address)
    future: Future[Published] = Future()
    words: tuple[Shown, ...] = ("loopback", "any", "off")
    shown = _one_of("--metrics", metrics, words)
    proxies = _proxies(trusted_proxy)
    origins = (
        () if allow_origin is None else tuple(each.strip() for each in allow_origin.split(","))
    )
    events = _Events(_one_of("--log", log, ("text", "json")) == "json", quiet)
    for sentence in _strange_settings():
        events.tell("warning", sentence)
    if not 0 <= drain <= _MAX_DRAIN:
        raise InvalidProblemError("--drain", f"seconds from 0 to {_MAX_DRAIN}", drain)
    stopping, counted = threading.Event(), Metrics()
    with bind(host, port, allow_remote=allow_remote) as bound:
        plan = plan_of(mechanism, options, every_point)
        work = None
        if plan.stored is None:
            work = Work(plan, time_limit, output, events.tell, future)
        else:
            future.set_result(plan.stored)
        with renamed_arguments({"allow_origins": "--allow-origin"}):
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
            emit(data, text, as_json=as_json, command="serve")
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


def _over_a_box(bbox: str | None, options: RegionOptions) -> RegionOptions:
    """Replace a box by the grid over it, and refuse an origin whose longitude comes first."""
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
        South, west, north and east, in degrees.
    cell
        Side of a cell, in the unit.
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
    corners = (", ".join(f"{value:.4f}" for value in corner) for corner in (lows, highs))
    return f" between {' and '.join(corners)} (latitude, longitude)"


def _one_of(name: str, word: str, words: tuple[W, ...]) -> W:
    """Give the word that was typed, or refuse it with those that there are."""
    for each in words:
        if word == each:
            return each
    raise InvalidProblemError(name, f"{', '.join(words[:-1])} or {words[-1]}", repr(word))


def _limits(rate: float, connections_per_address: int) -> Limits:
    from discreet.web import Limits

    try:
        # Before the burst is made of it: what is not finite has no whole number.
        Limits(rate=rate, connections_per_address=connections_per_address)
    except InvalidProblemError as error:
        raise error.renamed(f"--{error.field.replace('_', '-')}") from None
    return Limits(
        rate=rate,
        burst=math.ceil(4 * min(rate, _MAX_RATE)),
        connections_per_address=connections_per_address,
    )


def _strange_settings() -> Iterator[str]:
    """Name variables that look like settings of this command and are none."""
    known = {f"DISCREET_{name.upper()}" for name in _SETTINGS}
    for name in sorted(os.environ):
        near = get_close_matches(name, known, 1, 0.8) if name.startswith("DISCREET_") else []
        if name not in known and near:
            yield f"{name} is no setting; did you mean {near[0]}?"


def _proxies(text: str | None) -> tuple[str, ...]:
    from discreet.web.clients import networks

    proxies = () if text is None else tuple(text.split(","))
    try:
        networks(proxies)
    except InvalidProblemError as error:
        raise error.renamed("--trusted-proxy") from None
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
        """Tell an event; one without a text is for programs alone."""
        if self.as_json:
            now = datetime.now(UTC).isoformat(timespec="milliseconds")
            self._line(
                {"time": now, "event": event, **({"message": text} if text else {}), **facts}
            )
        elif text:
            warn(text, quiet=self.quiet)

    def log(self, level: str, message: str) -> None:
        """Write what the server or a library logs."""
        if self.as_json:
            self._line({"event": level, "message": message})
        else:
            warn(f"{level}: {message}")

    def _line(self, facts: dict[str, object]) -> None:
        sys.stderr.write(json.dumps(facts) + "\n")
        sys.stderr.flush()


def register(app: typer.Typer) -> None:
    """Add the command of this group."""
    app.command(epilog=_EXAMPLES)(serve)
