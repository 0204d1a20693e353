r"""The checker of the noise of a stated workload: its loss from the shares, and lower bounds for all mechanisms.

Nothing here is shared with the search for shares and prices. Let a mechanism release :math:`Bx + N(0, \Sigma)`, with
the information :math:`G = B^T \Sigma^{-1} B`. Numbers are for :math:`2 \rho = \Delta^2`: a row added in leaf l costs
:math:`\sum_S \frac{p_S}{N} (G_S)_{ll} \le 1`. Take any prices :math:`\mu \ge 0` of leaves with the sum 1, any weights
:math:`\omega \ge 0` of variances, :math:`D = \operatorname{diag}(\mu)`, :math:`\psi_{rS} = \sum_{q \supseteq S}
\omega_{rq} c_q`, :math:`K_S = D^{1/2} (\sqrt{\psi_{rS}}\, h_r)_r`, and any :math:`Y_S` with :math:`\lVert Y_S \rVert_2
\le 1`. The vectors :math:`u_r = D^{1/2} Y_r / \sqrt{\psi_{rS}}` satisfy
:math:`\sum_r \psi_{rS} u_r u_r^T \preceq D`, and :math:`t_{rq} = \sum_{S \subseteq q} \frac{c_q p_S}{N_q} h_r^T u_r`
follows from the diagonal of :math:`Y_S^T K_S`.

**Variances.** :math:`V \ge 2 \theta t - \theta^2 a(G)` with :math:`a = \sum_S \frac{c_q p_S}{N_q} u^T G_S u`, and the
weighted sum of a(G) is at most N. The best :math:`\theta` gives the bound :math:`(\sum \omega N_q t)^2 / N`.

**Standard deviations.** By Cauchy and Schwarz :math:`\sqrt V \ge t / \sqrt a`, which is convex in a, hence
:math:`\sqrt V \ge \frac{t}{2} (3 \tau^{-1/2} - \tau^{-3/2} a)` for any :math:`\tau > 0`. With :math:`\tau^{3/2} = s t /
2 \omega`, where s is the weight of the deviation, the terms in a have the weights :math:`\omega`, and as above

.. math:: \sum s N_q \sqrt V \ge \sqrt{A^3 / 2 N}, \qquad A = \sum N_q (s t)^{2/3} (2 \omega)^{1/3} .

**Replaced rows.** Take two rows in leaves drawn by the prices, whose cells differ in each attribute i with the
probability :math:`(n_i - 1 + \tau) / n_i`, for any :math:`0 \le \tau \le 1`. They cost on average
:math:`\frac1N \sum_S \operatorname{tr}(p_S D - (-\tau)^{|S|} \mu \mu^T) G_S` for :math:`\Delta^2 = 2`, at most 1: the
same with :math:`K_S` times :math:`I + (\sqrt{1 - (-\tau)^{|S|} / p_S} - 1) \sqrt\mu \sqrt\mu^T` from the left. A public
total has no variance.

Regions of one kind are exchanged by symmetries of the tree, so that K falls into blocks: the sums over all regions of a
kind, and for each kind with siblings the differences between these.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.exact import to_fraction
from discreet.core.guarantee import ZeroConcentratedDP
from discreet.core.printed import at_least, at_most
from discreet.core.statements import state

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.core.guarantee import Guarantee
    from discreet.hierarchy.contingency.problem import Marginal, TableFrame

    Floats = NDArray[np.float64]

KINDS_OF_LOSS = ("deviations", "variance", "worst", "against-naive")


class FloatRange(NamedTuple):
    """What floats here can hold, and how exactly."""

    weight_span: float = 1e40
    """Weights of tables are within this factor of 1, prices and weights of variances within it of the largest."""
    relative_error: float = 1e-10
    """Upper bound on the error of sums of positive terms: at most 2^16 terms, each operation right to 2^-53."""


FLOATS = FloatRange()

PAIR_LIKENESS = (1.0, 0.5)
r"""Values of :math:`\tau` in the bound for replaced rows; all from 0 to 1 prove one, and the best is taken."""


class ProvedLoss(NamedTuple):
    """What was proved of a workload; all numbers are rounded outwards.

    Parameters
    ----------
    most
        Loss of the plan: with the parameters of discrete Gaussian noise, which are above its variances.
    linear
        No unbiased linear mechanism with Gaussian noise has a smaller loss.
    any_noise
        No unbiased mechanism of any kind has a smaller one.
    """

    most: float
    linear: float
    any_noise: float


def proved_loss(frame: TableFrame, guarantee: Guarantee, stated: Mapping[str, Any]) -> ProvedLoss:
    """Compute the loss of the shares and the lower bounds anew.

    Parameters
    ----------
    frame
        The public facts.
    guarantee
        The claim.
    stated
        ``loss``, ``tables`` (for each name its weight on each level, fractions as text), ``prices`` (a number from 0 on
        for each kind of region; only those of leaves count) and ``weights`` (by name, such numbers for each kind).

    Returns
    -------
    ProvedLoss
        In the units of the loss at the rho of `guarantee`; ``"against-naive"`` is a quotient of variances.

    Raises
    ------
    InvalidProblemError
        For a record of another form, another guarantee, structural zeros, regions with equal subtrees whose shares
        differ, or a loss that floats cannot bound.

    Complexity
    ----------
    For each interaction of the asked tables a singular value decomposition for each block of kinds of regions.
    """
    if not isinstance(guarantee, ZeroConcentratedDP) or not frame.domain.possible.all():
        raise InvalidProblemError("workload", "Gaussian noise and no structural zeros", "others")
    tree = _RegionKinds(frame)
    targets, weights = _read_tables(frame, stated["tables"])
    weights = weights[tree.levels]
    many = tree.count[:, None] * np.array([[_size(frame, q) for q in targets]], dtype=np.float64)
    prices, pushes = _read_prices(tree, stated, weights)
    kind = stated["loss"]
    if kind not in KINDS_OF_LOSS:
        raise InvalidProblemError("workload", f"a loss among {', '.join(KINDS_OF_LOSS)}", "another")
    mask = weights > 0
    scaled = weights
    if kind == "against-naive":
        # Independent noise with equal parts has as many times the variance as there are tables.
        scaled = mask / float(
            sum((weights[tree.levels == one] > 0)[0].sum() for one in set(tree.levels))
        )
    if kind == "variance":
        pushes = many * weights
    replaced = guarantee.neighbors == "replace-person"
    most = np.where(mask, _variances(frame, tree, targets, replaced=replaced), 0.0)
    leasts = [
        _least(frame, tree, targets, prices, pushes / many, likeness=one)
        for one in (PAIR_LIKENESS if replaced else (None,))
    ]
    cells = frame.domain.size
    unit = float(Fraction(frame.max_rows**2 * (1 + replaced)) / (2 * guarantee.rho))
    rho = float(guarantee.rho)
    # Beyond this budget the bound is 0 in floats.
    hardly = 2 * rho / math.expm1(2 * rho) if 2 * rho < 700 else 0.0
    if kind == "deviations":
        # A table is a marginal of all regions of a level: over the root of the number of its entries.
        regions = np.bincount(frame.tree.levels)[tree.levels]
        each = many / np.sqrt(np.outer(regions, [_size(frame, q) for q in targets])) * weights
        loss = float((each * np.sqrt(most)).sum())
        low = max(
            math.sqrt(float(np.cbrt((each * least) ** 2 * 2 * pushes).sum()) ** 3 / (2 * cells))
            for least in leasts
        )
        unit, hardly = math.sqrt(unit), math.sqrt(hardly)
    else:
        low = max(float((pushes * least).sum()) for least in leasts) ** 2 / cells
        if kind == "variance":
            loss = float((many * weights * most).sum())
        else:
            loss = float((scaled * most).max())
            # The largest of numbers is at least their mean with any weights.
            low /= float((pushes[mask] / scaled[mask]).sum())
    if kind == "against-naive":
        # A quotient of variances: the budget cancels.
        unit = 1.0
    outwards = 1 + FLOATS.relative_error
    # The plan is a linear mechanism itself.
    if not low * unit <= loss * unit * outwards < math.inf:
        raise InvalidProblemError("workload", "a loss that floats can bound", "another")
    any_noise = low * unit * hardly / outwards**2
    return ProvedLoss(loss * unit * outwards, low * unit / outwards, any_noise)


def loss_in_words(
    what: str, proved: ProvedLoss, neighbors: str, max_rows: int = 1
) -> tuple[str, ...]:
    """Return two sentences on the proved loss and its bounds; `what` names the loss.

    `neighbors` and `max_rows` name the datasets of which the second sentence holds; numbers are rounded outwards.
    """
    datasets = "all datasets"
    if neighbors == "replace-person":
        records = "a record" if max_rows == 1 else f"a person with {max_rows} records"
        datasets = f"datasets with {records} in each cell of each lowest region"
    ratio = proved.most / proved.linear * (1 + FLOATS.relative_error) if proved.linear else math.inf
    numbers = {
        "loss": at_most(proved.most, 6),
        "least": at_least(proved.linear, 6),
        "ratio": at_most(ratio, 4),
        "any": at_least(proved.any_noise, 6),
    }
    return (
        state("loss of linear mechanisms", what=what, **numbers),
        state("loss of all mechanisms", datasets=datasets, **numbers),
    )


class _RegionKinds:
    """Regions that symmetries of the tree exchange, found anew: for each kind what is below one region of it."""

    def __init__(self, frame: TableFrame) -> None:
        tree = frame.tree
        n = tree.n
        below: list[list[int]] = [[] for _ in range(n)]
        shapes: dict[tuple[int, ...], int] = {}
        shape = [0] * n
        for node in reversed(range(n)):
            shape[node] = shapes.setdefault(tuple(sorted(below[node])), len(shapes))
            if node:
                below[tree.parents[node]].append(shape[node])
        known: dict[tuple[int, int], int] = {}
        kind: list[int] = []
        for node, above in enumerate(tree.parents.tolist()):
            kind.append(known.setdefault((kind[above] if node else -1, shape[node]), len(known)))
        self.of = np.array(kind)
        first = np.unique(self.of, return_index=True)[1]
        self.levels = tree.levels[first]
        self.above = [kind[tree.parents[node]] if node else -1 for node in first.tolist()]
        self.count = np.bincount(self.of).astype(np.float64)
        self.ends = ~np.isin(np.arange(len(first)), self.above)
        self.each = [
            float(self.count[one] / self.count[above]) if above >= 0 else 1.0
            for one, above in enumerate(self.above)
        ]
        self.strata = frame.strata[first]
        if any(len(set(frame.strata[self.of == one].tolist())) > 1 for one in range(len(first))):
            raise InvalidProblemError(
                "workload", "equal shares in regions that are alike", "others"
            )


def _read_tables(frame: TableFrame, tables: Any) -> tuple[list[Marginal], Floats]:  # noqa: ANN401 - as read
    """Return the asked marginals, and their weights ``(levels, marginals)``; raise InvalidProblemError for others.

    `tables` maps names of measured marginals to a weight for each level, 0 or from 1e-40 to 1e40.
    """
    names = {name_of_marginal(frame, q): q for q in frame.marginals}
    if not isinstance(tables, Mapping) or not tables or not set(tables) <= set(names):
        raise InvalidProblemError("workload", "marginals that are measured", "others")
    lengths = {len(row) if isinstance(row, list | tuple) else 0 for row in tables.values()}
    if lengths != {frame.tree.depth + 1}:
        raise InvalidProblemError("workload", "a weight for each level", "others")
    rows = [[to_fraction(one, "workload") for one in row] for row in tables.values()]
    span = FLOATS.weight_span
    if any(one and not 1 / span <= one <= span for row in rows for one in row):
        raise InvalidProblemError("workload", "weights that are 0 or from 1e-40 to 1e40", "others")
    numbers_of = [[float(one) for one in row] for row in rows]
    weights = np.array(numbers_of).T
    if weights.min() < 0 or not weights.any():
        raise InvalidProblemError("workload", "weights for each level, none negative", "others")
    return [names[name] for name in tables], weights


def _read_prices(
    tree: _RegionKinds, stated: Mapping[str, Any], weights: Floats
) -> tuple[Floats, Floats]:
    """Return prices of leaves with the sum 1 ``(kinds,)``, and weights of variances as `weights` ``(kinds, targets)``.

    Small ones are 0, or raised to the least that is allowed. Raises InvalidProblemError for other shapes, negative or
    infinite numbers, or zeros only.

    `stated` is the record, with ``prices``, ``weights`` and ``tables``.
    """
    expected = "prices and weights for each kind of region, none negative"
    try:
        prices = np.array(stated["prices"], dtype=np.float64)
        listed = [stated["weights"][name] for name in stated["tables"]]
        pushes = np.array(listed, dtype=np.float64).T
    except (TypeError, ValueError, LookupError):
        raise InvalidProblemError("workload", expected, "others") from None
    if (
        prices.shape != tree.count.shape
        or pushes.shape != weights.shape
        or not min(prices.min(), pushes.min()) >= 0
        or not max(prices.max(), pushes.max()) < math.inf
        or not prices[tree.ends].any()
        or not pushes[weights > 0].any()
    ):
        raise InvalidProblemError("workload", expected, "others")
    # Any numbers prove a bound, and common factors don't matter: extreme ones are replaced, so that nothing overflows.
    prices = np.where(tree.ends, prices, 0.0)
    prices /= prices.max()
    prices[prices < 1 / FLOATS.weight_span] = 0.0
    pushes = np.where(weights > 0, pushes, 0.0)
    pushes = np.where(weights > 0, np.maximum(pushes / pushes.max(), 1 / FLOATS.weight_span), 0.0)
    return prices / float((prices * tree.count).sum()), pushes


def _parts(targets: list[Marginal]) -> list[Marginal]:
    """Interactions of the asked marginals."""
    return sorted(
        {s for q in targets for k in range(len(q) + 1) for s in itertools.combinations(q, k)}
    )


def moved_residual(sizes: list[int], *, replaced: bool) -> int:
    """Return by how much one row moves a residual, squared: an integer; `sizes` are the categories of its attributes.

    With `replaced` the largest over which attributes a replaced row differs in: ``2^len(sizes)`` cases.
    """
    own = math.prod(n * (n - 1) for n in sizes)
    if not replaced:
        return own
    products = itertools.product(*((n * (n - 1), -n) for n in sizes))
    return 2 * own - 2 * min(map(math.prod, products))


def _covered(frame: TableFrame, q: Marginal, subset: Marginal, *, replaced: bool) -> float:
    """Return the precision, in 1 / variance, that a share of 1 of measured marginal `q` gives interaction `subset`.

    0 where `subset` is no part of `q`, or, for measured residuals, is not `q`. `replaced` tells that a neighbor
    replaces a person.
    """
    spread = frame.domain.size // _size(frame, q)
    if not frame.residuals or not 0 < len(q) < len(frame.domain.shape):
        return float(spread * (set(subset) <= set(q)))
    moved = moved_residual([frame.domain.shape[at] for at in q], replaced=replaced)
    return spread * _size(frame, q) ** 2 / (moved / (1 + replaced)) * (subset == q)


def _variances(
    frame: TableFrame, tree: _RegionKinds, targets: list[Marginal], *, replaced: bool
) -> Floats:
    """Return the variances of an entry ``(kinds, targets)``, rounded up by less than the bound of rounding.

    `replaced` tells that a neighbor replaces a person. Linear in kinds of regions, for each interaction.
    """
    shape, cells = frame.domain.shape, frame.domain.size
    kinds = range(len(tree.above))
    own = [[float(frame.share(q, int(tree.strata[one]))) for q in frame.marginals] for one in kinds]
    table = np.zeros((len(tree.above), len(targets)))
    below: list[list[int]] = [[] for _ in kinds]
    for one, above in enumerate(tree.above):
        if above >= 0:
            below[above].append(one)
    for subset in _parts(targets):
        covers = [_covered(frame, q, subset, replaced=replaced) for q in frame.marginals]
        up = [sum(f * c for f, c in zip(own[one], covers, strict=True)) for one in kinds]
        low = [0.0] * len(up)
        for one in reversed(kinds):
            if below[one]:
                low[one] = 1 / sum(tree.each[child] / up[child] for child in below[one])
                up[one] += low[one]
        known = frame.total is not None and replaced and not subset
        spread = [0.0 if known else 1 / up[0]] * len(up)
        for one in kinds:
            each = [tree.each[child] / up[child] for child in below[one]]
            # No difference is taken: siblings are added up without the child itself.
            before = [0.0, *itertools.accumulate(each)]
            after = [0.0, *itertools.accumulate(reversed(each))]
            for at, child in enumerate(below[one]):
                siblings = (
                    before[at] + after[len(each) - 1 - at] + (tree.each[child] - 1) / up[child]
                )
                part = low[one] / up[child]
                spread[child] = part * siblings + part * part * spread[one]
        size = math.prod(shape[at] - 1 for at in subset)
        for at, q in enumerate(targets):
            if set(subset) <= set(q):
                table[:, at] += np.array(spread) * (cells * size / _size(frame, q) ** 2)
    return table


def _least(
    frame: TableFrame,
    tree: _RegionKinds,
    targets: list[Marginal],
    prices: Floats,
    weights: Floats,
    *,
    likeness: float | None,
) -> Floats:
    """Bound t of each target table from below, ``(kinds, targets)``; t is defined at the top of this module.

    `prices` ``(kinds,)`` are those of leaves, zeros elsewhere; `weights` ``(kinds, targets)`` those of variances.
    `likeness` is that of the cells of replaced rows, ``None`` for added rows. A singular value decomposition for each
    interaction and block of leaves.
    """
    shape, cells = frame.domain.shape, frame.domain.size
    below: list[list[int]] = [[one] for one in range(len(tree.above))]
    for one in range(len(tree.above) - 1, 0, -1):
        below[tree.above[one]] += below[one]
    table = np.zeros(weights.shape)
    blocks = [(top, *_block(tree, top, below[top])) for top in range(len(tree.above))]
    for subset in _parts(targets):
        size = math.prod(shape[at] - 1 for at in subset)
        if not size:
            continue
        covers = np.array([cells // _size(frame, q) * (set(subset) <= set(q)) for q in targets])
        psi = weights @ covers
        sums = np.zeros(len(psi))
        for top, many, leaves, marks in blocks:
            if not many:
                continue
            regions = below[top]
            matrix = np.sqrt(prices[leaves])[:, None] * marks * np.sqrt(psi[regions])
            # Before anything cancels.
            norms = np.linalg.norm(matrix, axis=0)
            if likeness is not None and top == 0:
                side = np.sqrt(prices[leaves] * tree.count[leaves])
                factor = math.sqrt(max(0.0, 1 - (-likeness) ** len(subset) / size)) - 1
                matrix = matrix + factor * np.outer(side, side @ matrix)
            sums[regions] += many * _diagonal(matrix, norms)
        each = np.where(psi > 0, sums / np.where(psi > 0, psi, 1.0) / tree.count, 0.0)
        for at, q in enumerate(targets):
            if set(subset) <= set(q):
                table[:, at] += each * (cells * size / _size(frame, q) ** 2)
    return np.maximum(table, 0.0)


def _block(tree: _RegionKinds, top: int, regions: list[int]) -> tuple[float, list[int], Floats]:
    """How often the block of a kind is there, its kinds of leaves, and how leaves lie in regions.

    With unit vectors for all leaves of one kind below a region of the kind `top`, the regions of one kind together have
    the root of the number of these leaves in one of them.
    """
    many = float(tree.count[top]) * (1 - 1 / tree.each[top]) if top else 1.0
    leaves = [one for one in regions if tree.ends[one]]
    marks = np.zeros((len(leaves), len(regions)))
    if many:
        for row, leaf in enumerate(leaves):
            number, one = 1.0, leaf
            marks[row, regions.index(one)] = 1.0
            while one != top:
                number *= tree.each[one]
                one = tree.above[one]
                marks[row, regions.index(one)] = math.sqrt(number)
    return many, leaves, marks


def _diagonal(matrix: Floats, norms: Floats) -> Floats:
    """Bound the diagonal of ``Y^T K`` from below, where Y is the polar factor of K divided by a bound on its norm.

    `matrix` is K, ``(rows, columns)``; `norms` ``(columns,)`` are the Euclidean norms of its columns before anything
    was subtracted from them, and scale the margin for rounding. The result is ``(columns,)``, zeros for a matrix of
    zeros. Singular values below ``FLOATS.relative_error`` of the largest are left out. One SVD: ``O(rows columns
    min(rows, columns))``.
    """
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    mask = values > FLOATS.relative_error * values[0]
    if not mask.any():
        return np.zeros(matrix.shape[1])
    left, right = left[:, mask], right[mask]
    norm = _norm(left) * _norm(right.T)
    product = left.T @ matrix
    sums = np.einsum("ij,ij->j", right, product)
    # Each number is a sum of at most 2^12 products of numbers at most 1 and of a column of the matrix.
    return np.asarray((sums - 2 * FLOATS.relative_error * norms) / norm)


def _norm(columns: Floats) -> float:
    """Spectral norm of nearly orthonormal columns, rounded up."""
    gram = columns.T @ columns
    return math.sqrt(float(np.abs(gram).sum(axis=1).max()) + FLOATS.relative_error)


def _size(frame: TableFrame, marginal: Marginal) -> int:
    return math.prod(frame.domain.shape[at] for at in marginal)


def name_of_marginal(frame: TableFrame, marginal: Marginal) -> str:
    """Return the name of a marginal in records: its attributes with colons between them, or ``total``."""
    return ":".join(frame.domain.attributes[at].name for at in marginal) or "total"
