"""The record of an experiment, its files, and the chapter of a page."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import pytest

from discreet.core.errors import InvalidProblemError
from discreet_reproduction import Experiment, write_experiment
from discreet_reproduction.chapter import chapter


def made(**changes: Any) -> Experiment:
    """Make a table with everything in it."""
    parts: dict[str, Any] = {
        "name": "metricdp/table9",
        "title": "Seconds & iterations",
        "columns": ("method", "seconds", "seconds (paper)"),
        "rows": [
            {"method": "<b>", "seconds": 1 / 3, "seconds (paper)": "161 ± 14"},
            {"method": "never", "seconds": math.inf},
        ],
        "notes": ("E15: the slack.",),
        "settings": {"N": 49, "limit": math.inf},
        "panels": {"A line": lambda ax: ax.plot([1, 2], [3, 4])},
        **changes,
    }
    return Experiment(**parts)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "table9"}, "paper/item"),
        ({"columns": ("a", "a"), "published": ()}, "different names"),
        ({"columns": (), "published": (), "rows": []}, "different names"),
        ({"published": ("no",)}, "names of columns"),
        ({"rows": [{"other": 1}]}, "no other columns"),
        ({"rows": [{"seconds": math.nan}]}, "plain values"),
        ({"rows": [{"seconds": [1]}]}, "plain values"),
    ],
)
def test_nonsense_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidProblemError, match=message):
        made(**changes)


def test_columns_are_those_of_the_rows_and_the_papers_are_known_by_their_names() -> None:
    rows = [{"a": 1, "a (paper)": 2}, {"a": 3, "b": 4}]
    found = Experiment("metricdp/table9", "Sums", rows)
    assert found.columns == ("a", "a (paper)", "b")
    assert found.published == ("a (paper)",)
    beside = Experiment(
        "metricdp/table9", "Sums", rows, columns=("b", "a (paper)", "a"), published=("b",)
    )
    assert beside.columns == ("b", "a (paper)", "a")
    assert beside.published == ("b", "a (paper)")


def test_columns_are_found_by_name() -> None:
    assert made().column("seconds (paper)") == ["161 ± 14", None]
    with pytest.raises(InvalidProblemError, match="name: expected one of method"):
        made().column("hours")


def test_nothing_changes_what_was_found() -> None:
    row: dict[str, Any] = {"method": "a"}
    found = made(rows=[row])
    row["method"] = "b"
    assert found.column("method") == ["a"]
    with pytest.raises(TypeError):
        found.rows[0]["method"] = "c"  # type: ignore[index]


def test_the_files_hold_what_was_found(tmp_path: Path) -> None:
    paths = write_experiment(made(), tmp_path / "new")
    assert [path.suffix for path in paths] == [".csv", ".json", ".png", ".svg", ".html"]
    with paths[0].open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert float(rows[0]["seconds"]) == 1 / 3
    assert rows[1] == {"method": "never", "seconds": "infinite", "seconds (paper)": ""}
    data = json.loads(paths[1].read_text(encoding="utf-8"))
    assert data["settings"] == {"N": 49, "limit": "infinite"}
    assert data["machine"]["python"]
    assert paths[2].read_bytes().startswith(b"\x89PNG")
    page = paths[4].read_text(encoding="utf-8")
    assert "&lt;b&gt;" in page
    assert "<b>never" not in page
    assert "E15: the slack." in page
    assert 'class="n printed">161 ± 14' in page
    assert "http" not in page.split("</style>")[1].replace('http-equiv="Content', "")


def test_without_panels_nothing_is_drawn(tmp_path: Path) -> None:
    paths = write_experiment(made(panels={}), tmp_path)
    assert [path.suffix for path in paths] == [".csv", ".json", ".html"]


def test_the_chapter_marks_what_is_the_papers() -> None:
    shown = chapter(made(), machine={"cores": "2"})
    assert shown.anchor == "metricdp-table9"
    assert "Grey figures are the paper" in shown.body
    assert 'aria-label="A line"' in shown.body
    ours = made(columns=("method", "seconds"), rows=[{"method": "ours", "seconds": 1.0}])
    assert "Grey" not in chapter(ours).body
