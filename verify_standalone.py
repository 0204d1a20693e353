"""Check a channel made by discreet without discreet: Python 3.11 and its standard library, nothing else.

    python verify_standalone.py FILE        exit 0: all of it holds; 1: something does not; 2: FILE cannot be read,
                                            or is NOT CHECKED here (3 below is the only part that may be left out)

FILE is a zip of ``meta.json`` and plain ``.npy`` arrays. Let ``W`` be the stored integer weights, ``T`` the total of
a row, ``D`` the stored integer distances in units of ``2^-s``, and ``epsilon`` the stated budget per unit of distance.
The constrained pairs are those with ``D`` within the stated radius (all pairs where none is stated) and the stored
joined links. This file proves, about the numbers in FILE and in integers throughout:

1. Channel: weights are non-negative and each row sums to ``T``, so that ``Pr[report k | secret i] = W[i][k] / T``.
2. Privacy: ``W[i][k] <= e^(epsilon D[i][j] / 2^s) W[j][k]`` for all reports k and all constrained pairs, both ways.
   This is checked on the stored binding links. Along a path of links the factors multiply, so it holds for every pair
   that a path no longer than ``D`` joins; that each constrained pair has such a path is checked too. So are the
   stated epsilon for all pairs, the number of joined links, and the groups that nothing joins.
3. Distances: where the space is euclidean, manhattan or a grid, no ``D`` exceeds the distance of the stored points:
   what is proved for ``D`` then holds for the true distances. For any other metric the table says NOT CHECKED.
4. Loss: the expected loss ``sum cost[i][k] W[i][k] / T`` is at most the stated upper bound. ``cost`` is the float64
   product of prior and utility loss; the problem is stated in these numbers.
5. Bound: no channel that keeps the constrained pairs loses less than the stated lower bound. With ``v >= 0`` for
   constraints ``z[i][k] <= e^(epsilon d) z[j][k]``, every such channel has ``sum cost z >= sum cost z + sum v (z[i][k]
   - e^(epsilon d) z[j][k])``, and this is at least the sum over secrets of the least coefficient in their rows.
   Secrets at distance 0 must have equal rows and count as one. Any multipliers ``v`` prove a bound, whoever found them.

A channel of the kind "anchored" has no stored weights. They follow from a few integers: report k has a center ``o``, a
weight ``A`` there, and ``W[i][k] = m + floor(A E(D[i][o]) / 2^62)`` with a lift ``m`` and ``E`` a product of stored
factors, or an explicit weight. Rows then have totals ``T[i]`` of their own, and 2 is about ``W[i][k] / T[i]``. Such a
file states neither loss nor bound, and beyond 5120 secrets it holds no distances and is NOT CHECKED here: ``discreet
verify`` checks it by a theorem.

Not proved here: that a sampler draws from these weights, and that what the file lists as assumed public is public.
"""
# ruff: noqa: ANN001, ANN201, ANN204, B905, T201 - a script to be read: its prose says the types, and it prints

import array
import ast
import hashlib
import heapq
import json
import sys
import zipfile
from fractions import Fraction
from itertools import combinations
from math import prod

BITS = 128  # fractional bits of every bracket of e^x
FAR = 2000  # beyond this exponent, e^x outgrows every ratio of weights, and every ratio of floats
UNIT = 1 << 1074  # every finite float is an integer multiple of 1 / UNIT
TYPES = {"<u8": "Q", "<i8": "q", "<i4": "i", "<f8": "d"}
METRICS = {
    "euclidean",
    "manhattan",
    "haversine",
    "angular",
    "hyperbolic",
    "grid",
    "graph",
    "matrix",
}
MULTIPLIERS = [f"multipliers_{part}" for part in ("report", "source", "target", "value")]


# ------------------------------------------------------------------------------------- reading


def require(claim, otherwise):
    """Stop where the file is not what an artefact is."""
    if not claim:
        raise ValueError(otherwise)


def read(path):
    """Return the metadata and the arrays ``{name: (shape, values)}``, each with its stated hash."""
    with open(path, "rb") as file, zipfile.ZipFile(file) as archive:  # noqa: PTH123 - fewer imports
        members = archive.infolist()
        stored = all(member.compress_type == zipfile.ZIP_STORED for member in members)
        size = sum(member.file_size for member in members)
        require(stored and size <= file.seek(0, 2), "members are not stored as they are")
        data = {member.filename: archive.read(member) for member in members}
    require(len(data) == len(members), "a member comes twice")
    meta = json.loads(data.pop("meta.json"), object_pairs_hook=once)
    version = meta["format"], meta["schema_version"], meta["kind"]
    known = [("discreet.artefact", 1, kind) for kind in ("channel", "anchored")]
    require(version in known, f"not a channel of version 1: {version}")
    for name in data.keys() | meta["members"].keys():
        digest = hashlib.sha256(data[name]).hexdigest()
        require(digest == meta["members"][name]["sha256"], f"{name} was altered")
    return meta, {name.removesuffix(".npy"): npy(name, data[name]) for name in data}


def once(pairs):
    """Take a mapping of JSON, and refuse a key that comes twice."""
    require(len(dict(pairs)) == len(pairs), "a key comes twice in meta.json")
    return dict(pairs)


def npy(name, data):
    """Read a ``.npy`` array of version 1.0 in C order: its shape and its flat values."""
    require(data[:8] == b"\x93NUMPY\x01\x00", f"{name} is no .npy array of version 1.0")
    start = 10 + int.from_bytes(data[8:10], "little")
    head = ast.literal_eval(data[10:start].decode("latin-1").strip())
    require(head["descr"] in TYPES and not head["fortran_order"], f"{name}: {head}")
    values = array.array(TYPES[head["descr"]], data[start:])
    require(len(values) == prod(head["shape"]), f"{name} is cut short")
    if sys.byteorder == "big":
        values.byteswap()
    return head["shape"], values


class NotCheckedError(Exception):
    """The file may be right, and this program is not the one to say so."""


class Artefact:
    """The numbers of a file under short names. Shapes are checked here, claims are not."""

    def __init__(self, path):
        self.meta, arrays = read(path)
        self.claim, self.scope = self.meta["guarantee"], self.meta["guarantee"]["scope"]
        self.anchored = self.meta["kind"] == "anchored"
        space = self.meta["space"]
        require(self.claim["kind"] == "metric-dp", "not a claim of metric privacy")
        require(self.claim["unit"] == space["unit"], "epsilon per another unit than distances")
        require(space["metric"] in METRICS and 0 <= space["scale_bits"] < 1000, "no metric space")
        self.epsilon, self.scale = Fraction(self.claim["epsilon"]), self.meta["space"]["scale_bits"]
        if self.anchored and "distances" not in arrays:
            raise NotCheckedError(f"{self.meta['space']['n']} secrets; use discreet verify")
        self.n = n = self.meta["space"]["n"] if self.anchored else arrays["limbs"][0][1]
        require(arrays["distances"][0] == (n * (n - 1) // 2,), "distances of another shape")
        self.D = dict(zip(combinations(range(n), 2), arrays["distances"][1]))
        require(self.epsilon > 0 and min(self.D.values(), default=0) >= 0, "a distance is negative")
        bounds = [None, None] if self.anchored else [self.meta["lower"], self.meta["upper"]]
        self.lower, self.upper = bounds
        self.W, self.totals = (anchored if self.anchored else table)(self, arrays)
        self.k, self.factors = len(self.W[0]), {}
        self.points, self.places = (arrays.get(name, ((n, 0), [])) for name in ("points", "places"))
        links = [arrays.get(name, ((0, 2), []))[1] for name in ("binding", "joined")]
        self.binding, self.joined = (set(zip(ends[::2], ends[1::2])) for ends in links)
        require(self.binding | self.joined <= self.D.keys(), "a link joins secrets not there")
        radius = self.claim["radius"]
        reach = (
            max(self.D.values(), default=0) if radius is None else Fraction(radius) * 2**self.scale
        )
        self.constrained = self.joined | {pair for pair, d in self.D.items() if d <= reach}
        if not self.anchored:
            self.read_problem(arrays)

    def read_problem(self, arrays):
        """Take the prior, the losses, and the multipliers of the bound."""
        n, k = self.n, self.k
        require(arrays["loss"][0] == (n, k), f"loss has shape {arrays['loss'][0]}, not {(n, k)}")
        require(arrays["prior"][0] == (n,), f"prior has shape {arrays['prior'][0]}, not {(n,)}")
        loss, prior = arrays["loss"][1], arrays["prior"][1]
        require(min(prior) >= 0 and abs(sum(prior) - 1) < 1e-8, "a prior that is none")
        values = [arrays[name][1] for name in MULTIPLIERS if self.lower is not None]
        self.multipliers = list(zip(*values, strict=True))
        self.cost = [[exact(prior[i] * one) for one in loss[i * k : (i + 1) * k]] for i in range(n)]

    def factor(self, pair):
        """Integers around ``2^BITS e^(epsilon d)``; beyond e^FAR the upper one is missing."""
        d = self.D[pair]
        if d not in self.factors:
            x = self.epsilon * d / 2**self.scale
            low, high = exp_bounds(min(x, Fraction(FAR)), BITS)
            self.factors[d] = low, high if x <= FAR else None
        return self.factors[d]


def table(_, arrays):
    """Return stored weights, and the total that each row should have."""
    (limbs, n, k), flat = arrays["limbs"]
    weights = [[0] * k for _ in range(n)]
    for place, limb in enumerate(flat):
        weights[place // k % n][place % k] += limb << 62 * (limbs - 1 - place // (n * k))
    return weights, [1 << 62 * limbs] * n


def anchored(a, arrays):
    """Return weights that are computed from few integers, and the totals of the rows."""
    shape, factors = arrays["factors"]
    require(shape == (7, 256), "factors of another shape")
    centers, anchors, lift = arrays["centers"][1], arrays["anchors"][1], a.meta["lift"]
    require(len(centers) == len(anchors) > 0, "not one anchor for each center")
    require(min(anchors) >= 0 and min(factors) >= 0 < lift, "a negative integer, or no lift")
    require(all(o in range(a.n) for o in centers), "a center is no secret")

    def decayed(length):  # noqa: ANN202 - as above
        """Multiply the factors of the digits to base 256, rounded down each time."""
        product = factors[length & 255]
        for place in range(1, 7):
            product = product * factors[256 * place + (length >> 8 * place & 255)] >> 62
        return product

    require(max(a.D.values(), default=0) < 1 << 56, "a distance has more than seven digits")
    known = {length: decayed(length) for length in {0, *a.D.values()}}
    weights = [
        [
            lift + (weight * known[0 if i == o else a.D[min(i, o), max(i, o)]] >> 62)
            for o, weight in zip(centers, anchors)
        ]
        for i in range(a.n)
    ]
    ball = [arrays.get(f"ball_{part}", ((0,), []))[1] for part in ("secrets", "reports", "weights")]
    require(len(set(zip(*ball[:2]))) == len(ball[0]), "an explicit weight comes twice")
    for i, k, weight in zip(*ball, strict=True):
        require(min(i, k) >= 0, "an explicit weight outside the table")
        weights[i][k] = weight
    return weights, [sum(row) for row in weights]


# ---------------------------------------------------------------------------------- arithmetic


def exp_bounds(x, bits):
    """Return integers ``low <= 2^bits e^x <= high`` for a rational ``x >= 0``.

    The series at ``y = x / 2^h < 1/2``, terms rounded down for low and up for high; then h squarings, likewise. Each
    term is less than half of the one before it, so that all terms left out are less than the last one taken.
    """
    h = (x.numerator // x.denominator).bit_length() + 1
    work = bits + 2 * h + 16
    y = (x.numerator << work) // (x.denominator << h)
    low = high = term_low = term_high = 1 << work
    n = 1
    while term_high > 1:
        term_low = term_low * y // (n << work)
        term_high = -(-term_high * (y + 1) // (n << work))
        low, high, n = low + term_low, high + term_high, n + 1
    high += term_high
    for _ in range(h):
        low, high = low * low >> work, -(-high * high >> work)
    return low >> (work - bits), -(-high >> (work - bits))


def exact(value):
    """Return a finite float as an integer in units of ``1 / UNIT``: nothing is lost."""
    numerator, denominator = value.as_integer_ratio()
    return numerator * (UNIT // denominator)


def shortest_paths(source, links):
    """Lengths of the shortest paths from a secret to those that it reaches (Dijkstra)."""
    reached, queue = {}, [(0, source)]
    while queue:
        length, i = heapq.heappop(queue)
        if i not in reached:
            reached[i] = length
            for j, step in links[i]:
                if j not in reached:
                    heapq.heappush(queue, (length + step, j))
    return reached


# ------------------------------------------------- checks: each gives claim, violations, detail


def check_rows(a):
    """1. Rows are probability distributions."""
    wrong = sum(sum(row) != t or min(row) < 0 or t < 1 for row, t in zip(a.W, a.totals))
    most = max(a.totals).bit_length() - 1
    return "rows that are no distributions", wrong, f"{a.n} secrets, {a.k} reports, 2^{most}"


def check_inequalities(a):
    """2. The inequalities on the binding links; a zero beside a positive weight violates one."""
    wrong = 0
    for i, j in a.binding:
        low, _ = a.factor((i, j))
        p, q = a.totals[j], a.totals[i]  # x / q and y / p are the probabilities
        for x, y in zip(a.W[i], a.W[j]):
            wrong += x * p << BITS > y * q * low or y * q << BITS > x * p * low
    detail = f"{2 * len(a.binding) * a.k} on {len(a.binding)} binding links"
    return "inequalities violated", wrong, detail


def check_paths(a):
    """2. Paths over binding links stand for all constrained pairs, and the scope tells the truth."""
    links = {i: [] for i in range(a.n)}
    for i, j in a.binding:
        links[i].append((j, a.D[i, j]))
        links[j].append((i, a.D[i, j]))
    whole = a.scope["all_pairs_epsilon"] and Fraction(a.scope["all_pairs_epsilon"])
    uncovered, beyond, groups, seen = 0, 0, 0, set()
    for i in range(a.n):
        if i not in seen:
            groups += 1
            seen |= shortest_paths(i, links).keys()
        # A binding link is a path itself; only the other pairs need a search.
        others = [j for j in range(i + 1, a.n) if (i, j) not in a.binding]
        reached = {j: d for j, d in links[i] if i < j}
        reached |= shortest_paths(i, links) if others else {}
        for j in range(i + 1, a.n):
            d, path = a.D[i, j], reached.get(j)
            uncovered += (i, j) in a.constrained and (path is None or path > d)
            beyond += whole is not None and (path is None or a.epsilon * path > whole * d)
    alone = [i for i in range(a.n) if not links[i] and a.n > 1]
    told = [a.scope[name] for name in ("n_secrets", "joined", "components", "isolated", "space")]
    truth = [a.n, len(a.joined), groups, alone, space_digest(a)]
    misstated = sum(x != y for x, y in zip(told, truth))
    detail = f"{len(a.joined)} joined links, {groups} group(s), {len(alone)} isolated"
    yield "constrained pairs not covered", uncovered, f"{len(a.constrained)} pairs"
    stated = f"{float(whole):.6g} per unit" if whole else "none stated"
    yield "pairs beyond the all-pairs epsilon", beyond, stated
    yield "facts misstated in the scope", misstated, detail


def space_digest(a):
    """SHA-256 of the unit, the scale and the matrix of distances: what the guarantee is bound to."""
    head = {"n": a.n, "scale_bits": a.scale, "unit": a.meta["space"]["unit"]}
    text = json.dumps(head, separators=(",", ":")).encode()
    rows = (a.D.get((min(i, j), max(i, j)), 0) for i in range(a.n) for j in range(a.n))
    body = b"".join(d.to_bytes(8, "little") for d in rows)
    return hashlib.sha256(b"discreet space 1\n" + text + b"\n" + body).hexdigest()


def check_distances(a):
    """3. Stored distances are at most those of the points: exact sums, or sums of squares."""
    metric, cell = a.meta["space"]["metric"], a.meta["space"]["cell"]
    # On a grid: rows and columns, in cells. Elsewhere: coordinates, in units of 1 / UNIT.
    (n, width), flat = a.places if cell else a.points
    plane = cell or metric in ("euclidean", "manhattan")
    require(not plane or (n == a.n and width), "points for other secrets")
    if not plane:
        return f"distances NOT CHECKED ({metric})", 0, "taken as the file states them"
    flat = list(flat) if cell else [exact(x) for x in flat]
    points = [flat[i * width : (i + 1) * width] for i in range(n)]
    step = (Fraction(cell) if cell else Fraction(1, UNIT)) * 2**a.scale
    power, wrong = 1 if metric == "manhattan" else 2, 0
    for (i, j), d in a.D.items():
        true = sum(abs(x - y) ** power for x, y in zip(points[i], points[j]))
        wrong += (d * step.denominator) ** power > true * step.numerator**power
    return "distances above the true ones", wrong, f"{len(a.D)} {metric} distances"


def check_loss(a):
    """4. The expected loss is at most the stated one."""
    total = sum(c * w for costs, row in zip(a.cost, a.W) for c, w in zip(costs, row))
    loss = Fraction(total, UNIT * a.totals[0])
    wrong = loss > Fraction(a.upper) or min(map(min, a.cost)) < 0
    return "expected loss above the stated one", int(wrong), f"{float(loss)!r} <= {a.upper!r}"


def check_bound(a):
    """5. The multipliers prove the stated lower bound."""
    if a.lower is None:
        return "lower bound not proved", 0, "none stated"
    label, foreign = list(range(a.n)), 0
    for i, j in sorted(a.constrained):
        if a.D[i, j] == 0 and label[j] == j:
            label[j] = label[i]  # secrets at distance 0 share the label of the first of them
    columns = [[0] * a.n for _ in range(a.k)]
    for i, costs in enumerate(a.cost):
        for k, cost in enumerate(costs):
            columns[k][label[i]] += cost
    for k, i, j, value in a.multipliers:
        pair = min(i, j), max(i, j)
        stated = 0 <= k < a.k and pair in a.constrained and value >= 0
        if not stated or a.factor(pair)[1] is None:
            foreign += 1
        elif label[i] != label[j]:
            columns[k][label[i]] += exact(value)
            columns[k][label[j]] -= -(-exact(value) * a.factor(pair)[1] >> BITS)
    # No loss is negative, whatever the multipliers prove.
    least = max(0, sum(min(column[i] for column in columns) for i in set(label)))
    wrong = foreign or Fraction(least, UNIT) < Fraction(a.lower)
    detail = f"{least / UNIT!r} >= {a.lower!r}, {len(a.multipliers)} multipliers"
    return "lower bound not proved", int(wrong), detail


def verify(a):
    """Make all checks."""
    yield check_rows(a)
    yield check_inequalities(a)
    yield from check_paths(a)
    yield check_distances(a)
    if not a.anchored:
        yield check_loss(a)
        yield check_bound(a)
    yield "randomness from a seed", int(a.meta["provenance"]["seeded"] is not False), ""


def main(arguments):
    """Print the table; return the exit status."""
    if len(arguments) != 1:
        print("usage: python verify_standalone.py FILE", file=sys.stderr)
        return 2
    try:
        a = Artefact(arguments[0])
        checks = list(verify(a))
    except NotCheckedError as reason:
        print(f"{arguments[0]} is NOT CHECKED: {reason}", file=sys.stderr)
        return 2
    except Exception as error:  # noqa: BLE001 - what cannot be read proves nothing, whatever the reason
        reason = f"{type(error).__name__}: {error}"
        print(f"{arguments[0]} is not a whole artefact: {reason}", file=sys.stderr)
        return 2
    unit, radius = a.claim["unit"], a.claim["radius"]
    pairs = "all pairs" if radius is None else f"pairs within {radius} {unit}"
    print(f"metric differential privacy, epsilon {a.epsilon} per {unit}, {pairs}")
    for claim, violations, detail in checks:
        print(f"{'FAILED' if violations else 'ok':8}{claim:40}{violations:>9}   {detail}".rstrip())
    return 1 if any(violations for _, violations, _ in checks) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
