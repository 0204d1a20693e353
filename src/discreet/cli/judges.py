"""Check artefacts anew, with code that did not make them."""

from __future__ import annotations

from typing import Any

from discreet.cli.files import open_channel
from discreet.core.certificate import Certificate, Check
from discreet.core.exact import float_ceil

__all__ = ["judge_channel"]


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
