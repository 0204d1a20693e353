"""Attack on the published protocol of LR-Geo, by the recorded traffic of real clients of a real server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.evaluate.attack.location import Session, attack_traffic, distinct_sessions
from discreet.evaluate.audit.channels import channel_of
from discreet.evaluate.simulate.location import Bench
from discreet_reproduction.lrgeo.as_published.geo_ind_graph import GeoIndGraph, lr_set
from discreet_reproduction.lrgeo.as_published.instance import Instance
from discreet_reproduction.lrgeo.attack_messages import (
    World,
    attack_center,
    attack_discs,
    attack_targets,
    attack_uploads,
)
from discreet_reproduction.lrgeo.service.published import ParametersMessage
from discreet_reproduction.lrgeo.service.recorded import record_published

if TYPE_CHECKING:
    from discreet.evaluate.attack.finding import Attacked
    from discreet.evaluate.attack.request import AttackRequest
    from discreet_reproduction.lrgeo.attack_messages import PublishedSession

_GAMMA, _REACH, _R_OBF, _R_EXP = 1.5, 1.5, 2.0, 1.0
_REPEATS = 10


def attack_published(request: AttackRequest) -> Attacked:
    """Attack the published protocol on a grid of 6 x 6 places 1 km apart.

    Parameters
    ----------
    request
        The mode ``"published"``, and epsilon per km, by default 1.

    Returns
    -------
    Attacked
        One finding for each attack: on bytes, uploads, discs, the cost table, and reports.
    """
    request.only(("mode", "epsilon"))
    bench = Bench(request)
    region, bits, failure = bench.region, bench.bits, bench.failure
    instance = Instance.from_region(region, targets=np.array(bench.targets))
    world = World(instance, GeoIndGraph(instance.distances, _GAMMA), _REACH, _R_OBF)
    parameters = ParametersMessage(
        protocol=1,
        epsilon=float(bench.claim.epsilon),
        gamma=_GAMMA,
        reach=_REACH,
        r_obf=_R_OBF,
        r_exp=_R_EXP,
    )
    with record_published(bench.mechanism, region, parameters, bench.targets) as service:
        sessions = [service.ask(place, bits) for place in bench.victims]
        own = [service.ask(place, bits) for place in range(region.K)]
        asking = [service.prepare(place, _REPEATS, bits) for place in bench.victims]
    shares = np.zeros(region.K)
    shares[list(bench.targets)] = 1 / len(bench.targets)
    findings = [
        attack_traffic(sessions, own, world.prior, failure=failure),
        *attack_uploads(sessions, world, failure=failure),
        *attack_center(sessions, world, failure=failure),
        *attack_discs(asking, world, requests=(1, 3, _REPEATS), failure=failure),
        *attack_targets(asking, region.travel, shares),
    ]
    channel = channel_of([_sampled_row(one, world) for one in own])
    findings += bench.attack_channel(channel)
    # The protocol has no clock: every report is drawn anew.
    drawn = [(place, channel.report_many([place] * _REPEATS, bits)) for place in bench.victims * 5]
    watched = [Session(place, (), tuple(enumerate(seen.tolist()))) for place, seen in drawn]
    label = f"{_REPEATS} asks, each drawn anew"
    findings.append(bench.attack_repeats(watched, channel, _REPEATS, label))
    return bench.attacked("published", channel, findings, distinct_sessions([*sessions, *own]))


def _sampled_row(session: PublishedSession, world: World) -> list[int]:
    """Return the row from which a client sampled, out of the answer to its upload."""
    rows = lr_set(world.graph, session.place, world.reach)
    matrix = session.matrices[0]
    row = np.maximum(matrix[int(np.searchsorted(rows, session.place))], 0.0)
    weights: list[int] = np.floor(row * 2.0**53).astype(np.int64).tolist()
    return weights
