"""The demo's private choice: waiting places for cars, chosen by synthetic pick-ups."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.core import printed
from discreet.core.guarantee import ApproxDP, PureDP
from discreet.core.randomness import SeededBits
from discreet.datasets import made_pickups
from discreet.evaluate.attack.finding import Attacked
from discreet.evaluate.attack.membership import attack_membership
from discreet.plot import Curve
from discreet.report.page import make_chapter
from discreet.report.submodular import Ground
from discreet.report.trying import audit_choice
from discreet.submodular import FacilityLocation, UniformMatroid, release
from discreet.submodular.methods import METHODS
from discreet.submodular.methods.baselines import LazyGreedy

if TYPE_CHECKING:
    from discreet.report.page import Chapter

EPSILONS = (0.05, 0.1, 0.25, 0.5, 1.0)
DELTA = "1e-6"

_QUICK = ("subsampled", "algorithm-3", "permute-and-flip", "mitrovic", "gupta", "random-base")
_SLOW = ("badanidiyuru-vondrak", "base-continuous-greedy")
_LABELS = {
    "algorithm-3": "greedy, best accounting",
    "badanidiyuru-vondrak": "continuous, by elements",
    "base-continuous-greedy": "continuous, by bases",
    "gupta": "Gupta et al.",
    "mitrovic": "Mitrovic et al.",
    "permute-and-flip": "permute-and-flip",
    "random-base": "a random choice",
    "subsampled": "greedy on a secret subsample",
}
_PURE = ("subsampled", "permute-and-flip", "random-base")

_CARS = (
    "A company wants {places} places where its cars wait, near where people get in. Each person's pick-up counts for "
    "the chosen place that is nearest to it, fully at no distance and not at all from {reach} km on. Where a person "
    "got in must not be learned."
)
_CANDIDATES = (
    "The candidates are a public grid. They must be: a candidate that is listed because a person got in there "
    "shows that, whether it is chosen or not."
)
_MAP = (
    "{people} synthetic pick-ups in grey, candidates as dots, the private choice as discs. Rings mark what would be "
    "chosen without privacy. With people's data neither rings nor pick-ups could be shown."
)
_NOTE = (
    "Share of the value that greedy choice without noise reaches, on {people} synthetic pick-ups, mean of {quick} "
    "runs ({slow} for the continuous methods). All but the subsample, permute-and-flip and the random choice have "
    "delta = 10⁻⁶. Such values are of the data themselves: they can be shown because these are synthetic."
)


def choice_chapter(
    people: int = 1_000,
    *,
    places: int = 10,
    reach: float = 1.5,
    repeats: int = 6,
    slow_repeats: int = 2,
) -> Chapter:
    """Choose waiting places privately, and compare all methods on the synthetic pick-ups.

    Parameters
    ----------
    people
        Number of synthetic pick-ups.
    places
        Number of places that are chosen.
    reach
        Kilometers from which on a place is worth nothing to a pick-up.
    repeats
        Runs of each quick method at each of five epsilons.
    slow_repeats
        Runs of each of the two continuous methods at each epsilon; they take most of the time.

    Returns
    -------
    Chapter
        For the demo's page. The choice itself is drawn by the system's randomness, the curves with seeds.
    """
    rides = made_pickups(people)
    f = FacilityLocation.from_points(rides.people, rides.places, farthest=reach)
    matroid = UniformMatroid(f.n_elements, places)
    greedy = LazyGreedy().choose(f, matroid)
    best = f.value(greedy)
    promise = PureDP(1, "add-remove-one")
    made = release(f, matroid, promise)
    # A person who gets in far from all others is the easiest to notice.
    alone = int(np.argmax(np.hypot(*(rides.people - rides.people.mean(axis=0)).T)))
    remaining = np.delete(rides.people, alone, axis=0)
    without = FacilityLocation.from_points(remaining, rides.places, farthest=reach)
    member = attack_membership(
        lambda data, bits: release(data, matroid, promise, bits=bits).result.chosen,
        (f, without),
        promise,
        trials=60,
    )
    curves = [
        Curve(_LABELS[name], EPSILONS, shares, "optimum" if name == "subsampled" else "baseline")
        for name in (*_QUICK, *_SLOW)
        for shares in [
            tuple(
                value / best
                for value in values(name, f, matroid, repeats if name in _QUICK else slow_repeats)
            )
        ]
    ]
    return make_chapter(
        "submodular",
        made,
        title="Where cars should wait",
        anchor="choice",
        lead=(
            _CARS.format(places=printed.count(places), reach=printed.estimate(reach)),
            _CANDIDATES,
        ),
        ground=Ground(
            rides.places,
            rides.people,
            tuple(element for element, _ in greedy),
            _MAP.format(people=printed.count(people)),
        ),
        curves=curves,
        curves_note=_NOTE.format(people=printed.count(people), quick=repeats, slow=slow_repeats),
        value_name="share of the value without privacy",
        attacked=Attacked("choice", (member,)),
        audits=audit_choice(made, matroid),
    )


def values(
    name: str, f: FacilityLocation, matroid: UniformMatroid, repeats: int
) -> tuple[float, ...]:
    """Average the true value of a method's choices at each epsilon: for synthetic data only.

    Parameters
    ----------
    name
        A key of :data:`discreet.submodular.methods.METHODS`.
    f, matroid
        The problem.
    repeats
        Runs at each epsilon, seeded so that the page can be made again.

    Returns
    -------
    tuple of float
        The mean for each of :data:`EPSILONS`, in units of ``2^-scale_bits``, without noise: private for real data.
        `repeats` releases for each.
    """
    method = METHODS[name].make()
    means = []
    for epsilon in EPSILONS:
        guarantee = (
            PureDP(epsilon, "add-remove-one")
            if name in _PURE
            else ApproxDP(epsilon, DELTA, "add-remove-one")
        )
        runs = [
            release(f, matroid, guarantee, method=method, bits=SeededBits(run)).result
            for run in range(repeats)
        ]
        means.append(sum(f.value(result.chosen) for result in runs) / repeats)
    return tuple(means)
