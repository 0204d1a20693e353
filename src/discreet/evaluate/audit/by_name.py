"""Audit a mechanism by its name, or the claim of a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from discreet.artefact import load_anchored, load_mechanism
from discreet.artefact.judging import judge, kind_of_file
from discreet.artefact.mechanism import MECHANISM
from discreet.artefact.reader import read
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import guarantee_from_dict
from discreet.core.lazy import registered
from discreet.core.moved import load
from discreet.core.options import path_of
from discreet.evaluate.audit.audit import certified
from discreet.evaluate.audit.channels import audit_channel
from discreet.evaluate.audit.request import AuditRequest
from discreet.evaluate.registry import AUDITS, PUBLISHED_AUDITS

if TYPE_CHECKING:
    import os

    from discreet.core.exact import Exact
    from discreet.core.guarantee import Neighbors
    from discreet.evaluate.audit.audit import Audit

_CLAIMS = ("method", "epsilon", "delta", "rho", "neighbors", "k")


def audit(
    target: str | os.PathLike[str],
    *,
    method: str | None = None,
    epsilon: Exact | None = None,
    delta: Exact | None = None,
    rho: Exact | None = None,
    neighbors: Neighbors | None = None,
    k: int | None = None,
    strength: str | None = None,
    samples: int = 20_000,
    failure: float = 1e-9,
    points: int | None = None,
) -> Audit:
    """Try to break the claim of a mechanism or a file: by replay of every draw, by the verifier, or by samples.

    The published claim is tested, also where it is known to be false. Inputs are synthetic; no private data are read.

    Exact audits replay tiny inputs, sampled ones make up to `samples` runs of each input, and certified ones cost the
    verifier.

    Parameters
    ----------
    target
        Name of a mechanism: ``"hierarchy"``, ``"kanonymity"``, ``"lrgeo"``, ``"metricdp"``, ``"submodular"`` or
        ``"tables"``; or the path of a file that :func:`verify` reads, which states its own claim.
    method
        Method of the mechanism; published ones with false claims need the distribution ``discreet-reproduction``.
        Default: the mechanism's own.
    epsilon
        Claimed privacy budget. It has no default.
    delta
        Claimed slack in probability.
    rho
        Claimed budget of zero-concentrated differential privacy instead.
    neighbors
        Claimed neighbors. Default: the usual ones of the mechanism.
    k
        Claimed smallest size of an equivalence class.
    strength
        One of ``"exact"`` (every draw replayed on tiny inputs), ``"certified"`` (the verifier) and ``"sampled"``.
        Default: the strongest that decides anything.
    samples
        Largest number of samples of each input.
    failure
        Probability with which a sampled audit may reject a true claim.
    points
        With ``"lrgeo"``: number of pairs of points that are compared exactly, also across borders, in place of places.

    Returns
    -------
    Audit
        Verdict, with the pair and the event that show it; its text is what ``discreet audit`` prints.

    Raises
    ------
    InvalidProblemError
        For an unknown name, a method whose distribution is not installed, a file that cannot be read, or an option that
        has no meaning for the target.

    Examples
    --------
    >>> verdict = audit("submodular", method="lazy-greedy", epsilon="5")
    >>> verdict.rejected, verdict.lower
    (True, inf)
    >>> print(verdict.verdict)
    rejected: the claim is false
    """
    path = path_of(target, "target")
    request = AuditRequest(
        method, epsilon, delta, rho, neighbors, k, strength, samples, failure, points=points
    )
    if points is not None and path != "lrgeo":
        raise InvalidProblemError("points", "none but with lrgeo", points)
    if path in AUDITS:
        published = PUBLISHED_AUDITS.get(path, {})
        name = (method or "").replace("_", "-")
        judge = (
            load(published[name], "method", name)
            if name in published
            else registered(AUDITS, path, "target")
        )
        verdict: Audit = judge(request)
        return verdict
    return _audit_file(path, request)


def _audit_file(path: str, request: AuditRequest) -> Audit:
    """Audit a channel or a mechanism in any strength, and another file by its verifier.

    Raises InvalidProblemError for no file, or a claim beside that of the file.

    Certified files cost their verifier.
    """
    if not Path(path).exists():
        expected = f"one of {', '.join(sorted(AUDITS))}, or a file"
        raise InvalidProblemError("target", expected, repr(path))
    for name in _CLAIMS:
        if getattr(request, name) is not None:
            raise InvalidProblemError(name, "none with a file, which states its own", "a value")
    kind = kind_of_file(path)
    if kind not in ("channel", "anchored", MECHANISM):
        request.choose("certified")
    certificate, facts = judge(path)
    if kind == "channel":
        design = read(path).design
        return audit_channel(
            design.channel, design.problem.space, design.guarantee, certificate, request
        )
    if kind in ("anchored", MECHANISM):
        placed = load_mechanism(path) if kind == MECHANISM else load_anchored(path)
        channel = placed.channel
        return audit_channel(channel, channel.space, placed.guarantee, certificate, request)
    return certified(certificate, guarantee_from_dict(facts["guarantee"]))
