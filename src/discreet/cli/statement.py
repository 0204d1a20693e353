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
from discreet.cli.options import require_one
from discreet.cli.output import renamed_arguments
from discreet.core import printed
from discreet.core.errors import InvalidProblemError, unknown_name
from discreet.core.guarantee import MetricDP
from discreet.core.option_groups import REQUIRED, OptionGroup, option
from discreet.core.spaces.features import check_names, coordinate_columns
from discreet.core.spaces.lengths import DENSE_LIMIT
from discreet.core.spaces.metric import METRICS, MetricSpace
from discreet.lrgeo.points.many_places import has_noise
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

    from discreet.cli.options import PlaceOptions

_TAILS_LIMIT = 1 << 14
"""Secrets up to which a command looks at each secret and report: for tails, with a radius."""

_NOISE_LIMIT = 1 << 17
"""Places for which a command designs noise: time and memory grow with them, and 43,160 are the most that were tried."""

_UNITS = {"haversine": "km", "angular": "rad", "hyperbolic": "unit"}
"""What a distance is measured in where nobody says otherwise."""

_NAMED = {False: ("x", "y"), True: ("lon", "lat")}
"""Columns of coordinates where both have these names, in the plane and on the globe."""

_EMBEDDED = ("euclidean", "angular", "hyperbolic", "manhattan")
"""Metrics between words; the first is what is meant where nobody says otherwise."""


class AimOptions(OptionGroup, panel="What is wanted"):
    """The guarantee of a channel, and the loss that it makes small."""

    epsilon: str = option(
        "Privacy budget per unit of distance: 2, or 2/km. It has no default.", default=REQUIRED
    )
    radius: str | None = option(
        "Constrain only pairs at most this far apart; all pairs without it, the strong guarantee."
    )
    loss: str = option(
        "What a wrong report costs: distance, euclidean, manhattan, squared-euclidean, haversine, or a "
        "matrix (.npy, .csv), secrets x reports.",
        default="distance",
    )
    prior: str = option(
        "How likely each secret is: uniform, a column of PLACES, or a file with columns secret and weight. "
        "It is normalized, and it must be public.",
        default="uniform",
    )
    priors: str | None = option(
        "Several priors, each as for --prior, or `each` for one of each secret: the worst loss over all of them is "
        "made least.",
        "A,B,...",
    )
    reports: str | None = option(
        "Secrets that may be reported: indices or labels, with commas, or a file with one a line."
    )

    forbid: str | None = option(
        "Secrets that are never reported, as for --reports. A pair such as inn>mill (inn is not reported as mill) is "
        "refused unless every secret has it: what one secret never reports, none does.",
        "A,B,...",
    )
    max_error: float | None = option(
        "Largest loss of any report: reports with a larger one for some secret are left out."
    )

    @property
    def read(self) -> tuple[str | None, ...]:
        """Values that name a file or something else."""
        return self.loss, self.prior, self.reports, self.forbid, *(self.priors or "").split(",")


@dataclass(frozen=True, eq=False, kw_only=True)
class ProblemStatement:
    """Guarantee and names that the options of a design state.

    Parameters
    ----------
    guarantee
        The guarantee that is requested.
    labels
        Names of the secrets, or ``None``.
    prior_sum
        Sum of the weights of the prior before they were divided by it.
    """

    guarantee: MetricDP
    labels: tuple[str, ...] | None
    prior_sum: float


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class DesignStatement(ProblemStatement):
    """ProblemStatement of a problem with a table of distances.

    Parameters
    ----------
    problem
        The design problem.
    priors
        Names and probabilities if the worst of several priors counts; the problem then has a uniform one.
    """

    problem: Problem
    priors: tuple[tuple[str, NDArray[np.float64]], ...] = ()


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class ImplicitStatement(ProblemStatement):
    """ProblemStatement of a problem with too many secrets for a table.

    Parameters
    ----------
    costs
        Costs of the reports, each secret being one. Without a radius there is noise for them.
    """

    costs: ImplicitCosts


@dataclass(frozen=True, eq=False)
class _Secrets:
    """Secrets and prior as read from files and options."""

    epsilon: Fraction
    space: MetricSpace
    table: pl.DataFrame | None
    labels: tuple[str, ...] | None
    names: Mapping[str, int]
    prior: NDArray[np.float64] | None
    prior_sum: float


def state(file: str | None, places: PlaceOptions, aims: AimOptions) -> DesignStatement:
    """Read the files and options of a problem with a table of distances.

    `file` is the table of places, or None for a grid. Refuses more than 5,120 secrets. ``O(n^2)``, or ``O(n^3)`` where
    the loss is the distance and secrets are points: then all distances are computed.

    Raises
    ------
    InvalidProblemError
        Naming the option or the argument.
    """
    return _dense(_read_secrets(file, places, aims, DENSE_LIMIT, None), aims)


def state_any(
    file: str | None, places: PlaceOptions, aims: AimOptions, label: str | None
) -> DesignStatement | ImplicitStatement:
    """Return the statement of a design of up to 131,072 secrets; beyond 5,120 it has no table.

    `file` is the table of places, None for a grid or words; `label` the column of names, None for none. The cost
    with a table is that of :func:`state`.

    Raises
    ------
    InvalidProblemError
        As :func:`state`, and for options that need a table where there is none.
    """
    secrets = _read_secrets(file, places, aims, _NOISE_LIMIT, label)
    return _dense(secrets, aims) if secrets.space.has_matrix else _implicit(secrets, aims)


def _read_secrets(
    file: str | None, places: PlaceOptions, aims: AimOptions, most: int, label: str | None
) -> _Secrets:
    """Read the secrets, their labels and the prior of a design from its files and options; at most `most` secrets.

    `label` is the column of names, or None. InvalidProblemError names the option or argument.
    """
    from discreet.artefact.layout import different_labels

    epsilon, unit = parse_budget(aims.epsilon)
    unit = _unit(places, unit, aims.epsilon)
    table, words = None, None
    if places.embeddings is None:
        space, table = _space(file, places, unit, most)
    else:
        space, words = _embedded(file, places, unit)
    labels = None if words is None else different_labels(words, space.n)
    if label is not None and table is not None:
        labels = different_labels(_texts(table, label), space.n)
    names = secret_names(space.n, labels)
    prior, prior_sum = read_prior(aims.prior, table, names)
    return _Secrets(epsilon, space, table, labels, names, prior, prior_sum)


def _dense(secrets: _Secrets, aims: AimOptions) -> DesignStatement:
    """Return the problem, guarantee and priors of a design with a table of losses.

    InvalidProblemError for a prior beside several, unknown reports, or a loss of another shape.
    """
    problem = Problem(
        secrets.space,
        utility_loss=read_loss(aims.loss),
        prior=secrets.prior,
        reports=None if aims.reports is None else parse_reports(aims.reports, secrets.names),
        forbidden=None if aims.forbid is None else _read_forbidden(aims.forbid, secrets.names),
        max_error=aims.max_error,
    )
    priors: tuple[tuple[str, NDArray[np.float64]], ...] = ()
    if aims.priors == "each":
        names = secrets.labels or [str(place) for place in range(secrets.space.n)]
        priors = tuple(zip(names, np.eye(secrets.space.n), strict=True))
    elif aims.priors is not None:
        priors = _read_priors(aims.priors, secrets.table, secrets.names)
    if priors and aims.prior != "uniform":
        raise InvalidProblemError("--priors", "no --prior beside it", repr(aims.prior))
    guarantee = MetricDP(secrets.epsilon, secrets.space.unit, aims.radius)
    return DesignStatement(
        guarantee=guarantee,
        labels=secrets.labels,
        prior_sum=secrets.prior_sum,
        problem=problem,
        priors=priors,
    )


def _implicit(secrets: _Secrets, aims: AimOptions) -> ImplicitStatement:
    """Return the costs and guarantee of a design without a table.

    InvalidProblemError for a table of losses and options for tables alone; with a radius for more than 16,384
    secrets; without one for labels, or places for which there is no noise.
    """
    n, most = secrets.space.n, f"with more than {printed.count(DENSE_LIMIT)} secrets"
    aims.refuse(("reports", "priors", "forbid", "max_error"), f"none {most}")
    loss = read_loss(aims.loss)
    if not isinstance(loss, str):
        raise InvalidProblemError("--loss", f"the name of a loss {most}", repr(aims.loss))
    costs = ImplicitCosts(secrets.space, loss, secrets.prior)
    if aims.radius is None and not has_noise(secrets.space, loss):
        expected = f"one {most}, but for places in km or m whose distance is the loss"
        raise InvalidProblemError("--radius", expected, "none")
    if aims.radius is None and secrets.labels is not None:
        expected = f"none {most} and no --radius: reports are coordinates"
        raise InvalidProblemError("--label", expected, "one")
    if aims.radius is not None and n > _TAILS_LIMIT:
        expected = f"at most {printed.count(_TAILS_LIMIT)} secrets with --radius"
        raise InvalidProblemError("PLACES", expected, printed.count(n))
    guarantee = MetricDP(secrets.epsilon, secrets.space.unit, aims.radius)
    return ImplicitStatement(
        guarantee=guarantee, labels=secrets.labels, prior_sum=secrets.prior_sum, costs=costs
    )


def _read_forbidden(typed: str, names: Mapping[str, int]) -> NDArray[np.int64]:
    """Return reports that are forbidden to all secrets, int64 ``(m,)``, or pairs of a secret and a report ``(m, 2)``.

    `typed` is as for ``--forbid``: indices or labels with commas, or pairs such as inn>mill; `names` maps them to
    indices. InvalidProblemError for unknown ones.
    """
    if ">" not in typed:
        return parse_reports(typed, names, option="--forbid")
    pairs = [pair.partition(">")[::2] for pair in typed.split(",")]
    words = ",".join(word.strip() or "nothing" for pair in pairs for word in pair)
    return parse_reports(words, names, option="--forbid").reshape(-1, 2)


def secret_names(n: int, labels: Sequence[str] | None) -> dict[str, int]:
    """Return label or number as text -> index of a secret; a label that is also a number means the labelled secret."""
    names = {str(place): place for place in range(n)}
    return names | {label: place for place, label in enumerate(labels or ())}


def _read_priors(
    typed: str, table: pl.DataFrame | None, names: Mapping[str, int]
) -> tuple[tuple[str, NDArray[np.float64]], ...]:
    """Read priors as ``--prior`` does, with commas between them, and normalize each: name and floats ``(n,)``.

    InvalidProblemError, naming ``--priors``, for one that comes twice or cannot be read.
    """
    named = [name.strip() for name in typed.split(",")]
    if len(set(named)) < len(named):
        raise InvalidProblemError("--priors", "different priors", repr(typed))
    n = len(set(names.values()))
    read = []
    for name in named:
        with renamed_arguments({}, others="--priors"):
            prior, _ = read_prior(name, table, names)
        read.append((name, np.full(n, 1 / n) if prior is None else prior))
    return tuple(read)


def _unit(places: PlaceOptions, budget_unit: str | None, typed: str) -> str:
    """Return the unit of distance, from its option, the budget or the metric; refuse two units, or none.

    `budget_unit` is the one typed with epsilon, or None; `typed` is epsilon as typed, for the message. Without any,
    haversine means km, angular rad, words "unit". InvalidProblemError otherwise.
    """
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


def _space(
    file: str | None, places: PlaceOptions, unit: str, most: int
) -> tuple[MetricSpace, pl.DataFrame | None]:
    """Return the space of a file or a grid, and the file's table; refuse both, neither, or too many secrets.

    `file` is the path of a table, `most` the most secrets. No distance is computed yet. InvalidProblemError names the
    option.
    """
    require_one("PLACES", "a file of places, or --grid", file, places.grid)
    if places.metric is not None and places.metric not in METRICS:
        raise unknown_name("--metric", places.metric, METRICS)
    if file is None:
        return _grid(places, unit, most), None
    if places.cell is not None:
        raise InvalidProblemError("--cell", "--grid with it", "a file of places")
    table = read_table(file, "PLACES")
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


def _embedded(
    file: str | None, places: PlaceOptions, unit: str
) -> tuple[MetricSpace, list[str] | None]:
    """Return the space of a file of words with their coordinates, and the words, or None if it has none.

    InvalidProblemError for options of places, a file beside it, or another metric than those of words.

    `unit` is that of the distances, none of which is computed yet.
    """
    if file is not None:
        raise InvalidProblemError("PLACES", "none beside --embeddings", repr(file))
    places.refuse(("grid", "cell", "x", "y", "columns", "label"), "none beside --embeddings")
    metric = places.metric or _EMBEDDED[0]
    if metric not in _EMBEDDED:
        raise unknown_name("--metric", metric, _EMBEDDED)
    points, words = read_embeddings(places.embeddings or "", "--embeddings")
    return MetricSpace.from_points(points, metric=metric, unit=unit), words


def _grid(places: PlaceOptions, unit: str, most: int) -> MetricSpace:
    """Return the space of a grid; refuse options of files, or another metric than the Euclidean.

    Cells have side `cell`, 1 by default, in the unit; `most` is the most cells. InvalidProblemError names the option.
    """
    places.refuse(("x", "y", "columns", "label"), "a file of places with it", "--grid")
    if places.metric not in {None, "euclidean"}:
        raise InvalidProblemError("--metric", "euclidean on a grid", repr(places.metric))
    rows, columns = parse_grid(places.grid or "", most)
    return MetricSpace.grid(rows, columns, cell=places.cell or "1", unit=unit)


def _coordinates(places: PlaceOptions, table: pl.DataFrame, metric: str) -> PlaceOptions:
    """Return the options with the usual columns of coordinates, if the table has them and no others were typed.

    InvalidProblemError if a column is then still missing, or for columns beside x and y.
    """
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
    """Return the coordinates of a table, ``(n, dimensions)``; latitude first on the globe.

    Columns are those of the options: x and y, or a list. InvalidProblemError for a missing one or cells that are no
    numbers.

    `metric` "haversine" swaps x and y.
    """
    if places.x is None or places.y is None:
        names = (places.columns or "").split(",")
        return columns_of(table, [name.strip() for name in names], "--columns")
    x = columns_of(table, [places.x], "--x")
    y = columns_of(table, [places.y], "--y")
    # A point on the globe is written latitude first; x is the longitude.
    return np.concatenate([y, x] if metric == "haversine" else [x, y], axis=1)


def _texts(table: pl.DataFrame, name: str) -> list[str]:
    """Return a column of labels as texts; raise InvalidProblemError for a missing column or label.

    Labels may repeat here; rows are numbered from 1 in refusals.
    """
    if name not in table.columns:
        known = ", ".join(table.columns)
        raise InvalidProblemError("--label", f"a column of the table ({known})", repr(name))
    values = table[name].to_list()
    if None in values:
        raise InvalidProblemError(
            "--label", "a label in each row", f"none in row {values.index(None) + 1}"
        )
    return [str(value) for value in values]


def doubtful_distances(space: MetricSpace, guarantee: MetricDP) -> list[str]:
    """Return warnings if reports may tell neighbors apart, as with a wrong unit, or if secrets are at distance 0.

    Empty without a table of distances, or for fewer than two secrets. ``O(n^2)`` time and memory.

    Examples
    --------
    >>> line = MetricSpace.grid(1, 3, cell=500, unit="m")
    >>> doubtful_distances(line, MetricDP("0.002", "m"))
    []
    >>> doubtful_distances(line, MetricDP(2, "m"))[0].partition(";")[0]
    'reports may give secrets away: half are told from their nearest neighbor with odds of up to e^1,000 to 1'
    >>> rare = MetricSpace.from_points([[0, 0], [0, 1], [0, 900], [0, 9000]], unit="m")
    >>> doubtful_distances(rare, MetricDP(2, "m"))
    []
    """
    if not space.has_matrix or space.n < 2:
        return []
    apart = space.distances.astype(np.float64) / 2.0**space.scale_bits
    np.fill_diagonal(apart, np.inf)
    nearest = apart.min(axis=1)
    twice = int((nearest == 0).sum())
    if twice:
        same = f"{twice} of {space.n} secrets are at distance 0 from another: their reports have one law"
        return [f"{same}; was a place given twice?", *_doubts(nearest[nearest > 0], guarantee)]
    return _doubts(nearest, guarantee)


def _doubts(
    nearest: NDArray[np.float64], guarantee: MetricDP, *, min_nats: float = 10.0
) -> list[str]:
    """Return a warning if half of the secrets are nearly told apart from their nearest ones, else an empty list.

    `nearest` ``(n,)`` are distances to the nearest other secret, in the unit.

    Nearly means `min_nats` or more of the guarantee's epsilon at the median of `nearest`, the lower one of an even
    number: at 10 nats, odds of some 20,000 to 1, which are next to no privacy.
    """
    if not len(nearest):
        return []
    nats = float(np.quantile(nearest, 0.5, method="lower")) * float(guarantee.epsilon)
    if nats < min_nats:
        return []
    odds = f"half are told from their nearest neighbor with odds of up to e^{printed.at_most(nats, 2)} to 1"
    stated = f"{printed.decimal_up(guarantee.epsilon)} per {guarantee.unit}"
    return [f"reports may give secrets away: {odds}; is epsilon meant to be {stated}?"]
