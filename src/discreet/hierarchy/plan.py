"""Plan a release of counts from public inputs, and release by it: a budget is charged before values are read."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, cast, final

from discreet.core.calls import explained
from discreet.core.certificate import Certificate
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import PureDP, ZeroConcentratedDP
from discreet.core.outcome import Provenance, PublicInput, Release
from discreet.core.printed import count
from discreet.core.progress import Reporter
from discreet.core.tree import Tree
from discreet.hierarchy.diagnose import diagnose
from discreet.hierarchy.measure import (
    check_guarantee,
    level_shares,
    measure,
    node_scales,
    scales_by_level,
)
from discreet.hierarchy.methods import DEFAULT, METHODS, reason
from discreet.hierarchy.planned import Drawing, RegionPlan, refuse_arguments
from discreet.hierarchy.problem import Frame, GroupSizes
from discreet.hierarchy.result import RegionCounts
from discreet.hierarchy.survival import check_needs
from discreet.hierarchy.verify import PROMISES, verify

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence
    from fractions import Fraction

    from discreet.core.exact import Exact
    from discreet.hierarchy.diagnose import Diagnosis
    from discreet.hierarchy.measure import Measured
    from discreet.hierarchy.methods import Method
    from discreet.hierarchy.problem import Units
    from discreet.hierarchy.regions import Named, Public

    DPForPersons = PureDP | ZeroConcentratedDP

_DECLARED = (
    "declared by the publisher, not read from a public list: that the regions in the private table, and no others, "
    "are public knowledge; the guarantee does not cover what follows from their list"
)


@final
@dataclass(frozen=True, eq=False, repr=False)
class Plan(RegionPlan[GroupSizes, RegionCounts]):
    """A release that is decided but for the private data: made by :func:`plan` from public inputs, frozen, picklable.

    Parameters
    ----------
    frame
        The public facts.
    guarantee
        What each release from this plan satisfies, and what it charges.
    method
        The method.
    why
        Why this one.
    levels
        The part of the budget of each level, the root first.
    leaves_inherit
        Whether leaves above the deepest level have the parts of the levels below them, too.
    declared
        What the publisher declares to be public without a public source.
    public, named
        The public regions and units, and the names of the columns, by which the rows of a table are counted; ``None``
        where only :class:`GroupSizes` are released.

    Examples
    --------
    >>> from discreet import PureDP
    >>> guarantee = PureDP(1, neighbors="add-remove-person")
    >>> planned = plan([("GA",), ("NY",)], guarantee, columns=["state"], unit="home", max_size=3)
    >>> planned
    Plan(m-c-dp-weighted, 3 regions, epsilon 1, add-remove-person)
    >>> planned.with_guarantee(PureDP(2, neighbors="add-remove-person")).guarantee.epsilon
    Fraction(2, 1)
    """

    frame: Frame
    guarantee: DPForPersons
    method: Method
    why: str
    levels: tuple[Fraction, ...]
    leaves_inherit: bool = True
    declared: tuple[PublicInput, ...] = ()
    public: Public | None = None
    named: Named | None = None

    _data_type: ClassVar[type[GroupSizes]] = GroupSizes

    def __post_init__(self) -> None:
        check_guarantee(self.guarantee)
        without = reason(self.method)
        if without:
            raise InvalidProblemError(
                "method", "one with a guarantee", f"{METHODS.name_of(self.method)}: {without}"
            )
        # Noise that the method cannot have, before anything is charged for it.
        level_parts(
            self.frame,
            self.guarantee,
            method=self.method,
            levels=self.levels,
            leaves_inherit=self.leaves_inherit,
        )

    def __repr__(self) -> str:
        name, regions = self.method_name, self.frame.tree.n
        return f"Plan({name}, {regions} regions, {self.cost}, {self.guarantee.neighbors})"

    def __str__(self) -> str:
        """Return method, guarantee, cost, noise and public inputs of a release, a line each."""
        frame = self.frame
        counted = (
            f"{frame.tree.n} regions on {frame.tree.depth + 1} levels, sizes {frame.first_size} to "
        )
        return self._text(
            [("method", f"{self.method_name}, {self.why}")],
            [
                ("counts", f"{counted}{frame.max_size}, {frame.units} units"),
                *((f"level {level}", noise) for level, noise in enumerate(self.noise, start=1)),
            ],
        )

    @property
    def method_name(self) -> str:
        """Registered name of the method."""
        return METHODS.name_of(self.method)

    @property
    def assumed_public(self) -> tuple[PublicInput, ...]:
        """What a release takes to be public, with hashes: facts, and what was declared."""
        return (*self.frame.assumed_public(), *self.declared)

    @property
    def scales(self) -> tuple[Fraction | None, ...]:
        """The scale of the noise of each region, ``(n_regions,)`` fractions in the order of the tree.

        Linear in the regions. Of Laplace noise it is b, of Gaussian noise the variance parameter sigma^2. ``None``:
        the share of the region is 0, and it is not measured at all (not: published without noise).
        """
        return node_scales(
            self.frame,
            self.method.kind,
            self.guarantee,
            self.levels,
            leaves_inherit=self.leaves_inherit,
        )

    @property
    def noise(self) -> tuple[str, ...]:
        """The noise of each level in words, the root first."""
        pure = isinstance(self.guarantee, PureDP)
        law = "Laplace noise of scale" if pure else "Gaussian noise of variance up to"
        inner, leaf = scales_by_level(self.frame.tree, self.scales)
        sentences = []
        for part, above, ends in zip(self.levels, inner, leaf, strict=True):
            scales = dict.fromkeys(str(scale) for scale in (above, ends) if scale is not None)
            sentence = f"{law} {' (lowest regions: '.join(scales)}" if scales else "not measured"
            sentences.append(f"{sentence}{')' * (len(scales) > 1)}, {part} of the budget")
        return tuple(sentences)

    def with_guarantee(self, guarantee: DPForPersons) -> Plan:
        """Plan the same release for another guarantee, such as for a table of costs on synthetic data.

        Method and shares of the levels stay; only the scales of the noise follow the guarantee.
        """
        return replace(self, guarantee=guarantee)

    @property
    def _shares(self) -> Sequence[Fraction]:
        """Part of the budget of each level, the root first."""
        return self.levels

    @property
    def _wanted(self) -> tuple[str, list[str]] | None:
        """Private table: its name in messages, and the columns that are read; ``None`` if only counts are taken."""
        if self.public is None or self.named is None:
            return None
        return self.named.argument, self.named.columns(self.public)

    def _load_code(self) -> None:
        """Load all compiled code of the method."""
        method = cast("Hashable", self.method)
        _load_kernels(method, self.guarantee, self.frame.tree.depth, self.frame.units)

    def _count(self, source: Any) -> GroupSizes:  # noqa: ANN401 - as for release
        """Read the values of a private table; refuse one if the plan has no columns. Private: after the charge."""
        from discreet.hierarchy.records import count_rows

        if self.public is None or self.named is None:
            raise InvalidProblemError("source", "GroupSizes", type(source).__name__)
        frame = self.frame
        return count_rows(
            source,
            self.public,
            self.named,
            max_size=frame.max_size,
            max_quantity=frame.max_quantity,
        )

    def draw(self, counted: GroupSizes, how: Drawing) -> Release[RegionCounts]:
        """Draw fresh noise, make the counts consistent, and verify them; nothing is charged.

        `counted` is private; `how` has the chance, the progress and what to keep. A failed check is in the certificate
        of the release, not raised. The cost is that of the method.
        """
        measured = measure(
            counted,
            self.method.kind,
            self.guarantee,
            levels=self.levels,
            leaves_inherit=self.leaves_inherit,
            bits=how.bits,
        )
        report = Reporter(how.on_progress, clock=None)
        result = solved(self.method, measured, how.keep_measurements, report)
        provenance = provenance_of(self.method, measured, self.declared, how.read_as)
        made = Release(result, self.guarantee, Certificate(()), provenance)
        return replace(made, certificate=verify(made))

    def diagnose(
        self,
        source: Any,  # noqa: ANN401 - as for release
        outcome: Release[RegionCounts] | RegionCounts,
    ) -> Diagnosis:
        """Compare published counts with the true ones; private, for the curator only. The source is read once more.

        One pass over the rows, and ``O(regions sizes)``; a plan without columns takes only :class:`GroupSizes`.

        Raises
        ------
        InvalidProblemError
            For a source that :meth:`check` refuses, or counts on another frame.
        """
        self.check(source)
        counted = source if isinstance(source, GroupSizes) else self._count(source)
        return diagnose(counted, outcome)


@explained(
    "plan(regions, dc.PureDP(1, neighbors='add-remove-person'), columns=('state', 'county'), max_size=100)"
)
def plan(
    regions: Any,  # noqa: ANN401 - a tree, paths of labels, a path or any frame; or the public facts
    guarantee: DPForPersons,
    *,
    columns: Sequence[str] | None = None,
    unit: str | None = None,
    size: str | None = None,
    quantity: str | None = None,
    person: str | None = None,
    max_size: int | None = None,
    max_quantity: int = 1,
    public_units: Any = None,  # noqa: ANN401 - a path or any frame
    declare_regions: bool = False,
    root: Hashable = "all",
    method: Method | str | None = None,
    levels: Sequence[Exact] | None = None,
    leaves_inherit: bool = True,
    refuse_rows: bool = False,
) -> Plan:
    """Decide once all that public inputs can decide about a release of counts by region and size.

    Linear in the regions and the rows of public tables.

    Parameters
    ----------
    regions
        The regions that exist, public: a :class:`~discreet.Tree`, paths of labels, or a table or file with one row for
        each lowest region. ``None`` takes those of `public_units`. A :class:`Frame`, the public facts in full, plans
        for :class:`GroupSizes`, and nothing else about tables is then given.
    guarantee
        What each release has to satisfy: :class:`~discreet.PureDP` or :class:`~discreet.ZeroConcentratedDP`, with
        neighbors ``"add-remove-person"`` or ``"replace-person"``.
    columns
        Columns of the region path in all tables, from the top down; in parentheses those that the list alone has, such
        as ``["(state)", "county"]``. Quotes take parentheses as they are: ``['"(state)"', "county"]``.
    unit
        Column that names the unit, such as a household; needed where each row of the private table is a person.
    size
        Column of the size of the unit, where each row of the private table is a unit.
    quantity
        Column of the number that each person adds to the size; 1 without it.
    person
        Column that names the person, where one person may not have two rows.
    max_size
        Larger units count as of this size. Choose it without looking at the data.
    max_quantity
        Larger quantities of a person count as this one.
    public_units
        Table or file of the units with their regions, whose numbers are then public. ``None`` keeps units private.
    declare_regions
        Declares that the regions named in a private table, and no others, are public knowledge. `regions` is then that
        table; only the columns of its region path are read, and each release records the declaration.
    root
        Name of the region that holds all.
    method
        A method, or its name in :data:`discreet.hierarchy.methods.METHODS`. Default: ``"m-c-dp-weighted"``.
    levels
        The part of the budget of each level, the root first, with the sum 1; not to be chosen by looking at the data.
        Default: equal parts, or all for the leaves where the method uses only those.
        :func:`discreet.hierarchy.levels.choose_levels` suggests parts for a workload.
    leaves_inherit
        Whether leaves above the deepest level also have the parts of the levels below them, which nobody else has.
    refuse_rows
        Whether private rows that do not count are refused, after the charge. This is outside of the guarantee: the
        refusal tells neighboring tables apart. By default such rows are left out by the rule of
        :mod:`discreet.tables.keys`, and their number is written to standard error alone.

    Returns
    -------
    Plan
        What is decided; ``print`` shows method, noise, cost and what is assumed to be public.

    Raises
    ------
    InvalidProblemError
        For public tables or names that make no sense, a guarantee of another kind, a method without one or that cannot
        work with these facts, or parts that do not add up.

    Examples
    --------
    >>> from discreet import PureDP
    >>> guarantee = PureDP(1, neighbors="add-remove-person")
    >>> planned = plan([("GA",), ("NY",)], guarantee, columns=["state"], unit="home", max_size=3)
    >>> print(planned)
    method          m-c-dp-weighted, the default, whatever the data
    guarantee       1-differentially private (neighbors: all records of one person added or removed): ...
    cost            epsilon 1, charged again by each release
    counts          3 regions on 2 levels, sizes 1 to 3, private units
    level 1         Laplace noise of scale 2, 1/2 of the budget
    level 2         Laplace noise of scale 2, 1/2 of the budget
    assumed public  regions: 3 regions on 2 levels
    assumed public  max_size, max_quantity: sizes up to 3, a person adds at most 1
    """
    arguments = dict(locals())
    chosen: Method = METHODS.resolve(DEFAULT if method is None else method)
    why = "the default, whatever the data" if method is None else "chosen by the caller"
    public, named, declared = None, None, False
    if isinstance(regions, Frame):
        names = "columns unit size quantity person max_size public_units"
        facts = {name: arguments[name] for name in names.split()}
        facts |= {"refuse_rows": refuse_rows or None, "declare_regions": declare_regions or None}
        facts["max_quantity"] = None if max_quantity == 1 else max_quantity
        refuse_arguments(facts, "its default beside a Frame")
        frame = regions
    else:
        from discreet.hierarchy.regions import (
            Named,
            check_columns,
            declared_regions,
            read_public,
        )

        if columns is None:
            raise InvalidProblemError("columns", "the columns of the region path", "None")
        if max_size is None:
            raise InvalidProblemError(
                "max_size", "the largest size that has a count of its own", "None"
            )
        named = Named(unit, size, quantity, person, refuse_rows)
        listed, declared = regions, declare_regions
        if declare_regions:
            listed = declared_regions(regions, check_columns(columns, unit), root)
        public = read_public(
            columns, regions=listed, public_units=public_units, unit=unit, root=root
        )
        named.columns(public)
        frame = public.frame(max_size, max_quantity)
    _refuse_large(frame)
    check_guarantee(guarantee)
    shares = _shares(frame, chosen, levels)
    return Plan(
        frame,
        guarantee,
        chosen,
        why,
        shares,
        leaves_inherit,
        _declaration(frame) if declared else (),
        public,
        named,
    )


def _refuse_large(frame: Frame, *, bytes_per_count: int = 32) -> None:
    """Refuse a table of counts that this machine can't hold, before anything is charged for it.

    A count takes at least `bytes_per_count`: what was counted, its noisy value, what is published, and one to work on.
    """
    from discreet.tables.sizes import allowed

    regions = frame.tree.n
    most = allowed() // (bytes_per_count * regions)
    if frame.n_sizes > most:
        expected = f"at most {count(most)} for {count(regions)} regions, in half of the memory"
        expected += "; larger groups count as of this size"
        raise InvalidProblemError("max_size", expected, count(frame.n_sizes))


def level_parts(
    frame: Frame,
    guarantee: DPForPersons,
    *,
    method: Method | str | None = None,
    levels: Sequence[Exact] | None = None,
    leaves_inherit: bool = True,
) -> tuple[Fraction, ...]:
    """Find the part of the budget of each level, and refuse what public facts alone rule out.

    Linear in the number of regions.

    Parameters
    ----------
    frame
        The public facts.
    guarantee, method, levels, leaves_inherit
        As for :func:`plan`.

    Returns
    -------
    tuple of Fraction
        The part of the budget of each level.

    Raises
    ------
    InvalidProblemError
        For a guarantee of another kind, parts that do not add up, or facts with which the method cannot work.
    """
    chosen: Method = METHODS.resolve(
        DEFAULT if method is None else method, accept_no_guarantee=True
    )
    check_guarantee(guarantee)
    shares = _shares(frame, chosen, levels)
    needs = getattr(chosen, "needs", ())
    # Where all leaves are equally deep there is nothing to inherit, and other trees are refused by the need.
    inherit = leaves_inherit and "equal depth" not in needs
    scales = node_scales(frame, chosen.kind, guarantee, shares, leaves_inherit=inherit)
    check_needs(frame, scales, needs)
    return shares


def _shares(frame: Frame, method: Method, levels: Sequence[Exact] | None) -> tuple[Fraction, ...]:
    """Return the share of the budget of each level: `levels`, or by default equal ones.

    All for the leaves if the method needs no others.
    """
    depth = frame.tree.depth
    if levels is None and getattr(method, "only_leaves", False):
        return level_shares(depth, [0] * depth + [1])
    return level_shares(depth, levels)


def solved(
    method: Method,
    measured: Measured,
    keep: bool,  # noqa: FBT001 - an internal step
    report: Reporter,
) -> RegionCounts:
    """Post-process a measurement into counts; with `keep` the measurement stays with them. The cost is the method's."""
    counts = method.solve(measured, on_progress=report)
    return RegionCounts(measured.frame, counts, measured if keep else None)


def _declaration(frame: Frame) -> tuple[PublicInput, ...]:
    """Record that the publisher declares the regions of a private table to be public."""
    regions = next(public for public in frame.assumed_public() if public.name == "regions")
    return (PublicInput("declaration about regions", regions.digest, _DECLARED),)


@cache
def _load_kernels(method: Hashable, guarantee: DPForPersons, depth: int, units: Units) -> None:
    """Run a release of two made-up units, so that all compiled code is loaded before a budget is charged."""
    tree = Tree.from_paths([("a",) * max(depth, 1), ("b",) * max(depth, 1)])
    sizes = GroupSizes.from_counts(tree, [[1, 1]] * len(tree.leaves), units=units)
    with suppress(InvalidProblemError):
        rehearsed = plan(sizes.frame, guarantee, method=cast("Method", method))
        rehearsed.draw(sizes, Drawing())


def provenance_of(
    method: Method,
    measured: Measured,
    declared: tuple[PublicInput, ...] = (),
    read_as: Mapping[str, Any] = MappingProxyType({}),
) -> Provenance:
    """Record the method, its parameters, the noise, how rows were read, and what was assumed to be public.

    `declared` are further public inputs, `read_as` options of reading, which are recorded as parameters.
    """
    own: dict[str, Any] = asdict(method)  # type: ignore[call-overload] # methods are dataclasses
    promises = getattr(method, "promises", PROMISES)
    return Provenance(
        METHODS.name_of(method),
        {**measured.parameters(), "method": own, "promises": list(promises), **read_as},
        (*measured.frame.assumed_public(), *declared),
        seeded=measured.seeded,
    )
