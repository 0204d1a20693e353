"""What channels state, judged by brute force: every pair of secrets and every report, with sixty digits.

**A file of a channel is false** when one of these does not hold of the numbers in it:

- every row of weights is a distribution: nothing negative, the stated total;
- no stored distance exceeds that of the points (grid, plane: exactly; on spheres and in the ball up to 1.2e-10 of the
  extent, since 1e-10 is documented), and the unit is one that the metric has;
- for every pair within the radius and every joined pair ``ln(p / q) <= epsilon d``, both ways, all reports; for all
  pairs the same with the epsilon for all pairs, where one is stated;
- the scope: numbers of secrets, groups, joined links, and who is isolated; the hash that the guarantee is bound to;
- the expected loss is at most the upper bound (fractions), and no channel loses less than the lower one (a linear
  program in floats; a bound within 1e-6 of its optimum is beyond the oracle);
- the prior is one, reports and labels are different names, public inputs are those whose hashes are stated;
- nothing was made with a seed.

An anchored channel and a mechanism state no table: their rows are computed by the page that specifies them.
"""
# ruff: noqa: C901, PLR0917 - a list of facts, each judged where it stands

from __future__ import annotations

import hashlib
import io
import json
import math
import zipfile
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array

from forger.exactly import EARTH, apart, as_decimal, broken_pair, common, number, pi, seeded
from forger.sealing import array_hash, canonical, space_hash, unpacked

if TYPE_CHECKING:
    from pathlib import Path

    Pair = tuple[int, int]

UNITS = {"haversine": {"km", "m"}, "angular": {"rad"}}
MOST = 40
"""Secrets up to which all pairs are compared here."""


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a key that comes twice: such a file states two things."""
    if len(dict(pairs)) != len(pairs):
        raise KeyError("a key comes twice")
    return dict(pairs)


def unzipped(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read all members."""
    with zipfile.ZipFile(path) as archive:
        data = {name: archive.read(name) for name in archive.namelist()}
    meta = json.loads(data.pop("meta.json"), object_pairs_hook=once)
    for name, body in data.items():
        if hashlib.sha256(body).hexdigest() != meta["members"][name]["sha256"]:
            raise ValueError(f"{name} has another hash")
    return meta, {
        name.removesuffix(".npy"): np.load(io.BytesIO(body)) for name, body in data.items()
    }


def channel_is_false(path: Path, said: Any) -> str:
    """Say what is false in a file of a channel with a table of weights."""
    with common():
        meta, arrays = unzipped(path)
        limbs = arrays["limbs"]
        n_limbs, n, _ = limbs.shape
        if n > MOST:
            return "beyond: more secrets than are compared"
        rows = [
            [
                sum(int(limbs[at, i, k]) << 62 * (n_limbs - 1 - at) for at in range(n_limbs))
                for k in range(limbs.shape[2])
            ]
            for i in range(n)
        ]
        if any(sum(row) != 1 << 62 * n_limbs or min(row) < 0 for row in rows):
            return "a row that is no distribution"
        return (
            _private(meta, arrays, rows, n, said)
            or _public(meta, arrays, rows)
            or _loss(meta, arrays, rows)
            or seeded(meta["provenance"])
        )


def anchored_is_false(path: Path, said: Any) -> str:
    """Say what is false in a file of an anchored channel."""
    with common():
        meta, arrays = unzipped(path)
        n = meta["space"]["n"]
        if n > MOST:
            return "beyond: more secrets than are compared"
        triangle = dict(zip(combinations(range(n), 2), arrays["distances"].tolist(), strict=True))
        factors = [int(x) for x in arrays["factors"].reshape(-1).tolist()]
        ball = [
            arrays.get(f"ball_{part}", np.zeros(0, int)).tolist()
            for part in ("secrets", "reports", "weights")
        ]
        rows = _tails(
            n,
            triangle,
            factors,
            meta["lift"],
            arrays["centers"].tolist(),
            arrays["anchors"].tolist(),
            ball,
        )
        if any(weight < 0 for row in rows for weight in row) or not all(map(sum, rows)):
            return "a row that is no distribution"
        return _private(meta, arrays, rows, n, said) or seeded(meta["provenance"])


def _tails(
    n: int,
    lengths: dict[Pair, int],
    factors: list[int],
    lift: int,
    centers: list[int],
    anchors: list[int],
    ball: list[list[int]],
) -> list[list[int]]:
    """Compute the rows as the page on mechanisms says, bit by bit."""

    def decay(length: int) -> int:
        product = factors[length % 256]
        for place in range(1, 7):
            product = product * factors[256 * place + (length >> 8 * place) % 256] >> 62
        return product

    known = {length: decay(length) for length in {0, *lengths.values()}}
    rows = [
        [
            lift + (anchor * known[0 if i == o else lengths[min(i, o), max(i, o)]] >> 62)
            for o, anchor in zip(centers, anchors, strict=True)
        ]
        for i in range(n)
    ]
    for i, k, weight in zip(*ball, strict=True):
        rows[i][k] = weight
    return rows


def _private(
    meta: dict[str, Any], arrays: dict[str, Any], rows: list[list[int]], n: int, said: Any
) -> str:
    """Judge the guarantee, its scope and the distances."""
    claim, space = meta["guarantee"], meta["space"]
    metric, unit = space["metric"], space["unit"]
    if claim["kind"] != "metric-dp" or claim["unit"] != unit or not unit.strip():
        return "a guarantee of another unit than distances have"
    if unit not in UNITS.get(metric, {unit}):
        return "a unit that this metric does not have"
    stored = dict(zip(combinations(range(n), 2), arrays["distances"].tolist(), strict=True))
    lengths = {pair: Decimal(d) / Decimal(2) ** space["scale_bits"] for pair, d in stored.items()}
    wrong = _longer(space, arrays, lengths)
    if wrong:
        return wrong
    near = None if claim["radius"] is None else as_decimal(number(claim["radius"]))
    within = {pair for pair, d in lengths.items() if near is None or d <= near}
    joined = {
        (min(i, j), max(i, j)) for i, j in arrays.get("joined", np.zeros((0, 2), int)).tolist()
    }
    bound = sorted(within | joined)
    epsilon, scope = number(claim["epsilon"]), claim["scope"]
    if epsilon <= 0 or not {*joined} <= {*lengths}:
        return "no epsilon, or links of secrets that are not there"
    found = broken_pair(rows, lengths, epsilon, bound)
    if found:
        return found
    if scope["all_pairs_epsilon"] is not None:
        found = broken_pair(rows, lengths, number(scope["all_pairs_epsilon"]), lengths)
        if found:
            return f"{found}, of all pairs"
    achieved = said.get("achieved_epsilon") if isinstance(said, dict) else None
    if achieved is not None and broken_pair(rows, lengths, Fraction(achieved), sorted(within)):
        return "the epsilon that was achieved is larger than was told"
    return _scope(meta, n, bound, within, joined, arrays)


def _longer(space: dict[str, Any], arrays: dict[str, Any], lengths: dict[Pair, Decimal]) -> str:
    """Find a stored distance that exceeds the one of the points."""
    metric, unit = space["metric"], space["unit"]
    if metric in {"graph", "matrix"}:
        return ""
    if any(d < 0 for d in lengths.values()):
        return "a negative distance"
    if metric == "grid" and space["cell"] is not None:
        cell, places = as_decimal(number(space["cell"])), arrays["places"].tolist()
        for (i, j), d in lengths.items():
            steps = sum((x - y) ** 2 for x, y in zip(places[i], places[j], strict=True))
            if d > cell * Decimal(steps).sqrt() * (1 + Decimal("1e-50")):
                return f"the distance of {i} and {j} is longer than their cells are apart"
        if "points" in arrays:
            side, points = float(cell), arrays["points"]
            centers = np.array(places, dtype=float)[:, ::-1] * side
            off = points - centers
            if not np.abs(off - off[0]).max() <= 2e-9 * max(
                np.abs(points).max(), np.abs(centers).max()
            ):
                return "points that are not the centers of their cells"
        return ""
    points = [[Fraction(x) for x in point] for point in arrays["points"].tolist()]
    true, room = apart("euclidean" if metric == "grid" else metric, unit, points)
    if metric == "grid":
        extent = max((abs(x) for point in points for x in point), default=Fraction(0))
        room = Decimal("1.2e-10") * as_decimal(extent)
    for (i, j), d in lengths.items():
        if d > true(i, j) * (1 + Decimal("1e-50")) + room:
            return f"the distance of {i} and {j} is longer than their points are apart"
    return ""


def _scope(
    meta: dict[str, Any],
    n: int,
    bound: list[Pair],
    within: set[Pair],
    joined: set[Pair],
    arrays: dict[str, Any],
) -> str:
    scope = meta["guarantee"]["scope"]
    group = list(range(n))
    for i, j in bound:
        group = [group[i] if one == group[j] else one for one in group]
    groups = len(set(group))
    # Who is alone in a group has nobody within the radius.
    alone = [i for i in range(n) if group.count(group[i]) == 1] if groups > 1 else []
    digest = space_hash(n, meta["space"]["scale_bits"], meta["space"]["unit"], arrays["distances"])
    told = (scope["n_secrets"], scope["components"], sorted(scope["isolated"]), scope["joined"])
    if told != (n, groups, alone, len(joined - within)):
        return "a scope that says something else"
    if {scope["space"], meta["space"]["digest"]} != {digest}:
        return "a guarantee that is bound to another space"
    labels = meta["labels"]
    if labels is not None and (len(labels) != n or len({*labels}) != n):
        return "labels that are no different names"
    return ""


def _public(meta: dict[str, Any], arrays: dict[str, Any], rows: list[list[int]]) -> str:
    """Judge the prior, the reports, and the hashes of public inputs."""
    n, k = len(rows), len(rows[0])
    prior = arrays["prior"]
    if prior.shape != (n,) or not (prior >= 0).all() or abs(math.fsum(prior.tolist()) - 1) > 1.2e-9:
        return "a prior that is none"
    names = arrays.get("reports", np.arange(k) if k == n else None)
    if names is not None and (len({*names.tolist()}) != k or not {*names.tolist()} <= {*range(n)}):
        return "reports that are no different secrets"
    found = {"space": meta["space"]["digest"], "utility_loss": array_hash(arrays["loss"] + 0.0)}
    found["prior"] = array_hash(prior + 0.0)
    for public in meta["provenance"]["assumed_public"]:
        if found.get(public["name"], public["digest"]) != public["digest"]:
            return f"another {public['name']} than was assumed public"
    return ""


def _loss(meta: dict[str, Any], arrays: dict[str, Any], rows: list[list[int]]) -> str:
    """Judge both bounds of the expected loss."""
    cost = arrays["prior"][:, None] * arrays["loss"]
    if cost.shape != (len(rows), len(rows[0])) or not np.isfinite(cost).all():
        return "losses of other secrets"
    exact = [[Fraction(x) for x in line] for line in cost.tolist()]
    found = sum(
        (
            c * Fraction(w, sum(row))
            for line, row in zip(exact, rows, strict=True)
            for c, w in zip(line, row, strict=True)
        ),
        Fraction(0),
    )
    if not math.isfinite(meta["upper"]) or found > Fraction(meta["upper"]):
        return "the expected loss is above the upper bound"
    lower = meta["lower"]
    if lower is None or lower <= 0:
        return ""
    if not math.isfinite(lower):
        return "a lower bound that is no number"
    best = _best_loss(meta, arrays, cost)
    if best is None:
        return "beyond: a lower bound with constraints that a solver in floats does not take"
    if lower > best * (1 + 1e-6) + 1e-9:
        return "a channel loses less than the lower bound"
    return (
        "beyond: a lower bound as near the optimum as floats tell"
        if lower > best * (1 - 1e-6)
        else ""
    )


def _best_loss(
    meta: dict[str, Any], arrays: dict[str, Any], cost: np.ndarray[Any, Any]
) -> float | None:
    """Solve the linear program of all channels that keep the guarantee."""
    n, k = cost.shape
    claim = meta["guarantee"]
    epsilon, scale = float(number(claim["epsilon"])), 2.0 ** meta["space"]["scale_bits"]
    near = (
        None
        if claim["radius"] is None
        else number(claim["radius"]) * 2 ** meta["space"]["scale_bits"]
    )
    joined = {tuple(sorted(pair)) for pair in arrays["joined"].tolist()}
    entries: list[tuple[int, int, float]] = []
    row = 0
    for (i, j), d in zip(combinations(range(n), 2), arrays["distances"].tolist(), strict=True):
        if near is not None and d > near and (i, j) not in joined:
            continue
        if epsilon * d / scale > 25:
            return None
        factor = math.exp(epsilon * d / scale)
        for a, b in ((i, j), (j, i)):
            for at in range(k):
                entries += [(row, a * k + at, 1.0), (row, b * k + at, -factor)]
                row += 1
    rows, columns, values = (
        (list(part) for part in zip(*entries, strict=True)) if entries else ([], [], [])
    )
    table = csr_array((values, (rows, columns)), shape=(row, n * k)) if entries else None
    ones = csr_array(
        (np.ones(n * k), (np.repeat(np.arange(n), k), np.arange(n * k))), shape=(n, n * k)
    )
    solve: Any = linprog  # the types of its stubs know no sparse tables
    solved = solve(
        cost.reshape(-1),
        table,
        np.zeros(row) if entries else None,
        ones,
        np.ones(n),
        method="highs",
    )
    return float(solved.fun) if solved.status == 0 else None


def mechanism_is_false(path: Path, said: Any) -> str:
    """Say what is false in the mechanism of a location service; its bounds of the loss are stated without a problem."""
    with common():
        body = path.read_bytes()
        stated = json.loads(body, object_pairs_hook=once)
        plain = {name: value for name, value in stated.items() if name != "digest"}
        if hashlib.sha256(canonical(plain)).hexdigest() != stated["digest"]:
            return "another digest than that of the content"
        at = unpacked(stated["places"])
        places = list(zip(at[::2], at[1::2], strict=True))
        n = len(places)
        if n > MOST:
            return "beyond: more places than are compared"
        if len({*places}) != n:
            return "a place comes twice"
        lengths = _rule(stated, places)
        rate, scale = as_decimal(number(stated["rate"])), stated["lengths"]["scale_bits"]
        factors = [
            min(
                1 << 62,
                int(
                    (Decimal(2) ** 62 * (-rate * g * 256**j / 2**scale).exp()).to_integral_value(
                        "ROUND_FLOOR"
                    )
                ),
            )
            for j in range(7)
            for g in range(256)
        ]
        columns = [unpacked(stated[name]) for name in ("centers", "anchors", "names")]
        ball = [unpacked(stated[f"ball_{part}"]) for part in ("secrets", "reports", "weights")]
        rows = _tails(n, lengths, factors, stated["lift"], columns[0], columns[1], ball)
        if any(weight < 0 for row in rows for weight in row) or not all(
            0 < sum(row) < 1 << 62 for row in rows
        ):
            return "a row that is no distribution"
        if not {*columns[2]} <= {*range(n)} or len(columns[2]) != len(columns[0]):
            return "names that are no places"
        return _promise(stated, rows, lengths, places) or seeded(stated["provenance"])


def _rule(stated: dict[str, Any], places: list[Pair]) -> dict[Pair, int]:
    """Compute lengths by the rule that is stated."""
    rule, scale = stated["lengths"], stated["lengths"]["scale_bits"]
    per = {"km": 10_000, "m": 10}[stated["unit"]]
    made = {}
    for i, j in combinations(range(len(places)), 2):
        a, b = (abs(x - y) for x, y in zip(places[i], places[j], strict=True))
        if rule["rule"] == "plane":
            step = 2**scale // per - 1
            made[i, j] = 1 + math.isqrt(step**2 * (a**2 + b**2))
        else:
            cell = rule["cell"]
            rows, columns = a // cell, b // cell
            g = math.gcd(rows, columns)
            square = Fraction(rows**2 + columns**2, g**2) * Fraction(cell * 2**scale) ** 2 / per**2
            made[i, j] = g * math.isqrt(math.floor(square))
    return made


def _promise(
    stated: dict[str, Any], rows: list[list[int]], lengths: dict[Pair, int], places: list[Pair]
) -> str:
    claim, n = stated["guarantee"], len(rows)
    per = {"km": 10_000, "m": 10}[stated["unit"]]
    if claim["kind"] != "metric-dp" or claim["unit"] != stated["unit"]:
        return "a guarantee of another unit"
    plain = {
        (i, j): Decimal(sum((x - y) ** 2 for x, y in zip(places[i], places[j], strict=True))).sqrt()
        / per
        for i, j in lengths
    }
    stored = {
        pair: Decimal(d) / Decimal(2) ** stated["lengths"]["scale_bits"]
        for pair, d in lengths.items()
    }
    if stated["origin"] is not None and _beyond_sphere(stated, places, plain):
        return "two places are farther apart in the plane than on the sphere"
    near = None if claim["radius"] is None else as_decimal(number(claim["radius"]))
    bound = [pair for pair, d in stored.items() if near is None or d <= near]
    scope = claim["scope"]
    # Judged by the true distances: that none of the rule is longer is part of it.
    found = broken_pair(rows, plain, number(claim["epsilon"]), bound)
    if not found and scope["all_pairs_epsilon"] is not None:
        found = broken_pair(rows, plain, number(scope["all_pairs_epsilon"]), plain)
    group = list(range(n))
    for i, j in bound:
        group = [group[i] if one == group[j] else one for one in group]
    told = (
        scope["n_secrets"],
        scope["components"],
        scope["isolated"],
        scope["joined"],
        scope["space"],
    )
    triangle = np.array([lengths[pair] for pair in combinations(range(n), 2)], dtype=np.int64)
    space = space_hash(n, stated["lengths"]["scale_bits"], stated["unit"], triangle)
    if not found and told != (n, 1, [], 0, space):
        found = "a scope that says something else"
    return found or ("groups of places that nothing binds" if len(set(group)) > 1 else "")


def _beyond_sphere(stated: dict[str, Any], places: list[Pair], plain: dict[Pair, Decimal]) -> bool:
    """Tell whether the plane is longer than the sphere somewhere, by more than a part of 2^-31."""
    latitude, longitude = (as_decimal(number(text)) for text in stated["origin"])
    per, cosine = {"km": 10_000, "m": 10}[stated["unit"]], as_decimal(number(stated["cosine"]))
    radius = EARTH * (1000 if stated["unit"] == "m" else 1)
    degree = 180 / (pi() * radius * per)
    # An origin is longitude 0: only differences count, and angles stay small.
    if abs(longitude) > 360:
        return True
    globe = [[Fraction(latitude + y * degree), Fraction(x * degree / cosine)] for x, y in places]
    sphere, _ = apart("haversine", stated["unit"], globe)
    return any(d > sphere(i, j) * (1 + Decimal(2) ** -31) for (i, j), d in plain.items())
