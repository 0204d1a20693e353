"""Check a channel made by discreet without discreet: Python 3.11 and its standard library, nothing else.

    python verify_standalone.py FILE        exit 0: all of it holds; 1: something does not; 2: FILE is no whole channel;
                                            3: NOT CHECKED: it may be right, and this program is not the one to say so

FILE is a zip of ``meta.json`` and plain ``.npy`` arrays. Let ``W`` be the stored integer weights, ``T`` the total of
a row, ``D`` the stored integer distances in units of ``2^-s``, and ``epsilon`` the stated budget per unit of distance.
The constrained pairs are those with ``D`` within the stated radius (all pairs where none is stated) and the stored
joined links. This file proves, about the numbers in FILE and in integers throughout:

1. Channel: weights are non-negative and each row sums to ``T``, so that ``Pr[report k | secret i] = W[i][k] / T``.
2. Privacy: ``W[i][k] <= e^(epsilon D[i][j] / 2^s) W[j][k]`` for all reports k and all constrained pairs, both ways.
   This is checked on the stored binding links. Along a path of links the factors multiply, so it holds for every pair
   that a path no longer than ``D`` joins; that each constrained pair has such a path is checked too. So are the
   stated epsilon for all pairs, the number of joined links, and the groups that nothing joins.
3. Distances: no ``D`` exceeds the distance of the stored points, so that what is proved for ``D`` holds for the true
   distances: in integers where the space is euclidean, manhattan or a whole grid, else in floats, up to 1e-10 of the
   extent (hyperbolic: of each). Distances of graphs and matrices have no points, and are taken as FILE states them.
4. Loss: the expected loss ``sum cost[i][k] W[i][k] / T`` is at most the stated upper bound. ``cost`` is the float64
   product of prior and utility loss; the problem is stated in these numbers.
5. Bound: no channel that keeps the constrained pairs loses less than the stated lower bound. With ``v >= 0`` for
   constraints ``z[i][k] <= e^(epsilon d) z[j][k]``, every such channel has ``sum cost z >= sum cost z + sum v (z[i][k]
   - e^(epsilon d) z[j][k])``, and this is at least the sum over secrets of the least coefficient in their rows.
   Secrets at distance 0 must have equal rows and count as one. Any multipliers ``v`` prove a bound, whoever found them.

A channel of the kind "anchored" has no stored weights. They follow from a few integers: report k has a center ``o``, a
weight ``A`` there, and ``W[i][k] = m + floor(A E(D[i][o]) / 2^62)`` with a lift ``m`` and ``E`` a product of stored
factors, or an explicit weight. Rows then have totals ``T[i]`` of their own, and 2 is about ``W[i][k] / T[i]``. Such a
file states neither loss nor bound. It also states by which part of epsilon the totals may differ, the rest being for
the columns: ``discreet verify`` checks such files by a theorem about the two, and a file that keeps its promise in
another way is NOT CHECKED. So is one beyond 5120 secrets, which holds no distances.

A mechanism for every point of a region (text of the form "discreet.lrgeo.noise") is a box of square cells and one table
of integer noise ``w`` on a torus. A point draws a control point by the biquadratic B-spline weights of its cell, adds
noise, and the node so reached is renamed. So each node's probability is a spline whose coefficients are ``w`` in some
order, and names only add nodes up. This file proves that ``w`` is a distribution and that at each knot and middle of
two neighbors, in both axes, the slope is at most epsilon times the value, in integers. These are Bernstein
coefficients, of a cell and of its gradient raised to the same degree; such polynomials are not negative, so that the
logarithm of a report's probability is Lipschitz along each segment of the box, and the promise holds between any two
points. On a sphere, that the plane lengthens no distance is decided in floats. Bounds are stated there without proof:
not checked.

Its second form ("discreet.lrgeo.lattice") is such a box, with a row of weights for each control point in place of
noise. A point draws a control point in the same way, then a report from its row, so that each report's probability is a
spline whose coefficients are its weights. This file proves that each row sums to its total, and makes the comparison of
the first form for each report at each knot and middle of the box.

Where this program says 0, ``discreet verify --optimality`` passes FILE (``discreet verify`` where it is about points),
and where it says 1 or 2 that refuses it. What FILE holds is printed escaped, on one line, and cut at 200 characters.

Not proved here: that a sampler draws from these weights, and that what the file lists as assumed public is public.
"""
# ruff: noqa: ANN001, ANN201, ANN204, B905, T201 - a script to be read: its prose says the types, and it prints

import array
import ast
import base64
import hashlib
import heapq
import json
import math
import os
import re
import sys
import zipfile
from fractions import Fraction
from itertools import combinations, product
from math import prod

BITS = 128  # fractional bits of every bracket of e^x
FAR = 2000  # beyond this exponent, e^x outgrows every ratio of weights, and every ratio of floats
UNIT = 1 << 1074  # every finite float is an integer multiple of 1 / UNIT
CODES = {"<u8": "Q", "<i8": "q", "<i4": "i", "<f8": "d"}
METRICS = [
    "euclidean",
    "manhattan",
    "haversine",
    "angular",
    "hyperbolic",
    "grid",
    "graph",
    "matrix",
]
UNITS = {"haversine": ("km", "m"), "angular": ("rad",)}  # of metrics that have one of their own
NAME = r"°?[^\W\d_]{1,16}[0-9]?"
WORD = re.compile(rf"1|%|°|{NAME}(?:-{NAME})?")  # a unit: a sentence would be a claim
MULTIPLIERS = [f"multipliers_{part}" for part in ("report", "source", "target", "value")]
BALL = ["ball_secrets", "ball_reports", "ball_weights"]
PLACED = {"distances": "<i8", "points": "<f8", "places": "<i8", "binding": "<i4"}
MEMBERS = {  # the arrays that each kind of file may have, and their types
    "channel": {
        **PLACED,
        "limbs": "<u8",
        "loss": "<f8",
        "prior": "<f8",
        "reports": "<i8",
        "joined": "<i4",
        **dict(zip(MULTIPLIERS, ["<i4", "<i4", "<i4", "<f8"])),
    },
    "anchored": {
        **PLACED,
        **dict.fromkeys(["centers", "anchors", "names", "factors", *BALL], "<i8"),
    },
}
NEEDED = {
    "channel": {"limbs", "distances", "joined", "binding", "loss", "prior"},
    "anchored": {"centers", "anchors", "factors", "distances", "binding"},
}
TEXT, WHOLE, FLAG, NUMBER, EXACT = (str,), (int,), (bool,), (int, float), (int, float, str)
SHAPE = {  # of meta.json: a type, one shape for all of a list, or a mapping with these keys
    "guarantee": {
        "kind": TEXT,
        "unit": TEXT,
        "epsilon": EXACT,
        "radius": (*EXACT, type(None)),
        "scope": {
            "space": TEXT,
            "n_secrets": WHOLE,
            "all_pairs_epsilon": (*EXACT, type(None)),
            "components": WHOLE,
            "isolated": [WHOLE],
            "joined": WHOLE,
        },
    },
    "certificate": {
        "passed": FLAG,
        "checks": [
            {"name": TEXT, "residual": EXACT, "limit": EXACT, "exact": FLAG}
            | {"passed": FLAG, "detail": TEXT}
        ],
    },
    "provenance": {
        "method": TEXT,
        "parameters": (dict,),
        "versions": (dict,),  # of text
        "method_trace": [TEXT],
        "seeded": FLAG,
        "assumed_public": [{"name": TEXT, "digest": TEXT, "description": TEXT}],
    },
    "space": {"unit": TEXT, "metric": TEXT, "scale_bits": WHOLE, "digest": TEXT}
    | {"cell": (*EXACT, type(None))},
    "labels": (list, type(None)),
}


# ------------------------------------------------------------------------------------- reading


class NotCheckedError(Exception):
    """The file may be right, and this program is not the one to say so."""


def require(claim, otherwise):
    """Stop where the file is not what an artefact is."""
    if not claim:
        raise ValueError(otherwise)


def expect(claim, otherwise):
    """Stop where the file is not written as files are, whatever ``discreet verify`` may say of it."""
    if not claim:
        raise NotCheckedError(f"{otherwise}; use discreet verify")


def shown(value, most=200):
    """Give what may come from a file as plain characters of one line, and not too many of them."""
    text = str(value)[: most + 1]
    plain = "".join(one if " " <= one <= "~" else ascii(one)[1:-1] for one in text)
    return plain if len(plain) <= most else f"{plain[: most - 3]}..."


def number(value, name):
    """Read a number exactly, but none that is short as text and long as an integer; floats by their shortest text."""
    require(type(value) in EXACT, f"{name} is no number")
    text = str(value).strip()
    power = text.lower().partition("e")[2] or "0"
    require(len(text) <= 1000 and abs(int(power)) <= 1000, f"{name} is too long a number")
    return Fraction(text)


def measured(value, name):
    """Read a budget or a distance: positive, and neither beyond all floats nor below them."""
    found = number(value, name)
    require(Fraction(1, 10**300) <= found <= 10**300, f"{name} is no positive number")
    return found


def finite(text):
    """Read a float of JSON, which knows no infinity."""
    require(math.isfinite(float(text)), "a number of meta.json is not finite")
    return float(text)


def fits(value, shape):
    """Tell whether a value of JSON has a shape."""
    if isinstance(shape, dict):
        known = type(value) is dict and value.keys() - {"n", "per_unit"} == shape.keys()
        return known and all(fits(value[name], part) for name, part in shape.items())
    if isinstance(shape, list):
        return type(value) is list and all(fits(one, shape[0]) for one in value)
    return type(value) in shape


def read(path):
    """Return the metadata and the arrays ``{name: (shape, values)}``, each with its stated hash."""
    with open(path, "rb") as file:  # noqa: PTH123 - fewer imports
        expect(file.read(1) != b"{", "text, as the mechanism of a location service is")
    with open(path, "rb") as file, zipfile.ZipFile(file) as archive:  # noqa: PTH123 - as above
        members = archive.infolist()
        stored = all(member.compress_type == zipfile.ZIP_STORED for member in members)
        size = sum(member.file_size for member in members)
        require(stored and size <= file.seek(0, 2), "members are not stored as they are")
        data = {member.filename: archive.read(member) for member in members}
    require(len(data) == len(members), "a member comes twice")
    text = data.pop("meta.json")
    meta = json.loads(text, object_pairs_hook=once, parse_float=finite, parse_constant=finite)
    kind, version = meta["kind"], (meta["format"], meta["schema_version"])
    known = version == ("discreet.artefact", 1) and kind in MEMBERS
    require(known, f"not a channel of version 1: {kind}, {version}")
    for name in data.keys() | meta["members"].keys():
        digest = hashlib.sha256(data[name]).hexdigest()
        require(digest == meta["members"][name]["sha256"], f"{name} was altered")
    types = {f"{name}.npy": one for name, one in MEMBERS[kind].items()}
    require(data.keys() <= types.keys(), "a member that no such file has")
    missing = {f"{name}.npy" for name in NEEDED[kind]} - data.keys() or {"none"}
    # Beyond 5120 secrets an anchored channel has neither.
    bare = kind == "anchored" and missing & {"distances.npy", "binding.npy"}
    expect(not bare, f"{meta['space'].get('n')} secrets without distances and links")
    require(missing == {"none"}, f"no {min(missing)}")
    odd = [name for name, shape in SHAPE.items() if not fits(meta[name], shape)]
    expect(not odd, f"{' and '.join(odd)} in another form than files have")
    expect(fits([*meta["provenance"]["versions"].values()], [TEXT]), "versions that are not text")
    for check in meta["certificate"]["checks"]:
        for part in {check["residual"], check["limit"]} - {"inf", "-inf", "nan"}:
            number(part, check["name"])
    return meta, {name.removesuffix(".npy"): npy(name, data[name], types[name]) for name in data}


def once(pairs):
    """Take a mapping of JSON, and refuse a key that comes twice."""
    require(len(dict(pairs)) == len(pairs), "a key comes twice in meta.json")
    return dict(pairs)


def npy(name, data, kind):
    """Read a ``.npy`` array of version 1.0 in C order and of a known type: its shape and its flat values."""
    require(data[:8] == b"\x93NUMPY\x01\x00", f"{name} is no .npy array of version 1.0")
    start = 10 + int.from_bytes(data[8:10], "little")
    head = ast.literal_eval(data[10:start].decode("latin-1").strip())
    plain = re.fullmatch("[<>|][a-z][0-9]+", str(head["descr"])) and len(head) == 3
    whole = type(head["shape"]) is tuple and all(type(one) is int for one in head["shape"])
    expect(plain and whole and type(head["fortran_order"]) is bool, f"{name} has an odd head")
    require(head["descr"] == kind and not head["fortran_order"], f"{name}: {head}")
    values = array.array(CODES[kind], data[start:])
    size = prod(head["shape"])
    require(len(values) == size and min(head["shape"], default=0) >= 0, f"{name} is cut short")
    if sys.byteorder == "big":
        values.byteswap()
    return head["shape"], values


class Artefact:
    """The numbers of a file under short names. Shapes are checked here, claims are not."""

    def __init__(self, path):
        self.meta, arrays = read(path)
        self.claim, self.scope = self.meta["guarantee"], self.meta["guarantee"]["scope"]
        self.anchored = self.meta["kind"] == "anchored"
        self.space = space = self.meta["space"]
        metric, unit, self.scale = space["metric"], space["unit"], space["scale_bits"]
        require(self.claim["kind"] == "metric-dp", "not a claim of metric privacy")
        require(self.claim["unit"] == unit, "epsilon per another unit than distances")
        require(metric in METRICS and 0 <= self.scale <= 400, "no metric space")
        word = WORD.fullmatch(unit) is not None
        require(word and unit in UNITS.get(metric, (unit,)), "a unit that it does not have")
        self.epsilon = measured(self.claim["epsilon"], "epsilon")
        whole = self.scope["all_pairs_epsilon"]
        self.whole = None if whole is None else measured(whole, "the all-pairs epsilon")
        require(len(arrays["distances"][0]) == 1, "distances of another shape")
        self.n = n = space["n"] if self.anchored else arrays["limbs"][0][1]
        expect(type(n) is int and 0 < n <= 5120, f"{n} secrets")
        require(len(arrays["distances"][1]) == n * (n - 1) // 2, "distances of another shape")
        self.D = dict(zip(combinations(range(n), 2), arrays["distances"][1]))
        require(min(self.D.values(), default=0) >= 0, "a distance is negative")
        require(max(self.D.values(), default=0) < 1 << 52, "a distance is beyond all")
        self.read_places(arrays)
        self.read_labels()
        self.lower = self.upper = None
        self.W, self.totals = (anchored if self.anchored else table)(self, arrays)
        self.k, self.factors = len(self.W[0]), {}
        self.binding, self.joined = pairs(self, arrays, "binding"), pairs(self, arrays, "joined")
        radius = self.claim["radius"]
        self.near = set(self.D)
        if radius is not None:
            reach = measured(radius, "the radius") * 2**self.scale
            self.near = {pair for pair, d in self.D.items() if d <= reach}
        self.constrained = self.joined | self.near
        if not self.anchored:
            self.read_problem(arrays)

    def read_places(self, arrays):
        """Take the points, and the rows and columns of a grid."""
        n, cell = self.n, self.space["cell"]
        self.points, self.places, self.cell = None, None, None
        if "points" in arrays:
            shape, flat = arrays["points"]
            require(len(shape) == 2 and shape[0] == n, "points for other secrets")
            self.points = [list(flat[i * shape[1] : (i + 1) * shape[1]]) for i in range(n)]
        if cell is not None:
            shape, flat = arrays["places"]
            require(self.space["metric"] == "grid", "a cell, and of no grid")
            require(shape == (n, 2), "places for other secrets")
            require(max(map(abs, flat)) < 1 << 31, "a place is beyond all")
            self.cell, self.places = number(cell, "the cell"), list(zip(flat[::2], flat[1::2]))
            require(self.cell > 0, "no side of a cell")

    def read_labels(self):
        """See that labels are different names, and that there are as many as secrets."""
        labels = self.meta["labels"]
        if labels is not None:
            expect(all(type(label) is str for label in labels), "labels that are not text")
            require(len(set(labels)) == len(labels) == self.n, "labels of other secrets")

    def read_problem(self, arrays):
        """Take the prior, the losses, the stated bounds, and the multipliers of the lower one."""
        n, k, meta = self.n, self.k, self.meta
        require(arrays["loss"][0] == (n, k), f"loss has shape {arrays['loss'][0]}, not {(n, k)}")
        require(arrays["prior"][0] == (n,), f"prior has shape {arrays['prior'][0]}, not {(n,)}")
        # A negative zero is a zero, also in what is hashed.
        loss, prior = (
            array.array("d", (x + 0.0 for x in arrays[name][1])) for name in ("loss", "prior")
        )
        off = abs(math.fsum(prior) - 1)
        require(min(prior) >= 0 and off < 1.1e-9, "a prior that is none")
        expect(off < 0.9e-9, "a prior that sums to 1 just so")
        shape, reports = arrays.get("reports", ((k,), range(n) if k == n else None))
        right = reports is None or (len(set(reports)) == k and set(reports) <= set(range(n)))
        require(shape == (k,) and right, "reports that are no different secrets")
        told = {one["name"]: one["digest"] for one in meta["provenance"]["assumed_public"]}
        public = {"space": self.space["digest"], "utility_loss": hash_of((n, k), loss)}
        public["prior"] = hash_of((n,), prior)
        if reports is not None:
            public["reports"] = hash_of((k,), array.array("q", reports))
        same = all(told.get(name) == found for name, found in public.items())
        require(not told or same, "what was assumed public has another hash")
        require("status" in meta, "no status")
        require(type(meta["upper"]) in NUMBER, "an upper bound that is no number")
        require(type(meta["lower"]) in (*NUMBER, type(None)), "a lower bound that is no number")
        self.upper = float(meta["upper"])
        self.lower = None if meta["lower"] is None else float(meta["lower"])
        there = [name for name in MULTIPLIERS if name in arrays]
        required = MULTIPLIERS if there or self.lower is not None else []
        require(all(len(arrays[name][0]) == 1 for name in required), "multipliers of another shape")
        self.multipliers = list(zip(*(arrays[name][1] for name in required), strict=True))
        self.least_loss = min(loss)
        self.cost = [[exact(prior[i] * one) for one in loss[i * k : (i + 1) * k]] for i in range(n)]

    def factor(self, pair):
        """Integers around ``2^BITS e^(epsilon d)``; beyond e^FAR the upper one is missing."""
        d = self.D[pair]
        if d not in self.factors:
            x = self.epsilon * d / 2**self.scale
            low, high = exp_bounds(min(x, Fraction(FAR)), BITS)
            self.factors[d] = low, high if x <= FAR else None
        return self.factors[d]


def pairs(a, arrays, name):
    """Return the pairs of a member, the lesser secret first and none twice."""
    shape, ends = arrays.get(name, ((0, 2), []))
    found = set(zip(ends[::2], ends[1::2]))
    right = shape == (len(found), 2) and found <= a.D.keys()
    # What an anchored channel may hold of this is not looked at by others.
    (expect if a.anchored else require)(right, f"{name}: a link joins secrets not there, or twice")
    return found


def hash_of(shape, values):
    """SHA-256 of an array of eight bytes a number: its shape, its type, and its little-endian bytes."""
    flat = array.array(values.typecode, values)
    if sys.byteorder == "big":
        flat.byteswap()
    kind = {"d": "<f8", "q": "<i8"}[values.typecode]
    return hashlib.sha256(f"{shape} {kind}".encode() + flat.tobytes()).hexdigest()


def table(_, arrays):
    """Return stored weights, and the total that each row should have."""
    (limbs, n, k), flat = arrays["limbs"]
    first, base = n * k, 1 << 62
    require(n * k > 0 and 0 < limbs <= 16, "a channel without secrets, reports or weights")
    carried = max(flat[first:], default=0) >= base
    require(max(flat[:first]) <= base and not carried, "a limb is beyond its base")
    weights = [[0] * k for _ in range(n)]
    for place, limb in enumerate(flat):
        weights[place // k % n][place % k] += limb << 62 * (limbs - 1 - place // (n * k))
    return weights, [1 << 62 * limbs] * n


def anchored(a, arrays):
    """Return weights that are computed from few integers, and the totals of the rows."""
    lift, rate = a.meta["lift"], measured(a.meta["rate"], "the rate")
    shape, factors = arrays["factors"]
    require(shape == (7, 256), "factors of another shape")
    flat = [arrays.get(name, ((0,), array.array("q"))) for name in BALL]
    given = [arrays[name] for name in ("centers", "anchors")]
    given.append(arrays.get("names", given[0]))
    require(len({shape for shape, _ in given}) == 1 < len(given[0][0]) + 1, "not one for each")
    require(len({shape for shape, _ in flat}) == 1 == len(flat[0][0]), "half a ball")
    (centers, anchors, names), ball = ([part for _, part in some] for some in (given, flat))
    require(all(o in range(a.n) for o in centers) and min(names) >= 0, "a center is no secret")
    most = 1 << 56
    require(type(lift) is int and 0 < lift < most, "no lift")
    require(min(anchors) >= 0 and max(anchors) <= most, "an anchor out of range")
    inside = dict(zip(zip(*ball[:2]), ball[2]))
    require(len(inside) == len(ball[0]), "an explicit weight comes twice")
    places = all(i in range(a.n) and k in range(len(centers)) for i, k in inside)
    require(
        places and all(0 < w <= most for w in inside.values()), "an explicit weight out of range"
    )
    sums = [0] * a.n
    for (i, _), weight in inside.items():
        sums[i] += weight
    total = sum(anchors) + len(centers) * lift
    expect(total + max(sums) * 1.02 < 1 << 62, "sums near 2^62")
    expect(all(is_factor(factors[at], rate, a.scale, at) for at in range(1792)), "odd factors")
    a.rate, a.share = rate, number(a.meta["totals_share"], "the share of the totals")
    a.centers = sorted(set(centers))
    head = {"lift": lift, "rate": str(rate), "reports": len(centers), "space": a.space["digest"]}
    text = json.dumps(head, sort_keys=True, separators=(",", ":")).encode()
    order = sorted(inside)
    columns = [[i for i, _ in order], [k for _, k in order], [inside[one] for one in order]]
    body = b"".join(
        one.to_bytes(8, "little") for part in (centers, anchors, names, *columns) for one in part
    )
    found = hashlib.sha256(b"discreet.anchored/1 " + text + b"\n" + body).hexdigest()
    require(found == a.meta["channel"], "the channel has another digest")

    def decayed(length):  # noqa: ANN202 - as above
        """Multiply the factors of the digits to base 256, rounded down each time."""
        product = factors[length & 255]
        for place in range(1, 7):
            product = product * factors[256 * place + (length >> 8 * place & 255)] >> 62
        return product

    known = {length: decayed(length) for length in {0, *a.D.values()}}
    weights = [
        [
            lift + (weight * known[0 if i == o else a.D[min(i, o), max(i, o)]] >> 62)
            for o, weight in zip(centers, anchors)
        ]
        for i in range(a.n)
    ]
    for (i, k), weight in inside.items():
        weights[i][k] = weight
    return weights, [sum(row) for row in weights]


def is_factor(factor, rate, scale, at):
    """Tell whether a factor is ``2^62 e^-x`` rounded down, for the digit and the place that it belongs to."""
    x = rate / 2**scale * (at % 256 << 8 * (at // 256))
    if x == 0 or x > 62:
        return factor == (0 if x else 1 << 62)
    low, high = exp_bounds(x, 200)
    # With 30 more bits: where these are 0, another program may have rounded to the integer below.
    least, most = (1 << 292) // high, (1 << 292) // low
    return factor == least >> 30 == most >> 30 and (least & (1 << 30) - 1 > 0 or factor == 0)


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
    uncovered, beyond, groups, seen = len(a.binding - a.constrained), 0, 0, set()
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
            beyond += a.whole is not None and (path is None or a.epsilon * path > a.whole * d)
    alone = {i for i in range(a.n) if not links[i] and groups > 1}
    found, added = digest(a), len(a.joined - a.near)
    told = [a.scope[name] for name in ("n_secrets", "joined", "components", "space")]
    misstated = sum(x != y for x, y in zip(told, [a.n, added, groups, found]))
    misstated += (sorted(a.scope["isolated"]) != sorted(alone)) + (a.space["digest"] != found)
    # Discreet does not read the links of an anchored channel, but finds its own.
    expect(not (a.anchored and uncovered), "links that do not stand for all pairs")
    if a.anchored:
        misstated += a.whole is None or groups > 1 or a.scope["isolated"] != []
    detail = f"{added} joined links, {groups} group(s), {len(alone)} isolated"
    yield "constrained pairs not covered", uncovered, f"{len(a.constrained)} pairs"
    stated = "none stated" if a.whole is None else f"{float(a.whole):.6g} per unit"
    yield "pairs beyond the all-pairs epsilon", beyond, stated
    yield "facts misstated in the scope", misstated, detail


def check_theorem(a):
    """2. What an anchored channel keeps is what the theorem says, whose conditions are looked at on the links."""
    share, shortest = a.share, min((a.D[pair] for pair in a.binding), default=0)
    columns, totals = ((part * a.epsilon / 2**a.scale) for part in (1 - share, share))
    slack = min(Fraction(1), (columns - a.rate / 2**a.scale) * shortest)
    right = 0 < share < 1 and slack > 0
    right = right and a.meta["lift"] >= math.ceil(2 / slack + 1 + slack / 6)
    for i, j in a.binding if right else ():
        d = a.D[i, j]
        ends = [[a.D.get((min(k, o), max(k, o)), 0) for o in a.centers] for k in (i, j)]
        right &= all(abs(x - y) <= d for x, y in zip(*ends))
        low, part = (exp_bounds(min(x * d, Fraction(FAR)), BITS)[0] for x in (columns, totals))
        wholes = [(a.totals[i], a.totals[j], part)] if share < Fraction(1, 2) else []
        compared = [*((x, y, low) for x, y in zip(a.W[i], a.W[j])), *wholes]
        right &= all(max(x, y) << BITS <= min(x, y) * most for x, y, most in compared)
    return "conditions of the theorem missed", 0 if right else None, f"lift {a.meta['lift']}"


def digest(a):
    """SHA-256 of the unit, the scale and the matrix of distances: what the guarantee is bound to."""
    head = {"n": a.n, "scale_bits": a.scale, "unit": a.space["unit"]}
    text = json.dumps(head, separators=(",", ":")).encode()
    rows = (a.D.get((min(i, j), max(i, j)), 0) for i in range(a.n) for j in range(a.n))
    body = b"".join(d.to_bytes(8, "little") for d in rows)
    return hashlib.sha256(b"discreet space 1\n" + text + b"\n" + body).hexdigest()


def check_distances(a):
    """3. Stored distances are at most those of the points."""
    metric, claim = a.space["metric"], "distances above the true ones"
    if metric in ("graph", "matrix"):
        return "distances taken as stated", 0, f"{metric}, without points to compare with"
    if a.points is None and not a.cell:
        return claim, a.n, f"no points for {metric} distances"
    if not all(abs(x) < 2.0**100 for point in a.points or () for x in point):
        return claim, a.n, "points that are no points"
    if a.cell:
        return claim, off_grid(a), f"{len(a.D)} grid distances, in integers"
    if metric in ("euclidean", "manhattan"):
        return claim, above_plane(a), f"{len(a.D)} {metric} distances, in integers"
    points, scale, room = in_floats(a, metric)
    if not points:
        return claim, a.n, f"points outside of what {metric} distances are about"
    wrong, close = 0, 0
    for (i, j), d in a.D.items():
        true = scale * apart(metric, points[i], points[j])
        room_here = room * true if metric == "hyperbolic" else room
        # Between the two limits floats can't say what another program finds.
        wrong += not d <= math.ldexp(true + 1.1 * room_here, a.scale)
        close += not d <= math.ldexp(true + 0.9 * room_here, a.scale)
    return claim, wrong or (None if close else 0), f"{len(a.D)} {metric} distances, in floats"


def off_grid(a):
    """Count pairs that are not as far apart as their cells, and points that are not the centers of these."""
    step, known = (a.cell * 2**a.scale) ** 2, {}

    def length(rows, columns):  # noqa: ANN202 - as above
        """Round down along each direction, so that twice as far is twice as long."""
        if (rows, columns) not in known:
            g = math.gcd(rows, columns) or 1
            square = ((rows // g) ** 2 + (columns // g) ** 2) * step
            known[rows, columns] = g * math.isqrt(square.numerator // square.denominator)
        return known[rows, columns]

    cells = [tuple(abs(x - y) for x, y in zip(*ends)) for ends in combinations(a.places, 2)]
    wrong = sum(d != length(*cell) for d, cell in zip(a.D.values(), cells))
    if not is_closed(a, length):
        return None
    if a.points is None or wrong:
        return wrong
    side = float(a.cell)
    centers = [(column * side, row * side) for row, column in a.places]
    off = [tuple(x - y for x, y in zip(*both, strict=True)) for both in zip(a.points, centers)]
    most = max(abs(x - y) for point in off for x, y in zip(point, off[0]))
    extent = max(abs(x) for point in (*a.points, *centers) for x in point)
    if not most <= 1.1e-9 * extent:
        return a.n
    return 0 if most <= 0.9e-9 * extent else None


def is_closed(a, length):
    """Tell whether lengths on the lattice keep the triangle inequality, as they do where cells are large in units."""
    high, wide = (max(line) - min(line) for line in zip(*a.places))
    if a.cell * 2**a.scale >= 8 * (high**2 + wide**2) ** 2:
        return True
    expect(high * wide < 1 << 12, "so many cells in a row that lengths may have been closed")
    steps = list(product(range(high + 1), range(wide + 1)))
    turns = list(product(range(-high, high + 1), range(-wide, wide + 1)))
    return all(
        length(abs(i + k), abs(j + m)) <= length(i, j) + length(abs(k), abs(m))
        for (i, j), (k, m) in product(steps, turns)
        if abs(i + k) <= high and abs(j + m) <= wide
    )


def above_plane(a):
    """Count pairs longer than their points are apart: exact sums, or sums of squares, in units of 1 / UNIT."""
    points = [[exact(x) for x in point] for point in a.points]
    step = Fraction(1, UNIT) * 2**a.scale
    power, wrong = 1 if a.space["metric"] == "manhattan" else 2, 0
    for (i, j), d in a.D.items():
        true = sum(abs(x - y) ** power for x, y in zip(points[i], points[j]))
        wrong += (d * step.denominator) ** power > true * step.numerator**power
    return wrong


def in_floats(a, metric):
    """Return what the distances of a metric are computed from, by what they are multiplied, and the room for floats.

    None where a point has no such distances: beyond a pole, without a direction, or on the sphere.
    """
    points, radius, width = a.points, 1.0, len(a.points[0])
    if metric == "haversine":
        radius = 6371.0088 * (1000 if a.space["unit"] == "m" else 1)
        if width != 2 or any(abs(x) > 90 or abs(y) > 360 for x, y in points):
            return None, radius, 0
        turned = [(math.radians(x), math.radians(y)) for x, y in points]
        points = [
            (math.cos(x) * math.cos(y), math.cos(x) * math.sin(y), math.sin(x)) for x, y in turned
        ]
    elif metric == "angular":
        if any(max(map(abs, point), default=0) < 2.0**-100 for point in points):
            return None, radius, 0
        points = [[x / math.hypot(*point) for x in point] for point in points]
    elif metric == "hyperbolic":
        depths = [1 - sum(Fraction(x) ** 2 for x in point) for point in points]
        if min(depths) <= Fraction(1, 1 << 500):
            return None, radius, 0
        points = list(zip(points, map(float, depths)))
    else:
        lines = list(zip(*points))
        return points, radius, 1e-10 * max((max(line) - min(line) for line in lines), default=0)
    return points, radius, radius * 1e-10


def apart(metric, p, q):
    """Compute a distance in floats: of two parts of a grid, two directions, or two points of the Poincare ball."""
    if metric == "grid":
        return math.dist(p, q)
    if metric == "hyperbolic":
        t = 2 * math.dist(p[0], q[0]) ** 2 / (p[1] * q[1])
        return math.log1p(t + math.sqrt(t) * math.sqrt(t + 2))
    total = math.hypot(*(x + y for x, y in zip(p, q)))
    return 2 * math.atan2(math.dist(p, q), total)


def check_loss(a):
    """4. The expected loss is at most the stated one."""
    total = sum(c * w for costs, row in zip(a.cost, a.W) for c, w in zip(costs, row))
    loss = Fraction(total, UNIT * a.totals[0])
    wrong = loss > Fraction(a.upper) or a.least_loss < 0
    return "expected loss above the stated one", int(wrong), f"{float(loss)!r} <= {a.upper!r}"


def check_bound(a):
    """5. The multipliers prove the stated lower bound."""
    if a.lower is None:
        strange = sum(min(k, i, j) < 0 or not 0 <= v < math.inf for k, i, j, v in a.multipliers)
        return "lower bound not proved", strange, "none stated"
    label, foreign = list(range(a.n)), 0
    for i, j in sorted(a.constrained):
        if a.D[i, j] == 0:
            # Secrets at distance 0 share the label of one of them.
            label = [label[i] if one == label[j] else one for one in label]
    room = sum(map(sum, a.cost))
    columns = [[0] * a.n for _ in range(a.k)]
    for i, costs in enumerate(a.cost):
        for k, cost in enumerate(costs):
            columns[k][label[i]] += cost
    for k, i, j, value in a.multipliers:
        pair = min(i, j), max(i, j)
        stated = 0 <= k < a.k and pair in a.constrained and value >= 0
        if not stated or (value and a.factor(pair)[1] is None):
            foreign += 1
        elif value and a.D[pair]:
            paid = -(-exact(value) * a.factor(pair)[1] >> BITS)
            room += exact(value) + paid
            columns[k][label[i]] += exact(value)
            columns[k][label[j]] -= paid
    # No loss is negative, whatever the multipliers prove.
    least = max(0, sum(min(column[i] for column in columns) for i in set(label)))
    stated = Fraction(a.lower) * UNIT
    wrong = foreign + (least < stated)
    if not wrong and 0 < least - stated < room >> 90:
        wrong = None  # nearer than another program may round
    detail = f"{least / UNIT!r} >= {a.lower!r}, {len(a.multipliers)} multipliers"
    return "lower bound not proved", wrong, detail


# ------------------------------------------------------------------------------------- every point

EVERYWHERE = {  # what both forms have
    *("form", "version", "unit", "origin", "east", "north", "reach", "reports", "shown", "bits"),
    *("guarantee", "certificate", "lower", "upper", "provenance", "digest"),
}
NOISE = {*EVERYWHERE, "low", "side", "cells", "torus", "noise", "names"}
LATTICE = {*EVERYWHERE, "low", "side", "cells", "weights", "mesh_lower"}
DECIMETERS = {"km": 10_000, "m": 10}
PI = Fraction("3.14159265358979323846264338327950288419716939937510")
PER_DEGREE = int(
    63_710_088 * PI / 180 * 2**20
)  # decimeters, times 2^20, on a sphere of 6371.0088 km
DECIMAL = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")


def canonical(value):
    """Write JSON in one way."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode()


def unpack(stated, width, most=2**62 - 1):
    """Read packed integers, in rows of some width, the largest of them at most so much above the least."""
    require(set(stated) == {"count", "bytes", "least", "data"}, "an array of another form")
    count, wide, least = stated["count"], stated["bytes"], stated["least"]
    require({type(count), type(wide), type(least)} == {int}, "an array of another form")
    require(0 < count <= 1 << 24 and 1 <= wide <= 8 and abs(least) < 1 << 62, "an array too long")
    body = base64.b64decode(stated["data"], validate=True)
    require(len(body) == count * wide and count % width == 0, "an array is cut short")
    flat = [int.from_bytes(body[at : at + wide], "little") for at in range(0, len(body), wide)]
    least_fits = least == 0 or (least < 0 and min(flat) == 0)
    require(least_fits and max(flat) <= most, "an array is written in another way")
    # Where all are negative, zero counts as the largest of them.
    top = max(*flat, -least)
    require(wide == max(1, -(-top.bit_length() // 8)), "an array is written in another way")
    flat = [one + least for one in flat]
    return [flat[at : at + width] for at in range(0, count, width)] if width > 1 else flat


def verdicts(checks):
    """Compute the verdicts of stated checks anew, from numbers that are written in the one way."""
    told = [one[part] for one in checks for part in ("residual", "limit")]
    infinite = {"inf", "-inf", "nan"}
    expect(all(one not in infinite for one in told), "a certificate with infinities")
    plain = all(str(number(one, "")) == one for one in told if type(one) is str)
    expect(plain, "numbers in another form")
    held = [number(one["residual"], "") <= number(one["limit"], "") for one in checks]
    require(held == [one["passed"] for one in checks], "a verdict that is another")
    return held


class Published:
    """The numbers of a mechanism of one line of text. Shapes are checked here, claims are not."""

    def __init__(self, data, names):
        meta = json.loads(data, object_pairs_hook=once, parse_float=finite, parse_constant=finite)
        version = meta.get("version")
        known = meta.keys() == names and type(version) is int and version == 1
        require(known, "no mechanism of version 1")
        require(canonical(meta) + b"\n" == data, "not written in the one way")
        bare = {name: meta[name] for name in names - {"digest"}}
        require(hashlib.sha256(canonical(bare)).hexdigest() == meta["digest"], "FILE was altered")
        for name in ("certificate", "provenance"):
            expect(fits(meta[name], SHAPE[name]), f"{name} in another form than files have")
        checks = meta["certificate"]["checks"]
        expect(fits([*meta["provenance"]["versions"].values()], [TEXT]), "versions not text")
        held = verdicts(checks)
        require(checks and all(held), "a certificate that failed")
        require(meta["certificate"]["passed"], "a certificate that failed")
        for name in names & {"lower", "mesh_lower", "upper"}:
            bound = meta[name]
            require(bound is None or repr(finite(bound)) == bound, f"{name} is no float")
        self.meta, self.claim, self.unit = meta, meta["guarantee"], meta["unit"]
        self.origin, self.bits = meta["origin"], meta["bits"]
        require(type(self.bits) is int, "a number that is no integer")
        require(self.unit in DECIMETERS, "another unit")
        self.read_texts()
        self.k = len(self.shown)
        names = {"kind", "epsilon", "unit", "radius", "scope"}
        require(self.claim.keys() == names and self.claim["kind"] == "metric-dp", "no such claim")
        require(self.claim["unit"] == self.unit, "epsilon per another unit")
        self.epsilon = measured(self.claim["epsilon"], "epsilon")
        require(str(self.epsilon) == self.claim["epsilon"], "epsilon written in another way")

    def read_texts(self):
        """Take the origin and what is told of reports."""
        texts = [] if self.origin is None else list(self.origin)
        require(self.origin is None or len(texts) == 2, "no origin")
        for pair in self.meta["shown"]:
            require(type(pair) is list and len(pair) == 2, "a report that is no place")
            texts += pair
        powers = [text.lower().partition("e")[2] or "0" for text in texts]
        plain = all(len(text) <= 60 and DECIMAL.fullmatch(text) for text in texts)
        require(plain and all(abs(int(power)) <= 40 for power in powers), "no decimal text")
        self.shown = [tuple(pair) for pair in self.meta["shown"]]


class Everywhere(Published):
    """The numbers of a mechanism for every point of a region."""

    def __init__(self, data, names):
        super().__init__(data, names)
        meta = self.meta
        self.reach, self.east, self.north = meta["reach"], meta["east"], meta["north"]
        whole = [self.reach, self.east, self.north]
        require(all(type(one) is int for one in whole), "a number that is no integer")
        require(len(unpack(meta["reports"], 2)) == self.k, "reports that are not told")

    def require_near(self):
        """Stop where something lies beyond what is counted in decimeters."""
        far = max(abs(one) for place in self.vertices for one in place)
        require(far < 1 << 30 and 0 <= self.reach < 1 << 30, "a place beyond all")


class Box(Everywhere):
    """A box of cells in the plane."""

    def __init__(self, data, names):
        super().__init__(data, names)
        (x, y), self.cells, self.side = self.pair("low"), self.pair("cells"), self.meta["side"]
        require(type(self.side) is int, "a number that is no integer")
        require(min(self.side, *self.cells) >= 1, "a box without cells")
        right, top = (low + count * self.side for low, count in zip((x, y), self.cells))
        self.vertices, self.outline = [[x, y], [right, y], [right, top], [x, top]], range(4)
        self.require_near()

    def pair(self, name):
        """Take two integers."""
        found = self.meta[name]
        require(type(found) is list and len(found) == 2, f"{name} is no pair of numbers")
        require(all(type(one) is int for one in found), "a number that is no integer")
        return found


class Lattice(Box):
    """A box of cells, and a row of weights for each control point."""

    def __init__(self, data):
        super().__init__(data, LATTICE)
        self.weights = unpack(self.meta["weights"], 1)
        self.n = prod(count + 2 for count in self.cells)
        require(self.k and len(self.weights) == self.n * self.k, "weights of other control points")


class Noise(Box):
    """A box of cells, a table of noise on a torus, and the report of each of its nodes."""

    def __init__(self, data):
        super().__init__(data, NOISE)
        (wide, tall), (m, n) = self.cells, self.pair("torus")
        require(m >= wide + 2 and n >= tall + 2 and m * n <= 1 << 22, "a torus of another size")
        self.torus = m, n
        self.noise, self.names = (unpack(self.meta[name], 1) for name in ("noise", "names"))
        require(len(self.noise) == len(self.names) == m * n, "noise or names of other nodes")


def check_sphere(p):
    """The plane lengthens no distance between points that are taken; great circles included."""
    if p.origin is None:
        whole = DECIMETERS[p.unit] * 2**20
        return "distances longer in the plane", int((p.east, p.north) != (whole, whole)), ""
    latitude, longitude = map(Fraction, p.origin)
    known = abs(latitude) <= 90 and -180 <= longitude <= 360
    wrong = not known or not 0 < p.east <= p.north <= PER_DEGREE
    if not wrong:
        low, high = (end(y for _, y in p.vertices) for end in (min, max))
        left, right = (end(x for x, _ in p.vertices) for end in (min, max))
        ends = [float(latitude) + y * 2**20 / p.north for y in (low - p.reach, high + p.reach)]
        top, width = max(map(abs, ends)), (right - left + 2 * p.reach) * 2**20 / p.east
        wrong = width > 20 or top > 88
        if not wrong:
            highest = math.atan(math.tan(math.radians(top)) / math.cos(math.radians(width / 2)))
            wrong = p.east > p.north * math.cos(highest) * (1 - 2.0**-31)
    return "distances longer in the plane", int(wrong), "in floats, with a margin of 2^-31"


def check_slopes(p):
    """No slope of the noise at a knot or a middle of the torus exceeds epsilon times the value there."""
    (m, n), rate = p.torus, p.epsilon * p.side / DECIMETERS[p.unit]
    top, below = rate.numerator**2, rate.denominator**2
    rows, wrong = [p.noise[at : at + n] for at in range(0, m * n, n)], 0
    for a in range(m):
        first, second, third = rows[a], rows[(a + 1) % m], rows[(a + 2) % m]
        knot = [u + v for u, v in zip(first, second)], [2 * (v - u) for u, v in zip(first, second)]
        middle = [2 * v for v in second], [w - u for u, w in zip(first, third)]
        for value, slope in (knot, middle):
            ahead = value[1:] + value[:1], value[2:] + value[:2], slope[1:] + slope[:1]
            for u, v, w, x, y in zip(value, ahead[0], ahead[1], slope, ahead[2]):
                # A knot between two columns, and the middle of the next one.
                wrong += ((x + y) ** 2 + 4 * (v - u) ** 2) * below > top * (u + v) ** 2
                wrong += (4 * y * y + (w - u) ** 2) * below > top * 4 * v * v
    return "inequalities violated", wrong, f"{4 * m * n} knots and middles of the torus"


def check_splines(p):
    """No report's slope at a knot or a middle of the box exceeds epsilon times its value there."""
    (wide, tall), k, rate = p.cells, p.k, p.epsilon * p.side / DECIMETERS[p.unit]
    top, below, wrong = rate.numerator**2, rate.denominator**2, 0
    # A column of control points at a time, with the rows of all of them one after the other.
    size = (tall + 2) * k
    columns = [p.weights[at : at + size] for at in range(0, len(p.weights), size)]
    for a, first in enumerate(columns[:-1]):
        second, lines = columns[a + 1], []
        both = list(zip(first, second))
        lines.append(([u + v for u, v in both], [2 * (v - u) for u, v in both]))
        if a < wide:
            ends = zip(first, columns[a + 2])
            lines.append(([2 * v for v in second], [w - u for u, w in ends]))
        for value, slope in lines:
            ahead, farther, beside = value[k:], value[2 * k :], slope[k:]
            for u, v, x, y in zip(value, ahead, slope, beside):
                wrong += ((x + y) ** 2 + 4 * (v - u) ** 2) * below > top * (u + v) ** 2
            for u, v, w, y in zip(value, ahead, farther, beside):
                wrong += (4 * y * y + (w - u) ** 2) * below > top * 4 * v * v
    nodes = (2 * wide + 1) * (2 * tall + 1)
    return "inequalities violated", wrong, f"{nodes} knots and middles, {k} reports each"


def check_region(p):
    """The claim is about all points of this region, and about nothing else."""
    named = {name: p.meta[name] for name in ("unit", "origin", "east", "north", "reach")}
    named["outline"] = [p.vertices[corner] for corner in p.outline]
    region = hashlib.sha256(b"discreet.points/1 " + canonical(named)).hexdigest()
    other = p.claim["radius"] is not None or p.claim["scope"] != {"region": region}
    return "another region than stated", int(other), ""


def verify_noise(p):
    """Make all checks of noise on a lattice."""
    total = 2**p.bits if 0 < p.bits <= 53 else -1
    nodes = f"{p.torus[0]} x {p.torus[1]} nodes"
    table = [
        ("noise of another sum", int(sum(p.noise) != total), f"{nodes}, {p.bits} bits"),
        ("negative noise", sum(one < 0 for one in p.noise), ""),
        ("names of no report", sum(not 0 <= one < p.k for one in p.names), f"{p.k} reports"),
        ("reports that are told alike", p.k - len(set(p.shown)), ""),
    ]
    yield from table
    if not any(found for _, found, _ in table):
        yield check_slopes(p)
    yield check_region(p)
    yield check_sphere(p)
    yield "randomness from a seed", int(p.meta["provenance"]["seeded"]), ""


def verify_lattice(p):
    """Make all checks of rows on a lattice."""
    total = 2**p.bits if 0 < p.bits <= 53 else -1
    rows = (p.weights[at : at + p.k] for at in range(0, len(p.weights), p.k))
    table = [
        ("row sums off", sum(sum(row) != total for row in rows), f"{p.n} rows of {p.bits} bits"),
        ("negative weights", sum(one < 0 for one in p.weights), ""),
        ("reports that are told alike", p.k - len(set(p.shown)), ""),
    ]
    yield from table
    if not any(found for _, found, _ in table):
        yield check_splines(p)
    yield check_region(p)
    yield check_sphere(p)
    yield "randomness from a seed", int(p.meta["provenance"]["seeded"]), ""


FORMS = {
    "discreet.lrgeo.noise": Noise,
    "discreet.lrgeo.lattice": Lattice,
}
GONE = ("discreet.lrgeo.points", "discreet.lrgeo.roads")  # forms that were never released


def everywhere(path):
    """Read a mechanism for every point of a region; nothing where a file is none."""
    # A pipe would wait for a writer, and a device has no end.
    is_odd = os.path.exists(path) and not os.path.isfile(path)  # noqa: PTH110, PTH113 - fewer imports
    require(not is_odd, "not a regular file")
    with open(path, "rb") as file:  # noqa: PTH123 - fewer imports
        data = file.read() if file.read(1) == b"{" else b""
    head = json.loads(b"{" + data, object_pairs_hook=once) if data else {}
    form = head.get("form")
    expect(form not in GONE, "a form that was never released; design it anew with discreet serve")
    return FORMS[form](b"{" + data) if type(form) is str and form in FORMS else None


def verify(a):
    """Make all checks."""
    if isinstance(a, Published):
        yield from verify_noise(a) if isinstance(a, Noise) else verify_lattice(a)
        return
    yield check_rows(a)
    yield check_inequalities(a)
    yield from check_paths(a)
    yield check_distances(a)
    if a.anchored:
        yield check_theorem(a)
    else:
        yield check_loss(a)
        yield check_bound(a)
    yield "randomness from a seed", int(a.meta["provenance"]["seeded"]), ""


def main(arguments):
    """Print the table; return the exit status."""
    if len(arguments) != 1:
        print("usage: python verify_standalone.py FILE", file=sys.stderr)
        return 2
    file = shown(arguments[0])
    try:
        a = everywhere(arguments[0]) or Artefact(arguments[0])
        checks = list(verify(a))
    except NotCheckedError as reason:
        print(f"{file} is NOT CHECKED: {shown(reason)}", file=sys.stderr)
        return 3
    except Exception as error:  # noqa: BLE001 - what cannot be read proves nothing, whatever the reason
        reason = shown(f"{type(error).__name__}: {error}")
        print(f"{file} is not a whole artefact: {reason}", file=sys.stderr)
        return 2
    unit, radius = shown(a.claim["unit"]), a.claim["radius"]
    pairs = "all pairs" if radius is None else f"pairs within {shown(radius)} {unit}"
    pairs = "any two points" if isinstance(a, Everywhere) else pairs
    epsilon = shown(a.claim["epsilon"])
    print(f"metric differential privacy, epsilon {epsilon} per {unit}, {pairs}")
    for claim, violations, detail in checks:
        said = "NOT CHECKED" if violations is None else "FAILED" if violations else "ok"
        found = "" if violations is None else violations
        print(f"{said:13}{claim:36}{found:>9}   {shown(detail)}".rstrip())
    if any(violations for _, violations, _ in checks):
        return 1
    return 3 if any(violations is None for _, violations, _ in checks) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
