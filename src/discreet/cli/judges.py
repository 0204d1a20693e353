"""Check artefacts anew, with code that did not make them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.cli.files import open_any, open_channel
from discreet.core.certificate import Certificate, Check
from discreet.core.errors import InvalidProblemError
from discreet.core.exact import float_ceil

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.artefact import AnchoredArtefact
    from discreet.core.guarantee import Guarantee
    from discreet.core.metric import MetricSpace
    from discreet.core.outcome import Provenance

__all__ = ["claim_facts", "judge_anchored", "judge_channel"]


def judge_channel(path: str, *, optimality: bool) -> tuple[Certificate, dict[str, Any]]:
    """Verify the channel of a file.

    Parameters
    ----------
    path
        The file.
    optimality
        Whether to check the lower bound too.

    Returns
    -------
    certificate : Certificate
        All checks.
    facts : dict
        Those of :func:`claim_facts`.
        ``achieved_epsilon``: the least epsilon, per unit of distance, that the channel has on the pairs within the
        radius, rounded up; ``None`` where it has none.
    """
    from discreet.metricdp.verify import verify

    design = open_channel(path).design
    loss = design.channel.privacy_loss(design.problem.space, radius=design.guarantee.radius)
    achieved = None if loss.epsilon is None else float_ceil(loss.epsilon)
    seeded = Check(
        "made with a seed, hence not private", int(design.provenance.seeded), 0, exact=True
    )
    checks = (*verify(design, optimality=optimality).checks, seeded)
    unchecked = []
    if not optimality:
        unchecked.append("that no channel loses less: --optimality does")
    unchecked += _taken(design.problem.space)
    found = claim_facts("channel", design.guarantee, design.provenance, unchecked)
    return Certificate(checks), {**found, "achieved_epsilon": achieved, "optimality": optimality}


def claim_facts(
    kind: str,
    guarantee: Guarantee,
    provenance: Provenance | None,
    unchecked: Sequence[str] = (),
) -> dict[str, Any]:
    """Say what is claimed, what is taken to be public, and what was not checked this time."""
    return {
        "kind": kind,
        "guarantee": guarantee.to_dict(),
        "assumed_public": [] if provenance is None else provenance.to_dict()["assumed_public"],
        "not_checked": list(unchecked),
    }


def _taken(space: MetricSpace) -> list[str]:
    """Say that distances were taken as they are, where no points can tell whether they are true."""
    if space.metric not in {"graph", "matrix"}:
        return []
    return ["that the distances are true: they were given as they are, without points"]


def judge_anchored(path: str, *, optimality: bool) -> tuple[Certificate, dict[str, Any]]:
    """Verify the channel of a file that holds no table.

    Parameters
    ----------
    path
        The file.
    optimality
        Whether to check the lower bound too. Such a channel states none.

    Returns
    -------
    certificate : Certificate
        All checks.
    facts : dict
        Those of :func:`claim_facts`, and whether the lower bound was asked for.
        The least epsilon of a channel without a table is not computed.
    """
    from discreet.artefact import Artefact
    from discreet.core.check_anchored import verify_anchored

    stored = open_any(path)
    if isinstance(stored, Artefact):  # pragma: no cover - so that types are known
        raise InvalidProblemError("CHANNEL", "a channel without a table", "one with")
    certificate = verify_anchored(
        stored.channel, stored.guarantee, totals_share=stored.totals_share
    )
    seeded = int(stored.provenance.seeded)
    checks = [*certificate.checks]
    if stored.guarantee.scope is not None:
        checks.append(_scope_check(stored))
    checks.append(Check("made with a seed, hence not private", seeded, 0, exact=True))
    if optimality:
        checks.append(Check("lower bound not proved", 0, 0, exact=True, detail="none stated"))
    unchecked = _taken(stored.channel.space)
    found = claim_facts("anchored", stored.guarantee, stored.provenance, unchecked)
    return Certificate(tuple(checks)), {**found, "optimality": optimality}


def _scope_check(stored: AnchoredArtefact) -> Check:
    """Compare what the file states for all pairs with what follows from its links."""
    space, guarantee = stored.channel.space, stored.guarantee
    scope = guarantee.scope
    stretch = space.adjacency(guarantee.radius).stretch(space)
    told = scope is not None and scope.all_pairs_epsilon
    wrong = (
        scope is None
        or stretch is None
        or not told
        or told < guarantee.epsilon * stretch
        or (scope.n_secrets, scope.components, scope.isolated, scope.joined) != (space.n, 1, (), 0)
    )
    return Check("facts misstated in the scope", int(wrong), 0, exact=True)
