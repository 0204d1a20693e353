"""The verbs: ``release`` what a guarantee covers, ``reproduce`` what has none."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from discreet.core.certificate import Certificate
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import PureDP, ZeroConcentratedDP
from discreet.core.outcome import Provenance, Release, Unproven
from discreet.hierarchy.measure import level_shares, measure, node_scales
from discreet.hierarchy.methods import method_name, method_named
from discreet.hierarchy.result import RegionCounts
from discreet.hierarchy.survival import check_needs
from discreet.hierarchy.verify import PROMISES, verify

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from fractions import Fraction

    from discreet.core.budget import Budget
    from discreet.core.exact import Exact
    from discreet.core.randomness import UniformSource
    from discreet.hierarchy.measure import Measured
    from discreet.hierarchy.methods import Method
    from discreet.hierarchy.problem import Frame, GroupSizes

    DPForPersons = PureDP | ZeroConcentratedDP

__all__ = ["DEFAULT", "rehearse", "release", "reproduce"]

DEFAULT = "m_c_dp_weighted"
"""The method of ``method=None``, whatever the data."""

_COMPARED = "made to be compared with published figures: no budget was charged for it"


def release(
    data: GroupSizes,
    guarantee: DPForPersons,
    *,
    method: Method | str | None = None,
    levels: Sequence[Exact] | None = None,
    leaves_inherit: bool = True,
    bits: UniformSource | None = None,
    budget: Budget | None = None,
    dataset: str | None = None,
    keep_measurements: bool = False,
    on_progress: Callable[[str], None] | None = None,
) -> Release[RegionCounts]:
    """Publish counts of groups by size for every region, under differential privacy.

    Parameters
    ----------
    data
        The private data, with the public frame.
    guarantee
        What the release has to satisfy: :class:`~discreet.PureDP` or :class:`~discreet.ZeroConcentratedDP`, with
        neighbors ``"add-remove-person"`` or ``"replace-person"``.
    method
        The method, or its name in :data:`discreet.hierarchy.methods.METHODS`. ``None`` is
        ``"m_c_dp_weighted"``, whatever the data.
    levels
        The part of the budget of each level, the root first, with the sum 1; not to be chosen by looking at the data.
        ``None`` gives equal parts, or all to the leaves where the method uses only those.
        :func:`discreet.hierarchy.levels.choose_levels` suggests parts for a workload.
    leaves_inherit
        Whether leaves above the deepest level also have the parts of the levels below them, which nobody else has.
    bits
        Source of chance; the operating system's by default. With any other the outcome is marked as not private.
    budget, dataset
        A ledger, and the name under which the data stand in it: charged before the data are read.
    keep_measurements
        Whether the result carries the noisy counts. They are covered by the same guarantee and cost nothing more.
    on_progress
        Told what is being done; what it hears depends on the noisy counts alone.

    Returns
    -------
    Release
        A :class:`~discreet.hierarchy.RegionCounts` with its guarantee, certificate and provenance.

    Raises
    ------
    InvalidProblemError
        For a guarantee of another kind, a method without one, or parts that do not add up. Nothing was charged then.
    BudgetError
        When the ledger refuses.
    CertificateError
        When the counts fail a check that the method promises; nothing is published then.

    Guarantee
    ---------
    `guarantee`, for the counts, for the measurements, and for both together. See
    :func:`discreet.hierarchy.measure.measure`.

    Notes
    -----
    With public units the counts of each level sum to the public number of groups; those of a region need not sum to its
    own, unless the method works from the bottom up (``"bottom_up_cumulative"``) or matches groups (``"kuo_h_c"``).

    Examples
    --------
    >>> from discreet import PureDP, Tree
    >>> from discreet.hierarchy.problem import GroupSizes
    >>> tree = Tree.from_paths([("GA",), ("NY",)], root="US")
    >>> data = GroupSizes.from_counts(tree, [[2, 0, 1], [1, 1, 1]], units="private")
    >>> out = release(data, PureDP(100, neighbors="add-remove-person"))
    >>> out.result.counts.tolist(), out.certificate.passed
    ([[3, 1, 2], [2, 0, 1], [1, 1, 1]], True)
    """
    chosen = _method(method)
    reason = getattr(chosen, "unproven", "")
    if reason:
        raise InvalidProblemError("method", "one with a guarantee", f"{chosen}: {reason}")
    if budget is None and dataset is not None:
        raise InvalidProblemError("dataset", "a budget with it", repr(dataset))
    if budget is not None and not dataset:
        raise InvalidProblemError("dataset", "its name in the ledger", repr(dataset))
    shares = rehearse(
        data.frame, guarantee, method=chosen, levels=levels, leaves_inherit=leaves_inherit
    )
    if budget is not None and dataset:
        budget.reserve(dataset, guarantee)
    measured = measure(
        data, chosen.kind, guarantee, levels=shares, leaves_inherit=leaves_inherit, bits=bits
    )
    result = _solve(chosen, measured, keep_measurements, on_progress)
    provenance = _provenance(chosen, measured)
    made = Release(result, guarantee, Certificate(()), provenance)
    made = replace(made, certificate=verify(made))
    made.certificate.raise_for_failure()
    return made


def reproduce(
    data: GroupSizes,
    guarantee: DPForPersons,
    *,
    method: Method | str,
    levels: Sequence[Exact] | None = None,
    leaves_inherit: bool = True,
    bits: UniformSource | None = None,
    keep_measurements: bool = False,
    on_progress: Callable[[str], None] | None = None,
) -> Unproven[RegionCounts]:
    """Run a method as it was published, for comparison: its outcome is not fit for publication.

    Parameters
    ----------
    data, levels, leaves_inherit, bits, keep_measurements, on_progress
        As for :func:`release`.
    guarantee
        What the publication claims; it sets the noise.
    method
        Any method, also one without a valid guarantee.

    Returns
    -------
    Unproven
        The counts, and the reason why there is no guarantee.
    """
    chosen = _method(method)
    shares = rehearse(
        data.frame, guarantee, method=chosen, levels=levels, leaves_inherit=leaves_inherit
    )
    reason = getattr(chosen, "unproven", "") or _COMPARED
    spent = guarantee
    if hasattr(chosen, "as_published"):
        spent, shares = chosen.as_published(data.frame, guarantee, shares)
    measured = measure(
        data, chosen.kind, spent, levels=shares, leaves_inherit=leaves_inherit, bits=bits
    )
    result = _solve(chosen, measured, keep_measurements, on_progress)
    provenance = _provenance(chosen, measured)
    if spent != guarantee:
        reason = f"{reason}; as calibrated for {guarantee}, the noise gives no more than: {spent}"
    return Unproven(result, reason, provenance)


def rehearse(
    frame: Frame,
    guarantee: DPForPersons,
    *,
    method: Method | str | None = None,
    levels: Sequence[Exact] | None = None,
    leaves_inherit: bool = True,
) -> tuple[Fraction, ...]:
    """Refuse what can be refused without the data, so that it is refused before anything is charged.

    Parameters
    ----------
    frame
        The public facts.
    guarantee, method, levels, leaves_inherit
        As for :func:`release`.

    Returns
    -------
    tuple of Fraction
        The part of the budget of each level.

    Raises
    ------
    InvalidProblemError
        For a guarantee of another kind, parts that do not add up, or facts with which the method cannot work.
    """
    chosen = _method(method)
    _check_guarantee(guarantee)
    shares = _shares(frame, chosen, levels)
    scales = node_scales(frame, chosen.kind, guarantee, shares, leaves_inherit=leaves_inherit)
    check_needs(frame, scales, getattr(chosen, "needs", ()))
    return shares


def _method(method: Method | str | None) -> Method:
    if method is None or isinstance(method, str):
        return method_named(method or DEFAULT)
    return method


def _check_guarantee(guarantee: Any) -> None:  # noqa: ANN401 - anything that a caller may pass
    if not isinstance(guarantee, PureDP | ZeroConcentratedDP):
        raise InvalidProblemError(
            "guarantee", "PureDP or ZeroConcentratedDP", type(guarantee).__name__
        )


def _shares(frame: Frame, method: Method, levels: Sequence[Exact] | None) -> tuple[Fraction, ...]:
    depth = frame.tree.depth
    if levels is None and getattr(method, "only_leaves", False):
        return level_shares(depth, [0] * depth + [1])
    return level_shares(depth, levels)


def _solve(
    method: Method,
    measured: Measured,
    keep: bool,  # noqa: FBT001 - an internal step
    on_progress: Callable[[str], None] | None,
) -> RegionCounts:
    counts = method.solve(measured, on_progress=on_progress)
    return RegionCounts(measured.frame, counts, measured if keep else None)


def _provenance(method: Method, measured: Measured) -> Provenance:
    own: dict[str, Any] = asdict(method)  # type: ignore[call-overload] # methods are dataclasses
    promises = getattr(method, "promises", PROMISES)
    return Provenance(
        method_name(method),
        {**measured.parameters(), "method": own, "promises": list(promises)},
        measured.frame.assumed_public(),
        seeded=measured.seeded,
    )
