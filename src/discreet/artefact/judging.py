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
    from discreet.core.guarantee import Guarantee
    from discreet.core.outcome import Provenance
    from discreet.core.spaces.metric import MetricSpace

__all__ = [
    "JUDGES",
    "claim_facts",
    "judge",
    "judge_anchored",
    "judge_anonymous",
    "judge_channel",
    "judge_choice",
    "judge_counts",
    "judge_folder",
    "judge_mechanism",
    "judge_points",
    "kind_of_file",
    "record_checks",
    "verify",
]

_HERE = "discreet.artefact.judging"

JUDGES: dict[str, str] = {
    "anchored": f"{_HERE}:judge_anchored",
    "anonymous-table": f"{_HERE}:judge_anonymous",
    "channel": f"{_HERE}:judge_channel",
    "choice": f"{_HERE}:judge_choice",
    "mechanism": f"{_HERE}:judge_mechanism",
    "noise-mechanism": f"{_HERE}:judge_points",
    "lattice-mechanism": f"{_HERE}:judge_points",
    "measurements": f"{_HERE}:judge_counts",
    "region-counts": f"{_HERE}:judge_counts",
    "region-tables": f"{_HERE}:judge_counts",
    "table-measurements": f"{_HERE}:judge_counts",
}
"""Kind of file -> ``judge(path, *, optimality) -> (Certificate, facts)``."""

_ALLOWED = (
    "a Design, a Release, an Anonymization, a RegionDesign, a Mechanism, kept measurements, or the path of a file that "
    "holds one"
)


def verify(outcome: object, *, optimality: bool = False) -> Certificate:
    """Check what an outcome or a file claims, with code that did not make it.

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
    check = _checker(outcome)
    if check is None:
        raise InvalidProblemError("outcome", _ALLOWED, type(outcome).__name__)
    if optimality and not isinstance(outcome, Design):
        expected = "a Design, which proves its lower bound"
        raise InvalidProblemError("optimality", expected, type(outcome).__name__)
    try:
        certificate = check(outcome, optimality=True) if optimality else check(outcome)
    except DiscreetError:
        raise
    except MALFORMED:
        # What a library says of a part that it does not know may quote it.
        raise InvalidProblemError(
            "outcome", "one whose parts are as a verb returned them", type(outcome).__name__
        ) from None
    # A loss that is stated was looked at for a design with its bound alone.
    stated = isinstance(outcome, Release) or (optimality and isinstance(outcome, Design))
    if not certificate.passed:
        mark_refused(outcome)
    elif isinstance(outcome, Anonymization):
        mark_table_verified(outcome)
    elif stated:
        mark_verified(outcome)
    return certificate


def _verify_design(made: Design[Any, Any], *, optimality: bool = False) -> Certificate:
    from discreet.metricdp.verify import verify as verify_design

    checks = verify_design(made, optimality=optimality).checks
    return Certificate((*checks, _seeded(made.provenance.seeded)))


def _checker(outcome: Any) -> Callable[..., Certificate] | None:  # noqa: ANN401 - any outcome
    """Find what checks an outcome."""
    from discreet.hierarchy import Measured
    from discreet.hierarchy.contingency.measure import MeasuredTables
    from discreet.lrgeo import Mechanism, RegionDesign
    from discreet.lrgeo.points.published import EveryPoint

    for kinds, check in (
        (Design, _verify_design),
        (Release, _verify_release),
        (Anonymization, _verify_anonymization),
        ((Mechanism, RegionDesign), _verify_region),
        (EveryPoint, _verify_points),
        ((Measured, MeasuredTables), _verify_measured),
    ):
        if isinstance(outcome, kinds):
            return check
    return None


def _verify_release(made: Release[Any]) -> Certificate:
    from discreet.hierarchy.contingency.result import RegionTables
    from discreet.hierarchy.contingency.verify import verify as verify_tables
    from discreet.hierarchy.verify import verify as verify_counts
    from discreet.submodular import Selection
    from discreet.submodular.verify import verify as verify_choice

    check: Callable[[Release[Any]], Certificate] = verify_counts
    if isinstance(made.result, Selection):
        check = verify_choice
    elif isinstance(made.result, RegionTables):
        check = verify_tables
    checks = check(made).checks
    return Certificate((*checks, _seeded(made.provenance.seeded)))


def _verify_anonymization(made: Anonymization[Any, Any]) -> Certificate:
    from discreet.artefact.anonymous import recorded_models
    from discreet.kanonymity.verify import verify as verify_table

    if isinstance(made.table, os.PathLike):
        return judge(made.table)[0]
    models = recorded_models(made)
    checks = verify_table(made.table, made.guarantee, models=models).checks
    return Certificate((*checks, _seeded(made.provenance.seeded)))


def _verify_region(made: Any) -> Certificate:  # noqa: ANN401 - a RegionDesign or a Mechanism
    from discreet.lrgeo.verify import verify as verify_region

    checks = verify_region(made.channel, made.guarantee, totals_share=made.totals_share).checks
    return Certificate((*checks, _seeded(made.provenance.seeded)))


def _verify_points(made: Any) -> Certificate:  # noqa: ANN401 - a design or a mechanism for points
    from discreet.lrgeo.points.verify import verify as verify_points

    return Certificate((*verify_points(made.claimed()).checks, _seeded(made.provenance.seeded)))


def _verify_measured(made: Any) -> Certificate:  # noqa: ANN401 - kept measurements
    from discreet.hierarchy import Measured
    from discreet.hierarchy.contingency.verify import verify_measured
    from discreet.hierarchy.verify import verify_measurements

    check = verify_measurements if isinstance(made, Measured) else verify_measured
    return Certificate((*check(made).checks, _seeded(made.seeded)))


def kind_of_file(path: str | os.PathLike[str]) -> str:
    """Return the kind of a file, from the file or the record beside it.

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
    from discreet.artefact.folders import is_folder

    if is_folder(path):
        return judge_folder(os.fspath(path), optimality=optimality)
    verdict: tuple[Certificate, dict[str, Any]] = registered(JUDGES, kind_of_file(path), "path")(
        os.fspath(path), optimality=optimality
    )
    return verdict


def claim_facts(
    kind: str,
    guarantee: Guarantee,
    provenance: Provenance | None,
    unchecked: Sequence[str] = (),
) -> dict[str, Any]:
    """Return the claim of a file, its assumed public inputs, and the list of facts that were not checked."""
    return {
        "kind": kind,
        "guarantee": guarantee.to_dict(),
        "assumed_public": [] if provenance is None else provenance.to_dict()["assumed_public"],
        "not_checked": list(unchecked),
    }


def judge_channel(path: str, *, optimality: bool) -> tuple[Certificate, dict[str, Any]]:
    """Verify the channel of a file.

    Parameters
    ----------
    path
        The file.
    optimality
        Whether to check the stated loss and its lower bound too.

    Returns
    -------
    certificate : Certificate
        All checks.
    facts : dict
        Those of :func:`claim_facts`.
        ``achieved_epsilon``: the least epsilon, per unit of distance, that the channel has on the pairs within the
        radius, rounded up; ``None`` where it has none.
    """
    from discreet.artefact.reader import read
    from discreet.metricdp.verify import verify as verify_design

    stored = read(path)
    design = stored.design
    loss = design.channel.privacy_loss(design.problem.space, radius=design.guarantee.radius)
    achieved = None if loss.epsilon is None else float_ceil(loss.epsilon)
    seeded = _seeded(design.provenance.seeded)
    # The links are those of the file: another program that reads it is told about these.
    certificate = verify_design(
        design, optimality=optimality, joined=stored.joined, binding=stored.binding
    )
    checks = (*certificate.checks, seeded)
    unchecked = []
    if not optimality:
        unchecked.append(
            "the loss that is stated, and that no channel loses less: --optimality does"
        )
    unchecked += _distance_notes(design.problem.space)
    facts = claim_facts("channel", design.guarantee, design.provenance, unchecked)
    return Certificate(checks), {**facts, "achieved_epsilon": achieved, "optimality": optimality}


def _distance_notes(space: MetricSpace) -> list[str]:
    """Return a note on unchecked distances, for spaces without points that they follow from."""
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
        Whether to check the lower bound too: where one is stated, it is without its proof, so that this check fails.

    Returns
    -------
    certificate : Certificate
        All checks.
    facts : dict
        Those of :func:`claim_facts`, and whether the lower bound was requested. The least epsilon is not computed.
    """
    from discreet.artefact.implicit import load_anchored
    from discreet.core.channels.check_implicit import verify_anchored

    stored = load_anchored(path)
    certificate = verify_anchored(
        stored.channel, stored.guarantee, totals_share=stored.totals_share
    )
    checks = [*certificate.checks]
    if stored.guarantee.scope is not None:
        checks.append(_scope_check(stored))
    checks.append(_seeded(stored.provenance.seeded))
    if optimality:
        stated = int("lower" in stored.provenance.parameters)
        checks.append(Check("lower bound not proved", stated, 0, exact=True))
    unchecked = _distance_notes(stored.channel.space)
    facts = claim_facts("anchored", stored.guarantee, stored.provenance, unchecked)
    return Certificate(tuple(checks)), {**facts, "optimality": optimality}


def _scope_check(stored: AnchoredArtefact) -> Check:
    """Compare what the file states for all pairs with what follows from its links."""
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


def judge_mechanism(path: str, *, optimality: bool) -> tuple[Certificate, dict[str, Any]]:
    """Verify the mechanism of a file.

    Parameters
    ----------
    path
        The file.
    optimality
        Whether to check the lower bound too: it is stated without its proof, so that this check fails.

    Returns
    -------
    certificate : Certificate
        All checks.
    facts : dict
        Those of :func:`claim_facts`, the digest of the mechanism, and whether the lower bound was requested.
    """
    from discreet.artefact.mechanism import load_mechanism
    from discreet.lrgeo.client import scope_check
    from discreet.lrgeo.verify import verify as verify_region

    mechanism = load_mechanism(path)
    guarantee = mechanism.guarantee
    checks = list(
        verify_region(mechanism.channel, guarantee, totals_share=mechanism.totals_share).checks
    )
    silent = Check("facts misstated in the scope", 1, 0, exact=True, detail="none is stated")
    checks.append(silent if guarantee.scope is None else scope_check(mechanism))
    checks.append(_seeded(mechanism.provenance.seeded))
    if optimality:
        stated = int(mechanism.lower is not None)
        checks.append(Check("lower bound not proved", stated, 0, exact=True))
    facts = claim_facts("mechanism", guarantee, mechanism.provenance)
    facts["guarantee"]["sentence"] = mechanism.promise
    facts |= {"digest": mechanism.digest, "optimality": optimality}
    return Certificate(tuple(checks)), facts


def judge_points(path: str, *, optimality: bool) -> tuple[Certificate, dict[str, Any]]:
    """Verify a mechanism for every point; parameters and results are as of :func:`judge_mechanism`."""
    from discreet.artefact.mechanism import load_points

    mechanism = load_points(path)
    checks = list(_verify_points(mechanism).checks)
    if optimality:
        stated = {mechanism.lower, getattr(mechanism, "mesh_lower", None)} != {None}
        checks.append(Check("lower bound not proved", int(stated), 0, exact=True))
    facts = claim_facts(kind_of_file(path), mechanism.guarantee, mechanism.provenance)
    facts["guarantee"]["sentence"] = mechanism.promise
    facts |= {"digest": mechanism.digest, "optimality": optimality}
    return Certificate(tuple(checks)), facts


def judge_anonymous(path: str, *, optimality: bool) -> tuple[Certificate, dict[str, Any]]:
    """Verify an anonymized table as the record beside it says.

    Parameters
    ----------
    path
        The table.
    optimality
        Must be ``False``: a published table does not hold what its loss could be measured by.

    Returns
    -------
    certificate, facts
        All checks; those of :func:`claim_facts`, ``rows``, ``classes``, ``smallest_class``.
    """
    from discreet.artefact.anonymous import (
        ANONYMOUS,
        load_anonymous,
        recorded_models,
        unmapped,
    )
    from discreet.kanonymity.verify import classes_of
    from discreet.kanonymity.verify import verify as verify_table
    from discreet.tables.reading import read_rows

    _no_bound(optimality)
    stored = load_anonymous(path)
    table = read_rows(path, "path")
    names = stored.guarantee.quasi_identifiers
    lacking = [name for name in names if name not in table.columns]
    if lacking:
        expected = "a table with the quasi-identifiers that its record states"
        raise InvalidProblemError("path", expected, f"one without {', '.join(lacking)}")
    checks = verify_table(table, stored.guarantee, models=recorded_models(stored)).checks
    classes = classes_of(table, names)
    unchecked = [
        "that rows are those of an original, generalized: --against does",
        *unmapped(stored),
    ]
    facts = {
        **claim_facts(ANONYMOUS, stored.guarantee, stored.provenance, unchecked),
        "rows": table.height,
        "classes": len(classes.sizes),
        "smallest_class": int(classes.sizes.min()),
    }
    return Certificate((*checks, *record_checks(stored))), facts


def judge_folder(path: str, *, optimality: bool) -> tuple[Certificate, dict[str, Any]]:
    """Verify a folder of parts as its record says, by the parameters and with the results of :func:`judge_anonymous`.

    As there, `optimality` must be ``False``.
    """
    from discreet.artefact.anonymous import ANONYMOUS, recorded_models, unmapped
    from discreet.artefact.folders import count_folder, load_folder

    _no_bound(optimality)
    stored = load_folder(path)
    counted, totals = count_folder(path, stored.guarantee, recorded_models(stored), "path")
    facts = claim_facts(ANONYMOUS, stored.guarantee, stored.provenance, unmapped(stored))
    return Certificate((*counted.checks, *record_checks(stored))), {**facts, **totals}


def record_checks(kept: AnonymousTable) -> tuple[Check, Check]:
    """Check what the record beside an anonymized table says of its bytes and its making."""
    altered = Check("bytes that differ from those written", int(kept.altered), 0, exact=True)
    return altered, _seeded(kept.provenance.seeded)


def judge_counts(path: str, *, optimality: bool) -> tuple[Certificate, dict[str, Any]]:
    """Verify counts by region, or kept measurements: by their own numbers, and the arithmetic of their guarantee.

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
        Those of :func:`claim_facts`, ``method``, and what no file can show (``not_shown``); of tables by category
        ``gaps``, which are stated and not checked.
    """
    from discreet.artefact.counts import load_by_region
    from discreet.hierarchy import Frame
    from discreet.hierarchy.contingency.verify import NOT_SHOWN as NOT_SHOWN_OF_TABLES
    from discreet.hierarchy.contingency.verify import UNCHECKED
    from discreet.hierarchy.verify import NOT_SHOWN, unchecked

    _no_bound(optimality)
    stored, kind = load_by_region(path), kind_of_file(path)
    result = getattr(stored, "result", None)
    by_size = isinstance((result or stored).frame, Frame)
    not_shown = list(NOT_SHOWN if by_size else NOT_SHOWN_OF_TABLES)
    more: dict[str, Any] = {"not_shown": not_shown, "method": None}
    if result is None:
        return _verify_measured(stored), {**claim_facts(kind, stored.guarantee, None), **more}
    # Verified first: the record may promise what cannot be read.
    certificate = _verify_release(stored)
    more["method"] = stored.provenance.method
    missed = unchecked(result.frame, stored.provenance.parameters) if by_size else UNCHECKED
    if not by_size:
        more["gaps"] = [{"level": one.level, "gap": one.gap} for one in result.gaps]
    facts = claim_facts(kind, stored.guarantee, stored.provenance, missed)
    return certificate, {**facts, **more}


def judge_choice(path: str, *, optimality: bool) -> tuple[Certificate, dict[str, Any]]:
    """Verify the choice of a file, by :func:`discreet.submodular.verify`, and whether it was made with a seed.

    Parameters and results are those of :func:`judge_counts`.
    """
    from discreet.artefact.choice import load_choice
    from discreet.submodular.verify import verify as verify_choice

    _no_bound(optimality, "a choice")
    stored = load_choice(path)
    checks = verify_choice(stored).checks
    unchecked = ["that the draws were made as stated: no file can show it"]
    facts = claim_facts("choice", stored.guarantee, stored.provenance, unchecked)
    return Certificate((*checks, _seeded(stored.provenance.seeded))), facts


def _seeded(seeded: bool) -> Check:  # noqa: FBT001 - the one fact that it is about
    return Check("made with a seed, hence not private", int(seeded), 0, exact=True)


def _no_bound(optimality: bool, got: str = "a table") -> None:  # noqa: FBT001 - the one option that it is about
    if optimality:
        raise InvalidProblemError("optimality", "a channel, which has a lower bound", got)
