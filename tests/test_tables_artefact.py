"""Tables by region as files: written, read again, kept readable, and refused when their parts do not fit."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet import InvalidProblemError, ZeroConcentratedDP
from discreet.artefact import load_table_measurements, load_tables, save_counts, save_measurements
from discreet.artefact.sidecar import kind_of, sidecar_of
from discreet.hierarchy.contingency import CellCounts, plan, query

FROZEN = Path(__file__).parent / "data"


def test_a_file_of_the_first_version_is_read_for_ever() -> None:
    made = load_tables(FROZEN / "tables-1.parquet")
    assert kind_of(FROZEN / "tables-1.parquet") == "region-tables"
    assert made.result.frame.domain.to_dict()["zeros"] == [{"age": ["65+"], "sex": ["F"]}]
    assert made.result.marginal("total")[0, 0] == 50
    assert (made.result.cells[:, 2] == 0).all()
    assert len(made.result.gaps) == 3
    assert dc.verify(made).passed
    kept = load_table_measurements(FROZEN / "marginals-1.csv")
    assert kept.frame == made.result.frame
    assert dc.verify(kept).passed
    answer = query(kept, level=1)
    assert answer.low[0, 0] == answer.high[0, 0] == 50


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_what_is_written_is_what_is_read(tmp_path: Path, ending: str) -> None:
    frame = load_tables(FROZEN / "tables-1.parquet").result.frame
    planned = plan(frame, ZeroConcentratedDP(3, "replace-person"))
    counts = np.array([[50, 0, 0, 0, 0, 0], [0] * 6, [0] * 6])
    made = planned.release(CellCounts(frame, counts), keep_measurements=True)
    kept = made.result.measurements
    assert kept is not None
    save_counts(made, tmp_path / f"t{ending}")
    save_measurements(kept, tmp_path / f"m{ending}")
    again, measured = (
        load_tables(tmp_path / f"t{ending}"),
        load_table_measurements(tmp_path / f"m{ending}"),
    )
    assert np.array_equal(again.result.cells, made.result.cells)
    assert again.result.gaps == made.result.gaps
    assert (again.guarantee, again.certificate) == (made.guarantee, made.certificate)
    for q in frame.marginals:
        assert np.array_equal(measured.values[q], kept.values[q])
    assert dict(measured.scales) == dict(kept.scales)


@pytest.mark.parametrize("shrink", ["parent", "none", "james-stein"])
def test_a_file_states_to_what_its_tables_are_drawn(tmp_path: Path, shrink: str) -> None:
    """Files from before the option say nothing of it, and are read as what they are."""
    path, domain = tmp_path / "t.csv", {"sex": ["F", "M"]}
    guarantee = ZeroConcentratedDP(3, "add-remove-person")
    planned = plan([("GA",), ("NY",)], guarantee, columns=["state"], domain=domain, shrink=shrink)
    made = planned.release(CellCounts(planned.frame, np.array([[50, 9], [0, 3]])))
    save_counts(made, path)
    words = f"(shrink {shrink})"
    assert words in str(planned)
    again = load_tables(path)
    assert words in str(again.result.described(again))
    assert again.result.gaps == made.result.gaps
    distances = [one.moved is None for one in again.result.gaps]
    assert distances == [shrink == "none"] * 2 * (shrink != "james-stein")
    assert again.result.shrink == shrink
    for other in ("parent", "none", "james-stein", 1, "parents"):
        if other == shrink or (not distances and other in ("parent", "none")):
            continue
        rewrite(path, {"rounds": 60, "shrink": other})
        with pytest.raises(
            InvalidProblemError, match="method: expected shrink parent or none or james-stein, as"
        ):
            load_tables(path)
    rewrite(path, {"rounds": 60})
    older = load_tables(path)
    assert "shrink" not in str(older.result.described(older))
    assert older.result.gaps == made.result.gaps


def rewrite(path: Path, method: dict[str, Any]) -> None:
    """State another method in the record of a file."""
    sidecar = sidecar_of(path)
    stated = json.loads(sidecar.read_text(encoding="utf-8"))
    stated["provenance"]["parameters"]["method"] = method
    sidecar.write_text(json.dumps(stated), encoding="utf-8")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("measurement", "seeded"), -1),
        (("measurement", "noise"), "uniform"),
        (("measurement", "scales", "sex"), ["0"] * 6),
        (("measurement", "scales"), {}),
        (
            ("guarantee",),
            {"kind": "approx-dp", "epsilon": "1", "delta": "1/9", "neighbors": "replace-person"},
        ),
        (("frame", "shares"), [["sex", ["1", "0", "0"]]]),
        # A marginal has one name: under two, a file would state two things of it.
        (("measurement", "scales", "age:sex"), ["1"] * 6),
        (("measurement", "scales", "cells"), ["1"] * 6),
        (("frame", "shares", 0, 0), " sex"),
        (
            ("frame", "domain", "attributes"),
            [["sex", ["F", "M"]], ["age", ["0-17", "18-64", "65+"]], ["sex", ["F", "M"]]],
        ),
        (
            ("frame", "shares"),
            [["sex", ["1/9"] * 3], ["sex", ["1/9"] * 3], ["sex:age", ["1/9"] * 3]],
        ),
        (("frame", "labels"), ["all"]),
        (("frame",), None),
    ],
)
def test_parts_that_do_not_fit_are_refused(
    tmp_path: Path, path: tuple[Any, ...], value: Any
) -> None:
    for one in (FROZEN / "marginals-1.csv", sidecar_of(FROZEN / "marginals-1.csv")):
        shutil.copy(one, tmp_path)
    record = sidecar_of(tmp_path / "marginals-1.csv")
    stated = json.loads(record.read_text(encoding="utf-8"))
    inner = stated
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = value
    record.write_text(json.dumps(stated), encoding="utf-8")
    with pytest.raises(InvalidProblemError, match="a whole discreet artefact"):
        load_table_measurements(tmp_path / "marginals-1.csv")
