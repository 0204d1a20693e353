"""Counts of persons or units for every region in one call: by size, or by categories of attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.core.errors import InvalidProblemError
from discreet.core.options import whole_number
from discreet.core.release import refuse_other_outputs
from discreet.hierarchy.contingency.plan import plan as plan_tables
from discreet.hierarchy.plan import plan as plan_sizes
from discreet.hierarchy.planned import refuse_arguments
from discreet.tables.options import ReadingOptions
from discreet.tables.reading import read_private
from discreet.tables.recoding import ReadRows, Recoding, recorded

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from discreet.core.budget import Budget
    from discreet.core.exact import Exact
    from discreet.core.guarantee import PureDP, ZeroConcentratedDP
    from discreet.core.outcome import Release
    from discreet.core.release import ReleaseOutputs
    from discreet.hierarchy.contingency.result import RegionTables
    from discreet.hierarchy.methods import Method
    from discreet.hierarchy.result import RegionCounts

_OF_UNITS = "unit size quantity max_size public_units method"
_OF_ATTRIBUTES = "domain marginals shares workload workload_levels loss groups shrink exact_total"
_OF_BOTH = "columns root levels person refuse_rows"
_OF_RELEASES = "budget dataset budget_delta keep_measurements outputs"
"""Arguments of :func:`counts`, by the call that takes them."""


def counts(
    source: Any,  # noqa: ANN401 - a path, any frame that Narwhals knows, or records of counts
    guarantee: PureDP | ZeroConcentratedDP,
    *,
    columns: Sequence[str] | None = None,
    regions: Any = None,  # noqa: ANN401 - a tree, paths of labels, a path or any frame
    root: Hashable = "all",
    levels: Sequence[Exact] | None = None,
    person: str | None = None,
    refuse_rows: bool = False,
    unit: str | None = None,
    size: str | None = None,
    quantity: str | None = None,
    max_size: int | None = None,
    max_quantity: int = 1,
    public_units: Any = None,  # noqa: ANN401 - a path or any frame
    method: Method | str | None = None,
    leaves_inherit: bool = True,
    by: Sequence[str] | None = None,
    domain: Mapping[str, Any] | None = None,
    marginals: Sequence[str] | Sequence[Sequence[str]] | None = None,
    shares: Any = None,  # noqa: ANN401 - parts of a budget, by marginal or by level
    workload: Any = None,  # noqa: ANN401 - marginals with weights, as text, by name, or by level
    workload_levels: Sequence[Exact] | str | None = None,
    loss: str | None = None,
    groups: int | None = None,
    shrink: str | None = None,
    max_rows: int = 1,
    exact_total: int | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    sheet: str | None = None,
    missing: Sequence[str] = (),
    bins: Sequence[str] = (),
    top: Sequence[str] = (),
    bottom: Sequence[str] = (),
    rounded: Sequence[str] = (),
    prefix: Sequence[str] = (),
    budget: Budget | None = None,
    dataset: str | None = None,
    budget_delta: Exact | None = None,
    keep_measurements: bool = False,
    outputs: ReleaseOutputs | Callable[[Any], ReleaseOutputs] | None = None,
) -> Release[RegionCounts] | Release[RegionTables]:
    """Publish counts for every region, by size of units or with `by` by categories of persons, privately.

    The right plan is made from the public arguments, and released once: :func:`discreet.hierarchy.plan` without `by`,
    ``discreet.hierarchy.contingency.plan`` with it. One pass over the rows; then, without `by`, that of the method
    over ``regions * sizes`` numbers, and with it that of the repair over ``regions * entries`` of the measured
    marginals.

    Parameters
    ----------
    source
        Private data: a path, a dataframe of any library that Narwhals knows, or :class:`discreet.streaming.RecordFiles`
        for a folder, a table larger than memory, or the workers of a scheduler. Pass the path, or a dataframe whose
        columns were read as text: see :meth:`discreet.hierarchy.Plan.release`.
    guarantee
        Guarantee of the release: :class:`~discreet.PureDP` (epsilon, Laplace noise) or
        :class:`~discreet.ZeroConcentratedDP` (rho, Gaussian noise), with neighbors ``"add-remove-person"`` or
        ``"replace-person"``.
    columns
        Columns of the region path, from the top down; in parentheses those that only `regions` has.
    regions
        Regions that exist, public; see :func:`discreet.hierarchy.plan`.
    root
        Name of the region that holds all.
    levels
        Part of the budget of each level, the root first, with the sum 1. Default: equal parts.
    person
        Column of the person.
    refuse_rows
        Whether rows that cannot be counted are refused instead of dropped, which is outside the guarantee.
    unit, size, quantity, max_size, max_quantity, public_units, method, leaves_inherit
        Units and sizes, without `by`; see :func:`discreet.hierarchy.plan`.
    by
        Attributes whose categories are counted.
    domain
        All categories of each attribute, public; needed with `by`.
    marginals, shares, workload, workload_levels, loss, groups, max_rows
        Measured marginals and their parts of the budget, or what these are best for, groups of regions, and the largest
        number of rows of a person, with `by`; see ``discreet.hierarchy.contingency.plan``.
    shrink
        Whether published tables are drawn to the shape of the region above, with `by`: ``"parent"`` (default) or
        ``"none"``; or ``"james-stein"``, made of shrunk estimates, without intervals.
    exact_total
        Number of all records, where it is public, with `by` and ``"replace-person"``.
    encoding, delimiter, decimal, sheet, missing
        How one file in memory is read, cell by cell; see :class:`~discreet.tables.options.ReadingOptions`. Only marks
        in `missing` stand for missing values.
    bins, top, bottom, rounded, prefix
        Public rules by which cells are recoded, one by one; see :class:`~discreet.tables.recoding.Recoding`.
    budget, dataset, budget_delta, keep_measurements, outputs
        Ledger and files; see :meth:`discreet.hierarchy.Plan.release`. `outputs` may be a function of the plan, which
        knows how large they will be.

    Returns
    -------
    Release
        Counts with guarantee, certificate and provenance; its text is what ``discreet counts`` prints.

    Raises
    ------
    InvalidProblemError
        For arguments of one kind of counts beside those of the other, and as the plans.
    BudgetError
        If the ledger refuses. Nothing was charged then, and no value used. Of a CSV file the names and the division
        into cells were read; with options of reading or rules of recoding, or from standard input, all of it was.

    Guarantee
    ---------
    `guarantee`, for the counts, for the measurements, and for both together.

    Examples
    --------
    >>> from discreet import PureDP
    >>> people = {"state": ["GA", "GA", "NY"], "sex": ["F", "M", "F"]}
    >>> import polars as pl
    >>> out = counts(
    ...     pl.DataFrame(people),
    ...     PureDP(200, neighbors="add-remove-person"),
    ...     columns=["state"],
    ...     regions=[("GA",), ("NY",)],
    ...     by=["sex"],
    ...     domain={"sex": ["F", "M"]},
    ... )
    >>> out.result.cells.tolist()
    [[2, 1], [1, 1], [1, 0]]
    """
    arguments = dict(locals())
    of_units = {name: arguments[name] for name in _OF_UNITS.split()}
    of_attributes = {name: arguments[name] for name in _OF_ATTRIBUTES.split()}
    refuse_other_outputs(outputs)
    whole_number(max_rows, "max_rows", "at least one row")
    beside, why = (of_attributes, "without by") if by is None else (of_units, "with by")
    refuse_arguments(beside, f"none {why}")
    unused = (
        {"max_rows": max_rows != 1}
        if by is None
        else {
            "max_quantity": max_quantity != 1,
            "leaves_inherit": not leaves_inherit,
        }
    )
    for name in (name for name, is_stated in unused.items() if is_stated):
        raise InvalidProblemError(name, f"its default {why}", "another value")
    reading = ReadingOptions.of(
        encoding=encoding, delimiter=delimiter, decimal=decimal, sheet=sheet, missing=missing
    )
    rules = Recoding.of(bins=bins, top=top, bottom=bottom, rounded=rounded, prefix=prefix)
    source = read_private(source, "source", reading, rules)
    if read_as := recorded(reading, rules):
        source = ReadRows(source, read_as)
    shared = {name: arguments[name] for name in _OF_BOTH.split()}
    charge = {name: arguments[name] for name in _OF_RELEASES.split()}
    if by is None:
        planned = plan_sizes(
            regions,
            guarantee,
            max_quantity=max_quantity,
            leaves_inherit=leaves_inherit,
            **shared,
            **of_units,
        )
        return planned.release(source, **_with_outputs(charge, planned))
    of_attributes["total"] = of_attributes.pop("exact_total")
    tables = plan_tables(regions, guarantee, by=by, max_rows=max_rows, **shared, **of_attributes)
    return tables.release(source, **_with_outputs(charge, tables))


def _with_outputs(charge: dict[str, Any], planned: object) -> dict[str, Any]:
    """Resolve outputs that are a function of the plan."""
    outputs = charge["outputs"]
    return {**charge, "outputs": outputs(planned) if callable(outputs) else outputs}
