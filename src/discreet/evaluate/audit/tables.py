"""Audits of tables by region: the measurement at its claim, on every kind of neighbor, beside twins that are broken.

**Exact.** A person moves a few noisy numbers, each with noise of its own. The law of each is found by replaying the
production sampler; told apart is on which side of the two values a number falls, which loses nothing of the ratio of
Laplace noise. The product of these laws is a lower bound for every pair of neighbors, and what the numbers prove adds
up to an upper one. Whole tables and answers are made of the measurement and show no more.

The twins each make one mistake of a hasty implementation: every marginal with the whole budget of its level, a replaced
person taken for an added one, two rows of a person taken for one, an exact total under neighbors that change it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core.errors import InvalidProblemError, unknown_name
from discreet.core.guarantee import PureDP
from discreet.core.randomness.replay import Law
from discreet.core.tree import Tree
from discreet.evaluate.audit.audit import Audit, Pair, audit_laws
from discreet.evaluate.audit.hierarchy import joined_law, sides_of
from discreet.hierarchy.contingency.measure import marginal_scales
from discreet.hierarchy.contingency.problem import Domain, TableFrame

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.evaluate.audit.request import AuditRequest
    from discreet.hierarchy.contingency.measure import Scales

    Rows = tuple[tuple[int, int], ...]

__all__ = ["TABLE_METHODS", "audit_tables"]

TABLE_METHODS: dict[str, str] = {
    "marginals": "the measurement as it is made",
    "marginals-two-rows": "the same for persons with up to two rows",
    "undivided-budget": "broken: each marginal has the whole part of its level",
    "replaced-as-added": "broken: a replaced person counted as an added one",
    "two-rows-as-one": "broken: persons have two rows, noise is for one",
    "exact-total": "broken: the total of the root stands there without noise",
}
"""What can be audited."""

_TREE = Tree.from_paths([("a",), ("b",)])
_DOMAIN = Domain.read({"sex": ["F", "M"], "age": ["0", "1"]})
_MARGINALS: tuple[tuple[int, ...], ...] = ((), (0,), (0, 1))


@final
@dataclass(frozen=True, eq=False)
class _Case:
    """A way to measure: the noise of each marginal and stratum, and the rows that a person may have."""

    frame: TableFrame
    scales: Scales
    most: int
    bare: bool = False


def audit_tables(request: AuditRequest) -> Audit:
    """Audit the measurement of tables by region, or a broken twin, at its claim.

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
    >>> audit_tables(AuditRequest("undivided-budget", epsilon="1")).rejected
    True
    """
    request.choose("exact")
    claim = request.pure("add-remove-person", "for tables, whose noise is then Laplace noise")
    name = request.method or "marginals"
    if name not in TABLE_METHODS:
        raise unknown_name("method", name, sorted(TABLE_METHODS))
    if claim.neighbors not in ("add-remove-person", "replace-person"):
        raise InvalidProblemError("neighbors", "persons added or replaced", claim.neighbors)
    case = _case(name, claim)
    seen: set[tuple[tuple[int, int, Fraction], ...]] = set()
    pairs, laws, spent = [], [], Fraction(0)
    for one, other in _neighbors(claim.neighbors, case.most):
        moved, shown = _moved(case, one, other)
        key = tuple(sorted(moved))
        if shown:
            laws.append((_certain("one"), _certain("another")))
            pairs.append(Pair(one, other, f"rows {one} and {other}: an exact number differs"))
            spent = claim.epsilon + 1
            continue
        if not key or key in seen:
            continue
        seen.add(key)
        spent = max(spent, sum((abs(a - b) / scale for a, b, scale in key), Fraction(0)))
        sides = [sides_of(*move) for move in key]
        laws.append((joined_law([a for a, _ in sides]), joined_law([b for _, b in sides])))
        pairs.append(Pair(one, other, f"rows {one} and {other}, as (leaf, cell)"))
    found = audit_laws(laws, pairs, claim)
    # What coarsened laws prove is not what is kept; the noise of all numbers, added up, is.
    return replace(found, delta=0.0 if spent <= claim.epsilon else 1.0)


def _case(name: str, claim: PureDP) -> _Case:
    """Make the measurement of a name, with its mistake if it has one."""
    levels = _TREE.depth + 1
    # The total of the root has no part where a replaced person does not move it.
    marginals = _MARGINALS if claim.neighbors == "add-remove-person" else _MARGINALS[1:]
    part = Fraction(1, len(marginals) * levels)
    stated = 2 if name == "marginals-two-rows" else 1
    frame = TableFrame(_TREE, _DOMAIN, dict.fromkeys(marginals, (part,) * levels), stated)
    if name == "replaced-as-added":
        added = PureDP(claim.epsilon, "add-remove-person")
        return _Case(frame, marginal_scales(frame, added), 1)
    scales = marginal_scales(frame, claim)
    if name == "undivided-budget":
        scales = {
            q: tuple(None if one is None else one / len(marginals) for one in given)
            for q, given in scales.items()
        }
    most = 2 if name in ("marginals-two-rows", "two-rows-as-one") else 1
    return _Case(frame, scales, most, bare=name == "exact-total")


def _neighbors(relation: str, most: int) -> list[tuple[Rows, Rows]]:
    """List what one person is on the two inputs; all others are the same and move nothing."""
    places = list(product(range(len(_TREE.leaves)), range(_DOMAIN.size)))
    persons: list[Rows] = [
        rows for many in range(1, most + 1) for rows in combinations_with_replacement(places, many)
    ]
    if relation == "add-remove-person":
        return [((), rows) for rows in persons]
    return [(one, other) for one, other in product(persons, repeat=2) if one < other]


def _moved(case: _Case, one: Rows, other: Rows) -> tuple[list[tuple[int, int, Fraction]], bool]:
    """List the noisy numbers that differ with their noise; and tell whether a bare number does."""
    found: list[tuple[int, int, Fraction]] = []
    strata = case.frame.strata.tolist()
    tables = [_TREE.totals(_table(rows)) for rows in (one, other)]
    for q, scales in case.scales.items():
        first, second = (_DOMAIN.project(table, q) for table in tables)
        for node, entry in zip(*np.nonzero(first != second), strict=True):
            scale = scales[strata[node]]
            if scale is not None:
                found.append((int(first[node, entry]), int(second[node, entry]), scale))
    return found, case.bare and len(one) != len(other)


def _table(rows: Rows) -> NDArray[np.int64]:
    counts = np.zeros((len(_TREE.leaves), _DOMAIN.size), dtype=np.int64)
    for leaf, cell in rows:
        counts[leaf, cell] += 1
    return counts


def _certain(outcome: str) -> Law:
    """Give the law of what is known for certain."""
    masses: Any = {outcome: Fraction(1)}
    return Law(masses, Fraction(0), 1)
