"""What methods of counts, tables and choices lose on synthetic data, at an epsilon or a k."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from fractions import Fraction

    from discreet.evaluate.utility.measure import Measure


def counts_lost(method: str, epsilon: Fraction) -> Measure:
    """Measure the absolute error of counts of the smallest regions of a synthetic census.

    `method` is a name of a method with a guarantee; `epsilon` is for a person added or removed.  Six releases.
    """
    from discreet.core.guarantee import PureDP
    from discreet.datasets import made_census
    from discreet.evaluate.utility.counts import count_utility
    from discreet.hierarchy import GroupSizes, release

    made = made_census(states=3, counties=12, groups=4000, max_size=10, outliers=5, seed=3)
    data = GroupSizes.from_counts(made.tree, made.with_size_zero(), units="public")
    claim = PureDP(epsilon, "add-remove-person")

    def run(bits: Any) -> Any:  # noqa: ANN401 - a source of bits, a release
        return release(data, claim, method=method, bits=bits)

    return count_utility(run, data, trials=6)[made.tree.depth]


def choices_lost(method: str, epsilon: Fraction) -> Measure:
    """Measure the value of a choice of 5 of 20 places for 400 synthetic clients.

    `method` is a name; `epsilon` is for a client added or removed. Twelve choices, and as many random ones.
    """
    from discreet.core.guarantee import PureDP
    from discreet.core.randomness import as_bits
    from discreet.datasets.choices import clustered_similarity
    from discreet.evaluate.utility.choices import choice_utility
    from discreet.submodular import FacilityLocation, UniformMatroid
    from discreet.submodular.methods import METHODS
    from discreet.submodular.stating import state_choice

    objective = FacilityLocation(clustered_similarity(400, 20, seed=4))
    matroid, claim = UniformMatroid(20, 5), PureDP(epsilon, "add-remove-one")
    chosen = METHODS.resolve(method, field="methods")
    plan = chosen.plan(state_choice(objective, matroid, claim), matroid, claim)

    def run(bits: Any) -> Any:  # noqa: ANN401 - a source of bits, pairs
        return chosen.choose(objective, matroid, plan, as_bits(bits))

    return choice_utility(run, objective, matroid, trials=12)


def tables_lost(method: str, k: Fraction) -> Measure:
    """Measure the loss of a cell of a table of synthetic patients by `method`; refuse a k that is no whole number.

    Searches for at most two seconds.
    """
    import narwhals as nw

    from discreet.core.guarantee import KAnonymity
    from discreet.datasets import made_patients
    from discreet.evaluate.intervals import Estimate
    from discreet.evaluate.simulate.attacks import patient_attributes
    from discreet.evaluate.utility.measure import Measure
    from discreet.kanonymity import anonymize
    from discreet.kanonymity.methods import METHODS

    if k.denominator != 1:
        raise InvalidProblemError("k", "whole numbers", str(k))
    chosen = METHODS.resolve(method, field="methods")
    people = nw.from_dict(made_patients(300, seed=9), backend="polars").to_native()
    made = anonymize(
        people,
        KAnonymity(int(k), ("age", "sex", "zip")),
        attributes=patient_attributes(),
        method=chosen,
        sensitive=["disease"],
        time_limit=2.0,
        throw=False,
    )
    loss = Estimate.computed(made.diagnostics.mean_loss)
    return Measure("loss of a cell", loss, best=0.0, worst=1.0)
