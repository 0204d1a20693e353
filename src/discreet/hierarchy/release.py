"""The verbs: ``release`` what a guarantee covers in one call, ``reproduce`` what has none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.core.calls import explained
from discreet.core.errors import InvalidProblemError
from discreet.core.options import instance_of
from discreet.core.outcome import Release, Unproven
from discreet.core.progress import Reporter
from discreet.hierarchy.measure import measure
from discreet.hierarchy.methods import METHODS, reason
from discreet.hierarchy.plan import level_parts, plan, provenance_of, solved
from discreet.hierarchy.problem import GroupSizes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from discreet.core.budget import Budget
    from discreet.core.exact import Exact
    from discreet.core.guarantee import PureDP, ZeroConcentratedDP
    from discreet.core.progress import Progress
    from discreet.core.randomness import UniformSource
    from discreet.hierarchy.methods import Method
    from discreet.hierarchy.result import RegionCounts

    DPForPersons = PureDP | ZeroConcentratedDP

_COMPARED = "made to be compared with published figures: no budget was charged for it"


@explained("release(groups, dc.PureDP(1, neighbors='add-remove-person'))")
def release(
    source: Any,  # noqa: ANN401 - a path, any frame that Narwhals knows, or GroupSizes
    guarantee: DPForPersons,
    *,
    regions: Any = None,  # noqa: ANN401 - as for plan
    bits: UniformSource | None = None,
    budget: Budget | None = None,
    dataset: str | None = None,
    budget_delta: Exact | None = None,
    keep_measurements: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
    **of_plan: Any,  # noqa: ANN401 - as for plan
) -> Release[RegionCounts]:
    """Publish counts of groups by size for every region, under differential privacy: :func:`plan` and release.

    One pass over the rows of `source`; then noise and repair of ``n_nodes * n_sizes`` numbers, whose order in n_sizes
    is that of the method.

    ChargedError when reading or writing failed after the charge.

    Parameters
    ----------
    source
        The private data: a path, a frame, or :class:`GroupSizes`, which carry their public facts.
    guarantee
        What the release has to satisfy.
    regions
        As for :func:`plan`; ``None`` beside :class:`GroupSizes`.
    bits, budget, dataset, budget_delta, keep_measurements, on_progress
        As for :meth:`Plan.release`.
    **of_plan
        All other arguments of :func:`plan`, such as `columns`, `max_size` and `method`.

    Returns
    -------
    Release
        A :class:`~discreet.hierarchy.RegionCounts` with its guarantee, certificate and provenance.

    Raises
    ------
    InvalidProblemError, BudgetError, CertificateError
        As :func:`plan` and :meth:`Plan.release`.

    Guarantee
    ---------
    `guarantee`, for the counts, for the measurements, and for both together. See
    :func:`discreet.hierarchy.measure.measure`.

    Notes
    -----
    With public units the counts of each level sum to the public number of groups; those of a region need not sum to its
    own, unless the method works from the bottom up (``"bottom-up-cumulative"``) or matches groups (``"kuo-h-c"``).

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
    names = "bits budget dataset budget_delta keep_measurements on_progress"
    how = {name: value for name, value in locals().items() if name in names.split()}
    if source is None:
        raise InvalidProblemError("source", "a path, a frame or GroupSizes", "None")
    if isinstance(source, GroupSizes):
        if regions is not None:
            expected = "None beside GroupSizes, which carry their regions"
            raise InvalidProblemError("regions", expected, type(regions).__name__)
        regions = source.frame
    return plan(regions, guarantee, **of_plan).release(source, **how)


def reproduce(
    data: GroupSizes,
    guarantee: DPForPersons,
    *,
    method: Method | str,
    levels: Sequence[Exact] | None = None,
    leaves_inherit: bool = True,
    bits: UniformSource | None = None,
    keep_measurements: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
) -> Unproven[RegionCounts]:
    """Run a method as it was published, for comparison: its outcome is not fit for publication.

    No budget is charged. The cost is that of :func:`discreet.hierarchy.measure.measure` and of the method.

    Parameters
    ----------
    data
        The private data, counted: see :func:`discreet.hierarchy.from_records`.
    levels, leaves_inherit, bits, keep_measurements, on_progress
        As for :func:`release`.
    guarantee
        What the publication claims; it sets the noise.
    method
        Any method, also one without a valid guarantee.

    Returns
    -------
    Unproven
        The counts, and the reason why there is no guarantee.

    Raises
    ------
    InvalidProblemError
        For an unknown method, shares of levels that are no distribution, or a method that does not fit the data's
        units.
    """
    instance_of(data, GroupSizes, "data", "GroupSizes")
    chosen: Method = METHODS.resolve(method, accept_no_guarantee=True)
    shares = level_parts(
        data.frame, guarantee, method=chosen, levels=levels, leaves_inherit=leaves_inherit
    )
    why = reason(chosen) or _COMPARED
    spent = guarantee
    if hasattr(chosen, "as_published"):
        spent, shares = chosen.as_published(data.frame, guarantee, shares)
    measured = measure(
        data, chosen.kind, spent, levels=shares, leaves_inherit=leaves_inherit, bits=bits
    )
    result = solved(chosen, measured, keep_measurements, Reporter(on_progress))
    provenance = provenance_of(chosen, measured)
    if spent != guarantee:
        why = f"{why}; as calibrated for {guarantee}, the noise gives no more than: {spent}"
    return Unproven(result, why, provenance)
