"""Attacks by the names of mechanisms, on made data, and on files by their kind; behind ``discreet attack``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.core.errors import InvalidProblemError
from discreet.evaluate.attack.finding import Attacked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.core.guarantee import KAnonymity
    from discreet.core.randomness import UniformSource
    from discreet.evaluate.attack.asked import AttackRequest
    from discreet.kanonymity.problem import Attribute

__all__ = [
    "attack_channel_file",
    "attack_choices",
    "attack_counts",
    "attack_grid",
    "attack_patients",
    "attack_placed_file",
    "attack_table_file",
    "refuse_release",
]

_REPORTS = (1, 2, 5, 10)
_MANY, _FEWER = 400, 2_000
"""Places beyond which fewer reports are drawn unless told: each draw of the production sampler computes a row."""
_PRIVATE = "computed from the original: for the curator, not for publication"
_MADE = "on made data"


def attack_channel_file(asked: AttackRequest) -> Attacked:
    """Attack the channel of a file, within what its guarantee allows."""
    from discreet.cli.files import open_channel
    from discreet.evaluate.attack.design import attack_channel

    asked.only(("reports", "steps", "stride"))
    made = open_channel(asked.target).design
    return attack_channel(
        made.channel, made.problem, made.guarantee, target=asked.target, **_drawn(asked)
    )


def attack_placed_file(asked: AttackRequest) -> Attacked:
    """Attack the rows of a channel without a table, or of a location service's mechanism, by an even prior."""
    from discreet.cli.judging import artefact_kind
    from discreet.cli.mechanisms import open_placed
    from discreet.evaluate.attack.design import attack_shown
    from discreet.evaluate.attack.rows import ShownRows

    asked.only(("reports", "steps", "stride"))
    kept = open_placed(asked.target, artefact_kind(asked.target))
    drawn = _drawn(asked)
    if drawn["trials"] is None and kept.channel.n_secrets > _MANY:
        drawn["trials"] = _FEWER
    return attack_shown(
        ShownRows(kept.channel), kept.channel.space, kept.guarantee, target=asked.target, **drawn
    )


def refuse_release(asked: AttackRequest) -> Attacked:
    """Refuse counts and measurements: what they were made of is in no file.

    Raises
    ------
    InvalidProblemError
        Always.
    """
    raise InvalidProblemError(
        "FILE",
        "a channel, a mechanism or an anonymized table: an attack on counts needs the truth, and a release "
        "does not hold it; `discreet attack hierarchy` attacks releases of made counts",
        f"a release, {asked.target!r}",
    )


def attack_grid(asked: AttackRequest) -> Attacked:
    """Attack a method of metricdp on a grid of 5 x 5 cells of 1 km."""
    from discreet.cli.registry import METHODS, find
    from discreet.core.guarantee import MetricDP
    from discreet.core.metric import MetricSpace
    from discreet.evaluate.attack.design import attack_channel
    from discreet.metricdp import Problem, design

    asked.only(("method", "epsilon", "reports", "steps", "stride"))
    space = MetricSpace.grid(5, 5, cell=1, unit="km")
    problem = Problem(space, utility_loss="euclidean")
    method = None if asked.method is None else find(METHODS, asked.method, "--method")()
    claim = MetricDP(asked.need("epsilon"), unit="km")
    made = design(problem, claim, method=method, throw=False)
    name = f"metricdp, {made.provenance.method}, 5 x 5 km"
    return attack_channel(made.channel, problem, made.guarantee, target=name, **_drawn(asked))


def attack_table_file(asked: AttackRequest) -> Attacked:
    """Attack a published table, with the original to know people from."""
    from discreet.artefact import load_anonymous
    from discreet.cli.microdata import no_column, read_rows

    asked.only(("original", "others", "population", "again", "sensitive"))
    kept = load_anonymous(asked.target)
    names = kept.guarantee.quasi_identifiers
    attributes: list[Attribute] = [one for one in kept.attributes if one.name in names]
    files = {
        name: read_rows(path, f"--{name}")
        for name in ("original", "others", "population", "again")
        if (path := getattr(asked, name)) is not None
    }
    if "original" not in files:
        asked.need("original")
    for name, column in ((name, column) for name in files if name != "again" for column in names):
        if column not in files[name].columns:
            raise no_column(f"--{name}", column, files[name].width)
    published = read_rows(asked.target, "FILE")
    again: tuple[Any, Sequence[Attribute]] | None = None
    if asked.again is not None:
        second = load_anonymous(asked.again)
        promised = second.guarantee.quasi_identifiers
        known: list[Attribute] = [one for one in second.attributes if one.name in promised]
        again = (files.pop("again"), known)
    return _attack_table(published, kept.guarantee, attributes, asked, files=files, again=again)


def attack_patients(asked: AttackRequest) -> Attacked:
    """Anonymize made patients twice, and attack both tables and their intersection."""
    import polars as pl

    from discreet.cli.curating import method_of
    from discreet.core.guarantee import KAnonymity
    from discreet.core.tree import Tree
    from discreet.datasets import made_patients
    from discreet.datasets.microdata import zip_paths
    from discreet.kanonymity import Categorical, Numeric, Taxonomy, anonymize

    asked.only(("method", "k"))
    everybody = pl.DataFrame(made_patients(600, seed=8))
    people, others = everybody[:300], everybody[300:]
    attributes = (
        Numeric("age", low=0, high=99),
        Categorical("sex"),
        Taxonomy("zip", Tree.from_paths(zip_paths(), root="*")),
    )
    guarantee = KAnonymity(int(asked.need("k")), ("age", "sex", "zip"))
    method = method_of(asked.method)

    def publish(rows: pl.DataFrame, promise: KAnonymity) -> Any:  # noqa: ANN401 - a frame
        kinds = [one for one in attributes if one.name in promise.quasi_identifiers]
        return anonymize(
            rows, promise, attributes=kinds, method=method, time_limit=1.0, throw=False
        ).table

    files = {"original": people, "others": others}
    # The second table has a different idea of what people may know, as another agency would.
    fewer = KAnonymity(guarantee.k, ("age", "zip"))
    kinds: list[Attribute] = [attributes[0], attributes[2]]
    again = (publish(people, fewer), kinds)
    return _attack_table(
        publish(people, guarantee),
        guarantee,
        attributes,
        asked,
        files=files,
        again=again,
        sensitive="disease",
    )


def _attack_table(
    published: Any,  # noqa: ANN401 - a frame
    guarantee: KAnonymity,
    attributes: Sequence[Attribute],
    asked: AttackRequest,
    *,
    files: dict[str, Any],
    again: tuple[Any, Sequence[Attribute]] | None,
    sensitive: str | None = None,
) -> Attacked:
    from discreet.evaluate.attack.inference import attack_inference
    from discreet.evaluate.attack.intersection import attack_intersection
    from discreet.evaluate.attack.linkage import attack_linkage
    from discreet.evaluate.attack.people import people_of

    secret = asked.sensitive or sensitive
    for name, table in {**files, "FILE": published}.items():
        if secret is not None and name != "population" and secret not in table.columns:
            raise InvalidProblemError("--sensitive", "a column of every table", repr(secret))
    people = people_of(files["original"], attributes, secret)
    others = people_of(files["others"], attributes, secret) if "others" in files else None
    crowd = people_of(files["population"], attributes) if "population" in files else None
    findings = attack_linkage(
        published, guarantee, people, others=others, population=crowd, failure=asked.failure
    )
    if secret is not None:
        findings += attack_inference(
            published, secret, people, others=others, failure=asked.failure
        )
    if again is not None:
        if secret is None:
            raise InvalidProblemError("--sensitive", "a column, with --again", "none")
        second, kinds = again
        strange = None
        if others is not None:
            strange = (others, people_of(files["others"], kinds, secret))
        findings += attack_intersection(
            (published, second),
            secret,
            (people, people_of(files["original"], kinds, secret)),
            others=strange,
            failure=asked.failure,
        )
    return Attacked(asked.target, tuple(findings), {"k": guarantee.k}, _PRIVATE)


def attack_counts(asked: AttackRequest) -> Attacked:
    """Attack releases of made counts: averages, levels, and whether somebody was counted."""
    import numpy as np

    from discreet.core.guarantee import PureDP
    from discreet.datasets import made_census
    from discreet.evaluate.attack.membership import attack_membership
    from discreet.evaluate.attack.reconstruction import attack_levels, attack_repeated_counts
    from discreet.hierarchy import GroupSizes, release, reproduce
    from discreet.hierarchy.measure import measure, truth
    from discreet.hierarchy.methods import method_named

    asked.only(("method", "epsilon"))
    method = method_named(asked.method or "m_c_dp_weighted")
    claim = PureDP(asked.need("epsilon"), "add-remove-person")
    run = reproduce if getattr(method, "unproven", "") else release
    made = made_census(states=2, counties=6, groups=600, max_size=10, outliers=2, seed=1)
    given, tree = made.with_size_zero(), made.tree
    data = GroupSizes.from_counts(tree, given, units="public")
    # The control group: the same counts, each of another county.
    strangers = GroupSizes.from_counts(tree, np.roll(given, 1, axis=0), units="public")

    def counts(bits: UniformSource | None) -> Any:  # noqa: ANN401 - an array
        return run(data, claim, method=method, bits=bits).result.counts

    findings = attack_repeated_counts(
        counts,
        data.node_counts(),
        others=strangers.node_counts(),
        trials=3,
        failure=0.05,
        bits=asked.bits,
    )
    if run is release and method.kind in ("direct", "survival"):
        findings += attack_levels(
            lambda bits: measure(data, method.kind, claim, bits=bits),
            truth(data, method.kind),
            trials=8,
            failure=0.05,
            bits=asked.bits,
        )
    more = given.copy()
    # One person more: a group of the commonest size of a county becomes one larger.
    leaf, size = np.unravel_index(int(given[:, :-1].argmax()), given[:, :-1].shape)
    more[leaf, size] -= 1
    more[leaf, size + 1] += 1
    pair = GroupSizes.from_counts(tree, more, units="public"), data

    def told(groups: GroupSizes, bits: UniformSource | None) -> tuple[int, ...]:
        given = run(groups, claim, method=method, bits=bits).result.counts
        return tuple(round(float(value)) for value in given[tree.leaves[leaf]])

    findings.append(
        attack_membership(
            told,
            pair,
            claim,
            read=enumerate,
            trials=asked.trials or 200,
            failure=asked.failure,
            bits=asked.bits,
        )
    )
    name = f"hierarchy, {asked.method or 'm_c_dp_weighted'}, {_MADE}"
    return Attacked(name, tuple(findings), {"epsilon": float(claim.epsilon)})


def attack_choices(asked: AttackRequest) -> Attacked:
    """Attack private choices, to learn whether a record was among those that decided."""
    import numpy as np

    from discreet.cli.registry import find
    from discreet.core.guarantee import PureDP
    from discreet.core.randomness import as_bits
    from discreet.evaluate.attack.membership import attack_membership
    from discreet.submodular import Coverage, UniformMatroid
    from discreet.submodular._release import state_choice
    from discreet.submodular.methods import METHODS

    asked.only(("method", "epsilon"))
    name = asked.method or "subsampled"
    method = find(METHODS, name, "--method")()
    claim = PureDP(asked.need("epsilon"), "add-remove-one")
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
            trials=asked.trials or 1_000,
            failure=asked.failure,
            bits=asked.bits,
        )
        for releases in (1, 5)
    ]
    return Attacked(
        f"submodular, {name}, {_MADE}", tuple(findings), {"epsilon": float(claim.epsilon)}
    )


def _drawn(asked: AttackRequest) -> dict[str, Any]:
    return {
        "reports": asked.reports or _REPORTS,
        "steps": asked.steps or 0,
        "stride": asked.stride,
        "trials": asked.trials,
        "failure": asked.failure,
        "bits": asked.bits,
    }
