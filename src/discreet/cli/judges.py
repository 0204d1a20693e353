"""Check artefacts anew, with code that did not make them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.cli.files import open_any, open_channel
from discreet.core.certificate import Certificate, Check
from discreet.core.errors import InvalidProblemError
from discreet.core.exact import float_ceil

if TYPE_CHECKING:
    from discreet.artefact import AnchoredArtefact

__all__ = ["judge_anchored", "judge_channel"]


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
    return Certificate(checks), {"achieved_epsilon": achieved, "optimality": optimality}


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
        Whether the lower bound was asked for. The least epsilon of a channel without a table is not computed.
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
    return Certificate(tuple(checks)), {"optimality": optimality}


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
