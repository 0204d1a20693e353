"""Check tables of counts and kept measurements anew, with code that did not make them."""

from __future__ import annotations

from typing import Any

from discreet.core.certificate import Certificate, Check
from discreet.core.errors import InvalidProblemError

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
        ``kind`` of the artefact, ``guarantee`` and ``method``.
    """
    from discreet.artefact import load_counts
    from discreet.hierarchy.verify import verify

    _no_bound(optimality)
    kept = load_counts(path)
    seeded = _seeded(kept.provenance.seeded)
    found = {
        "kind": "region-counts",
        "guarantee": kept.guarantee.to_dict(),
        "method": kept.provenance.method,
    }
    return Certificate((*verify(kept).checks, seeded)), found


def judge_measurements(path: str, *, optimality: bool) -> tuple[Certificate, dict[str, Any]]:
    """Verify kept measurements: the arithmetic of their guarantee; see :func:`judge_counts`."""
    from discreet.artefact import load_measurements
    from discreet.hierarchy.verify import verify_guarantee

    _no_bound(optimality)
    kept = load_measurements(path)
    spent = verify_guarantee(kept.frame, kept.guarantee, kept.parameters())
    found = {"kind": "measurements", "guarantee": kept.guarantee.to_dict(), "method": None}
    return Certificate((*spent.checks, _seeded(kept.seeded))), found


def _seeded(seeded: bool) -> Check:  # noqa: FBT001 - the one fact that it is about
    return Check("made with a seed, hence not private", int(seeded), 0, exact=True)


def _no_bound(optimality: bool) -> None:  # noqa: FBT001 - the one option that it is about
    if optimality:
        raise InvalidProblemError("--optimality", "a channel, which has a lower bound", "a table")
