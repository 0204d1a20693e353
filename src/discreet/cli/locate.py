"""``locate``: report a place privately. The place stands in no message, no file and no request."""

from __future__ import annotations

import math
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, final

from discreet.cli.calls import from_options
from discreet.cli.inputs import parse_budget
from discreet.cli.options import HelpAllOption, JsonOption, QuietOption
from discreet.cli.output import emit, renamed_arguments, warn
from discreet.core import printed
from discreet.core.errors import InvalidProblemError, LimitReachedError
from discreet.core.exact import float_ceil
from discreet.core.extras import require
from discreet.core.guarantee import MetricDP
from discreet.core.option_groups import REQUIRED, OptionGroup, argument, option
from discreet.core.printed import facts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.lrgeo import Mechanism, Region
    from discreet.lrgeo.points.published import PublishedPoints
    from discreet.service import Client, Located
    from discreet.service.asking import Server
    from discreet.service.page import RequestLog

_GEO_URI = re.compile(r"(?i)geo:([^,;]+),([^,;]+)(?:,[^,;]+)?(?:;crs=wgs84)?(?:;u=[^;]+)?")
"""A place as maps share it: latitude, longitude, perhaps a height, WGS 84, and how uncertain it is (RFC 5870)."""

_EXAMPLES = (
    "echo '41.8986 12.4769' | discreet locate - --server http://127.0.0.1:8080 --json",
    "echo '41.8986 12.4769' | discreet locate - --server https://places.example.org --max-epsilon 2/km --for-life 500",
    "discreet locate --page --server http://127.0.0.1:8080",
)


class TrustOptions(OptionGroup, panel="The server"):
    """The server, and what is accepted from it."""

    server: str = option("Its address; https, unless it is this machine.", default=REQUIRED)
    plain_http: bool = option(
        "Ask another machine without TLS: anybody on the way may change what it says.",
        default=False,
    )
    max_epsilon: str | None = option(
        "The most that you accept, such as 2/km, for any two points, or any two places with --places-only: "
        "what is weaker is refused before a place is read. Without it, "
        "whatever the server publishes first, and later nothing weaker than that. Needed with --plain-http.",
        "E/km",
    )
    every_point: bool = option(
        "What the promise has to be about. --every-point, the default: any two points of the region; a server "
        "whose promise is about places alone is refused. --places-only accepts that, too: then a point is snapped "
        "to its nearest place first, and two points on two sides of a border may be told apart.",
        None,
        "--every-point/--places-only",
        default=True,
    )
    wait: float = option("Seconds to wait for a server that is away.", default=30.0)
    refresh: float = option(
        "Seconds for which a mechanism is used without asking the server.", default=86_400.0
    )
    cache: str | None = option("Verified mechanisms; default: a folder of yours.", "FOLDER")


class TimeOptions(OptionGroup, panel="Time and budgets"):
    """Epochs, budgets and the reports that are kept."""

    state: str | None = option("The ledger and last report; default: a file of yours.", "FILE")
    epoch: int = option(
        "Seconds of an epoch of the public clock; it has one fresh report.", default=3600
    )
    per_day: str | None = option(
        "Epsilon per unit that may be spent in a day; then the last report is repeated."
    )
    for_life: str | None = option("Epsilon per unit that may be spent in all, ever.")
    pin: bool = option(
        "Draw once what is reported here from now on, and keep the place. Who sees the same report again "
        "knows that it is the same place. Not with a mechanism for every point.",
        default=False,
    )


@final
class LocateOptions(TrustOptions, TimeOptions, JsonOption, QuietOption, HelpAllOption):
    """Options of ``locate``."""

    place: tuple[str, ...] = argument(
        "Two numbers: latitude and longitude, or east and north in the unit; or `-` to read them from "
        "standard input. Arguments are shown to everybody on this machine in the list of processes.",
        "PLACE",
        default=None,
        repeated=True,
    )
    page: bool = option(
        "Show a map in your browser, where you choose the place; it never leaves the browser. Until Ctrl-C.",
        default=False,
    )
    port: int = option(
        "Port of the page, on this machine only; 0 lets the system choose.", default=0
    )


@from_options(
    LocateOptions,
    examples=_EXAMPLES,
    first=("place", "max_epsilon", "for_life", "page"),
    settings={"ignore_unknown_options": True},
)
def locate(options: LocateOptions) -> int:
    """Report a place privately, by the mechanism that a server publishes, drawn on this machine.

    The mechanism is fetched whole, verified once, and kept. Nothing that is sent depends on the place. There is one
    fresh report in each epoch; it is repeated until the next one, wherever one is by then. The guarantee is about any
    two points of the region, and with --places-only as the server publishes it; the report states it.
    """
    require("service", "locate")
    from discreet.lrgeo import Epochs
    from discreet.lrgeo.points.published import PublishedPoints
    from discreet.service import Client
    from discreet.service.asking import Server
    from discreet.service.page import RequestLog

    place, pin, quiet = options.place, options.pin, options.quiet
    if options.page:
        if place or pin:
            raise InvalidProblemError("PLACE", "neither a place nor --pin with --page", "one")
    elif not place:
        raise InvalidProblemError("PLACE", "two numbers, or - for standard input", "none")
    elif place != ("-",):
        warn(
            "arguments show in the list of processes; `-` reads the place from standard input",
            quiet=quiet,
        )
    _check_seconds(options.wait, options.refresh)
    accepts = _accepted(options.max_epsilon)
    epochs = Epochs(options.epoch, per_day=options.per_day, for_life=options.for_life)
    recorder = RequestLog() if options.page else None
    location_server = Server(
        options.server, patience=options.wait, allow_plain=options.plain_http, transport=recorder
    )
    with Client(
        location_server,
        state=None if options.state is None else Path(options.state).absolute(),
        cache=None if options.cache is None else Path(options.cache).absolute(),
        epochs=epochs,
        accepts=accepts,
        scope="points" if options.every_point else "places",
        refresh=options.refresh,
    ) as client:
        # First all that is fetched, then the place.
        if client.is_first:
            guarantee = client.mechanism.guarantee
            warn(
                f"the server chose epsilon: {printed.decimal_up(guarantee.epsilon)} per {guarantee.unit}; later "
                "nothing weaker is taken from it, and --max-epsilon says what you accept",
                quiet=quiet,
            )
        for_points = isinstance(client.mechanism, PublishedPoints)
        if for_points and pin:
            raise InvalidProblemError(
                "--pin", "a server that publishes for places", "one for every point"
            )
        if recorder is not None:
            _show(client, location_server, recorder, options)
            return 0
        words = typed_place() if place == ("-",) else place
        point = read_place(words)
        if pin:
            client.pin(point)
        # As texts: a double would be another point.
        report = client.locate(_two(words) if for_points else point)
        _say(report, client.mechanism, options)
    return 0


def _check_seconds(wait: float, refresh: float) -> None:
    """Raise InvalidProblemError unless ``--wait`` and ``--refresh`` are seconds of 0 or more, `wait` a finite one."""
    for name, seconds, most in (
        ("--wait", wait, sys.float_info.max),
        ("--refresh", refresh, math.inf),
    ):
        if not 0 <= seconds <= most:
            raise InvalidProblemError(name, "seconds, 0 or more", seconds)


def _accepted(text: str | None) -> MetricDP | None:
    """Return the weakest guarantee that is accepted, from text such as ``2/km``; None for None, which accepts any.

    InvalidProblemError for another form or unit.
    """
    if text is None:
        return None
    with renamed_arguments({}, others="--max-epsilon"):
        epsilon, unit = parse_budget(text)
    if unit not in ("km", "m"):
        raise InvalidProblemError("--max-epsilon", "a number per km or m, such as 2/km", repr(text))
    return MetricDP(epsilon, unit)


def _show(
    client: Client,
    location_server: Server,
    recorder: RequestLog,
    options: LocateOptions,
) -> None:
    """Serve the page on loopback, print its address, and return on SIGTERM or Ctrl-C.

    Roads are fetched first; after that nothing is sent to the location server.
    """
    from discreet.service.page import Page
    from discreet.web import bind, serve

    # What has no cost has no page either, and says so now.
    _ = client.prepared().cost
    region = _roads(client, location_server, quiet=options.quiet)
    bound = bind("127.0.0.1", options.port)
    host = f"127.0.0.1:{bound.getsockname()[1]}"
    shown = Page(
        client,
        host,
        url=location_server.url,
        requests=recorder.requests,
        region=region,
    )

    def started(_: str) -> None:
        hint = "Open it in a browser on this machine. Anyone who has this address may take reports."
        text = f"{shown.address}\n{hint}"
        emit("locate", options, {"page": shown.address}, text)
        sys.stdout.flush()

    serve(shown, bound, on_started=started)


def _roads(client: Client, location_server: Server, *, quiet: bool) -> Region | None:
    """Fetch the region's roads from the server, for the map; None, with a warning, if it gives none for this mechanism.

    Done before the page opens, since later a place might be known.
    """
    from discreet.lrgeo import Region
    from discreet.lrgeo.messages import read_message

    try:
        answer = location_server.get("/v1/region", lambda data: read_message("region", data))
        region = None if answer is None else Region.from_dict(answer["region"])
    except (LimitReachedError, LookupError, TypeError, ValueError):
        region = None
    if region is None or region.digest != _places_of(client.mechanism):
        warn("the server gave no roads for this mechanism; the map shows places alone", quiet=quiet)
        return None
    return region


def _places_of(mechanism: Mechanism | PublishedPoints) -> str:
    """Return the digest of the places of a mechanism, or "" if its record has none."""
    from discreet.lrgeo.points.published import PublishedPoints

    if not isinstance(mechanism, PublishedPoints):
        return mechanism.region.digest
    return next(
        (known.digest for known in mechanism.provenance.assumed_public if known.name == "region"),
        "",
    )


def _say(found: Located, mechanism: Mechanism | PublishedPoints, options: JsonOption) -> None:
    # Of what drew the report, which may be an earlier mechanism than the one that was fetched.
    """Print a report with what it cost, rounded up, and the guarantee of the mechanism that drew it, as text or JSON.

    `mechanism` is the server's present one; where another drew the report, the stored guarantee is printed, if known.
    """
    guarantee = found.source.guarantee
    sentence = "not known; an earlier mechanism may have drawn the report"
    if guarantee is not None:
        same = found.source.mechanism == mechanism.digest
        sentence = mechanism.promise if same else str(guarantee)
    # Rounded up: a ledger that shows less than was spent is none.
    today, in_all = (float_ceil(spent) for spent in (found.spent_today, found.spent_in_all))
    data = {
        "report": list(found.report),
        "epoch": found.epoch,
        "spent_today": today,
        "spent_in_all": in_all,
        "unit": found.unit,
        "mechanism": found.source.mechanism or None,
        "guarantee": None if guarantee is None else {**guarantee.to_dict(), "sentence": sentence},
    }
    rows = [
        ("report", " ".join(printed.position(part, 7) for part in found.report)),
        ("epoch", found.epoch),
        ("spent today", f"{printed.decimal_up(found.spent_today)} per {found.unit}"),
        ("spent in all", f"{printed.decimal_up(found.spent_in_all)} per {found.unit}"),
        ("guarantee", sentence),
    ]
    emit("locate", options, data, facts(rows))


def typed_place(*, max_letters: int = 200) -> list[str]:
    """Return the words of a line of standard input, which has at most `max_letters`; they are private.

    InvalidProblemError, without what was typed, for an empty or longer line, or if nothing can be read.
    """
    line = ""
    # A process that was started without standard input has None for it.
    with suppress(AttributeError, OSError, ValueError):
        line = sys.stdin.readline(max_letters + 1)
    # A number that was cut would be another place.
    if not line.strip() or len(line) > max_letters:
        expected = f"two numbers on a line of standard input, in at most {max_letters} letters"
        raise InvalidProblemError("PLACE", expected, "something else")
    return line.split()


def read_place(words: Sequence[str]) -> tuple[float, float]:
    """Read two numbers, with blanks or a comma between them, or the first two of a geo: URI.

    `words` are those of the command line or of a line of input. Other than two numbers, as three, are refused.

    Raises
    ------
    InvalidProblemError
        For anything else. What was typed is private, and is not repeated.

    Examples
    --------
    >>> read_place(["41.8986,", "12.4769"]), read_place(["1,-2.5"])
    ((41.8986, 12.4769), (1.0, -2.5))
    >>> read_place(["geo:41.8986,12.4769,18;u=35"])
    (41.8986, 12.4769)
    >>> read_place(["somewhere"])
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: PLACE: expected two numbers, or - for standard input, got something else
    """
    try:
        first, second = (float(part) for part in _two(words))
    except ValueError:
        expected = "two numbers, or - for standard input"
        raise InvalidProblemError("PLACE", expected, "something else") from None
    return first, second


def _two(words: Sequence[str]) -> tuple[str, str]:
    """Return two numbers as texts: those of a geo: URI, or all that there are; ValueError for other than two."""
    text = " ".join(words).strip()
    uri = _GEO_URI.fullmatch(text)
    first, second = uri.groups() if uri else text.replace(",", " ").split()
    return first, second
