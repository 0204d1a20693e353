"""Check outcomes and files anew, with code that did not make them.

:func:`verify` takes any outcome of the five mechanisms, or the path of any file of this library; ``discreet verify``,
audits of files and reports use the functions behind it. A verdict on a file comes with plain facts: what is claimed,
what is taken to be public, and what was not checked.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from discreet.core.certificate import Certificate, Check
from discreet.core.errors import MALFORMED, DiscreetError, InvalidProblemError
from discreet.core.exact import float_ceil
from discreet.core.lazy import registered
from discreet.core.outcome import Anonymization, Design, Release
from discreet.core.verified import mark_refused, mark_verified
from discreet.tables.contents import mark_table_verified
from discreet.tables.writing import WRITABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from discreet.artefact.anonymous import AnonymousTable
    from discreet.artefact.implicit import AnchoredArtefact
    from discreet.artefact.reader import Artefact
    from discreet.core.guarantee import Guarantee
    from discreet.core.outcome import Provenance
    from discreet.core.spaces.metric import MetricSpace
    from discreet.lrgeo.mechanism import Mechanism
    from discreet.lrgeo.points.published import PublishedPoints

JUDGES: dict[str, str] = {
    "anchored": "discreet.artefact.implicit:load_anchored",
    "anonymous-table": "discreet.artefact.anonymous:load_anonymous",
    "channel": "discreet.artefact.reader:read",
    "choice": "discreet.artefact.choice:load_choice",
    "mechanism": "discreet.artefact.mechanism:load_mechanism",
    "noise-mechanism": "discreet.artefact.mechanism:load_points",
    "lattice-mechanism": "discreet.artefact.mechanism:load_points",
    "measurements": "discreet.artefact.counts:load_by_region",
    "region-counts": "discreet.artefact.counts:load_by_region",
    "region-tables": "discreet.artefact.counts:load_by_region",
    "table-measurements": "discreet.artefact.counts:load_by_region",
}
"""Kind of each file that can be judged -> the function that reads it."""

_WITH_BOUND = ("anchored", "channel", "mechanism", "noise-mechanism", "lattice-mechanism")

_ALLOWED = (
    "a Design, a Release, an Anonymization, a RegionDesign, a Mechanism, kept measurements, or the path of a file that "
    "holds one"
)


def verify(outcome: object, *, optimality: bool = False) -> Certificate:
    """Check what an outcome or a file claims, with code that did not make it.

    The cost is that of the verifier of the outcome's kind; a file is read into memory first. A seeded outcome fails a
    check. An outcome is marked as verified or as refused.

    Parameters
    ----------
    outcome
        What :func:`discreet.metricdp.design`, :func:`discreet.lrgeo.design`, :func:`discreet.hierarchy.release`,
        :func:`discreet.kanonymity.anonymize` or :func:`discreet.submodular.release` returned; a
        :class:`discreet.lrgeo.Mechanism`; kept measurements of counts; or the path of a file of any kind.
    optimality
        Whether to check the stated loss of a design, and its lower bound, too; without it neither is looked at.

    Returns
    -------
    Certificate
        All checks; it does not raise when one failed, see ``raise_for_failure``.

    Raises
    ------
    InvalidProblemError
        For anything else, an :class:`discreet.Unproven` outcome among it, which claims nothing; for an outcome whose
        parts are not what a verb put there; for a file that cannot be read; and for a bound where there is none.

    Examples
    --------
    >>> from discreet import MetricDP, MetricSpace
    >>> from discreet.metricdp import Problem, design
    >>> line = MetricSpace.grid(1, 3, cell=1, unit="km")
    >>> verify(design(Problem(line, utility_loss="euclidean"), MetricDP(1, "km"))).passed
    True
    >>> verify(3)
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: outcome: expected a Design, a Release, an Anonymization, a RegionDesign, \
a Mechanism, kept measurements, or the path of a file that holds one, got int
    """
    if isinstance(outcome, str | os.PathLike):
        return judge(outcome, optimality=optimality)[0]
    if isinstance(outcome, Anonymization) and isinstance(outcome.table, os.PathLike):
        return judge(outcome.table)[0]
    try:
        checks = _checks_of(outcome, optimality=optimality)
    except DiscreetError:
        raise
    except MALFORMED:
        # What a library says of a part that it does not know may quote it.
        raise InvalidProblemError(
            "outcome", "one whose parts are as a verb returned them", type(outcome).__name__
        ) from None
    certificate = Certificate(tuple(checks))
    # A loss that is stated was looked at for a design with its bound alone.
    stated = isinstance(outcome, Release) or (optimality and isinstance(outcome, Design))
    if not certificate.passed:
        mark_refused(outcome)
    elif isinstance(outcome, Anonymization):
        mark_table_verified(outcome)
    elif stated:
        mark_verified(outcome)
    return certificate


def _checks_of(made: Any, *, optimality: bool = False) -> list[Check]:  # noqa: ANN401 - any outcome
    """Run the verifier of an outcome, and add a check that it was made without a seed.

    Raises InvalidProblemError for another object, or for `optimality` of anything but a design.
    """
    from discreet.artefact.anonymous import recorded_models
    from discreet.hierarchy import Measured
    from discreet.hierarchy.contingency.measure import MeasuredTables
    from discreet.hierarchy.contingency.result import RegionTables
    from discreet.hierarchy.contingency.verify import verify as verify_tables
    from discreet.hierarchy.contingency.verify import verify_measured
    from discreet.hierarchy.verify import verify as verify_counts
    from discreet.hierarchy.verify import verify_measurements
    from discreet.kanonymity.verify import verify as verify_table
    from discreet.lrgeo import Mechanism, RegionDesign
    from discreet.lrgeo.points.published import EveryPoint
    from discreet.lrgeo.points.verify import verify as verify_points
    from discreet.lrgeo.verify import verify as verify_region
    from discreet.metricdp.verify import verify as verify_design
    from discreet.submodular import Selection
    from discreet.submodular.verify import verify as verify_choice

    verifiers: tuple[tuple[Any, Callable[[], Certificate]], ...] = (
        (Design, lambda: verify_design(made, optimality=optimality)),
        (
            Anonymization,
            lambda: verify_table(made.table, made.guarantee, models=recorded_models(made)),
        ),
        (
            Mechanism | RegionDesign,
            lambda: verify_region(made.channel, made.guarantee, totals_share=made.totals_share),
        ),
        (EveryPoint, lambda: verify_points(made.claimed())),
        (Measured, lambda: verify_measurements(made)),
        (MeasuredTables, lambda: verify_measured(made)),
        (Release, lambda: results.get(type(made.result), verify_counts)(made)),
    )
    results = {Selection: verify_choice, RegionTables: verify_tables}
    run = next((run for kinds, run in verifiers if isinstance(made, kinds)), None)
    if run is None:
        raise InvalidProblemError("outcome", _ALLOWED, type(made).__name__)
    if optimality and not isinstance(made, Design):
        expected = "a Design, which proves its lower bound"
        raise InvalidProblemError("optimality", expected, type(made).__name__)
    seeded = made.seeded if isinstance(made, Measured | MeasuredTables) else made.provenance.seeded
    return [*run().checks, _seeded(seeded)]


def kind_of_file(path: str | os.PathLike[str]) -> str:
    """Return the kind of a file, from the file or the record beside it.

    Kinds are such as ``"channel"``, ``"anchored"``, ``"choice"`` or ``"anonymous-table"``. The whole file is read
    unless it is a table.

    Raises
    ------
    InvalidProblemError
        For a file that this library did not write.
    """
    from discreet.artefact.reader import zip_kind
    from discreet.artefact.sidecar import is_table, kind_of

    if is_table(path) or os.fspath(path).lower().endswith(tuple(WRITABLE)):
        return kind_of(path)
    return zip_kind(path)


def judge(
    path: str | os.PathLike[str], *, optimality: bool = False
) -> tuple[Certificate, dict[str, Any]]:
    """Verify a file of any kind.

    A check that fails does not raise. Raises InvalidProblemError for a file that cannot be read or of an unknown
    kind, and for `optimality` of a table or a choice. Reads the file, and runs the verifier of its kind.

    Parameters
    ----------
    path
        The file, or a folder of parts with one record.
    optimality
        Whether to check the lower bound, too.

    Returns
    -------
    certificate : Certificate
        All checks.
    facts : dict
        Those of :func:`claim_facts`, and more by the kind.
    """
    from discreet.artefact.folders import is_folder, load_folder

    is_parts = is_folder(path)
    kind = "anonymous-table" if is_parts else kind_of_file(path)
    load: Callable[[str], Any] = load_folder if is_parts else registered(JUDGES, kind, "path")
    if optimality and kind not in _WITH_BOUND:
        got = "a choice" if kind == "choice" else "a table"
        raise InvalidProblemError("optimality", "a channel, which has a lower bound", got)
    stored = load(os.fspath(path))
    if kind == "channel":
        checks, facts = _judge_channel(stored, optimality=optimality)
    elif kind == "anchored":
        checks, facts = _judge_anchored(stored)
    elif kind == "anonymous-table":
        checks, facts = _judge_rows(stored, os.fspath(path), is_parts=is_parts)
    elif kind in _WITH_BOUND:
        checks, facts = _judge_mechanism(stored, kind)
    elif kind == "choice":
        unchecked = ["that the draws were made as stated: no file can show it"]
        checks = _checks_of(stored)
        facts = claim_facts(kind, stored.guarantee, stored.provenance, unchecked)
    else:
        checks, facts = _judge_counts(stored, kind)
    if kind in _WITH_BOUND:
        facts["optimality"] = optimality
    if optimality and kind != "channel":
        # One that is stated is without its proof.
        if kind == "anchored":
            stated = "lower" in stored.provenance.parameters
        else:
            stated = {stored.lower, getattr(stored, "mesh_lower", None)} != {None}
        checks.append(Check("lower bound not proved", int(stated), 0, exact=True))
    return Certificate(tuple(checks)), facts


def claim_facts(
    kind: str,
    guarantee: Guarantee,
    provenance: Provenance | None,
    unchecked: Sequence[str] = (),
) -> dict[str, Any]:
    """Return the claim of a file.

    ``"kind"``, ``"guarantee"``, ``"assumed_public"`` and ``"not_checked"``, as plain values. `unchecked` are phrases
    for facts that this verification did not check. Without `provenance`, ``"assumed_public"`` is empty.
    """
    return {
        "kind": kind,
        "guarantee": guarantee.to_dict(),
        "assumed_public": [] if provenance is None else provenance.to_dict()["assumed_public"],
        "not_checked": list(unchecked),
    }


Verdict = tuple[list[Check], dict[str, Any]]


def _judge_channel(stored: Artefact, *, optimality: bool) -> Verdict:
    """Verify a channel; return its checks, and facts with ``"achieved_epsilon"``.

    That is the least epsilon on the pairs within the radius, rounded up, or ``None`` if no epsilon holds. The bound
    is checked with `optimality` only. The cost is that of the verifier.
    """
    from discreet.metricdp.verify import verify as verify_design

    design = stored.design
    loss = design.channel.privacy_loss(design.problem.space, radius=design.guarantee.radius)
    achieved = None if loss.epsilon is None else float_ceil(loss.epsilon)
    # The links are those of the file: another program that reads it is told about these.
    certificate = verify_design(
        design, optimality=optimality, joined=stored.joined, binding=stored.binding
    )
    unchecked = []
    if not optimality:
        unchecked.append(
            "the loss that is stated, and that no channel loses less: --optimality does"
        )
    unchecked += _distance_notes(design.problem.space)
    facts = claim_facts("channel", design.guarantee, design.provenance, unchecked)
    checks = [*certificate.checks, _seeded(design.provenance.seeded)]
    return checks, {**facts, "achieved_epsilon": achieved}


def _distance_notes(space: MetricSpace) -> list[str]:
    """Return a note on unchecked distances, for spaces without points that they follow from."""
    if space.metric not in {"graph", "matrix"}:
        return []
    return ["that the distances are true: they were given as they are, without points"]


def _judge_anchored(stored: AnchoredArtefact) -> Verdict:
    """Verify a channel without a table of distances; return its checks and facts. The least epsilon is not computed."""
    from discreet.core.channels.check_implicit import verify_anchored

    certificate = verify_anchored(
        stored.channel, stored.guarantee, totals_share=stored.totals_share
    )
    scope = [] if stored.guarantee.scope is None else [_scope_check(stored)]
    unchecked = _distance_notes(stored.channel.space)
    facts = claim_facts("anchored", stored.guarantee, stored.provenance, unchecked)
    return [*certificate.checks, *scope, _seeded(stored.provenance.seeded)], facts


def _scope_check(stored: AnchoredArtefact) -> Check:
    """Return a check that fails unless the file's scope is what follows from its links.

    It needs an epsilon for all pairs of at least epsilon times the stretch of the shortest paths, all secrets, one
    component, and no joined pairs.
    """
    space, guarantee = stored.channel.space, stored.guarantee
    scope = guarantee.space_scope
    stretch = space.adjacency(guarantee.radius).stretch(space)
    is_stated = scope is not None and scope.all_pairs_epsilon
    wrong = (
        scope is None
        or stretch is None
        or not is_stated
        or is_stated < guarantee.epsilon * stretch
        or (scope.n_secrets, scope.components, scope.isolated, scope.joined) != (space.n, 1, (), 0)
    )
    return Check("facts misstated in the scope", int(wrong), 0, exact=True)


def _judge_mechanism(stored: Mechanism | PublishedPoints, kind: str) -> Verdict:
    """Verify a mechanism for places or for every point; return its checks, and facts with its SHA-256 as ``"digest"``.

    A mechanism for places that states no scope fails a check.
    """
    from discreet.lrgeo.client import scope_check
    from discreet.lrgeo.mechanism import Mechanism

    checks = _checks_of(stored)
    if isinstance(stored, Mechanism):
        silent = Check("facts misstated in the scope", 1, 0, exact=True, detail="none is stated")
        checks.insert(-1, silent if stored.guarantee.scope is None else scope_check(stored))
    facts = claim_facts(kind, stored.guarantee, stored.provenance)
    facts["guarantee"]["sentence"] = stored.promise
    return checks, {**facts, "digest": stored.digest}


def _judge_rows(stored: AnonymousTable, path: str, *, is_parts: bool) -> Verdict:
    """Verify an anonymized table, or a folder of its parts, as its record says; the facts include counts of rows.

    Returns checks and facts. Raises InvalidProblemError for a table without a quasi-identifier of the record. A sort
    of the rows.
    """
    from discreet.artefact.anonymous import ANONYMOUS, recorded_models, unmapped
    from discreet.artefact.folders import count_folder
    from discreet.kanonymity.verify import classes_of
    from discreet.kanonymity.verify import verify as verify_table
    from discreet.tables.reading import read_rows

    models, unchecked = recorded_models(stored), unmapped(stored)
    if is_parts:
        certificate, totals = count_folder(path, stored.guarantee, models, "path")
    else:
        table = read_rows(path, "path")
        names = stored.guarantee.quasi_identifiers
        lacking = [name for name in names if name not in table.columns]
        if lacking:
            expected = "a table with the quasi-identifiers that its record states"
            raise InvalidProblemError("path", expected, f"one without {', '.join(lacking)}")
        certificate = verify_table(table, stored.guarantee, models=models)
        sizes = classes_of(table, names).sizes
        totals = {
            "rows": table.height,
            "classes": len(sizes),
            "smallest_class": int(sizes.min()),
        }
        unchecked.insert(0, "that rows are those of an original, generalized: --against does")
    facts = claim_facts(ANONYMOUS, stored.guarantee, stored.provenance, unchecked)
    return [*certificate.checks, *record_checks(stored)], {**facts, **totals}


def record_checks(kept: AnonymousTable) -> tuple[Check, Check]:
    """Check what the record beside an anonymized table says of its bytes and its making."""
    altered = Check("bytes that differ from those written", int(kept.altered), 0, exact=True)
    return altered, _seeded(kept.provenance.seeded)


def _judge_counts(stored: Any, kind: str) -> Verdict:  # noqa: ANN401 - a release or kept measurements
    """Verify counts by region, or kept measurements; return checks and facts.

    Facts have ``"method"`` (``None`` for measurements), ``"not_shown"``, what no file can show, and for tables
    ``"gaps"`` by level. The cost is that of the verifier.
    """
    from discreet.hierarchy import Frame
    from discreet.hierarchy.contingency.verify import NOT_SHOWN as NOT_SHOWN_OF_TABLES
    from discreet.hierarchy.contingency.verify import UNCHECKED
    from discreet.hierarchy.verify import NOT_SHOWN, unchecked

    result = getattr(stored, "result", None)
    by_size = isinstance((result or stored).frame, Frame)
    not_shown = list(NOT_SHOWN if by_size else NOT_SHOWN_OF_TABLES)
    # Verified first: the record may promise what cannot be read.
    checks = _checks_of(stored)
    more: dict[str, Any] = {"not_shown": not_shown, "method": None}
    if result is None:
        return checks, {**claim_facts(kind, stored.guarantee, None), **more}
    more["method"] = stored.provenance.method
    missed = unchecked(result.frame, stored.provenance.parameters) if by_size else UNCHECKED
    if not by_size:
        more["gaps"] = [{"level": one.level, "gap": one.gap} for one in result.gaps]
    return checks, {**claim_facts(kind, stored.guarantee, stored.provenance, missed), **more}


def _seeded(seeded: bool) -> Check:  # noqa: FBT001 - the one fact that it is about
    """Return the check that an outcome was made without a seed."""
    return Check("made with a seed, hence not private", int(seeded), 0, exact=True)
