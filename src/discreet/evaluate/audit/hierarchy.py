r"""Audits of hierarchical counts: every method of :mod:`discreet.hierarchy`, at its claim, on its worst neighbors.

**Exact.** What a person moves are a few numbers, each with noise of its own. The law of each is found by replaying the
production sampler; told apart are only "at or below the lower value", "between" and "at or above the higher value",
which is post-processing and loses nothing of the ratio of Laplace noise. Noise is independent, and all numbers that the
person does not move have one law on both inputs. So the product of these laws is a lower bound, on every pair of
neighbors of two regions with a unit each, and what the numbers prove adds up to an upper one.

**Sampled.** For methods with a guarantee all measurements are looked at: counts are made of them and show no more. For
a method that publishes counts under a false claim the counts alone are looked at, end to end.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import product
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import PureDP, ZeroConcentratedDP
from discreet.core.randomness import discrete_gaussians, discrete_laplaces
from discreet.core.randomness.replay import Law, enumerate_law
from discreet.core.tree import Tree
from discreet.evaluate.audit.audit import Audit, Pair, audit, audit_laws
from discreet.evaluate.audit.exact import proved_delta
from discreet.hierarchy.measure import measure, node_scales, truth
from discreet.hierarchy.methods import DEFAULT, METHODS
from discreet.hierarchy.plan import level_parts
from discreet.hierarchy.problem import GroupSizes

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from numpy.typing import NDArray

    from discreet.core.randomness import RandomBits
    from discreet.evaluate.audit.request import AuditRequest
    from discreet.hierarchy.methods import Method

    DPForPersons = PureDP | ZeroConcentratedDP
    Changes = tuple[tuple[int, int, Fraction], ...]
    Groups = tuple[tuple[int, ...], ...]

_MAX_SIZE = 3
"""Largest counted size of a unit in audited tables: there is a first, an inner and a last size beside 0."""


@final
@dataclass(frozen=True, eq=False)
class _Noised:
    """Data with the noise that a method gives them, as it is claimed."""

    data: GroupSizes
    method: Method
    spent: DPForPersons
    shares: tuple[Fraction, ...]

    @property
    def scales(self) -> tuple[Fraction | None, ...]:
        """Scale of the noise of each node, ``None`` if it is not measured."""
        return node_scales(self.data.frame, self.method.kind, self.spent, self.shares)

    @property
    def values(self) -> NDArray[np.int64]:
        """What is measured, number by number."""
        return truth(self.data, self.method.kind).reshape(-1)

    @property
    def scale_of_each(self) -> list[Fraction | None]:
        """The scale of each of these numbers."""
        frame, kind = self.data.frame, self.method.kind
        if kind == "sorted" and frame.group_totals is not None:
            widths = frame.group_totals.tolist()
        else:
            widths = [len(self.values) // frame.tree.n] * frame.tree.n
        return [
            scale for scale, width in zip(self.scales, widths, strict=True) for _ in range(width)
        ]


def audit_counts(request: AuditRequest) -> Audit:
    """Audit a method by its name, at the claim under which it is published.

    Exact audits replay each noisy number up to 1,000 times; sampled ones make up to ``samples`` releases of each
    input.

    Parameters
    ----------
    request
        A name of :data:`discreet.hierarchy.methods.METHODS`; epsilon or rho, and the neighbors,
        default ``"add-remove-person"``.

    Returns
    -------
    Audit
        Default: exact for epsilon, sampled for rho.

    Raises
    ------
    InvalidProblemError
        For an unknown method, or another claim.

    Examples
    --------
    >>> from discreet.evaluate.audit.request import AuditRequest
    >>> audit_counts(AuditRequest("m-c-dp", epsilon="1")).rejected
    False
    """
    claim = request.dp("add-remove-person")
    if not isinstance(claim, PureDP | ZeroConcentratedDP):
        raise InvalidProblemError("delta", "none; epsilon, or rho", "a value")
    method = METHODS.resolve(request.method or DEFAULT, accept_no_guarantee=True)
    if isinstance(claim, PureDP) and request.choose("exact", "sampled") == "exact":
        return _exact(method, claim)
    request.choose("sampled")
    published = bool(getattr(method, "unproven", ""))
    return audit(
        published_counts if published else None,
        _sampled_pairs(method, claim),
        claim,
        batch=None if published else measurements_of,
        **request.sampling,
    )


def published_counts(case: _Noised, bits: RandomBits) -> NDArray[np.float64]:
    """Run a method end to end with fresh noise, and return its counts as one row: ``(n_nodes * n_sizes,)`` float64."""
    measured = measure(case.data, case.method.kind, case.spent, levels=case.shares, bits=bits)
    return np.asarray(case.method.solve(measured), dtype=np.float64).reshape(-1)


def measurements_of(case: _Noised, size: int, bits: RandomBits) -> NDArray[np.float64]:
    """Draw the measurements of `size` releases, ``(size, numbers)`` floats: the production sampler, a call a scale."""
    rows = np.repeat(case.values[None, :], size, axis=0)
    scales = case.scale_of_each
    draw = discrete_laplaces if isinstance(case.spent, PureDP) else discrete_gaussians
    for scale in dict.fromkeys(scales):
        places = [place for place, other in enumerate(scales) if other == scale]
        if scale is None:
            rows[:, places] = 0
        else:
            rows[:, places] += draw(scale, size * len(places), bits).reshape(size, len(places))
    return rows.astype(np.float64)


def count_pairs(
    relation: str, *, regions: int = 2, top: int = _MAX_SIZE + 1
) -> list[tuple[Groups, Groups]]:
    """List all pairs of neighbors with a unit in each region and sizes up to the top.

    Each pair is a tuple of two data sets, and a data set has for each region the sizes of its one group. All ``(top +
    1)^regions`` data sets are listed, with a replaced person the pairs that share a base.

    Parameters
    ----------
    relation
        ``"add-remove-person"`` or ``"replace-person"``.
    regions
        How many.
    top
        The largest size; more than the largest that is counted, so that top-coding is tried too.

    Examples
    --------
    >>> count_pairs("add-remove-person", regions=1, top=2)
    [(((0,),), ((1,),)), (((1,),), ((2,),))]
    """
    data: list[Groups] = [
        tuple((size,) for size in sizes) for sizes in product(range(top + 1), repeat=regions)
    ]
    more = [
        (groups, (*groups[:leaf], (size + 1,), *groups[leaf + 1 :]))
        for groups in data
        for leaf, (size,) in enumerate(groups)
        if size < top
    ]
    if relation == "add-remove-person":
        return sorted(more)
    return sorted(
        {
            (a, b)
            for base in data
            for a, b in product([b for one, b in more if one == base], repeat=2)
            if a < b
        }
    )


def _table(groups: Groups, units: Any, max_size: int) -> GroupSizes:  # noqa: ANN401 - one of two words
    """Return the table of some regions, each the sizes of its groups; larger sizes count as `max_size`."""
    first = 0 if units == "public" else 1
    counts = np.zeros((len(groups), max_size + 1 - first), dtype=np.int64)
    for leaf, sizes in enumerate(groups):
        for size in sizes:
            if size >= first:
                counts[leaf, min(size, max_size) - first] += 1
    tree = Tree.from_paths([(f"region {leaf}",) for leaf in range(len(groups))])
    return GroupSizes.from_counts(tree, counts, units=units)


def _units(method: Method) -> tuple[str, ...]:
    """Return the kinds of units with which a method works."""
    needs = getattr(method, "needs", ())
    public_only = "public units" in needs or method.kind in {"sorted", "chain"}
    return ("public",) if public_only else ("public", "private")


def _noised(data: GroupSizes, method: Method, claim: DPForPersons) -> _Noised:
    """Return how a method splits and noises its counts under the claim, as it was published where that differs."""
    shares = level_parts(data.frame, claim, method=method)
    spent: DPForPersons = claim
    published = getattr(method, "as_published", None)
    if published is not None:
        spent, shares = published(data.frame, claim, shares)
    return _Noised(data, method, spent, shares)


# Exact.


def _exact(method: Method, claim: PureDP) -> Audit:
    """Audit all neighboring tables of a few groups by the changes of their counts, with exact laws.

    Equal changes are audited once.
    """
    changes: dict[Changes, str] = {}
    for units in _units(method):
        for a, b in count_pairs(claim.neighbors):
            one, other = (
                _noised(_table(groups, units, _MAX_SIZE), method, claim) for groups in (a, b)
            )
            key = _changes(one, other)
            if key:
                label = f"{units} units of sizes {_sizes(a)} and {_sizes(b)}"
                changes.setdefault(key, label)
    # The delta of coarsened laws is not that of the release; the deltas of the numbers, added up, are.
    return replace(
        audit_changes(changes, claim), delta=float(max(_delta(key, claim) for key in changes))
    )


def audit_changes(changes: Mapping[Changes, str], claim: PureDP) -> Audit:
    """Audit pairs of neighbors by the noisy numbers that differ between them, exactly.

    At least one pair. Each number is replayed once for a value and a scale, at most 1,000 runs; the joint law has
    ``3^n`` outcomes for n numbers.

    Parameters
    ----------
    changes
        The numbers that differ, each by its two values and the scale of its noise -> label of the pair.
    claim
        The claim.

    Returns
    -------
    Audit
        By the law of which side of the two values each number falls on, which keeps the ratio of Laplace noise.
    """
    laws = []
    for key in changes:
        sides = [sides_of(*change) for change in key]
        laws.append((joined_law([a for a, _ in sides]), joined_law([b for _, b in sides])))
    return audit_laws(laws, [Pair(None, None, label) for label in changes.values()], claim)


def _sizes(groups: Groups) -> str:
    """Return the sizes of single groups as text."""
    return "+".join(str(size) for (size,) in groups)


def _changes(one: _Noised, other: _Noised) -> Changes:
    """List the numbers that differ, in order: both values, and the scale of the noise."""
    triples = zip(one.values.tolist(), other.values.tolist(), one.scale_of_each, strict=True)
    return tuple(sorted((a, b, scale) for a, b, scale in triples if a != b and scale is not None))


@cache
def number_law(value: int, scale: Fraction, *, max_runs: int = 1_000) -> Law:
    """Find the law of one noisy number, by at most `max_runs` replays of the production sampler."""
    return enumerate_law(
        lambda bits: value + int(discrete_laplaces(scale, 1, bits)[0]), max_runs=max_runs
    )


@cache
def sides_of(value: int, other: int, scale: Fraction) -> tuple[Law, Law]:
    """Return, for each of two values, the exact law of where its noisy number falls.

    At most the lower, between, or above.

    `scale` is that of discrete Laplace noise. An outcome is such a side in words, and mass that was not replayed is
    the law's ``unexplored``.
    """
    low, high = min(value, other), max(value, other)

    def side(noisy: Any) -> str:  # noqa: ANN401 - an integer, as an outcome
        if noisy <= low:
            return f"at most {low}"
        return f"at least {high}" if noisy >= high else f"between {low} and {high}"

    sides = []
    for law in (number_law(value, scale), number_law(other, scale)):
        masses: dict[Hashable, Fraction] = {}
        for noisy, mass in law.masses.items():
            masses[side(noisy)] = masses.get(side(noisy), Fraction(0)) + mass
        sides.append(Law(MappingProxyType(masses), law.unexplored, law.runs))
    return sides[0], sides[1]


def joined_law(laws: list[Law]) -> Law:
    """Return the joint law of independent outcomes.

    As many entries as the product of the numbers of outcomes, exact.
    """
    masses: dict[Hashable, Fraction] = {(): Fraction(1)}
    for law in laws:
        masses = {
            (*before, outcome): mass * share  # type: ignore[misc] # tuples, made here
            for before, mass in masses.items()
            for outcome, share in law.masses.items()
        }
    left = 1 - sum(masses.values(), Fraction(0))
    return Law(MappingProxyType(masses), left, sum(law.runs for law in laws))


def _delta(changes: Changes, claim: PureDP) -> Fraction:
    """Return the delta proved for `changes`.

    The sum of the deltas of their numbers, 1 if their epsilons exceed the claim.
    """
    epsilons = [abs(a - b) / scale for a, b, scale in changes]
    if sum(epsilons) > claim.epsilon:
        return Fraction(1)
    deltas = [
        proved_delta(
            number_law(a, scale), number_law(b, scale), PureDP(epsilon, claim.neighbors), None
        )
        for (a, b, scale), epsilon in zip(changes, epsilons, strict=True)
    ]
    return min(sum(deltas, Fraction(0)), Fraction(1))


# Sampled.


def _sampled_pairs(method: Method, claim: DPForPersons, *, chain_regions: int = 40) -> list[Pair]:
    """Move one person where it shows most: between counted sizes, into the last one, and where a unit appears.

    A chain has `chain_regions` regions: the more there are, the more it loses.
    """
    regions = chain_regions if method.kind == "chain" else 2
    # All others of size 0: the chain is then flat where it moves, and a fit adds up what it shows.
    still = 0 if method.kind == "chain" else 2
    rest = ((still, still),) * (regions - 1)
    pairs = []
    for units in _units(method):
        for size in (1,) if getattr(method, "unproven", "") else (1, _MAX_SIZE - 1, 0):
            before, after = ((size, still), *rest), ((size + 1, still), *rest)
            if claim.neighbors == "replace-person":
                before = (*before[:-1], (still + 1, still))
            one, other = (
                _noised(_table(groups, units, _MAX_SIZE), method, claim)
                for groups in (before, after)
            )
            if np.array_equal(one.data.counts, other.data.counts):
                continue
            label = (
                f"{units} units, one of {regions} regions with a unit of size {size} or {size + 1}"
            )
            pairs.append(Pair(one, other, label))
    return pairs
