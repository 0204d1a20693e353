"""What ``serve`` publishes: the mechanism of a file, or one that is designed for places or for every point."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from discreet.artefact.foreign import use_of
from discreet.cli.inputs import parse_budget, parse_grid
from discreet.cli.options import require_one
from discreet.cli.output import renamed_arguments
from discreet.cli.statement import doubtful_distances
from discreet.core import printed
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import MetricDP
from discreet.core.option_groups import OptionGroup, option
from discreet.tables.reading import read_table

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from discreet.core.progress import Progress
    from discreet.lrgeo import Mechanism, Region
    from discreet.lrgeo.points.published import PublishedPoints

    Published = Mechanism | PublishedPoints


class RegionOptions(OptionGroup, panel="The region", environment="DISCREET_"):
    """The region of a service."""

    roads: str | None = option(
        "Roads as OSMnx writes them: a table with u, v, length, oneway and geometry.", "FILE"
    )
    nodes: str | None = option(
        "Their ends: a table with osmid, y, x. Needed where roads have no geometry.", "FILE"
    )
    spacing: str | None = option("About how far apart places on roads are.")
    grid: str | None = option("A grid of R rows and C columns instead.", "RxC")
    cell: str | None = option("Side of a grid cell, in the unit.")
    origin: str | None = option(
        "Southwest corner of a grid; without it places are east and north in the unit.", "LAT,LON"
    )
    unit: str | None = option("km or m (default: km, or the unit of --epsilon).")


@final
@dataclass(frozen=True)
class Plan:
    """What is published: designed for a region, or read from a file; one for every point has no region there."""

    region: Region | None
    guarantee: MetricDP
    every_point: bool
    stored: Published | None

    @property
    def places(self) -> int:
        """Places of the region, or those where reports are."""
        if self.region is not None:
            return self.region.K
        return getattr(self.stored, "K", 0)

    def announced(self, url: str) -> tuple[dict[str, object], str]:
        """Return the announcement of the service at `url`: url, places, unit and scope as data, and a sentence."""
        about = "every point of a region of " if self.every_point else ""
        data: dict[str, object] = {
            "url": url,
            "places": self.places,
            "unit": self.guarantee.unit,
            "scope": "points" if self.every_point else "places",
        }
        return data, f"{url} publishes a mechanism for {about}{self.places} places"


def plan_of(
    mechanism: str | None,
    options: RegionOptions,
    epsilon: str | None,
    every_point: bool | None,  # noqa: FBT001 - None where neither was typed
) -> Plan:
    """Return what is published: the mechanism of a file, verified, or the region and guarantee that the options state.

    `epsilon` is text such as 5/km; `every_point` None means that neither was typed, which designs for every point.
    InvalidProblemError for options that do not go together, CertificateError for a mechanism that fails a check.
    """
    if mechanism is None:
        region, guarantee = _stated(options, epsilon)
        return Plan(region, guarantee, every_point is not False, None)
    if every_point is not None:
        option = "--every-point" if every_point else "--places-only"
        raise InvalidProblemError(option, "none beside --mechanism, which states it", option)
    from discreet.lrgeo import Mechanism

    options.refuse((*options.of(RegionOptions), "epsilon"), "none beside --mechanism")
    made = _stored(mechanism)
    # One for every point holds a lattice and reports, and no region of places.
    region_or_none = made.region if isinstance(made, Mechanism) else None
    return Plan(region_or_none, made.guarantee, not isinstance(made, Mechanism), made)


def _stored(path: str) -> Published:
    """Return the mechanism of a file, for places or for every point, after verifying it, which may take seconds.

    InvalidProblemError for other files, CertificateError if a check fails.
    """
    from discreet.artefact import load_mechanism, load_points
    from discreet.artefact.mechanism import FOR_EVERY_POINT, MECHANISM
    from discreet.artefact.reader import zip_kind
    from discreet.artefact.sidecar import is_table, kind_of
    from discreet.lrgeo import verify
    from discreet.lrgeo.points.verify import verify as verify_points

    with renamed_arguments({}, others="--mechanism"):
        kind = kind_of(path) if is_table(path) else zip_kind(path)
        if kind in FOR_EVERY_POINT:
            for_points = load_points(path)
            verify_points(for_points.claimed()).raise_for_failure()
            return for_points
        mechanism = load_mechanism(path) if kind == MECHANISM else None
    if mechanism is None:
        expected = "a mechanism for places, or for every point of a region"
        raise InvalidProblemError("--mechanism", expected, use_of(kind, path))
    verify(
        mechanism.channel, mechanism.guarantee, totals_share=mechanism.totals_share
    ).raise_for_failure()
    return mechanism


def _stated(
    options: RegionOptions, stated: str | None, *, max_cells: int = 100_000
) -> tuple[Region, MetricDP]:
    """Return the region and the guarantee that the options and the text of the budget, such as 5/km, state.

    InvalidProblemError for none or both of roads and grid, two units, no budget, or more than `max_cells` cells.
    """
    from discreet.lrgeo import Region

    if stated is None:
        raise InvalidProblemError("--epsilon", "a budget per unit, such as 5/km", "none")
    epsilon, per = parse_budget(stated)
    if options.unit is not None and per is not None and options.unit != per:
        expected = f"a budget per {options.unit}, as --unit says"
        raise InvalidProblemError("--epsilon", expected, repr(stated))
    unit = options.unit or per or "km"
    guarantee = MetricDP(epsilon, unit)
    expected = "a file of roads, or --grid, or --mechanism"
    require_one("--roads", expected, options.roads, options.grid)
    if options.roads is not None:
        return _roads(options, unit), guarantee
    options.refuse(("nodes", "spacing"), "--roads with it", "--grid")
    rows, columns = parse_grid(options.grid or "", max_cells)
    place = None if options.origin is None else _origin(options.origin)
    return Region.from_grid(
        rows, columns, cell=options.cell or "1", unit=unit, origin=place
    ), guarantee


def _roads(options: RegionOptions, unit: str) -> Region:
    """Return the region of the roads in a table.

    InvalidProblemError for options of grids, no spacing, or bad tables.
    """
    from discreet.lrgeo import Region

    options.refuse(("cell", "origin"), "--grid with it", "--roads")
    if options.spacing is None:
        raise InvalidProblemError("--spacing", "about how far apart places are", "none")
    edges = read_table(options.roads or "", "--roads").to_dict(as_series=False)
    ends = None
    if options.nodes is not None:
        ends = read_table(options.nodes, "--nodes").to_dict(as_series=False)
    with renamed_arguments({"edges": "--roads", "nodes": "--nodes"}):
        return Region.from_roads(ends, edges, spacing=options.spacing, unit=unit)


def _origin(text: str) -> tuple[float, float]:
    """Return latitude and longitude, floats, of ``LAT,LON``; InvalidProblemError for another form.

    The ranges of degrees are not checked here.
    """
    try:
        latitude, longitude = (float(part) for part in text.split(","))
    except ValueError:
        raise InvalidProblemError("--origin", "LAT,LON", repr(text)) from None
    return latitude, longitude


@final
@dataclass(frozen=True)
class Work:
    """What is designed in the background; whatever happens, the future says it."""

    plan: Plan
    region: Region
    time_limit: float | None
    output: str | None
    tell: Callable[..., None]
    future: Future[Published]

    def run(self) -> None:
        """Design, write the mechanism if requested, and set the future to it, or to the error, whatever that is.

        Runs in a thread of its own for as long as the design takes; events go to `tell`.
        """
        try:
            for sentence in doubtful_distances(self.region.space, self.plan.guarantee):
                self.tell("warning", sentence)
            made = self._design()
        except BaseException as error:  # noqa: BLE001 - the main thread raises it anew
            self.future.set_exception(error)
        else:
            text = f"ready: {made.promise}, sha256 {made.digest}"
            self.tell("ready", text, guarantee=made.promise, digest=made.digest)
            self.future.set_result(made)

    def _design(self) -> Published:
        """Return the mechanism designed for places or for every point, and write it to `output` if that is given.

        Errors of the design are raised, and InvalidProblemError for a file that cannot be written.
        """
        from discreet.artefact import save_mechanism
        from discreet.lrgeo import Mechanism, design

        region, stated = self.region, self.plan.guarantee
        search: dict[str, Any] = {"time_limit": self.time_limit, "on_progress": self.report}
        mechanism: Published
        if self.plan.every_point:
            mechanism = design(region, stated, **search).published()
        else:
            made = design(region, stated, scope="places", **search)
            mechanism = Mechanism.from_design(made, region)
        if self.output is not None:
            save_mechanism(mechanism, self.output)
        return mechanism

    def report(self, step: Progress) -> None:
        """Report a step of the design."""
        known = step.upper is not None and math.isfinite(step.upper)
        unit = self.plan.guarantee.unit
        loss = f", loss {printed.at_most(step.upper, unit=unit)}" if known else ""
        self.tell("step", f"{printed.seconds(step.elapsed)}, {step.stage}{loss}")
