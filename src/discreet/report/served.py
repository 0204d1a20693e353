"""The demo of a location service: designed for the roads of a synthetic city, written to a file, and attacked."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

from discreet.artefact import save_mechanism
from discreet.core.guarantee import MetricDP
from discreet.lrgeo import Mechanism, Region, design
from discreet.report.location import chapter

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from discreet.datasets import City
    from discreet.evaluate.attack.finding import Attacked
    from discreet.report.page import Chapter

__all__ = ["service_demo"]

_LEAD = (
    "Phones want to say where they are, to a service that must not learn it. It publishes one mechanism for its whole "
    "region; each phone computes its own row, draws, and shows the same report for an hour."
)
_TRAFFIC = "Below, the traffic of a small service of this kind was recorded and attacked; nothing is sent to it."


def service_demo(
    city: City, file: Path, attack_mode: Callable[[str], Attacked] | None = None
) -> Chapter:
    """Design for the roads of a synthetic city, write the mechanism, and make the chapter.

    Parameters
    ----------
    city
        A synthetic city.
    file
        Where the mechanism goes.
    attack_mode
        Attacks the mode ``"sound"`` of a small service; ``None`` leaves the attacks out.

    Returns
    -------
    Chapter
        With the attacks.
    """
    region = Region.from_roads(*city.tables(), spacing="0.5", planar=True)
    made = design(region, MetricDP(2, "km"), gap=0.1, time_limit=10, throw=False, scope="places")
    mechanism = Mechanism.from_design(made)
    save_mechanism(mechanism, file)
    attacked = [] if attack_mode is None else [("Attacked: this service", attack_mode("sound"))]
    return chapter(
        mechanism,
        region=region,
        place=int(np.argmin(np.hypot(*region.points.T))),
        lead=(_LEAD, _TRAFFIC) if attacked else (_LEAD,),
        size=file.stat().st_size,
        artefact=f"{file.parent.name}/{file.name}",
        sha256=hashlib.sha256(file.read_bytes()).hexdigest(),
        attacked=attacked,
    )
