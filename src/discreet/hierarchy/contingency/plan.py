"""Plan a release of tables by region from public inputs, and release: a budget is charged before values are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, ClassVar, cast, final

import numpy as np

from discreet.core.certificate import Certificate
from discreet.core.errors import InvalidProblemError, unknown_name
from discreet.core.exact import to_fraction
from discreet.core.guarantee import PureDP, ZeroConcentratedDP
from discreet.core.options import items_of
from discreet.core.outcome import Provenance, Release
from discreet.core.tree import Tree
from discreet.hierarchy.contingency.cell_counts import CellCounts
from discreet.hierarchy.contingency.expected import (
    expected_errors,
    expected_lines,
    expected_rows,
)
from discreet.hierarchy.contingency.groups import read_domain
from discreet.hierarchy.contingency.intervals import ROUND_UP
from discreet.hierarchy.contingency.measure import marginal_scales, measure, noise_in_words
from discreet.hierarchy.contingency.optimum import BestFrame, best_frame, pruned
from discreet.hierarchy.contingency.problem import Domain, TableFrame
from discreet.hierarchy.contingency.records import PEOPLE, RecordColumns, count_cells
from discreet.hierarchy.contingency.region_groups import (
    MORE_GROUPS,
    GroupedRegions,
    check_groups,
    grouped_regions,
)
from discreet.hierarchy.contingency.result import refuse_many_rows, shrunk_in_words
from discreet.hierarchy.contingency.shrink import check_blocks
from discreet.hierarchy.contingency.verify import verify
from discreet.hierarchy.contingency.verify_loss import loss_in_words, proved_loss
from discreet.hierarchy.contingency.whole import Descent, method_name
from discreet.hierarchy.contingency.workload import LOSSES, OF_LARGEST, Workload, read_workload
from discreet.hierarchy.measure import check_guarantee, level_shares, noise_of
from discreet.hierarchy.planned import Drawing, RegionPlan, refuse_arguments
from discreet.hierarchy.regions import own_columns, read_regions

if TYPE_CHECKING:
    from collections.abc import Hashable

    from discreet.core.exact import Exact
    from discreet.hierarchy.contingency.expected import ExpectedError
    from discreet.hierarchy.contingency.measure import MeasuredTables
    from discreet.hierarchy.contingency.problem import Marginal
    from discreet.hierarchy.contingency.result import RegionTables
    from discreet.hierarchy.contingency.verify_loss import ProvedLoss
    from discreet.hierarchy.contingency.whole import TableMethod

    DPForPersons = PureDP | ZeroConcentratedDP
    Shares = Mapping[str, Exact] | Sequence[Exact]
    Grouped = tuple[TableFrame, GroupedRegions] | tuple[None, None]


@final
@dataclass(frozen=True, eq=False, repr=False)
class TablesPlan(RegionPlan[CellCounts, "RegionTables"]):
    """A release that is decided but for the private data: made by :func:`plan` from public inputs, frozen, picklable.

    Parameters
    ----------
    frame
        The public facts, with the shares of the budget.
    guarantee
        What each release from this plan satisfies, and what it charges.
    method
        How whole tables are made.
    columns
        The columns of the private table; ``None`` where only :class:`CellCounts` are released.
    workload
        What the shares are best for; ``None`` where they were stated.
    record
        What proves how near to the best they are, for :func:`~discreet.hierarchy.contingency.verify_loss.proved_loss`;
        ``None`` for Laplace noise, structural zeros, or stated parts of levels.
    listed
        The regions as they were listed, where `frame` has levels of groups besides: rows are counted by these.
    groups
        Which lowest region of `listed` each one of `frame` is, and the levels of groups; ``None`` without groups.

    Examples
    --------
    >>> guarantee = ZeroConcentratedDP(1, neighbors="add-remove-person")
    >>> planned = plan([("GA",), ("NY",)], guarantee, columns=["state"], domain={"sex": ["F", "M"]}, marginals=["sex"])
    >>> planned
    TablesPlan(3 regions, 2 cells, rho 1, add-remove-person)
    """

    frame: TableFrame
    guarantee: DPForPersons
    method: TableMethod
    columns: RecordColumns | None = None
    workload: Workload | None = None
    record: Mapping[str, Any] | None = None
    listed: TableFrame | None = None
    groups: GroupedRegions | None = None

    _data_type: ClassVar[type[CellCounts]] = CellCounts

    def __post_init__(self) -> None:
        # Noise that cannot be had is refused before anything is charged for it.
        marginal_scales(self.frame, self.guarantee)
        check_blocks(self.frame, noise_of(self.guarantee), self.shrink)
        _ = self.proved

    def __repr__(self) -> str:
        frame = self.frame
        return f"TablesPlan({frame.tree.n} regions, {frame.domain.size} cells, {self.cost}, {self.guarantee.neighbors})"

    @property
    def _shares(self) -> Sequence[Fraction]:
        """Largest part of the budget of a region on each level or kind, the root first."""
        return [sum(one, Fraction(0)) for one in zip(*self.frame.shares.values(), strict=True)]

    def __str__(self) -> str:
        """Return method, guarantee, cost, noise and public inputs of a release, a line each."""
        lines = [("noise", line) for line in self.noise]
        lines += [("proof", line) for line in self.proof]
        lines += [("whole tables", line) for line in self.shrunk]
        text = self._text([], lines)
        if self.frame.total is None:
            return text
        invariant = (
            "who is among the records may change, how many there are may not: that number is public"
        )
        return f"{text}\n{'invariant'.ljust(len('assumed public'))}  {invariant}"

    @property
    def method_name(self) -> str:
        """Registered name of the method."""
        return method_name(self.method)

    @property
    def shrink(self) -> str | None:
        """Choice of shrinkage of the method; ``None`` for a method that has no such choice."""
        return getattr(self.method, "shrink", None)

    @property
    def shrunk(self) -> tuple[str, ...]:
        """Shrinkage of the whole tables in words; empty for a method that has no such choice."""
        return shrunk_in_words(asdict(self.method))  # type: ignore[call-overload] # methods are dataclasses

    @property
    def noise(self) -> tuple[str, ...]:
        """The noise of each level and marginal in words, the root first."""
        lines = noise_in_words(self.frame, self.guarantee)
        if self.groups is None:
            return lines
        levels = ", ".join(str(at + 1) for at in self.groups.levels)
        added = f"levels of groups of sibling regions, by their number of lowest regions: {levels}"
        return (added, *lines)

    def expected_errors(self) -> tuple[ExpectedError, ...]:
        """Compute the standard error of each marginal of each level, alone and from all measurements together.

        Structural zeros are left out of this fit: answers that hold them at zero are as precise or more so.
        """
        return expected_errors(self.frame, self.guarantee, self.workload)

    @cached_property
    def proved(self) -> ProvedLoss | None:
        """Loss of the workload and its lower bounds, rounded outwards; ``None`` where there is no record."""
        return None if self.record is None else proved_loss(self.frame, self.guarantee, self.record)

    @property
    def proof(self) -> tuple[str, ...]:
        """How near the noise is to the best for the workload, in words."""
        proved = self.proved
        if proved is None or self.workload is None:
            return ()
        lines = loss_in_words(
            LOSSES[self.workload.loss], proved, self.guarantee.neighbors, self.frame.max_rows
        )
        far = self.workload.loss in OF_LARGEST and proved.most > 1.02 * proved.linear
        if far and self.groups is None and grouped_regions(self.frame.tree, 1).levels:
            return *lines, MORE_GROUPS
        return lines

    def expected_rows(self, count: int | None = None) -> list[dict[str, Any]]:
        """List the standard errors of each asked table, beside those of independent noise with equal parts.

        Parameters
        ----------
        count
            A positive count, for which the coefficient of variation is given: the largest standard error over it.

        Returns
        -------
        list of dict
            One for each level and asked table: ``level`` (1 for the root), ``marginal``, ``entries``, ``regions``;
            in records ``standard_error``, ``largest``, ``naive``; with `count` also ``coefficient_of_variation``.
        """
        return expected_rows(self.frame, self.expected_errors(), count)

    def expected_lines(self, count: int | None = None) -> list[str]:
        """Return the errors of :meth:`expected_rows` in words: one line for each level and asked table.

        `count` as there.
        """
        return expected_lines(self.expected_rows(count), count)

    def with_guarantee(self, guarantee: DPForPersons) -> TablesPlan:
        """Plan the same release for another guarantee: the shares stay, the scales of the noise follow the guarantee.

        The record of the proof is dropped for pure differential privacy. Raises InvalidProblemError as :func:`plan`.
        """
        record = self.record if isinstance(guarantee, ZeroConcentratedDP) else None
        return replace(self, guarantee=guarantee, record=record)

    def check_rows(self) -> None:
        """Refuse plans whose tables :meth:`RegionTables.to_rows` could not write as rows; to be called before a charge.

        Raises
        ------
        InvalidProblemError
            For levels of groups of regions, which no column names, or a public number of records that is too large.
            Where that number is not public, too many rows are known after the charge alone.
        """
        if self.groups is not None:
            expected = "none with groups of regions, which have no columns"
            raise InvalidProblemError("rows", expected, "levels of groups")
        refuse_many_rows(self.frame.total or 0, "rows")

    @property
    def _wanted(self) -> tuple[str, list[str]] | None:
        """Private table: its name in messages, and the columns that are read; ``None`` if only counts are taken."""
        return None if self.columns is None else (PEOPLE, self.columns.of(self.frame.domain))

    def _load_code(self) -> None:
        """Load all compiled code of the method."""
        _load_kernels(cast("Hashable", self.method), self.guarantee)

    def _count(self, source: Any) -> CellCounts:  # noqa: ANN401 - as for release
        """Read the values of a private table; refuse one if the plan has no columns. Private: after the charge."""
        if self.columns is None:
            raise InvalidProblemError("source", "CellCounts", type(source).__name__)
        if self.groups is None or self.listed is None:
            return count_cells(source, self.frame, self.columns)
        counted = count_cells(source, self.listed, self.columns)
        return CellCounts(self.frame, counted.counts[self.groups.leaves])

    def draw(self, counted: CellCounts, how: Drawing) -> Release[RegionTables]:
        """Draw fresh noise, make whole tables, and verify them; nothing is charged.

        `counted` is private; `how` has the chance, threads, progress and what to keep. A failed check is in the
        certificate of the release, not raised. The cost is that of the method.
        """
        measured = measure(counted, self.guarantee, bits=how.bits)
        solve = self.method.solve
        result = solve(measured, threads=how.threads, on_progress=how.on_progress)
        if how.keep_measurements:
            result = replace(result, measurements=measured)
        made = Release(
            result, self.guarantee, Certificate(()), self._provenance(measured, result, how.read_as)
        )
        return replace(made, certificate=verify(made))

    def _provenance(
        self, measured: MeasuredTables, result: RegionTables, read_as: Mapping[str, Any]
    ) -> Provenance:
        """Record the method, the noise, the gaps, how rows were read, and the proved loss, rounded outward."""
        gaps = [{k: v for k, v in asdict(g).items() if v is not None} for g in result.gaps]
        own: dict[str, Any] = asdict(self.method)  # type: ignore[call-overload] # methods are dataclasses
        parameters = {**measured.parameters(), "method": own, "gaps": gaps, **read_as}
        proved = self.proved
        if proved is not None and self.record is not None:
            # Other machines add floats up in another order.
            most, least, any_noise = proved
            parameters["workload"] = {
                **self.record,
                "most": most * ROUND_UP,
                "linear": least / ROUND_UP,
                "any_noise": any_noise / ROUND_UP,
            }
        return Provenance(self.method_name, parameters, self.assumed_public, seeded=measured.seeded)


@cache
def _load_kernels(method: Hashable, guarantee: DPForPersons) -> None:
    """Release tables of one made-up record, so that all compiled code is loaded before a budget is charged."""
    tree = Tree.from_paths([("a",), ("b",)])
    domain = Domain.from_dict({"a": ["x", "y"]})
    planned = plan(tree, guarantee, columns=["region"], domain=domain)
    counted = CellCounts(planned.frame, np.array([[1, 0], [0, 0]]))
    solver = cast("TableMethod", method)
    solver.solve(measure(counted, guarantee), threads=1, on_progress=None)


_BESIDE_NO_FRAME = (
    "columns domain by person marginals shares levels total workload workload_levels loss groups"
)
"""Arguments of :func:`plan` whose place a :class:`TableFrame` takes; all of them are ``None`` by default."""


def plan(
    regions: Any,  # noqa: ANN401 - a tree, paths of labels, a path or any frame; or the public facts
    guarantee: DPForPersons,
    *,
    columns: Sequence[str] | None = None,
    domain: Domain | Mapping[str, Any] | None = None,
    by: Sequence[str] | None = None,
    marginals: Sequence[str] | Sequence[Sequence[str]] | None = None,
    shares: Shares | Sequence[Shares] | None = None,
    levels: Sequence[Exact] | None = None,
    workload: str | Mapping[str, Exact] | Sequence[str] | None = None,
    workload_levels: Sequence[Exact] | str | None = None,
    loss: str | None = None,
    groups: int | None = None,
    person: str | None = None,
    max_rows: int = 1,
    total: int | None = None,
    root: Hashable = "all",
    method: TableMethod | None = None,
    shrink: str | None = None,
    refuse_rows: bool = False,
) -> TablesPlan:
    """Decide once all that public inputs can decide about a release of tables of attributes by region.

    Searches of at most 3,000 steps, each over kinds of regions times interactions; with `shares` none.

    Parameters
    ----------
    regions
        The regions that exist, public: a :class:`~discreet.Tree`, paths of labels, or a table or file with one row for
        each lowest region. A :class:`TableFrame`, the public facts in full, plans for :class:`CellCounts`.
    guarantee
        What each release has to satisfy, with neighbors ``"add-remove-person"`` or ``"replace-person"``.
    columns
        Columns of the region path, from the top down, in parentheses those that the list alone has. Without columns
        and `regions` all records are counted together.
    domain
        The attributes with all their categories: a :class:`Domain`, or lists by name, with structural zeros under
        ``"zeros"`` beside ``"attributes"`` where there are some. In place of its categories a coarsened attribute has
        ``{"of": attribute, "groups": {group: categories}}``, and needs no column.
    by
        Which attributes, in which order; all of them by default.
    marginals
        What is measured and published: ``"total"``, ``"sex"``, ``"sex:age_band"``, ``"cells"`` for all attributes; or a
        list of such lists, one a level, the root first. Default: the workload, or the cells.
    shares
        The part of each level's budget that each marginal has, in the order of the marginals or by name, with the sum
        1; or a list of these, one a level. The cells of the lowest level must then be among the marginals. Default:
        what is best for the workload. Not to be chosen by looking at the data.
    levels
        The part of the budget of each level, the root first, with the sum 1. Default: what is best for the workload;
        equal parts beside `shares`.
    workload, workload_levels, loss
        What shares are best for, public: marginals with weights, weights of levels, and what is small; see
        :func:`~discreet.hierarchy.contingency.workload.read_workload`. Default: the marginals, all with the weight 1.
        Levels below the last one with a weight aren't counted.
    groups
        Up to how many cuts, from 1 to 16, divide the regions below one region into groups by their number of lowest
        regions. Groups are levels of their own between those of `columns`, measured where this lowers a largest error,
        and published with them; without weights. Only for the losses ``"worst"`` and ``"against-naive"`` and Gaussian
        noise, without `levels`. Default: none.
    person
        Column that names the person, where rows of one person are to be counted.
    max_rows
        The most rows of one person; public. A household is protected by its largest size.
    total
        The number of all records, where it is public: with ``"replace-person"`` and one row each only, where all
        neighbors share it. It is then met exactly.
    root
        Name of the region that holds all.
    method
        How whole tables are made: :class:`~discreet.hierarchy.contingency.whole.Descent` by default.
    shrink
        Whether published tables are drawn to the shape of the region above: ``"parent"`` (default) or ``"none"``.
        Their errors are then smaller as a rule, and what is peculiar to a region is understated. ``"james-stein"``
        shrinks the estimates block by block instead, for Gaussian noise and regions of a level that are alike: no
        table has a larger expected total squared error than unbiased estimates, before it is made whole; it then has
        neither standard errors nor intervals. Answers of :func:`query` do not depend on it.
    refuse_rows
        Whether private rows that do not count are refused, after the charge. This is outside of the guarantee: the
        refusal tells neighboring tables apart. By default such rows are left out by the rule of
        :mod:`discreet.tables.keys`, and their number is written to standard error alone.

    Returns
    -------
    TablesPlan
        What is decided; ``print`` shows noise by level and marginal, cost and what is assumed to be public.

    Raises
    ------
    InvalidProblemError
        For public inputs that make no sense, shares that do not add up, an empty workload, a guarantee of another
        kind, or an invariant that the guarantee does not survive.

    Examples
    --------
    >>> guarantee = ZeroConcentratedDP("1/2", neighbors="add-remove-person")
    >>> listed = {"sex": ["F", "M"], "age": ["0-17", "18+"]}
    >>> print(plan([("GA",), ("NY",)], guarantee, columns=["state"], domain=listed, marginals=["total", "sex:age"]))
    guarantee       0.5-zero-concentrated differentially private (neighbors: all records of one person added ...
    cost            rho 1/2, charged again by each release
    noise           level 1, total (1 entry): Gaussian noise of variance up to 20000/1637, 1637/20000 of the budget
    noise           level 1, sex:age (4 entries): Gaussian noise of variance up to 100000/20179, 20179/100000 of ...
    noise           level 1, sex (2 entries): Gaussian noise of variance up to 100000/599, 599/100000 of the budget
    noise           level 1, age (2 entries): Gaussian noise of variance up to 100000/599, 599/100000 of the budget
    noise           level 2, total (1 entry): Gaussian noise of variance up to 6250/1219, 1219/6250 of the budget
    noise           level 2, sex:age (4 entries): Gaussian noise of variance up to 50000/24039, 24039/50000 of ...
    noise           level 2, sex (2 entries): Gaussian noise of variance up to 25000/357, 357/25000 of the budget
    noise           level 2, age (2 entries): Gaussian noise of variance up to 25000/357, 357/25000 of the budget
    proof           loss: weighted sum over tables, each the standard errors of its entries over the root of ...
    proof           No mechanism with this guarantee and unbiased estimates, whatever its noise, has a loss ...
    whole tables    each region's table is drawn to the shape of the region above, where siblings are alike ...
    assumed public  regions: 3 regions on 2 levels
    assumed public  domain: sex 2 x age 2, 4 cells
    assumed public  max_rows: a person has one row
    """
    arguments = dict(locals())
    check_guarantee(guarantee)
    if method is not None and shrink is not None:
        raise InvalidProblemError("shrink", "none beside a method, which has its own", repr(shrink))
    chosen = method or Descent(shrink="parent" if shrink is None else shrink)
    if isinstance(regions, TableFrame):
        facts = {name: arguments[name] for name in _BESIDE_NO_FRAME.split()}
        facts["max_rows"] = None if max_rows == 1 else max_rows
        facts["refuse_rows"] = refuse_rows or None
        refuse_arguments(facts, "its default beside a TableFrame")
        return TablesPlan(regions, guarantee, chosen)
    if domain is None:
        raise InvalidProblemError("domain", "the attributes with all their categories", "None")
    read = domain if isinstance(domain, Domain) else read_domain(domain, by)
    names, tree = read_regions(columns, regions, root)
    if shares is not None and (workload, workload_levels, loss) != (None, None, None):
        raise InvalidProblemError("shares", "none with a workload, which decides them", "some")
    target, record = None, None
    grouped: Grouped = (None, None)
    check_groups(groups, guarantee, loss, levels)
    if shares is None:
        target, (frame, record), grouped = _best(read, tree, guarantee, arguments)
        names = names[: (grouped[0] or frame).tree.depth]
        if tree.depth and not own_columns(names):
            expected = "a table on a level below the root whose column is not in parentheses, or no columns"
            raise InvalidProblemError("workload", expected, "none")
    else:
        parts = _parts(read, tree.depth + 1, marginals, shares, levels)
        frame = TableFrame(tree, read, parts, max_rows, total)
    named = RecordColumns(names, person, refuse_rows)
    named.of(read)
    return TablesPlan(frame, guarantee, chosen, named, target, record, *grouped)


def _best(
    domain: Domain, tree: Tree, guarantee: DPForPersons, arguments: Mapping[str, Any]
) -> tuple[Workload, BestFrame, Grouped]:
    """Read the workload and choose the shares for it; return both, and the regions without groups where it has these.

    Raises InvalidProblemError for marginals beside a workload, one that comes twice, or no part for the lowest level.

    `arguments` are those of :func:`plan`, by name. The cost is that of :func:`best_frame`.
    """
    workload, marginals, levels = (arguments[name] for name in ("workload", "marginals", "levels"))
    groups, max_rows, total = (arguments[name] for name in ("groups", "max_rows", "total"))
    if workload is not None and marginals is not None:
        raise InvalidProblemError("marginals", "none with a workload, which names them", "some")
    if marginals is not None:
        # Read as such first, so that a mistake is one of this argument.
        for names in _by_level(marginals, tree.depth + 1, "marginals"):
            listed = [domain.marginal(name) for name in names]
            if len(set(listed)) < len(listed):
                raise InvalidProblemError("marginals", "each marginal once", repr(list(names)))
    tables = marginals if workload is None else workload
    target = read_workload(
        domain,
        tree.depth + 1,
        ["cells"] if tables is None else tables,
        arguments["workload_levels"],
        arguments["loss"],
    )
    parts = None if levels is None else level_shares(tree.depth, levels)
    if parts is not None and not parts[-1]:
        expected = (
            "a part above 0 for the lowest level, or none and workload_levels that end with 0"
        )
        raise InvalidProblemError("levels", expected, [str(part) for part in parts])
    if parts is None and target.depth < tree.depth:
        tree = pruned(tree, target.depth)
        tables = {q: each[: tree.depth + 1] for q, each in target.tables.items()}
        target = replace(target, tables=tables)
    grouped: Grouped = (None, None)
    if groups is not None and (made := grouped_regions(tree, groups)).levels:
        cells = {domain.full: (Fraction(0),) * tree.depth + (Fraction(1),)}
        grouped = TableFrame(tree, domain, cells, max_rows, total), made
        tree, target = made.tree, made.spread(target)
    best = best_frame(tree, domain, target, guarantee, levels=parts, max_rows=max_rows, total=total)
    return target, best, grouped


def _parts(
    domain: Domain,
    n_levels: int,
    marginals: Any,  # noqa: ANN401 - as for plan
    shares: Any,  # noqa: ANN401 - as for plan
    levels: Sequence[Exact] | None,
) -> dict[Marginal, tuple[Fraction, ...]]:
    """Return for each marginal its part of the whole budget on each of `n_levels` levels, exact.

    `shares` are one list or mapping for all levels, or one for each. Refuses other numbers of them, or a marginal
    twice.

    `marginals` are names, for all levels or for each, by default the cells; `levels` the part of each level.
    """
    by_level = level_shares(n_levels - 1, levels)
    listed = _by_level(marginals if marginals is not None else ["cells"], n_levels, "marginals")
    if not isinstance(shares, Mapping):
        shares = items_of(shares, "shares", "numbers, or lists of these, one a level")
    several = not isinstance(shares, Mapping) and any(
        isinstance(one, Mapping | list | tuple) for one in shares
    )
    shares_by_level: list[Any] = list(shares) if several else [shares] * n_levels
    if len(shares_by_level) != n_levels:
        raise InvalidProblemError(
            "shares", f"one list for each of {n_levels} levels", len(shares_by_level)
        )
    parts_by_marginal: dict[Marginal, list[Fraction]] = {}
    for level, (names, own) in enumerate(zip(listed, shares_by_level, strict=True)):
        read = [domain.marginal(name) for name in names]
        if len(set(read)) < len(read):
            raise InvalidProblemError("marginals", "each marginal once", repr(list(names)))
        for q, part in _of_level(domain, read, own).items():
            parts_by_marginal.setdefault(q, [Fraction(0)] * n_levels)[level] = (
                part * by_level[level]
            )
    return {q: tuple(parts) for q, parts in parts_by_marginal.items()}


def _by_level(marginals: Any, n_levels: int, field: str) -> list[list[str]]:  # noqa: ANN401 - as for plan
    """Return the names of the marginals for each of `n_levels` levels, from one list for all or one for each.

    Raises InvalidProblemError, naming the argument `field`, for others.
    """
    expected = "a list of names such as total or sex:age"
    if isinstance(marginals, str) or not isinstance(marginals, Sequence) or not marginals:
        raise InvalidProblemError(field, expected, repr(marginals))
    if all(isinstance(one, str) for one in marginals):
        return [list(marginals)] * n_levels
    if len(marginals) != n_levels:
        raise InvalidProblemError(field, f"one list for each of {n_levels} levels", len(marginals))
    listed = [[*items_of(one, field, expected)] for one in marginals]
    if not all(listed):
        at = 1 + listed.index([])
        expected = "at least one marginal on each level, or a workload with levels of weight 0"
        raise InvalidProblemError(field, expected, f"none on level {at}")
    return listed


def _of_level(
    domain: Domain,
    marginals: list[Marginal],
    shares: Any,  # noqa: ANN401 - as for plan
) -> dict[Marginal, Fraction]:
    """Read the shares of one level by marginal, exact, from numbers or a mapping.

    Raises InvalidProblemError for unknown marginals, another number, negative ones, or another sum than 1.
    """
    if isinstance(shares, Mapping):
        named = {domain.marginal(name): part for name, part in shares.items()}
        for q in named:
            if q not in marginals:
                listed = [domain.name(one) for one in marginals]
                raise unknown_name("shares", domain.name(q), listed)
        parts = [to_fraction(named.get(q, 0), "shares") for q in marginals]
    else:
        numbers = items_of(shares, "shares", "numbers, one for each marginal")
        parts = [to_fraction(part, "shares") for part in numbers]
        if len(parts) != len(marginals):
            expected = f"{len(marginals)} numbers, one for each marginal"
            raise InvalidProblemError("shares", expected, len(parts))
    if not parts or min(parts) < 0 or sum(parts) != 1:
        got = [str(part) for part in parts]
        raise InvalidProblemError("shares", "nonnegative numbers with the sum 1", got)
    return dict(zip(marginals, parts, strict=True))
