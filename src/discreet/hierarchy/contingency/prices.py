r"""The search for the prices of a lower bound: no linear Gaussian mechanism has a smaller loss.

:mod:`discreet.hierarchy.contingency.verify_loss` states and checks the bound for any prices and weights; here good ones
are looked for. With prices :math:`\mu` of leaves and weights :math:`\omega` of variances,
:math:`G_S = D^{-1/2} (D^{1/2} W_S D^{1/2})^{1/2} D^{-1/2}` is the best information, where
:math:`D = \operatorname{diag}(\mu)` and :math:`W_S = \sum_r \psi_{rS} h_r h_r^T`. A leaf that
pays more than others gets a higher price; the weight of a standard deviation is one over twice the deviation.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from discreet.hierarchy.contingency.shares import Floats, Program, RegionKinds


def find_prices(
    program: Program, *, steps: int = 400, tol: float = 1e-5
) -> tuple[Floats, Floats, float]:
    """Find prices and weights whose dual bound on the loss is high, by multiplicative updates.

    At most `steps` of them, each over kinds of regions times interactions; stops early where the bound gains less
    than a part of `tol`.

    Returns
    -------
    prices : ndarray
        ``(kinds,)``: of a leaf of each kind, with the sum 1 over leaves; 0 for other kinds.
    weights : ndarray
        ``(kinds, asked)``: of the variance of an entry, added up over entries and regions.
    bound : float
        The bound in floats, not rounded outwards.
    """
    kinds = program.kinds
    blocks = _blocks(kinds)
    ends = kinds.ends
    price = np.where(ends, 1 / kinds.count[ends].sum(), 0.0)
    mask = program.weights > 0
    weights = np.where(mask, program.totals, 0.0)
    if program.loss == "worst":
        weights = np.where(mask, 1 / max(1, int(mask.sum())), 0.0)
        weights = weights * program.weights
    best, answer, since = 0.0, (price, weights), 0
    sizes = np.array([program.domain.size_of(q) for q in program.targets])
    for step in range(steps):
        spread, used = _information(program, blocks, price, weights / sizes)
        variances = spread @ program.entry.T
        bound = _bound(program, variances, weights)
        if bound > best:
            since = step if bound > best * (1 + tol) else since
            best, answer = bound, (price, weights)
        if step - since > (20 if program.loss == "worst" else 2):
            break
        price = np.where(ends, price * used / used[ends].max(), 0.0)
        price /= (price * kinds.count).sum()
        if program.loss == "worst":
            weights = program.heavier(weights, variances)
        elif program.loss == "deviations":
            weights = program.slopes(np.maximum(variances, 1e-300))
    return *answer, best


def _bound(program: Program, variances: Floats, weights: Floats) -> float:
    """Return the lower bound on the loss that dual weights prove, in the units of the loss.

    `variances` are those at the best information, `weights` the dual ones, both ``(kinds, asked)``. A float, not
    rounded outwards. Linear.
    """
    cells = program.domain.size
    if program.loss == "deviations":
        total = float(
            (program.totals ** (2 / 3) * variances ** (2 / 3) * (2 * weights) ** (1 / 3)).sum()
        )
        return math.sqrt(total**3 / (2 * cells))
    return float((weights * variances).sum()) ** 2 / cells


def _blocks(kinds: RegionKinds) -> list[tuple[float, list[int], list[int], Floats]]:
    """Divide leaves by symmetry: for each kind that has equal siblings, and the root, what is below one region of it.

    Returns
    -------
    list
        How often the block is there, its kinds of leaves, its kinds of regions, and for each leaf and region how many
        leaves of that kind are below it, over the root of how many are in the block.
    """
    blocks_of = []
    below: list[list[int]] = [[kind] for kind in range(len(kinds.parents))]
    for kind in range(len(kinds.parents) - 1, 0, -1):
        below[kinds.parents[kind]] += below[kind]
    for top in range(len(kinds.parents)):
        many = kinds.count[top] * (1 - 1 / kinds.each[top]) if top else 1.0
        if not many or (top and kinds.ends[top]):
            continue
        regions = sorted(below[top])
        leaves = [kind for kind in regions if kinds.ends[kind]]
        marks = np.zeros((len(leaves), len(regions)))
        for row, leaf in enumerate(leaves):
            number, kind = 1.0, leaf
            path = [(kind, number)]
            while kind != top:
                number *= kinds.each[kind]
                kind = int(kinds.parents[kind])
                path.append((kind, number))
            # In the block there are `number` leaves; a region of an ancestor's kind has its part of them.
            for kind, part in path:
                # Symmetric sums over the regions of one kind: sqrt(leaves in a region) of the normed leaf vector.
                marks[row, regions.index(kind)] = math.sqrt(part)
        blocks_of.append((many, leaves, regions, marks))
    return blocks_of


def _information(
    program: Program,
    blocks: list[tuple[float, list[int], list[int], Floats]],
    price: Floats,
    weights: Floats,
) -> tuple[Floats, Floats]:
    """Return variances of interactions at the best information for prices and weights, and each leaf's price.

    Both are by kind of region; `price` is ``(kinds,)``, `weights` ``(kinds, marginals)``. `blocks` are as
    :func:`_blocks` returned them; each takes an eigendecomposition for each interaction.
    """
    kinds = program.kinds
    # Weights are for all regions of a kind; one region has its part.
    # Interactions of the same marginals are alike.
    within, same = np.unique(program.within(program.targets), axis=1, return_inverse=True)
    psi = (weights / kinds.count[:, None]) @ within
    sizes = np.bincount(same.ravel(), program.sizes)
    gained, used = np.zeros_like(psi), np.zeros(len(kinds.parents))
    alone = np.where(kinds.ends, kinds.count * (1 - 1 / kinds.each), 0.0)
    alone[0] = 0.0
    roots = alone[:, None] * np.sqrt(psi * price[:, None])
    gained += roots
    used += roots @ sizes
    for many, leaves, regions, marks in blocks:
        matrix = np.sqrt(price[leaves])[:, None] * marks * np.sqrt(psi[regions].T)[:, None, :]
        squares = matrix @ matrix.transpose(0, 2, 1)
        values, vectors = np.linalg.eigh(squares)
        root = np.sqrt(np.maximum(values, 0))
        good = root > 1e-9 * root.max(axis=1, keepdims=True)
        inverse = np.where(good, 1 / np.where(good, root, 1.0), 0.0)
        product = vectors.transpose(0, 2, 1) @ matrix
        gained[regions] += many * (product**2 * inverse[:, :, None]).sum(axis=1).T
        diagonal = (vectors**2 * root[:, None, :]).sum(axis=2)
        used[leaves] += many * (sizes @ diagonal)
    spread = gained / np.where(psi > 0, psi, 1.0) / kinds.count[:, None]
    used = np.where(kinds.ends, used / np.where(price > 0, price, 1.0) / kinds.count, 0.0)
    return spread[:, same.ravel()], used
