r"""Least squares with structural zeros held at zero: one small system for each interaction of the other attributes.

Structural zeros do not commute with the averages :math:`P_i` of the attributes that they are about, called irregular
here; with those of all other attributes they do. Let :math:`m` be the number of combinations of irregular attributes
that are possible. For each set :math:`S` of regular attributes the unknowns of a region are :math:`m` numbers for each
column of :math:`E_S`, and a marginal :math:`q` that has :math:`S` measures :math:`B_q` times these: the combinations,
added up to the entries of its irregular attributes. Its noise has the variance :math:`v_q = \sigma_q^2 \prod_{i \in q
\setminus S} n_i` over regular i. The passes over the tree are those of
:mod:`discreet.hierarchy.contingency.weights` with matrices for weights:

.. math:: m_r = M + \sum_q K_q (y_q - B_q M), \quad M = \sum_c m_c, \qquad x_c = m_c + \beta_c (x_r - M),

:math:`K_q = C B_q^T / v_q` with :math:`C^{-1} = C_M^{-1} + \sum_q B_q^T B_q / v_q`, and :math:`\beta_c = C_c C_M^{-1}`.
In a lowest region the cells take the place of M. *Any* :math:`K_q`, and any :math:`\beta_c` that add up to the
identity, are unbiased and consistent, since :math:`m_r = x_r` where there is no noise: so the best ones are rounded to
multiples of ``2^-40``, and variances are computed for these. A coarsened attribute, such as three groups of eight kinds
of residence, is an attribute whose other combinations with the fine one are structural zeros.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.printed import count
from discreet.hierarchy.contingency.weights import UNIT, interactions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from discreet.hierarchy.contingency.measure import MeasuredTables
    from discreet.hierarchy.contingency.problem import Domain, Marginal, TableFrame

MAX_WEIGHTS = 1 << 22
"""Numbers in all matrices of one fit, at most: as Python's integers they take 150 MB."""


@final
class ZeroLayout:
    """Which attributes structural zeros are about, and which combinations of these are possible.

    Parameters
    ----------
    domain
        The cells.
    held
        Whether structural zeros count; without them all attributes are regular, and systems have one unknown.
    max_combinations
        Unknowns of one system, at most: a matrix of 512 takes 2 MB, and 10 ms to invert (one core, 2026-11-23).

    Raises
    ------
    InvalidProblemError
        For more than `max_combinations` possible combinations.

    Examples
    --------
    >>> from discreet.hierarchy.contingency.problem import Domain
    >>> listed = {"sex": ["F", "M"], "age": ["0-17", "18+"], "married": ["no", "yes"]}
    >>> layout = ZeroLayout(Domain.read(listed, zeros=[{"age": ["0-17"], "married": ["yes"]}]))
    >>> layout.irregular, layout.regular, layout.combinations.tolist()
    ((1, 2), (0,), [0, 2, 3])
    """

    def __init__(self, domain: Domain, *, held: bool = True, max_combinations: int = 512) -> None:
        self.domain = domain
        possible = (domain.possible | (not held)).reshape(domain.shape)
        self.irregular: Marginal = tuple(
            at
            for at in domain.full
            if (possible != possible.take([0], axis=at)).any()  # zeros look at this attribute
        )
        self.regular: Marginal = tuple(at for at in domain.full if at not in self.irregular)
        # Along regular attributes all is alike: the first category stands for the others.
        first = tuple(slice(None) if at in self.irregular else 0 for at in domain.full)
        self.combinations: NDArray[np.int64] = np.flatnonzero(possible[first])
        self.size = len(self.combinations)
        if self.size > max_combinations:
            names = ", ".join(domain.attributes[at].name for at in self.irregular)
            expected = (
                f"at most {max_combinations} possible combinations of the attributes in structural zeros, "
                "to hold these at zero; 'free' leaves them out of the fit"
            )
            raise InvalidProblemError("zeros", expected, f"{count(self.size)} of {names}")

    def parts(self, marginal: Marginal) -> tuple[Marginal, Marginal]:
        """Return the irregular attributes of a marginal, and the regular ones."""
        inside = tuple(at for at in marginal if at in self.irregular)
        return inside, tuple(at for at in marginal if at not in self.irregular)

    def entries(self, marginal: Marginal) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Find which entries of a marginal's irregular attributes are possible: two int64 arrays.

        The flat numbers of the possible entries, ascending, and for each combination, ``(combinations,)``, its place
        among these. A sort of the combinations.
        """
        inside, _ = self.parts(marginal)
        shape = self.domain.shape_of(self.irregular)
        places = np.unravel_index(self.combinations, shape) if shape else ()
        flat = np.zeros(self.size, dtype=np.int64)
        for at in inside:
            flat = flat * self.domain.shape[at] + places[self.irregular.index(at)]
        possible, place = np.unique(flat, return_inverse=True)
        return possible, place.reshape(-1)

    def sums(self, marginal: Marginal) -> NDArray[np.int64]:
        """Return the matrix :math:`B_q` that adds combinations up to a marginal.

        ``(possible entries, combinations)``, 0 or 1.
        """
        possible, place = self.entries(marginal)
        return np.asarray(place == np.arange(len(possible))[:, None], dtype=np.int64)

    def split(self, tables: NDArray[Any], marginal: Marginal) -> NDArray[Any]:
        """Shape rows of a marginal ``(rows, entries)`` as ``(rows, possible irregular entries, regular entries)``.

        A copy of `tables`.
        """
        inside, outside = self.parts(marginal)
        shaped = tables.reshape(len(tables), *self.domain.shape_of(marginal))
        order = [0, *(1 + marginal.index(at) for at in (*inside, *outside))]
        shaped = shaped.transpose(order).reshape(
            len(tables), self.domain.size_of(inside), self.domain.size_of(outside)
        )
        return shaped[:, self.entries(marginal)[0]]

    def over(self, marginal: Marginal, subset: Marginal) -> int:
        """Count the regular entries of a marginal for one entry of a subset of its regular attributes."""
        _, outside = self.parts(marginal)
        return self.domain.size_of(outside) // self.domain.size_of(subset)


@final
class Subtrees:
    """Numbers the subtrees so that equal ones have one number: their weights are computed once.

    Parameters
    ----------
    frame
        The regions.

    Attributes
    ----------
    of
        The number of each region's subtree.
    strata, levels
        For each number the stratum and the level of its root.
    below
        For each number the numbers of the subtrees below, each with how often it is there.
    """

    def __init__(self, frame: TableFrame) -> None:
        tree, strata = frame.tree, frame.strata.tolist()
        known: dict[object, int] = {}
        self.of = [0] * tree.n
        self.strata: list[int] = []
        self.levels: list[int] = []
        self.below: list[tuple[tuple[int, int], ...]] = []
        for node in range(tree.n - 1, -1, -1):
            below = tuple(sorted(Counter(self.of[child] for child in tree.children(node)).items()))
            key = (strata[node], below)
            if key not in known:
                known[key] = len(known)
                self.strata.append(strata[node])
                self.levels.append(int(tree.levels[node]))
                self.below.append(below)
            self.of[node] = known[key]


@final
@dataclass(frozen=True, eq=False)
class Step:
    r"""The weights of one subtree for one interaction, in units of ``1 / unit``.

    Parameters
    ----------
    gains
        For each marginal :math:`K_q`, ``(combinations, possible entries)``; in a lowest region with that of the cells.
    kept
        The part of M, :math:`I - \sum_q K_q B_q`; ``None`` in a lowest region.
    total
        ``(combinations, 1)``: the part of a public total; ``None`` where there is none.
    shares
        For each subtree below :math:`\beta_c`.
    first
        What is added to it for the first child, so that all add up to the identity.
    """

    gains: Mapping[Marginal, NDArray[Any]]
    kept: NDArray[Any] | None
    total: NDArray[Any] | None
    shares: Mapping[int, NDArray[Any]]
    first: NDArray[Any] | None


def system_weights(
    measured: MeasuredTables,
    layout: ZeroLayout,
    subtrees: Subtrees,
    within: Marginal,
    *,
    floats: bool = False,
) -> tuple[int, dict[Marginal, list[Step]]]:
    """Find the weights of every interaction of regular attributes of a marginal; they depend on public facts alone.

    Parameters
    ----------
    measured
        What was measured; only its frame and scales are looked at.
    layout, subtrees
        Of its frame.
    within
        The marginal.
    floats
        Whether the multiples of ``2^-40`` are floats in place of Python's integers.

    Returns
    -------
    tuple
        The unit, and for each interaction a :class:`Step` for each subtree.

    Raises
    ------
    InvalidProblemError
        For too many numbers.

    Complexity
    ----------
    For each interaction and subtree some products and inverses of matrices with a row for each cell that structural
    zeros tie together.
    """
    chosen = interactions(layout.domain, layout.parts(within)[1])
    numbers = len(subtrees.strata) * len(chosen) * layout.size**2
    if layout.irregular and numbers > MAX_WEIGHTS:
        expected = (
            f"at most {count(MAX_WEIGHTS)} weights to hold structural zeros at zero; "
            "'free' leaves them out of the fit"
        )
        got = (
            f"{count(len(subtrees.strata))} kinds of regions x {count(len(chosen))} interactions x "
            f"{count(layout.size)}^2 combinations = {count(numbers)}"
        )
        raise InvalidProblemError("zeros", expected, got)
    steps = {one: _Systems(measured, layout, subtrees, one).steps() for one in chosen}
    if not floats:
        return UNIT, steps
    return 1, {subset: [*map(_as_floats, each)] for subset, each in steps.items()}


class _Systems:
    """The systems of one interaction, from the lowest regions up.

    Variances of floats in one system differ by a factor of `max_variance_ratio` at most. Smaller ones are replaced,
    which is unbiased too and keeps what floats invert in their range.
    """

    def __init__(
        self,
        measured: MeasuredTables,
        layout: ZeroLayout,
        subtrees: Subtrees,
        subset: Marginal,
        *,
        max_variance_ratio: float = 1e12,
    ) -> None:
        self.subtrees = subtrees
        self.full = layout.domain.full
        self.root = subtrees.of[0] if measured.frame.total is not None and not subset else None
        self.one: NDArray[Any] = np.eye(layout.size)
        # A marginal without an attribute of the interaction says nothing about it.
        frame = measured.frame
        covering = [
            q
            for q in frame.marginals
            if set(subset) <= set(layout.parts(q)[1]) and frame.informs(q, subset)
        ]
        self.sums = {q: layout.sums(q) * float(frame.stretch(q)) for q in covering}
        self.variances = [
            {
                q: one * layout.over(q, subset)
                for q in covering
                if (one := measured.variance(q, stratum)) is not None
            }
            for stratum in range(measured.frame.n_strata)
        ]
        known = [one for listed in self.variances for one in listed.values()]
        self.least = max(known) / Fraction(max_variance_ratio)

    def steps(self) -> list[Step]:
        """Return the weights of every kind of subtree, from the leaves up; a matrix inverse or two for each."""
        spreads: list[NDArray[Any]] = []
        steps = []
        for place, (stratum, below) in enumerate(
            zip(self.subtrees.strata, self.subtrees.below, strict=True)
        ):
            prior = sum((many * spreads[child] for child, many in below), 0 * self.one)
            spread, gains = self._gains(stratum, prior if below else None)
            total = None
            if place == self.root:
                spread, gains, total = self._with_total(spread, gains)
            spreads.append(spread)
            inverse = self._inverse(prior) if below else None
            shares = {child: spreads[child] @ inverse for child, _ in below}
            steps.append(self._step(gains, total, shares, below))
        return steps

    def _gains(
        self, stratum: int, prior: NDArray[Any] | None
    ) -> tuple[NDArray[Any], dict[Marginal, NDArray[Any]]]:
        """Return the covariance of a stratum's estimate, and the gain of each measured marginal.

        `prior` is the covariance before them, or ``None``. Inverts a matrix of one row a cell.

        Both are matrices with a row for each combination; the covariance is square.
        """
        listed = {q: float(max(one, self.least)) for q, one in self.variances[stratum].items()}
        if prior is not None and not listed:
            return prior, {}
        precision = 0 * self.one if prior is None else self._inverse(prior)
        for q, variance in listed.items():
            precision = precision + self.sums[q].T @ self.sums[q] / variance
        spread = self._inverse(precision)
        return spread, {q: spread @ self.sums[q].T / one for q, one in listed.items()}

    def _with_total(
        self, spread: NDArray[Any], gains: dict[Marginal, NDArray[Any]]
    ) -> tuple[NDArray[Any], dict[Marginal, NDArray[Any]], NDArray[Any]]:
        """Add what is known of the sum of all combinations, without noise.

        Return covariance, gains, and the total's gain. `spread` is the ``(combinations, combinations)`` covariance,
        `gains` the matrices by marginal. A matrix product for each.
        """
        across = spread.sum(axis=1, keepdims=True)
        part = across / across.sum()
        left = self.one - part
        return left @ spread, {q: left @ one for q, one in gains.items()}, part

    def _step(
        self,
        gains: dict[Marginal, NDArray[Any]],
        total: NDArray[Any] | None,
        shares: dict[int, NDArray[Any]],
        below: tuple[tuple[int, int], ...],
    ) -> Step:
        """Round the matrices of one kind of region to integers that add up to the unit exactly; returns the step.

        `gains` are by marginal, `total` the gain of a known total or ``None``, `shares` those of the kinds of
        children, of which `below` lists (kind, number). The remainder goes to the kept sum, to the cells of a leaf,
        or to the first child.
        """
        made = {q: self._to_integers(one) for q, one in gains.items()}
        own = None if total is None else self._to_integers(total)
        if own is not None:
            # The sum of all combinations is the total, whatever was measured.
            own[0] += UNIT - own.sum(axis=0)
            for one in made.values():
                one[0] -= one.sum(axis=0)
        eye = self._to_integers(self.one)
        sums = {q: self.sums[q].astype(np.int64).astype(object) for q in made}
        left = eye - sum((one @ sums[q] for q, one in made.items()), 0 * eye)
        if own is not None:
            left = left - own
        factor: NDArray[Any] | None = left
        if not below:
            # What the cells would have by themselves: without noise all parts give the truth.
            made[self.full] = made[self.full] + left
            factor = None
        parts = {child: self._to_integers(one) for child, one in shares.items()}
        first = eye - sum((many * parts[child] for child, many in below), 0 * eye)
        return Step(made, factor, own, parts, first if below else None)

    def _to_integers(self, matrix: NDArray[Any]) -> NDArray[Any]:
        """Return a matrix in units of ``1 / UNIT``, rounded, as Python integers of the same shape."""
        # By way of Python's integers: a weight may be beyond 64 bits.
        integers = np.empty(matrix.shape, dtype=object)
        integers.reshape(-1)[:] = [int(one) for one in np.rint(matrix * UNIT).reshape(-1)]
        return integers

    def _inverse(self, matrix: NDArray[Any]) -> NDArray[Any]:
        """Return the inverse of a matrix ``(n, n)`` in ``O(n^3)``."""
        return np.asarray(np.linalg.inv(matrix))


def _as_floats(step: Step) -> Step:
    """Return the matrices of a step, which are in whole units, as floats."""

    def made(matrix: NDArray[Any] | None) -> NDArray[Any] | None:
        return None if matrix is None else (matrix / UNIT).astype(np.float64)

    def each(listed: Mapping[Any, NDArray[Any]]) -> dict[Any, NDArray[Any]]:
        return {key: (one / UNIT).astype(np.float64) for key, one in listed.items()}

    return Step(
        each(step.gains), made(step.kept), made(step.total), each(step.shares), made(step.first)
    )
