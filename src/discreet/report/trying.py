"""Quick attacks and audits for the panels of the demo: each on what its chapter shows, in a few seconds.

Attacks on choices, counts and tables know the private data. These functions are for synthetic data, and for designs,
whose inputs are public.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core.randomness import SeededBits
from discreet.evaluate.attack.finding import Attacked
from discreet.evaluate.audit.request import AuditRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.core.guarantee import PureDP
    from discreet.core.outcome import Anonymization, Design, Release
    from discreet.core.randomness import UniformSource
    from discreet.evaluate.audit.audit import Audit
    from discreet.hierarchy import GroupSizes
    from discreet.kanonymity.problem import Attribute
    from discreet.metricdp.bounds.bound import Multipliers
    from discreet.metricdp.problem import Problem
    from discreet.submodular import FacilityLocation, Matroid, Selection

_SLOW_REPLAYS = frozenset({"algorithm-1"})
"""Methods whose draws take more than a few seconds to replay."""


def try_design(
    made: Design[Problem, Multipliers],
    *,
    reports: Sequence[int] = (1, 2, 5, 10),
    trials: int = 2_000,
) -> tuple[Attacked, tuple[Audit, ...]]:
    """Attack a design with one report and with several, and audit its channel by the certificate that it carries.

    Parameters
    ----------
    made
        The design: two secrets or more.
    reports
        Numbers of reports of one secret, ascending.
    trials
        Games of each attack; the time grows with it.

    Returns
    -------
    Attacked and tuple of Audit
        For the chapter. Everything is computed from public inputs: chance has a seed, so that the same design gives
        the same page.
    """
    from discreet.evaluate.attack.design import attack_channel
    from discreet.evaluate.audit.channels import audit_channel

    problem = made.problem
    attacked = attack_channel(
        made.channel,
        problem,
        made.guarantee,
        reports=reports,
        trials=trials,
        bits=SeededBits(1),
    )
    audited = audit_channel(
        made.channel, problem.space, made.guarantee, made.certificate, AuditRequest()
    )
    return attacked, (audited,)


def try_choice(
    f: FacilityLocation,
    without: FacilityLocation,
    matroid: Matroid,
    guarantee: PureDP,
    *,
    trials: int = 60,
) -> Attacked:
    """Play whether one made record was among those that decided.

    Returns the finding, private for real records.

    Parameters
    ----------
    f, without
        The objective with the record, and without it.
    matroid, guarantee
        What may be chosen, and what is promised.
    trials
        Games, 40 or more; each is a release.
    """
    from discreet.evaluate.attack.membership import attack_membership
    from discreet.submodular import release

    def choose(data: FacilityLocation, bits: UniformSource | None) -> Any:  # noqa: ANN401 - pairs
        return release(data, matroid, guarantee, bits=bits).result.chosen

    finding = attack_membership(choose, (f, without), guarantee, trials=trials)
    return Attacked("choice", (finding,))


def audit_choice(made: Release[Selection], matroid: Matroid) -> tuple[Audit, ...]:
    """Audit a choice by the verifier, and its method by every draw on a few synthetic records and all their neighbors.

    Parameters
    ----------
    made
        The release. No record is needed, and none is read.
    matroid
        What could be chosen.

    Returns
    -------
    tuple of Audit
        The verifier's, and the replay where the method is one that replays in seconds.
    """
    from discreet.evaluate.audit.audit import certified
    from discreet.evaluate.audit.submodular import audit_choices
    from discreet.submodular import verify
    from discreet.submodular.methods import METHODS

    guarantee, name = made.guarantee, made.provenance.method
    audits = [certified(verify(made, matroid), guarantee)]
    if name in METHODS.proven and name not in _SLOW_REPLAYS:
        claim: dict[str, Any] = {
            parameter: str(getattr(guarantee, parameter))
            for parameter in ("epsilon", "delta", "rho")
            if hasattr(guarantee, parameter)
        }
        request = AuditRequest(name, neighbors=getattr(guarantee, "neighbors", None), **claim)
        audits.append(audit_choices(request))
    return tuple(audits)


def try_counts(data: GroupSizes, guarantee: PureDP, *, trials: int = 80) -> Attacked:
    """Average repeated releases of made counts, and play whether one made person was counted.

    Returns the findings, private for real counts. The person is added to a household of the commonest size.

    Parameters
    ----------
    data
        Made counts, of public units.
    guarantee
        What is promised of one release.
    trials
        Games, 40 or more; each is a release of the whole table.
    """
    from discreet.evaluate.attack.membership import attack_membership
    from discreet.evaluate.attack.reconstruction import attack_repeated_counts
    from discreet.hierarchy import GroupSizes, release

    tree, true = data.frame.tree, data.node_counts()
    leaves: NDArray[np.int64] = true[tree.leaves]
    # The control group: the same counts, each of another county.
    strangers = GroupSizes.from_counts(tree, np.roll(leaves, 1, axis=0), units="public")

    def counts(bits: UniformSource | None) -> Any:  # noqa: ANN401 - an array
        return release(data, guarantee, bits=bits).result.counts

    findings = attack_repeated_counts(
        counts, true, others=strangers.node_counts(), trials=3, failure=0.05
    )
    # One person more: a household of the commonest size of a county becomes one larger.
    leaf, size = np.unravel_index(int(leaves[:, :-1].argmax()), leaves[:, :-1].shape)
    more = leaves.copy()
    more[leaf, size] -= 1
    more[leaf, size + 1] += 1

    def released_counts(groups: GroupSizes, bits: UniformSource | None) -> tuple[int, ...]:
        released = release(groups, guarantee, bits=bits).result.counts[tree.leaves[leaf]]
        return tuple(round(float(value)) for value in released)

    pair = GroupSizes.from_counts(tree, more, units="public"), data
    findings.append(
        attack_membership(released_counts, pair, guarantee, read=enumerate, trials=trials)
    )
    return Attacked("counts", tuple(findings))


def try_table(
    made: Anonymization[Any, Any],
    attributes: Sequence[Attribute],
    original: Any,  # noqa: ANN401 - a frame
    others: Any,  # noqa: ANN401 - a frame
    sensitive: str,
) -> tuple[Attacked, tuple[Audit, ...]]:
    """Attack a table of synthetic people by linkage and inference, and count its smallest class.

    Returns the findings, private for real people, and an audit of the smallest class. The attacks compare each person
    with each class.

    Parameters
    ----------
    made, attributes
        The anonymized table, and how its quasi-identifiers were read.
    original
        The people of the table, as the attacker knows them.
    others
        People like those who are not in it.
    sensitive
        The column that the attacker wants to know.
    """
    from discreet.evaluate.attack.inference import attack_inference
    from discreet.evaluate.attack.linkage import attack_linkage
    from discreet.evaluate.attack.people import people_of
    from discreet.evaluate.audit.audit import certified
    from discreet.kanonymity.verify import classes_of

    inside = people_of(original, attributes, sensitive)
    outside = people_of(others, attributes, sensitive)
    findings = attack_linkage(made.table, made.guarantee, inside, others=outside)
    findings += attack_inference(made.table, sensitive, inside, others=outside)
    smallest = int(classes_of(made.table, made.guarantee.quasi_identifiers).sizes.min())
    audited = certified(made.certificate, made.guarantee, lower=smallest)
    return Attacked("table", tuple(findings)), (audited,)
