"""From the options of a command to the problem and the guarantee that they state."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.cli.inputs import (
    parse_budget,
    parse_grid,
    parse_reports,
    read_loss,
    read_prior,
)
from discreet.core import printed
from discreet.core.errors import InvalidProblemError, unknown_name
from discreet.core.guarantee import MetricDP
from discreet.core.spaces.features import check_names, coordinate_columns
from discreet.core.spaces.lengths import DENSE_LIMIT
from discreet.core.spaces.metric import METRICS, MetricSpace
from discreet.metricdp.costs import ImplicitCosts
from discreet.metricdp.problem import Problem
from discreet.tables.arrays import read_embeddings
from discreet.tables.columns import columns_of
from discreet.tables.reading import read_table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

    import polars as pl
    from numpy.typing import NDArray

__all__ = [
    "IMPLICIT_LIMIT",
    "AimOptions",
    "DesignStatement",
    "ImplicitStatement",
    "PlaceOptions",
    "doubtful_distances",
    "secret_names",
    "state",
    "state_any",
]

IMPLICIT_LIMIT = 1 << 14
"""Secrets that a command designs a channel for: beyond, each secret and report is looked at for too long."""

_UNITS = {"haversine": "km", "angular": "rad", "hyperbolic": "unit"}
"""What a distance is measured in where nobody says otherwise."""

_NAMED = {False: ("x", "y"), True: ("lon", "lat")}
"""Columns of coordinates where both have these names, in the plane and on the globe."""

_EMBEDDED = ("euclidean", "angular", "hyperbolic", "manhattan")
"""Metrics between words; the first is what is meant where nobody says otherwise."""


@final
@dataclass(frozen=True)
class PlaceOptions:
    """The options that say what the secrets are, as they were typed."""

    file: str | None
    grid: str | None
    cell: str | None
    x: str | None
    y: str | None
    columns: str | None
    label: str | None
    metric: str | None
    unit: str | None
    embeddings: str | None = None
    plane: bool = False

    @property
    def read(self) -> tuple[str | None, ...]:
        """What is read, if it is a file."""
        return self.file, self.embeddings


@final
@dataclass(frozen=True)
class AimOptions:
    """The options that say what is wanted of the channel, as they were typed."""

    epsilon: str
    radius: str | None
    loss: str
    prior: str
    reports: str | None
    priors: str | None = None

    @property
    def read(self) -> tuple[str | None, ...]:
        """What is read where it is a file and no name."""
        return self.loss, self.prior, self.reports, *(self.priors or "").split(",")


@final
@dataclass(frozen=True, eq=False)
class DesignStatement:
    """What the options state.

    Parameters
    ----------
    problem
        The design problem.
    guarantee
        The guarantee that is requested.
    labels
        Names of the secrets, or ``None``.
    prior_sum
        What the weights of the prior summed to before they were divided by it.
    priors
        Names and probabilities where the worst of several priors counts; the problem then has a uniform one.
    """

    problem: Problem
    guarantee: MetricDP
    labels: tuple[str, ...] | None
    prior_sum: float
    priors: tuple[tuple[str, NDArray[np.float64]], ...] = ()


@final
@dataclass(frozen=True, eq=False)
class ImplicitStatement:
    """What the options state where there are too many secrets for a table.

    Parameters
    ----------
    costs
        What reports cost, each secret being one.
    guarantee
        The guarantee that is requested, with a radius.
    labels
        Names of the secrets, or ``None``.
    prior_sum
        What the weights of the prior summed to before they were divided by it.
    """

    costs: ImplicitCosts
    guarantee: MetricDP
    labels: tuple[str, ...] | None
    prior_sum: float


@dataclass(frozen=True, eq=False)
class _Given:
    """Secrets and prior as they were read."""

    epsilon: Fraction
    space: MetricSpace
    table: pl.DataFrame | None
    labels: tuple[str, ...] | None
    names: Mapping[str, int]
    prior: NDArray[np.float64] | None
    prior_sum: float


def state(places: PlaceOptions, aims: AimOptions) -> DesignStatement:
    """Read files and options, and refuse what makes no sense.

    Raises
    ------
    InvalidProblemError
        Naming the option or the argument.
    """
    return _whole(_given(places, aims, DENSE_LIMIT), aims)


def state_any(places: PlaceOptions, aims: AimOptions) -> DesignStatement | ImplicitStatement:
    """Do the same for up to 16,384 secrets, which beyond 5,120 are stated without a table.

    Raises
    ------
    InvalidProblemError
        As :func:`state`, and for what needs a table where there is none.
    """
    given = _given(places, aims, IMPLICIT_LIMIT)
    return _whole(given, aims) if given.space.has_matrix else _implicit(given, aims)


def _given(places: PlaceOptions, aims: AimOptions, most: int) -> _Given:
    from discreet.artefact import different_labels

    epsilon, unit = parse_budget(aims.epsilon)
    unit = _unit(places, unit, aims.epsilon)
    table, words = None, None
    if places.embeddings is None:
        space, table = _space(places, unit, most)
    else:
        space, words = _embedded(places, unit)
    labels = None if words is None else different_labels(words, space.n)
    if places.label is not None and table is not None:
        labels = different_labels(_texts(table, places.label), space.n)
    names = secret_names(space.n, labels)
    prior, prior_sum = read_prior(aims.prior, table, names)
    return _Given(epsilon, space, table, labels, names, prior, prior_sum)


def _whole(given: _Given, aims: AimOptions) -> DesignStatement:
    problem = Problem(
        given.space,
        utility_loss=read_loss(aims.loss),
        prior=given.prior,
        reports=None if aims.reports is None else parse_reports(aims.reports, given.names),
    )
    priors = () if aims.priors is None else _read_priors(aims.priors, given.table, given.names)
    if priors and aims.prior != "uniform":
        raise InvalidProblemError("--priors", "no --prior beside it", repr(aims.prior))
    guarantee = MetricDP(given.epsilon, given.space.unit, aims.radius)
    return DesignStatement(problem, guarantee, given.labels, given.prior_sum, priors)


def _implicit(given: _Given, aims: AimOptions) -> ImplicitStatement:
    """State costs without a table; say what that leaves out."""
    n, most = given.space.n, f"with more than {printed.count(DENSE_LIMIT)} secrets"
    if n > IMPLICIT_LIMIT:
        raise InvalidProblemError("PLACES", f"at most {IMPLICIT_LIMIT} secrets", n)
    if aims.radius is None:
        raise InvalidProblemError("--radius", f"one {most}", "none")
    for option, value in (("--reports", aims.reports), ("--priors", aims.priors)):
        if value is not None:
            raise InvalidProblemError(option, f"none {most}", repr(value))
    loss = read_loss(aims.loss)
    if not isinstance(loss, str):
        raise InvalidProblemError("--loss", f"the name of a loss {most}", repr(aims.loss))
    guarantee = MetricDP(given.epsilon, given.space.unit, aims.radius)
    costs = ImplicitCosts(given.space, loss, given.prior)
    return ImplicitStatement(costs, guarantee, given.labels, given.prior_sum)


def secret_names(n: int, labels: Sequence[str] | None) -> dict[str, int]:
    """Map what people may call a secret to its index: its number, or its label where both would be possible."""
    names = {str(place): place for place in range(n)}
    return names | {label: place for place, label in enumerate(labels or ())}


def _read_priors(
    typed: str, table: pl.DataFrame | None, names: Mapping[str, int]
) -> tuple[tuple[str, NDArray[np.float64]], ...]:
    """Read priors as ``--prior`` does, names separated by commas, and normalize each."""
    given = [name.strip() for name in typed.split(",")]
    if len(set(given)) < len(given):
        raise InvalidProblemError("--priors", "different priors", repr(typed))
    n = len(set(names.values()))
    found = []
    for name in given:
        try:
            prior, _ = read_prior(name, table, names)
        except InvalidProblemError as error:
            raise error.renamed("--priors") from None
        found.append((name, np.full(n, 1 / n) if prior is None else prior))
    return tuple(found)


def _unit(places: PlaceOptions, budget_unit: str | None, typed: str) -> str:
    if places.unit and budget_unit and places.unit != budget_unit:
        raise InvalidProblemError(
            "--epsilon", f"a budget per {places.unit}, as --unit says", repr(typed)
        )
    unit = places.unit or budget_unit or _UNITS.get(places.metric or "")
    if unit is None and places.embeddings is not None:
        # Coordinates of words have no unit of their own.
        unit = "unit"
    if not unit:
        raise InvalidProblemError(
            "--unit", "the unit of distance, here or as in --epsilon 2/km", "none"
        )
    return unit


def _space(places: PlaceOptions, unit: str, most: int) -> tuple[MetricSpace, pl.DataFrame | None]:
    if (places.file is None) == (places.grid is None):
        got = "neither" if places.file is None else "both"
        raise InvalidProblemError("PLACES", "a file of places, or --grid", got)
    if places.metric is not None and places.metric not in METRICS:
        raise unknown_name("--metric", places.metric, METRICS)
    if places.file is None:
        return _grid(places, unit, most), None
    if places.cell is not None:
        raise InvalidProblemError("--cell", "--grid with it", "a file of places")
    table = read_table(places.file, "PLACES")
    if table.height > most:
        expected = f"at most {printed.count(most)} secrets"
        raise InvalidProblemError("PLACES", expected, f"{printed.count(table.height)}, a row each")
    metric = places.metric or "euclidean"
    places = _coordinates(places, table, metric)
    names = places.columns or f"{places.y},{places.x}"
    try:
        check_names(names.split(","), metric=metric, unit=unit, plane=places.plane)
    except InvalidProblemError as error:
        raise error.renamed({"points": "--x, --y", "metric": "--metric"}[error.field]) from None
    return MetricSpace.from_points(_points(places, table, metric), metric=metric, unit=unit), table


def _embedded(places: PlaceOptions, unit: str) -> tuple[MetricSpace, list[str] | None]:
    for option in ("file", "grid", "cell", "x", "y", "columns", "label"):
        if getattr(places, option) is not None:
            name = "PLACES" if option == "file" else f"--{option}"
            raise InvalidProblemError(name, "none beside --embeddings", getattr(places, option))
    metric = places.metric or _EMBEDDED[0]
    if metric not in _EMBEDDED:
        raise unknown_name("--metric", metric, _EMBEDDED)
    points, words = read_embeddings(places.embeddings or "", "--embeddings")
    return MetricSpace.from_points(points, metric=metric, unit=unit), words


def _grid(places: PlaceOptions, unit: str, most: int) -> MetricSpace:
    for option in ("x", "y", "columns", "label"):
        if getattr(places, option) is not None:
            raise InvalidProblemError(f"--{option}", "a file of places with it", "--grid")
    if places.metric not in {None, "euclidean"}:
        raise InvalidProblemError("--metric", "euclidean on a grid", repr(places.metric))
    rows, columns = parse_grid(places.grid or "", most)
    return MetricSpace.grid(rows, columns, cell=places.cell or "1", unit=unit)


def _coordinates(places: PlaceOptions, table: pl.DataFrame, metric: str) -> PlaceOptions:
    """Name the columns of coordinates, where the usual names stand in the table and no others were given."""
    if places.columns is not None and metric != "haversine":
        if places.x is not None or places.y is not None:
            raise InvalidProblemError("--columns", "either this or --x and --y", "both")
        return places
    known = _NAMED[metric == "haversine"]
    if places.x is None and places.y is None and set(known) <= set(table.columns):
        places = replace(places, x=known[0], y=known[1])
    if places.x is None or places.y is None:
        missing = "--x" if places.x is None else "--y"
        globe = coordinate_columns(table.columns)
        likely = "type --x NAME --y NAME, with --metric haversine for longitude and latitude"
        if all(globe):
            likely = f"for longitude and latitude type --x {globe[0][0]} --y {globe[1][0]} --metric haversine"
        expected = f"the name of a column of the table; {likely}"
        raise InvalidProblemError(missing, expected, "none")
    return places


def _points(places: PlaceOptions, table: pl.DataFrame, metric: str) -> NDArray[np.float64]:
    if places.x is None or places.y is None:
        names = (places.columns or "").split(",")
        return columns_of(table, [name.strip() for name in names], "--columns")
    x = columns_of(table, [places.x], "--x")
    y = columns_of(table, [places.y], "--y")
    # A point on the globe is written latitude first; x is the longitude.
    return np.concatenate([y, x] if metric == "haversine" else [x, y], axis=1)


def _texts(table: pl.DataFrame, name: str) -> list[str]:
    if name not in table.columns:
        known = ", ".join(table.columns)
        raise InvalidProblemError("--label", f"a column of the table ({known})", repr(name))
    values = table[name].to_list()
    if None in values:
        raise InvalidProblemError(
            "--label", "a label in each row", f"none in row {values.index(None) + 1}"
        )
    return [str(value) for value in values]


_TELLING = 10.0
"""Nats between neighbors from which a warning is given: odds of some 20,000 to 1 are next to no privacy."""


def doubtful_distances(space: MetricSpace, guarantee: MetricDP) -> list[str]:
    """Say where reports may tell a secret from its nearest neighbor, as in another unit than was meant, or never can.

    Examples
    --------
    >>> line = MetricSpace.grid(1, 3, cell=500, unit="m")
    >>> doubtful_distances(line, MetricDP("0.002", "m"))
    []
    >>> doubtful_distances(line, MetricDP(2, "m"))[0].partition(";")[0]
    'reports may give secrets away: half are told from their nearest neighbor with odds of up to e^1,000 to 1'
    """
    if not space.has_matrix or space.n < 2:
        return []
    apart = space.distances.astype(np.float64) / 2.0**space.scale_bits
    np.fill_diagonal(apart, np.inf)
    nearest = apart.min(axis=1)
    twice = int((nearest == 0).sum())
    if twice:
        said = f"{twice} of {space.n} secrets are at distance 0 from another: their reports have one law"
        return [f"{said}; was a place given twice?", *_telling(nearest[nearest > 0], guarantee)]
    return _telling(nearest, guarantee)


def _telling(nearest: NDArray[np.float64], guarantee: MetricDP) -> list[str]:
    if not len(nearest):
        return []
    nats = float(np.median(nearest)) * float(guarantee.epsilon)
    if nats < _TELLING:
        return []
    odds = f"half are told from their nearest neighbor with odds of up to e^{printed.at_most(nats, 2)} to 1"
    stated = f"{printed.decimal_up(guarantee.epsilon)} per {guarantee.unit}"
    return [f"reports may give secrets away: {odds}; is epsilon meant to be {stated}?"]
