"""Changes that mean something for a kind: a lie that is told in all places where it has to be."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core.errors import DiscreetError
from discreet.submodular.matroids.stored import matroid_from_dict
from forger.exactly import number

if TYPE_CHECKING:
    from pathlib import Path

Whole = dict[str, Callable[[Any, random.Random], object]]

FACTORS = (
    "1/1000000",
    "1/2",
    "9/10",
    "99/100",
    "999999/1000000",
    "1000001/1000000",
    "11/10",
    "2",
    "1000",
)


def _times(text: object, chance: random.Random) -> str:
    return str(number(str(text)) * Fraction(chance.choice(FACTORS)))


def _weight_moved(parts: Any, chance: random.Random) -> None:
    """Move a part of a weight to another report of the same secret, carries between limbs kept."""
    limbs = parts["arrays"]["limbs"]
    n_limbs, n, k = limbs.shape
    i, (a, b) = chance.randrange(n), chance.sample(range(k), 2)
    whole = [
        sum(int(limbs[at, i, c]) << 62 * (n_limbs - 1 - at) for at in range(n_limbs))
        for c in (a, b)
    ]
    part = whole[0] // chance.choice([1, 2, 10, 1000, 10**6, 10**12])
    for c, weight in ((a, whole[0] - part), (b, whole[1] + part)):
        for at in range(n_limbs):
            rest = weight >> 62 * (n_limbs - 1 - at)
            # The first limb holds a whole row of weight where there is one alone.
            limbs[at, i, c] = rest if at == 0 else rest & ((1 << 62) - 1)


def _row_as_another(parts: Any, chance: random.Random) -> None:
    limbs = parts["arrays"]["limbs"]
    one, other = chance.sample(range(limbs.shape[1]), 2)
    limbs[:, one] = limbs[:, other]


def _distance_longer(parts: Any, chance: random.Random) -> None:
    d = parts["arrays"]["distances"]
    at = chance.randrange(len(d))
    d[at] = int(d[at] * Fraction(chance.choice(FACTORS)))


def _all_longer(parts: Any, chance: random.Random) -> None:
    d, factor = parts["arrays"]["distances"], Fraction(chance.choice(FACTORS))
    d[:] = [int(x * factor) for x in d.tolist()]


def _point_moved(parts: Any, chance: random.Random) -> None:
    points = parts["arrays"]["points"]
    i, c = chance.randrange(points.shape[0]), chance.randrange(points.shape[1])
    points[i, c] += chance.choice([1e-14, 1e-10, -1e-6, 0.01, -0.3, 5.0])


def _stronger(parts: Any, chance: random.Random) -> None:
    claim = parts["meta"]["guarantee"]
    factor = Fraction(chance.choice(FACTORS))
    claim["epsilon"] = str(number(claim["epsilon"]) * factor)
    whole = claim["scope"]["all_pairs_epsilon"]
    if whole is not None and chance.random() < 0.7:
        claim["scope"]["all_pairs_epsilon"] = str(number(whole) * factor)


def _farther(parts: Any, chance: random.Random) -> None:
    claim = parts["meta"]["guarantee"]
    claim["radius"] = chance.choice([None, "1/10", "1", "2", "100", "1e300"])


def _other_unit(parts: Any, chance: random.Random) -> None:
    unit = chance.choice(["km", "m", "rad", "mi", "edit", "h"])
    parts["meta"]["guarantee"]["unit"] = parts["meta"]["space"]["unit"] = unit


def _other_metric(parts: Any, chance: random.Random) -> None:
    metrics = [
        "euclidean",
        "manhattan",
        "haversine",
        "angular",
        "hyperbolic",
        "grid",
        "graph",
        "matrix",
    ]
    parts["meta"]["space"]["metric"] = chance.choice(metrics)


def _other_scale(parts: Any, chance: random.Random) -> None:
    step = chance.choice([-3, -1, 1, 3])
    parts["meta"]["space"]["scale_bits"] += step
    if chance.random() < 0.5:
        d = parts["arrays"]["distances"]
        d[:] = [x << step if step > 0 else x >> -step for x in d.tolist()]


def _bounds(parts: Any, chance: random.Random) -> None:
    meta, name = parts["meta"], chance.choice(["lower", "upper"])
    meta[name] = (meta[name] or 0.1) * chance.choice(
        [0.5, 1 - 1e-9, 1 + 1e-12, 1 + 1e-9, 1.01, 2, 100]
    )


def _links(parts: Any, chance: random.Random) -> None:
    name = chance.choice(["binding", "joined"])
    links = parts["arrays"].get(name, np.zeros((0, 2), "<i4")).tolist()
    n = len(parts["arrays"]["distances"])
    n = next((size for size in range(1, 99) if size * (size - 1) // 2 == n), 2)
    extra = sorted(chance.sample(range(n), 2))
    made = [extra, *links] if chance.random() < 0.5 else links[1:]
    parts["arrays"][name] = np.array(sorted(map(list, {*map(tuple, made)})), "<i4").reshape(-1, 2)
    if chance.random() < 0.5:
        parts["meta"]["guarantee"]["scope"]["joined"] = len(parts["arrays"]["joined"])


def _seed(parts: Any, _: random.Random) -> None:
    parts["meta"]["provenance"]["seeded"] = True


def _other_cell(parts: Any, chance: random.Random) -> None:
    """Tell of larger cells, also where there is no grid, beside distances that fit them or do not."""
    meta, arrays = parts["meta"], parts["arrays"]
    factor = Fraction(chance.choice(FACTORS))
    meta["space"]["cell"] = str(number(meta["space"]["cell"] or 1) * factor)
    if "places" not in arrays:
        n = len(arrays["points"])
        arrays["places"] = np.stack([np.zeros(n), np.arange(n)], axis=1).astype("<i8")
        meta["space"]["metric"] = "grid"
    if chance.random() < 0.5:
        d = arrays["distances"]
        d[:] = [int(x * factor) for x in d.tolist()]


_PLACED: Whole = {
    "another cell": _other_cell,
    "a distance longer": _distance_longer,
    "all distances longer": _all_longer,
    "a point moved": _point_moved,
    "a stronger claim": _stronger,
    "another radius": _farther,
    "another unit": _other_unit,
    "another metric": _other_metric,
    "another scale": _other_scale,
    "made with a seed": _seed,
}

CHANNEL: Whole = {
    **_PLACED,
    "weight moved": _weight_moved,
    "a row as another": _row_as_another,
    "other bounds": _bounds,
    "other links": _links,
}


def _anchor(parts: Any, chance: random.Random) -> None:
    name = chance.choice(["anchors", "centers", "ball_weights", "ball_secrets", "names"])
    array = parts["arrays"].get(name, parts["arrays"]["anchors"])
    if len(array):
        array[chance.randrange(len(array))] = chance.choice(
            [0, 1, 2, 3, 2**30, 2**40, 2**50, 2**56]
        )


def _rate(parts: Any, chance: random.Random) -> None:
    """State another rate, and the factors that follow from it."""
    meta = parts["meta"]
    meta["rate"] = _times(meta["rate"], chance)
    if chance.random() < 0.7:
        rate, scale = float(number(meta["rate"])), meta["space"]["scale_bits"]
        table = parts["arrays"]["factors"]
        for j in range(7):
            for g in range(256):
                table[j, g] = min(
                    1 << 62, int(2.0**62 * np.exp(-min(700.0, rate * g * 256.0**j / 2.0**scale)))
                )


def _lift(parts: Any, chance: random.Random) -> None:
    inside = parts.get("meta", parts)
    inside["lift"] = max(0, int(inside["lift"] * Fraction(chance.choice(FACTORS))))


def _share(parts: Any, chance: random.Random) -> None:
    inside = parts.get("meta", parts)
    inside["totals_share"] = chance.choice(["1/1000", "1/4", "49/100", "1/2", "3/4", "999/1000"])


ANCHORED: Whole = {
    **_PLACED,
    "an anchor": _anchor,
    "another rate": _rate,
    "another lift": _lift,
    "another share": _share,
}


def _mechanism_claim(parts: Any, chance: random.Random) -> None:
    factor = Fraction(chance.choice(FACTORS))
    claim = parts["guarantee"]
    claim["epsilon"] = str(number(claim["epsilon"]) * factor)
    if claim["scope"]["all_pairs_epsilon"] is not None and chance.random() < 0.7:
        claim["scope"]["all_pairs_epsilon"] = str(
            number(claim["scope"]["all_pairs_epsilon"]) * factor
        )


def _mechanism_array(parts: Any, chance: random.Random) -> None:
    name = chance.choice(
        ["places", "centers", "anchors", "names", "ball_weights", "ball_secrets", "ball_reports"]
    )
    values = parts[name]
    if values:
        at = chance.randrange(len(values))
        values[at] = chance.choice(
            [0, 1, 2, values[at] + 1, values[at] * 2, values[at] // 2, -1, 2**40, 2**60]
        )


def _mechanism_rate(parts: Any, chance: random.Random) -> None:
    parts["rate"] = _times(parts["rate"], chance)


def _mechanism_unit(parts: Any, chance: random.Random) -> None:
    parts["unit"] = parts["guarantee"]["unit"] = chance.choice(["km", "m"])


MECHANISM: Whole = {
    "a stronger claim": _mechanism_claim,
    "an array": _mechanism_array,
    "another rate": _mechanism_rate,
    "another unit": _mechanism_unit,
    "another lift": _lift,
    "another share": _share,
}


def _claim(parts: Any, chance: random.Random) -> None:
    claim = parts["record"]["guarantee"]
    name = "epsilon" if "epsilon" in claim else "rho"
    claim[name] = _times(claim[name], chance)


def _relation(parts: Any, chance: random.Random) -> None:
    """Tell of another relation in all places."""
    relation = chance.choice(["add-remove-person", "replace-person"])
    parts["record"]["guarantee"]["neighbors"] = relation
    if "provenance" in parts["record"]:
        parts["record"]["provenance"]["parameters"]["neighbors"] = relation


def _frame_of(parts: Any, chance: random.Random) -> None:
    """Tell of another quantity or other units in all places."""
    name, value = chance.choice(
        [("max_quantity", 1), ("max_quantity", 3), ("max_quantity", 1000), ("units", "public")]
    )
    parts["record"]["frame"][name] = value
    if "provenance" in parts["record"]:
        parts["record"]["provenance"]["parameters"][name] = value


def _scale(parts: Any, chance: random.Random) -> None:
    record = parts["record"]
    if "measurement" in record:
        scales = record["measurement"]["scales"]
    else:
        scales = record["provenance"]["parameters"][
            chance.choice(["scale_by_level", "scale_of_leaves_by_level"])
        ]
        for name in ("epsilon_by_level", "rho_by_level", "sensitivity"):
            if chance.random() < 0.7:
                record["provenance"]["parameters"].pop(name, None)
    at = chance.randrange(len(scales))
    old = "1" if scales[at] in {None, "none"} else scales[at]
    none = None if "measurement" in record else "none"
    scales[at] = chance.choice([none, _times(old, chance), _times(old, chance)])


def _leaves_inherit(parts: Any, chance: random.Random) -> None:
    """Give leaves the noise of all levels below them, or that of one level."""
    parameters = parts["record"]["provenance"]["parameters"]
    inner, leaf = parameters["scale_by_level"], parameters["scale_of_leaves_by_level"]
    at = chance.randrange(len(leaf))
    leaf[at] = inner[at] if chance.random() < 0.5 else leaf[-1]


def _above(parents: list[int], at: int) -> Iterator[int]:
    """Walk up from a region; a tree that was changed before may go round in a circle."""
    for _ in parents:
        at = parents[at]
        if at < 0:
            return
        yield at


def _cell(parts: Any, chance: random.Random) -> None:
    """Change a count, and perhaps what it is summed to."""
    columns = parts["columns"]
    values = columns["count" if "count" in columns else "noisy"]
    step = chance.choice([-1000, -1, 1, 2, 10**6])
    at = chance.randrange(len(values))
    values[at] += step
    if chance.random() < 0.5:
        parents = parts["record"]["frame"]["parents"]
        width = len(values) // len(parents)
        for region in _above(parents, at // width):
            values[region * width + at % width] += step


def _promise(parts: Any, chance: random.Random) -> None:
    all_four = ["integral", "nonnegative", "consistent", "faithful"]
    parts["record"]["provenance"]["parameters"]["promises"] = chance.sample(
        all_four, chance.randrange(4)
    )


def _tree(parts: Any, chance: random.Random) -> None:
    """Hang a region elsewhere, where the order of levels allows it."""
    parents = parts["record"]["frame"]["parents"]
    at = chance.randrange(1, len(parents))
    parents[at] = chance.choice(range(at))


def _swapped(parts: Any, chance: random.Random) -> None:
    columns = parts["columns"]
    one, other = chance.sample([*columns], 2)
    columns[one], columns[other] = columns[other], columns[one]


def _noise(parts: Any, chance: random.Random) -> None:
    record = parts["record"]
    inside = record.get("measurement") or record["provenance"]["parameters"]
    inside["noise"] = chance.choice(["laplace", "gaussian"])
    inside["kind"] = chance.choice(["survival", "direct", "sorted", "chain"])
    claim = record["guarantee"]
    budget = claim.get("epsilon") or claim.get("rho")
    kind = (
        ("pure-dp", "epsilon") if inside["noise"] == "laplace" else ("zero-concentrated-dp", "rho")
    )
    record["guarantee"] = {"kind": kind[0], kind[1]: budget, "neighbors": claim["neighbors"]}


MEASUREMENTS: Whole = {
    "another claim": _claim,
    "another relation": _relation,
    "another frame": _frame_of,
    "another scale": _scale,
    "a count": _cell,
    "another tree": _tree,
    "columns exchanged": _swapped,
    "another noise": _noise,
}

COUNTS: Whole = {**MEASUREMENTS, "other promises": _promise, "leaves": _leaves_inherit}


def _stated(parts: Any) -> Any:
    """Give what a record of tables by region says of the noise."""
    record = parts["record"]
    return record.get("measurement") or record["provenance"]["parameters"]


def _told_everywhere(parts: Any, name: str, value: object) -> None:
    """State a fact in the frame, and in the record of a release."""
    parts["record"]["frame"][name] = value
    if "provenance" in parts["record"]:
        parts["record"]["provenance"]["parameters"][name] = value


def _rows_of_persons(parts: Any, chance: random.Random) -> None:
    _told_everywhere(parts, "max_rows", chance.choice([1, 2, 3, 1000]))


def _public_total(parts: Any, chance: random.Random) -> None:
    values = parts["columns"]["count" if "count" in parts["columns"] else "noisy"]
    _told_everywhere(parts, "total", chance.choice([None, 0, 9, 50, int(values[0])]))


def _table_scale(parts: Any, chance: random.Random) -> None:
    """Draw less noise or more for a marginal of one level, or none."""
    scales = _stated(parts)["scales"]
    given = scales[chance.choice([*scales])]
    none = None if "measurement" in parts["record"] else "none"
    at = chance.randrange(len(given))
    old = "1" if given[at] in {None, "none"} else given[at]
    given[at] = chance.choice([none, _times(old, chance), _times(old, chance)])


def _noise_moved(parts: Any, chance: random.Random) -> None:
    """Give a level's budget of one marginal to another one, so that the sum stays."""
    scales = _stated(parts)["scales"]
    one, other = (scales[name] for name in chance.sample([*scales], 2))
    at = chance.randrange(len(one))
    spent, kept = (1 / number(each[at]) for each in (one, other))
    part = spent * Fraction(chance.choice(["1/10", "1/2", "9/10"]))
    one[at], other[at] = str(1 / (spent - part)), str(1 / (kept + part))


def _parts_moved(parts: Any, chance: random.Random) -> None:
    """State other parts of the budget in all places."""
    shares = parts["record"]["frame"]["shares"]
    one, other = (chance.choice(shares)[1] for _ in range(2))
    at, to = chance.randrange(len(one)), chance.randrange(len(other))
    part = number(one[at]) * Fraction(chance.choice(["1/10", "1/2", "1"]))
    one[at] = str(number(one[at]) - part)
    other[to] = str(number(other[to]) + part)
    if "provenance" in parts["record"]:
        told = {name: [*given] for name, given in shares}
        parts["record"]["provenance"]["parameters"]["shares"] = told


def _another_name(parts: Any, chance: random.Random) -> None:
    """Name a marginal otherwise, or twice, in the frame or where its scales stand."""
    shares, scales = parts["record"]["frame"]["shares"], _stated(parts)["scales"]
    name = chance.choice([*scales])
    again = chance.choice(
        ["cells", ":".join(reversed(name.split(":"))), f" {name}", f"{name}\u200b"]
    )
    if chance.random() < 0.5:
        given = scales[name] if chance.random() < 0.5 else scales.pop(name)
        scales[again] = [x if x in {None, "none"} else _times(x, chance) for x in given]
    else:
        entry = next(entry for entry in shares if entry[0] == name)
        shares.append([again, [*entry[1]]])


def _structural_zero(parts: Any, chance: random.Random) -> None:
    domain = parts["record"]["frame"]["domain"]
    if domain["zeros"] and chance.random() < 0.3:
        domain["zeros"] = []
        return
    some = chance.sample(domain["attributes"], chance.randrange(1, len(domain["attributes"]) + 1))
    domain["zeros"].append({name: [chance.choice(listed)] for name, listed in some})


def _entry(parts: Any, chance: random.Random) -> None:
    """Change an entry, and perhaps those of the same marginal in all regions above it."""
    frame, columns = parts["record"]["frame"], parts["columns"]
    values = columns["count" if "count" in columns else "noisy"]
    names = [name for name, _ in frame["domain"]["attributes"]]
    at, step = chance.randrange(len(values)), chance.choice([-1000, -1, 1, 2, 10**6, 2**62])
    values[at] += step
    if chance.random() < 0.6:
        key = [columns["marginal"][at], *(columns[name][at] for name in names)]
        width = sum(columns["marginal"][row] == key[0] for row in range(len(values)))
        width //= len(frame["parents"])
        first = columns["marginal"].index(key[0])
        for region in _above(frame["parents"], (at - first) // width):
            values[first + width * region + (at - first) % width] += step


def _record_moved(parts: Any, chance: random.Random) -> None:
    """Move a record to another cell of some lowest region, all sums made right but perhaps one."""
    frame, columns = parts["record"]["frame"], parts["columns"]
    values = columns["count" if "count" in columns else "noisy"]
    attributes, parents = frame["domain"]["attributes"], frame["parents"]
    lowest = [at for at in range(len(parents)) if at not in parents]
    sums, place = {}, 0
    for name, _ in frame["shares"]:
        kept = [at for at, (one, _) in enumerate(attributes) if one in name.split(":")]
        entries = [*product(*(attributes[at][1] for at in kept))]
        for region in range(len(parents)):
            for entry in entries:
                sums[name, region, entry] = place
                place += 1
    told = chance.random() < 0.6
    for step in (-1, 1):
        at = chance.choice(lowest)
        cell = [chance.choice(listed) for _, listed in attributes]
        for region in (at, *_above(parents, at)):
            for name, _ in frame["shares"]:
                entry = tuple(
                    x
                    for (one, _), x in zip(attributes, cell, strict=True)
                    if one in name.split(":")
                )
                values[sums[name, region, entry]] += step if told or chance.random() < 0.95 else 0


REGION_TABLES: Whole = {
    "another claim": _claim,
    "another relation": _relation,
    "other rows of persons": _rows_of_persons,
    "another total": _public_total,
    "another scale": _table_scale,
    "noise moved": _noise_moved,
    "parts moved": _parts_moved,
    "another name": _another_name,
    "a structural zero": _structural_zero,
    "an entry": _entry,
    "a record moved": _record_moved,
    "another tree": _tree,
    "columns exchanged": _swapped,
}


def _table_cell(parts: Any, chance: random.Random) -> None:
    columns = parts["columns"]
    values = columns[chance.choice([*columns])]
    one, other = chance.sample(range(len(values)), 2)
    values[one] = values[other]


def _nearly(parts: Any, chance: random.Random) -> None:
    """Change a cell by what text may lose: a nanosecond, a last bit, a sign of zero, a space."""
    columns = parts["columns"]
    name = chance.choice([*columns])
    values = columns[name]
    at = chance.randrange(len(values))
    if isinstance(values, np.ndarray):
        near = (
            [np.nextafter(values[at], 9), -values[at], 0.0, -0.0, np.nan]
            if values.dtype.kind == "f"
            else [values[at] + 1]
        )
        values[at] = chance.choice(near)
        return
    old = values[at]
    if isinstance(old, str):
        near = [
            f"{old} ",
            old.lower(),
            "",
            None,
            f"\ufeff{old}",
            old.replace("0", "\u0660"),
            f"{old}\u200b",
        ]
        values[at] = chance.choice(near)
    else:
        # Nanoseconds that Python's moments do not hold.
        stamps = np.array(values, dtype="datetime64[ns]")
        stamps[at] += np.timedelta64(chance.choice([1, 999, 1000]), "ns")
        columns[name] = stamps


def _k(parts: Any, chance: random.Random) -> None:
    parts["record"]["guarantee"]["k"] = chance.choice([1, 2, 3, 4, 6, True, "2", 2.0])


def _quasi(parts: Any, chance: random.Random) -> None:
    names = [*parts["columns"]]
    parts["record"]["guarantee"]["quasi_identifiers"] = chance.sample(
        names, chance.randrange(1, len(names) + 1)
    )


def _model(parts: Any, chance: random.Random) -> None:
    name = chance.choice([*parts["columns"]])
    demand = chance.choice(
        [
            "distinct:2",
            "distinct:3",
            "entropy:2",
            "entropy:1.9",
            "recursive:1,2",
            "recursive:3,2",
            "alpha:1/2",
            "alpha:0.6",
            "closeness:1/3",
            "closeness:0",
            "ordered-closeness:1/4",
            "ordered-closeness:0.1",
        ]
    )
    parts["record"]["provenance"]["parameters"]["models"] = [f"{name}={demand}"]


def _type(parts: Any, chance: random.Random) -> None:
    """Store a column in another type, in which cells may fall together or apart."""
    columns = parts["columns"]
    name = chance.choice([*columns])
    values = columns[name]
    if isinstance(values, np.ndarray):
        columns[name] = values.astype(chance.choice(["f4", "f8", "i1", "i8", "u2", "bool", "U8"]))
    else:
        columns[name] = [None if x is None else str(x).encode() for x in values]


def _table_seed(parts: Any, _: random.Random) -> None:
    parts["record"]["provenance"]["seeded"] = True


TABLE: Whole = {
    "a cell": _table_cell,
    "a cell, nearly": _nearly,
    "another k": _k,
    "other quasi-identifiers": _quasi,
    "another model": _model,
    "another type": _type,
    "columns exchanged": _swapped,
    "made with a seed": _table_seed,
}


def _choice_claim(parts: Any, chance: random.Random) -> None:
    """Claim more, in the guarantee and in the lines that prove it."""
    factor = Fraction(chance.choice(FACTORS))
    for claim in (parts["guarantee"], *(line["guarantee"] for line in parts["accounting"])):
        name = chance.choice([one for one in ("epsilon", "delta", "rho") if one in claim])
        claim[name] = str(number(claim[name]) * factor)


def _coefficient(parts: Any, chance: random.Random) -> None:
    factor = Fraction(chance.choice(FACTORS))
    parts["coefficient"] = str(number(parts["coefficient"]) * factor)
    if chance.random() < 0.5:
        for line in parts["accounting"]:
            line["loss_per_draw"] = str(number(line["loss_per_draw"]) * factor)


def _facts(parts: Any, chance: random.Random) -> None:
    name, value = chance.choice(
        [
            ("decomposable", True),
            ("decomposable", False),
            ("neighbors", "add-remove-one"),
            ("neighbors", "replace-one"),
            ("sensitivity", "1/2"),
            ("sensitivity", "2"),
            ("rank", 1),
            ("n_kinds", 2),
            ("n_elements", 4),
        ]
    )
    parts["statement"][name] = value
    if name == "neighbors":
        for claim in (parts["guarantee"], *(line["guarantee"] for line in parts["accounting"])):
            claim["neighbors"] = value


def _drawn(parts: Any, chance: random.Random) -> None:
    chosen = parts["chosen"]
    at = chance.randrange(len(chosen))
    chosen[at][0] = chance.randrange(4)
    candidates = parts["candidates"]
    parts["names"] = [candidates[e] if candidates else e for e, _ in chosen]


def _mechanism_of(parts: Any, chance: random.Random) -> None:
    parts["mechanism"] = chance.choice(
        ["greedy", "permute-and-flip", "rounds", "walk", "subsample"]
    )
    for line in parts["accounting"]:
        if chance.random() < 0.5:
            line["rule"] = chance.choice(
                [
                    "basic composition",
                    "advanced composition",
                    "zCDP of bounded range",
                    "zCDP, converted",
                    "decomposable, one pass",
                    "secret subsample",
                    "exchange walk",
                ]
            )


def _draws(parts: Any, chance: random.Random) -> None:
    for line in parts["accounting"]:
        line["draws"] = chance.choice([0, 1, 2, 3, 10])
    parts["per_draw"] = chance.choice([1, 1, 2, 3, 10])


CHOICE: Whole = {
    "another claim": _choice_claim,
    "another coefficient": _coefficient,
    "other facts": _facts,
    "another element": _drawn,
    "another mechanism": _mechanism_of,
    "other draws": _draws,
}


def with_matroid_hash(write: Callable[[Any, Path, int], None]) -> Callable[[Any, Path, int], None]:
    """Seal the hash of the matroid, where there is one, before the rest is written."""

    def sealed(parts: Any, path: Path, number: int) -> None:
        if number % 5 != 4:
            try:
                digest = matroid_from_dict(json.loads(json.dumps(parts["matroid"]))).digest
                origin = parts["provenance"]
                public = [
                    {**one, "digest": digest} if one["name"] == "matroid" else one
                    for one in origin["assumed_public"]
                ]
                sealed_parts = {**parts, "provenance": {**origin, "assumed_public": public}}
            except (
                DiscreetError,
                ArithmeticError,
                AttributeError,
                LookupError,
                MemoryError,
                TypeError,
                ValueError,
            ):
                sealed_parts = parts
            parts = sealed_parts
        write(parts, path, number)

    return sealed


def _more_charged(parts: Any, chance: random.Random) -> None:
    """Charge once more, up to the limit, to it, or a little beyond."""
    amount = chance.choice(["1", "2", "5/2", "2500000001/1000000000", "4", "1/1000"])
    claim = {"kind": "pure-dp", "epsilon": amount, "neighbors": "add-remove-person"}
    parts["lines"].append(
        ["charge", chance.choice(["census", "zones", "team"]), claim, "2030-01-01T00:00:00Z", ""]
    )


def _line_gone(parts: Any, chance: random.Random) -> None:
    del parts["lines"][chance.randrange(len(parts["lines"]))]


def _line_changed(parts: Any, chance: random.Random) -> None:
    claim = parts["lines"][chance.randrange(len(parts["lines"]))][2]
    name = chance.choice([one for one in ("epsilon", "delta", "rho", "radius") if one in claim])
    claim[name] = _times(claim[name], chance)


def _line_moved(parts: Any, chance: random.Random) -> None:
    lines = parts["lines"]
    one, other = chance.sample(range(len(lines)), 2)
    lines[one], lines[other] = lines[other], lines[one]


def _again(parts: Any, chance: random.Random) -> None:
    lines = parts["lines"]
    lines.append([*lines[chance.randrange(len(lines))]])


LEDGER: Whole = {
    "a charge more": _more_charged,
    "a line less": _line_gone,
    "another amount": _line_changed,
    "lines exchanged": _line_moved,
    "a line again": _again,
}


def _spent(parts: Any, chance: random.Random) -> None:
    state = parts["state"]
    today, whole = chance.choice(
        [("0", "0"), ("4", "12"), ("6", "13"), ("0", "14"), ("12", "12"), ("-2", "2"), ("3", "1")]
    )
    state["spent_today"], state["spent_in_all"] = today, whole


def _epoch(parts: Any, chance: random.Random) -> None:
    state = parts["state"]
    state["epoch"], state["day"] = chance.choice(
        [(0, 0), (24, 1), (25, 0), (26, 2), (10**9, 10**9), (-5, -1), (None, 1)]
    )


def _pins(parts: Any, chance: random.Random) -> None:
    state = parts["state"]
    state["pinned"] = [
        [chance.choice([0, 1, 2, 3, -1, 99]), [9.0, 9.0], {"mechanism": "", "guarantee": None}]
    ]


STATE: Whole = {"another sum": _spent, "another epoch": _epoch, "other pins": _pins}
