"""Audits of tables by region: the measurement at its claim, on every kind of neighbor.

**Exact.** A person moves a few noisy numbers, each with noise of its own. The law of each is found by replaying the
production sampler; told apart is on which side of the two values a number falls, which loses nothing of the ratio of
Laplace noise. The product of these laws is a lower bound for every pair of neighbors, and what the numbers prove adds
up to an upper one. Whole tables and answers are made of the measurement and show no more.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.errors import InvalidProblemError, unknown_name
from discreet.core.tree import Tree
from discreet.evaluate.audit.hierarchy import audit_changes
from discreet.hierarchy.contingency.measure import marginal_scales
from discreet.hierarchy.contingency.problem import Domain, TableFrame

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.evaluate.audit.audit import Audit
    from discreet.evaluate.audit.hierarchy import Changes
    from discreet.evaluate.audit.request import AuditRequest
    from discreet.hierarchy.contingency.measure import Scales

    Rows = tuple[tuple[int, int], ...]

TABLE_METHODS: dict[str, int] = {"marginals": 1, "marginals-two-rows": 2}
"""Audited method -> rows that a person may have."""

_TREE = Tree.from_paths([("a",), ("b",)])
_DOMAIN = Domain.read({"sex": ["F", "M"], "age": ["0", "1"]})
_MARGINALS: tuple[tuple[int, ...], ...] = ((), (0,), (0, 1))
"""Columns of each marginal: the total, sex, and sex by age."""


def audit_tables(request: AuditRequest) -> Audit:
    """Audit the measurement of tables by region at its claim.

    All neighbors of two regions and four cells, with one exact law for each number that moves. Other strengths than
    exact are refused.

    Parameters
    ----------
    request
        A name of :data:`TABLE_METHODS`, by default ``"marginals"``; epsilon, and the neighbors, by default
        ``"add-remove-person"``.

    Returns
    -------
    Audit
        Exact.

    Raises
    ------
    InvalidProblemError
        For an unknown name, or another claim than pure differential privacy for persons.

    Examples
    --------
    >>> from discreet.evaluate.audit.request import AuditRequest
    >>> audit_tables(AuditRequest("marginals", epsilon="1")).rejected
    False
    """
    request.choose("exact")
    claim = request.pure("add-remove-person", "for tables, whose noise is then Laplace noise")
    name = request.method or "marginals"
    if name not in TABLE_METHODS:
        raise unknown_name("method", name, sorted(TABLE_METHODS))
    if claim.neighbors not in ("add-remove-person", "replace-person"):
        raise InvalidProblemError("neighbors", "persons added or replaced", claim.neighbors)
    rows = TABLE_METHODS[name]
    # The total of the root has no part if a replaced person does not move it.
    marginals = _MARGINALS if claim.neighbors == "add-remove-person" else _MARGINALS[1:]
    levels = _TREE.depth + 1
    part = Fraction(1, len(marginals) * levels)
    frame = TableFrame(_TREE, _DOMAIN, dict.fromkeys(marginals, (part,) * levels), rows)
    scales = marginal_scales(frame, claim)
    changes: dict[Changes, str] = {}
    for one, other in _neighbors(claim.neighbors, rows):
        key = _changes(frame, scales, one, other)
        if key:
            changes.setdefault(key, f"rows {one} and {other}, as (leaf, cell)")
    spent = max(sum((abs(a - b) / scale for a, b, scale in key), Fraction(0)) for key in changes)
    # The delta of coarsened laws is not that of the release; the noise of all numbers, added up, is.
    return replace(audit_changes(changes, claim), delta=0.0 if spent <= claim.epsilon else 1.0)


def _neighbors(relation: str, most: int) -> list[tuple[Rows, Rows]]:
    """Return pairs of the rows of one person, at most `most`, on two neighboring inputs; others move nothing."""
    places = list(product(range(len(_TREE.leaves)), range(_DOMAIN.size)))
    persons: list[Rows] = [
        rows for many in range(1, most + 1) for rows in combinations_with_replacement(places, many)
    ]
    if relation == "add-remove-person":
        return [((), rows) for rows in persons]
    return [(one, other) for one, other in product(persons, repeat=2) if one < other]


def _changes(frame: TableFrame, scales: Scales, one: Rows, other: Rows) -> Changes:
    """Return the noisy numbers that differ between two inputs, sorted: both values, and the scale of the noise."""
    changes: list[tuple[int, int, Fraction]] = []
    tables = [_TREE.totals(_table(rows)) for rows in (one, other)]
    for q, scale_of in scales.items():
        first, second = (_DOMAIN.project(table, q) for table in tables)
        for node, entry in zip(*np.nonzero(first != second), strict=True):
            scale = scale_of[int(frame.strata[node])]
            if scale is not None:
                changes.append((int(first[node, entry]), int(second[node, entry]), scale))
    return tuple(sorted(changes))


def _table(rows: Rows) -> NDArray[np.int64]:
    """Count rows of leaf and cell as a table ``(leaves, cells)``."""
    counts = np.zeros((len(_TREE.leaves), _DOMAIN.size), dtype=np.int64)
    np.add.at(counts, tuple(np.array(rows, dtype=np.int64).reshape(-1, 2).T), 1)
    return counts
