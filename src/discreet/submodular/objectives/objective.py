r"""Objectives: monotone (k-)submodular functions that are sums over private records.

**Units.** Values are integers in units of :math:`2^{-b}`, b being `scale_bits`. Each record's contribution is rounded
to such a multiple *before* contributions are added, so that the sum is as monotone and as (k-)submodular as the exact
contributions are, and no rounding of a sum depends on who is in it.

**Sensitivity.** One record contributes :math:`F_x \in [0, 1]`: a larger part is clipped, not refused, since a refusal
depends on the record; :math:`\min(F_x, 1)` of a monotone submodular function is monotone and submodular.

Trusted: the guarantee rests on this code, by how much one record moves a value. No verifier sees it.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.exact import to_fraction
from discreet.core.options import items_of
from discreet.core.outcome import PublicInput
from discreet.core.printed import decimal
from discreet.submodular.objectives.arguments import RecordArgument
from discreet.submodular.problem import pair_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray


_FACTS = ("scale_bits", "scale", "sensitivity", "decomposable", "monotone")
"""Public facts of an objective that its spec states, too."""

MARGINAL_BITS = 24
"""Multilinear marginals are multiples of :math:`2^{-24}`: below 2^29 records their sums are exact in floats."""

ROUNDING_MARGIN = 2.0**-8
"""Subtracted before rounding down, in units of a marginal: above the float error of a product of probabilities, and of
a sum of half a million elements."""


@final
class GrowingChoice:
    """A chosen set, or k disjoint ones, that grows; knows its value and the gain of every element.

    The value, the gains, and how long they take to compute are private. Nothing of them may leave, except through a
    mechanism.

    Parameters
    ----------
    objective
        The function; what it needs of the choice is its own state, of :meth:`Objective.begin`.
    records
        ``(n_records,)`` booleans: the records that count. All by default.
    """

    def __init__(self, objective: Objective, records: ArrayLike | None = None) -> None:
        if records is not None and not objective.decomposable:
            raise InvalidProblemError("records", "None where F is no sum over records", "a mask")
        self.objective = objective
        self._state = objective.begin(kept_records(records, objective.n_records))
        self._members: list[tuple[int, int]] = []
        self._taken = np.zeros(objective.n_elements, dtype=np.bool_)
        self._value = 0

    @property
    def value(self) -> int:
        """Value of the chosen set, in units of ``2^-scale_bits``. Private."""
        return self._value

    @property
    def members(self) -> tuple[tuple[int, int], ...]:
        """The choice, in order: pairs of an element and its kind."""
        return tuple(self._members)

    def gains(self, elements: ArrayLike | None = None) -> NDArray[np.int64]:
        """Return the marginal gain of each element with each kind.

        Parameters
        ----------
        elements
            ``(n,)`` numbers of elements, from 0; all by default. Others are refused.

        Returns
        -------
        ndarray
            ``(n, n_kinds)`` of ``int64``, in units of ``2^-scale_bits``. Elements that are already in gain 0.
        """
        n = self.objective.n_elements
        candidates = np.arange(n) if elements is None else positions(elements, n)
        gains = np.zeros((len(candidates), self.objective.n_kinds), dtype=np.int64)
        new = ~self._taken[candidates]
        gains[new] = self.objective.gains_at(self._state, candidates[new])
        self.objective.evaluations += gains.size
        return gains

    def gain(self, element: int, kind: int = 0) -> int:
        """Return an element's gain with one kind, in ``2^-scale_bits``; 0 if chosen. Evaluates all kinds. Private."""
        self.objective.check_pair(element, kind)
        return int(self.gains([element])[0, kind])

    def add(self, element: int, kind: int = 0) -> None:
        """Choose an element, in place.

        Raises
        ------
        InvalidProblemError
            For an unknown element or kind, or one that is already in.
        """
        self.objective.check_pair(element, kind)
        if self._taken[element]:
            raise InvalidProblemError("element", "one that is not yet chosen", element)
        gains = self.objective.gains_at(self._state, np.array([element]))
        self._value += int(gains[0, kind])
        self._state = self.objective.extended(self._state, int(element), int(kind))
        self._taken[element] = True
        self._members.append((int(element), int(kind)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self._members)} chosen)"


def integers_of(values: ArrayLike) -> NDArray[np.int64]:
    """Read integers as int64, same shape; -1 for other entries, and for 2^53 or more outside an integer array."""
    read = np.asarray(values) if isinstance(values, np.ndarray) else np.array(values, dtype=object)
    if read.dtype.kind in "iub":
        return np.asarray(np.minimum(read, np.iinfo(np.int64).max)).astype(np.int64)
    if read.dtype.kind == "f":
        fine = np.isfinite(read) & (np.abs(read) < 2**53) & (read == np.floor(read))
        return np.where(fine, read, -1).astype(np.int64)
    flat = [_integer(one) for one in read.astype(object).ravel().tolist()]
    return np.array(flat, dtype=np.int64).reshape(read.shape)


def _integer(entry: object) -> int:
    number = isinstance(entry, int | float | np.number | np.bool_)
    is_whole = number and abs(entry) < 2**53 and entry == int(entry)  # type: ignore[call-overload,arg-type] # it is a number
    return int(entry) if is_whole else -1  # type: ignore[call-overload] # as above


@final
@dataclass(frozen=True)
class ObjectiveSpec:
    """The public facts of an objective, from which a choice is planned before any record is read.

    Each class of objectives makes its own: ``FacilityLocation.spec()``, ``Coverage.spec()``. For a function of your own
    that is at hand, :meth:`of` reads the facts from it.

    Parameters
    ----------
    objective
        The class.
    n_kinds, scale_bits, sensitivity, decomposable, monotone
        As the attributes of :class:`Objective`; all of them are public.
    public
        Public arguments of the class, by name.
    private
        The arguments that hold records.
    optional
        Further arguments about records that need not be given.
    takes_size
        Whether the class takes the number of elements as an argument, which is the plan's.
    edges
        Columns of a frame of edges, for objectives that are read from one: that of the record and of the candidate.

    Examples
    --------
    >>> from discreet.submodular import FacilityLocation
    >>> spec = FacilityLocation.spec(scale_bits=7)
    >>> spec.check([[0.5, 1.0]], 2)
    >>> spec.open([[0.5, 1.0]], 2)
    FacilityLocation(2 elements)
    >>> spec.check([[0.5, 1.0]], 3)
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: similarity: expected 3 elements, as planned, got 2
    """

    objective: type[Objective]
    n_kinds: int
    scale_bits: int
    sensitivity: Fraction
    decomposable: bool
    monotone: bool
    public: tuple[tuple[str, Any], ...] = ()
    private: tuple[RecordArgument, ...] = ()
    optional: tuple[str, ...] = ()
    takes_size: bool = False
    edges: tuple[str, str] | None = None

    @classmethod
    def of(cls, objective: Objective) -> ObjectiveSpec:
        """Read the public facts of an objective that is at hand; none of its records is looked at."""
        return cls(
            type(objective),
            objective.n_kinds,
            objective.scale_bits,
            objective.sensitivity,
            objective.decomposable,
            objective.monotone,
            (("scale", objective.scale),),
        )

    def check(self, source: object, n_elements: int) -> None:
        """Check the names and the shape of a source, never a value.

        Parameters
        ----------
        source
            An objective of the class; or the one argument that holds records; or all of them by name in a mapping; or a
            frame of edges.
        n_elements
            Size of the public ground set.

        Raises
        ------
        InvalidProblemError
            For other facts, names or public sizes.
        """
        if source is None:
            raise InvalidProblemError("source", self.wanted, "None")
        if isinstance(source, Objective):
            self._compare(source, n_elements)
        else:
            self.objective.check_source(self, source, n_elements)

    def open(
        self, source: object, n_elements: int, candidates: Sequence[Any] | None = None
    ) -> Objective:
        """Read the records of a source that :meth:`check` let pass.

        Parameters
        ----------
        source, n_elements
            As for :meth:`check`.
        candidates
            Names of the elements, for frames of edges.

        Raises
        ------
        InvalidProblemError
            For values that make no sense, and a source that breaks off. No message shows a value.
        """
        if isinstance(source, Objective):
            return source
        opened = self.objective.open_source(self, source, n_elements, candidates)
        self._compare(opened, n_elements)
        return opened

    @property
    def scale(self) -> Fraction:
        """Value of a record that counts as 1."""
        return to_fraction(dict(self.public).get("scale", 1), "scale")

    @property
    def wanted(self) -> str:
        """Description of the source, for messages."""
        own = f"a {self.objective.__name__}"
        if self.edges is not None:
            return f"{own}, or a file or frame with the columns {' and '.join(self.edges)}"
        names = ", ".join(argument.name for argument in self.private)
        if len(self.private) == 1:
            return f"{own}, or its {names}"
        return f"{own}, or a mapping with {names}" if names else own

    def arguments(self, source: object) -> dict[str, Any]:
        """Return the private arguments by name; raise InvalidProblemError for missing or unknown names."""
        names = [argument.name for argument in self.private]
        if not isinstance(source, Mapping):
            if len(names) != 1 or isinstance(source, bytes):
                raise InvalidProblemError("source", self.wanted, type(source).__name__)
            return {names[0]: source}
        names_given = [str(name) for name in source]
        strange = [name for name in names_given if name not in {*names, *self.optional}]
        missing = [name for name in names if name not in names_given]
        if strange or missing:
            raise InvalidProblemError(
                "source",
                f"{self.wanted} ({', '.join(names)})",
                f"{', '.join(names_given) or 'no name'}",
            )
        return dict(source)

    def _compare(self, objective: Objective, n_elements: int) -> None:
        """Refuse an objective whose public facts are not those that were planned with."""
        if objective.n_elements != n_elements:
            expected = f"{n_elements} elements, as planned"
            raise InvalidProblemError("objective", expected, f"{objective.n_elements} elements")
        theirs = ObjectiveSpec.of(objective)
        for name in ("n_kinds", *_FACTS):
            if getattr(self, name) != getattr(theirs, name):
                expected = f"{name} = {getattr(self, name)}, as planned"
                raise InvalidProblemError("objective", expected, getattr(theirs, name))
        if theirs.objective is not self.objective and self.private:
            raise InvalidProblemError("source", self.wanted, theirs.objective.__name__)

    def assumed_public(self, n_elements: int) -> tuple[PublicInput, ...]:
        """List what a release takes to be public: the ground set, the kinds and the unit."""
        facts = f"{self.objective.__name__} {n_elements} {self.n_kinds} {self.scale_bits}"
        digest = hashlib.sha256(f"discreet.submodular.ground/1 {facts}".encode()).hexdigest()
        kinds = "" if self.n_kinds == 1 else f", {self.n_kinds} kinds"
        ground = PublicInput("ground set", digest, f"{n_elements} elements{kinds}")
        if self.scale == 1:
            return (ground,)
        digest = hashlib.sha256(f"discreet.submodular.scale/1 {self.scale}".encode()).hexdigest()
        return ground, PublicInput("scale", digest, f"values from 0 to {decimal(self.scale)}")


class Objective(ABC):
    """A monotone, normalized (k-)submodular function of a public ground set and private records.

    Attributes
    ----------
    n_elements
        Size of the ground set, which is public.
    n_kinds
        k of a k-submodular function: each chosen element takes one of so many kinds. 1 for set functions.
    n_records
        Number of records. **Private** where neighbors add or remove a record.
    scale_bits
        b: values are in units of :math:`2^{-b}`.
    decomposable
        Whether F is a sum of functions, one for each record, with values in [0, 1].
    monotone
        Whether, for every record, gains are never negative along any order of choices, and add up to at most 1. The
        accounting of sums over records rests on it; functions that are sums see to it themselves.
    scale
        Value of a record that counts as 1, where values are clipped to [0, scale]; public.
    clipped
        Number of values of records outside of their public range: each counts as its nearer end, NaN as 0. **Private**.
    evaluations
        Number of marginal gains evaluated so far. **Private**.
    submodular
        Whether F is known to be monotone and (k-)submodular: without that no bound on a gain outlives a choice.
    """

    n_elements: int
    n_kinds: int = 1
    n_records: int
    scale_bits: int
    decomposable: bool = True
    monotone: bool = True
    scale: Fraction = Fraction(1)
    clipped: int = 0
    evaluations: int = 0
    submodular: bool = True

    @property
    def sensitivity(self) -> Fraction:
        """Largest change of F(S) when one record is added or removed, in units of 1."""
        return Fraction(1)

    @abstractmethod
    def begin(self, kept: NDArray[np.bool_] | None) -> Any:  # noqa: ANN401 - what a function needs of a choice
        """Return the state of a choice of nothing, a new object: what gains are computed from. Private.

        `kept` masks the records that count, ``(n_records,)``; ``None`` stands for all.
        """

    def gains_at(self, state: Any, elements: NDArray[np.int64]) -> NDArray[np.int64]:  # noqa: ANN401 - as of begin
        """Compute the gains ``(len(elements), n_kinds)`` int64 of elements that are not chosen, at a state. Private."""
        kinds = range(self.n_kinds)
        rows = [[self.gain_at(state, e, kind) for kind in kinds] for e in elements.tolist()]
        return np.array(rows, dtype=np.int64).reshape(len(elements), self.n_kinds)

    def gain_at(self, state: Any, element: int, kind: int) -> int:  # noqa: ANN401 - as of begin
        """Return the gain of one pair; raises NotImplementedError unless it or :meth:`gains_at` is overridden."""
        raise NotImplementedError

    @abstractmethod
    def extended(self, state: Any, element: int, kind: int) -> Any:  # noqa: ANN401 - as of begin
        """Return the state once a pair is chosen; it may be the same object, changed. Private."""

    def start(self, records: ArrayLike | None = None) -> GrowingChoice:
        """Start with nothing chosen.

        Parameters
        ----------
        records
            ``(n_records,)`` booleans: the records that count. All by default. It must stay secret where a subsample is
            what makes the result private. A function that is no sum over records takes none.

        Returns
        -------
        GrowingChoice

        Raises
        ------
        InvalidProblemError
            For another mask than one boolean for each record.
        """
        return GrowingChoice(self, records)

    def value(self, chosen: Iterable[int] | Iterable[tuple[int, int]]) -> int:
        """Compute F of a set, or of k disjoint ones, in units of ``2^-scale_bits``: a gain for each element. Private.

        Parameters
        ----------
        chosen
            Elements, or pairs of an element and its kind.
        """
        state = self.start()
        for element, kind in self.pairs(chosen):
            state.add(element, kind)
        return state.value

    def multilinear_marginals(
        self, x: ArrayLike, records: ArrayLike | None = None
    ) -> NDArray[np.float64] | None:
        r"""Compute :math:`w_e = E[F(R + e)] - E[F(R)]`, R holding each element with its probability.

        Parameters
        ----------
        x
            ``(n_elements,)`` probabilities. Public.
        records
            ``(n_records,)`` booleans: the records that count. All by default.

        Returns
        -------
        ndarray or None
            ``(n_elements,)`` in units of 1 (of whole records), multiples of :math:`2^{-24}`: each record's part lies in
            [0, 1] and was rounded down before parts were added, and their sum is exact. ``None`` where there is no
            closed form; sample R with public coins instead.
        """
        p = probabilities(x, self.n_elements)
        units = self.marginal_units(p, kept_records(records, self.n_records))
        return None if units is None else np.ldexp(units.astype(np.float64), -MARGINAL_BITS)

    def marginal_units(
        self, p: NDArray[np.float64], kept: NDArray[np.bool_] | None
    ) -> NDArray[np.int64] | None:
        """Return :meth:`multilinear_marginals` in units of :math:`2^{-24}`, int64; `kept` is as of :meth:`begin`."""
        del p, kept
        return None

    def served(self) -> NDArray[Any] | None:
        """Return the table of a function in which each record has the value of its best chosen element. Private.

        Returns
        -------
        ndarray or None
            ``(n_elements, n_records)`` integers in units of ``2^-scale_bits``: F(S) is the sum over records of the
            largest entry of S. ``None`` for other functions.
        """
        return None

    @classmethod
    def facts(
        cls,
        private: Sequence[RecordArgument],
        public: Mapping[str, Any] | None = None,
        *,
        scale_bits: int | None = None,
        n_kinds: int = 1,
        sensitivity: Fraction = Fraction(1),
        optional: tuple[str, ...] = (),
        takes_size: bool = False,
        edges: tuple[str, str] | None = None,
    ) -> ObjectiveSpec:
        """Return the spec of a class from the facts that its ``spec`` states; by default they are the class's own."""
        return ObjectiveSpec(
            cls,
            n_kinds,
            cls.scale_bits if scale_bits is None else scale_bits,
            sensitivity,
            cls.decomposable,
            cls.monotone,
            tuple((public or {}).items()),
            tuple(private),
            optional,
            takes_size=takes_size,
            edges=edges,
        )

    @classmethod
    def edge_facts(
        cls, names: Sequence[str], public: Mapping[str, Any] | None = None, *, n_kinds: int = 1
    ) -> ObjectiveSpec:
        """Return the spec of a class whose records come as columns of edges `names`; `public` arguments are by name."""
        return cls.facts(
            [RecordArgument(name, ("edge",)) for name in names],
            public,
            n_kinds=n_kinds,
            optional=("n_records",),
            takes_size=True,
        )

    @classmethod
    def check_source(cls, spec: ObjectiveSpec, source: object, n_elements: int) -> None:
        """Raise InvalidProblemError for names or shapes of records that do not fit; see :meth:`ObjectiveSpec.check`."""
        sizes = {"element": n_elements, "kind": spec.n_kinds}
        arguments = spec.arguments(source)
        lengths: dict[str, tuple[str, int]] = {}
        for argument in spec.private:
            shape = argument.shape_of(arguments[argument.name], sizes)
            for axis, length in zip(argument.axes, shape or (), strict=False):
                other, known = lengths.setdefault(axis, (argument.name, length))
                if known != length:
                    # Neither length may be shown: the number of records is private.
                    expected = f"as many {axis}s as in {other}"
                    raise InvalidProblemError(argument.name, expected, "another number")

    @classmethod
    def open_source(
        cls,
        spec: ObjectiveSpec,
        source: object,
        n_elements: int,
        candidates: Sequence[Any] | None,
    ) -> Objective:
        """Read the records of `spec` from `source`, a table, file or mapping; refusals never quote a record."""
        del candidates
        arguments = spec.arguments(source) | dict(spec.public)
        if spec.takes_size:
            arguments["n_elements"] = n_elements
        make: Any = cls
        try:
            made: Objective = make(**arguments)
        except (InvalidProblemError, MemoryError):
            raise
        except Exception as error:  # noqa: BLE001 - a source is anybody's code, and its words may quote a record
            expected = "records that can be read to their end"
            raise InvalidProblemError("source", expected, type(error).__name__) from None
        return made

    def pairs(
        self, chosen: Iterable[int] | Iterable[tuple[int, int]]
    ) -> tuple[tuple[int, int], ...]:
        """Read chosen elements as pairs of an element and its kind, without repetition.

        Raises
        ------
        InvalidProblemError
            For an unknown element or kind, or an element that comes twice.
        """
        read = tuple(map(pair_of, items_of(chosen, "chosen", "elements, or pairs with kinds")))
        for element, kind in read:
            self.check_pair(element, kind)
        if len({element for element, _ in read}) != len(read):
            raise InvalidProblemError("chosen", "different elements", "one of them twice")
        return read

    def check_pair(self, element: int, kind: int) -> None:
        """Raise InvalidProblemError for an unknown element or kind."""
        if not 0 <= element < self.n_elements:
            raise InvalidProblemError("element", f"0 to {self.n_elements - 1}", element)
        if not 0 <= kind < self.n_kinds:
            raise InvalidProblemError("kind", f"0 to {self.n_kinds - 1}", kind)

    def __repr__(self) -> str:
        kinds = "" if self.n_kinds == 1 else f", {self.n_kinds} kinds"
        return f"{type(self).__name__}({self.n_elements} elements{kinds})"


def positions(elements: ArrayLike, n: int) -> NDArray[np.int64]:
    """Return elements as int64 ``(m,)``, in the order given; raise InvalidProblemError unless all are below n."""
    read = np.asarray(elements)
    if not read.size:
        return np.zeros(0, dtype=np.int64)
    if read.ndim != 1 or not np.issubdtype(read.dtype, np.integer):
        raise InvalidProblemError(
            "elements", "a sequence of integers", f"{read.dtype} {read.shape}"
        )
    if read.min() < 0 or read.max() >= n:
        outside = read[(read < 0) | (read >= n)][0]
        raise InvalidProblemError("elements", f"0 to {n - 1}", int(outside))
    return read.astype(np.int64)


def kept_records(records: ArrayLike | None, n_records: int) -> NDArray[np.bool_] | None:
    """Read the mask ``(n_records,)`` of the records that count, or ``None`` for all; raise for anything else."""
    if records is None:
        return None
    mask = np.asarray(records)
    if mask.dtype != np.bool_ or mask.shape != (n_records,):
        # Neither length may be shown: the number of records is private.
        raise InvalidProblemError("records", "one boolean for each record", "something else")
    return mask


def probabilities(x: ArrayLike, n: int) -> NDArray[np.float64]:
    """Return a point of the unit cube as float64 ``(n,)``; raise InvalidProblemError for anything else."""
    read = np.asarray(x, dtype=np.float64)
    if read.shape != (n,) or not ((read >= 0) & (read <= 1)).all():
        raise InvalidProblemError("x", f"{n} numbers from 0 to 1", f"shape {read.shape}")
    return read


def positive(value: object, field_name: str) -> int:
    """Read a number of things; raise InvalidProblemError unless it is an integer from 1 on."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise InvalidProblemError(field_name, "a positive integer", repr(value))
    return value
