r"""What a user works out at home and sends: steps 3 to 6 of the protocol of [QLPSX24]_, Section 4.2.

A user at :math:`v_m` finds the locally relevant places and the columns, and uploads the distances among the first,
those from the first to the second, and the cost coefficients; not the sets, and not which row is the user's. The server
has to be told the numbers of the columns as well, since all users share :math:`y_k` (B1): the paper does not say
so, and its code does it.

None of this hides the place. What is uploaded is a function of the place that anybody can compute (B2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet_reproduction.lrgeo.as_published.geo_ind_graph import lr_set, within

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from discreet_reproduction.lrgeo.as_published.geo_ind_graph import GeoIndGraph
    from discreet_reproduction.lrgeo.as_published.instance import Instance

Centered = Literal["user", "location"]
"""Whose disc limits the reports of a row."""


@final
@dataclass(frozen=True, eq=False)
class Coefficients:
    """The coefficients of one user's program: what the server gets.

    Parameters
    ----------
    between
        ``(n, n)`` distances among the rows.
    away
        ``(n, c)`` distances from the rows to the columns.
    cost
        ``(n, c)`` cost coefficients, with whatever weight the rows have.
    columns
        ``(c,)`` numbers of the columns among all places.
    inside
        ``(n, c)``: which entries are within the obfuscation range. ``None`` for all of them: columns that are a disc
        around the user.

    Raises
    ------
    InvalidProblemError
        For arrays that do not fit together.

    Examples
    --------
    >>> Coefficients([[0.0]], [[0.0, 1.0]], [[0.0, 1.0]], [3, 4]).n_rows
    1
    """

    between: NDArray[np.float64]
    away: NDArray[np.float64]
    cost: NDArray[np.float64]
    columns: NDArray[np.int64]
    inside: NDArray[np.bool_]

    def __init__(
        self,
        between: ArrayLike,
        away: ArrayLike,
        cost: ArrayLike,
        columns: ArrayLike,
        inside: ArrayLike | None = None,
    ) -> None:
        listed = np.array(columns, dtype=np.int64)
        square = _matrix(between, "between")
        n = len(square)
        ranges = _matrix(away, "away")
        whole = np.ones(ranges.shape, dtype=bool) if inside is None else np.array(inside, bool)
        table = _matrix(cost, "cost")
        if square.shape != (n, n) or ranges.shape != (n, len(listed)):
            raise InvalidProblemError(
                "away", f"shape {(n, len(listed))}, and between square", f"shape {ranges.shape}"
            )
        for name, array in (("cost", table), ("inside", whole)):
            if array.shape != ranges.shape:
                raise InvalidProblemError(name, f"shape {ranges.shape}", f"shape {array.shape}")
        if len(np.unique(listed)) < len(listed):
            raise InvalidProblemError("columns", "different places", "some twice")
        parts = {
            "between": square,
            "away": ranges,
            "cost": table,
            "columns": listed,
            "inside": whole,
        }
        for name, array in parts.items():
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @property
    def n_rows(self) -> int:
        """Number of locally relevant places."""
        return len(self.between)


@final
@dataclass(frozen=True, eq=False, repr=False)
class Prepared:
    """What a user keeps, and what it would send.

    Parameters
    ----------
    rows
        Numbers of the locally relevant places: secret.
    own
        Which of the rows is the user's: secret.
    coefficients
        What is sent.
    """

    rows: NDArray[np.int64]
    own: int
    coefficients: Coefficients

    def __repr__(self) -> str:
        return "Prepared(a place that is not shown)"


def obfuscation_range(
    distances: NDArray[np.float64],
    rows: NDArray[np.int64],
    user: int,
    radius: float,
    *,
    centered: Centered,
) -> NDArray[np.bool_]:
    r"""Say which reports are within the obfuscation range of which row: Equation (12) of [QLPSX24]_, in two readings.

    .. math:: \mathcal{O}_m = \{\, v_k \in V : d_{v_i, v_k} \le r_\text{obf} \,\} \qquad (12)

    The left side names the user m, the right side a place i. *User-centered*, i is the user's place, and all rows of
    the user's matrix have one set of columns: that is what the uploaded matrices are. *Location-centered*, each row has
    its own disc: that is what the proof of Theorem 4.5 uses. The theorem is true of the second and false of the first
    (A2).

    Parameters
    ----------
    distances
        ``(K, K)``.
    rows
        The user's locally relevant places.
    user
        The user's place.
    radius
        :math:`r_\text{obf}`.
    centered
        ``"user"``, as uploaded, or ``"location"``, as proved.

    Returns
    -------
    ndarray
        ``(rows, K)``.

    Raises
    ------
    InvalidProblemError
        For another word, or a negative radius.

    Examples
    --------
    >>> line = np.abs(np.subtract.outer(np.arange(5.0), np.arange(5.0)))
    >>> rows = np.array([1, 2])
    >>> obfuscation_range(line, rows, 2, 1.0, centered="user").astype(int).tolist()
    [[0, 1, 1, 1, 0], [0, 1, 1, 1, 0]]
    >>> obfuscation_range(line, rows, 2, 1.0, centered="location").astype(int).tolist()
    [[1, 1, 1, 0, 0], [0, 1, 1, 1, 0]]
    """
    if centered not in {"user", "location"}:
        raise InvalidProblemError("centered", "'user' or 'location'", repr(centered))
    if not radius >= 0:
        raise InvalidProblemError("radius", "a distance of at least 0", radius)
    if centered == "user":
        return np.broadcast_to(within(distances[user], radius), (len(rows), len(distances)))
    return within(distances[rows], radius)


def prepare(
    instance: Instance,
    graph: GeoIndGraph,
    user: int,
    *,
    reach: float,
    r_obf: float,
    centered: Centered = "user",
    every_column: bool = False,
    cost: NDArray[np.float64] | None = None,
) -> Prepared:
    r"""Work out a user's coefficients.

    Parameters
    ----------
    instance
        The public arrays.
    graph
        The Geo-Ind graph.
    user
        The user's place.
    reach
        :math:`\Gamma`.
    r_obf, centered
        See :func:`~discreet_reproduction.lrgeo.as_published.coefficients.obfuscation_range`.
    every_column
        Whether columns outside the range are listed too, so that what falls there counts in the cost. As published they
        are not: the server has no cost for them, and takes 0.
    cost
        ``(K, K)`` coefficients in place of the instance's: estimates from a table.

    Returns
    -------
    Prepared
        With the mean over the rows as the objective: rows are weighted by ``p_i / sum p``.

    Examples
    --------
    >>> from discreet_reproduction.lrgeo.as_published.geo_ind_graph import GeoIndGraph
    >>> from discreet_reproduction.lrgeo.as_published.instance import Instance
    >>> line = np.abs(np.subtract.outer(np.arange(6.0), np.arange(6.0)))
    >>> made = prepare(Instance(line, line, unit="km"), GeoIndGraph(line, 1.0), 2, reach=1, r_obf=2)
    >>> made.rows.tolist(), made.own, made.coefficients.columns.tolist()
    ([1, 2, 3], 1, [0, 1, 2, 3, 4])
    """
    home = instance.place(user, "user")
    rows = lr_set(graph, home, reach)
    inside = obfuscation_range(instance.distances, rows, home, r_obf, centered=centered)
    listed = np.arange(instance.size) if every_column else np.flatnonzero(inside.any(axis=0))
    priced = instance.beta if cost is None else cost
    return _prepared(instance, rows, home, (listed, inside[:, listed]), priced)


def prepare_global(instance: Instance, *, r_obf: float = np.inf) -> Prepared:
    """All places as one user's rows, location-centered: with it CLR-Geo is ConstOPT.

    Parameters
    ----------
    instance
        The public arrays.
    r_obf
        Radius beyond which weights do not fall any more.
    """
    rows = np.arange(instance.size)
    inside = obfuscation_range(instance.distances, rows, 0, r_obf, centered="location")
    return _prepared(instance, rows, 0, (rows, inside), instance.beta)


def _prepared(
    instance: Instance,
    rows: NDArray[np.int64],
    home: int,
    columns: tuple[NDArray[np.int64], NDArray[np.bool_]],
    beta: NDArray[np.float64],
) -> Prepared:
    listed, inside = columns
    weight = instance.prior[rows]
    total = float(weight.sum())
    share = weight / total if total > 0 else np.full(len(rows), 1 / len(rows))
    sent = Coefficients(
        instance.distances[np.ix_(rows, rows)],
        instance.distances[np.ix_(rows, listed)],
        share[:, None] * beta[np.ix_(rows, listed)],
        listed,
        inside,
    )
    return Prepared(rows, int(np.searchsorted(rows, home)), sent)


def _matrix(values: ArrayLike, field: str) -> NDArray[np.float64]:
    given = np.array(values, dtype=np.float64)
    if given.ndim != 2 or not np.isfinite(given).all():
        raise InvalidProblemError(field, "a matrix of finite numbers", f"shape {given.shape}")
    return given
