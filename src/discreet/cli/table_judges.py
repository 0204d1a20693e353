"""Check tables of counts and kept measurements anew, with code that did not make them."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.cli.judges import claim_facts
from discreet.core.certificate import Certificate, Check
from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.hierarchy.measure import Measured

__all__ = ["judge_counts", "judge_measurements"]


def judge_counts(path: str, *, optimality: bool) -> tuple[Certificate, dict[str, Any]]:
    """Verify a table of counts: by its own numbers, and the arithmetic of its guarantee.

    Parameters
    ----------
    path
        The table, with its record beside it.
    optimality
        Must not be asked for: counts have no bound.

    Returns
    -------
    certificate : Certificate
        All checks.
    facts : dict
        Those of :func:`~discreet.cli.judges.claim_facts`, and ``method``.
    """
    from discreet.artefact import load_counts
    from discreet.hierarchy.verify import verify

    _no_bound(optimality)
    kept = load_counts(path)
    seeded = _seeded(kept.provenance.seeded)
    found = claim_facts("region-counts", kept.guarantee, kept.provenance)
    found |= {"method": kept.provenance.method}
    return Certificate((*verify(kept).checks, seeded)), found


def judge_measurements(path: str, *, optimality: bool) -> tuple[Certificate, dict[str, Any]]:
    """Verify kept measurements: the arithmetic of their guarantee, and the noise of every region.

    Parameters and results are those of :func:`judge_counts`.
    """
    from discreet.artefact import load_measurements
    from discreet.hierarchy.verify import verify_guarantee

    _no_bound(optimality)
    kept = load_measurements(path)
    stated = kept.parameters()
    spent = verify_guarantee(kept.frame, kept.guarantee, stated)
    found = claim_facts("measurements", kept.guarantee, None) | {"method": None}
    return Certificate((*spent.checks, _apart(kept, stated), _seeded(kept.seeded))), found


def _apart(kept: Measured, stated: Mapping[str, Any]) -> Check:
    """Count regions whose noise is not that of their level, which is all that the arithmetic looks at."""
    tree = kept.frame.tree
    inner, leaf = stated["scale_by_level"], stated["scale_of_leaves_by_level"]
    wrong = 0
    for node, scale in enumerate(kept.scales):
        of_level = inner if tree.children(node) else leaf
        text = of_level[int(tree.levels[node])]
        wrong += scale != (None if text == "none" else Fraction(text))
    return Check("regions with other noise than their level", wrong, 0, exact=True)


def _seeded(seeded: bool) -> Check:  # noqa: FBT001 - the one fact that it is about
    return Check("made with a seed, hence not private", int(seeded), 0, exact=True)


def _no_bound(optimality: bool) -> None:  # noqa: FBT001 - the one option that it is about
    if optimality:
        raise InvalidProblemError("--optimality", "a channel, which has a lower bound", "a table")
