"""Codes of refusals: one list, used, documented and carried by every entrance; no refusals of data at the edges."""

from __future__ import annotations

import ast
import functools
import json
import pickle
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import discreet
from discreet.cli.app import run
from discreet.core.errors import InvalidProblemError
from discreet.studio.jobs import refusal
from discreet.tables.refusals import EXPECTED, WARNINGS, refused, warning
from docs.loading import tool

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = Path(discreet.__file__).parent
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "refusals.md"
EDGES = ("cli", "studio")

CELLS = frozenset(
    {"drop_nulls", "null_count", "n_unique", "is_null", "is_finite", "is_nan", "fill_null"}
)
"""Methods that look at the cells of a table."""


def calls(tree: ast.AST, name: str) -> Iterator[ast.Call]:
    """Yield the calls of a function by its name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == name:
            yield node


@functools.cache
def stated() -> dict[str, set[str]]:
    """List the codes that the sources state, by the function or argument that takes them."""
    text = "".join(path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py"))
    text = re.sub(r"^ *(>>>|\.\.\.) .*$", "", text, flags=re.MULTILINE)
    code = r'\s*"([a-z0-9-]+)"'
    return {
        "refused": set(re.findall(rf"\brefused\({code}", text)),
        "warning": set(re.findall(rf"\bwarning\({code}", text)),
        "code": set(re.findall(rf"\bcode={code}", text)),
    }


def test_all_codes_of_the_list_are_used_and_no_others() -> None:
    codes = stated()
    # These are chosen where they are raised.
    assert codes["refused"] | {"roles-missing", "identifiers", "rows-ragged"} == set(EXPECTED)
    assert codes["warning"] == set(WARNINGS)
    assert not codes["code"] & set(EXPECTED)
    for code in (*EXPECTED, *WARNINGS, *codes["code"]):
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", code)


def test_every_code_is_documented_with_its_sentence() -> None:
    table = tool("api_pages").codes_table({**EXPECTED, **WARNINGS}, "what was expected")
    page = PAGE.read_text("utf-8")
    assert all(f"{{include}} generated/{name}.txt" in page for name in ("refusals", "warnings"))
    rows = dict(re.findall(r"^\| `([a-z0-9-]+)` \| (.*) \|$", table + page, re.MULTILINE))
    assert set(rows) == set(EXPECTED) | set(WARNINGS) | stated()["code"]
    assert rows["file-name"].startswith("a file that ends in *suffixes*;")
    assert rows["taxonomy-list"] == EXPECTED["taxonomy-list"]


def test_tables_refuse_by_the_list_alone() -> None:
    for path in (SOURCE / "tables").glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        made = list(calls(tree, "InvalidProblemError"))
        assert len(made) == (path.name == "refusals.py"), path.name


def test_no_edge_looks_at_cells_and_refuses_by_itself() -> None:
    """What concerns the data is refused in ``tables`` and the mechanisms, so that all entrances refuse the same."""
    seen: dict[str, int] = {}
    for edge in EDGES:
        for path in (SOURCE / edge).glob("*.py"):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            for function in ast.walk(tree):
                if not isinstance(function, ast.FunctionDef):
                    continue
                looks = any(
                    isinstance(node, ast.Attribute) and node.attr in CELLS
                    for node in ast.walk(function)
                )
                if looks and list(calls(function, "InvalidProblemError")):
                    name = f"{edge}/{path.name}"
                    seen[name] = seen.get(name, 0) + 1
    assert not seen


def test_a_refusal_keeps_its_code_under_another_name_and_in_another_process() -> None:
    error = refused("rows-none", "table", "a.csv without rows")
    renamed = error.renamed("--coverage", got="none")
    again = pickle.loads(pickle.dumps(renamed))  # noqa: S301 - made here
    assert (again.code, again.field, again.got) == ("rows-none", "--coverage", "none")
    assert str(again) == "--coverage: expected a table with rows, got none"
    assert InvalidProblemError("k", "2 or more", 1).code == ""


def test_errors_as_json_and_bodies_of_http_carry_the_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.csv").write_text("age\n", encoding="utf-8")
    assert run(["risk", str(tmp_path / "a.csv"), "--quasi", "age", "--json"]) == 2
    assert json.loads(capsys.readouterr().err)["error"]["code"] == "rows-none"
    body = refusal(refused("rows-none", "The file", "a.csv without rows"))
    assert (body["code"], body["field"]) == ("rows-none", "The file")
    assert refusal(InvalidProblemError("k", "2 or more", 1))["code"] == ""


def test_warnings_end_in_their_code() -> None:
    told = warning("singled-out", column="column 3", rows="2 of 9 rows have a value there")
    assert told.endswith("anyone who knows such a value finds the row [singled-out]")
