"""What private methods reach: value against epsilon on crowds, steps of continuous greedy, and where greedy loses."""

from __future__ import annotations

import math
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core.guarantee import ApproxDP
from discreet.core.randomness import SeededBits
from discreet.submodular import Algorithm3, BadanidiyuruVondrak, Subsampled, release, reproduce
from discreet.submodular.accounting import Draws, strongest
from discreet.submodular.method import DrawPlan
from discreet.submodular.methods.algorithm_4 import Algorithm4
from discreet.submodular.methods.baselines import LazyGreedy, RandomBase
from discreet.submodular.methods.bases import BaseContinuousGreedy
from discreet.submodular.methods.gupta import Gupta
from discreet.submodular.methods.mitrovic import Mitrovic
from discreet.submodular.methods.permute_and_flip import PermuteAndFlip
from discreet.submodular.methods.subsampled_rounds import SubsampledRounds
from discreet_reproduction.drawing import bars, lines
from discreet_reproduction.record import Experiment
from discreet_reproduction.submodular.instances import Instance, crowd, greedy_trap, topics

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.core.guarantee import DPGuarantee, Neighbors
    from discreet.submodular.problem import ChoiceFacts
    from discreet_reproduction.record import Cell, Run

Row = dict[str, "Cell"]

DELTA = "1e-6"

_NO_PAPER = "The paper has no experiments; the figures beside ours would be those of nobody."


class _Concentrated:
    """Algorithm 3 accounted for by zCDP of bounded range alone."""

    name = "greedy, zCDP"

    def plan(self, statement: ChoiceFacts, matroid: Any, guarantee: DPGuarantee) -> DrawPlan:  # noqa: ANN401 - passed on
        rules = frozenset({"zCDP, converted"})
        coefficient, lines = strongest(Draws(matroid.rank), statement, guarantee, rules=rules)
        return DrawPlan(coefficient, lines, matroid.rank)

    def choose(self, *arguments: Any) -> Any:  # noqa: ANN401 - passed on
        return Algorithm3().choose(*arguments)


def _methods() -> dict[str, Any]:
    return {
        "greedy, basic": Mitrovic(),
        "permute-and-flip": PermuteAndFlip(),
        "greedy, zCDP": _Concentrated(),
        "Gupta": Gupta(),
        "subsampled, pure": Subsampled(),
        "subsampled, M = 2, pure": SubsampledRounds(rounds=2),
        "bases, T = r": BaseContinuousGreedy(),
        "Badanidiyuru-Vondrák, M = 4": BadanidiyuruVondrak(rounds=4),
    }


def _greedy_value(instance: Instance) -> int:
    made = reproduce(instance.objective, instance.matroid, LazyGreedy())
    return instance.objective.value(made.result.chosen)


def _shares(
    instance: Instance,
    method: Any,  # noqa: ANN401 - several kinds
    guarantee: DPGuarantee,
    seeds: Sequence[int],
    best: int,
) -> tuple[float, float]:
    """Mean value over draws, as a share of greedy's, and its standard error."""
    values = [
        instance.objective.value(
            release(
                instance.objective, instance.matroid, guarantee, method=method, bits=SeededBits(s)
            ).result.chosen
        )
        / best
        for s in seeds
    ]
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else math.nan
    return float(np.mean(values)), spread / math.sqrt(len(values))


def value(run: Run) -> Experiment:
    """Value against epsilon, as a share of non-private greedy's: U1 (replacement) and U2 (adding and removing)."""
    cases: list[tuple[str, Instance, Neighbors]] = [
        ("U1", crowd(1000, 1, seed=run.seed + 11), "replace-one"),
        ("U2", crowd(5000, 2, seed=run.seed + 23), "add-remove-one"),
    ]
    epsilons = ("0.1", "0.5", "1") if run.quick else ("0.05", "0.1", "0.25", "0.5", "1", "2", "5")
    draws = 4 if run.quick else 20
    rows: list[Row] = []
    for label, instance, neighbors in cases:
        best = _greedy_value(instance)
        blind, error = _shares(
            instance, RandomBase(), ApproxDP(1, DELTA, neighbors), range(draws), best
        )
        rows.append({"instance": label, "method": "random base", "share": blind, "error": error})
        for epsilon in epsilons:
            for name, method in _methods().items():
                run.say(f"{label}: {name}, epsilon {epsilon}")
                start = time.process_time()
                guarantee = ApproxDP(epsilon, DELTA, neighbors)
                share, error = _shares(instance, method, guarantee, range(draws), best)
                seconds = (time.process_time() - start) / draws
                rows.append(
                    {
                        "instance": label,
                        "method": name,
                        "epsilon": float(epsilon),
                        "share": share,
                        "error": error,
                        "seconds": round(seconds, 4),
                    }
                )
    return Experiment(
        "submodular/value",
        "Private value as a share of non-private greedy's",
        columns=("instance", "method", "epsilon", "share", "error", "seconds"),
        rows=rows,
        notes=(
            _NO_PAPER,
            (
                f"U1: {cases[0][1].name}, one record replaced. U2: {cases[1][1].name}, one added or removed. "
                f"delta {DELTA}; error is one standard error."
            ),
        ),
        settings={"seed": run.seed, "quick": run.quick, "draws": draws},
        panels={
            f"{label}: {instance.name}": partial(
                lines,
                [row for row in rows if row["instance"] == label and "epsilon" in row],
                "epsilon",
                "share",
                "method",
                log="x",
            )
            for label, instance, _ in cases
        },
    )


def _compare(
    instance: Instance, methods: dict[str, Any], epsilons: Sequence[str], draws: int
) -> list[Row]:
    best = _greedy_value(instance)
    rows: list[Row] = []
    for epsilon in epsilons:
        for name, method in methods.items():
            guarantee = ApproxDP(epsilon, DELTA, "replace-one")
            share, error = _shares(instance, method, guarantee, range(draws), best)
            rows.append({"method": name, "epsilon": float(epsilon), "share": share, "error": error})
    return rows


def steps(run: Run) -> Experiment:
    """How many rounds or steps pay: U3, on the crowd of U1."""
    instance = crowd(1000, 1, seed=run.seed + 11)
    draws = 4 if run.quick else 15
    methods: dict[str, Any] = {f"M = {m}": BadanidiyuruVondrak(rounds=m) for m in (1, 2, 4)}
    methods |= {f"bases, T = {t}": BaseContinuousGreedy(steps=t) for t in (2, 10)}
    run.say(instance.name)
    rows = _compare(instance, methods, ("1", "5", "20"), draws)
    return Experiment(
        "submodular/steps",
        "Rounds and steps of continuous greedy",
        columns=("method", "epsilon", "share", "error"),
        rows=rows,
        notes=(
            _NO_PAPER,
            "Fractional methods pay where the signal is large: greedy, M = 1, is the default.",
        ),
        settings={"seed": run.seed, "quick": run.quick, "draws": draws},
        panels={
            "Share of greedy's value": partial(lines, rows, "epsilon", "share", "method", log="x")
        },
    )


def greedy_loses(run: Run) -> Experiment:
    """The instance on which greedy is bad and continuous greedy is not: U4, shares of the optimum."""
    draws = 40 if run.quick else 200
    rows: list[Row] = []
    methods: dict[str, Any] = {
        "greedy": Algorithm3(),
        "M = 2": BadanidiyuruVondrak(rounds=2),
        "M = 4": BadanidiyuruVondrak(rounds=4),
        "bases, T = 2": BaseContinuousGreedy(steps=2),
        "bases, T = 4": BaseContinuousGreedy(steps=4),
        "subsampled, pure": Subsampled(),
        "subsampled, M = 4, pure": SubsampledRounds(rounds=4),
    }
    for n_users in (20_000, 200):
        instance = greedy_trap(n_users)
        for name, method in methods.items():
            run.say(f"{n_users} users: {name}")
            guarantee = ApproxDP(2, DELTA, "replace-one")
            seeds = range(run.seed, run.seed + draws)
            share, error = _shares(instance, method, guarantee, seeds, n_users)
            rows.append({"users": n_users, "method": name, "share": share, "error": error})
    return Experiment(
        "submodular/greedy-loses",
        "Shares of the optimum where greedy takes duplicates",
        rows=rows,
        notes=(
            _NO_PAPER,
            "epsilon 2, delta 1e-6, one record replaced. Greedy's worst tie has 0.55.",
        ),
        settings={"seed": run.seed, "quick": run.quick, "draws": draws},
        panels={
            "Share of the optimum": partial(bars, rows, ("users", "method"), "share", error="error")
        },
    )


def sampling(run: Run) -> Experiment:
    """Algorithm 4 against Algorithm 3 on topics (U5): as much value from fewer evaluations, at large ranks."""
    n_users, n_sources = (4000, 800) if run.quick else (20_000, 2000)
    rows: list[Row] = []
    for rank in (20, 100):
        instance = topics(n_users, n_sources, rank, seed=run.seed)
        plans: dict[str, Any] = {
            "Algorithm 3": Algorithm3(lazy=False),
            "Algorithm 4": Algorithm4("0.1", lazy=False),
            "Algorithm 3, lazy thinning": Algorithm3(),
        }
        for name, method in plans.items():
            run.say(f"{instance.name}: {name}")
            before = instance.objective.evaluations
            start = time.process_time()
            made = release(
                instance.objective,
                instance.matroid,
                ApproxDP(10 * rank, DELTA, "add-remove-one"),
                method=method,
                bits=SeededBits(run.seed),
            )
            evaluations = instance.objective.evaluations - before
            rows.append(
                {
                    "rank": rank,
                    "method": name,
                    "value": instance.objective.value(made.result.chosen)
                    / (1 << instance.objective.scale_bits),
                    "evaluations": evaluations,
                    "seconds": round(time.process_time() - start, 3),
                }
            )
    return Experiment(
        "submodular/sampling",
        "Evaluations with sampled candidates and with lazy thinning",
        rows=rows,
        notes=(_NO_PAPER, "Ten nats a draw: nearly no noise."),
        settings={"seed": run.seed, "quick": run.quick, "users": n_users, "sources": n_sources},
        panels={"Evaluations": partial(bars, rows, ("rank", "method"), "evaluations")},
    )
