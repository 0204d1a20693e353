"""Parts of a problem with designs of their own: duplicates merged, components separated.

Secrets at distance 0 have the same row of the channel, so that their costs add up. Constraints do not cross
components, so that the channel consists of the channels of the parts ([Qiu24]_, Proposition 3.1).
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, final

import numpy as np

from discreet.core.errors import InfeasibleError, LimitReachedError, SolverError
from discreet.core.spaces.adjacency import Adjacency
from discreet.core.spaces.geography import azimuthal
from discreet.metricdp.bounds.bound import Multipliers

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from numpy.typing import NDArray

    from discreet.core.spaces.metric import MetricSpace
    from discreet.metricdp.problem import Problem


_PAIR_SAMPLE_SIZE, _MAX_IMPLIED_SHARE = 400, 0.02
"""Pairs of a sample, and secrets from which on it is drawn; share of implied pairs in it up to which all pairs count as
binding. Of 499,500 pairs of 1,000 random points 113 are implied, found in 0.9 CPU seconds, November 2026."""


@final
@dataclass(frozen=True, eq=False)
class Part:
    """A connected part of a problem, no two of its secrets at distance 0.

    Parameters
    ----------
    cost
        ``(n, n_reports)``: ``p_i c_ik``.
    constraints
        The stated constraints among the secrets of the part.
    epsilon
        Nats per unit of distance.
    plane
        ``(n, 2)`` and ``(n_reports, 2)`` coordinates of the secrets and of the reports in a plane, if distances are
        Euclidean in a plane or great circles (then the places are projected, see
        :func:`~discreet.core.spaces.geography.azimuthal`) and reports name secrets; else ``None``.
    space
        The metric space of the secrets of the part, also of pairs that are not constrained; ``None`` for a part
        without a problem.
    home
        ``(n_reports,)``: for each report the secret of the part for which it costs least, in a tie the secret that it
        names. Several reports may have the same home. ``None`` for a part without a problem.
    named
        ``(n_reports,)``: the secret of the part that each report names, -1 for none. ``None`` for a part without a
        problem.
    secrets
        ``(n,)`` ascending: numbers of the secrets in the problem, of merged ones that of the first. ``None`` for a part
        without a problem.
    """

    cost: NDArray[np.float64]
    constraints: Adjacency
    epsilon: Fraction
    plane: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
    space: MetricSpace | None = None
    home: NDArray[np.int64] | None = None
    named: NDArray[np.int64] | None = None
    secrets: NDArray[np.int64] | None = None

    @property
    def n(self) -> int:
        """Number of secrets."""
        return int(self.cost.shape[0])

    @property
    def n_reports(self) -> int:
        """Number of reports."""
        return int(self.cost.shape[1])

    @property
    def all_pairs(self) -> bool:
        """Whether every pair of secrets is constrained."""
        return 2 * len(self.constraints) == self.n * (self.n - 1)

    @property
    def rate(self) -> float:
        """Nats per stored unit of distance."""
        return float(self.epsilon) * 2.0**-self.constraints.scale_bits

    def nats(self, lengths: NDArray[np.int64]) -> NDArray[np.float64]:
        """Convert stored lengths, of any shape, to nats: float64 of the same shape.

        Entries of -1, for no path, are converted like the others: the caller has to leave them out.
        """
        return np.asarray(lengths * self.rate, dtype=float)

    @cached_property
    def binding(self) -> Adjacency:
        """The constraints not implied by others; all of them if all pairs are constrained and few are implied.

        Computed at the first access: a search within the longest edge from each secret, or ``O(n^3)`` for dense ones.
        """
        if self._few_are_implied():
            return self.constraints
        return self.constraints.prune()

    def _few_are_implied(self) -> bool:
        """Return whether all pairs are constrained and few of a sample are implied by others.

        False for a part with too few secrets for a sample. ``O(n)`` for each pair of the sample.
        """
        graph = self.constraints
        if self.n < _PAIR_SAMPLE_SIZE or not self.all_pairs:
            return False
        sample = slice(None, None, -(-len(graph) // _PAIR_SAMPLE_SIZE))
        i, j = graph.pairs[sample].T
        detours = self.paths[i] + self.paths[j]
        # A path over one of the two ends is not a detour.
        detours[np.arange(len(i)), i] = detours[np.arange(len(i)), j] = detours.max() + 1
        implied = detours.min(axis=1) <= graph.lengths[sample]
        return bool(implied.mean() < _MAX_IMPLIED_SHARE)

    @cached_property
    def homes(self) -> NDArray[np.int64]:
        """Index of the secret for which each report costs least, ``(n_reports,)``."""
        # A secret of probability 0 has zero costs, so that a known home comes first.
        return self.cost.argmin(axis=0) if self.home is None else self.home

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """Index of the secret at which each report is located, ``(n_reports,)``: the one that it names, or its home."""
        return (
            self.homes if self.named is None else np.where(self.named < 0, self.homes, self.named)
        )

    @cached_property
    def stretch(self) -> float:
        r"""Largest ratio of a distance in the plane to the length of the shortest path of constraints.

        With f the position of a secret in :attr:`plane`, :math:`\rho = \max_{i \ne j} |f_i - f_j| / D_{ij}` in floats,
        increased by more than their errors: noise that is private in the plane at :math:`\epsilon / \rho` per unit
        keeps :math:`e^{\epsilon |f_i - f_j| / \rho} \le e^{\epsilon D_{ij}}` for all pairs. It is 1 up to rounding for
        Euclidean distances of all pairs, and infinite if projected secrets have no such bound.

        Raises
        ------
        ValueError
            Without a plane.
        """
        if self.plane is None:
            raise ValueError("plane")
        points, largest = self.plane[0], 0.0
        unit = 2.0**-self.constraints.scale_bits
        for i in range(self.n):
            apart = np.linalg.norm(points[i + 1 :] - points[i], axis=1)
            lengths = unit * self.paths[i, i + 1 :]
            with np.errstate(divide="ignore"):
                largest = max(largest, float((apart / lengths).max(initial=0.0)))
        # Fewer than eight roundings, of half an epsilon each.
        return largest * (1 + 8 * sys.float_info.epsilon)

    @cached_property
    def paths(self) -> NDArray[np.int64]:
        """Lengths of shortest paths of constraints, ``(n, n)`` in stored units, -1 without a path.

        Computed once, in up to ``O(n^3)``.
        """
        graph = self.constraints
        if self.all_pairs and self.space is not None:
            # All pairs of a metric space are constrained: distances satisfy the triangle inequality.
            return self.space.distances
        return (graph if graph.paths_known else self.binding).shortest_paths()


@final
@dataclass(frozen=True, eq=False)
class Candidate:
    """Proposal of a method for a part: unproven numbers, for repair and verification.

    Parameters
    ----------
    method
        Name of the method.
    matrix
        ``(n, n_reports)`` non-negative floats, close to a private channel, or ``None``.
    multipliers
        Prices for the lower bound, secrets numbered as in the part, or ``None``.
    note
        One sentence for the trace.
    parameters
        Public facts for the provenance.
    rough
        Whether the matrix violates constraints so much that its loss is meaningless before the repair.
    """

    method: str
    matrix: NDArray[np.float64] | None
    multipliers: Multipliers | None
    note: str
    parameters: dict[str, Any] = field(default_factory=dict)
    rough: bool = False


def _no_beat() -> None:
    """Do nothing; a function of the module, so that limits can be pickled."""


@final
@dataclass(frozen=True)
class PartLimits:
    """Resources of a method.

    Parameters
    ----------
    seconds
        Wall-clock time, ``None`` for no limit.
    threads
        Threads of a solver.
    gap
        Requested relative gap.
    offer
        Function that an iterative method calls with its current candidate: it is repaired, bounded and kept if it is
        better. Returns whether the gap is reached. ``None`` if intermediate candidates are not used.
    handling
        Expected seconds for repair and verification of an answer, which are part of `seconds`.
    upper
        Loss of the best channel that the caller has: a bound close to it is enough.
    overtime
        Seconds beyond the limit within which an offer has to end by its forecast, and after which a repair ends with
        its first sufficient delta.
    beat
        Called often, as after each step, so that progress is reported in time.
    """

    seconds: float | None = None
    threads: int = 1
    gap: float = 0.01
    offer: Callable[[Candidate], bool] | None = None
    handling: float = 0.0
    upper: float = math.inf
    overtime: float = 1.0
    beat: Callable[[], None] = _no_beat

    @property
    def solving(self) -> float | None:
        """Seconds for the search of a method that offers no intermediate candidates; ``None`` for no limit."""
        return None if self.seconds is None else max(0.0, self.seconds - self.handling)


class Method(Protocol):
    """A method of design: a frozen record of its parameters that works on one part."""

    def solve(self, part: Part, limits: PartLimits, /) -> Candidate | None:
        """Return a matrix, or prices, or both; ``None`` if the method does not apply to the part.

        `part` has costs and constraints, `limits` the seconds, threads and gap, and the function that takes
        candidates on the way. The candidate is checked by the caller.

        Raises
        ------
        LimitReachedError, SolverError, InfeasibleError
            If the method fails; :func:`solve_part` turns these into a sentence.
        """
        ...


@final
@dataclass(frozen=True, eq=False)
class KnownChannel:
    """Method that returns a known channel of a problem, and its prices, part by part.

    Parameters
    ----------
    name, note
        Name of the method in the provenance, and a sentence for the trace.
    matrix
        ``(n_secrets, n_reports)``, close to a private channel.
    prices
        Prices between the first secrets of classes at distance 0, or ``None``.
    """

    name: str
    note: str
    matrix: NDArray[np.float64]
    prices: Multipliers | None = None

    def solve(self, part: Part, _limits: PartLimits) -> Candidate | None:
        """Return the rows and the prices of the secrets of a part; ``None`` for a part without a problem."""
        secrets, prices = part.secrets, self.prices
        if secrets is None:
            return None
        if prices is not None:
            place = np.zeros(len(self.matrix), dtype=int)
            place[secrets] = np.arange(len(secrets))
            prices = prices.take(np.isin(prices.source, secrets)).relabel(place)
        return Candidate(self.name, self.matrix[secrets], prices, self.note)


class OutOfTime(str):
    """Message of a method without enough time, which may have an answer with more."""

    __slots__ = ()


def solve_part(method: Method, part: Part, limits: PartLimits) -> Candidate | str | None:
    """Run a method on a part; return a failure as a sentence, so that the next method can run.

    Returns the method's candidate; ``None`` if the method does not apply; an :class:`OutOfTime`, a text, if the time
    limit came first; another text for a solver's failure or an infeasible program. Other errors pass through.
    """
    try:
        return method.solve(part, limits)
    except LimitReachedError as error:
        return OutOfTime(f"{error}.")
    except (SolverError, InfeasibleError) as error:
        return f"{error}."


def induced_graph(
    graph: Adjacency, inside: NDArray[np.int64]
) -> tuple[Adjacency, NDArray[np.int64]]:
    """Return the graph among some secrets ``(s,)``, ascending, numbered by place, and the numbers of its edges.

    Linear.
    """
    place = np.full(graph.n, -1)
    place[inside] = np.arange(len(inside))
    ends = place[graph.pairs]
    own = np.flatnonzero((ends >= 0).all(axis=1))
    return Adjacency(
        len(inside), ends[own].astype(np.int32), graph.lengths[own], graph.scale_bits
    ), own


@final
@dataclass(frozen=True, eq=False)
class WholeProblem:
    """A problem with its constraints, its division into parts, and the composition of their results.

    Parameters
    ----------
    problem
        The stated problem.
    constraints
        The stated constraints, links between components included.
    epsilon
        Nats per unit of distance.
    """

    problem: Problem
    constraints: Adjacency
    epsilon: Fraction

    @cached_property
    def labels(self) -> NDArray[np.int64]:
        """Class of each secret: secrets at distance 0 are merged. Classes are numbered by their first members."""
        _, labels = self.problem.space.merge_duplicates()
        return np.asarray(labels, dtype=int)

    @cached_property
    def representatives(self) -> NDArray[np.int64]:
        """First secret of each class, ascending."""
        return np.unique(self.labels, return_index=True)[1]

    @cached_property
    def merged(self) -> Adjacency:
        """Constraints between classes; the stated ones themselves if no secrets were merged."""
        return self.constraints.merge(self.labels)[0]

    @cached_property
    def _shortest(self) -> NDArray[np.int64]:
        """Index of the shortest stated constraint behind each one of :attr:`merged`, needed if secrets are merged."""
        return self.constraints.merge(self.labels)[1]

    @cached_property
    def binding(self) -> Adjacency:
        """Constraints between classes that imply all others.

        Of all pairs in the plane few are implied, and finding them takes longer than keeping them.
        """
        n, graph = self.n_classes, self.merged
        if 2 * len(graph) == n * (n - 1):
            return graph
        return self.parts[0].binding if len(self.members) == 1 else graph.prune()

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.labels.max()) + 1

    @cached_property
    def cost(self) -> NDArray[np.float64]:
        """Costs ``(classes, k)`` of the classes: the sums of those of their secrets."""
        if self.n_classes == self.problem.n_secrets:
            return self.problem.cost
        cost = np.zeros((self.n_classes, self.problem.n_reports))
        np.add.at(cost, self.labels, self.problem.cost)
        return cost

    @cached_property
    def members(self) -> list[NDArray[np.int64]]:
        """Classes of each component."""
        labels = self.merged.components
        order = np.argsort(labels, kind="stable")
        return np.split(order, np.cumsum(np.bincount(labels))[:-1])

    @cached_property
    def parts(self) -> list[Part]:
        """The components as parts."""
        if len(self.members) == 1:
            return [self._part(self.cost, self.merged, self.members[0])]
        return [
            self._part(self.cost[inside], induced_graph(self.merged, inside)[0], inside)
            for inside in self.members
        ]

    def _part(self, cost: NDArray[np.float64], alone: Adjacency, inside: NDArray[np.int64]) -> Part:
        """Return the part of the classes `inside` ``(s,)``, with its costs ``(s, k)``.

        Its constraints `alone` are numbered in the part.
        """
        space, secrets = self.problem.space, self.representatives[inside]
        return Part(
            cost,
            alone,
            self.epsilon,
            self._plane(secrets),
            space if len(inside) == space.n else space.restrict(secrets),
            self._home(inside),
            self._named(inside),
            secrets,
        )

    def _home(self, inside: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the home of each report, ``(reports,)``: the class of `inside` for which it costs least.

        In a tie the class that it names. `inside` ``(s,)`` are classes, and homes are places in it. ``O(s reports)``.
        """
        # Of losses, not of costs, since all costs of a secret of probability 0 are zero.
        loss = self.problem.loss[self.representatives[inside]]
        home, named = loss.argmin(axis=0), self._named(inside)
        columns = np.arange(len(home))
        is_cheapest = (named >= 0) & (loss[named, columns] <= loss[home, columns])
        return np.where(is_cheapest, named, home)

    def _named(self, inside: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the place in `inside` of the class that each report names, ``(reports,)``; -1 for none of these."""
        if self.problem.reports is None:
            return np.full(self.problem.n_reports, -1)
        place = np.full(self.n_classes, -1)
        place[inside] = np.arange(len(inside))
        return place[self.labels[self.problem.reports]]

    def _plane(
        self, secrets: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Return the points of some `secrets` ``(s, 2)`` and of the reports ``(k, 2)`` in a plane.

        ``None`` if the space has no points in a plane or on a globe, or if reports do not name secrets. ``O(n log
        n)``.
        """
        reports, points = self.problem.reports, self._planar_points
        if points is None or reports is None:
            return None
        return points[secrets], points[reports]

    @cached_property
    def _planar_points(self) -> NDArray[np.float64] | None:
        """The secrets as points in a plane, ``(n, 2)``, of a globe by an azimuthal projection; ``None`` for others."""
        space = self.problem.space
        if space.points is None or space.points.shape[1] != 2:
            return None
        if space.metric == "haversine":
            return azimuthal(space.points)
        return space.points if space.metric in {"grid", "euclidean"} else None

    def assemble(self, matrices: list[NDArray[np.float64]]) -> NDArray[np.float64]:
        """Return the matrix ``(classes, k)`` of all classes from those of the parts, ``(classes of the part, k)``.

        `matrices` has one for each part, in the order of `parts`. The only part's matrix itself is returned, without
        a copy.
        """
        if len(matrices) == 1:
            return matrices[0]
        table = np.zeros((self.n_classes, self.problem.n_reports))
        for inside, matrix in zip(self.members, matrices, strict=True):
            table[inside] = matrix
        return table

    def lift(self, multipliers: list[Multipliers]) -> Multipliers:
        """Convert prices of the parts to prices of stated constraints between secrets; a bisection for each price.

        `multipliers` has one for each part, numbered as in it. A pair of classes is priced at the shortest stated
        pair of their secrets, in the same direction. The only part's prices themselves are returned if no secrets
        were merged.
        """
        if len(multipliers) == 1 and self.merged is self.constraints:
            return multipliers[0]
        relabelled = [
            part.relabel(inside) for inside, part in zip(self.members, multipliers, strict=True)
        ]
        prices = Multipliers.stack(relabelled)
        if self.merged is self.constraints:
            return prices
        place = self.merged.find(prices.source, prices.target)
        stated = self.constraints.pairs[self._shortest[place]]
        is_reversed = self.labels[stated[:, 0]] != prices.source
        stated[is_reversed] = stated[is_reversed, ::-1]
        return Multipliers(prices.report, stated[:, 0], stated[:, 1], prices.value)
