"""Designs made by hand: the exponential mechanism, and a proof of a lower bound that needs no solver.

Files, commands and the standalone verifier are tested with these, so that their tests do not wait for a solver.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.certificate import Certificate, Check
from discreet.core.channels.rounding import round_channel
from discreet.core.guarantee import MetricDP, Scope
from discreet.core.outcome import Design, Provenance
from discreet.core.spaces.metric import MetricSpace
from discreet.metricdp.bounds.bound import Multipliers, lower_bound
from discreet.metricdp.problem import Problem

if TYPE_CHECKING:
    from discreet.core.exact import Exact

EPSILON = Fraction(2)
_SLACK = Fraction(1, 1000)


def exponential(
    problem: Problem, *, radius: Exact | None = None, joined: bool = True
) -> Design[Problem, Multipliers]:
    """Design by hand: ``z_ik`` proportional to ``e^(-epsilon d_ik / 2)``, a little less private than it may be."""
    space = problem.space
    constraints = space.adjacency(radius)
    links = 0
    if joined:
        constraints, added = constraints.join(space)
        links = len(added)
    reports = np.arange(space.n) if problem.reports is None else problem.reports
    away = np.ldexp(space.distances[:, reports].astype(float), -space.scale_bits)
    matrix = np.exp(-(1 - float(_SLACK)) * float(EPSILON) / 2 * away)
    matrix /= matrix.sum(axis=1, keepdims=True)
    shortest = np.ldexp(
        float(constraints.lengths[constraints.lengths > 0].min(initial=2**45)), -space.scale_bits
    )
    channel = round_channel(matrix, slack=_SLACK * EPSILON * Fraction(shortest) / 2)
    witness = star(problem, radius) if len(constraints) else Multipliers.empty()
    stretch = constraints.stretch(space)
    components = int(constraints.components.max()) + 1
    scope = Scope(
        space.digest,
        space.n,
        None if stretch is None else EPSILON * stretch,
        components,
        tuple(constraints.isolated.tolist()) if components > 1 else (),
        links,
    )
    return Design(
        channel=channel,
        guarantee=MetricDP(EPSILON, space.unit, radius, scope=scope),
        certificate=Certificate((Check("made by hand", 0, 0, exact=True),)),
        lower=max(0.0, lower_bound(problem.cost, constraints, EPSILON, witness)),
        upper=channel.expected_loss(problem.cost),
        provenance=Provenance("exponential", {"delta": "1/1000"}, problem.assumed_public()),
        problem=problem,
        witness=witness,
    )


def star(problem: Problem, radius: Exact | None) -> Multipliers:
    """Price each constraint into a report by a little: a positive bound, far from the best."""
    graph = problem.space.adjacency(radius)
    i, j = graph.pairs.T
    source, target = np.concatenate([i, j]), np.concatenate([j, i])
    length = np.ldexp(np.concatenate([graph.lengths] * 2).astype(float), -graph.scale_bits)
    column = np.full(graph.n, -1)
    reports = np.arange(graph.n) if problem.reports is None else problem.reports
    column[reports] = np.arange(len(reports))
    priced = column[source] >= 0
    source, target, length, report = (
        part[priced] for part in (source, target, length, column[source])
    )
    # Half of what the target's own cost can bear, shared among its neighbors.
    share = problem.cost[target, report] * np.exp(-float(EPSILON) * length)
    degree = np.bincount(target * graph.n + report, minlength=graph.n**2)[target * graph.n + report]
    return Multipliers(report, source, target, share / (2 * degree))


def grid(
    rows: int = 3, columns: int = 3, *, cell: Exact = 1, radius: Exact | None = None
) -> Design[Problem, Multipliers]:
    """Design for a small grid."""
    space = MetricSpace.grid(rows, columns, cell=cell, unit="km")
    return exponential(Problem(space, utility_loss="euclidean"), radius=radius)
