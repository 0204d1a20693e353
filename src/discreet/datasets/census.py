"""A made census: households by size in counties and states, shaped like the 2010 census of the United States.

No table of a census ships with this library. This one has what makes real ones hard: counties from thirty households to
millions, sizes of which nearly all are small, and a few very large groups that stand alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.spaces.inputs import positive_count
from discreet.core.tree import Tree

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

_SHARES = (0.267, 0.328, 0.161, 0.134, 0.065, 0.026, 0.019)
"""Shares of households of 1 to 6 persons, and of 7 or more."""

_MIN_GROUPS_PER_COUNTY = 30
"""Households of the smallest county, where the groups suffice."""


@final
@dataclass(frozen=True, eq=False, repr=False)
class MadeCounts:
    """Made counts of groups by size for the leaves of a tree of regions.

    Parameters
    ----------
    tree
        The regions.
    counts
        ``(n_leaves, max_size)`` in the order of ``tree.leaves``: groups of sizes 1 to ``max_size``.
    name
        Name of the data, for people.
    seed
        Seed that made it.

    Examples
    --------
    >>> made = made_census(states=3, counties=8, groups=1000, max_size=20, outliers=2)
    >>> made, made.groups
    (MadeCounts(made census, variant b: 12 regions, 1000 groups, sizes 1..20), 1000)
    """

    tree: Tree
    counts: NDArray[np.int64]
    name: str
    seed: int

    def __post_init__(self) -> None:
        counts = np.array(self.counts, dtype=np.int64)
        counts.setflags(write=False)
        object.__setattr__(self, "counts", counts)

    def __repr__(self) -> str:
        return (
            f"MadeCounts({self.name}: {self.tree.n} regions, {self.groups} groups, sizes "
            f"1..{self.counts.shape[1]})"
        )

    @property
    def groups(self) -> int:
        """Number of groups."""
        return int(self.counts.sum())

    def with_size_zero(self) -> NDArray[np.int64]:
        """Return a copy of the counts with a column of zeros for size 0, ``(n_leaves, max_size + 1)``: public units."""
        return np.pad(self.counts, ((0, 0), (1, 0)))


def made_census(
    *,
    states: int = 52,
    counties: int = 3144,
    groups: int = 117_630_445,
    max_size: int = 1000,
    variant: Literal["a", "b"] = "b",
    outliers: int = 50,
    seed: int = 2010,
) -> MadeCounts:
    """Generate households by size in counties and states; by default as many as the paper counts in the United States.

    Counties are dealt to states in gamma shares; the households of a county are lognormal, times a factor of its
    state. Shares of sizes are those of 2010, with a jitter for each county. Then some groups are replaced by ones of
    a size drawn uniformly from 10 to `max_size`.

    Parameters
    ----------
    states, counties
        Number of regions on the second and the third level.
    groups
        G, the number of households.
    max_size
        N, the largest size, at least 10.
    variant
        ``"b"``: households of 7 or more are all of size 7, as a table that is cut off there. ``"a"``: they have a
        geometric tail, so that more cells are not zero.
    outliers
        Number of groups that get a large size; each takes the place of a group of its county's commonest size.
    seed
        Any non-negative integer; equal seeds make equal counts.

    Returns
    -------
    MadeCounts
        The regions ``S01`` and ``S01-C001`` below ``US``, and the counts.

    Raises
    ------
    InvalidProblemError
        For counts that are not positive, fewer counties than states, `max_size` below 10, another variant, more
        outliers than groups, or a negative seed.

    Complexity
    ----------
    O((counties + outliers) (counties + max_size)) at most, and about a second by default.

    Examples
    --------
    >>> made = made_census(states=2, counties=3, groups=500, max_size=12, outliers=1)
    >>> made.tree.labels, made.counts.sum(axis=1).tolist()
    (('US', 'S01', 'S02', 'S01-C001', 'S02-C001', 'S02-C002'), [39, 398, 63])
    """
    for name, number in (("states", states), ("counties", counties), ("groups", groups)):
        positive_count(number, name)
    if counties < states:
        raise InvalidProblemError("counties", f"at least {states}, one a state", counties)
    if positive_count(max_size, "max_size") < 10:
        raise InvalidProblemError("max_size", "at least 10", max_size)
    if variant not in ("a", "b"):
        raise InvalidProblemError("variant", "'a' or 'b'", repr(variant))
    if not 0 <= outliers <= groups:
        raise InvalidProblemError("outliers", "from 0 to the number of groups", outliers)
    if seed < 0:
        raise InvalidProblemError("seed", "a non-negative integer", seed)
    generator = np.random.default_rng(seed)
    within = _divide(generator.gamma(1.6, 1.0, states), counties)
    state_of = np.repeat(np.arange(states), within)
    factor = generator.lognormal(0.0, 0.6, states)[state_of]
    households = _divide(
        generator.lognormal(9.3, 1.45, counties) * factor,
        groups,
        least=min(_MIN_GROUPS_PER_COUNTY, groups // counties),
    )
    shares = _shares(max_size, variant)
    counts = np.zeros((counties, max_size), dtype=np.int64)
    small = int(np.flatnonzero(shares)[-1]) + 1
    for county, number in enumerate(households.tolist()):
        jitter = np.exp(generator.normal(0.0, 0.12, small))
        jitter[7:] = jitter[6]
        own = shares[:small] * jitter
        counts[county, :small] = generator.multinomial(number, own / own.sum())
    _stand_out(generator, counts, outliers)
    names = [f"S{state + 1:02d}" for state in range(states)]
    paths = [
        (names[state], f"{names[state]}-C{place + 1:03d}")
        for state, number in enumerate(within.tolist())
        for place in range(number)
    ]
    tree = Tree.from_paths(paths, root="US")
    return MadeCounts(tree, counts, f"made census, variant {variant}", seed)


def _divide(shares: NDArray[np.float64], total: int, *, least: int = 1) -> NDArray[np.int64]:
    """Divide `total` in proportion to positive shares ``(m,)``, by largest remainders, each part at least `least`.

    Int64 ``(m,)`` that sums to the total, which must be at least ``m * least``. ``O(m log m)``.
    """
    exact = least + shares / shares.sum() * (total - least * len(shares))
    parts: NDArray[np.int64] = np.floor(exact).astype(np.int64)
    missing = total - int(parts.sum())
    parts[np.argsort(parts - exact, kind="stable")[:missing]] += 1
    return parts


def _shares(max_size: int, variant: str) -> NDArray[np.float64]:
    """Return the shares of households by size from 1, ``(max_size,)``, which sum to 1.

    Variant "b" has all of 7 or more at size 7, "a" a geometric tail of at most 60 sizes from 7 on.
    """
    shares = np.zeros(max_size)
    shares[:6] = _SHARES[:6]
    if variant == "b":
        shares[6] = _SHARES[6]
    else:
        tail = 0.42 ** np.arange(min(60, max_size - 6))
        shares[6 : 6 + len(tail)] = tail / tail.sum() * _SHARES[6]
    return shares


def _stand_out(generator: Generator, counts: NDArray[np.int64], outliers: int) -> None:
    """Replace, `outliers` times and in place, a group of the most frequent size of a county by one of a large size.

    `counts` is ``(counties, sizes)``. Counties are drawn by their groups, sizes uniformly from 10 on. ``O(outliers
    (counties + sizes))``.
    """
    weights = counts.sum(axis=1) / counts.sum()
    for _ in range(outliers):
        county = int(generator.choice(len(counts), p=weights))
        size = int(generator.integers(10, counts.shape[1] + 1))
        counts[county, int(np.argmax(counts[county]))] -= 1
        counts[county, size - 1] += 1
