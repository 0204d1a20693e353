"""Influence with k topics: greedy and sampled greedy choice of who spreads what, and how many gains each looks at."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core.guarantee import PureDP
from discreet.core.randomness import SeededBits
from discreet.submodular import Algorithm3, TopicInfluence, UniformMatroid, release
from discreet.submodular.methods.algorithm_4 import Algorithm4
from discreet.submodular.methods.baselines import LazyGreedy, RandomBase
from discreet.submodular.methods.subsampled import Subsampled
from discreet_reproduction.drawing import lines
from discreet_reproduction.record import Experiment
from discreet_reproduction.submodular.leanings import made_spread

if TYPE_CHECKING:
    from discreet_reproduction.record import Cell, Run

_TOPICS = 3


def spread(n_people: int, n_sources: int, *, seed: int) -> TopicInfluence:
    """Make the function.

    Examples
    --------
    >>> f = spread(50, 10, seed=1)
    >>> f.n_elements, f.n_kinds, f.n_records
    (10, 3, 50)
    """
    people, sources, kinds, chances = made_spread(n_people, n_sources, _TOPICS, seed=seed)
    return TopicInfluence(
        people, sources, kinds, chances, n_elements=n_sources, n_topics=_TOPICS, n_records=n_people
    )


def topics(run: Run) -> Experiment:
    """Who should spread which of three topics, privately, against epsilon."""
    n_people, n_sources, rank, runs = (3_000, 150, 15, 3) if run.quick else (20_000, 1_000, 60, 20)
    f = spread(n_people, n_sources, seed=run.seed)
    matroid = UniformMatroid(n_sources, rank)
    best = f.value(LazyGreedy().choose(f, matroid))
    methods: dict[str, Any] = {
        "Algorithm 3": Algorithm3(lazy=False),
        "Algorithm 3, lazily": Algorithm3(),
        "Algorithm 4": Algorithm4(lazy=False),
        "subsampled": Subsampled(),
        "random": RandomBase(),
    }
    rows: list[dict[str, Cell]] = []
    for epsilon in (0.1, 0.5, 1.0, 4.0):
        guarantee = PureDP(epsilon, "add-remove-one")
        for name, method in methods.items():
            run.say(f"epsilon {epsilon:g}: {name}")
            before, bits = f.evaluations, SeededBits(run.seed)
            values = [
                f.value(release(f, matroid, guarantee, method=method, bits=bits).result.chosen)
                for _ in range(runs)
            ]
            rows.append(
                {
                    "epsilon": epsilon,
                    "method": name,
                    "share of greedy": round(float(np.mean(values)) / best, 4),
                    "standard error": round(float(np.std(values)) / best / runs**0.5, 4),
                    "gains in a run": round((f.evaluations - before) / runs),
                }
            )
    return Experiment(
        "submodular/topics",
        "Expected number of people reached with three topics",
        rows=rows,
        notes=(
            "The paper proposes influence with k topics (Example 1.2) and runs no experiment.",
            "Gains are counted at the function, one for each element and topic.",
        ),
        settings={
            "people": n_people,
            "sources": n_sources,
            "chosen": rank,
            "runs": runs,
            "seed": run.seed,
        },
        panels={
            "Share of greedy choice without noise": partial(
                lines, rows, "epsilon", "share of greedy", "method", log="x"
            )
        },
    )
