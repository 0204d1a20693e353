"""The client in JavaScript for rows on a lattice, under Node: column, row, report, bit for bit what its page says.

The same is asked in a real browser by ``tests/browser/test_lattice_client_in_browser.py``.
"""

from __future__ import annotations

import base64
import json
import subprocess
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from browser.lattice_by_the_page import BROKEN, FIND, Made, broken
from browser.noise_by_the_page import CASES, READ, WORDS, holds, told_of_words, vectors
from node import NODE

VECTORS = json.loads(
    (Path(__file__).parents[1] / "data" / "lrgeo-lattice-vectors.json").read_text(encoding="utf-8")
)

pytestmark = pytest.mark.skipif(NODE is None, reason="NOT RUN: there is no Node")


def source() -> str:
    found = resources.files("discreet.service").joinpath("static", "client.js")
    return found.read_text(encoding="utf-8")


def ask(function: str, value: object, text: str = "") -> Any:
    assert NODE is not None
    module = base64.b64encode((text or source()).encode()).decode("ascii")
    program = (
        f"const client = await import('data:text/javascript;base64,{module}');\n"
        "const input = JSON.parse(require('fs').readFileSync(0, 'utf8'));\n"
        f"console.log(JSON.stringify(await ({function})(input)));"
    )
    program = "(async () => {" + program + "})()"
    done = subprocess.run(
        [NODE, "-e", program],
        input=json.dumps(value),
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )
    return json.loads(done.stdout)


def asked(name: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    case = vectors(name, Made)
    text = json.dumps(case["file"])
    points = case["points"]
    return points, {"text": text, "digest": case["file"]["digest"], "points": points}


@pytest.mark.parametrize("name", CASES)
def test_the_client_finds_control_points_reports_and_their_law(name: str) -> None:
    points, value = asked(name)
    holds(points, ask(FIND, value))


@pytest.mark.parametrize("number", range(len(VECTORS)))
def test_it_finds_what_is_kept_for_ever(number: int) -> None:
    file, points = VECTORS[number]["file"], VECTORS[number]["points"]
    value = {"text": json.dumps(file), "digest": file["digest"], "points": points}
    for one, point in zip(ask(FIND, value), points, strict=True):
        assert (one is None) == point.get("refused", False)
        if one is not None:
            assert one["axes"] == point["axes"]
            assert one["drawn"] == [draw["report"] for draw in point["draws"]]


def test_draws_take_words_in_the_order_of_the_page() -> None:
    case, words = told_of_words(Made)
    drawn = ask(WORDS, [json.dumps(case["file"]), case["file"]["digest"], words])
    assert drawn == [one["report"] for one in words]
    assert len({one["report"] for one in words}) > 5


def test_parts_that_do_not_fit_are_refused() -> None:
    function = f"async (all) => Promise.all(all.map({READ}))"
    files = [broken(at) for at in range(len(BROKEN))]
    said = ask(function, [file[:2] for file in files])
    for found, (_, _, complaint) in zip(said, files, strict=True):
        assert found == complaint == "" or (complaint and found.startswith(complaint))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("if (sums[middle] > target) high", "if (sums[middle] >= target) high"),
        ("(column * this.rows + row) * this.n", "(row * this.columns + column) * this.n"),
        ("spot[0].first + i) * this.rows", "spot[0].first) * this.rows"),
        ("q * q + 2n * p * q - 2n * p * p", "q * q + 2n * p * q - p * p"),
        ("num / den < last ? num / den : last", "num / den"),
    ],
)
def test_a_client_that_is_broken_is_noticed(old: str, new: str) -> None:
    text = source()
    assert text.count(old) == 1
    points, value = asked("a plane in meters")
    with pytest.raises((AssertionError, subprocess.CalledProcessError)):
        holds(points, ask(FIND, value, text.replace(old, new)))
