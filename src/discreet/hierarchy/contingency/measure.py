r"""Measure marginals of every region: count exactly, add exact noise; sensitivities as they are proved.

A person with one row is in one cell of one leaf, hence in one region of each level and in one entry of each marginal.
With up to k rows she adds k unit vectors, which are farthest where all fall into one entry:

=========================== ==================== ======================
relation                    :math:`\Delta_1`     :math:`\Delta_2^2`
=========================== ==================== ======================
add-remove-person           :math:`k`            :math:`k^2`
replace-person              :math:`2k`           :math:`2k^2`
replace-person, root total  0, or k for k > 1    0, or :math:`k^2`
=========================== ==================== ======================

Levels and marginals compose by addition. Where leaves end early, the rows of a person lie on paths of their own; by
convexity :math:`\lVert \sum_{i \le k} u_i \rVert^2 \le k \sum_i \lVert u_i \rVert^2` in the norm that weights each
entry with the inverse of its noise, so that k times the worst path is enough, and k squared for Gaussian noise.

**Residuals.** In place of a marginal with the attributes S, :math:`Q_S x` may be measured, with independent Gaussian
noise on each entry and :math:`Q_S = \bigotimes_{i \in S} (n_i I - J)`. Columns of :math:`n I - J` have the products
:math:`n (n - 1)` with themselves and :math:`-n` with others. So a row moves :math:`Q_S x` by :math:`a = \prod_i n_i
(n_i - 1)` squared, and a replaced one that differs in the attributes T by :math:`2 a (1 - \prod_{i \in T} (-1) / (n_i -
1))`, which is largest where T is the attribute with the fewest categories: :math:`2 a n / (n - 1)`. Two rows in
different regions move by :math:`2 a`. A residual tells of its own interaction alone, so that nothing is measured twice
([XHZK23]_).

Trusted: the guarantee rests on this code, which counts and adds the noise. The scales are checked by `verify`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import PureDP, ZeroConcentratedDP
from discreet.core.randomness import as_bits, is_private
from discreet.hierarchy.contingency.cell_counts import centered_along
from discreet.hierarchy.measure import (
    amount_of,
    check_guarantee,
    draw_noise,
    noise_of,
    variance_of,
)
from discreet.hierarchy.sensitivity import NEIGHBORS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from numpy.typing import NDArray

    from discreet.core.randomness import UniformSource
    from discreet.hierarchy.contingency.cell_counts import CellCounts
    from discreet.hierarchy.contingency.problem import Marginal, TableFrame
    from discreet.hierarchy.measure import Noise

    DPForPersons = PureDP | ZeroConcentratedDP
    Scales = Mapping[Marginal, tuple[Fraction | None, ...]]


def moved_by_person(
    neighbors: str,
    max_rows: int = 1,
    *,
    norm: int = 1,
    single: bool = False,
    residual: tuple[int, ...] = (),
) -> int:
    r"""Bound how far one person moves one marginal of one level.

    Parameters
    ----------
    neighbors
        ``"add-remove-person"`` or ``"replace-person"``.
    max_rows
        The most rows of a person; with 1 she has exactly one.
    norm
        1 for :math:`\Delta_1`; 2 for the square :math:`\Delta_2^2`.
    single
        Whether the level has one region and the marginal one entry, as the root's total.
    residual
        Categories of the attributes where a residual is measured; for the squared norm alone.

    Returns
    -------
    int
        The sensitivity; it is attained.

    Raises
    ------
    InvalidProblemError
        For another relation or norm.

    Examples
    --------
    >>> [moved_by_person("replace-person", 3, norm=norm) for norm in (1, 2)]
    [6, 18]
    >>> moved_by_person("replace-person", single=True)
    0
    """
    if neighbors not in NEIGHBORS:
        raise InvalidProblemError("neighbors", f"one of {', '.join(NEIGHBORS)}", repr(neighbors))
    if norm not in (1, 2):
        raise InvalidProblemError("norm", "1 or 2", norm)
    added = max_rows if norm == 1 else max_rows * max_rows
    if residual:
        if norm == 1:
            raise InvalidProblemError("residuals", "plain counts with Laplace noise", "residuals")
        added *= math.prod(n * (n - 1) for n in residual)
        least = min(residual)
        return added if neighbors == "add-remove-person" else 2 * added * least // (least - 1)
    if neighbors == "add-remove-person":
        return added
    if single:
        return 0 if max_rows == 1 else added
    return 2 * added


def marginal_scales(frame: TableFrame, guarantee: DPForPersons) -> Scales:
    r"""Compute the scale of the noise of each marginal in the regions of each stratum.

    With the share :math:`f`, :math:`b = \Delta_1 / (f \varepsilon)` for Laplace noise, and
    :math:`\sigma^2 = \Delta_2^2 / (2 f \rho)` for Gaussian noise; ``None`` where the share is 0. Strata are those of
    :attr:`TableFrame.strata`.

    Returns a mapping from each marginal to a tuple with one exact scale for each stratum.

    Raises
    ------
    InvalidProblemError
        For another kind of guarantee, a public total that the neighbors do not keep, or a share for the total of the
        root where a replaced person does not move it.
    """
    check_guarantee(guarantee)
    total_is_fixed = guarantee.neighbors == "replace-person" and frame.max_rows == 1
    if frame.total is not None and not total_is_fixed:
        expected = (
            "none: an exact total is shared by all neighbors only where a person has one row and is replaced; "
            "with others the guarantee would cover no pair of data sets"
        )
        raise InvalidProblemError("total", expected, guarantee.neighbors)
    norm = 1 if isinstance(guarantee, PureDP) else 2
    amount = amount_of(guarantee)
    by_marginal: dict[Marginal, tuple[Fraction | None, ...]] = {}
    for marginal in frame.marginals:
        scales: list[Fraction | None] = []
        for stratum in range(frame.n_strata):
            share = frame.share(marginal, stratum)
            single = stratum == frame.strata[0] and frame.domain.size_of(marginal) == 1
            moved = moved_by_person(
                guarantee.neighbors,
                frame.max_rows,
                norm=norm,
                single=single,
                residual=frame.domain.shape_of(marginal) if frame.is_residual(marginal) else (),
            )
            if share and not moved and (frame.strata == stratum).any():
                expected = (
                    "no part for the total of the root, which a replaced person does not move"
                )
                raise InvalidProblemError("shares", expected, str(share))
            scales.append(moved / (norm * share * amount) if share and moved else None)
        by_marginal[marginal] = tuple(scales)
    return MappingProxyType(by_marginal)


def noise_in_words(frame: TableFrame, guarantee: DPForPersons) -> tuple[str, ...]:
    """Return a sentence on the noise of each level and marginal, the root first: law, scale and part of the budget.

    `guarantee` sets the scales; InvalidProblemError as :func:`marginal_scales`. Not measured marginals are named as
    such.
    """
    domain = frame.domain
    law = (
        "Laplace noise of scale"
        if isinstance(guarantee, PureDP)
        else "Gaussian noise of variance up to"
    )
    scales = marginal_scales(frame, guarantee)
    strata, sentences = frame.strata, []
    for level in range(frame.tree.depth + 1):
        level_strata = dict.fromkeys(strata[frame.tree.levels == level].tolist())
        for q in frame.marginals:
            noisy = {scales[q][one]: one for one in level_strata if scales[q][one] is not None}
            entries = domain.size_of(q)
            what = "residuals of " * frame.is_residual(q) + domain.name(q)
            named = (
                f"level {level + 1}, {what} ({entries} {'entry' if entries == 1 else 'entries'})"
            )
            if not noisy:
                sentences.append(f"{named}: not measured")
                continue
            listed = sorted(noisy)
            words = " (lowest regions: ".join(map(str, noisy)) + ")" * (len(noisy) > 1)
            part = f"{frame.share(q, min(noisy.values()))} of the budget"
            if frame.kinds is not None and len(listed) > 1:
                words = f"{listed[0]} to {listed[-1]}, by region"
                parts = sorted(frame.share(q, one) for one in noisy.values())
                part = f"{parts[0]} to {parts[-1]} of the budget"
            sentences.append(f"{named}: {law} {words}, {part}")
    return tuple(sentences)


@final
@dataclass(frozen=True, eq=False, repr=False)
class MeasuredTables:
    """Noisy marginals of every region, with what is known of their noise; covered by the guarantee.

    Parameters
    ----------
    frame
        The public facts.
    values
        For each marginal ``(n_nodes, entries)`` integers; 0 where nothing was measured, which means nothing.
    scales
        For each marginal and stratum the scale of Laplace noise or the variance parameter of Gaussian noise, or
        ``None`` where nothing was measured.
    noise
        ``"laplace"`` or ``"gaussian"``.
    guarantee
        What the values satisfy as a whole.
    seeded
        True when chance came from anything but the operating system: the values are then not private.

    Raises
    ------
    InvalidProblemError
        For values or scales that do not fit the frame.
    """

    frame: TableFrame
    values: Mapping[Marginal, NDArray[np.int64]]
    scales: Scales
    noise: Noise
    guarantee: DPForPersons
    seeded: bool = False

    def __post_init__(self) -> None:
        frame = self.frame
        if self.noise not in ("laplace", "gaussian"):
            raise InvalidProblemError("noise", "'laplace' or 'gaussian'", repr(self.noise))
        if set(self.values) != set(frame.marginals) or set(self.scales) != set(frame.marginals):
            names = ", ".join(map(frame.domain.name, frame.marginals))
            raise InvalidProblemError("values, scales", f"the marginals {names}", "others")
        tables = {}
        for marginal in frame.marginals:
            table: Any = self.values[marginal]
            values = np.asarray(table)
            expected = (frame.tree.n, frame.domain.size_of(marginal))
            if values.dtype != np.int64 or values.shape != expected:
                raise InvalidProblemError(
                    "values",
                    f"64-bit integers of shape {expected}",
                    f"{values.dtype} {values.shape}",
                )
            values = values.view()
            values.setflags(write=False)
            tables[marginal] = values
            scales = self.scales[marginal]
            if len(scales) != frame.n_strata or any(b is not None and b <= 0 for b in scales):
                raise InvalidProblemError(
                    "scales", "positive numbers or None, one a stratum", "others"
                )
        object.__setattr__(self, "values", MappingProxyType(tables))
        object.__setattr__(self, "scales", MappingProxyType(dict(self.scales)))

    def __getstate__(self) -> dict[str, Any]:
        """Views of mappings do not pickle."""
        return {**self.__dict__, "values": dict(self.values), "scales": dict(self.scales)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    def __repr__(self) -> str:
        frame = self.frame
        return (
            f"MeasuredTables({frame.tree.n} regions, {len(frame.marginals)} marginals, {self.noise} noise, "
            f"{self.guarantee})"
        )

    def variance(self, marginal: Marginal, stratum: int) -> Fraction | None:
        """Return an upper bound on the variance of the noise of one entry; ``None`` if nothing was measured."""
        scale = self.scales[marginal][stratum]
        return None if scale is None else variance_of(scale, self.noise)

    def parameters(self) -> dict[str, Any]:
        """Describe the measurement in plain values: what a verifier needs to redo the arithmetic of the guarantee.

        Keys: ``noise``, ``neighbors``, ``max_rows``, ``total``, ``residuals`` (only if True), and by name of marginal
        ``shares`` (texts of fractions by level or kind) and ``scales`` (by stratum; ``"none"`` where nothing is
        measured).
        """
        frame = self.frame
        return {
            "noise": self.noise,
            "neighbors": self.guarantee.neighbors,
            "max_rows": frame.max_rows,
            "total": frame.total,
            **({"residuals": True} if frame.residuals else {}),
            "shares": {frame.domain.name(q): list(map(str, frame.shares[q])) for q in frame.shares},
            "scales": {
                frame.domain.name(q): ["none" if b is None else str(b) for b in self.scales[q]]
                for q in frame.shares
            },
        }


def measure(
    data: CellCounts, guarantee: DPForPersons, *, bits: UniformSource | None = None
) -> MeasuredTables:
    """Measure the marginals of every region with their shares of the budget.

    Raises InvalidProblemError as :func:`marginal_scales`.

    Parameters
    ----------
    data
        The private data, on public facts that say what is measured.
    guarantee
        :class:`~discreet.PureDP` (Laplace noise) or :class:`~discreet.ZeroConcentratedDP` (Gaussian noise), for
        persons.
    bits
        Source of chance; the operating system's by default.

    Returns
    -------
    MeasuredTables
        The noisy values.

    Guarantee
    ---------
    The values satisfy `guarantee`; they may be published, and so may anything that is computed from them and from the
    frame. Proof: the sensitivities above, the Laplace and Gaussian mechanisms ([GRS12]_, [CKS20]_), and sums over the
    levels and marginals of a path, whose shares add up to 1 at most. Assumed public: the frame.

    Complexity
    ----------
    One pass over the counts for each marginal, and one draw for each value.

    Examples
    --------
    >>> from discreet.core.tree import Tree
    >>> from discreet.hierarchy.contingency.cell_counts import CellCounts
    >>> from discreet.hierarchy.contingency.problem import Domain, TableFrame
    >>> domain = Domain.read({"sex": ["F", "M"]})
    >>> frame = TableFrame(Tree.from_paths([("GA",), ("NY",)]), domain, {(0,): ("1/2",) * 2})
    >>> data = CellCounts(frame, np.array([[3, 1], [2, 2]]))
    >>> measure(data, PureDP(200, neighbors="add-remove-person")).values[(0,)].tolist()
    [[5, 3], [3, 1], [2, 2]]
    """
    frame = data.frame
    scales = marginal_scales(frame, guarantee)
    noise, source, strata = noise_of(guarantee), as_bits(bits), frame.strata
    values = {}
    for marginal in frame.marginals:
        table = data.of_regions(marginal)
        if frame.is_residual(marginal):
            table = centered_along(table, frame.domain, marginal)
        for stratum in range(frame.n_strata):
            rows = np.flatnonzero(strata == stratum)
            scale = scales[marginal][stratum]
            if scale is None:
                table[rows] = 0
            elif len(rows):
                drawn = draw_noise(scale, noise, len(rows) * table.shape[1], source)
                table[rows] += drawn.reshape(len(rows), -1)
        values[marginal] = table
    return MeasuredTables(frame, values, scales, noise, guarantee, seeded=not is_private(bits))
