"""``serve``: publish one mechanism for a region, on this machine only by default."""

from __future__ import annotations

import sys
import threading
from concurrent.futures import Future
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, final

import typer

from discreet.cli.files import check_outputs
from discreet.cli.inputs import parse_budget, parse_grid
from discreet.cli.options import Json, NoGuarantee, Quiet  # noqa: TC001 - Typer reads annotations at run time
from discreet.cli.output import emit, warn
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import MetricDP
from discreet.tables.reading import read_table

if TYPE_CHECKING:
    from discreet.core.progress import Progress
    from discreet.lrgeo import Mechanism, Region
    from discreet.service import PaperServer

__all__ = ["need_service", "register", "serve"]

_MAX_RATE = 1e9
"""Requests each second from which the burst no longer grows."""

_WHERE = "The region"
_HOW = "How to design"
_WIRE = "The server"

_MAX_CELLS = 100_000
"""Cells of a grid, each a place of the service."""

_EXAMPLES = """Examples:

```
discreet serve --roads edges.csv --nodes nodes.csv --epsilon 5/km --spacing 0.2 --port 8080

discreet serve --grid 40x40 --cell 0.5 --unit km --epsilon 2/km --port 8080
```
"""


@final
@dataclass(frozen=True)
class _RegionOptions:
    """The options that state the region and the guarantee, as they were typed."""

    roads: str | None
    nodes: str | None
    spacing: str | None
    grid: str | None
    cell: str | None
    origin: str | None
    unit: str | None
    epsilon: str | None


def serve(
    *,
    roads: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Roads as OSMnx writes them: a table with u, v, length, oneway and geometry.",
            rich_help_panel=_WHERE,
        ),
    ] = None,
    nodes: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Their ends: a table with osmid, y, x. Needed where roads have no geometry.",
            rich_help_panel=_WHERE,
        ),
    ] = None,
    spacing: Annotated[
        str | None,
        typer.Option(help="About how far apart places on roads are.", rich_help_panel=_WHERE),
    ] = None,
    grid: Annotated[
        str | None,
        typer.Option(
            metavar="RxC", help="A grid of R rows and C columns instead.", rich_help_panel=_WHERE
        ),
    ] = None,
    cell: Annotated[
        str | None,
        typer.Option(help="Side of a grid cell, in the unit.", rich_help_panel=_WHERE),
    ] = None,
    origin: Annotated[
        str | None,
        typer.Option(
            metavar="LAT,LON",
            help="Southwest corner of a grid; without it places are east and north in the unit.",
            rich_help_panel=_WHERE,
        ),
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option(
            help="km or m (default: km, or the unit of --epsilon).", rich_help_panel=_WHERE
        ),
    ] = None,
    epsilon: Annotated[
        str | None,
        typer.Option(help="Privacy budget of one report, per unit: 5/km. It has no default."),
    ] = None,
    mechanism: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Publish this mechanism; nothing is designed.",
            rich_help_panel=_HOW,
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Write the mechanism here.", rich_help_panel=_HOW
        ),
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds for the design.", rich_help_panel=_HOW)
    ] = None,
    port: Annotated[
        int, typer.Option(help="Port; 0 lets the system choose.", rich_help_panel=_WIRE)
    ] = 8080,
    host: Annotated[
        str, typer.Option(help="Address to listen on.", rich_help_panel=_WIRE)
    ] = "127.0.0.1",
    allow_remote: Annotated[
        bool,
        typer.Option(
            "--allow-remote",
            help="Listen where other machines connect. Put TLS in front of it.",
            rich_help_panel=_WIRE,
        ),
    ] = False,
    rate: Annotated[
        float,
        typer.Option(help="Requests each second from one address.", rich_help_panel=_WIRE),
    ] = 50.0,
    published: Annotated[
        bool,
        typer.Option(
            "--published",
            help="Switch on the protocol of the paper as well: clients upload what identifies their places. Needs "
            "--accept-no-guarantee.",
            rich_help_panel=_WIRE,
        ),
    ] = False,
    accept_no_guarantee: NoGuarantee = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Publish one mechanism for a region. Clients fetch it whole and draw by themselves; they upload nothing.

    It answers at once, says that it is designing until the mechanism is there, and ends on SIGTERM or Ctrl-C.
    """
    options = _RegionOptions(roads, nodes, spacing, grid, cell, origin, unit, epsilon)
    if published and not accept_no_guarantee:
        expected = "--accept-no-guarantee beside it, for what users upload identifies their places"
        raise InvalidProblemError("--published", expected, "none")
    need_service("serve")
    from discreet.service import create_app
    from discreet.web import Limits, bind
    from discreet.web import serve as run

    check_outputs({"--output": output}, roads, nodes, mechanism)
    try:
        # Before the burst is made of it: what is not finite has no whole number.
        Limits(rate=rate)
    except InvalidProblemError as error:
        raise InvalidProblemError("--rate", error.expected, error.got) from None
    limits = Limits(rate=rate, burst=max(1, round(4 * min(rate, _MAX_RATE))))
    future: Future[Mechanism] = Future()
    with bind(host, port, allow_remote=allow_remote) as bound:
        if mechanism is not None:
            made = _stored(mechanism, options)
            region, guarantee, work = made.region, made.guarantee, None
            future.set_result(made)
        else:
            region, guarantee = _stated(options)
            work = _Work(region, guarantee, time_limit, output, quiet, future)
        paper = _paper(region, float(guarantee.epsilon)) if published else None
        app = create_app(future, region, paper=paper, limits=limits)

        def started(url: str) -> None:
            data = {"url": url, "places": region.K, "unit": region.unit, "published": published}
            text = f"{url} publishes a mechanism for {region.K} places"
            emit(data, text, as_json=as_json, command="serve")
            sys.stdout.flush()
            if work is not None:
                warn("designing", quiet=quiet)
                threading.Thread(target=work.run, daemon=True).start()

        run(app, bound, until=future, on_started=started)
    failure = future.exception() if future.done() else None
    if failure is not None:
        raise failure
    return 0


def need_service(command: str) -> None:
    """Refuse in words where the extra is not installed.

    Raises
    ------
    InvalidProblemError
        Naming what is missing.
    """
    missing = [
        name
        for name in ("fastapi", "pydantic", "uvicorn", "msgpack", "httpx")
        if find_spec(name) is None
    ]
    if missing:
        expected = 'the extra that it needs: pip install "discreet[service]"'
        raise InvalidProblemError(command, expected, f"no {missing[0]}")


def _stored(path: str, options: _RegionOptions) -> Mechanism:
    """Read a mechanism from a file; then nothing else may say what the region is."""
    from discreet.artefact import load_mechanism
    from discreet.lrgeo import verify

    for name, value in vars(options).items():
        if value is not None:
            raise InvalidProblemError(f"--{name}", "none beside --mechanism", repr(value))
    try:
        found = load_mechanism(path)
    except InvalidProblemError as error:
        raise InvalidProblemError("--mechanism", error.expected, error.got) from None
    verify(found.channel, found.guarantee, totals_share=found.totals_share).raise_for_failure()
    return found


def _stated(options: _RegionOptions) -> tuple[Region, MetricDP]:
    """Make the region and the guarantee that the options state."""
    from discreet.lrgeo import Region

    if options.epsilon is None:
        raise InvalidProblemError("--epsilon", "a budget per unit, such as 5/km", "none")
    epsilon, per = parse_budget(options.epsilon)
    if options.unit is not None and per is not None and options.unit != per:
        expected = f"a budget per {options.unit}, as --unit says"
        raise InvalidProblemError("--epsilon", expected, repr(options.epsilon))
    unit = options.unit or per or "km"
    guarantee = MetricDP(epsilon, unit)
    if (options.roads is None) == (options.grid is None):
        got = "neither" if options.roads is None else "both"
        raise InvalidProblemError("--roads", "a file of roads, or --grid, or --mechanism", got)
    if options.roads is not None:
        return _roads(options, unit), guarantee
    for name in ("nodes", "spacing"):
        if getattr(options, name) is not None:
            raise InvalidProblemError(f"--{name}", "--roads with it", "--grid")
    rows, columns = parse_grid(options.grid or "", _MAX_CELLS)
    place = None if options.origin is None else _origin(options.origin)
    return Region.from_grid(
        rows, columns, cell=options.cell or "1", unit=unit, origin=place
    ), guarantee


def _roads(options: _RegionOptions, unit: str) -> Region:
    from discreet.lrgeo import Region

    for name in ("cell", "origin"):
        if getattr(options, name) is not None:
            raise InvalidProblemError(f"--{name}", "--grid with it", "--roads")
    if options.spacing is None:
        raise InvalidProblemError("--spacing", "about how far apart places are", "none")
    edges = read_table(options.roads or "", "--roads").to_dict(as_series=False)
    ends = None
    if options.nodes is not None:
        ends = read_table(options.nodes, "--nodes").to_dict(as_series=False)
    return Region.from_roads(ends, edges, spacing=options.spacing, unit=unit)


def _origin(text: str) -> tuple[float, float]:
    try:
        latitude, longitude = (float(part) for part in text.split(","))
    except ValueError:
        raise InvalidProblemError("--origin", "LAT,LON", repr(text)) from None
    return latitude, longitude


def _paper(region: Region, epsilon: float) -> PaperServer:
    """Set the published protocol up with radii of so many spacings of the region."""
    from discreet.lrgeo.messages import PROTOCOL
    from discreet.service import PaperServer, ParametersMessage

    step = region.reach
    public = ParametersMessage(
        protocol=PROTOCOL,
        epsilon=epsilon,
        gamma=1.5 * step,
        reach=3 * step,
        r_obf=4 * step,
        r_exp=2 * step,
    )
    return PaperServer(region, public)


@final
@dataclass(frozen=True)
class _Work:
    """What is designed in the background; whatever happens, the future says it."""

    region: Region
    guarantee: MetricDP
    time_limit: float | None
    output: str | None
    quiet: bool
    future: Future[Mechanism]

    def run(self) -> None:
        """Design, and keep what was made."""
        from discreet.lrgeo import Mechanism, design

        try:
            made = design(
                self.region, self.guarantee, time_limit=self.time_limit, on_progress=self.report
            )
            found = Mechanism.from_design(made, self.region)
            if self.output is not None:
                from discreet.artefact import save_mechanism

                save_mechanism(found, self.output)
        except BaseException as error:  # noqa: BLE001 - the main thread raises it anew
            self.future.set_exception(error)
        else:
            warn(f"ready: {found.guarantee}, sha256 {found.digest}", quiet=self.quiet)
            self.future.set_result(found)

    def report(self, step: Progress) -> None:
        """Say where the design stands."""
        loss = "" if step.upper is None else f", loss {step.upper:.6g} {self.region.unit}"
        warn(f"{step.elapsed:.1f} s, {step.stage}{loss}", quiet=self.quiet)


def register(app: typer.Typer) -> None:
    """Add the command of this group."""
    app.command(epilog=_EXAMPLES)(serve)
