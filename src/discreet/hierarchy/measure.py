r"""Measurements: exact counts of every region plus exact noise. The only place of `hierarchy` where noise is added.

What a method makes of a :class:`Measured` is post-processing and costs nothing. Budget is split over the levels of the
tree: regions of one level hold different units (parallel composition), levels hold the same ones (they add up). In a
tree whose branches end at different depths it adds up along each path from the root to a leaf, and a leaf above the
deepest level may take the parts of the levels below it. A chain is one vector through all regions of a level, so
that a person changes entries of leaves in which she does not live: leaves of chains never take the parts of levels
below them.

Trusted: the guarantee rests on this code, which counts and adds the noise. The scales are checked by
`verify_guarantee`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.exact import exp_floor, float_ceil, to_fraction
from discreet.core.guarantee import PureDP, ZeroConcentratedDP
from discreet.core.options import items_of
from discreet.core.randomness import as_bits, discrete_gaussians, discrete_laplaces, is_private
from discreet.hierarchy.sensitivity import KINDS, sensitivity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.core.exact import Exact
    from discreet.core.randomness import RandomBits, UniformSource
    from discreet.core.tree import Tree
    from discreet.hierarchy.problem import Frame, GroupSizes
    from discreet.hierarchy.sensitivity import Kind

Noise = Literal["laplace", "gaussian"]
"""Discrete Laplace noise, for pure differential privacy; discrete Gaussian noise, for the zero-concentrated kind."""


@final
@dataclass(frozen=True, eq=False, repr=False)
class Measured:
    r"""Noisy values of every region, with what is known of their noise; covered by the guarantee.

    Parameters
    ----------
    frame
        The public facts.
    kind
        What was measured: survival counts :math:`t_1, \dots, t_N`; direct counts, one for each of ``frame.sizes``; the
        sizes of all groups, largest first; or the chain of cumulative counts.
    values
        Array ``(n_nodes, width)``; for sorted sizes a vector, region after region, as many as the region has groups.
    scales
        For each node the scale :math:`b` of its Laplace noise or the variance parameter :math:`\sigma^2` of its
        Gaussian noise; ``None`` where nothing was measured (its values are 0 and mean nothing).
    noise
        The kind of noise.
    guarantee
        What the values satisfy as a whole.
    shares
        The part of the budget that each level had.
    leaves_inherit
        Whether leaves above the deepest level had the shares of the levels below them.
    seeded
        True when chance came from anything but the operating system: the values are then not private.

    Raises
    ------
    InvalidProblemError
        For values or scales that do not fit the frame.
    """

    frame: Frame
    kind: Kind
    values: NDArray[np.int64]
    scales: tuple[Fraction | None, ...]
    noise: Noise
    guarantee: PureDP | ZeroConcentratedDP
    shares: tuple[Fraction, ...]
    leaves_inherit: bool = True
    seeded: bool = False

    def __post_init__(self) -> None:
        array: Any = self.values
        values = np.array(array)
        nodes = self.frame.tree.n
        if self.kind not in KINDS:
            raise InvalidProblemError("kind", f"one of {', '.join(KINDS)}", repr(self.kind))
        if self.noise not in ("laplace", "gaussian"):
            raise InvalidProblemError("noise", "'laplace' or 'gaussian'", repr(self.noise))
        if values.dtype != np.int64:
            raise InvalidProblemError("values", "64-bit integers", values.dtype)
        if self.kind == "sorted":
            totals = self.frame.group_totals
            expected: tuple[int, ...] = (0 if totals is None else int(totals.sum()),)
        else:
            expected = (nodes, width(self.frame, self.kind))
        if values.shape != expected:
            raise InvalidProblemError("values", f"shape {expected}", values.shape)
        if len(self.scales) != nodes or any(b is not None and b <= 0 for b in self.scales):
            raise InvalidProblemError("scales", f"{nodes} positive numbers or None", "others")
        if len(self.shares) != self.frame.tree.depth + 1:
            raise InvalidProblemError("shares", "one for each level", len(self.shares))
        values.setflags(write=False)
        object.__setattr__(self, "values", values)

    def __repr__(self) -> str:
        return (
            f"Measured({self.kind}, {self.frame.tree.n} regions, {self.noise} noise, "
            f"{self.guarantee})"
        )

    @property
    def measured(self) -> NDArray[np.bool_]:
        """Array ``(n_nodes,)``: whether the node was measured."""
        return np.array([scale is not None for scale in self.scales])

    def variances(self) -> NDArray[np.float64]:
        """Variance of the noise of each node, ``(n_nodes,)``, rounded up to a float; infinite if not measured.

        ``O(n_nodes)``. That of the discrete Gaussian is below its parameter ([CKS20]_, Corollary 9).
        """
        # Regions of a level share one object: fractions are hashed slowly, once for each object here.
        objects = {id(scale): scale for scale in self.scales}
        known = {
            scale: np.inf if scale is None else float_ceil(variance_of(scale, self.noise))
            for scale in set(objects.values())
        }
        by_object = {place: known[scale] for place, scale in objects.items()}
        return np.array([by_object[id(scale)] for scale in self.scales])

    def parameters(self) -> dict[str, Any]:
        """Describe the measurement in plain values: what a verifier needs to redo the arithmetic of the guarantee.

        They are kind, noise, neighbors, size limits, units, and for each level sensitivity, scales and budget.

        Keys: ``kind``, ``noise``, ``neighbors``, ``max_size``, ``units``, ``max_quantity``, ``leaves_inherit``, and
        lists by level, the root first: ``sensitivity``, ``shares``, ``epsilon_by_level`` or ``rho_by_level``,
        ``scale_by_level`` and ``scale_of_leaves_by_level``; fractions are texts, ``"none"`` where nothing was
        measured.
        """
        tree, frame = self.frame.tree, self.frame
        inner, leaf = scales_by_level(tree, self.scales)
        norm = 1 if self.noise == "laplace" else 2
        bounds = [
            sensitivity(frame, self.kind, self.guarantee.neighbors, level, norm=norm)
            for level in range(tree.depth + 1)
        ]
        spent = amount_of(self.guarantee)
        name = "epsilon" if self.noise == "laplace" else "rho"
        return {
            "kind": self.kind,
            "noise": self.noise,
            "neighbors": self.guarantee.neighbors,
            "max_size": frame.max_size,
            "units": frame.units,
            "max_quantity": frame.max_quantity,
            "sensitivity": bounds,
            "shares": [str(share) for share in self.shares],
            f"{name}_by_level": [str(share * spent) for share in self.shares],
            "scale_by_level": [_text(scale) for scale in inner],
            "scale_of_leaves_by_level": [_text(scale) for scale in leaf],
            "leaves_inherit": self.leaves_inherit,
        }


def width(frame: Frame, kind: Kind) -> int:
    """Count the numbers measured in one region: N for survival counts, else N + 1 if units are public and N if not.

    N is `max_size`; sizes start at 0 if units are public and at 1 if they are private.
    """
    return frame.max_size if kind == "survival" else frame.n_sizes


def level_shares(depth: int, levels: Sequence[Exact] | None) -> tuple[Fraction, ...]:
    """Read the share of the budget of each of ``depth + 1`` levels, the root first, as exact fractions.

    Equal ones for ``None``.

    Raises
    ------
    InvalidProblemError
        When there is not one for each level, one is negative, or they do not add up to exactly 1.

    Examples
    --------
    >>> level_shares(1, None), level_shares(1, ["1/4", 0.75])
    ((Fraction(1, 2), Fraction(1, 2)), (Fraction(1, 4), Fraction(3, 4)))
    """
    if levels is None:
        return (Fraction(1, depth + 1),) * (depth + 1)
    numbers = items_of(levels, "levels", f"{depth + 1} numbers, the root first")
    shares = tuple(to_fraction(share, "levels") for share in numbers)
    if len(shares) != depth + 1:
        raise InvalidProblemError("levels", f"{depth + 1} numbers, the root first", len(shares))
    if min(shares) < 0 or sum(shares) != 1:
        raise InvalidProblemError(
            "levels", "nonnegative numbers with the sum 1", [str(share) for share in shares]
        )
    return shares


def node_scales(
    frame: Frame,
    kind: Kind,
    guarantee: PureDP | ZeroConcentratedDP,
    shares: Sequence[Fraction],
    *,
    leaves_inherit: bool = True,
) -> tuple[Fraction | None, ...]:
    r"""Compute the scale of the noise of each node.

    With the share :math:`f` of the node, :math:`b = \Delta_1 / (f \varepsilon)` for Laplace noise, and
    :math:`\sigma^2 = \Delta_2^2 / (2 f \rho)` for Gaussian noise.

    Linear in the number of regions; those of one level share one object.

    Parameters
    ----------
    frame, kind, guarantee
        What is measured, and what for.
    shares
        The part of the budget of each level; see :func:`level_shares`.
    leaves_inherit
        Whether leaves above the deepest level have the shares of the levels below them. Each path from the root to a
        leaf then has the whole budget, and none more. Not for chains on a tree whose leaves have different depths.

    Returns
    -------
    tuple
        One scale a node, ``None`` where the share is 0.

    Raises
    ------
    InvalidProblemError
        For leaves of a chain that would have shares of levels below them: a person below another region moves the
        entries of these leaves too, and she has spent those shares on her own path.
    """
    tree = frame.tree
    if leaves_inherit and kind == "chain" and (tree.levels[tree.leaves] != tree.depth).any():
        expected = "False for a chain on a tree whose leaves have different depths"
        raise InvalidProblemError("leaves_inherit", expected, repr(leaves_inherit))
    norm = 1 if isinstance(guarantee, PureDP) else 2
    budget = amount_of(guarantee) * norm
    bounds = [
        sensitivity(frame, kind, guarantee.neighbors, level, norm=norm)
        for level in range(tree.depth + 1)
    ]
    below = [sum(shares[level:], Fraction(0)) for level in range(tree.depth + 1)]
    inner = [bound / (f * budget) if f else None for bound, f in zip(bounds, shares, strict=True)]
    leaf = [bound / (f * budget) if f else None for bound, f in zip(bounds, below, strict=True)]
    scales = [inner[level] for level in tree.levels.tolist()]
    if leaves_inherit:
        for node in tree.leaves.tolist():
            scales[node] = leaf[int(tree.levels[node])]
    return tuple(scales)


def scales_by_level(
    tree: Tree, scales: Sequence[Fraction | None]
) -> tuple[list[Fraction | None], list[Fraction | None]]:
    """Return the scale of the noise of the inner regions of each level, and of its leaves; two lists, the root first.

    `scales` has one for each node. ``None`` where nothing is measured, or where a level has no such region.
    ``O(nodes)``.
    """
    inner: list[Fraction | None] = [None] * (tree.depth + 1)
    leaf = list(inner)
    strata = zip(tree.levels.tolist(), tree.is_leaf.tolist(), strict=True)
    for node, (level, ends) in enumerate(strata):
        (leaf if ends else inner)[level] = scales[node]
    return inner, leaf


def measure(
    data: GroupSizes,
    kind: Kind,
    guarantee: PureDP | ZeroConcentratedDP,
    *,
    levels: Sequence[Exact] | None = None,
    leaves_inherit: bool = True,
    bits: UniformSource | None = None,
) -> Measured:
    """Measure every region: count exactly, add exact noise.

    Parameters
    ----------
    data
        The private data.
    kind
        What to measure.
    guarantee
        What the measurement has to satisfy: :class:`~discreet.PureDP` (Laplace noise) or
        :class:`~discreet.ZeroConcentratedDP` (Gaussian noise), for persons.
    levels
        The part of the budget of each level, the root first; they add up to 1. Equal parts when ``None``. A level
        with 0 is not measured. Must not depend on the data.
    leaves_inherit
        Whether leaves above the deepest level have the shares of the levels below them. For a chain on a tree whose
        leaves have different depths it has to be ``False``.
    bits
        Source of chance; the operating system's by default.

    Returns
    -------
    Measured
        The noisy values.

    Raises
    ------
    InvalidProblemError
        For a guarantee of another kind, shares that do not add up to 1, a kind that needs public units, or a chain with
        `leaves_inherit` where that would make a difference.

    Guarantee
    ---------
    The values satisfy `guarantee`; they may be published, and so may anything that is computed from them and from the
    frame. Proof: :mod:`discreet.hierarchy.sensitivity` for one level, the Laplace and Gaussian mechanisms
    ([GRS12]_, [CKS20]_), parallel composition in a level (none for chains: a level is one vector), sums along each
    path. Assumed public: the frame.

    Complexity
    ----------
    One pass over the counts, and one draw for each value.
    """
    check_guarantee(guarantee)
    frame = data.frame
    shares = level_shares(frame.tree.depth, levels)
    scales = node_scales(frame, kind, guarantee, shares, leaves_inherit=leaves_inherit)
    noise = noise_of(guarantee)
    return Measured(
        frame,
        kind,
        noisy(data, kind, scales, noise, bits),
        scales,
        noise,
        guarantee,
        shares,
        leaves_inherit,
        seeded=not is_private(bits),
    )


def noisy(
    data: GroupSizes,
    kind: Kind,
    scales: Sequence[Fraction | None],
    noise: Noise,
    bits: UniformSource | None,
) -> NDArray[np.int64]:
    """Count, and add fresh noise of the given scales; whether they suffice for a guarantee is up to the caller.

    `data` is private, `kind` what is counted; `scales` has one for each node, exact, ``None`` for a node whose values
    are 0. Returns int64 in the rows of :func:`truth`. One draw for each number.

    `bits` is the source of chance, the operating system's for ``None``.
    """
    source = as_bits(bits)
    values = truth(data, kind)
    sizes = _row_sizes(data.frame, kind, values)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    flat = values.reshape(-1)
    groups: dict[Fraction | None, list[int]] = {}
    # As in `Measured.variances`, a scale is hashed once for each object.
    members: dict[int, list[int]] = {}
    for node, scale in enumerate(scales):
        place = id(scale)
        if place not in members:
            members[place] = groups.setdefault(scale, [])
        members[place].append(node)
    for scale, nodes in groups.items():
        # Consecutive nodes, such as those of a level, are one run of entries.
        for first, stop in _runs(nodes):
            run = slice(int(starts[first]), int(starts[stop]))
            if scale is None:
                flat[run] = 0
            else:
                flat[run] += draw_noise(scale, noise, int(starts[stop] - starts[first]), source)
    return values


def truth(data: GroupSizes, kind: Kind) -> NDArray[np.int64]:
    """Count exactly what is measured, before noise: ``(nodes, numbers)`` int64; ``(groups,)`` for sorted sizes.

    Private. It never leaves this package. Linear in the numbers.
    """
    if kind == "survival":
        return np.array(data.survival(), dtype=np.int64)
    counts = np.array(data.node_counts(), dtype=np.int64)
    if kind == "direct":
        return counts
    tree = data.frame.tree
    if kind == "sorted":
        sizes = np.asarray(data.frame.sizes, dtype=np.int64)[::-1]
        return np.concatenate([np.repeat(sizes, row[::-1]) for row in counts])
    chained = np.empty_like(counts)
    for level in range(tree.depth + 1):
        nodes = slice(int(tree.level_start[level]), int(tree.level_start[level + 1]))
        part = counts[nodes]
        chained[nodes] = np.cumsum(part.T.reshape(-1)).reshape(part.shape[::-1]).T
    return chained


def _row_sizes(frame: Frame, kind: Kind, values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many numbers are measured of each node, ``(nodes,)``: its groups if sizes are sorted."""
    if kind == "sorted" and frame.group_totals is not None:
        return np.asarray(frame.group_totals, dtype=np.int64)
    return np.full(frame.tree.n, values.shape[-1], dtype=np.int64)


def _runs(nodes: list[int]) -> list[tuple[int, int]]:
    """Return rising nodes as runs, each from its first to beyond its last."""
    array = np.array(nodes)
    breaks = np.flatnonzero(np.diff(array) > 1) + 1
    return [(int(part[0]), int(part[-1]) + 1) for part in np.split(array, breaks)]


def draw_noise(scale: Fraction, noise: Noise, size: int, bits: RandomBits) -> NDArray[np.int64]:
    """Draw `size` independent integers of noise exactly; `scale` is the variance parameter if the noise is Gaussian."""
    draw = discrete_laplaces if noise == "laplace" else discrete_gaussians
    return draw(scale, size, bits)


def amount_of(guarantee: PureDP | ZeroConcentratedDP) -> Fraction:
    """Return epsilon or rho."""
    return guarantee.epsilon if isinstance(guarantee, PureDP) else guarantee.rho


def check_guarantee(guarantee: Any) -> None:  # noqa: ANN401 - anything that a caller may pass
    """Refuse all guarantees but pure and zero-concentrated differential privacy."""
    if not isinstance(guarantee, PureDP | ZeroConcentratedDP):
        expected = "PureDP or ZeroConcentratedDP"
        raise InvalidProblemError("guarantee", expected, type(guarantee).__name__)


def noise_of(guarantee: PureDP | ZeroConcentratedDP) -> Noise:
    """Return the kind of noise that gives a guarantee."""
    return "laplace" if isinstance(guarantee, PureDP) else "gaussian"


def variance_of(scale: Fraction, noise: Noise) -> Fraction:
    """Return an exact upper bound on the variance of a noise: for the discrete Gaussian `scale`, its parameter.

    For the discrete Laplace law of scale b a float, above ``2q / (1 - q)^2`` for ``q = exp(-1/b)`` by some units in
    the last place.
    """
    if noise == "gaussian":
        return scale
    # 2q / (1 - q)^2 rises with q = exp(-1/b), which is at most this.
    q = Fraction(exp_floor(-1 / scale, 128) + 2, 1 << 128)
    return Fraction(float_ceil(2 * q / (1 - q) ** 2))


def _text(scale: Fraction | None) -> str:
    return "none" if scale is None else str(scale)
