"""Private value against greedy's, and evaluations of Algorithm 4 and of lazy thinning against Algorithm 3.

The first table draws 30 times on each of 5 crowds of 5,000 clients, 20 of 100 places in 10 parts, under pure
differential privacy for adding or removing a client, and asserts that the mean share of non-private greedy's value is
at least that of the float prototype, within two standard errors of the difference. The second counts evaluations on
topics at rank 100 and asserts that sampling needs a fourth of them at the same value.

Times are processor seconds.

    python benchmarks/submodular_private.py
"""

from __future__ import annotations

import math
import time

import numpy as np

from discreet.core.guarantee import PureDP
from discreet.core.randomness import SeededBits
from discreet.submodular import Subsampled, release, reproduce
from discreet.submodular.methods.baselines import LazyGreedy
from discreet_reproduction.record import Run, numbers
from discreet_reproduction.submodular.instances import crowd
from discreet_reproduction.submodular.values import sampling

PROTOTYPE = {"0.1": (0.980, 0.009), "0.5": (0.997, 0.003), "1": (1.000, 0.003)}
"""Share and standard error of the float prototype, 20 draws on one crowd."""


def private_value() -> None:
    """Print the shares and assert them."""
    print("epsilon    share     error   prototype   s/release")
    for epsilon, (share, error) in PROTOTYPE.items():
        found = []
        seconds = 0.0
        for seed in range(23, 28):
            case = crowd(5000, 2, seed=seed)
            greedy = reproduce(case.objective, case.matroid, LazyGreedy()).result
            best = case.objective.value(greedy.chosen)
            for draw in range(30):
                start = time.process_time()
                made = release(
                    case.objective,
                    case.matroid,
                    PureDP(epsilon, "add-remove-one"),
                    method=Subsampled(),
                    bits=SeededBits(draw),
                )
                seconds += time.process_time() - start
                found.append(case.objective.value(made.result.chosen) / best)
        mean, own = float(np.mean(found)), float(np.std(found, ddof=1)) / math.sqrt(len(found))
        print(f"{epsilon:>7}  {mean:.4f}  {own:.5f}  {share:10.3f}  {seconds / len(found):10.4f}")
        assert mean >= share - 2 * math.hypot(own, error)


def evaluations() -> None:
    """Print the counts and assert them."""
    made = sampling(Run(quick=False, seed=0))
    print(made.text())
    large = [row for row in made.rows if row["rank"] == 100]
    eager_value, sampled_value, _ = numbers(large, "value")
    eager, sampled, lazy = numbers(large, "evaluations")
    assert sampled_value >= 0.999 * eager_value
    assert 4 * sampled <= eager
    assert 10 * lazy <= eager


if __name__ == "__main__":
    private_value()
    evaluations()
