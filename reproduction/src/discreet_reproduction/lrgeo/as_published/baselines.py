r"""What the paper compares with: Section 5.1 of [QLPSX24]_.

Those that exist in :mod:`discreet.metricdp` are used from there, so that they are repaired, rounded and verified like
any design. :func:`baseline` gives a :class:`~discreet.core.outcome.Design` of any of them:

* ``lp``: the whole linear program, Equations (6) and (7), by :class:`~discreet.metricdp.methods.direct.Direct`;
* ``laplace``: planar Laplace noise, integrated over cells, :class:`~discreet.metricdp.methods.baselines.PlanarLaplace`;
* ``exponential``: with half the distance as score, :class:`~discreet.metricdp.methods.baselines.Exponential`;
* ``constopt``: the exponential form far away, :class:`~discreet.metricdp.methods.constopt.ConstOPT`;
* ``tight``: every column falls off as fast as it may, :class:`~discreet.metricdp.methods.kernel.Kernel`.

The exponential mechanism *as printed* has the cost as its score. That is not geo-indistinguishable: the printed c
contains the prior, so that the channel is nearly uniform; and beta by itself is not 1-Lipschitz in the distance, since
roads have detours. :class:`PrintedExponential` reproduces it.

LR-Geo-F is :class:`~discreet_reproduction.lrgeo.as_published.lr_geo.LRGeo` with a guarantee without a radius.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet_reproduction.lrgeo.as_published.composite import UserRows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.core.guarantee import MetricDP
    from discreet.core.outcome import Design
    from discreet.core.spaces.metric import MetricSpace
    from discreet_reproduction.lrgeo.as_published.geo_ind_graph import GeoIndGraph
    from discreet_reproduction.lrgeo.as_published.instance import Instance

BASELINES: dict[str, str] = {
    "constopt": "constopt:ConstOPT",
    "exponential": "baselines:Exponential",
    "laplace": "baselines:PlanarLaplace",
    "lp": "direct:Direct",
    "tight": "kernel:Kernel",
}
"""Name -> where in :mod:`discreet.metricdp` the method is."""


def baseline(
    space: MetricSpace,
    instance: Instance,
    guarantee: MetricDP,
    name: str,
    *,
    time_limit: float | None = None,
) -> Design[Any, Any]:
    """Design with one of the paper's baselines.

    Parameters
    ----------
    space
        The places, as a metric space: what is verified is for its distances.
    instance
        Its costs and its prior.
    guarantee
        What is promised, and kept.
    name
        A key of :data:`BASELINES`.
    time_limit
        Seconds.

    Returns
    -------
    Design
        Verified exactly.

    Raises
    ------
    InvalidProblemError
        For another name, or an instance of another size.
    InfeasibleError
        Where the method gives no channel: the tight one, where epsilon times the spacing is small.

    Examples
    --------
    >>> from discreet.core.guarantee import MetricDP
    >>> from discreet.core.spaces.metric import MetricSpace
    >>> from discreet_reproduction.lrgeo.as_published.instance import Instance
    >>> grid = MetricSpace.grid(3, 3, cell=1, unit="km")
    >>> apart = np.ldexp(grid.distances.astype(float), -grid.scale_bits)
    >>> places = Instance(apart, apart, unit="km")
    >>> tight, blunt = (baseline(grid, places, MetricDP(2, "km"), name) for name in ("tight", "exponential"))
    >>> tight.certificate.passed, tight.upper < blunt.upper
    (True, True)
    """
    from discreet.metricdp import Problem, design

    if name not in BASELINES:
        raise InvalidProblemError("name", f"one of {sorted(BASELINES)}", repr(name))
    if space.n != instance.size:
        raise InvalidProblemError("space", f"{instance.size} places", space.n)
    module, kind = BASELINES[name].split(":")
    method = getattr(importlib.import_module(f"discreet.metricdp.methods.{module}"), kind)()
    problem = Problem(space, utility_loss=instance.beta, prior=instance.prior)
    return design(problem, guarantee, method=method, time_limit=time_limit, throw=False)


def remapped_cost(design: Design[Any, Any], instance: Instance) -> float:
    r"""Give the cost after the best renaming of reports, which is post-processing and costs no privacy.

    Parameters
    ----------
    design
        A channel with a report for each place.
    instance
        Costs and prior.

    Returns
    -------
    float
        :math:`\sum_k \min_r \sum_i p_i \beta_{ir} z_{ik}`, no more than the design's own cost.
    """
    joint = instance.cost.T @ design.channel.probabilities
    return float(joint.min(axis=0).sum())


@final
@dataclass(frozen=True)
class PrintedExponential:
    r"""The exponential mechanism as printed: :math:`z_{ik} \propto e^{-\epsilon c_{ik} / 2}`.

    Parameters
    ----------
    with_prior
        Whether c contains the prior, as Equation (5) says; without it the score is :math:`\beta`.
    """

    with_prior: bool = True

    @property
    def reason(self) -> str:
        """Why nothing is guaranteed."""
        return (
            "the score is a travel cost, which may differ between two places by more than their distance (A8): it is "
            "private in another metric than the one that is named"
        )

    def rows(
        self,
        instance: Instance,
        graph: GeoIndGraph,  # noqa: ARG002 - every method has it
        epsilon: float,
        users: Sequence[int],
        time_limit: float | None,  # noqa: ARG002 - every method has it
    ) -> UserRows:
        """Write the rows down."""
        score = instance.cost if self.with_prior else instance.beta
        table = np.exp(-epsilon / 2 * score[np.asarray(users)])
        return UserRows(table / table.sum(axis=1, keepdims=True))
