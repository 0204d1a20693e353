r"""LR-Geo as published, to be looked at and not to be used: what it computes, and what that does not guarantee.

It has no guarantee for three reasons, each of them enough:

* *Across users* (A1). What a user samples from is one row of its own program. Rows of different programs meet no
  constraint but the shared scales; Theorem 4.5 covers entries of the exponential form, and Section 5.4 says that the
  others have no guarantee.
* *Ranges* (A2). With the user-centered ranges that are uploaded the theorem does not hold for those entries.
* *Uploads* (B1, B2). The coefficients are a function of the place, computed from public data, and the server needs the
  numbers of the columns: anyone who holds them finds the place by trying all places.

:func:`reproduce` therefore returns :class:`~discreet.core.outcome.Unproven`. The design that keeps the promise is
:func:`discreet.lrgeo.design`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import MetricDP
from discreet.core.outcome import Provenance, PublicInput, Unproven, digest_array
from discreet_reproduction.lrgeo.as_published.composite import composite_check
from discreet_reproduction.lrgeo.as_published.geo_ind_graph import GeoIndGraph
from discreet_reproduction.lrgeo.as_published.violations import violation_bound, violations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet_reproduction.lrgeo.as_published.composite import Composite, RowMethod
    from discreet_reproduction.lrgeo.as_published.instance import Instance
    from discreet_reproduction.lrgeo.as_published.violations import Violations

RANGES = "with the user-centered ranges that are uploaded it does not cover those either (A2)"
UPLOADS = "what is uploaded is a function of the place that anybody can compute, so that it names the place (B1, B2)"


@final
@dataclass(frozen=True, eq=False)
class PublishedRows:
    """What a method computed, with what it does to privacy.

    Parameters
    ----------
    users
        Their places.
    matrix
        ``(users, K)``: the rows that they sample from.
    objective, lower
        What the programs minimized, and a proven lower bound of it; see
        :class:`~discreet_reproduction.lrgeo.as_published.composite.UserRows`.
    cost
        Mean over users, by the prior, of what their own rows cost.
    everywhere, near
        :func:`~discreet_reproduction.lrgeo.as_published.composite.composite_check` over all pairs of the users'
        places, and over those at most gamma apart.
    counted, bound
        The GV ratio as the paper counts it, over all rows of all users, and Proposition 4.6's bound as printed.
    scales
        y of each batch.
    """

    users: NDArray[np.int64]
    matrix: NDArray[np.float64]
    objective: float | None
    lower: float | None
    cost: float
    everywhere: Composite
    near: Composite
    counted: Violations | None
    bound: float | None
    scales: tuple[NDArray[np.float64], ...]


def reproduce(
    instance: Instance,
    guarantee: MetricDP,
    method: RowMethod,
    *,
    users: Sequence[int] | None = None,
    time_limit: float | None = None,
) -> Unproven[PublishedRows]:
    r"""Run a published method that does not keep its promise, and say by how much.

    Parameters
    ----------
    instance
        Public arrays of the places, such as ``Instance.from_region(region)``.
    guarantee
        What the method claims: epsilon, unit, and the paper's :math:`\gamma` as its radius. Without a radius all pairs
        of a user's rows are constrained: LR-Geo-F.
    method
        ``LRGeo``, ``LROMG``, ``FrozenScales``, or those of the modules ``released`` and ``baselines``.
    users
        Places of users, known here since this is a simulation. ``None``: one at every place, which is what the
        composite check needs to see everything.
    time_limit
        Seconds for each program.

    Returns
    -------
    Unproven
        What came out, without a guarantee and with the reason.

    Raises
    ------
    InvalidProblemError
        For another unit than the instance's, or users that are nowhere.
    InfeasibleError, LimitReachedError, SolverError
        As the solver.

    Examples
    --------
    >>> from discreet_reproduction.lrgeo.as_published.instance import Instance
    >>> from discreet_reproduction.lrgeo.as_published.lr_omg import LROMG
    >>> line = np.abs(np.subtract.outer(np.arange(8.0), np.arange(8.0)))
    >>> places = Instance(line, line, unit="km")
    >>> made = reproduce(places, MetricDP(1, "km", radius=1), LROMG(reach=2))
    >>> made.guarantee is None, made.result.near.pair_ratio > 0.5
    (True, True)
    """
    claim: Any = guarantee
    if not isinstance(claim, MetricDP) or guarantee.unit != instance.unit:
        raise InvalidProblemError("guarantee", f"a MetricDP per {instance.unit}", repr(claim))
    chosen = np.arange(instance.size) if users is None else np.array(users, dtype=np.int64)
    places = [instance.place(int(user), "users") for user in chosen]
    if not places:
        raise InvalidProblemError("users", "at least one place", "none")
    epsilon = float(guarantee.epsilon)
    gamma = np.inf if guarantee.radius is None else float(guarantee.radius)
    graph = GeoIndGraph(instance.distances, gamma)
    found = method.rows(instance, graph, epsilon, places, time_limit)
    table = np.clip(found.matrix, 0.0, 1.0)
    apart = instance.distances[np.ix_(places, places)]
    counted = bound = None
    if found.form is not None:
        counted = violations(
            found.prepared, found.matrices, found.form, instance.distances, gamma=gamma
        )
        bound = violation_bound(found.prepared, found.form, instance.distances)
    weight = instance.prior[places]
    weight = weight / weight.sum() if weight.sum() > 0 else np.full(len(places), 1 / len(places))
    result = PublishedRows(
        chosen,
        table,
        found.objective,
        found.lower,
        float(weight @ (instance.beta[places] * table).sum(axis=1)),
        composite_check(table, apart, epsilon),
        composite_check(table, apart, epsilon, radius=gamma),
        counted,
        bound,
        found.scales,
    )
    parameters = {"epsilon": str(guarantee.epsilon), "gamma": gamma, **_parameters(method)}
    provenance = Provenance(type(method).__name__, parameters, _assumed(instance))
    return Unproven(result, method.reason, provenance)


def _parameters(method: Any) -> dict[str, Any]:  # noqa: ANN401 - any frozen dataclass
    plain = {field.name: getattr(method, field.name) for field in fields(method)}
    return {k: str(v) if isinstance(v, Fraction) else v for k, v in plain.items()}


def _assumed(instance: Instance) -> tuple[PublicInput, ...]:
    named = (
        ("distances", instance.distances, f"distances of {instance.size} places"),
        ("cost", instance.beta, "cost of each report at each place"),
        ("prior", instance.prior, "prior of the places"),
    )
    return tuple(PublicInput(name, digest_array(array), what) for name, array, what in named)
