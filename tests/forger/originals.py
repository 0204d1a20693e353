"""Small files that are right, of every kind: what mutants are made of."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

import lattices as small_lattices
import noises
from discreet.artefact import (
    save,
    save_anchored,
    save_anonymous,
    save_choice,
    save_counts,
    save_measurements,
    save_mechanism,
)
from discreet.artefact.implicit import AnchoredArtefact, from_tails
from discreet.artefact.sidecar import sidecar_of
from discreet.core.certificate import Certificate
from discreet.core.channels.channel import Channel
from discreet.core.channels.check_implicit import verify_anchored
from discreet.core.channels.implicit import AnchoredChannel, Ball
from discreet.core.guarantee import (
    ApproxDP,
    KAnonymity,
    MetricDP,
    PureDP,
    Scope,
    ZeroConcentratedDP,
)
from discreet.core.outcome import Anonymization, Provenance, Release
from discreet.core.randomness import SeededBits
from discreet.core.spaces.metric import MetricSpace
from discreet.core.tree import Tree
from discreet.hierarchy import release as release_counts
from discreet.hierarchy.contingency.cell_counts import CellCounts
from discreet.hierarchy.contingency.measure import measure as measure_tables
from discreet.hierarchy.contingency.problem import Domain, TableFrame
from discreet.hierarchy.contingency.result import RegionTables
from discreet.hierarchy.contingency.verify import verify as verify_region_tables
from discreet.hierarchy.measure import measure
from discreet.hierarchy.problem import GroupSizes
from discreet.kanonymity.verify import verify as verify_table
from discreet.ledger import Ledger
from discreet.lrgeo import Mechanism, Region
from discreet.lrgeo import design as design_region
from discreet.metricdp.bounds.tails import tail_channel
from discreet.metricdp.problem import Problem
from discreet.submodular import (
    Contraction,
    Coverage,
    DirectSum,
    Dual,
    GraphicMatroid,
    LaminarMatroid,
    LinearMatroid,
    PartitionMatroid,
    TransversalMatroid,
    Truncation,
    UniformMatroid,
)
from discreet.submodular import release as release_choice
from forger.sealing import unpacked, unzipped
from handmade import exponential

if TYPE_CHECKING:
    from collections.abc import Iterator

    from discreet.hierarchy.contingency.measure import MeasuredTables

PERSON: Any = "add-remove-person"
REPLACED: Any = "replace-person"


def channels(folder: Path) -> tuple[Any, ...]:
    """Make channels of one limb and of two: in the plane, on spheres, in the ball, on grids, without points."""
    corners = np.array([[0.0, 0.0], [0.5, 0.25], [1.0, 0.0], [4.0, 4.0]])
    spaces = [
        (MetricSpace.from_points(corners, unit="km"), "3/2"),
        (MetricSpace.from_points(corners[:3], metric="manhattan", unit="km"), None),
        (MetricSpace.from_points(corners[:3] * 0.01, metric="haversine", unit="km"), None),
        (
            MetricSpace.from_points(
                [[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]], metric="angular", unit="rad"
            ),
            None,
        ),
        (MetricSpace.from_points(corners[:3] * 0.6, metric="hyperbolic", unit="h"), "2"),
        (MetricSpace.grid(2, 2, cell="0.3", unit="km"), "0.3"),
        (
            MetricSpace.from_matrix(
                [[0.0, 1.0, 2.0], [1.0, 0.0, 1.5], [2.0, 1.5, 0.0]], unit="edit"
            ),
            None,
        ),
    ]
    made = [
        exponential(Problem(space, utility_loss="distance"), radius=radius)
        for space, radius in spaces
    ]
    made.append(exponential(Problem(spaces[0][0], utility_loss="distance"), radius=1, joined=False))
    wide = 2**124
    flat = np.full((3, 3), wide // 3, dtype=object) + np.eye(3, dtype=int)[0] * (wide % 3)
    constant = Channel.from_weights(flat)
    upper = constant.expected_loss(made[6].problem.cost)
    made.append(replace(made[6], channel=constant, upper=upper, lower=None, witness=None))
    return tuple(_zipped(folder, one, save) for one in made)


def _zipped(folder: Path, one: Any, keep: Any) -> Any:
    keep(one, folder / "original")
    return unzipped(folder / "original")


def anchored(folder: Path) -> tuple[Any, ...]:
    """Make channels without a table: tails on a grid, points with an explicit weight and other names."""
    tails = tail_channel(MetricSpace.grid(2, 3, cell="0.1", unit="km"), MetricDP(8, "km", "0.15"))
    space = MetricSpace.from_points(np.random.default_rng(1).random((5, 3)) * 4, unit="unit")
    guarantee = MetricDP(2, "unit", scope=Scope(space.digest, 5, MetricDP(2, "unit").epsilon))
    options: dict[str, Any] = {"lift": 2**30}
    plain = AnchoredChannel(space, "0.8", range(0, 5, 2), [2**40] * 3, **options)
    explicit = Ball(np.array([0]), np.array([0]), np.array([int(plain.row(0)[0])]))
    made = AnchoredChannel(
        space, "0.8", range(0, 5, 2), [2**40] * 3, ball=explicit, names=[1, 1, 4], **options
    )
    half = "1/2"
    certificate = verify_anchored(made, guarantee, totals_share=half)
    whole = AnchoredArtefact(
        made, guarantee, guarantee.epsilon / 4, certificate, Provenance("by hand")
    )
    named = from_tails(tails, tuple("abcdef"))
    return tuple(_zipped(folder, one, save_anchored) for one in (named, whole))


def mechanisms(folder: Path) -> tuple[Any, ...]:
    """Make mechanisms of a location service, arrays as lists of integers; one as it is packed."""
    grid = Region.from_grid(2, 3, cell="0.5", unit="km", origin=(41.88, 12.46))
    places = Region(np.array([[0, 0], [3100, 2000], [10_000, 4200], [5000, 9000]]), None, "km")
    made = []
    for region in (grid, places):
        save_mechanism(
            Mechanism.from_design(
                design_region(region, MetricDP(2, "km"), gap=0.5, scope="places")
            ),
            folder / "original",
        )
        made.append(json.loads((folder / "original").read_text(encoding="utf-8")))
    return _loose(made)


def lattices() -> tuple[Any, ...]:
    """Make noise on small lattices by hand, arrays as lists of integers; one as it is packed."""
    return _loose([json.loads(noises.sealed(small.parts())) for small in noises.KINDS.values()])


def rows_on_lattices() -> tuple[Any, ...]:
    """Make rows on small lattices in the same way."""
    made = small_lattices.KINDS.values()
    return _loose([json.loads(noises.sealed(small.parts())) for small in made])


def _loose(made: list[Any]) -> tuple[Any, ...]:
    loose = [
        {
            name: unpacked(value) if isinstance(value, dict) and "bytes" in value else value
            for name, value in one.items()
        }
        for one in made
    ]
    return (*loose, made[0])


TREES = {
    "even": Tree.from_paths([("a",), ("b",)], root="all"),
    "ragged": Tree.from_paths([("a", "b"), ("a", "c"), ("d",)], root="all"),
    "caterpillar": Tree.from_paths(
        [("a", "b", "c"), ("a", "b", "d"), ("a", "e"), ("f",)], root="all"
    ),
}
"""Shapes of trees: all leaves on one level, on several, and one at every level."""


def _sizes(shape: str, units: Any, quantity: int) -> GroupSizes:
    tree = TREES[shape]
    rows = [[2 + i, 1, i] if units == "public" else [1 + i, i] for i in range(len(tree.leaves))]
    return GroupSizes.from_counts(tree, rows, units=units, max_quantity=quantity)


def _tabled(path: Path) -> Any:
    """Take a table and its record apart; columns of numbers are arrays."""
    record = json.loads(sidecar_of(path).read_text(encoding="utf-8"))
    stated = record["table"]["columns"]
    types = {
        name: getattr(pl, kind)
        for name, kind in stated.items()
        if kind in {"Int64", "Float64", "String"}
    }
    table = (
        pl.read_csv(path, schema_overrides=types)
        if path.suffix == ".csv"
        else pl.read_parquet(path)
    )
    columns = {
        name: table[name].to_numpy() if table[name].dtype.is_numeric() else table[name].to_list()
        for name in table.columns
    }
    return {"record": record, "columns": columns, "suffix": path.suffix}


def _as_drawn(parts: Any, name: str) -> Any:
    """Take the seed away: originals are the same in every run, so that a number means one mutant."""
    parts["record"][name]["seeded"] = False
    return parts


def counts(folder: Path) -> tuple[Any, ...]:
    """Make tables of counts by several methods, on trees of several shapes."""
    pure, third = PureDP("0.7", PERSON), ZeroConcentratedDP("0.3", REPLACED)
    cases: list[tuple[str, Any, int, Any, dict[str, Any], str]] = [
        ("even", "private", 1, pure, {}, ".csv"),
        ("ragged", "public", 2, third, {"method": "m-h-dp"}, ".parquet"),
        (
            "caterpillar",
            "private",
            2,
            pure,
            {"method": "m-c-dp", "levels": [0, "1/2", 0, "1/2"]},
            ".parquet",
        ),
        ("even", "public", 1, pure, {"method": "m-c-ch-calibrated"}, ".csv"),
        ("ragged", "private", 1, third, {"method": "raw"}, ".parquet"),
    ]
    made = []
    for shape, units, quantity, guarantee, options, suffix in cases:
        path = (folder / "original").with_suffix(suffix)
        data = _sizes(shape, units, quantity)
        save_counts(release_counts(data, guarantee, bits=SeededBits(7), **options), path)
        made.append(_as_drawn(_tabled(path), "provenance"))
    return tuple(made)


def measurements(folder: Path) -> tuple[Any, ...]:
    """Keep measurements of every kind that has a table, some levels without any."""
    pure, third = PureDP("0.7", REPLACED), ZeroConcentratedDP("0.3", PERSON)
    cases: list[tuple[str, Any, int, Any, Any, dict[str, Any], str]] = [
        ("even", "private", 1, "survival", pure, {}, ".parquet"),
        ("ragged", "private", 2, "direct", third, {"levels": [0, "1/2", "1/2"]}, ".csv"),
        ("ragged", "public", 1, "chain", pure, {"leaves_inherit": False}, ".parquet"),
        (
            "caterpillar",
            "public",
            2,
            "survival",
            third,
            {"levels": ["1/4", 0, "1/4", "1/2"]},
            ".parquet",
        ),
    ]
    made = []
    for shape, units, quantity, kind, guarantee, options, suffix in cases:
        path = (folder / "original").with_suffix(suffix)
        data = _sizes(shape, units, quantity)
        save_measurements(measure(data, kind, guarantee, bits=SeededBits(7), **options), path)
        made.append(_as_drawn(_tabled(path), "measurement"))
    return tuple(made)


def _marginals() -> Iterator[MeasuredTables]:
    """Measure marginals of tiny tables: a public total and structural zeros, several rows, levels without noise."""
    plain = Domain.read({"sex": ["F", "M"], "age": ["0", "1"]})
    ruled = Domain.read(
        {"sex": ["F", "M"], "age": ["0", "1"]}, zeros=[{"sex": ["F"], "age": ["1"]}]
    )
    one = Domain.read({"sex": ["F", "M"]})
    part = Fraction(1, 10)
    even: dict[Any, Any] = {(0,): (part, 2 * part), (): (part, part), (0, 1): (2 * part, 3 * part)}
    cases: list[tuple[str, Domain, dict[Any, Any], dict[str, Any], Any]] = [
        ("even", plain, even, {}, PureDP("0.7", PERSON)),
        (
            "ragged",
            ruled,
            {(1,): (part, 0, part), (0, 1): (0, 3 * part, 5 * part)},
            {"total": 12},
            ZeroConcentratedDP("0.3", REPLACED),
        ),
        (
            "caterpillar",
            one,
            {(): (part, part, 0, 0), (0,): (0, part, 2 * part, 5 * part)},
            {"max_rows": 2},
            PureDP("3/2", REPLACED),
        ),
        ("even", one, {(0,): (5 * part, 5 * part)}, {"max_rows": 3}, ZeroConcentratedDP(1, PERSON)),
    ]
    for shape, domain, shares, more, guarantee in cases:
        tree = TREES[shape]
        frame = TableFrame(tree, domain, shares, **more)
        rows = np.zeros((len(tree.leaves), domain.size), dtype=np.int64)
        rows[0, 0], rows[-1, -1] = 7, 5
        yield measure_tables(CellCounts(frame, rows), guarantee, bits=SeededBits(7))


def table_measurements(folder: Path) -> tuple[Any, ...]:
    """Keep noisy marginals."""
    made = []
    for at, kept in enumerate(_marginals()):
        path = (folder / "original").with_suffix((".csv", ".parquet")[at % 2])
        save_measurements(kept, path)
        made.append(_as_drawn(_tabled(path), "measurement"))
    return tuple(made)


def region_tables(folder: Path) -> tuple[Any, ...]:
    """Release whole tables; the numbers themselves are those of before, as if the noise had been none."""
    made = []
    for at, kept in enumerate(_marginals()):
        path, frame = (folder / "original").with_suffix((".parquet", ".csv")[at % 2]), kept.frame
        rows = np.zeros((len(frame.tree.leaves), frame.domain.size), dtype=np.int64)
        rows[0, 0], rows[-1, -1] = 7, 5
        result = RegionTables(frame, frame.tree.totals(rows))
        origin = Provenance("by hand", kept.parameters(), assumed_public=frame.assumed_public())
        release = Release(result, kept.guarantee, Certificate(()), origin)
        save_counts(replace(release, certificate=verify_region_tables(release)), path)
        made.append(_tabled(path))
    return tuple(made)


def tables(folder: Path) -> tuple[Any, ...]:
    """Make anonymized tables with cells of many types, and models of privacy."""
    moment = datetime(2024, 5, 1, 12)  # noqa: DTZ001 - a cell of a table
    first: dict[str, Any] = {
        "age": ["[20, 30]"] * 3 + ["[31, 60]"] * 3,
        "zip": ["10*"] * 6,
        "ill": ["a", "b", "c", "a", "b", "b"],
    }
    second: dict[str, Any] = {
        "n": np.array([1, 1, 2, 2]),
        "x": np.array([0.5, 0.5, 1.5, 1.5]),
        "when": [moment] * 2 + [moment + timedelta(hours=1)] * 2,
        "ill": [1, 2, 2, 1],
    }
    cases: list[tuple[Any, tuple[str, ...], int, list[str], str]] = [
        (first, ("age", "zip"), 3, ["ill=distinct:2", "ill=closeness:1/2"], ".csv"),
        (first, ("age", "zip"), 3, ["ill=entropy:1.8", "ill=alpha:2/3"], ".parquet"),
        (
            second,
            ("n", "x", "when"),
            2,
            ["ill=recursive:2,2", "ill=ordered-closeness:1/2"],
            ".parquet",
        ),
        (second, ("n", "x"), 2, [], ".csv"),
    ]
    made = []
    for columns, names, k, models, suffix in cases:
        path = (folder / "original").with_suffix(suffix)
        guarantee = KAnonymity(k, names)
        table = pl.DataFrame(columns)
        if "when" in columns:
            table = table.with_columns(pl.col("when").cast(pl.Datetime("ns")))
        certificate = verify_table(table, guarantee)
        origin = Provenance("by hand", {"models": models})
        save_anonymous(Anonymization(table, guarantee, certificate, origin, None), path)
        made.append(_tabled(path))
    return tuple(made)


def choices(folder: Path) -> tuple[Any, ...]:
    """Choose under every kind of matroid, by several methods and guarantees."""
    reach = Coverage([[True, False, True], [False, True, False]] * 30)
    nested = Contraction(GraphicMatroid(3, [[0, 1], [1, 2], [0, 2]]), [0])
    pure, approx = PureDP(1, "add-remove-one"), ApproxDP(1, "1e-6", "replace-one")
    third = ZeroConcentratedDP("1/2", "replace-one")
    cases: list[tuple[Any, Any, Any]] = [
        (UniformMatroid(3, 2), pure, "mitrovic"),
        (PartitionMatroid([0, 0, 1], [1, 1]), approx, "gupta"),
        (LaminarMatroid(3, [[0, 1, 2], [0, 1]], [2, 1]), third, "mitrovic"),
        (GraphicMatroid(3, [[0, 1], [1, 2], [0, 2]]), pure, "permute-and-flip"),
        (LinearMatroid([[True, False], [False, True], [True, True]]), pure, "subsampled"),
        (TransversalMatroid([[True, False], [True, False], [True, True]]), approx, "mitrovic"),
        (Truncation(PartitionMatroid([0, 1, 2], 1), 2), third, None),
        (DirectSum([UniformMatroid(2, 1), UniformMatroid(1, 1)]), pure, None),
        (Dual(UniformMatroid(3, 1)), pure, "random-base"),
        (nested, pure, None),
    ]
    made = []
    for matroid, guarantee, method in cases:
        drawn = release_choice(reach, matroid, guarantee, method=method, bits=SeededBits(7))
        save_choice(drawn, folder / "original")
        stated = json.loads((folder / "original").read_text(encoding="utf-8"))
        made.append(_as_drawn({"record": stated}, "provenance")["record"])
    return tuple(made)


def ledgers(folder: Path) -> tuple[Any, ...]:
    """Make ledgers with grants and charges of every notion of privacy."""
    path = folder / "original.db"
    path.unlink(missing_ok=True)
    book = Ledger.create(path, "census", PureDP(4, PERSON))
    Ledger.create(path, "zones", ZeroConcentratedDP(2, PERSON))
    Ledger.create(path, "team", ApproxDP(3, "1e-5", "replace-one"))
    space = Scope("ab" * 32, 4, MetricDP(3, "km").epsilon)
    Ledger.create(path, "places", MetricDP(6, "km", 2, scope=space))
    book.reserve("census", PureDP("3/2", PERSON))
    book.reserve("zones", PureDP("1/2", PERSON))
    book.reserve("zones", ZeroConcentratedDP("1/3", PERSON))
    book.reserve("team", ApproxDP("1/2", "1e-6", "replace-one"))
    book.reserve("places", MetricDP(2, "km", 2, scope=space))
    with closing(sqlite3.connect(path)) as db:
        (salt,) = db.execute("SELECT salt FROM salts").fetchone()
        rows = db.execute("SELECT kind, dataset, guarantee, made, digest FROM lines ORDER BY id")
        lines = [
            [kind, name, json.loads(text), made, digest] for kind, name, text, made, digest in rows
        ]
    return ({"salt": salt, "lines": lines},)


def states(mechanism: Mechanism) -> Iterator[Any]:
    """Give what a client remembers: nothing yet, after a report, with a pinned place, of the first version."""
    source = {"mechanism": mechanism.digest, "guarantee": mechanism.guarantee.to_dict()}
    shown = [0.25, 0.25]
    plain: dict[str, Any] = {
        "source": {"mechanism": "", "guarantee": None},
        "epoch": None,
        "day": None,
        "report": None,
        "spent_today": "0",
        "spent_in_all": "0",
        "pinned": [],
        "region": "",
    }
    used = {
        **plain,
        "source": source,
        "epoch": 24,
        "day": 1,
        "report": shown,
        "spent_today": "2",
        "spent_in_all": "6",
    }
    pinned = {**used, "pinned": [[0, shown, source]], "region": mechanism.region.digest}
    old = {name: value for name, value in used.items() if name not in {"source", "region"}}
    for version, state in ((2, plain), (2, used), (2, pinned), (1, old)):
        yield {"version": version, "seconds": 3600, "unit": "km", "state": state}
