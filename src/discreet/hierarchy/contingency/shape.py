r"""Expected tables of sibling regions: the shape of the region above, weighted by how alike the siblings are.

The records of a region are modelled as draws from the shares p of the region above, more alike than independent draws
by an intraclass correlation d (Dirichlet-multinomial): among n records a count has the expectation :math:`t = np` and
a variance of at most :math:`t (1 + dn)`; d is 0 where all siblings have one law and 1 where all records of a region are
alike. d is the maximum likelihood estimate, since the variance of the noise is known: where siblings differ by no more
than noise they are drawn together, and where they differ by much more, each keeps what was measured of it.

Attributes come first, one by one: each region's counts become the mean of measurement and expectation, weighted by
inverse variances. The table above, raked to these, keeps its associations and has the region's own margins; it is the
expectation of the cells. The root is treated as the only child of a table whose possible cells are alike.

Proposes; checked by `discreet.hierarchy.contingency.verify.verify`.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from discreet.hierarchy.contingency.weights import interactions

if TYPE_CHECKING:
    from discreet.hierarchy.contingency.descent import Siblings
    from discreet.hierarchy.contingency.estimates import InteractionBasis
    from discreet.hierarchy.contingency.problem import Domain, Marginal
    from discreet.hierarchy.contingency.shares import Floats


def toward_shape(
    task: Siblings, basis: InteractionBasis, *, sweeps: int = 2, least: float = 1e-3
) -> Siblings:
    """Add expected tables to the problem of the children of one parent, and the inverse of their variances.

    Parameters
    ----------
    task
        Estimates, precisions, and the parent's table.
    basis
        The change of basis.
    sweeps
        Passes of raking over the attributes; a third one changes summed errors by less than 1 % (4 files, 2026-11).
    least
        Divisors and variances are not below: a count that is expected to be 0 has a finite weight.

    Returns
    -------
    Siblings
        With ``expected`` and ``weight``, both ``(children, cells)``.

    Complexity
    ----------
    One transform of all children, and for each attribute and sweep two passes over their cells.
    """
    domain, means = basis.domain, basis.backward(task.targets)
    above = task.free * 1.0 if task.parent is None else task.parent.astype(np.float64)
    total = task.total if task.parent is None else above.sum()
    records = np.maximum(means.sum(axis=1, keepdims=True), 1.0)
    if total is not None:
        records *= total / records.sum()

    def believe(q: Marginal) -> tuple[Floats, Floats]:
        """Return the mean of measured and expected counts of a marginal, and the variance of the expected ones."""
        mean, noise = domain.project(tables, q), entry_noise(task.precision, domain, q)
        apart = domain.project(means, q) - mean
        variance = mean * (1 + intraclass(apart, noise, mean, records) * records)
        return np.maximum(mean + variance / (variance + noise) * apart, 0), variance

    tables = records * (above / max(above.sum(), 1.0))
    margins = [believe((at,))[0] for at in range(len(domain.shape))]
    for at, margin in [*enumerate(margins)] * sweeps:
        fit = margin * (records / np.maximum(margin.sum(axis=1, keepdims=True), least))
        ratio = fit / np.maximum(domain.project(tables, (at,)), least)
        tables = tables * ratio[:, domain.entries((at,))]
    return replace(task, expected=tables, weight=1 / np.maximum(believe(domain.full)[1], least))


def entry_noise(precision: Floats, domain: Domain, q: Marginal) -> Floats:
    """Return the variance of the noise of an entry of marginal `q` in each region: ``(children, 1)``.

    `precision` is ``(children, interactions)``; linear in it.
    """
    inside = [set(one) <= set(q) for one in interactions(domain)]
    sizes = [math.prod(domain.shape[at] - 1 for at in one) for one in interactions(domain)]
    each = (np.multiply(inside, sizes) / precision).sum(axis=1, keepdims=True)
    return np.asarray(each * (domain.spread(q) / domain.size_of(q)))


def intraclass(
    apart: Floats, noise: Floats, mean: Floats, records: Floats, *, steps: int = 25
) -> float:
    """Estimate the intraclass correlation of records, from 0 to 1, by maximum likelihood with Fisher's scoring.

    Parameters
    ----------
    apart
        ``(children, entries)``: estimated less expected counts, with the variance ``noise + mean (1 + d records)``.
    noise, records
        ``(children, 1)``: variance of the noise, and number of records.
    mean
        ``(children, entries)``: expected counts; entries that are expected to be 0 say nothing.
    steps
        Steps, at most, each linear in the entries.

    Returns
    -------
    float
        The estimate of d.

    Examples
    --------
    >>> mean, noise, records = np.full((2, 2), 50.0), np.ones((2, 1)), np.full((2, 1), 100.0)
    >>> round(intraclass(np.array([[30.0, -30], [-30, 30]]), noise, mean, records), 4)
    0.1698
    >>> intraclass(np.array([[3.0, -3], [-3, 3]]), noise, mean, records)
    0.0
    """
    correlation, slope, excess = 0.0, mean * records, apart**2 - noise - mean
    for _ in range(steps):
        variance = noise + mean + correlation * slope
        information = float(((slope / variance) ** 2).sum())
        score = float((slope * excess / variance**2).sum())
        before, correlation = correlation, min(max(score / (information or 1.0), 0.0), 1.0)
        if correlation == before:
            break
    return correlation
