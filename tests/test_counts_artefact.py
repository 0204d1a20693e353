"""Tables of counts and measurements as files: read as written, and refused where halved or altered."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from discreet.artefact import load_counts, load_measurements, save_counts, save_measurements
from discreet.artefact.sidecar import is_table, kind_of, sidecar_of
from discreet.core.certificate import Certificate, Check
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import PureDP, ZeroConcentratedDP
from discreet.core.outcome import Release
from discreet.core.tree import Tree
from discreet.hierarchy import release, verify
from discreet.hierarchy.measure import measure
from discreet.hierarchy.problem import GroupSizes
from discreet.hierarchy.result import RegionCounts

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.hierarchy.sensitivity import Kind

DATA = Path(__file__).parent / "data"
TREE = Tree.from_paths([("GA", 'Cobb, the "county"'), ("GA", "Fulton"), ("D/C",)], root="US")
ROWS = [[5, 0, 1], [2, 3, 0], [0, 1, 4]]
PURE = PureDP("0.7", neighbors="add-remove-person")


def made(units: Any = "private", **options: Any) -> Release[RegionCounts]:
    data = GroupSizes.from_counts(TREE, ROWS, units=units, max_quantity=2)
    return release(data, PURE, **options)


@pytest.mark.parametrize("name", ["out.csv", "out.parquet", "OUT.CSV"])
@pytest.mark.parametrize("units", ["public", "private"])
@pytest.mark.parametrize("method", [None, "raw"], ids=str)
def test_what_is_read_is_what_was_written(
    tmp_path: Path, name: str, units: str, method: str | None
) -> None:
    out = made(units, method=method)
    save_counts(out, tmp_path / name)
    assert is_table(tmp_path / name)
    assert kind_of(tmp_path / name) == "region-counts"
    back = load_counts(tmp_path / name)
    assert back.result.frame == out.result.frame
    np.testing.assert_array_equal(back.result.counts, out.result.counts)
    assert back.result.counts.dtype == out.result.counts.dtype
    assert back.guarantee == out.guarantee
    assert back.certificate == out.certificate
    assert back.provenance.to_dict() == out.provenance.to_dict()
    assert verify(back).passed


def test_fractional_counts_stay_fractions(tmp_path: Path) -> None:
    out = made()
    halves = replace(out, result=RegionCounts(out.result.frame, out.result.counts / 2))
    for name in ("out.csv", "out.parquet"):
        save_counts(halves, tmp_path / name)
        np.testing.assert_array_equal(
            load_counts(tmp_path / name).result.counts, out.result.counts / 2
        )


@pytest.mark.parametrize("kind", ["survival", "direct"])
@pytest.mark.parametrize("units", ["public", "private"])
@pytest.mark.parametrize(
    "guarantee", [PURE, ZeroConcentratedDP("1/8", neighbors="replace-person")], ids=["pure", "zcdp"]
)
def test_measurements_are_read_as_they_were_written(
    tmp_path: Path, kind: Kind, units: Any, guarantee: Any
) -> None:
    data = GroupSizes.from_counts(TREE, ROWS, units=units)
    kept = measure(data, kind, guarantee, levels=["1/2", 0, "1/2"])
    save_measurements(kept, tmp_path / "nm.parquet")
    back = load_measurements(tmp_path / "nm.parquet")
    np.testing.assert_array_equal(back.values, kept.values)
    for name in ("kind", "scales", "noise", "guarantee", "shares", "leaves_inherit", "seeded"):
        assert getattr(back, name) == getattr(kept, name)
    assert back.frame == kept.frame


def test_sorted_sizes_have_no_table(tmp_path: Path) -> None:
    data = GroupSizes.from_counts(TREE, ROWS, units="public")
    with pytest.raises(InvalidProblemError, match="counts by size"):
        save_measurements(measure(data, "sorted", PURE), tmp_path / "nm.parquet")


@pytest.mark.parametrize("name", ["counts-1.csv", "counts-1.parquet"])
def test_a_table_of_the_first_version_loads_for_ever(name: str) -> None:
    kept = load_counts(DATA / name)
    assert kept.guarantee == PureDP(1, neighbors="add-remove-person")
    assert kept.result.frame.tree.labels == ("US", "GA", "D/C", 'Cobb, the "county"', "Fulton")
    assert verify(kept).passed
    assert kept.certificate.passed
    assert not kept.provenance.seeded


def test_measurements_of_the_first_version_load_for_ever() -> None:
    kept = load_measurements(DATA / "measurements-1.parquet")
    assert (kept.kind, kept.noise, kept.values.shape) == ("survival", "laplace", (5, 3))
    assert not kept.seeded


def alter(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    beside = sidecar_of(path)
    meta = json.loads(beside.read_text(encoding="utf-8"))
    change(meta)
    beside.write_text(json.dumps(meta), encoding="utf-8")


def rewrite(path: Path, change: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
    """Change the table and its hash, as a forger would."""
    import hashlib

    table = change(pl.read_parquet(path))
    table.write_parquet(path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    alter(path, lambda meta: meta["table"].update(sha256=digest, rows=table.height))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.update(format="other"), "a discreet artefact"),
        (lambda m: m.update(schema_version=2), "a newer discreet may read it"),
        (lambda m: m.update(kind="measurements"), "'region-counts', got 'measurements'"),
        (lambda m: m.pop("frame"), "no 'frame'"),
        (lambda m: m.pop("guarantee"), "no 'guarantee'"),
        (lambda m: m["table"].update(sha256="0" * 64), "altered bytes"),
        (lambda m: m["table"].update(rows=3), "as many as stand beside the table"),
        (lambda m: m["table"]["columns"].pop("size"), "columns"),
        (lambda m: m["table"]["columns"].update(size="Float64"), "Int64"),
        (lambda m: m["table"]["columns"].update(count="Float64"), "those that stand beside"),
        (lambda m: m["frame"].update(max_size=4), "the digest that is stated"),
        (lambda m: m["frame"]["labels"].__setitem__(1, "TX"), "the digest that is stated"),
        (lambda m: m["frame"].update(parents=[-1, 0, 1]), "whole discreet artefact"),
        (lambda m: m["provenance"]["assumed_public"].clear(), "the hash that is stated"),
        (lambda m: m["guarantee"].update(epsilon="0"), "epsilon"),
    ],
)
def test_an_altered_record_is_refused(
    tmp_path: Path, change: Callable[[dict[str, Any]], object], message: str
) -> None:
    path = tmp_path / "out.parquet"
    save_counts(made(), path)
    alter(path, change)
    with pytest.raises(InvalidProblemError, match=message):
        load_counts(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.head(5), "15, all filled"),
        (lambda t: t.reverse(), "in the order of the frame"),
        (lambda t: t.with_columns(region=pl.lit("GA")), "in the order of the frame"),
        (lambda t: t.with_columns(level=pl.lit(1, pl.Int64)), "in the order of the frame"),
        (lambda t: t.with_columns(size=pl.lit(1, pl.Int64)), "in the order of the frame"),
        (lambda t: t.with_columns(count=pl.lit(None, pl.Int64)), "15, all filled"),
        (lambda t: t.with_columns(size=pl.col("size").cast(pl.Int32)), "stand beside the table"),
    ],
)
def test_a_table_that_is_not_the_one_of_the_frame_is_refused(
    tmp_path: Path, change: Callable[[pl.DataFrame], pl.DataFrame], message: str
) -> None:
    path = tmp_path / "out.parquet"
    save_counts(made(), path)
    rewrite(path, change)
    with pytest.raises(InvalidProblemError, match=message):
        load_counts(path)


def test_a_count_that_was_forged_with_its_hash_fails_the_checks(tmp_path: Path) -> None:
    path = tmp_path / "out.parquet"
    save_counts(made(), path)
    rewrite(path, lambda t: t.with_columns(count=pl.col("count") + (pl.col("level") == 3)))
    assert not verify(load_counts(path)).passed


def test_bytes_that_were_altered_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    save_counts(made(), path)
    path.write_text(path.read_text(encoding="utf-8").replace("GA", "TX"), encoding="utf-8")
    with pytest.raises(InvalidProblemError, match="altered bytes"):
        load_counts(path)


def test_a_csv_that_does_not_parse_is_refused(tmp_path: Path) -> None:
    import hashlib

    path = tmp_path / "out.csv"
    save_counts(made(), path)
    path.write_text("level,region,size,count\nx,US,1,2\n", encoding="utf-8")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    alter(path, lambda meta: meta["table"].update(sha256=digest))
    with pytest.raises(InvalidProblemError, match="a table that can be read"):
        load_counts(path)


@pytest.mark.parametrize("text", ["", "[]", "{", '{"format": NaN}'])
def test_a_broken_record_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "out.csv"
    save_counts(made(), path)
    sidecar_of(path).write_text(text, encoding="utf-8")
    with pytest.raises(InvalidProblemError, match="path"):
        load_counts(path)


def test_a_table_alone_is_none_of_ours(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    save_counts(made(), path)
    sidecar_of(path).unlink()
    assert not is_table(path)
    with pytest.raises(InvalidProblemError, match="with its .discreet.json beside it"):
        load_counts(path)


def test_a_record_alone_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    save_counts(made(), path)
    path.unlink()
    with pytest.raises(InvalidProblemError, match="a file that can be read"):
        load_counts(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m["measurement"].update(kind="sorted"),
        lambda m: m["measurement"].update(noise="none"),
        lambda m: m["measurement"].update(scales=["1"]),
        lambda m: m["measurement"].update(shares=["1"]),
        lambda m: m["measurement"].update(scales=["-1"] * 5),
        lambda m: m["measurement"].update(seeded=-1),
        lambda m: m.update(guarantee={"kind": "k-anonymity", "k": 2, "quasi_identifiers": ["a"]}),
    ],
)
def test_altered_measurements_are_refused(
    tmp_path: Path, change: Callable[[dict[str, Any]], object]
) -> None:
    path = tmp_path / "nm.parquet"
    data = GroupSizes.from_counts(TREE, ROWS, units="private")
    save_measurements(measure(data, "survival", PURE), path)
    alter(path, change)
    with pytest.raises(InvalidProblemError, match="whole discreet artefact"):
        load_measurements(path)


def test_what_failed_its_checks_is_not_written(tmp_path: Path) -> None:
    failed = replace(made(), certificate=Certificate((Check("sums", 1, 0, exact=True),)))
    with pytest.raises(InvalidProblemError, match="a certificate that passed"):
        save_counts(failed, tmp_path / "out.csv")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["out.sav", "out.ods", "out", "no/out.csv"])
def test_a_path_that_can_not_be_written_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidProblemError, match="path"):
        save_counts(made(), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_labels_that_json_does_not_know_are_refused(tmp_path: Path) -> None:
    tree = Tree.from_paths([(1.5,), (2,)])
    data = GroupSizes.from_counts(tree, [[1], [2]], units="private")
    with pytest.raises(InvalidProblemError, match="text or integers"):
        save_counts(release(data, PURE), tmp_path / "out.csv")
    assert list(tmp_path.iterdir()) == []


def test_the_record_holds_no_private_value(tmp_path: Path) -> None:
    """Everything in it is the frame, the guarantee, or made of the published table."""
    path = tmp_path / "out.csv"
    save_counts(made(), path)
    meta = json.loads(sidecar_of(path).read_text(encoding="utf-8"))
    assert set(meta) == {
        "format", "schema_version", "kind", "table", "guarantee", "certificate", "provenance", "frame",
    }  # fmt: skip
    assert set(meta["frame"]) == {
        "labels", "parents", "max_size", "units", "max_quantity", "group_totals", "digest",
    }  # fmt: skip
    assert meta["frame"]["group_totals"] is None


def test_a_record_of_no_kind_is_none_of_ours(tmp_path: Path) -> None:
    """What a table is was asked of the record before anything else, and it must say it."""
    save_counts(made(), tmp_path / "out.csv")
    alter(tmp_path / "out.csv", lambda meta: meta.pop("kind"))
    with pytest.raises(InvalidProblemError, match="a discreet artefact"):
        kind_of(tmp_path / "out.csv")


@pytest.mark.parametrize("text", ["1e400000000", "1" * 10**6, True, [], {}])
@pytest.mark.parametrize("where", ["scales", "shares"])
def test_numbers_of_measurements_have_bounds(tmp_path: Path, where: str, text: Any) -> None:
    """A power of ten that would take hours to write out is refused at once."""
    path = tmp_path / "nm.parquet"
    data = GroupSizes.from_counts(TREE, ROWS, units="private")
    save_measurements(measure(data, "survival", PURE), path)
    alter(path, lambda meta: meta["measurement"][where].__setitem__(0, text))
    with pytest.raises(InvalidProblemError, match="whole discreet artefact"):
        load_measurements(path)
