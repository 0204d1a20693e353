"""What plans of counts by region share: cost and text, the check before a charge, and the release."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import MappingProxyType
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Generic,
    NamedTuple,
    Protocol,
    TypeVar,
    runtime_checkable,
)

from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import PureDP
from discreet.core.options import callback, whole_number
from discreet.core.progress import Reporter
from discreet.core.randomness import as_bits
from discreet.core.release import run_release
from discreet.core.views import bars, plan_view
from discreet.tables.recoding import ReadRows

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Mapping, Sequence
    from fractions import Fraction

    import numpy as np
    from numpy.typing import NDArray

    from discreet.core.budget import Budget
    from discreet.core.exact import Exact
    from discreet.core.guarantee import ZeroConcentratedDP
    from discreet.core.outcome import PublicInput, Release
    from discreet.core.progress import Progress
    from discreet.core.randomness import UniformSource
    from discreet.core.release import ReleaseOutputs
    from discreet.hierarchy.contingency.problem import TableFrame
    from discreet.hierarchy.problem import Frame
    from discreet.hierarchy.regions import Named, Public

DataT = TypeVar("DataT")
ResultT = TypeVar("ResultT")


@runtime_checkable
class RowSource(Protocol):
    """Private rows that are counted where they are, such as files that are read piece by piece."""

    def check(self, argument: str, wanted: Sequence[str]) -> None:
        """Refuse by names and declared types, without reading a value, before anything is charged."""
        ...

    def count(
        self, public: Public, named: Named, frame: Frame
    ) -> tuple[NDArray[np.int64], Counter[int]]:
        """Count units by lowest region and by sizes from 0 on, and rows by the reason why they are left out."""
        ...

    def count_cells(
        self,
        frame: TableFrame,
        columns: Any,  # noqa: ANN401 - RecordColumns, whose module imports this one
    ) -> tuple[NDArray[np.int64], Counter[int]]:
        """Count rows, int64 ``(n_leaves, n_cells)`` by lowest region and cell, and others by the reason; one pass.

        Private.
        """
        ...


def refuse_arguments(arguments: Mapping[str, object], expected: str) -> None:
    """Raise InvalidProblemError about the first argument that is not ``None``; `expected` is a part of the message."""
    for name, value in arguments.items():
        if value is not None:
            raise InvalidProblemError(name, expected, type(value).__name__)


class Drawing(NamedTuple):
    """How a result is drawn, as for :meth:`RegionPlan.release`, and the public options by which rows were read."""

    bits: UniformSource | None = None
    keep_measurements: bool = False
    threads: int = 1
    on_progress: Callable[[Progress], None] | None = None
    read_as: Mapping[str, Any] = MappingProxyType({})


class RegionPlan(ABC, Generic[DataT, ResultT]):
    """A release of counts by region that is decided but for the private data.

    Subclasses are frozen dataclasses and define what differs between statistics: the columns of a private table, how
    its rows are counted, and how a result is drawn from counts.
    """

    frame: Any
    guarantee: PureDP | ZeroConcentratedDP
    _data_type: ClassVar[type[Any]]
    """The record of private counts, which is a source of its own."""

    @property
    def assumed_public(self) -> tuple[PublicInput, ...]:
        """What a release takes to be public, with hashes."""
        public: tuple[PublicInput, ...] = self.frame.assumed_public()
        return public

    @property
    def cost(self) -> str:
        """What one release charges."""
        name = "epsilon" if isinstance(self.guarantee, PureDP) else "rho"
        return f"{name} {getattr(self.guarantee, name)}"

    def _repr_html_(self) -> str:
        """Return the plan as HTML, with the share of each level as bars."""
        levels = [(f"level {at}", float(one)) for at, one in enumerate(self._shares, start=1)]
        return plan_view(
            self.guarantee, str(self), bars(levels, "Part of the budget of each level")
        )

    @property
    @abstractmethod
    def _shares(self) -> Sequence[Fraction]:
        """Parts of the budget, as the view of a plan shows them."""

    @property
    @abstractmethod
    def method_name(self) -> str:
        """Registered name of the method."""

    @property
    @abstractmethod
    def _wanted(self) -> tuple[str, list[str]] | None:
        """Private table: its name in messages, and the columns that are read; ``None`` if only counts are taken."""

    @abstractmethod
    def _load_code(self) -> None:
        """Load all compiled code, so that nothing of it can fail after a charge."""

    @abstractmethod
    def _count(self, source: Any) -> DataT:  # noqa: ANN401 - as for release
        """Read the values of a private table. Private: called after the charge."""

    @abstractmethod
    def draw(self, counted: DataT, how: Drawing) -> Release[ResultT]:
        """Draw the noise, make the published counts, and check them, without any charge: :meth:`release` charges.

        `counted` holds the private counts, `how` the source of chance, threads and callbacks. A check that fails
        stands in the certificate, and raises nothing here. The cost is that of the method.
        """

    def _text(self, first: Sequence[tuple[str, str]], middle: Sequence[tuple[str, str]]) -> str:
        """Return lines about the plan: `first`, guarantee and cost, `middle`, and what is taken to be public."""
        lines = [
            *first,
            ("guarantee", str(self.guarantee)),
            ("cost", f"{self.cost}, charged again by each release"),
            *middle,
            *(("assumed public", f"{one.name}: {one.description}") for one in self.assumed_public),
        ]
        width = max(len(name) for name, _ in lines)
        return "\n".join(f"{name.ljust(width)}  {text}" for name, text in lines)

    def check(self, source: object) -> None:
        """Refuse a source by names of columns and division into cells, all that is read before the charge.

        Parameters
        ----------
        source
            As for :meth:`release`.

        Raises
        ------
        InvalidProblemError
            For no table, a column that is missing, a row of a CSV file with other than as many cells as there are
            names (by its line), or a record of counts on other public facts than the plan's.
        """
        record = self._data_type.__name__
        if isinstance(source, self._data_type):
            if source.frame != self.frame:
                expected = f"counts on the public facts of the plan, {self.frame!r}"
                raise InvalidProblemError("source", expected, f"counts on {source.frame!r}")
            return
        if source is None:
            raise InvalidProblemError("source", f"a path, a frame or {record}", "None")
        if self._wanted is None:
            expected = f"{record}, or a plan that names the columns of the table"
            raise InvalidProblemError("source", expected, type(source).__name__)
        if isinstance(source, RowSource):
            source.check(*self._wanted)
        else:
            from discreet.hierarchy.refusals import check_shape

            check_shape(source, *self._wanted)

    def release(
        self,
        source: Any,  # noqa: ANN401 - a path, any frame that Narwhals knows, or a record of counts
        *,
        budget: Budget | None = None,
        dataset: str | None = None,
        budget_delta: Exact | None = None,
        bits: UniformSource | None = None,
        keep_measurements: bool = False,
        threads: int = 1,
        on_progress: Callable[[Progress], None] | None = None,
        outputs: ReleaseOutputs | None = None,
    ) -> Release[ResultT]:
        """Check the shape of the source, charge the budget, and only then read values; each call charges anew.

        Parameters
        ----------
        source
            The private data: a path, a frame that Narwhals knows, also a lazy one,
            :class:`discreet.artefact.RecordFiles`, or a record of counts (:class:`~discreet.hierarchy.GroupSizes`,
            :class:`~discreet.hierarchy.contingency.CellCounts`). Types that a reader of files inferred from private
            values depend on all rows, outside of the guarantee: pass the path, or read the columns as text
            (``infer_schema=False`` in Polars, ``dtype=str`` in pandas).
        budget, dataset
            A ledger, and the name under which the data stand in it.
        budget_delta
            Delta at which rho is charged to an (epsilon, delta) budget; see :func:`~discreet.core.budget.charge_of`.
        bits
            Source of the noise; the operating system's by default. With any other the outcome is marked as not private.
            Which rows of a person count is drawn by the operating system's.
        keep_measurements
            Whether the result carries the noisy counts. They are covered by the same guarantee and cost nothing more.
        threads
            Threads that make whole tables by category; the result does not depend on it. Counts by size take one.
        on_progress
            Called after each stage, without times; its arguments depend on the noisy counts alone.
        outputs
            Files, such as :class:`discreet.artefact.ReleaseFiles`. Without them the result can't be recovered.

        Returns
        -------
        Release
            A :class:`~discreet.hierarchy.RegionCounts` or :class:`~discreet.hierarchy.contingency.RegionTables`; its
            provenance has the release id.

        Raises
        ------
        InvalidProblemError
            Before the charge as :meth:`check`; never after it for a value, unless the plan has `refuse_rows`.
        BudgetError, ChargedError, CertificateError
            As :func:`discreet.core.release.run_release`.

        Guarantee
        ---------
        That of the plan, for counts and measurements together; see :func:`discreet.hierarchy.measure.measure`.

        Examples
        --------
        >>> import polars as pl
        >>> from discreet import PureDP, hierarchy
        >>> from discreet.core.budget import MemoryBudget
        >>> guarantee = PureDP(200, neighbors="add-remove-person")
        >>> planned = hierarchy.plan([("GA",), ("NY",)], guarantee, columns=["state"], unit="home", max_size=2)
        >>> people = pl.DataFrame({"home": [1, 1, 2], "state": ["GA", "GA", "NY"]})
        >>> ledger = MemoryBudget({"census": PureDP(300, neighbors="add-remove-person")})
        >>> out = planned.release(people, budget=ledger, dataset="census")
        >>> out.result.counts.tolist(), str(ledger.account("census").left[0])
        ([[1, 1], [0, 1], [1, 0]], '100')
        """
        read_as: Mapping[str, Any] = {}
        if isinstance(source, ReadRows):
            source, read_as = source.rows, source.options
        callback(on_progress)
        as_bits(bits)
        whole_number(threads, "threads", "at least one thread")

        def prepare() -> None:
            self.check(source)
            self._load_code()

        def draw() -> Release[ResultT]:
            Reporter(on_progress, clock=None)("reading the table")
            counted = source if isinstance(source, self._data_type) else self._count(source)
            how = Drawing(bits, keep_measurements, threads, on_progress, read_as)
            return self.draw(counted, how)

        return run_release(
            self,
            self.method_name,
            budget=budget,
            dataset=dataset,
            budget_delta=budget_delta,
            prepare=prepare,
            draw=draw,
            outputs=outputs,
        )
