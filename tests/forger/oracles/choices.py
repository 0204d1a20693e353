"""What a private choice states: which sets its matroid allows, and what its draws cost, computed anew.

**A choice is false** when one of these does not hold:

- the chosen elements are different, exist, have kinds that exist, and are a base of the stored matroid, which has the
  stated size and rank (every set of a small ground set is tried; matroids are judged by their definitions);
- names are those of the candidates;
- for the stated mechanism, coefficient, sensitivity and relation one of its rules of composition gives the guarantee,
  with as many draws as one line of the accountant states and no fewer than were needed (sixty digits; between 1e-9
  below and above a limit the oracle says that it is beyond);
- nothing was made with a seed, and the matroid's hash is the stated one.

How draws were really made, no file can show: a choice that says that it read no record is beyond the oracle.
"""
# ruff: noqa: PLR0917 - what a rule is about comes in its order

from __future__ import annotations

import json
import math
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any

from forger.exactly import as_decimal, common, number, seeded
from forger.oracles.channels import once

if TYPE_CHECKING:
    from pathlib import Path

MOST = 9
"""Elements up to which every set is tried."""

CLOSE = Decimal("1e-9")


def choice_is_false(path: Path, _: Any) -> str:
    """Say what is false in a choice."""
    stated = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=once)
    facts, chosen = stated["statement"], stated["chosen"]
    elements = [element for element, _ in chosen]
    if facts["n_elements"] > MOST:
        return "beyond: more elements than sets are tried for"
    family = independent_sets(stated["matroid"])
    if family is None:
        return "beyond: a matroid of another kind"
    n, sets = family
    rank = max(map(len, sets))
    if (facts["n_elements"], facts["rank"]) != (n, rank):
        return "a statement that is not about this matroid"
    if (
        len({*elements}) != len(elements)
        or frozenset(elements) not in sets
        or len(elements) != rank
    ):
        return "a set that may not be chosen"
    if any(not 0 <= kind < facts["n_kinds"] for _, kind in chosen):
        return "a kind that there is not"
    names = stated.get("candidates")
    if stated["names"] != [names[e] if names else e for e in elements]:
        return "names of others"
    with common():
        return _cost(stated, facts, len(elements)) or seeded(stated["provenance"])


def _cost(stated: dict[str, Any], facts: dict[str, Any], size: int) -> str:
    """Judge the guarantee by the rules that the mechanism may use."""
    claim, mechanism = stated["guarantee"], stated["mechanism"]
    if mechanism == "blind" and stated["coefficient"] is None:
        return "beyond: how draws were made"
    if claim["neighbors"] != facts["neighbors"]:
        return "a guarantee for other neighbors than the statement"
    width = number(facts["sensitivity"]) * (1 if facts["decomposable"] else 2)
    width *= 1 if facts["neighbors"] == "add-remove-one" else 2
    c, per = number(stated["coefficient"]), stated["per_draw"]
    if c <= 0 or per < 1:
        return "draws without a coefficient"
    at_once = 1 if mechanism in {"greedy", "permute-and-flip"} else per
    best: Decimal | None = None
    for line in stated["accounting"]:
        draws = line["draws"]
        if draws * at_once < size or line["guarantee"]["neighbors"] != facts["neighbors"]:
            continue
        over = _over(mechanism, claim, facts, c, per, width, draws)
        best = over if best is None else min(best, over)
    if best is None:
        return "no line for as many draws as there were"
    if best > CLOSE:
        return "a guarantee that no rule gives"
    return (
        "beyond: a guarantee as near what a rule gives as sixty digits are compared"
        if best > -CLOSE and best > Decimal("1e-30")
        else ""
    )


def _over(
    mechanism: str,
    claim: dict[str, Any],
    facts: dict[str, Any],
    c: Fraction,
    per: int,
    width: Fraction,
    draws: int,
) -> Decimal:
    """Find by what part the best rule exceeds the claim; negative where it does not."""
    loss, k = as_decimal(c * per * width), Decimal(draws)
    found = []
    pure = {"greedy", "permute-and-flip", "rounds"}
    ranged = {"greedy", "rounds"}
    if mechanism == "subsample":
        if not facts["decomposable"]:
            return Decimal(1)
        # Below ln 2 a record changes less than any epsilon above 0 allows.
        joined = max(
            Decimal(0), (as_decimal(c * per * number(facts["sensitivity"])).exp() - 1).ln()
        )
        epsilon = joined if facts["neighbors"] == "add-remove-one" else 2 * joined
        return _pure(claim, epsilon)
    if mechanism in pure:
        found.append(_pure(claim, k * loss))
    if mechanism in ranged:
        found.append(_concentrated(claim, k * loss**2 / 8))
    if claim["kind"] == "approx-dp":
        epsilon, delta = as_decimal(number(claim["epsilon"])), as_decimal(number(claim["delta"]))
        if mechanism in pure:
            found.append(_part(k * loss**2 / 2 + (2 * k * (1 / delta).ln()).sqrt() * loss, epsilon))
        if mechanism == "greedy" and facts["decomposable"]:
            replaced = facts["neighbors"] == "replace-one"
            one = loss / 2 if replaced else loss
            log = 1 + (1 / delta).ln()
            growth = one.exp() - 1
            found.append(_part(one + growth * (log + one) if replaced else growth * log, epsilon))
        if mechanism == "walk":
            off = k * (1 + loss.exp()) / Decimal(2) ** 60
            found.append(max(_part(k * loss, epsilon), _part(off, delta)))
    return min(found, default=Decimal(1))


def _part(cost: Decimal, claimed: Decimal) -> Decimal:
    return cost / claimed - 1


def _pure(claim: dict[str, Any], epsilon: Decimal) -> Decimal:
    if claim["kind"] == "zero-concentrated-dp":
        return _part(epsilon**2 / 2, as_decimal(number(claim["rho"])))
    return _part(epsilon, as_decimal(number(claim["epsilon"])))


def _concentrated(claim: dict[str, Any], rho: Decimal) -> Decimal:
    if claim["kind"] == "zero-concentrated-dp":
        return _part(rho, as_decimal(number(claim["rho"])))
    if claim["kind"] == "pure-dp":
        return Decimal(1)
    # The least epsilon of zCDP at a delta, over all orders of Renyi's divergence.
    r, log = float(rho), math.log(1 / float(number(claim["delta"])))

    def at(alpha: float) -> float:
        return r * alpha + (log + (alpha - 1) * math.log(1 - 1 / alpha) - math.log(alpha)) / (
            alpha - 1
        )

    low, high = 1 + 1e-9, 2 + 10 * math.sqrt(log / r)
    for _ in range(200):
        one, other = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, other) if at(one) < at(other) else (one, high)
    return _part(Decimal(at(low)), as_decimal(number(claim["epsilon"])))


# -------------------------------------------------------------------------------------- matroids


def independent_sets(stated: dict[str, Any]) -> tuple[int, set[frozenset[int]]] | None:
    """Give the size of a ground set and all independent sets, by the definition of a kind of matroid."""
    made = _matroid(stated)
    if made is None:
        return None
    n, test = made
    if n > MOST:
        return None
    ground = [frozenset(chosen) for size in range(n + 1) for chosen in combinations(range(n), size)]
    return n, {chosen for chosen in ground if test(chosen)}


def _matroid(stated: dict[str, Any]) -> Any:
    kind = stated["kind"]
    if kind == "uniform":
        return stated["n_elements"], lambda chosen: len(chosen) <= stated["rank"]
    if kind == "partition":
        labels, most = stated["labels"], stated["capacities"]
        return len(labels), lambda chosen: all(
            sum(labels[e] == at for e in chosen) <= most[at] for at in {*labels}
        )
    if kind == "laminar":
        groups = list(zip(stated["groups"], stated["capacities"], strict=True))
        return stated["n_elements"], lambda chosen: all(
            len(chosen & {*group}) <= most for group, most in groups
        )
    if kind == "graphic":
        return len(stated["edges"]), lambda chosen: _is_forest([stated["edges"][e] for e in chosen])
    if kind == "linear":
        rows = [sum(bool(bit) << at for at, bit in enumerate(row)) for row in stated["vectors"]]
        return len(rows), lambda chosen: _rank([rows[e] for e in chosen]) == len(chosen)
    if kind == "transversal":
        return len(stated["suits"]), lambda chosen: _matched([stated["suits"][e] for e in chosen])
    return _derived(stated, kind)


def _derived(stated: dict[str, Any], kind: str) -> Any:
    if kind == "direct-sum":
        parts = [independent_sets(part) for part in stated["matroids"]]
        if any(part is None for part in parts):
            return None
        known: list[Any] = parts
        starts = [sum(part[0] for part in known[:at]) for at in range(len(known))]
        return sum(part[0] for part in known), lambda chosen: all(
            frozenset(e - start for e in chosen if start <= e < start + part[0]) in part[1]
            for start, part in zip(starts, known, strict=True)
        )
    inner = (
        independent_sets(stated["matroid"])
        if kind in {"truncation", "dual", "contraction"}
        else None
    )
    if inner is None:
        return None
    n, sets = inner
    if kind == "truncation":
        return n, lambda chosen: chosen in sets and len(chosen) <= stated["rank"]
    if kind == "dual":
        rank, ground = max(map(len, sets)), frozenset(range(n))
        return n, lambda chosen: any(len(one) == rank and one <= ground - chosen for one in sets)
    gone = frozenset(stated["elements"])
    return n, lambda chosen: not chosen & gone and chosen | gone in sets


def _is_forest(edges: list[list[int]]) -> bool:
    group: dict[int, int] = {}
    for a, b in edges:
        one, other = group.setdefault(a, a), group.setdefault(b, b)
        if one == other:
            return False
        group = {node: one if at == other else at for node, at in group.items()}
    return True


def _rank(rows: list[int]) -> int:
    found: list[int] = []
    for row in rows:
        rest = row
        for one in found:
            rest = min(rest, rest ^ one)
        if rest:
            found.append(rest)
    return len(found)


def _matched(suits: list[list[bool]]) -> bool:
    taken: dict[int, int] = {}

    def place(e: int, seen: set[int]) -> bool:
        for slot, fits in enumerate(suits[e]):
            if fits and slot not in seen:
                seen.add(slot)
                if slot not in taken or place(taken[slot], seen):
                    taken[slot] = e
                    return True
        return False

    return all(place(e, set()) for e in range(len(suits)))
