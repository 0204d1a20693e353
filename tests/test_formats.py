"""The formats of files are a specification: every record that is written fits its schema, which names nothing in vain.

Writers and schemas cannot drift apart: objects are closed, so that a new member fails here, and each member that a
schema names is in some record below, so that one that is written no longer fails too.
"""

from __future__ import annotations

import copy
import io
import json
import zipfile
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np
import polars as pl
import pytest

from discreet import ZeroConcentratedDP
from discreet.artefact import (
    load_tables,
    save_anonymous,
    save_counts,
    save_measurements,
    save_mechanism,
)
from discreet.artefact.judging import JUDGES
from discreet.artefact.layout import NEEDED, TYPES
from discreet.artefact.reader import zip_kind
from discreet.artefact.sidecar import place_table, sidecar_of
from discreet.core.certificate import Certificate, Check
from discreet.core.guarantee import KAnonymity, MetricDP
from discreet.core.outcome import Anonymization, Provenance
from discreet.core.tree import Tree
from discreet.hierarchy.contingency import CellCounts, Domain, TableFrame, plan
from discreet.hierarchy.contingency.groups import read_domain
from discreet.kanonymity.problem import (
    Categorical,
    Dates,
    Numeric,
    Prefixes,
    Rounded,
    Taxonomy,
)
from discreet.lrgeo import Region, design
from forger import originals
from schemas import FORMATS, KINDS, faults, named, schema

if TYPE_CHECKING:
    from collections.abc import Iterator

DATA = Path(__file__).parent / "data"

OPEN = {
    "common-1.json#/$defs/members",
    "common-1.json#/$defs/provenance/properties/parameters",
    "common-1.json#/$defs/provenance/properties/versions",
    "common-1.json#/$defs/table/properties/columns",
    "region-tables-1.json#/properties/frame/properties/domain/properties/zeros/items",
    "table-measurements-1.json#/properties/frame/properties/domain/properties/zeros/items",
    "table-measurements-1.json#/properties/measurement/properties/scales",
}
"""Mappings whose keys are data. All others are closed."""


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, Any]]:
    """Write files of every kind, and take what they say: kind and record."""
    folder = tmp_path_factory.mktemp("formats")
    made = [*_frozen(), *_written(folder), *_region_tables(folder), *_anonymous(folder)]
    begun = _interrupted(folder)
    return [*made, *((kind, {**one, "unfinished": begun}) for kind, one in made if "table" in one)]


def _frozen() -> Iterator[tuple[str, Any]]:
    for path in sorted(DATA.glob("*.discreet.json")):
        stated = json.loads(path.read_text(encoding="utf-8"))
        yield stated["kind"], stated
    for path in sorted(DATA.glob("*.channel")):
        yield zip_kind(path), _zipped(path)
    yield "mechanism", json.loads((DATA / "frozen.mechanism").read_text(encoding="utf-8"))
    for one in json.loads((DATA / "lrgeo-noise-vectors.json").read_text(encoding="utf-8")):
        yield "noise-mechanism", one["file"]
    for one in json.loads((DATA / "lrgeo-lattice-vectors.json").read_text(encoding="utf-8")):
        yield "lattice-mechanism", one["file"]
    yield "choice", json.loads((DATA / "choice-1.choice").read_text(encoding="utf-8"))


def _zipped(path: Path) -> Any:
    """Take the metadata of an archive, and see that its arrays are those that the schema lists."""
    with zipfile.ZipFile(path) as archive:
        meta = json.loads(archive.read("meta.json"))
        stated = schema(f"{meta['kind']}-1.json")["x-arrays"]
        arrays = {
            name.removesuffix(".npy"): np.load(io.BytesIO(archive.read(name)))
            for name in meta["members"]
        }
    assert {name for name, one in stated.items() if one["required"]} <= arrays.keys()
    sizes: dict[str, int] = {}
    for name, array in arrays.items():
        assert array.dtype.str == stated[name]["type"]
        assert array.ndim == len(stated[name]["shape"])
        for size, letter in zip(array.shape, stated[name]["shape"], strict=True):
            if letter in {"n", "k", "limbs"}:
                assert sizes.setdefault(letter, size) == size
            elif isinstance(letter, int):
                assert size == letter
    return meta


def _written(folder: Path) -> Iterator[tuple[str, Any]]:
    """Give what the writers write now, as the forger's originals."""
    for make in (originals.channels, originals.anchored):
        for one in make(folder):
            # Taken apart there, without the hashes of members; the frozen files have these.
            kind = one["meta"]["kind"]
            members = {f"{name}.npy": {"sha256": "0" * 64} for name in one["arrays"]}
            assert one["arrays"].keys() <= schema(f"{kind}-1.json")["x-arrays"].keys()
            yield kind, {**one["meta"], "members": members}
    for stated in originals.mechanisms(folder):
        if isinstance(stated["places"], dict):
            yield "mechanism", stated
    region = Region.from_grid(3, 3, cell="0.5", unit="km", origin=(41.88, 12.46))
    noise = design(region, MetricDP(2, "km"), method="noise", spacing="0.25").published()
    table = design(region, MetricDP(2, "km"), method="table", spacing="0.25").published()
    for number, made in enumerate((noise, table)):
        path = folder / f"{number}.mechanism"
        save_mechanism(made, path)
        yield zip_kind(path), json.loads(path.read_text(encoding="utf-8"))
    for stated in originals.choices(folder):
        yield "choice", stated
    for make in (originals.counts, originals.measurements, originals.tables):
        for one in make(folder):
            yield one["record"]["kind"], one["record"]


def _region_tables(folder: Path) -> Iterator[tuple[str, Any]]:
    guarantee = ZeroConcentratedDP(3, "replace-person")
    frame = load_tables(DATA / "tables-1.parquet").result.frame
    uneven = plan(
        [("a", "x"), ("a", "y"), ("b",)],
        guarantee,
        columns=["state", "county"],
        domain=frame.domain,
    )
    listed = {"age": ["0-17", "18+"]}
    grown = {"of": "age", "groups": {"minor": ["0-17"], "adult": ["18+"]}}
    shares = {(0,): (Fraction(1, 4),) * 2, (0, 1): (Fraction(1, 4),) * 2}
    tree = Tree.from_paths([("a",), ("b",)])
    coarsened = TableFrame(tree, read_domain({**listed, "grown": grown}), shares)
    residuals = TableFrame(tree, Domain.read({**listed, "sex": ["F", "M"]}), shares, residuals=True)
    more = (plan(one, guarantee) for one in (coarsened, residuals, frame))
    for planned in (uneven, *more):
        shape = len(planned.frame.tree.leaves), planned.frame.domain.size
        counts = np.zeros(shape, dtype=np.int64)
        counts[0, 0] = 50
        made = planned.release(CellCounts(planned.frame, counts), keep_measurements=True)
        save_counts(made, folder / "t.csv")
        yield "region-tables", json.loads(sidecar_of(folder / "t.csv").read_text(encoding="utf-8"))
        assert made.result.measurements is not None
        save_measurements(made.result.measurements, folder / "m.csv")
        read = sidecar_of(folder / "m.csv").read_text(encoding="utf-8")
        yield "table-measurements", json.loads(read)


ATTRIBUTES = (
    Numeric("age", 2, 0, 120),
    Numeric("height"),
    Categorical("sex", values=("F", "M")),
    Dates("born"),
    Prefixes("zip", 1.0, (3, 1)),
    Rounded("pay", 1.0, (1, 10)),
    Taxonomy("home", Tree.from_paths([("Europe", "FR"), ("Asia", "IN")], root="*")),
)


def _anonymous(folder: Path) -> Iterator[tuple[str, Any]]:
    """Write every kind of column."""
    certificate = Certificate((Check("classes smaller than k", 0, 0, exact=True),))
    table, origin = pl.DataFrame({"age": [1, 1]}), Provenance("by hand")
    # Records are what is counted where the unit is not stated, as in the last.
    for unit in ("person", "record"):
        claim = KAnonymity(2, ("age",), unit)
        made = Anonymization(table, claim, certificate, origin, diagnostics=None)
        save_anonymous(made, folder / "a.csv", ATTRIBUTES)
        stated = json.loads(sidecar_of(folder / "a.csv").read_text(encoding="utf-8"))
        yield "anonymous-table", stated


def _interrupted(folder: Path) -> Any:
    """Leave a run unfinished that replaces the table above, and take what the record then holds."""
    path, new = folder / "a.csv", folder / "new.csv"
    new.write_text("age\n2\n2\n", encoding="utf-8")
    with (
        patch("discreet.artefact.sidecar.put_in_place", side_effect=KeyboardInterrupt),
        pytest.raises(KeyboardInterrupt),
    ):
        place_table(new, path, "anonymous-table", {}, columns={}, rows=2)
    begun = json.loads(sidecar_of(path).read_text(encoding="utf-8"))["unfinished"]
    assert json.loads(begun["record"])["kind"] == "anonymous-table"
    return begun


def test_every_record_that_is_written_fits_its_schema(records: list[tuple[str, Any]]) -> None:
    assert {kind for kind, _ in records} == {*KINDS} == {*JUDGES}
    for kind, stated in records:
        assert faults(stated, kind) == []


def test_schemas_name_nothing_that_is_not_written(records: list[tuple[str, Any]]) -> None:
    met: set[str] = set()
    for kind, stated in records:
        faults(stated, kind, met)
    every = {one for path in FORMATS.glob("*.json") for one in named(path.name)}
    assert len(every) > 200
    assert every - met == set()


def test_a_member_more_or_less_is_seen(records: list[tuple[str, Any]]) -> None:
    """Broken on purpose: each closed object of each record, with a member more and with each of its members less."""
    looked = 0
    keys_are_data = {place.rpartition("/")[2] for place in OPEN} | {"zeros"}
    for kind, stated in dict(records).items():
        for path in _objects(stated):
            if keys_are_data & {*path}:
                continue
            changed = copy.deepcopy(stated)
            _inside(changed, path)["new"] = 1
            assert faults(changed, kind) != [], (kind, path)
            for name in _inside(stated, path):
                less = copy.deepcopy(stated)
                del _inside(less, path)[name]
                assert faults(less, kind) != [] or name in {"unfinished", "charge"}, (
                    kind,
                    path,
                    name,
                )
                looked += 1
    assert looked > 200


def _objects(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict):
        yield path
    inside = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, one in inside:
        if not isinstance(key, int) or key < 2:
            yield from _objects(one, (*path, key))


def _inside(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def test_objects_are_closed_but_for_those_whose_keys_are_data() -> None:
    found = set()
    for path in FORMATS.glob("*.json"):
        for at in _objects_of_schema(schema(path.name)):
            part = _inside(schema(path.name), at)
            if part.get("additionalProperties", True) is not False:
                found.add(f"{path.name}#/{'/'.join(map(str, at))}")
    assert found == OPEN


def _objects_of_schema(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict) and value.get("type") == "object":
        yield path
    inside = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, one in inside:
        yield from _objects_of_schema(one, (*path, key))


def test_schemas_list_the_arrays_that_are_read_and_written() -> None:
    listed = {kind: schema(f"{kind}-1.json")["x-arrays"] for kind in ("channel", "anchored")}
    types = {name: one["type"] for arrays in listed.values() for name, one in arrays.items()}
    assert types == TYPES
    required = {name for name, one in listed["channel"].items() if one["required"]}
    assert required == {*NEEDED}


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ({"kind": "metric-dp"}, "record.guarantee: no epsilon"),
        (
            {"kind": "metric-dp", "epsilon": 2, "unit": "km", "radius": None, "scope": None},
            "no string",
        ),
        (
            {"kind": "metric-dp", "epsilon": "2.0", "unit": "km", "radius": None, "scope": None},
            "is not ^",
        ),
        ({"kind": "metric-dp", "epsilon": "2", "unit": "km", "radius": 1, "scope": None}, "fits 0"),
        (None, "no object"),
    ],
)
def test_the_reader_of_schemas_sees_what_is_wrong(value: object, fault: str) -> None:
    stated = _zipped(DATA / "channel-1.channel")
    assert fault in " ".join(faults({**stated, "guarantee": value}, "channel"))
    assert "not 1" in faults({**stated, "schema_version": True}, "channel")[0]
