"""Attacks on mechanisms by their names, each run on synthetic data; behind ``discreet attack MECHANISM``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from discreet.evaluate.attack.finding import DEFAULT_FAILURE, Attacked

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.core.guarantee import KAnonymity, PureDP
    from discreet.core.randomness import UniformSource
    from discreet.evaluate.attack.finding import Finding
    from discreet.evaluate.attack.request import AttackRequest
    from discreet.hierarchy import GroupSizes
    from discreet.kanonymity.problem import Attribute

_DATA = "on synthetic data"


def attack_grid(request: AttackRequest) -> Attacked:
    """Attack a method of metricdp on a grid of 5 x 5 cells of 1 km.

    The request needs ``epsilon`` per km and may have ``method``, ``reports``, ``steps`` and ``stride``; others are
    refused with InvalidProblemError. One design, and the draws of ``attack_channel``.
    """
    from discreet.core.guarantee import MetricDP
    from discreet.core.spaces.metric import MetricSpace
    from discreet.evaluate.attack.design import attack_channel
    from discreet.metricdp import Problem, design
    from discreet.metricdp.methods import METHODS

    request.only(("method", "epsilon", "reports", "steps", "stride"))
    space = MetricSpace.grid(5, 5, cell=1, unit="km")
    problem = Problem(space, utility_loss="euclidean")
    method = METHODS.resolve(request.method, field="method", optional=True)
    claim = MetricDP(request.need("epsilon"), unit="km")
    made = design(problem, claim, method=method, throw=False)
    name = f"metricdp, {made.provenance.method}, 5 x 5 km"
    return attack_channel(made.channel, problem, made.guarantee, target=name, **request.draws)


def attack_patients(request: AttackRequest) -> Attacked:
    """Anonymize 300 synthetic patients twice, and attack both tables and their intersection.

    300 others are the control. The request needs ``k`` and may name a ``method``; other options are refused with
    InvalidProblemError. Each of the two searches takes up to a second.
    """
    import narwhals as nw

    from discreet.core.guarantee import KAnonymity
    from discreet.datasets import made_patients
    from discreet.evaluate.attack.tables import attack_tables
    from discreet.kanonymity import anonymize
    from discreet.kanonymity.methods import METHODS

    request.only(("method", "k"))
    everybody = nw.from_dict(made_patients(600, seed=8), backend="polars").to_native()
    people, strangers = everybody[:300], everybody[300:]
    attributes = patient_attributes()
    guarantee = KAnonymity(int(request.need("k")), ("age", "sex", "zip"))
    method = METHODS.resolve(request.method, field="method", optional=True)

    def publish(rows: Any, promise: KAnonymity) -> Any:  # noqa: ANN401 - a frame
        kinds = [one for one in attributes if one.name in promise.quasi_identifiers]
        return anonymize(
            rows,
            promise,
            attributes=kinds,
            method=method,
            unassigned="keep",
            time_limit=1.0,
            throw=False,
        ).table

    files = {"original": people, "others": strangers}
    # The second table has a different idea of what people may know, as another agency would.
    fewer = KAnonymity(guarantee.k, ("age", "zip"))
    kinds: list[Attribute] = [attributes[0], attributes[2]]
    again = (publish(people, fewer), kinds)
    return attack_tables(
        publish(people, guarantee),
        guarantee,
        attributes,
        replace(request, sensitive="disease"),
        files=files,
        again=again,
    )


def patient_attributes() -> tuple[Attribute, ...]:
    """Return the attributes of synthetic patients: age, sex and postal code."""
    from discreet.core.tree import Tree
    from discreet.datasets.microdata import zip_paths
    from discreet.kanonymity import Categorical, Numeric, Taxonomy

    codes = Tree.from_paths(zip_paths(), root="*")
    return Numeric("age", low=0, high=99), Categorical("sex"), Taxonomy("zip", codes)


def attack_counts(request: AttackRequest) -> Attacked:
    """Attack releases of synthetic counts: averages, whether a person was counted, and levels.

    The request needs ``epsilon`` and may name a ``method``; other options are refused with InvalidProblemError. Its
    `trials` and `failure` are for all three: by default 3, 8 and 200 trials, and failure 0.05 for the first two, whose
    intervals are over runs. About 20 releases a trial.
    """
    from discreet.core.guarantee import PureDP
    from discreet.datasets import made_census
    from discreet.evaluate.attack.reconstruction import attack_levels
    from discreet.hierarchy import GroupSizes, release, reproduce
    from discreet.hierarchy.measure import measure, truth
    from discreet.hierarchy.methods import DEFAULT, METHODS

    request.only(("method", "epsilon"))
    method = METHODS.resolve(request.method or DEFAULT, field="method", accept_no_guarantee=True)
    claim = PureDP(request.need("epsilon"), "add-remove-person")
    run = reproduce if getattr(method, "unproven", "") else release
    made = made_census(states=2, counties=6, groups=600, max_size=10, outliers=2, seed=1)
    data = GroupSizes.from_counts(made.tree, made.with_size_zero(), units="public")
    # By the default, intervals over a few runs would be as wide as what they bound.
    failure = 0.05 if request.failure == DEFAULT_FAILURE else request.failure
    findings = attack_released_counts(
        lambda groups, bits: run(groups, claim, method=method, bits=bits),
        data,
        claim,
        trials=request.trials or 3,
        games=request.trials or 200,
        failures=(failure, request.failure),
        bits=request.bits,
    )
    if run is release and method.kind in ("direct", "survival"):
        findings += attack_levels(
            lambda bits: measure(data, method.kind, claim, bits=bits),
            truth(data, method.kind),
            trials=request.trials or 8,
            failure=failure,
            bits=request.bits,
        )
    name = f"hierarchy, {request.method or DEFAULT}, {_DATA}"
    return Attacked(name, tuple(findings), {"epsilon": float(claim.epsilon)})


def attack_released_counts(
    run: Callable[[GroupSizes, UniformSource | None], Any],
    data: GroupSizes,
    claim: PureDP,
    *,
    trials: int = 3,
    games: int = 200,
    failures: tuple[float, float] = (0.05, DEFAULT_FAILURE),
    bits: UniformSource | None = None,
) -> list[Finding]:
    """Average repeated releases of synthetic counts, and play whether a person was counted.

    The person is added to a group of the commonest size of a county. ``16 trials`` and ``2 games`` releases.

    Parameters
    ----------
    run
        ``run(data, bits)``: one release.
    data
        Counts of public units.
    claim
        What is promised of one release.
    trials, games
        Repetitions of the averages; games, 40 or more.
    failures
        Probability with which an interval misses, of the averages and of the games.
    bits
        Source of chance.

    Returns
    -------
    list of Finding
        Private for real counts.
    """
    import numpy as np

    from discreet.evaluate.attack.membership import attack_membership
    from discreet.evaluate.attack.reconstruction import attack_repeated_counts
    from discreet.hierarchy import GroupSizes

    tree, true = data.frame.tree, data.node_counts()
    leaves = true[tree.leaves]
    # The control group: the same counts, each of another county.
    strangers = GroupSizes.from_counts(tree, np.roll(leaves, 1, axis=0), units="public")
    findings = attack_repeated_counts(
        lambda bits: run(data, bits).result.counts,
        true,
        others=strangers.node_counts(),
        trials=trials,
        failure=failures[0],
        bits=bits,
    )
    more = leaves.copy()
    # One person more: a group of the commonest size of a county becomes one larger.
    leaf, size = np.unravel_index(int(leaves[:, :-1].argmax()), leaves[:, :-1].shape)
    more[leaf, size] -= 1
    more[leaf, size + 1] += 1

    def county_counts(groups: GroupSizes, bits: UniformSource | None) -> tuple[int, ...]:
        counts = run(groups, bits).result.counts[tree.leaves[leaf]]
        return tuple(round(float(value)) for value in counts)

    pair = GroupSizes.from_counts(tree, more, units="public"), data
    game = attack_membership(
        county_counts, pair, claim, read=enumerate, trials=games, failure=failures[1], bits=bits
    )
    return [*findings, game]


def attack_choices(request: AttackRequest) -> Attacked:
    """Attack private choices, to learn whether a record was among those that decided.

    The request needs ``epsilon`` and may name a ``method``; other options are refused.

    Findings are for one release and for five; the cost is twice `trials`, by default 1,000, choices for each release.
    """
    import numpy as np

    from discreet.core.guarantee import PureDP
    from discreet.core.randomness import as_bits
    from discreet.evaluate.attack.membership import attack_membership
    from discreet.submodular import Coverage, UniformMatroid
    from discreet.submodular.methods import METHODS
    from discreet.submodular.stating import state_choice

    request.only(("method", "epsilon"))
    name = request.method or "subsampled"
    method = METHODS.resolve(name, field="method")
    claim = PureDP(request.need("epsilon"), "add-remove-one")
    reach = np.zeros((12, 4), dtype=np.bool_)
    # The first two elements are tied but for the record in question.
    for row in range(12):
        reach[row, row % 4 if row < 8 else row % 2] = True
    target = np.array([[True, False, False, False]])
    matroid = UniformMatroid(4, 2)
    pair = Coverage(np.concatenate([reach, target])), Coverage(reach)
    plan = method.plan(state_choice(pair[1], matroid, claim), matroid, claim)

    def choose(data: Coverage, bits: UniformSource | None) -> Any:  # noqa: ANN401 - pairs
        return method.choose(data, matroid, plan, as_bits(bits))

    findings = [
        attack_membership(
            choose,
            pair,
            claim,
            releases=releases,
            trials=request.trials or 1_000,
            failure=request.failure,
            bits=request.bits,
        )
        for releases in (1, 5)
    ]
    return Attacked(
        f"submodular, {name}, {_DATA}", tuple(findings), {"epsilon": float(claim.epsilon)}
    )
