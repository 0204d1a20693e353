"""The demo of a location service: designed for the roads of a synthetic city, written to a file, and attacked."""

from __future__ import annotations

import hashlib
from dataclasses import replace
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
_MODES = (
    "Below, the traffic of both modes of a small service was recorded and attacked: that of this one, to which nothing "
    "is sent, and that of the published protocol, in which phones upload matrices of costs around them."
)


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
        Attacks the mode ``"sound"`` or ``"published"`` of a small service; ``None`` leaves the attacks out.

    Returns
    -------
    Chapter
        With the attacks on both modes.
    """
    region = Region.from_roads(*city.tables(), spacing="0.5", planar=True)
    made = design(region, MetricDP(2, "km"), gap=0.1, time_limit=10, throw=False, scope="places")
    mechanism = Mechanism.from_design(made)
    save_mechanism(mechanism, file)
    attacked = [] if attack_mode is None else _attacked_modes(attack_mode)
    return chapter(
        mechanism,
        region=region,
        place=int(np.argmin(np.hypot(*region.points.T))),
        lead=(_LEAD, _MODES) if attacked else (_LEAD,),
        size=file.stat().st_size,
        artefact=f"{file.parent.name}/{file.name}",
        sha256=hashlib.sha256(file.read_bytes()).hexdigest(),
        attacked=attacked,
    )


def _attacked_modes(attack_mode: Callable[[str], Attacked]) -> list[tuple[str, Attacked]]:
    sound, published = attack_mode("sound"), attack_mode("published")
    # Where nothing is sent, attacks on what is sent guess blindly: the first row says so for all.
    told = [one for one in sound.findings if not one.attack.startswith(("uploads", "discs"))]
    return [
        ("Attacked: this service", replace(sound, findings=tuple(told))),
        ("Attacked: the published protocol", published),
    ]
