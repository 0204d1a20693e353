"""Quick attacks and audits for the panels of the demo: each on what its chapter shows, in a few seconds.

Attacks on choices, counts and tables know the private data. These functions are for synthetic data, and for designs,
whose inputs are public.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from discreet.core.randomness import SeededBits
from discreet.evaluate.attack.finding import Attacked
from discreet.evaluate.audit.request import AuditRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.core.guarantee import PureDP
    from discreet.core.outcome import Anonymization, Design, Release
    from discreet.evaluate.audit.audit import Audit
    from discreet.hierarchy import GroupSizes
    from discreet.kanonymity.problem import Attribute
    from discreet.metricdp.bounds.bound import Multipliers
    from discreet.metricdp.problem import Problem
    from discreet.submodular import Matroid, Selection

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


def try_counts(data: GroupSizes, guarantee: PureDP, *, games: int = 80) -> Attacked:
    """Average repeated releases of synthetic counts, and play whether a person was counted.

    Returns the findings, private for real counts.

    Parameters
    ----------
    data
        Synthetic counts, of public units.
    guarantee
        What is promised of one release.
    games
        Games, 40 or more; each is a release of the whole table.
    """
    from discreet.evaluate.simulate.attacks import attack_released_counts
    from discreet.hierarchy import release

    findings = attack_released_counts(
        lambda groups, bits: release(groups, guarantee, bits=bits), data, guarantee, games=games
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
    from discreet.evaluate.attack.request import AttackRequest
    from discreet.evaluate.attack.tables import attack_tables
    from discreet.evaluate.audit.audit import certified
    from discreet.kanonymity.verify import classes_of

    request = AttackRequest("table", sensitive=sensitive)
    files = {"original": original, "others": others}
    attacked = attack_tables(made.table, made.guarantee, attributes, request, files=files)
    smallest = int(classes_of(made.table, made.guarantee.quasi_identifiers).sizes.min())
    audited = certified(made.certificate, made.guarantee, lower=smallest)
    # The people are synthetic, so that the findings may be shown.
    return replace(attacked, private=""), (audited,)
