r"""What is published: marginal tables of listed attributes for every region. Public facts and private counts, apart.

A :class:`Domain` lists the attributes and their categories, so that a cell is one category of each. A
:class:`TableFrame` adds the regions, the marginals measured on each level and their shares of the budget. Both are
public. Private counts of the lowest regions are :class:`~discreet.hierarchy.contingency.cell_counts.CellCounts`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import cached_property
from operator import index
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core.errors import InvalidProblemError, refuse_malformed, unknown_name
from discreet.core.exact import to_fraction
from discreet.core.options import items_of
from discreet.core.outcome import PublicInput
from discreet.core.printed import count
from discreet.core.spaces.inputs import positive_count
from discreet.hierarchy.problem import MOST_GROUPS, RegionFrame, sha256_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.core.tree import Tree

MOST_CELLS = 1 << 20
"""Cells of a domain, at most: a region's table of so many has 8 MB."""

MOST_PERSONS = MOST_GROUPS
"""So many records keep every sum and every transform of counts inside 64-bit integers."""

BLANK = "(blank)"
"""Category of empty cells, which a domain lists as ``""`` or ``null``."""
MOST_RESIDUAL_ENTRIES = 1 << 14
"""Entries of one residual, at most: each is below so many times :data:`MOST_PERSONS`, and fits into 64 bits."""

Marginal = tuple[int, ...]
"""Attributes of a marginal by their place in the domain, in ascending order; empty for the total."""


@final
@dataclass(frozen=True)
class Attribute:
    """A column with its listed categories.

    Parameters
    ----------
    name
        The column.
    categories
        The categories as text; ``"01"`` is not ``"1"``.

    Examples
    --------
    >>> Attribute("sex", ("F", "M")).size
    2
    """

    name: str
    categories: tuple[str, ...]

    def __post_init__(self) -> None:
        categories: Any = self.categories
        name: Any = self.name
        if not isinstance(name, str) or not name or set(name) & set(":;,="):
            expected = "a name without any of : ; , ="
            raise InvalidProblemError("domain", expected, repr(name))
        if self.name in RESERVED:
            raise InvalidProblemError("domain", f"a name other than {self.name}", repr(self.name))
        if isinstance(categories, str) or not all(isinstance(one, str) for one in categories):
            expected = f"a list of texts for {self.name}"
            raise InvalidProblemError("domain", expected, repr(categories))
        if not categories or not all(one.strip() for one in categories):
            expected = f"at least one category of {self.name}, none of them blank"
            raise InvalidProblemError("domain", expected, repr(list(categories)))
        if len(set(categories)) < len(categories):
            again = next(one for at, one in enumerate(categories) if one in categories[:at])
            expected = f"each category of {self.name} once"
            raise InvalidProblemError("domain", expected, f"{again!r} twice")
        object.__setattr__(self, "categories", tuple(categories))

    @property
    def size(self) -> int:
        """Number of categories."""
        return len(self.categories)


RESERVED = frozenset(
    {
        *("level", "region", "marginal", "count", "noisy"),
        *("value", "low", "high", "standard_error", "reliability"),
    }
)
"""Names of columns that published tables have beside the attributes."""


@final
@dataclass(frozen=True, eq=False, repr=False)
class Domain:
    """The cells: every combination of categories without the structural zeros.

    Parameters
    ----------
    attributes
        The attributes in order; the last one runs fastest.
    zeros
        Structural zeros: each maps names of attributes to lists of categories, and rules out every cell whose
        categories are all in these lists. They are public and do not depend on records.
    groups
        For each coarsened attribute the one that it follows from, and the place of the group of each of its categories:
        records need no column for it. ``groups.read_domain`` makes them.

    Raises
    ------
    InvalidProblemError
        For no attributes, the same one twice, more than :data:`MOST_CELLS` cells, zeros of unknown attributes or
        categories, zeros that leave no cell, or groups that the zeros do not state, too.

    Examples
    --------
    >>> listed = {"sex": ["F", "M"], "age": ["0-17", "18+"], "married": ["no", "yes"]}
    >>> domain = Domain.read(listed, zeros=[{"age": ["0-17"], "married": ["yes"]}])
    >>> domain
    Domain(sex 2 x age 2 x married 2, 8 cells, 2 of them structural zeros)
    >>> domain.marginal("age:sex"), domain.name((0, 1)), domain.name(())
    ((0, 1), 'sex:age', 'total')
    """

    attributes: tuple[Attribute, ...]
    zeros: tuple[Mapping[str, tuple[str, ...]], ...] = ()
    groups: Mapping[str, tuple[str, tuple[int, ...]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = [one.name for one in self.attributes]
        if not names or len(set(names)) < len(names):
            expected = "each attribute once" if names else "at least one attribute"
            raise InvalidProblemError("domain", expected, repr(names) if names else "none")
        if self.size > MOST_CELLS:
            sizes = " x ".join(str(one.size) for one in self.attributes)
            expected = f"at most {count(MOST_CELLS)} cells"
            raise InvalidProblemError("domain", expected, f"{sizes} = {count(self.size)}")
        read = tuple(MappingProxyType(self._read_zero(one)) for one in self.zeros)
        object.__setattr__(self, "zeros", read)
        if not self.possible.any():
            raise InvalidProblemError("domain", "zeros that leave a cell", "zeros in all of them")
        cells = np.unravel_index(np.flatnonzero(self.possible), self.shape)
        for name, (fine, codes) in self.groups.items():
            of, into = self.place(fine, "groups"), self.place(name, "groups")
            expected = f"the group of {name} of each category of {fine}, as the zeros state it"
            fits = fine not in self.groups and len(codes) == self.shape[of]
            if not fits or (np.array(codes)[cells[of]] != cells[into]).any():
                raise InvalidProblemError("groups", expected, "others")

    def _read_zero(self, given: Any) -> dict[str, tuple[str, ...]]:  # noqa: ANN401 - as read from a file
        expected = "structural zeros as lists of categories by attribute"
        if not isinstance(given, Mapping) or not given:
            raise InvalidProblemError("domain", expected, repr(given))
        read = {}
        for name, listed in given.items():
            known = self.attributes[self.place(name, "zeros")].categories
            if isinstance(listed, str) or not isinstance(listed, Sequence) or not listed:
                raise InvalidProblemError("domain", expected, repr(listed))
            for one in listed:
                if one not in known:
                    raise unknown_name(f"zeros of {name}", str(one), sorted(known))
            read[name] = tuple(listed)
        return read

    def __getstate__(self) -> dict[str, Any]:
        """Return plain mappings in place of views, which do not pickle."""
        zeros = tuple(map(dict, self.zeros))
        return {"attributes": self.attributes, "zeros": zeros, "groups": dict(self.groups)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(attributes=state["attributes"], groups=state.get("groups", {}))
        self.__dict__["zeros"] = tuple(MappingProxyType(one) for one in state["zeros"])

    def __repr__(self) -> str:
        listed = " x ".join(f"{one.name} {one.size}" for one in self.attributes)
        ruled = int((~self.possible).sum())
        also = f", {ruled} of them structural zeros" if ruled else ""
        return f"Domain({listed}, {self.size} cells{also})"

    @classmethod
    def read(
        cls,
        listed: Mapping[str, Sequence[Any]],
        by: Sequence[str] | None = None,
        *,
        zeros: Sequence[Mapping[str, Sequence[str]]] = (),
    ) -> Domain:
        """Read categories by attribute, such as from JSON; InvalidProblemError for other types, names or categories.

        Parameters
        ----------
        listed
            The categories of each attribute; whole numbers are read as text, and ``""`` or ``None`` as the category
            of empty cells, :data:`BLANK`. A category ``(other)`` is that of all cells that are not listed.
        by
            Which attributes, and in which order; all of them where it is ``None``.
        zeros
            Structural zeros; those that name an attribute that is not among `by` are refused.

        Examples
        --------
        >>> Domain.read({"sex": ["F", "M"], "age": [1, 2, 3]}, by=["age"])
        Domain(age 3, 3 cells)
        """
        lists: Any = listed
        if not isinstance(lists, Mapping) or not lists:
            expected = "lists of categories by attribute"
            got = "none" if isinstance(lists, Mapping) else type(lists).__name__
            raise InvalidProblemError("domain", expected, got)
        names = list(lists if by is None else items_of(by, "by", "a list of attributes"))
        attributes = []
        for name in names:
            if name not in lists:
                raise unknown_name("by", name, sorted(map(str, lists)))
            categories = lists[name]
            if isinstance(categories, str) or not isinstance(categories, Sequence):
                raise InvalidProblemError("domain", f"a list of texts for {name}", repr(categories))
            blank = [BLANK if one is None or one == "" else one for one in categories]
            texts = [str(one) if type(one) is int else one for one in blank]
            attributes.append(Attribute(name, tuple(texts)))
        ruled: Any = items_of(zeros, "zeros", "a list of structural zeros")
        return cls(tuple(attributes), ruled)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of categories of each attribute."""
        return tuple(one.size for one in self.attributes)

    @property
    def size(self) -> int:
        """Number of cells, structural zeros among them."""
        return math.prod(self.shape)

    @property
    def full(self) -> Marginal:
        """The marginal of all attributes: the cells."""
        return tuple(range(len(self.attributes)))

    @cached_property
    def possible(self) -> NDArray[np.bool_]:
        """Array ``(n_cells,)``: False for structural zeros."""
        allowed = np.ones(self.shape, dtype=bool)
        for zero in self.zeros:
            masks = [
                [one in zero.get(each.name, each.categories) for one in each.categories]
                for each in self.attributes
            ]
            allowed[np.ix_(*masks)] = False
        flat = allowed.reshape(-1)
        flat.setflags(write=False)
        return flat

    def place(self, name: str, field: str = "marginals") -> int:
        """Return the index of an attribute; raise InvalidProblemError about the argument `field` for an unknown one."""
        for at, one in enumerate(self.attributes):
            if one.name == name:
                return at
        also = ["total", "cells"] if field in ("marginals", "workload") else []
        raise unknown_name(field, str(name), [*sorted(one.name for one in self.attributes), *also])

    def marginal(self, text: str, field: str = "marginals") -> Marginal:
        """Read a marginal: ``total``, ``cells``, or names with colons between them; an error is about `field`.

        Raises
        ------
        InvalidProblemError
            For an attribute that is not in the domain, or that comes twice.
        """
        plain = text.strip()
        if plain == "total":
            return ()
        if plain == "cells":
            return self.full
        places = [self.place(name.strip(), field) for name in plain.split(":")]
        if len(set(places)) < len(places):
            raise InvalidProblemError(field, "each attribute once", repr(plain))
        return tuple(sorted(places))

    def name(self, marginal: Marginal) -> str:
        """Return the name of a marginal: its attributes in the order of the domain."""
        return ":".join(self.attributes[at].name for at in marginal) or "total"

    def shape_of(self, marginal: Marginal) -> tuple[int, ...]:
        """Return the number of categories of each attribute of a marginal."""
        return tuple(self.shape[at] for at in marginal)

    def size_of(self, marginal: Marginal) -> int:
        """Count the entries of a marginal."""
        return math.prod(self.shape_of(marginal))

    def spread(self, marginal: Marginal) -> int:
        """Count the cells that are added up in one entry of a marginal."""
        return self.size // self.size_of(marginal)

    def project(
        self, tables: NDArray[Any], marginal: Marginal, given: Marginal | None = None
    ) -> NDArray[Any]:
        """Add up tables of cells, or of another marginal, to a marginal; linear in `tables`, and may be a view of them.

        Parameters
        ----------
        tables
            ``(..., entries)`` of the marginal `given`; of the cells where that is ``None``.
        marginal
            A part of `given`.
        given
            What the tables hold.

        Returns
        -------
        ndarray
            ``(..., size_of(marginal))``.

        Examples
        --------
        >>> Domain.read({"a": ["x", "y"], "b": ["p", "q"]}).project(np.array([[1, 2, 3, 4]]), (1,)).tolist()
        [[4, 6]]
        """
        source = self.full if given is None else given
        rows = tables.shape[:-1]
        shaped = tables.reshape(*rows, *self.shape_of(source))
        dropped = tuple(k for k, at in enumerate(source, start=len(rows)) if at not in marginal)
        summed = shaped.sum(axis=dropped) if dropped else shaped
        return np.ascontiguousarray(summed.reshape(*rows, self.size_of(marginal)))

    def entries(self, marginal: Marginal) -> NDArray[np.int64]:
        """Array ``(n_cells,)``: the entry of a marginal to which each cell belongs."""
        along = [size if at in marginal else 1 for at, size in enumerate(self.shape)]
        own = np.arange(self.size_of(marginal), dtype=np.int64).reshape(along)
        return np.broadcast_to(own, self.shape).reshape(-1)

    def labels(self, marginal: Marginal) -> list[tuple[str, ...]]:
        """List a tuple of categories for each entry of a marginal, the last attribute fastest; linear in these."""
        return list(itertools.product(*(self.attributes[at].categories for at in marginal)))

    def to_dict(self) -> dict[str, Any]:
        """Return ``attributes``, pairs of name and categories, ``zeros``, and ``groups`` if any, for :meth:`from_dict`.

        A group is a triple: the coarsened attribute, the one that it follows from, and the group of each category.
        """
        groups = [[name, fine, list(codes)] for name, (fine, codes) in self.groups.items()]
        return {
            "attributes": [[one.name, list(one.categories)] for one in self.attributes],
            "zeros": [{name: list(listed) for name, listed in one.items()} for one in self.zeros],
            **({"groups": groups} if groups else {}),
        }

    @classmethod
    @refuse_malformed("domain")
    def from_dict(cls, data: Mapping[str, Any], by: Sequence[str] | None = None) -> Domain:
        """Read what :meth:`to_dict` wrote, or categories by attribute; raise InvalidProblemError for anything else."""
        source: Any = data
        stated: Any = source.get("attributes") if isinstance(source, Mapping) else None
        zeros: Any = source.get("zeros", ()) if isinstance(source, Mapping) else ()
        pairs = isinstance(stated, list) and all(
            isinstance(one, list | tuple) and len(one) == 2 for one in stated
        )
        if pairs and len({str(one[0]) for one in stated}) < len(stated):
            raise InvalidProblemError("domain", "each attribute once", "one twice")
        # Beside zeros, "attributes" can be no attribute of this name.
        if isinstance(stated, Mapping) or (pairs and "zeros" in data):
            unknown = set(data) - {"attributes", "zeros", "groups"}
            if unknown:
                raise unknown_name("domain", str(min(unknown)), ["attributes", "zeros"])
            if not isinstance(zeros, list | tuple):
                raise InvalidProblemError("zeros", "a list", repr(zeros))
            made = cls.read(dict(stated), by, zeros=tuple(zeros))
            groups = {a: (of, tuple(map(index, codes))) for a, of, codes in data.get("groups", ())}
            return replace(made, groups=groups)
        return cls.read(data, by)


@final
@dataclass(frozen=True, eq=False, repr=False)
class TableFrame(RegionFrame):
    r"""The public facts about tables by region: what exists, what is measured, and with which part of the budget.

    Parameters
    ----------
    tree
        The regions; every record lies in one leaf.
    domain
        The cells.
    shares
        For each marginal the part of the budget on each level, the root first; 0 where it is not measured. All of them
        add up to exactly 1. The cells of the deepest level must have one. A leaf above that level has the parts of the
        levels below it, too: no other region on its path spends them. With `kinds` one for each of these instead.
    max_rows
        The most rows of one person.
    total
        The number of all records, where it is public: only neighbors that keep it are then protected against.
    kinds
        For each region the number of its kind, where shares differ within a level: regions of one kind have equal
        shares. The root is the only one of kind 0. Shares along each path then add up to 1 at most, and along one of
        them to 1.
    residuals
        Whether residuals are measured in place of plain counts, but for the total and the cells: for the attributes S
        of a marginal :math:`\bigotimes_{i \in S} (n_i I - J)` times its counts.

    Raises
    ------
    InvalidProblemError
        For shares that do not add up, are negative, or leave the cells of leaves without a measurement; for residuals
        of a domain with structural zeros, of an attribute with one category, or of too many entries.

    Examples
    --------
    >>> from discreet.core.tree import Tree
    >>> domain = Domain.read({"sex": ["F", "M"]})
    >>> half = Fraction(1, 4)
    >>> frame = TableFrame(Tree.from_paths([("GA",), ("NY",)]), domain, {(): (half,) * 2, (0,): (half,) * 2})
    >>> frame
    TableFrame(regions=3, levels=2, cells=2, marginals=total, sex)
    """

    tree: Tree
    domain: Domain
    shares: Mapping[Marginal, tuple[Fraction, ...]]
    max_rows: int = 1
    total: int | None = None
    kinds: tuple[int, ...] | None = None
    residuals: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "max_rows", positive_count(self.max_rows, "max_rows", most=2**31))
        domain = self.domain
        if self.kinds is not None:
            object.__setattr__(self, "kinds", _read_kinds(self.kinds, self.tree.n))
        parts_needed = self.tree.depth + 1 if self.kinds is None else max(self.kinds) + 1
        read: dict[Marginal, tuple[Fraction, ...]] = {}
        for marginal, parts in self.shares.items():
            numbers = tuple(to_fraction(part, "shares") for part in parts)
            if len(numbers) != parts_needed:
                name = "levels" if self.kinds is None else "kinds of regions"
                raise InvalidProblemError(
                    "shares", f"one for each of {parts_needed} {name}", len(numbers)
                )
            if (least := min(numbers)) < 0:
                got = f"{least} for {domain.name(marginal)}"
                raise InvalidProblemError("shares", "none below 0", got)
            read[tuple(marginal)] = numbers
        object.__setattr__(self, "shares", MappingProxyType(read))
        self._check_residuals()
        budget = self._largest_path()
        if budget != 1:
            raise InvalidProblemError("shares", "the sum 1 over levels and marginals", str(budget))
        ends = set(self.strata[self.tree.leaves].tolist())
        if domain.full not in read or not all(self.share(domain.full, one) for one in ends):
            expected = f"a part of the lowest level for the cells, {domain.name(domain.full)}"
            raise InvalidProblemError("marginals", expected, "none: leaves without cells")
        if self.total is not None:
            if isinstance(self.total, bool) or not isinstance(self.total, int | np.integer):
                raise InvalidProblemError("total", "a whole number", type(self.total).__name__)
            if not 0 <= self.total <= MOST_PERSONS:
                raise InvalidProblemError("total", f"a number from 0 to {MOST_PERSONS}", self.total)

    def _check_residuals(self) -> None:
        """Refuse residuals that would be 0 whatever the data, that zeros would tie together, or beyond 64 bits."""
        if self.residuals is False:
            return
        if self.residuals is not True:
            raise InvalidProblemError("residuals", "true or false", repr(self.residuals))
        domain = self.domain
        largest = max((domain.size_of(q) for q in self.shares if self.is_residual(q)), default=0)
        if not domain.possible.all() or min(domain.shape) == 1 or largest > MOST_RESIDUAL_ENTRIES:
            most = count(MOST_RESIDUAL_ENTRIES)
            expected = (
                f"no structural zeros, two categories or more, at most {most} entries a table"
            )
            raise InvalidProblemError("residuals", expected, repr(domain))

    def _largest_path(self) -> Fraction:
        """Budget of the path that spends most."""
        parts = [sum(one, Fraction(0)) for one in zip(*self.shares.values(), strict=True)]
        if self.kinds is None:
            return sum(parts, Fraction(0))
        spent: list[Fraction] = []
        for node, above in enumerate(self.tree.parents.tolist()):
            spent.append(parts[self.kinds[node]] + (spent[above] if node else 0))
        return max(spent)

    def __getstate__(self) -> dict[str, Any]:
        """Keep what the constructor takes: views of mappings do not pickle."""
        stated = {one.name: getattr(self, one.name) for one in fields(self)}
        return {**stated, "shares": dict(self.shares)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({"kinds": None, "residuals": False, **state})
        self.__post_init__()

    def __repr__(self) -> str:
        names = ", ".join(map(self.domain.name, self.marginals))
        return (
            f"TableFrame(regions={self.tree.n}, levels={self.tree.depth + 1}, "
            f"cells={self.domain.size}, marginals={names})"
        )

    @property
    def marginals(self) -> tuple[Marginal, ...]:
        """The keys of `shares`, in the order given; those of zero shares, too, which are measured nowhere."""
        return tuple(self.shares)

    @cached_property
    def strata(self) -> NDArray[np.int64]:
        """Array ``(n_nodes,)``: the kind, or twice the level and one more for a leaf; equal ones have equal noise."""
        if self.kinds is not None:
            return np.array(self.kinds, dtype=np.int64)
        return np.asarray(2 * self.tree.levels + self.tree.is_leaf, dtype=np.int64)

    @property
    def n_strata(self) -> int:
        """Number of strata, some of which may have no region."""
        return 2 * (self.tree.depth + 1) if self.kinds is None else max(self.kinds) + 1

    def share(self, marginal: Marginal, stratum: int) -> Fraction:
        """Share of the budget, from 0 to 1, of a marginal in the regions of a stratum."""
        parts = self.shares[marginal]
        if self.kinds is not None:
            return parts[stratum]
        level, ends = divmod(stratum, 2)
        return sum(parts[level:], Fraction(0)) if ends else parts[level]

    def is_residual(self, marginal: Marginal) -> bool:
        """Whether a residual is measured in place of a marginal."""
        return self.residuals and marginal not in ((), self.domain.full)

    def informs(self, marginal: Marginal, interaction: Marginal) -> bool:
        """Whether what is measured of a marginal depends on an interaction: a residual on its own alone."""
        if self.is_residual(marginal):
            return marginal == interaction
        return set(interaction) <= set(marginal)

    def stretch(self, marginal: Marginal) -> int:
        """Factor of the contrasts of a marginal in what is measured of it."""
        return self.domain.size_of(marginal) if self.is_residual(marginal) else 1

    def _stated(self) -> list[object]:
        shares = [
            f"{self.domain.name(q)} {' '.join(map(str, each))}" for q, each in self.shares.items()
        ]
        kinds = [] if self.kinds is None else [f"kinds {' '.join(map(str, self.kinds))}"]
        parts = [self._tree_digest, self._domain_digest, self.max_rows, self.total]
        return [*parts, *shares, *kinds, *["residuals"] * self.residuals]

    @cached_property
    def _domain_digest(self) -> str:
        listed = [(one.name, one.categories) for one in self.domain.attributes]
        zeros = [sorted(one.items()) for one in self.domain.zeros]
        return sha256_of(repr((listed, zeros)))

    def assumed_public(self) -> tuple[PublicInput, ...]:
        """List what a release on this frame takes to be public, each with its hash."""
        several = f"a person has at most {self.max_rows} rows, as the publisher states"
        person = "a person has one row" if self.max_rows == 1 else several
        listed = [
            self._regions(),
            PublicInput("domain", self._domain_digest, repr(self.domain)[7:-1]),
            PublicInput("max_rows", sha256_of(f"{self.max_rows}"), person),
        ]
        if self.total is not None:
            described = f"{self.total} records in all, published as it is"
            listed.append(PublicInput("total", sha256_of(f"{self.total}"), described))
        return tuple(listed)


def _read_kinds(given: Sequence[int], n: int) -> tuple[int, ...]:
    """Return the kinds of `n` regions, `given` as numbers from 0 without a gap, 0 for the root alone; refuse others."""
    kinds = tuple(int(one) for one in given)
    if (
        len(kinds) != n
        or kinds.count(0) != 1
        or kinds[0]
        or not 0 <= min(kinds) <= max(kinds) < n
        or set(kinds) != set(range(max(kinds) + 1))
    ):
        expected = f"{n} numbers from 0 without a gap, 0 for the root alone"
        raise InvalidProblemError("kinds", expected, "others")
    return kinds
